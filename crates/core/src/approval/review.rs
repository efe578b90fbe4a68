//! The review of a plan: one object for the terminal, the page and the comment on a pull request. What decides comes first, with
//! what it says on the base and how it changed since the revision that the reviewer read. Made of plain data; shows nothing.

mod diff;
mod strictness;
mod operand;
mod command_diff;

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

pub use command_diff::{Piece, Sign, pieces};
pub use diff::{Difference, What, differences, pairs};
pub use strictness::{Direction, Finding, compare, compare_commands};

use crate::approval::ledger::{Entry, Who};
use crate::approval::status::{Approval, Comment, Rejection, Revision, Said, Standing, undone};
use crate::plan::digest::Digest;
use crate::plan::draft::Draft;
use crate::plan::lifecycle::State;
use crate::plan::verified;
use crate::plan::verified::{Contract, Plan, Step};
use crate::run::baseline::{Before, Red};
use crate::run::forecast::Forecast;
use crate::syntax::diagnostic::{Diagnostic, Severity};

/// What an approval without a signature is worth.
pub const UNSIGNED_WORTH: &str =
    "not signed: somebody with this user id said yes, which a process of the same user could have done";
/// What a signed approval is worth.
pub const SIGNED_WORTH: &str = "signed: whoever holds the key said yes to exactly this";

/// Everything that somebody who decides on a plan has to see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Review {
    /// The name of the plan.
    pub plan: String,
    /// Its path, relative to the project.
    pub path: String,
    pub title: String,
    pub state: String,
    /// The revision that is reviewed; `None`: it was never proposed.
    pub revision: Option<u32>,
    /// What names exactly this plan.
    pub digest: String,
    /// Where the work begins: `main@4f1c8aa`.
    pub base: Option<String>,
    pub proposed_by: Option<Who>,
    /// When it was proposed, in milliseconds since 1970.
    pub proposed_at_ms: Option<u64>,
    /// How many steps it has.
    pub steps: usize,
    /// How many waves they make.
    pub waves: usize,
    /// The contracts in the order of the steps, then those that are gone.
    pub contracts: Vec<ContractReview>,
    /// The revision that it is compared with.
    pub since: Option<Since>,
    /// Everything that changed since that revision.
    pub changes: Vec<Difference>,
    pub comments: Vec<CommentReview>,
    /// What the steps may change.
    pub reach: Reach,
    /// What it may cost.
    pub limits: Limits,
    /// What it will likely cost; `None`: there is no history yet.
    pub forecast: Option<Forecast>,
    /// Who said yes to this revision so far.
    pub approvals: Vec<ApprovalReview>,
    /// How many have to say yes, as far as those who did were told.
    pub approvals_needed: u32,
    /// What moved since it was proposed: an approval of it would not hold.
    pub moved: Vec<String>,
    /// What the plan file says, where that is not what was proposed.
    pub drift: Option<String>,
    /// Who said no to which revision.
    pub rejections: Vec<RejectionReview>,
    /// What the checker has to say that belongs to no contract.
    pub warnings: Vec<Warning>,
    /// What reviewers found in the last run, a line each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ContractReview {
    /// The number of the step.
    pub number: u32,
    /// The id of the step.
    pub step: String,
    /// The title of the step.
    pub title: String,
    /// Who does the step.
    pub target: String,
    /// The command; `None`: a person confirms the step.
    pub command: Option<String>,
    /// The exit code that means done.
    pub expect: u8,
    /// What it says before the work; `None`: it was not run.
    pub before: Option<Before>,
    /// How it changed; `None`: there is nothing to compare it with.
    pub direction: Option<Direction>,
    pub because: Vec<String>,
    /// The command that it was, if that was another.
    pub old_command: Option<String>,
    /// The lines that differ, and those around them.
    pub pieces: Vec<Piece>,
    /// The codes of what the checker has to say about the step.
    pub warnings: Vec<String>,
}

/// The revision that a review compares with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Since {
    pub revision: u32,
    /// Why it is this one.
    pub why: Why,
}

