//! Executes one command of a run: an attempt by an agent, or a contract. Reports what happened as an event;
//! only [`planwright_core::judge`] makes a verdict of it.

mod closing;
mod recheck;
mod review;
mod tournament;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use planwright_core::agent::account::{Account, Usage};
use planwright_core::agent::finding;
use planwright_core::agent::permission::Permissions;
use planwright_core::agent::profile;
use planwright_core::agent::profile::{AgentIdentity, Transcript, TranscriptReader};
use planwright_core::agent::prompt::{Feedback, FeedbackCause, PromptContext};
use planwright_core::agent::work_item::WorkKind;
use planwright_core::plan::verified::{Contract, Plan, Reference, Step};
use planwright_core::run::event::{
    AgentCommands, AttemptEnd, AttemptFinish, Event, Judged, MachineFault, StepEvent,
};
use planwright_core::run::judge::{ContractRun, judge};
use planwright_core::run::opinion::Opinion;
use planwright_core::run::receipt::{ApprovedBy, Blob, Provenance, Receipt};
use planwright_core::run::schedule::SHELL;
use planwright_core::run::state::Regression;

use crate::config::{Config, ENVIRONMENT_KEY, LIKE_KEY, TOPICS_KEY, Violation};
use crate::git::base;
use crate::git::changes;
use crate::git::changes::FileSnapshot;
use crate::git::sealed::Seal;
use crate::run::attempt_dir;
use crate::run::attempt_dir::AttemptDir;
use crate::run::checkout;
use crate::run::checkout::{LandResult, RunCheckout};
use crate::run::contract::{ContractRunner, milliseconds};
use crate::run::permission;
use crate::store::journal::{Store, blob_of};
use crate::store::{plan_file, state_dir};
use crate::system::clock;
use crate::system::fault;
use crate::system::fault::Fault;
use crate::system::process;
use crate::system::process::{How, ProcessEnd, ProcessJob, Stop, Supervisors};
use crate::system::program;
use crate::workspace::topic;
use review::ReviewRequest;

/// How often a contract is rerun because other steps were merged meanwhile.
const LANDINGS_MAX: usize = 100;
/// How often the workspace is read to find what an attempt changed, and the pause before it is read again.
const LOOKS_MAX: usize = 3;
const LOOKS_PAUSE: Duration = Duration::from_millis(200);
/// The pause before something is tried again that an error of the machine prevented.
const FAULT_PAUSE_MS: u64 = 1_000;
/// How much of a contract's output goes into the next prompt.
const FEEDBACK_BYTES_MAX: usize = 4 << 10;

/// Executes the commands of one run.
pub struct Worker {
    pub root: PathBuf,
    /// Where agents work and contracts run.
    pub ground: RunCheckout,
    /// A step on which several agents compete, by id, and how many.
    pub tournament: Option<(String, u32)>,
    pub config: Config,
    /// The approved commands of the agents.
    pub agents: AgentCommands,
    /// The approved plan.
    pub plan: Arc<Plan>,
    /// Relative to the root. Planwright writes marks into it at any time, so that is not an agent's change;
    /// an edit of it pauses the run.
    pub plan_file: PathBuf,
    /// What planwright writes into the workspace, relative to the root: the plan, and what its dialect keeps next
    /// to it. Not part of any tree that is judged.
    pub own: Vec<PathBuf>,
    pub digest: String,
    /// The approvals that permitted the run.
    pub approvals: Vec<ApprovedBy>,
    /// The approved hash of every sealed file.
    pub sealed: BTreeMap<String, String>,
    /// The approved programs of contracts.
    pub programs: BTreeMap<String, String>,
    /// Identifies the run in the environment of its processes.
    pub tag: String,
    pub store: Arc<Store>,
    pub for_agents: Supervisors,
    /// Supervise contracts. Separate from those of agents, which can reach theirs.
    pub for_contracts: Supervisors,
}

