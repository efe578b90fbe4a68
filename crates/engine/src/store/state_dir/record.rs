//! Whose record is whose: the directory below the state directory that belongs to a project. The kernel's facts
//! about the project's folder decide, since nobody who works in a folder can change them. What the folder
//! contains can take a record away from a project, but never gives it another one's.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use planwright_core::plan::verified;
use serde::{Deserialize, Serialize};

use super::git_dir::{GitDir, tree_of};
use super::{Error, keep_durably, path_text};
use crate::store::{file, worktree_registry};

/// The folders that are known, each with the record it belongs to.
const PLACES: &str = "projects";
/// In a record: the project that it belongs to.
const OWNER: &str = "project.json";
/// In a git directory: the name of its record. A hint that copies take along, and never believed.
const HINT: &str = "planwright-record";
/// Marks the entry of the folder of a part of a repository. No part has this name.
const PART: &str = "/part";
const FILE_BYTES_MAX: u64 = 1 << 16;
/// How many names are tried for a new record. Each is taken by another project with a chance of 1 in 4 billion.
const NAMES_MAX: u32 = 100;

/// What the kernel knows a folder by: it stays when the folder is moved on its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct FolderId {
    /// A new number after a restart means nothing: some file systems are numbered as they are mounted.
    device: u64,
    inode: u64,
    /// In nanoseconds since 1970; `None` if the file system does not say. Inodes are used again, so this alone
    /// tells a new folder from an old one.
    born_ns: Option<u64>,
}

impl FolderId {
    fn of(folder: &Path) -> io::Result<Self> {
        let data = folder.metadata()?;
        let born = data.created().ok().and_then(|born| born.duration_since(UNIX_EPOCH).ok());
        let born_ns = born.and_then(|born| u64::try_from(born.as_nanos()).ok());
        Ok(Self { device: data.dev(), inode: data.ino(), born_ns })
    }

    fn is_same(&self, other: &Self) -> bool {
        (self.inode, self.born_ns) == (other.inode, other.born_ns)
    }

    /// The name of its entry among the known folders.
    fn key(&self, part: &Path) -> String {
        let own = format!("{:x}-{:x}", self.inode, self.born_ns.unwrap_or_default());
        match part.as_os_str().is_empty() {
            true => own,
            false => format!("{own}-{}", &blake3::hash(part.as_os_str().as_encoded_bytes()).to_hex()[..16]),
        }
    }
}

/// A folder that belongs to a record: the top of a working copy, or the git directory of a repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    record: String,
    id: FolderId,
    /// Where it was when it was last used.
    #[serde(with = "path_text")]
    path: PathBuf,
    /// The repository of a working copy.
    #[serde(default)]
    git: Option<FolderId>,
}

/// The project that a record belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Owner {
    /// The top of the working copy that used it first, or was moved last.
    top: FolderId,
    #[serde(default)]
    git: Option<FolderId>,
    #[serde(with = "path_text")]
    path: PathBuf,
    /// The project's path in it.
    #[serde(with = "path_text")]
    part: PathBuf,
    /// The record of the repository that was in the same folder before: its policy still counts.
    #[serde(default)]
    replaces: Option<String>,
    /// The record that could have been meant when this one was made.
    #[serde(default)]
    other: Option<OtherRecord>,
}

/// Why a project starts with an empty record although there is one that could be meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OtherRecord {
    /// Another repository was in this folder, or at this path.
    Replaced { record: String },
    /// A copy of a project that still exists.
    CopyOf {
        record: String,
        #[serde(with = "path_text")]
        path: PathBuf,
    },
    /// The project it was copied from is gone: it may have been moved here from another file system.
    MovedFrom {
        record: String,
        #[serde(with = "path_text")]
        path: PathBuf,
    },
}

