//! Which plan a session works on: the one that it was told, else the one that the marker of its worktree names, else the one without
//! a name. Decides by what was found and never looks; a marker that leads to no plan is an error, and never another plan.

pub mod lint;
pub mod session_text;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::dialect::named::{BadSlug, Name, Slug, plan_file, plan_of, progress_file, slug};

/// The folder of a project in which named plans lie, and the marker always.
pub const FOLDER: &str = ".harness";
/// The file that binds a worktree to a plan.
pub const MARKER: &str = ".harness/active-plan";
/// The most bytes of a marker: the name of a plan, with room to spare.
pub const MARKER_BYTES_MAX: usize = 4096;

/// What was found where the marker lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Marker {
    Unset,
    /// A file with these bytes.
    Bytes(Vec<u8>),
    /// A file with more than [`MARKER_BYTES_MAX`] bytes.
    TooLong,
    /// A link, or something behind one: no binding of this worktree alone.
    Link,
    /// This, which is no file.
    NotAFile(Thing),
    /// Something that can't be read, and why.
    Unreadable(String),
}

/// Something that is neither a file nor a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thing {
    Folder,
    /// A pipe, a socket or a device.
    Device,
}

/// Something in the harness folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub kind: Kind,
}

/// What something in the harness folder is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A file that says something.
    File,
    /// A file with nothing but blanks.
    Blank,
    /// A folder, a link, a pipe or a device.
    Other,
}

/// By what a plan was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Argument,
    /// The marker names it.
    Marker,
    Default,
}

impl By {
    /// The word for it.
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
pub struct Choice {
    pub by: By,
    pub plan: Name,
}

impl Choice {
    /// The file of the plan.
    pub fn plan_file(&self) -> String {
        plan_file(self.plan.slug())
    }

    /// The file of its progress.
    pub fn progress_file(&self) -> String {
        progress_file(self.plan.slug())
    }
}

/// Why no plan can be chosen. Never a reason to take another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// What somebody names is no name.
    Argument(BadSlug),
    /// What the marker says is no name.
    Marker(BadSlug),
    /// The marker says more than one line.
    Lines,
    /// The marker is no text.
    NotText,
    /// The marker is longer than any name.
    TooLong,
    /// The marker is a link, or lies behind one.
    Link,
    /// The marker is no file.
    NotAFile(Thing),
    /// The marker can't be read, for this reason.
    Unreadable(String),
    /// The plan is not there; perhaps another one was meant.
    Absent(By, Slug, Option<String>),
    /// The plan waits to be put in its place.
    Staged(By, Slug),
    /// The plan says nothing.
    Blank(By, Slug),
    /// What has the name of the plan is no file of its own.
    Astray(By, Slug),
    /// Several files could be the plan: some of the machines that share them can't tell their names apart.
    Ambiguous(By, Name, Vec<String>),
}

