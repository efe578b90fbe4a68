//! Planners' sessions: `agentctl` with the words of document E, and `planwright session`. Plans are written outside of the repository,
//! proposed together, and found by whoever reviews them; nothing here approves.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests stand outside of the program: they play planners who write files"
)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::test_env::{Place, Ran, run};

const AGENTCTL: &str = env!("CARGO_BIN_EXE_agentctl");
/// A title and a task that nothing is wrong with.
const TASK: &str = "---\nid: make-one\n---\n\nMake one.\n\n## Verification\n\n```shell\ntest -e one\n```\n";

fn agentctl(place: &Place, words: &[&str]) -> Command {
    let mut command = place.command(AGENTCTL);
    command.args(words);
    command
}

#[track_caller]
fn ask(place: &Place, words: &[&str]) -> Ran {
    run(&mut agentctl(place, words), b"")
}

/// The folder of the current thread.
#[track_caller]
fn current(place: &Place) -> PathBuf {
    ask(place, &["plan", "dir"]).expect(0, &[]).stdout.trim_end().into()
}

/// The id and the folder of one more thread.
#[track_caller]
fn request(place: &Place) -> (String, PathBuf) {
    let ran = ask(place, &["plan", "request-thread-dir"]);
    let answer: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).expect("JSON");
    assert_eq!(answer.as_object().map(serde_json::Map::len), Some(2), "{answer}");
    let word = |name: &str| answer[name].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    let exact =
        format!("{{\"thread_id\":\"{}\",\"plan_dir\":\"{}\"}}\n", word("thread_id"), word("plan_dir"));
    assert_eq!(ran.stdout, exact);
    (word("thread_id"), word("plan_dir").into())
}

/// Writes a plan of one task.
fn write(folder: &Path, title: &str, task: &str) {
    fs::create_dir_all(folder.join("tasks")).expect("a folder");
    fs::write(folder.join("plan.md"), format!("---\ntitle: \"{title}\"\n---\n\nWhy.\n")).expect("written");
    fs::write(folder.join("tasks/01-make-one.md"), task).expect("written");
}

/// The names of the plans that wait for a yes or a no, each with its revision.
#[track_caller]
fn waiting(place: &Place) -> Vec<String> {
    let ran = place.run(&["status", "--inbox", "--json"]);
    let envelope: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).expect("an envelope");
    let reviews = envelope["data"]["reviews"].as_array().cloned().unwrap_or_default();
    let line = |review: &Value| format!("{} r{}", review["plan"].as_str().unwrap_or("?"), review["revision"]);
    let mut names: Vec<String> = reviews.iter().map(line).collect();
    names.sort();
    names
}

/// What `session show` says of the threads.
#[track_caller]
fn threads(place: &Place) -> Vec<Value> {
    let ran = place.run(&["session", "show", "--json"]);
    let envelope: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).expect("an envelope");
    envelope["data"]["threads"].as_array().cloned().unwrap_or_default()
}

/// The digest of what was proposed in the current thread.
#[track_caller]
fn digest(place: &Place) -> String {
    threads(place)[0]["digest"].as_str().expect("a digest").to_owned()
}

/// The workflows of document E, one after another, in its own words. What it leaves to the agent stands between them.
const DOCUMENT: &str = r#"set -eu
CURRENT_PLAN_DIR="$(agentctl plan dir)"
field() { printf '%s' "$REQ" | sed "s/.*\"$1\":\"//; s/\".*//"; }
plan() {
    mkdir -p "$1/tasks"
    printf -- '---\ntitle: "%s"\n---\n\nWe need to add JWT-based authentication to the API.\n' "$2" >"$1/plan.md"
    printf -- '---\nid: create-schema\ndepends_on: []\n---\n\nCreate the `users` table migration.\n' >"$1/tasks/01-create-schema.md"
    printf -- '---\nid: implement-service\ndepends_on: [create-schema]\nagent: claude-code\nsubtasks:\n  - Define service interface\n  - Implement SQLite store\n---\n\nImplement `auth_service.go`.\n' >"$1/tasks/02-implement-service.md"
}
agentctl set-topic "Authentication"
echo == single
plan "$CURRENT_PLAN_DIR" "Add user authentication"

