//! Signatures of approvals: what `ssh-keygen` made is taken, what anybody changed is not, and what we make `ssh-keygen` takes.
//! The fixtures were made by OpenSSH 9.2; where that program is missing, only they are looked at, and the test says so.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "these tests lay out keys and lists, and say what is missing"
)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use planwright_engine::config::signature;
use planwright_engine::config::signature::{Error, NAMESPACE, Signers, sign, verify};
use ring::digest::{SHA256, SHA512, digest};
use ring::signature::{Ed25519KeyPair, KeyPair};

use crate::scratch::Scratch;

const TEXT: &str = include_str!("signature/statement.json");
const NOW: u64 = 1_800_000_000_000;

/// The key, the signature, and what `ssh-keygen -l` says of the key.
const FIXTURES: &[(&str, &str, &str)] = &[
    (
        include_str!("signature/ed25519.pub"),
        include_str!("signature/ed25519.sig"),
        "SHA256:SaRIo98OPuz5kB17+bbOsI0liN1V8LWPN69HQapZdgQ",
    ),
    (
        include_str!("signature/ed25519.pub"),
        include_str!("signature/ed25519-sha256.sig"),
        "SHA256:SaRIo98OPuz5kB17+bbOsI0liN1V8LWPN69HQapZdgQ",
    ),
    (
        include_str!("signature/p256.pub"),
        include_str!("signature/p256.sig"),
        "SHA256:sYD02XEWmgp4YWl28ID7wrM3HhrWJ5evLKJse1y6ftk",
    ),
    (
        include_str!("signature/p384.pub"),
        include_str!("signature/p384.sig"),
        "SHA256:nix5lnRrK547AQQtIP6xqx5m1pZVwwLMscbQYBnH9Dw",
    ),
    (
        include_str!("signature/rsa.pub"),
        include_str!("signature/rsa.sig"),
        "SHA256:AcRsoTB3vfeuoHfTuhWrH7E5lAbrCUy/jewJ8U6aAbw",
    ),
];

fn list(text: &str) -> Signers {
    Signers::read(Path::new("/allowed_signers"), text.to_owned()).expect("a list of signers")
}

/// The list that has one key for ada.
fn ada(key: &str) -> Signers {
    list(&format!("ada {key}\n"))
}

// P-11: an approval is signed with a key, and the signature is checked without a program.
#[test]
fn what_ssh_keygen_signed_is_taken() {
    for (key, armored, fingerprint) in FIXTURES {
        let signer = verify(TEXT, armored, &ada(key), NOW).expect("it is signed");
        assert_eq!(signer.fingerprint, *fingerprint);
        assert!(signer.speaks_for("ada") && !signer.speaks_for("bo"));
    }
}

// P-11: flip one byte, and the attestation is refused.
#[test]
fn one_byte_of_the_text_or_of_the_signature_that_changed_is_refused() {
    for (key, armored, _) in FIXTURES {
        let signers = ada(key);
        let taken = |text: &[u8], armored: &[u8]| {
            let (text, armored) = (std::str::from_utf8(text), std::str::from_utf8(armored));
            matches!((text, armored), (Ok(text), Ok(armored)) if verify(text, armored, &signers, NOW).is_ok())
        };
        let (text, armored) = (TEXT.as_bytes(), armored.as_bytes());
        assert!(taken(text, armored));
        for place in 0..text.len() {
            let mut other = text.to_vec();
            other[place] ^= 1;
            assert!(!taken(&other, armored), "byte {place} of the text");
            other.remove(place);
            assert!(!taken(&other, armored), "without byte {place} of the text");
        }
        for place in 0..armored.len() {
            for new in [b'A', b'B', b'z', b'/', b'=', b'-', b' ', b'\n', b'\r', 0] {
                let mut other = armored.to_vec();
                if std::mem::replace(&mut other[place], new) != new {
                    assert!(!taken(text, &other), "byte {place} of the signature as {new}");
                }
            }
            let mut other = armored.to_vec();
            other.insert(place, b'\n');
            assert!(!taken(text, &other), "a line more at {place}");
            other.remove(place);
            // The line break behind the last line is the one byte that says nothing.
            if place + 1 < armored.len() && other.remove(place) != other[place.min(other.len() - 1)] {
                assert!(!taken(text, &other), "without byte {place} of the signature");
            }
            assert!(!taken(text, &armored[..place.min(armored.len() - 2)]), "cut at {place}");
        }
        assert!(!taken(&[text, b"\n"].concat(), armored), "a line more in the text");
        assert!(!taken(text, &[armored, armored].concat()), "twice");
    }
}

