//! No thread is started by a function that panics when there is none to be had: what a limit on processes would kill or
//! hang reports an error, or goes on without it.

use crate::rust;
use crate::tree::{Fault, File, assert_caught, assert_none, repository};

/// What panics where no thread can be started, as it stands in code.
const PANICKING: [&str; 4] = ["thread::spawn(", "scope.spawn(", "threads.spawn(", ".build_parallel("];

fn panicking_spawns<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let is_ours = |file: &&File| file.is_source_of("engine") || file.is_source_of("app");
    let mut faults = Vec::new();
    for file in files.into_iter().filter(is_ours).filter(|file| !file.is_test_module()) {
        for (index, line) in rust::without_tests(rust::lines(&file.text)).iter().enumerate() {
            if let Some(call) = PANICKING.into_iter().find(|call| line.code.contains(call)) {
                let why = format!(
                    "`{call}` panics without threads: use `std::thread::Builder` and handle its error"
                );
                faults.push(Fault::new(&file.path, index + 1, why));
            }
        }
    }
    faults
}

#[test]
fn a_thread_that_cannot_be_started_is_an_error() {
    assert_none(&panicking_spawns(&repository()));
}

#[test]
fn a_spawn_that_panics_is_caught() {
    let engine = "crates/engine/src/run/x.rs";
    for code in [
        "std::thread::spawn(|| {});",
        "thread::scope(|scope| scope.spawn(|| {}));",
        "walk.build_parallel().run(x);",
    ] {
        let faults = panicking_spawns(&[File::new(engine, code)]);
        assert_caught(&faults, "x.rs:1: ");
    }
    let fine = "thread::Builder::new().spawn(|| {})?;\n#[cfg(test)]\nmod tests { fn a() { std::thread::spawn(|| {}); } }\n";
    assert_none(&panicking_spawns(&[File::new(engine, fine)]));
}
