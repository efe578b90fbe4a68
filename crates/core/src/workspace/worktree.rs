//! Worktrees of plans: their names, their states, and which of them may be reclaimed. Decides by facts that
//! the caller collected; what is unknown never counts as empty.

use std::fmt;

use crate::dialect::named::{self, BadSlug};
use crate::plan::draft::Draft;
use crate::syntax::count::number;

/// A git reference must not end with this.
const LOCK_ENDING: &str = ".lock";
/// How many files and commits a message lists.
const NAMED_MAX: usize = 5;

/// The name of a worktree: one path component, and part of a branch name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorktreeName(String);

impl WorktreeName {
    pub fn of(text: &str) -> Result<Self, BadName> {
        let slug = named::slug(text).map_err(BadName::Slug)?;
        let name = slug.as_str();
        match name.contains("..") || name.to_ascii_lowercase().ends_with(LOCK_ENDING) {
            true => Err(BadName::Branch(name.to_owned())),
            false => Ok(Self(name.to_owned())),
        }
    }

    /// The default name for a plan's worktree: the plan's name without invalid characters.
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

impl fmt::Display for WorktreeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BadName {
    /// It isn't a valid plan name either.
    Slug(BadSlug),
    /// Not a valid branch name in git.
    Branch(String),
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Slug(bad) => write!(f, "invalid worktree name: {bad}"),
            Self::Branch(name) => write!(
                f,
                "invalid worktree name {name:?}: a branch name cannot contain `..` or end with `.lock`"
            ),
        }
    }
}

impl std::error::Error for BadName {}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WorktreeState {
    /// It is in use, or about to be.
    Active,
    /// Its work is merged, but it was not removed.
    Merged,
    /// Its plan or its directory is missing, or it isn't registered.
    Orphaned,
    /// Its marker names a plan that doesn't exist.
    Dangling,
}

impl WorktreeState {
    pub const ALL: [Self; 4] = [Self::Active, Self::Merged, Self::Orphaned, Self::Dangling];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Merged => "merged",
            Self::Orphaned => "orphaned",
            Self::Dangling => "dangling",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreatedBy {
    /// planwright: it has its own git directory.
    Planwright,
    /// The user, with `git worktree`.
    Git,
}

/// What is at the path of a worktree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreeFolder {
    There,
    Absent,
    /// A link or a file, not what was created.
    Other,
}

/// Whether the plan of a worktree exists in the worktree's workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorktreePlan {
    There,
    Gone,
    /// The worktree has no plan, or an unknown one.
    Unsaid,
}

/// How much of a worktree's work is in the user's repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Landing {
    /// There is no work yet.
    Nothing,
    /// On the plan's branch.
    OnBranch,
    /// Merged into what the user works with.
    Landed,
}

/// What would be lost with a worktree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorktreeWork {
    /// Files that are in no commit of the user's repository.
    pub files: Vec<String>,
    /// Commits that aren't in the user's repository.
    pub commits: Vec<String>,
    /// Why it can't be determined.
    pub unknown: Option<String>,
}

impl WorktreeWork {
    pub fn is_nothing(&self) -> bool {
        self.files.is_empty() && self.commits.is_empty() && self.unknown.is_none()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreeFacts {
    pub maker: CreatedBy,
    /// To the registry, or to git.
    pub is_known: bool,
    pub folder: WorktreeFolder,
    pub plan: WorktreePlan,
    /// The name in its marker, if no plan has that name.
    pub dangling: Option<String>,
    pub landing: Landing,
    /// What would be lost with it.
    pub work: WorktreeWork,
    /// Who is working in it now.
    pub busy: Option<String>,
    /// The project whose worktree it was created with, if that exists: both are removed together.
    pub beside: Option<String>,
}

/// Whether a worktree may be reclaimed automatically.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PruneDecision {
    /// Nothing would be lost.
    Safe,
    Kept {
        why: KeepReason,
    },
}

/// Why a worktree is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeepReason {
    /// The user created it with git.
    Yours,
    /// Somebody is working in it.
    Busy(String),
    /// Something else is at its path.
    Other,
    /// Work would be lost.
    Work(WorktreeWork),
    Active,
    /// Its marker names a plan that doesn't exist, possibly by a typo.
    Dangling(String),
    /// It belongs to the worktree of a plan in this project, and is removed with that.
    Beside(String),
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yours => write!(f, "you created it with `git worktree`"),
            Self::Busy(who) => write!(f, "in use by {who}"),
            Self::Other => write!(f, "its path is not a directory"),
            Self::Active => write!(f, "in use: its plan exists and its work is not merged"),
            Self::Dangling(name) => write!(f, "its marker names unknown plan `{name}`"),
            Self::Beside(root) => {
                write!(f, "it belongs to a plan of {root} and is removed with that plan's worktree")
            }
            Self::Work(work) => match &work.unknown {
                Some(unknown) => write!(f, "cannot determine what would be lost: {unknown}"),
                None => write!(f, "{}", lost(work)),
            },
        }
    }
}