#[test]
fn each_way_to_be_no_signature_has_its_name() {
    let (ed25519, rsa) = (FIXTURES[0], FIXTURES[4]);
    let refused =
        |armored: &str, signers: &Signers| verify(TEXT, armored, signers, NOW).expect_err("refused");
    let fingerprint = ed25519.2.to_owned();
    let path = || Path::new("/allowed_signers").to_owned();
    assert_eq!(
        refused(ed25519.1, &ada(rsa.0)),
        Error::Foreign { fingerprint: fingerprint.clone(), list: path() }
    );
    assert_eq!(
        refused(ed25519.1, &list("")),
        Error::Foreign { fingerprint: fingerprint.clone(), list: path() }
    );
    assert_eq!(
        refused(include_str!("signature/ed25519-git.sig"), &ada(ed25519.0)),
        Error::Namespace { found: "git".to_owned() }
    );
    assert_eq!(verify("another text", ed25519.1, &ada(ed25519.0), NOW), Err(Error::Tampered));
    for (armored, kind) in [
        (include_str!("signature/p521.sig"), "ecdsa-sha2-nistp521"),
        (include_str!("signature/ed25519-cert.sig"), "ssh-ed25519-cert-v01@openssh.com"),
    ] {
        assert_eq!(refused(armored, &ada(ed25519.0)), Error::Kind { kind: kind.to_owned() });
    }
    for text in
        ["", "yes", "-----BEGIN SSH SIGNATURE-----\n-----END SSH SIGNATURE-----\n", &"A".repeat(1 << 20)]
    {
        assert!(matches!(refused(text, &ada(ed25519.0)), Error::Malformed(_)), "{text:.40}");
    }
    let with = |options: &str| list(&format!("ada {options} {}\n", ed25519.0));
    assert_eq!(
        refused(ed25519.1, &with("namespaces=\"git,file\"")),
        Error::Barred { fingerprint: fingerprint.clone(), list: path() }
    );
    for (options, why) in [
        ("valid-before=20260101Z", "valid until 2026-01-01T00:00:00Z"),
        ("valid-after=20300101Z", "valid from 2030-01-01T00:00:00Z"),
    ] {
        let error = Error::Expired { fingerprint: fingerprint.clone(), list: path(), why: why.to_owned() };
        assert_eq!(refused(ed25519.1, &with(options)), error);
    }
    let both = list(&format!("ada valid-before=20260101Z {}\nbo {}\n", ed25519.0.trim(), ed25519.0));
    let signer = verify(TEXT, ed25519.1, &both, NOW).expect("the second line counts");
    assert!(signer.speaks_for("bo") && !signer.speaks_for("ada"), "what has expired speaks for nobody");
}

/// A text with its length in front.
fn put(bytes: &mut Vec<u8>, part: &[u8]) {
    bytes.extend(u32::try_from(part.len()).expect("short").to_be_bytes());
    bytes.extend(part);
}

fn joined(parts: &[&[u8]]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        put(&mut bytes, part);
    }
    bytes
}

/// What SSH signs for a text.
fn signed(text: &str) -> Vec<u8> {
    let hash = digest(&SHA512, text.as_bytes());
    [b"SSHSIG".to_vec(), joined(&[NAMESPACE.as_bytes(), b"", b"sha512", hash.as_ref()])].concat()
}

/// A key as it stands in a file, and a signature by it, as a token makes them.
fn by_token(flags: u8) -> (String, String) {
    const KIND: &[u8] = b"sk-ssh-ed25519@openssh.com";
    let pair = Ed25519KeyPair::from_seed_unchecked(&[7; 32]).expect("a seed");
    let key = joined(&[KIND, pair.public_key().as_ref(), b"ssh:"]);
    let counter = 5_u32.to_be_bytes();
    let parts: [&[u8]; 4] =
        [digest(&SHA256, b"ssh:").as_ref(), &[flags], &counter, digest(&SHA256, &signed(TEXT)).as_ref()]
            .map(|part: &[u8]| Box::leak(part.to_vec().into_boxed_slice()) as &[u8]);
    let mut signature = joined(&[KIND, pair.sign(&parts.concat()).as_ref()]);
    signature.push(flags);
    signature.extend(counter);
    (
        format!("sk-ssh-ed25519@openssh.com {}", base64(&key)),
        signature::armor(&key, NAMESPACE, "sha512", &signature),
    )
}

