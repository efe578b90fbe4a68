//! Finds the plans that can be merged, the repositories that contain their work, and the merge order.

use std::path::{Path, PathBuf};

use planwright_core::plan::digest::Digest;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::run::event::{Event, StepEvent};
use planwright_core::syntax::glob::Glob;
use planwright_core::syntax::source::Source;
use planwright_core::workspace::portfolio::{PlanNode, PlanProgress, key, merge_order};

use super::{Error, HeldPlan, MergeAction, MergeOptions, PlannedMerge};
use crate::approval::Approvals;
use crate::git::base;
use crate::git::merge_driver::PATTERNS;
use crate::git::repository::{BRANCH_PREFIX, OwnedRefs, REF_NAMESPACE};
use crate::run::Run;
use crate::run::mirror::written_files;
use crate::store::plan_count::{parse, trusted};
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::store::worktree_registry;
use crate::store::worktree_registry::RegisteredWorktree;
use crate::system::process::Repository;
use crate::workspace::repository_set;

/// What git leaves in its directory during an operation, and the operation.
const UNDER_WAY: &[(&str, &str)] = &[
    ("MERGE_HEAD", "a merge"),
    ("CHERRY_PICK_HEAD", "a cherry-pick"),
    ("REVERT_HEAD", "a revert"),
    ("rebase-merge", "a rebase"),
    ("rebase-apply", "a rebase"),
];

/// Files next to plans that planwright appends to and that no verdict depends on.
const GROWING: &[&str] = &["progress*.md", ".pi/plans/sessions/*.jsonl"];
/// The references to work taken from worktrees.
const TAKEN_UP: &str = "refs/planwright/taken-up/";
/// How much of a file is compared.
const TEXT_BYTES_MAX: u64 = 64 << 20;

/// A repository that plans are merged in.
pub(super) struct Repo {
    /// Its name in the settings; `None`: the project's own.
    pub(super) name: Option<String>,
    /// The root of the project, or the top of the other repository.
    pub(super) root: PathBuf,
    /// The name of its directory.
    pub(super) folder: String,
    pub(super) keep: OwnedRefs,
    /// The branch that plans are merged into.
    pub(super) branch: String,
    /// The commit of the branch.
    pub(super) head: String,
    /// Whether its files are in the workspace and follow.
    pub(super) is_checked_out: bool,
}

/// A plan that can be merged.
pub(super) struct MergeCandidate {
    pub(super) name: String,
    /// Relative to the root of the project.
    pub(super) path: PathBuf,
    /// Its finished run.
    pub(super) run: Run,
    /// Its branch, the same in every repository.
    pub(super) branch: String,
    /// The commit of the branch in each repository; `None` where it has none.
    pub(super) tips: Vec<Option<String>>,
    /// How many lines it changes.
    pub(super) lines: u64,
    /// The plans it declares to depend on.
    pub(super) depends_on: Vec<String>,
    /// Those of them in the batch, by index.
    pub(super) after: Vec<usize>,
}

impl MergeCandidate {
    /// The commit of its work in the first repository that contains any.
    pub(super) fn tip(&self) -> &str {
        self.tips.iter().flatten().next().map_or("", String::as_str)
    }
}

/// Everything to be merged.
pub(super) struct Batch {
    /// The project's own first.
    pub(super) repositories: Vec<Repo>,
    /// In merge order.
    pub(super) members: Vec<MergeCandidate>,
    /// Recently merged plans, the last first: what they proved must still hold.
    pub(super) guards: Vec<MergeCandidate>,
    /// Plans that must wait.
    pub(super) held: Vec<HeldPlan>,
    /// Plans whose work is already there.
    pub(super) already: Vec<String>,
}

impl Batch {
    /// The order, and the reasons for it.
    pub(super) fn order(&self) -> Vec<PlannedMerge> {
        let planned = self.members.iter().map(|member| {
            let parts = self.repositories.iter().zip(&member.tips).filter(|(_, tip)| tip.is_some());
            PlannedMerge {
                plan: member.name.clone(),
                path: member.path.clone(),
                branch: member.branch.clone(),
                tip: member.tip().to_owned(),
                lines: member.lines,
                after: member.after.iter().map(|&place| self.members[place].name.clone()).collect(),
                repositories: parts.filter_map(|(repo, _)| repo.name.clone()).collect(),
            }
        });
        planned.collect()
    }
}

