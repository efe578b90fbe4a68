//! `worktree`: trees for plans, from the making to the removing, with scripts, ports, and a machine that dies in between.

use std::net::TcpListener;

use serde_json::Value;

use crate::sample::runnable;
use crate::sweep::is_whole;
use crate::test_env::{Place, Ran};

const GIT: &str = "git -c user.name=ada -c user.email=ada@example.org";

/// A repository with two plans, committed.
fn repository() -> Place {
    let place = Place::empty();
    let plan = runnable(&[(
        "serve",
        "",
        "echo ${PLANWRIGHT_PORT:-none} >port",
        "test \"$(cat port)\" = \"${PLANWRIGHT_PORT:-none}\"",
    )]);
    place
        .write("plans/one.md", &plan)
        .write("plans/two.md", &plan)
        .write(
            ".harness/PLAN-auth.md",
            "# Plan: auth\n\n## Tasks\n\n### 1. Do it\n- What: it\n- Verification: `true`\n- Status: [ ]\n",
        )
        .write(".gitignore", ".env\nmade\n")
        .write(".env", "SECRET=1\n")
        .write(".worktreeinclude", ".env\n");
    commit(&place);
    place
}

fn commit(place: &Place) {
    let script = format!("rm -rf .git && git init -q -b main && git add -A && {GIT} commit -q -m base");
    place.bash(&script).expect(0, &[]);
}

fn data(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"))
}

/// Where a tree is.
#[track_caller]
fn path(place: &Place, name: &str) -> String {
    place.run(&["worktree", "path", name]).expect(0, &[]).stdout.trim().to_owned()
}

// D-18, D-23: a new tree resolves its plan without a flag, its work is on the branch of the plan, and the branch outlives it.
#[test]
fn a_plan_is_carried_out_in_its_tree_and_its_branch_outlives_that() {
    let place = repository();
    place.run(&["worktree", "add", "one"]).expect(0, &["created", "plan/one", "copied .env"]);
    place.run(&["worktree", "add", "one"]).expect(0, &["exists"]);
    let at = path(&place, "one");
    place
        .bash(&format!("test -e '{at}/.env' && test ! -e '{at}/.git/objects/info/alternates'"))
        .expect(0, &[]);
    let rev = data(&place.run(&["propose", "one", "--json"]));
    let rev = rev["data"]["plans"][0]["digest"].as_str().expect("a digest")[..8].to_owned();
    // Which plan, nobody says: the tree is its.
    place.bash(&format!("cd '{at}' && planwright run --rev {rev}")).expect(0, &["done"]);
    place.bash(&format!("cd '{at}' && planwright log")).expect(0, &["passed"]);
    assert!(!place.has("port"), "the work is in the tree");
    // What the run did is on the branch of the plan, in the repository of the user.
    place.bash("git show plan/one:port").expect(0, &[]);
    place.run(&["worktree", "list"]).expect(0, &["one", "plans/one.md", "plan/one", "active"]);
    let removed = place.run(&["worktree", "remove", "one"]);
    removed.expect(0, &["removed", "its work is on plan/one", "saved"]);
    place.bash(&format!("test ! -e '{at}' && git show plan/one:port")).expect(0, &[]);
    // Made again, it goes on with what is there.
    place.run(&["worktree", "add", "one"]).expect(0, &["created"]);
    place.bash(&format!("test -e '{}/port'", path(&place, "one"))).expect(0, &[]);
    // Once the branch has landed the tree is merged, and goes.
    place.bash(&format!("{GIT} merge -q --no-edit plan/one")).expect(0, &[]);
    place.run(&["worktree", "list"]).expect(0, &["merged", "next: planwright worktree prune --dry-run"]);
    place
        .run(&["worktree", "prune", "--dry-run"])
        .expect(0, &["would remove  one", "1 worktree can be removed"]);
    place.run(&["worktree", "prune"]).expect(0, &["reclaimed  one", "1 worktree reclaimed"]);
    place.run(&["worktree", "list"]).expect(0, &["no worktrees"]);
}

