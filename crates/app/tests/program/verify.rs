//! `verify` from the outside: formats, levels, repairs, and how plans are named.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they look at its files"
)]

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::sample::sound;
use crate::test_env::Place;

/// The codes that the example raises, in file order.
const CODES: [&str; 3] = ["PW0203", "PW0301", "PW0307"];

// all issues at once, and the exit code says that there are some. Among them a contract that bash does not take,
// a file that only a later step makes, and a contract that passes before any work (M-01, the static part).
#[test]
fn every_format_tells_all_issues_at_once() {
    let place = Place::harbor();
    for format in ["human", "short", "json", "sarif", "github", "junit"] {
        let ran = place.run(&["verify", "auth-timeout", "--format", format]);
        ran.expect(1, &CODES);
        let places: Vec<_> = CODES.iter().map(|code| ran.stdout.rfind(code)).collect();
        assert!(places.is_sorted(), "{format}: not in file order: {}", ran.stdout);
        assert!(ran.stderr.starts_with("next: ") || format == "json", "{format}: {}", ran.stderr);
    }
}

#[test]
fn formats_for_programs_are_what_these_programs_read() {
    let place = Place::harbor();
    let stdout = |format: &str| place.run(&["verify", "auth-timeout", "--format", format]).stdout;
    let sarif: Value = serde_json::from_str(&stdout("sarif")).expect("SARIF is JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    assert_eq!(results.iter().map(|result| &result["ruleId"]).collect::<Vec<_>>(), CODES);
    let place_of = &results[0]["locations"][0]["physicalLocation"];
    assert_eq!(place_of["artifactLocation"]["uri"], "plans/auth-timeout.md");
    assert_eq!(place_of["region"]["startLine"], 38);
    let github = stdout("github");
    assert_eq!(
        github.lines().filter(|line| line.starts_with("::error file=plans/auth-timeout.md,line=")).count(),
        2
    );
    assert_eq!(github.lines().filter(|line| line.starts_with("::warning file=")).count(), 1);
    let short = stdout("short");
    assert!(short.lines().all(|line| line.starts_with("plans/auth-timeout.md:")), "{short}");
    let junit = stdout("junit");
    assert!(junit.starts_with("<?xml") && junit.matches("<failure").count() == 2, "{junit}");
    let json: Value = serde_json::from_str(&stdout("json")).expect("one envelope");
    assert_eq!(
        json,
        serde_json::from_str::<Value>(&place.run(&["verify", "auth", "--json"]).stdout).expect("JSON")
    );
}

/// A plan with one warning and nothing else.
fn warned() -> String {
    sound("Warned", 1).replace("test -s part-1.txt", "test -d src")
}

#[test]
fn warnings_can_be_denied_and_allowed_and_errors_cannot_be_allowed() {
    let place = Place::harbor();
    place.write("plans/warned.md", warned());
    let run = |words: &[&str]| place.run(&[&["verify"], words].concat());
    run(&["warned"]).expect(0, &["warning[PW0307]", "1 warning"]);
    run(&["warned", "--deny", "warnings"]).expect(1, &["PW0307"]);
    run(&["warned", "--deny", "passes-already"]).expect(1, &["error[PW0307]"]);
    run(&["warned", "--deny", "PW0101"]).expect(0, &["warning[PW0307]"]);
    run(&["warned", "--allow", "PW0307", "--deny", "warnings"]).expect(0, &["no errors, no warnings"]);
    run(&["auth-timeout", "--allow", "PW0301"])
        .expect(2, &["is an error and cannot be ignored", "planwright explain PW0301"]);
    run(&["auth-timeout", "--allow", "PW9999"]).expect(2, &["unknown rule `PW9999`"]);
}

#[test]
fn repairs_are_made_what_has_none_stays_and_no_other_byte_moves() {
    let place = Place::harbor();
    let old = place.read("plans/auth-timeout.md").replace('\n', "\r\n");
    place.write("plans/auth-timeout.md", &old);
    let ran = place.run(&["verify", "--fix", "auth-timeout"]);
    ran.expect(1, &["fixed  plans/auth-timeout.md  make step 2 need step 4", "PW0301", "PW0307"]);
    assert!(!ran.stdout.contains("PW0203"), "{ran:#?}");
    let expected = old.replacen(
        "**id:** fix\r\n**target:** coder\r\n",
        "**id:** fix\r\n**target:** coder\r\n**needs:** find, document\r\n",
        1,
    );
    assert_eq!(place.read("plans/auth-timeout.md"), expected);
    // It has converged: a second time there is nothing to repair.
    let again = place.run(&["verify", "--fix", "auth-timeout"]);
    assert!(!again.stderr.contains("fixed  "), "{again:#?}");
    assert_eq!(place.read("plans/auth-timeout.md"), expected);
}

#[test]
fn repairs_of_many_faults_end_in_a_plan_without_them() {
    let place = Place::harbor();
    let faulty =
        sound("Faulty", 3).replace("### 2.", "### 5.").replace("**target:** shell", "**tagret:** shell");
    place.write("plans/faulty.md", &faulty);
    place.run(&["verify", "--fix", "faulty"]).expect(0, &["fixed", "no errors"]);
    assert_eq!(place.read("plans/faulty.md"), sound("Faulty", 3));
}

#[test]
fn a_repair_keeps_the_mode_and_follows_a_link() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::harbor();
    place.write("elsewhere.md", sound("Faulty", 2).replace("### 2.", "### 3.")).permit("elsewhere.md", 0o640);
    place.link("../elsewhere.md", "plans/linked.md");
    place.run(&["verify", "--fix", "plans/linked.md"]).expect(0, &["fixed"]);
    assert!(place.path("plans/linked.md").is_symlink());
    assert_eq!(place.read("elsewhere.md"), sound("Faulty", 2));
    let mode = fs::metadata(place.path("elsewhere.md")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    // .git .planwright elsewhere.md plans planwright.toml src
    let left: BTreeSet<_> = fs::read_dir(place.project())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left.len(), 6, "nothing is left behind: {left:?}");
}

