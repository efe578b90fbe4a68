//! The fuzz targets on inputs that are the same every time: the corpus, and some thousand more that a fixed seed makes of it.
//! `scripts/fuzz` looks for new ones. An input that breaks a target belongs in `fuzz/corpus`, where this suite keeps it.
#![expect(clippy::disallowed_methods, reason = "a suite reads its corpus from the disk")]

#[expect(unreachable_pub, reason = "a library of its own for the drivers")]
#[path = "../../../fuzz/src/lib.rs"]
mod targets;

use std::panic::catch_unwind;
use std::path::Path;

use targets::TARGETS;
use targets::chance::Chance;

use crate::sweep::is_whole;

const SEED: u64 = 20_261_115;

/// Some seconds' worth in an unoptimised build.
fn inputs_of(name: &str) -> usize {
    let whole = match name {
        "shell" | "glob" | "frontmatter" => 20_000,
        _ => 3_000,
    };
    if is_whole() { whole } else { whole / 5 }
}

#[track_caller]
fn holds(name: &str) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<_> =
        corpus.read_dir().expect("a corpus").map(|entry| entry.expect("a file").path()).collect();
    files.sort();
    let mut seeds = vec![Vec::new()];
    seeds.extend(files.iter().map(|file| std::fs::read(file).expect("a file that can be read")));
    assert!(seeds.len() > 1, "{} is empty", corpus.display());
    let (_, run) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target of this name");
    let mut chance = Chance::new(SEED);
    for number in 0..seeds.len() + inputs_of(name) {
        let input = seeds.get(number).cloned().unwrap_or_else(|| chance.mutant(&seeds));
        let is_held = catch_unwind(|| run(&input)).is_ok();
        assert!(is_held, "{name} is broken by input {number}: {:?}", String::from_utf8_lossy(&input));
    }
}

#[test]
fn every_target_is_tried_here() {
    let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
    let here = [
        "parse",
        "patch",
        "frontmatter",
        "shell",
        "glob",
        "record",
        "directory",
        "proposal",
        "named",
        "foreign",
    ];
    assert_eq!(names, here);
}

// One test a target, so that they run at the same time.

#[test]
fn parse_holds_for_any_input() {
    holds("parse");
}

#[test]
fn patch_holds_for_any_input() {
    holds("patch");
}

#[test]
fn frontmatter_holds_for_any_input() {
    holds("frontmatter");
}

#[test]
fn shell_holds_for_any_input() {
    holds("shell");
}

#[test]
fn glob_holds_for_any_input() {
    holds("glob");
}

#[test]
fn record_holds_for_any_input() {
    holds("record");
}

#[test]
fn directory_holds_for_any_input() {
    holds("directory");
}

#[test]
fn proposal_holds_for_any_input() {
    holds("proposal");
}

#[test]
fn named_holds_for_any_input() {
    holds("named");
}

#[test]
fn foreign_holds_for_any_input() {
    holds("foreign");
}