/// Does a piece of work in a thread of its own, and passes its result to `report`; or returns why there is no
/// thread for it.
pub(crate) fn begin<T>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
    report: impl FnOnce(Result<T, String>) + Send + 'static,
) -> Result<(), Fault> {
    let started = std::thread::Builder::new().name(name.to_owned()).spawn(move || report(caught(work)));
    let unable = |source: std::io::Error| {
        let why = format!("cannot start a thread for `{name}`: {source}");
        Fault { why, errno: source.raw_os_error() }
    };
    started.map(drop).map_err(unable)
}

/// Does a piece of work, and returns the message of a panic where there was one. Whoever waits for the report of a thread would wait
/// for ever if the thread died without one.
fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown panic".to_owned())
    })
}

/// The result of an attempt or a contract: what to record, and the bytes that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    pub event: Event,
    /// Stored in the same transaction.
    pub blobs: Vec<Vec<u8>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WorkerInput {
    pub prompt: String,
    /// The output of the last contract, for a script that reads no prompt; empty at the first attempt.
    pub feedback: String,
}

enum Agent {
    /// Runs the task itself as a script.
    Shell,
    /// A command that reads the prompt from stdin.
    Command(Vec<String>),
}

impl Worker {
    pub fn agent_name(&self, step: &Step) -> String {
        self.config.agent_of(&step.target).to_owned()
    }

    /// Why the step's agent cannot run, if it cannot.
    pub fn can_run(&self, step: &Step) -> Result<(), String> {
        self.agent(step).map(|_| ())
    }

    fn agent(&self, step: &Step) -> Result<Agent, String> {
        let name = self.agent_name(step);
        let missing = |name: &str| format!("agent `{name}` has no command");
        match self.agents.get(&step.target).map(Vec::as_slice) {
            None if step.target == SHELL => Ok(Agent::Shell),
            Some([word]) if word == SHELL => Ok(Agent::Shell),
            Some(command @ [_, ..]) => match missing_program(&self.root, command) {
                None => Ok(Agent::Command(command.to_vec())),
                Some(program) => Err(format!("{name} is not installed: `{program}` is not on the PATH")),
            },
            _ if self.config.agents_of(&self.plan).get(&step.target).is_some_and(|now| !now.is_empty()) => {
                Err(format!("{} in the approval; run the plan again to approve it", missing(&name)))
            }
            None | Some([]) => Err(format!("{}; set agents.{name}.command", missing(&name))),
        }
    }

    /// What the agent is given to read. What cannot be read is reported, and nothing else is lost.
    pub fn context(&self, step: &Step) -> Vec<PromptContext> {
        let bytes_max = self.config.run.context_bytes;
        let given = step.reads.iter().map(|reference| match reference {
            Reference::File(path) => PromptContext {
                reference: format!("file:{path}"),
                text: topic::excerpt(&self.root.join(path), bytes_max),
            },
            Reference::Topic(name) => {
                let tag = format!("{}/{}/topic/{name}", self.tag, step.id);
                let text =
                    topic::text((&self.root, self.config.run.context_bytes), self.topics(), name, &tag);
                PromptContext { reference: format!("topic:{name}"), text }
            }
        });
        given.collect()
    }

    /// The approved topic command.
    fn topics(&self) -> &[String] {
        self.agents.get(TOPICS_KEY).map(Vec::as_slice).unwrap_or_default()
    }

    /// The outcome of the last attempt, for the next one. Its output may be among the bytes that are not
    /// stored yet.
    pub fn feedback(&self, state: &planwright_core::run::state::StepState, unkept: &[Vec<u8>]) -> Feedback {
        let Some(last) = state.history.failed.last() else {
            return Feedback { hint: state.history.hint.clone(), ..Feedback::default() };
        };
        let bytes = |blob: &Blob| {
            let fresh = unkept.iter().find(|bytes| blob_of(bytes) == *blob).cloned();
            fresh.or_else(|| self.store.get(blob).ok())
        };
        let output = last.output.as_ref().and_then(bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&output);
        let start = text.ceil_char_boundary(text.len().saturating_sub(FEEDBACK_BYTES_MAX));
        let cause = match &last.regression {
            None => FeedbackCause::Attempt,
            Some(Regression::BrokenBy(culprit)) => FeedbackCause::BrokenBy(culprit.clone()),
            Some(Regression::Broke(broken)) => {
                let contract = self.plan.steps.iter().find(|step| step.id == *broken);
                let contract = contract.map_or(Contract::Manual, |step| step.contract.clone());
                FeedbackCause::Broke { step: broken.clone(), contract }
            }
        };
        Feedback {
            cause,
            failure: last.failure.to_string(),
            output: text[start..].to_owned(),
            changed: last.changed.clone(),
            hint: state.history.hint.clone(),
        }
    }

