//! `merge`: finished plans land together or are evicted with evidence; with real branches, contracts, edits and deaths.

use serde_json::Value;

use crate::sample::{Sketch, runnable};
use crate::sweep::is_whole;
use crate::test_env::{Place, Ran};

const GIT: &str = "git -c user.name=ada -c user.email=ada@example.org";

/// A repository with a commit.
fn repository() -> Place {
    let place = Place::empty();
    place.write("README.md", "# It\n").write("shared.txt", "one\ntwo\nthree\n");
    place.bash("rm -rf .git && git init -q --initial-branch=main .").expect(0, &[]);
    place.bash("git config user.name ada && git config user.email ada@example.org").expect(0, &[]);
    commit(&place, "begin");
    place
}

#[track_caller]
fn commit(place: &Place, message: &str) {
    place.bash(&format!("{GIT} add -A && {GIT} commit -qm '{message}'")).expect(0, &[]);
}

/// Plans of these steps, in the branch that everybody goes into.
fn write(place: &Place, plans: &[(&str, &[Sketch<'_>])]) {
    for (name, steps) in plans {
        place.write(&format!("plans/{name}.md"), runnable(steps));
    }
    commit(place, "plans");
}

/// Carries a plan out in a branch of its own.
#[track_caller]
fn carry_out(place: &Place, name: &str) {
    place.bash(&format!("git checkout -q -b plan/{name} main")).expect(0, &[]);
    run(place, name).expect(0, &["passed"]);
    commit(place, name);
    place.bash("git checkout -q main").expect(0, &[]);
}

#[track_caller]
fn run(place: &Place, name: &str) -> Ran {
    let digest = data(&place.run(&["run", name, "--dry-run", "--json"]))["digest"].clone();
    place.run(&["run", name, "--rev", digest.as_str().expect("a digest")])
}

/// A repository in which these plans are done, each in its own branch.
fn finished(plans: &[(&str, &[Sketch<'_>])]) -> Place {
    let place = repository();
    write(&place, plans);
    for (name, _) in plans {
        carry_out(&place, name);
    }
    place
}

#[track_caller]
fn data(ran: &Ran) -> Value {
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    envelope["data"].clone()
}

/// The commit that something means.
#[track_caller]
fn at(place: &Place, name: &str) -> String {
    place.bash(&format!("git rev-parse --verify {name}^{{commit}}")).expect(0, &[]).stdout.trim().to_owned()
}

/// The files of a branch.
#[track_caller]
fn files(place: &Place, branch: &str) -> String {
    place.bash(&format!("git ls-tree -r --name-only {branch}")).expect(0, &[]).stdout.clone()
}

#[track_caller]
fn is_clean(place: &Place) {
    assert_eq!(place.bash("git status --porcelain").stdout, "", "the workspace followed its branch");
}

const A: (&str, &[Sketch<'static>]) =
    ("a", &[("make", "", "echo a >a.txt", "test -s a.txt && ! test -e c.txt")]);
const B: (&str, &[Sketch<'static>]) = ("b", &[("make", "", "echo b >b.txt", "test -s b.txt")]);
const C: (&str, &[Sketch<'static>]) = ("c", &[("make", "", "echo c >c.txt", "test -s c.txt")]);

// P-13, D-08, D-23: three plans of which two break together: the later one goes, and the evidence names both and the contract.
#[test]
fn of_two_plans_that_break_together_the_later_one_is_evicted() {
    let place = finished(&[A, B, C]);
    let before = at(&place, "plan/c");
    let ran = place.run(&["merge", "--json"]);
    ran.expect(3, &[]);
    let data = data(&ran);
    assert_eq!(data["landed"], serde_json::json!(["a", "b"]), "{data:#}");
    let evicted = &data["evicted"][0];
    assert_eq!(
        (&evicted["plan"], &evicted["reason"], &evicted["with"]),
        (&"c".into(), &"contract".into(), &serde_json::json!(["a"]))
    );
    let evidence = &evicted["evidence"];
    assert_eq!(
        (&evidence["plan"], &evidence["step"], &evidence["failure"]),
        (&"a".into(), &"make".into(), &"exit 1".into()),
        "{data:#}"
    );
    assert_eq!(evidence["contract"], "test -s a.txt && ! test -e c.txt");
    is_clean(&place);
    let there = files(&place, "main");
    assert!(there.contains("a.txt") && there.contains("b.txt") && !there.contains("c.txt"), "{there}");
    assert!(place.has("a.txt") && place.has("b.txt") && !place.has("c.txt"));
    assert!(place.read("plans/a.md").contains("status: done"), "the record of the run landed with its work");
    assert_eq!(at(&place, "plan/c"), before, "no branch is lost");
    // What is there is there, and who is evicted is asked about again.
    place
        .run(&["merge"])
        .expect(3, &["evicted  c   breaks a contract of a, already in main", "already in main: a, b"]);
    place.run(&["log", "a", "--versions"]).expect(0, &["merged", "into main"]);
    place.run(&["log", "c", "--versions"]).expect(0, &["evicted", "from main"]);
    // It waits for somebody until it has landed, by whatever hand.
    place
        .run(&["status", "--inbox"])
        .expect(0, &["c   was evicted: it breaks a", "git merge plan/c", "planwright merge c"]);
    place.run(&["status"]).expect(0, &["Needs you", "git merge plan/c"]);
    place.run(&["status", "--next"]).expect(3, &["git merge plan/c"]);
    place.run(&["audit"]).expect(0, &["chain intact"]);
    let exported = place.run(&["export", "c", "--receipts"]);
    exported.expect(0, &[]);
}

// P-13: whoever changed the same lines is evicted with the lines, and the others land.
#[test]
fn a_conflict_is_asked_about_and_the_others_land() {
    let edit = |word: &str| format!("sed -i 's/two/{word}/' shared.txt");
    let (first, second) = (edit("deux"), edit("zwei"));
    let place = finished(&[
        ("a", &[("edit", "", &first, "grep -q deux shared.txt")]),
        ("b", &[("edit", "", &second, "grep -q zwei shared.txt")]),
        C,
    ]);
    let rehearsed = place.run(&["merge", "--dry-run"]);
    rehearsed.expect(
        3,
        &["1  c", "2  a", "3  b", "evicted  b   a changed the same lines", "shared.txt", "no contracts ran"],
    );
    assert!(!files(&place, "main").contains("c.txt"), "a rehearsal moves nothing");
    place.run(&["merge"]).expect(
        3,
        &[
            "merged  a",
            "merged  c",
            "evicted  b   a changed the same lines",
            "shared.txt",
            "git merge plan/b",
        ],
    );
    assert_eq!(place.read("shared.txt"), "one\ndeux\nthree\n");
    is_clean(&place);
    place.run(&["merge"]).expect(3, &["evicted  b   conflicts with the target branch"]);
}

// P-13, design 9: what somebody wrote in the workspace is never written over.
#[test]
fn a_file_that_somebody_edited_keeps_everything_where_it_is() {
    let place =
        finished(&[("a", &[("edit", "", "sed -i 's/two/deux/' shared.txt", "grep -q deux shared.txt")]), B]);
    let before = at(&place, "main");
    place.write("shared.txt", "mine\n").write("own.txt", "mine too\n");
    place.run(&["merge"]).expect(
        3,
        &[
            "shared.txt",
            "local changes would be overwritten by the merge",
            "nothing was merged",
            "next: git status",
        ],
    );
    assert_eq!(
        (at(&place, "main"), place.read("shared.txt").as_str(), place.has("b.txt")),
        (before, "mine\n", false)
    );
    assert_eq!(place.bash("git status --porcelain").stdout, " M shared.txt\n?? own.txt\n");
    place.bash("git checkout -q shared.txt").expect(0, &[]);
    place.run(&["merge"]).expect(0, &["merged  a", "merged  b"]);
    assert_eq!(
        (place.read("shared.txt").as_str(), place.read("own.txt").as_str()),
        ("one\ndeux\nthree\n", "mine too\n")
    );
    assert_eq!(place.bash("git status --porcelain").stdout, "?? own.txt\n");
}

// P-13: a plan file that the harness or a person has marked meanwhile is joined by what it says.
#[test]
fn a_plan_that_was_marked_in_the_workspace_is_joined() {
    let place = finished(&[A]);
    let text = place.read("plans/a.md");
    place.write(
        "plans/a.md",
        text.replace("status: draft", "status: approved").replace("Because.", "Because of it."),
    );
    place.run(&["merge"]).expect(0, &["merged  a"]);
    let text = place.read("plans/a.md");
    assert!(
        text.contains("status: done") && text.contains("✅ Do make") && text.contains("Because of it."),
        "{text}"
    );
}

// P-13: somebody moves the branch while contracts run: everything is tried again on what is there now.
#[test]
fn a_branch_that_moves_meanwhile_is_merged_into_anew() {
    let place = repository();
    let project = place.project().display().to_string();
    // The contract of the only plan does it, once, when it is told to.
    let contract = format!(
        "test -s a.txt\nif [ -e '{project}/../go' ]; then rm '{project}/../go'; cd '{project}'; echo x >other.txt; git add other.txt; git commit -qm other; fi"
    );
    write(&place, &[("a", &[("make", "", "echo a >a.txt", &contract)])]);
    carry_out(&place, "a");
    place.bash("touch ../go").expect(0, &[]);
    place.run(&["merge"]).expect(0, &["main moved in the meantime", "merged  a"]);
    assert!(!place.bash("test -e ../go").code.eq(&0), "the contract did its part");
    assert_eq!(
        place.bash("git log --format=%s main | head -3").stdout.lines().next(),
        Some("Merge plan/a into main")
    );
    assert!(files(&place, "main").contains("other.txt") && files(&place, "main").contains("a.txt"));
    is_clean(&place);
}

// P-13: a branch that is not checked out moves, and no file does; branches of the user elsewhere are not touched.
#[test]
fn another_branch_can_be_merged_into() {
    let place = finished(&[B]);
    place.bash("git branch release && git checkout -q -b topic").expect(0, &[]);
    let before = at(&place, "main");
    place.run(&["merge", "--into", "release"]).expect(0, &["merged  b"]);
    assert!(files(&place, "release").contains("b.txt") && !place.has("b.txt"));
    assert_eq!((at(&place, "main"), at(&place, "topic")), (before.clone(), before));
    is_clean(&place);
    place.run(&["merge", "--into", "no-such"]).expect(2, &["branch `no-such` not found"]);
    place.run(&["merge", "--into", "main~0"]).expect(2, &["branch `main~0` not found"]);
    place.bash("git worktree add -q ../other main").expect(0, &[]);
    place.run(&["merge", "--into", "main"]).expect(1, &["`main` is checked out in"]);
    place.bash("git checkout -q --detach").expect(0, &[]);
    place.run(&["merge"]).expect(2, &["HEAD is detached", "--into"]);
}

// P-13, A-34: what is not done by the journal is not merged, whatever its file and its branch say; and no agent merges.
#[test]
fn only_what_is_done_is_merged_and_only_by_people() {
    let place = repository();
    write(&place, &[A, ("open", B.1)]);
    carry_out(&place, "a");
    let claimed = place
        .read("plans/open.md")
        .replace("status: draft", "status: done")
        .replace("### 1. Do", "### 1. ✅ Do");
    place.bash("git checkout -q -b plan/open main").expect(0, &[]);
    place.write("plans/open.md", claimed).write("b.txt", "b\n");
    commit(&place, "claimed");
    place.bash("git checkout -q main").expect(0, &[]);
    place
        .run(&["merge", "open"])
        .expect(1, &["open is draft; only finished plans can be merged", "next: planwright status"]);
    let ran = place.bash("CLAUDECODE=1 planwright merge");
    ran.expect(3, &["only a person may merge plans"]);
    place.run(&["merge"]).expect(0, &["merged  a", "1 of 1 plan merged"]);
    assert!(!files(&place, "main").contains("b.txt"), "a claim lands nowhere");
    place.run(&["merge"]).expect(0, &["nothing to merge into main", "already in main: a"]);
    place.run(&["merge", "nobody"]).expect(2, &["plan `nobody` not found"]);
    place.bash("touch .git/MERGE_HEAD").expect(0, &[]);
    place.run(&["merge"]).expect(1, &["a merge is in progress"]);
}

// P-19: a plan that weakens a test which another plan's contract or seal names is caught on what is merged.
#[test]
fn a_plan_that_weakens_the_test_of_another_is_caught() {
    let place = repository();
    place.write("tests/check.sh", "test \"$(cat a.txt)\" = a\n").write("tests/more.sh", "grep -q a a.txt\n");
    write(
        &place,
        &[
            ("a", &[("make", "**sealed:**\n- tests/**", "echo a >a.txt", "bash tests/check.sh")]),
            // Smaller than the others, so it would land first; it passes by itself.
            ("tamper", &[("edit", "", "echo true >tests/check.sh", "grep -q true tests/check.sh")]),
            (
                "drop",
                &[("edit", "", "rm tests/more.sh; echo d >d.txt; echo d >>d.txt", "! test -e tests/more.sh")],
            ),
            (
                "add",
                &[("edit", "", "echo exit >tests/conftest.sh; echo e >e.txt", "test -e tests/conftest.sh")],
            ),
            ("free", &[("make", "", "echo b >b.txt", "test -s b.txt")]),
        ],
    );
    place.bash("git branch one && git branch two").expect(0, &[]);
    for name in ["a", "tamper", "drop", "add", "free"] {
        carry_out(&place, name);
    }
    let data = data(&place.run(&["merge", "a", "tamper", "--json"]));
    assert_eq!(data["landed"].as_array().map(Vec::len), Some(1), "{data:#}");
    let evicted = &data["evicted"][0];
    assert_eq!(evicted["evidence"]["failure"], "a sealed file differs from what was approved", "{data:#}");
    assert!(
        evicted["evidence"]["output"]
            .as_str()
            .is_some_and(|said| said.contains("tests/check.sh was changed")),
        "{data:#}"
    );
    // Each beside `a` in a branch where nothing landed yet: a seal counts as long as its plan is in the batch.
    for (name, branch, word) in
        [("drop", "one", "sealed file tests/more.sh is missing"), ("add", "two", "tests/conftest.sh is new")]
    {
        let ran = place.run(&["merge", "a", name, "--into", branch]);
        ran.expect(3, &["a sealed file differs from what was approved", word]);
    }
    place.run(&["merge", "free"]).expect(0, &["merged  free"]);
}

/// Finds the `git` of this machine, in a script that stands in its place.
const REAL: &str =
    "for real in /usr/bin/git /bin/git /usr/local/bin/git; do [ -x \"$real\" ] && break; done\n";

/// A `git` that kills whoever asks it the so-manieth question, before or after it answers.
fn deadly(place: &Place, question: usize, moment: &str) {
    let folder = place.path("..").display().to_string();
    let kill = |when: &str| {
        if when == moment {
            format!("[ \"$n\" = {question} ] && kill -9 $PPID && exit 1\n")
        } else {
            String::new()
        }
    };
    let script = format!(
        "#!/bin/sh\nn=0; read n <'{folder}/count'; n=$((n+1)); echo $n >'{folder}/count'\n{}{REAL}\"$real\" \"$@\"\ncode=$?\n{}exit $code\n",
        kill("before"),
        kill("after")
    );
    place.bash("rm -f ../count; echo 0 >../count").expect(0, &[]);
    place.replace_tool("git", &script);
}

fn peaceful(place: &Place) {
    place.replace_tool("git", &format!("#!/bin/sh\n{REAL}exec \"$real\" \"$@\"\n"));
}

// P-13, P-15: killed at any of many points, a merge leaves the old state or one that the next merge finishes.
#[test]
fn a_merge_that_is_killed_anywhere_is_finished_by_the_next() {
    let place = finished(&[
        ("a", &[("make", "", "echo a >a.txt; sed -i 's/two/deux/' shared.txt", "test -s a.txt")]),
        B,
    ]);
    place.write("README.md", "# Mine\n");
    let begin = at(&place, "main");
    let tips = (at(&place, "plan/a"), at(&place, "plan/b"));
    deadly(&place, 0, "before");
    place.run(&["merge"]).expect(0, &["merged  a", "merged  b"]);
    let questions: usize = place.bash("cat ../count").stdout.trim().parse().expect("a count");
    assert!(questions > 20, "{questions}");
    let reset = |place: &Place| {
        peaceful(place);
        let script = format!("git stash -q && git reset -q --hard {begin} && git stash pop -q");
        place.bash(&script).expect(0, &[]);
    };
    let last = questions - 18;
    let (early, late) = if is_whole() { (9, 1) } else { (27, 3) };
    let points = (1..last).step_by(early).map(|point| (point, "before"));
    let late = (last..=questions).step_by(late).flat_map(|point| [(point, "before"), (point, "after")]);
    let (mut before, mut after, mut told) = (0, 0, 0);
    for (point, moment) in points.chain(late) {
        reset(&place);
        deadly(&place, point, moment);
        let killed = place.run(&["merge"]);
        assert_ne!(killed.code, 3, "{point} {moment}: {killed:#?}");
        peaceful(&place);
        let now = at(&place, "main");
        if now == begin {
            before += 1;
        } else {
            after += 1;
        }
        assert_eq!(place.read("README.md"), "# Mine\n", "{point} {moment}");
        // P-31: what is left to finish is said, with the command that does.
        let is_told = |place: &Place| {
            place.run(&["doctor"]).said().contains("an interrupted merge left these plans unfinished: b, a")
        };
        told += usize::from(is_told(&place));
        place.run(&["merge"]).expect(0, &[]);
        assert!(!is_told(&place), "{point} {moment}");
        let there = files(&place, "main");
        assert!(there.contains("a.txt") && there.contains("b.txt"), "{point} {moment}: {there}");
        assert_eq!(place.bash("git status --porcelain").stdout, " M README.md\n", "{point} {moment}");
        assert_eq!(
            (place.read("shared.txt").as_str(), place.read("README.md").as_str()),
            ("one\ndeux\nthree\n", "# Mine\n")
        );
        assert_eq!((at(&place, "plan/a"), at(&place, "plan/b")), tips, "{point} {moment}");
        assert!(place.run(&["log", "b", "--versions"]).said().contains("into main"), "{point} {moment}");
        assert_eq!(place.bash("git fsck --no-dangling 2>&1").code, 0, "{point} {moment}");
    }
    assert!(before > 3 && after > 1, "both sides of the move were hit: {before}, {after}");
    assert!(told > 3, "only {told} of them left something to finish");
}

// What can't be laid out is given back: no plan is in the way of all others for good.
#[test]
fn a_merge_that_can_not_be_done_is_forgotten() {
    let place =
        finished(&[("a", &[("make", "", "printf y >$'bad\\xff'; echo a >a.txt", "test -s a.txt")]), B]);
    let begin = at(&place, "main");
    let broken = format!(
        "#!/bin/sh\ncase \"$*\" in *checkout-index*planwright-stage*) echo no >&2; exit 1;; esac\n{REAL}exec \"$real\" \"$@\"\n"
    );
    place.replace_tool("git", &broken);
    place.run(&["merge", "a"]).expect(5, &["git cannot check out files"]);
    assert_eq!(at(&place, "main"), begin);
    is_clean(&place);
    assert!(!place.run(&["doctor"]).said().contains("an interrupted merge"), "nothing is left to finish");
    peaceful(&place);
    place.run(&["merge", "b"]).expect(0, &["merged  b"]);
    place.run(&["merge", "a"]).expect(0, &["merged  a"]);
    is_clean(&place);
    assert_eq!(place.bash("cat $'bad\\xff'").stdout, "y");
}

// The twin: a merge that does not run the contracts (whatever it starts says yes) lands what breaks, and that is seen.
#[test]
fn a_merge_that_skips_the_contracts_is_caught() {
    let place = finished(&[A, C]);
    let judged = |place: &Place| place.bash("test -s a.txt && ! test -e c.txt").code == 0;
    assert!(judged(&{
        let honest = finished(&[A, C]);
        honest.run(&["merge"]).expect(3, &["evicted  c"]);
        honest
    }));
    place.replace_tool("bash", "#!/bin/sh\nexit 0\n");
    place.run(&["merge"]).expect(0, &["merged  a", "merged  c"]);
    place.replace_tool("bash", &format!("#!/bin/sh\n{}exec \"$real\" \"$@\"\n", REAL.replace("git", "bash")));
    assert!(!judged(&place), "what landed without its contracts does not pass them");
}

/// A project beside a repository `api`, and a plan that is done in both.
fn two_repositories() -> Place {
    let place = repository();
    place.write("planwright.toml", "[repositories]\napi = \"../api\"\n");
    let make = format!(
        "git init -q --initial-branch=trunk ../api && cd ../api && git config user.name ada && git config user.email a@b \
         && echo one >api.txt && {GIT} add -A && {GIT} commit -qm begin"
    );
    place.bash(&make).expect(0, &[]);
    let contract = "test -s web.txt && grep -q two ../api/api.txt && test -s ../project/web.txt";
    let script = "echo w >web.txt; echo two >>../api/api.txt";
    write(&place, &[("both", &[("make", "", script, contract)])]);
    place.bash("git -C ../api checkout -q -b plan/both").expect(0, &[]);
    carry_out(&place, "both");
    place.bash("cd ../api && git commit -qam both && git checkout -q trunk").expect(0, &[]);
    place
}

/// What a folder beside the project says to a question.
#[track_caller]
fn api(place: &Place, words: &str) -> String {
    place.bash(&format!("cd ../api && {words}")).stdout.trim().to_owned()
}

// P-35: a plan with work in two repositories lands in both or in none; its contracts see both side by side.
#[test]
fn a_plan_of_two_repositories_lands_in_both_or_in_none() {
    let place = two_repositories();
    let (main, trunk) = (at(&place, "main"), api(&place, "git rev-parse trunk"));
    let both = |place: &Place| (at(place, "main"), api(place, "git rev-parse trunk"));
    place.bash("echo mine >../api/api.txt").expect(0, &[]);
    place.run(&["merge"]).expect(
        3,
        &[
            "../api/api.txt",
            "local changes would be overwritten by the merge",
            "nothing was merged",
            "git -C ../api status",
        ],
    );
    assert_eq!((both(&place), place.has("web.txt")), ((main.clone(), trunk.clone()), false));
    assert_eq!(api(&place, "cat api.txt"), "mine");
    is_clean(&place);
    place
        .bash("cd ../api && git checkout -q api.txt && echo uno >api.txt && git commit -qam uno")
        .expect(0, &[]);
    let uno = api(&place, "git rev-parse trunk");
    place
        .run(&["merge"])
        .expect(3, &["conflicts with the target branch", "../api/api.txt", "and the same in api"]);
    assert_eq!(both(&place), (main, uno));
    place.bash(&format!("cd ../api && git reset -q --hard {trunk}")).expect(0, &[]);
    place.run(&["merge", "--dry-run"]).expect(0, &["also in api", "api: trunk"]);
    place.run(&["merge"]).expect(0, &["merged  both", "api: trunk"]);
    assert_eq!((place.has("web.txt"), api(&place, "cat api.txt").as_str()), (true, "one\ntwo"));
    is_clean(&place);
    assert_eq!(api(&place, "git status --porcelain"), "");
}

// P-35, P-15: killed between the two branches, the next merge finishes what was begun.
#[test]
fn a_merge_of_two_repositories_that_is_killed_is_finished_by_the_next() {
    let place = two_repositories();
    let (main, trunk) = (at(&place, "main"), api(&place, "git rev-parse trunk"));
    deadly(&place, 0, "before");
    place.run(&["merge"]).expect(0, &["merged  both"]);
    let questions: usize = place.bash("cat ../count").stdout.trim().parse().expect("a count");
    let mut halves = 0;
    for point in questions.saturating_sub(16)..=questions {
        peaceful(&place);
        place
            .bash(&format!("git reset -q --hard {main} && cd ../api && git reset -q --hard {trunk}"))
            .expect(0, &[]);
        deadly(&place, point, "after");
        place.run(&["merge"]);
        peaceful(&place);
        let moved = (at(&place, "main") != main, api(&place, "git rev-parse trunk") != trunk);
        halves += usize::from(moved.0 != moved.1);
        place.run(&["merge"]).expect(0, &[]);
        assert_eq!(
            (place.has("web.txt"), api(&place, "cat api.txt").as_str()),
            (true, "one\ntwo"),
            "{point}"
        );
        assert_ne!(api(&place, "git rev-parse trunk"), trunk, "{point}");
        assert_eq!(api(&place, "git status --porcelain"), "", "{point}");
        is_clean(&place);
    }
    assert!(halves > 0, "one of them was killed between the two");
}

// P-35, D-23: a plan with work in two repositories has a worktree of each, side by side, and lands in both from there.
#[test]
fn a_plan_of_two_repositories_has_a_worktree_of_each() {
    let place = repository();
    place.write("planwright.toml", "[repositories]\napi = \"../api\"\n");
    let make = format!(
        "git init -q --initial-branch=trunk ../api && cd ../api && echo one >api.txt && {GIT} add -A && {GIT} commit -qm begin"
    );
    place.bash(&make).expect(0, &[]);
    let contract = "test -s web.txt && grep -q two ../api/api.txt && test -s ../project/web.txt";
    let script = "echo w >web.txt; echo two >>../api/api.txt; pwd >\"$HOME/worked\"";
    write(&place, &[("both", &[("make", "", script, contract)])]);
    let digest = data(&place.run(&["run", "both", "--dry-run", "--json"]))["digest"].clone();
    place
        .run(&["run", "both", "--worktree", "--rev", digest.as_str().expect("a digest")])
        .expect(0, &["passed"]);
    let tree = place.run(&["worktree", "path", "both"]).expect(0, &[]).stdout.trim().to_owned();
    assert_eq!(place.bash("cat $HOME/worked").stdout.trim(), tree);
    assert!(!place.has("web.txt") && api(&place, "cat api.txt") == "one", "nobody worked in the workspaces");
    assert_eq!(place.bash(&format!("cat '{tree}/../api/api.txt'")).stdout, "one\ntwo\n");
    place.run(&["merge"]).expect(0, &["both"]);
    assert!(place.has("web.txt"));
    assert_eq!(api(&place, "cat api.txt"), "one\ntwo", "it landed beside, too");
    assert_eq!(api(&place, "git status --porcelain"), "");
    place.run(&["worktree", "remove", "both"]).expect(0, &["both"]);
    place.bash(&format!("test ! -e '{tree}' && test ! -e '{tree}/../api'")).expect(0, &[]);
}

// P-35: a repository has to lie beside the project's own.
#[test]
fn a_repository_in_the_wrong_place_is_named() {
    let place = two_repositories();
    for (path, said) in [
        ("../nowhere", "cannot read repository"),
        ("../home", "is not the root of a git repository"),
        (".", "contains the project's repository or is inside it"),
        ("../api/sub", "is not in the same directory"),
    ] {
        place.bash("mkdir -p ../api/sub && git init -q ../api/sub").expect(0, &[]);
        let setting = format!("repositories.api={path}");
        place.run(&["--config", &setting, "merge"]).expect(2, &["repository `api`", said]);
    }
}

/// Carries a plan out in a tree of its own, and says where that is.
#[track_caller]
fn carry_out_apart(place: &Place, name: &str) -> String {
    let digest = data(&place.run(&["run", name, "--dry-run", "--json"]))["digest"].clone();
    place
        .run(&["run", name, "--worktree", "--rev", digest.as_str().expect("a digest")])
        .expect(0, &["passed"]);
    place.run(&["worktree", "path", name]).expect(0, &[]).stdout.trim().to_owned()
}

// P-13: what lands says what was approved: a plan that was rewritten in its tree is held, and so is what no contract has checked.
#[test]
fn a_plan_that_was_rewritten_in_its_tree_is_held() {
    let place = repository();
    write(&place, &[B, ("other", &[("make", "", "true", "true")])]);
    let tree = carry_out_apart(&place, "b");
    place.bash(&format!("sed -i 's/test -s b.txt/true #weak/' '{tree}/plans/b.md'")).expect(0, &[]);
    place.run(&["merge"]).expect(1, &["its plan in", "differs from what was approved"]);
    place.bash(&format!("sed -i 's/true #weak/test -s b.txt/' '{tree}/plans/b.md'")).expect(0, &[]);
    place.bash(&format!("echo more >>'{tree}/plans/other.md'")).expect(0, &[]);
    place.run(&["merge"]).expect(1, &["no contract has checked", "plans/other.md"]);
    place.bash(&format!("cp plans/other.md '{tree}/plans/other.md'")).expect(0, &[]);
    place.run(&["merge"]).expect(0, &["merged  b"]);
    assert!(!place.read("plans/b.md").contains("#weak"));
    // The same on a branch that has no tree.
    let other = finished(&[B]);
    other
        .bash("git checkout -q plan/b && sed -i 's/test -s b.txt/true/' plans/b.md && git commit -qam weak && git checkout -q main")
        .expect(0, &[]);
    other.run(&["merge"]).expect(1, &["its plan on plan/b differs from what was approved"]);
}

// P-13: what a merge took up of a tree is known to it: what is changed there next is named for what it is.
#[test]
fn a_tree_that_was_taken_up_is_not_said_to_lack_that() {
    let place = repository();
    write(&place, &[("b", &[("make", "", "echo b >b.txt", "test -s b.txt && ! test -e block")])]);
    let tree = carry_out_apart(&place, "b");
    place.write("block", "x\n");
    commit(&place, "block");
    place.run(&["merge"]).expect(3, &["evicted  b"]);
    place
        .bash(&format!("git rm -q block && git commit -qm unblock && echo x >'{tree}/extra.txt'"))
        .expect(0, &[]);
    place.run(&["merge"]).expect(1, &["no contract has checked: extra.txt"]);
    place.bash(&format!("rm '{tree}/extra.txt'")).expect(0, &[]);
    place.run(&["merge"]).expect(0, &["merged  b"]);
    place.run(&["status", "--inbox"]).expect(0, &["nothing needs you"]);
}

// P-12: contracts have ports wherever they are run.
#[test]
fn contracts_on_what_is_merged_have_ports() {
    let place = repository();
    place.write("planwright.toml", "[worktree]\nports = 1\n");
    let contract = "test -s b.txt && test \"$PLANWRIGHT_PORT\" -gt 0";
    write(&place, &[("b", &[("make", "", "echo b >b.txt", contract)])]);
    carry_out_apart(&place, "b");
    place.run(&["merge"]).expect(0, &["merged  b"]);
    place.run(&["audit", "b", "--rerun"]).expect(0, &["passes"]);
    assert_eq!(
        place.bash("grep -l contracts \"$XDG_STATE_HOME\"/planwright/trees/* | wc -l").stdout.trim(),
        "0"
    );
}

// D-23: of plans that touch the same lines the later one begins with the work of the earlier, and all land.
#[test]
fn a_plan_that_comes_after_another_by_what_it_touches_begins_with_its_work() {
    let place = repository();
    let touches = "**touches:** d.txt\n";
    write(
        &place,
        &[
            ("d", &[("make", touches, "echo d >d.txt", "grep -q d d.txt")]),
            ("f", &[("make", touches, "echo f >>d.txt", "grep -q f d.txt")]),
            ("g", &[("make", touches, "echo g >>d.txt", "grep -q g d.txt")]),
        ],
    );
    // The tree of `g` is older than the work that it comes after.
    place.run(&["worktree", "add", "g"]).expect(0, &["plan/g"]);
    for name in ["d", "f", "g"] {
        carry_out_apart(&place, name);
    }
    place.run(&["merge"]).expect(0, &["merged  d", "merged  f", "merged  g"]);
    assert_eq!(place.read("d.txt"), "d\nf\ng\n");
    is_clean(&place);
}
