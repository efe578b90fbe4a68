//! `doctor` as somebody uses it: whatever it names it names with a command, and once that was typed the finding is gone. `--fix` heals
//! what lags behind the journal and takes away what nobody needs; nobody's work and nobody's word.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they injure its files"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::Value;

use crate::follow::{FILE, wait_until};
use crate::sample::runnable;
use crate::test_env::Place;

const GIT: &str = "git -c user.name=ada -c user.email=ada@example.org";
/// Works until it is told to go on.
const WAITS: &str = "until [ -e go ]; do sleep 0.01; done; touch b";
const BEHIND: &str = "plans/it.md is out of date with the record: ";
const UNPROVEN: &str = "plans/it.md marks steps done without a receipt: ";

/// What is wrong: the level, what was found, and the command that helps.
#[track_caller]
fn wrong(place: &Place) -> Vec<(String, String, String)> {
    let ran = place.run(&["doctor", "--json"]);
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    let findings = envelope["data"]["findings"].as_array().expect("findings").clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = findings.iter().map(|one| (text(&one["level"]), text(&one["what"]), text(&one["fix"])));
    let wrong: Vec<_> = all.filter(|(level, ..)| level != "ok").collect();
    assert_eq!(ran.code, i32::from(wrong.iter().any(|(level, ..)| level == "error")), "{ran:#?}");
    wrong
}

/// The folder with the records of the project.
fn records(place: &Place) -> PathBuf {
    let entries = fs::read_dir(place.path("../home/state/planwright")).expect("the state folder");
    let mut folders = entries.map(|entry| entry.expect("an entry").path());
    folders.find(|path| path.join("state.db").exists()).expect("records")
}

// P-31: what somebody did to the marks and the status of a plan that is done is healed, byte for byte, and once.
#[test]
fn injected_drift_is_healed() {
    let place = Place::with_plan(&[("a", "", "touch a", "test -e a"), ("b", "", "touch b", "test -e b")]);
    place.approve_and_run().expect(0, &[]);
    let done = place.read(FILE);
    assert!(wrong(&place).is_empty());
    let table: &[(&[(&str, &str)], &str)] = &[
        (&[("✅ Do a", "Do a")], "`a` is done"),
        (&[("✅ Do a", "Do a"), ("✅ Do b", "❌ Do b")], "`a` is done, `b` is done"),
        (&[("status: done", "status: draft")], "the plan is done"),
        (&[("status: done", "status: running"), ("✅ Do b", "Do b")], "`b` is done, the plan is done"),
    ];
    for (edits, said) in table {
        let text = edits.iter().fold(done.clone(), |text, (from, to)| text.replace(from, to));
        assert_ne!(text, done, "{said}");
        place.write(FILE, &text);
        let expected = ("warn".to_owned(), format!("{BEHIND}{said}"), "planwright doctor --fix".to_owned());
        assert_eq!(wrong(&place), [expected]);
        assert_eq!(place.read(FILE), text, "looking writes nothing");
        place
            .run(&["doctor", "--fix"])
            .expect(0, &["fixed plans/it.md now matches the record: ", said, "healthy"]);
        assert_eq!(place.read(FILE), done, "{said}");
        let again = place.run(&["doctor", "--fix"]);
        assert!(!again.expect(0, &["healthy"]).said().contains("fixed"), "{again:#?}");
    }
    // A plan that says something else is another plan, and nobody's drift.
    place.write(FILE, done.replace("Because.", "Because of it.").replace("✅ ", ""));
    let edited = place.read(FILE);
    place.run(&["doctor", "--fix"]).expect(0, &["healthy"]);
    assert_eq!(place.read(FILE), edited);
}

