//! Reports on a planner's session; shared by `planwright session` and `agentctl`.

use planwright_engine::agent::planning_session;
use planwright_engine::agent::planning_session::{
    Came, CommitFault, CommitOutcome, Error, SessionCommit, VARIABLE, Wrong,
};
use planwright_engine::core::plan::identity::Identity;
use planwright_engine::core::syntax::diagnostic::{Diagnostic, Severity};
use planwright_engine::core::workspace::session::prompt::{PROGRAM, TOPIC_CHARS_MAX};
use planwright_engine::core::workspace::session::{SessionPlan, SessionRefusal};
use planwright_engine::{Project, Verified};
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::proposal::print;
use crate::output::diagnostics;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::CheckedFile;

/// Whose words are typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tongue {
    /// Those of document E.
    Agentctl,
    /// Ours.
    Planwright,
}

impl Tongue {
    fn drop(self, thread: &str) -> NextCommand {
        match self {
            Self::Agentctl => NextCommand::new([PROGRAM, "plan", "remove-thread", "--thread-id", thread]),
            Self::Planwright => NextCommand::new(["planwright", "session", "drop", thread]),
        }
    }

    fn clear(self) -> NextCommand {
        match self {
            Self::Agentctl => NextCommand::new([PROGRAM, "plan", "clear-current"]),
            Self::Planwright => NextCommand::new(["planwright", "session", "clear"]),
        }
    }

    fn help(self) -> NextCommand {
        match self {
            Self::Agentctl => NextCommand::new([PROGRAM, "--help"]),
            Self::Planwright => NextCommand::new(["planwright", "help", "session"]),
        }
    }

    pub(crate) fn commit(self) -> NextCommand {
        match self {
            Self::Agentctl => NextCommand::new([PROGRAM, "plan", "commit"]),
            Self::Planwright => NextCommand::new(["planwright", "session", "commit"]),
        }
    }
}

/// The data of the envelope.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SessionData {
    /// What the session is about.
    pub(crate) topic: Option<String>,
    /// Its threads, the current one first; empty where there is no session yet.
    pub(crate) threads: Vec<ThreadData>,
    /// What the commit came to, thread by thread.
    pub(crate) outcomes: Vec<OutcomeData>,
    /// Everything that is wrong: then nothing was committed.
    pub(crate) problems: Vec<Problem>,
}

/// A thread of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ThreadData {
    /// Its id.
    pub(crate) thread_id: String,
    /// Its directory.
    pub(crate) plan_dir: String,
    /// Whether it is the one that the planner was asked in.
    pub(crate) is_current: bool,
    /// The name under which people review its plan; `None`: nothing was committed.
    pub(crate) plan: Option<String>,
    /// The state of the plan.
    pub(crate) state: Option<String>,
    /// Its newest revision.
    pub(crate) revision: Option<u32>,
    /// The digest of that.
    pub(crate) digest: Option<String>,
}

/// What became of a thread.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OutcomeData {
    /// The thread; `None`: it was removed before.
    pub(crate) thread_id: Option<String>,
    /// The name of its plan; `None`: it never had one.
    pub(crate) plan: Option<String>,
    /// `proposed`, `unchanged`, `withdrawn`, `empty` or `stays`.
    pub(crate) came: String,
    /// The state of what is unchanged or stays.
    pub(crate) state: Option<String>,
    /// The revision that was proposed.
    pub(crate) revision: Option<u32>,
    /// Its digest.
    pub(crate) digest: Option<String>,
    /// The policy rule that approved it.
    pub(crate) approved_by_rule: Option<String>,
}

/// One thing that is wrong with a thread.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Problem {
    /// The thread.
    pub(crate) thread_id: String,
    /// Its directory.
    pub(crate) plan_dir: String,
    /// What, with its place.
    pub(crate) message: String,
}

/// A thread as data, with the state of its plan.
pub(crate) fn thread_data(
    thread: &SessionPlan,
    stood: Option<&planning_session::Stood>,
    current: &str,
) -> ThreadData {
    ThreadData {
        thread_id: thread.id.clone(),
        plan_dir: thread.folder.to_string_lossy().into_owned(),
        is_current: thread.id == current,
        plan: stood.map(|stood| stood.plan.clone()),
        state: stood.map(|stood| stood.state.to_string()),
        revision: stood.map(|stood| stood.revision),
        digest: stood.map(|stood| stood.digest.clone()),
    }
}