// D-18: a named plan is bound by the marker.
#[test]
fn a_named_plan_is_bound_by_the_marker() {
    let place = repository();
    place.run(&["worktree", "add", "auth"]).expect(0, &["created", "plan/auth"]);
    let at = path(&place, "auth");
    place
        .bash(&format!("cat '{at}/.harness/active-plan'; cd '{at}' && git status --porcelain"))
        .expect(0, &["auth"]);
    place.bash(&format!("cd '{at}' && planwright resolve-active-plan")).expect(0, &["PLAN-auth.md\t"]);
    place.bash(&format!("grep -q 'planwright worktree path auth' '{at}/.planwright/tree.md'")).expect(0, &[]);
    let seen = data(&place.run(&["worktree", "path", "auth", "--json"]));
    assert_eq!(seen["data"]["trees"][0]["state"], "active");
    place.bash(&format!("echo nowhere > '{at}/.harness/active-plan'")).expect(0, &[]);
    let seen = data(&place.run(&["worktree", "list", "--json"]));
    assert_eq!(seen["data"]["trees"][0]["state"], "dangling");
    place
        .run(&["worktree", "prune"])
        .expect(0, &["kept  auth   dangling: its marker names unknown plan `nowhere`"]);
}

// P-12: two dev servers at once: set-up, agents and contracts of a tree are told its ports, and no two trees share one.
#[test]
fn two_dev_servers_run_at_once() {
    let place = repository();
    place.write(
        "planwright.toml",
        "[worktree]\nports = 2\nsetup = [\"sh\", \"-c\", \"echo $PLANWRIGHT_PORT_2 >made\"]\n",
    );
    commit(&place);
    let mut servers = Vec::new();
    for name in ["one", "two"] {
        // Only the project says the set-up: it is run once a person has allowed exactly this one.
        let asked = place.run(&["worktree", "add", name, "--json"]);
        if name == "one" {
            let next = data(&asked.expect(3, &["is not allowed yet"]).clone());
            let next = next["next"][0].as_str().expect("a command").to_owned();
            assert!(next.contains("--allow"), "{next}");
            place.bash(&format!("CLAUDECODE=1 {next}")).expect(3, &["only a person may"]);
            place.run(&["worktree", "add", name, "--allow", "00000000"]).expect(4, &["the setup command is"]);
            place.bash(&next).expect(0, &["set up"]);
        } else {
            asked.expect(0, &[]);
        }
        let at = path(&place, name);
        let rev = data(&place.run(&["propose", name, "--json"]));
        let rev = rev["data"]["plans"][0]["digest"].as_str().expect("a digest")[..8].to_owned();
        place.bash(&format!("cd '{at}' && planwright run {name} --rev {rev}")).expect(0, &["done"]);
        let ports = place.bash(&format!("cat '{at}/port' '{at}/made'")).stdout;
        let ports: Vec<u16> = ports.lines().map(|port| port.parse().expect("a port")).collect();
        assert_eq!(ports.len(), 2, "{ports:?}");
        for port in ports {
            servers.push(TcpListener::bind(("127.0.0.1", port)).expect("nobody else has it"));
        }
    }
    assert_eq!(servers.len(), 4);
}

// P-12: a set-up that fails leaves the tree, says why, and is tried again; a tear-down that fails keeps it.
#[test]
fn scripts_that_fail_leave_the_tree_and_say_how_to_go_on() {
    let place = repository();
    let user = |text: &str| {
        place.bash("mkdir -p \"$HOME/.config/planwright\"").expect(0, &[]);
        place
            .bash(&format!("printf '%s' '{text}' > \"$HOME/.config/planwright/config.toml\""))
            .expect(0, &[]);
    };
    user("[worktree]\nsetup = [\"sh\", \"-c\", \"echo went wrong >&2; exit 7\"]\n");
    let failed = place.run(&["worktree", "add", "one"]);
    failed.expect(
        1,
        &["setup command failed: it exited with 7", "went wrong", "next: planwright worktree add"],
    );
    place.run(&["worktree", "add", "one"]).expect(1, &["went wrong"]);
    place.run(&["worktree", "add", "two", "--no-setup"]).expect(0, &["created"]);
    user("[worktree]\nsetup = [\"true\"]\nteardown = [\"sh\", \"-c\", \"echo still up; exit 3\"]\n");
    place.run(&["worktree", "add", "one"]).expect(0, &["set up"]);
    place.run(&["worktree", "remove", "one"]).expect(1, &["its teardown failed", "still up"]);
    path(&place, "one");
    user("[worktree]\nteardown = [\"sh\", \"-c\", \"echo gone > $PLANWRIGHT_WORKSPACE/torn\"]\n");
    place.run(&["worktree", "remove", "one"]).expect(0, &["removed"]);
    assert!(place.has("torn"));
    // The file of the project may not say where trees are.
    place.write("planwright.toml", "[worktree]\nfolder = \"/tmp\"\n");
    place.run(&["worktree", "list"]).expect(2, &["worktree.folder"]);
}

