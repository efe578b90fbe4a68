//! The state of a plan: a fold over its ledger. Only [`ApprovalStatus::say`] moves a plan, by the table in
//! [`crate::plan::lifecycle`]; it refuses what doesn't fit and says what would.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::approval::ledger::{ApprovalSubject, Drafting, LedgerEntry};
use crate::plan::identity;
use crate::plan::identity::{Identity, Role};
use crate::plan::lifecycle::{Actor, Forbidden, PlanState, WaitReason};
use crate::run::baseline::Baseline;
use crate::run::event::RunOutcome;
use crate::run::receipt::Blob;

/// After this many rejections a person has to decide.
pub const REJECTIONS_MAX: u32 = 3;

/// The state of a plan according to its ledger. [`ApprovalStatus::state`] adds the state of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalStatus {
    /// According to the ledger alone.
    state: PlanState,
    /// Oldest first.
    pub revisions: Vec<Revision>,
    /// Oldest first.
    pub comments: Vec<Comment>,
    /// Every text whose author gave reasons for it, oldest first.
    pub drafts: Vec<DraftRecord>,
    /// Follow-up work, oldest first.
    pub discoveries: Vec<Discovery>,
    /// The valid approvals of the newest revision.
    pub approvals: Vec<ApprovalRecord>,
    /// Oldest first.
    pub rejections: Vec<Rejection>,
    /// Rejections since the plan was last reopened.
    pub rejected: u32,
    /// What changed when the approval lapsed; empty if it did not.
    pub moved: Vec<String>,
    /// The last run that started under an approval.
    pub run: Option<i64>,
    /// The last merge of its work, if no run started since.
    pub merged: Option<MergeRecord>,
    /// The entry that says why its work could not be merged, if that was the last attempt.
    pub evicted: Option<RecordedEntry>,
    /// When the state was reached, in milliseconds since 1970.
    pub since_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRecord {
    pub into: String,
    /// The resulting commit of the branch.
    pub commit: String,
    /// The commit of the plan's own branch.
    pub tip: String,
    /// In milliseconds since 1970.
    pub at_ms: u64,
}

/// A proposed text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    pub number: u32,
    /// Exactly what was proposed last.
    pub subject: ApprovalSubject,
    pub by: Identity,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    pub text: Blob,
    pub dialect: String,
    /// The number of the checker's warnings.
    pub warnings: u32,
    /// The results of the contracts before the work.
    pub red: Vec<Baseline>,
    /// Whether the proposer wrote the text.
    pub is_handed_in: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Comment {
    pub number: u32,
    /// The revision that it was made on.
    pub revision: u32,
    /// `None` for the whole plan.
    pub step: Option<String>,
    #[serde(serialize_with = "identity::as_name")]
    #[schemars(with = "String")]
    pub by: Identity,
    /// In milliseconds since 1970.
    #[serde(skip)]
    pub at_ms: u64,
    pub text: String,
    /// What was answered; `None`: it is open.
    #[serde(serialize_with = "answer_text")]
    #[schemars(with = "Option<String>")]
    pub answer: Option<(Identity, String)>,
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn answer_text<S: Serializer>(answer: &Option<(Identity, String)>, serializer: S) -> Result<S::Ok, S::Error> {
    answer.as_ref().map(|(_, text)| text).serialize(serializer)
}

/// A text whose author gave reasons for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DraftRecord {
    pub by: Identity,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    /// The digest of what they wrote.
    pub digest: String,
    /// The request, and the author's comments on the answer.
    pub drafting: Drafting,
}

