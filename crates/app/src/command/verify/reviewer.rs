//! Has an agent review plans: it sees the text and the diagnostics, and its findings become comments. It neither
//! approves nor rejects.

use std::path::Path;

use planwright_engine::approval::Approvals;
use planwright_engine::config::SettingValue;
use planwright_engine::core::agent::finding;
use planwright_engine::core::agent::report::ReportFinding;
use planwright_engine::core::plan::identity::Identity;
use planwright_engine::core::plan::verified;
use planwright_engine::run::consult::{AgentQuery, AgentQuestion, Error};
use planwright_engine::system::process;
use planwright_engine::system::process::Stop;
use planwright_engine::{Project, Verified};

use crate::output::diagnostics::FoundData;
use crate::output::{Exit, Failure, NextCommand, Out, Tone, clean_line};

/// The default role.
pub(super) const ROLE: &str = "reviewer";

/// Asks the reviewer about one plan, and keeps what it found as remarks.
pub(super) fn review(
    (project, path): (&Project, &Path),
    verified: &Verified,
    agent: &str,
    out: &mut Out<'_>,
) -> Result<Vec<FoundData>, Failure> {
    if process::job_above().is_some() {
        return Err(Failure::new(Exit::Person, "an attempt cannot ask another agent for a review"));
    }
    let adviser = AgentQuery::find(&project.config, agent).map_err(|error| unasked(&error))?;
    let name = verified.source.name();
    let complaints: Vec<String> = verified
        .diagnostics
        .iter()
        .map(|one| {
            let line = verified.source.position(one.primary.span.start).line;
            format!("line {line}: {} {}: {}", one.severity.word(), one.code, one.message)
        })
        .collect();
    let prompt = finding::plan_prompt(name, verified.source.text(), &complaints);
    out.talk(&clean_line(&format!("asking `{}` to review {name}", adviser.name)));
    let (config, root) = (&project.config, project.root.as_path());
    let question = AgentQuestion { prompt: &prompt, config, root, is_inside: true, role: ROLE };
    let said = adviser.ask(question, &Stop::new()).map_err(|error| unasked(&error))?;
    if !finding::is_list(&said.text) {
        let how = "it returned no list of findings".to_owned();
        return Err(unasked(&Error::Silent { name: adviser.name, how }));
    }
    let found = finding::in_text(&said.text);
    remark(project, path, (verified, &adviser.name), &found)?;
    for one in &found {
        let word = out.palette().paint(Tone::Attention, "found");
        out.line(&format!("{word}  {}", clean_line(&finding::line(one))));
    }
    match found.len() {
        0 => out.talk(&clean_line(&format!("`{}` found nothing", adviser.name))),
        _ => out.talk("saved as comments on the plan: planwright comment"),
    }
    let data = found.into_iter().map(|one| FoundData {
        plan: name.to_owned(),
        by: adviser.name.clone(),
        severity: one.severity.word().to_owned(),
        path: one.path,
        line: one.line,
        text: one.text,
    });
    Ok(data.collect())
}

/// Keeps findings as remarks of the agent; one that is open already is not said twice.
fn remark(
    project: &Project,
    path: &Path,
    (verified, by): (&Verified, &str),
    found: &[ReportFinding],
) -> Result<(), Failure> {
    let decisions = Approvals::open(project)?;
    let who = Identity::agent(by);
    for one in found {
        let text = finding::line(one);
        let is_known = |comment: &planwright_engine::core::approval::status::Comment| {
            comment.answer.is_none() && comment.by == who && comment.text == text
        };
        if !decisions.case(path)?.standing.comments.iter().any(is_known) {
            decisions.comment(path, step_at(verified, one.line).as_deref(), &who, &text)?;
        }
    }
    Ok(())
}

/// The step that a line of the plan belongs to.
fn step_at(verified: &Verified, line: Option<u32>) -> Option<String> {
    let (draft, line) = (verified.draft.as_ref()?, usize::try_from(line?).ok()?);
    let starts = |place: usize| verified.source.position(draft.steps[place].heading.0.start).line;
    let place = (0..draft.steps.len()).rfind(|&place| starts(place) <= line)?;
    Some(verified::ids(draft).swap_remove(place))
}

fn unasked(error: &Error) -> Failure {
    match error {
        Error::Nobody { .. } | Error::Mute { .. } => Failure::from_error(Exit::Usage, error)
            .hint("name an agent, or set roles.reviewer")
            .next(NextCommand::new(["planwright", "doctor"])),
        Error::Unapproved { name, command } => {
            let (key, words) =
                (format!("agents.{name}.command"), SettingValue::Words(command.clone()).to_string());
            Failure::from_error(Exit::Person, error)
                .hint(format!(
                    "check the command, set it in your own settings and remove it from the project's, which win: \
                     planwright config unset {key}"
                ))
                .next(NextCommand::new(["planwright", "config", "set", &key, &words, "--user"]))
        }
        Error::Late { .. } | Error::Silent { .. } | Error::Stopped { .. } => {
            Failure::from_error(Exit::Machine, error).next(NextCommand::new(["planwright", "doctor"]))
        }
    }
}
