//! Where a policy is read from, where it is refused, and how a new one replaces it.
#![expect(clippy::disallowed_methods, reason = "these tests lay out policies")]

use std::os::unix::fs::symlink;

use super::*;
use crate::scratch::Scratch;

const KEY: &str = include_str!("../../../tests/signature/ed25519.pub");
const SIGNATURE: &str = include_str!("../../../tests/signature/ed25519.sig");
const STATEMENT: &str = include_str!("../../../tests/signature/statement.json");
const STRICT: &str = "[approval]\nneeded = 2\n";

fn places(scratch: &Scratch) -> PolicyPaths {
    let base = scratch.path();
    for folder in ["root", "state/app", "config"] {
        std::fs::create_dir_all(base.join(folder)).expect("made");
    }
    let user = Some(base.join("config/policy.toml"));
    PolicyPaths {
        root: base.join("root"),
        repository: base.join("state/app/policy.toml"),
        inherited: Vec::new(),
        user,
        record: None,
    }
}

fn write(path: &Path, text: &str, mode: u32) {
    std::fs::write(path, text).expect("written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
}

fn needed(places: &PolicyPaths) -> Option<u32> {
    places.load().expect("a policy").and_then(|loaded| loaded.policy.demand.needed)
}

#[test]
fn the_policy_of_the_repository_goes_before_the_one_of_the_user() {
    let scratch = Scratch::new("policy-places");
    let places = places(&scratch);
    assert!(places.load().expect("none").is_none());
    write(places.user.as_ref().expect("a home"), "[approval]\nneeded = 5\n", 0o600);
    assert_eq!(needed(&places), Some(5));
    write(&places.repository, STRICT, 0o600);
    assert_eq!(needed(&places), Some(2));
}

#[test]
fn a_policy_that_cannot_be_read_is_never_none() {
    let scratch = Scratch::new("policy-unreadable");
    let places = places(&scratch);
    let user = places.user.clone().expect("a home");
    write(&user, STRICT, 0o600);
    write(&places.repository, "[aproval]\n", 0o600);
    let error = places.load().expect_err("wrong");
    assert_eq!(error.faults().len(), 1, "{error:?}");
    std::fs::remove_file(&places.repository).expect("removed");
    symlink("/nowhere/at/all", &places.repository).expect("linked");
    assert!(matches!(places.load(), Err(Error::Read { .. })), "a link to nothing is not nothing");
    std::fs::remove_file(&places.repository).expect("removed");
    std::fs::create_dir(&places.repository).expect("made");
    assert!(matches!(places.load(), Err(Error::Read { .. })), "nor is a folder");
    std::fs::remove_dir(&places.repository).expect("removed");
    write(&places.repository, &format!("#{}", "x".repeat(1 << 20)), 0o600);
    assert!(matches!(places.load(), Err(Error::Read { .. })), "nor is half a file");
    std::fs::write(&places.repository, [0xff, 0xfe]).expect("written");
    assert!(matches!(places.load(), Err(Error::Read { .. })), "nor are bytes that are no text");
}

// A-19: agents write in the workspace, so no policy is taken from there, whichever way it is reached.
#[test]
fn no_policy_is_taken_from_the_workspace_or_from_others() {
    let scratch = Scratch::new("policy-workspace");
    let mut places = places(&scratch);
    let inside = places.root.join("policy.toml");
    write(&inside, "[[auto]]\nname = \"all\"\npaths = [\"**\"]\n", 0o600);
    assert!(places.load().expect("none").is_none(), "what lies in the workspace is not looked at");
    symlink(&inside, &places.repository).expect("linked");
    assert!(matches!(places.load(), Err(Error::Workspace { .. })), "a link leads there");
    std::fs::remove_file(&places.repository).expect("removed");
    places.user = Some(inside);
    assert!(matches!(places.load(), Err(Error::Workspace { .. })), "so does a variable");
    write(&places.repository, STRICT, 0o666);
    assert!(matches!(places.load(), Err(Error::Loose { .. })));
    write(&places.repository, STRICT, 0o644);
    assert_eq!(needed(&places), Some(2), "others may read it");
}

#[test]
fn the_list_of_signers_is_a_part_of_the_policy() {
    let scratch = Scratch::new("policy-signers");
    let places = places(&scratch);
    write(
        &places.repository,
        "signers = \"keys\"\n[people.ada]\nprincipal = \"ada@example.com\"\n[people.bo]\n",
        0o600,
    );
    assert!(matches!(places.load(), Err(Error::Read { .. })), "it is named and missing");
    let list = places.repository.with_file_name("keys");
    write(&list, &format!("ada@example.com {KEY}"), 0o600);
    let loaded = places.load().expect("read").expect("there");
    let at_ms = 1_800_000_000_000;
    assert!(loaded.verify(STATEMENT, SIGNATURE, "ada", at_ms).is_ok());
    let another = loaded.verify(STATEMENT, SIGNATURE, "bo", at_ms).expect_err("it is not bo's key");
    assert!(matches!(another, signature::Error::Another { .. }), "{another}");
    write(&list, &format!("*@example.com {KEY}"), 0o600);
    let changed = places.load().expect("read").expect("there");
    assert_ne!(changed.digest, loaded.digest, "another list of signers is another policy");
    write(&list, "ada@example.com cert-authority\n", 0o600);
    assert!(matches!(places.load(), Err(Error::Signers { .. })));
    write(&list, "", 0o622);
    assert!(matches!(places.load(), Err(Error::Loose { .. })));
}

#[test]
fn a_person_may_be_held_to_one_key() {
    let scratch = Scratch::new("policy-key");
    let places = places(&scratch);
    write(&places.repository.with_file_name(SIGNERS), &format!("ada {KEY}"), 0o600);
    assert_eq!(places.signers().expect("read").expect("there").len(), 1, "also without a policy");
    for (key, is_taken) in [
        ("SaRIo98OPuz5kB17+bbOsI0liN1V8LWPN69HQapZdgQ", true),
        ("sYD02XEWmgp4YWl28ID7wrM3HhrWJ5evLKJse1y6ftk", false),
    ] {
        write(&places.repository, &format!("[people.ada]\nkey = \"SHA256:{key}\"\n"), 0o600);
        let loaded = places.load().expect("read").expect("there");
        assert_eq!(loaded.verify(STATEMENT, SIGNATURE, "ada", 0).is_ok(), is_taken, "{key}");
    }
    write(&places.repository, "", 0o600);
    std::fs::remove_file(places.repository.with_file_name(SIGNERS)).expect("removed");
    let loaded = places.load().expect("read").expect("there");
    assert_eq!(loaded.verify(STATEMENT, SIGNATURE, "ada", 0), Err(signature::Error::NoList));
}

#[test]
fn a_policy_is_installed_whole_and_the_one_before_is_kept() {
    let scratch = Scratch::new("policy-install");
    let places = places(&scratch);
    std::fs::remove_dir(places.repository.parent().expect("a folder")).expect("removed");
    let file = scratch.path().join("new.toml");
    write(&file, "[aproval]\n", 0o644);
    assert!(places.install(&file).is_err());
    assert!(places.load().expect("none").is_none(), "nothing was written");
    write(&file, STRICT, 0o666);
    let installed = places.install(&file).expect("installed");
    assert_eq!((installed.old, installed.backup), (None, None));
    let mode = |path: &Path| path.metadata().expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&places.repository), 0o600);
    write(&file, "signers = \"keys\"\n", 0o644);
    assert!(places.install(&file).is_err(), "the list that it names is missing");
    assert_eq!(needed(&places), Some(2), "the one before holds");
    write(&scratch.path().join("keys"), &format!("ada {KEY}"), 0o644);
    let installed = places.install(&file).expect("installed");
    assert_eq!(installed.old.as_deref(), Some(STRICT));
    let backup = installed.backup.expect("a backup");
    assert_eq!((std::fs::read_to_string(&backup).expect("read").as_str(), mode(&backup)), (STRICT, 0o600));
    assert_eq!(installed.loaded.signers.expect("signers").len(), 1);
    let again = places.install(&file).expect("installed");
    assert_eq!(again.backup, None, "the same policy leaves the backup as it is");
    assert_eq!(std::fs::read_to_string(&backup).expect("read"), STRICT);
}

// The page for users has policies in it; each of them is one.
#[test]
fn the_examples_of_the_page_are_policies() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/policy.md"));
    let blocks: Vec<&str> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap_or_default()).collect();
    assert!(blocks.len() >= 4, "{}", blocks.len());
    for block in blocks {
        read::read(block).unwrap_or_else(|faults| panic!("{block}\n{faults:#?}"));
    }
}
