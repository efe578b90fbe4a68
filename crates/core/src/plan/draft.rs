//! What a dialect reads from a file: everything that is there, with its place, and holes where something is missing.
//! A draft is never refused and never executed: [`crate::verify`] makes a [`crate::plan::verified::Plan`] of it or says why not.
//!
//! Two drafts are equal when they say the same: places ([`Spanned`]) and spelling ([`Layout`]) do not count.

use crate::plan::lifecycle::State;
use crate::syntax::source::{Excerpt, Span, Spanned};

/// A fact about how something is laid out or spelled. Never part of what a draft says, so all of them are equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct Layout<T>(pub T);

impl<T> PartialEq for Layout<T> {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl<T> Eq for Layout<T> {}

/// A plan as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Draft {
    /// The keys in front of the text.
    pub frontmatter: Frontmatter,
    /// Where the plan is said to stand: a mirror, no proof. `None` where nothing is said, or in a word that nobody knows.
    pub state: Option<Spanned<State>>,
    /// The word that says so.
    pub status: Layout<Option<Spanned<String>>>,
    /// Who owns the execution: the value of a key of the frontmatter.
    pub owner: Layout<Option<Spanned<String>>>,
    /// What the plan is called.
    pub title: Option<Spanned<String>>,
    /// Why the plan exists.
    pub context: Option<Spanned<String>>,
    /// How urgent it is, in the author's words.
    pub priority: Option<Spanned<String>>,
    /// What it may cost, as written; [`crate::plan::budget`] reads numbers out of it.
    pub budget: Option<Spanned<String>>,
    /// The steps in file order.
    pub steps: Vec<StepDraft>,
    /// What was noted about the plan, oldest first.
    pub notes: Vec<Spanned<String>>,
    /// The slugs of plans that must be done before this one.
    pub depends_on: Vec<Spanned<String>>,
    /// Globs of the files that the plan as a whole may change.
    pub touches: Vec<Spanned<String>>,
    /// Things that were read but are out of order; rules turn them into diagnostics.
    pub oddities: Layout<Vec<Spanned<Oddity>>>,
}

/// The keys in front of the text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frontmatter {
    /// The block with its fences; `None` when the file has no such block.
    pub block: Layout<Option<Span>>,
    /// Every key with its value, in file order.
    pub entries: Vec<Entry>,
}

impl Frontmatter {
    /// The entry with this key, the first if there are several.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key.value == key)
    }

    /// The plain value of this key, if it has one.
    pub fn value(&self, key: &str) -> Option<&Spanned<String>> {
        self.entry(key)?.value.as_ref().filter(|value| !value.value.is_empty())
    }
}

/// One key of the frontmatter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub key: Spanned<String>,
    /// Its value where that is a scalar on one line; `None` for anything else.
    pub value: Option<Spanned<String>>,
}

/// The number in a step's heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepNumber {
    /// `3.`
    Counted(u32),
    /// `3–N.` or `N+1.`: stands for steps that are still to be written.
    Template(String),
}

/// What a heading or a status line claims about a step. A mark proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// The work is said to be done.
    Done,
    /// Somebody is said to be at it.
    Running,
    /// The work is said to have failed.
    Failed,
    /// The step is said to be left out.
    Skipped,
}

impl Mark {
    pub const ALL: [Self; 4] = [Self::Done, Self::Running, Self::Failed, Self::Skipped];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }
}

/// What some dialects write down of the execution of a step. It proves nothing and is no part of what the author says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// The agent that did it.
    pub executed_by: Option<String>,
    /// When it began, as RFC 3339 has it.
    pub started_at: Option<String>,
    pub completed_at: Option<String>,
    /// The end of what the agent said.
    pub output: Option<String>,
    /// Why it failed; an empty text takes away what stands there.
    pub error: Option<String>,
    /// Files that changed meanwhile.
    pub affected_files: Option<Vec<String>>,
}

