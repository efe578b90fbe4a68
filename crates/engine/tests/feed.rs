//! The feed: journals and ledgers as one stream, with ids that stay, and what each of them calls for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use planwright_core::approval::ledger::{ApprovalSubject, LedgerEntry};
use planwright_core::approval::status::ApprovalStatus;
use planwright_core::plan::identity::Identity;
use planwright_core::run::event::{AskEvent, AskReason, Event, RunEvent, RunOutcome};
use planwright_core::run::receipt::Blob;
use planwright_core::workspace::notification::{Notification, Trigger};
use planwright_engine::store::journal::{Delivery, FeedFilter, LedgerSummary, NewRun, RunId, Statement};
use planwright_engine::store::plan_file::Store;
use planwright_engine::workspace::feed::{EventFeed, Filter};

use crate::scratch::Scratch;

fn store(scratch: &Scratch) -> Arc<Store> {
    Arc::new(Store::open_folder(&scratch.path().join("state")).expect("a store"))
}

fn say(store: &Store, plan: &str, at_ms: u64, entry: LedgerEntry) {
    let after = store.ledger(Path::new(plan)).expect("a ledger").len() as u64;
    let statement = Statement { after, entries: &[entry], blobs: Vec::new(), at_ms, summary: summary() };
    store.say(Path::new(plan), statement).expect("said");
}

/// Where a plan stands is for others to test.
fn summary() -> LedgerSummary {
    LedgerSummary::of(&ApprovalStatus::new())
}

fn proposed(revision: u32, digest: &str) -> LedgerEntry {
    LedgerEntry::Proposed {
        revision,
        subject: ApprovalSubject { digest: digest.to_owned(), ..ApprovalSubject::default() },
        by: Identity::agent("planner"),
        text: Blob("x".to_owned()),
        dialect: "native".to_owned(),
        warnings: 0,
        red: Vec::new(),
        is_handed_in: false,
    }
}

fn rejected(revision: u32) -> LedgerEntry {
    LedgerEntry::Rejected {
        revision,
        digest: format!("d{revision}"),
        by: Identity::person("ada"),
        feedback: "no".to_owned(),
    }
}

fn begin(store: &Store, plan: &str, at_ms: u64) -> RunId {
    let new = NewRun {
        root: PathBuf::from("/a"),
        plan: PathBuf::from(plan),
        name: "named".to_owned(),
        digest: "d".to_owned(),
        text: "text".to_owned(),
        dialect: "native".to_owned(),
        created_at_ms: at_ms,
    };
    let started = serde_json::json!({
        "event": "run.started", "digest": "d", "approved_by": "ada", "approved_at": "rev", "base": null
    });
    let run = store.create_run(&new).expect("a run");
    store.append(run, 0, &[serde_json::from_value(started).expect("an event")], at_ms).expect("added");
    run
}

fn finished(outcome: RunOutcome) -> Event {
    Event::Run(RunEvent::Finished { outcome, why: String::new() })
}

fn told(store: &Arc<Store>, filter: Filter) -> Vec<Notification> {
    let mut feed = EventFeed::after(store, Path::new("/a"), filter, 0);
    let mut notices = Vec::new();
    while let Some(batch) = feed.next_batch().expect("read") {
        notices.extend(batch.into_iter().map(|fact| fact.notice));
    }
    notices
}

fn lines(notices: &[Notification]) -> Vec<String> {
    let line = |notice: &Notification| {
        let occasion = notice.occasion.map_or("-", Trigger::word);
        format!("{} {} {} {} {occasion}", notice.id, notice.plan, notice.at_ms, notice.name())
    };
    notices.iter().map(line).collect()
}