impl Fault {
    /// By what the plan was to be chosen.
    fn by(&self) -> By {
        match self {
            Self::Argument(_) => By::Argument,
            Self::Marker(_)
            | Self::Lines
            | Self::NotText
            | Self::TooLong
            | Self::Link
            | Self::NotAFile(_)
            | Self::Unreadable(_) => By::Marker,
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
            Self::Ambiguous(_, Name::Unnamed, names) => return format!("rename one of {}", names.join(", ")),
            // Neither is written over nor removed by us: nobody knows what else it is for.
            Self::NotAFile(Thing::Folder) => return format!("remove it: rmdir {MARKER}"),
            Self::NotAFile(Thing::Device) => return format!("remove it: rm {MARKER}"),
            Self::Link => {
                return format!(
                    "remove the link: `planwright use --clear`, or, where {FOLDER} itself is one, `rm {FOLDER}`; plans in a \
                     shared folder are found by the setting `plans.harness`"
                );
            }
            Self::Ambiguous(_, _, names) => format!("rename one of {}; ", names.join(", ")),
            Self::Absent(_, _, Some(meant)) => format!("did you mean `{meant}`? "),
            Self::Staged(_, slug) => format!("put it in its place (`planwright activate {slug}`), or "),
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
            By::Argument | By::Default => {
                format!("{first}name a plan by its slug, `PLAN-<slug>` or `PLAN-<slug>.md`")
            }
            By::Marker => format!(
                "{first}bind this worktree to a plan that is there (`planwright use PLAN`), or to none \
                 (`planwright use --clear`), which is PLAN.md"
            ),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |by: &By, slug: &Slug| match by {
            By::Marker => format!("{MARKER} binds this worktree to `{slug}`"),
            By::Argument | By::Default => format!("the plan `{slug}` was named"),
        };
        match self {
            Self::Argument(bad) => write!(f, "{bad}"),
            Self::Marker(BadSlug::Empty) => write!(f, "{MARKER} is there and names no plan"),
            Self::Marker(bad) => write!(f, "{MARKER} names no plan: {bad}"),
            Self::Lines => write!(f, "{MARKER} names no plan: it has several lines"),
            Self::NotText => write!(f, "{MARKER} names no plan: it is no text"),
            Self::TooLong => {
                write!(f, "{MARKER} names no plan: it is longer than {MARKER_BYTES_MAX} bytes")
            }
            Self::Link => write!(f, "{MARKER} leads elsewhere: a link binds more than this worktree"),
            Self::NotAFile(Thing::Folder) => write!(f, "{MARKER} is no file: a folder lies there"),
            Self::NotAFile(Thing::Device) => write!(f, "{MARKER} is no file: a pipe or a device lies there"),
            Self::Unreadable(why) => write!(f, "{MARKER} can't be read: {why}"),
            Self::Absent(by, slug, _) => {
                write!(f, "{}, and there is no {}", names(by, slug), plan_file(Some(slug)))
            }
            Self::Staged(by, slug) => {
                write!(f, "{}, and {} is staged", names(by, slug), plan_file(Some(slug)))
            }
            Self::Blank(by, slug) => {
                write!(f, "{}, and {} is empty", names(by, slug), plan_file(Some(slug)))
            }
            Self::Astray(by, slug) => {
                write!(f, "{}, and {} is no file of its own", names(by, slug), plan_file(Some(slug)))
            }
            Self::Ambiguous(by, Name::Named(slug), all) => {
                write!(f, "{}, and that could be any of {}", names(by, slug), all.join(", "))
            }
            Self::Ambiguous(_, Name::Unnamed, all) => {
                write!(f, "the plan without a name could be any of {}", all.join(", "))
            }
        }
    }
}

impl std::error::Error for Fault {}

/// The plan that a text names: a slug, `PLAN-<slug>` or `PLAN-<slug>.md`; `PLAN` and `PLAN.md` are the one without a name.
pub fn named(text: &str) -> Result<Name, Fault> {
    match slug(text) {
        Ok(slug) => Ok(Name::Named(slug)),
        Err(BadSlug::Unnamed) => Ok(Name::Unnamed),
        Err(bad) => Err(Fault::Argument(bad)),
    }
}

/// The plan that the marker names; `None` where there is no marker. Whether the plan is there is not asked.
pub fn marked(marker: &Marker) -> Result<Option<Slug>, Fault> {
    let bytes = match marker {
        Marker::Unset => return Ok(None),
        Marker::Bytes(bytes) => bytes,
        Marker::TooLong => return Err(Fault::TooLong),
        Marker::Link => return Err(Fault::Link),
        Marker::NotAFile(thing) => return Err(Fault::NotAFile(*thing)),
        Marker::Unreadable(why) => return Err(Fault::Unreadable(why.clone())),
    };
    let text = std::str::from_utf8(bytes).map_err(|_| Fault::NotText)?.trim();
    if text.contains(['\n', '\r']) {
        return Err(Fault::Lines);
    }
    slug(text).map(Some).map_err(Fault::Marker)
}

/// Whom a plan is chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want<'a> {
    Any,
    /// This one, which may be yet to be written.
    New(&'a str),
    /// This one, which must be there.
    Old(&'a str),
}

/// The plan that is meant, before anybody looked whether it is there: what was said, else what the marker says, else the one
/// without a name.
pub fn choose(want: Want<'_>, marker: &Marker) -> Result<Choice, Fault> {
    match want {
        Want::New(text) | Want::Old(text) => Ok(Choice { by: By::Argument, plan: named(text)? }),
        Want::Any => Ok(match marked(marker)? {
            Some(slug) => Choice { by: By::Marker, plan: Name::Named(slug) },
            None => Choice { by: By::Default, plan: Name::Unnamed },
        }),
    }
}

/// Checks a choice against what lies in the harness folder. A plan that was named for a new one may be missing or empty; one that
/// the marker names must be there, be a file and say something; and no plan may be mistaken for another.
pub fn check(choice: &Choice, want: Want<'_>, entries: &[Entry]) -> Result<(), Fault> {
    let file = choice.plan_file();
    let folded = file.to_lowercase();
    let alike: Vec<&Entry> = entries.iter().filter(|entry| entry.name.to_lowercase() == folded).collect();
    if alike.len() > 1 {
        let mut names: Vec<String> = alike.iter().map(|entry| entry.name.clone()).collect();
        names.sort();
        return Err(Fault::Ambiguous(choice.by, choice.plan.clone(), names));
    }
    // The plan without a name is what is meant where there is no other: it need not be there.
    let Name::Named(slug) = &choice.plan else { return Ok(()) };
    let may_be_new = matches!(want, Want::New(_));
    match alike.first().filter(|entry| entry.name == file).map(|entry| entry.kind) {
        Some(Kind::File) => Ok(()),
        Some(Kind::Other) => Err(Fault::Astray(choice.by, slug.clone())),
        Some(Kind::Blank) | None if may_be_new => Ok(()),
        Some(Kind::Blank) => Err(Fault::Blank(choice.by, slug.clone())),
        None => Err(Fault::Absent(choice.by, slug.clone(), meant(slug, entries))),
    }
}

/// A plan with nearly this name.
fn meant(slug: &Slug, entries: &[Entry]) -> Option<String> {
    let names = plans(entries);
    let slugs = || names.iter().filter_map(Name::slug).map(Slug::as_str);
    // Where only the case differs nothing is misspelt, and yet it is another file.
    let same = slugs().find(|known| known.to_lowercase() == slug.as_str().to_lowercase());
    same.or_else(|| crate::syntax::nearest::nearest(slug.as_str(), slugs())).map(str::to_owned)
}

/// Whether a file of the harness folder has to do with plans, or could be taken for one where case is not told apart.
pub fn is_like_plan(file_name: &str) -> bool {
    let small = file_name.to_lowercase();
    small.strip_suffix(".md").is_some_and(|stem| stem == "plan" || stem.starts_with("plan-"))
}

/// The plans of a harness folder: the one without a name first, then by name. Archives, conflict copies and what is no file are
/// none.
pub fn plans(entries: &[Entry]) -> Vec<Name> {
    let files = entries.iter().filter(|entry| entry.kind != Kind::Other);
    let mut plans: Vec<Name> = files.filter_map(|entry| plan_of(&entry.name)).collect();
    plans.sort_by(|one, other| one.slug().cmp(&other.slug()));
    plans
}

/// What the words behind a command name: a plan, and `task N` of it. The last two words are a task if the first of them is `task`.
pub fn task(words: &[String]) -> Option<(&[String], &str)> {
    match words {
        [rest @ .., word, task] if word == "task" => Some((rest, task)),
        _ => None,
    }
}
