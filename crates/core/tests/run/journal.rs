//! Journals and ledgers of release 0.1, byte for byte as it wrote them (`app/tests/fixtures/state-0.1/make.py`): each line is read,
//! written again as the same bytes, and means what it meant. A later release adds a folder and takes none away.
#![expect(clippy::disallowed_methods, reason = "reads the journals that lie beside this file")]

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::dialect;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{Event, RunEvent, RunOutcome, RunStart};
use planwright_core::run::state::{Phase, RunState};
use planwright_core::syntax::source::Source;
use planwright_core::verify::trusted;
use serde::Serialize;
use serde::de::DeserializeOwned;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run/journals-0.1");

/// Every file of the folder that ends so, by what stands before that.
fn files(ending: &str) -> Vec<(String, PathBuf)> {
    let entries =
        fs::read_dir(FOLDER).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<(String, PathBuf)> = entries
        .filter_map(|path| {
            let name = path.file_name()?.to_str()?.strip_suffix(ending)?.to_owned();
            Some((name, path))
        })
        .collect();
    files.sort();
    assert!(!files.is_empty(), "no file ends with {ending}");
    files
}

/// The lines of a file as what they say; each must be written again as it stands there.
fn read<T: Serialize + DeserializeOwned + Debug>(path: &Path) -> Vec<T> {
    let text = fs::read_to_string(path).expect("a journal is text");
    let lines = text.lines().map(|line| {
        let read: T =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}: {line}", path.display()));
        assert_eq!(serde_json::to_string(&read).expect("it can be written"), line, "{}", path.display());
        read
    });
    lines.collect()
}

/// The journals of runs, each with its name and the plan that was approved for it.
fn journals() -> Vec<(String, Plan, Vec<Event>)> {
    let journals = files(".jsonl").into_iter().filter(|(name, _)| !name.ends_with(".ledger"));
    let journals = journals.map(|(name, path)| {
        let plan = dialect::DIALECTS.iter().find_map(|dialect| {
            let text = fs::read_to_string(path.with_extension(dialect.name)).ok()?;
            trusted(&Source::new(name.as_str(), text).written_in(dialect))
        });
        let plan = plan.unwrap_or_else(|| panic!("{name}: its plan can't be read"));
        (name, plan, read(&path))
    });
    journals.collect()
}

#[test]
fn every_journal_of_the_first_release_replays_to_what_it_meant() {
    let mut lines = String::new();
    for (name, plan, events) in journals() {
        let Some(Event::Run(RunEvent::Started(RunStart { digest, .. }))) = events.first() else {
            panic!("{name}: it never began")
        };
        assert_eq!(Digest::of(&plan).to_string(), *digest, "{name}: another plan was approved");
        let mut state = RunState::new(&plan);
        for event in &events {
            state.apply(event).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let phase = match state.phase {
            Phase::New => "new",
            Phase::Running => "waiting",
            Phase::Stopped { .. } => "stopped",
            Phase::Finished { outcome: RunOutcome::Done, .. } => "done",
            Phase::Finished { outcome: RunOutcome::Failed, .. } => "failed",
            Phase::Finished { outcome: RunOutcome::Cancelled, .. } => "cancelled",
        };
        let statuses: Vec<&str> = state.steps.iter().map(|step| step.status.word()).collect();
        let asks = state.asks.values().filter(|_| state.outcome().is_none()).map(|ask| {
            let step = ask.step.map_or("-", |place| plan.steps[place].id.as_str());
            let reason = serde_json::to_value(ask.reason).expect("a word");
            format!("{step}={}", reason.as_str().expect("a word"))
        });
        let asks: Vec<String> = asks.collect();
        let line = format!("{name}: {phase}: {}: {}", statuses.join(" "), asks.join(" "));
        lines.push_str(line.trim_end_matches([':', ' ']));
        lines.push('\n');
    }
    let recorded = fs::read_to_string(Path::new(FOLDER).join("states")).expect("what the first release said");
    assert_eq!(lines, recorded);
}

#[test]
fn the_journals_of_the_first_release_have_events_of_every_kind() {
    let names: BTreeSet<&str> =
        journals().iter().flat_map(|(_, _, events)| events).map(Event::name).collect();
    let all = [
        "agents.approved",
        "ask.answered",
        "ask.opened",
        "attempt.finished",
        "attempt.started",
        "budget.warned",
        "contract.finished",
        "run.finished",
        "run.resumed",
        "run.started",
        "run.stopped",
        "steps.reopened",
    ];
    assert_eq!(names, BTreeSet::from(all));
}

#[test]
fn every_ledger_of_the_first_release_is_read_and_written_as_it_stands() {
    let entries: usize = files(".ledger.jsonl").iter().map(|(_, path)| read::<LedgerEntry>(path).len()).sum();
    assert!(entries > 90, "{entries}");
}
