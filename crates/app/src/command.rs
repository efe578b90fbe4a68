//! The commands, one file each, and what they share: finding plans and steps, the schemas of their answers, and saying in
//! which way the engine failed. No command knows another.

pub(crate) mod acp;
pub(crate) mod active;
pub(crate) mod answer;
pub(crate) mod approve;
pub(crate) mod arbiter;
pub(crate) mod archive;
pub(crate) mod audit;
pub(crate) mod cancel;
pub(crate) mod clone;
pub(crate) mod comment;
pub(crate) mod config;
pub(crate) mod convert;
pub(crate) mod delete;
pub(crate) mod demo;
pub(crate) mod discover;
pub(crate) mod doctor;
pub(crate) mod draft;
pub(crate) mod edit;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fmt;
pub(crate) mod history;
pub(crate) mod hook;
pub(crate) mod import;
pub(crate) mod inbox;
pub(crate) mod init;
pub(crate) mod list;
pub(crate) mod list_plans;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod merge;
pub(crate) mod merge_driver;
pub(crate) mod new;
pub(crate) mod policy;
pub(crate) mod prompt;
pub(crate) mod propose;
pub(crate) mod queue;
pub(crate) mod quick;
pub(crate) mod reject;
pub(crate) mod reopen;
pub(crate) mod replan;
pub(crate) mod retry;
pub(crate) mod review;
pub(crate) mod rollback;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod session;
pub(crate) mod should_plan;
pub(crate) mod show;
pub(crate) mod simulate;
pub(crate) mod stage;
pub(crate) mod standup;
pub(crate) mod stats;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod tools;
pub(crate) mod undo;
pub(crate) mod r#use;
pub(crate) mod verify;
pub(crate) mod worker;
pub(crate) mod worktree;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use planwright_engine::agent::planning_session;
use planwright_engine::approval::Approvals;
use planwright_engine::config::Error as ConfigError;
use planwright_engine::core::agent::profile::PROFILES;
use planwright_engine::core::dialect;
use planwright_engine::core::dialect::Dialect;
use planwright_engine::core::plan::draft::Draft;
use planwright_engine::core::plan::edit::EditError;
use planwright_engine::core::plan::verified;
use planwright_engine::core::run::event::RunOutcome;
use planwright_engine::core::run::state::{CLAIM, Phase, RunStatus};
use planwright_engine::core::syntax::nearest;
use planwright_engine::core::syntax::source::{Detection, Source};
use planwright_engine::core::workspace::notification::{Notification, NotificationSubject};
use planwright_engine::git::merge_driver as driver;
use planwright_engine::portfolio::merge_queue;
use planwright_engine::run::baseline;
use planwright_engine::run::checkout;
use planwright_engine::run::{Run, Runs};
use planwright_engine::store::journal::{LockHolder, RecordedEvent};
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::system::process;
use planwright_engine::workspace::{active_plan, project};
use planwright_engine::{Project, run as runs};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;

use crate::cli;
use crate::interaction::notifier;
use crate::output::diagnostics::VerifyData;
use crate::output::{Envelope, ErrorEnvelope, Exit, Failure, NextCommand, Out};

/// The data of envelopes that hold a text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Page {
    /// The text.
    pub(crate) text: String,
}

/// A plan that waits for a yes or a no.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct ReviewData {
    /// The plan.
    pub(crate) plan: String,
    /// Its file, relative to the root of the project.
    pub(crate) path: String,
    /// The revision.
    pub(crate) revision: u32,
    /// The first digits of its digest.
    pub(crate) digest: String,
    /// Where it stands: `proposed`, `waiting (lapsed)` or `waiting (revisions-spent)`.
    pub(crate) state: String,
    /// Who proposed it.
    pub(crate) by: String,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: u64,
}

impl ReviewData {
    /// What it waits for, in words.
    pub(crate) fn words(&self) -> String {
        let revision = self.revision;
        match self.state.as_str() {
            "proposed" => format!("r{revision} is pending review"),
            "waiting (lapsed)" => format!("the approval of r{revision} has lapsed"),
            _ => format!("r{revision} was rejected too often and needs you"),
        }
    }