// C-27: what is said about plans and what happens to runs is one stream, in the order in which it was written.
#[test]
fn ledgers_and_journals_are_one_stream_whose_ids_stay() {
    let scratch = Scratch::new("feed-one");
    let store = store(&scratch);
    say(&store, "plans/x.md", 10, proposed(1, "d1"));
    let run = begin(&store, "plans/y.md", 11);
    say(&store, "plans/x.md", 12, rejected(1));
    let ask = Event::Ask {
        ask: "a/1".to_owned(),
        event: AskEvent::Opened { step: None, reason: AskReason::Lost, text: "why".to_owned() },
    };
    store.append(run, 1, &[ask, finished(RunOutcome::Failed)], 13).expect("added");
    let expected = [
        "plan/1/1 x 10 plan.proposed needs-you",
        "run/1/1 named 11 run.started -",
        "plan/1/2 x 12 plan.rejected -",
        "run/1/2 named 13 ask.opened needs-you",
        "run/1/3 named 13 run.finished failed",
    ];
    let all = told(&store, Filter::default());
    assert_eq!(lines(&all), expected);
    assert_eq!((all[0].run, all[1].run, all[0].path.as_str()), (None, Some(1), "plans/x.md"));
    // The name of an entry stands where that of an event does.
    assert_eq!(all[2].event["event"], "plan.rejected");
    assert_eq!((&all[2].event["feedback"], all[2].event.get("entry")), (&"no".into(), None));
    // A plan that is moved keeps the ids of what was said about it.
    store.move_plan(Path::new("plans/x.md"), Path::new("archive/x.md")).expect("moved");
    let moved = told(&store, Filter { plan: Some("archive/x.md".into()), ..Filter::default() });
    assert_eq!(lines(&moved), [expected[0], expected[2]]);
    assert_eq!(told(&store, Filter { plan: Some("plans/x.md".into()), ..Filter::default() }), []);
    assert_eq!(lines(&told(&store, Filter { since_ms: 13, ..Filter::default() })), expected[3..]);
    assert_eq!(lines(&told(&store, Filter { after_seq: 1, ..Filter::default() })), expected[2..]);
}

#[test]
fn a_feed_goes_on_from_where_it_was_and_a_look_at_nothing_new_reads_no_row() {
    let scratch = Scratch::new("feed-on");
    let store = store(&scratch);
    say(&store, "x.md", 1, proposed(1, "d1"));
    let mut feed = EventFeed::after(&store, Path::new("/a"), Filter::default(), 0);
    assert_eq!(feed.next_batch().expect("read").map(|batch| batch.len()), Some(1));
    assert_eq!(feed.next_batch().expect("read"), None);
    assert_eq!(feed.place(), store.newest().expect("a place"));
    let run = begin(&store, "y.md", 2);
    store.append(run, 1, &[finished(RunOutcome::Done)], 3).expect("added");
    let batch = feed.next_batch().expect("read").expect("news");
    assert_eq!(batch.iter().map(|fact| fact.notice.id.as_str()).collect::<Vec<_>>(), ["run/1/1", "run/1/2"]);
    // One that is only about another plan is past it all the same.
    let mut other = EventFeed::after(
        &store,
        Path::new("/a"),
        Filter { plan: Some("z.md".into()), ..Filter::default() },
        0,
    );
    assert_eq!(other.next_batch().expect("read"), None);
    assert_eq!(other.place(), store.newest().expect("a place"));
}

// The third rejection, a lapse and an end for age's sake call for a person; decisions of people and ends by them don't.
#[test]
fn what_calls_for_a_person() {
    let scratch = Scratch::new("feed-occasion");
    let store = store(&scratch);
    let ada = || Identity::person("ada");
    for round in 1..=3 {
        say(&store, "a.md", u64::from(round), proposed(round, &format!("d{round}")));
        say(&store, "a.md", u64::from(round), rejected(round));
    }
    say(&store, "b.md", 9, LedgerEntry::Lapsed { moved: vec!["the plan".to_owned()] });
    say(&store, "b.md", 9, LedgerEntry::Cancelled { by: Identity::age(), why: "30 days".to_owned() });
    say(&store, "b.md", 9, LedgerEntry::Cancelled { by: ada(), why: "no".to_owned() });
    say(&store, "b.md", 9, LedgerEntry::Reopened { by: ada(), why: "yes".to_owned() });
    let run = begin(&store, "c.md", 10);
    store.append(run, 1, &[finished(RunOutcome::Cancelled)], 11).expect("added");
    let run = begin(&store, "c.md", 12);
    store.append(run, 1, &[finished(RunOutcome::Done)], 13).expect("added");
    let words: Vec<&str> = told(&store, Filter::default())
        .iter()
        .map(|notice| notice.occasion.map_or("-", Trigger::word))
        .collect();
    let you = "needs-you";
    assert_eq!(words, [you, "-", you, "-", you, you, you, you, "-", "-", "-", "-", "-", "done"]);
}

