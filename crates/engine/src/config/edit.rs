//! Changes one setting in a file and leaves every other byte unchanged. Never writes a value that reading
//! would refuse.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Array, Document, DocumentMut, Item, Table, TableLike};

use super::layer::{ConfigFault, harm, typed};
use super::schema::{SettingValue, key, meant, path, unknown};
use super::{Error, Setting, read_text};
use crate::store::plan_file;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigEditResult {
    pub path: PathBuf,
    pub key: String,
    pub is_changed: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ConfigEditError {
    /// An unknown key or an invalid value.
    #[error("{message}")]
    Setting {
        /// What is wrong, with a suggestion.
        message: String,
        /// The key, or the suggested one.
        meant: Option<String>,
    },
    /// Reserved for the user, but the file is a project's.
    #[error(
        "cannot set `{key}` for a project: anyone who can write its file, including an agent, {}",
        harm(key)
    )]
    Personal { key: String },
    #[error("{} does not set `{key}`", path.display())]
    NotThere { path: PathBuf, key: String },
    #[error(transparent)]
    Config(#[from] Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
}

/// Sets a setting in a file; creates the file if needed.
pub fn set(file: &Path, name: &str, text: &str) -> Result<ConfigEditResult, ConfigEditError> {
    let meant = || {
        let path = path(name)?;
        if Setting::find(&path).is_some() { Some(key(&path)) } else { meant(&path) }
    };
    let (names, value) =
        typed((name, text)).map_err(|message| ConfigEditError::Setting { message, meant: meant() })?;
    let is_personal = Setting::find(&names).is_some_and(Setting::is_personal);
    if is_personal && file.file_name().is_some_and(|name| name == super::FILE) {
        return Err(ConfigEditError::Personal { key: key(&names) });
    }
    let old = read_text(file)?;
    let new =
        with(old.as_deref().unwrap_or_default(), &names, &value).map_err(|fault| invalid(file, fault))?;
    write(file, old.as_deref(), &new, &names)
}

/// Removes a setting from a file, even an unknown one: that is how such a file is fixed.
pub fn unset(file: &Path, name: &str) -> Result<ConfigEditResult, ConfigEditError> {
    let names = path(name).ok_or_else(|| ConfigEditError::Setting {
        message: format!("unknown setting `{name}`"),
        meant: None,
    })?;
    let old = read_text(file)?;
    let new = without(old.as_deref().unwrap_or_default(), &names).map_err(|fault| invalid(file, fault))?;
    match new {
        Some(new) => write(file, old.as_deref(), &new, &names),
        None if Setting::find(&names).is_some() => {
            Err(ConfigEditError::NotThere { path: file.to_owned(), key: key(&names) })
        }
        None => Err(ConfigEditError::Setting { message: unknown(&names), meant: meant(&names) }),
    }
}

fn invalid(file: &Path, fault: ConfigFault) -> Error {
    Error::Invalid { path: file.to_owned(), faults: vec![fault] }
}

fn write(
    file: &Path,
    old: Option<&str>,
    new: &str,
    names: &[String],
) -> Result<ConfigEditResult, ConfigEditError> {
    let edited = ConfigEditResult { path: file.to_owned(), key: key(names), is_changed: old != Some(new) };
    match old {
        Some(old) if old == new => {}
        Some(old) => plan_file::replace(file, old, new)?,
        None => plan_file::create(file, new)?,
    }
    Ok(edited)
}

