//! What a dialect parses from a file: everything that is present, with its span, and gaps where something is missing. A
//! draft is never rejected and never run: [`crate::verify`] turns it into a [`crate::plan::verified::Plan`] or reports why not.
//!
//! Two drafts are equal if they mean the same: spans ([`Spanned`]) and formatting ([`Layout`]) don't count.

use std::fmt;

use crate::plan::lifecycle::PlanState;
use crate::syntax::source::{Excerpt, Span, Spanned};

/// A detail of layout or spelling. Not part of a draft's meaning, so all values compare equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout<T>(pub T);

impl<T> PartialEq for Layout<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Layout<T> {}

/// The frontmatter key with the approvers that a plan itself requires.
pub const REQUIRED_FROM: &str = "approval_required_from";

/// A parsed plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    pub frontmatter: Frontmatter,
    /// The state that the file claims, which proves nothing. `None` if absent or unknown.
    pub state: Option<Spanned<PlanState>>,
    /// The state as written.
    pub status: Layout<Option<Spanned<String>>>,
    /// Who owns the execution; a frontmatter key.
    pub owner: Layout<Option<Spanned<String>>>,
    pub title: Option<Spanned<String>>,
    /// Why the plan exists.
    pub context: Option<Spanned<String>>,
    /// How urgent it is, in the author's words.
    pub priority: Option<Spanned<String>>,
    /// As written; [`crate::plan::budget`] parses it.
    pub budget: Option<Spanned<String>>,
    /// In file order.
    pub steps: Vec<StepDraft>,
    /// Oldest first.
    pub notes: Vec<Spanned<String>>,
    /// Slugs of plans that must be done first.
    pub depends_on: Vec<Spanned<String>>,
    /// Globs of the files that the plan as a whole may change.
    pub touches: Vec<Spanned<String>>,
    /// Irregularities that rules turn into diagnostics.
    pub oddities: Layout<Vec<Spanned<ParseIssue>>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontmatter {
    /// The block with its fences; `None` if the file has none.
    pub block: Layout<Option<Span>>,
    /// In file order.
    pub entries: Vec<FrontmatterEntry>,
}

impl Frontmatter {
    /// The first entry with this key.
    pub fn entry(&self, key: &str) -> Option<&FrontmatterEntry> {
        self.entries.iter().find(|entry| entry.key.value == key)
    }

    pub fn value(&self, key: &str) -> Option<&Spanned<String>> {
        self.entry(key)?.value.as_ref().filter(|value| !value.value.is_empty())
    }
}

/// One key of the frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontmatterEntry {
    pub key: Spanned<String>,
    /// Set if the value is a scalar on one line.
    pub value: Option<Spanned<String>>,
}

/// The number in a step's heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepNumber {
    /// `3.`
    Counted(u32),
    /// `3–N.` or `N+1.`: a template for steps that don't exist yet.
    Template(String),
}

impl fmt::Display for StepNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counted(number) => number.fmt(f),
            Self::Template(text) => text.fmt(f),
        }
    }
}

impl Default for StepNumber {
    fn default() -> Self {
        Self::Counted(0)
    }
}

/// What a heading or status line claims about a step. A mark proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    Done,
    Running,
    Failed,
    Skipped,
}

impl Mark {
    pub const ALL: [Self; 4] = [Self::Done, Self::Running, Self::Failed, Self::Skipped];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// What some dialects record about the execution of a step. It proves nothing and is not part of what the author wrote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    pub executed_by: Option<String>,
    /// RFC 3339.
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    /// The last part of the agent's output.
    pub output: Option<String>,
    /// Why it failed; an empty string removes the recorded reason.
    pub error: Option<String>,
    /// Files that changed during the step.
    pub affected_files: Option<Vec<String>>,
}

impl Trace {
    /// Whether `said` contains everything that is set here.
    pub fn is_said_by(&self, said: &Self) -> bool {
        let has = |known: &Option<String>, said: &Option<String>| {
            known.as_ref().is_none_or(|known| said.as_deref().unwrap_or_default() == known)
        };
        has(&self.executed_by, &said.executed_by)
            && has(&self.started_at, &said.started_at)
            && has(&self.completed_at, &said.completed_at)
            && has(&self.output, &said.output)
            && has(&self.error, &said.error)
            && (self.affected_files.is_none() || self.affected_files == said.affected_files)
    }
}

