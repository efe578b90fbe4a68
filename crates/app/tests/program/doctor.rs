//! `doctor` against everything that can be wrong: damaged and altered records, what a crash leaves behind, and places that
//! can't be written. What is healthy is not complained about, and what is alive is left alone.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests stand outside of the program: they damage its files and start processes of their own"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, SystemTime};

use crate::follow::wait_until;
use crate::test_env::{Place, end};

/// A project in which a plan was carried out, and the folder of its records.
fn ran() -> (Place, PathBuf) {
    let place = Place::with_plan(&[("one", "", "touch one", "test -e one")]);
    place.approve_and_run().expect(0, &[]);
    let folder = records(&place);
    (place, folder)
}

fn records(place: &Place) -> PathBuf {
    let entries = fs::read_dir(place.path("../home/state/planwright")).expect("the state folder");
    let mut folders = entries.map(|entry| entry.expect("an entry").path());
    folders.find(|path| path.join("state.db").exists()).expect("records")
}

/// Changes the records as somebody could who can write them.
#[track_caller]
fn alter(folder: &Path, statement: &str) {
    let connection = rusqlite::Connection::open(folder.join("state.db")).expect("a database");
    connection.execute_batch(statement).expect("altered");
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").expect("all in one file");
}

// P-31: what is healthy is said to be so.
#[test]
fn a_project_in_order_is_healthy() {
    let (place, _) = ran();
    let ran = place.run(&["doctor"]);
    ran.expect(0, &["ok    git ", "settings valid", "state directory: writable", "records intact (1 run, "]);
    ran.expect(0, &["healthy"]);
}

// P-31: an event that was changed is an error, though the database itself is in order.
#[test]
fn an_altered_event_is_found() {
    let (place, folder) = ran();
    alter(
        &folder,
        "UPDATE journal SET event = CAST(replace(CAST(event AS TEXT), 'somebody', 'eve') AS BLOB)",
    );
    place.run(&["doctor"]).expect(1, &["error records: run 1: event 1 was changed", "2 errors"]);
}

#[test]
fn a_damaged_database_is_found() {
    let (place, folder) = ran();
    alter(&folder, "PRAGMA user_version");
    let path = folder.join("state.db");
    let mut bytes = fs::read(&path).expect("read");
    let length = bytes.len();
    bytes[4096..length].fill(0x5a);
    fs::write(&path, bytes).expect("written");
    place.run(&["doctor"]).expect(1, &["error records"]);
    fs::write(&path, "no database at all, but quite a long text in its place").expect("written");
    place.run(&["doctor"]).expect(1, &["error records"]);
}

#[test]
fn kept_bytes_that_were_changed_are_found() {
    let place = Place::with_plan(&[("one", "", "echo said-by-the-agent; touch one", "test -e one")]);
    place.approve_and_run().expect(0, &[]);
    alter(
        &records(&place),
        "UPDATE blob SET bytes = CAST('x' AS BLOB) WHERE instr(bytes, 'said-by-the-agent') = 1",
    );
    place.run(&["doctor"]).expect(1, &["error records", "is corrupt: hash mismatch"]);
}

/// A process that says it belongs to this run.
fn stray(place: &Place, tag: &str) -> Child {
    let mut command = place.command("sleep");
    command.arg("300").env("PLANWRIGHT_TAG", tag).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("a process")
}

// P-31: processes of a run that nobody drives are found, and ended when that is asked for.
#[test]
fn processes_of_a_dead_run_are_found_and_ended() {
    let (place, folder) = ran();
    let key = folder.file_name().expect("a name").to_str().expect("text").to_owned();
    let mut ours = stray(&place, &format!("{key}/1/one/1/agent"));
    let mut other = stray(&place, "another-0123/1/one/1/agent");
    let said = "run 1 is not running but left 1 process behind     fix: planwright doctor --fix";
    wait_until("the process is seen", || place.run(&["doctor"]).said().contains(said));
    assert!(ours.try_wait().expect("a child").is_none(), "looking ends nobody");
    place.run(&["doctor", "--fix"]).expect(0, &["fixed ended 1 process left behind by run 1", "healthy"]);
    assert_eq!(end(&mut ours), 128 + 9);
    assert!(other.try_wait().expect("a child").is_none(), "a process of another project is left alone");
    other.kill().expect("killed");
    other.wait().expect("gone");
}

#[test]
fn processes_of_a_run_that_is_driven_are_left_alone() {
    let place = Place::with_plan(&[("one", "", "touch began; sleep 300", "test -e never")]);
    let mut running = place.start(&[]);
    wait_until("the agent is at work", || place.path("began").exists());
    let ran = place.run(&["doctor", "--fix"]);
    ran.expect(0, &["healthy"]);
    assert!(!ran.said().contains("is not running but left"), "{ran:#?}");
    running.kill();
}

// P-31: what a killed write left is removed once it is old; a write that may be under way is not.
#[test]
fn files_that_a_killed_write_left_are_removed() {
    let (place, folder) = ran();
    let lock = folder.join("locks/run-99");
    fs::write(&lock, "").expect("written");
    let old = SystemTime::now() - Duration::from_hours(2);
    for name in ["plans/.it.md.aB3dE9", "plans/.it.md.young1", "plans/.other.md.aB3dE9", "plans/.it.md.swp"] {
        place.write(name, "half");
        if name != "plans/.it.md.young1" {
            let file = fs::File::options().write(true).open(place.path(name)).expect("opened");
            file.set_modified(old).expect("made old");
        }
    }
    fs::File::options().write(true).open(&lock).expect("opened").set_modified(old).expect("made old");
    let said = ["plans/.it.md.aB3dE9 was left behind", "run-99 is a stale lock", "2 warnings"];
    place.run(&["doctor"]).expect(0, &said);
    place.run(&["doctor", "--fix"]).expect(0, &["fixed ", "healthy"]);
    let left = |name: &str| place.path(name).exists();
    assert!(!left("plans/.it.md.aB3dE9") && !lock.exists() && folder.join("locks/run-1").exists());
    assert!(left("plans/.it.md.young1") && left("plans/.other.md.aB3dE9") && left("plans/.it.md.swp"));
}

#[test]
fn records_that_others_can_read_are_closed() {
    let (place, folder) = ran();
    let states = folder.parent().expect("above");
    fs::set_permissions(states, fs::Permissions::from_mode(0o755)).expect("opened");
    place.run(&["doctor"]).expect(0, &["is accessible to others", "1 warning"]);
    place.run(&["doctor", "--fix"]).expect(0, &["healthy"]);
    assert_eq!(states.metadata().expect("there").permissions().mode() & 0o777, 0o700);
}

#[test]
fn the_first_edit_makes_the_state_folder_for_its_owner_alone() {
    let place = Place::with_plan(&[("one", "", "touch one", "test -e one")]);
    place.run(&["edit", "it", "--note", "seen"]).expect(0, &[]);
    place.run(&["doctor"]).expect(0, &["healthy"]);
}

#[test]
fn a_place_that_cannot_be_written_is_an_error() {
    let place = Place::empty();
    fs::create_dir_all(place.path("../home/state")).expect("a folder");
    place.permit("../home/state", 0o555);
    if let Some(ran) = place.run_unprivileged(&["doctor"]) {
        ran.expect(1, &["error cannot create state directory"]);
    }
}

#[test]
fn without_bash_nothing_can_be_judged_and_that_is_an_error() {
    let place = Place::empty();
    let mut command = place.planwright(&["doctor"]);
    crate::test_env::run(command.env("PATH", place.project()), b"")
        .expect(1, &["warn  git: not on the PATH", "error bash: not on the PATH"]);
}