/// Follow-up work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Discovery {
    pub number: u32,
    /// The work to do.
    pub title: String,
    /// Further details.
    pub text: String,
    /// The step during which it was found.
    pub step: Option<String>,
    #[serde(serialize_with = "identity::as_text")]
    #[schemars(with = "String")]
    pub by: Identity,
    /// The id of the step that it became.
    pub added: Option<String>,
    /// In milliseconds since 1970.
    #[serde(skip)]
    pub at_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// Its position in the ledger.
    pub seq: u64,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    pub revision: u32,
    /// Exactly what was approved.
    pub subject: ApprovalSubject,
    pub by: Identity,
    pub way: String,
    /// A note to the agents that run the plan.
    pub note: String,
    /// The rule that authorized it.
    pub rule: String,
    /// How many approvals are required.
    pub needed: u32,
    /// The hash of the policy in effect; empty without one.
    pub policy: String,
    /// When it expires.
    pub until_ms: Option<u64>,
    pub signature: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub revision: u32,
    pub by: Identity,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    pub feedback: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedEntry {
    /// Counted from 1.
    pub seq: u64,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    pub entry: LedgerEntry,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IllegalEntry {
    /// The plan can't get there from its current state.
    Way(Forbidden),
    /// Only somebody else may move it there.
    Actor { from: PlanState, to: PlanState, actor: Actor },
    /// It is about an older revision.
    Revision {
        said: u32,
        /// 0 if nothing was proposed.
        newest: u32,
    },
    /// The same text was rejected.
    Unchanged { revision: u32 },
    /// No such comment, or it was answered already.
    Comment(u32),
    /// No such follow-up work, or it was added already.
    Discovery(u32),
    /// Not the last run that was started.
    Run(i64),
    /// The same person already approved it.
    Twice(Identity),
    /// It can't be undone.
    Undo(String),
    /// An agent may not undo it.
    Theirs(PlanState),
}

impl ApprovalStatus {
    pub const fn new() -> Self {
        Self {
            state: PlanState::Draft,
            revisions: Vec::new(),
            comments: Vec::new(),
            drafts: Vec::new(),
            discoveries: Vec::new(),
            approvals: Vec::new(),
            rejections: Vec::new(),
            rejected: 0,
            moved: Vec::new(),
            run: None,
            merged: None,
            evicted: None,
            since_ms: 0,
        }
    }

    /// Folds a whole ledger. Undone entries count as if they had never been made.
    pub fn of(ledger: &[RecordedEntry]) -> Result<Self, (u64, IllegalEntry)> {
        let mut standing = Self::new();
        let undone = undone(ledger);
        for said in ledger.iter().filter(|said| !undone.contains(&said.seq)) {
            standing.say(said).map_err(|unfit| (said.seq, unfit))?;
        }
        Ok(standing)
    }

    /// The state of the plan, given the state of its last run: what is done may no longer hold.
    pub fn state(&self, run: Option<PlanState>) -> PlanState {
        let counts = |run: &PlanState| match self.state {
            PlanState::Running => true,
            PlanState::Done => *run == PlanState::Failed,
            PlanState::Draft
            | PlanState::Proposed
            | PlanState::Approved
            | PlanState::Waiting(_)
            | PlanState::Failed
            | PlanState::Rejected
            | PlanState::Cancelled => false,
        };
        run.filter(counts).unwrap_or(self.state)
    }

    pub fn newest(&self) -> Option<&Revision> {
        self.revisions.last()
    }

    /// The approvals of exactly this subject that are still valid, if there are enough.
    pub fn approved(&self, now_ms: u64) -> Option<&[ApprovalRecord]> {
        let holds = |approval: &&ApprovalRecord| approval.until_ms.is_none_or(|until| now_ms < until);
        let needed = self.approvals.iter().map(|approval| approval.needed).max()?;
        let said = self.approvals.iter().filter(holds).count();
        (said >= needed as usize).then_some(&self.approvals)
    }

    /// Whether a new entry is allowed: a plan that is over is reopened before it is proposed, and an agent may
    /// only withdraw what an agent proposed, as long as no person has decided about it. Folding a ledger skips this check, because it reports what was
    /// recorded.
    pub fn may_be_said(&self, entry: &LedgerEntry) -> Result<(), IllegalEntry> {
        let is_decided = self.approvals.iter().any(|approval| approval.by.role == Role::Person);
        let is_agents = self.newest().is_some_and(|newest| newest.by.role == Role::Agent);
        let is_theirs = match self.state {
            PlanState::Proposed => {
                is_decided || (matches!(entry, LedgerEntry::Reopened { .. }) && !is_agents)
            }
            PlanState::Approved => is_decided || matches!(entry, LedgerEntry::Reopened { .. }),
            PlanState::Draft
            | PlanState::Running
            | PlanState::Waiting(_)
            | PlanState::Done
            | PlanState::Failed
            | PlanState::Rejected
            | PlanState::Cancelled => matches!(entry, LedgerEntry::Reopened { .. }),
        };
        if matches!(entry, LedgerEntry::Proposed { .. }) && self.state.is_over() {
            // Whoever reopens it says so first; ledgers of 0.1 went on without a word.
            self.way(PlanState::Proposed)?;
        }
        let takes_back = matches!(entry, LedgerEntry::Reopened { .. } | LedgerEntry::Proposed { .. });
        let is_agent = entry.by().is_some_and(|by| by.role == Role::Agent);
        if is_agent && takes_back && is_theirs { Err(IllegalEntry::Theirs(self.state)) } else { Ok(()) }
    }

    /// Folds in one entry that was not undone.
    pub fn say(&mut self, said: &RecordedEntry) -> Result<(), IllegalEntry> {
        let at_ms = said.at_ms;
        match &said.entry {
            LedgerEntry::Proposed { .. } => self.propose(said)?,
            LedgerEntry::Approved { .. } => self.approve(said)?,
            LedgerEntry::Rejected { revision, by, feedback, .. } => {
                self.is_newest(*revision)?;
                self.go(PlanState::Rejected, by)?;
                self.reject(Rejection {
                    revision: *revision,
                    by: by.clone(),
                    at_ms,
                    feedback: feedback.clone(),
                });
            }
            LedgerEntry::Commented { .. } => self.comment(said)?,
            LedgerEntry::Answered { comment, by, text } => {
                let open = self.comments.iter_mut().find(|known| known.number == *comment);
                let open =
                    open.filter(|known| known.answer.is_none()).ok_or(IllegalEntry::Comment(*comment))?;
                open.answer = Some((by.clone(), text.clone()));
            }
            LedgerEntry::Drafted { by, digest, drafting } => self.drafts.push(DraftRecord {
                by: by.clone(),
                at_ms,
                digest: digest.clone(),
                drafting: drafting.clone(),
            }),
            LedgerEntry::Discovered { .. } => self.discover(said)?,
            LedgerEntry::Added { number, step, .. } => {
                let open = self.discoveries.iter_mut().find(|known| known.number == *number);
                let open =
                    open.filter(|known| known.added.is_none()).ok_or(IllegalEntry::Discovery(*number))?;
                open.added = Some(step.clone());
            }
            LedgerEntry::Reopened { by, .. } => {
                self.go(PlanState::Draft, by)?;
                self.rejected = if by.role == Role::Person { 0 } else { self.rejected };
                self.reach(PlanState::Draft, at_ms);
            }
            LedgerEntry::Cancelled { by, .. } => {
                self.go(PlanState::Cancelled, by)?;
                self.reach(PlanState::Cancelled, at_ms);
            }
            LedgerEntry::Lapsed { moved } => {
                self.way(PlanState::Waiting(WaitReason::Lapsed))?;
                self.reach(PlanState::Waiting(WaitReason::Lapsed), at_ms);
                self.moved.clone_from(moved);
            }
            LedgerEntry::Started { run, .. } => {
                self.way(PlanState::Running)?;
                self.run = Some(*run);
                self.merged = None;
                self.evicted = None;
                self.reach(PlanState::Running, at_ms);
            }
            LedgerEntry::Ended { run, outcome, is_revised } => {
                self.end(*run, (*outcome, *is_revised), at_ms)?;
            }
            LedgerEntry::Merged { into, commit, tip, .. } => {
                self.evicted = None;
                self.merged =
                    Some(MergeRecord { into: into.clone(), commit: commit.clone(), tip: tip.clone(), at_ms });
            }
            LedgerEntry::Evicted { .. } => self.evicted = Some(said.clone()),
            // Undone entries are removed before the fold; the location of a plan affects no state.
            LedgerEntry::Undone { .. } | LedgerEntry::Archived { .. } | LedgerEntry::Deleted { .. } => {}
        }
        Ok(())
    }

    fn propose(&mut self, said: &RecordedEntry) -> Result<(), IllegalEntry> {
        let LedgerEntry::Proposed { revision, subject, by, text, dialect, warnings, red, is_handed_in } =
            &said.entry
        else {
            return Ok(());
        };
        self.may_propose(*revision, subject, by)?;
        self.revisions.retain(|known| known.number != *revision);
        self.revisions.push(Revision {
            number: *revision,
            subject: subject.clone(),
            by: by.clone(),
            at_ms: said.at_ms,
            text: text.clone(),
            dialect: dialect.clone(),
            warnings: *warnings,
            red: red.clone(),
            is_handed_in: *is_handed_in,
        });
        self.reach(PlanState::Proposed, said.at_ms);
        Ok(())
    }

    fn comment(&mut self, said: &RecordedEntry) -> Result<(), IllegalEntry> {
        let LedgerEntry::Commented { comment, revision, step, by, text } = &said.entry else { return Ok(()) };
        if *comment as usize != self.comments.len() + 1 {
            return Err(IllegalEntry::Comment(*comment));
        }
        self.comments.push(Comment {
            number: *comment,
            revision: *revision,
            step: step.clone(),
            by: by.clone(),
            at_ms: said.at_ms,
            text: text.clone(),
            answer: None,
        });
        Ok(())
    }

    fn discover(&mut self, said: &RecordedEntry) -> Result<(), IllegalEntry> {
        let LedgerEntry::Discovered { number, step, by, title, text, .. } = &said.entry else {
            return Ok(());
        };
        if *number as usize != self.discoveries.len() + 1 {
            return Err(IllegalEntry::Discovery(*number));
        }
        self.discoveries.push(Discovery {
            number: *number,
            step: step.clone(),
            by: by.clone(),
            at_ms: said.at_ms,
            title: title.clone(),
            text: text.clone(),
            added: None,
        });
        Ok(())
    }

    fn reject(&mut self, rejection: Rejection) {
        let at_ms = rejection.at_ms;
        self.rejections.push(rejection);
        self.rejected += 1;
        let spent = self.rejected >= REJECTIONS_MAX;
        let state = if spent { PlanState::Waiting(WaitReason::RevisionsSpent) } else { PlanState::Rejected };
        self.reach(state, at_ms);
    }

    fn end(
        &mut self,
        run: i64,
        (outcome, is_revised): (RunOutcome, bool),
        at_ms: u64,
    ) -> Result<(), IllegalEntry> {
        let ended = match outcome {
            RunOutcome::Done => PlanState::Done,
            RunOutcome::Failed => PlanState::Failed,
            RunOutcome::Cancelled => PlanState::Cancelled,
        };
        if self.run != Some(run) {
            return Err(IllegalEntry::Run(run));
        }
        self.way(ended)?;
        self.reach(if is_revised { PlanState::Draft } else { ended }, at_ms);
        Ok(())
    }

    fn approve(&mut self, said: &RecordedEntry) -> Result<(), IllegalEntry> {
        let LedgerEntry::Approved {
            revision,
            subject,
            by,
            way,
            note,
            rule,
            needed,
            policy,
            until_ms,
            signature,
        } = &said.entry
        else {
            return Ok(());
        };
        self.is_newest(*revision)?;
        if self.approvals.iter().any(|known| known.by == *by) {
            return Err(IllegalEntry::Twice(by.clone()));
        }
        self.go(PlanState::Approved, by)?;
        self.approvals.push(ApprovalRecord {
            seq: said.seq,
            at_ms: said.at_ms,
            revision: *revision,
            subject: subject.clone(),
            by: by.clone(),
            way: way.clone(),
            note: note.clone(),
            rule: rule.clone(),
            needed: *needed,
            policy: policy.clone(),
            until_ms: *until_ms,
            signature: signature.clone(),
        });
        let needed = self.approvals.iter().map(|approval| approval.needed).max().unwrap_or(1);
        if self.approvals.len() >= needed as usize {
            self.rejected = 0;
            self.state = PlanState::Approved;
            self.since_ms = said.at_ms;
        }
        Ok(())
    }

    /// Whether a plan may be proposed from its current state: directly, or by way of a draft.
    fn may_propose(
        &self,
        revision: u32,
        subject: &ApprovalSubject,
        by: &Identity,
    ) -> Result<(), IllegalEntry> {
        let newest = self.newest();
        let same = newest.is_some_and(|newest| newest.subject.digest == subject.digest);
        let expected = newest.map_or(0, |newest| newest.number) + u32::from(!same);
        if revision != expected.max(1) {
            return Err(IllegalEntry::Revision {
                said: revision,
                newest: newest.map_or(0, |newest| newest.number),
            });
        }
        if same && matches!(self.state, PlanState::Rejected | PlanState::Waiting(WaitReason::RevisionsSpent))
        {
            return Err(IllegalEntry::Unchanged { revision });
        }
        if self.state == PlanState::Draft { Ok(()) } else { self.go(PlanState::Draft, by) }
    }

    fn is_newest(&self, revision: u32) -> Result<(), IllegalEntry> {
        let newest = self.newest().map_or(0, |newest| newest.number);
        if revision == newest { Ok(()) } else { Err(IllegalEntry::Revision { said: revision, newest }) }
    }

    /// Whether somebody may move the plan to this state.
    fn go(&self, to: PlanState, by: &Identity) -> Result<(), IllegalEntry> {
        let actor = self.way(to)?;
        let may = match (actor, by.role) {
            (Actor::Planner | Actor::Verifier, _) | (_, Role::Person) => true,
            // A policy rule may approve, and age may cancel; neither may do anything else.
            (Actor::Person, Role::Policy) => to == PlanState::Approved,
            (Actor::Person, Role::Age) => to == PlanState::Cancelled,
            (Actor::Person | Actor::Harness, Role::Agent) | (Actor::Harness, Role::Policy | Role::Age) => {
                false
            }
        };
        if may { Ok(()) } else { Err(IllegalEntry::Actor { from: self.state, to, actor }) }
    }

    fn way(&self, to: PlanState) -> Result<Actor, IllegalEntry> {
        self.state.to(to).map_err(IllegalEntry::Way)
    }

    /// Every transition except the one to a run voids the approvals. A failed run may be retried under the
    /// same approval.
    fn reach(&mut self, state: PlanState, at_ms: u64) {
        if !matches!(state, PlanState::Running | PlanState::Failed) {
            self.approvals.clear();
        }
        self.moved.clear();
        self.state = state;
        self.since_ms = at_ms;
    }
}

impl Default for ApprovalStatus {
    fn default() -> Self {
        Self::new()
    }
}

/// The positions of all undone entries.
pub fn undone(ledger: &[RecordedEntry]) -> BTreeSet<u64> {
    let seq = |said: &RecordedEntry| {
        if let LedgerEntry::Undone { seq, .. } = said.entry { Some(seq) } else { None }
    };
    ledger.iter().filter_map(seq).collect()
}

/// The decision that somebody may undo: their own, and the last one that is still valid.
pub fn undoable<'a>(ledger: &'a [RecordedEntry], by: &Identity) -> Result<&'a RecordedEntry, IllegalEntry> {
    let undone = undone(ledger);
    // Entries without effect on the state don't block an undo.
    let is_aside = |entry: &LedgerEntry| {
        matches!(
            entry,
            LedgerEntry::Undone { .. }
                | LedgerEntry::Drafted { .. }
                | LedgerEntry::Discovered { .. }
                | LedgerEntry::Added { .. }
        )
    };
    let holds = |said: &&RecordedEntry| !undone.contains(&said.seq) && !is_aside(&said.entry);
    let last = ledger.iter().rev().find(holds);
    let last = last.ok_or_else(|| IllegalEntry::Undo("no decision was made".to_owned()))?;
    let name = last.entry.name();
    match &last.entry {
        LedgerEntry::Approved { by: who, .. }
        | LedgerEntry::Rejected { by: who, .. }
        | LedgerEntry::Commented { by: who, .. }
        | LedgerEntry::Answered { by: who, .. }
        | LedgerEntry::Reopened { by: who, .. }
        | LedgerEntry::Cancelled { by: who, .. }
        | LedgerEntry::Deleted { by: who, .. } => match who == by {
            true => Ok(last),
            false => Err(IllegalEntry::Undo(format!("the last entry is {name}, by {who}"))),
        },
        LedgerEntry::Proposed { by: who, .. } => {
            Err(IllegalEntry::Undo(format!("{who} has proposed a revision since")))
        }
        LedgerEntry::Started { run, .. } => {
            Err(IllegalEntry::Undo(format!("run {run} has started under it")))
        }
        LedgerEntry::Ended { run, .. } => Err(IllegalEntry::Undo(format!("run {run} has ended since"))),
        LedgerEntry::Lapsed { .. } => Err(IllegalEntry::Undo("the approval has lapsed since".to_owned())),
        LedgerEntry::Merged { into, .. } => Err(IllegalEntry::Undo(format!("it is merged into {into}"))),
        LedgerEntry::Archived { .. }
        | LedgerEntry::Evicted { .. }
        | LedgerEntry::Undone { .. }
        | LedgerEntry::Drafted { .. }
        | LedgerEntry::Discovered { .. }
        | LedgerEntry::Added { .. } => Err(IllegalEntry::Undo(format!("the last entry is {name}"))),
    }
}

impl fmt::Display for IllegalEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Way(forbidden) => forbidden.fmt(f),
            Self::Actor { from, to, actor } => {
                write!(f, "only the {actor} may move a plan from {from} to {to}")
            }
            Self::Revision { said, newest: 0 } => write!(f, "r{said} was never proposed"),
            Self::Revision { said, newest } => write!(f, "r{said} is not the newest revision; r{newest} is"),
            Self::Unchanged { revision } => {
                write!(f, "r{revision} was rejected, and the plan has not changed since")
            }
            Self::Comment(comment) => write!(f, "no open comment {comment}"),
            Self::Discovery(number) => write!(f, "no open follow-up work {number}"),
            Self::Run(run) => write!(f, "run {run} is not the latest run"),
            Self::Twice(who) => write!(f, "{who} already approved this revision"),
            Self::Undo(why) => write!(f, "nothing to undo: {why}"),
            Self::Theirs(state) => {
                write!(
                    f,
                    "it is {state}; an agent may withdraw only an agent's proposal that no person has decided about"
                )
            }
        }
    }
}

impl std::error::Error for IllegalEntry {}