fn lost(work: &WorktreeWork) -> String {
    let named = |all: &[String]| {
        let more = all.len().saturating_sub(NAMED_MAX);
        let names = all.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
        if more == 0 { names } else { format!("{names} and {more} more") }
    };
    let files = (!work.files.is_empty())
        .then(|| format!("{}: {}", number(work.files.len(), "uncommitted file"), named(&work.files)));
    let commits = (!work.commits.is_empty()).then(|| {
        let count = number(work.commits.len(), "commit");
        format!("{count} not in your repository: {}", named(&work.commits))
    });
    files.into_iter().chain(commits).collect::<Vec<_>>().join("; ")
}

/// The state of a worktree. Merged work makes it merged, whatever happened to its plan since.
pub fn state(facts: &WorktreeFacts) -> WorktreeState {
    if !facts.is_known || facts.folder == WorktreeFolder::Absent {
        return WorktreeState::Orphaned;
    }
    match (facts.landing, facts.plan, &facts.dangling) {
        (Landing::Landed, ..) => WorktreeState::Merged,
        (Landing::Nothing | Landing::OnBranch, WorktreePlan::Gone, _) => WorktreeState::Orphaned,
        (Landing::Nothing | Landing::OnBranch, WorktreePlan::There | WorktreePlan::Unsaid, Some(_)) => {
            WorktreeState::Dangling
        }
        (Landing::Nothing | Landing::OnBranch, WorktreePlan::There | WorktreePlan::Unsaid, None) => {
            WorktreeState::Active
        }
    }
}

/// Whether a worktree may be reclaimed without being named.
pub fn prune(facts: &WorktreeFacts) -> PruneDecision {
    if let Err(why) = may_remove(facts) {
        return PruneDecision::Kept { why };
    }
    match (state(facts), &facts.dangling) {
        (WorktreeState::Active, _) => PruneDecision::Kept { why: KeepReason::Active },
        (WorktreeState::Dangling, name) => {
            PruneDecision::Kept { why: KeepReason::Dangling(name.clone().unwrap_or_default()) }
        }
        (WorktreeState::Merged | WorktreeState::Orphaned, _) => PruneDecision::Safe,
    }
}

/// Whether a worktree that the user named may be removed: nothing may be lost.
pub fn may_remove(facts: &WorktreeFacts) -> Result<(), KeepReason> {
    if let Some(root) = &facts.beside {
        return Err(KeepReason::Beside(root.clone()));
    }
    match (facts.maker, facts.folder, &facts.busy) {
        (CreatedBy::Git, ..) => Err(KeepReason::Yours),
        (CreatedBy::Planwright, _, Some(who)) => Err(KeepReason::Busy(who.clone())),
        (CreatedBy::Planwright, WorktreeFolder::Absent, None) => Ok(()),
        (CreatedBy::Planwright, WorktreeFolder::Other, None) => Err(KeepReason::Other),
        (CreatedBy::Planwright, WorktreeFolder::There, None) => match facts.work.is_nothing() {
            true => Ok(()),
            false => Err(KeepReason::Work(facts.work.clone())),
        },
    }
}

/// Whether two texts of a plan have the same meaning, apart from what planwright writes into one: marks and
/// the status.
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

/// The content of the file that helps people resume work in a worktree.
#[derive(Debug, Clone, Copy)]
pub struct WorktreePointer<'a> {
    pub name: &'a str,
    /// Its plan, as typed in the worktree.
    pub plan: &'a str,
    /// The branch that receives its work.
    pub branch: &'a str,
    pub base: &'a str,
    /// The workspace that it belongs to.
    pub origin: &'a str,
    pub ports: &'a [u16],
}

impl WorktreePointer<'_> {
    pub fn text(&self) -> String {
        let Self { name, plan, branch, base, origin, ports } = self;
        let base = base.get(..12).unwrap_or(base);
        let ports = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        let ports = if ports.is_empty() { String::new() } else { format!("- ports: {ports}\n") };
        format!(
            "# Worktree `{name}`\n\n\
             This directory is a working copy for one plan. This file is not committed.\n\n\
             - plan: {plan}\n- branch: {branch}\n- base: {base}\n- belongs to: {origin}\n{ports}\n\
             To resume work here:\n\n    planwright status\n    planwright run {}\n\n\
             To get here from {origin}:\n\n    cd \"$(planwright worktree path {name})\"\n",
            typed(&[plan])
        )
    }
}

/// Quotes words for a shell.
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