// P-31: a driver that dies between the verdict and the mark leaves a file that lags behind; a step that somebody marked by hand is
// named, stays marked, and is settled by its contract alone.
#[test]
fn a_mark_lost_with_its_driver_is_set_and_one_without_a_receipt_is_settled_by_the_contract() {
    let place = Place::with_plan(&[
        ("a", "", "touch a", "test -e a"),
        ("b", "", WAITS, "test -e b"),
        ("c", "", "echo made >c", "test -s c"),
    ]);
    let before = place.read(FILE);
    let mut running = place.start(&[]);
    place.wait_for("b attempt.started 1");
    let said = wrong(&place);
    assert!(said.is_empty(), "whoever drives it is about to set the marks: {said:?}");
    running.kill();
    wait_until("its processes are gone", || {
        !place.run(&["doctor"]).said().contains("is not running but left")
    });
    // Exactly what is left where the verdict was recorded and the file not written any more.
    place.write(FILE, before.replace("Do c", "✅ Do c"));
    let said = wrong(&place);
    let claim = ("warn".to_owned(), format!("{UNPROVEN}`c`"), "planwright run plans/it.md".to_owned());
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0].1, format!("{BEHIND}`a` is done, the plan is running"));
    assert_eq!(said[1], claim);
    place.run(&["doctor", "--fix"]).expect(0, &["fixed ", "1 warning"]);
    let text = place.read(FILE);
    assert!(
        text.contains("✅ Do a") && text.contains("✅ Do c") && text.contains("status: in-progress"),
        "{text}"
    );
    assert_eq!(wrong(&place), std::slice::from_ref(&claim));
    assert!(!place.has("c"), "a mark does no work");
    place.write("go", "");
    place.bash(&claim.2).expect(0, &["3 of 3 steps passed"]);
    assert_eq!(place.read("c"), "made\n", "the step was carried out, whatever its mark said");
    assert!(wrong(&place).is_empty());
}

// P-31: a mark on a step that waits for a person stays: it may be that they did it.
#[test]
fn a_mark_on_a_step_that_waits_for_a_person_stays() {
    let place = Place::with_plan(&[("a", "", "true", "test -e never")]);
    place.approve_and_run().expect(3, &[]);
    let marked = place.read(FILE).replace("Do a", "✅ Do a").replace("❌ ✅", "✅");
    place.write(FILE, &marked);
    let said = wrong(&place);
    assert!(said.iter().any(|(_, what, _)| *what == format!("{UNPROVEN}`a`")), "{said:?}");
    place.run(&["doctor", "--fix"]).expect(0, &[]);
    assert_eq!(place.read(FILE), marked, "it is the person's");
}

/// A repository with plans for trees.
fn repository(plans: &[&str]) -> Place {
    let place = Place::empty();
    for plan in plans {
        place.write(&format!("plans/{plan}.md"), runnable(&[("make", "", "touch made", "test -e made")]));
    }
    place.write(
        ".harness/PLAN-auth.md",
        "# Plan: auth\n\n## Tasks\n\n### 1. Do it\n- What: it\n- Verification: `true`\n- Status: [ ]\n",
    );
    let script = format!("rm -rf .git && git init -q -b main && git add -A && {GIT} commit -q -m base");
    place.bash(&script).expect(0, &[]);
    place
}

fn tree(place: &Place, name: &str) -> String {
    place.run(&["worktree", "add", name]).expect(0, &[]);
    place.run(&["worktree", "path", name]).expect(0, &[]).stdout.trim().to_owned()
}

