//! Signatures of approvals: the format of `ssh-keygen -Y sign` and `-Y verify`, in the namespace
//! `planwright`. `ssh-keygen` signs, since it knows where keys are; verifying needs no program and no
//! network, so that a stranger can do it.

mod key;
mod signers;
mod ssh_wire;

pub use signers::{Signer, Signers};

use std::path::{Path, PathBuf};

use key::{PublicKey, VerifyError};
use ring::digest;
use ssh_wire::{Reader, armored, dearmored, put};

use crate::config;
use crate::system::process;

/// The namespace of our signatures. One made for something else, such as a commit, does not count.
pub const NAMESPACE: &str = "planwright";
/// The prefix of every signature, and of everything that is signed.
const MAGIC: &[u8] = b"SSHSIG";
const VERSION: u32 = 1;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("not an SSH signature: {0}")]
    Malformed(String),
    #[error("the signature is for namespace `{found}`, not `{NAMESPACE}`")]
    Namespace {
        /// The actual namespace.
        found: String,
    },
    #[error("unsupported signature type `{kind}`")]
    Kind {
        /// The type of key or signature.
        kind: String,
    },
    /// The text is not what was signed, or the signature was changed.
    #[error("the signature does not match the text")]
    Tampered,
    /// The key has a button that was not pressed.
    #[error("key {fingerprint} signed without being touched")]
    Untouched { fingerprint: String },
    /// The key is not listed.
    #[error("key {fingerprint} is not in {}", list.display())]
    Foreign { fingerprint: String, list: PathBuf },
    /// The key is listed for something else.
    #[error("{} lists key {fingerprint} for other namespaces than `{NAMESPACE}`", list.display())]
    Barred { fingerprint: String, list: PathBuf },
    /// The key was valid earlier, or will be later.
    #[error("{} lists key {fingerprint} for another time: {why}", list.display())]
    Expired {
        fingerprint: String,
        list: PathBuf,
        /// From or until when it is valid.
        why: String,
    },
    /// The key is someone else's.
    #[error("key {fingerprint} does not belong to {name}: it belongs to {principals}")]
    Another {
        /// The expected signer.
        name: String,
        fingerprint: String,
        principals: String,
    },
    #[error("no list of signers found, so signatures cannot be verified")]
    NoList,
}

#[derive(Debug, thiserror::Error)]
pub enum SignError {
    #[error("cannot sign with {}", key.display())]
    Process {
        key: PathBuf,
        #[source]
        source: process::Error,
    },
    #[error("ssh-keygen could not sign with {}", key.display())]
    Refused { key: PathBuf },
    #[error("unusable output of ssh-keygen with {}", key.display())]
    Unusable {
        key: PathBuf,
        #[source]
        source: Error,
    },
}

/// Signs a text with the key in a file, or with one in an SSH agent if the file has its public half.
pub fn sign(key: &Path, text: &str) -> Result<String, SignError> {
    let refused = || SignError::Refused { key: key.to_owned() };
    let said = process::sign_with_ssh(&config::from_home(key), NAMESPACE, text)
        .map_err(|source| SignError::Process { key: key.to_owned(), source })?;
    let signature = said.ok_or_else(refused)?;
    match parse(&signature).and_then(|parsed| parsed.check(text)) {
        Ok(_) => Ok(signature),
        Err(source) => Err(SignError::Unusable { key: key.to_owned(), source }),
    }
}

/// Verifies the signature of a text at a time in milliseconds since 1970; returns the signer.
pub fn verify(text: &str, armored: &str, signers: &Signers, at_ms: u64) -> Result<Signer, Error> {
    let parsed = parse(armored)?;
    let key = parsed.check(text)?;
    signers.find(&key, at_ms)
}

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
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| malformed("invalid header"))?;
    let mut reader = Reader::new(rest);
    let version = reader.number().ok_or_else(|| malformed("truncated"))?;
    if version != VERSION {
        return Err(Error::Malformed(format!("unsupported version {version}")));
    }
    let mut next = || reader.string().map(<[u8]>::to_vec).ok_or_else(|| malformed("truncated"));
    let (key, namespace, reserved, hash_name, signature) = (next()?, next()?, next()?, next()?, next()?);
    if !reader.is_empty() || !reserved.is_empty() {
        return Err(malformed("unexpected data"));
    }
    if namespace != NAMESPACE.as_bytes() {
        return Err(Error::Namespace { found: String::from_utf8_lossy(&namespace).into_owned() });
    }
    let hash = match hash_name.as_slice() {
        b"sha512" => &digest::SHA512,
        b"sha256" => &digest::SHA256,
        _ => return Err(malformed("unknown hash algorithm")),
    };
    Ok(Parsed { key, hash, hash_name: String::from_utf8_lossy(&hash_name).into_owned(), signature })
}

impl Parsed {
    /// Whether the text is what was signed; returns the key.
    fn check(&self, text: &str) -> Result<PublicKey, Error> {
        let key = PublicKey::parse(&self.key).map_err(of_key)?;
        let mut signed = MAGIC.to_vec();
        put(&mut signed, NAMESPACE.as_bytes());
        put(&mut signed, b"");
        put(&mut signed, self.hash_name.as_bytes());
        put(&mut signed, digest::digest(self.hash, text.as_bytes()).as_ref());
        match key.verify(&signed, &self.signature) {
            Ok(()) => Ok(key),
            Err(VerifyError::Untouched) => Err(Error::Untouched { fingerprint: key.fingerprint() }),
            Err(doubt @ (VerifyError::Malformed | VerifyError::Kind(_) | VerifyError::Wrong)) => {
                Err(of_key(doubt))
            }
        }
    }
}

fn of_key(doubt: VerifyError) -> Error {
    match doubt {
        VerifyError::Malformed => Error::Malformed("unreadable key or signature".to_owned()),
        VerifyError::Kind(kind) => Error::Kind { kind },
        VerifyError::Wrong | VerifyError::Untouched => Error::Tampered,
    }
}

/// Formats a signature as `ssh-keygen` prints it, for tests that make their own.
#[doc(hidden)]
pub fn armor(key: &[u8], namespace: &str, hash: &str, signature: &[u8]) -> String {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(VERSION.to_be_bytes());
    for part in [key, namespace.as_bytes(), b"", hash.as_bytes(), signature] {
        put(&mut bytes, part);
    }
    armored(&bytes)
}
