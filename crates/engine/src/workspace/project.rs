//! A project: the directory that paths in plans are relative to, its settings and its plans. Finds plans by
//! path, name or prefix, and has them verified.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use ignore::WalkBuilder;
use planwright_core::approval::ledger::Base;
use planwright_core::dialect::{self, Dialect, named, proposal, record};
use planwright_core::plan::draft::Draft;
use planwright_core::plan::verified::Plan;
use planwright_core::plan::view::Summary;
use planwright_core::run::baseline::Baseline;
use planwright_core::run::event::AgentCommands;
use planwright_core::syntax::diagnostic::{Diagnostic, Severity};
use planwright_core::syntax::source::Source;
use planwright_core::verify::{self, Facts, Study};

use crate::config::policy;
use crate::config::{self, Config, Settings, Sources};
use crate::store::plan_count;
use crate::store::plan_count::parse;
use crate::store::plan_file::{FileText, ReadOptions};
use crate::store::{plan_file, state_dir};
use crate::system::parallel::{cores, side_by_side};
use crate::system::{fault, process, walk};
use crate::workspace::facts;
use crate::workspace::index;
use crate::workspace::index::{FileStamp, IndexEntry, PlanIndex};
use crate::workspace::session_copy;
use crate::workspace::staging::is_put_away;

/// The file of document B that names the running plan.
const POINTER: &str = ".rawko/current-task.yaml";
const POINTER_BYTES_MAX: u64 = 1 << 16;
const DEPTH_MAX: usize = 32;
/// The most files and directories searched. More than that is a disk, not a project.
const ENTRIES_MAX: usize = 1_000_000;
/// The most threads that look at files. More of them wait for the same disk.
const SEARCHERS_MAX: usize = 12;
/// The file with the settings of proposals.
pub const PROPOSAL_SETTINGS: &str = ".pi/plans.json";
const SETTINGS_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone)]
pub struct Project {
    /// The directory that paths in plans are relative to.
    pub root: PathBuf,
    pub config: Config,
    /// The dialect of its plans if the user sets one; otherwise it is detected.
    pub dialect: Option<&'static Dialect>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("invalid project settings")]
    Config(#[from] config::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    #[error("cannot verify the plan")]
    Process(#[from] process::Error),
    #[error("cannot search {} for plans", path.display())]
    Search {
        path: PathBuf,
        #[source]
        source: ignore::Error,
    },
    /// The named directory does not exist. A misspelt one would still be inside some project, which nobody
    /// means.
    #[error("{} is not a directory", path.display())]
    NoFolder { path: PathBuf },
    /// A directory contains more files than a project does.
    #[error("cannot search {}: more than {ENTRIES_MAX} files", root.display())]
    Crowded { root: PathBuf },
    #[error("cannot read {name}")]
    Stream {
        name: String,
        #[source]
        source: io::Error,
    },
    /// A plan was not found, and it may be where nothing could be read.
    #[error("cannot find plan `{name}`: cannot read {}", path.display())]
    Unread {
        name: String,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("plan `{name}` not found")]
    NoPlan {
        name: String,
        /// Where it was searched.
        root: PathBuf,
        /// A plan with nearly this name.
        meant: Option<String>,
    },
    /// A plan of this name is shelved.
    #[error("plan `{name}` is shelved")]
    Staged { name: String, path: PathBuf },
    #[error("`{name}` is ambiguous: {} plans match", plans.len())]
    Ambiguous { name: String, plans: Vec<PathBuf> },
}

/// What the user names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub plan: PathBuf,
    /// By id or number.
    pub step: Option<String>,
}

pub struct PlanListing {
    /// One line each, by path.
    pub plans: Vec<Summary>,
    /// What should not be there: conflict copies of plans, dangling pointers.
    pub faults: Vec<String>,
}

/// A conflict copy, and the service that created it.
type Copy = (PathBuf, &'static str);

/// What a search found besides plans.
#[derive(Default)]
struct Strays {
    copies: Vec<Copy>,
    /// Files that could be plans, and directories, which could not be read.
    unread: Vec<SearchGap>,
}

impl Strays {
    /// What could not be read and may be, or contain, the plan of this name.
    fn gap_for(self, address: &str) -> Option<SearchGap> {
        self.unread.into_iter().find(|gap| ending(&gap.path).is_none() || is_called(&gap.path, address))
    }
}

/// What a search could not look at.
#[derive(Debug)]
pub(crate) struct SearchGap {
    path: PathBuf,
    source: io::Error,
}

impl SearchGap {
    /// The gap that an error of the walk leaves. What a user may not see is not of that user's project.
    fn of(error: ignore::Error) -> Option<Self> {
        fn path_of(error: &ignore::Error) -> Option<&Path> {
            match error {
                ignore::Error::WithPath { path, .. } => Some(path),
                ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
                    path_of(err)
                }
                ignore::Error::Partial(_)
                | ignore::Error::Loop { .. }
                | ignore::Error::Io(_)
                | ignore::Error::Glob { .. }
                | ignore::Error::UnrecognizedFileType(_)
                | ignore::Error::InvalidDefinition => None,
            }
        }
        let path = path_of(&error)?.to_owned();
        let source = error.into_io_error().filter(|source| !state_dir::is_absence(source))?;
        Some(Self { path, source })
    }
}

enum Found<'a> {
    /// Unchanged since it was last listed.
    Known { path: &'a Path, summary: &'a Summary },
    /// It must be read.
    New { path: PathBuf, shown: String, stamp: Option<FileStamp> },
}