    /// The command that a person types next.
    pub(crate) fn command(&self) -> NextCommand {
        let verb = if self.state == "waiting (revisions-spent)" { "revise" } else { "review" };
        // What lies outside of the project is called by its name: nobody types such a path.
        let plan = if Path::new(&self.path).is_absolute() { &self.plan } else { &self.path };
        NextCommand::new(["planwright", verb, plan.as_str()])
    }
}

/// Every plan that waits for a yes or a no, the oldest first. What time has ended meanwhile is ended first, and said.
pub(crate) fn reviews(project: &Project, out: &mut Out<'_>) -> Result<Vec<ReviewData>, Failure> {
    for error in planning_session::settle(project) {
        crate::interaction::session::warn(error, out);
    }
    waiting_reviews(project, out)
}

/// The same without what ends planning sessions: for who looks again and again.
pub(crate) fn waiting_reviews(project: &Project, out: &mut Out<'_>) -> Result<Vec<ReviewData>, Failure> {
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok(Vec::new()) };
    for expired in decisions.sweep()? {
        out.warn(&format!("{}: {}", expired.plan.display(), expired.text));
    }
    let data = decisions.waiting()?.into_iter().map(|row| ReviewData {
        plan: plan_file::name(&row.plan),
        path: row.plan.to_string_lossy().into_owned(),
        revision: row.summary.revision,
        digest: row.summary.digest.get(..8).unwrap_or_default().to_owned(),
        state: row.summary.state,
        by: row.summary.proposer,
        since_ms: row.summary.since_ms,
    });
    Ok(data.collect())
}

/// A plan that is done, was evicted from a merge, and has not landed since.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct OutcastData {
    /// The plan.
    pub(crate) plan: String,
    /// Its file, relative to the root of the project.
    pub(crate) path: String,
    /// Its branch.
    pub(crate) branch: String,
    /// The branch that it was to go into.
    pub(crate) into: String,
    /// Why it did not.
    pub(crate) why: String,
    /// Since when, in milliseconds since 1970.
    pub(crate) since_ms: u64,
}

impl OutcastData {
    /// The command that a person types next, on the branch that it was to go into.
    pub(crate) fn command(&self) -> NextCommand {
        NextCommand::new(["git", "merge", self.branch.as_str()])
    }
}

/// Every plan that was evicted and has not landed since, the oldest first.
pub(crate) fn outcasts(project: &Project) -> Result<Vec<OutcastData>, Failure> {
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok(Vec::new()) };
    let found = merge_queue::evicted(&decisions).map_err(merge::failure)?;
    let data = found.into_iter().map(|outcast| OutcastData {
        plan: outcast.plan,
        path: outcast.path.to_string_lossy().into_owned(),
        branch: outcast.branch,
        into: outcast.into,
        why: outcast.why,
        since_ms: outcast.since_ms,
    });
    Ok(data.collect())
}

/// How a schema is made.
pub(crate) type Make = fn(SchemaGenerator) -> Value;

