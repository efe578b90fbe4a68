//! The borders between the crates and between the faces of the app: core decides, engine acts, app shows.

use std::collections::BTreeSet;

use crate::rust;
use crate::tree::{Fault, File, assert_caught, assert_none, repository};

/// What of `std` core must not mention outside its tests.
const OUTSIDE_WORLD: [&str; 5] = ["env", "fs", "net", "process", "thread"];
const CLOCKS: [&str; 2] = ["Instant", "SystemTime"];
/// Faces of one name each. The parts of `out` are one face: how a command looks on paper. In `command` each file is a face.
const FACES: [&str; 5] = ["lsp", "mcp", "out", "tui", "web"];

fn world_in_core<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.into_iter().filter(|file| file.is_source_of("core") && !file.is_test_module()) {
        let lines = rust::without_tests(rust::lines(&file.text));
        for (number, path) in rust::paths(&lines, "std") {
            let module = path.split("::").next().unwrap_or_default();
            if OUTSIDE_WORLD.contains(&module) {
                faults.push(Fault::new(
                    &file.path,
                    number,
                    format!("core decides: `std::{module}` belongs in engine"),
                ));
            }
        }
        for (index, line) in lines.iter().enumerate() {
            for clock in CLOCKS.into_iter().filter(|clock| !rust::words(&line.code, clock).is_empty()) {
                faults.push(Fault::new(
                    &file.path,
                    index + 1,
                    format!("core decides: `{clock}` is read in engine, pass `now`"),
                ));
            }
        }
    }
    faults
}

fn core_in_app<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files {
        if file.is_source_of("app") {
            for (index, line) in rust::lines(&file.text).iter().enumerate() {
                if !rust::words(&line.code, "planwright_core").is_empty() {
                    faults.push(Fault::new(
                        &file.path,
                        index + 1,
                        "app depends on engine alone: take it from there",
                    ));
                }
            }
        } else if file.path == "crates/app/Cargo.toml" {
            for (number, line) in file.lines().filter(|(_, line)| line.contains("planwright-core")) {
                faults.push(Fault::new(
                    &file.path,
                    number,
                    format!("app depends on engine alone, not on `{line}`"),
                ));
            }
        }
    }
    faults
}

/// A place in the app that shows something: `command::verify`, `out`, `tui`.
type Face = Vec<String>;

fn faces_that_know_each_other<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let sources: Vec<&File> = files.into_iter().filter(|file| file.is_source_of("app")).collect();
    let all: BTreeSet<Face> = sources.iter().filter_map(|file| face(&module(&file.path))).collect();
    let mut faults = Vec::new();
    for file in sources {
        let here = module(&file.path);
        let Some(own) = face(&here) else { continue };
        let lines = rust::without_tests(rust::lines(&file.text));
        for (number, target) in mentioned(&lines, &here) {
            let Some(other) = face(&target).filter(|other| all.contains(other)) else { continue };
            if other != own && !may_use(&own, &other) {
                let (own, other) = (own.join("::"), other.join("::"));
                faults.push(Fault::new(
                    &file.path,
                    number,
                    format!("face `{own}` must not know face `{other}`"),
                ));
            }
        }
    }
    faults
}

/// A command prints through `out` and may start a face; everything else stands alone.
fn may_use(own: &Face, other: &Face) -> bool {
    own[0] == "command" && other[0] != "command"
}

/// The module path of a file of the app: `crates/app/src/command/verify.rs` is `command::verify`.
fn module(path: &str) -> Vec<String> {
    let inside = path.strip_prefix("crates/app/src/").unwrap_or(path);
    inside.trim_end_matches(".rs").split('/').map(str::to_owned).collect()
}

/// The face to which a module path belongs, if to any. `command.rs` lists the commands and is none.
fn face(path: &[String]) -> Option<Face> {
    match path {
        [folder, name, ..] if folder == "command" => Some(vec![folder.clone(), name.clone()]),
        [name, ..] if FACES.contains(&name.as_str()) => Some(vec![name.clone()]),
        _ => None,
    }
}

