//! The model: every change of a plan is said, remarks follow their step, and the revision to compare with is the one that was
//! read.

use planwright_core::approval::ledger::{ApprovalSubject, LedgerEntry};
use planwright_core::approval::review::{
    DiffSign, DiffSubject, Direction, FileReach, Review, ReviewInput, ReviewReason, Since, differences,
    last_read, pairs, pieces, warnings,
};
use planwright_core::approval::status::{ApprovalStatus, RecordedEntry};
use planwright_core::plan::digest::Digest;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::verified::Plan;
use planwright_core::run::baseline::{Baseline, BaselineResult};
use planwright_core::run::receipt::Blob;
use planwright_core::syntax::source::Source;
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};

const PLAN: &str = "---
type: plan
status: ready
owner: coder
---

# extract the config

**context:** it is too long
**priority:** low
**budget:** $2.00, 30 minutes

## Steps

### 1. Map

**id:** map
**target:** coder
**task:** Map it.
**touches:** docs/**
**contract:** `test -s docs/map.md`

### 2. Extract

**id:** extract
**target:** coder
**task:** Extract it.
**touches:** src/**
**timeout:** 10 min
**contract:** `uv run pytest tests/ -x`

### 3. Read

**id:** read
**target:** coder
**task:** Read it.
**touches:** docs/**
**contract:** `grep -q YES docs/review.md`
";

fn plan(text: &str) -> Plan {
    let source = Source::new("plan.md", text);
    let draft = source.draft();
    let study = Study::of(&source, &draft);
    let questions = study.questions();
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let facts = Facts {
        passed: std::collections::BTreeMap::new(),
        paths: words(&["a.md", "b.md"]),
        programs: questions.programs,
        bash: questions.commands.into_iter().map(|command| (command, Vec::new())).collect(),
        agents: words(&["coder", "reviewer"]),
        topics: words(&["sizes"]),
        tools: None,
    };
    let checked = verify(&study, &facts, &VerifyLimits::default());
    checked.plan.unwrap_or_else(|| panic!("{:#?}\n{text}", checked.diagnostics))
}

fn changed(from: &str, to: &str) -> String {
    assert!(PLAN.contains(from), "the sample has {from:?}");
    PLAN.replacen(from, to, 1)
}

fn said(old: &str, new: &str) -> Vec<String> {
    let (old, new) = (plan(old), plan(new));
    let found = differences(&old, &new, &pairs(&old, &new));
    let shown = found.into_iter().map(|difference| {
        let step = difference.step.map(|step| format!("{step} ")).unwrap_or_default();
        let show = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        format!("{step}{}: {} -> {}", difference.what.word(), show(difference.was), show(difference.now))
    });
    shown.collect()
}

// M-06: what changed since a revision is said, all of it.
#[test]
fn every_change_that_the_digest_sees_is_said() {
    let changes = [
        ("extract the config", "extract config", "title: extract the config -> extract config"),
        ("owner: coder", "owner: reviewer", "owner: coder -> reviewer"),
        ("it is too long", "it is long", "context: it is too long -> it is long"),
        ("**priority:** low", "**priority:** high", "priority: low -> high"),
        ("$2.00, 30 minutes", "$9.00", "budget: $2.00, 1800 s -> $9.00"),
        ("### 2. Extract", "### 2. Take out", "extract title: Extract -> Take out"),
        ("**id:** extract", "**id:** pull", "pull id: extract -> pull"),
        ("**task:** Extract it.", "**task:** Do it.", "extract task: Extract it. -> Do it."),
        ("**touches:** src/**", "**touches:** **", "extract touches: src/** -> **"),
        ("**touches:** src/**\n", "", "extract touches: src/** -> not declared"),
        ("**timeout:** 10 min", "**timeout:** 20 min", "extract timeout: 600 s -> 1200 s"),
        ("**timeout:** 10 min", "**contract_timeout:** 5 s", "extract contract timeout: - -> 5 s"),
        ("**timeout:** 10 min", "**timeout:** 10 min\n**needs:** none", "extract needs: map -> -"),
        ("**timeout:** 10 min", "**timeout:** 10 min\n**reads:** file:a.md", "extract reads: - -> file:a.md"),
        ("**timeout:** 10 min", "**timeout:** 10 min\n**accept:** it is", "extract accept: - -> it is"),
        ("**timeout:** 10 min", "**timeout:** 10 min\n**tools:** shell", "extract tools: - -> shell"),
        ("**timeout:** 10 min", "**timeout:** 10 min\n**env:** A=1", "extract env: - -> A=1"),
        ("**timeout:** 10 min", "**timeout:** 10 min\n**network:** off", "extract network: - -> off"),
        ("**timeout:** 10 min", "**timeout:** 10 min\n**setup:** `make`", "extract setup: - -> make"),
        (
            "**timeout:** 10 min",
            "**timeout:** 10 min\n**on_fail:** abort",
            "extract on_fail: retry(2), then escalate -> abort",
        ),
        ("**timeout:** 10 min", "**sealed:** tests/**", "extract sealed: - -> tests/**"),
        ("**timeout:** 10 min", "**green:** it guards", "extract green: - -> it guards"),
        ("**timeout:** 10 min", "**judge:** is it clear?", "extract judge: - -> is it clear?"),
        ("-x`", "`", "extract contract: uv run pytest tests/ -x -> uv run pytest tests/"),
    ];
    let base = Digest::of(&plan(PLAN));
    for (from, to, expected) in changes {
        let text = changed(from, to);
        assert_ne!(Digest::of(&plan(&text)), base, "{from} -> {to}");
        let found = said(PLAN, &text);
        assert!(found.iter().any(|said| said == expected), "{expected}\n{found:#?}");
    }
    assert!(said(PLAN, PLAN).is_empty());
}

#[test]
fn steps_are_known_by_their_id_wherever_they_stand() {
    let (head, steps) = PLAN.split_once("### 1.").expect("the sample has steps");
    let steps: Vec<&str> = steps.split("### ").collect();
    let [map, extract, read] = steps.as_slice() else { panic!("three steps: {steps:?}") };
    let moved = format!(
        "{head}### 1. {}\n### 2.{map}### 3. {}",
        extract.replacen("2. ", "", 1),
        read.replacen("3. ", "", 1)
    );
    let found = said(PLAN, &moved);
    assert!(found.iter().any(|said| said.contains("moved")), "{found:#?}");
    assert!(!found.iter().any(|said| said.contains("contract") || said.contains("added")), "{found:#?}");
    let gone = format!("{head}### 1.{map}### 2. {}", read.replacen("3. ", "", 1));
    assert!(
        said(PLAN, &gone).contains(&"extract removed: Extract -> -".to_owned()),
        "{:#?}",
        said(PLAN, &gone)
    );
    assert!(said(&gone, PLAN).contains(&"extract added: - -> Extract".to_owned()));
}

fn ledger(entries: Vec<LedgerEntry>) -> Vec<RecordedEntry> {
    let said = |(at, entry): (usize, LedgerEntry)| RecordedEntry {
        seq: at as u64 + 1,
        at_ms: at as u64 * 1000,
        entry,
    };
    entries.into_iter().enumerate().map(said).collect()
}

fn proposed(revision: u32, text: &str) -> LedgerEntry {
    let digest = Digest::of(&plan(text)).to_string();
    let command = "test -s docs/map.md";
    let red = |step: &str, command: &str, before: BaselineResult| Baseline {
        step: step.to_owned(),
        contract: blake3::hash(command.as_bytes()).to_hex().to_string(),
        before,
        milliseconds: 3,
    };
    LedgerEntry::Proposed {
        revision,
        subject: ApprovalSubject { digest, ..ApprovalSubject::default() },
        by: Identity::agent("claude-code"),
        text: Blob(blake3::hash(text.as_bytes()).to_hex().to_string()),
        dialect: "native".to_owned(),
        warnings: 0,
        red: vec![
            red("map", command, BaselineResult::Fails("exit 1".to_owned())),
            red("extract", "another command", BaselineResult::Passes),
        ],
        is_handed_in: false,
    }
}

fn rejected(revision: u32, by: Identity) -> LedgerEntry {
    LedgerEntry::Rejected { revision, digest: String::new(), by, feedback: "no".to_owned() }
}

fn commented(comment: u32, revision: u32, step: &str) -> LedgerEntry {
    let (by, text) = (Identity::person("ada"), format!("about {step}"));
    LedgerEntry::Commented { comment, revision, step: Some(step.to_owned()), by, text }
}

// M-06: the revision to compare with is the one that was read.
#[test]
fn a_reader_compares_with_what_they_read_last() {
    let ada = Identity::person("ada");
    let bob = Identity::person("bob");
    let r = |number: u32| proposed(number, &changed("Map it.", &format!("Map {number}.")));
    let all = ledger(vec![
        r(1),
        rejected(1, ada.clone()),
        r(2),
        rejected(2, bob.clone()),
        r(3),
        commented(1, 3, "map"),
    ]);
    let since =
        |who: &Identity, newest: u32| last_read(&all, who, newest).map(|since| (since.revision, since.why));
    assert_eq!(since(&ada, 3), Some((1, ReviewReason::Read)));
    assert_eq!(since(&bob, 3), Some((2, ReviewReason::Read)));
    assert_eq!(since(&Identity::person("eve"), 3), Some((2, ReviewReason::Decided)));
    assert_eq!(since(&ada, 4), Some((3, ReviewReason::Read)), "a remark shows that it was read");
    assert_eq!(since(&ada, 1), None);
}

fn review(entries: Vec<LedgerEntry>, old: Option<(u32, &str)>, new: &str) -> Review {
    let standing = ApprovalStatus::of(&ledger(entries)).expect("the ledger fits");
    let source = Source::new("plan.md", new);
    let (now, was) = (plan(new), old.map(|(number, text)| (number, plan(text))));
    let reader = Identity::person("ada");
    let since =
        was.as_ref().map(|(revision, plan)| (Since { revision: *revision, why: ReviewReason::Read }, plan));
    Review::of(ReviewInput {
        name: "extract",
        path: "plans/extract.md",
        standing: &standing,
        state: standing.state(None),
        plan: &now,
        reader: &reader,
        since,
        warnings: warnings(&source.draft(), &[]),
        reach: FileReach::default(),
        forecast: None,
        moved: Vec::new(),
        drift: None,
        findings: Vec::new(),
    })
}

// P-18: a remark is anchored to a step, follows it, and says so where it is gone.
#[test]
fn remarks_follow_their_step() {
    let (head, steps) = PLAN.split_once("### 1.").expect("the sample has steps");
    let steps: Vec<&str> = steps.split("### ").collect();
    let new = format!("{head}### 1. {}\n### 2.{}", steps[2].replacen("3. ", "", 1), steps[0])
        .replace("grep -q YES docs/review.md", "grep -q YES docs/review.md && test -s docs/review.md");
    let entries = vec![
        proposed(1, PLAN),
        commented(1, 1, "read"),
        commented(2, 1, "extract"),
        rejected(1, Identity::person("ada")),
        proposed(2, &new),
        LedgerEntry::Answered {
            comment: 1,
            by: Identity::agent("claude-code"),
            text: "it looks, too".to_owned(),
        },
    ];
    let review = review(entries, Some((1, PLAN)), &new);
    let [first, second] = review.comments.as_slice() else { panic!("two remarks: {:?}", review.comments) };
    assert_eq!((first.step_number, first.is_gone), (Some(1), false), "it was step 3");
    assert_eq!(first.answer.as_deref(), Some("it looks, too"));
    assert!(first.changed.contains(&DiffSubject::Contract), "{:?}", first.changed);
    assert_eq!((second.step_number, second.is_gone, second.answer.as_deref()), (None, true, None));
    let found: Vec<_> = review.contracts.iter().map(|row| (row.step.as_str(), row.direction)).collect();
    let expected = [
        ("read", Some(Direction::Stricter)),
        ("map", Some(Direction::Same)),
        ("extract", Some(Direction::Gone)),
    ];
    assert_eq!(found, expected);
    assert_eq!(review.rejections.len(), 1);
    assert_eq!((review.revision, review.steps), (Some(2), 2));
}

// M-01: what a contract says on the base is shown only if it is about exactly this command.
#[test]
fn a_result_on_the_base_belongs_to_the_command_that_was_run() {
    let review = review(vec![proposed(1, PLAN)], None, PLAN);
    let befores: Vec<_> =
        review.contracts.iter().map(|row| row.before.as_ref().map(BaselineResult::word)).collect();
    assert_eq!(befores, [Some("fails"), None, None], "another command of `extract` passed");
    assert!(review.contracts.iter().all(|row| row.direction.is_none()), "there is nothing to compare with");
    assert_eq!(review.digest, Digest::of(&plan(PLAN)).to_string());
}

#[test]
fn a_contract_is_as_strict_as_what_it_is_run_with() {
    let direction = |from: &str, to: &str| {
        let new = changed(from, to);
        let review = review(vec![proposed(1, PLAN)], Some((1, PLAN)), &new);
        review.contracts[1].direction.expect("it is compared")
    };
    let timed = |text: &str| format!("**timeout:** 10 min\n{text}");
    assert_eq!(direction("**timeout:** 10 min", &timed("**env:** PYTEST_ADDOPTS=--co")), Direction::Changed);
    assert_eq!(direction("**timeout:** 10 min", &timed("**setup:** `rm -r tests`")), Direction::Changed);
    assert_eq!(direction("**timeout:** 10 min", &timed("**contract_timeout:** 1 h")), Direction::Changed);
    assert_eq!(
        direction("**timeout:** 10 min", "**timeout:** 20 min"),
        Direction::Same,
        "that is the agent's"
    );
    let limited =
        |time: &str| plan(&changed("**timeout:** 10 min", &format!("**contract_timeout:** {time}")));
    let (short, long) = (limited("10 s"), limited("20 s"));
    let compare =
        |old: &Plan, new: &Plan| planwright_core::approval::review::compare(&old.steps[1], &new.steps[1]);
    assert_eq!(compare(&short, &long).direction, Direction::Weaker);
    assert_eq!(compare(&long, &short).direction, Direction::Stricter);
    let manual = plan(&changed("**contract:** `uv run pytest tests/ -x`", "**contract:** manual"));
    assert_eq!(compare(&manual, &long).direction, Direction::Changed);
    let sealed = |globs: &str| plan(&changed("**timeout:** 10 min", &format!("**sealed:** {globs}")));
    let (one, two, other) = (sealed("tests/a/**"), sealed("tests/a/**, tests/b/**"), sealed("tests/b/**"));
    assert_eq!(compare(&one, &two).direction, Direction::Stricter);
    assert_eq!(compare(&two, &one).direction, Direction::Weaker);
    assert_eq!(compare(&one, &other).direction, Direction::Changed);
}

#[test]
fn pieces_show_what_was_added_and_what_went() {
    let shown = |old: &str, new: &str| {
        let line = |piece: planwright_core::approval::review::CommandPiece| match piece.sign {
            DiffSign::Kept => format!("  {}", piece.text),
            DiffSign::Removed => format!("- {}", piece.text),
            DiffSign::Added => format!("+ {}", piece.text),
        };
        pieces(old, new).into_iter().map(line).collect::<Vec<_>>()
    };
    assert_eq!(shown("a", "a && b"), ["  a", "+ && b"]);
    assert_eq!(shown("a || b", "a"), ["  a", "- || b"]);
    assert_eq!(shown("a -x", "a -y"), ["- a -x", "+ a -y"]);
    assert_eq!(shown("a\nb\nc", "a\nd\nc"), ["  a", "- b", "+ d", "  c"]);
    assert_eq!(shown("pytest", "pytest-lax"), ["- pytest", "+ pytest-lax"]);
}