/// Every schema with its name. A command that prints an envelope has a line here.
pub(crate) const SCHEMAS: &[(&str, Make)] = &[
    ("acp", made::<Envelope<acp::Bridged>>),
    ("activate", made::<Envelope<stage::Staged>>),
    ("active", made::<Envelope<active::Active>>),
    ("answer", made::<Envelope<answer::Answered>>),
    ("approve", made::<Envelope<approve::ApprovedData>>),
    ("arbiter", made::<Envelope<arbiter::Arbitrated>>),
    ("archive", made::<Envelope<archive::Archived>>),
    ("audit", made::<Envelope<audit::Audited>>),
    ("cancel", made::<Envelope<cancel::Cancelled>>),
    ("clone", made::<Envelope<clone::Cloned>>),
    ("comment", made::<Envelope<comment::Comments>>),
    ("completions", made::<Envelope<Page>>),
    ("config", made::<Envelope<config::Configured>>),
    ("convert", made::<Envelope<crate::interaction::conversion::Carried>>),
    ("delete", made::<Envelope<delete::Deleted>>),
    ("demo", made::<Envelope<demo::Made>>),
    ("discover", made::<Envelope<discover::Discovered>>),
    ("doctor", made::<Envelope<doctor::Examined>>),
    ("draft", made::<Envelope<draft::Drafted>>),
    ("edit", made::<Envelope<edit::Edited>>),
    ("error", made::<ErrorEnvelope>),
    ("event", made::<Envelope<Notification>>),
    ("events", made::<Envelope<events::Told>>),
    ("explain", made::<Envelope<explain::Rules>>),
    ("export", made::<Envelope<export::Exported>>),
    ("fmt", made::<Envelope<fmt::Formatted>>),
    ("help", made::<Envelope<Page>>),
    ("history", made::<Envelope<history::History>>),
    ("hook", made::<Envelope<hook::Hooked>>),
    ("import", made::<Envelope<crate::interaction::conversion::Carried>>),
    ("inbox", made::<Envelope<inbox::Inbox>>),
    ("init", made::<Envelope<init::Initialised>>),
    ("list", made::<Envelope<list::Listing>>),
    ("list-plans", made::<Envelope<list_plans::Plans>>),
    ("log", made::<Envelope<log::Log>>),
    ("man", made::<Envelope<Page>>),
    ("mcp", made::<Envelope<mcp::Served>>),
    ("merge", made::<Envelope<merge::MergeData>>),
    ("merge-driver", made::<Envelope<merge_driver::Merged>>),
    ("new", made::<Envelope<new::Created>>),
    ("policy", made::<Envelope<policy::PolicyData>>),
    ("prompt", made::<Envelope<prompt::Prompted>>),
    ("propose", made::<Envelope<propose::ProposedData>>),
    ("queue", made::<Envelope<queue::Listed>>),
    ("queue-status", made::<Envelope<queue::Dashboard>>),
    ("quick", made::<Envelope<run::Ran>>),
    ("reject", made::<Envelope<reject::RejectedData>>),
    ("reopen", made::<Envelope<reopen::Reopened>>),
    ("replan", made::<Envelope<replan::Replanned>>),
    ("retry", made::<Envelope<run::Ran>>),
    ("review", made::<Envelope<planwright_engine::core::approval::review::Review>>),
    ("reviews", made::<Envelope<review::Reviews>>),
    ("run", made::<Envelope<run::Ran>>),
    ("schema", made::<Envelope<schema::Schemas>>),
    ("session", made::<Envelope<crate::interaction::session::SessionData>>),
    ("should-plan", made::<Envelope<should_plan::Weighed>>),
    ("show", made::<Envelope<show::Shown>>),
    ("simulate", made::<Envelope<crate::output::wording::ahead::Simulated>>),
    ("stage", made::<Envelope<stage::Staged>>),
    ("standup", made::<Envelope<standup::Standup>>),
    ("stats", made::<Envelope<stats::Statistics>>),
    ("status", made::<Envelope<status::Standing>>),
    ("rollback", made::<Envelope<rollback::Back>>),
    ("stop", made::<Envelope<stop::Stopped>>),
    ("tools", made::<Envelope<tools::Tools>>),
    ("undo", made::<Envelope<undo::Undone>>),
    ("use", made::<Envelope<r#use::Used>>),
    ("verify", made::<Envelope<VerifyData>>),
    ("worker", made::<Envelope<worker::Worked>>),
    ("worktree", made::<Envelope<worktree::Worktrees>>),
];

fn made<T: JsonSchema>(generator: SchemaGenerator) -> Value {
    generator.into_root_schema_for::<T>().into()
}

/// What is found as a plan without being named by its path.
pub(crate) const WHAT_IS_A_PLAN: &str = "a plan has `type: plan` in its frontmatter, or is in the place of its dialect: \
    PLAN.md, .rawko/plans/, .pi/plans/, plan.md with tasks/";

/// How many steps a hint names; a longer list helps nobody.
const STEPS_NAMED_MAX: usize = 12;

/// Settings that were typed with the command: a process has one command line, as it has one environment.
static TYPED: OnceLock<Vec<String>> = OnceLock::new();

/// Takes the settings that were typed with the command; only the first call counts.
pub(crate) fn take_settings(typed: Vec<String>) {
    TYPED.get_or_init(|| typed);
}

/// The settings that were typed with the command.
pub(crate) fn typed_settings() -> &'static [String] {
    TYPED.get().map_or(&[], Vec::as_slice)
}

