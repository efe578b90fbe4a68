//! M-06: the directions of contracts against bash itself. Small scripts are run in every world of two files; whatever is called
//! stricter must pass in no world in which the other failed, and whatever is called weaker in every world in which it passed.
#![expect(clippy::disallowed_methods, reason = "lays out files for bash to look at")]

use std::collections::BTreeMap;
use std::process::Command;

use planwright_core::approval::review::{Direction, compare_commands};

use crate::scratch::Scratch;
use crate::sweep::is_whole;

/// What scripts are made of: looks, acts, things that can't fail, that always do, that end the script or loosen it.
const ATOMS: [&str; 9] = [
    "test -e a",
    "! test -e a",
    "touch b",
    "false",
    "exit 0",
    "set +e",
    "{ test -e a; test -e b; }",
    "( test -e b; true )",
    "cat a b",
];
/// The same, fewer, for scripts of three.
const FEW: [&str; 3] = ["test -e a", "touch b", "{ test -e a; test -e b; }"];
const JOINTS: [&str; 3] = [" && ", " || ", "\n"];

/// Every script of at most two atoms, and those of three of the fewer ones.
fn scripts() -> Vec<String> {
    let mut scripts: Vec<String> = ATOMS.iter().map(|&atom| atom.to_owned()).collect();
    scripts.push("cat a".to_owned());
    for (first, second) in ATOMS.iter().flat_map(|first| ATOMS.iter().map(move |second| (first, second))) {
        scripts.extend(JOINTS.iter().map(|joint| format!("{first}{joint}{second}")));
    }
    // Those of three are a hundred thousand pairs more.
    for first in FEW.into_iter().filter(|_| is_whole()) {
        for (one, second) in JOINTS.iter().flat_map(|one| FEW.iter().map(move |second| (one, second))) {
            for (two, third) in JOINTS.iter().flat_map(|two| FEW.iter().map(move |third| (two, third))) {
                scripts.push(format!("{first}{one}{second}{two}{third}"));
            }
        }
    }
    scripts.sort();
    scripts.dedup();
    scripts
}

/// Runs every script in a fresh folder for every world, as contracts are run.
const DRIVER: &str = r#"
while IFS= read -r -d '' script; do
    line=""
    for world in "" a b "a b"; do
        rm -rf world && mkdir world && cd world
        for file in $world; do echo x >"$file"; done
        if bash -euo pipefail -c "$script" </dev/null >/dev/null 2>&1; then line+=1; else line+=0; fi
        cd ..
    done
    echo "$line"
done <scripts
"#;

/// In which worlds each script passes.
fn passes(scripts: &[String]) -> BTreeMap<&str, String> {
    let scratch = Scratch::new("directions");
    let list: String = scripts.iter().map(|script| format!("{script}\0")).collect();
    std::fs::write(scratch.path().join("scripts"), list).expect("the scripts are written");
    let output =
        Command::new("bash").args(["-c", DRIVER]).current_dir(scratch.path()).output().expect("bash");
    let said = String::from_utf8(output.stdout).expect("digits");
    assert_eq!(said.lines().count(), scripts.len(), "{}", String::from_utf8_lossy(&output.stderr));
    scripts.iter().map(String::as_str).zip(said.lines().map(str::to_owned)).collect()
}

fn is_within(narrow: &str, wide: &str) -> bool {
    narrow.chars().zip(wide.chars()).all(|(narrow, wide)| narrow == '0' || wide == '1')
}

#[test]
fn what_is_called_stricter_or_weaker_is_so_for_bash() {
    let scripts = scripts();
    let passes = passes(&scripts);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    // All pairs with a short one; of the long ones, every 31st with every 29th: the same pairs each time.
    for (at, old) in scripts.iter().enumerate() {
        for (other, new) in scripts.iter().enumerate() {
            let is_short = |script: &String| ATOMS.contains(&script.as_str());
            if !(is_short(old) || is_short(new) || (at % 31 == other % 29)) {
                continue;
            }
            let direction = compare_commands(old, new, 0).direction;
            *counts.entry(direction.word()).or_default() += 1;
            let (was, now) = (&passes[old.as_str()], &passes[new.as_str()]);
            let holds = match direction {
                Direction::Same => old == new,
                Direction::Stricter => is_within(now, was),
                Direction::Weaker => is_within(was, now),
                Direction::Changed | Direction::New | Direction::Gone => true,
            };
            if !holds {
                wrong.push(format!("{direction}: {old:?} {was} -> {new:?} {now}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {counts:?}\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
    // The test would not notice anything if nothing were claimed.
    assert!(counts["stricter"] > 50 && counts["weaker"] > 50, "{counts:?}");
    // The twin, a careless rule, is caught: one more command in front makes a script stricter, whatever it does.
    let pairs = scripts.iter().flat_map(|old| scripts.iter().map(move |new| (old, new)));
    let mut claimed = pairs.filter(|(old, new)| new.ends_with(&format!(" && {old}")));
    assert!(claimed.any(|(old, new)| !is_within(&passes[new.as_str()], &passes[old.as_str()])));
}