#[test]
fn a_plan_comes_on_standard_input() {
    let place = Place::harbor();
    place.run_with(&["verify", "-"], sound("From a pipe", 1)).expect(0, &["checked  <stdin>", "no errors"]);
    let ran = place.run_with(&["verify", "-", "--format", "short"], place.read("plans/auth-timeout.md"));
    ran.expect(1, &["<stdin>:38:8: error[PW0203]"]);
    assert!(!ran.stderr.contains("--fix"), "what came on a pipe can't be repaired: {ran:#?}");
    place.run_with(&["verify", "-"], "").expect(1, &["PW0"]);
    place.run_with(&["verify", "--fix", "-"], "").expect(2, &["standard input cannot be fixed"]);
    place.run_with(&["verify", "--watch", "-"], "").expect(2, &["standard input cannot be fixed or watched"]);
}

// `planwright plan verify x` is `planwright verify x`.
#[test]
fn the_word_plan_may_stand_in_front() {
    let place = Place::harbor();
    let plain = place.run(&["verify", "plans/auth-timeout.md"]);
    assert_eq!(place.run(&["plan", "verify", "plans/auth-timeout.md"]), plain);
    assert_eq!(plain.code, 1);
    place.run(&["plan"]).expect(2, &[]);
}

#[test]
fn a_repair_never_makes_a_plan_worse() {
    let place = Place::harbor();
    let text = sound("Slips", 1).replace("owner:", "ownr:").replace("**task:**", "**taks:** hi\n**task:**");
    assert!(text.contains("ownr:") && text.contains("**taks:** hi"), "{text}");
    place.write("plans/slips.md", &text);
    place.run(&["verify", "slips", "--fix"]).expect(0, &["PW0104", "unknown field `taks`"]);
    let repaired = place.read("plans/slips.md");
    assert_eq!(repaired, text.replace("ownr:", "owner:"));
}