pub(super) fn batch(decisions: &Approvals, options: &MergeOptions) -> Result<Batch, Error> {
    let project = decisions.runs().project();
    let own = repo(&project.root, None, options.into.as_deref())?;
    let mut gathering =
        Gathering { decisions, options, repositories: vec![own], trees: worktree_registry::trees() };
    let all = project.plans()?;
    let is_named = !options.plans.is_empty();
    let (mut members, mut held, mut already) = (Vec::new(), Vec::new(), Vec::new());
    let mut guards = Vec::new();
    for path in if is_named { &options.plans } else { &all } {
        match gathering.look(path)? {
            Look::Work(candidate) => members.push(*candidate),
            Look::Held(why) => held.push(HeldPlan { plan: plan_file::name(path), why }),
            Look::Already { at_ms, candidate } => {
                already.push(candidate.name.clone());
                guards.push((at_ms, *candidate));
            }
            Look::NotDone(_) | Look::Nothing(_) if !is_named => {}
            Look::NotDone(state) => return Err(Error::NotDone { plan: plan_file::name(path), state }),
            Look::Nothing(branch) => return Err(Error::NoWork { plan: plan_file::name(path), branch }),
        }
    }
    if is_named {
        for path in all.iter().filter(|path| !options.plans.contains(path)) {
            if let Look::Already { at_ms, candidate } = gathering.look(path)? {
                guards.push((at_ms, *candidate));
            }
        }
    }
    guards.sort_by_key(|(at_ms, _)| std::cmp::Reverse(*at_ms));
    guards.truncate(project.config.merge.guards);
    let guards = guards.into_iter().map(|(_, guard)| guard).collect();
    let repositories = gathering.repositories.len();
    for member in &mut members {
        member.tips.resize(repositories, None);
    }
    gathering.add_beginnings(&mut members)?;
    // A plan that needs a waiting plan must wait as well.
    while let Some((place, why)) = gathering.first_held(&members, &all)? {
        held.push(HeldPlan { plan: members.remove(place).name, why });
    }
    let members = ordered(members)?;
    Ok(Batch { repositories: gathering.repositories, members, guards, held, already })
}

fn ordered(members: Vec<MergeCandidate>) -> Result<Vec<MergeCandidate>, Error> {
    let entry = |member: &MergeCandidate| PlanNode {
        name: member.name.clone(),
        status: PlanProgress::Done,
        depends_on: member.depends_on.clone(),
        touches: None,
        size: member.lines,
    };
    let order = merge_order(&members.iter().map(entry).collect::<Vec<_>>())?;
    let mut places: Vec<Option<MergeCandidate>> = members.into_iter().map(Some).collect();
    let mut members: Vec<MergeCandidate> =
        order.into_iter().filter_map(|place| places[place].take()).collect();
    let names: Vec<String> = members.iter().map(|member| key(&member.name).to_owned()).collect();
    for member in &mut members {
        let place = |name: &String| names.iter().position(|other| other == key(name));
        member.after = member.depends_on.iter().filter_map(place).collect();
    }
    Ok(members)
}

/// What a plan is to a merge.
enum Look {
    Work(Box<MergeCandidate>),
    Held(String),
    /// Its work is already there.
    Already {
        /// Since when, as far as that is recorded.
        at_ms: u64,
        candidate: Box<MergeCandidate>,
    },
    NotDone(PlanState),
    /// It has no branch of this name.
    Nothing(String),
}

struct Gathering<'a> {
    decisions: &'a Approvals,
    options: &'a MergeOptions,
    repositories: Vec<Repo>,
    trees: Vec<RegisteredWorktree>,
}