    /// Makes an attempt with a fresh agent, which has ended with everything it started when this returns.
    pub fn attempt(&self, step: &Step, attempt: u32, told: &WorkerInput, stop: &Stop) -> Done {
        if let Some((_, entrants)) = self.tournament.as_ref().filter(|(id, _)| *id == step.id) {
            return self.compete((step, attempt), *entrants, told, stop);
        }
        self.enter((step, attempt), &attempt.to_string(), told, stop)
    }

    /// Has an agent work on a step, in the workspace or isolated, and saves what it left under this name.
    fn enter(&self, (step, attempt): (&Step, u32), name: &str, told: &WorkerInput, stop: &Stop) -> Done {
        let worked = self.ground.field(&format!("{} {name}", step.id)).and_then(|field| {
            let root = field.as_ref().map_or(&self.root, |field| &field.root);
            let done = self.work((step, attempt, name), root, told, stop);
            match &field {
                Some(field) => self.ground.keep_work(field, step, name).map(|()| done),
                None => Ok(done),
            }
        });
        let worked = worked.unwrap_or_else(|error| Ok(unworked(step, attempt, &error)));
        worked.unwrap_or_else(|fault| unmade(&step.id, attempt, fault))
    }

    /// Has an agent work in a directory. `name` distinguishes it from others at the same step. If the machine
    /// fails before the agent starts, there was no attempt.
    fn work(
        &self,
        (step, attempt, name): (&Step, u32, &str),
        root: &Path,
        told: &WorkerInput,
        stop: &Stop,
    ) -> Result<Done, Fault> {
        let before = FileSnapshot::of(root).map_err(|error| Fault::of(&error))?;
        let folder =
            AttemptDir::of(&self.store, &format!("{}-{}-{name}", self.tag.replace('/', "-"), step.id));
        let folder = folder.map_err(|error| Fault::of(&error))?;
        let scope = self.scope(step, root);
        let prepared = match self.agent(step) {
            Err(why) => Err(why),
            Ok(agent) => {
                let job = self.attempt_job(&agent, (step, attempt, root), name, told, &folder);
                let job = job.map_err(|error| Fault::of(&error))?;
                self.held(job, (&agent, step), &scope, &folder)?.map(|job| (job, agent))
            }
        };
        let (mut heard, (mut end, output, milliseconds)) = match prepared {
            Err(why) => {
                let end = AttemptEnd::Parked { why: why.clone(), until: None };
                (Transcript::default(), (end, why.into_bytes(), 0))
            }
            Ok((job, agent)) => {
                let mut listener = self.listener(&agent, step);
                let ended = self.for_agents.run_heard(&job, stop, &mut |bytes| listener.hear(bytes));
                (listener.finish(), attempt_end(ended, job.deadline))
            }
        };
        folder.hear_left(self.make(step).reader, &mut heard);
        let mut changed = compared(&before, root).unwrap_or_else(|error| {
            // The next attempt would take what this one did for the user's: a person has to look first.
            let why = format!("what attempt {attempt} changed is unknown: {}", fault::told(&error));
            end = AttemptEnd::Faulted(MachineFault { why, errno: fault::errno_in(&error), until: None });
            Vec::new()
        });
        let own = self.own_files();
        changed.retain(|path| !own.iter().any(|own| *path == own.to_string_lossy()));
        let said = folder.said();
        let outside = scope.outside(&changed);
        let changed = changes::named(changed, &outside);
        let outside = changes::named(outside, &[]);
        let refused = permission::notes(folder.path());
        let mut account = Account { outside, refused, report: folder.report(), ..heard.account() };
        finding::complete(&mut account, WorkKind::of(&step.target));
        let event = Event::Step {
            step: step.id.clone(),
            event: StepEvent::Finished(AttemptFinish {
                attempt,
                end: self.parked(step, end, &said, &heard),
                output: Some(blob_of(&output)),
                usage: said.usage(&heard, milliseconds),
                changed,
                account,
            }),
        };
        Ok(Done { event, blobs: vec![output] })
    }

