//! Where a plan stands by what was said about it: every move from every state, allowed or refused, and what each says.

use std::collections::BTreeMap;

use planwright_core::approval::ledger::{ApprovalSubject, LedgerEntry};
use planwright_core::approval::status::{
    ApprovalStatus, IllegalEntry, REJECTIONS_MAX, RecordedEntry, undoable,
};
use planwright_core::dialect;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::{PlanState, WaitReason};
use planwright_core::run::event::RunOutcome;
use planwright_core::run::receipt::Blob;

fn ada() -> Identity {
    Identity::person("ada")
}

fn bob() -> Identity {
    Identity::person("bob")
}

fn robot() -> Identity {
    Identity::agent("claude-code")
}

fn subject(digest: &str) -> ApprovalSubject {
    ApprovalSubject { digest: digest.to_owned(), ..ApprovalSubject::default() }
}

fn proposed(revision: u32, digest: &str, by: Identity) -> LedgerEntry {
    LedgerEntry::Proposed {
        revision,
        subject: subject(digest),
        by,
        text: Blob(digest.to_owned()),
        dialect: "native".to_owned(),
        warnings: 0,
        red: Vec::new(),
        is_handed_in: false,
    }
}

fn approved(revision: u32, digest: &str, by: Identity, needed: u32) -> LedgerEntry {
    LedgerEntry::Approved {
        revision,
        subject: subject(digest),
        by,
        way: "rev".to_owned(),
        note: String::new(),
        rule: "a rule".to_owned(),
        needed,
        policy: String::new(),
        until_ms: None,
        signature: None,
    }
}

fn rejected(revision: u32, by: Identity) -> LedgerEntry {
    LedgerEntry::Rejected { revision, digest: "d".to_owned(), by, feedback: "no".to_owned() }
}

fn started(run: i64) -> LedgerEntry {
    LedgerEntry::Started { run, by: ada() }
}

fn ended(run: i64, outcome: RunOutcome) -> LedgerEntry {
    LedgerEntry::Ended { run, outcome, is_revised: false }
}

fn cancelled(by: Identity) -> LedgerEntry {
    LedgerEntry::Cancelled { by, why: "not wanted".to_owned() }
}

fn reopened(by: Identity) -> LedgerEntry {
    LedgerEntry::Reopened { by, why: "again".to_owned() }
}

fn lapsed() -> LedgerEntry {
    LedgerEntry::Lapsed { moved: vec!["main moved".to_owned()] }
}

/// A ledger of these entries, each a second after the one before it.
fn ledger(entries: &[LedgerEntry]) -> Vec<RecordedEntry> {
    let said = entries.iter().zip(1_u64..);
    said.map(|(entry, seq)| RecordedEntry { seq, at_ms: seq * 1000, entry: entry.clone() }).collect()
}

fn standing(entries: &[LedgerEntry]) -> ApprovalStatus {
    ApprovalStatus::of(&ledger(entries)).unwrap_or_else(|(seq, unfit)| panic!("entry {seq}: {unfit}"))
}

/// A ledger that leads to each state.
fn ways_to() -> Vec<(&'static str, PlanState, Vec<LedgerEntry>)> {
    let yes = [proposed(1, "d1", robot()), approved(1, "d1", ada(), 1)];
    let run = [yes.as_slice(), &[started(7)]].concat();
    let ends = |outcome| [run.as_slice(), &[ended(7, outcome)]].concat();
    let mut spent = Vec::new();
    for revision in 1..=REJECTIONS_MAX {
        spent.extend([proposed(revision, &format!("d{revision}"), robot()), rejected(revision, ada())]);
    }
    vec![
        ("draft", PlanState::Draft, Vec::new()),
        ("proposed", PlanState::Proposed, yes[..1].to_vec()),
        ("approved", PlanState::Approved, yes.to_vec()),
        ("running", PlanState::Running, run.clone()),
        ("lapsed", PlanState::Waiting(WaitReason::Lapsed), [yes.as_slice(), &[lapsed()]].concat()),
        ("done", PlanState::Done, ends(RunOutcome::Done)),
        ("failed", PlanState::Failed, ends(RunOutcome::Failed)),
        ("rejected", PlanState::Rejected, vec![proposed(1, "d1", robot()), rejected(1, ada())]),
        ("spent", PlanState::Waiting(WaitReason::RevisionsSpent), spent),
        ("cancelled", PlanState::Cancelled, vec![proposed(1, "d1", robot()), cancelled(ada())]),
    ]
}

