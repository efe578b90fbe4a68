//! M-17: a record belongs to a repository, not to a path; and a record that is not what it was stops every command.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they damage its files"
)]

use std::fs;
use std::path::PathBuf;

use crate::follow::FILE;
use crate::sample::runnable;
use crate::test_env::{Place, Ran, run};

/// Counts how often it is done, outside of the project.
const COUNTED: &str = "echo >>../count; touch a.out";
const STEPS: &[(&str, &str, &str, &str)] = &[("a", "", COUNTED, "test -e a.out")];

fn count(place: &Place) -> usize {
    place.read("../count").lines().count()
}

/// A project in which the plan is done.
fn done() -> Place {
    let place = Place::with_plan(STEPS);
    place.approve_and_run().expect(0, &["done"]);
    assert_eq!(count(&place), 1);
    place
}

/// The directory of the only record.
fn record(place: &Place) -> PathBuf {
    let mut folders = place.path("../home/state/planwright").read_dir().expect("states").flatten();
    folders.find(|entry| entry.path().join("state.db").exists()).expect("a record").path()
}

#[test]
fn a_moved_project_keeps_its_record() {
    let place = done();
    place.bash("mv ../project ../moved; mkdir ../project").expect(0, &[]);
    place.bash("cd ../moved; planwright status it").expect(0, &["done", "1 of 1"]);
    place.bash("cd ../moved; planwright list").expect(0, &["done"]);
    place.bash("cd ../moved; planwright audit").expect(0, &["intact"]);
    place.bash("cd ../moved; planwright doctor").expect(0, &["record of this project: project-", "healthy"]);
    place.bash("cd ..; rm -r project; mv moved project").expect(0, &[]);
    place.run(&["status", "it"]).expect(0, &["done", "1 of 1"]);
    assert_eq!(count(&place), 1, "nothing was repeated");
}

#[test]
fn a_new_repository_at_an_old_path_starts_empty() {
    let place = done();
    let digest = place.digest();
    place
        .bash("cd ..; rm -rf project; mkdir -p project/.git/objects project/.git/refs project/plans")
        .expect(0, &[]);
    place.write(".git/HEAD", "ref: refs/heads/main\n").write(FILE, runnable(STEPS));
    place.run(&["status", "it"]).expect(0, &["has not been run"]);
    place.run(&["run", "it"]).expect(3, &[]);
    place.run(&["run", "it", "--rev", &digest]).expect(0, &["done"]);
    assert_eq!(count(&place), 2, "it is done for this repository, too");
    assert!(record(&place).is_dir(), "the old record is kept");
}

#[test]
fn a_copy_starts_with_a_record_of_its_own_and_says_so() {
    let place = done();
    let name = record(&place).file_name().expect("a name").to_string_lossy().into_owned();
    place.bash("cp -r ../project ../copy");
    let copy = place.bash("cd ../copy; planwright list");
    copy.expect(0, &["this is a copy of", "it starts with an empty record", "work in"]);
    assert!(place.bash("cd ../copy; planwright run it").code != 0, "nobody has approved it here");
    place.run(&["status", "it"]).expect(0, &["done"]);
    // A project that was moved from another file system is a copy without an original: a person says so.
    let adopt = format!("cd ../copy; planwright doctor --adopt {name}");
    place.bash(&adopt).expect(1, &["belongs to"]);
    place.bash("rm -rf ../project; mkdir ../project");
    place.bash("cd ../copy; planwright status").expect(0, &["doctor --adopt"]);
    place
        .bash(&format!("cd ../copy; CLAUDECODE=1 planwright doctor --adopt {name}"))
        .expect(3, &["only a person"]);
    place.bash(&adopt).expect(0, &["is now that of this project"]);
    place.bash("cd ../copy; planwright status it").expect(0, &["done", "1 of 1"]);
    place.bash("cd ../copy; planwright audit").expect(0, &["intact"]);
}

/// What an agent can write in its workspace to be taken for the project next door, which has approved the same plan.
const DEEDS: &[&str] = &[
    "rm -rf .git; echo \"gitdir: $PWD/../other/.git\" >.git",
    "rm -rf .git; /bin/ln -s ../other/.git .git",
    "echo \"$PWD/../other/.git\" >.git/commondir",
    "rm -rf .git; cp -r ../other/.git .git",
    "cp ../other/.git/planwright-record .git/",
    "rm -rf .git; mkdir fake; echo \"gitdir: $PWD/fake\" >.git; echo \"$PWD/../other/.git\" >fake/commondir; \
     echo \"$PWD/.git\" >fake/gitdir; cp ../other/.git/HEAD fake/",
    "rm -rf .git",
];

