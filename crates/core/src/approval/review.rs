//! The review of a plan: one object for the terminal, the page and the pull request comment. Contracts come
//! first, with their results on the base commit and their changes since the revision that the reader last
//! read. Data only; renders nothing.

mod diff;
mod strictness;
mod operand;
mod command_diff;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

pub use command_diff::{CommandPiece, DiffSign, pieces};
pub use diff::{DiffSubject, Difference, differences, pairs};
pub use strictness::{Direction, StrictnessFinding, compare, compare_commands};

use crate::approval::ledger::LedgerEntry;
use crate::approval::status::{
    ApprovalRecord, ApprovalStatus, Comment, RecordedEntry, Rejection, Revision, undone,
};
use crate::plan::digest::Digest;
use crate::plan::draft::Draft;
use crate::plan::identity::Identity;
use crate::plan::lifecycle::PlanState;
use crate::plan::verified;
use crate::plan::verified::{Plan, Step};
use crate::run::baseline::{Baseline, BaselineResult};
use crate::run::forecast::Forecast;
use crate::syntax::diagnostic::{Diagnostic, Severity};

/// What an unsigned approval proves.
pub const UNSIGNED_WORTH: &str = "unsigned: any program running as this user could have approved it";
/// What a signed approval proves.
pub const SIGNED_WORTH: &str = "signed: the holder of the key approved exactly this";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Review {
    pub plan: String,
    /// Relative to the project.
    pub path: String,
    pub title: String,
    pub state: String,
    /// `None` if it was never proposed.
    pub revision: Option<u32>,
    pub digest: String,
    /// Such as `main@4f1c8aa`.
    pub base: Option<String>,
    pub proposed_by: Option<Identity>,
    /// In milliseconds since 1970.
    pub proposed_at_ms: Option<u64>,
    pub steps: usize,
    pub waves: usize,
    /// In step order, then those of removed steps.
    pub contracts: Vec<ContractReview>,
    /// The revision that it is compared with.
    pub since: Option<Since>,
    /// Everything that changed since that revision.
    pub changes: Vec<Difference>,
    pub comments: Vec<CommentReview>,
    pub reach: FileReach,
    pub limits: CostLimits,
    /// `None` without history.
    pub forecast: Option<Forecast>,
    /// The approvals of this revision so far.
    pub approvals: Vec<ApprovalReview>,
    /// How many approvals are required, according to those made so far.
    pub approvals_needed: u32,
    /// What changed since it was proposed; an approval would be void.
    pub moved: Vec<String>,
    /// How the plan file differs from the proposal, if it does.
    pub drift: Option<String>,
    pub rejections: Vec<RejectionReview>,
    /// Diagnostics that don't belong to a contract.
    pub warnings: Vec<Warning>,
    /// The reviewers' findings in the last run, one line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContractReview {
    pub number: u32,
    pub step: String,
    pub title: String,
    pub target: String,
    /// `None` for a manual step.
    pub command: Option<String>,
    /// The exit code that means done.
    pub expect: u8,
    /// Its result before the work; `None` if it was not run.
    pub before: Option<BaselineResult>,
    /// How it changed; `None` without a revision to compare with.
    pub direction: Option<Direction>,
    pub because: Vec<String>,
    /// The previous command, if it differs.
    pub old_command: Option<String>,
    /// The changed lines with context.
    pub pieces: Vec<CommandPiece>,
    /// The codes of diagnostics about the step.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Since {
    pub revision: u32,
    pub why: ReviewReason,
}

