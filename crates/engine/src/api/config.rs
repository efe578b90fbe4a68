//! Settings as people see and change them.

pub use crate::config::schema::{key, meant, path, unknown};
pub use crate::config::{
    ConfigEditError, ConfigEditResult, Origin, Setting, SettingEntry, SettingKind, Settings, Sources, set,
    unset,
};
