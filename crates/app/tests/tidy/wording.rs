//! What must not be left in a file: unfinished work without an owner, paths of one machine, hosts of package registries.

use crate::rust;
use crate::tree::{Fault, File, assert_caught, assert_none, repository};

// Spelt in two halves, so that this file does not hold what it looks for.
const MACHINE_ROOTS: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/")];
const REGISTRY_HOSTS: [&str; 6] = [
    concat!("crates", ".io"),
    concat!("npmjs", ".org"),
    concat!("npmjs", ".com"),
    concat!("pypi", ".org"),
    concat!("python", "hosted.org"),
    concat!("rsproxy", ".cn"),
];
/// How a file sends a package manager to another registry, whatever its host is called.
const REGISTRY_SETTINGS: [&str; 4] = [
    concat!("replace-", "with"),
    concat!("index-", "url"),
    concat!("sparse+", "http"),
    concat!("[regis", "tries"),
];
/// What cargo writes in front of a crate of the default registry.
const LOCKED_SOURCE: &str =
    concat!("source = \"registry+https://github.com/rust-lang/", "crates", ".io-index\"");

/// Unfinished work in code and comments. Prose is left alone: a plan or a page may speak about such marks.
fn leftovers<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.into_iter().filter(|file| !file.is_markdown()) {
        if file.is_rust() {
            for (index, line) in rust::lines(&file.text).iter().enumerate() {
                for name in ["todo", "dbg"] {
                    let calls = rust::words(&line.code, name);
                    if calls.iter().any(|at| line.code[at + name.len()..].starts_with('!')) {
                        faults.push(Fault::new(&file.path, index + 1, format!("stray `{name}!`")));
                    }
                }
                faults.extend(marks(&line.comment).map(|message| Fault::new(&file.path, index + 1, message)));
            }
        } else if is_script_or_settings(file) {
            for (number, line) in file.lines() {
                let comment = line.find('#').map_or("", |at| &line[at..]);
                faults.extend(marks(comment).map(|message| Fault::new(&file.path, number, message)));
            }
        }
    }
    faults
}

fn is_script_or_settings(file: &File) -> bool {
    let is_settings =
        [".toml", ".yaml", ".yml", ".py", ".sh"].iter().any(|ending| file.path.ends_with(ending));
    // Cases of the suites are data.
    let is_case = file.path.contains("/tests/") || file.path.starts_with("examples/");
    !is_case && (is_settings || file.path == "justfile" || file.text.starts_with("#!"))
}

fn marks(comment: &str) -> impl Iterator<Item = String> {
    let mut messages = Vec::new();
    for mark in ["FIXME", "XXX"] {
        if !rust::words(comment, mark).is_empty() {
            messages.push(format!("`{mark}`: fix it, or write TODO(name, until …)"));
        }
    }
    for at in rust::words(comment, "TODO") {
        if !has_owner_and_condition(&comment[at + "TODO".len()..]) {
            messages.push("a TODO needs an owner and a condition: TODO(name, until …)".to_owned());
        }
    }
    messages.into_iter()
}

fn has_owner_and_condition(rest: &str) -> bool {
    let inside = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(inside, _)| inside);
    let parts = inside.and_then(|inside| inside.split_once(", until "));
    parts.is_some_and(|(owner, condition)| !owner.trim().is_empty() && !condition.trim().is_empty())
}

fn machine_paths<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files {
        for (number, line) in file.lines() {
            for root in MACHINE_ROOTS {
                let mut found = line.match_indices(root).map(|(at, _)| at);
                if found.any(|at| is_absolute(&line[..at]) && names_an_entry(&line[at + root.len()..])) {
                    faults.push(Fault::new(
                        &file.path,
                        number,
                        format!("`{root}…` is a path of one machine"),
                    ));
                }
            }
        }
    }
    faults
}

/// Whether a path that begins after `before` begins at the root: `~`, `.`, a name or a variable in front make it another.
fn is_absolute(before: &str) -> bool {
    before.ends_with("file://")
        || !before.ends_with(|c: char| c.is_alphanumeric() || "_-./~*}$)>".contains(c))
}

/// A placeholder (`<you>`, `$USER`, `…`) names nobody's machine.
fn names_an_entry(after: &str) -> bool {
    after.starts_with(|c: char| c.is_alphanumeric() || c == '.' || c == '_')
}

fn registry_hosts<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files {
        let is_lock = file.path.ends_with("Cargo.lock");
        for (number, line) in file.lines() {
            if is_lock {
                if line.starts_with("source = ") && line != LOCKED_SOURCE {
                    faults.push(Fault::new(
                        &file.path,
                        number,
                        "a crate that is not from the default registry",
                    ));
                }
                continue;
            }
            for name in REGISTRY_HOSTS.into_iter().chain(REGISTRY_SETTINGS).filter(|name| line.contains(name))
            {
                faults.push(Fault::new(
                    &file.path,
                    number,
                    format!("`{name}` ties the project to a package registry"),
                ));
            }
        }
    }
    faults
}

#[test]
fn unfinished_work_has_an_owner_and_a_condition() {
    assert_none(&leftovers(&repository()));
}

#[test]
fn unfinished_work_without_an_owner_is_caught() {
    let caught = |text: &str, expected: &str| {
        assert_caught(&leftovers([&File::new("crates/core/src/plan.rs", text)]), expected);
    };
    caught("//! Ok.\nfn a() { todo!() }", "plan.rs:2: stray `todo!`");
    caught("fn a() { dbg!(1); }", "stray `dbg!`");
    caught("fn a() {} // FIXME later", "`FIXME`");
    caught("/* XXX */", "`XXX`");
    caught("// TODO: later", "needs an owner");
    caught("// TODO(ada): later", "needs an owner");
    assert_caught(&leftovers([&File::new("scripts/check", "#!/bin/sh\n# TODO later\n")]), "scripts/check:2");
    let good =
        "// TODO(ada, until the store has two implementations): one suite for both\nlet a = \"TODO dbg!\";";
    assert_none(&leftovers([&File::new("crates/core/src/plan.rs", good)]));
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    assert_none(&machine_paths(&repository()));
}

#[test]
fn a_path_of_one_machine_is_caught() {
    for root in MACHINE_ROOTS {
        let text = format!("first\nsee `{root}ada/plan.md`\n");
        assert_caught(&machine_paths([&File::new("README.md", &text)]), "README.md:2");
        let relative =
            format!("src{root}plan.rs ~{root}plan {root}<you>/plan https://example.org{root}plan\n");
        assert_none(&machine_paths([&File::new("README.md", &relative)]));
    }
}

#[test]
fn no_file_names_a_package_registry() {
    assert_none(&registry_hosts(&repository()));
}

#[test]
fn a_package_registry_is_caught() {
    let page = File::new("README.md", &format!("get it at {}\n", REGISTRY_HOSTS[0]));
    assert_caught(&registry_hosts([&page]), "README.md:1");
    let settings =
        File::new(".cargo/config.toml", &format!("[source.x]\n{} = \"mirror\"\n", REGISTRY_SETTINGS[0]));
    assert_caught(&registry_hosts([&settings]), ".cargo/config.toml:2");
    let mirrored = File::new(
        "Cargo.lock",
        &format!("{LOCKED_SOURCE}\nsource = \"registry+https://mirror.example/index\"\n"),
    );
    assert_caught(&registry_hosts([&mirrored]), "Cargo.lock:2");
}