/// Why a revision was chosen for comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewReason {
    /// The user asked for it.
    Asked,
    /// The last one that the reader decided or commented on.
    Read,
    /// The last one that anybody decided on.
    Decided,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommentReview {
    pub number: u32,
    /// The revision that it was made on.
    pub revision: u32,
    /// `None` for the whole plan.
    pub step: Option<String>,
    /// The current number of the step; `None` if it was removed, or for the whole plan.
    pub step_number: Option<u32>,
    /// Whether the step was removed.
    pub is_gone: bool,
    pub by: Identity,
    /// Whether the reader made it.
    pub is_yours: bool,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    pub text: String,
    /// `None` if it is open.
    pub answered_by: Option<Identity>,
    pub answer: Option<String>,
    /// What changed in that step since the compared revision.
    pub changed: Vec<DiffSubject>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct FileReach {
    /// Every glob with its current matches.
    pub globs: Vec<Touched>,
    /// How many files match any of them.
    pub files: u64,
    /// The ids of steps that declare nothing, and so may change everything.
    pub undeclared: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Touched {
    pub glob: String,
    /// 0 if it doesn't exist yet.
    pub files: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct CostLimits {
    pub tokens: Option<u64>,
    /// In millionths of a dollar.
    pub micro_dollars: Option<u64>,
    pub seconds: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalReview {
    pub revision: u32,
    pub by: Identity,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    pub way: String,
    /// The rule that authorized it.
    pub rule: String,
    /// A note to the agents that run the plan.
    pub note: String,
    /// When it expires.
    pub until_ms: Option<u64>,
    /// `audit` verifies the signature.
    pub is_signed: bool,
    /// What it proves, in one sentence.
    pub worth: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RejectionReview {
    pub revision: u32,
    pub by: Identity,
    /// Whether the reader made it.
    pub is_yours: bool,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    pub feedback: String,
}

/// A diagnostic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// The code of the rule.
    pub code: String,
    /// `None` for the plan as a whole.
    pub step: Option<String>,
    pub message: String,
}

#[derive(Debug, Clone)]
pub struct ReviewInput<'a> {
    pub name: &'a str,
    /// Relative to the project.
    pub path: &'a str,
    pub standing: &'a ApprovalStatus,
    /// The state of the plan, including its run.
    pub state: PlanState,
    pub plan: &'a Plan,
    pub reader: &'a Identity,
    /// The revision to compare with.
    pub since: Option<(Since, &'a Plan)>,
    pub warnings: Vec<Warning>,
    pub reach: FileReach,
    pub forecast: Option<Forecast>,
    /// What changed since it was proposed.
    pub moved: Vec<String>,
    /// How the plan file differs from the proposal, if it does.
    pub drift: Option<String>,
    /// The reviewers' findings in the last run, one line each.
    pub findings: Vec<String>,
}

impl Review {
    pub fn of(input: ReviewInput<'_>) -> Self {
        let ReviewInput {
            name,
            path,
            standing,
            state,
            plan,
            reader,
            since,
            warnings,
            reach,
            forecast,
            moved,
            drift,
            findings,
        } = input;
        let newest = standing.newest();
        let compared = since.as_ref().map(|(_, old)| (*old, pairs(old, plan)));
        let changes = compared.as_ref().map(|(old, pairs)| differences(old, plan, pairs)).unwrap_or_default();
        let red = newest.map_or(&[][..], |newest| &newest.red);
        let judge = Judge { plan, red, warnings: &warnings };
        let contracts = judge.contracts(compared.as_ref());
        let remarks = Remarks { plan, reader, changes: &changes, compared: compared.as_ref() };
        let remarks = remarks.all(&standing.comments, since.as_ref().map(|(since, _)| since.revision));
        Self {
            plan: name.to_owned(),
            path: path.to_owned(),
            title: plan.title.clone(),
            state: state.to_string(),
            revision: newest.map(|newest| newest.number),
            digest: Digest::of(plan).to_string(),
            base: newest.and_then(|newest| newest.subject.base.as_ref()).map(ToString::to_string),
            proposed_by: newest.map(|newest| newest.by.clone()),
            proposed_at_ms: newest.map(|newest| newest.at_ms),
            steps: plan.steps.len(),
            waves: plan.graph().waves().len(),
            contracts,
            since: since.map(|(since, _)| since),
            comments: remarks,
            changes,
            reach: FileReach { undeclared: undeclared(plan), ..reach },
            limits: CostLimits {
                tokens: plan.budget.tokens,
                micro_dollars: plan.budget.micro_dollars,
                seconds: plan.budget.seconds,
            },
            forecast,
            approvals: standing.approvals.iter().map(ApprovalReview::of).collect(),
            approvals_needed: standing.approvals.iter().map(|approval| approval.needed).max().unwrap_or(1),
            moved: if moved.is_empty() { standing.moved.clone() } else { moved },
            drift,
            findings,
            rejections: standing.rejections.iter().map(|no| RejectionReview::of(no, reader)).collect(),
            warnings: warnings.into_iter().filter(|warning| warning.step.is_none()).collect(),
        }
    }

    /// The first digits of the digest, enough for people to compare.
    pub fn short(&self) -> &str {
        &self.digest[..self.digest.len().min(8)]
    }
}

/// The revision to compare the newest with: the last older one that the reader decided or commented on, else
/// the last older one that anybody decided on. Undone decisions count, since the revision was read.
pub fn last_read(ledger: &[RecordedEntry], reader: &Identity, newest: u32) -> Option<Since> {
    let decided = |entry: &LedgerEntry| {
        if let LedgerEntry::Approved { revision, by, .. } | LedgerEntry::Rejected { revision, by, .. } = entry
        {
            return Some((*revision, by.clone()));
        }
        None
    };
    let remarked = |entry: &LedgerEntry| {
        if let LedgerEntry::Commented { revision, by, .. } = entry {
            return Some((*revision, by.clone()));
        }
        decided(entry)
    };
    let older = |said: &(u32, Identity)| said.0 < newest;
    let read = ledger.iter().filter_map(|said| remarked(&said.entry)).filter(older);
    let read = read.filter(|(_, by)| by == reader).map(|(revision, _)| revision).max();
    let taken_back = undone(ledger);
    let holds = |said: &&RecordedEntry| !taken_back.contains(&said.seq);
    let anybody = ledger.iter().filter(holds).filter_map(|said| decided(&said.entry)).filter(older);
    let anybody = anybody.map(|(revision, _)| revision).max();
    let since = |why: ReviewReason| move |revision: u32| Since { revision, why };
    read.map(since(ReviewReason::Read)).or(anybody.map(since(ReviewReason::Decided)))
}

/// Diagnostics, each with its step.
pub fn warnings(draft: &Draft, diagnostics: &[Diagnostic]) -> Vec<Warning> {
    let ids = verified::ids(draft);
    let step_at = |at: usize| draft.steps.iter().rposition(|step| step.heading.0.start <= at);
    let said = diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Warning);
    said.map(|diagnostic| Warning {
        code: diagnostic.code.to_owned(),
        step: step_at(diagnostic.primary.span.start).map(|place| ids[place].clone()),
        message: diagnostic.message.clone(),
    })
    .collect()
}

/// The globs of everything that a plan may change, without duplicates, in step order.
pub fn globs(plan: &Plan) -> Vec<String> {
    let mut known = BTreeSet::new();
    let globs = plan.steps.iter().filter_map(|step| step.touches.as_ref()).flatten();
    globs.filter(|glob| known.insert(glob.as_str())).cloned().collect()
}

fn undeclared(plan: &Plan) -> Vec<String> {
    plan.steps.iter().filter(|step| step.touches.is_none()).map(|step| step.id.clone()).collect()
}

struct Judge<'a> {
    plan: &'a Plan,
    red: &'a [Baseline],
    warnings: &'a [Warning],
}

/// An older plan, with the old index of each step of the newer one.
type Compared<'a> = (&'a Plan, Vec<Option<usize>>);

impl Judge<'_> {
    fn contracts(&self, compared: Option<&Compared<'_>>) -> Vec<ContractReview> {
        let mut contracts = Vec::with_capacity(self.plan.steps.len());
        for (place, step) in self.plan.steps.iter().enumerate() {
            let mut contract = ContractReview { before: self.before(step), ..ContractReview::plain(step) };
            contract.warnings = self.codes(step);
            match compared.map(|(old, pairs)| pairs[place].map(|place| &old.steps[place])) {
                None => {}
                Some(None) => contract.direction = Some(Direction::New),
                Some(Some(old)) => contract.compare(old, step),
            }
            contracts.push(contract);
        }
        if let Some((old, pairs)) = compared {
            let kept: BTreeSet<usize> = pairs.iter().copied().flatten().collect();
            let gone = old.steps.iter().enumerate().filter(|(place, _)| !kept.contains(place));
            contracts.extend(gone.map(|(_, step)| ContractReview {
                direction: Some(Direction::Gone),
                old_command: step.contract.command().map(str::to_owned),
                command: None,
                ..ContractReview::plain(step)
            }));
        }
        contracts
    }

    /// The recorded result of exactly this command.
    fn before(&self, step: &Step) -> Option<BaselineResult> {
        let command = step.contract.command()?;
        let hash = blake3::hash(command.as_bytes()).to_hex();
        let found = self.red.iter().find(|red| red.step == step.id && red.contract == hash.as_str());
        found.map(|red| red.before.clone())
    }

    fn codes(&self, step: &Step) -> Vec<String> {
        let mut known = BTreeSet::new();
        let own = self.warnings.iter().filter(|warning| warning.step.as_ref() == Some(&step.id));
        own.filter(|warning| known.insert(warning.code.as_str()))
            .map(|warning| warning.code.clone())
            .collect()
    }
}

