//! Binds a worktree to a plan: reads and writes its marker, and finds the directory of named plans. Never
//! follows a link to a marker and never falls back to another plan; core decides what is chosen.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use planwright_core::dialect::named::{
    ARCHIVED, PlanSlug, Slug, conflict_copy, plan_file, plan_of, progress_file,
};
use planwright_core::workspace::active_plan::lint;
use planwright_core::workspace::active_plan::lint::{Breach, LintEvidence, LintScript};
use planwright_core::workspace::active_plan::session_text::{PlanNames, ShellKind, block};
use planwright_core::workspace::active_plan::{
    ActivePlanChoice, ActivePlanMarker, Audience, FOLDER, FileKind, MARKER, MARKER_BYTES_MAX, MarkerFault,
    MarkerKind, PlanCandidate, ResolvedBy, check, choose, is_like_plan, marked, plans,
};

use crate::config;
use crate::store::plan_file::STAGED;
use crate::store::{plan_file as store, state_dir};
use crate::workspace::project::Project;

/// How much of a plan is read to see whether it is empty.
const PLAN_BYTES_MAX: u64 = 1 << 16;
/// The most entries read of the `.harness` directory.
const ENTRIES_MAX: usize = 100_000;
/// How much of a document the gate reads.
const DOCUMENT_BYTES_MAX: u64 = 4 << 20;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Without a directory of plans there is nothing to bind to, and nothing wrong.
    #[error("plan directory {} not found", path.display())]
    NoFolder { path: PathBuf },
    #[error(transparent)]
    Loud(#[from] MarkerFault),
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    /// A path cannot be printed so that a script reads it.
    #[error("{path:?} contains a character that scripts cannot read")]
    Unprintable { path: PathBuf },
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// The plan that a session works on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub plan: PathBuf,
    pub progress: PathBuf,
    pub name: PlanSlug,
    /// How it was chosen.
    pub by: ResolvedBy,
}

/// The plans of the `.harness` directory, and what the marker says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanNamesListing {
    pub folder: PathBuf,
    /// The unnamed plan first, then by name.
    pub plans: Vec<PlanSlug>,
    /// Conflict copies by sync services, which are not plans.
    pub copies: Vec<String>,
    /// The plan that this worktree is bound to, or why its marker is dangling; `None` without a marker.
    pub bound: Option<Result<Slug, MarkerFault>>,
}

impl PlanNamesListing {
    /// What a session learns at its start; `None` without a plan.
    pub fn told(&self) -> Option<String> {
        let folder = self.folder.to_string_lossy();
        let bound = self.bound.as_ref().map(Result::as_ref);
        block(&PlanNames { folder: &folder, plans: &self.plans, bound })
    }

    /// The plan files and their progress files.
    pub fn files(&self) -> impl Iterator<Item = (&PlanSlug, PathBuf, PathBuf)> {
        self.plans.iter().map(|plan| {
            let slug = plan.slug();
            (plan, self.folder.join(plan_file(slug)), self.folder.join(progress_file(slug)))
        })
    }
}

/// The directory of plans: as set, otherwise `.harness` in the root.
pub fn folder(project: &Project) -> PathBuf {
    let named = project.config.plans.harness.as_deref().unwrap_or(Path::new(FOLDER));
    project.root.join(config::from_home(named))
}

/// Where a new plan goes whose dialect keeps it at `home`, a path below the root: plans of the `.harness`
/// directory follow that directory.
pub fn place(project: &Project, home: &str) -> PathBuf {
    match Path::new(home).strip_prefix(FOLDER) {
        Ok(name) => folder(project).join(name),
        Err(_) => project.root.join(home),
    }
}

/// Whether a plan is in the `.harness` directory of a project, wherever that is.
pub fn holds(project: &Project, plan: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    let above = plan.parent().map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
    above.and_then(real).is_some_and(|above| real(&folder(project)) == Some(above))
}

/// A plan's path with links resolved.
pub fn real(plan: &Path) -> PathBuf {
    plan.canonicalize().unwrap_or_else(|_| plan.to_owned())
}

/// The plan that a session works on. Writes nothing.
pub fn resolve(project: &Project, want: Audience<'_>) -> Result<Binding, Error> {
    let choice = choose(want, &marker(&project.root))?;
    let (folder, entries) = look(project)?;
    check_in(&folder, &choice, want, &entries)?;
    Ok(bound(&folder, &choice))
}

/// The plan that the marker binds this worktree to; `None` without a marker.
pub fn of_marker(project: &Project) -> Result<Option<Binding>, Error> {
    match marker(&project.root) {
        ActivePlanMarker::Unset => Ok(None),
        ActivePlanMarker::Bytes(_)
        | ActivePlanMarker::TooLong
        | ActivePlanMarker::Link
        | ActivePlanMarker::NotAFile(_)
        | ActivePlanMarker::Unreadable(_) => resolve(project, Audience::Any).map(Some),
    }
}