/// The project that the user stands in.
pub(crate) fn here() -> Result<Project, Failure> {
    project_of(Path::new("."))
}

/// The project of a folder that somebody names; without one, the project that the user stands in.
pub(crate) fn project_at(folder: Option<&Path>) -> Result<Project, Failure> {
    Ok(Project::find_in(folder.unwrap_or(Path::new(".")), typed_settings())?)
}

/// The project that a plan belongs to, which need not be the one that the user stands in.
pub(crate) fn project_of(plan: &Path) -> Result<Project, Failure> {
    let dialect = DIALECT.get().copied().flatten();
    let mut project = Project { dialect, ..Project::find_with(&project::home_of(plan)?, typed_settings())? };
    if project::root_of(Path::new("."))? != project.root {
        // A harness folder may lie in another repository, whose plans are about this one.
        let here = Project { dialect, ..Project::find_with(Path::new("."), typed_settings())? };
        project = if active_plan::holds(&here, plan) { here } else { project };
    }
    notifier::watch(&project);
    Ok(project)
}

/// The dialect that was typed with the command.
static DIALECT: OnceLock<Option<&'static Dialect>> = OnceLock::new();

/// Takes the dialect that was typed with the command; only the first call counts.
pub(crate) fn take_dialect(name: Option<&str>) -> Result<(), Failure> {
    let dialect = name.map(|name| dialect::named(name).ok_or_else(|| unknown_dialect(name))).transpose()?;
    DIALECT.get_or_init(|| dialect);
    Ok(())
}

/// The dialect of a plan and by what it is told: `named (PLAN.md in .harness/)`.
pub(crate) fn dialect_line(source: &Source) -> String {
    let name = source.dialect().name;
    match source.told() {
        Detection::By(because) => format!("{name} ({because})"),
        Detection::Forced => format!("{name} (as you say)"),
        Detection::Nothing => format!("{name} (default)"),
        Detection::Unasked => name.to_owned(),
    }
}

/// How a run stands, in a word.
pub(crate) fn run_word(run: &Run) -> &'static str {
    match run.state.phase {
        Phase::Finished(RunOutcome::Done) => "done",
        Phase::Finished(RunOutcome::Failed) => "failed",
        Phase::Finished(RunOutcome::Cancelled) => "cancelled",
        Phase::Stopped => "stopped",
        Phase::New | Phase::Running if run.state.asks.is_empty() => "running",
        Phase::New | Phase::Running => "waiting for a person",
    }
}

/// What listeners are told of an event of a run.
pub(crate) fn notice_of(runs: &Runs, run: &Run, recorded: &RecordedEvent) -> Notification {
    let (row, project) = (&run.row, runs.store().key());
    let path = row.plan.to_string_lossy();
    let about = NotificationSubject { project: &project, plan: &row.name, path: &path };
    Notification::of_event(about, row.id.number(), (recorded.seq, recorded.at_ms), &recorded.event)
}

/// What is known of a step of a run, in a few words.
pub(crate) fn step_word(run: &Run, id: &str) -> Option<String> {
    let place = run.plan.steps.iter().position(|step| step.id == id)?;
    Some(match &run.state.steps[place].status {
        RunStatus::Passed { attempt } => format!("passed, attempt {attempt}"),
        RunStatus::Skipped { by, reason } => format!("skipped by {by}: {reason}"),
        RunStatus::Waiting { .. } => "needs you".to_owned(),
        RunStatus::Running { attempt } => format!("running, attempt {attempt}"),
        RunStatus::Judging { attempt, .. } => format!("judging, attempt {attempt}"),
        RunStatus::Pending => "pending".to_owned(),
    })
}

