//! What the rules look at: the draft, what follows from it alone, and the facts that were gathered about the world.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::dialect;
use crate::plan::draft::{Draft, Field, Oddity, StepDraft, StepNumber};
use crate::plan::edit::Change;
use crate::plan::graph::{Graph, Reach};
use crate::plan::verified;
use crate::plan::verified::Reference;
use crate::syntax::glob::Glob;
use crate::syntax::shell;
use crate::syntax::shell::Script;
use crate::syntax::source::{Edit, Source, Span, Spanned};

/// Limits that a plan is held to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most retries that a step may ask for.
    pub retries_max: u32,
    /// The least tokens a step that make sense.
    pub tokens_per_step_min: u64,
    /// The least money a step that makes sense, in millionths of a dollar.
    pub micro_dollars_per_step_min: u64,
    /// The least time a step that makes sense.
    pub seconds_per_step_min: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            retries_max: 10,
            tokens_per_step_min: 2_000,
            micro_dollars_per_step_min: 10_000,
            seconds_per_step_min: 10,
        }
    }
}

/// How many repairs are worked out for one plan. Each reads the whole plan twice, so a plan with a fault in every step would
/// take minutes; once these are made, the next check offers the others.
const REPAIRS_MAX: usize = 20;

/// What `bash -n` says about a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BashFault {
    /// The line of the command, counted from 1.
    pub line: usize,
    /// What is wrong with it.
    pub message: String,
}

/// What is to be found out about the world before a plan can be checked.
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

/// What was found out about the world.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Paths in the workspace that exist.
    pub paths: BTreeSet<String>,
    /// Programs that are on the PATH.
    pub programs: BTreeSet<String>,
    /// Faults of commands that bash was asked about; an empty list: the command is fine.
    pub bash: HashMap<String, Vec<BashFault>>,
    /// Agents and roles that can do a step.
    pub agents: BTreeSet<String>,
    /// Topics that can be read.
    pub topics: BTreeSet<String>,
    /// Tools that steps may ask for; `None`: nobody has listed them.
    pub tools: Option<BTreeSet<String>>,
    /// Steps, by id, whose contracts were run before the work and passed; says where, and how.
    pub passed: BTreeMap<String, String>,
}

/// A draft and what follows from it alone.
pub struct Study<'a> {
    pub source: &'a Source,
    /// What was read from it.
    pub draft: &'a Draft,
    /// The id of every step.
    pub ids: Vec<String>,
    /// Which step waits for which.
    pub graph: Graph,
    /// The contract of every step, taken apart.
    pub scripts: Vec<Option<Script>>,
}

impl<'a> Study<'a> {
    /// Works out what follows from the draft.
    pub fn of(source: &'a Source, draft: &'a Draft) -> Self {
        let ids = verified::ids(draft);
        let graph = Graph::new(verified::needs(draft, &ids));
        let script =
            |step: &StepDraft| Some(shell::analyse(&step.contract.as_ref()?.command.as_ref()?.value));
        let scripts = draft.steps.iter().map(script).collect();
        Self { source, draft, ids, graph, scripts }
    }

    /// What has to be found out before the plan can be checked.
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

/// Everything that a rule may look at.
pub struct Subject<'a> {
    pub(super) source: &'a Source,
    pub(super) draft: &'a Draft,
    pub(super) facts: &'a Facts,
    pub(super) limits: &'a Limits,
    pub(super) graph: &'a Graph,
    pub(super) reach: Reach,
    pub(super) ids: &'a [String],
    scripts: &'a [Option<Script>],
    /// Files that steps seem to make: for each path the steps and the place that says so.
    makers: BTreeMap<String, Vec<Maker>>,
    /// Patterns of files that steps may make.
    patterns: Vec<(Glob, Maker)>,
    repairs_left: Cell<usize>,
}

/// A step that seems to make a file, and the place that says so.
#[derive(Debug, Clone, Copy)]
pub(super) struct Maker {
    pub(super) place: usize,
    pub(super) span: Span,
    pub(super) says: Says,
}

/// What says that a step makes a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    Touches,
    Contract,
    Task,
}

impl<'a> Subject<'a> {
    pub(super) fn new(study: &'a Study<'a>, facts: &'a Facts, limits: &'a Limits) -> Self {
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

    /// The edits that make a change, in the spelling of the plan's dialect; `None` if it is refused, or one too many.
    pub(super) fn repair(&self, change: &Change) -> Option<Vec<Edit>> {
        self.repairs_left.set(self.repairs_left.get().checked_sub(1)?);
        self.source.dialect().patch(self.source, change).ok()
    }

    /// Whether the plan is in the native dialect, which says some things in ways of its own.
    pub(super) fn is_native(&self) -> bool {
        *self.source.dialect() == *dialect::NATIVE
    }

    /// Whether the plan is a folder with a file for every task.
    pub(super) fn is_directory(&self) -> bool {
        *self.source.dialect() == dialect::directory::DIALECT
    }

    /// Whether something between `start` and `end` could not be read, so that what it says is not known.
    pub(super) fn is_unread(&self, span: Span) -> bool {
        let is_unread = |oddity: &Oddity| matches!(oddity, Oddity::Frontmatter(_) | Oddity::WrongType { .. });
        self.draft.oddities.0.iter().any(|oddity| span.covers(oddity.span) && is_unread(&oddity.value))
    }

    /// Whether every step waits for all earlier ones, so that no two can run at once.
    pub(super) fn is_sequential(&self) -> bool {
        self.draft.steps.iter().all(|step| step.needs.is_none())
    }

    /// Every step with its place.
    pub(super) fn steps(&self) -> impl Iterator<Item = (usize, &'a StepDraft)> {
        self.draft.steps.iter().enumerate()
    }

    /// Every contract that can be run: its place, its step, its command taken apart.
    pub(super) fn contracts(&self) -> impl Iterator<Item = Contract<'_>> {
        self.steps().filter_map(|(place, step)| {
            let script = self.scripts[place].as_ref()?;
            let command = step.contract.as_ref()?.command.as_ref()?;
            Some(Contract { place, command, script })
        })
    }

