//! One layer of settings: a file, the environment or the command line. Reports every fault of a layer in one
//! pass; never decides which layer wins.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use planwright_core::syntax::nearest;
use toml_edit::{Document, Item, TableLike};

use super::schema::{SETTINGS, Setting, SettingValue, is_section, key, path, unknown};

pub(super) type Layer = BTreeMap<Vec<String>, SettingValue>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// In a file.
    pub line: Option<usize>,
    pub message: String,
    /// In a file.
    pub key: Option<String>,
}

impl ConfigFault {
    /// A fault without a location.
    pub(super) fn of(message: String) -> Self {
        Self { line: None, message, key: None }
    }
}

impl fmt::Display for ConfigFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for ConfigFault {}

pub(super) fn of_file(text: &str) -> Result<Layer, Vec<ConfigFault>> {
    read(text, Owner::User)
}

/// Reads the project's file. A setting reserved for the user is a fault that names the user's file.
pub(super) fn of_project(text: &str, user: Option<&Path>) -> Result<Layer, Vec<ConfigFault>> {
    read(text, Owner::Project { user })
}

/// The fault for a user setting in the project's file.
fn misplaced(path: &[String], user: Option<&Path>) -> String {
    let file = user.map_or_else(|| "your own settings".to_owned(), |user| user.display().to_string());
    let key = key(path);
    format!(
        "cannot set `{key}` for a project: anyone who can write this file, including an agent, {}; set it in {file}",
        harm(&key)
    )
}

/// What a project could do with a setting reserved for the user.
pub(super) fn harm(key: &str) -> &'static str {
    match key.split('.').next() {
        Some("scope" | "safety") => "could set its own limits",
        Some("worktree") => "could choose where your worktrees are",
        Some(_) | None => "could run a command with it",
    }
}

#[derive(Clone, Copy)]
enum Owner<'a> {
    User,
    Project { user: Option<&'a Path> },
}

impl Owner<'_> {
    /// A setting reserved for the user is a fault in the project's file; the message names the user's file.
    fn may_say(self, setting: &Setting, path: &[String]) -> Result<(), String> {
        match self {
            Self::Project { user } if setting.is_personal() => Err(misplaced(path, user)),
            Self::Project { .. } | Self::User => Ok(()),
        }
    }
}

fn read(text: &str, owner: Owner<'_>) -> Result<Layer, Vec<ConfigFault>> {
    let document = Document::parse(text)
        .map_err(|error| vec![ConfigFault::of(error.to_string().trim_end().to_owned())])?;
    let mut reader = Reader { text, owner, layer: Layer::new(), faults: Vec::new() };
    reader.table(&mut Vec::new(), document.as_table());
    finished(reader.layer, reader.faults)
}

/// Reads environment variables. Only those that start like a section of the settings are ours.
pub(super) fn of_environment(variables: &[(String, String)]) -> Result<Layer, Vec<ConfigFault>> {
    let (mut layer, mut faults) = (Layer::new(), Vec::new());
    let known: Vec<(String, &Setting)> =
        SETTINGS.iter().filter_map(|setting| Some((setting.variable()?, setting))).collect();
    // Setting a variable to nothing is the usual way to unset it for one command.
    for (name, text) in variables.iter().filter(|(name, text)| is_ours(name) && !text.is_empty()) {
        let Some((_, setting)) = known.iter().find(|(variable, _)| variable == name) else {
            let near = nearest::nearest(name, known.iter().map(|(name, _)| name.as_str()));
            let meant = nearest::did_you_mean(near);
            faults.push(ConfigFault::of(format!("unknown setting variable `{name}`{meant}")));
            continue;
        };
        let path = super::parts(setting.name);
        match setting.parse(&path, text) {
            Ok(value) => drop(layer.insert(path, value)),
            Err(why) => faults.push(ConfigFault::of(format!("{name}: {why}"))),
        }
    }
    finished(layer, faults)
}