pub(crate) fn unknown_dialect(name: &str) -> Failure {
    let names: Vec<&str> = dialect::DIALECTS.iter().map(|dialect| dialect.name).collect();
    let failure = Failure::new(Exit::Usage, format!("unknown dialect `{name}`"));
    match nearest::nearest(name, names.iter().copied()) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None => failure.hint(format!("the dialects are {}", names.join(", "))),
    }
}

/// How a path is shown: from where the user stands, if it lies below.
pub(crate) fn shown(path: &Path) -> String {
    // What a planner committed lies where nobody looks, under a name that can be typed.
    if let Some(name) = planning_session::name_of_copy(path) {
        return name;
    }
    let here = std::env::current_dir();
    let below = here.ok().and_then(|here| path.strip_prefix(here).ok().map(Path::to_owned));
    let below = below.unwrap_or_else(|| path.to_owned());
    let text = below.to_string_lossy();
    let text = text.trim_start_matches("./");
    // A name that would be read as an option is written so that it can be typed.
    if text.starts_with('-') && text != "-" { format!("./{text}") } else { text.to_owned() }
}

/// A plan that a command works on, read as text.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) project: Project,
    pub(crate) source: Source,
    pub(crate) step: Option<String>,
}

/// Opens the plan or step that the user points at.
pub(crate) fn open(address: &str) -> Result<Opened, Failure> {
    let project::Address { plan: path, step } = here()?.address(address)?;
    let opened = open_file(path)?;
    if let Some(step) = &step {
        let draft = opened.source.draft();
        find_step(&draft, step, &shown(&opened.path))?;
    }
    Ok(Opened { step, ..opened })
}

/// Opens a plan file.
pub(crate) fn open_file(path: PathBuf) -> Result<Opened, Failure> {
    let project = project_of(&path)?;
    match plan_file::read(&path, &shown(&path), project.reading()).map_err(Failure::from)? {
        FileText::Plan(source) => Ok(Opened { path, project, source, step: None }),
        FileText::Unreadable(unreadable) => {
            let failure =
                Failure::new(Exit::No, format!("{}: {}", shown(&path), unreadable.diagnostic.message));
            Err(failure.next(NextCommand::new(["planwright", "verify", shown(&path).as_str()])))
        }
    }
}

/// The place of the step that `name` means in the plan `path`: an id, a number, or the beginning of one id alone.
pub(crate) fn find_step(draft: &Draft, name: &str, path: &str) -> Result<usize, Failure> {
    let ids = verified::ids(draft);
    let mut near = ids.iter().enumerate().filter(|(_, id)| id.starts_with(name)).map(|(place, _)| place);
    let only = || near.next().filter(|_| near.next().is_none());
    verified::find_step(draft, &ids, name).or_else(only).ok_or_else(|| {
        let known = match ids.len() {
            0 => "it has no steps".to_owned(),
            count if count > STEPS_NAMED_MAX => format!("it has {count} steps"),
            _ => format!("its steps are {}", ids.join(", ")),
        };
        Failure::new(Exit::Usage, format!("{path} has no step `{name}`"))
            .hint(known)
            .next(NextCommand::new(["planwright", "show", path]))
    })
}

/// The newest run of a plan, as the user points at it.
pub(crate) struct RunOf {
    pub(crate) path: PathBuf,
    pub(crate) runs: Runs,
    pub(crate) run: Run,
    /// The step that was named, as a place in the approved plan.
    pub(crate) step: Option<usize>,
}

/// Finds the newest run of the plan or step that the user points at.
pub(crate) fn run_of(address: &str) -> Result<RunOf, Failure> {
    let project::Address { plan: path, step } = here()?.address(address)?;
    let mut runs = Runs::open(&project_of(&path)?)?;
    let name = plan_file::name(&path);
    let mut path = path;
    // The newest may have been made in a worktree: then that is where it is looked at, answered and stopped.
    if let Some((root, _)) = runs.elsewhere(&path)? {
        path = root.join(runs.relative(&path));
        runs = Runs::open(&Project::find(&root)?)?;
    }
    let run = runs.last(&path)?.ok_or_else(|| {
        let next = NextCommand::new(["planwright", "run", shown(&path).as_str()]);
        Failure::new(Exit::No, format!("{name} has not been run")).next(next)
    })?;
    let step = step.map(|step| step_of(&run, &step)).transpose()?;
    Ok(RunOf { path, runs, run, step })
}