/// A parsed step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepDraft {
    /// The heading and everything that belongs to the step.
    pub whole: Layout<Span>,
    /// The heading, without the line ending.
    pub heading: Layout<Span>,
    /// 3 for `###`.
    pub level: Layout<u8>,
    pub number: Spanned<StepNumber>,
    /// From heading and status line; normally at most one.
    pub marks: Vec<Spanned<Mark>>,
    /// Without number and mark.
    pub title: Spanned<String>,
    /// As written by the author; [`crate::plan::verified::ids`] derives the others.
    pub id: Option<Spanned<String>>,
    /// Role or agent.
    pub target: Option<Spanned<String>>,
    /// The instructions for the agent, with LF line endings.
    pub task: Option<Spanned<String>>,
    pub contract: Option<ContractDraft>,
    /// As written.
    pub on_fail: Option<Spanned<String>>,
    /// Steps that must be done first; `None` if not declared, which means all earlier ones.
    pub needs: Option<Vec<Spanned<String>>>,
    /// `file:` and `topic:` references; the agent gets their content.
    pub reads: Vec<Spanned<String>>,
    /// Globs of the files that the step may change; `None` if not declared.
    pub touches: Option<Vec<Spanned<String>>>,
    /// Paths and globs of files that the contract depends on and that must not change.
    pub sealed: Vec<Spanned<String>>,
    /// Criteria shown to agent and reviewer; they decide nothing.
    pub accept: Vec<Spanned<String>>,
    /// The reason why the contract may pass before the work.
    pub green: Option<Spanned<String>>,
    /// A question to an agent about the work after the contract passed: advisory, unless a policy requires it.
    pub judge: Option<Spanned<String>>,
    /// Time limit of an attempt, as written.
    pub timeout: Option<Spanned<String>>,
    /// Time limit of the contract, as written.
    pub contract_timeout: Option<Spanned<String>>,
    /// Tools that the agent may use.
    pub tools: Vec<Spanned<String>>,
    /// `NAME=value` pairs for agent and contract.
    pub env: Vec<Spanned<String>>,
    /// Whether the network may be used, as written.
    pub network: Option<Spanned<String>>,
    /// A command that prepares the checkout in which the contract runs.
    pub setup: Option<Excerpt>,
    /// The items over which a template step is expanded.
    pub each: Vec<Spanned<String>>,
    pub trace: Layout<Trace>,
    /// All fields, known or not, in file order.
    pub fields: Layout<Vec<FieldDraft>>,
    /// Text outside any field, which no agent receives.
    pub stray: Vec<Spanned<String>>,
}

impl StepDraft {
    /// A step with only a heading.
    pub fn empty(number: Spanned<StepNumber>, title: Spanned<String>) -> Self {
        Self { level: Layout(3), number, title, ..Self::default() }
    }

    /// All texts below the heading, for changes that apply to each of them.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let lists = [
            &mut self.reads,
            &mut self.sealed,
            &mut self.accept,
            &mut self.tools,
            &mut self.env,
            &mut self.stray,
        ];
        let optional_lists = [&mut self.needs, &mut self.touches].into_iter().flatten();
        let lines = [
            &mut self.id,
            &mut self.target,
            &mut self.task,
            &mut self.green,
            &mut self.judge,
            &mut self.on_fail,
            &mut self.timeout,
            &mut self.contract_timeout,
            &mut self.network,
        ];
        let commands =
            [self.contract.as_mut().and_then(|contract| contract.command.as_mut()), self.setup.as_mut()];
        lists
            .into_iter()
            .chain(optional_lists)
            .flatten()
            .chain(lines.into_iter().flatten())
            .map(|spanned| &mut spanned.value)
            .chain(commands.into_iter().flatten().map(|excerpt| &mut excerpt.value))
    }

    /// What the step says in a field.
    pub fn value(&self, field: DraftField) -> FieldValue<'_> {
        let contract = self.contract.as_ref();
        match field {
            DraftField::Id => FieldValue::Line(self.id.as_ref()),
            DraftField::Target => FieldValue::Line(self.target.as_ref()),
            DraftField::Network => FieldValue::Line(self.network.as_ref()),
            DraftField::Timeout => FieldValue::Line(self.timeout.as_ref()),
            DraftField::ContractTimeout => FieldValue::Line(self.contract_timeout.as_ref()),
            DraftField::Task => FieldValue::Line(self.task.as_ref()),
            DraftField::ExitCode => FieldValue::Line(contract.and_then(|contract| contract.expect.as_ref())),
            DraftField::Green => FieldValue::Line(self.green.as_ref()),
            DraftField::Judge => FieldValue::Line(self.judge.as_ref()),
            DraftField::OnFail => FieldValue::Line(self.on_fail.as_ref()),
            DraftField::Status => FieldValue::Line(None),
            DraftField::Needs => FieldValue::List(self.needs.as_deref()),
            DraftField::Touches => FieldValue::List(self.touches.as_deref()),
            DraftField::Reads => FieldValue::some(&self.reads),
            DraftField::Sealed => FieldValue::some(&self.sealed),
            DraftField::Tools => FieldValue::some(&self.tools),
            DraftField::Env => FieldValue::some(&self.env),
            DraftField::Each => FieldValue::some(&self.each),
            DraftField::Accept => FieldValue::some(&self.accept),
            DraftField::Setup => FieldValue::Command(self.setup.as_ref()),
            DraftField::Contract => {
                FieldValue::Command(contract.and_then(|contract| contract.command.as_ref()))
            }
        }
    }

    /// The combined claim of all marks: done only if none says otherwise.
    pub fn mark(&self) -> Option<Mark> {
        self.marks.iter().map(|mark| mark.value).max()
    }

    /// The first field of this kind.
    pub fn field(&self, kind: DraftField) -> Option<&FieldDraft> {
        self.fields.0.iter().find(|field| field.kind == Some(kind))
    }
}