impl Found<'_> {
    fn path(&self) -> &Path {
        match self {
            Self::Known { path, .. } => path,
            Self::New { path, .. } => path,
        }
    }
}

/// A plan and the checker's results.
pub struct Verified {
    pub source: Source,
    /// `None` if it is not text.
    pub draft: Option<Draft>,
    /// In file order.
    pub diagnostics: Vec<Diagnostic>,
    /// The plan, if it has no errors.
    pub plan: Option<Plan>,
    /// The results of its contracts before the work, as far as they are known.
    pub red: Option<BaselineSet>,
}

/// The results of a plan's contracts before the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaselineSet {
    /// Where they ran; `None` without a commit to run them on.
    pub base: Option<Base>,
    /// In step order. Unknown results are missing.
    pub contracts: Vec<Baseline>,
}

impl Verified {
    pub fn count(&self, severity: Severity) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count()
    }

    pub fn dialect(&self) -> &'static Dialect {
        self.source.dialect()
    }
}

impl Project {
    /// The project that contains `start`: the nearest directory above it with `planwright.toml` or `.git`, or
    /// `start` itself.
    pub fn find(start: &Path) -> Result<Self, Error> {
        Self::find_with(start, &[])
    }

    /// The project of a directory named by the user, with settings from the command line.
    pub fn find_in(folder: &Path, flags: &[String]) -> Result<Self, Error> {
        match folder.is_dir() {
            true => Self::find_with(folder, flags),
            false => Err(Error::NoFolder { path: folder.to_owned() }),
        }
    }

    /// The project that contains `start`, with settings (`KEY=VALUE`) from the command line.
    pub fn find_with(start: &Path, flags: &[String]) -> Result<Self, Error> {
        let root = root_of(start)?;
        let config = Settings::read(&Sources::of_process(&root, flags))?.config();
        Ok(Self { root, config, dialect: None })
    }

    /// The project of the current directory without any settings, for callers that must not fail over them.
    pub fn plain() -> Result<Self, Error> {
        let config = Settings::read(&Sources::default())?.config();
        Ok(Self { root: root_of(Path::new("."))?, config, dialect: None })
    }

    pub fn reading(&self) -> ReadOptions {
        ReadOptions { bytes_max: self.config.limits.plan_bytes, dialect: self.dialect }
    }

    /// One line per plan below the root, by path, and what should not be there.
    pub fn survey(&self) -> Result<PlanListing, Error> {
        let seen = PlanIndex::of(self);
        let (plans, strays) = self.search(&seen, |found| self.summary(found, &seen))?;
        seen.keep();
        Ok(PlanListing { plans, faults: self.faults_with(strays) })
    }

