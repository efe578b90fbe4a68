//! Where a plan stands: a fold over its ledger. Only [`Standing::say`] moves a plan, by the one table of [`crate::plan::lifecycle`]; what
//! does not fit is refused with what would.

use std::collections::BTreeSet;
use std::fmt;

use crate::approval::ledger::{Drafting, Entry, Role, Subject, Who};
use crate::plan::lifecycle::{Actor, Forbidden, Reason, State};
use crate::run::baseline::Red;
use crate::run::event::{Blob, Outcome};

/// How often a plan may be rejected; after that a person has to look.
pub const REJECTIONS_MAX: u32 = 3;

/// Where a plan stands, as far as its ledger says. What its run came to is for [`Standing::state`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// As the ledger alone has it.
    state: State,
    /// Every revision that was proposed, the oldest first.
    pub revisions: Vec<Revision>,
    /// Everything that was remarked, the oldest first.
    pub comments: Vec<Comment>,
    /// Every text that somebody wrote and gave reasons for, the oldest first.
    pub drafts: Vec<Drafted>,
    /// Work that was come upon, the oldest first.
    pub discoveries: Vec<Discovery>,
    /// The approvals of the newest revision that hold.
    pub approvals: Vec<Approval>,
    /// Every rejection, the oldest first.
    pub rejections: Vec<Rejection>,
    /// Rejections since somebody last opened the plan again.
    pub rejected: u32,
    /// What moved when the approval lapsed; empty where it did not.
    pub moved: Vec<String>,
    /// The last run that began on the strength of an approval.
    pub run: Option<i64>,
    /// The last time that its work was merged, as far as no run began since.
    pub merged: Option<Merged>,
    /// The entry that says why its work could not be merged, where that was the last thing tried.
    pub evicted: Option<Said>,
    /// When the state was reached, in milliseconds since 1970.
    pub since_ms: u64,
}

/// Where the work of a plan went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    pub into: String,
    /// The commit that it stood at then.
    pub commit: String,
    /// The commit of the plan's own branch.
    pub tip: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// One text that was proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    pub number: u32,
    /// Exactly what was proposed, the last time.
    pub subject: Subject,
    pub by: Who,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    pub text: Blob,
    /// The dialect that it is written in.
    pub dialect: String,
    /// How many warnings the checker had.
    pub warnings: u32,
    /// What the contracts said before the work.
    pub red: Vec<Red>,
    /// Whether who proposed it wrote the text.
    pub is_handed_in: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    pub number: u32,
    /// The revision that it was made on.
    pub revision: u32,
    /// The id of the step that it is about.
    pub step: Option<String>,
    pub by: Who,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    pub text: String,
    /// Who saw to it, and what they say.
    pub answer: Option<(Who, String)>,
}

/// A text that somebody wrote and gave reasons for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drafted {
    pub by: Who,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The digest of what they wrote.
    pub digest: String,
    /// What they were asked for, and what they say.
    pub drafting: Drafting,
}

/// Work that somebody came upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Discovery {
    pub number: u32,
    /// The id of the step that they were at.
    pub step: Option<String>,
    /// Who came upon it.
    pub by: Who,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What is to be done.
    pub title: String,
    /// What else they say of it.
    pub text: String,
    /// The id of the step that it became.
    pub added: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Its place in the ledger.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    pub revision: u32,
    /// Exactly what was approved.
    pub subject: Subject,
    pub by: Who,
    pub way: String,
    /// What they say to whoever carries it out.
    pub note: String,
    /// The rule that gave them the right.
    pub rule: String,
    /// How many have to say yes.
    pub needed: u32,
    /// The hash of the policy that held; empty where there was none.
    pub policy: String,
    /// Until when it holds.
    pub until_ms: Option<u64>,
    pub signature: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    pub revision: u32,
    pub by: Who,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    pub feedback: String,
}

/// An entry with its place and its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// Its place in the ledger, counted from 1.
    pub seq: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    pub entry: Entry,
}

/// Why an entry does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unfit {
    /// The plan can't go there from where it stands.
    Way(Forbidden),
    /// Only somebody else may move it there.
    Actor {
        from: State,
        /// Where it was to go.
        to: State,
        /// Who may move it.
        actor: Actor,
    },
    /// It is about another revision than the newest.
    Revision {
        /// The revision that it is about.
        said: u32,
        /// The newest; 0 where nothing was proposed.
        newest: u32,
    },
    /// The same text was rejected.
    Unchanged {
        /// The revision that was rejected.
        revision: u32,
    },
    /// There is no such remark, or it was seen to.
    Comment(u32),
    /// There is no such discovery, or it was added already.
    Discovery(u32),
    /// Another run began last.
    Run(i64),
    /// The same person said yes already.
    Twice(Who),
    /// It can't be taken back.
    Undo(String),
    /// It is not an agent's to take back.
    Theirs(State),
}