fn with(text: &str, names: &[String], value: &SettingValue) -> Result<String, ConfigFault> {
    let document = parsed(text)?;
    let (last, sections) = names.split_last().expect("a setting has a name");
    let (new, end) = (toml_value(value).to_string(), line_ending(text));
    if let Some(span) = at(document.as_table(), names).and_then(Item::span) {
        return Ok(spliced(text, span, &new));
    }
    let section = at(document.as_table(), sections);
    let line = format!("{} = {new}", key(std::slice::from_ref(last)));
    let place = match section {
        Some(Item::Table(table)) if !table.is_dotted() && !table.is_implicit() => end_of(text, table),
        Some(_) | None => None,
    };
    if let Some(place) = place {
        return Ok(spliced(text, place..place, &format!("{end}{line}")));
    }
    let has_no_header = section
        .is_none_or(|item| item.as_table().is_some_and(|table| table.is_implicit() && !table.is_dotted()));
    let is_free = sections.len() < 2 || at(document.as_table(), &sections[..1]).is_none_or(Item::is_table);
    if has_no_header && is_free {
        let gap = match text.trim_end_matches(['\r', '\n']) {
            "" => "",
            _ if text.ends_with('\n') => end,
            _ => &format!("{end}{end}"),
        };
        return Ok(format!("{text}{gap}[{}]{end}{line}{end}", key(sections)));
    }
    // Inline sections and dotted keys: the library knows where a new name goes.
    let mut document: DocumentMut = text.parse().map_err(|error| fault(&error))?;
    put(document.as_table_mut(), names, value)?;
    Ok(document.to_string())
}

/// The text without the setting; `None` if it does not contain it.
fn without(text: &str, names: &[String]) -> Result<Option<String>, ConfigFault> {
    let document = parsed(text)?;
    let Some(item) = at(document.as_table(), names) else { return Ok(None) };
    let (last, sections) = names.split_last().expect("a key has a name");
    let owner = at(document.as_table(), sections);
    let is_line = item.is_value() && !owner.is_some_and(Item::is_inline_table);
    let owner: Option<&dyn TableLike> = match sections.is_empty() {
        true => Some(document.as_table()),
        false => owner.and_then(Item::as_table_like),
    };
    let spans = owner.and_then(|owner| owner.key(last)?.span()).zip(item.span());
    if let Some((key, value)) = spans.filter(|_| is_line) {
        // The whole line goes with its comment; the comments above it stay.
        let start = text[..key.start].rfind('\n').map_or(0, |at| at + 1);
        let stop = text[value.end..].find('\n').map_or(text.len(), |at| value.end + at + 1);
        let shorter = spliced(text, start..stop, "");
        if shorter.parse::<DocumentMut>().is_ok_and(|new| at(new.as_table(), names).is_none()) {
            return Ok(Some(shorter));
        }
    }
    let mut document: DocumentMut = text.parse().map_err(|error| fault(&error))?;
    take(document.as_table_mut(), names);
    Ok(Some(document.to_string()))
}

fn parsed(text: &str) -> Result<Document<&str>, ConfigFault> {
    Document::parse(text).map_err(|error| fault(&error))
}

fn fault(error: &toml_edit::TomlError) -> ConfigFault {
    ConfigFault::of(error.to_string().trim_end().to_owned())
}

/// The item at a path.
fn at<'d>(table: &'d dyn TableLike, names: &[String]) -> Option<&'d Item> {
    let (first, rest) = names.split_first()?;
    let item = table.get(first)?;
    if rest.is_empty() { Some(item) } else { at(item.as_table_like()?, rest) }
}

/// The end of the last line of a section: of its last value, or its header.
fn end_of(text: &str, table: &Table) -> Option<usize> {
    let values = table.iter().filter(|(_, item)| item.is_value()).filter_map(|(_, item)| item.span());
    let last = values.map(|span| span.end).max().or_else(|| table.span().map(|span| span.start))?;
    let rest = text.get(last..)?;
    let line = rest.find('\n').map_or(rest.len(), |at| at);
    Some(last + rest[..line].trim_end_matches('\r').len())
}

fn line_ending(text: &str) -> &'static str {
    if text.lines().next().is_some_and(|line| text[line.len()..].starts_with("\r\n")) { "\r\n" } else { "\n" }
}

fn spliced(text: &str, span: Range<usize>, new: &str) -> String {
    format!("{}{new}{}", &text[..span.start], &text[span.end..])
}

/// Inserts a value at a new path.
fn put(root: &mut Table, names: &[String], value: &SettingValue) -> Result<(), ConfigFault> {
    let (last, sections) = names.split_last().expect("a setting has a name");
    let mut table: &mut dyn TableLike = root;
    for (depth, name) in sections.iter().enumerate() {
        let item = table.entry(name).or_insert_with(|| Item::Table(Table::new()));
        table = item.as_table_like_mut().ok_or_else(|| {
            ConfigFault::of(format!("`{}` is a section, not a setting", key(&names[..=depth])))
        })?;
    }
    table.insert(last, Item::Value(toml_value(value)));
    Ok(())
}