/// Checks a choice against the `.harness` directory and its shelved plans.
fn check_in(
    folder: &Path,
    choice: &ActivePlanChoice,
    want: Audience<'_>,
    entries: &[PlanCandidate],
) -> Result<(), MarkerFault> {
    let fault = match check(choice, want, entries) {
        Ok(()) => return Ok(()),
        Err(fault) => fault,
    };
    let is_staged = || store::is_there(&folder.join(STAGED).join(choice.plan_file()));
    if let MarkerFault::Absent(by, slug, _) = &fault
        && is_staged()
    {
        return Err(MarkerFault::Staged(*by, slug.clone()));
    }
    Err(fault)
}

fn bound(folder: &Path, choice: &ActivePlanChoice) -> Binding {
    Binding {
        plan: folder.join(choice.plan_file()),
        progress: folder.join(choice.progress_file()),
        name: choice.plan.clone(),
        by: choice.by,
    }
}

/// Every plan of the `.harness` directory, and what the marker says. A dangling marker is not an error here.
pub fn list(project: &Project) -> Result<PlanNamesListing, Error> {
    let (folder, entries) = look(project)?;
    let marker = marker(&project.root);
    let bound = match marked(&marker) {
        Ok(None) => None,
        Err(fault) => Some(Err(fault)),
        Ok(Some(slug)) => {
            let choice = ActivePlanChoice { by: ResolvedBy::Marker, plan: PlanSlug::Named(slug.clone()) };
            Some(check_in(&folder, &choice, Audience::Any, &entries).map(|()| slug))
        }
    };
    let is_copy = |entry: &&PlanCandidate| conflict_copy(&entry.name).is_some();
    let mut copies: Vec<String> = entries.iter().filter(is_copy).map(|entry| entry.name.clone()).collect();
    copies.sort();
    Ok(PlanNamesListing { folder, plans: plans(&entries), copies, bound })
}

/// Binds the worktree at `root` to a plan. Whether the plan exists is not checked here: see [`resolve`].
pub fn write_marker(root: &Path, slug: &Slug) -> Result<PathBuf, Error> {
    refuse_other(root)?;
    let folder = store::folder_within(root, Path::new(FOLDER))?;
    let path = folder.join(Path::new(MARKER).file_name().unwrap_or_default());
    store::fill_or_create(&path, &format!("{slug}\n"))?;
    Ok(path)
}

/// Unbinds the worktree at `root`, and returns whether it was bound. Leaves anything other than a marker
/// alone.
pub fn clear_marker(root: &Path) -> Result<bool, Error> {
    let path = root.join(MARKER);
    match marker(root) {
        ActivePlanMarker::Unset => return Ok(false),
        // A link is removed by its own name, unless the directory itself is one.
        ActivePlanMarker::Link if !root.join(FOLDER).is_symlink() => {}
        ActivePlanMarker::Link
        | ActivePlanMarker::NotAFile(_)
        | ActivePlanMarker::Bytes(_)
        | ActivePlanMarker::TooLong
        | ActivePlanMarker::Unreadable(_) => {
            refuse_other(root)?;
        }
    }
    match std::fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(Error::Store(store::Error::Write { path, source }))
        }
        Ok(()) | Err(_) => Ok(true),
    }
}

/// Refuses to write over anything other than a marker.
fn refuse_other(root: &Path) -> Result<(), MarkerFault> {
    match marker(root) {
        _ if root.join(FOLDER).is_symlink() => Err(MarkerFault::Link),
        ActivePlanMarker::Link => Err(MarkerFault::Link),
        ActivePlanMarker::NotAFile(thing) => Err(MarkerFault::NotAFile(thing)),
        ActivePlanMarker::Unset
        | ActivePlanMarker::Bytes(_)
        | ActivePlanMarker::TooLong
        | ActivePlanMarker::Unreadable(_) => Ok(()),
    }
}