impl Gathering<'_> {
    fn look(&mut self, path: &Path) -> Result<Look, Error> {
        let plan = self.decisions.runs().relative(path);
        let name = plan_file::name(path);
        let case = self.decisions.case_of(plan.clone())?;
        let into = &self.repositories[0].branch;
        let merged = case.standing.merged.as_ref().filter(|merged| merged.into == *into);
        let at_ms = merged.map(|merged| merged.at_ms);
        let run = match (case.state(), case.run) {
            (PlanState::Done, Some(run)) => run,
            (state, _) => return Ok(Look::NotDone(state)),
        };
        let branch = match (self.branch(&plan, &name)?, at_ms) {
            (Some(branch), _) => branch,
            // The branch of a plan whose work is there was removed.
            (None, Some(_)) => format!("{BRANCH_PREFIX}{name}"),
            (None, None) => return Ok(Look::Nothing(format!("{BRANCH_PREFIX}{name}"))),
        };
        let source = run.row.source();
        let beside = match &source {
            Some(source) => repository_set::of(self.decisions.runs().project(), source)?,
            None => Vec::new(),
        };
        let mut places = vec![0];
        for other in beside {
            places.push(self.place_of(&other)?);
        }
        let mut candidate = MergeCandidate {
            name,
            path: plan,
            branch,
            tips: vec![None; self.repositories.len()],
            lines: 0,
            depends_on: source.map(|source| depends_on(&source)).unwrap_or_default(),
            after: Vec::new(),
            run,
        };
        for place in places {
            match self.tip(&candidate, place)? {
                Ok(tip) => candidate.tips[place] = tip,
                Err(why) => return Ok(Look::Held(why)),
            }
            if let Some(tip) = &candidate.tips[place] {
                let repo = &self.repositories[place];
                let fork = repo.keep.fork(&repo.head, tip)?.unwrap_or_else(|| repo.head.clone());
                candidate.lines += repo.keep.size(&fork, tip)?;
            }
        }
        let has_work = candidate.tips.iter().any(Option::is_some);
        let candidate = Box::new(candidate);
        Ok(match has_work {
            true => Look::Work(candidate),
            false => Look::Already { at_ms: at_ms.unwrap_or_default(), candidate },
        })
    }

    /// The branch of a plan: that of its worktree, or the one named after it.
    fn branch(&self, plan: &Path, name: &str) -> Result<Option<String>, Error> {
        let keep = &self.repositories[0].keep;
        let of_tree = self.tree(keep, plan).and_then(|tree| tree.branch.as_deref());
        if let Some(branch) = of_tree {
            return Ok(Some(branch.trim_start_matches("refs/heads/").to_owned()));
        }
        for name in [name, key(name)] {
            let branch = format!("{BRANCH_PREFIX}{name}");
            if exact(keep, &branch)?.is_some() {
                return Ok(Some(branch));
            }
        }
        Ok(None)
    }

    fn tree(&self, keep: &OwnedRefs, plan: &Path) -> Option<&RegisteredWorktree> {
        // A plan of another project may have the same name, and a worktree of this repository next to its
        // own.
        let own = &self.decisions.runs().project().root;
        let is_its = |tree: &&RegisteredWorktree| {
            tree.plan.as_deref() == Some(plan)
                && tree.repository == keep.common()
                && tree.owner.as_ref().is_none_or(|owner| owner == own)
        };
        self.trees.iter().find(|tree| is_its(tree) && tree.branch.is_some())
    }

    /// Makes plans depend on those whose work theirs started with: it would be merged with them, whatever
    /// became of the others.
    fn add_beginnings(&self, members: &mut [MergeCandidate]) -> Result<(), Error> {
        let Repo { keep, head, .. } = &self.repositories[0];
        let base =
            |member: &MergeCandidate| self.tree(keep, &member.path).map_or(head, |tree| &tree.base).clone();
        let all: Vec<(String, String, Option<String>)> = members
            .iter()
            .map(|member| (member.name.clone(), base(member), member.tips[0].clone()))
            .collect();
        for member in members {
            let own = base(member);
            if keep.is_ancestor(&own, head)? {
                continue;
            }
            for (name, begun, tip) in all.iter().filter(|(name, ..)| *name != member.name) {
                let Some(shared) = tip.as_ref().map(|tip| keep.fork(&own, tip)).transpose()?.flatten() else {
                    continue;
                };
                // Two plans that started with the same third one contain nothing of each other.
                let is_theirs = shared != *begun && !keep.is_ancestor(&shared, head)?;
                let is_known = member.depends_on.iter().any(|other| key(other) == key(name));
                if is_theirs && !is_known && !keep.is_ancestor(&shared, begun)? {
                    member.depends_on.push(name.clone());
                }
            }
        }
        Ok(())
    }

    /// The index of a repository among those that are merged into.
    fn place_of(&mut self, beside: &repository_set::OtherRepository) -> Result<usize, Error> {
        if let Some(place) = self.repositories.iter().position(|repo| repo.root == beside.root) {
            return Ok(place);
        }
        let other = repo(&beside.root, Some(beside.name.clone()), self.options.into.as_deref())?;
        self.repositories.push(other);
        Ok(self.repositories.len() - 1)
    }

    /// The commit of a plan's work that is not in the branch yet, or why it cannot be merged. Changes in its
    /// worktree are committed to its branch first.
    fn tip(&self, plan: &MergeCandidate, place: usize) -> Result<Result<Option<String>, String>, Error> {
        let repo = &self.repositories[place];
        let mut tip = exact(&repo.keep, &plan.branch)?;
        if let Some(tree) = self.tree(&repo.keep, &plan.path).filter(|tree| tree.path.is_dir()) {
            match self.caught_up(plan, (repo, place), tree, tip.as_deref())? {
                Ok(now) => tip = Some(now),
                Err(why) => return Ok(Err(why)),
            }
        }
        let Some(tip) = tip else { return Ok(Ok(None)) };
        if place == 0 && is_rewritten(repo, plan, &tip)? {
            return Ok(Err(format!("its plan on {} differs from what was approved", plan.branch)));
        }
        Ok(Ok((!repo.keep.is_ancestor(&tip, &repo.head)?).then_some(tip)))
    }

    /// The commit of a plan's branch with everything in its worktree.
    fn caught_up(
        &self,
        plan: &MergeCandidate,
        (repo, place): (&Repo, usize),
        tree: &RegisteredWorktree,
        tip: Option<&str>,
    ) -> Result<Result<String, String>, Error> {
        let parent = tip.unwrap_or(&tree.base).to_owned();
        let lies_there = repo.keep.snapshot_tree(&tree.path, &parent, &[])?;
        let changed = repo.keep.changed(&parent, &lies_there)?;
        if changed.is_empty() {
            return Ok(Ok(parent));
        }
        // The worktree starts with its base, or with what planwright made of it: commits that others put on
        // the branch are not in it, and a snapshot would revert them.
        let is_known =
            parent == tree.base || repo.keep.list(REF_NAMESPACE)?.iter().any(|(_, commit)| *commit == parent);
        if !is_known {
            return Ok(Err(format!(
                "its branch {} has commits that are missing from its worktree {}",
                plan.branch,
                tree.path.display()
            )));
        }
        let part = repo.keep.part();
        let is_judged = || -> Result<bool, Error> {
            let judged = plan.run.events.iter().rev().find_map(|recorded| {
                let Event::Step { event: StepEvent::Judged { receipt, .. }, .. } = &recorded.event else {
                    return None;
                };
                Some(receipt.tree.clone())
            });
            let source = plan.run.row.source();
            let own = source.map(|source| written_files(&plan.path, &source)).unwrap_or_default();
            Ok(judged == Some(base::tree_of_workspace(&tree.path.join(part), &own)?))
        };
        let is_plan = |path: &String| within(part, path).is_some_and(|path| path.starts_with(&plan.path));
        if place == 0
            && changed.iter().any(is_plan)
            && !self.says_what_was_approved(plan, &tree.path.join(part))
        {
            return Ok(Err(format!(
                "its plan in {} differs from what was approved: restore it, or approve and run it again",
                tree.path.display()
            )));
        }
        let is_own = |path: &String| {
            is_plan(path)
                || within(part, path).is_some_and(|inner| has_grown(repo, tree, &parent, (inner, path)))
        };
        // Work in another repository was never covered by receipts; the contracts judge it now.
        if place == 0 && !changed.iter().all(is_own) && !is_judged()? {
            let named = changed.iter().filter(|path| !is_own(path)).take(5).cloned().collect::<Vec<_>>();
            return Ok(Err(format!(
                "its worktree {} has changes that no contract has checked: {} (undo them there, or commit them elsewhere)",
                tree.path.display(),
                named.join(", ")
            )));
        }
        let message = format!("{}: changes in its worktree", plan.name);
        let commit = repo.keep.commit(&lies_there, &[&parent], &message)?;
        let reference = format!("refs/heads/{}", plan.branch);
        if self.options.act == MergeAction::Land {
            // The worktree contains all of this commit: later changes there come after it.
            let known = format!("{TAKEN_UP}{}", plan.branch);
            repo.keep.set(&known, &commit, repo.keep.get(&known)?.as_deref())?;
        }
        if self.options.act == MergeAction::Land && !repo.keep.set(&reference, &commit, tip)? {
            return Ok(Err(format!("its branch {} changed during the merge", plan.branch)));
        }
        Ok(Ok(commit))
    }

    /// Whether the plan in a worktree means what was approved, whatever its marks say.
    fn says_what_was_approved(&self, plan: &MergeCandidate, root: &Path) -> bool {
        let reading = self.decisions.runs().project().reading();
        match plan_file::read(&root.join(&plan.path), &plan.name, reading) {
            Ok(FileText::Plan(source)) => is_approved(plan, &source),
            Ok(FileText::Unreadable(_)) | Err(_) => false,
        }
    }

    /// The first plan that depends on one that is neither merged nor in the batch.
    fn first_held(
        &self,
        members: &[MergeCandidate],
        all: &[PathBuf],
    ) -> Result<Option<(usize, String)>, Error> {
        for (place, member) in members.iter().enumerate() {
            for name in &member.depends_on {
                if members.iter().any(|other| key(&other.name) == key(name)) {
                    continue;
                }
                let known = all.iter().find(|path| key(&plan_file::name(path)) == key(name));
                let Some(path) = known else {
                    return Ok(Some((place, format!("depends on {name}, which was not found"))));
                };
                if let Some(why) = self.missing(path)? {
                    return Ok(Some((place, format!("depends on {name}, which {why}"))));
                }
            }
        }
        Ok(None)
    }

    /// What is missing before a plan that depends on this one could be merged.
    fn missing(&self, path: &Path) -> Result<Option<String>, Error> {
        let plan = self.decisions.runs().relative(path);
        let state = self.decisions.case_of(plan.clone())?.state();
        if state != PlanState::Done {
            return Ok(Some(format!("is {state}")));
        }
        let own = &self.repositories[0];
        let Some(branch) = self.branch(&plan, &plan_file::name(path))? else { return Ok(None) };
        let tip = exact(&own.keep, &branch)?;
        let is_there = tip.is_none_or(|tip| own.keep.is_ancestor(&tip, &own.head).unwrap_or(false));
        Ok((!is_there).then(|| "is not merged".to_owned()))
    }
}

