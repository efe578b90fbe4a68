//! What a history comes to (`stats`), what a plan would do (`simulate`), what is put away when it is old (`archive`), and a
//! list of many plans that reads only those that were touched.
#![expect(
    clippy::disallowed_types,
    reason = "these tests stand outside of the program: they make its files and look at them"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they look at what it leaves on the disk"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::follow::{FILE, wait_until};
use crate::sample::{Sketch, runnable, sound};
use crate::test_env::{Place, Ran, run};

#[track_caller]
fn data(ran: &Ran) -> Value {
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    envelope["data"].clone()
}

/// A step that passes at once, one that needs a second try, one that never passes.
const STORY: &[Sketch<'static>] = &[
    ("easy", "**touches:**\n- easy.out", "touch easy.out", "test -e easy.out"),
    (
        "hard",
        "**on_fail:** retry(1), then escalate\n**touches:**\n- hard.out",
        "test -e tried && touch hard.out; touch tried",
        "test -e hard.out",
    ),
    (
        "stuck",
        "**needs:** none\n**touches:**\n- stuck.out\n**tools:** odoo-toolbox",
        "true",
        "$(echo no-such-program) stuck.out",
    ),
];

// C-31, P-36: first tries, retries, what reached a person, contracts that never failed, what is missing; and nothing from nothing.
#[test]
fn stats_count_what_happened_and_nothing_else() {
    let place = Place::with_plan(STORY);
    place.run(&["stats"]).expect(0, &["no finished steps in this period"]);
    place.approve_and_run().expect(3, &[]);
    let stats = data(place.run(&["stats", "--json"]).expect(0, &[]));
    let counts = |of: &Value| -> Vec<u64> {
        ["steps", "first_try", "retried", "reached_you", "failed"]
            .map(|key| of[key].as_u64().unwrap())
            .to_vec()
    };
    assert_eq!(counts(&stats["all"]), [3, 1, 1, 1, 0], "{stats:#}");
    assert_eq!(counts(&stats["agents"]["shell"]), [3, 1, 1, 1, 0]);
    assert_eq!(counts(&stats["plans"]["it"]), [3, 1, 1, 1, 0]);
    assert_eq!(stats["all"]["micro_dollars"], Value::Null, "no agent said what it cost");
    assert_eq!(stats["waiting"]["open"], 1);
    let never: Vec<&str> = stats["contracts"]
        .as_array()
        .expect("contracts")
        .iter()
        .filter(|contract| contract["has_never_failed"] == true)
        .filter_map(|contract| contract["step"].as_str())
        .collect();
    assert_eq!(never, ["easy"]);
    let gaps: Vec<(&str, &str)> = stats["gaps"]
        .as_array()
        .expect("gaps")
        .iter()
        .filter_map(|gap| Some((gap["kind"].as_str()?, gap["name"].as_str()?)))
        .collect();
    assert_eq!(gaps, [("tool", "odoo-toolbox"), ("program", "no-such-program")]);
    let said = ["first try", "33%", "  shell", "1 contract has never failed", "planwright stats --contracts"];
    place.run(&["stats"]).expect(0, &said);
    place.run(&["stats", "--contracts"]).expect(0, &["it/easy", "never", "test -e easy.out"]);
    place.run(&["stats", "--tools", "--plans"]).expect(0, &["odoo-toolbox", "it/stuck", "no-such-program"]);
    place.run(&["stats", "--plan", "it"]).expect(0, &["33%"]);
    place.run(&["stats", "--since", "soon"]).expect(2, &["`soon` is not a duration", "--since 7d"]);
    place.run(&["stats", "--since", "7"]).expect(2, &["`7` is not a duration"]);
    wait_until("the run is older than a second", || {
        data(&place.run(&["stats", "--since", "1s", "--json"]))["all"]["steps"] == 0
    });
}