/// What somebody may try, by name.
fn moves(newest: u32) -> Vec<(&'static str, LedgerEntry)> {
    let (now, digest) = (newest.max(1), format!("d{}", newest.max(1)));
    vec![
        ("propose the same", proposed(now, &digest, robot())),
        ("propose another", proposed(newest + 1, "other", robot())),
        ("approve", approved(now, &digest, bob(), 1)),
        ("an agent approves", approved(now, &digest, robot(), 1)),
        ("a rule approves", approved(now, &digest, Identity::policy("small"), 1)),
        ("reject", rejected(now, ada())),
        ("an agent rejects", rejected(now, robot())),
        ("reopen", reopened(ada())),
        ("an agent reopens", reopened(robot())),
        ("cancel", cancelled(ada())),
        ("an agent cancels", cancelled(robot())),
        ("age cancels", cancelled(Identity::age())),
        ("lapse", lapsed()),
        ("start", started(8)),
        ("end", ended(7, RunOutcome::Done)),
    ]
}

// A-17, A-18, A-19, C-03: every move from every state; + is taken, . is refused.
const MATRIX: &str = "
                    draft proposed approved running lapsed done failed rejected spent cancelled
propose the same    +     +        +        .       +      +    +      .        .     +
propose another     +     +        +        .       +      +    +      +        .     +
approve             .     +        .        .       +      .    .      .        .     .
an agent approves   .     .        .        .       .      .    .      .        .     .
a rule approves     .     +        .        .       +      .    .      .        .     .
reject              .     +        .        .       .      .    .      .        .     .
an agent rejects    .     .        .        .       .      .    .      .        .     .
reopen              .     +        +        .       +      +    +      +        +     +
an agent reopens    .     +        +        .       +      +    +      +        .     +
cancel              +     +        +        +       +      .    .      +        +     .
an agent cancels    .     .        .        .       .      .    .      .        .     .
age cancels         +     +        +        +       +      .    .      +        +     .
lapse               .     .        +        +       .      .    .      .        .     .
start               .     .        +        .       .      .    +      .        .     .
end                 .     .        .        +       .      .    .      .        .     .
";

#[test]
fn every_move_from_every_state_is_in_the_matrix() {
    let ways = ways_to();
    let mut lines = MATRIX.trim_matches('\n').lines();
    let names: Vec<&str> = lines.next().expect("a head").split_whitespace().collect();
    assert_eq!(names, ways.iter().map(|(name, ..)| *name).collect::<Vec<_>>());
    let expected: BTreeMap<&str, Vec<&str>> =
        lines.map(|line| (line[..20].trim_end(), line[20..].split_whitespace().collect())).collect();
    let mut seen = 0;
    for (place, (name, state, entries)) in ways.iter().enumerate() {
        let before = standing(entries);
        assert_eq!(before.state(None), *state, "{name}");
        for (what, entry) in moves(before.newest().map_or(0, |newest| newest.number)) {
            let said = RecordedEntry { seq: 99, at_ms: 99_000, entry };
            let taken = before.clone().say(&said);
            let sign = if taken.is_ok() { "+" } else { "." };
            assert_eq!(sign, expected[what][place], "{what}, from {name}: {taken:?}");
            if let Err(unfit) = taken {
                let words = unfit.to_string();
                assert!(!words.is_empty());
                // Whoever is refused by the table hears what it has.
                if let IllegalEntry::Way(forbidden) = unfit {
                    assert!(words.contains("allowed: "), "{words}");
                    assert!(!forbidden.allowed.is_empty());
                }
            }
            seen += 1;
        }
    }
    assert_eq!(seen, 150);
}

/// Every pair of words of a dialect: `+` one move of the table, `2` by way of one state more, `.` refused.
fn matrix_of(dialect: &str, words: &[&str]) -> String {
    let dialect = dialect::named(dialect).expect("a dialect");
    let state = |word: &str| dialect.state(word).unwrap_or_else(|| panic!("{word} is a state"));
    let mut text = String::new();
    for from in words {
        let signs = words.iter().map(|to| {
            let (from, to) = (state(from), state(to));
            let by_way = || PlanState::all().any(|middle| from.to(middle).is_ok() && middle.to(to).is_ok());
            match from.to(to) {
                Ok(_) => "+",
                Err(forbidden) => {
                    assert!(forbidden.to_string().contains("allowed: "));
                    if from != to && by_way() { "2" } else { "." }
                }
            }
        });
        text.push_str(&format!("{from:<12} {}\n", signs.collect::<Vec<_>>().join(" ")));
    }
    text
}