/// Why a revision is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// It was asked for.
    Asked,
    /// The reader decided or remarked on it.
    Read,
    /// Somebody decided on it.
    Decided,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CommentReview {
    pub number: u32,
    /// The revision that it was made on.
    pub revision: u32,
    /// The id of the step that it is about; `None`: the whole plan.
    pub step: Option<String>,
    /// The number that the step has now; `None`: it is gone, or none is meant.
    pub step_number: Option<u32>,
    /// Whether the step that it is about is gone.
    pub is_gone: bool,
    pub by: Who,
    /// Whether the reader did.
    pub is_yours: bool,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    pub text: String,
    /// Who saw to it; `None`: it is open.
    pub answered_by: Option<Who>,
    pub answer: Option<String>,
    /// What changed in that step since the revision that is compared with.
    pub changed: Vec<What>,
}

/// What the steps may change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Reach {
    /// Every glob with what it matches now.
    pub globs: Vec<Touched>,
    /// How many files match any of them.
    pub files: u64,
    /// The ids of the steps that declare nothing, and so may change everything.
    pub undeclared: Vec<String>,
}

/// What a glob matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Touched {
    pub glob: String,
    /// How many files match; 0: it is to be made.
    pub files: u64,
}

/// What a plan may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Limits {
    pub tokens: Option<u64>,
    /// Money, in millionths of a dollar.
    pub micro_dollars: Option<u64>,
    pub seconds: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalReview {
    pub revision: u32,
    pub by: Who,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    pub way: String,
    /// The rule that gave them the right.
    pub rule: String,
    /// What they say to whoever carries it out.
    pub note: String,
    /// Until when it holds.
    pub until_ms: Option<u64>,
    /// Whether it is signed; whether the signature holds is for `audit`.
    pub is_signed: bool,
    /// What it is worth, in a sentence.
    pub worth: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RejectionReview {
    pub revision: u32,
    pub by: Who,
    /// Whether the reader did.
    pub is_yours: bool,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    pub feedback: String,
}

/// Something that the checker has to say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Warning {
    /// The code of the rule.
    pub code: String,
    /// The id of the step; `None`: the plan as a whole.
    pub step: Option<String>,
    pub message: String,
}

/// What a review is made of.
#[derive(Debug, Clone)]
pub struct Input<'a> {
    /// The name of the plan.
    pub name: &'a str,
    /// Its path, relative to the project.
    pub path: &'a str,
    pub standing: &'a Standing,
    /// Where it stands, its run included.
    pub state: State,
    pub plan: &'a Plan,
    /// Who reads the review.
    pub reader: &'a Who,
    /// What it is compared with.
    pub since: Option<(Since, &'a Plan)>,
    /// What the checker has to say.
    pub warnings: Vec<Warning>,
    /// What the steps may change.
    pub reach: Reach,
    /// What it will likely cost.
    pub forecast: Option<Forecast>,
    /// What moved since it was proposed.
    pub moved: Vec<String>,
    /// What the plan file says, where that is not what was proposed.
    pub drift: Option<String>,
    /// What reviewers found in the last run, a line each.
    pub findings: Vec<String>,
}