#[test]
fn plans_are_named_by_path_name_prefix_and_step() {
    let place = Place::harbor();
    place.write("plans/auth-cookie.md", sound("Cookies", 2)).write("plans/good.md", sound("Good", 2));
    place
        .write("other/good.md", sound("Also good", 2))
        .write("good/readme.txt", "a folder with the name of a plan");
    let absolute = place.path("plans/auth-cookie.md");
    let absolute = absolute.to_str().expect("text");
    for name in [
        "plans/auth-cookie.md",
        "./plans/auth-cookie.md",
        "auth-cookie",
        "auth-c",
        "auth-cookie/s2",
        "auth-c/2",
        "plans/auth-cookie.md/1",
        absolute,
    ] {
        place.run(&["verify", name]).expect(0, &["checked  plans/auth-cookie.md   2 steps"]);
    }
    place
        .run(&["verify", "auth"])
        .expect(2, &["is ambiguous: 2 plans match", "plans/auth-cookie.md, plans/auth-timeout.md"]);
    place
        .run(&["verify", "good"])
        .expect(2, &["is ambiguous: 2 plans match", "other/good.md, plans/good.md"]);
    place
        .run(&["verify", "auth-timout"])
        .expect(2, &["plan `auth-timout` not found", "did you mean `auth-timeout`?"]);
    place.run(&["verify", "zebra"]).expect(2, &["plan `zebra` not found", "planwright list"]);
    place.run(&["verify", "auth-cookie/s9"]).expect(2, &["has no step `s9`", "s1, s2"]);
    place.run(&["verify", "plans/typo.md"]).expect(2, &["file plans/typo.md not found"]);
    place.run(&["verify", "src"]).expect(2, &["src is not a regular file"]);
    let sub = place.bash("cd plans && planwright verify auth-cookie && planwright verify auth-cookie.md");
    sub.expect(0, &["checked  auth-cookie.md"]);
}

#[test]
fn a_name_wins_over_a_folder_and_plans_are_checked_once() {
    let place = Place::harbor();
    place.write("plans/src.md", sound("About the sources", 1));
    place.run(&["verify", "src"]).expect(0, &["plans/src.md"]);
    let ran = place.run(&["verify", "src", "plans/src.md", "./plans/src.md"]);
    assert_eq!(ran.stdout.matches("checked").count(), 1, "{ran:#?}");
}

#[test]
fn several_plans_and_all_plans_are_checked_in_one_go() {
    let place = Place::harbor();
    place.write("plans/good.md", sound("Good", 1)).write("deep/er/.hidden/also.md", sound("Also", 1));
    let two = place.run(&["verify", "good", "auth-timeout", "--format", "short"]);
    two.expect(1, &["auth-timeout.md:38"]);
    let all = place.run(&["verify"]);
    all.expect(
        1,
        &["checked  plans/good.md", "checked  deep/er/.hidden/also.md", "plans/auth-timeout.md: 2 errors"],
    );
    Place::empty().run(&["verify"]).expect(2, &["no plans found", "planwright new first-plan"]);
}

#[test]
fn one_plan_that_is_not_there_stops_everything_before_anything_is_written() {
    let place = Place::harbor();
    let old = place.read("plans/auth-timeout.md");
    place
        .run(&["verify", "--fix", "auth-timeout", "plans/gone.md"])
        .expect(2, &["file plans/gone.md not found"]);
    assert_eq!(place.read("plans/auth-timeout.md"), old);
    place.write("plans/loose.md", sound("Loose", 1).replace("### 1.", "###   1."));
    place.run(&["fmt", "loose", "plans/gone.md"]).expect(2, &["not found"]);
    assert!(place.read("plans/loose.md").contains("###   1."));
}

// what `--fix` says of fields without stars and of headings that lost a step is what it does.
#[test]
fn a_fix_makes_steps_and_contracts_of_what_was_lost() {
    let place = Place::empty();
    let plan = "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Two\n\n### 1. First\n\ntarget: shell\ntask: a\n\
                contract: test -e a\n\n## Second\n\n**target:** shell\n**task:** b\n**contract:** `test -e b`\n";
    place.write("plans/two.md", plan);
    place.run(&["verify", "plans/two.md"]).expect(1, &["PW0117", "PW0119", "plans/two.md:15:1", "--fix"]);
    place
        .run(&["convert", "plans/two.md", "--to", "named"])
        .expect(1, &["a step would be lost", "plans/two.md:15:1"]);
    place.run(&["verify", "--fix", "plans/two.md"]).expect(0, &["change it to `### 2. Second`", "2 steps"]);
    let fixed = place.read("plans/two.md");
    assert!(fixed.contains("**contract:** test -e a") && fixed.contains("### 2. Second"), "{fixed}");
}