impl Standing {
    /// Where a plan stands of which nothing was said yet.
    pub const fn new() -> Self {
        Self {
            state: State::Draft,
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

    /// Folds a whole ledger. What was taken back counts as if it had never been said.
    pub fn of(ledger: &[Said]) -> Result<Self, (u64, Unfit)> {
        let mut standing = Self::new();
        let undone = undone(ledger);
        for said in ledger.iter().filter(|said| !undone.contains(&said.seq)) {
            standing.say(said).map_err(|unfit| (said.seq, unfit))?;
        }
        Ok(standing)
    }

    /// Where the plan stands, with what is known of a run that goes on.
    pub fn state(&self, run: Option<State>) -> State {
        run.filter(|_| self.state == State::Running).unwrap_or(self.state)
    }

    pub fn newest(&self) -> Option<&Revision> {
        self.revisions.last()
    }

    /// The approvals of exactly this, as long as they hold, if they are as many as are needed.
    pub fn approved(&self, now_ms: u64) -> Option<&[Approval]> {
        let holds = |approval: &&Approval| approval.until_ms.is_none_or(|until| now_ms < until);
        let needed = self.approvals.iter().map(|approval| approval.needed).max()?;
        let said = self.approvals.iter().filter(holds).count();
        (said >= needed as usize).then_some(&self.approvals)
    }

    /// Whether something new may be said by whoever says it: an agent takes back only what an agent proposed, while no person has
    /// decided about it. A ledger is folded without this: it tells what was said.
    pub fn may_be_said(&self, entry: &Entry) -> Result<(), Unfit> {
        let is_decided = self.approvals.iter().any(|approval| approval.by.role == Role::Person);
        let is_agents = self.newest().is_some_and(|newest| newest.by.role == Role::Agent);
        let is_theirs = match self.state {
            State::Proposed => is_decided || (matches!(entry, Entry::Reopened { .. }) && !is_agents),
            State::Approved => is_decided || matches!(entry, Entry::Reopened { .. }),
            State::Draft
            | State::Running
            | State::Waiting(_)
            | State::Done
            | State::Failed
            | State::Rejected
            | State::Cancelled => matches!(entry, Entry::Reopened { .. }),
        };
        let takes_back = matches!(entry, Entry::Reopened { .. } | Entry::Proposed { .. });
        let is_agent = entry.by().is_some_and(|by| by.role == Role::Agent);
        if is_agent && takes_back && is_theirs { Err(Unfit::Theirs(self.state)) } else { Ok(()) }
    }

    /// Takes over one entry that was not taken back.
    pub fn say(&mut self, said: &Said) -> Result<(), Unfit> {
        let at_ms = said.at_ms;
        match &said.entry {
            Entry::Proposed { .. } => self.propose(said)?,
            Entry::Approved { .. } => self.approve(said)?,
            Entry::Rejected { revision, by, feedback, .. } => {
                self.is_newest(*revision)?;
                self.go(State::Rejected, by)?;
                self.reject(Rejection {
                    revision: *revision,
                    by: by.clone(),
                    at_ms,
                    feedback: feedback.clone(),
                });
            }
            Entry::Commented { .. } => self.comment(said)?,
            Entry::Answered { comment, by, text } => {
                let open = self.comments.iter_mut().find(|known| known.number == *comment);
                let open = open.filter(|known| known.answer.is_none()).ok_or(Unfit::Comment(*comment))?;
                open.answer = Some((by.clone(), text.clone()));
            }
            Entry::Drafted { by, digest, drafting } => self.drafts.push(Drafted {
                by: by.clone(),
                at_ms,
                digest: digest.clone(),
                drafting: drafting.clone(),
            }),
            Entry::Discovered { .. } => self.discover(said)?,
            Entry::Added { number, step, .. } => {
                let open = self.discoveries.iter_mut().find(|known| known.number == *number);
                let open = open.filter(|known| known.added.is_none()).ok_or(Unfit::Discovery(*number))?;
                open.added = Some(step.clone());
            }
            Entry::Reopened { by, .. } => {
                self.go(State::Draft, by)?;
                self.rejected = if by.role == Role::Person { 0 } else { self.rejected };
                self.reach(State::Draft, at_ms);
            }
            Entry::Cancelled { by, .. } => {
                self.go(State::Cancelled, by)?;
                self.reach(State::Cancelled, at_ms);
            }
            Entry::Lapsed { moved } => {
                self.way(State::Waiting(Reason::Lapsed))?;
                self.reach(State::Waiting(Reason::Lapsed), at_ms);
                self.moved.clone_from(moved);
            }
            Entry::Started { run, .. } => {
                self.way(State::Running)?;
                self.run = Some(*run);
                self.merged = None;
                self.evicted = None;
                self.reach(State::Running, at_ms);
            }
            Entry::Ended { run, outcome, is_revised } => self.end(*run, (*outcome, *is_revised), at_ms)?,
            Entry::Merged { into, commit, tip, .. } => {
                self.evicted = None;
                self.merged =
                    Some(Merged { into: into.clone(), commit: commit.clone(), tip: tip.clone(), at_ms });
            }
            Entry::Evicted { .. } => self.evicted = Some(said.clone()),
            // What was taken back is left out before anything is folded; where a plan lies moves nothing.
            Entry::Undone { .. } | Entry::Archived { .. } | Entry::Deleted { .. } => {}
        }
        Ok(())
    }

    fn propose(&mut self, said: &Said) -> Result<(), Unfit> {
        let Entry::Proposed { revision, subject, by, text, dialect, warnings, red, is_handed_in } =
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
        self.reach(State::Proposed, said.at_ms);
        Ok(())
    }

    fn comment(&mut self, said: &Said) -> Result<(), Unfit> {
        let Entry::Commented { comment, revision, step, by, text } = &said.entry else { return Ok(()) };
        if *comment as usize != self.comments.len() + 1 {
            return Err(Unfit::Comment(*comment));
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

    fn discover(&mut self, said: &Said) -> Result<(), Unfit> {
        let Entry::Discovered { number, step, by, title, text, .. } = &said.entry else { return Ok(()) };
        if *number as usize != self.discoveries.len() + 1 {
            return Err(Unfit::Discovery(*number));
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
        let state = if spent { State::Waiting(Reason::RevisionsSpent) } else { State::Rejected };
        self.reach(state, at_ms);
    }

    fn end(&mut self, run: i64, (outcome, is_revised): (Outcome, bool), at_ms: u64) -> Result<(), Unfit> {
        let ended = match outcome {
            Outcome::Done => State::Done,
            Outcome::Failed => State::Failed,
            Outcome::Cancelled => State::Cancelled,
        };
        if self.run != Some(run) {
            return Err(Unfit::Run(run));
        }
        self.way(ended)?;
        self.reach(if is_revised { State::Draft } else { ended }, at_ms);
        Ok(())
    }

    fn approve(&mut self, said: &Said) -> Result<(), Unfit> {
        let Entry::Approved { revision, subject, by, way, note, rule, needed, policy, until_ms, signature } =
            &said.entry
        else {
            return Ok(());
        };
        self.is_newest(*revision)?;
        if self.approvals.iter().any(|known| known.by == *by) {
            return Err(Unfit::Twice(by.clone()));
        }
        self.go(State::Approved, by)?;
        self.approvals.push(Approval {
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
            self.state = State::Approved;
            self.since_ms = said.at_ms;
        }
        Ok(())
    }

    /// Whether a plan may be proposed from where it stands: directly, or by way of a draft.
    fn may_propose(&self, revision: u32, subject: &Subject, by: &Who) -> Result<(), Unfit> {
        let newest = self.newest();
        let same = newest.is_some_and(|newest| newest.subject.digest == subject.digest);
        let expected = newest.map_or(0, |newest| newest.number) + u32::from(!same);
        if revision != expected.max(1) {
            return Err(Unfit::Revision { said: revision, newest: newest.map_or(0, |newest| newest.number) });
        }
        if same && matches!(self.state, State::Rejected | State::Waiting(Reason::RevisionsSpent)) {
            return Err(Unfit::Unchanged { revision });
        }
        if self.state == State::Draft { Ok(()) } else { self.go(State::Draft, by) }
    }

    fn is_newest(&self, revision: u32) -> Result<(), Unfit> {
        let newest = self.newest().map_or(0, |newest| newest.number);
        if revision == newest { Ok(()) } else { Err(Unfit::Revision { said: revision, newest }) }
    }

    /// The way from here to there, for somebody.
    fn go(&self, to: State, by: &Who) -> Result<(), Unfit> {
        let actor = self.way(to)?;
        let may = match (actor, by.role) {
            (Actor::Planner | Actor::Verifier, _) | (_, Role::Person) => true,
            // A written rule may say yes, and age may end; neither says anything else.
            (Actor::Person, Role::Policy) => to == State::Approved,
            (Actor::Person, Role::Age) => to == State::Cancelled,
            (Actor::Person | Actor::Harness, Role::Agent) | (Actor::Harness, Role::Policy | Role::Age) => {
                false
            }
        };
        if may { Ok(()) } else { Err(Unfit::Actor { from: self.state, to, actor }) }
    }

    fn way(&self, to: State) -> Result<Actor, Unfit> {
        self.state.to(to).map_err(Unfit::Way)
    }

    /// Every way but the one to a run makes the approvals void. A run that failed may be tried again on the same yes.
    fn reach(&mut self, state: State, at_ms: u64) {
        if !matches!(state, State::Running | State::Failed) {
            self.approvals.clear();
        }
        self.moved.clear();
        self.state = state;
        self.since_ms = at_ms;
    }
}

impl Default for Standing {
    fn default() -> Self {
        Self::new()
    }
}

/// The places of everything that was taken back.
pub fn undone(ledger: &[Said]) -> BTreeSet<u64> {
    let seq = |said: &Said| if let Entry::Undone { seq, .. } = said.entry { Some(seq) } else { None };
    ledger.iter().filter_map(seq).collect()
}

/// The decision that somebody may take back: their own, and the last thing that was said and still holds.
pub fn undoable<'a>(ledger: &'a [Said], by: &Who) -> Result<&'a Said, Unfit> {
    let undone = undone(ledger);
    // What is only told beside must not keep anybody from taking a decision back.
    let is_aside = |entry: &Entry| {
        matches!(
            entry,
            Entry::Undone { .. } | Entry::Drafted { .. } | Entry::Discovered { .. } | Entry::Added { .. }
        )
    };
    let holds = |said: &&Said| !undone.contains(&said.seq) && !is_aside(&said.entry);
    let last = ledger.iter().rev().find(holds);
    let last = last.ok_or_else(|| Unfit::Undo("nothing was decided".to_owned()))?;
    let name = last.entry.name();
    match &last.entry {
        Entry::Approved { by: who, .. }
        | Entry::Rejected { by: who, .. }
        | Entry::Commented { by: who, .. }
        | Entry::Answered { by: who, .. }
        | Entry::Reopened { by: who, .. }
        | Entry::Cancelled { by: who, .. }
        | Entry::Deleted { by: who, .. } => match who == by {
            true => Ok(last),
            false => Err(Unfit::Undo(format!("the last thing that was said is {name}, by {who}"))),
        },
        Entry::Proposed { by: who, .. } => Err(Unfit::Undo(format!("{who} has proposed a revision since"))),
        Entry::Started { run, .. } => Err(Unfit::Undo(format!("run {run} has begun on the strength of it"))),
        Entry::Ended { run, .. } => Err(Unfit::Undo(format!("run {run} has ended since"))),
        Entry::Lapsed { .. } => Err(Unfit::Undo("the approval has lapsed since".to_owned())),
        Entry::Merged { into, .. } => Err(Unfit::Undo(format!("its work is in {into}"))),
        Entry::Archived { .. }
        | Entry::Evicted { .. }
        | Entry::Undone { .. }
        | Entry::Drafted { .. }
        | Entry::Discovered { .. }
        | Entry::Added { .. } => Err(Unfit::Undo(format!("the last thing that was said is {name}"))),
    }
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Way(forbidden) => forbidden.fmt(f),
            Self::Actor { from, to, actor } => {
                write!(f, "a plan that is {from} becomes {to} by the {actor} alone")
            }
            Self::Revision { said, newest: 0 } => write!(f, "r{said} was never proposed"),
            Self::Revision { said, newest } => write!(f, "r{said} is not the newest revision, r{newest} is"),
            Self::Unchanged { revision } => {
                write!(f, "r{revision} was rejected, and nothing in the plan has changed since")
            }
            Self::Comment(comment) => write!(f, "there is no open comment {comment}"),
            Self::Discovery(number) => write!(f, "there is no discovery {number} that is not a step yet"),
            Self::Run(run) => write!(f, "run {run} is not the one that began last"),
            Self::Twice(who) => write!(f, "{who} has approved this revision already"),
            Self::Undo(why) => write!(f, "nothing can be taken back: {why}"),
            Self::Theirs(state) => {
                write!(
                    f,
                    "it is {state}, and an agent takes back only what an agent proposed and no person decided about"
                )
            }
        }
    }
}

impl std::error::Error for Unfit {}
