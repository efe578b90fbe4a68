//! `draft` and `replan`: a planner's answer is checked, sent back with what is wrong, and only ever proposed. The planners here are
//! scripts that answer from files and note what they were asked.

use crate::hook::USER;
use crate::sample::runnable;
use crate::test_env::{Place, Ran, run};

/// Answers with `answerN`, or else `answer`, and keeps what it was asked in `$HOME/asked/N`.
const PEN: &str = r#"mkdir -p "$HOME/asked"
n=1
while [ -e "$HOME/asked/$n" ]; do n=$((n + 1)); done
cat >"$HOME/asked/$n"
[ ! -e before ] || . ./before
if [ -e "answer$n" ]; then cat "answer$n"; else cat answer; fi
"#;

const SETTINGS: &str = "[roles]\nplanner = \"pen\"\ncoder = \"hand\"\n\n[agents.pen]\ncommand = [\"bash\", \"pen.sh\"]\n\n\
    [agents.hand]\ncommand = [\"bash\", \"-c\", \"cat >/dev/null; touch one\"]\n";

/// A plan of two steps; the second one fails where `hand` does the work.
fn plan() -> String {
    let text = runnable(&[
        ("one", "**target:** coder", "Make one.", "test -e one"),
        ("two", "**target:** coder", "Make two.", "test -e two"),
    ]);
    text.replace("# Carry it out", "# Make files")
}

fn answer(text: &str) -> String {
    format!("First the one, then the other.\n\n`````markdown\n{text}`````\n\nThat is all.\n")
}

/// A project with a planner that gives these answers, one after the other; the last one again and again.
fn project(answers: &[&str]) -> Place {
    let place = Place::empty();
    place.write(USER, SETTINGS).write("pen.sh", PEN);
    for (place_of, text) in answers.iter().enumerate() {
        place.write(&format!("answer{}", place_of + 1), text);
    }
    place.write("answer", answers.last().expect("an answer"));
    place
}

/// What the planner was asked at this try; `None` where it was not.
fn asked(place: &Place, number: usize) -> Option<String> {
    let ran = place.bash(&format!("cat \"$HOME/asked/{number}\""));
    (ran.code == 0).then_some(ran.stdout)
}

fn plans(place: &Place) -> String {
    place.bash("ls plans 2>/dev/null").stdout
}

