//! Asks a planner: an agent that reads the project and answers with a plan. Starts the agent and reads its
//! answer; core judges the answer, and nothing here writes to the workspace.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use planwright_core::agent::account::Usage;
use planwright_core::agent::planner::ProjectContext;
use planwright_core::agent::profile;
use planwright_core::agent::profile::{AgentFailure, AgentIdentity, PROFILES, Transcript, TranscriptReader};
use planwright_core::agent::prompt::PromptContext;
use planwright_core::dialect::NATIVE;
use planwright_core::plan::draft::Draft;
use planwright_core::plan::verified;
use planwright_core::verify::suggest;

use crate::config::{Config, schema};
use crate::git::changes;
use crate::git::changes::FileSnapshot;
use crate::run;
use crate::run::Runs;
use crate::run::attempt_dir;
use crate::run::attempt_dir::AttemptDir;
use crate::run::permission;
use crate::store::{plan_file, state_dir};
use crate::system::process;
use crate::system::process::{How, ProcessEnd, ProcessJob, Stop, Supervisors};
use crate::system::program;
use crate::workspace::project;
use crate::workspace::project::Project;
use crate::workspace::{facts, toolchain, topic};

pub const ROLE: &str = "planner";
/// The fallback role if no planner is assigned.
const NEXT_ROLE: &str = "coder";
/// Bytes kept of a planner's output.
const OUTPUT_BYTES_MAX: usize = 4 << 20;
/// Bytes of its error output that are passed on.
const COMPLAINT_BYTES_MAX: usize = 600;
/// How many plans of the project a planner is told about.
const PLANS_TOLD_MAX: usize = 100;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planner {
    pub name: String,
    /// It reads the prompt from standard input.
    pub command: Vec<String>,
    /// Why it was chosen.
    pub because: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannerReply {
    pub text: String,
    /// Its usage, as far as it reports it.
    pub usage: Usage,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no planner found; install an agent or set roles.planner")]
    Nobody,
    /// The named agent cannot plan.
    #[error("{why}")]
    Unfit { name: String, why: String },
    /// Only the project sets its command.
    #[error("the command of planner `{name}` is set in the project's settings, which agents can write")]
    Unapproved { name: String, command: Vec<String> },
    #[error("cannot start planner `{name}`: `{program}` is not on the PATH")]
    Missing { name: String, program: String },
    #[error("planner `{name}` timed out after {seconds} s")]
    Late { name: String, seconds: u64 },
    /// It exited without an answer.
    #[error("no answer from planner `{name}`: {how}")]
    Silent {
        name: String,
        /// How it exited, and its error output.
        how: String,
    },
    #[error("the planner was interrupted")]
    Stopped,
    /// Nothing can tell whether it changed something.
    #[error("cannot compare the workspace")]
    Changes(#[from] changes::Error),
    /// There is no place for its input.
    #[error(transparent)]
    State(#[from] state_dir::Error),
    #[error("cannot run the planner")]
    Process(#[from] process::Error),
}

impl Planner {
    /// The planner: the requested agent, otherwise the one with role planner, then coder, then the first
    /// installed agent with a known command.
    pub fn find(config: &Config, asked: Option<&str>) -> Result<Self, Error> {
        let played = |role: &str| {
            let agent = config.roles.get(role).cloned();
            agent.map(|agent| (agent, format!("it has role {role}")))
        };
        let named = asked.map(|name| (config.agent_of(name).to_owned(), "you asked for it".to_owned()));
        let own =
            || config.agents.contains_key(ROLE).then(|| (ROLE.to_owned(), "it has this name".to_owned()));
        let found = named.or_else(|| played(ROLE)).or_else(own).or_else(|| played(NEXT_ROLE));
        let installed = || {
            let known = PROFILES.iter().find(|profile| program::has_program(profile.program));
            known.map(|profile| (profile.name.to_owned(), "it is installed".to_owned()))
        };
        let (name, because) = found.or_else(installed).ok_or(Error::Nobody)?;
        let command = command_of(config, &name)?;
        if config.is_projects_word(&name) {
            return Err(Error::Unapproved { name, command });
        }
        if let Some(program) = profile::program(&command).filter(|program| !program::has_program(program)) {
            return Err(Error::Missing { name, program: program.to_owned() });
        }
        Ok(Self { name, command, because })
    }

    /// Asks once. When it returns, nothing that the planner started is alive, and `changed` names the files
    /// of the workspace that changed meanwhile, whether it answered or not.
    pub fn ask(
        &self,
        project: &Project,
        prompt: &str,
        stop: &Stop,
        changed: &mut Vec<String>,
    ) -> Result<PlannerReply, Error> {
        let seconds = project.config.draft.seconds;
        let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let states = state_dir::of_project(&project.root)?;
        let folder = AttemptDir::at(&states.join("planners"), &name)?;
        let said = project.config.agents.get(&self.name);
        let like = said.and_then(|said| said.like.as_deref());
        let make = AgentIdentity::of(&self.command, like);
        // It only reads: its own rules and hooks enforce that, as far as its profile has any.
        let held = permission::planning((&project.config, &project.root), make, folder.path())?;
        let mut env =
            attempt_dir::environment(make, said.map(|said| said.environment.as_slice()).unwrap_or_default());
        let words: Vec<String> = self.command.iter().map(|word| folder.word(word)).collect();
        let unfit = |why| Error::Unfit { name: self.name.clone(), why };
        let argv = permission::own_bridge(held.applied_to(&words)).map_err(unfit)?;
        permission::lay_over(&mut env, held.environment);
        let job = ProcessJob {
            argv,
            folder: project.root.clone(),
            env,
            input: prompt.as_bytes().to_vec(),
            deadline: Duration::from_secs(seconds),
            output_bytes_max: OUTPUT_BYTES_MAX,
            tag: format!("planner/{name}"),
        };
        let places = said.map(|said| said.places.clone()).unwrap_or_default();
        let mut listener = TranscriptReader::of(make.reader, &places);
        let before = FileSnapshot::of(&project.root)?;
        let ended = Supervisors::new().run_heard(&job, stop, &mut |bytes| listener.hear(bytes));
        let now = changes::named(before.again(&project.root)?.changed_since(&before), &[]);
        changed.extend(now.into_iter().filter(|path| !changed.contains(path)).collect::<Vec<_>>());
        let ended = ended?;
        let mut heard = listener.finish();
        folder.hear_left(make.reader, &mut heard);
        self.refuse_silence(&ended, &heard, seconds)?;
        let milliseconds = u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX);
        let usage = folder.said().usage(&heard, milliseconds);
        Ok(PlannerReply { text: heard.said, usage })
    }

    /// The exit code says nothing about the answer: some agents exit with 0 whatever happens, others never
    /// do.
    fn refuse_silence(&self, ended: &ProcessEnd, heard: &Transcript, seconds: u64) -> Result<(), Error> {
        let name = || self.name.clone();
        let trouble =
            heard.trouble.as_ref().filter(|trouble| !matches!(trouble, AgentFailure::Refused { .. }));
        if let Some(trouble) = trouble {
            let sign_in = AgentIdentity::of(&self.command, None).sign_in();
            let sign_in = sign_in.filter(|_| matches!(trouble, AgentFailure::SignedOut { .. }));
            let way_out = sign_in.map(|way| format!("; sign in: {way}")).unwrap_or_default();
            return Err(Error::Silent { name: name(), how: format!("{}{way_out}", trouble.why()) });
        }
        let how = match &ended.how {
            How::TimedOut => return Err(Error::Late { name: name(), seconds }),
            How::Stopped => return Err(Error::Stopped),
            How::NotStarted(why) => why.clone(),
            How::Exited(_) | How::Signalled(_) if !heard.said.trim().is_empty() => return Ok(()),
            How::Exited(code) => format!("it exited with {code}"),
            How::Signalled(signal) => format!("it was killed by signal {signal}"),
        };
        let refused = heard.trouble.as_ref().map(|trouble| trouble.why().to_owned());
        let said = refused.unwrap_or_else(|| ended.stderr.tail(COMPLAINT_BYTES_MAX).trim().to_owned());
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        Err(Error::Silent { name: name(), how: format!("{how}{said}") })
    }
}

/// Distinguishes the jobs of this process.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn command_of(config: &Config, name: &str) -> Result<Vec<String>, Error> {
    let unfit = |why: String| Error::Unfit { name: name.to_owned(), why };
    if schema::BUILT_IN.contains(&name) {
        return Err(unfit(format!("`{name}` cannot plan: it is not an agent that answers")));
    }
    let command = config.command_of(name);
    match command.is_empty() {
        true => Err(unfit(format!("planner `{name}` has no command; set agents.{name}.command"))),
        false => Ok(command),
    }
}

/// What a planner is told about the project. `draft` is the existing plan, if there is one.
pub fn surroundings(project: &Project, draft: &Draft) -> ProjectContext {
    let kind: suggest::ProjectFiles = toolchain::of(project, draft);
    // Plans that cannot be listed are left out.
    let plans = project.plans().unwrap_or_default();
    ProjectContext {
        kind,
        targets: facts::agents(project).into_iter().collect(),
        tools: project.config.tools.iter().map(tool).collect(),
        plans: plans.iter().take(PLANS_TOLD_MAX).map(|plan| plan_file::name(plan)).collect(),
    }
}

/// A tool as planners read it: `odoo: read, write`.
fn tool((name, operations): (&String, &Vec<String>)) -> String {
    if operations.is_empty() { name.clone() } else { format!("{name}: {}", operations.join(", ")) }
}

/// A file for the planner to read, by a path as typed.
pub fn code(project: &Project, path: &str) -> PromptContext {
    let at: PathBuf = path.into();
    let text = topic::excerpt(&at, project.config.run.context_bytes);
    PromptContext { reference: format!("file:{path}"), text }
}

/// Saves an unusable answer outside the workspace, so that the user can fix it.
pub fn keep_answer(project: &Project, text: &str) -> Result<PathBuf, state_dir::Error> {
    let folder = state_dir::of_project(&project.root)?.join("drafts");
    let name = format!("{}.md", &blake3::hash(text.as_bytes()).to_hex()[..12]);
    state_dir::keep(&folder, &name, text.as_bytes())?;
    Ok(folder.join(name))
}

/// Writes a one-task plan outside the workspace, where agents do not come across it. The same text maps to
/// the same file until it is run; after that it gets another.
pub fn quick_plan(runs: &Runs, task: &str, text: &str) -> Result<PathBuf, run::Error> {
    let folder = runs.store().folder().join(QUICK);
    let digest = &blake3::hash(text.as_bytes()).to_hex()[..8];
    let slug: String = verified::slug(task).chars().take(SLUG_CHARS_MAX).collect();
    let mut count = 1_usize;
    loop {
        let number = if count == 1 { String::new() } else { format!("-{count}") };
        let path = folder.join(format!("{}-{digest}{number}.md", slug.trim_end_matches('-')));
        let is_over = runs.latest(&path)?.is_some_and(|run| run.state.outcome().is_some());
        if !is_over {
            match plan_file::create_plan(&path, text, NATIVE) {
                Ok(()) | Err(plan_file::Error::Exists { .. }) => return Ok(path),
                Err(error) => return Err(project::Error::from(error).into()),
            }
        }
        count += 1;
    }
}

/// The directory of one-task plans, in the state directory of the project.
const QUICK: &str = "quick";
/// How much of a task is in the name of its file.
const SLUG_CHARS_MAX: usize = 40;
