//! `edit`: changes a plan and nothing else in its file. Marks and status cannot be edited: planwright writes them
//! from what was proven.

use std::io::{self, Read as _};
use std::path::Path;

use planwright_engine::core::dialect::{Dialect, PlanEvent, detect};
use planwright_engine::core::plan::draft::Draft;
use planwright_engine::core::plan::edit::PlanEdit;
use planwright_engine::core::plan::verified;
use planwright_engine::core::syntax::source::{Detection, Source};
use planwright_engine::store::plan_file;
use planwright_engine::system::clock;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::target::{Opened, open};
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean, clean_line};
use planwright_engine::api::plan::find_step;
use planwright_engine::api::shown;
use planwright_engine::api::unchanged;

/// How many bytes of a list are read.
const LIST_BYTES_MAX: u64 = 1 << 20;

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Edited {
    /// The file.
    pub(crate) path: String,
    /// What was done, in words.
    pub(crate) changes: Vec<String>,
    /// How many bytes went and how many came.
    pub(crate) bytes_removed: usize,
    /// How many bytes came.
    pub(crate) bytes_added: usize,
    /// Whether the file was written.
    pub(crate) written: bool,
    /// The plan as it would be, where nothing was to be written.
    pub(crate) text: Option<String>,
}

/// A change that the user asked for, before it is known which step is meant.
enum Wish<'a> {
    Rename(&'a str, &'a str),
    Need(&'a str, &'a str),
    Move(&'a str, &'a str),
    Renumber,
    Expand(&'a str, &'a str),
    Set(&'a str, &'a str),
    Note(&'a str),
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let Opened { path, source: old, .. } = open(&args.plan)?;
    refuse_other_dialect(&old)?;
    let dialect = old.dialect();
    let mut edited = Edited {
        path: shown(&path),
        changes: Vec::new(),
        bytes_removed: 0,
        bytes_added: 0,
        written: false,
        text: None,
    };
    let mut new = old.clone();
    for wish in wishes(args)? {
        let draft = (dialect.parse)(&new);
        let (change, words) = wish.change(&draft, (&edited.path, dialect))?;
        new = apply(dialect, &new, &change, &mut edited).map_err(|refusal| unchanged(&path, &refusal))?;
        edited.changes.push(words);
    }
    if args.dry_run {
        out.data(&clean(new.text()));
        edited.text = Some(new.text().to_owned());
    } else if new.text() != old.text() {
        planwright_engine::store::plan_file::save(&path, &old, &plan_file::move_overflow(&path, &new)?)?;
        edited.written = true;
    }
    if !args.dry_run {
        tell_beside(args, &path, &new)?;
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

/// Refuses to write another dialect's keys into the plan.
fn refuse_other_dialect(plan: &Source) -> Result<(), Failure> {
    let told = detect(plan.place(), plan.text()).ok().filter(|told| told.dialect != plan.dialect());
    let Some(told) = told.filter(|_| *plan.told() == Detection::Forced) else { return Ok(()) };
    let message = format!("{} is written in dialect {} ({})", plan.name(), told.dialect.name, told.because);
    Err(Failure::new(Exit::Usage, message).hint("omit --dialect; nothing was written"))
}

/// Some dialects keep what is noted in a file of its own.
fn tell_beside(args: &Args, path: &Path, plan: &Source) -> Result<(), Failure> {
    let draft = plan.draft();
    let at = clock::utc_now();
    for text in &args.note {
        for beside in plan.dialect().beside(plan, &draft, &PlanEvent::Noted { text, at: &at }) {
            plan_file::keep(path, &beside)?;
        }
    }
    Ok(())
}

fn apply(
    dialect: &Dialect,
    old: &Source,
    change: &PlanEdit,
    edited: &mut Edited,
) -> Result<Source, planwright_engine::core::plan::edit::EditError> {
    let edits = dialect.patch(old, change)?;
    edited.bytes_removed += edits.iter().map(|edit| edit.span.len()).sum::<usize>();
    edited.bytes_added += edits.iter().map(|edit| edit.text.len()).sum::<usize>();
    Ok(old.edited(&edits))
}

/// The changes in the order in which they are made: names first, then places, so that each finds what it names.
fn wishes<'a>(args: &'a Args) -> Result<Vec<Wish<'a>>, Failure> {
    let mut wishes = Vec::new();
    for (texts, wish) in [
        (&args.rename, Wish::Rename as fn(&'a str, &'a str) -> Wish<'a>),
        (&args.need, Wish::Need),
        (&args.set, Wish::Set),
        (&args.expand, Wish::Expand),
        (&args.places, Wish::Move),
    ] {
        for text in texts {
            let (name, value) = pair(text)?;
            wishes.push(wish(name, value));
        }
    }
    wishes.extend(args.renumber.then_some(Wish::Renumber));
    wishes.extend(args.note.iter().map(|text| Wish::Note(text)));
    match wishes.is_empty() {
        true => Err(misuse("no change given").hint("pass at least one change, such as --note TEXT")),
        false => Ok(wishes),
    }
}

fn pair(text: &str) -> Result<(&str, &str), Failure> {
    text.split_once('=')
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .ok_or_else(|| misuse(&format!("`{text}` is not of the form NAME=VALUE")))
}

fn misuse(message: &str) -> Failure {
    Failure::new(Exit::Usage, message).next(NextCommand::new(["planwright", "help", "edit"]))
}

impl Wish<'_> {
    /// The requested change, and its description.
    fn change(
        &self,
        draft: &Draft,
        (path, dialect): (&str, &Dialect),
    ) -> Result<(PlanEdit, String), Failure> {
        let ids = verified::ids(draft);
        let step = |name: &str| find_step(draft, name, path);
        Ok(match *self {
            Wish::Rename(name, id) => {
                if verified::slug(id) != id {
                    let hint = format!("use lowercase letters, digits and dashes: `{}`", verified::slug(id));
                    return Err(Failure::new(Exit::Usage, format!("invalid id `{id}`")).hint(hint));
                }
                let change = PlanEdit::Rename { step: step(name)?, id: id.to_owned() };
                (change, format!("step {name} renamed to `{id}`"))
            }
            Wish::Need(name, on) => {
                let on = ids[step(on)?].clone();
                let words = format!("step {name} now needs `{on}`");
                (PlanEdit::Need { step: step(name)?, on }, words)
            }
            Wish::Move(name, place) => {
                let to = place.parse::<usize>().ok().and_then(|place| place.checked_sub(1));
                let to = to.ok_or_else(|| {
                    Failure::new(Exit::Usage, format!("invalid position `{place}`: positions start at 1"))
                })?;
                (PlanEdit::Move { step: step(name)?, to }, format!("step {name} moved to position {place}"))
            }
            Wish::Renumber => (PlanEdit::Renumber, "steps renumbered".to_owned()),
            Wish::Expand(name, file) => {
                let items = items(file)?;
                let words = format!("step {name} expanded into {}", wording::number(items.len(), "step"));
                (PlanEdit::Expand { step: step(name)?, items }, words)
            }
            Wish::Set("status", _) => {
                return Err(Failure::new(Exit::Person, "the status of a plan cannot be set by hand")
                    .hint("it mirrors what was checked, approved and run; planwright writes it"));
            }
            Wish::Set("title", _) if dialect.title_key.is_none() => {
                return Err(Failure::new(Exit::No, "this plan's title is its heading, not a key")
                    .hint("change the heading in the file"));
            }
            Wish::Set(key, value) => {
                let key = dialect.title_key.filter(|_| key == "title").unwrap_or(key);
                (
                    PlanEdit::Set { key: key.to_owned(), value: value.to_owned() },
                    format!("{key} set to `{value}`"),
                )
            }
            Wish::Note(text) => (PlanEdit::Note { text: text.to_owned() }, format!("note added: {text}")),
        })
    }
}

/// The lines of a list that are not blank.
fn items(file: &str) -> Result<Vec<String>, Failure> {
    let text = match file {
        "-" => {
            let mut text = String::new();
            io::stdin().take(LIST_BYTES_MAX).read_to_string(&mut text).map(|_| text)
        }
        file => plan_file::read_stream_at(file.as_ref(), LIST_BYTES_MAX),
    };
    let text = text.map_err(|error| match error.kind() == io::ErrorKind::NotFound {
        true => Failure::new(Exit::Usage, format!("file {file} not found")),
        false => Failure::new(Exit::Machine, format!("cannot read the list {file}")).because(&error),
    })?;
    Ok(text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect())
}
