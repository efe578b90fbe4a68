//! Who wrote a plan last, and the lock that makes writers wait for each other. Both live outside the workspace, where no agent
//! can hold the one or forge the other.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::state;
use crate::{clock, runs};

/// How much of a record is read.
const RECORD_BYTES_MAX: u64 = 4096;

/// The right to write one plan, as long as it lives.
pub(super) struct Turn {
    file: File,
    /// Where the lock is.
    path: PathBuf,
}

impl Turn {
    /// Waits for the right to write the plan at `path`.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let folder = state::folder().join("locks");
        // The first edit may come before the first run: what is made here is made for the owner alone.
        state::create(&folder).map_err(io::Error::other)?;
        let name = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
        let path = folder.join(&name[..32]);
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
        file.lock()?;
        Ok(Self { file, path })
    }

    /// Where to note what is about to be done to a plan of several files, so that it can be finished should we die.
    pub(super) fn intent(&self) -> PathBuf {
        self.path.with_extension("intent")
    }

    /// Notes that this process wrote `text`.
    #[expect(clippy::disallowed_methods, reason = "a lock is no plan file")]
    pub(super) fn sign(&mut self, text: &str) -> io::Result<()> {
        let program = std::env::args().take(2).collect::<Vec<_>>();
        let command = program.get(1).map_or("planwright", String::as_str);
        let record = format!(
            "{}\n{} (planwright {command}, process {}) at {}\n",
            blake3::hash(text.as_bytes()).to_hex(),
            runs::user(),
            std::process::id(),
            clock::local(runs::now())
        );
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(record.as_bytes())
    }

    /// Who wrote this text.
    pub(super) fn author(&mut self, text: &str) -> String {
        let mut record = String::new();
        // A record that can't be read names nobody.
        let read =
            self.file.rewind().and_then(|()| (&self.file).take(RECORD_BYTES_MAX).read_to_string(&mut record));
        let mut lines = record.lines();
        let is_theirs = read.is_ok() && lines.next() == Some(blake3::hash(text.as_bytes()).to_hex().as_str());
        match lines.next().filter(|_| is_theirs) {
            Some(author) => author.to_owned(),
            None => "something other than planwright".to_owned(),
        }
    }
}