/// The plans that a plan declares to depend on.
fn depends_on(source: &Source) -> Vec<String> {
    parse(source).depends_on.into_iter().map(|name| name.value).collect()
}

/// Whether the text of a plan means what was approved.
fn is_approved(plan: &MergeCandidate, source: &Source) -> bool {
    trusted(source).is_some_and(|read| Digest::of(&read).to_string() == plan.run.row.digest)
}

/// Whether a branch contains another text of its plan than the approved one.
fn is_rewritten(repo: &Repo, plan: &MergeCandidate, tip: &str) -> Result<bool, Error> {
    let path = repo.keep.part().join(&plan.path).to_string_lossy().into_owned();
    let (Some(text), Some(approved)) = (repo.keep.text_of(tip, &path)?, plan.run.row.source()) else {
        return Ok(false);
    };
    let began = match repo.keep.fork(&repo.head, tip)? {
        Some(fork) => repo.keep.text_of(&fork, &path)?,
        None => None,
    };
    let brought =
        Source::new(&plan.name, &text).at(plan.path.to_string_lossy()).written_in(approved.dialect());
    Ok(began.as_ref() != Some(&text) && !is_approved(plan, &brought))
}

/// Whether a file of a worktree is one that planwright appends to, and was only appended to.
fn has_grown(repo: &Repo, tree: &RegisteredWorktree, parent: &str, (inner, path): (&Path, &str)) -> bool {
    let (Ok(before), Ok(now)) =
        (repo.keep.text_of(parent, path), plan_file::read_text(&tree.path.join(path), TEXT_BYTES_MAX))
    else {
        return false;
    };
    is_any_of(GROWING, inner) && now.starts_with(&before.unwrap_or_default())
}

