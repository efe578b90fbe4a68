//! Settings as people see and change them.

pub use crate::config::schema::path;
pub use crate::config::{ConfigEditResult, Origin, SettingEntry, SettingKind, Settings, Sources};

use std::path::PathBuf;

use crate::api::caller::Right;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::workspace::OpenOptions;
use crate::config;
use crate::config::{ConfigEditError, Setting, schema};

/// Whose file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsFile {
    Project,
    User,
}

impl SettingsFile {
    fn path(self, sources: &Sources) -> Result<PathBuf, Error> {
        let file = match self {
            Self::Project => &sources.project,
            Self::User => &sources.user,
        };
        file.clone().ok_or_else(|| {
            Error::new(ErrorKind::Usage, "no home directory for your settings file")
                .hint("set HOME or XDG_CONFIG_HOME")
        })
    }
}

impl OpenOptions {
    /// Sets `key` in a settings file.
    pub fn set(
        &self,
        sources: &Sources,
        file: SettingsFile,
        key: &str,
        value: &str,
    ) -> Result<ConfigEditResult, Error> {
        self.caller.may(Right::ChangeSettings)?;
        config::set(&file.path(sources)?, key, value).map_err(|refused| {
            let is_personal = matches!(refused, ConfigEditError::Personal { .. });
            let error = refusal(refused);
            match is_personal {
                true => error.hint("set it for yourself: --user").next(NextCommand::new([
                    "planwright",
                    "config",
                    "set",
                    key,
                    value,
                    "--user",
                ])),
                false => error,
            }
        })
    }

    /// Removes `key` from a settings file.
    pub fn unset(&self, sources: &Sources, file: SettingsFile, key: &str) -> Result<ConfigEditResult, Error> {
        self.caller.may(Right::ChangeSettings)?;
        config::unset(&file.path(sources)?, key).map_err(refusal)
    }
}

/// A setting as it holds.
pub fn setting(sources: &Sources, key: &str) -> Result<SettingEntry, Error> {
    let path = schema::path(key).unwrap_or_else(|| vec![key.to_owned()]);
    Settings::read(sources)?.entry(&path).ok_or_else(|| unknown(schema::unknown(&path), schema::meant(&path)))
}

fn refusal(refused: ConfigEditError) -> Error {
    match refused {
        ConfigEditError::Setting { message, meant } => unknown(message, meant),
        ConfigEditError::NotThere { path, key } => {
            Error::new(ErrorKind::Refused, format!("{} does not set `{key}`", shown(&path)))
                .next(NextCommand::new(["planwright", "config", key.as_str()]))
        }
        ConfigEditError::Personal { .. } => Error::from_error(ErrorKind::Usage, &refused),
        ConfigEditError::Config(error) => error.into(),
        ConfigEditError::Store(error) => error.into(),
    }
}

fn unknown(message: String, meant: Option<String>) -> Error {
    let meant = meant.and_then(|meant| schema::path(&meant)).filter(|path| Setting::find(path).is_some());
    let next = match meant {
        Some(path) => NextCommand::new(["planwright", "config", schema::key(&path).as_str()]),
        None => NextCommand::new(["planwright", "config"]),
    };
    Error::new(ErrorKind::Usage, message).next(next)
}