/// Reads `KEY=VALUE` from the command line; the last one of a key wins.
pub(super) fn of_flags(flags: &[String]) -> Result<Layer, Vec<ConfigFault>> {
    let (mut layer, mut faults) = (Layer::new(), Vec::new());
    for flag in flags {
        let read = flag
            .split_once('=')
            .ok_or_else(|| format!("invalid setting `{flag}`; use KEY=VALUE"))
            .and_then(typed);
        match read {
            Ok((path, value)) => drop(layer.insert(path, value)),
            Err(message) => faults.push(ConfigFault::of(message)),
        }
    }
    finished(layer, faults)
}

/// A key and a value as typed.
pub(super) fn typed((name, text): (&str, &str)) -> Result<(Vec<String>, SettingValue), String> {
    let path = path(name.trim()).ok_or_else(|| format!("unknown setting `{name}`"))?;
    let setting = Setting::find(&path).ok_or_else(|| unknown(&path))?;
    let value = setting.parse(&path, text)?;
    Ok((path, value))
}

fn is_ours(name: &str) -> bool {
    SETTINGS.iter().any(|setting| {
        let section = setting.name.split('.').next().unwrap_or_default();
        name.starts_with(&format!("PLANWRIGHT_{}_", section.to_uppercase()))
    })
}

fn finished(layer: Layer, faults: Vec<ConfigFault>) -> Result<Layer, Vec<ConfigFault>> {
    if faults.is_empty() { Ok(layer) } else { Err(faults) }
}

struct Reader<'t> {
    text: &'t str,
    owner: Owner<'t>,
    layer: Layer,
    faults: Vec<ConfigFault>,
}

impl Reader<'_> {
    fn fault(&mut self, line: Option<usize>, message: String, path: &[String]) {
        self.faults.push(ConfigFault { line, message, key: Some(key(path)) });
    }

    /// Reads a table at `path`. Recursion is as deep as the settings: anything deeper is unknown.
    fn table(&mut self, path: &mut Vec<String>, table: &dyn TableLike) {
        for (name, item) in table.iter() {
            path.push(name.to_owned());
            let start = table.key(name).and_then(toml_edit::Key::span).map(|span| span.start);
            let line = start.map(|start| self.text[..start.min(self.text.len())].matches('\n').count() + 1);
            match (Setting::find(path), item.as_table_like()) {
                (Some(setting), _) => {
                    match self.owner.may_say(setting, path).and_then(|()| taken(setting, path, item)) {
                        Ok(value) => drop(self.layer.insert(path.clone(), value)),
                        Err(message) => self.fault(line, message, path),
                    }
                }
                (None, Some(below)) if is_section(path) => self.table(path, below),
                (None, None) if is_section(path) => {
                    let message = format!("`{}` is a section, not a setting", key(path));
                    self.fault(line, message, path);
                }
                (None, _) => self.fault(line, unknown(path), path),
            }
            path.pop();
        }
    }
}

/// The value of an item, if the setting accepts it.
fn taken(setting: &Setting, path: &[String], item: &Item) -> Result<SettingValue, String> {
    let words = |list: &toml_edit::Array| {
        list.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    };
    let value = match item.as_value() {
        Some(toml_edit::Value::Integer(number)) => {
            u64::try_from(*number.value()).ok().map(SettingValue::Number)
        }
        Some(toml_edit::Value::String(text)) => Some(SettingValue::Text(text.value().clone())),
        Some(toml_edit::Value::Array(list)) => words(list).map(SettingValue::Words),
        Some(
            toml_edit::Value::Float(_)
            | toml_edit::Value::Boolean(_)
            | toml_edit::Value::Datetime(_)
            | toml_edit::Value::InlineTable(_),
        )
        | None => None,
    };
    // Any other value is invalid; its own spelling shows what it is.
    setting.check(path, value.unwrap_or_else(|| SettingValue::Text(item.to_string().trim().to_owned())))
}