/// A path of a repository relative to the project in this part of it.
fn within<'a>(part: &Path, path: &'a str) -> Option<&'a Path> {
    Path::new(path).strip_prefix(part).ok()
}

/// Whether a path of a repository is a plan's own file, or one that is kept next to plans.
pub(super) fn is_record(part: &Path, plan: &Path, path: &str) -> bool {
    within(part, path).is_some_and(|path| path.starts_with(plan) || is_any_of(PATTERNS, path))
}

/// Whether a path of a project matches one of these patterns.
fn is_any_of(patterns: &[&str], path: &Path) -> bool {
    let (full, name) = (path.to_string_lossy(), path.file_name().unwrap_or_default().to_string_lossy());
    patterns.iter().any(|pattern| {
        let text = if pattern.contains('/') { &full } else { &name };
        Glob::new(pattern).is_ok_and(|glob| glob.matches(text))
    })
}

/// The commit of the branch with exactly this name.
pub(super) fn exact(keep: &OwnedRefs, branch: &str) -> Result<Option<String>, Error> {
    let reference = format!("refs/heads/{branch}");
    let found = keep.list(&reference)?.into_iter().find(|(name, _)| *name == reference);
    Ok(found.map(|(_, commit)| commit))
}

/// A repository and its branch that plans are merged into.
fn repo(root: &Path, name: Option<String>, into: Option<&str>) -> Result<Repo, Error> {
    let keep = OwnedRefs::of(root)?;
    let current = base::of(root)?.and_then(|base| base.branch);
    let no_branch = || Error::NoBranch { root: root.to_owned() };
    let branch = into.map(str::to_owned).or_else(|| current.clone()).ok_or_else(no_branch)?;
    let unknown = || Error::UnknownBranch { branch: branch.clone(), root: root.to_owned() };
    let head = exact(&keep, &branch)?.ok_or_else(unknown)?;
    let is_checked_out = current.as_deref() == Some(branch.as_str());
    let repository = base::repository(root)?.ok_or_else(no_branch)?;
    if let Some(path) = elsewhere(&repository, &keep, &branch)? {
        return Err(Error::Elsewhere { branch, path });
    }
    if is_checked_out && let Some(act) = under_way(&repository)? {
        return Err(Error::Busy { act, root: root.to_owned() });
    }
    let folder = keep.top().file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Repo { name, root: root.to_owned(), folder, keep, branch, head, is_checked_out })
}

/// Another working copy of the user in which the branch is checked out.
fn elsewhere(repository: &Repository, keep: &OwnedRefs, branch: &str) -> Result<Option<PathBuf>, Error> {
    let answer = repository.ask(&["worktree", "list", "--porcelain"]).map_err(base::Error::from)?;
    let wanted = format!("branch refs/heads/{branch}");
    let text = answer.text();
    let copies = text.split("\n\n").filter(|copy| copy.lines().any(|line| line == wanted));
    let paths = copies.filter_map(|copy| copy.lines().next()?.strip_prefix("worktree "));
    Ok(paths.map(PathBuf::from).find(|path| path.canonicalize().ok().as_deref() != Some(keep.top())))
}

/// The git operation in progress.
fn under_way(repository: &Repository) -> Result<Option<&'static str>, Error> {
    let mut words = vec!["rev-parse", "--path-format=absolute"];
    for (file, _) in UNDER_WAY {
        words.extend(["--git-path", file]);
    }
    let text = repository.ask(&words).map_err(base::Error::from)?.text();
    let found = text.lines().zip(UNDER_WAY).find(|(path, _)| Path::new(path).exists());
    Ok(found.map(|(_, (_, act))| *act))
}