/// What is at the place of a worktree's marker.
pub fn marker(root: &Path) -> ActivePlanMarker {
    let path = root.join(MARKER);
    let data = match path.symlink_metadata() {
        Ok(data) => data,
        Err(error) if is_missing(&error) => return ActivePlanMarker::Unset,
        Err(error) => return ActivePlanMarker::Unreadable(error.to_string()),
    };
    if data.is_symlink() || root.join(FOLDER).is_symlink() {
        return ActivePlanMarker::Link;
    }
    if !data.is_file() {
        return ActivePlanMarker::NotAFile(if data.is_dir() { FileKind::Folder } else { FileKind::Device });
    }
    let read = || -> io::Result<Vec<u8>> {
        // A link or a pipe may have replaced it meanwhile.
        let flags = nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK;
        let file = File::options().read(true).custom_flags(flags).open(&path)?;
        let mut bytes = Vec::new();
        file.take(MARKER_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) if bytes.len() > MARKER_BYTES_MAX => ActivePlanMarker::TooLong,
        Ok(bytes) => ActivePlanMarker::Bytes(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => ActivePlanMarker::Unset,
        Err(error) => ActivePlanMarker::Unreadable(error.to_string()),
    }
}

/// Whether nothing is there. A file that cannot be seen is not missing: it could name a plan.
fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The `.harness` directory and its plan-related entries.
fn look(project: &Project) -> Result<(PathBuf, Vec<PlanCandidate>), Error> {
    let path = folder(project);
    let folder = match path.canonicalize() {
        Ok(real) if real.is_dir() => real,
        Ok(_) => return Err(Error::NoFolder { path }),
        Err(error) if state_dir::is_absence(&error) => return Err(Error::NoFolder { path }),
        Err(source) => return Err(Error::Read { path, source }),
    };
    let is_printable = folder.to_str().is_some_and(|text| !text.chars().any(char::is_control));
    if !is_printable {
        return Err(Error::Unprintable { path: folder });
    }
    let failed = |source| Error::Read { path: folder.clone(), source };
    let mut entries = Vec::new();
    for entry in folder.read_dir().map_err(failed)?.take(ENTRIES_MAX) {
        let entry = entry.map_err(failed)?;
        // A plan's name is always valid text.
        let Ok(name) = entry.file_name().into_string() else { continue };
        if is_like_plan(&name) || conflict_copy(&name).is_some() {
            let kind = kind(&entry.path());
            entries.push(PlanCandidate { name, kind });
        }
    }
    Ok((folder, entries))
}

fn kind(path: &Path) -> MarkerKind {
    match path.symlink_metadata() {
        Ok(data) if data.is_file() => {
            // A file that cannot be read is not known to be empty; whoever works on the plan is told.
            let is_blank = store::read_bytes(path, PLAN_BYTES_MAX).is_ok_and(|bytes| {
                bytes.iter().all(u8::is_ascii_whitespace) && (bytes.len() as u64) < PLAN_BYTES_MAX
            });
            if is_blank { MarkerKind::Blank } else { MarkerKind::File }
        }
        Ok(_) | Err(_) => MarkerKind::Other,
    }
}

/// Everything that would lead a worker of this project to the wrong plan again; `words` are the program's own
/// words. Documents are the markdown files of the project other than plans, progress files and archives.
pub fn breaches(
    project: &Project,
    words: &[String],
) -> Result<Vec<Breach>, crate::workspace::project::Error> {
    let scripts = ShellKind::ALL.map(|shell| (shell, script(&project.root.join(shell.file()))));
    let files = project.files()?;
    let mut documents = Vec::new();
    for name in files.iter().filter(|name| is_document(name, &files)) {
        // A file that is not text says nothing to a reader.
        if let Ok(text) = store::read_text(&project.root.join(name), DOCUMENT_BYTES_MAX) {
            documents.push((name.clone(), text));
        }
    }
    Ok(lint::breaches(&LintEvidence { words, scripts: &scripts, documents: &documents }))
}

fn script(path: &Path) -> LintScript {
    match store::read_text(path, DOCUMENT_BYTES_MAX) {
        Ok(text) => LintScript::Text(text),
        Err(error) if is_missing(&error) => LintScript::Missing,
        Err(_) => LintScript::Unreadable,
    }
}

fn is_document(name: &str, files: &[String]) -> bool {
    let path = Path::new(name);
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let is_markdown = path.extension().is_some_and(|ending| ending == "md" || ending == "markdown");
    let is_over =
        path.components().any(|part| part.as_os_str() == store::ARCHIVE) || file.starts_with(ARCHIVED);
    let is_of_plan = plan_of(&file).is_some() || conflict_copy(&file).is_some() || is_progress(&file, files);
    is_markdown && !is_of_plan && !is_over && !file.starts_with("CHANGELOG")
}

/// Whether a file records the progress of a plan. A progress report may have such a name, but then the plan
/// does not exist.
fn is_progress(file: &str, files: &[String]) -> bool {
    let Some(name) = file.strip_prefix("progress").and_then(|rest| rest.strip_suffix(".md")) else {
        return false;
    };
    let plan = format!("PLAN{name}.md");
    name.is_empty() || files.iter().any(|other| Path::new(other).file_name() == Some(plan.as_ref()))
}
