//! Which plan a session works on: the one it names, else the one in the worktree's marker, else the unnamed
//! one. Decides by what the caller found and never reads files. A marker that leads to no plan is an error
//! and never falls back to another plan.

pub mod lint;
pub mod session_text;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::dialect::named::{BadSlug, PlanSlug, Slug, plan_file, plan_of, progress_file, slug};

/// Holds the named plans of a project by default, and always the marker.
pub const FOLDER: &str = ".harness";
/// The file that binds a worktree to a plan.
pub const MARKER: &str = ".harness/active-plan";
/// More than any plan name needs.
pub const MARKER_BYTES_MAX: usize = 4096;

/// What was found at the marker's path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActivePlanMarker {
    Unset,
    Bytes(Vec<u8>),
    TooLong,
    /// A link, or behind one, so not a binding of this worktree alone.
    Link,
    NotAFile(FileKind),
    /// With the reason.
    Unreadable(String),
}

/// Something that is neither a file nor a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    Folder,
    /// A pipe, a socket or a device.
    Device,
}

/// An entry of the `.harness` directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanCandidate {
    pub name: String,
    pub kind: MarkerKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerKind {
    /// A file with content.
    File,
    /// A file with only whitespace.
    Blank,
    /// A directory, a link, a pipe or a device.
    Other,
}

/// How a plan was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolvedBy {
    Argument,
    Marker,
    Default,
}

impl ResolvedBy {
    pub const fn word(self) -> &'static str {
        match self {
            Self::Argument => "argument",
            Self::Marker => "marker",
            Self::Default => "default",
        }
    }
}

/// The plan that a session works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivePlanChoice {
    pub by: ResolvedBy,
    pub plan: PlanSlug,
}

impl ActivePlanChoice {
    pub fn plan_file(&self) -> String {
        plan_file(self.plan.slug())
    }

    pub fn progress_file(&self) -> String {
        progress_file(self.plan.slug())
    }
}

/// Why no plan can be chosen. Never a reason to fall back to another plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarkerFault {
    /// The name that was passed is invalid.
    Argument(BadSlug),
    /// The name in the marker is invalid.
    Marker(BadSlug),
    /// The marker has more than one line.
    Lines,
    /// The marker isn't text.
    NotText,
    /// The marker is longer than any name.
    TooLong,
    /// The marker is a link, or behind one.
    Link,
    /// The marker isn't a file.
    NotAFile(FileKind),
    /// With the reason.
    Unreadable(String),
    /// The plan doesn't exist; perhaps this one was meant.
    Absent(ResolvedBy, Slug, Option<String>),
    /// The plan is shelved.
    Staged(ResolvedBy, Slug),
    /// The plan file is empty.
    Blank(ResolvedBy, Slug),
    /// Something with the plan's name exists, but isn't a regular file.
    Astray(ResolvedBy, Slug),
    /// Several files match, because some machines that share them can't distinguish their names.
    Ambiguous(ResolvedBy, PlanSlug, Vec<String>),
}

impl MarkerFault {
    fn by(&self) -> ResolvedBy {
        match self {
            Self::Argument(_) => ResolvedBy::Argument,
            Self::Marker(_)
            | Self::Lines
            | Self::NotText
            | Self::TooLong
            | Self::Link
            | Self::NotAFile(_)
            | Self::Unreadable(_) => ResolvedBy::Marker,
            Self::Absent(by, ..)
            | Self::Staged(by, _)
            | Self::Blank(by, _)
            | Self::Astray(by, _)
            | Self::Ambiguous(by, ..) => *by,
        }
    }

    /// The plan that the marker names, if it names one.
    pub fn slug(&self) -> Option<&Slug> {
        match self {
            Self::Absent(_, slug, _)
            | Self::Staged(_, slug)
            | Self::Blank(_, slug)
            | Self::Astray(_, slug) => Some(slug),
            Self::Ambiguous(_, name, _) => name.slug(),
            Self::Argument(_)
            | Self::Marker(_)
            | Self::Lines
            | Self::NotText
            | Self::TooLong
            | Self::Link
            | Self::NotAFile(_)
            | Self::Unreadable(_) => None,
        }
    }

