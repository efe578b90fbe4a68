//! Trees of plans: what they are called, what state one is in, and what of them may be reclaimed. Decides by facts that others
//! gathered; what is not known is never taken for nothing.

use std::fmt;

use crate::dialect::named::{self, BadSlug};
use crate::plan::draft::Draft;

/// What a reference of git must not end with.
const LOCK_ENDING: &str = ".lock";
/// How many files and commits a sentence names.
const NAMED_MAX: usize = 5;

/// The name of a tree: one component of a path, and of the name of a branch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(String);

impl Name {
    /// The name that a text is, if it can be one.
    pub fn of(text: &str) -> Result<Self, BadName> {
        let slug = named::slug(text).map_err(BadName::Slug)?;
        let name = slug.as_str();
        match name.contains("..") || name.to_ascii_lowercase().ends_with(LOCK_ENDING) {
            true => Err(BadName::Branch(name.to_owned())),
            false => Ok(Self(name.to_owned())),
        }
    }

    /// The name that the tree of a plan has where nobody says another: that of the plan, without what no name may have.
    pub fn of_plan(plan: &str) -> Result<Self, BadName> {
        match named::slug(plan) {
            Ok(_) => Self::of(plan).or_else(|_| Self::of(&crate::plan::verified::slug(plan))),
            Err(BadSlug::Unnamed) => Self::of("singleton"),
            Err(BadSlug::Empty | BadSlug::Escapes(_) | BadSlug::Character(..) | BadSlug::TooLong) => {
                Self::of(&crate::plan::verified::slug(plan))
            }
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why a text is no name of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadName {
    /// It is no name of a plan either.
    Slug(BadSlug),
    /// Git has no branch of that name.
    Branch(String),
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slug(bad) => write!(f, "a tree can't be called so: {bad}"),
            Self::Branch(name) => write!(
                f,
                "a tree can't be called {name:?}: no branch may have `..` in its name or end with `.lock`"
            ),
        }
    }
}

impl std::error::Error for BadName {}

/// The four states that a tree can be in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It is in use, or about to be.
    Active,
    /// Its work has landed, and nobody has removed it.
    Merged,
    /// Its plan is gone, its folder is gone, or nobody knows it.
    Orphaned,
    /// The marker in it names a plan that is not there.
    Dangling,
}

impl State {
    pub const ALL: [Self; 4] = [Self::Active, Self::Merged, Self::Orphaned, Self::Dangling];

    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Merged => "merged",
            Self::Orphaned => "orphaned",
            Self::Dangling => "dangling",
        }
    }
}

/// Who made a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// planwright: it has a git folder of its own.
    Planwright,
    /// The user, with `git worktree`.
    Git,
}

/// What is at the place of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folder {
    There,
    Absent,
    /// A link or a file: something else than what was made.
    Other,
}

/// Whether the plan of a tree is there, in the workspace that the tree belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    There,
    Gone,
    /// The tree is for no plan, or nobody knows for which.
    Unsaid,
}

/// How far the work of a tree has come in the user's repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// There is none yet.
    Nothing,
    /// It is on the branch of the plan.
    OnBranch,
    /// It is in what the user works with.
    Landed,
}

/// What would be lost with a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    /// Files that are in no commit of the user's repository.
    pub files: Vec<String>,
    /// Commits that are not in the user's repository.
    pub commits: Vec<String>,
    /// Why that can't be told.
    pub unknown: Option<String>,
}

impl Work {
    /// Whether nothing would be lost.
    pub fn is_nothing(&self) -> bool {
        self.files.is_empty() && self.commits.is_empty() && self.unknown.is_none()
    }
}

/// What was found out about a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub maker: Maker,
    /// Whether it is known: to the registry, or to git.
    pub is_known: bool,
    /// What is at its place.
    pub folder: Folder,
    pub plan: Plan,
    /// The name in its marker, where no plan has that name.
    pub dangling: Option<String>,
    /// How far its work has come.
    pub landing: Landing,
    /// What would be lost with it.
    pub work: Work,
    /// Who works in it now.
    pub busy: Option<String>,
    /// The project whose tree it lies beside, where that tree is there: it goes with that one.
    pub beside: Option<String>,
}

/// Whether a tree may be reclaimed by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reclaim {
    /// Nothing is lost with it.
    Safe,
    Kept {
        why: Why,
    },
}

/// Why a tree stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The user made it, with git.
    Yours,
    /// Somebody works in it.
    Busy(String),
    /// Something else is at its place.
    Other,
    /// Work would be lost.
    Work(Work),
    /// It is in use.
    Active,
    /// Its marker names a plan that is not there, which may be a slip.
    Dangling(String),
    /// It lies beside the tree of a plan of this project, and goes with that.
    Beside(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yours => write!(f, "you made it with `git worktree`"),
            Self::Busy(who) => write!(f, "{who} works in it"),
            Self::Other => write!(f, "something else than a folder is in its place"),
            Self::Active => write!(f, "it is in use: its plan is there, and its work has not landed"),
            Self::Dangling(name) => write!(f, "its marker names the plan `{name}`, which is not there"),
            Self::Beside(root) => write!(f, "it is for a plan of {root}, and goes with the tree of that"),
            Self::Work(work) => match &work.unknown {
                Some(unknown) => write!(f, "it can't be told what would be lost: {unknown}"),
                None => write!(f, "{}", lost(work)),
            },
        }
    }
}