impl ContractReview {
    fn plain(step: &Step) -> Self {
        Self {
            number: step.number,
            step: step.id.clone(),
            title: step.title.clone(),
            target: step.target.clone(),
            command: step.contract.command().map(str::to_owned),
            expect: step.contract.expected_code().unwrap_or_default(),
            before: None,
            direction: None,
            because: Vec::new(),
            old_command: None,
            pieces: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn compare(&mut self, old: &Step, new: &Step) {
        let StrictnessFinding { direction, because } = compare(old, new);
        self.direction = Some(direction);
        self.because = because;
        if old.contract != new.contract {
            self.old_command = old.contract.command().map(str::to_owned);
            self.pieces = pieces(
                old.contract.command().unwrap_or_default(),
                new.contract.command().unwrap_or_default(),
            );
        }
    }
}

struct Remarks<'a> {
    plan: &'a Plan,
    reader: &'a Identity,
    changes: &'a [Difference],
    compared: Option<&'a Compared<'a>>,
}

impl Remarks<'_> {
    fn all(&self, comments: &[Comment], since: Option<u32>) -> Vec<CommentReview> {
        comments.iter().map(|comment| self.one(comment, since)).collect()
    }

    fn one(&self, comment: &Comment, since: Option<u32>) -> CommentReview {
        let place = comment.step.as_ref().and_then(|id| self.place(id, comment.revision, since));
        let step = place.map(|place| &self.plan.steps[place]);
        let is_about = |difference: &&Difference| {
            step.is_some_and(|step| difference.step.as_ref() == Some(&step.id))
                && since.is_some_and(|since| since <= comment.revision)
        };
        CommentReview {
            number: comment.number,
            revision: comment.revision,
            step: step.map(|step| step.id.clone()).or_else(|| comment.step.clone()),
            step_number: step.map(|step| step.number),
            is_gone: comment.step.is_some() && step.is_none(),
            by: comment.by.clone(),
            is_yours: comment.by == *self.reader,
            at_ms: comment.at_ms,
            text: comment.text.clone(),
            answered_by: comment.answer.as_ref().map(|(who, _)| who.clone()),
            answer: comment.answer.as_ref().map(|(_, text)| text.clone()),
            changed: self.changes.iter().filter(is_about).map(|difference| difference.what).collect(),
        }
    }

