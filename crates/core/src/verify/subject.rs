//! The input of the rules: the draft, what follows from it, and the facts gathered about the world.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::dialect;
use crate::plan::draft::{Draft, DraftField, ParseIssue, StepDraft, StepNumber};
use crate::plan::edit::PlanEdit;
use crate::plan::graph::{Graph, Reach};
use crate::plan::verified;
use crate::plan::verified::Reference;
use crate::syntax::glob::Glob;
use crate::syntax::shell;
use crate::syntax::shell::ShellScript;
use crate::syntax::source::{Edit, Source, Span, Spanned};

/// Limits that a plan must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyLimits {
    /// Per step.
    pub retries_max: u32,
    /// Below this a budget is certainly too small.
    pub tokens_per_step_min: u64,
    /// In millionths of a dollar.
    pub micro_dollars_per_step_min: u64,
    pub seconds_per_step_min: u64,
}

impl Default for VerifyLimits {
    fn default() -> Self {
        Self {
            retries_max: 10,
            tokens_per_step_min: 2_000,
            micro_dollars_per_step_min: 10_000,
            seconds_per_step_min: 10,
        }
    }
}

/// How many fixes are computed for one plan. Each one parses the whole plan twice, so a plan with a problem in every
/// step would take minutes. After these are applied, the next check offers more.
const REPAIRS_MAX: usize = 20;

/// A syntax error reported by `bash -n`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashFault {
    /// Within the command, counted from 1.
    pub line: usize,
    pub message: String,
}

/// What the caller must look up before a plan can be checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Questions {
    /// Which of these paths in the workspace exist?
    pub paths: BTreeSet<String>,
    /// Which of these programs are on the PATH?
    pub programs: BTreeSet<String>,
    /// What does `bash -n` say about these commands?
    pub commands: BTreeSet<String>,
    /// Which of these topics can be read?
    pub topics: BTreeSet<String>,
}

/// The answers to [`Questions`], and what the caller knows about this machine and project.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Existing paths in the workspace.
    pub paths: BTreeSet<String>,
    /// Programs on `PATH`.
    pub programs: BTreeSet<String>,
    /// Syntax errors per command that bash checked; an empty list means the command is valid.
    pub bash: HashMap<String, Vec<BashFault>>,
    /// Available agents and roles.
    pub agents: BTreeSet<String>,
    /// Topics that can be read.
    pub topics: BTreeSet<String>,
    /// Tools that steps may use; `None` if the settings have no list.
    pub tools: Option<BTreeSet<String>>,
    /// Steps, by id, whose contracts passed before any work, with where and how they ran.
    pub passed: BTreeMap<String, String>,
}

/// A draft and what follows from it alone.
pub struct Study<'a> {
    pub source: &'a Source,
    pub draft: &'a Draft,
    pub ids: Vec<String>,
    pub graph: Graph,
    /// The parsed contract of every step.
    pub scripts: Vec<Option<ShellScript>>,
}

impl<'a> Study<'a> {
    pub fn of(source: &'a Source, draft: &'a Draft) -> Self {
        let ids = verified::ids(draft);
        let graph = Graph::new(verified::needs(draft, &ids));
        let script =
            |step: &StepDraft| Some(shell::analyse(&step.contract.as_ref()?.command.as_ref()?.value));
        let scripts = draft.steps.iter().map(script).collect();
        Self { source, draft, ids, graph, scripts }
    }

    /// What must be looked up before the plan can be checked.
    pub fn questions(&self) -> Questions {
        let mut questions = Questions::default();
        for (step, script) in self.draft.steps.iter().zip(&self.scripts) {
            for read in &step.reads {
                match Reference::read(&read.value) {
                    Some(Reference::File(path)) => drop(questions.paths.insert(plain(&path).to_owned())),
                    Some(Reference::Topic(name)) => drop(questions.topics.insert(name)),
                    None => {}
                }
            }
            let command = step.contract.as_ref().and_then(|contract| contract.command.as_ref());
            let commands = command.into_iter().chain(&step.setup);
            questions.commands.extend(commands.map(|command| command.value.clone()));
            let Some(script) = script else { continue };
            questions.paths.extend(script.paths.iter().map(|used| plain(&used.path).to_owned()));
            questions.programs.extend(script.calls.iter().map(|call| call.name.clone()));
        }
        questions
    }
}