fn lost(work: &Work) -> String {
    let named = |all: &[String]| {
        let more = all.len().saturating_sub(NAMED_MAX);
        let names = all.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
        if more == 0 { names } else { format!("{names} and {more} more") }
    };
    let counted = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        _ => format!("{count} {what}s"),
    };
    let files = (!work.files.is_empty()).then(|| {
        format!("{} that no commit holds: {}", counted(work.files.len(), "file"), named(&work.files))
    });
    let commits = (!work.commits.is_empty()).then(|| {
        let count = counted(work.commits.len(), "commit");
        format!("{count} that your repository does not have: {}", named(&work.commits))
    });
    files.into_iter().chain(commits).collect::<Vec<_>>().join("; ")
}

/// The state of a tree. What has landed is merged, whatever became of its plan since.
pub fn state(facts: &Facts) -> State {
    if !facts.is_known || facts.folder == Folder::Absent {
        return State::Orphaned;
    }
    match (facts.landing, facts.plan, &facts.dangling) {
        (Landing::Landed, ..) => State::Merged,
        (Landing::Nothing | Landing::OnBranch, Plan::Gone, _) => State::Orphaned,
        (Landing::Nothing | Landing::OnBranch, Plan::There | Plan::Unsaid, Some(_)) => State::Dangling,
        (Landing::Nothing | Landing::OnBranch, Plan::There | Plan::Unsaid, None) => State::Active,
    }
}

/// Whether a tree may be reclaimed without being named.
pub fn reclaim(facts: &Facts) -> Reclaim {
    if let Err(why) = may_remove(facts) {
        return Reclaim::Kept { why };
    }
    match (state(facts), &facts.dangling) {
        (State::Active, _) => Reclaim::Kept { why: Why::Active },
        (State::Dangling, name) => Reclaim::Kept { why: Why::Dangling(name.clone().unwrap_or_default()) },
        (State::Merged | State::Orphaned, _) => Reclaim::Safe,
    }
}

/// Whether a tree that somebody named may be removed: nothing may be lost with it.
pub fn may_remove(facts: &Facts) -> Result<(), Why> {
    if let Some(root) = &facts.beside {
        return Err(Why::Beside(root.clone()));
    }
    match (facts.maker, facts.folder, &facts.busy) {
        (Maker::Git, ..) => Err(Why::Yours),
        (Maker::Planwright, _, Some(who)) => Err(Why::Busy(who.clone())),
        (Maker::Planwright, Folder::Absent, None) => Ok(()),
        (Maker::Planwright, Folder::Other, None) => Err(Why::Other),
        (Maker::Planwright, Folder::There, None) => match facts.work.is_nothing() {
            true => Ok(()),
            false => Err(Why::Work(facts.work.clone())),
        },
    }
}

/// Whether two texts of a plan say the same but for what the harness writes into one: marks, and where the plan stands.
pub fn says_the_same(one: &Draft, other: &Draft) -> bool {
    unmarked(one) == unmarked(other)
}

fn unmarked(draft: &Draft) -> Draft {
    let mut draft = draft.clone();
    draft.state = None;
    draft.frontmatter.entries.retain(|entry| entry.key.value != "status");
    for step in &mut draft.steps {
        step.marks.clear();
    }
    draft
}

/// What the file says by which people find back into a tree.
#[derive(Debug, Clone, Copy)]
pub struct Pointer<'a> {
    /// What the tree is called.
    pub name: &'a str,
    /// Its plan, as it is typed in the tree.
    pub plan: &'a str,
    /// The branch that its work goes to.
    pub branch: &'a str,
    /// The commit that it began with.
    pub base: &'a str,
    /// The workspace that it belongs to.
    pub origin: &'a str,
    pub ports: &'a [u16],
}

impl Pointer<'_> {
    /// The text of the file.
    pub fn text(&self) -> String {
        let Self { name, plan, branch, base, origin, ports } = self;
        let base = base.get(..12).unwrap_or(base);
        let ports = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        let ports = if ports.is_empty() { String::new() } else { format!("- ports: {ports}\n") };
        format!(
            "# The tree `{name}`\n\n\
             This folder is a working copy for one plan. Nothing in this file is committed.\n\n\
             - plan: {plan}\n- branch: {branch}\n- began with: {base}\n- belongs to: {origin}\n{ports}\n\
             To go on here:\n\n    planwright status\n    planwright run {}\n\n\
             To find back here from {origin}:\n\n    cd \"$(planwright worktree path {name})\"\n",
            typed(&[plan])
        )
    }
}

/// Words as they are typed into a shell.
pub fn typed(words: &[&str]) -> String {
    let is_plain = |word: &str| {
        !word.is_empty()
            && word.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_./:=@+,".contains(sign))
    };
    let typed = words.iter().map(|word| match is_plain(word) {
        true => (*word).to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    });
    typed.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