    /// The make of the step's agent, by the approval or the program of its command.
    fn make(&self, step: &Step) -> AgentIdentity {
        let command = self.agents.get(&step.target).map(Vec::as_slice).unwrap_or_default();
        let like = self.agents.get(&format!("{LIKE_KEY}{}", step.target)).and_then(|words| words.first());
        AgentIdentity::of(command, like.map(String::as_str))
    }

    fn listener(&self, agent: &Agent, step: &Step) -> TranscriptReader {
        let places = self.config.agents.get(&self.agent_name(step)).map(|agent| agent.places.clone());
        match agent {
            Agent::Command(_) => TranscriptReader::of(self.make(step).reader, &places.unwrap_or_default()),
            Agent::Shell => TranscriptReader::of_unknown(),
        }
    }

    /// The end of an attempt that the agent could not make now, for example out of quota. Only if it exited
    /// by itself.
    fn parked(
        &self,
        step: &Step,
        end: AttemptEnd,
        said: &attempt_dir::AgentSaid,
        heard: &Transcript,
    ) -> AttemptEnd {
        let AttemptEnd::Exited(_) = end else { return end };
        let (now, name) = (clock::now(), self.agent_name(step));
        let by_itself = || {
            let (who, when) = ((name.as_str(), self.make(step)), (now, self.config.run.park_seconds));
            attempt_dir::parked(heard.trouble.as_ref()?, who, when)
        };
        said.later(now).or_else(by_itself).unwrap_or(end)
    }

    fn attempt_job(
        &self,
        agent: &Agent,
        (step, attempt, root): (&Step, u32, &Path),
        name: &str,
        told: &WorkerInput,
        folder: &AttemptDir,
    ) -> Result<ProcessJob, plan_file::Error> {
        let deadline = Duration::from_secs(step.timeout_seconds.unwrap_or(self.config.run.step_seconds));
        let mut env = self.runner(root).environment(step);
        env.extend(folder.environment());
        env.push(folder.step(step, attempt)?);
        let (argv, input) = match agent {
            Agent::Shell => {
                env.push(("PLANWRIGHT_FEEDBACK".to_owned(), folder.feedback(&told.feedback)?));
                (self.runner(root).bash(&script(&step.task)), Vec::new())
            }
            Agent::Command(argv) => {
                // Agents bring their own credentials and settings: they get planwright's environment.
                env = self.agent_environment(step).into_iter().chain(env).collect();
                let argv = argv.iter().map(|word| folder.word(word)).collect();
                (argv, told.prompt.as_bytes().to_vec())
            }
        };
        Ok(ProcessJob {
            argv,
            folder: root.to_owned(),
            env,
            input,
            deadline,
            output_bytes_max: self.config.run.output_bytes,
            tag: self.agent_tag(step, attempt, name),
        })
    }

    /// The tag of an agent's processes. Entrants of a tournament work at the same attempt at once: with one tag for all of them,
    /// ending what is left of one would end the others.
    fn agent_tag(&self, step: &Step, attempt: u32, name: &str) -> String {
        let entrant = if name == attempt.to_string() { String::new() } else { format!("-{name}") };
        format!("{}/{}/{attempt}/agent{entrant}", self.tag, step.id)
    }

    /// What the attempts of a step may do. Only planwright may change the plan and its record.
    fn scope(&self, step: &Step, root: &Path) -> Permissions {
        let mut plans = vec![root.join(&self.plan_file), self.root.join(&self.plan_file)];
        // Without a state directory there is no run.
        plans.extend(state_dir::folder());
        permission::of_step(&self.config, root, step, &plans)
    }