#[test]
fn an_agent_gets_neither_the_approval_nor_the_record_of_another_project() {
    for deed in DEEDS {
        // The agent of another plan does it, while the plan that is approved next door is here, too.
        let place = Place::with_plan(&[("z", "", &format!("{deed}; touch z.out"), "test -e z.out")]);
        let plan = runnable(STEPS);
        place.write("plans/same.md", &plan).write("../other/plans/same.md", &plan);
        place.bash("cp -r .git ../other/.git; chmod 700 ../other");
        let next_door = |words: &str| place.bash(&format!("cd ../other; planwright {words}"));
        let digest = next_door("run same --dry-run --json").stdout;
        let digest: serde_json::Value = serde_json::from_str(&digest).expect("an envelope");
        let digest = digest["data"]["digest"].as_str().expect("a digest").to_owned();
        next_door("propose same").expect(0, &[]);
        next_door(&format!("approve same --rev {digest}")).expect(0, &[]);
        place.approve_and_run();
        assert!(place.has("z.out"), "{deed}");
        let ran = place.run(&["run", "same"]);
        assert!(ran.code != 0 && !place.has("../count"), "{deed}: it ran: {ran:#?}");
        let said = place.run(&["list"]).said() + &place.run(&["log", "same"]).said();
        assert!(!said.contains("approved"), "{deed}: {said}");
        next_door("list").expect(0, &["approved"]);
    }
}

// Otherwise a run of an agent that removes the repository would do away with the policy.
#[test]
fn a_new_repository_in_the_same_folder_is_under_the_same_policy() {
    let place = done();
    place.write("../policy.toml", "[approval]\nneeded = 2\n");
    place.run(&["policy", "install", "../policy.toml"]).expect(0, &["installed"]);
    let before = place.run(&["policy"]).stdout;
    place.bash("rm -rf .git; mkdir -p .git/objects .git/refs; echo 'ref: refs/heads/main' >.git/HEAD");
    place.run(&["status"]).expect(0, &["another repository was here before", "doctor --adopt"]);
    assert_eq!(place.run(&["policy"]).stdout, before);
    place.write("plans/planwright.toml", "");
    assert_eq!(place.bash("cd plans; planwright policy").stdout, before);
}

#[test]
fn a_run_whose_state_directory_vanishes_stops() {
    let place = Place::with_plan(&[
        ("a", "", "touch a.out", "test -e a.out"),
        ("b", "", "touch b.out; rm -rf \"$HOME/state\"", "test -e b.out"),
        ("c", "", "touch c.out", "test -e c.out"),
        ("d", "", "touch d.out", "test -e d.out"),
        ("e", "", "touch e.out", "test -e e.out"),
    ]);
    let ran = place.approve_and_run();
    ran.expect(5, &["was removed or replaced while in use"]);
    assert!(place.has("b.out") && !place.has("c.out"), "{ran:#?}");
    assert_eq!(ran.stdout.matches("\nok ").count(), 1, "{ran:#?}");
    assert!(!place.read(FILE).contains("status: done"));
}

/// Commands that read the record, each with a plan that has one.
const READERS: &[&[&str]] = &[
    &["status"],
    &["status", "it"],
    &["list"],
    &["log", "it"],
    &["run", "it"],
    &["answer", "it/a", "--retry"],
    &["review", "it"],
    &["propose", "it"],
    &["stop", "it"],
];

/// Every command refuses with these words, and changes nothing.
#[track_caller]
fn is_refused(place: &Place, words: &[&str]) {
    let plan = place.read(FILE);
    for reader in READERS {
        place.run(reader).expect(5, words);
    }
    assert_eq!((count(place), place.read(FILE)), (1, plan), "nothing goes on");
}