#[test]
fn how_far_a_hook_was_told_is_kept() {
    let scratch = Scratch::new("feed-delivery");
    let store = store(&scratch);
    assert_eq!(store.delivery("done").expect("read"), None);
    let mut delivery = Delivery { place: 7, tries: 2, skipped: 1, why: "no".to_owned(), at_ms: 5 };
    store.note_delivery("done", &delivery).expect("noted");
    delivery.place = 8;
    store.note_delivery("done", &delivery).expect("noted");
    drop(store);
    let store = self::store(&scratch);
    assert_eq!(store.delivery("done").expect("read"), Some(delivery));
    assert_eq!(store.delivery("failed").expect("read"), None);
}

/// More than one batch, and more than one look.
#[test]
fn news_come_in_batches_of_any_size() {
    let scratch = Scratch::new("feed-batch");
    let store = store(&scratch);
    let entries: Vec<LedgerEntry> = (1..=9)
        .map(|comment| LedgerEntry::Commented {
            comment,
            revision: 1,
            step: None,
            by: Identity::person("ada"),
            text: String::new(),
        })
        .collect();
    store
        .say(
            Path::new("x.md"),
            Statement { after: 0, entries: &entries, blobs: Vec::new(), at_ms: 1, summary: summary() },
        )
        .expect("said");
    let wanted = |after, count_max| FeedFilter { after, after_seq: 0, since_ms: 0, plan: None, count_max };
    let mut seen = Vec::new();
    while let Some(last) = store.news(wanted(seen.last().copied().unwrap_or(0), 4)).expect("read").last() {
        seen.push(last.place);
    }
    assert_eq!(seen.len(), 3);
}

// What is noted last is read, whatever was written before it.
#[test]
fn notes_are_read_from_the_end() {
    let scratch = Scratch::new("notes");
    let states = scratch.path();
    let note =
        |tool: &str| format!("{{\"at_ms\":1,\"tool\":\"{tool}\",\"why\":\"no\",\"is_blocked\":true}}\n");
    // The limit falls into the middle of a sign.
    let text = format!("{}{}\n{}", note("first"), "\u{20ac}".repeat(1 << 20), note("last"));
    planwright_engine::store::plan_file::create(&states.join("guard.log"), &text).expect("a file");
    let notes = planwright_engine::run::permission::guard_notes(states);
    assert_eq!(notes.iter().map(|note| note.tool.as_str()).collect::<Vec<_>>(), ["last"]);
}

// E-15: what is said about several plans at once is said about all of them, or about none.
#[test]
fn what_is_said_together_is_said_of_all_or_none() {
    let scratch = Scratch::new("feed-together");
    let store = store(&scratch);
    say(&store, "b.md", 1, proposed(1, "b1"));
    let (first, second) = ([proposed(1, "a1")], [proposed(2, "b2")]);
    let together = |after| {
        let of = |plan: &str, after, entries| {
            (
                Path::new(plan).to_owned(),
                Statement { after, entries, blobs: Vec::new(), at_ms: 2, summary: summary() },
            )
        };
        store.say_together(&[of("a.md", 0, &first[..]), of("b.md", after, &second[..])]).expect("a store")
    };
    let lengths = || ["a.md", "b.md"].map(|plan| store.ledger(Path::new(plan)).expect("a ledger").len());
    assert_eq!(together(0), Some("b.md".into()), "somebody spoke since");
    assert_eq!(lengths(), [0, 1]);
    assert_eq!(together(1), None);
    assert_eq!(lengths(), [1, 2]);
    assert_eq!(together(1), Some("a.md".into()), "the same again is behind");
    assert_eq!(lengths(), [1, 2]);
}