    /// A job whose agent is held to its scope, or why it cannot be. A script is the plan's own text, which a
    /// person has read.
    fn held(
        &self,
        job: ProcessJob,
        (agent, step): (&Agent, &Step),
        scope: &Permissions,
        folder: &AttemptDir,
    ) -> Result<Result<ProcessJob, String>, Fault> {
        let Agent::Command(_) = agent else { return Ok(Ok(job)) };
        let additions = match permission::hold(scope, self.make(step), folder.path()) {
            Ok(additions) => additions,
            Err(error) => match Fault::caused(&error) {
                Some(fault) => return Err(fault),
                None => return Ok(Err(format!("cannot restrict the agent to its scope: {error}"))),
            },
        };
        Ok(permission::own_bridge(additions.applied_to(&job.argv)).map(|argv| {
            let mut env = job.env.clone();
            permission::lay_over(&mut env, additions.environment);
            ProcessJob { argv, env, ..job }
        }))
    }

    /// Why the contract does not run on what the attempts left: they changed files outside their scope, and
    /// that counts. It counts for all of them until a person has seen it, or one would stray and the next one
    /// pass.
    fn strayed(&self, strayed: &BTreeSet<String>) -> Option<String> {
        let counts = match self.config.scope.violation {
            Violation::Flag => false,
            Violation::Fail => !strayed.is_empty(),
        };
        let paths: Vec<&str> = strayed.iter().map(String::as_str).collect();
        counts.then(|| format!("the attempt changed files outside its scope: {}", paths.join(", ")))
    }

    /// The environment of a step's agent: what its profile adds unless the user overrides it, and what was
    /// approved for it.
    fn agent_environment(&self, step: &Step) -> Vec<(String, String)> {
        let said = self.agents.get(&format!("{ENVIRONMENT_KEY}{}", step.target));
        attempt_dir::environment(self.make(step), said.map(Vec::as_slice).unwrap_or_default())
    }

    /// Runs the contract of a step, has it judged, and merges what passed. `None` if it was interrupted
    /// before it could tell anything.
    pub fn contract(
        &self,
        (step, attempt): (&Step, u32),
        (changed, strayed): (&[String], &BTreeSet<String>),
        stop: &Stop,
    ) -> Option<Done> {
        let judged = self.judged((step, attempt), (changed, strayed), stop);
        judged.unwrap_or_else(|fault| Some(unjudged(&step.id, Judged::attempt(attempt), fault)))
    }

    fn judged(
        &self,
        (step, attempt): (&Step, u32),
        (changed, strayed): (&[String], &BTreeSet<String>),
        stop: &Stop,
    ) -> Result<Option<Done>, Fault> {
        let name = attempt.to_string();
        let unseen = |why| Ok(Some(self.unseen((step, attempt), why)));
        // Work merged meanwhile changes the result: contracts only look, so it is judged again.
        for _ in 0..LANDINGS_MAX {
            let stand = match self.ground.stand(step, &name) {
                Ok(Ok(stand)) => stand,
                Ok(Err(why)) => return unseen(why),
                Err(error) => return Fault::caused(&error).map_or_else(|| unseen(fault::told(&error)), Err),
            };
            let Some(done) = self.look((step, attempt), stand.root(), (changed, strayed), stop)? else {
                return Ok(None);
            };
            if !is_passed(&done.event) {
                return Ok(Some(done));
            }
            match self.ground.land(&stand, step, &name) {
                Ok(LandResult::Yes) => return Ok(Some(done)),
                Ok(LandResult::Again) => {}
                Ok(LandResult::No(why)) => return unseen(why),
                // In the shared workspace the work is already in place, and what is saved only serves a
                // rollback.
                Err(_) if !stand.is_apart() => return Ok(Some(done)),
                Err(error) => return Fault::caused(&error).map_or_else(|| unseen(fault::told(&error)), Err),
            }
        }
        unseen("other steps were merged each time while its contract ran".to_owned())
    }