    /// The index of the step that a comment is about: by its id, or as the step that had this id at the time.
    fn place(&self, id: &str, revision: u32, since: Option<u32>) -> Option<usize> {
        let by_id = self.plan.steps.iter().position(|step| step.id == id);
        by_id.or_else(|| {
            let (old, pairs) = self.compared.filter(|_| since == Some(revision))?;
            pairs.iter().position(|pair| pair.is_some_and(|pair| old.steps[pair].id == id))
        })
    }
}

impl ApprovalReview {
    fn of(approval: &ApprovalRecord) -> Self {
        let is_signed = approval.signature.is_some();
        Self {
            revision: approval.revision,
            by: approval.by.clone(),
            at_ms: approval.at_ms,
            way: approval.way.clone(),
            rule: approval.rule.clone(),
            note: approval.note.clone(),
            until_ms: approval.until_ms,
            is_signed,
            worth: if is_signed { SIGNED_WORTH } else { UNSIGNED_WORTH }.to_owned(),
        }
    }
}

impl RejectionReview {
    fn of(rejection: &Rejection, reader: &Identity) -> Self {
        Self {
            revision: rejection.revision,
            by: rejection.by.clone(),
            is_yours: rejection.by == *reader,
            at_ms: rejection.at_ms,
            feedback: rejection.feedback.clone(),
        }
    }
}

pub fn revision(standing: &ApprovalStatus, number: u32) -> Option<&Revision> {
    standing.revisions.iter().find(|revision| revision.number == number)
}
