//! The policy file: where it is, whether it can be trusted to be the user's, and how a new one replaces it.
//! Never read from the workspace, which agents write to. `planwright_core::policy` decides what it means.

mod read;

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use planwright_core::approval::policy::Policy;

use crate::config;
use crate::config::ConfigFault;
use crate::config::signature;
use crate::config::signature::{Signer, Signers};
use crate::store::state_dir::ProjectRecord;
use crate::store::{plan_file, state_dir};

pub const FILE: &str = "policy.toml";
/// The default list of signers next to it.
pub const SIGNERS: &str = "allowed_signers";
/// The name of the replaced file.
pub const BACKUP: &str = "policy.toml.backup";
const FILE_BYTES_MAX: u64 = 1 << 20;
const LOOSE: u32 = 0o022;

/// The effective policy.
#[derive(Debug, Clone)]
pub struct Loaded {
    pub policy: Policy,
    /// The hash of the policy and its list of signers: if either changes, it is another policy.
    pub digest: String,
    pub path: PathBuf,
    pub text: String,
    /// Whose keys count, if there is a list of signers.
    pub signers: Option<Signers>,
}

/// Where a policy is searched: the first existing one wins.
#[derive(Debug, Clone)]
pub struct PolicyPaths {
    /// The root of the project, from which none is read.
    pub root: PathBuf,
    /// The repository's.
    pub repository: PathBuf,
    /// Those that count where the repository has none: of the repository that was in the same folder before,
    /// and of the projects around it. Otherwise a new `.git` or `planwright.toml`, which agents can write, would
    /// do away with the policy.
    pub inherited: Vec<PathBuf>,
    /// The user's, if there is a home directory.
    pub user: Option<PathBuf>,
    /// The record that the repository's is in.
    record: Option<ProjectRecord>,
}

#[derive(Debug, Clone)]
pub struct InstalledPolicy {
    pub path: PathBuf,
    /// The text it replaced.
    pub old: Option<String>,
    /// Where that is kept.
    pub backup: Option<PathBuf>,
    pub loaded: Loaded,
}

/// Why there is no usable policy. With any of these, nothing is approved.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot find the policy of {}", root.display())]
    State {
        root: PathBuf,
        #[source]
        source: state_dir::Error,
    },
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("invalid policy {}", path.display())]
    Invalid { path: PathBuf, faults: Vec<ConfigFault> },
    #[error("invalid list of signers {}", path.display())]
    Signers { path: PathBuf, faults: Vec<ConfigFault> },
    /// The file is where agents can write.
    #[error("policy {} is inside the workspace, where agents can write; move it out", path.display())]
    Workspace { path: PathBuf },
    /// Others may write the file.
    #[error("policy {} is writable by others; run chmod go-w", path.display())]
    Loose { path: PathBuf },
}

impl Error {
    pub fn faults(&self) -> &[ConfigFault] {
        match self {
            Self::Invalid { faults, .. } | Self::Signers { faults, .. } => faults,
            Self::State { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Workspace { .. }
            | Self::Loose { .. } => &[],
        }
    }
}

impl PolicyPaths {
    /// Where the policy of the project at `root` is searched.
    pub fn of(root: &Path) -> Result<Self, Error> {
        let error = |source| Error::State { root: root.to_owned(), source };
        let states = state_dir::folder().map_err(error)?;
        let record = ProjectRecord::find(&states, root).map_err(error)?;
        let others = record.policies().map_err(error)?;
        let user = config::user_file().map(|file| file.with_file_name(FILE));
        Ok(Self {
            root: root.to_owned(),
            repository: record.folder().join(FILE),
            inherited: others.iter().map(|folder| folder.join(FILE)).collect(),
            user,
            record: Some(record),
        })
    }

    /// The effective policy; `None` if neither file exists.
    pub fn load(&self) -> Result<Option<Loaded>, Error> {
        for path in std::iter::once(&self.repository).chain(&self.inherited).chain(&self.user) {
            if is_there(path)? {
                return self.trusted(path).map(Some);
            }
        }
        Ok(None)
    }

    /// Installs a policy for the repository, with its list of signers if that is next to it. An invalid one
    /// is refused, and the old one is kept.
    pub fn install(&self, file: &Path) -> Result<InstalledPolicy, Error> {
        let new = check(file)?;
        let folder = self.repository.parent().unwrap_or(Path::new("/"));
        let error = |source| Error::State { root: self.root.clone(), source };
        state_dir::create(folder).map_err(error)?;
        self.record.as_ref().map_or(Ok(()), ProjectRecord::claim).map_err(error)?;
        let old = if is_there(&self.repository)? { Some(text_of(&self.repository)?) } else { None };
        let write = |path: &Path, text: &str| {
            plan_file::put_private(path, text)
                .map_err(|source| Error::Write { path: path.to_owned(), source })
        };
        let backup = match &old {
            Some(old) if *old != new.text => {
                let backup = self.repository.with_file_name(BACKUP);
                write(&backup, old)?;
                Some(backup)
            }
            Some(_) | None => None,
        };
        // The signers first: a policy without its signers would refuse everything.
        if let Some(signers) =
            new.signers.as_ref().filter(|signers| signers.path.parent() == new.path.parent())
        {
            write(&folder.join(signers.path.file_name().unwrap_or_default()), &signers.text)?;
        }
        write(&self.repository, &new.text)?;
        let loaded = self.trusted(&self.repository)?;
        Ok(InstalledPolicy { path: self.repository.clone(), old, backup, loaded })
    }