// D-24: what somebody did in a tree is named, and never deleted: files, and commits that only the tree has.
#[test]
fn a_tree_with_work_is_not_removed() {
    let place = repository();
    place.run(&["worktree", "add", "one"]).expect(0, &[]);
    let at = path(&place, "one");
    place.bash(&format!("echo x > '{at}/notes.txt'")).expect(0, &[]);
    place.run(&["worktree", "remove", "one"]).expect(1, &["kept worktree `one`", "notes.txt", "next: cd "]);
    // The list in the tree's own git folder is the agent's: what it hides is work all the same.
    place
        .bash(&format!("cp '{at}/.git/info/exclude' list; echo '*' >> '{at}/.git/info/exclude'"))
        .expect(0, &[]);
    place.run(&["worktree", "remove", "one"]).expect(1, &["kept worktree `one`", "notes.txt"]);
    place.bash(&format!("mv list '{at}/.git/info/exclude'")).expect(0, &[]);
    place.bash(&format!("cd '{at}' && git add -A && {GIT} commit -q -m 'by hand'")).expect(0, &[]);
    place.run(&["worktree", "remove", "one"]).expect(1, &["not in your repository", "by hand"]);
    place.bash("rm plans/one.md").expect(0, &[]);
    place
        .run(&["worktree", "prune"])
        .expect(0, &["0 worktrees reclaimed", "kept  one   orphaned", "by hand"]);
    place.bash(&format!("cat '{at}/notes.txt'")).expect(0, &["x"]);
    place.bash("CLAUDECODE=1 planwright worktree prune").expect(3, &["only a person may"]);
}

#[test]
fn what_can_t_be_done_is_said() {
    let place = repository();
    place.run(&["worktree", "path", "nothing"]).expect(2, &["worktree `nothing` not found"]);
    place.run(&["worktree", "add", "one", "--name", "../x"]).expect(2, &["invalid worktree name"]);
    place.run(&["worktree", "add", "one", "--base", "nowhere"]).expect(2, &["commit `nowhere` not found"]);
    place.run(&["worktree", "add", "one", "--name", "mine"]).expect(0, &["plan/mine"]);
    place.run(&["worktree", "add", "two", "--name", "mine"]).expect(1, &["belongs to another plan"]);
    place.run(&["worktree", "add", "one", "--name", "other"]).expect(1, &["already has a worktree: `mine`"]);
    place.run(&["worktree", "path", "min"]).expect(2, &["did you mean `mine`?"]);
    Place::empty()
        .write("plans/one.md", runnable(&[("a", "", "true", "true")]))
        .run(&["worktree", "add", "one"])
        .expect(2, &["commit `HEAD` not found"]);
}

/// Puts a git in the place of git that kills whoever asks it for the Nth time.
fn deadly(place: &Place) {
    let script = "#!/bin/bash\n\
        count=$(( $(cat \"$HOME/../count\" 2>/dev/null || echo 0) + 1 ))\n\
        echo $count > \"$HOME/../count\"\n";
    // The environment of git is empty but for the PATH, which leads here.
    let script = script.replace("$HOME", "${PATH%%:*}");
    let script = format!(
        "{script}[ $count = \"$(cat \"${{PATH%%:*}}/../at\" 2>/dev/null)\" ] && kill -9 $PPID\nfor git in /usr/bin/git /bin/git /usr/local/bin/git; do [ -x $git ] && exec $git \"$@\"; done\n"
    );
    place.replace_tool("git", &script);
}

// D-24, M-04: kill -9 at every question to git while a tree is made or removed: the next command finishes it, nothing is lost.
#[test]
fn whoever_dies_over_a_tree_leaves_what_the_next_one_finishes() {
    let place = repository();
    deadly(&place);
    let at =
        |number: usize| place.bash(&format!("echo {number} > ../at; rm -f ../count")).expect(0, &[]).code;
    let (stride, least) = if is_whole() { (1, 10) } else { (4, 3) };
    let (mut killed, mut number) = (0, 0);
    loop {
        number += stride;
        at(number);
        let first = place.bash("planwright worktree add one; echo ended $?").said();
        let is_killed = first.contains("ended 137");
        at(0);
        place.run(&["worktree", "add", "one"]).expect(0, &["plan/one"]);
        let tree = path(&place, "one");
        let is_whole = "test -e src -o -e plans/one.md && test -e .planwright/tree.md && test -e .env && git fsck --no-progress";
        place.bash(&format!("cd '{tree}' && {is_whole}")).expect(0, &[]);
        // With work in it, it outlives every death over its removal; without, it is gone in the end.
        place.bash(&format!("echo mine > '{tree}/work'")).expect(0, &[]);
        at(number);
        place.bash("planwright worktree remove one; echo ended $?");
        at(0);
        place.run(&["worktree", "prune"]).expect(0, &[]);
        place.bash(&format!("cat '{tree}/work' && rm '{tree}/work'")).expect(0, &["mine"]);
        at(number);
        let last = place.bash("planwright worktree remove one; echo ended $?").said();
        at(0);
        place.run(&["worktree", "prune"]).expect(0, &[]);
        let left = place.run(&["worktree", "remove", "one"]);
        assert!([0, 2].contains(&left.code), "{left:#?}");
        place.run(&["worktree", "list"]).expect(0, &["no worktrees"]);
        killed += usize::from(is_killed) + usize::from(last.contains("ended 137"));
        if !is_killed && !last.contains("ended 137") {
            break;
        }
    }
    assert!(killed > least, "only {killed} died");
}

