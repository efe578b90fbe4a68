//! What people and policy rules decide about plans before and between runs: proposals, approvals, rejections,
//! comments. A façade for the user interfaces. Core's table says what fits where; this module gathers what is
//! decided on and records it.

mod expiry;
mod action;
mod review;
mod authority;
mod mirror;
mod second_start;
mod start;
mod subject;
mod batch;

pub use action::Find;
pub use batch::BatchAction;
pub use expiry::Expired;
pub use mirror::Drift;
pub use review::Reviewed;
pub use second_start::SecondStart;
pub use start::Started;
pub use subject::moved;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright_core::approval::ledger::{ApprovalSubject, LedgerEntry, statement};
use planwright_core::approval::status;
use planwright_core::approval::status::{ApprovalStatus, IllegalEntry, RecordedEntry, Revision};
use planwright_core::plan::draft::Draft;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::{Forbidden, PlanState};
use planwright_core::plan::verified::Plan;
use planwright_core::run::baseline::Baseline;
use planwright_core::run::event::RunOutcome;
use planwright_core::syntax::count::counted;

use planwright_core::syntax::diagnostic::Severity;
use planwright_core::syntax::source::Source;
use planwright_core::verify;
use planwright_core::workspace::portfolio::CircuitBreaker;

use crate::approval::authority::ProposedPlan;
use crate::config::{policy, signature};
use crate::git::{base, sealed};
use crate::run;
use crate::run::{Run, Runs};
use crate::store::journal;
use crate::store::journal::{AppendResult, LedgerSummary, Statement, Store, blob_of};
use crate::store::plan_count;
use crate::store::plan_file;
use crate::system::clock::now;
use crate::workspace::project::{Project, Verified};
use crate::workspace::staging;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is running in another working copy.
    #[error("{plan} is running in {}", root.display())]
    OpenElsewhere {
        plan: String,
        /// The root of the project there.
        root: PathBuf,
        /// Whether that is the plan's worktree.
        is_tree: bool,
    },
    #[error(transparent)]
    Runs(#[from] run::Error),
    #[error("cannot access the ledger")]
    Journal(#[from] journal::Error),
    #[error("cannot find the base commit")]
    Base(#[from] base::Error),
    #[error("cannot seal files")]
    Seal(#[from] sealed::Error),
    #[error("cannot name the programs of the contracts")]
    Program(#[from] crate::run::pinned::Error),
    /// The policy refuses it.
    #[error("{0}")]
    Refused(String),
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] policy::Error),
    #[error(transparent)]
    Unsigned(#[from] signature::SignError),
    /// The signature is not valid.
    #[error(transparent)]
    Signature(#[from] signature::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error("{plan} has {}; fix {} before proposing", counted(*errors, "error", "errors"), if *errors == 1 { "it" } else { "them" })]
    Unclean { plan: String, errors: usize },
    /// It has ended: nobody proposes or approves it as it is.
    #[error("{plan} has ended")]
    Over {
        plan: String,
        #[source]
        source: Forbidden,
    },
    /// It does not fit the state of the plan.
    #[error("{0}")]
    Unfit(IllegalEntry),
    /// The ledger is inconsistent.
    #[error("the ledger of {plan} is corrupt at entry {seq}: {why}")]
    Broken { plan: String, seq: u64, why: IllegalEntry },
    /// The decision was about another digest than the current one.
    #[error("{plan} is {now}, not {seen}")]
    Moved {
        plan: String,
        /// The digest that was decided on.
        seen: String,
        /// The digest that was proposed last.
        now: String,
    },
    /// What was approved, or is about to be, is not what would run.
    #[error("lapsed: {}", moved.join("; "))]
    Lapsed {
        plan: String,
        /// What changed, for people.
        moved: Vec<String>,
    },
    #[error("{plan} is not approved")]
    Unapproved { plan: String },
    #[error("{plan} is shelved; unshelve it first")]
    Staged { plan: String },
    /// It failed too often, and only a person may restart it.
    #[error("{plan} is on hold: {trip}")]
    Tripped { plan: String, trip: CircuitBreaker },
    #[error("{plan} is running (run {run})")]
    Running { plan: String, run: i64 },
    #[error("{plan} has no revision r{revision} to compare r{newest} with")]
    Revision {
        plan: String,
        revision: u32,
        /// 0 if nothing was proposed.
        newest: u32,
    },
    #[error("cannot read r{revision} of {plan}")]
    Text { plan: String, revision: u32 },
}

impl From<policy::Unverified> for Error {
    fn from(unverified: policy::Unverified) -> Self {
        match unverified {
            policy::Unverified::Policy(error) => Self::Policy(error),
            policy::Unverified::Signature(error) => Self::Signature(error),
        }
    }
}

impl From<IllegalEntry> for Error {
    fn from(unfit: IllegalEntry) -> Self {
        Self::Unfit(unfit)
    }
}

/// Decisions about the plans of a project.
pub struct Approvals {
    runs: Runs,
}

/// Everything decided about one plan.
pub struct PlanRecord {
    /// Relative to the root of the project.
    pub plan: PathBuf,
    /// Oldest first.
    pub ledger: Vec<RecordedEntry>,
    /// The resulting state, including the outcome of its run.
    pub standing: ApprovalStatus,
    /// The last run that an approval started.
    pub run: Option<Run>,
    /// Entries that must be recorded before anything else.
    due: Vec<LedgerEntry>,
}

impl PlanRecord {
    /// Whether a run that is over still counts: nobody has taken the plan back since. Runs of before the ledger always do.
    pub fn is_standing(&self, run: &Run) -> bool {
        match self.standing.run {
            None => true,
            Some(last) => {
                let state = self.standing.state(None);
                last == run.row.id.number() && matches!(state, PlanState::Running | PlanState::Done)
            }
        }
    }

    /// The state of the plan, including its run.
    pub fn state(&self) -> PlanState {
        self.standing.state(self.run.as_ref().map(|run| planwright_core::run::mirror::state_of(&run.state)))
    }

    fn last(&self) -> u64 {
        self.ledger.last().map_or(0, |said| said.seq)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposed {
    pub revision: Revision,
    /// Whether exactly this was proposed before.
    pub is_known: bool,
    /// The policy rule that approved it immediately.
    pub rule: Option<String>,
    /// What could not be written to the plan file.
    pub complaints: Vec<String>,
}

/// Whose text is proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authorship {
    /// The proposer wrote it.
    Own,
    Found,
}

/// The result of proposing a plan.
enum Offer {
    /// Exactly this was proposed before.
    Known(Box<Revision>),
    New(Box<Offered>),
}

/// What must be recorded to propose a plan.
struct Offered {
    case: PlanRecord,
    entries: Vec<LedgerEntry>,
    text: Vec<u8>,
    /// The policy rule that approves it immediately.
    rule: Option<String>,
}

#[derive(Debug, Clone)]
pub struct ApprovalRequest {
    pub by: Identity,
    /// How: `terminal` or `rev`.
    pub way: &'static str,
    /// A note to whoever runs it.
    pub note: String,
    /// The signing key.
    pub key: Option<PathBuf>,
}

/// A recorded approval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approved {
    pub approval: status::ApprovalRecord,
    /// Approvals still needed; 0: it may run.
    pub missing: u32,
    /// What could not be written to the plan file.
    pub complaints: Vec<String>,
}

impl Approvals {
    pub fn open(project: &Project) -> Result<Self, Error> {
        Ok(Self { runs: Runs::open(project)? })
    }

    /// Opens the decisions of a project that has any. Creates nothing.
    pub fn open_existing(project: &Project) -> Result<Option<Self>, Error> {
        Ok(Runs::open_existing(project)?.map(|runs| Self { runs }))
    }

    pub fn runs(&self) -> &Runs {
        &self.runs
    }

    fn store(&self) -> &Arc<Store> {
        self.runs.store()
    }

    fn project(&self) -> &Project {
        self.runs.project()
    }

    fn root(&self) -> &Path {
        &self.project().root
    }

    /// Everything decided about a plan file.
    pub fn case(&self, path: &Path) -> Result<PlanRecord, Error> {
        self.case_of(self.runs.relative(path))
    }

    /// Everything decided about a plan, by its path relative to the root of the project.
    pub fn case_of(&self, plan: PathBuf) -> Result<PlanRecord, Error> {
        let ledger = self.store().ledger(&plan)?;
        let broken = |(seq, why)| Error::Broken { plan: shown(&plan), seq, why };
        let mut standing = ApprovalStatus::of(&ledger).map_err(broken)?;
        let run = standing.run.map(|run| self.runs.run(journal::RunId::new(run))).transpose()?;
        let due: Vec<LedgerEntry> = run.iter().filter_map(|run| ended(&standing, run)).collect();
        let last = ledger.last().map_or(0, |said| said.seq);
        for (entry, seq) in due.iter().zip(last + 1..) {
            standing.say(&RecordedEntry { seq, at_ms: now(), entry: entry.clone() })?;
        }
        Ok(PlanRecord { plan, ledger, standing, run, due })
    }

    /// A revision as proposed.
    pub fn source(&self, case: &PlanRecord, revision: &Revision) -> Result<Source, Error> {
        let text = self.store().get(&revision.text)?;
        let unreadable = || Error::Text { plan: shown(&case.plan), revision: revision.number };
        let text = String::from_utf8(text).map_err(|_| unreadable())?;
        let dialect = planwright_core::dialect::named(&revision.dialect).ok_or_else(unreadable)?;
        let place = shown(&case.plan);
        Ok(Source::new(place.as_str(), text).at(place.as_str()).written_in(dialect))
    }

    /// The plan of a revision as proposed.
    pub fn plan(&self, case: &PlanRecord, revision: &Revision) -> Result<Plan, Error> {
        let source = self.source(case, revision)?;
        lower(case, revision, &source, &plan_count::parse(&source))
    }

    /// Whether exactly this digest is pending review. An approval of it covers what was proposed then, and
    /// nothing that changed since.
    pub fn is_proposed(&self, path: &Path, digest: &str) -> Result<bool, Error> {
        let case = self.case(path)?;
        let newest = case.standing.newest().is_some_and(|newest| newest.subject.digest == digest);
        Ok(newest && case.state() == PlanState::Proposed)
    }

    /// Asks for an approval of a plan. If a policy rule approves it, it is approved immediately.
    pub fn propose(&self, path: &Path, verified: &Verified, by: &Identity) -> Result<Proposed, Error> {
        let author = (by, Authorship::Found);
        self.propose_looking(path, verified, author, |plan, subject| self.red(plan, subject))
    }

    /// The same for callers without a shell: no contract runs for them, and `why` tells the approver so.
    /// Contract results already known for this base are used.
    pub fn propose_unrun(
        &self,
        path: &Path,
        verified: &Verified,
        (by, text): (&Identity, Authorship),
        why: &str,
    ) -> Result<Proposed, Error> {
        self.propose_looking(path, verified, (by, text), |plan, subject| self.known_red(plan, subject, why))
    }

    fn propose_looking(
        &self,
        path: &Path,
        verified: &Verified,
        author: (&Identity, Authorship),
        look: impl FnOnce(&Plan, &ApprovalSubject) -> Result<Vec<Baseline>, Error>,
    ) -> Result<Proposed, Error> {
        let offered = match self.offer(path, verified, author, look)? {
            Offer::Known(revision) => {
                return Ok(Proposed {
                    revision: *revision,
                    is_known: true,
                    rule: None,
                    complaints: Vec::new(),
                });
            }
            Offer::New(offered) => *offered,
        };
        let case = self.say(&offered.case, offered.entries, vec![offered.text])?;
        let complaints = self.show(path, &case);
        let revision =
            case.standing.newest().cloned().ok_or(Error::Unapproved { plan: shown(&case.plan) })?;
        Ok(Proposed { revision, is_known: false, rule: offered.rule, complaints })
    }

    /// What proposing a plan would record.
    fn offer(
        &self,
        path: &Path,
        verified: &Verified,
        (by, text): (&Identity, Authorship),
        look: impl FnOnce(&Plan, &ApprovalSubject) -> Result<Vec<Baseline>, Error>,
    ) -> Result<Offer, Error> {
        let case = self.case(path)?;
        if staging::is_staged(path) {
            return Err(Error::Staged { plan: shown(&case.plan) });
        }
        let Some(plan) = &verified.plan else {
            let errors = verified.count(Severity::Error);
            return Err(Error::Unclean { plan: shown(&case.plan), errors });
        };
        refuse_over(&case, PlanState::Proposed)?;
        // An unreadable policy refuses everything, including earlier decisions.
        self.policy_digest()?;
        let subject = self.subject(plan)?;
        let holds = matches!(case.state(), PlanState::Proposed | PlanState::Approved);
        if let Some(newest) = case.standing.newest().filter(|newest| holds && newest.subject == subject) {
            return Ok(Offer::Known(Box::new(newest.clone())));
        }
        // Checked before anything runs: someone who may not propose need not wait for the contracts.
        let mut entry = LedgerEntry::Proposed {
            revision: next_revision(&case.standing, &subject),
            subject,
            by: by.clone(),
            text: blob_of(verified.source.text().as_bytes()),
            dialect: verified.dialect().name.to_owned(),
            warnings: u32::try_from(verified.count(Severity::Warning)).unwrap_or(u32::MAX),
            red: Vec::new(),
            is_handed_in: text == Authorship::Own,
        };
        fits(&case, std::slice::from_ref(&entry))?;
        if let LedgerEntry::Proposed { red, subject, .. } = &mut entry {
            *red = look(plan, subject)?;
        }
        let automatic = self.automatic(&case, (plan, verified), &entry)?;
        let rule = automatic.as_ref().and_then(|entry| entry.by()).map(|by| by.name.clone());
        let entries: Vec<LedgerEntry> = std::iter::once(entry).chain(automatic).collect();
        let text = verified.source.text().as_bytes().to_vec();
        Ok(Offer::New(Box::new(Offered { case, entries, text, rule })))
    }

    /// Approves exactly what was proposed, if that is the digest that the person has seen.
    pub fn approve(&self, path: &Path, seen: &str, yes: &ApprovalRequest) -> Result<Approved, Error> {
        let case = self.case(path)?;
        refuse_over(&case, PlanState::Approved)?;
        let unapproved = || Error::Unapproved { plan: shown(&case.plan) };
        let newest = case.standing.newest().ok_or_else(unapproved)?.clone();
        if newest.subject.digest != seen {
            let (seen, now) = (short(seen), short(&newest.subject.digest));
            return Err(Error::Moved { plan: shown(&case.plan), seen, now });
        }
        let source = self.source(&case, &newest)?;
        let draft = plan_count::parse(&source);
        let plan = lower(&case, &newest, &source, &draft)?;
        let moved = self.moved(&case, &plan, &newest.subject)?;
        if !moved.is_empty() {
            return Err(Error::Lapsed { plan: shown(&case.plan), moved });
        }
        let right = self.right(&case, &ProposedPlan::new(&plan, &newest, &source, &draft), yes)?;
        let mut entry = LedgerEntry::Approved {
            revision: newest.number,
            subject: newest.subject.clone(),
            by: yes.by.clone(),
            way: yes.way.to_owned(),
            note: yes.note.clone(),
            rule: right.rule,
            needed: right.needed,
            policy: right.policy,
            until_ms: right.until_ms,
            signature: None,
        };
        if let Some(key) = &yes.key {
            let text = statement(&shown(&case.plan), &entry).unwrap_or_default();
            let signed = self.sign(key, &text, &yes.by)?;
            if let LedgerEntry::Approved { signature, .. } = &mut entry {
                *signature = Some(signed);
            }
        }
        let case = self.say(&case, vec![entry], Vec::new())?;
        let complaints = self.show(path, &case);
        let approval = case.standing.approvals.last().cloned();
        let approval = approval.ok_or(Error::Unapproved { plan: shown(&case.plan) })?;
        let said = u32::try_from(case.standing.approvals.len()).unwrap_or(u32::MAX);
        Ok(Approved { missing: approval.needed.saturating_sub(said), approval, complaints })
    }

    /// Everything in a proposed or approved subject that has changed.
    fn moved(&self, case: &PlanRecord, plan: &Plan, then: &ApprovalSubject) -> Result<Vec<String>, Error> {
        let now = self.subject_with(plan, &then.digest)?;
        moved(self.root(), (&case.plan, plan), then, &now)
    }

    /// Appends entries to a ledger if nothing was added since `case` was read, and reads it again.
    fn say(
        &self,
        case: &PlanRecord,
        entries: Vec<LedgerEntry>,
        blobs: Vec<Vec<u8>>,
    ) -> Result<PlanRecord, Error> {
        let summary = fits(case, &entries)?;
        let entries: Vec<LedgerEntry> = case.due.iter().cloned().chain(entries).collect();
        let statement = Statement { after: case.last(), entries: &entries, blobs, at_ms: now(), summary };
        match self.store().say(&case.plan, statement)? {
            AppendResult::Written { .. } => self.case_of(case.plan.clone()),
            AppendResult::Known | AppendResult::Moved => {
                let newest = self.case_of(case.plan.clone())?;
                let (seen, now) = (case.last().to_string(), newest.last().to_string());
                let at = |seq: String| format!("at entry {seq} of its ledger");
                Err(Error::Moved { plan: shown(&case.plan), seen: at(seen), now: at(now) })
            }
        }
    }
}

/// A plan that is over is reopened before anybody asks for an approval, or gives one.
fn refuse_over(case: &PlanRecord, to: PlanState) -> Result<(), Error> {
    let state = case.state();
    match (state.is_over(), state.to(to)) {
        (true, Err(source)) => Err(Error::Over { plan: shown(&case.plan), source }),
        (true, Ok(_)) | (false, _) => Ok(()),
    }
}

/// Whether entries fit the state of the plan, and the resulting state.
fn fits(case: &PlanRecord, entries: &[LedgerEntry]) -> Result<LedgerSummary, Error> {
    // The ledger's table ignores a running run, but nobody may decide over its head.
    if let Some(run) = case.run.as_ref().filter(|run| run.state.outcome().is_none()) {
        let is_remark = |entry: &LedgerEntry| {
            matches!(
                entry,
                LedgerEntry::Commented { .. }
                    | LedgerEntry::Answered { .. }
                    | LedgerEntry::Drafted { .. }
                    | LedgerEntry::Discovered { .. }
                    | LedgerEntry::Added { .. }
                    | LedgerEntry::Merged { .. }
                    | LedgerEntry::Evicted { .. }
            )
        };
        if !entries.iter().all(is_remark) {
            return Err(Error::Running { plan: shown(&case.plan), run: run.row.id.number() });
        }
    }
    entries.iter().try_for_each(|entry| case.standing.may_be_said(entry))?;
    let more = case.due.iter().chain(entries).zip(case.last() + 1..);
    let more = more.map(|(entry, seq)| RecordedEntry { seq, at_ms: now(), entry: entry.clone() });
    // Folded from the start: whatever is undone is as if it had never been recorded.
    let ledger: Vec<RecordedEntry> = case.ledger.iter().cloned().chain(more).collect();
    let standing = ApprovalStatus::of(&ledger).map_err(|(_, unfit)| unfit)?;
    Ok(LedgerSummary::of(&standing))
}

/// The outcome of a run that the ledger does not contain yet.
fn ended(standing: &ApprovalStatus, run: &Run) -> Option<LedgerEntry> {
    // That a contract doesn't hold any more changes nothing about how the run ended.
    let outcome = if run.state.is_lapsed() { RunOutcome::Done } else { run.state.outcome()? };
    (standing.state(None) == PlanState::Running).then(|| LedgerEntry::Ended {
        run: run.row.id.number(),
        outcome,
        is_revised: run.state.is_revised(),
    })
}

/// The revision number of a subject: another meaning is another revision.
fn next_revision(standing: &ApprovalStatus, subject: &ApprovalSubject) -> u32 {
    match standing.newest() {
        None => 1,
        Some(newest) => newest.number + u32::from(newest.subject.digest != subject.digest),
    }
}

fn shown(plan: &Path) -> String {
    plan.to_string_lossy().into_owned()
}

fn short(digest: &str) -> String {
    digest.chars().take(8).collect()
}

/// The plan in the text of a revision: it stays one whatever is missing on the machine today.
fn lower(case: &PlanRecord, revision: &Revision, source: &Source, draft: &Draft) -> Result<Plan, Error> {
    let plan = verify::trusted_draft(source, draft);
    plan.ok_or_else(|| Error::Text { plan: shown(&case.plan), revision: revision.number })
}