impl Review {
    /// Makes the review of a plan.
    pub fn of(input: Input<'_>) -> Self {
        let Input {
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
            reach: Reach { undeclared: undeclared(plan), ..reach },
            limits: Limits {
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

    /// The first digits of the digest: enough for people to compare.
    pub fn short(&self) -> &str {
        &self.digest[..self.digest.len().min(8)]
    }
}

/// The revision that somebody should compare the newest with: the last older one on which they decided or remarked, else the
/// last older one on which anybody decided. What was taken back counts: it was read all the same.
pub fn last_read(ledger: &[Said], reader: &Who, newest: u32) -> Option<Since> {
    let decided = |entry: &Entry| {
        if let Entry::Approved { revision, by, .. } | Entry::Rejected { revision, by, .. } = entry {
            return Some((*revision, by.clone()));
        }
        None
    };
    let remarked = |entry: &Entry| {
        if let Entry::Commented { revision, by, .. } = entry {
            return Some((*revision, by.clone()));
        }
        decided(entry)
    };
    let older = |said: &(u32, Who)| said.0 < newest;
    let read = ledger.iter().filter_map(|said| remarked(&said.entry)).filter(older);
    let read = read.filter(|(_, by)| by == reader).map(|(revision, _)| revision).max();
    let taken_back = undone(ledger);
    let holds = |said: &&Said| !taken_back.contains(&said.seq);
    let anybody = ledger.iter().filter(holds).filter_map(|said| decided(&said.entry)).filter(older);
    let anybody = anybody.map(|(revision, _)| revision).max();
    let since = |why: Why| move |revision: u32| Since { revision, why };
    read.map(since(Why::Read)).or(anybody.map(since(Why::Decided)))
}

/// What the checker says, with the step that it says it about.
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

/// The globs of everything that a plan may change, each once, in the order of the steps.
pub fn globs(plan: &Plan) -> Vec<String> {
    let mut known = BTreeSet::new();
    let globs = plan.steps.iter().filter_map(|step| step.touches.as_ref()).flatten();
    globs.filter(|glob| known.insert(glob.as_str())).cloned().collect()
}

fn undeclared(plan: &Plan) -> Vec<String> {
    plan.steps.iter().filter(|step| step.touches.is_none()).map(|step| step.id.clone()).collect()
}

/// What contracts are shown with.
struct Judge<'a> {
    plan: &'a Plan,
    red: &'a [Red],
    warnings: &'a [Warning],
}

/// An older plan, and where the steps of the newer one were in it.
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
                old_command: command(step).map(str::to_owned),
                command: None,
                ..ContractReview::plain(step)
            }));
        }
        contracts
    }

    /// What was found out about exactly this command.
    fn before(&self, step: &Step) -> Option<Before> {
        let command = command(step)?;
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
            command: command(step).map(str::to_owned),
            expect: match step.contract {
                Contract::Shell { expect, .. } => expect,
                Contract::Manual => 0,
            },
            before: None,
            direction: None,
            because: Vec::new(),
            old_command: None,
            pieces: Vec::new(),
            warnings: Vec::new(),
        }
    }

    fn compare(&mut self, old: &Step, new: &Step) {
        let Finding { direction, because } = compare(old, new);
        self.direction = Some(direction);
        self.because = because;
        if old.contract != new.contract {
            self.old_command = command(old).map(str::to_owned);
            self.pieces = pieces(command(old).unwrap_or_default(), command(new).unwrap_or_default());
        }
    }
}

fn command(step: &Step) -> Option<&str> {
    match &step.contract {
        Contract::Shell { command, .. } => Some(command),
        Contract::Manual => None,
    }
}

/// What remarks are shown with.
struct Remarks<'a> {
    plan: &'a Plan,
    reader: &'a Who,
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

    /// The place of the step that a remark is about: by its id, or as the step that had this id when it was made.
    fn place(&self, id: &str, revision: u32, since: Option<u32>) -> Option<usize> {
        let by_id = self.plan.steps.iter().position(|step| step.id == id);
        by_id.or_else(|| {
            let (old, pairs) = self.compared.filter(|_| since == Some(revision))?;
            pairs.iter().position(|pair| pair.is_some_and(|pair| old.steps[pair].id == id))
        })
    }
}

impl ApprovalReview {
    fn of(approval: &Approval) -> Self {
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
    fn of(rejection: &Rejection, reader: &Who) -> Self {
        Self {
            revision: rejection.revision,
            by: rejection.by.clone(),
            is_yours: rejection.by == *reader,
            at_ms: rejection.at_ms,
            feedback: rejection.feedback.clone(),
        }
    }
}

/// The revision of this number.
pub fn revision(standing: &Standing, number: u32) -> Option<&Revision> {
    standing.revisions.iter().find(|revision| revision.number == number)
}
