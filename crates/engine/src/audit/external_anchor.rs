//! Heads kept outside the database: in the file next to it and, on request, in the repository. Rewriting the
//! database means rewriting these as well, and copies that others fetched stay out of reach.

use std::collections::BTreeMap;
use std::path::Path;

use planwright_core::audit::bundle::{Anchor, AuditBundle, head_of_heads};
use planwright_core::audit::{KeptHead, Kind};

use super::Error;
use crate::git::base;
use crate::store::journal::{Anchored, Store};
use crate::system::process::{GitOutput, Repository};
use crate::workspace::project::Project;

/// The first line of an anchor in a repository.
const FIRST: &str = "planwright anchor 1";
/// The name of the file next to the database, for people.
pub(super) const FILE: &str = "the anchor file";
const REF: &str = "refs/planwright/anchor";
const NOTES: &str = "refs/notes/planwright";
/// The most git notes that are read.
const NOTES_MAX: usize = 64;

/// Where in a repository heads are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnchorRefs {
    Ref,
    Note,
}

/// All heads kept outside the database.
#[derive(Debug, Default)]
pub(super) struct Beyond {
    /// The contents of the file next to the database.
    pub(super) anchored: Anchored,
    /// All heads, by book, each with its place.
    pub(super) kept: BTreeMap<(&'static str, i64), Vec<KeptHead>>,
    /// Unusable anchors, and why.
    pub(super) faults: Vec<(Kind, String, String)>,
    /// The places that had something.
    places: Vec<String>,
}

impl Beyond {
    pub(super) fn read(store: Option<&Store>, root: &Path) -> Result<Self, Error> {
        let mut beyond = Self::default();
        let mut identity = None;
        if let Some(store) = store {
            beyond.anchored = store.anchored()?;
            beyond.take(FILE, beyond.anchored.anchors.clone());
            identity = Some(store.identity()?);
        }
        // If git cannot be run, it keeps nothing: a project need not be a repository.
        if let Ok(Some(repository)) = base::repository(root) {
            for (place, text) in texts(&repository) {
                beyond.take_text(place, &text, identity.as_deref());
            }
        }
        Ok(beyond)
    }

    fn take(&mut self, by: &str, anchors: Vec<Anchor>) {
        if !anchors.is_empty() {
            self.places.push(by.to_owned());
        }
        for anchor in anchors {
            let kept = self.kept.entry(anchor.book.key()).or_default();
            kept.push(KeptHead { anchor, by: by.to_owned() });
        }
    }

    fn take_text(&mut self, place: String, text: &str, identity: Option<&str>) {
        match read(text) {
            None => {
                let why = "not an anchor of planwright".to_owned();
                self.faults.push((Kind::AnchorUnreadable, place, why));
            }
            // A clone that never saw the store can only compare the files next to the code.
            Some((store, _)) if identity.is_some_and(|identity| identity != store) => {
                let why = "the anchor belongs to another store".to_owned();
                self.faults.push((Kind::OtherStore, place, why));
            }
            Some((_, anchors)) => self.take(&place, anchors),
        }
    }

    /// The places of anchors, for people.
    pub(super) fn words(&self) -> Vec<String> {
        self.places.clone()
    }