/// The place of a step in the plan that was approved: an id, a number, or the beginning of one id alone.
pub(crate) fn step_of(run: &Run, name: &str) -> Result<usize, Failure> {
    let steps = &run.plan.steps;
    let mut near = steps.iter().enumerate().filter(|(_, step)| step.id.starts_with(name));
    let only = || near.next().filter(|_| near.next().is_none()).map(|(place, _)| place);
    let exact = steps.iter().position(|step| step.id == name);
    let numbered = || steps.iter().position(|step| step.number.to_string() == name.trim_start_matches('#'));
    exact.or_else(numbered).or_else(only).ok_or_else(|| {
        let plan = run.row.name.as_str();
        let known = match steps.len() {
            count if count > STEPS_NAMED_MAX => format!("it has {count} steps"),
            _ => {
                let ids: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
                format!("its steps are {}", ids.join(", "))
            }
        };
        let next = NextCommand::new(["planwright", "show", shown(&run.row.plan).as_str()]);
        Failure::new(Exit::Usage, format!("{plan} has no step `{name}`")).hint(known).next(next)
    })
}

/// How long a command waits for a driver to let go of a run.
const LET_GO: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);

/// Waits until nobody drives the run, for a while; says who still does.
pub(crate) fn wait_for_driver(runs: &Runs, run: &Run) -> Result<Option<LockHolder>, Failure> {
    let begin = Instant::now();
    loop {
        let holder = runs.holder(run)?;
        if holder.is_none() || begin.elapsed() > LET_GO {
            return Ok(holder);
        }
        std::thread::sleep(LOOK);
    }
}

/// Attempts and contracts that are under way: `2 fix, attempt 1`.
pub(crate) fn under_way(run: &Run) -> Vec<String> {
    let steps = run.plan.steps.iter().zip(&run.state.steps);
    let busy = steps.filter_map(|(step, state)| match state.status {
        RunStatus::Running { attempt } => Some(format!("{} {}, attempt {attempt}", step.number, step.id)),
        RunStatus::Judging { attempt, .. } if attempt != CLAIM => {
            Some(format!("{} {}, contract of attempt {attempt}", step.number, step.id))
        }
        RunStatus::Judging { .. }
        | RunStatus::Pending
        | RunStatus::Passed { .. }
        | RunStatus::Waiting { .. }
        | RunStatus::Skipped { .. } => None,
    });
    busy.collect()
}

/// The grammar of a command, under the name that one types.
pub(crate) fn grammar(name: Option<&str>) -> Result<clap::Command, Failure> {
    let grammar = cli::grammar();
    let Some(name) = name else { return Ok(grammar) };
    let found = grammar.find_subcommand(name).cloned();
    found
        .map(|command| {
            command.bin_name(format!("planwright {name}")).display_name(format!("planwright-{name}"))
        })
        .ok_or_else(|| {
            let topics = cli::TOPICS.iter().map(|(name, _)| *name);
            let names: Vec<&str> =
                grammar.get_subcommands().map(clap::Command::get_name).chain(topics).collect();
            let failure = Failure::new(Exit::Usage, format!("unknown command or topic `{name}`"));
            match nearest::nearest(name, names) {
                Some(meant) => failure.hint(format!("did you mean `{meant}`?")).next(NextCommand::new([
                    "planwright",
                    "help",
                    meant,
                ])),
                None => failure.next(NextCommand::new(["planwright", "help"])),
            }
        })
}

impl From<baseline::Error> for Failure {
    fn from(error: baseline::Error) -> Self {
        match error {
            baseline::Error::Project(error) => error.into(),
            baseline::Error::Base(_) => Self::from_error(Exit::Machine, &error),
        }
    }
}