// A-17: the table of document A. "Any to draft" of a plan that is being run goes by way of the end of its run.
#[test]
fn the_matrix_of_document_a() {
    let words = ["draft", "verified", "approved", "in-progress", "done", "failed"];
    insta::assert_snapshot!(matrix_of("native", &words), @r"
    draft        . + 2 . . .
    verified     + . + 2 . .
    approved     + 2 . + 2 2
    in-progress  2 . 2 . + +
    done         + 2 . . . .
    failed       + 2 . + 2 .
    ");
}

// C-03: the drawn edges, and none that is not.
#[test]
fn the_matrix_of_document_c() {
    let words = [
        "proposed",
        "approved",
        "executing",
        "completed",
        "failed",
        "rejected",
        "cancelled",
        "stalled",
        "needs_review",
    ];
    insta::assert_snapshot!(matrix_of("proposal", &words), @r"
    proposed     . + 2 . . + + . 2
    approved     2 . + 2 2 . + 2 .
    executing    . 2 . + + . + + .
    completed    2 . . . . . 2 . .
    failed       2 . + 2 . . 2 2 .
    rejected     2 . . . . . + . +
    cancelled    2 . . . . . . . .
    stalled      2 . + 2 + . + . .
    needs_review 2 . . . . . + . .
    ");
}

// C-12: the third rejection waits for a person; only a person opens the plan again, and then it counts from the beginning.
#[test]
fn the_third_rejection_waits_for_a_person() {
    let (_, _, mut entries) = ways_to().into_iter().find(|(name, ..)| *name == "spent").expect("a way");
    let spent = standing(&entries);
    assert_eq!(spent.rejections.len(), 3, "all feedback is kept");
    entries.push(reopened(robot()));
    let (_, unfit) = ApprovalStatus::of(&ledger(&entries)).expect_err("an agent may not");
    assert!(unfit.to_string().contains("only the person may"), "{unfit}");
    entries.pop();
    entries.extend([reopened(ada()), proposed(4, "d4", robot()), rejected(4, ada())]);
    let again = standing(&entries);
    assert_eq!((again.state(None), again.rejected, again.rejections.len()), (PlanState::Rejected, 1, 4));
}

// N of M: as many different people as are needed, and nobody twice.
#[test]
fn as_many_people_as_are_needed() {
    let first = [proposed(1, "d1", robot()), approved(1, "d1", ada(), 2)];
    let half = standing(&first);
    assert_eq!(half.state(None), PlanState::Proposed);
    assert!(half.approved(0).is_none());
    let twice = [first.as_slice(), &[approved(1, "d1", ada(), 2)]].concat();
    let (_, unfit) = ApprovalStatus::of(&ledger(&twice)).expect_err("the same person");
    assert_eq!(unfit, IllegalEntry::Twice(ada()));
    let both = standing(&[first.as_slice(), &[approved(1, "d1", bob(), 2)]].concat());
    assert_eq!(both.state(None), PlanState::Approved);
    assert_eq!(both.approved(0).map(<[_]>::len), Some(2));
}

#[test]
fn an_approval_holds_no_longer_than_it_says() {
    let mut yes = approved(1, "d1", ada(), 1);
    if let LedgerEntry::Approved { until_ms, .. } = &mut yes {
        *until_ms = Some(5000);
    }
    let standing = standing(&[proposed(1, "d1", robot()), yes]);
    assert!(standing.approved(4999).is_some());
    assert!(standing.approved(5000).is_none());
}

// C-11: an agent takes back only what an agent proposed, while no person has decided about it.
#[test]
fn an_agent_takes_back_only_what_is_its_own() {
    let may = |before: &[LedgerEntry], entry: LedgerEntry| standing(before).may_be_said(&entry).is_ok();
    let own = proposed(1, "d1", robot());
    let theirs = proposed(1, "d1", ada());
    let next = || proposed(2, "d2", robot());
    let cases = [
        (vec![own.clone()], true, true),
        (vec![theirs.clone()], false, true),
        (vec![own.clone(), approved(1, "d1", ada(), 2)], false, false),
        (vec![own.clone(), approved(1, "d1", ada(), 1)], false, false),
        (vec![own.clone(), rejected(1, ada())], false, true),
    ];
    for (before, reopen, propose) in cases {
        assert_eq!(may(&before, reopened(robot())), reopen, "{before:?}");
        assert_eq!(may(&before, next()), propose, "{before:?}");
        assert!(may(&before, reopened(ada())) && may(&before, proposed(2, "d2", ada())), "{before:?}");
    }
}

// A-17: what is over is reopened, in so many words, before anybody proposes it. Ledgers of 0.1 that went on without still fold.
#[test]
fn what_is_over_is_reopened_before_it_is_proposed() {
    let yes = [proposed(1, "d1", robot()), approved(1, "d1", ada(), 1), started(1)];
    let over = |outcome| [yes.as_slice(), &[ended(1, outcome)]].concat();
    let cases = [
        (over(RunOutcome::Done), "from done to proposed; allowed: draft (by the planner)"),
        (
            over(RunOutcome::Failed),
            "from failed to proposed; allowed: draft (by the planner), running (by the person)",
        ),
        (
            vec![proposed(1, "d1", robot()), cancelled(ada())],
            "from cancelled to proposed; allowed: draft (by the planner)",
        ),
    ];
    for (before, said) in cases {
        for by in [ada(), robot()] {
            let refused = standing(&before).may_be_said(&proposed(2, "d2", by)).expect_err("it is over");
            assert!(refused.to_string().ends_with(said), "{refused}");
        }
        let reopened = [before.as_slice(), &[reopened(ada())]].concat();
        assert!(standing(&reopened).may_be_said(&proposed(2, "d2", ada())).is_ok());
        let earlier = [before.as_slice(), &[proposed(2, "d2", ada())]].concat();
        assert_eq!(standing(&earlier).state(None), PlanState::Proposed);
    }
}

// M-17: a plan whose contracts no longer hold is not done, whatever its ledger says of how the run ended.
#[test]
fn what_no_longer_holds_is_not_done() {
    let yes =
        [proposed(1, "d1", robot()), approved(1, "d1", ada(), 1), started(1), ended(1, RunOutcome::Done)];
    assert_eq!(standing(&yes).state(Some(PlanState::Done)), PlanState::Done);
    assert_eq!(standing(&yes).state(Some(PlanState::Failed)), PlanState::Failed);
    let taken_back = [yes.as_slice(), &[reopened(ada())]].concat();
    assert_eq!(standing(&taken_back).state(Some(PlanState::Failed)), PlanState::Draft);
}

// M-06: a new revision voids what was said about the one before; another base of the same text does, too.
#[test]
fn a_new_proposal_voids_the_approvals() {
    let yes = [proposed(1, "d1", robot()), approved(1, "d1", ada(), 1)];
    for again in [proposed(2, "d2", robot()), proposed(1, "d1", robot())] {
        let standing = standing(&[yes.as_slice(), &[again]].concat());
        assert_eq!(standing.state(None), PlanState::Proposed);
        assert!(standing.approvals.is_empty());
    }
    let skipped = [yes.as_slice(), &[proposed(3, "d3", robot())]].concat();
    assert!(matches!(
        ApprovalStatus::of(&ledger(&skipped)),
        Err((3, IllegalEntry::Revision { said: 3, newest: 1 }))
    ));
}

// M-14: what is taken back is as if it had never been said; only one's own, only the last, only while nobody acted on it.
#[test]
fn a_decision_is_taken_back_while_nobody_acted_on_it() {
    let yes = [proposed(1, "d1", robot()), approved(1, "d1", ada(), 1)];
    let said = ledger(&yes);
    assert_eq!(undoable(&said, &ada()).expect("her own").seq, 2);
    let refusals = [
        (yes.to_vec(), bob(), "by ada"),
        ([yes.as_slice(), &[started(7)]].concat(), ada(), "run 7 has started"),
        ([yes.as_slice(), &[lapsed()]].concat(), ada(), "lapsed"),
        (vec![proposed(1, "d1", ada())], ada(), "proposed a revision"),
        (Vec::new(), ada(), "no decision was made"),
    ];
    for (entries, who, why) in refusals {
        let unfit = undoable(&ledger(&entries), &who).expect_err("refused").to_string();
        assert!(unfit.contains(why), "{unfit}");
    }
    let undone = [yes.as_slice(), &[LedgerEntry::Undone { seq: 2, by: ada() }]].concat();
    let back = standing(&undone);
    assert_eq!(back.state(None), PlanState::Proposed);
    assert!(back.approvals.is_empty());
    // What was taken back can't be taken back again; the proposal is nobody's decision.
    assert!(undoable(&ledger(&undone), &ada()).is_err());
    let again = standing(&[undone.as_slice(), &[approved(1, "d1", ada(), 1)]].concat());
    assert_eq!(again.state(None), PlanState::Approved);
}

// P-18: a remark names its step, so it stays with it wherever the step goes; it is answered once.
#[test]
fn a_remark_is_open_until_somebody_answers_it() {
    let comment = |comment: u32, step: &str| LedgerEntry::Commented {
        comment,
        revision: 1,
        step: Some(step.to_owned()),
        by: ada(),
        text: "why?".to_owned(),
    };
    let answer = LedgerEntry::Answered { comment: 1, by: robot(), text: "because".to_owned() };
    let entries = [proposed(1, "d1", robot()), comment(1, "fix"), comment(2, "lint"), answer.clone()];
    let said = standing(&entries);
    assert_eq!(said.comments[0].answer, Some((robot(), "because".to_owned())));
    assert_eq!((said.comments[1].answer.clone(), said.comments[1].step.as_deref()), (None, Some("lint")));
    let twice = [entries.as_slice(), &[answer]].concat();
    assert!(matches!(ApprovalStatus::of(&ledger(&twice)), Err((5, IllegalEntry::Comment(1)))));
}