impl OtherRecord {
    /// The record of another project, which is where it was or gone.
    fn of(states: &Path, record: String) -> Result<Option<Self>, Error> {
        let Some(owner) = owner_of(states, &record)? else { return Ok(None) };
        let path = owner.path;
        Ok(Some(match FolderId::of(&path).is_ok_and(|id| id.is_same(&owner.top)) {
            true => Self::CopyOf { record, path },
            false => Self::MovedFrom { record, path },
        }))
    }

    /// The same as it is now; `None` if the record no longer exists.
    fn now(self, states: &Path) -> Result<Option<Self>, Error> {
        match self {
            Self::Replaced { .. } => Ok(Some(self)),
            Self::CopyOf { record, .. } | Self::MovedFrom { record, .. } => Self::of(states, record),
        }
    }
}

/// The record of a project, which need not exist yet.
#[derive(Debug, Clone)]
pub struct ProjectRecord {
    states: PathBuf,
    name: String,
    owner: Owner,
    git: GitDir,
    /// The entry of the project's folder, if it is known.
    place: Option<Place>,
}

impl ProjectRecord {
    /// The record of the project at `root`: the same for every worktree of a repository.
    pub fn find(states: &Path, root: &Path) -> Result<Self, Error> {
        let unread = |source| Error::Repository { path: root.to_owned(), source };
        let root = root.canonicalize().map_err(unread)?;
        let top = tree_of(&root)?.unwrap_or(&root);
        let part = root.strip_prefix(top).unwrap_or(Path::new(""));
        // A worktree of ours belongs to the repository it was created from, whatever is in it.
        if let Some(tree) = worktree_registry::tree_at(top)? {
            return Self::of(states, &tree.origin, part);
        }
        let found = Self::of(states, top, part)?;
        // A part whose repository is gone looks like a project of its own, or like a part of another one.
        let id = FolderId::of(&root).map_err(unread)?;
        match place_of(states, &id, (&root, Path::new(PART)))? {
            Some(Place { git: Some(git), .. }) if !found.owner.git.is_some_and(|now| now.is_same(&git)) => {
                Err(Error::NoGit { path: root })
            }
            Some(_) | None => Ok(found),
        }
    }

    /// The records of the projects around this one, the nearest first.
    fn enclosing(&self) -> Result<Vec<String>, Error> {
        let Owner { path: top, part, .. } = &self.owner;
        let mut found = Vec::new();
        for folder in top.join(part).ancestors().skip(1) {
            let (top, part) = match folder.strip_prefix(top) {
                Ok(part) => (top.as_path(), part),
                Err(_) => (folder, Path::new("")),
            };
            // What this user may not look at has no record of this user.
            let Ok(id) = FolderId::of(top) else { continue };
            found.extend(place_of(&self.states, &id, (top, part))?.map(|place| place.record));
        }
        Ok(found)
    }

    /// The record of a part of the working copy at `top`.
    fn of(states: &Path, top: &Path, part: &Path) -> Result<Self, Error> {
        let unread = |source| Error::Repository { path: top.to_owned(), source };
        let id = FolderId::of(top).map_err(unread)?;
        let git = GitDir::of(top)?;
        let git_id = match &git {
            GitDir::None => None,
            GitDir::Own(path) | GitDir::Listed(path) | GitDir::Claimed(path) => {
                Some(FolderId::of(path).map_err(unread)?)
            }
        };
        let owner = Owner {
            top: id,
            git: git_id,
            path: top.to_owned(),
            part: part.to_owned(),
            replaces: None,
            other: None,
        };
        let found = Self { states: states.to_owned(), name: String::new(), owner, git, place: None };
        match place_of(states, &id, (top, part))? {
            Some(place) => found.known(place),
            None => found.unknown(),
        }
    }