fn take(table: &mut dyn TableLike, names: &[String]) -> Option<Item> {
    let (first, rest) = names.split_first()?;
    match rest.is_empty() {
        true => table.remove(first),
        false => take(table.get_mut(first)?.as_table_like_mut()?, rest),
    }
}

fn toml_value(value: &SettingValue) -> toml_edit::Value {
    match value {
        // Every bound in the table fits.
        SettingValue::Number(number) => i64::try_from(*number).unwrap_or(i64::MAX).into(),
        SettingValue::Text(text) => text.as_str().into(),
        SettingValue::Words(words) => words.iter().map(String::as_str).collect::<Array>().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(key: &str) -> Vec<String> {
        path(key).expect("a key")
    }

    fn set(text: &str, key: &str, value: &str) -> String {
        let (names, value) = typed((key, value)).expect("a setting");
        with(text, &names, &value).expect("set")
    }

    #[test]
    fn setting_a_value_touches_no_other_byte() {
        let cases = [
            ("", "run.jobs", "2", "[run]\njobs = 2\n"),
            ("# mine\n", "run.jobs", "2", "# mine\n\n[run]\njobs = 2\n"),
            (
                "[run]\n# why\njobs  =  1   # one\n\n[roles]\n",
                "run.jobs",
                "2",
                "[run]\n# why\njobs  =  2   # one\n\n[roles]\n",
            ),
            (
                "[run]\r\njobs = 1 # x\r\n\r\n[limits]\r\n",
                "run.lost_max",
                "5",
                "[run]\r\njobs = 1 # x\r\nlost_max = 5\r\n\r\n[limits]\r\n",
            ),
            ("[run]\n[limits]\nretries = 1", "run.jobs", "3", "[run]\njobs = 3\n[limits]\nretries = 1"),
            (
                "[agents.a]\ncommand = ['a']\n",
                "agents.b.command",
                "[\"b\"]",
                "[agents.a]\ncommand = ['a']\n\n[agents.b]\ncommand = [\"b\"]\n",
            ),
            ("run.jobs = 1\n", "run.lost_max", "5", "run.jobs = 1\nrun.lost_max = 5\n"),
            ("run = { jobs = 1 }\n", "run.lost_max", "5", "run = { jobs = 1 , lost_max = 5 }\n"),
            ("[roles]\n", "roles.\"my coder\"", "claude", "[roles]\n\"my coder\" = \"claude\"\n"),
            ("x = 1", "run.jobs", "2", "x = 1\n\n[run]\njobs = 2\n"),
        ];
        for (text, key, value, expected) in cases {
            let new = set(text, key, value);
            assert_eq!(new, expected, "{text:?} {key}");
            assert_eq!(set(&new, key, value), new, "the second time changes nothing: {text:?}");
        }
    }

    #[test]
    fn unsetting_takes_its_line_and_no_comment_above() {
        let cases = [
            ("[run]\n# why\njobs = 1 # one\nlost_max = 2\n", "run.jobs", "[run]\n# why\nlost_max = 2\n"),
            ("[run]\r\njobs = 1\r\n[roles]\r\n", "run.jobs", "[run]\r\n[roles]\r\n"),
            ("run = { jobs = 1, lost_max = 2 }\n", "run.jobs", "run = { lost_max = 2 }\n"),
            ("[run]\njbos = 1\n", "run.jbos", "[run]\n"),
            ("[agents.a]\ncommand = [\n  'a',\n]\n[run]\n", "agents.a.command", "[agents.a]\n[run]\n"),
        ];
        for (text, key, expected) in cases {
            assert_eq!(
                without(text, &names(key)).expect("read").as_deref(),
                Some(expected),
                "{text:?} {key}"
            );
        }
        assert_eq!(without("[run]\n", &names("run.jobs")).expect("read"), None);
    }

    #[test]
    fn a_file_that_is_no_toml_is_left_alone() {
        let (names, value) = typed(("run.jobs", "2")).expect("a setting");
        assert!(with("[run\n", &names, &value).is_err());
        assert!(with("run = 3\n", &names, &value).is_err(), "a value is in the way of the section");
    }
}
