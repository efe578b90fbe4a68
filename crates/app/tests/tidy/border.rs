//! The borders between the crates and between the faces of the app: core decides, engine acts, app shows.

use crate::import::Crate;
use crate::rust;
use crate::tree::{Fault, File, assert_caught, assert_none, repository};

/// What of `std` core must not mention outside its tests.
const OUTSIDE_WORLD: [&str; 5] = ["env", "fs", "net", "process", "thread"];
const CLOCKS: [&str; 2] = ["Instant", "SystemTime"];
/// Folders that are one face each. In `command` each file is a face.
const FACES: [&str; 4] = ["lsp", "mcp", "tui", "web"];
const ENGINE: &str = "planwright_engine";
/// What app may name of the engine.
const FACADE: [&str; 2] = ["api", "host"];

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
            // Its tests may look at records with core's own eyes.
            let own = file.lines().take_while(|(_, line)| line.trim() != "[dev-dependencies]");
            for (number, line) in own.filter(|(_, line)| line.contains("planwright-core")) {
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

/// What app names of the engine besides its façade, in code and in tests. An import of the whole crate would hide what is
/// used of it, so it counts as well.
fn engine_behind_the_facade<'a>(files: impl IntoIterator<Item = &'a File>, allowed: &[&str]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.into_iter().filter(|file| file.is_source_of("app")) {
        let lines = rust::lines(&file.text);
        for (number, path) in rust::paths(&lines, ENGINE) {
            let folder = path.split("::").next().unwrap_or_default();
            if !allowed.contains(&folder) {
                let what = if folder.is_empty() { "*" } else { folder };
                faults.push(Fault::new(
                    &file.path,
                    number,
                    format!("app names only the façade of the engine, not `{ENGINE}::{what}`"),
                ));
            }
        }
        for (index, line) in lines.iter().enumerate() {
            let bare = rust::words(&line.code, ENGINE).into_iter().any(|at| {
                let rest = line.code[at + ENGINE.len()..].trim_start();
                !rest.starts_with("::") && !rest.is_empty()
            });
            if bare {
                faults.push(Fault::new(
                    &file.path,
                    index + 1,
                    "app imports the engine by its parts, never as a whole",
                ));
            }
        }
    }
    faults
}

/// A front end, or one command of the command line: `command::verify`, `mcp`, `tui`.
type Face = Vec<String>;

fn faces_that_know_each_other<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let mut faults = Vec::new();
    for mention in Crate::read(files, "app").mentions() {
        let (Some(own), Some(other)) = (face(&mention.from), face(&mention.to)) else { continue };
        if other != own && !may_use(&own, &other) {
            let (own, other) = (own.join("::"), other.join("::"));
            faults.push(Fault::new(
                &mention.file,
                mention.line,
                format!("face `{own}` must not know face `{other}`"),
            ));
        }
    }
    faults
}

/// A command may start a face; everything else stands alone.
fn may_use(own: &Face, other: &Face) -> bool {
    own[0] == "command" && other[0] != "command"
}

/// The face to which a module belongs, if to any. `command.rs` lists the commands and is none.
fn face(module: &[String]) -> Option<Face> {
    match module {
        [folder, name, ..] if folder == "command" => Some(vec![folder.clone(), name.clone()]),
        [name, ..] if FACES.contains(&name.as_str()) => Some(vec![name.clone()]),
        _ => None,
    }
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
fn app_names_only_the_facade_of_the_engine() {
    assert_none(&engine_behind_the_facade(&repository(), &FACADE));
}

#[test]
fn a_name_behind_the_facade_is_caught() {
    let judge = |text: &str| {
        engine_behind_the_facade([&File::new("crates/app/src/command/run.rs", text)], &["api", "host"])
    };
    assert_caught(&judge("//! Run.\nuse planwright_engine::store::journal;"), "run.rs:2: app names only");
    assert_caught(
        &judge("use planwright_engine::{\n    api::Workspace,\n    core::plan,\n};"),
        "`planwright_engine::core`",
    );
    assert_caught(&judge("fn a() { planwright_engine::run::start() }"), "`planwright_engine::run`");
    assert_caught(&judge("fn a() { ::planwright_engine::run::start() }"), "`planwright_engine::run`");
    assert_caught(&judge("#[cfg(test)]\nmod tests {\n    use planwright_engine::git::base;\n}"), "run.rs:3");
    assert_caught(&judge("use planwright_engine as api;"), "never as a whole");
    assert_caught(&judge("use planwright_engine::{self as e, api::Plan};"), "`planwright_engine::self`");
    assert_caught(&judge("use planwright_engine::*;"), "`planwright_engine::*`");
    assert_none(&judge(
        "//! planwright_engine::store\nuse planwright_engine::api::{Plan, run};\nuse planwright_engine::{api, host::Host};",
    ));
    assert_none(&engine_behind_the_facade(
        [&File::new("crates/app/tests/clients.rs", "use planwright_engine::store;")],
        &["api", "host"],
    ));
}

#[test]
fn faces_do_not_know_each_other() {
    assert_none(&faces_that_know_each_other(&repository()));
}

#[test]
fn a_face_that_knows_another_is_caught() {
    let others = ["command.rs", "command/status.rs", "interaction.rs", "tui.rs", "web.rs", "web/page.rs"];
    let mut others = others.map(|path| File::new(&format!("crates/app/src/{path}"), ""));
    others[0].text = "mod status;\nmod verify;\npub use status::Row;\n".to_owned();
    let judge = |path: &str, text: &str| {
        let file = File::new(&format!("crates/app/src/{path}"), text);
        let lib = File::new("crates/app/src/lib.rs", "mod interaction;\nmod tui;\nmod web;\nmod command;\n");
        faces_that_know_each_other(others.iter().chain([&lib, &file]))
    };
    assert_caught(
        &judge("command/verify.rs", "\nuse crate::command::status;"),
        "command/verify.rs:2: face `command::verify`",
    );
    assert_caught(&judge("command/verify.rs", "use super::{status::Row};"), "`command::status`");
    assert_caught(&judge("command/verify.rs", "use crate::{command::status, web};"), "`command::status`");
    assert_caught(&judge("command/verify/part.rs", "use super::super::status;"), "`command::status`");
    assert_caught(&judge("command/verify.rs", "use super::Row;"), "`command::status`");
    assert_caught(
        &judge("command/verify.rs", "use crate::command;\nfn a(b: command::status::Row) {}"),
        "verify.rs:2",
    );
    assert_caught(
        &judge("mcp.rs", "use crate::command::status;"),
        "face `mcp` must not know face `command::status`",
    );
    assert_caught(&judge("web/row.rs", "use crate::tui;"), "face `web` must not know face `tui`");
    assert_caught(&judge("mcp.rs", "fn a() { crate::web::show() }"), "face `mcp` must not know face `web`");
    assert_none(&judge("web/row.rs", "use super::page;\nuse crate::interaction;"));
    assert_none(&judge(
        "command/verify.rs",
        "use crate::interaction;\nuse crate::command::Outcome;\nuse super::verify;",
    ));
    assert_none(&judge("command/serve.rs", "use crate::web;"));
    assert_none(&judge("cli.rs", "use crate::command::status;"));
}