    /// A folder that is known belongs to its record, unless it has another repository now.
    fn known(mut self, place: Place) -> Result<Self, Error> {
        let path = || self.owner.path.join(".git");
        match (&place.git, &self.owner.git) {
            (Some(_), None) => return Err(Error::NoGit { path: path() }),
            (Some(old), Some(new)) if !old.is_same(new) => {
                if let GitDir::Claimed(target) = &self.git {
                    return Err(Error::Redirected { path: path(), target: target.clone() });
                }
                // The repository may have been here before.
                if let Some(name) = self.name_by_repository()? {
                    self.name = name;
                    return Ok(self);
                }
                self.owner.replaces = Some(place.record.clone());
                self.owner.other = Some(OtherRecord::Replaced { record: place.record });
                self.name = self.fresh_name()?;
            }
            (Some(_), Some(_)) | (None, Some(_) | None) => {
                self.name.clone_from(&place.record);
                let owner = owner_of(&self.states, &place.record)?;
                if let Some(Owner { replaces, other, .. }) = owner {
                    let other = other.map(|other| other.now(&self.states)).transpose()?.flatten();
                    (self.owner.replaces, self.owner.other) = (replaces, other);
                }
                self.place = Some(place);
            }
        }
        Ok(self)
    }

    /// A folder that is not known belongs to the record of its repository, to that which an earlier planwright
    /// made for its path, or to a new one.
    fn unknown(mut self) -> Result<Self, Error> {
        if let Some(name) = self.name_by_repository()? {
            self.name = name;
            return Ok(self);
        }
        let (path, named) = match &self.git {
            GitDir::Own(path) | GitDir::Listed(path) => (path.clone(), named_after(path)),
            GitDir::None | GitDir::Claimed(_) => (self.owner.path.clone(), self.owner.path.clone()),
        };
        let by_path = path_key(&path, &named.join(&self.owner.part), &self.owner.part);
        match owner_of(&self.states, &by_path)? {
            None if self.states.join(&by_path).is_dir() => self.name = by_path,
            Some(owner) if self.is_owner(&owner) => self.name = by_path,
            taken => {
                self.name = self.fresh_name()?;
                let replaced = taken.map(|_| OtherRecord::Replaced { record: by_path });
                self.owner.other = self.hinted()?.or(replaced);
            }
        }
        Ok(self)
    }

    /// The record of the repository, if that is known and confirms that this is a working copy of it.
    fn name_by_repository(&self) -> Result<Option<String>, Error> {
        match (&self.git, &self.owner.git) {
            (GitDir::Own(path) | GitDir::Listed(path), Some(id)) => {
                let place = place_of(&self.states, id, (path, &self.owner.part))?;
                Ok(place.map(|place| place.record))
            }
            (GitDir::None | GitDir::Claimed(_), _) | (GitDir::Own(_) | GitDir::Listed(_), None) => Ok(None),
        }
    }

    /// A name that follows from the kernel's facts, so that it is the same before and after the first use.
    fn fresh_name(&self) -> Result<String, Error> {
        let Owner { top, git, path, part, .. } = &self.owner;
        let named = match &self.git {
            GitDir::Listed(git) => named_after(git),
            GitDir::None | GitDir::Own(_) | GitDir::Claimed(_) => path.clone(),
        };
        let named = named.join(part);
        // All worktrees of a repository come to the same name.
        let facts = match &self.git {
            GitDir::Own(_) | GitDir::Listed(_) => *git,
            GitDir::None | GitDir::Claimed(_) => None,
        };
        let facts = facts.unwrap_or(*top);
        for number in 0..NAMES_MAX {
            let mut hasher = blake3::Hasher::new();
            hasher.update(&number.to_le_bytes()).update(&facts.inode.to_le_bytes());
            hasher.update(&facts.born_ns.unwrap_or_default().to_le_bytes());
            hasher.update(part.as_os_str().as_encoded_bytes());
            let name = name_with(&named, &hasher.finalize());
            match owner_of(&self.states, &name)? {
                Some(owner) if !self.is_owner(&owner) => {}
                Some(_) | None => return Ok(name),
            }
        }
        let source = io::Error::other("every name is taken");
        Err(Error::Folder { path: self.states.clone(), source })
    }