    pub fn way_out(&self) -> String {
        let first = match self {
            Self::Ambiguous(_, PlanSlug::Unnamed, names) => {
                return format!("rename one of {}", names.join(", "));
            }
            // planwright neither overwrites nor removes it, because it could have another purpose.
            Self::NotAFile(FileKind::Folder) => return format!("remove it: rmdir {MARKER}"),
            Self::NotAFile(FileKind::Device) => return format!("remove it: rm {MARKER}"),
            Self::Link => {
                return format!(
                    "remove the link with `planwright use --clear` (or `rm {FOLDER}` if that is the link); to use plans in a \
                     shared directory, set `plans.harness`"
                );
            }
            Self::Ambiguous(_, _, names) => format!("rename one of {}; ", names.join(", ")),
            Self::Absent(_, _, Some(meant)) => format!("did you mean `{meant}`? "),
            Self::Staged(_, slug) => format!("unshelve it (`planwright unshelve {slug}`), or "),
            Self::Argument(_)
            | Self::Marker(_)
            | Self::Lines
            | Self::NotText
            | Self::TooLong
            | Self::Unreadable(_)
            | Self::Absent(_, _, None)
            | Self::Blank(..)
            | Self::Astray(..) => String::new(),
        };
        match self.by() {
            ResolvedBy::Argument | ResolvedBy::Default => {
                format!("{first}name a plan by its slug, `PLAN-<slug>` or `PLAN-<slug>.md`")
            }
            ResolvedBy::Marker => format!(
                "{first}bind this worktree to an existing plan (`planwright use PLAN`), or clear the marker \
                 (`planwright use --clear`) to use PLAN.md"
            ),
        }
    }
}

impl fmt::Display for MarkerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |by: &ResolvedBy, slug: &Slug| match by {
            ResolvedBy::Marker => format!("{MARKER} binds this worktree to `{slug}`"),
            ResolvedBy::Argument | ResolvedBy::Default => format!("plan `{slug}` was requested"),
        };
        match self {
            Self::Argument(bad) => write!(f, "{bad}"),
            Self::Marker(BadSlug::Empty) => write!(f, "{MARKER} does not name a plan"),
            Self::Marker(bad) => write!(f, "invalid {MARKER}: {bad}"),
            Self::Lines => write!(f, "invalid {MARKER}: it has more than one line"),
            Self::NotText => write!(f, "invalid {MARKER}: it is not text"),
            Self::TooLong => {
                write!(f, "invalid {MARKER}: it is larger than {MARKER_BYTES_MAX} bytes")
            }
            Self::Link => write!(f, "{MARKER} is a link: it would bind more than this worktree"),
            Self::NotAFile(FileKind::Folder) => write!(f, "{MARKER} is a directory, not a file"),
            Self::NotAFile(FileKind::Device) => write!(f, "{MARKER} is a pipe or a device, not a file"),
            Self::Unreadable(why) => write!(f, "cannot read {MARKER}: {why}"),
            Self::Absent(by, slug, _) => {
                write!(f, "{}, but {} does not exist", names(by, slug), plan_file(Some(slug)))
            }
            Self::Staged(by, slug) => {
                write!(f, "{}, but {} is shelved", names(by, slug), plan_file(Some(slug)))
            }
            Self::Blank(by, slug) => {
                write!(f, "{}, but {} is empty", names(by, slug), plan_file(Some(slug)))
            }
            Self::Astray(by, slug) => {
                write!(f, "{}, but {} is not a regular file", names(by, slug), plan_file(Some(slug)))
            }
            Self::Ambiguous(by, PlanSlug::Named(slug), all) => {
                write!(f, "{}, which is ambiguous: {}", names(by, slug), all.join(", "))
            }
            Self::Ambiguous(_, PlanSlug::Unnamed, all) => {
                write!(f, "the unnamed plan is ambiguous: {}", all.join(", "))
            }
        }
    }
}

impl std::error::Error for MarkerFault {}

/// The plan that a text names: a slug, `PLAN-<slug>` or `PLAN-<slug>.md`; `PLAN` and `PLAN.md` are the
/// unnamed plan.
pub fn named(text: &str) -> Result<PlanSlug, MarkerFault> {
    match slug(text) {
        Ok(slug) => Ok(PlanSlug::Named(slug)),
        Err(BadSlug::Unnamed) => Ok(PlanSlug::Unnamed),
        Err(bad) => Err(MarkerFault::Argument(bad)),
    }
}