/// A field label and its extent.
#[derive(Debug, Clone)]
pub struct FieldDraft {
    /// As written, without stars and colon.
    pub name: Spanned<String>,
    /// `None` if unknown.
    pub kind: Option<DraftField>,
    /// With stars and colon.
    pub label: Span,
    /// The first line of the value, trimmed of blanks and stars; empty where a value would be inserted.
    pub value: Span,
    /// From the label to the end of the value, without the last line ending.
    pub whole: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    missing_docs,
    reason = "each is documented at its place in StepDraft and in docs/reference/plan-format.md"
)]
pub enum DraftField {
    Id,
    Target,
    Needs,
    Reads,
    Touches,
    Sealed,
    Tools,
    Env,
    Network,
    Setup,
    Timeout,
    ContractTimeout,
    Each,
    Accept,
    Task,
    Contract,
    ExitCode,
    Green,
    Judge,
    OnFail,
    Status,
}

impl DraftField {
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Self::Needs
                | Self::Reads
                | Self::Touches
                | Self::Sealed
                | Self::Tools
                | Self::Env
                | Self::Each
                | Self::Accept
        )
    }
}

/// What a step says in a field.
#[derive(Debug, Clone, Copy)]
pub enum FieldValue<'a> {
    /// A line or a text.
    Line(Option<&'a Spanned<String>>),
    /// Only a declared list can be empty.
    List(Option<&'a [Spanned<String>]>),
    Command(Option<&'a Excerpt>),
}

impl<'a> FieldValue<'a> {
    fn some(list: &'a [Spanned<String>]) -> Self {
        Self::List(Some(list).filter(|list| !list.is_empty()))
    }
}

/// A parsed contract.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContractDraft {
    /// `None` if nothing follows the label, or the author wrote `manual`.
    pub command: Option<Excerpt>,
    /// The author wrote `manual`: a person confirms the step.
    pub is_manual: bool,
    /// The language of the code fence.
    pub language: Option<Spanned<String>>,
    /// The expected exit code as written after `==`.
    pub expect: Option<Spanned<String>>,
}

/// An irregularity found while parsing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseIssue {
    /// The frontmatter is invalid, with the reason.
    Frontmatter(String),
    /// A duplicate key in the frontmatter.
    DuplicateKey {
        key: String,
        first: Span,
    },
    /// A duplicate field in a step.
    DuplicateField {
        name: &'static str,
        first: Span,
    },
    /// A second code block below `contract:`.
    SecondContract {
        first: Span,
    },
    UnclosedFence,
    /// A step heading at a different level than the others.
    HeadingLevel {
        /// The level of the others.
        usual: u8,
    },
    /// A heading that looks like a step or has the fields of one, but is not read as a step.
    UnreadStep {
        why: UnreadStepReason,
        /// The heading with which it would be one, if that is certain.
        heading: Option<String>,
    },
    /// A step heading whose number is spelled in an unusual way.
    OddNumber {
        /// The usual spelling.
        usual: String,
    },
    /// The name of a field without the stars that make it one.
    PlainField {
        /// The name with its stars.
        label: String,
    },
    /// An unknown status of a step.
    UnknownMark(String),
    /// An invalid place in another tool's file, with the reason.
    Unreadable(String),
    /// A label in running text that resembles a field.
    NearlyField {
        /// The field that it resembles.
        meant: &'static str,
    },
    /// A directory plan lacks a required file.
    MissingFile {
        /// Relative to the directory.
        path: &'static str,
    },
    /// A file among the tasks whose name is not a task name.
    MisnamedTask {
        /// Relative to the directory.
        path: String,
    },
    /// Two task files with the same number.
    SameIndex {
        index: String,
        first: Span,
    },
    /// A key with the wrong type of value.
    WrongType {
        key: String,
        expected: &'static str,
    },
    /// A plan record that violates its dialect.
    Record(RecordFault),
}

/// Why something looks like a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnreadStepReason {
    /// It has the fields of a step.
    Fields,
    /// It is numbered like a step, but is the heading of a whole document.
    Level,
    /// It is numbered like a step, but nothing separates its `#` from its text.
    NoHeading,
}

/// A violation of the record dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordFault {
    /// Parsing stopped here, with the reason.
    Unread(String),
    /// Syntax that is not allowed, with the reason.
    Forbidden(String),
    /// A duplicate key.
    DuplicateKey { key: String, first: Span },
    /// A key with the wrong kind of value.
    WrongKind {
        /// The key, or `a step`.
        what: String,
        /// Such as `a list`.
        expected: &'static str,
    },
    /// A single value where a list is expected; parsed as a list of one.
    LoneItem(String),
    /// An `index` that is not the step's position.
    Index {
        /// The position, counted from 0.
        expected: usize,
    },
    /// A complexity outside 1 to 10.
    Complexity(String),
    /// A skipped step without a reason.
    UnexplainedSkip,
}