    fn is_owner(&self, owner: &Owner) -> bool {
        let same = |one: Option<FolderId>, other: Option<FolderId>| match (one, other) {
            (Some(one), Some(other)) => one.is_same(&other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        let is_shared = matches!(self.git, GitDir::Own(_) | GitDir::Listed(_));
        owner.part == self.owner.part
            && same(owner.git, self.owner.git)
            && (is_shared && owner.git.is_some() || owner.top.is_same(&self.owner.top))
    }

    /// The record that the git directory names. Whoever works here can write that, so it is only told.
    fn hinted(&self) -> Result<Option<OtherRecord>, Error> {
        let (GitDir::Own(git) | GitDir::Listed(git)) = &self.git else { return Ok(None) };
        let Some(record) = read_text(&git.join(HINT)).ok().flatten() else { return Ok(None) };
        let record = record.trim().to_owned();
        let is_name = is_name(&record) && record != self.name;
        if is_name { OtherRecord::of(&self.states, record) } else { Ok(None) }
    }

    /// Its directory, which need not exist.
    pub fn folder(&self) -> PathBuf {
        self.states.join(&self.name)
    }

    /// Another record that could be meant.
    pub fn other(&self) -> Option<&OtherRecord> {
        self.owner.other.as_ref()
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the project was when it was last used and where it is now, if it was moved since.
    pub fn moved(&self) -> Option<(PathBuf, PathBuf)> {
        let place = self.place.as_ref().filter(|place| place.path != self.owner.path)?;
        let within = |top: &Path| top.components().chain(self.owner.part.components()).collect();
        Some((within(&place.path), within(&self.owner.path)))
    }

    /// The directories of the records whose policies count where this one has none, the nearest first: of the
    /// repositories that were in the same folder before, and of the projects around it.
    pub fn policies(&self) -> Result<Vec<PathBuf>, Error> {
        let mut names = Vec::new();
        predecessors(&self.states, self.owner.replaces.clone(), &mut names)?;
        for name in self.enclosing()? {
            predecessors(&self.states, Some(name), &mut names)?;
        }
        Ok(names.iter().map(|name| self.states.join(name)).collect())
    }

    /// Notes that the record is this project's, before anything is kept in it. Repeating it changes nothing.
    pub fn claim(&self) -> Result<(), Error> {
        let place = Place {
            record: self.name.clone(),
            id: self.owner.top,
            path: self.owner.path.clone(),
            git: self.owner.git,
        };
        let owned = owner_of(&self.states, &self.name)?;
        if owned.is_some() && self.place.as_ref() == Some(&place) {
            return Ok(());
        }
        if let Some(from) = self.place.as_ref().map(|place| &place.path).filter(|from| **from != place.path) {
            worktree_registry::relocate(from, &place.path)?;
        }
        // The owner last: until then the record of an earlier planwright is found by its path.
        self.keep_place(&place, &self.owner.part)?;
        let root = self.owner.path.join(&self.owner.part);
        if root != self.owner.path {
            let id =
                FolderId::of(&root).map_err(|source| Error::Repository { path: root.clone(), source })?;
            self.keep_place(&Place { id, path: root, ..place.clone() }, Path::new(PART))?;
        }
        if let (GitDir::Own(path) | GitDir::Listed(path), Some(id)) = (&self.git, self.owner.git) {
            self.keep_place(&Place { path: path.clone(), id, git: None, ..place }, &self.owner.part)?;
            // Read-only repositories have none; it is only a hint.
            file::put_private(&path.join(HINT), &format!("{}\n", self.name)).ok();
        }
        // Another worktree of the repository may have used it first.
        let is_elsewhere = |owner: &Owner| {
            owner.path != self.owner.path && FolderId::of(&owner.path).is_ok_and(|id| id.is_same(&owner.top))
        };
        match owned.filter(is_elsewhere) {
            Some(_) => Ok(()),
            None => keep_durably(&self.folder(), OWNER, &json(&self.owner)?),
        }
    }

    /// Gives the project a record whose own project is gone. The next use notes that it was moved.
    pub fn adopt(&self, record: &str) -> Result<(), Error> {
        let owner = if is_name(record) { owner_of(&self.states, record)? } else { None };
        let Some(owner) = owner else {
            return Err(Error::NoRecord { record: record.to_owned(), states: self.states.clone() });
        };
        if record == self.name {
            return Ok(());
        }
        let is_there = FolderId::of(&owner.path).is_ok_and(|id| id.is_same(&owner.top))
            && self.owner.replaces.as_deref() != Some(record);
        if is_there || owner.part != self.owner.part {
            return Err(Error::InUse { record: record.to_owned(), path: owner.path.join(owner.part) });
        }
        let place =
            Place { record: record.to_owned(), id: self.owner.top, path: owner.path, git: self.owner.git };
        self.keep_place(&place, &self.owner.part)?;
        // The repository is no longer that of the record which the project had until now.
        match (&self.git, self.owner.git) {
            (GitDir::Own(path) | GitDir::Listed(path), Some(id)) => {
                self.keep_place(&Place { path: path.clone(), id, git: None, ..place }, &self.owner.part)
            }
            (GitDir::None | GitDir::Claimed(_), _) | (GitDir::Own(_) | GitDir::Listed(_), None) => Ok(()),
        }
    }

    /// Moves the record of the project at `root` out of the way, and returns its new name. The project starts
    /// with an empty one, under the same policy. Works where the project's repository is gone.
    pub fn set_aside(states: &Path, root: &Path) -> Result<Option<String>, Error> {
        let unread = |source| Error::Repository { path: root.to_owned(), source };
        let root = root.canonicalize().map_err(unread)?;
        let top = tree_of(&root)?.unwrap_or(&root);
        let part = root.strip_prefix(top).unwrap_or(Path::new(""));
        let known = |folder: &Path, part: &Path| -> Result<Option<(PathBuf, Place)>, Error> {
            let id = FolderId::of(folder).map_err(unread)?;
            let entry = states.join(PLACES).join(id.key(part));
            Ok(place_of(states, &id, (folder, part))?.map(|place| (entry, place)))
        };
        let places = [known(top, part)?, known(&root, Path::new(PART))?];
        let name = match places.iter().flatten().next() {
            Some((_, place)) => place.record.clone(),
            None => Self::find(states, &root)?.name,
        };
        let aside = aside(states, &name)?;
        for (entry, _) in places.into_iter().flatten() {
            file::remove(&entry).map_err(|source| Error::Folder { path: entry, source })?;
        }
        let Some(aside) = aside else { return Ok(None) };
        let mut new = Self::of(states, top, part)?;
        new.owner.replaces = Some(aside.clone());
        new.claim()?;
        Ok(Some(aside))
    }

    fn keep_place(&self, place: &Place, part: &Path) -> Result<(), Error> {
        keep_durably(&self.states.join(PLACES), &place.id.key(part), &json(place)?)
    }
}

/// Adds a record and those that it replaces, each once.
fn predecessors(states: &Path, first: Option<String>, names: &mut Vec<String>) -> Result<(), Error> {
    let mut next = first;
    while let Some(name) = next.filter(|name| !names.contains(name)) {
        next = owner_of(states, &name)?.and_then(|owner| owner.replaces);
        names.push(name);
    }
    Ok(())
}

/// Moves a record and the heads of its books out of the way; `None` if there is neither.
fn aside(states: &Path, name: &str) -> Result<Option<String>, Error> {
    let heads = |name: &str| states.join("anchors").join(format!("{name}.log"));
    let is_free = |new: &String| !states.join(new).exists() && !heads(new).exists();
    let mut names = (1..=NAMES_MAX).map(|number| format!("{name}.aside-{number}"));
    let source = || io::Error::other("every name is taken");
    let new =
        names.find(is_free).ok_or_else(|| Error::Folder { path: states.join(name), source: source() })?;
    let mut is_found = false;
    // The heads first: a record without them is only less certain, heads without a record are a loss.
    for (from, to) in [(heads(name), heads(&new)), (states.join(name), states.join(&new))] {
        match file::rename(&from, &to) {
            Ok(()) => is_found = true,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::Folder { path: from, source }),
        }
    }
    Ok(is_found.then_some(new))
}

/// Whether a folder had a repository when its record was last used.
pub(crate) fn had_repository(folder: &Path) -> bool {
    let known = || -> Option<Place> {
        let id = FolderId::of(folder).ok()?;
        place_of(&super::folder().ok()?, &id, (folder, Path::new(""))).ok()?
    };
    known().is_some_and(|place| place.git.is_some())
}

/// The entry of a folder, if it is the same folder.
fn place_of(states: &Path, id: &FolderId, (path, part): (&Path, &Path)) -> Result<Option<Place>, Error> {
    let entry = states.join(PLACES).join(id.key(part));
    let place: Option<Place> = read(&entry)?;
    Ok(place.filter(|place| {
        let is_here = place.path == path;
        // Without a time of birth, another folder may have the inode of one that was moved or removed.
        let is_certain = id.born_ns.is_some() || is_here;
        // A snapshot of a file system has the same inodes on another device, and lies at another path.
        place.id.is_same(id) && is_certain && (place.id.device == id.device || is_here)
    }))
}

/// Whether a text can be the name of a record, and leads nowhere else.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains('/') && !text.starts_with('.')
}

fn owner_of(states: &Path, record: &str) -> Result<Option<Owner>, Error> {
    read(&states.join(record).join(OWNER))
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<T>, Error> {
    let error = |source| Error::Folder { path: path.to_owned(), source };
    let Some(text) = read_text(path).map_err(error)? else { return Ok(None) };
    let read = serde_json::from_str(&text);
    read.map(Some).map_err(|source| error(io::Error::new(io::ErrorKind::InvalidData, source)))
}

/// A small file; `None` without one.
fn read_text(path: &Path) -> io::Result<Option<String>> {
    match path.symlink_metadata() {
        Ok(data) if data.is_file() && data.len() <= FILE_BYTES_MAX => std::fs::read_to_string(path).map(Some),
        Ok(_) => Err(io::ErrorKind::InvalidData.into()),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn json(value: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec_pretty(value).map_err(|source| Error::Folder {
        path: PathBuf::from(OWNER),
        source: io::Error::new(io::ErrorKind::InvalidData, source),
    })
}

/// What a repository is named after: the folder around its `.git`.
fn named_after(git: &Path) -> PathBuf {
    match git.file_name() {
        Some(name) if name == ".git" => git.parent().unwrap_or(git).to_owned(),
        Some(_) | None => git.to_owned(),
    }
}

/// The name of a directory for a path: that of records of planwright 0.1, and of caches.
pub(super) fn path_key(identity: &Path, named: &Path, part: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(identity.as_os_str().as_encoded_bytes());
    if !part.as_os_str().is_empty() {
        // Paths contain no zero byte, so no repository can be mistaken for a part of another.
        hasher.update(&[0]).update(part.as_os_str().as_encoded_bytes());
    }
    name_with(named, &hasher.finalize())
}

fn name_with(named: &Path, hash: &blake3::Hash) -> String {
    let name = named.file_name().map(|name| verified::slug(&name.to_string_lossy())).unwrap_or_default();
    let name = if name.is_empty() { "project" } else { &name };
    format!("{name}-{}", &hash.to_hex()[..8])
}
