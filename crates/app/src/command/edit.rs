//! `edit`: changes a plan and nothing else in its file. Marks and status cannot be edited: planwright writes them
//! from what was proven.

use planwright_engine::api::{EditMode, EditRequest, read_input};

use crate::interaction::project::workspace;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan to change
    plan: String,
    /// Change the id of a step and the needs that name it (repeatable)
    #[arg(long, value_name = "STEP=ID")]
    rename: Vec<String>,
    /// Make a step need another (repeatable)
    #[arg(long, value_name = "STEP=ID")]
    need: Vec<String>,
    /// Move a step to a position from 1; renumber (repeatable)
    #[arg(long = "move", value_name = "STEP=PLACE")]
    places: Vec<String>,
    /// Renumber steps and numeric needs from 1
    #[arg(long)]
    renumber: bool,
    /// Expand a template step, once per line of FILE; `-` reads standard input (repeatable)
    #[arg(long, value_name = "STEP=FILE")]
    expand: Vec<String>,
    /// Set a frontmatter key, such as owner (repeatable)
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Add a line to the notes (repeatable)
    #[arg(long, value_name = "TEXT")]
    note: Vec<String>,
    /// Print the result; write nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(&args.plan)?;
    let mode = if args.dry_run { EditMode::DryRun } else { EditMode::Write };
    let edited = plan.edit(&requests(args)?, mode)?;
    if let Some(text) = &edited.text {
        out.data(&clean(text));
    }
    let word = match (args.dry_run, edited.written) {
        (true, _) => "would change",
        (false, true) => "changed",
        (false, false) => "unchanged",
    };
    for change in &edited.changes {
        let word = out.talk_palette().paint(Tone::Good, word);
        out.talk(&format!("{word}  {}  {}", clean_line(&edited.path), clean_line(change)));
    }
    let next = NextCommand::new(["planwright", "verify", edited.path.as_str()]);
    Ok(Response::done("edit", &edited).next(next))
}

/// The changes in the order in which they are made: names first, then places, so that each finds what it names.
fn requests(args: &Args) -> Result<Vec<EditRequest>, Failure> {
    let mut requests = Vec::new();
    for (texts, request) in [
        (&args.rename, EditRequest::Rename as fn(String, String) -> EditRequest),
        (&args.need, EditRequest::Need),
        (&args.set, EditRequest::Set),
    ] {
        for text in texts {
            let (name, value) = pair(text)?;
            requests.push(request(name, value));
        }
    }
    for text in &args.expand {
        let (step, file) = pair(text)?;
        requests.push(EditRequest::Expand(step, items(&file)?));
    }
    for text in &args.places {
        let (step, place) = pair(text)?;
        requests.push(EditRequest::Move(step, place));
    }
    requests.extend(args.renumber.then_some(EditRequest::Renumber));
    requests.extend(args.note.iter().cloned().map(EditRequest::Note));
    match requests.is_empty() {
        true => Err(misuse("no change given").hint("pass at least one change, such as --note TEXT")),
        false => Ok(requests),
    }
}

fn pair(text: &str) -> Result<(String, String), Failure> {
    text.split_once('=')
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .ok_or_else(|| misuse(&format!("`{text}` is not of the form NAME=VALUE")))
}

fn misuse(message: &str) -> Failure {
    Failure::new(Exit::Usage, message).next(NextCommand::new(["planwright", "help", "edit"]))
}

/// The lines of a list that are not blank.
fn items(file: &str) -> Result<Vec<String>, Failure> {
    let text = read_input(file, &format!("the list {file}"))?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}