pub struct VerifySubject<'a> {
    pub(super) source: &'a Source,
    pub(super) draft: &'a Draft,
    pub(super) facts: &'a Facts,
    pub(super) limits: &'a VerifyLimits,
    pub(super) graph: &'a Graph,
    pub(super) reach: Reach,
    pub(super) ids: &'a [String],
    scripts: &'a [Option<ShellScript>],
    /// Files that steps seem to create, with the steps and the evidence.
    makers: BTreeMap<String, Vec<FileMaker>>,
    /// Patterns of files that steps may create.
    patterns: Vec<(Glob, FileMaker)>,
    repairs_left: Cell<usize>,
}

/// A step that seems to create a file, and where the plan says so.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileMaker {
    pub(super) place: usize,
    pub(super) span: Span,
    pub(super) says: Says,
}

/// The field that mentions the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Touches,
    Contract,
    Task,
}

impl<'a> VerifySubject<'a> {
    pub(super) fn new(study: &'a Study<'a>, facts: &'a Facts, limits: &'a VerifyLimits) -> Self {
        let mut subject = Self {
            source: study.source,
            draft: study.draft,
            facts,
            limits,
            graph: &study.graph,
            reach: study.graph.reach(),
            ids: &study.ids,
            scripts: &study.scripts,
            makers: BTreeMap::new(),
            patterns: Vec::new(),
            repairs_left: Cell::new(REPAIRS_MAX),
        };
        for place in 0..study.draft.steps.len() {
            subject.note_made_files(place);
        }
        subject
    }

    /// The edits for a change, in the plan's dialect; `None` if the dialect refuses it or the limit of fixes is
    /// reached.
    pub(super) fn repair(&self, change: &PlanEdit) -> Option<Vec<Edit>> {
        self.repairs_left.set(self.repairs_left.get().checked_sub(1)?);
        self.source.dialect().patch(self.source, change).ok()
    }

    pub(super) fn is_native(&self) -> bool {
        *self.source.dialect() == *dialect::NATIVE
    }

    /// Whether the plan is a directory with one file per task.
    pub(super) fn is_directory(&self) -> bool {
        *self.source.dialect() == dialect::directory::DIALECT
    }

    /// Whether something inside the span could not be parsed, so that its content is unknown.
    pub(super) fn is_unread(&self, span: Span) -> bool {
        let is_unread =
            |oddity: &ParseIssue| matches!(oddity, ParseIssue::Frontmatter(_) | ParseIssue::WrongType { .. });
        self.draft.oddities.0.iter().any(|oddity| span.covers(oddity.span) && is_unread(&oddity.value))
    }

    /// Whether a field without stars is inside the span.
    pub(super) fn has_plain_field(&self, span: Span) -> bool {
        let is_plain = |issue: &ParseIssue| matches!(issue, ParseIssue::PlainField { .. });
        self.draft.oddities.0.iter().any(|issue| is_plain(&issue.value) && span.covers(issue.span))
    }

    /// Whether every step needs all earlier ones, so that no two can run in parallel.
    pub(super) fn is_sequential(&self) -> bool {
        self.draft.steps.iter().all(|step| step.needs.is_none())
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = (usize, &'a StepDraft)> {
        self.draft.steps.iter().enumerate()
    }

    /// Every contract with a command.
    pub(super) fn contracts(&self) -> impl Iterator<Item = SubjectContract<'_>> {
        self.steps().filter_map(|(place, step)| {
            let script = self.scripts[place].as_ref()?;
            let command = step.contract.as_ref()?.command.as_ref()?;
            Some(SubjectContract { place, command, script })
        })
    }

    /// The name of a step in messages: step 2 `write-the-fix`.
    pub(super) fn name(&self, place: usize) -> String {
        format!("{} `{}`", self.short_name(place), self.ids[place])
    }

    /// The name of a step where the id would be too long: step 2.
    pub(super) fn short_name(&self, place: usize) -> String {
        match &self.draft.steps[place].number.value {
            StepNumber::Counted(number) => format!("step {number}"),
            StepNumber::Template(text) => format!("step {text}"),
        }
    }