    /// How a step is called in a message: step 2 `write-the-fix`.
    pub(super) fn name(&self, place: usize) -> String {
        format!("{} `{}`", self.short_name(place), self.ids[place])
    }

    /// How a step is called where its id would be too much: step 2.
    pub(super) fn short_name(&self, place: usize) -> String {
        match &self.draft.steps[place].number.value {
            StepNumber::Counted(number) => format!("step {number}"),
            StepNumber::Template(text) => format!("step {text}"),
        }
    }

    /// The step that a `needs` item means.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        verified::find_step(self.draft, self.ids, name)
    }

    /// How the plan's dialect writes the label of a field: `**task:**`, `instructions:`.
    pub(super) fn label(&self, field: Field) -> String {
        let dialect = self.source.dialect();
        let names = dialect.fields.iter().find(|(known, _)| *known == field).map(|(_, names)| names);
        let name = names.and_then(|names| names.first()).copied().unwrap_or_default();
        if self.is_native() { format!("**{name}:**") } else { format!("{name}:") }
    }

    /// The place of the end of what was said; all of it where a dialect spells it in another way, as with escapes.
    pub(super) fn tail(&self, said: &Spanned<String>, end: &str) -> Span {
        match self.source.slice(said.span).ends_with(end) {
            true => Span::new(said.span.end - end.len(), said.span.end),
            false => said.span,
        }
    }

    /// The steps that seem to make the file, in file order.
    pub(super) fn makers(&self, path: &str) -> Vec<Maker> {
        let path = plain(path);
        let mut makers = self.makers.get(path).cloned().unwrap_or_default();
        makers.extend(self.patterns.iter().filter(|(glob, _)| glob.matches(path)).map(|&(_, maker)| maker));
        // A step that names the file says so better than one of its patterns: the sort is stable.
        makers.sort_by_key(|maker| maker.place);
        makers
    }

    /// Whether the file is there today.
    pub(super) fn exists(&self, path: &str) -> bool {
        self.facts.paths.contains(plain(path))
    }

    /// Whether the file is there, or surely will be when the step begins.
    pub(super) fn is_there_before(&self, path: &str, place: usize) -> bool {
        self.exists(path) || self.makers(path).iter().any(|maker| self.reach.is_before(maker.place, place))
    }

    fn note_made_files(&mut self, place: usize) {
        let step = &self.draft.steps[place];
        for pattern in step.touches.iter().flatten() {
            let maker = Maker { place, span: pattern.span, says: Says::Touches };
            match Glob::new(&pattern.value) {
                Ok(glob) if glob.is_literal() => self.note_maker(&pattern.value, maker),
                Ok(glob) => self.patterns.push((glob, maker)),
                Err(_) => {}
            }
        }
        let command = step.contract.as_ref().and_then(|contract| contract.command.as_ref());
        if let (Some(script), Some(command)) = (&self.scripts[place], command) {
            for used in script.paths.iter().filter(|used| used.role != shell::Role::Run) {
                let span = command.locate(used.span);
                self.note_maker(&used.path, Maker { place, span, says: Says::Contract });
            }
        }
        if let Some(task) = &step.task {
            for (path, at) in quoted_paths(self.source.slice(task.span)) {
                let start = task.span.start + at;
                let span = Span::new(start, start + path.len());
                self.note_maker(path, Maker { place, span, says: Says::Task });
            }
        }
    }

    fn note_maker(&mut self, path: &str, maker: Maker) {
        self.makers.entry(plain(path).to_owned()).or_default().push(maker);
    }
}

/// A contract that can be run.
pub(super) struct Contract<'a> {
    pub(super) place: usize,
    pub(super) command: &'a crate::syntax::source::Excerpt,
    pub(super) script: &'a Script,
}

/// A path as the facts spell it.
fn plain(path: &str) -> &str {
    path.trim_start_matches("./")
}

/// Paths in backticks, with their offset: what a task says it makes.
fn quoted_paths(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let mut at = 0;
    let pieces = text.split('`').map(move |piece| {
        let start = at;
        at += piece.len() + 1;
        (piece, start)
    });
    pieces.skip(1).step_by(2).filter(|(piece, _)| is_path_like(piece))
}

/// Whether a word looks like the path of a file: a slash or an extension, and nothing that paths rarely have.
fn is_path_like(word: &str) -> bool {
    let is_plain = !word.is_empty()
        && word.len() < 200
        && !word.starts_with(['-', '/', '~', '$'])
        && word.chars().all(|character| character.is_alphanumeric() || "._-/+@".contains(character));
    let extension = word.rsplit_once('.').map(|(_, extension)| extension);
    is_plain && (word.contains('/') || extension.is_some_and(|extension| (1..=6).contains(&extension.len())))
}