/// Reports a removed thread and the effect on its pending plan.
pub(crate) fn say_dropped((thread, left): (SessionPlan, Option<Error>), out: &mut Out<'_>) {
    let id = clean_line(&thread.id);
    match left {
        None => out.talk(&format!("removed {id} with {}", clean_line(&thread.folder.to_string_lossy()))),
        Some(error) => {
            out.talk(&format!("removed {id}"));
            warn(error, out);
        }
    }
    if let Some(plan) = &thread.plan {
        out.talk(&format!("the next commit withdraws `{}` unless it was already decided", clean_line(plan)));
    }
}

/// Commits all threads of the session and prints the outcome.
pub(crate) fn commit(
    project: &Project,
    by: &Identity,
    tongue: Tongue,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    match planning_session::commit(project, by).map_err(|error| failure(error, tongue))? {
        SessionCommit::Refused(faults) => Ok(refused(&faults, tongue, out)),
        SessionCommit::Done(outcomes) => {
            for outcome in &outcomes {
                say(outcome, out);
            }
            let first = outcomes.iter().find(|outcome| matches!(outcome.came, Came::Proposed(_)));
            let next = match first {
                Some(first) => NextCommand::new(["planwright", "review", first.plan.as_str()]),
                None => NextCommand::new(["planwright", "session", "show"]),
            };
            let outcomes = outcomes.into_iter().map(outcome_data).collect();
            Ok(Response::done("session", &SessionData { outcomes, ..SessionData::default() }).next(next))
        }
    }
}

fn say(outcome: &CommitOutcome, out: &mut Out<'_>) {
    let plan = clean_line(&outcome.plan).into_owned();
    let word = |word: &str| out.palette().paint(Tone::Muted, word);
    let line = match &outcome.came {
        Came::Proposed(proposed) => return print(&outcome.plan, proposed, out),
        Came::Unchanged(state) => format!("{}  {plan}  still {state}", word("unchanged")),
        Came::Withdrawn => format!("{}  {plan}  no longer pending review", word("withdrawn")),
        Came::Stays(state) => {
            format!("{}  {plan}  {state}: only a person can end it (planwright cancel)", word("kept"))
        }
        Came::Empty => format!("{}  no plan in this thread and none pending review", word("empty")),
    };
    out.line(&line);
}

fn outcome_data(outcome: CommitOutcome) -> OutcomeData {
    let (came, state, proposed) = match outcome.came {
        Came::Proposed(proposed) => ("proposed", None, Some(proposed)),
        Came::Unchanged(state) => ("unchanged", Some(state.to_string()), None),
        Came::Withdrawn => ("withdrawn", None, None),
        Came::Empty => ("empty", None, None),
        Came::Stays(state) => ("stays", Some(state.to_string()), None),
    };
    OutcomeData {
        thread_id: outcome.thread,
        plan: Some(outcome.plan).filter(|plan| !plan.is_empty()),
        came: came.to_owned(),
        state,
        revision: proposed.as_ref().map(|proposed| proposed.revision.number),
        digest: proposed.as_ref().map(|proposed| proposed.revision.subject.digest.clone()),
        approved_by_rule: proposed.and_then(|proposed| proposed.rule),
    }
}

/// Reports all errors in all directories.
fn refused(faults: &[CommitFault], tongue: Tongue, out: &mut Out<'_>) -> Response {
    let palette = out.talk_palette();
    let unclean = |fault: &CommitFault| match &fault.wrong {
        Wrong::Unclean(verified) => {
            Some(text_of(verified, |checked| diagnostics::human(checked, palette, out.settings().width)))
        }
        Wrong::Missing { .. } | Wrong::Link(_) | Wrong::Taken { .. } => None,
    };
    let mut text = String::new();
    for fault in faults {
        let said = unclean(fault).unwrap_or_else(|| {
            let (message, help) = words(fault, tongue);
            let error = palette.paint(Tone::Bad, "error:");
            format!("{error} {}\n  help: {}\n", clean_line(&message), clean_line(&help))
        });
        text.push_str(&said);
        text.push('\n');
    }
    let many =
        if faults.len() == 1 { "1 thread has".to_owned() } else { format!("{} threads have", faults.len()) };
    let error = palette.paint(Tone::Bad, "error:");
    text.push_str(&format!("{error} nothing was committed: {many} errors; fix them and commit again\n"));
    if !out.settings().is_json {
        out.complain(&text);
    }
    let problems = faults.iter().flat_map(|fault| problems(fault, tongue)).collect();
    let data = SessionData { problems, ..SessionData::default() };
    Response::new(Exit::No, "session", &data).next(tongue.commit())
}