/// The plan that the marker names; `None` without a marker. Doesn't check that the plan exists.
pub fn marked(marker: &ActivePlanMarker) -> Result<Option<Slug>, MarkerFault> {
    let bytes = match marker {
        ActivePlanMarker::Unset => return Ok(None),
        ActivePlanMarker::Bytes(bytes) => bytes,
        ActivePlanMarker::TooLong => return Err(MarkerFault::TooLong),
        ActivePlanMarker::Link => return Err(MarkerFault::Link),
        ActivePlanMarker::NotAFile(thing) => return Err(MarkerFault::NotAFile(*thing)),
        ActivePlanMarker::Unreadable(why) => return Err(MarkerFault::Unreadable(why.clone())),
    };
    let text = std::str::from_utf8(bytes).map_err(|_| MarkerFault::NotText)?.trim();
    if text.contains(['\n', '\r']) {
        return Err(MarkerFault::Lines);
    }
    slug(text).map(Some).map_err(MarkerFault::Marker)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience<'a> {
    Any,
    /// This plan, which may not exist yet.
    New(&'a str),
    /// This plan, which must exist.
    Old(&'a str),
}

/// The requested plan, before checking that it exists: what was passed, else what the marker names, else the
/// unnamed plan.
pub fn choose(want: Audience<'_>, marker: &ActivePlanMarker) -> Result<ActivePlanChoice, MarkerFault> {
    match want {
        Audience::New(text) | Audience::Old(text) => {
            Ok(ActivePlanChoice { by: ResolvedBy::Argument, plan: named(text)? })
        }
        Audience::Any => Ok(match marked(marker)? {
            Some(slug) => ActivePlanChoice { by: ResolvedBy::Marker, plan: PlanSlug::Named(slug) },
            None => ActivePlanChoice { by: ResolvedBy::Default, plan: PlanSlug::Unnamed },
        }),
    }
}

/// Checks a choice against the entries of the `.harness` directory. A plan that was passed for creation may
/// be missing or empty; one that the marker names must be a file with content; and no plan may be mistaken
/// for another.
pub fn check(
    choice: &ActivePlanChoice,
    want: Audience<'_>,
    entries: &[PlanCandidate],
) -> Result<(), MarkerFault> {
    let file = choice.plan_file();
    let folded = file.to_lowercase();
    let alike: Vec<&PlanCandidate> =
        entries.iter().filter(|entry| entry.name.to_lowercase() == folded).collect();
    if alike.len() > 1 {
        let mut names: Vec<String> = alike.iter().map(|entry| entry.name.clone()).collect();
        names.sort();
        return Err(MarkerFault::Ambiguous(choice.by, choice.plan.clone(), names));
    }
    // The unnamed plan is the default and need not exist.
    let PlanSlug::Named(slug) = &choice.plan else { return Ok(()) };
    let may_be_new = matches!(want, Audience::New(_));
    match alike.first().filter(|entry| entry.name == file).map(|entry| entry.kind) {
        Some(MarkerKind::File) => Ok(()),
        Some(MarkerKind::Other) => Err(MarkerFault::Astray(choice.by, slug.clone())),
        Some(MarkerKind::Blank) | None if may_be_new => Ok(()),
        Some(MarkerKind::Blank) => Err(MarkerFault::Blank(choice.by, slug.clone())),
        None => Err(MarkerFault::Absent(choice.by, slug.clone(), meant(slug, entries))),
    }
}

/// A plan with a similar name.
fn meant(slug: &Slug, entries: &[PlanCandidate]) -> Option<String> {
    let names = plans(entries);
    let slugs = || names.iter().filter_map(PlanSlug::slug).map(Slug::as_str);
    // A name that differs only in case isn't a typo, but still another file.
    let same = slugs().find(|known| known.to_lowercase() == slug.as_str().to_lowercase());
    same.or_else(|| crate::syntax::nearest::nearest(slug.as_str(), slugs())).map(str::to_owned)
}

/// Whether a file is related to plans, or could be taken for a plan where case is ignored.
pub fn is_like_plan(file_name: &str) -> bool {
    let small = file_name.to_lowercase();
    small.strip_suffix(".md").is_some_and(|stem| stem == "plan" || stem.starts_with("plan-"))
}

/// The plans of a `.harness` directory, the unnamed one first, then by name. Excludes archives, conflict
/// copies and whatever isn't a file.
pub fn plans(entries: &[PlanCandidate]) -> Vec<PlanSlug> {
    let files = entries.iter().filter(|entry| entry.kind != MarkerKind::Other);
    let mut plans: Vec<PlanSlug> = files.filter_map(|entry| plan_of(&entry.name)).collect();
    plans.sort_by(|one, other| one.slug().cmp(&other.slug()));
    plans
}

/// Splits off a trailing `task N` from the arguments of a command.
pub fn task(words: &[String]) -> Option<(&[String], &str)> {
    match words {
        [rest @ .., word, task] if word == "task" => Some((rest, task)),
        _ => None,
    }
}