    /// A contract that could not run, for this reason.
    fn unseen(&self, (step, attempt): (&Step, u32), why: String) -> Done {
        let run = ContractRun::not_run(&step.contract, why);
        self.recorded((step, Judged::attempt(attempt)), run, String::new(), None)
    }

    /// Runs the contract of a step in its place, and has it judged.
    fn look(
        &self,
        (step, attempt): (&Step, u32),
        root: &Path,
        (changed, strayed): (&[String], &BTreeSet<String>),
        stop: &Stop,
    ) -> Result<Option<Done>, Fault> {
        let tag = format!("{}/{}/{attempt}/contract", self.tag, step.id);
        // Before the contract, which may leave things behind. Without the plan: planwright writes marks into
        // it at any time. A verdict is about a tree, so there is none on unknown content.
        let tree = base::tree_of_workspace(root, &self.own).map_err(|error| Fault::of(&error))?;
        let seen = match self.strayed(strayed) {
            Some(why) => Some(self.runner(root).refused(step, why)?),
            None => self.runner(root).run(step, &self.for_contracts, &tag, stop)?,
        };
        let Some(seen) = seen else { return Ok(None) };
        let asked = match judge(&seen, None).is_passed() {
            true => self.opinion((step, attempt), (root, changed, &seen.output), stop),
            false => None,
        };
        let opinion = match asked {
            Some(ReviewRequest::Said(opinion)) => Some(opinion),
            // Without the opinion nothing is known yet: contracts only look, so all of it is repeated.
            Some(ReviewRequest::Stopped) => return Ok(None),
            Some(ReviewRequest::Faulted(fault)) => return Err(fault),
            None => None,
        };
        Ok(Some(self.recorded((step, Judged::attempt(attempt)), seen, tree, opinion)))
    }

    /// The run of a contract on this content and an agent's opinion of it, as recorded.
    fn recorded(
        &self,
        (step, of): (&Step, Judged),
        mut run: ContractRun,
        tree: String,
        opinion: Option<Opinion>,
    ) -> Done {
        if let Some(opinion) = &opinion {
            run.output.push_str(&format!("\n{opinion}\n"));
        }
        let receipt = Receipt::new(&run, opinion, self.provenance(tree));
        let event =
            Event::Step { step: step.id.clone(), event: StepEvent::Judged { of, receipt, broken_by: None } };
        Done { event, blobs: vec![run.output.into_bytes()] }
    }

    fn provenance(&self, tree: String) -> Provenance {
        Provenance {
            digest: self.digest.clone(),
            tier: "open".to_owned(),
            tree,
            approvals: self.approvals.clone(),
        }
    }

    /// The plan, and the file that briefly replaces it while planwright writes marks into it.
    fn own_files(&self) -> [PathBuf; 2] {
        let name = self.plan_file.file_name().unwrap_or_default().to_string_lossy();
        [self.plan_file.clone(), self.plan_file.with_file_name(format!(".{name}.planwright"))]
    }

    fn runner<'a>(&'a self, folder: &'a Path) -> ContractRunner<'a> {
        let seal = Seal { plan: &self.plan, approved: &self.sealed };
        let runner = ContractRunner::new(folder, &self.config.run, std::slice::from_ref(&self.root));
        runner.sealed(seal).pinned(&self.programs)
    }
}

/// The program of an agent that is known to be missing. One started by path fails by itself and says so; the
/// one behind the bridge would only be missed by the bridge.
fn missing_program<'a>(root: &Path, command: &'a [String]) -> Option<&'a str> {
    let program = profile::program(command)?;
    let is_there = match (program.contains('/'), profile::is_bridged(command)) {
        (true, true) => root.join(program).is_file(),
        (true, false) => true,
        (false, _) => program::has_program(program),
    };
    (!is_there).then_some(program)
}

