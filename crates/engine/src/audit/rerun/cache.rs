//! Passing results, keyed by everything they depend on: the contract, its environment, the programs and the
//! whole content it ran on. An entry is written only after a real run; a torn or changed one is ignored.
//! Failures are not cached: after fixing the machine, you must not get the old answer.

use std::collections::{BTreeMap, HashMap};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use blake3::{Hash, Hasher};
use planwright_core::plan::verified::{Contract, Step};
use planwright_core::syntax::shell;

use crate::run::contract::ContractRunner;
use crate::store::state_dir;

const FILE: &str = "audit-cache";
/// The first line of the file, and part of every key: entries of other versions never count as ours.
const VERSION: &str = concat!("planwright audit cache 1, planwright ", env!("CARGO_PKG_VERSION"));
/// The most entries that are kept; the oldest go first.
const ENTRIES_MAX: usize = 20_000;
/// The most bytes read: enough for all entries.
const BYTES_MAX: u64 = 8 << 20;
/// How long an entry counts. What a contract depends on beyond the files is invisible here: libraries,
/// services, data.
const AGE_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1000;

#[derive(Debug)]
pub struct Cache {
    folder: PathBuf,
    entries: HashMap<Hash, CacheEntry>,
    fresh: HashMap<Hash, CacheEntry>,
}

/// One passing contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheEntry {
    /// In milliseconds since 1970.
    pub at_ms: u64,
    pub milliseconds: u64,
}

impl CacheEntry {
    /// A checksum that shows that a line is ours and complete.
    fn check(self, key: &Hash) -> Hash {
        let mut hasher = Hasher::new();
        hasher.update(VERSION.as_bytes()).update(key.as_bytes());
        hasher.update(&self.at_ms.to_le_bytes()).update(&self.milliseconds.to_le_bytes());
        hasher.finalize()
    }
}

impl Cache {
    /// Reads the cache of the project at `root`. What cannot be read is unknown.
    pub fn of(root: &Path) -> Result<Self, state_dir::Error> {
        let folder = state_dir::of_project(root)?;
        let entries = read(&folder.join(FILE));
        Ok(Self { folder, entries, fresh: HashMap::new() })
    }

    /// The entry under a key, if it still counts.
    pub fn get(&self, key: &Hash, now_ms: u64) -> Option<CacheEntry> {
        let entry = self.entries.get(key)?;
        // An entry from the future was written with another clock.
        now_ms.checked_sub(entry.at_ms).filter(|age| *age < AGE_MS_MAX).map(|_| *entry)
    }

    /// Notes a contract that has just passed.
    pub(super) fn put(&mut self, key: Hash, entry: CacheEntry) {
        self.fresh.insert(key, entry);
        self.entries.insert(key, entry);
    }

    /// Writes the cache. Concurrent writes are fine: a lost entry costs another run, and nothing else.
    pub(super) fn keep(&mut self) -> io::Result<()> {
        if self.fresh.is_empty() {
            return Ok(());
        }
        let mut entries = read(&self.folder.join(FILE));
        entries.extend(self.fresh.drain());
        let mut lines: Vec<(Hash, CacheEntry)> = entries.into_iter().collect();
        lines.sort_by_key(|(key, entry)| (std::cmp::Reverse(entry.at_ms), *key.as_bytes()));
        lines.truncate(ENTRIES_MAX);
        let mut text = format!("{VERSION}\n");
        for (key, entry) in lines {
            let CacheEntry { at_ms, milliseconds } = entry;
            let check = entry.check(&key).to_hex();
            text.push_str(&format!("{} {at_ms} {milliseconds} {check}\n", key.to_hex()));
        }
        write(&self.folder, &text)
    }
}

fn read(path: &Path) -> HashMap<Hash, CacheEntry> {
    let text = crate::store::plan_file::read_text(path, BYTES_MAX).unwrap_or_default();
    let mut lines = text.lines();
    if lines.next() != Some(VERSION) {
        return HashMap::new();
    }
    lines.filter_map(entry).collect()
}

fn entry(line: &str) -> Option<(Hash, CacheEntry)> {
    let mut words = line.split(' ');
    let key = Hash::from_hex(words.next()?).ok()?;
    let entry = CacheEntry { at_ms: words.next()?.parse().ok()?, milliseconds: words.next()?.parse().ok()? };
    let check = Hash::from_hex(words.next()?).ok()?;
    (words.next().is_none() && entry.check(&key) == check).then_some((key, entry))
}

#[expect(clippy::disallowed_methods, reason = "writes into the state directory, never where plans are")]
fn write(folder: &Path, text: &str) -> io::Result<()> {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    state_dir::create(folder).map_err(io::Error::other)?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let fresh = folder.join(format!("{FILE}.{}-{count}", std::process::id()));
    std::fs::write(&fresh, text)?;
    std::fs::rename(&fresh, folder.join(FILE))
}

/// Computes the keys of one audit. Programs are looked up once.
#[derive(Debug, Default)]
pub(super) struct CacheKeys {
    programs: BTreeMap<String, String>,
}

impl CacheKeys {
    /// The key of a step's contract on some content; `None` without a contract.
    ///
    /// It covers everything that planwright passes to a contract or can see of what the contract starts. The
    /// length before each part makes a key unambiguous.
    pub(super) fn key(&mut self, step: &Step, runner: &ContractRunner<'_>, tree: &str) -> Option<Hash> {
        let Contract::Shell { command, expect } = &step.contract else { return None };
        let mut hasher = Hasher::new();
        let mut part = |text: &str| {
            hasher.update(&text.len().to_le_bytes()).update(text.as_bytes());
        };
        part(VERSION);
        part(tree);
        part(command);
        part(&expect.to_string());
        part(step.setup.as_deref().map_or("no setup", |_| "setup"));
        part(step.setup.as_deref().unwrap_or_default());
        part(&runner.deadline(step).as_secs().to_string());
        let environment = runner.environment(step);
        part(&environment.len().to_string());
        for (name, value) in &environment {
            part(name);
            part(value);
        }
        let path = environment.iter().find(|(name, _)| name == "PATH").map_or("", |(_, path)| path.as_str());
        for script in [Some("bash"), Some(command.as_str()), step.setup.as_deref()].into_iter().flatten() {
            for call in shell::analyse(script).calls {
                part(self.program(&call.name, path));
            }
        }
        Some(hasher.finalize())
    }

    /// The metadata of a program: an updated one is another program.
    fn program(&mut self, name: &str, path: &str) -> &str {
        // PATH is the same for all steps except those that declare one, which is not allowed.
        self.programs.entry(name.to_owned()).or_insert_with(|| look(name, path))
    }
}

fn look(name: &str, path: &str) -> String {
    let candidates: Vec<PathBuf> = match name.contains('/') {
        true => vec![PathBuf::from(name)],
        false => std::env::split_paths(path).map(|folder| folder.join(name)).collect(),
    };
    let found =
        candidates.iter().find_map(|file| Some((file, file.metadata().ok().filter(Metadata::is_file)?)));
    match found {
        Some((file, data)) => {
            let (size, at, rest, inode) = (data.size(), data.mtime(), data.mtime_nsec(), data.ino());
            format!("{} {size} {at}.{rest} {inode}", file.display())
        }
        None => format!("{name} -"),
    }
}
