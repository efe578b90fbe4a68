//! Contract results on trees that were checked before: one small file each in the state directory. Only
//! results of the contract itself are kept; a failure to run it may be gone tomorrow.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use planwright_core::approval::ledger::Base;
use planwright_core::plan::verified::{Contract, Step};
use planwright_core::run::judge::{ContractRun, Observation};
use serde::{Deserialize, Serialize};

use crate::git::base;
use crate::git::base::part_of;
use crate::store::{plan_file, state_dir};

const FOLDER: &str = "red";
/// The most results that are kept; the oldest go first.
const KEPT_MAX: usize = 4_096;
const BYTES_MAX: u64 = 4_096;

/// Results on one tree.
pub(super) struct Memory {
    folder: PathBuf,
    /// The start of every key: the tree, and the project's path in it.
    tree: blake3::Hasher,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedBaseline {
    pub(super) observation: Observation,
    pub(super) milliseconds: u64,
}

impl Memory {
    pub(super) fn of(root: &Path, base: &Base) -> Result<Self, base::Error> {
        let folder = state_dir::of_project(root)?.join(FOLDER);
        let mut tree = blake3::Hasher::new();
        record(&mut tree, "planwright red 1");
        record(&mut tree, &base.tree);
        record(&mut tree, &part_of(root)?.to_string_lossy());
        Ok(Self { folder, tree })
    }

    pub(super) fn is_there(root: &Path) -> bool {
        state_dir::of_project(root).is_ok_and(|folder| folder.join(FOLDER).is_dir())
    }

    pub(super) fn get(&self, step: &Step) -> Option<CachedBaseline> {
        let text = plan_file::read_text(&self.folder.join(self.key(step)?), BYTES_MAX).ok()?;
        serde_json::from_str(&text).ok()
    }

    pub(super) fn put(&self, step: &Step, seen: &ContractRun) {
        let is_said = match &seen.observation {
            // 126 and 127 mean that a program is missing, which depends on the machine.
            Observation::Exited(code) => !matches!(code, 126 | 127),
            Observation::Signalled(_) | Observation::TimedOut(_) | Observation::NotStarted(_) => false,
        };
        let Some(key) = self.key(step).filter(|_| is_said) else { return };
        let kept = CachedBaseline { observation: seen.observation.clone(), milliseconds: seen.milliseconds };
        // Without it the contract runs again next time; nothing else is lost.
        if let Ok(text) = serde_json::to_string(&kept) {
            state_dir::keep(&self.folder, &key, text.as_bytes()).ok();
        }
    }

    /// Everything that the result depends on. Not the expected exit code: observations are judged again.
    fn key(&self, step: &Step) -> Option<String> {
        let Contract::Shell { command, .. } = &step.contract else { return None };
        let mut key = self.tree.clone();
        record(&mut key, command);
        record(&mut key, step.setup.as_deref().unwrap_or_default());
        step.env.iter().for_each(|pair| record(&mut key, pair));
        Some(key.finalize().to_hex().to_string())
    }

    pub(super) fn forget_oldest(&self) {
        let Ok(entries) = self.folder.read_dir() else { return };
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        let surplus = files.len().saturating_sub(KEPT_MAX);
        for (_, path) in files.into_iter().take(surplus) {
            // The next call retries.
            std::fs::remove_file(path).ok();
        }
    }
}

/// Adds a text so that no two texts can be confused with one.
fn record(hasher: &mut blake3::Hasher, text: &str) {
    hasher.update(&text.len().to_le_bytes()).update(text.as_bytes());
}