    /// The effective list of signers, even without a policy.
    pub fn signers(&self) -> Result<Option<Signers>, Error> {
        if let Some(loaded) = self.load()? {
            return Ok(loaded.signers);
        }
        let signers = first_signers(&[self.repository.with_file_name(SIGNERS)])?;
        signers.map(|signers| self.guard(&signers.path).map(|()| signers)).transpose()
    }

    /// Reads a policy that nobody else may write.
    fn trusted(&self, path: &Path) -> Result<Loaded, Error> {
        self.guard(path)?;
        let usual = [self.repository.with_file_name(SIGNERS), path.with_file_name(SIGNERS)];
        let loaded = check_with(path, &usual)?;
        if let Some(signers) = &loaded.signers {
            self.guard(&signers.path)?;
        }
        Ok(loaded)
    }

    /// Refuses a file that an agent, or another user, could have written.
    fn guard(&self, path: &Path) -> Result<(), Error> {
        let read = |source| Error::Read { path: path.to_owned(), source };
        let real = path.canonicalize().map_err(read)?;
        let root = self.root.canonicalize().map_err(read)?;
        if real.starts_with(&root) {
            return Err(Error::Workspace { path: path.to_owned() });
        }
        match real.metadata().map_err(read)?.permissions().mode() & LOOSE {
            0 => Ok(()),
            _ => Err(Error::Loose { path: path.to_owned() }),
        }
    }
}

/// The effective policy of the project at `root`; `None` if there is none. An unreadable one is an error,
/// never `None`.
pub fn load(root: &Path) -> Result<Option<Loaded>, Error> {
    PolicyPaths::of(root)?.load()
}

/// Why a signature does not count, or cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum Unverified {
    #[error(transparent)]
    Policy(#[from] Error),
    #[error(transparent)]
    Signature(#[from] signature::Error),
}

/// Verifies a signature over a text for a signer at a time in milliseconds since 1970: by the policy of the
/// project at `root`, or by its list of signers without a policy.
pub fn verify(
    root: &Path,
    text: &str,
    armored: &str,
    (name, at_ms): (&str, u64),
) -> Result<Signer, Unverified> {
    let places = PolicyPaths::of(root)?;
    let loaded = places.load()?;
    let (policy, signers) = match loaded {
        Some(loaded) => (loaded.policy, loaded.signers),
        None => (Policy::default(), places.signers()?),
    };
    Ok(verify_by((&policy, signers.as_ref()), text, armored, (name, at_ms))?)
}

fn verify_by(
    (policy, signers): (&Policy, Option<&Signers>),
    text: &str,
    armored: &str,
    (name, at_ms): (&str, u64),
) -> Result<Signer, signature::Error> {
    let signer = signature::verify(text, armored, signers.ok_or(signature::Error::NoList)?, at_ms)?;
    let is_theirs =
        signer.speaks_for(policy.principal_of(name)) && policy.takes_key(name, &signer.fingerprint);
    match is_theirs {
        true => Ok(signer),
        false => Err(signature::Error::Another {
            name: name.to_owned(),
            fingerprint: signer.fingerprint,
            principals: signer.principals.join(" "),
        }),
    }
}

/// Reads a policy at any path, effective or not.
pub fn check(path: &Path) -> Result<Loaded, Error> {
    check_with(path, &[path.with_file_name(SIGNERS)])
}

/// Reads a policy; its list of signers is the one it names, or the first existing one of `usual`.
fn check_with(path: &Path, usual: &[PathBuf]) -> Result<Loaded, Error> {
    let text = text_of(path)?;
    let read = read::read(&text).map_err(|faults| Error::Invalid { path: path.to_owned(), faults })?;
    let signers = match &read.signers {
        Some(named) => Some(signers_at(&path.with_file_name(named))?),
        None => first_signers(usual)?,
    };
    let mut hasher = blake3::Hasher::new();
    // The length separates one text from the other.
    hasher.update(&(text.len() as u64).to_be_bytes()).update(text.as_bytes());
    if let Some(signers) = &signers {
        hasher.update(signers.text.as_bytes());
    }
    let digest = hasher.finalize().to_hex().to_string();
    Ok(Loaded { policy: read.policy, digest, path: path.to_owned(), text, signers })
}

impl Loaded {
    /// Verifies a signature over a text for a signer at a time in milliseconds since 1970: the list of
    /// signers has the key for them, and the policy names no other.
    pub fn verify(
        &self,
        text: &str,
        armored: &str,
        name: &str,
        at_ms: u64,
    ) -> Result<Signer, signature::Error> {
        verify_by((&self.policy, self.signers.as_ref()), text, armored, (name, at_ms))
    }
}

/// The first existing list of signers.
fn first_signers(usual: &[PathBuf]) -> Result<Option<Signers>, Error> {
    for path in usual {
        if is_there(path)? {
            return signers_at(path).map(Some);
        }
    }
    Ok(None)
}

fn signers_at(path: &Path) -> Result<Signers, Error> {
    let text = text_of(path)?;
    Signers::read(path, text).map_err(|faults| Error::Signers { path: path.to_owned(), faults })
}

/// Whether something is at a path. A dangling link counts: it must not pass for nothing.
fn is_there(path: &Path) -> Result<bool, Error> {
    match path.symlink_metadata() {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(source) => Err(Error::Read { path: path.to_owned(), source }),
    }
}

fn text_of(path: &Path) -> Result<String, Error> {
    // One byte more than allowed: half a policy must not be taken for the whole.
    let read = plan_file::read_text(path, FILE_BYTES_MAX + 1).and_then(|text| {
        match text.len() as u64 > FILE_BYTES_MAX {
            true => Err(io::Error::new(io::ErrorKind::InvalidInput, "too large")),
            false => Ok(text),
        }
    });
    read.map_err(|source| Error::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