/// The module paths that a file at `here` mentions, from the root of the crate, with their lines.
fn mentioned(lines: &[rust::Line], here: &[String]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for (number, path) in rust::paths(lines, "crate") {
        found.push((number, path.split("::").map(str::to_owned).collect()));
    }
    for (number, path) in rust::paths(lines, "super") {
        let mut parts: Vec<&str> = path.split("::").collect();
        let mut above = &here[..here.len() - 1];
        while parts.first() == Some(&"super") {
            parts.remove(0);
            above = above.split_last().map_or(above, |(_, rest)| rest);
        }
        found.push((number, above.iter().cloned().chain(parts.into_iter().map(str::to_owned)).collect()));
    }
    found
}

#[test]
fn core_does_not_mention_the_outside_world() {
    assert_none(&world_in_core(&repository()));
}

#[test]
fn the_outside_world_in_core_is_caught() {
    let caught = |text: &str, expected: &str| {
        assert_caught(&world_in_core([&File::new("crates/core/src/plan.rs", text)]), expected);
    };
    caught("//! Ok.\nuse std::fs;", "plan.rs:2: core decides: `std::fs`");
    caught("use std::{\n    fmt,\n    env::var,\n};", "`std::env`");
    caught("fn a() { std::process::abort() }", "`std::process`");
    caught("fn a(now: Instant) {}", "`Instant`");
    caught("fn a() -> SystemTime {}", "`SystemTime`");
    let good = "//! Never std::fs.\nlet a = \"std::env\";\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
    assert_none(&world_in_core([&File::new("crates/core/src/plan.rs", good)]));
    assert_none(&world_in_core([&File::new("crates/core/src/plan/tests.rs", "use std::fs;")]));
    assert_none(&world_in_core([&File::new("crates/engine/src/store.rs", "use std::fs;")]));
}

#[test]
fn app_depends_on_engine_alone() {
    assert_none(&core_in_app(&repository()));
}

#[test]
fn core_in_app_is_caught() {
    let source = File::new("crates/app/src/main.rs", "//! App.\nuse planwright_core::plan::Plan;");
    assert_caught(&core_in_app([&source]), "crates/app/src/main.rs:2");
    let manifest = File::new("crates/app/Cargo.toml", "[dependencies]\nplanwright-core.workspace = true\n");
    assert_caught(&core_in_app([&manifest]), "crates/app/Cargo.toml:2");
}

#[test]
fn faces_do_not_know_each_other() {
    assert_none(&faces_that_know_each_other(&repository()));
}

#[test]
fn a_face_that_knows_another_is_caught() {
    let others = ["command/status.rs", "out/text.rs", "tui.rs", "web.rs", "web/page.rs"];
    let others = others.map(|path| File::new(&format!("crates/app/src/{path}"), ""));
    let judge = |path: &str, text: &str| {
        let file = File::new(&format!("crates/app/src/{path}"), text);
        faces_that_know_each_other(others.iter().chain([&file]))
    };
    assert_caught(
        &judge("command/verify.rs", "\nuse crate::command::status;"),
        "command/verify.rs:2: face `command::verify`",
    );
    assert_caught(&judge("command/verify.rs", "use super::{status::Row};"), "`command::status`");
    assert_caught(&judge("command/verify.rs", "use crate::{command::status, out};"), "`command::status`");
    assert_caught(&judge("command/verify/part.rs", "use crate::status;"), "`command::status`");
    assert_caught(
        &judge("out/json.rs", "use crate::command::status;"),
        "face `out` must not know face `command::status`",
    );
    assert_caught(&judge("web/row.rs", "use crate::out::text;"), "face `web` must not know face `out`");
    assert_none(&judge("out/json.rs", "use super::text::quote;"));
    assert_caught(
        &judge("mcp.rs", "fn a() { crate::web::page::show() }"),
        "face `mcp` must not know face `web`",
    );
    assert_none(&judge(
        "command/verify.rs",
        "use crate::out::text;\nuse crate::command::Outcome;\nuse super::verify;",
    ));
    assert_none(&judge("command/serve.rs", "use crate::web;"));
    assert_none(&judge("main.rs", "use crate::command::status;"));
}