    /// The step that an item of `needs` refers to.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        verified::find_step(self.draft, self.ids, name)
    }

    /// The label of a field in the plan's dialect: `**task:**`, `instructions:`.
    pub(super) fn label(&self, field: DraftField) -> String {
        let dialect = self.source.dialect();
        let names = dialect.fields.iter().find(|(known, _)| *known == field).map(|(_, names)| names);
        let name = names.and_then(|names| names.first()).copied().unwrap_or_default();
        if self.is_native() { format!("**{name}:**") } else { format!("{name}:") }
    }

    /// The span of the trailing `end` of a value; the whole value if the source spells it differently, as with
    /// escapes.
    pub(super) fn tail(&self, said: &Spanned<String>, end: &str) -> Span {
        match self.source.slice(said.span).ends_with(end) {
            true => Span::new(said.span.end - end.len(), said.span.end),
            false => said.span,
        }
    }

    /// The steps that seem to create the file, in file order.
    pub(super) fn makers(&self, path: &str) -> Vec<FileMaker> {
        let path = plain(path);
        let mut makers = self.makers.get(path).cloned().unwrap_or_default();
        makers.extend(self.patterns.iter().filter(|(glob, _)| glob.matches(path)).map(|&(_, maker)| maker));
        // A step that names the file comes before one whose pattern matches; the sort is stable.
        makers.sort_by_key(|maker| maker.place);
        makers
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.facts.paths.contains(plain(path))
    }

    /// Whether the file exists, or certainly will when the step starts.
    pub(super) fn is_there_before(&self, path: &str, place: usize) -> bool {
        self.exists(path) || self.makers(path).iter().any(|maker| self.reach.is_before(maker.place, place))
    }

    fn note_made_files(&mut self, place: usize) {
        let step = &self.draft.steps[place];
        for pattern in step.touches.iter().flatten() {
            let maker = FileMaker { place, span: pattern.span, says: Says::Touches };
            match Glob::new(&pattern.value) {
                Ok(glob) if glob.is_literal() => self.note_maker(&pattern.value, maker),
                Ok(glob) => self.patterns.push((glob, maker)),
                Err(_) => {}
            }
        }
        let command = step.contract.as_ref().and_then(|contract| contract.command.as_ref());
        if let (Some(script), Some(command)) = (&self.scripts[place], command) {
            for used in script.paths.iter().filter(|used| used.role != shell::FileRole::Run) {
                let span = command.locate(used.span);
                self.note_maker(&used.path, FileMaker { place, span, says: Says::Contract });
            }
        }
        if let Some(task) = &step.task {
            for (path, at) in quoted_paths(self.source.slice(task.span)) {
                let start = task.span.start + at;
                let span = Span::new(start, start + path.len());
                self.note_maker(path, FileMaker { place, span, says: Says::Task });
            }
        }
    }

    fn note_maker(&mut self, path: &str, maker: FileMaker) {
        self.makers.entry(plain(path).to_owned()).or_default().push(maker);
    }
}

/// A contract with a command.
pub(super) struct SubjectContract<'a> {
    pub(super) place: usize,
    pub(super) command: &'a crate::syntax::source::Excerpt,
    pub(super) script: &'a ShellScript,
}

/// Normalizes a path to the form used in [`Facts`].
fn plain(path: &str) -> &str {
    path.trim_start_matches("./")
}

/// Paths in backticks with their offsets: files that a task says it creates.
fn quoted_paths(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut at = 0;
    let pieces = text.split('`').map(move |piece| {
        let start = at;
        at += piece.len() + 1;
        (piece, start)
    });
    pieces.skip(1).step_by(2).filter(|(piece, _)| is_path_like(piece))
}

/// Whether a word looks like a file path: a slash or an extension, and only characters that are common in paths.
fn is_path_like(word: &str) -> bool {
    let is_plain = !word.is_empty()
        && word.len() < 200
        && !word.starts_with(['-', '/', '~', '$'])
        && word.chars().all(|character| character.is_alphanumeric() || "._-/+@".contains(character));
    let extension = word.rsplit_once('.').map(|(_, extension)| extension);
    is_plain && (word.contains('/') || extension.is_some_and(|extension| (1..=6).contains(&extension.len())))
}
