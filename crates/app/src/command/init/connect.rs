//! Connects agents: shows what would change in each of their files, asks, and has it written.

use std::path::Path;
use std::time::Duration;

use planwright_engine::api::init;
use planwright_engine::api::init::{CONNECTIONS, Deed, Integration, IntegrationChange};
use planwright_engine::api::nearest;
use schemars::JsonSchema;
use serde::Serialize;
use similar::{Algorithm, TextDiff};

use crate::interaction::choice::{Choice, Pressed, can_ask, choose};
use crate::interaction::project::options;
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Tone, clean, clean_line};

/// Lines around a change.
const CONTEXT_LINES: usize = 2;
/// How many lines of one difference are shown: enough for everything that is run, too few for a page that only teaches.
const LINES_MAX: usize = 60;
/// How many lines of a page that only teaches: all of it is read with `planwright prompt skill`.
const PAGE_LINES_MAX: usize = 8;
/// How long a difference may be looked for.
const TIME_MAX: Duration = Duration::from_secs(1);

/// A file of an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ConnectionData {
    /// The agent.
    pub(crate) agent: String,
    /// The file, from the root of the project.
    pub(crate) file: String,
    /// `kept`: up to date; `wrote`; `would-write`: not confirmed yet; `by-hand`: only you can change it.
    pub(crate) deed: String,
    /// What differs, as a unified diff, or the lines to add by hand.
    pub(crate) text: String,
    /// Why planwright leaves it to you.
    pub(crate) why: Option<String>,
}

/// What became of all files.
pub(crate) struct Connected {
    pub(crate) files: Vec<ConnectionData>,
    /// Whether a person must confirm first.
    pub(crate) is_waiting: bool,
}

/// The agents that are meant.
pub(crate) fn meant(names: &[String]) -> Result<Vec<&'static Integration>, Failure> {
    let known = || CONNECTIONS.iter().map(|connection| connection.agent);
    let find = |name: &String| {
        init::integration_named(name.trim()).ok_or_else(|| {
            let failure = Failure::new(Exit::Usage, format!("unknown agent `{name}`"));
            match nearest(name, known()) {
                Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
                None => failure.hint(format!("the agents are {}", known().collect::<Vec<_>>().join(", "))),
            }
            .next(NextCommand::new(["planwright", "help", "init"]))
        })
    };
    names.iter().map(find).collect()
}

/// Shows what would change, asks, and has it written.
pub(crate) fn connect(
    root: &Path,
    agents: &[&'static Integration],
    consent: Consent,
    out: &mut Out<'_>,
) -> Result<Connected, Failure> {
    let changes = init::look_at_agents(root, agents)?;
    for change in &changes {
        show(change, out);
    }
    for note in agents.iter().map(|agent| agent.note).filter(|note| !note.is_empty()) {
        out.talk(&format!("note    {note}"));
    }
    let wanted: Vec<&IntegrationChange> =
        changes.iter().filter(|change| matches!(change.deed, Deed::Write { .. })).collect();
    let is_agreed = wanted.is_empty()
        || match consent {
            Consent::Typed => true,
            Consent::Asked if can_ask(out) => {
                let question = format!("Write {}?", wording::number(wanted.len(), "file"));
                let choices =
                    [Choice::new("[y]es", "writes the changes above"), Choice::new("[N]o", "writes nothing")];
                choose(&question, &choices, out)? == Pressed::Key('y')
            }
            Consent::Asked => false,
        };
    if is_agreed {
        for change in &wanted {
            init::write_for_agent(root, change, options())?;
            let word = out.palette().paint(Tone::Good, "wrote");
            out.line(&format!("{word}   {}", change.file));
        }
    }
    let done = if is_agreed { "wrote" } else { "would-write" };
    Ok(Connected { files: changes.iter().map(|change| data(change, done)).collect(), is_waiting: !is_agreed })
}

/// How a person confirms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// By an option.
    Typed,
    /// When they are asked.
    Asked,
}

fn show(change: &IntegrationChange, out: &mut Out<'_>) {
    let palette = out.palette();
    let head = |word: &str, tone: Tone, text: &str| {
        let pad = " ".repeat(7_usize.saturating_sub(word.len()));
        format!("{}{pad} {}", palette.paint(tone, word), clean_line(text))
    };
    match &change.deed {
        Deed::Keep => out.line(&head("kept", Tone::Muted, change.file)),
        Deed::Write { old, new } => {
            let word = if old.is_some() { "change" } else { "create" };
            out.line(&head(word, Tone::Attention, &format!("{} for {}", change.file, change.agent)));
            let lines: Vec<String> =
                difference(old.as_deref().unwrap_or_default(), new).lines().map(str::to_owned).collect();
            // Removals are shown in full.
            let most = match lines.iter().any(|line| line.starts_with('-')) {
                true => lines.len(),
                false => lines_max(change),
            };
            for line in lines.iter().take(most) {
                let tone = match line.chars().next() {
                    Some('+') => Tone::Good,
                    Some('-') => Tone::Bad,
                    Some(_) | None => Tone::Muted,
                };
                out.line(&format!("  {}", palette.paint(tone, &clean(line))));
            }
            if lines.len() > most {
                out.line(&format!("  and {} more lines", lines.len() - most));
            }
        }
        Deed::ByHand { lines, why } => {
            out.line(&head(
                "by hand",
                Tone::Attention,
                &format!("{} for {}: {why}", change.file, change.agent),
            ));
            lines.lines().take(lines_max(change)).for_each(|line| out.line(&format!("  {}", clean(line))));
            if is_page(change) {
                out.line("  (`planwright prompt skill` prints the rest)");
            }
        }
    }
}

/// Whether the file is the skill, which only teaches.
fn is_page(change: &IntegrationChange) -> bool {
    change.file.ends_with("/SKILL.md")
}

/// How many lines of what is added are shown.
fn lines_max(change: &IntegrationChange) -> usize {
    if is_page(change) { PAGE_LINES_MAX } else { LINES_MAX }
}

fn data(change: &IntegrationChange, done: &'static str) -> ConnectionData {
    let (deed, text, why) = match &change.deed {
        Deed::Keep => ("kept", String::new(), None),
        Deed::Write { old, new } => (done, difference(old.as_deref().unwrap_or_default(), new), None),
        Deed::ByHand { lines, why } => ("by-hand", lines.clone(), Some(why.clone())),
    };
    ConnectionData {
        agent: change.agent.to_owned(),
        file: change.file.to_owned(),
        deed: deed.to_owned(),
        text,
        why,
    }
}

fn difference(old: &str, new: &str) -> String {
    let found = TextDiff::configure().algorithm(Algorithm::Myers).timeout(TIME_MAX).diff_lines(old, new);
    found.unified_diff().context_radius(CONTEXT_LINES).to_string()
}