/// Every file below a folder with its bytes.
fn everything(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if entry.file_type().expect("a kind").is_dir() {
            all.insert(path.clone(), Vec::new());
            all.extend(everything(&path));
        } else {
            all.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    all
}

/// The files that are not as they were.
fn changed(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<PathBuf> {
    let all = before.keys().chain(after.keys().filter(|path| !before.contains_key(*path)));
    // In this one SQLite marks who reads, and nothing else.
    let is_data = |path: &&PathBuf| !path.to_string_lossy().ends_with("state.db-shm");
    all.filter(is_data).filter(|path| before.get(*path) != after.get(*path)).cloned().collect()
}

// C-32, M-15: what would run, with what, where; no process can be started and no byte changes. A forecast only from history.
#[test]
fn simulate_starts_nothing_and_writes_nothing() {
    let many: Vec<Sketch<'_>> =
        ["a", "b", "c", "d", "e"].map(|id| (id, "**touches:**\n- x", "touch x", "test -e x")).to_vec();
    let place = Place::with_plan(&many);
    place.write(
        "plans/next.md",
        runnable(STORY).replace("**tools:** odoo", "**reads:**\n- file:big\n**tools:** odoo"),
    );
    place.write("big", "x".repeat(20_000)).write("hard.out", "");
    let home = place.project().parent().expect("a folder above").to_owned();
    let simulate = |words: &[&str]| {
        // Nothing can be found, so nothing can be started.
        run(place.planwright(words).env("PATH", "/nowhere"), b"")
    };
    let before = everything(&home);
    let said = [
        "wave 1",
        "1 easy",
        "touches hard.out (1 file now)",
        "reads big, about 5k tokens",
        "must pass: test -e easy.out",
        "odoo-toolbox (unavailable)",
        "3 contracts, at most 4 attempts",
        "no history for a forecast",
        "nothing was started or written",
        "planwright verify plans/next.md",
    ];
    simulate(&["simulate", "next"]).expect(0, &said);
    assert_eq!(changed(&before, &everything(&home)), [] as [PathBuf; 0], "without a history");
    // A history: five steps of this agent.
    place.approve_and_run().expect(0, &[]);
    let before = everything(&home);
    simulate(&["simulate", "next"]).expect(0, &["; likely ", " s ("]);
    let simulated = data(&simulate(&["simulate", "next", "--json"]));
    assert_eq!(changed(&before, &everything(&home)), [] as [PathBuf; 0], "with a history");
    assert_eq!(simulated["forecast"]["samples"], 5, "{simulated:#}");
    assert_eq!(simulated["forecast"]["micro_dollars"], Value::Null);
    assert_eq!(simulated["waves"][0][0]["files_count"], 0);
    place.write("plans/bad.md", sound("Bad", 1).replace("**task:**", "**tasks:**"));
    simulate(&["simulate", "bad"]).expect(1, &["has errors", "planwright verify plans/bad.md"]);
}

// C-31, P-36: what is over for long is put away with its history; drafts and what goes on stay.
#[test]
fn old_plans_are_archived_with_their_history_and_old_outputs_can_go() {
    let place = Place::with_plan(&[(
        "a",
        "",
        "echo out of the agent; touch x",
        "echo out of the contract; test -e x",
    )]);
    place.write("plans/draft.md", sound("Draft", 1));
    place.approve_and_run().expect(0, &[]);
    place
        .run(&["archive", "--older-than", "1d", "--outputs"])
        .expect(0, &["no finished plan is that old", "0 outputs"]);
    let dry = ["archive", "--older-than", "1s", "--outputs", "--dry-run"];
    wait_until("the run is over for a second", || place.run(&dry).said().contains("would move  plans/it.md"));
    assert!(place.path(FILE).exists(), "a dry run moves nothing");
    place.run(&["log", "it/a@1", "--contract"]).expect(0, &["out of the contract"]);
    let ran = place.run(&["archive", "--older-than", "1s", "--outputs"]);
    ran.expect(
        0,
        &["moved  plans/it.md", "plans/archive/it.md", "deleted  2 outputs of 1 run", "hashes are kept"],
    );
    assert!(!place.path(FILE).exists() && place.path("plans/archive/it.md").exists());
    assert!(place.path("plans/draft.md").exists(), "a draft is not over");
    // Everything that is known goes along, but for what was printed.
    place.run(&["log", "plans/archive/it.md"]).expect(0, &["run.finished", "contract.finished"]);
    let part = place.run(&["log", "plans/archive/it.md/a@1", "--contract"]);
    part.expect(1, &["no longer kept", "its hash is"]);
    place.run(&["log", "plans/archive/it.md/a@1"]).expect(0, &["contract output", "(no longer kept)"]);
    place.run(&["doctor"]).expect(0, &["records intact", "match the journal"]);
    place.run(&["list"]).expect(0, &["draft"]);
    let again = place.run(&["archive", "--older-than", "1s", "--outputs"]);
    again.expect(0, &["no finished plan is that old", "0 outputs"]);
}

// C-31: the setting says from when on old outputs may go; only a person's `doctor --fix` lets them.
#[test]
fn old_outputs_go_only_when_somebody_says_so() {
    let place = Place::with_plan(&[("a", "", "echo said; touch x", "echo printed; test -e x")]);
    place.approve_and_run().expect(0, &[]);
    place.run(&["doctor"]).expect(0, &["output of 1 finished run kept (1 MB)"]);
    let kept = place.run(&["doctor", "--fix", "--config", "retention.days=1"]);
    kept.expect(0, &[]);
    assert!(!kept.said().contains("can be deleted"), "{kept:#?}");
    place.run(&["log", "it/a@1", "--contract"]).expect(0, &["printed"]);
}

fn record(place: &Place) -> Option<PathBuf> {
    let states = place.project().parent()?.join("home/state/planwright");
    let files = everything(&states).into_keys();
    files
        .into_iter()
        .find(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("seen-")))
}

// A list of many plans reads only those that were touched, and notices every touch: also one that hides its time.
#[test]
fn a_long_list_reads_only_what_was_touched() {
    let place = Place::empty();
    let file = |number: usize| format!("plans/p{number:03}.md");
    for number in 0..220 {
        place.write(&file(number), sound(&format!("Plan {number:03}"), 1));
    }
    let list = || place.run(&["list"]).expect(0, &[]).stdout.clone();
    let states = place.project().parent().expect("above").join("home/state/planwright");
    fs::create_dir_all(&states).expect("a folder");
    wait_until("what was seen is kept", || {
        list();
        record(&place).is_some()
    });
    let first = list();
    assert_eq!(first.lines().count(), 220, "{first}");
    // The twin: what is kept is what is shown, so the rest of this test looks at more than a list that reads everything.
    let record = record(&place).expect("a record");
    let text = fs::read_to_string(&record).expect("read");
    fs::write(&record, text.replace("Plan 007", "Plan 00X")).expect("written");
    assert!(list().contains("Plan 00X"), "the record is not used");
    // Same size, same time of the last change of content: the kernel still knows.
    let path = place.path(&file(7));
    let modified = path.metadata().expect("there").modified().expect("a time");
    fs::write(&path, sound("Plan XYZ", 1)).expect("written");
    fs::File::options().write(true).open(&path).expect("opened").set_modified(modified).expect("set");
    assert!(list().contains("Plan XYZ") && !list().contains("Plan 00X"));
    fs::remove_file(place.path(&file(8))).expect("removed");
    place.write("plans/new.md", sound("Plan new", 1)).write(&file(9), "no plan any more");
    let last = list();
    assert!(last.contains("Plan new") && !last.contains("Plan 008") && !last.contains("Plan 009"), "{last}");
    // A record that is torn, or of another program, is thrown away.
    fs::write(&record, "{\"root\":").expect("written");
    assert_eq!(list(), last);
}