    fn summary(&self, found: Found<'_>, seen: &PlanIndex) -> Summary {
        let (path, shown, stamp) = match found {
            Found::Known { summary, .. } => return summary.clone(),
            Found::New { path, shown, stamp } => (path, shown, stamp),
        };
        let summary = match plan_file::read(&path, &shown, self.reading()) {
            Ok(FileText::Plan(source)) => {
                let draft = (source.dialect().skim)(&source);
                Summary::of(plan_file::name(&path), shown.clone(), (source.dialect().name, &draft))
            }
            Ok(FileText::Unreadable(unreadable)) => {
                Summary::unreadable(plan_file::name(&path), shown.clone(), unreadable.diagnostic.message)
            }
            Err(error) => Summary::unreadable(plan_file::name(&path), shown.clone(), error.to_string()),
        };
        if let Some(stamp) = stamp {
            seen.note(shown, stamp, Some(summary.clone()));
        }
        summary
    }

    /// What should not be there, each with its file: conflict copies of plans, dangling pointers.
    pub fn astray(&self) -> Result<Vec<(PathBuf, String)>, Error> {
        let (_, strays) = self.search(&PlanIndex::of(self), |_| ())?;
        Ok(self.astray_with(strays))
    }

    fn faults_with(&self, strays: Strays) -> Vec<String> {
        self.astray_with(strays).into_iter().map(|(_, fault)| fault).collect()
    }

    fn astray_with(&self, strays: Strays) -> Vec<(PathBuf, String)> {
        let shown = |path: &Path| path.strip_prefix(&self.root).unwrap_or(path).display().to_string();
        let unread = strays.unread.into_iter().map(|SearchGap { path, source }| {
            let fault = format!("cannot read {}: {source}", shown(&path));
            (path, fault)
        });
        let copies = strays.copies.into_iter().map(|(path, service)| {
            let fault = format!("{} is a conflict copy by {service}; planwright ignores it", shown(&path));
            (path, fault)
        });
        copies.chain(unread).chain(self.dangling().map(|fault| (self.root.join(POINTER), fault))).collect()
    }

    /// Reports a pointer of document B to a missing plan.
    fn dangling(&self) -> Option<String> {
        let text = plan_file::read_text(&self.root.join(POINTER), POINTER_BYTES_MAX).ok()?;
        let folder = self.root.join(".rawko/plans");
        match record::pointer(&text) {
            Err(fault) => Some(format!("{POINTER} does not point to a plan: {fault}")),
            Ok(pointer) => {
                let is_there = ["yaml", "yml", "json"]
                    .iter()
                    .any(|ending| folder.join(format!("{}.{ending}", pointer.plan_id)).is_file());
                let missing =
                    || format!("{POINTER} points to plan `{}`, which was not found", pointer.plan_id);
                (!is_there).then(missing)
            }
        }
    }

    /// Visits every plan below the root, by path, and reports what should not be there.
    pub(crate) fn look_at_all<T: Send>(
        &self,
        look: impl Fn(&Path) -> T + Sync,
    ) -> Result<(Vec<T>, Vec<String>), Error> {
        let (seen, strays) = self.search(&PlanIndex::of(self), |found| look(found.path()))?;
        Ok((seen, self.faults_with(strays)))
    }

    pub fn plans(&self) -> Result<Vec<PathBuf>, Error> {
        Ok(self.search(&PlanIndex::of(self), |found| found.path().to_owned())?.0)
    }

    /// Every file below the root that is not ignored, relative to it, by path.
    pub fn files(&self) -> Result<Vec<String>, Error> {
        let found: Mutex<Vec<String>> = Mutex::default();
        self.walk(&|path| {
            if let Ok(shown) = path.strip_prefix(&self.root)
                && path.is_file()
            {
                lock(&found).push(shown.to_string_lossy().into_owned());
            }
        })?;
        let mut files = std::mem::take(&mut *lock(&found));
        files.sort();
        Ok(files)
    }

