//! The names of named plans and the files that belong to them.

use std::fmt;

/// File systems allow 255 bytes, and sync services append to the name.
const SLUG_BYTES_MAX: usize = 120;

/// The name of a named plan: always a single, safe path component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slug(String);

impl Slug {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is not a plan name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadSlug {
    Empty,
    /// It is `PLAN` or `PLAN.md`: the plan that has no name.
    Unnamed,
    /// It would leave its directory.
    Escapes(String),
    /// It has an invalid character, or starts with one that may not be first.
    Character(String, char),
    /// It is too long for a file name.
    TooLong,
}

impl fmt::Display for BadSlug {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "the plan name is empty"),
            Self::Unnamed => write!(f, "`PLAN.md` is reserved for the plan without a name"),
            Self::Escapes(name) => {
                write!(f, "unsafe plan name {name:?}: expected one path component without `/`, `\\` or `..`")
            }
            Self::Character(name, character) => {
                write!(
                    f,
                    "invalid character {character:?} in plan name {name:?}: use letters, digits, `-`, `_` and `.`"
                )
            }
            Self::TooLong => write!(f, "the plan name is longer than {SLUG_BYTES_MAX} bytes"),
        }
    }
}

impl std::error::Error for BadSlug {}

/// Parses a slug, a stem (`PLAN-x`) or a file name (`PLAN-x.md`). Case is kept.
pub fn slug(text: &str) -> Result<Slug, BadSlug> {
    let text = text.trim();
    let stem = text.strip_suffix(".md").unwrap_or(text);
    let name = stem.strip_prefix("PLAN-").unwrap_or(stem);
    if name == "PLAN" {
        return Err(BadSlug::Unnamed);
    }
    if name.is_empty() {
        return Err(BadSlug::Empty);
    }
    if name.contains(['/', '\\', '\0']) || name.split('.').all(str::is_empty) {
        return Err(BadSlug::Escapes(text.to_owned()));
    }
    let is_allowed = |character: char| character.is_alphanumeric() || ['-', '_', '.'].contains(&character);
    let odd = name.chars().find(|&character| !is_allowed(character));
    let first = name.chars().next().filter(|first| !first.is_alphanumeric());
    let last = name.chars().last().filter(|last| *last == '.');
    if let Some(character) = odd.or(first).or(last) {
        return Err(BadSlug::Character(name.to_owned(), character));
    }
    if name.len() > SLUG_BYTES_MAX {
        return Err(BadSlug::TooLong);
    }
    Ok(Slug(name.to_owned()))
}

/// The file name of a plan; `None` is the plan without a name.
pub fn plan_file(slug: Option<&Slug>) -> String {
    slug.map_or_else(|| "PLAN.md".to_owned(), |slug| format!("PLAN-{slug}.md"))
}

/// The progress file of a plan.
pub fn progress_file(slug: Option<&Slug>) -> String {
    slug.map_or_else(|| "progress.md".to_owned(), |slug| format!("progress-{slug}.md"))
}

/// The plan that a file contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanSlug {
    /// Without a name.
    Unnamed,
    /// With this name.
    Named(Slug),
}

impl PlanSlug {
    pub fn slug(&self) -> Option<&Slug> {
        match self {
            Self::Unnamed => None,
            Self::Named(slug) => Some(slug),
        }
    }
}

/// The prefix of plans archived in place: `PLAN.archive.20260612-auth.md`.
pub const ARCHIVED: &str = "PLAN.archive.";

/// The plan that a file contains, by its name. `PLAN.archive.md` is not a plan, and neither are copies that a sync
/// service left.
pub fn plan_of(file_name: &str) -> Option<PlanSlug> {
    if file_name == "PLAN.md" {
        return Some(PlanSlug::Unnamed);
    }
    let name = file_name.strip_prefix("PLAN-")?.strip_suffix(".md")?;
    let slug = slug(name).ok().filter(|slug| slug.as_str() == name)?;
    super::conflict_copy(file_name).is_none().then_some(PlanSlug::Named(slug))
}