// P-31, D-15, D-16, D-24: one of each finding. Each comes with a command; typed as it is printed, it takes the finding away.
#[test]
fn every_finding_is_gone_once_its_command_was_typed() {
    let place = repository(&["it", "gone", "work", "loose"]);
    place.run(&["run", "it", "--rev", &place.digest()]).expect(0, &[]);
    // A mark that was taken away, a copy of a sync service, a marker that leads nowhere, a write that was killed.
    place.write(FILE, place.read(FILE).replace("✅ ", ""));
    place
        .write("plans/it (conflicted copy 2026-05-27).md", place.read(FILE))
        .write(".harness/active-plan", "nowhere");
    place
        .write("plans/.it.md.aB3dE9", "half")
        .bash("touch -d '2 hours ago' plans/.it.md.aB3dE9")
        .expect(0, &[]);
    // Trees: one whose plan is gone, one of these with work in it, one with a marker that leads nowhere, and one half removed.
    let (gone, work) = (tree(&place, "gone"), tree(&place, "work"));
    let loose = tree(&place, "auth");
    place.bash(&format!("rm plans/gone.md plans/work.md && echo mine >'{work}/notes' && echo nobody >'{loose}/.harness/active-plan'")).expect(0, &[]);
    let folder = records(&place);
    fs::write(folder.join("worktrees/ghost"), "\"remove\"").expect("written");
    // A planner and a merge that died.
    place.run(&["session", "dir"]).expect(0, &[]);
    place
        .bash(&format!(
            "sed -i 's/\"is_clearing\":false/\"is_clearing\":true/' '{}'/desks/*.json",
            folder.display()
        ))
        .expect(0, &[]);
    fs::create_dir_all(folder.join("merge")).expect("a folder");
    let by = r#"{"name":"ada","role":"person"}"#;
    fs::write(folder.join("merge/intent.json"), format!(r#"{{"branches":[],"plans":[],"by":{by}}}"#))
        .expect("written");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).expect("opened");
    let all = [
        ("dangling: .harness/active-plan", "planwright use --clear"),
        ("is accessible to others", "planwright doctor --fix"),
        ("`make` is done", "planwright doctor --fix"),
        (".it.md.aB3dE9 was left behind", "planwright doctor --fix"),
        ("is a conflict copy by Google Drive or Dropbox", "mv -- 'plans/it (conflicted copy"),
        (
            "can be removed without losing work (0 merged, 1 orphaned, 1 MB): gone",
            "planwright worktree prune",
        ),
        ("kept worktree `work`, orphaned: 1 uncommitted file: notes", "cd "),
        ("kept worktree `auth`, dangling", "rm "),
        ("creating or removing worktree `ghost` was interrupted", "planwright worktree prune"),
        ("an interrupted merge left these plans unfinished", "planwright merge"),
        ("interrupted planner sessions: ", "planwright status --inbox"),
    ];
    let found = wrong(&place);
    for (said, command) in all {
        let one = found.iter().find(|(_, what, _)| what.contains(said));
        let (level, _, fix) = one.unwrap_or_else(|| panic!("`{said}` was not found: {found:#?}"));
        assert!(level == "warn" && fix.starts_with(command), "{said}: {fix}");
    }
    assert_eq!(found.len(), all.len(), "{found:#?}");
    let has = |said: &str| wrong(&place).iter().any(|(_, what, _)| what.contains(said));
    for (said, _) in all {
        let now = wrong(&place);
        // What one command has mended along with another is gone already.
        let Some((_, _, fix)) = now.iter().find(|(_, what, _)| what.contains(said)) else { continue };
        let ran = place.bash(fix);
        assert!([0, 3].contains(&ran.code), "{fix}: {ran:#?}");
        assert_eq!(has(said), fix.starts_with("cd "), "{fix}");
    }
    place
        .bash(&format!("test ! -e '{gone}' && cat '{work}/notes' && rm '{work}/notes'"))
        .expect(0, &["mine"]);
    place.run(&["doctor", "--fix"]).expect(0, &["fixed removed unused worktrees (", "healthy"]);
    place.bash(&format!("test ! -e '{work}'")).expect(0, &[]);
    assert!(place.has("plans/it (conflicted copy 2026-05-27).md.aside"), "put aside, not deleted");
}

// D-24, P-31: `--fix` reclaims what loses nothing; a tree with work that no commit holds it never does.
#[test]
fn a_fix_never_deletes_work() {
    let place = repository(&["it", "safe", "file", "commit"]);
    let trees: Vec<String> = ["safe", "file", "commit"].iter().map(|name| tree(&place, name)).collect();
    let [safe, file, commit] = trees.as_slice() else { panic!("three trees") };
    place
        .bash(&format!("rm plans/safe.md plans/file.md plans/commit.md && echo mine >'{file}/notes'"))
        .expect(0, &[]);
    place
        .bash(&format!("cd '{commit}' && echo mine >notes && git add -A && {GIT} commit -qm 'by hand'"))
        .expect(0, &[]);
    // Only a person has trees removed.
    place.bash("CLAUDECODE=1 planwright doctor").expect(0, &["safe"]);
    place.bash("CLAUDECODE=1 planwright doctor --fix").expect(3, &["only a person may"]);
    place.bash(&format!("test -d '{safe}'")).expect(0, &[]);
    for _ in 0..2 {
        place
            .run(&["doctor", "--fix"])
            .expect(0, &["kept worktree `file`, orphaned", "kept worktree `commit`, orphaned", "2 warnings"]);
        place
            .bash(&format!("test ! -e '{safe}' && cat '{file}/notes' '{commit}/notes'"))
            .expect(0, &["mine\nmine\n"]);
    }
}

// P-31: trees of attempts that a killed run left are forgotten once their folders are gone; work that is kept is only counted.
#[test]
fn what_a_killed_run_left_is_shown_and_forgotten() {
    let place = repository(&[]);
    let agent = format!(
        "echo $$ >'{}'; until [ -e '{}' ]; do sleep 0.01; done; touch a",
        place.path("../agent").display(),
        place.path("../go").display()
    );
    place.write(
        FILE,
        runnable(&[
            ("a", "**touches:**\n- a", &agent, "test -e a"),
            ("b", "**touches:**\n- b", "touch b", "test -e b"),
        ]),
    );
    let mut running = place.start(&["--jobs", "2"]);
    wait_until("the agent is at work", || place.has("../agent"));
    running.kill();
    wait_until("its processes are gone", || {
        !place.run(&["doctor"]).said().contains("is not running but left")
    });
    place.run(&["doctor"]).expect(0, &["directories of killed attempts, removed by the next attempt: "]);
    place.bash("rm -rf \"$HOME/.cache/planwright\"").expect(0, &[]);
    let said = wrong(&place);
    let gone = "registered worktrees of attempts without a directory: ";
    assert!(
        said.iter().any(|(_, what, fix)| what.starts_with(gone) && fix == "planwright doctor --fix"),
        "{said:?}"
    );
    place
        .run(&["doctor", "--fix"])
        .expect(0, &["fixed forgot 1 worktree of attempts without a directory", "healthy"]);
    place.write("../go", "");
    place.run(&["run", "it", "--jobs", "2"]).expect(0, &["2 of 2 steps passed"]);
    place.run(&["doctor"]).expect(0, &["the repository keeps work of finished runs (", "healthy"]);
}

// P-31: a database that is damaged is an error; put aside as the doctor says, planwright works again and nothing is deleted.
#[test]
fn a_damaged_database_is_put_aside_by_the_command_that_is_printed() {
    let place = Place::with_plan(&[("one", "", "touch one", "test -e one")]);
    place.approve_and_run().expect(0, &[]);
    let folder = records(&place);
    // What was written last may still lie beside the database, and is all of it here.
    place.bash(&format!("rm -f '{0}'/state.db-wal '{0}'/state.db-shm", folder.display())).expect(0, &[]);
    fs::write(folder.join("state.db"), "no database at all, but quite a long text in its place")
        .expect("written");
    let said = wrong(&place);
    let (level, what, fix) = said.first().expect("a finding");
    assert!(
        level == "error" && what.contains("is damaged") && fix == "planwright doctor --set-aside",
        "{said:?}"
    );
    place.run(&["doctor", "--fix"]).expect(1, &["is damaged"]);
    place.bash(fix).expect(0, &[]);
    place.run(&["doctor"]).expect(0, &["no records", "healthy"]);
    place.bash(&format!("cat '{}.aside-1/state.db'", folder.display())).expect(0, &["no database at all"]);
    place.run(&["run", "it", "--rev", &place.digest()]).expect(0, &[]);
}

// P-31: a git that can't merge, a disk without room and a repository that can't be read are warnings, and fail nothing.
#[test]
fn what_hinders_only_some_of_it_is_a_warning() {
    let place = repository(&["it"]);
    let real = place.bash("command -v git").stdout.trim().to_owned();
    let real = fs::canonicalize(real).expect("git is there").display().to_string();
    place.replace_tool(
        "git",
        &format!(
            "#!/bin/bash\n[ \"$1\" = --version ] && echo git version 2.30.1 && exit\nexec {real} \"$@\"\n"
        ),
    );
    place.run(&["doctor"]).expect(0, &["warn  git 2.30.1 is too old", "need 2.38", "1 warning"]);
    place.replace_tool("git", &format!("#!/bin/bash\nexec {real} \"$@\"\n"));
    place.write("planwright.toml", "[limits]\nfree_mb = 1073741824\n");
    place.run(&["doctor"]).expect(0, &[" MB free at ", "less than 1073741824", "fix: df -h "]);
    place.write("planwright.toml", "[limits]\nfree_mb = 0\n");
    place.run(&["doctor"]).expect(0, &["healthy"]);
    place.bash("rm -rf .git/objects/??").expect(0, &[]);
    place.run(&["doctor"]).expect(0, &["warn  repository: cannot read commit ", "fix: git fsck"]);
}