    /// Visits every plan below the root on all cores; returns the results in path order, and what was found
    /// besides.
    fn search<T: Send>(
        &self,
        seen: &PlanIndex,
        look: impl Fn(Found<'_>) -> T + Sync,
    ) -> Result<(Vec<T>, Strays), Error> {
        let found: Mutex<Vec<(PathBuf, T)>> = Mutex::default();
        let strays: Mutex<Strays> = Mutex::default();
        let unread = self.walk(&|path| {
            if let Some(service) = copy_of(path) {
                lock(&strays).copies.push((path.to_owned(), service));
                return;
            }
            match self.plan_of(path, seen) {
                Ok(None) => {}
                Ok(Some(plan)) => {
                    let path = plan.path().to_owned();
                    let sight = look(plan);
                    lock(&found).push((path, sight));
                }
                Err(source) => lock(&strays).unread.push(SearchGap { path: path.to_owned(), source }),
            }
        })?;
        // Plans committed by planners are outside the workspace, but belong to the project.
        for path in session_copy::plans(&self.root).into_iter().filter(|path| !path.starts_with(&self.root)) {
            let shown = path.to_string_lossy().into_owned();
            let sight = look(Found::New { path: path.clone(), shown, stamp: None });
            lock(&found).push((path, sight));
        }
        let mut plans = std::mem::take(&mut *lock(&found));
        // Path order, without splitting paths for every comparison: names contain no zero byte, so using it
        // as separator sorts it before everything.
        plans.sort_by_cached_key(|(path, _)| {
            let bytes = path.as_os_str().as_encoded_bytes();
            bytes.iter().map(|byte| if *byte == b'/' { 0 } else { *byte }).collect::<Vec<u8>>()
        });
        let mut strays = std::mem::take(&mut *lock(&strays));
        strays.unread.extend(unread);
        strays.copies.sort();
        strays.unread.sort_by(|one, other| one.path.cmp(&other.path));
        Ok((plans.into_iter().map(|(_, sight)| sight).collect(), strays))
    }

    /// The plan that a file below the root is, or starts. An unknown file is read to tell whether it is one.
    fn plan_of<'a>(&self, path: &'a Path, seen: &'a PlanIndex) -> io::Result<Option<Found<'a>>> {
        use io::Read as _;
        let Some(ending) = ending(path) else { return Ok(None) };
        let above = path.parent().and_then(Path::file_name).unwrap_or_default();
        // These extensions hold all kinds of data; plans are in directories of that name.
        if ending != "md" && above != "plans" {
            return Ok(None);
        }
        let plan = plan_file::plan_at(path, self.dialect);
        let home = plan.parent().and_then(Path::file_name).unwrap_or_default();
        // Archived plans and shelved plans.
        if home == plan_file::ARCHIVE || home == plan_file::STAGED || is_put_away(&plan) {
            return Ok(None);
        }
        let data = match path.metadata() {
            Ok(data) if data.is_file() => data,
            Ok(_) => return Ok(None),
            // It is gone, or a link that leads nowhere.
            Err(error) if state_dir::is_absence(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let shown =
            |path: &Path| path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned();
        if plan != path {
            let is_first = above != "tasks" || path.ends_with("tasks/plan.md");
            // Several files are one plan: the stamp of one of them says nothing.
            return Ok(is_first.then(|| Found::New { shown: shown(&plan), path: plan, stamp: None }));
        }
        let (shown, stamp) = (shown(path), index::stamp(&data));
        match seen.known(&shown, &stamp) {
            IndexEntry::NoPlan => return Ok(None),
            IndexEntry::Plan(summary) => return Ok(Some(Found::Known { path, summary })),
            IndexEntry::Nothing => {}
        }
        let bytes_max = u64::try_from(self.config.limits.plan_bytes).unwrap_or(u64::MAX);
        let mut text = Vec::new();
        std::fs::File::open(path)?.take(bytes_max).read_to_end(&mut text)?;
        let text = String::from_utf8_lossy(&text);
        if dialect::detect(&path.to_string_lossy(), &text).is_ok() {
            return Ok(Some(Found::New { path: plan, shown, stamp: Some(stamp) }));
        }
        seen.note(shown, stamp, None);
        Ok(None)
    }

    /// Passes every file below the root to `see`, from several threads, and returns what it could not look at.
    /// Ignored files (`.gitignore`) do not belong to the project; hidden directories are searched, since some
    /// tools keep plans there.
    pub(crate) fn walk(&self, see: &(dyn Fn(&Path) + Sync)) -> Result<Vec<SearchGap>, Error> {
        let (mut failed, mut paths, mut gaps) = (None, Vec::new(), Vec::new());
        let build = |folder: &Path| {
            let mut build = WalkBuilder::new(folder);
            build.hidden(false).max_depth(Some(DEPTH_MAX));
            build
        };
        walk::over(&self.root, build, &mut |walk| {
            // In one thread: the walker of the library panics if it cannot start others.
            for entry in walk.build().take(ENTRIES_MAX.saturating_sub(paths.len()) + 1) {
                match entry {
                    Ok(entry) => paths.push(entry.into_path()),
                    // The root itself must be readable, and the machine must not fail; a directory below that is
                    // closed to this user must not hide the others.
                    Err(error)
                        if error.depth() == Some(0) || error.io_error().is_some_and(fault::is_fault) =>
                    {
                        failed = Some(error);
                    }
                    Err(error) => gaps.extend(SearchGap::of(error)),
                }
            }
        });
        if let Some(source) = failed {
            return Err(Error::Search { path: self.root.clone(), source });
        }
        if paths.len() > ENTRIES_MAX {
            return Err(Error::Crowded { root: self.root.clone() });
        }
        let next = AtomicUsize::new(0);
        side_by_side(cores().min(SEARCHERS_MAX), &|| {
            while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                see(path);
            }
        });
        Ok(gaps)
    }

    pub fn address(&self, text: &str) -> Result<Address, Error> {
        let whole = |plan: PathBuf| Address { plan, step: None };
        if let Some((plan, step)) = text.rsplit_once('/')
            && !Path::new(text).exists()
            && !plan.is_empty()
            && !step.is_empty()
        {
            // `plans/hello.md/2` and `hello/2` are steps; `plans/typo.md` is a missing file.
            let is_plan = Path::new(plan).is_file() || self.is_folder(Path::new(plan));
            let is_name = !plan.contains('/') && !Path::new(plan).is_dir();
            if is_plan || (is_name && ending(Path::new(step)).is_none()) {
                return Ok(Address { plan: self.plan(plan)?, step: Some(step.to_owned()) });
            }
        }
        self.plan(text).map(whole)
    }

    /// The plan that `address` means: a path, a name, or a unique prefix of a name.
    pub fn plan(&self, address: &str) -> Result<PathBuf, Error> {
        let path = Path::new(address);
        let is_path = address.contains('/') || (ending(path).is_some() && path.exists());
        // A directory may have the name of a plan; nothing else that exists may.
        if is_path || (path.exists() && !path.is_dir()) || self.is_folder(path) {
            return Ok(plan_file::plan_at(path, self.dialect));
        }
        let (plans, strays) = self.search(&PlanIndex::of(self), |found| found.path().to_owned())?;
        let exact: Vec<&PathBuf> = plans.iter().filter(|plan| is_called(plan, address)).collect();
        let found = match exact.is_empty() {
            true => plans.iter().filter(|plan| plan_file::name(plan).starts_with(address)).collect(),
            false => exact,
        };
        match found.as_slice() {
            [only] => Ok((*only).clone()),
            [] if path.is_dir() || ending(path).is_some() => Ok(path.to_owned()),
            [] if let Some(path) = self.staged_as(address)? => {
                Err(Error::Staged { name: address.to_owned(), path })
            }
            [] if let Some(SearchGap { path, source }) = strays.gap_for(address) => {
                Err(Error::Unread { name: address.to_owned(), path, source })
            }
            [] => {
                let names: Vec<String> = plans.iter().map(|plan| plan_file::name(plan)).collect();
                let meant =
                    planwright_core::syntax::nearest::nearest(address, names.iter().map(String::as_str));
                let meant = meant.map(str::to_owned);
                Err(Error::NoPlan { name: address.to_owned(), root: self.root.clone(), meant })
            }
            several => {
                let plans = several.iter().map(|plan| (*plan).clone()).collect();
                Err(Error::Ambiguous { name: address.to_owned(), plans })
            }
        }
    }

    fn is_folder(&self, path: &Path) -> bool {
        path.is_dir() && plan_file::plan_at(&path.join("plan.md"), self.dialect) == path
    }

    /// The settings of `.pi/plans.json`, and what is wrong with them. `None` without such a file.
    pub fn proposal_settings(&self) -> io::Result<Option<(proposal::ProposalConfig, Vec<String>)>> {
        match plan_file::read_text(&self.root.join(PROPOSAL_SETTINGS), SETTINGS_BYTES_MAX) {
            Err(error) if state_dir::is_absence(&error) => Ok(None),
            Err(error) => Err(error),
            Ok(text) => Ok(Some(proposal::config(&text))),
        }
    }

    /// Every command that running a plan takes from the settings and the policy, which an approval covers.
    pub fn commands_of(&self, plan: &Plan) -> AgentCommands {
        let has_question = plan.steps.iter().any(|step| step.judge.is_some());
        // An unreadable policy approves nothing, so it need not be distinguished from a missing one.
        let policy = has_question.then(|| policy::load(&self.root).ok().flatten()).flatten();
        let weight = policy.map(|loaded| loaded.policy.judge).unwrap_or_default();
        self.config.commands_of(plan, weight)
    }

    /// Verifies a plan that was already read, as if nothing was known of its contracts.
    pub(crate) fn check(&self, text: FileText) -> Result<Verified, Error> {
        let source = match text {
            FileText::Plan(source) => source,
            FileText::Unreadable(unreadable) => {
                let verify::Unreadable { source, diagnostic } = *unreadable;
                return Ok(Verified {
                    source,
                    draft: None,
                    diagnostics: vec![diagnostic],
                    plan: None,
                    red: None,
                });
            }
        };
        let draft = parse(&source);
        self.judge(source, draft, BTreeMap::new())
    }

    /// The same plan with the results of its contracts before the work; `passed` are those that passed, and
    /// how that was determined.
    pub(crate) fn check_with(
        &self,
        verified: Verified,
        red: BaselineSet,
        passed: BTreeMap<String, String>,
    ) -> Result<Verified, Error> {
        let checked = match verified.draft {
            Some(draft) if !passed.is_empty() => self.judge(verified.source, draft, passed)?,
            draft => Verified { draft, ..verified },
        };
        Ok(Verified { red: Some(red), ..checked })
    }

    /// Verifies a plan, given the contracts known to have passed before the work.
    pub(crate) fn judge(
        &self,
        source: Source,
        draft: Draft,
        passed: BTreeMap<String, String>,
    ) -> Result<Verified, Error> {
        let study = Study::of(&source, &draft);
        let facts = Facts { passed, ..facts::gather(self, &study.questions())? };
        let limits = verify::VerifyLimits {
            retries_max: self.config.limits.retries,
            ..verify::VerifyLimits::default()
        };
        plan_count::count_verification();
        let checked = verify::verify(&study, &facts, &limits);
        let verify::CheckedPlan { plan, diagnostics } = checked;
        Ok(Verified { draft: Some(draft), diagnostics, plan, source, red: None })
    }
}

/// The root of the project that contains `start`. A read error is not a "no": that would make another
/// directory the project, and every plan would start again there.
pub fn root_of(start: &Path) -> Result<PathBuf, Error> {
    let failed = |source| plan_file::Error::Read { path: start.to_owned(), source };
    let start = match start.canonicalize() {
        Err(error) if !state_dir::is_absence(&error) => return Err(failed(error).into()),
        found => found.unwrap_or_else(|_| start.to_owned()),
    };
    let is_folder = look(&start)?.is_some_and(|data| data.is_dir());
    let folder = if is_folder { start.as_path() } else { start.parent().unwrap_or(&start) };
    for above in folder.ancestors() {
        if is_project(above)? {
            return Ok(above.to_owned());
        }
    }
    Ok(folder.to_owned())
}

/// Where to search for the project of a plan: at the plan, or in the current directory if the plan is in no
/// project. Some tools keep plans away from their repository, and a directory without a repository is a project
/// for whoever works in it.
pub fn home_of(plan: &Path) -> Result<PathBuf, Error> {
    let here = Path::new(".");
    // Plans in planwright's own directories belong to the project of the current directory.
    let is_in = |states: PathBuf| {
        plan.starts_with(&states) || states.canonicalize().is_ok_and(|states| plan.starts_with(states))
    };
    if state_dir::folder().is_ok_and(is_in) {
        return Ok(here.to_owned());
    }
    let (there, here_root) = (root_of(plan)?, root_of(here)?);
    if is_project(&there)? {
        return Ok(plan.to_owned());
    }
    // A whole disk or home directory is nobody's project by mere position.
    let home = std::env::var_os("HOME").map(PathBuf::from).and_then(|home| home.canonicalize().ok());
    let is_narrow = here_root.parent().is_some() && home.as_ref() != Some(&here_root);
    let is_homeless = is_project(&here_root)? || (is_narrow && there.starts_with(&here_root));
    Ok(if is_homeless { here.to_owned() } else { plan.to_owned() })
}

fn is_project(root: &Path) -> Result<bool, Error> {
    let git = root.join(".git");
    let unread = |source| plan_file::Error::Read { path: git.clone(), source };
    Ok(look(&root.join(config::FILE))?.is_some()
        || state_dir::is_repository(&git).map_err(unread)?
        || state_dir::had_repository(root))
}

/// What is at a path, if anything is.
fn look(path: &Path) -> Result<Option<std::fs::Metadata>, Error> {
    match path.metadata() {
        Ok(data) => Ok(Some(data)),
        Err(error) if state_dir::is_absence(&error) => Ok(None),
        Err(source) => Err(plan_file::Error::Read { path: path.to_owned(), source }.into()),
    }
}

/// The name of a plan in another tool's file: that of the file, or of its directory if the tool uses one
/// fixed file name.
pub fn name_of_foreign(path: &Path) -> String {
    const COMMON: &[&str] = &["tasks", "plan", "PLAN", "prd", "issues", "feature_list"];
    let name = plan_file::name(path);
    let real = path.canonicalize().ok();
    let above = real.as_deref().and_then(Path::parent).and_then(Path::file_name);
    match above.filter(|_| COMMON.contains(&name.as_str()) && path.is_file()) {
        Some(folder) if !folder.to_string_lossy().starts_with('.') => folder.to_string_lossy().into_owned(),
        Some(_) | None => name.trim_end_matches(".plan").to_owned(),
    }
}

/// Whether a plan has this name: `PLAN-auth.md` is `PLAN-auth`, and `auth` for short.
fn is_called(path: &Path, called: &str) -> bool {
    let name = plan_file::name(path);
    let is_file = path.file_name().is_some_and(|file| file == called);
    is_file || name == called || name.strip_prefix("PLAN-").is_some_and(|short| short == called)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// File extensions of plans.
const ENDINGS: &[&str] = &["md", "yaml", "yml", "json"];

/// The extension of a path that could be a plan file.
pub(crate) fn ending(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?;
    ENDINGS.iter().copied().find(|known| ending == *known)
}

/// The service that created this conflict copy.
fn copy_of(path: &Path) -> Option<&'static str> {
    ending(path)?;
    named::conflict_copy(&path.file_name()?.to_string_lossy()).filter(|_| path.is_file())
}
