//! SSH public keys, and whether one of them signed something. Supports what `ssh-keygen` creates today:
//! Ed25519, ECDSA over P-256 and P-384, RSA from 2048 bits, and the two token types. No DSA, no SHA-1, no
//! certificates.

use ring::digest;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm};

use super::ssh_wire::{Reader, encoded};

/// The flag for a touched token.
const TOUCHED: u8 = 1;
/// The smallest and the largest RSA key, in bytes.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PublicKey {
    blob: Vec<u8>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Ed25519(Vec<u8>),
    Ecdsa(Curve, Vec<u8>),
    Rsa {
        exponent: Vec<u8>,
        modulus: Vec<u8>,
    },
    /// A key in a token, which signs for an application.
    Token(Token, Vec<u8>, Vec<u8>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Curve {
    P256,
    P384,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    Ed25519,
    P256,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum VerifyError {
    Malformed,
    /// An unsupported type.
    Kind(String),
    /// The signature does not match.
    Wrong,
    Untouched,
}

impl PublicKey {
    /// Parses a key in SSH encoding.
    pub(super) fn parse(blob: &[u8]) -> Result<Self, VerifyError> {
        let mut reader = Reader::new(blob);
        let name = reader.string().ok_or(VerifyError::Malformed)?;
        let kind = match name {
            b"ssh-ed25519" => reader.string().map(|point| Kind::Ed25519(point.to_vec())),
            b"ecdsa-sha2-nistp256" => {
                point(&mut reader, b"nistp256").map(|point| Kind::Ecdsa(Curve::P256, point))
            }
            b"ecdsa-sha2-nistp384" => {
                point(&mut reader, b"nistp384").map(|point| Kind::Ecdsa(Curve::P384, point))
            }
            b"ssh-rsa" => rsa(&mut reader),
            b"sk-ssh-ed25519@openssh.com" => {
                let point = reader.string().map(<[u8]>::to_vec);
                point
                    .zip(reader.string())
                    .map(|(point, app)| Kind::Token(Token::Ed25519, point, app.to_vec()))
            }
            b"sk-ecdsa-sha2-nistp256@openssh.com" => {
                let point = point(&mut reader, b"nistp256");
                point.zip(reader.string()).map(|(point, app)| Kind::Token(Token::P256, point, app.to_vec()))
            }
            other => return Err(VerifyError::Kind(String::from_utf8_lossy(other).into_owned())),
        };
        let kind = kind.filter(|_| reader.is_empty()).ok_or(VerifyError::Malformed)?;
        Ok(Self { blob: blob.to_vec(), kind })
    }

    /// The name of its type, as it precedes a key.
    pub(super) const fn name(&self) -> &'static str {
        match &self.kind {
            Kind::Ed25519(_) => "ssh-ed25519",
            Kind::Ecdsa(Curve::P256, _) => "ecdsa-sha2-nistp256",
            Kind::Ecdsa(Curve::P384, _) => "ecdsa-sha2-nistp384",
            Kind::Rsa { .. } => "ssh-rsa",
            Kind::Token(Token::Ed25519, ..) => "sk-ssh-ed25519@openssh.com",
            Kind::Token(Token::P256, ..) => "sk-ecdsa-sha2-nistp256@openssh.com",
        }
    }

    /// What `ssh-keygen -l` prints.
    pub(super) fn fingerprint(&self) -> String {
        let hash = digest::digest(&digest::SHA256, &self.blob);
        format!("SHA256:{}", encoded(hash.as_ref()).trim_end_matches('='))
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), VerifyError> {
        let mut reader = Reader::new(signature);
        let (Some(name), Some(value)) = (reader.string(), reader.string()) else {
            return Err(VerifyError::Malformed);
        };
        if !matches!(self.kind, Kind::Rsa { .. }) && name != self.name().as_bytes() {
            return Err(VerifyError::Kind(String::from_utf8_lossy(name).into_owned()));
        }
        match &self.kind {
            Kind::Ed25519(point) => check(&signature::ED25519, point, message, value)?,
            Kind::Ecdsa(curve, point) => {
                let (algorithm, length): (&dyn VerificationAlgorithm, usize) = match curve {
                    Curve::P256 => (&signature::ECDSA_P256_SHA256_FIXED, 32),
                    Curve::P384 => (&signature::ECDSA_P384_SHA384_FIXED, 48),
                };
                check(algorithm, point, message, &pair(value, length)?)?;
            }
            Kind::Rsa { exponent, modulus } => check_rsa(name, (modulus, exponent), message, value)?,
            Kind::Token(token, point, application) => {
                let (Some(flags), Some(counter)) = (reader.byte(), reader.number()) else {
                    return Err(VerifyError::Malformed);
                };
                let hash = |bytes: &[u8]| digest::digest(&digest::SHA256, bytes);
                let mut signed = hash(application).as_ref().to_vec();
                signed.push(flags);
                signed.extend(counter.to_be_bytes());
                signed.extend(hash(message).as_ref());
                match token {
                    Token::Ed25519 => check(&signature::ED25519, point, &signed, value)?,
                    Token::P256 => {
                        check(&signature::ECDSA_P256_SHA256_FIXED, point, &signed, &pair(value, 32)?)?;
                    }
                }
                if flags & TOUCHED == 0 {
                    return Err(VerifyError::Untouched);
                }
            }
        }
        if reader.is_empty() { Ok(()) } else { Err(VerifyError::Malformed) }
    }
}

fn point(reader: &mut Reader<'_>, curve: &[u8]) -> Option<Vec<u8>> {
    let named = reader.string()?;
    let point = reader.string()?;
    (named == curve).then(|| point.to_vec())
}

fn rsa(reader: &mut Reader<'_>) -> Option<Kind> {
    let exponent = reader.natural()?.to_vec();
    let modulus = reader.natural()?.to_vec();
    RSA_BYTES.contains(&modulus.len()).then_some(Kind::Rsa { exponent, modulus })
}

fn check(
    algorithm: &'static dyn VerificationAlgorithm,
    key: &[u8],
    message: &[u8],
    value: &[u8],
) -> Result<(), VerifyError> {
    UnparsedPublicKey::new(algorithm, key).verify(message, value).map_err(|_| VerifyError::Wrong)
}

fn check_rsa(name: &[u8], (n, e): (&[u8], &[u8]), message: &[u8], value: &[u8]) -> Result<(), VerifyError> {
    let algorithm = match name {
        b"rsa-sha2-512" => &signature::RSA_PKCS1_2048_8192_SHA512,
        b"rsa-sha2-256" => &signature::RSA_PKCS1_2048_8192_SHA256,
        other => return Err(VerifyError::Kind(String::from_utf8_lossy(other).into_owned())),
    };
    RsaPublicKeyComponents { n, e }.verify(algorithm, message, value).map_err(|_| VerifyError::Wrong)
}

/// The two numbers of an ECDSA signature, padded to the length of the curve.
fn pair(value: &[u8], length: usize) -> Result<Vec<u8>, VerifyError> {
    let mut reader = Reader::new(value);
    let mut both = Vec::with_capacity(2 * length);
    for _ in 0..2 {
        let number =
            reader.natural().filter(|number| number.len() <= length).ok_or(VerifyError::Malformed)?;
        both.resize(both.len() + length - number.len(), 0);
        both.extend(number);
    }
    if reader.is_empty() { Ok(both) } else { Err(VerifyError::Malformed) }
}
