//! Trees that begin with the work of other plans: those that are done, are not merged yet, and may have changed the same files. Work
//! that went on beside theirs could not land after it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::add::Beginning;
use super::inspect::{Look, progress_of};
use super::{Error, POINTER, Trees, marker};
use crate::git::repository::{Brought, Merged};
use crate::portfolio::board;
use crate::store::worktree_registry;
use crate::store::worktree_registry::Tree;
use crate::system::process::Repository;

impl Trees {
    /// A commit with what the plans have done that a plan comes after by what it touches. What can't be joined is left out, and
    /// said.
    pub(super) fn joined(&self, plan: &Path, from: &str) -> Result<Beginning, Error> {
        let mut begun = Beginning { commit: from.to_owned(), complaints: Vec::new() };
        let found = board::unlanded(&self.project, plan);
        // What is recorded of others may be broken; that is said by whoever looks at it, and holds nobody up.
        for (name, tip) in found.unwrap_or_default() {
            if self.keep.is_ancestor(&tip, &begun.commit)? {
                continue;
            }
            if self.keep.is_ancestor(&begun.commit, &tip)? {
                begun.commit = tip;
                continue;
            }
            match self.keep.merge(&begun.commit, &tip)? {
                Merged::Clean { tree } => {
                    let message = format!("Begin with the work of {name}");
                    begun.commit = self.keep.commit(&tree, &[&begun.commit, &tip], &message)?;
                }
                Merged::Conflict { paths, .. } => begun.complaints.push(format!(
                    "it begins without the work of {name}, which is done and not merged: {} can't be joined",
                    paths.join(", ")
                )),
            }
        }
        Ok(begun)
    }

    /// Brings the tree that a plan is about to be carried out in to the work of the plans that it comes after, if nothing was done
    /// in it yet. Says what could not be joined.
    pub fn catch_up(&self, plan: &Path) -> Result<Vec<String>, Error> {
        let plan = self.plan_in(plan)?;
        let is_its = |tree: &Tree| tree.owner.is_none() && tree.plan.as_ref() == Some(&plan);
        let Some(tree) = self.known().into_iter().find(|tree| is_its(tree) && tree.path.is_dir()) else {
            return Ok(Vec::new());
        };
        let Some(_turn) = self.notes.lock_tree(&tree.name)? else { return Ok(Vec::new()) };
        let branch = format!("refs/heads/{}", tree.branch.clone().unwrap_or_default());
        let tip = self.keep.get(&branch)?;
        let is_begun = tip.as_ref().is_some_and(|tip| *tip != tree.base);
        let look = Look::of(&self.project, &self.keep)?;
        if is_begun || !look.work(&tree.path, Some(&tree)).is_nothing() {
            return Ok(Vec::new());
        }
        let Beginning { commit, mut complaints } = self.joined(&plan, &tree.base)?;
        if commit == tree.base {
            return Ok(complaints);
        }
        let part = self.keep.part();
        let own = [PathBuf::from(marker::MARKER), PathBuf::from(POINTER), plan.clone()];
        let own: Vec<PathBuf> =
            own.into_iter().chain(progress_of(&plan)).map(|path| part.join(path)).collect();
        // The branch comes last: a tree that is behind its branch would take back what is there.
        match self.keep.bring(&tree.path, &tree.base, &commit, &own)? {
            Brought::Conflict { paths } => {
                complaints.push(format!("files of its tree are in the way: {}", paths.join(", ")));
                return Ok(complaints);
            }
            Brought::Done => {}
        }
        self.move_own(&tree, &commit)?;
        worktree_registry::register(&Tree { base: commit.clone(), ..tree })?;
        self.keep.set(&branch, &commit, tip.as_deref())?;
        Ok(complaints)
    }

    /// Has the git folder of a tree in which nothing was done stand at another commit, with objects of its own.
    fn move_own(&self, tree: &Tree, commit: &str) -> Result<(), Error> {
        let git = tree.path.join(".git");
        let borrowed = git.join("objects/info/alternates");
        let failed = |source| Error::File { path: borrowed.clone(), source };
        let mut objects = self.keep.common().join("objects").into_os_string().into_encoded_bytes();
        objects.push(b'\n');
        let lend = || -> io::Result<()> {
            let mut file = std::fs::OpenOptions::new().write(true).create_new(true).open(&borrowed)?;
            file.write_all(&objects)
        };
        lend().map_err(failed)?;
        let own = Repository { tree: tree.path.clone(), git };
        let branch = format!("refs/heads/{}", tree.branch.clone().unwrap_or_default());
        let told = (|| {
            for words in
                [&["update-ref", &branch, commit][..], &["read-tree", commit], &["repack", "-a", "-d", "-q"]]
            {
                if own.ask(words)?.code != Some(0) {
                    return Err(Error::NoGit { path: tree.path.clone() });
                }
            }
            Ok(())
        })();
        // Nothing in a tree leads to the user's repository for longer than it takes to copy what it needs.
        std::fs::remove_file(&borrowed).map_err(failed)?;
        told
    }
}