# CURRENT_PLAN_DIR is provided in system prompt/runtime context
# write/update $CURRENT_PLAN_DIR/plan.md + $CURRENT_PLAN_DIR/tasks/*
agentctl plan commit

echo == multiple
# request extra thread plan directory
REQ="$(agentctl plan request-thread-dir)"
THREAD_ID="$(field thread_id)"
EXTRA_DIR="$(field plan_dir)"

# write $EXTRA_DIR/plan.md + $EXTRA_DIR/tasks/*
# write/update $CURRENT_PLAN_DIR too (if needed)
plan "$EXTRA_DIR" "Front end"

# one commit submits all thread plan dirs
agentctl plan commit

echo == remove
agentctl plan remove-thread --thread-id "$THREAD_ID"
agentctl plan commit
test ! -e "$EXTRA_DIR"

echo == clear
agentctl plan clear-current
agentctl plan commit
test -d "$CURRENT_PLAN_DIR"
test ! -e "$CURRENT_PLAN_DIR/plan.md"
echo == status
git status --porcelain
"#;

// It is a launcher: the program beside it does the work, whatever name leads to it, and where there is none it says so.
#[test]
fn agentctl_is_the_planwright_beside_it() {
    let place = Place::empty();
    let size = fs::metadata(AGENTCTL).expect("the launcher").len();
    let whole = fs::metadata(env!("CARGO_BIN_EXE_planwright")).expect("the program").len();
    assert!(size * 2 < whole, "{size} bytes beside {whole}");
    let folder = place.path("elsewhere");
    fs::create_dir_all(&folder).expect("a folder");
    fs::copy(AGENTCTL, folder.join("agentctl")).expect("a copy");
    symlink("elsewhere/agentctl", place.path("renamed")).expect("a link");
    for program in ["elsewhere/agentctl", "renamed"] {
        let mut alone = place.command(place.path(program).to_str().expect("text"));
        run(alone.arg("--version"), b"")
            .expect(5, &["cannot start `", "elsewhere/planwright`", "same directory"]);
    }
    symlink(env!("CARGO_BIN_EXE_planwright"), folder.join("planwright")).expect("a link");
    let mut renamed = place.command(place.path("renamed").to_str().expect("text"));
    run(renamed.arg("--version"), b"").expect(0, &["agentctl "]);
    ask(&place, &["--help"]).expect(0, &["Usage: agentctl", "set-topic"]);
    ask(&place, &["run"]).expect(2, &["unrecognized subcommand"]);
}

// E-01, E-11, E-12, E-13, E-14, E-15, E-16: the document's scripts run unchanged, and the repository stays clean.
#[test]
fn the_workflows_of_the_document_run_unchanged() {
    let place = Place::empty();
    let ran = place.bash(DOCUMENT);
    let parts: Vec<&str> = ran.expect(0, &[]).stdout.split("== ").collect();
    let said = [
        ("single", vec!["proposed  add-user-authentication  r1"]),
        ("multiple", vec!["unchanged  add-user-authentication  r1", "proposed  front-end  r1"]),
        ("remove", vec!["unchanged  add-user-authentication  r1", "withdrawn  front-end"]),
        ("clear", vec!["withdrawn  add-user-authentication"]),
    ];
    for (name, lines) in said {
        let part = parts.iter().find(|part| part.starts_with(name)).unwrap_or_else(|| panic!("{ran:#?}"));
        let found: Vec<&str> = part.lines().skip(1).filter(|line| !line.starts_with(' ')).collect();
        assert_eq!(found.len(), lines.len(), "{part}");
        for (line, begin) in found.iter().zip(lines) {
            assert!(line.starts_with(begin), "{begin}: {part}");
        }
    }
    assert_eq!(parts.last(), Some(&"status\n"), "nothing of it is in the repository");
    assert_eq!(waiting(&place), [] as [&str; 0]);
    let folder = current(&place);
    assert!(folder.parent().is_some_and(|above| above.ends_with("home/.agentflow/plans")), "{folder:?}");
}