#[test]
fn an_older_database_is_noticed_by_every_command() {
    let place = Place::with_plan(STEPS);
    place.run(&["propose", "it"]).expect(0, &[]);
    let folder = record(&place);
    place.bash(&format!("cp -r '{}' ../older", folder.display())).expect(0, &[]);
    place.approve_and_run().expect(0, &["done"]);
    place.bash(&format!("rm -rf '{0}'; cp -r ../older '{0}'", folder.display())).expect(0, &[]);
    is_refused(&place, &["state.db is older than", "planwright doctor --set-aside"]);
    place.run(&["audit"]).expect(1, &[]);
    place.run(&["doctor"]).expect(1, &["is older than"]);
    place.run(&["doctor", "--set-aside"]).expect(0, &["record set aside as project-"]);
    place.run(&["status"]).expect(0, &["nothing"]);
}

#[test]
fn a_write_ahead_log_that_was_cut_is_noticed_by_every_command() {
    let place = Place::with_plan(STEPS);
    place.run(&["propose", "it"]).expect(0, &[]);
    let folder = record(&place);
    // As long as somebody has it open, the log is not put into the database.
    let open = rusqlite::Connection::open(folder.join("state.db")).expect("a database");
    open.query_row("SELECT count(*) FROM run", [], |row| row.get::<_, i64>(0)).expect("a number");
    place.approve_and_run().expect(0, &["done"]);
    place.bash(&format!("cp -r '{}' ../open", folder.display())).expect(0, &[]);
    drop(open);
    let log = fs::read(place.path("../open/state.db-wal")).expect("a log");
    fs::write(place.path("../open/state.db-wal"), &log[..log.len() / 2]).expect("cut");
    let put = format!("rm -rf '{0}'; rm -f ../open/state.db-shm; cp -r ../open '{0}'", folder.display());
    place.bash(&put).expect(0, &[]);
    is_refused(&place, &["state.db is older than"]);
}

#[test]
fn a_database_that_was_cut_or_lost_is_noticed_by_every_command() {
    let place = done();
    let database = record(&place).join("state.db");
    // Everything is in the database, and nothing in its log.
    let open = rusqlite::Connection::open(&database).expect("a database");
    open.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("put together");
    drop(open);
    let whole = fs::read(&database).expect("a database");
    fs::write(&database, &whole[..whole.len() - 4096]).expect("cut");
    is_refused(&place, &["state.db is cut off"]);
    place.run(&["audit"]).expect(1, &["is cut off"]);
    fs::write(&database, "").expect("emptied");
    is_refused(&place, &["state.db is missing, but"]);
    fs::remove_dir_all(record_of(&database)).expect("removed");
    is_refused(&place, &["state.db is missing, but"]);
    place.run(&["audit"]).expect(1, &["is missing"]);
    place.run(&["doctor"]).expect(1, &["is missing", "planwright doctor --set-aside"]);
    assert!(!record_of(&database).exists(), "nothing was made in its place");
}

fn record_of(database: &std::path::Path) -> &std::path::Path {
    database.parent().expect("a folder")
}

#[test]
fn without_a_home_nothing_is_kept_in_the_directory_of_temporary_files() {
    let place = Place::with_plan(STEPS);
    let homeless = |words: &[&str]| -> Ran {
        let mut command = place.planwright(words);
        run(command.env_remove("HOME").env_remove("XDG_STATE_HOME").env("TMPDIR", place.path("../bin")), b"")
    };
    for words in [&["run", "it"][..], &["status"], &["propose", "it"]] {
        homeless(words).expect(5, &["neither XDG_STATE_HOME nor HOME is set"]);
    }
    homeless(&["verify"]).expect(0, &[]);
    assert!(!place.has("../bin/planwright-states") && !place.has("../bin/planwright/locks"));
}

#[test]
fn outside_of_a_repository_the_root_is_the_same_for_every_command() {
    let place = Place::with_plan(STEPS);
    place.bash("rm -rf .git");
    place.approve_and_run().expect(0, &["done"]);
    assert!(place.has("a.out"), "it works where it was started");
    place.run(&["status", "it"]).expect(0, &["done", "1 of 1"]);
    place.run(&["status"]).expect(0, &["it"]);
    place.run(&["audit"]).expect(0, &["intact"]);
    for words in ["status plans/it.md", "audit plans/it.md", "log plans/it.md"] {
        place.bash(&format!("planwright {words}")).expect(0, &[]);
    }
    place.bash("mv ../project ../moved; mkdir ../project").expect(0, &[]);
    place.bash("cd ../moved; planwright status it").expect(0, &["done", "1 of 1"]);
}