/// The script of a task for the agent `shell`: its only code block, or the whole text.
fn script(task: &str) -> String {
    let fence: String = task.chars().take_while(|&character| character == '`' || character == '~').collect();
    let inner = task.strip_prefix(&fence).and_then(|rest| rest.trim_end().strip_suffix(&fence));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((_, body)) if fence.len() >= 3 && !body.contains(&format!("\n{fence}\n")) => body.to_owned(),
        Some(_) | None => task.to_owned(),
    }
}

/// What an attempt changed. The agent is done, so a passing error must not make it work again: it is read
/// anew, a few times.
fn compared(before: &FileSnapshot, root: &Path) -> Result<Vec<String>, changes::Error> {
    let mut now = before.again(root);
    for _ in 1..LOOKS_MAX {
        if now.is_ok() {
            break;
        }
        std::thread::sleep(LOOKS_PAUSE);
        now = before.again(root);
    }
    Ok(now?.changed_since(before))
}

/// An attempt that no agent could work on, because there is no place for it.
fn unworked(step: &Step, attempt: u32, error: &checkout::Error) -> Done {
    match Fault::caused(error) {
        Some(fault) => unmade(&step.id, attempt, fault),
        None => {
            let why = fault::told(error);
            idle(&step.id, attempt, (AttemptEnd::Parked { why: why.clone(), until: None }, why))
        }
    }
}

/// An attempt that the machine did not let anybody make.
pub(crate) fn unmade(step: &str, attempt: u32, fault: Fault) -> Done {
    let why = fault.why.clone();
    idle(step, attempt, (AttemptEnd::Faulted(retried(fault)), why))
}

/// A contract that the machine kept from telling anything.
pub(crate) fn unjudged(step: &str, of: Judged, fault: Fault) -> Done {
    let event = StepEvent::Faulted { of, fault: retried(fault) };
    Done { event: Event::Step { step: step.to_owned(), event }, blobs: Vec::new() }
}

/// An error of the machine, after which planwright tries again by itself.
fn retried(Fault { why, errno }: Fault) -> MachineFault {
    MachineFault { why, errno, until: Some(clock::now().saturating_add(FAULT_PAUSE_MS)) }
}

/// An attempt whose thread panicked. A bug happens again, so a person has to see it first.
pub(crate) fn panicked(step: &str, attempt: u32, Fault { why, errno }: Fault) -> Done {
    idle(step, attempt, (AttemptEnd::Faulted(MachineFault { why: why.clone(), errno, until: None }), why))
}

/// An attempt in which nothing was done.
fn idle(step: &str, attempt: u32, (end, said): (AttemptEnd, String)) -> Done {
    let event = Event::Step {
        step: step.to_owned(),
        event: StepEvent::Finished(AttemptFinish {
            attempt,
            end,
            output: Some(blob_of(said.as_bytes())),
            usage: Usage::default(),
            changed: Vec::new(),
            account: Account::default(),
        }),
    };
    Done { event, blobs: vec![said.into_bytes()] }
}

fn is_passed(event: &Event) -> bool {
    matches!(event, Event::Step { event: StepEvent::Judged { receipt, .. }, .. } if receipt.verdict.is_passed())
}

/// How an attempt ended. One that a person stopped is neither failed nor interrupted.
fn attempt_end(ended: Result<ProcessEnd, process::Error>, deadline: Duration) -> (AttemptEnd, Vec<u8>, u64) {
    let ended = match ended {
        Ok(ended) => ended,
        // How it ended is unknown, and nothing of it is alive: as if planwright itself had died.
        Err(process::Error::Lost { .. }) => return (AttemptEnd::Lost, Vec::new(), 0),
        Err(error) => return (AttemptEnd::Faulted(retried(Fault::of(&error))), Vec::new(), 0),
    };
    let end = match ended.how {
        How::Exited(code) => AttemptEnd::Exited(code),
        How::Signalled(signal) => AttemptEnd::Signalled(signal),
        How::TimedOut => AttemptEnd::TimedOut(deadline.as_secs()),
        How::Stopped => AttemptEnd::Stopped,
        How::NotStarted(why) => AttemptEnd::Parked { why, until: None },
    };
    (end, ended.output.text().into_bytes(), milliseconds(ended.duration))
}