impl From<project::Error> for Failure {
    fn from(error: project::Error) -> Self {
        let failure = |exit| Self::from_error(exit, &error);
        match error {
            project::Error::Config(error) => error.into(),
            project::Error::Store(error) => error.into(),
            project::Error::Process(_) | project::Error::Search { .. } | project::Error::Stream { .. } => {
                failure(Exit::Machine)
            }
            project::Error::NoFolder { .. } | project::Error::Crowded { .. } => failure(Exit::Usage)
                .hint("run this inside a project: a directory with .git or planwright.toml"),
            project::Error::NoPlan { meant: Some(ref meant), .. } => failure(Exit::Usage)
                .hint(format!("did you mean `{meant}`?"))
                .next(NextCommand::new(["planwright", "list"])),
            project::Error::NoPlan { .. } => {
                failure(Exit::Usage).hint(WHAT_IS_A_PLAN).next(NextCommand::new(["planwright", "list"]))
            }
            project::Error::Staged { ref name, ref path } => failure(Exit::Usage)
                .hint(format!("it is in {}", shown(path)))
                .next(NextCommand::new(["planwright", "unshelve", name.as_str()])),
            project::Error::Ambiguous { ref plans, ref name } => {
                let plans: Vec<String> = plans.iter().map(|plan| shown(plan)).collect();
                failure(Exit::Usage)
                    .hint(format!("pass one of: {}", plans.join(", ")))
                    .next(NextCommand::new(["planwright", "list", &format!("--find={name}")]))
            }
        }
    }
}

impl From<runs::Error> for Failure {
    fn from(error: runs::Error) -> Self {
        match error {
            runs::Error::Project(error) => error.into(),
            runs::Error::Driven { .. } => Self::from_error(Exit::Moved, &error)
                .hint("wait for it, or check its status")
                .next(NextCommand::new(["planwright", "status"])),
            runs::Error::Occupied { .. } => Self::from_error(Exit::Moved, &error)
                .hint("one plan at a time runs in a directory: `run --wait` waits, `run --worktree` uses another one")
                .next(NextCommand::new(["planwright", "status"])),
            runs::Error::Illegal(_) => {
                Self::from_error(Exit::Moved, &error).next(NextCommand::new(["planwright", "status"]))
            }
            runs::Error::NoJudge { .. } => Self::from_error(Exit::Usage, &error)
                .hint("a person confirms this step; name one with a contract")
                .next(NextCommand::new(["planwright", "help", "run"])),
            runs::Error::Unlanded { ref step } => {
                let message = format!("no checkpoint for step `{step}`");
                Self::new(Exit::No, message)
                    .hint("planwright saves a checkpoint when a step passes in a git repository with a commit")
                    .next(NextCommand::new(["planwright", "status"]))
            }
            runs::Error::Ground(checkout::Error::InTheWay { .. }) => {
                Self::from_error(Exit::No, &error).hint("move them and try again; nothing was restored")
            }
            runs::Error::Ground(checkout::Error::NoRepository { .. }) => Self::from_error(Exit::No, &error)
                .hint("worktrees need a commit: create a repository and commit")
                .next(NextCommand::new(["git", "init"])),
            runs::Error::Ground(_)
            | runs::Error::Journal(_)
            | runs::Error::Drive(_)
            | runs::Error::Plan { .. }
            | runs::Error::Contended { .. }
            | runs::Error::Panicked { .. }
            | runs::Error::Broken { .. } => Self::from_error(Exit::Machine, &error),
        }
    }
}

impl From<planwright_engine::run::simulate::Error> for Failure {
    fn from(error: planwright_engine::run::simulate::Error) -> Self {
        match error {
            planwright_engine::run::simulate::Error::Project(error) => error.into(),
            planwright_engine::run::simulate::Error::Runs(error) => error.into(),
        }
    }
}

impl From<driver::Error> for Failure {
    fn from(error: driver::Error) -> Self {
        match error {
            driver::Error::Store(error) => error.into(),
            driver::Error::NoRepository { .. } => Self::from_error(Exit::No, &error)
                .hint("the merge driver is a repository setting: create a repository first")
                .next(NextCommand::new(["git", "init"])),
            driver::Error::Read { .. }
            | driver::Error::State(_)
            | driver::Error::Git(_)
            | driver::Error::Refused { .. } => Self::from_error(Exit::Machine, &error),
        }
    }
}

