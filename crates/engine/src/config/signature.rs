//! Signatures of approvals: the format of `ssh-keygen -Y sign` and `-Y verify`, in the namespace `planwright`. Signing is the
//! business of `ssh-keygen`, which knows where keys are kept; checking needs no program and no network, so that a stranger can.

mod key;
mod signers;
mod ssh_wire;

pub use signers::{Signer, Signers};

use std::path::{Path, PathBuf};

use key::{Doubt, PublicKey};
use ring::digest;
use ssh_wire::{Reader, armored, dearmored, put};

use crate::config;
use crate::system::process;

/// What signatures are for. One that was made for something else, a commit for instance, is none here.
pub const NAMESPACE: &str = "planwright";
/// What every signature, and everything that is signed, begins with.
const MAGIC: &[u8] = b"SSHSIG";
/// The version of the format.
const VERSION: u32 = 1;

/// Why a signature does not count.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no signature.
    #[error("this is no SSH signature: {0}")]
    Malformed(String),
    /// It was made for something else.
    #[error("the signature is for `{found}`, not for `{NAMESPACE}`")]
    Namespace {
        /// What it is for.
        found: String,
    },
    /// It is of a kind that is not taken.
    #[error("signatures by `{kind}` are not taken")]
    Kind {
        /// The kind of key or signature.
        kind: String,
    },
    /// The text is not the one that was signed, or the signature was changed.
    #[error("the signature does not fit the text: one of them was changed")]
    Tampered,
    /// The key has a button that nobody pressed.
    #[error("the key {fingerprint} signed without being touched")]
    Untouched { fingerprint: String },
    /// The key is nobody's.
    #[error("the key {fingerprint} is not in {}", list.display())]
    Foreign {
        fingerprint: String,
        /// The list of signers.
        list: PathBuf,
    },
    /// The key is listed, but for something else.
    #[error("{} has the key {fingerprint} for other namespaces than `{NAMESPACE}`", list.display())]
    Barred {
        fingerprint: String,
        /// The list of signers.
        list: PathBuf,
    },
    /// The key counted earlier, or will later.
    #[error("{} has the key {fingerprint} for another time: {why}", list.display())]
    Expired {
        fingerprint: String,
        /// The list of signers.
        list: PathBuf,
        /// Since when, or until when.
        why: String,
    },
    /// The key is somebody else's.
    #[error("the key {fingerprint} is not one of {name}: it belongs to {principals}")]
    Another {
        /// Who should have signed.
        name: String,
        fingerprint: String,
        principals: String,
    },
    /// There is no list of signers.
    #[error("there is no list of signers, so no signature can count")]
    NoList,
}

/// Why a text was not signed.
#[derive(Debug, thiserror::Error)]
pub enum Unsigned {
    /// `ssh-keygen` can't be run.
    #[error("cannot sign with {}", key.display())]
    Process {
        key: PathBuf,
        #[source]
        source: process::Error,
    },
    /// `ssh-keygen` would not.
    #[error("ssh-keygen did not sign with {}; it has said why", key.display())]
    Refused { key: PathBuf },
    /// What `ssh-keygen` printed is no signature.
    #[error("what ssh-keygen made with {} can't be used", key.display())]
    Unusable {
        key: PathBuf,
        #[source]
        source: Error,
    },
}

/// Signs a text with the key in a file, or with one that an agent holds if the file has its public half.
pub fn sign(key: &Path, text: &str) -> Result<String, Unsigned> {
    let refused = || Unsigned::Refused { key: key.to_owned() };
    let said = process::sign_with_ssh(&config::from_home(key), NAMESPACE, text)
        .map_err(|source| Unsigned::Process { key: key.to_owned(), source })?;
    let signature = said.ok_or_else(refused)?;
    match parse(&signature).and_then(|parsed| parsed.check(text)) {
        Ok(_) => Ok(signature),
        Err(source) => Err(Unsigned::Unusable { key: key.to_owned(), source }),
    }
}

/// Checks the signature of a text as it stood at a time, in milliseconds since 1970; says whose it is.
pub fn verify(text: &str, armored: &str, signers: &Signers, at_ms: u64) -> Result<Signer, Error> {
    let parsed = parse(armored)?;
    let key = parsed.check(text)?;
    signers.find(&key, at_ms)
}

/// A signature, taken apart.
#[derive(Debug)]
struct Parsed {
    key: Vec<u8>,
    hash: &'static digest::Algorithm,
    hash_name: String,
    signature: Vec<u8>,
}

fn parse(text: &str) -> Result<Parsed, Error> {
    let malformed = |why: &str| Error::Malformed(why.to_owned());
    let bytes = dearmored(text).map_err(&malformed)?;
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| malformed("it does not begin like one"))?;
    let mut reader = Reader::new(rest);
    let version = reader.number().ok_or_else(|| malformed("it ends early"))?;
    if version != VERSION {
        return Err(Error::Malformed(format!("it is of version {version}")));
    }
    let mut next = || reader.string().map(<[u8]>::to_vec).ok_or_else(|| malformed("it ends early"));
    let (key, namespace, reserved, hash_name, signature) = (next()?, next()?, next()?, next()?, next()?);
    if !reader.is_empty() || !reserved.is_empty() {
        return Err(malformed("something stands where nothing may"));
    }
    if namespace != NAMESPACE.as_bytes() {
        return Err(Error::Namespace { found: String::from_utf8_lossy(&namespace).into_owned() });
    }
    let hash = match hash_name.as_slice() {
        b"sha512" => &digest::SHA512,
        b"sha256" => &digest::SHA256,
        _ => return Err(malformed("its hash is not known")),
    };
    Ok(Parsed { key, hash, hash_name: String::from_utf8_lossy(&hash_name).into_owned(), signature })
}

impl Parsed {
    /// Whether the text is what was signed; says by which key.
    fn check(&self, text: &str) -> Result<PublicKey, Error> {
        let key = PublicKey::parse(&self.key).map_err(of_key)?;
        let mut signed = MAGIC.to_vec();
        put(&mut signed, NAMESPACE.as_bytes());
        put(&mut signed, b"");
        put(&mut signed, self.hash_name.as_bytes());
        put(&mut signed, digest::digest(self.hash, text.as_bytes()).as_ref());
        match key.verify(&signed, &self.signature) {
            Ok(()) => Ok(key),
            Err(Doubt::Untouched) => Err(Error::Untouched { fingerprint: key.fingerprint() }),
            Err(doubt @ (Doubt::Malformed | Doubt::Kind(_) | Doubt::Wrong)) => Err(of_key(doubt)),
        }
    }
}

fn of_key(doubt: Doubt) -> Error {
    match doubt {
        Doubt::Malformed => Error::Malformed("its key or its signature can't be read".to_owned()),
        Doubt::Kind(kind) => Error::Kind { kind },
        Doubt::Wrong | Doubt::Untouched => Error::Tampered,
    }
}

/// Puts a signature into the form that `ssh-keygen` prints; for tests, which make signatures of their own.
#[doc(hidden)]
pub fn armor(key: &[u8], namespace: &str, hash: &str, signature: &[u8]) -> String {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_be_bytes());
    for part in [key, namespace.as_bytes(), b"", hash.as_bytes(), signature] {
        put(&mut bytes, part);
    }
    armored(&bytes)
}