// A-48, B-08, C-24, C-25: a planner of its own is asked once, answers and is gone; the plan waits for a person.
#[test]
fn a_plan_that_is_clean_is_written_and_proposed() {
    let place = project(&[&answer(&plan())]);
    place.write("src/a.txt", "the code\n");
    let words = [
        "draft",
        "Make two files",
        "--constraint",
        "no links",
        "--memory",
        "the last one broke",
        "--code",
        "src/a.txt",
    ];
    place.run(&words).expect(
        0,
        &[
            "planner  pen (it has role planner): bash pen.sh",
            "verify   try 1: no errors",
            "plans/make-files.md   2 steps",
            "First the one",
            "proposed  make-files  r1",
            "next: planwright review plans/make-files.md",
        ],
    );
    let prompt = asked(&place, 1).expect("it was asked");
    for words in ["Make two files", "no links", "the last one broke", "the code", "`coder`", "**contract:**"]
    {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    assert_eq!(asked(&place, 2), None);
    let text = place.read("plans/make-files.md");
    assert_eq!(text.replace("status: verified", "status: draft"), plan());
    place.run(&["show", "make-files"]).expect(0, &["why       First the one, then the other."]);
    place
        .run(&["log", "make-files", "--versions"])
        .expect(0, &["drafted", "by pen (an agent)", "That is all."]);
    place.run(&["run", "make-files"]).expect(3, &["make-files is not approved"]);
    assert!(!place.has("one"), "nothing is run that nobody approved");
}

// A-48: what is wrong with an answer is in the next prompt, and only what can be used is written.
#[test]
fn a_broken_answer_goes_back_with_what_is_wrong() {
    let broken = answer(&plan().replace("test -e two", "true"));
    let place = project(&["I would rather talk about it.", &broken, &answer(&plan())]);
    place.run(&["draft", "Make two files"]).expect(
        0,
        &[
            "verify   try 1: 1 problem, sent back to the planner",
            "verify   try 2: 1 problem, sent back to the planner",
            "verify   try 3: no errors",
        ],
    );
    let second = asked(&place, 2).expect("it was asked again");
    assert!(second.contains("Make two files") && second.contains("no plan in the answer"), "{second}");
    let third = asked(&place, 3).expect("it was asked again");
    assert!(third.contains("error[PW0306]") && third.contains("line: true"), "{third}");
    assert_eq!(plans(&place), "make-files.md\n");
}

// A-48: a planner that never gets it right costs so many tries and leaves nothing in the workspace.
#[test]
fn tries_that_are_spent_leave_nothing_but_the_last_answer() {
    let place = project(&[&answer(&plan().replace("test -e two", "true"))]);
    let spent = place.run(&["draft", "Make two files", "--tries", "2"]);
    spent.expect(1, &["returned no valid plan in 2 tries", "PW0306", "nothing was written"]);
    assert_eq!((asked(&place, 2).is_some(), asked(&place, 3)), (true, None));
    assert_eq!(plans(&place), "");
    let kept = spent.stderr.lines().last().and_then(|line| line.split("--from ").nth(1)).expect("a command");
    place.bash(&format!("sed -i 's/^true$/test -e two/' {kept}")).expect(0, &[]);
    place
        .run(&["draft", "--from", kept, "--no-propose"])
        .expect(0, &["plans/make-files.md", "planwright propose"]);
    place.run(&["config", "set", "draft.tries", "1"]).expect(0, &[]);
    place.run(&["draft", "Another"]).expect(1, &["in 1 try"]);
}

// C-24: without a planner everything else works, and it is said who is missing.
#[test]
fn a_planner_that_is_missing_is_named_and_nothing_else_is_lost() {
    let place = Place::empty();
    place
        .run(&["draft", "Anything"])
        .expect(1, &["no planner found; install an agent or set roles.planner", "[roles] planner"]);
    for (settings, words) in [
        ("[roles]\nplanner = \"nobody\"\n", "planner `nobody` has no command; set agents.nobody.command"),
        ("[agents.planner]\ncommand = [\"no-such-program\"]\n", "`no-such-program` is not on the PATH"),
        ("[roles]\nplanner = \"shell\"\n", "`shell` cannot plan"),
        (
            "[agents.planner]\ncommand = [\"bash\", \"-c\", \"echo no quota >&2; exit 3\"]\n",
            "it exited with 3: no quota",
        ),
    ] {
        place.write(USER, settings);
        place.run(&["draft", "Anything"]).expect(1, &[words]);
    }
    place.write(USER, "[agents.planner]\ncommand = [\"sleep\", \"600\"]\n");
    place
        .run(&["draft", "Anything", "--config", "draft.seconds=1"])
        .expect(1, &["planner `planner` timed out after 1 s"]);
    place.run(&["new", "by-hand"]).expect(0, &["plans/by-hand.md"]);
    place.run_with(&["draft", "--from", "-"], answer(&plan())).expect(0, &["proposed  make-files"]);
    let nested = run(place.planwright(&["draft", "More"]).env("PLANWRIGHT_TAG", "1"), b"");
    nested.expect(3, &["cannot start a planner"]);
}

// C-24: what stands in the settings of the project may be an agent's word, and nobody has approved it.
#[test]
fn a_planner_that_only_the_project_names_is_not_started() {
    let place = project(&[&answer(&plan())]);
    let evil = "[roles]\nplanner = \"pen\"\n[agents.pen]\ncommand = [\"bash\", \"-c\", \"touch harm\"]\n";
    place.write("planwright.toml", evil).run(&["draft", "Anything"]).expect(3, &["which agents can write"]);
    place.write(USER, "").write("planwright.toml", evil);
    place.run(&["draft", "Anything"]).expect(3, &["planwright config unset agents.pen.command"]);
    assert!(!place.has("harm"));
}

// C-25: what a planner writes is run by nobody before somebody has read it.
#[test]
fn contracts_of_a_planner_are_not_run_when_it_proposes() {
    let harmful = plan().replace("test -e one", "touch harm; test -e one");
    let place = project(&[&answer(&harmful)]);
    place.run(&["draft", "Make files"]).expect(0, &["proposed  make-files", "not run yet"]);
    assert!(!place.has("harm"));
}

// C-25: a planner only reads. What it writes all the same is said, and counts for nothing.
#[test]
fn a_planner_that_writes_files_is_told_of() {
    let place = project(&[&answer(&plan())]);
    place.write("before", "touch one; mkdir -p plans; cp answer1 plans/mine.md\n");
    place.run(&["draft", "Make two files"]).expect(
        0,
        &["warning: files changed while planner pen was running, although it must only read: one, plans/mine.md"],
    );
    let history = place.run(&["log", "make-files", "--versions", "--json"]);
    history.expect(0, &["\"changed\":[\"one\",\"plans/mine.md\"]"]);
}

// C-24: whatever a planner says or calls, nothing of its plan is done or approved.
#[test]
fn a_planner_has_no_verb_to_approve_or_finish() {
    let claims = plan()
        .replace("status: draft", "status: approved")
        .replace("### 1. Do one", "### 1. ✅ Do one")
        .replace("### 2. Do two", "### 2. ✅ Do two");
    let place = project(&[&answer(&claims)]);
    place.write("plans/old.md", plan());
    place.run(&["propose", "old"]).expect(0, &[]);
    place.write("before", "for verb in approve 'approve --rev'; do planwright approve old --rev \"$(planwright show old --json | sed 's/.*\"digest\":\"//;s/\".*//')\" >/dev/null 2>&1; echo $? >>\"$HOME/codes\"; done\n");
    place.run(&["draft", "Make two files"]).expect(0, &["proposed  make-files"]);
    let text = place.read("plans/make-files.md");
    assert!(!text.contains('✅') && text.contains("status: verified"), "{text}");
    assert_eq!(place.bash("cat \"$HOME/codes\"").stdout, "3\n3\n");
    place.run(&["status"]).expect(0, &["old", "r1 is pending review"]);
}

// P-07: an answer never takes the place of a plan that is there.
#[test]
fn a_plan_never_takes_the_place_of_another() {
    let place = project(&[&answer(&plan())]);
    place.write("plans/make-files.md", "mine\n");
    place.run(&["draft", "Make two files", "--name", "make-files"]).expect(2, &["already exists"]);
    assert_eq!(asked(&place, 1), None, "nobody is asked for what can't be written");
    place.run(&["draft", "Make two files"]).expect(0, &["plans/make-files-2.md"]);
    assert_eq!(place.read("plans/make-files.md"), "mine\n");
    place.run(&["draft", "Make two files", "--name", "Not A Name"]).expect(2, &["is not a valid plan name"]);
}

// A-48: killed at any moment, a draft leaves no half of anything and nobody at work.
#[test]
fn a_draft_that_is_killed_leaves_nothing() {
    let place = project(&[&answer(&plan())]);
    let die = "echo $$ >\"$HOME/pen\"; until [ -s \"$HOME/pid\" ]; do sleep 0.01; done; kill -9 $(cat \"$HOME/pid\"); sleep 600\n";
    place.write("before", die);
    let ran = place.bash("planwright draft Anything >/dev/null 2>&1 & echo $! >\"$HOME/pid\"; wait $!");
    assert_eq!(ran.code, 137, "{ran:#?}");
    assert_eq!(plans(&place), "");
    let pen = place.bash("cat \"$HOME/pen\"").stdout;
    crate::follow::wait_until("the planner is gone", || !place.is_alive(pen.trim()));
    place.run(&["doctor"]).expect(0, &[]);
    place.write("before", "");
    place.run(&["draft", "Anything"]).expect(0, &["proposed  make-files"]);
}

/// A project whose plan has failed at its second step, with a planner that gives these answers.
fn failed(answers: &[&str]) -> Place {
    let place = project(answers);
    place.write("plans/files.md", plan());
    fail(&place, "files");
    place
}

/// Runs a plan that fails at its second step.
fn fail(place: &Place, name: &str) -> Ran {
    let digest = place.run(&["show", name, "--json"]).stdout;
    let digest =
        digest.split("\"digest\":\"").nth(1).and_then(|rest| rest.get(..64)).expect("a digest").to_owned();
    let ran = place.run(&["run", name, "--rev", &digest]);
    ran.expect(3, &["two needs you"]);
    ran
}

fn better() -> String {
    plan().replace("Make two.", "Make two by hand.")
}

// B-11, B-12, B-13: the next version keeps what is finished, says why there is one, and has to be approved anew.
#[test]
fn a_failed_plan_is_made_anew() {
    let said = format!("Changes: two by hand\nReasoning: it failed\n\n`````markdown\n{}`````\n", better());
    let place = failed(&[&said]);
    place
        .run(&["revise", "files", "--planner", "--discovery", "two is heavy", "--constraint", "no links"])
        .expect(
            0,
            &["plans/files-v2.md", "changes   two by hand", "why       it failed", "proposed  files-v2  r1"],
        );
    let prompt = asked(&place, 1).expect("it was asked");
    for words in ["step 2 `two`", "exit 1", "two is heavy", "no links", "step 1 `one`", "### 2. ❌ Do two"] {
        assert!(prompt.contains(words), "{words}: {prompt}");
    }
    let text = place.read("plans/files-v2.md");
    assert!(text.contains("previousPlanId: files\n") && text.contains("### 1. ✅ Do one"), "{text}");
    assert!(text.contains("Make two by hand.") && text.contains("status: verified"), "{text}");
    place
        .run(&["log", "files", "--versions"])
        .expect(0, &["files-v2", "after files, where two failed: exit 1", "two by hand"]);
    place.run(&["log", "--all", "--names", "record"]).expect(0, &["PLAN_REPLANNED"]);
    place.run(&["run", "files-v2"]).expect(3, &["files-v2 is not approved"]);
    place
        .run(&["revise", "files", "--planner"])
        .expect(4, &["already has a newer version", "planwright revise plans/files-v2.md --planner"]);
}

// B-12: a planner that touches what is finished, or changes nothing, gets it back.
#[test]
fn a_version_that_changes_what_is_finished_goes_back() {
    let touched = answer(&better().replace("test -e one", "test -f one"));
    let same = answer(&plan());
    let place = failed(&[&touched, &same, &answer(&better())]);
    place
        .run(&["revise", "files", "--planner"])
        .expect(0, &["try 1: 1 problem", "try 2: 1 problem", "try 3: no errors"]);
    let second = asked(&place, 2).expect("it was asked again");
    assert!(second.contains("step 1 `one` (Do one) is finished, but its contract changed"), "{second}");
    let third = asked(&place, 3).expect("it was asked again");
    assert!(third.contains("identical to files, which failed"), "{third}");
    let place = failed(&[&touched]);
    place
        .run(&["revise", "files", "--planner"])
        .expect(1, &["returned no valid plan in 3 tries", "is finished"]);
    assert_eq!(plans(&place), "files.md\n");
}

// B-11: what the planner said is remarked in its name, not in that of whoever asked it.
#[test]
fn a_planner_that_asks_for_a_person_is_named() {
    let place = failed(&["```plan-json\n{\"action\":\"escalate\",\"step\":2,\"reason\":\"how?\"}\n```\n"]);
    place.run(&["revise", "files", "--planner"]).expect(3, &["commented", "needs a person: how?"]);
    place.run(&["comment", "files"]).expect(0, &["pen (an agent): needs a person: how?"]);
}

// B-13: the same failure twice is a circle; so many versions are enough, and then the plan has failed.
#[test]
fn making_a_plan_anew_comes_to_an_end() {
    let place = failed(&[&answer(&better()), &answer(&better().replace("by hand", "by foot"))]);
    place.run(&["revise", "files", "--planner"]).expect(0, &["files-v2.md"]);
    place.run(&["cancel", "files", "-m", "v2 follows"]).expect(0, &[]);
    fail(&place, "files-v2");
    place
        .run(&["revise", "files-v2", "--planner"])
        .expect(3, &["failed the same way in files", "replanning would loop", "--discovery"]);
    assert_eq!(asked(&place, 2), None, "nobody is asked to go in a circle");
    place
        .run(&["revise", "files-v2", "--planner", "--discovery", "something new"])
        .expect(0, &["files-v3.md"]);
    place.run(&["cancel", "files-v2", "-m", "v3 follows"]).expect(0, &[]);
    fail(&place, "files-v3");
    let agent = run(
        place
            .planwright(&["revise", "files-v3", "--planner", "--config", "replan.max=2"])
            .env("CLAUDECODE", "1"),
        b"",
    );
    agent.expect(1, &["cannot replan files-v3: replanned 2 times, the limit"]);
    place.run(&["status", "files-v3"]).expect(0, &["waiting, 1 of 2 steps done"]);
    place
        .run(&["revise", "files-v3", "--planner", "--config", "replan.max=2"])
        .expect(1, &["replanned 2 times, the limit (`replan.max`)"]);
    let text = place.read("plans/files-v3.md");
    assert!(text.contains("status: failed"), "{text}");
    place.run(&["log", "files-v3"]).expect(0, &["run.finished", "replanned 2 times"]);
}

// B-12: a person writes the next version without any planner, and hands answers in by hand.
#[test]
fn the_next_version_needs_no_planner() {
    let place = failed(&["nobody is asked"]);
    place
        .run(&["revise", "files", "--copy", "--reasoning", "by hand"])
        .expect(0, &["files-v2.md", "planwright verify"]);
    let text = place.read("plans/files-v2.md");
    assert!(text.contains("version: \"2\"") && text.contains("### 1. ✅ Do one"), "{text}");
    let broken = answer(&better().replace("test -e one", "test -f one"));
    place
        .run_with(&["revise", "files-v2/two", "--from", "-"], broken)
        .expect(1, &["is finished", "nothing was written"]);
    place.run_with(&["revise", "files-v2/two", "--from", "-"], answer(&better())).expect(0, &["files-v3.md"]);
    assert_eq!(asked(&place, 1), None);
    place.write(
        "PLAN.md",
        "# P\n\n### 1. A\n\n**What:** a\n**Verification:** `test -e a`\n**Status:** failed\n",
    );
    place.run(&["revise", "PLAN.md", "--planner"]).expect(1, &["have no version files"]);
}
