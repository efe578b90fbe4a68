//! `config`: shows settings and their origin, and changes one without touching any other byte.

use planwright_engine::api::config;
use planwright_engine::api::config::{SettingEntry, SettingKind, Settings, SettingsFile, Sources};
use planwright_engine::api::init::root;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::interaction::project::options;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone};
use planwright_engine::api::shown;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    /// Setting to show, such as run.jobs [default: all]
    key: Option<String>,
    #[command(subcommand)]
    act: Option<Act>,
}

#[derive(Debug, clap::Subcommand)]
#[command(disable_help_subcommand = true)]
enum Act {
    /// Set a project setting
    Set {
        /// Setting, such as run.jobs or roles.coder
        key: String,
        /// Value; a command is a TOML list of words
        #[arg(allow_hyphen_values = true)]
        value: String,
        #[command(flatten)]
        whose: Whose,
    },
    /// Remove a project setting
    Unset {
        /// Setting
        key: String,
        #[command(flatten)]
        whose: Whose,
    },
    /// Show the settings files
    Path,
}

/// Whose file is changed.
#[derive(Debug, clap::Args)]
struct Whose {
    /// Use your settings for all projects
    #[arg(long)]
    user: bool,
}

impl Whose {
    fn file(&self) -> SettingsFile {
        if self.user { SettingsFile::User } else { SettingsFile::Project }
    }
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Configured {
    /// The settings that were asked for or changed, as they hold now.
    pub(crate) settings: Vec<SettingData>,
    /// The file of the project.
    pub(crate) project_file: String,
    /// The user's file; `None` without a home directory.
    pub(crate) user_file: Option<String>,
    /// Whether a file was changed.
    pub(crate) is_changed: bool,
}

/// One setting as it holds.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingData {
    /// Its name.
    pub(crate) key: String,
    /// Its value: a number, a text or a list of words; `None` where it has none.
    pub(crate) value: Option<Value>,
    /// `flag`, `env`, `project`, `user` or `default`.
    pub(crate) origin: String,
    /// What it means.
    pub(crate) meaning: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let root = root()?;
    let sources = Sources::of_process(&root, &options().overrides);
    match (&args.act, &args.key) {
        (None, None) => show_all(&sources, out),
        (None, Some(key)) => show_one(&sources, key, out),
        (Some(Act::Set { key, value, whose }), _) => {
            let edited = options().set(&sources, whose.file(), key, value)?;
            Ok(changed("set", &sources, &edited, out))
        }
        (Some(Act::Unset { key, whose }), _) => {
            let edited = options().unset(&sources, whose.file(), key)?;
            Ok(changed("unset", &sources, &edited, out))
        }
        (Some(Act::Path), _) => Ok(show_paths(&sources, out)),
    }
}

fn show_all(sources: &Sources, out: &mut Out<'_>) -> Result<Response, Failure> {
    let entries = Settings::read(sources)?.entries();
    let mut table = Table::new();
    for entry in &entries {
        let [key, value, origin] = cells(entry);
        table.row([key, value, origin, Cell::new(entry.setting.meaning).tone(Tone::Muted)]);
    }
    out.table(&table);
    Ok(Response::done("config", &data(sources, &entries, Change::No)).next(NextCommand::new([
        "planwright",
        "help",
        "config",
    ])))
}

fn show_one(sources: &Sources, key: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    let entry = config::setting(sources, key)?;
    let mut table = Table::new();
    table.row(cells(&entry));
    out.table(&table);
    out.line(&format!("  {}", entry.setting.meaning));
    out.line(&format!("  {}", taken(&entry)));
    Ok(Response::done("config", &data(sources, &[entry], Change::No)))
}

/// What a setting takes, and where else it can be set.
fn taken(entry: &SettingEntry) -> String {
    let kind = match entry.setting.kind {
        SettingKind::Number { default, min, max } => {
            format!("an integer from {min} to {max} [default: {default}]")
        }
        SettingKind::Text => "a text".to_owned(),
        SettingKind::Agent => "a known agent".to_owned(),
        SettingKind::Words => "a command: a list of words".to_owned(),
        SettingKind::Choice { of, .. } => format!("one of {}", of.join(", ")),
        SettingKind::List => "a list of strings".to_owned(),
    };
    match entry.setting.variable() {
        Some(variable) => format!("{kind}; {variable} in the environment"),
        None => kind,
    }
}

fn show_paths(sources: &Sources, out: &mut Out<'_>) -> Response {
    let data = data(sources, &[], Change::No);
    let mut table = Table::new();
    table.row(["project", data.project_file.as_str()]);
    table.row(["user", data.user_file.as_deref().unwrap_or("none: no home directory")]);
    out.table(&table);
    Response::done("config", &data)
}

/// Says what was changed, and whether it counts.
fn changed(word: &str, sources: &Sources, edited: &config::ConfigEditResult, out: &mut Out<'_>) -> Response {
    let said = if edited.is_changed { word } else { "kept" };
    let word = out.palette().paint(Tone::Good, said);
    out.line(&format!("{word}  {}  {}", edited.key, shown(&edited.path)));
    let change = if edited.is_changed { Change::Yes } else { Change::No };
    // What else is wrong with the files does not undo this; `doctor` names it.
    let Ok(settings) = Settings::read(sources) else {
        let answer = Response::done("config", &data(sources, &[], change));
        return answer.next(NextCommand::new(["planwright", "doctor"]));
    };
    let entry = config::path(&edited.key).and_then(|path| settings.entry(&path));
    let Some(entry) = entry else {
        return Response::done("config", &data(sources, &[], change))
            .next(NextCommand::new(["planwright", "config"]));
    };
    let [key, value, origin] = [entry.key.clone(), text(&entry), entry.origin.word().to_owned()];
    out.talk(&crate::output::clean_line(&format!("{key} is now {value} ({origin})")));
    let next = NextCommand::new(["planwright", "config", key.as_str()]);
    Response::done("config", &data(sources, &[entry], change)).next(next)
}

/// Whether a file was changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Yes,
    No,
}

fn data(sources: &Sources, entries: &[SettingEntry], change: Change) -> Configured {
    let settings = entries.iter().map(|entry| SettingData {
        key: entry.key.clone(),
        value: entry.value.as_ref().and_then(|value| serde_json::to_value(value).ok()),
        origin: entry.origin.word().to_owned(),
        meaning: entry.setting.meaning.to_owned(),
    });
    Configured {
        settings: settings.collect(),
        project_file: sources.project.as_deref().map(shown).unwrap_or_default(),
        user_file: sources.user.as_deref().map(shown),
        is_changed: change == Change::Yes,
    }
}

fn cells(entry: &SettingEntry) -> [Cell; 3] {
    let origin = Cell::new(entry.origin.word());
    let origin = if entry.origin == config::Origin::Default { origin.tone(Tone::Muted) } else { origin };
    [Cell::new(&entry.key).tone(Tone::Strong), Cell::new(text(entry)), origin]
}

fn text(entry: &SettingEntry) -> String {
    entry.value.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string)
}