impl Trace {
    /// Whether `said` has all that is known here.
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

/// One step as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepDraft {
    /// The heading and everything below it that belongs to the step.
    pub whole: Layout<Span>,
    /// The heading, without the line ending.
    pub heading: Layout<Span>,
    /// The level of the heading: 3 for `###`.
    pub level: Layout<u8>,
    /// The number in the heading.
    pub number: Spanned<StepNumber>,
    /// What heading and status line claim; normally at most one.
    pub marks: Vec<Spanned<Mark>>,
    /// The heading without number and mark.
    pub title: Spanned<String>,
    /// The name that the author gave.
    pub id: Option<Spanned<String>>,
    /// The role or agent that does the step.
    pub target: Option<Spanned<String>>,
    /// What the agent is told, its lines ended by LF.
    pub task: Option<Spanned<String>>,
    /// What decides whether the step is done.
    pub contract: Option<ContractDraft>,
    /// What happens after a failure, as written.
    pub on_fail: Option<Spanned<String>>,
    /// Steps that must be done first; `None` when the author did not say (then all earlier ones).
    pub needs: Option<Vec<Spanned<String>>>,
    /// `file:` and `topic:` references whose content the agent is given.
    pub reads: Vec<Spanned<String>>,
    /// Globs of the files that the step may change; `None` when the author did not say.
    pub touches: Option<Vec<Spanned<String>>>,
    /// Paths and globs of the files that judge the work and must not change.
    pub sealed: Vec<Spanned<String>>,
    /// Criteria that agent and reviewer see; they judge nothing.
    pub accept: Vec<Spanned<String>>,
    /// Why the contract may pass before the work.
    pub green: Option<Spanned<String>>,
    /// What an agent is asked about the work once the contract has passed: advice, unless a policy says otherwise.
    pub judge: Option<Spanned<String>>,
    /// How long an attempt may take, as written.
    pub timeout: Option<Spanned<String>>,
    /// How long the contract may take, as written.
    pub contract_timeout: Option<Spanned<String>>,
    /// Tools that the agent may use.
    pub tools: Vec<Spanned<String>>,
    /// `NAME=value` pairs for agent and contract.
    pub env: Vec<Spanned<String>>,
    /// Whether the network may be used, as written.
    pub network: Option<Spanned<String>>,
    /// A command that prepares the place where the contract runs.
    pub setup: Option<Excerpt>,
    /// The items that a template step is expanded over.
    pub each: Vec<Spanned<String>>,
    /// What is written down of its execution.
    pub trace: Layout<Trace>,
    /// Every field of the step, known or not, in file order.
    pub fields: Layout<Vec<FieldDraft>>,
    /// Text of the step that no field holds, so that no agent will ever read it.
    pub stray: Vec<Spanned<String>>,
}

impl StepDraft {
    /// A step with a heading and nothing below it.
    pub fn empty(number: Spanned<StepNumber>, title: Spanned<String>) -> Self {
        Self {
            whole: Layout::default(),
            heading: Layout::default(),
            level: Layout(3),
            number,
            marks: Vec::new(),
            title,
            id: None,
            target: None,
            task: None,
            contract: None,
            on_fail: None,
            needs: None,
            reads: Vec::new(),
            touches: None,
            sealed: Vec::new(),
            accept: Vec::new(),
            green: None,
            judge: None,
            timeout: None,
            contract_timeout: None,
            tools: Vec::new(),
            env: Vec::new(),
            network: None,
            setup: None,
            each: Vec::new(),
            trace: Layout::default(),
            fields: Layout::default(),
            stray: Vec::new(),
        }
    }

    /// Every text that the author wrote below the heading, for changes that go through all of them.
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

    /// What the marks claim together: done only if none says otherwise.
    pub fn mark(&self) -> Option<Mark> {
        self.marks.iter().map(|mark| mark.value).max()
    }

    /// The first field of this kind.
    pub fn field(&self, kind: Field) -> Option<&FieldDraft> {
        self.fields.0.iter().find(|field| field.kind == Some(kind))
    }
}

/// The label of a field and its reach.
#[derive(Debug, Clone)]
pub struct FieldDraft {
    /// The name as written, without the stars and the colon.
    pub name: Spanned<String>,
    /// The field that it is, if it is one that we know.
    pub kind: Option<Field>,
    /// The label with stars and colon.
    pub label: Span,
    /// The first line of its value, blanks and stars left out; empty where a value would be put.
    pub value: Span,
    /// From the label to the end of its value, the last line ending left out.
    pub whole: Span,
}

/// The fields that a step may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is documented at its place in StepDraft and in docs/formats.md")]
pub enum Field {
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

/// What decides whether a step is done, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContractDraft {
    /// The command; `None` when nothing stands below the label, or the author wrote `manual`.
    pub command: Option<Excerpt>,
    /// Whether the author wrote `manual`: a person confirms the step.
    pub is_manual: bool,
    /// The language of the fence, if it names one.
    pub language: Option<Spanned<String>>,
    /// The exit code that means done, as written after `==`; `None` when not said.
    pub expect: Option<Spanned<String>>,
}

/// Something that was read but is out of order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Oddity {
    /// The frontmatter is not the YAML that we take; says why.
    Frontmatter(String),
    /// A key stands twice in the frontmatter.
    DuplicateKey { key: String, first: Span },
    /// A field stands twice in a step.
    DuplicateField { name: &'static str, first: Span },
    /// A second block below `contract:`.
    SecondContract { first: Span },
    /// A fenced block that is never closed.
    UnclosedFence,
    /// A numbered heading that is not at the level of the other steps.
    HeadingLevel {
        /// The level of the others.
        usual: u8,
    },
    /// A step's status is no word that we know.
    UnknownMark(String),
    /// A place in another tool's file that can't be read as its format has it; says why.
    Unreadable(String),
    /// A label in running text that is nearly the name of a field.
    NearlyField {
        /// What it nearly is.
        meant: &'static str,
    },
    /// A folder lacks a file that every plan of its kind has.
    MissingFile {
        /// Its path below the folder.
        path: &'static str,
    },
    /// A file lies where tasks are, and its name is none of a task.
    MisnamedTask {
        /// Its path below the folder.
        path: String,
    },
    /// Two files of a folder have the same number in front of their names.
    SameIndex {
        index: String,
        /// The first of them.
        first: Span,
    },
    /// A key holds another kind of value than it may.
    WrongType {
        key: String,
        /// What it may hold.
        expected: &'static str,
    },
    /// A plan record that breaks a rule of its dialect.
    Record(crate::dialect::record::Fault),
}