// E-05, E-07, E-15, E-19: everything that is wrong with all folders is said at once, and nothing is submitted.
#[test]
fn one_bad_folder_and_nothing_is_submitted() {
    let place = Place::empty();
    let (good, (id, bad)) = (current(&place), request(&place));
    let (empty, _) = request(&place);
    write(&good, "Good", TASK);
    write(&bad, "", "---\nid: Bad Id\ndepends_on: [make-one, nobody]\n---\n");
    for (file, text) in [
        ("01-again.md", "---\nid: twin\ndepends_on: [circle]\n---\nA.\n"),
        ("03-circle.md", "---\nid: circle\ndepends_on: [twin]\n---\nB.\n"),
        ("04-twin.md", "---\nid: twin\n---\nC.\n"),
        ("05-torn.md", "---\nid: [\n---\nD.\n"),
        ("6-x.md", "---\nid: six\n---\nE.\n"),
    ] {
        fs::write(bad.join("tasks").join(file), text).expect("written");
    }
    let ran = ask(&place, &["plan", "commit"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:#?}");
    let said = [
        "the plan has no title",
        "has no task",
        "invalid id `Bad Id`",
        "needs unknown step `make-one`",
        "needs unknown step `nobody`",
        "twin",
        "tasks/05-torn.md",
        "invalid task file name `tasks/6-x.md",
        "has no plan",
        &format!("agentctl plan remove-thread --thread-id {empty}"),
        "nothing was committed: 2 threads have errors",
    ];
    ran.expect(1, &said);
    let ran_json = place.run(&["session", "commit", "--json"]);
    let envelope: Value = serde_json::from_str(&ran_json.expect(1, &[]).stdout).expect("an envelope");
    let problems = envelope["data"]["problems"].as_array().cloned().unwrap_or_default();
    let is_wrong = |problem: &Value| !problem["message"].as_str().is_none_or(|text| text.contains("warning"));
    assert!(!problems.is_empty() && problems.iter().all(is_wrong), "{problems:#?}");
    for rule in ["PW0105", "PW0108", "PW0151", "PW0201", "PW0202", "PW0504"] {
        assert!(ran.stderr.contains(rule), "{rule}: {}", ran.stderr);
    }
    assert_eq!(waiting(&place), [] as [&str; 0]);
    place.run(&["list"]).expect(0, &["no plans;"]);
    // A task of the same name in two threads is no clash.
    fs::remove_dir_all(&bad).expect("removed");
    write(&bad, "Other", TASK);
    ask(&place, &["plan", "remove-thread", "--thread-id", &empty]).expect(0, &["removed"]);
    ask(&place, &["plan", "commit"]).expect(0, &["proposed  good  r1", "proposed  other  r1"]);
    assert_eq!(waiting(&place), ["good r1", "other r1"]);
    assert!(threads(&place).iter().any(|thread| thread["thread_id"] == id.as_str()));
}

// E-13, E-16: every verb with what it is refused for; what is refused changes nothing.
#[test]
fn what_does_not_fit_is_refused_with_the_way_out() {
    let place = Place::empty();
    let (folder, (id, extra)) = (current(&place), request(&place));
    let own = threads(&place)[0]["thread_id"].as_str().expect("an id").to_owned();
    let long = "é".repeat(101);
    let cases: &[(&[&str], i32, &[&str])] = &[
        (
            &["plan", "remove-thread", "--thread-id", "thread_456"],
            2,
            &["unknown additional thread `thread_456`", &id],
        ),
        (&["plan", "remove-thread", "--thread-id", ""], 2, &["unknown additional thread ``"]),
        (
            &["plan", "remove-thread", "--thread-id", "../../etc"],
            2,
            &["unknown additional thread `../../etc`"],
        ),
        (&["plan", "remove-thread", "--thread-id", &format!("{id}/..")], 2, &["unknown additional thread"]),
        (
            &["plan", "remove-thread", "--thread-id", &extra.to_string_lossy()],
            2,
            &["unknown additional thread"],
        ),
        (
            &["plan", "remove-thread", "--thread-id", &own],
            1,
            &["current thread", "agentctl plan clear-current"],
        ),
        (&["plan", "remove-thread"], 2, &["--thread-id"]),
        (&["plan", "commit"], 1, &["plan.md is missing", "agentctl plan clear-current", &id]),
        (&["plan", "approve"], 2, &["unrecognized"]),
        (&["plan"], 2, &["request-thread-dir", "clear-current"]),
        (&["approve"], 2, &["unrecognized"]),
        (&["set-topic"], 2, &["<TOPIC>"]),
        (&["set-topic", &long], 2, &["101 characters", "1 to 100"]),
        (&["set-topic", " "], 2, &["empty topic"]),
        (&["set-topic", "two\nlines"], 2, &["line breaks"]),
        (&[], 2, &["set-topic", "plan"]),
    ];
    for (words, code, said) in cases {
        let ran = ask(&place, words);
        ran.expect(*code, said);
        assert_eq!(ran.stdout, "", "{words:?}");
    }
    assert!(folder.is_dir() && extra.is_dir() && threads(&place).len() == 2);
    for topic in [&long[..200], "-x", "short"] {
        ask(&place, &["set-topic", topic]).expect(0, &[]);
        place.run(&["session", "show"]).expect(0, &[topic]);
    }
    for words in
        [&["--help"][..], &["plan", "--help"], &["plan", "commit", "--help"], &["set-topic", "--help"]]
    {
        ask(&place, words).expect(0, &["Usage: agentctl"]);
    }
}

// E-12: whoever asks at the same time gets a folder of their own, and none is lost.
#[test]
fn twenty_processes_ask_at_once_and_get_twenty_threads() {
    let place = Place::empty();
    let found: Vec<(String, PathBuf)> = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..20).map(|_| scope.spawn(|| request(&place))).collect();
        asking.into_iter().map(|asked| asked.join().expect("no panic")).collect()
    });
    let (ids, folders): (BTreeSet<_>, BTreeSet<_>) = found.into_iter().unzip();
    assert_eq!((ids.len(), folders.len()), (20, 20));
    assert!(folders.iter().all(|folder| folder.is_dir()));
    let known: BTreeSet<String> = threads(&place)[1..]
        .iter()
        .map(|thread| thread["thread_id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(known, ids);
}

// E-10, E-17: a session that is taken up again knows its folders; whoever starts an agent gives it one of its own.
#[test]
fn a_session_that_goes_on_lists_its_folders() {
    let place = Place::empty();
    let (folder, (id, extra)) = (current(&place), request(&place));
    let told = place.run(&["prompt", "context"]).expect(0, &[]).stdout.clone();
    let wanted = format!(
        "CURRENT_PLAN_DIR: {}\nADDITIONAL_PLAN_DIRS:\n- {id}: {}\n",
        folder.display(),
        extra.display()
    );
    assert_eq!(told, wanted);
    assert_eq!(current(&place), folder, "asked again, nothing new is given out");
    let of = |name: &str| {
        let mut command = agentctl(&place, &["plan", "dir"]);
        run(command.env("PLANWRIGHT_SESSION", name), b"").expect(0, &[]).stdout.clone()
    };
    assert_eq!(of("one"), of("one"));
    assert_ne!(of("one"), of("two"));
    assert_ne!(of("one").trim_end(), folder.to_string_lossy());
    assert_eq!(of("").trim_end(), folder.to_string_lossy(), "a variable that is set to nothing is not set");
    // A folder that was lost is made again; it holds nothing, and that is said.
    fs::remove_dir_all(&folder).expect("removed");
    assert_eq!(current(&place), folder);
    assert!(folder.is_dir());
    // The tool is in the prompt, word for word.
    place.run(&["prompt", "overseer"]).expect(0, &["`agentctl plan request-thread-dir`"]);
}

// E-14, E-15: what is committed is proposed under a name, is found by it, and goes the way of every plan. A second commit says
// nothing; a change is the next revision; what is written after a commit is not what was proposed.
#[test]
fn what_is_committed_is_reviewed_approved_and_run_by_its_name() {
    let place = Place::empty();
    let work = "cat >/dev/null; touch one";
    place.write("planwright.toml", format!("[agents.coder]\ncommand = [\"bash\", \"-c\", \"{work}\"]\n"));
    let folder = current(&place);
    write(&folder, "Make it", TASK);
    ask(&place, &["plan", "commit"]).expect(0, &["proposed  make-it  r1", "next: planwright review make-it"]);
    ask(&place, &["plan", "commit"]).expect(0, &["unchanged  make-it  r1"]);
    let first = digest(&place);
    write(&folder, "Make it", &TASK.replace("Make one.", "Make one well."));
    place
        .run(&["review", "make-it"])
        .expect(0, &[&first[..8], "proposed", "planwright approve make-it --rev"]);
    assert!(!place.run(&["show", "make-it"]).said().contains("well"), "the copy is what was committed");
    ask(&place, &["plan", "commit"]).expect(0, &["proposed  make-it  r2"]);
    place.run(&["show", "make-it/make-one"]).expect(0, &["well"]);
    assert_eq!(waiting(&place), ["make-it r2"]);
    place.run(&["approve", "make-it", "--rev", &first]).expect(4, &[]);
    let second = digest(&place);
    assert_ne!(first, second);
    place.run(&["approve", "make-it", "--rev", &second]).expect(0, &["approved"]);
    // What somebody approved is not revised over their head, and the same again changes nothing.
    ask(&place, &["plan", "commit"]).expect(0, &["unchanged  make-it  still approved"]);
    write(&folder, "Make it", &TASK.replace("Make one.", "Make one, and more."));
    ask(&place, &["plan", "commit"]).expect(1, &["it is already approved", "planwright revise make-it"]);
    place.run(&["run", "make-it"]).expect(0, &["1 of 1 step passed"]);
    assert!(place.has("one"));
    place.run(&["status", "make-it"]).expect(0, &["make-it"]);
    // It is over: what lies in the folder now is another plan.
    ask(&place, &["plan", "commit"]).expect(0, &["proposed  make-it-2  r1"]);
    assert_eq!(waiting(&place), ["make-it-2 r1"]);
    assert_eq!(place.bash("ls").stdout, "one\nplanwright.toml\n", "nothing of the plan is in the repository");
}

// E-14, E-15: rejected, cleared, removed: what each leaves behind.
#[test]
fn what_was_decided_about_is_not_taken_back() {
    let place = Place::empty();
    let (folder, (id, extra)) = (current(&place), request(&place));
    write(&folder, "Same title", TASK);
    write(&extra, "Same title", TASK);
    ask(&place, &["plan", "commit"]).expect(0, &["proposed  same-title  r1", "proposed  same-title-2  r1"]);
    place.run(&["reject", "same-title", "-m", "smaller steps"]).expect(0, &[]);
    ask(&place, &["plan", "commit"]).expect(0, &["unchanged  same-title  still rejected"]);
    write(&folder, "Same title", &TASK.replace("Make one.", "Make one half."));
    ask(&place, &["plan", "commit"]).expect(0, &["proposed  same-title  r2", "unchanged  same-title-2  r1"]);
    place
        .run(&["approve", "same-title-2", "--rev", threads(&place)[1]["digest"].as_str().unwrap()])
        .expect(0, &[]);
    ask(&place, &["plan", "remove-thread", "--thread-id", &id]).expect(0, &["removed"]);
    ask(&place, &["plan", "clear-current"]).expect(0, &[]);
    ask(&place, &["plan", "commit"]).expect(0, &["withdrawn  same-title ", "kept  same-title-2  approved"]);
    ask(&place, &["plan", "commit"]).expect(0, &["empty"]);
    assert_eq!(waiting(&place), [] as [&str; 0]);
    place.run(&["list"]).expect(0, &["same-title-2"]);
    // The thread that was cleared can be planned in again, and has its history.
    write(&folder, "Same title", TASK);
    ask(&place, &["plan", "commit"]).expect(0, &["proposed  same-title  r3"]);
    // A person's edit of the copy is not written over.
    let list = place.run(&["list", "--find", "same-title", "--json"]);
    let list: Value = serde_json::from_str(&list.expect(0, &[]).stdout).expect("an envelope");
    let copy = PathBuf::from(list["data"]["plans"][0]["path"].as_str().expect("a path"));
    let edited = TASK.replace("Make one.", "Make one of wood.");
    fs::write(copy.join("tasks/01-make-one.md"), &edited).expect("written");
    write(&folder, "Same title", &TASK.replace("Make one.", "Make one of stone."));
    ask(&place, &["plan", "commit"]).expect(1, &["it was changed after it was proposed"]);
    assert_eq!(fs::read_to_string(copy.join("tasks/01-make-one.md")).expect("read"), edited);
}

// E-15: agents commit, and never approve.
#[test]
fn an_agent_can_commit_and_never_approve() {
    let place = Place::empty();
    write(&current(&place), "By an agent", TASK);
    let with = |command: &mut Command| run(command.env("AI_AGENT", "yes"), b"");
    with(&mut agentctl(&place, &["plan", "commit"])).expect(0, &["proposed  by-an-agent  r1"]);
    let digest = digest(&place);
    with(&mut place.planwright(&["approve", "by-an-agent", "--rev", &digest]))
        .expect(3, &["only a person may"]);
    place.run(&["review", "by-an-agent"]).expect(0, &["(an agent)"]);
    assert_eq!(waiting(&place), ["by-an-agent r1"]);
    // A person who commits is the planner; an agent does not revise what is theirs.
    let own = |words: &[&str]| run(place.planwright(words).env("PLANWRIGHT_SESSION", "mine"), b"");
    let folder: PathBuf = own(&["session", "dir"]).expect(0, &[]).stdout.trim_end().into();
    write(&folder, "By me", TASK);
    own(&["session", "commit"]).expect(0, &["proposed  by-me  r1"]);
    write(&folder, "By me", &TASK.replace("one", "two"));
    let mut theirs = agentctl(&place, &["plan", "commit"]);
    run(theirs.env("PLANWRIGHT_SESSION", "mine"), b"").expect(1, &["a person proposed it"]);
    own(&["session", "commit"]).expect(0, &["proposed  by-me  r2"]);
}

// E-01, E-13: folders that are no folders, links, files without end, names that are paths, and places in a repository.
#[test]
fn what_lies_in_a_folder_leads_nowhere_else() {
    let place = Place::empty();
    let folder = current(&place);
    let secret = place.path("../home/secret");
    fs::write(&secret, "---\ntitle: a secret\n---\n").expect("written");
    let commit = |said: &[&str]| {
        let ran = ask(&place, &["plan", "commit"]);
        ran.expect(1, said);
        assert!(!ran.said().contains("a secret"), "{ran:#?}");
        assert_eq!(waiting(&place), [] as [&str; 0]);
    };
    write(&folder, "Good", TASK);
    symlink(&secret, folder.join("tasks/02-link.md")).expect("a link");
    commit(&["tasks/02-link.md is a link"]);
    fs::remove_file(folder.join("tasks/02-link.md")).expect("removed");
    fs::remove_file(folder.join("plan.md")).expect("removed");
    symlink(&secret, folder.join("plan.md")).expect("a link");
    commit(&["plan.md is a link"]);
    ask(&place, &["plan", "clear-current"]).expect(0, &[]);
    assert!(secret.exists(), "the link went, and what it led to did not");
    write(&folder, "Good", &"x".repeat(2 << 20));
    commit(&["PW0101"]);
    let elsewhere = place.path("../home/elsewhere");
    write(&elsewhere, "Elsewhere", TASK);
    fs::remove_dir_all(&folder).expect("removed");
    symlink(&elsewhere, &folder).expect("a link");
    commit(&["is a link"]);
    for words in [&["plan", "dir"][..], &["plan", "clear-current"]] {
        ask(&place, words).expect(1, &["is not the directory of this session"]);
    }
    assert!(elsewhere.join("plan.md").exists());
    let (id, extra) = request(&place);
    fs::remove_dir_all(&extra).expect("removed");
    symlink(&elsewhere, &extra).expect("a link");
    ask(&place, &["plan", "remove-thread", "--thread-id", &id]).expect(0, &[]);
    assert!(elsewhere.join("plan.md").exists() && extra.symlink_metadata().is_err());
    for name in ["../up", "/etc", "a/b", ".hidden", "-x", "a b"] {
        let mut command = agentctl(&place, &["plan", "dir"]);
        run(command.env("PLANWRIGHT_SESSION", name), b"").expect(2, &["invalid session name"]);
    }
}

// E-01: folders are given out outside of every repository, or not at all.
#[test]
fn no_folder_is_given_out_in_a_repository() {
    let place = Place::empty();
    let inside = place.path("plans");
    let with = |setting: &str| {
        let mut command = agentctl(&place, &["plan", "dir"]);
        run(command.env("PLANWRIGHT_SESSION_PLANS", setting), b"")
    };
    with(&inside.to_string_lossy()).expect(2, &["it is inside repository", "session.plans"]);
    with("relative/plans").expect(2, &["neither HOME nor the setting"]);
    assert!(!place.has("plans"));
    let ran = with("~/elsewhere");
    assert!(ran.expect(0, &[]).stdout.contains("home/elsewhere/"), "{ran:#?}");
    // A session of one project is not found from another, whatever it is called.
    let other = place.path("../other");
    fs::create_dir_all(other.join(".git/refs")).expect("a folder");
    let mut command = agentctl(&place, &["plan", "dir"]);
    let theirs = run(command.current_dir(&other), b"").expect(0, &[]).stdout.clone();
    assert_ne!(theirs, current(&place).to_string_lossy());
    // The project's file may not say where: agents write it.
    place.write("planwright.toml", "[session]\nplans = \"/tmp\"\n");
    ask(&place, &["plan", "dir"]).expect(2, &["session.plans"]);
}

// E-10: a folder that nobody can remove is said, with its path, and holds nobody up.
#[test]
fn a_folder_that_stays_holds_nobody_up() {
    let place = Place::empty();
    let folder = current(&place);
    write(&folder, "Good", TASK);
    ask(&place, &["plan", "commit"]).expect(0, &[]);
    let stuck = place.path("../home/stuck");
    let mut command = agentctl(&place, &["plan", "request-thread-dir"]);
    let ran = run(command.env("PLANWRIGHT_SESSION_PLANS", &stuck), b"");
    let answer: Value = serde_json::from_str(&ran.expect(0, &[]).stdout).expect("JSON");
    let (id, extra) = (answer["thread_id"].as_str().expect("a text"), answer["plan_dir"].as_str());
    // Where a file lies in the place of the folder above, not even root removes anything.
    fs::remove_dir_all(&stuck).expect("removed");
    fs::write(&stuck, "").expect("written");
    let extra = extra.expect("a text");
    let ran = ask(&place, &["plan", "remove-thread", "--thread-id", id]);
    ran.expect(0, &[&format!("removed {id}\n"), "warning: cannot remove the plan directory", extra]);
    assert_eq!(current(&place), folder);
    assert_eq!(threads(&place).len(), 1);
    for words in [&["status", "--inbox"][..], &["review"], &["status"]] {
        place.run(words).expect(0, &["cannot remove the plan directory", extra]);
    }
    assert_eq!(waiting(&place), ["good r1"]);
    let said = place.run(&["doctor"]).said();
    assert!(said.contains(&format!("rm -r {extra}")), "{said}");
    fs::remove_file(&stuck).expect("removed");
    let ran = place.run(&["status", "--inbox"]);
    assert!(!ran.expect(0, &["good"]).said().contains("cannot remove"), "{ran:#?}");
    assert!(!place.run(&["doctor"]).said().contains("is still there after its session ended"));
}