fn text_of(verified: &Verified, render: impl Fn(&[CheckedFile<'_>]) -> String) -> String {
    render(&[CheckedFile { source: &verified.source, diagnostics: &verified.diagnostics }])
}

fn problems(fault: &CommitFault, tongue: Tongue) -> Vec<Problem> {
    let messages: Vec<String> = match &fault.wrong {
        // Warnings don't block a commit.
        Wrong::Unclean(verified) => {
            let is_wrong = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
            let wrong: Vec<Diagnostic> = verified.diagnostics.iter().filter(is_wrong).cloned().collect();
            let checked = CheckedFile { source: &verified.source, diagnostics: &wrong };
            diagnostics::short(&[checked]).lines().map(str::to_owned).collect()
        }
        Wrong::Missing { .. } | Wrong::Link(_) | Wrong::Taken { .. } => {
            let (message, help) = words(fault, tongue);
            vec![format!("{message}; {help}")]
        }
    };
    let problem = |message| Problem {
        thread_id: fault.thread.clone(),
        plan_dir: fault.folder.to_string_lossy().into_owned(),
        message,
    };
    messages.into_iter().map(problem).collect()
}

/// The error of a thread, and the fix.
fn words(fault: &CommitFault, tongue: Tongue) -> (String, String) {
    let (folder, thread) = (fault.folder.display(), &fault.thread);
    match &fault.wrong {
        Wrong::Missing { is_current: true } => (
            format!("{folder}/plan.md is missing: the current thread ({thread}) has no plan"),
            format!("write it, or clear the thread: {}", tongue.clear().command),
        ),
        Wrong::Missing { is_current: false } => (
            format!("{folder}/plan.md is missing: the thread {thread} has no plan"),
            format!("write it, or remove the thread: {}", tongue.drop(thread).command),
        ),
        Wrong::Link(path) => (
            format!("{} is a link or not a file (thread {thread})", path.display()),
            "remove it and write a regular file".to_owned(),
        ),
        Wrong::Taken { plan, why } => (
            format!("cannot revise plan `{plan}` of thread {thread}: {why}"),
            format!("ask a person to run planwright revise {plan}, or use another thread for a new plan"),
        ),
        Wrong::Unclean(_) => (format!("{folder} has errors (thread {thread})"), "fix them".to_owned()),
    }
}

/// Warns about a session problem that blocks nothing.
pub(crate) fn warn(error: Error, out: &mut Out<'_>) {
    let Failure { message, causes, .. } = failure(error, Tongue::Planwright);
    let whole: Vec<String> = std::iter::once(message).chain(causes).collect();
    out.warn(&format!("{}; run `planwright doctor` for a fix", clean_line(&whole.join(": "))));
}

/// The failure of a session command.
pub(crate) fn failure(error: Error, tongue: Tongue) -> Failure {
    match error {
        Error::Store(error) => error.into(),
        Error::Project(error) => error.into(),
        Error::Decisions(error) => error.into(),
        Error::Refused(ref refusal) => refuse(refusal, Failure::from_error(Exit::Usage, &error), tongue),
        Error::Inside { .. } | Error::Homeless => Failure::from_error(Exit::Usage, &error)
            .hint("set session.plans to a directory outside any repository")
            .next(NextCommand::new(["planwright", "config", "session.plans"])),
        Error::Astray { .. } => {
            Failure::from_error(Exit::No, &error).hint("remove it; planwright creates the directory again")
        }
        Error::Record { .. } | Error::Folder { .. } | Error::Undiscarded { .. } | Error::State(_) => {
            Failure::from_error(Exit::Machine, &error)
        }
    }
}

fn refuse(refusal: &SessionRefusal, failure: Failure, tongue: Tongue) -> Failure {
    match refusal {
        SessionRefusal::Unknown { known, .. } => {
            let known = match known.is_empty() {
                true => "this session has no threads".to_owned(),
                false => format!("its threads are {}", known.join(", ")),
            };
            failure.hint(known).next(NextCommand::new(["planwright", "session", "show"]))
        }
        SessionRefusal::Current { .. } => {
            let failure = Failure { exit: Exit::No, ..failure };
            failure.hint("clear it to remove its plan; the thread stays").next(tongue.clear())
        }
        SessionRefusal::Full => Failure { exit: Exit::No, ..failure }.hint("remove a thread that is no longer needed"),
        SessionRefusal::EmptyTopic | SessionRefusal::LongTopic { .. } | SessionRefusal::HiddenTopic => {
            failure.hint(format!("use one line of 1 to {TOPIC_CHARS_MAX} characters")).next(tongue.help())
        }
        SessionRefusal::Name { .. } => failure.hint(format!(
            "{VARIABLE} accepts up to 64 letters, digits, `-`, `_` and `.`; if it is not set, this directory has its own session"
        ))
        .next(tongue.help()),
    }
}