/// A key and a signature that were made here.
fn by_us() -> (String, String) {
    let pair = Ed25519KeyPair::from_seed_unchecked(&[9; 32]).expect("a seed");
    let key = joined(&[b"ssh-ed25519", pair.public_key().as_ref()]);
    let signature = joined(&[b"ssh-ed25519", pair.sign(&signed(TEXT)).as_ref()]);
    (format!("ssh-ed25519 {}", base64(&key)), signature::armor(&key, NAMESPACE, "sha512", &signature))
}

/// Base64, by way of the armor, whose lines hold it.
fn base64(bytes: &[u8]) -> String {
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut three = [0; 3];
        three[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
        let signs = (0..4).map(|place| char::from(letters[(bits >> (18 - 6 * place)) as usize & 63]));
        text.extend(signs.take(chunk.len() + 1).chain(std::iter::repeat_n('=', 3 - chunk.len())));
    }
    text
}

#[test]
fn a_token_has_to_be_touched() {
    let (key, touched) = by_token(1);
    assert!(verify(TEXT, &touched, &ada(&key), NOW).is_ok());
    let (_, untouched) = by_token(0);
    assert!(matches!(verify(TEXT, &untouched, &ada(&key), NOW), Err(Error::Untouched { .. })));
    // The twin: somebody sets the bit afterwards.
    let (_, verified) = by_token(5);
    assert!(verify(TEXT, &verified, &ada(&key), NOW).is_ok(), "touched and unlocked");
}

/// Whether `ssh-keygen` is here; where it is not, the test says so.
fn has_ssh_keygen() -> bool {
    let is_here = Command::new("ssh-keygen").arg("-?").stderr(Stdio::null()).status().is_ok();
    if !is_here {
        eprintln!("NOT TRIED: ssh-keygen is not on this machine, only what it made earlier was looked at");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI must try everything");
    }
    is_here
}

#[test]
fn ssh_keygen_takes_what_we_take() {
    if !has_ssh_keygen() {
        return;
    }
    let scratch = Scratch::new("signature-by-us");
    for (key, armored) in [by_us(), by_token(1)] {
        let signature = scratch.path().join("text.sig");
        let signers = scratch.path().join("allowed_signers");
        std::fs::write(&signature, &armored).expect("written");
        std::fs::write(&signers, format!("ada namespaces=\"planwright\" {key}\n")).expect("written");
        let mut verify = Command::new("ssh-keygen");
        verify
            .args(["-Y", "verify", "-n", NAMESPACE, "-I", "ada", "-s"])
            .arg(&signature)
            .arg("-f")
            .arg(&signers);
        let mut child = verify.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("started");
        child.stdin.take().expect("its input").write_all(TEXT.as_bytes()).expect("told");
        let said = child.wait_with_output().expect("ended");
        assert!(said.status.success(), "{armored} {}", String::from_utf8_lossy(&said.stdout));
        let ours = verify_at(&key, &armored);
        assert!(String::from_utf8_lossy(&said.stdout).contains(&ours), "the same fingerprint");
    }
}

fn verify_at(key: &str, armored: &str) -> String {
    verify(TEXT, armored, &ada(key), NOW).expect("signed").fingerprint
}

#[test]
fn a_text_is_signed_by_ssh_keygen_and_checked_here() {
    if !has_ssh_keygen() {
        return;
    }
    let scratch = Scratch::new("signature-sign");
    for kind in ["ed25519", "ecdsa", "rsa"] {
        let key = scratch.path().join(kind);
        let made = Command::new("ssh-keygen").args(["-q", "-t", kind, "-N", "", "-f"]).arg(&key).status();
        assert!(made.expect("ssh-keygen is here").success());
        let public = std::fs::read_to_string(key.with_extension("pub")).expect("a public key");
        let armored = sign(&key, TEXT).expect("signed");
        assert!(verify(TEXT, &armored, &ada(&public), NOW).is_ok(), "{kind}");
        assert_eq!(verify(&TEXT.replace('2', "3"), &armored, &ada(&public), NOW), Err(Error::Tampered));
    }
    let missing = sign(&scratch.path().join("nothing"), TEXT).expect_err("no key");
    assert!(missing.to_string().contains("nothing"), "{missing}");
}
