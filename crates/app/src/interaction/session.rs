//! Reports on a planner's session; shared by `planwright session` and `agentctl`.

use planwright_engine::api::{
    CommitFault, CommitOutcomeView, Diagnostic, DroppedThread, Session, SessionCommands, SessionCommit,
    SessionProblem, SessionView, Severity, Wrong,
};

use crate::interaction::proposal::print;
use crate::output::diagnostics;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::CheckedFile;

/// Reports a removed thread and the effect on its pending plan.
pub(crate) fn say_dropped(DroppedThread { thread, left }: &DroppedThread, out: &mut Out<'_>) {
    let id = clean_line(&thread.id);
    match left {
        None => out.talk(&format!("removed {id} with {}", clean_line(&thread.folder.to_string_lossy()))),
        Some(trouble) => {
            out.talk(&format!("removed {id}"));
            out.warn(&clean_line(trouble));
        }
    }
    if let Some(plan) = &thread.plan {
        out.talk(&format!("the next commit withdraws `{}` unless it was already decided", clean_line(plan)));
    }
}

/// Commits all threads of the session and prints the outcome.
pub(crate) fn commit(
    session: &Session<'_>,
    commands: SessionCommands,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let view = match session.commit()? {
        SessionCommit::Refused(faults) => return Ok(refused(&faults, commands, out)),
        SessionCommit::Done(view) => view,
    };
    for outcome in &view.outcomes {
        say(outcome, out);
    }
    let next = match view.outcomes.iter().find_map(|outcome| outcome.proposed.as_ref()) {
        Some(first) => NextCommand::new(["planwright", "review", first.plan.as_str()]),
        None => NextCommand::new(["planwright", "session", "show"]),
    };
    Ok(Response::done("session", &view).next(next))
}

fn say(outcome: &CommitOutcomeView, out: &mut Out<'_>) {
    if let Some(proposed) = &outcome.proposed {
        return print(proposed, out);
    }
    let plan = clean_line(outcome.plan.as_deref().unwrap_or_default()).into_owned();
    let state = outcome.state.as_deref().unwrap_or_default();
    let (word, what) = match outcome.came {
        "unchanged" => ("unchanged", format!("{plan}  still {state}")),
        "withdrawn" => ("withdrawn", format!("{plan}  no longer pending review")),
        "stays" => ("kept", format!("{plan}  {state}: only a person can end it (planwright cancel)")),
        _ => ("empty", "no plan in this thread and none pending review".to_owned()),
    };
    out.line(&format!("{}  {what}", out.palette().paint(Tone::Muted, word)));
}

/// Reports all errors in all directories.
fn refused(faults: &[CommitFault], commands: SessionCommands, out: &mut Out<'_>) -> Response {
    let palette = out.talk_palette();
    let unclean = |fault: &CommitFault| match &fault.wrong {
        Wrong::Unclean(verified) => {
            let checked = CheckedFile { source: &verified.source, diagnostics: &verified.diagnostics };
            Some(diagnostics::human(&[checked], palette, out.settings().width))
        }
        Wrong::Missing { .. } | Wrong::Link(_) | Wrong::Taken { .. } => None,
    };
    let mut text = String::new();
    for fault in faults {
        let said = unclean(fault).unwrap_or_else(|| {
            let (message, help) = words(fault, commands);
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
    let problems = faults.iter().flat_map(|fault| problems(fault, commands)).collect();
    let data = SessionView { problems, ..SessionView::default() };
    Response::new(Exit::No, "session", &data).next(commands.commit())
}

fn problems(fault: &CommitFault, commands: SessionCommands) -> Vec<SessionProblem> {
    let messages: Vec<String> = match &fault.wrong {
        // Warnings don't block a commit.
        Wrong::Unclean(verified) => {
            let is_wrong = |diagnostic: &&Diagnostic| diagnostic.severity == Severity::Error;
            let wrong: Vec<Diagnostic> = verified.diagnostics.iter().filter(is_wrong).cloned().collect();
            let checked = CheckedFile { source: &verified.source, diagnostics: &wrong };
            diagnostics::short(&[checked]).lines().map(str::to_owned).collect()
        }
        Wrong::Missing { .. } | Wrong::Link(_) | Wrong::Taken { .. } => {
            let (message, help) = words(fault, commands);
            vec![format!("{message}; {help}")]
        }
    };
    let problem = |message| SessionProblem {
        thread_id: fault.thread.clone(),
        plan_dir: fault.folder.to_string_lossy().into_owned(),
        message,
    };
    messages.into_iter().map(problem).collect()
}

/// The error of a thread, and the fix.
fn words(fault: &CommitFault, commands: SessionCommands) -> (String, String) {
    let (folder, thread) = (fault.folder.display(), &fault.thread);
    match &fault.wrong {
        Wrong::Missing { is_current: true } => (
            format!("{folder}/plan.md is missing: the current thread ({thread}) has no plan"),
            format!("write it, or clear the thread: {}", commands.clear().command),
        ),
        Wrong::Missing { is_current: false } => (
            format!("{folder}/plan.md is missing: the thread {thread} has no plan"),
            format!("write it, or remove the thread: {}", commands.drop(thread).command),
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