/// A second repository beside the project, and a plan that works in both.
fn beside() -> Place {
    let place = repository();
    let script = "echo a >a.txt; echo x >../api/x.txt; touch \"$HOME/began\"; until [ -e \"$HOME/go\" ]; do sleep 0.01; done";
    place
        .write("planwright.toml", "[repositories]\napi = \"../api\"\n")
        .write("plans/multi.md", runnable(&[("make", "", script, "test -s a.txt && test -s ../api/x.txt")]));
    commit(&place);
    let make = format!(
        "git init -q -b main ../api && cd ../api && echo api >api.txt && mkdir plans && {GIT} add -A && {GIT} commit -qm begin"
    );
    place.bash(&make).expect(0, &[]);
    place
}

// P-35, D-24: the tree beside that of a plan is its, whatever the other repository knows of it, and goes with it alone.
#[test]
fn a_tree_beside_another_goes_with_that_alone() {
    let place = beside();
    let rev = data(&place.run(&["propose", "multi", "--json"]));
    let rev = rev["data"]["plans"][0]["digest"].as_str().expect("a digest")[..8].to_owned();
    let prune = "cd ../api && planwright worktree prune";
    place
        .bash(&format!(
            "planwright run multi --worktree --rev {rev} </dev/null >../said 2>&1 & \
             until [ -e \"$HOME/began\" ]; do sleep 0.01; done; ({prune}) >../pruned; \
             (cd ../api && planwright doctor --fix) >../mended; touch \"$HOME/go\"; wait"
        ))
        .expect(0, &[]);
    assert!(place.read("../said").contains("passed"), "{}", place.read("../said"));
    assert!(place.read("../pruned").contains("0 worktrees reclaimed"), "{}", place.read("../pruned"));
    let at = path(&place, "multi");
    place.bash(&format!("test -s '{at}/../api/x.txt'")).expect(0, &[]);
    place.bash("cd ../api && planwright worktree remove multi").expect(1, &["it belongs to a plan of"]);
    place.run(&["merge"]).expect(0, &["merged  multi"]);
    place.bash(prune).expect(0, &["0 worktrees reclaimed"]);
    // What somebody left beside it keeps both.
    place.bash(&format!("echo mine >'{at}/../api/mine.txt'")).expect(0, &[]);
    place.run(&["worktree", "prune"]).expect(0, &["../api/mine.txt", "0 worktrees reclaimed"]);
    place.bash(&format!("rm '{at}/../api/mine.txt'")).expect(0, &[]);
    place.run(&["worktree", "prune"]).expect(0, &["1 worktree reclaimed"]);
    place.bash(&format!("test ! -e '{at}/..'")).expect(0, &[]);
}

// D-24: what has landed where one stands is merged, also in a worktree of git.
#[test]
fn a_plan_that_landed_in_a_linked_worktree_is_merged_there() {
    let place = repository();
    place.bash("git config user.name ada && git config user.email ada@example.org").expect(0, &[]);
    place.bash("git worktree add -q ../linked -b feature").expect(0, &[]);
    let rev = data(&place.run(&["propose", "one", "--json"]));
    let rev = rev["data"]["plans"][0]["digest"].as_str().expect("a digest")[..8].to_owned();
    place
        .bash(&format!("cd ../linked && planwright run one --worktree --rev {rev} </dev/null"))
        .expect(0, &["passed"]);
    place.bash("cd ../linked && planwright merge").expect(0, &["merged  one"]);
    place.bash("cd ../linked && planwright worktree list").expect(0, &["merged"]);
}