    /// The heads of the books of one plan.
    pub(super) fn of(&self, bundle: &AuditBundle) -> Vec<KeptHead> {
        let heads = bundle.heads();
        heads.iter().filter_map(|head| self.kept.get(&head.book.key())).flatten().cloned().collect()
    }
}

/// Keeps the heads of all books in the repository, and returns the combined hash and its place. After an
/// audit with findings nothing is kept: it would count as the truth from then on.
pub fn keep(project: &Project, place: AnchorRefs, findings: usize) -> Result<(String, String), Error> {
    if findings > 0 {
        return Err(Error::Found(findings));
    }
    let root = &project.root;
    let repository =
        base::repository(root)?.ok_or_else(|| base::Error::NoRepository { root: root.clone() })?;
    let store = Store::exists(root)?.then(|| Store::open(root)).transpose()?.ok_or(Error::NoRecord)?;
    let mut ends = store.ends()?;
    ends.sort_by_key(Anchor::line);
    let head = head_of_heads(&ends).to_hex().to_string();
    let text = written(&store.identity()?, &ends);
    // Git reads it from a file of ours, so neither the workspace nor a filter is involved.
    let file = store.folder().join("anchor.txt");
    crate::store::plan_file::fill_or_create(&file, &text)?;
    let path = file.to_string_lossy().into_owned();
    let blob =
        asked(&repository, "keep the heads", &["hash-object", "-w", "--no-filters", "--", &path])?.text();
    match place {
        AnchorRefs::Ref => {
            let words = ["update-ref", "--create-reflog", "-m", "planwright audit", REF, &blob];
            asked(&repository, "set the ref", &words)?;
            Ok((head, REF.to_owned()))
        }
        AnchorRefs::Note => {
            let words = [
                "-c",
                "user.name=planwright",
                "-c",
                "user.email=planwright@localhost",
                "notes",
                "--ref",
                NOTES,
                "add",
                "-f",
                "-C",
                &blob,
                "HEAD",
            ];
            asked(&repository, "write the note", &words)?;
            Ok((head, format!("{NOTES} on HEAD")))
        }
    }
}

fn asked(repository: &Repository, act: &'static str, words: &[&str]) -> Result<GitOutput, Error> {
    let answer = repository.ask(words).map_err(base::Error::Process)?;
    match answer.code {
        Some(0) => Ok(answer),
        Some(_) | None => {
            let said = answer.stderr.lines().next().unwrap_or("git gave no reason").to_owned();
            Err(base::Error::Git { act, tree: repository.tree.clone(), said }.into())
        }
    }
}

fn written(identity: &str, ends: &[Anchor]) -> String {
    let lines: String = ends.iter().map(|end| end.line() + "\n").collect();
    format!("{FIRST}\nstore {identity}\n{lines}head {}\n", head_of_heads(ends).to_hex())
}

/// The store and the heads in a text; `None` if it is not ours or was changed.
fn read(text: &str) -> Option<(String, Vec<Anchor>)> {
    let mut lines = text.lines();
    (lines.next()? == FIRST).then_some(())?;
    let store = lines.next()?.strip_prefix("store ")?.to_owned();
    let mut lines: Vec<&str> = lines.collect();
    let head = lines.pop()?.strip_prefix("head ")?;
    let anchors = lines.into_iter().map(Anchor::read).collect::<Option<Vec<_>>>()?;
    (head_of_heads(&anchors).to_hex().as_str() == head).then_some((store, anchors))
}

/// The anchors in a repository, each with its place.
fn texts(repository: &Repository) -> Vec<(String, String)> {
    let text = |object: &str| {
        let answer = repository.ask(&["cat-file", "blob", object]).ok()?;
        (answer.code == Some(0)).then(|| String::from_utf8_lossy(&answer.stdout).into_owned())
    };
    let listed = |words: &[&str]| match repository.ask(words) {
        Ok(answer) if answer.code == Some(0) => answer.text(),
        Ok(_) | Err(_) => String::new(),
    };
    let mut texts = Vec::new();
    let found = listed(&["for-each-ref", "--format=%(objectname)", REF]);
    texts.extend(found.lines().next().and_then(text).map(|text| (REF.to_owned(), text)));
    for line in listed(&["notes", "--ref", NOTES, "list"]).lines().take(NOTES_MAX) {
        let Some((blob, commit)) = line.split_once(' ') else { continue };
        let commit = commit.get(..7).unwrap_or(commit);
        texts.extend(text(blob).map(|text| (format!("the note on {commit}"), text)));
    }
    texts
}