impl From<plan_file::Error> for Failure {
    fn from(mut error: plan_file::Error) -> Self {
        *error.path_mut() = shown(error.path_mut()).into();
        let failure = |exit| Self::from_error(exit, &error);
        match &error {
            plan_file::Error::Missing { .. } => {
                failure(Exit::Usage).next(NextCommand::new(["planwright", "list"]))
            }
            plan_file::Error::NoFolder { .. } => {
                failure(Exit::Usage).hint("omit --dialect, or pass `--dialect directory`")
            }
            plan_file::Error::NotAFile { .. } => failure(Exit::Usage)
                .hint("a plan is a file, or a directory with plan.md and tasks/")
                .next(NextCommand::new(["planwright", "list"])),
            plan_file::Error::Exists { path } => failure(Exit::Usage)
                .hint("choose another name; nothing was written")
                .next(NextCommand::new(["planwright", "show", path.to_string_lossy().as_ref()])),
            plan_file::Error::Restless { .. } | plan_file::Error::Moved { .. } => {
                failure(Exit::Moved).hint("check it again; nothing was written")
            }
            plan_file::Error::Read { .. }
            | plan_file::Error::Write { .. }
            | plan_file::Error::Astray { .. } => failure(Exit::Machine),
        }
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        let failure = match &error {
            ConfigError::Read { path, source } => {
                Self::new(Exit::Machine, format!("cannot read {}", shown(path))).because(source)
            }
            ConfigError::Invalid { path, .. } => {
                Self::new(Exit::Usage, format!("invalid configuration {}", shown(path)))
            }
            ConfigError::Environment { .. } | ConfigError::Flag { .. } => {
                Self::from_error(Exit::Usage, &error)
            }
        };
        error.faults().iter().fold(failure, |failure, fault| failure.because(fault))
    }
}

/// Says that a change was refused.
pub(crate) fn refused(path: &Path, refusal: &EditError) -> Failure {
    Failure::new(Exit::No, format!("{} was not changed", shown(path))).because(refusal)
}

/// Variables that agents of any make set in the shells that they use.
const AGENT_VARIABLES: &[&str] = &["AI_AGENT"];

/// By what an agent at this terminal is known.
pub(crate) struct AgentSign {
    /// What the agent is called.
    pub(crate) agent: String,
    /// What gives it away.
    pub(crate) sign: String,
    /// What a person does who is taken for one.
    way_out: Option<&'static str>,
}

/// Whether an agent is at this terminal. Whatever planwright itself has started is known for certain; of others a variable
/// tells, which stops mistakes, not attacks.
pub(crate) fn agent_sign() -> Option<AgentSign> {
    let own = PROFILES.iter().flat_map(|profile| profile.signs.iter().map(|sign| (*sign, profile.name)));
    let mut all = own.chain(AGENT_VARIABLES.iter().map(|sign| (*sign, "an agent")));
    let set = all.find(|(sign, _)| std::env::var_os(sign).is_some());
    let known =
        set.map(|(sign, agent)| AgentSign { agent: agent.to_owned(), sign: sign.to_owned(), way_out: None });
    known.or_else(|| {
        let sign = process::job_above()?;
        let agent = "an attempt".to_owned();
        Some(AgentSign { agent, sign: sign.to_string(), way_out: sign.way_out() })
    })
}

/// Refuses to take an agent's word.
pub(crate) fn refuse_agents(verb: &str) -> Result<(), Failure> {
    match agent_sign() {
        Some(AgentSign { sign, way_out, .. }) => {
            let message = format!("only a person may {verb}; this terminal belongs to an agent ({sign})");
            let mut failure = Failure::new(Exit::Person, message);
            // A cause: the help that a command has of its own is still to come.
            failure.causes.extend(way_out.map(str::to_owned));
            Err(failure)
        }
        None => Ok(()),
    }
}
