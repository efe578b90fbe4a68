//! What a plan record says, and the bytes that each change takes.

use planwright_core::agent::account::Usage;
use planwright_core::dialect::{Dialect, PlanEvent, SidecarEdit, detect, record};
use planwright_core::plan::draft::{Draft, Mark, StepDraft, Trace};
use planwright_core::plan::edit::{EditError, PlanEdit};
use planwright_core::plan::lifecycle::{PlanState, WaitReason};
use planwright_core::plan::verified::Contract;
use planwright_core::plan::view;
use planwright_core::run::event::{
    AttemptEnd, AttemptFinish, AttemptStart, Event, Judged, RunEvent, RunStart, StepEvent,
};
use planwright_core::run::judge::{ContractRun, Observation};
use planwright_core::run::mirror;
use planwright_core::run::receipt::{Blob, Provenance, Receipt};
use planwright_core::syntax::source::{Edit, Source};
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};

use super::{NOW, dialect, samples};

fn plan(text: &str) -> Source {
    Source::new(".rawko/plans/plan.yaml", text).written_in(dialect())
}

fn json(text: &str) -> Source {
    Source::new(".rawko/plans/plan.json", text).written_in(dialect())
}

fn made(source: &Source, change: &PlanEdit) -> Source {
    let edits = source.dialect().patch(source, change);
    source.edited(&edits.unwrap_or_else(|refusal| panic!("{change:?}: {refusal}\n{}", source.text())))
}

/// The lines that went, with a minus, and the lines that came, with a plus.
fn changed(before: &Source, after: &Source) -> Vec<String> {
    let lines = |source: &Source| source.text().lines().map(str::to_owned).collect::<Vec<_>>();
    let (old, new) = (lines(before), lines(after));
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[same..], &new[same..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let gone = old[..old.len() - tail].iter().map(|line| format!("-{line}"));
    gone.chain(new[..new.len() - tail].iter().map(|line| format!("+{line}"))).collect()
}

fn waits(draft: &Draft) -> Vec<Vec<usize>> {
    let graph = view::graph(draft);
    (0..draft.steps.len()).map(|step| graph.needs(step).to_vec()).collect()
}

// B-01, B-03, B-04, B-05: document B's example with all that it says; JSON says the same.
#[test]
fn the_example_of_the_document_is_read_with_all_its_content() {
    let [yaml, _, json, _] = &samples()[..] else { panic!("there are four samples") };
    let draft = yaml.draft();
    assert_eq!(draft.oddities.0, []);
    assert_eq!(draft.state.map(|state| state.value), Some(PlanState::Running));
    assert_eq!(
        draft.title.as_ref().map(|title| title.value.as_str()),
        Some("Implement user authentication with JWT")
    );
    let marks: Vec<Option<Mark>> = draft.steps.iter().map(StepDraft::mark).collect();
    assert_eq!(marks, [Some(Mark::Done), Some(Mark::Done), Some(Mark::Running), None, None]);
    assert_eq!(waits(&draft), [vec![], vec![0], vec![1], vec![2], vec![3]]);
    let login = &draft.steps[2];
    assert_eq!(login.title.value, "Implement login endpoint");
    let task = login.task.as_ref().map(|task| task.value.as_str());
    assert_eq!(task, Some("Create POST /auth/login endpoint that validates credentials and returns JWT"));
    assert_eq!(login.accept.len(), 4);
    assert_eq!(login.target.as_ref().map(|target| target.value.as_str()), Some("developer"));
    let trace = &draft.steps[1].trace.0;
    assert_eq!(trace.executed_by.as_deref(), Some("developer"));
    assert_eq!(trace.started_at.as_deref(), Some("2026-01-23T10:15:00Z"));
    assert_eq!(trace.completed_at.as_deref(), Some("2026-01-23T10:30:00Z"));
    assert_eq!(trace.output.as_deref(), Some("Created src/auth/middleware.ts with JWT validation"));
    assert_eq!(trace.affected_files.as_deref(), Some(&["src/auth/middleware.ts".to_owned()][..]));
    let context = draft.context.as_ref().map(|context| context.value.as_str());
    assert_eq!(
        context,
        Some("Constraints:\n- Use existing JWT library\n- Follow Express middleware pattern")
    );
    let twin = json.draft();
    assert_eq!(twin, draft);
    let traces = |draft: &Draft| draft.steps.iter().map(|step| step.trace.0.clone()).collect::<Vec<_>>();
    assert_eq!(traces(&twin), traces(&draft));
}

// B-06: the short sample of the document, whose steps lack most of their keys.
#[test]
fn partial_steps_are_read() {
    let draft = samples()[1].draft();
    assert_eq!(draft.oddities.0, []);
    let titles: Vec<&str> = draft.steps.iter().map(|step| step.title.value.as_str()).collect();
    assert_eq!(
        titles,
        [
            "Analyze existing codebase structure",
            "Implement authentication middleware",
            "Implement login endpoint"
        ]
    );
    let task = draft.steps[2].task.as_ref().map(|task| task.value.as_str());
    assert_eq!(task, Some("Implement login endpoint"), "without instructions the description is the task");
    let bare = plan("task: x\nsteps:\n- description: a\n-\n- b\n- {}\n").draft();
    assert_eq!(bare.steps.len(), 4, "whatever stands in the list is a step");
}

// B-10: document B would call its own example complete here, with two steps pending.
#[test]
fn completing_step_2_of_the_example_makes_step_3_current() {
    for source in [samples()[0].clone(), samples()[2].clone()] {
        let done = made(&source, &PlanEdit::Mark { step: 2, mark: Some(Mark::Done) });
        let touched = done.dialect().touched(&done, NOW);
        let key = |key: &str| touched.draft().frontmatter.value(key).map(|value| value.value.clone());
        assert_eq!(key("currentStepIndex").as_deref(), Some("3"));
        assert_eq!(key("status").as_deref(), Some("in_progress"));
        assert_eq!(key("updatedAt").as_deref(), Some(NOW));
    }
}

/// The status and the dependencies of every step.
type Steps<'a> = &'a [(&'a str, &'a str)];

// B-10: the whole plan is looked at, and only what is complete or was skipped lets others go on.
#[test]
fn the_current_step_is_the_first_that_can_begin() {
    let step = |index: usize, status: &str, needs: &str| {
        format!("- {{index: {index}, description: s{index}, status: {status}, dependsOn: {needs}}}\n")
    };
    let current = |plan_status: &str, steps: Steps<'_>| {
        let steps: String =
            steps.iter().enumerate().map(|(index, (status, needs))| step(index, status, needs)).collect();
        let source = plan(&format!("task: x\nstatus: {plan_status}\ncurrentStepIndex: 77\nsteps:\n{steps}"));
        let touched = source.dialect().touched(&source, NOW);
        touched.draft().frontmatter.value("currentStepIndex").map(|value| value.value.clone())
    };
    let cases: [(&str, Steps<'_>, &str); 8] = [
        ("draft", &[("pending", "[]"), ("pending", "[]")], "0"),
        ("in_progress", &[("pending", "[1]"), ("pending", "[]"), ("pending", "[]")], "1"),
        ("in_progress", &[("pending", "[1]"), ("complete", "[]"), ("pending", "[]")], "0"),
        ("in_progress", &[("skipped", "[]"), ("pending", "[0]")], "1"),
        ("in_progress", &[("pending", "[]"), ("in_progress", "[]")], "1"),
        ("replanning", &[("complete", "[]"), ("failed", "[]"), ("pending", "[]")], "1"),
        ("in_progress", &[("failed", "[]"), ("pending", "[0]")], "0"),
        ("complete", &[("complete", "[]"), ("complete", "[0]")], "2"),
    ];
    let by_name =
        plan("task: x\nsteps:\n- {description: a, status: complete}\n- {description: b, dependsOn: [a]}\n");
    assert!(by_name.dialect().touched(&by_name, NOW).text().contains("currentStepIndex: 1\n"));
    for (status, steps, expected) in cases {
        assert_eq!(current(status, steps).as_deref(), Some(expected), "{status} {steps:?}");
    }
}

// B-03: where a step depends on a later one, its order is not that of the list, and nothing is a circle.
#[test]
fn a_step_may_depend_on_a_later_one() {
    let draft =
        plan("task: x\nsteps:\n- {description: a}\n- {description: b, dependsOn: [2]}\n- {description: c}\n")
            .draft();
    assert_eq!(waits(&draft), [vec![], vec![2], vec![]]);
    let in_order =
        plan("task: x\nsteps:\n- {description: a}\n- {description: b}\n- {description: c, dependsOn: [0]}\n")
            .draft();
    assert_eq!(waits(&in_order), [vec![], vec![0], vec![0]], "without one, a step waits for all before it");
}

// B-09: what happened is written in its usual place, and nothing else moves.
#[test]
fn a_trace_takes_only_its_own_lines() {
    let [_, short, json, unusual] = &samples()[..] else { panic!("there are four samples") };
    let trace = Trace {
        executed_by: Some("claude".to_owned()),
        started_at: Some("2026-02-01T09:00:00Z".to_owned()),
        completed_at: Some(NOW.to_owned()),
        output: Some("two lines:\n- of it".to_owned()),
        error: None,
        affected_files: Some(vec!["src/a.ts".to_owned(), "it's #1".to_owned()]),
    };
    let after = made(short, &PlanEdit::Trace { step: 2, trace: trace.clone() });
    assert_eq!(
        changed(short, &after),
        [
            "+    executedBy: claude",
            "+    startedAt: \"2026-02-01T09:00:00Z\"",
            "+    completedAt: \"2026-11-16T10:00:00Z\"",
            "+    output: |-",
            "+      two lines:",
            "+      - of it",
            "+    affectedFiles:",
            "+      - src/a.ts",
            "+      - \"it's #1\"",
        ]
    );
    assert_eq!(after.draft().steps[2].trace.0, trace);
    let after = made(json, &PlanEdit::Trace { step: 4, trace: trace.clone() });
    assert_eq!(
        changed(json, &after),
        [
            "+      \"executedBy\": \"claude\",",
            "+      \"startedAt\": \"2026-02-01T09:00:00Z\",",
            "+      \"completedAt\": \"2026-11-16T10:00:00Z\",",
            "+      \"output\": \"two lines:\\n- of it\",",
            "+      \"affectedFiles\": [\"src/a.ts\", \"it's #1\"],",
        ]
    );
    assert_eq!(after.draft().steps[4].trace.0, trace);
    let after = made(unusual, &PlanEdit::Trace { step: 1, trace: trace.clone() });
    assert_eq!(after.draft().steps[1].trace.0, trace);
    assert_eq!(changed(unusual, &after).len(), 2, "a step on one line stays on one line");
    let again = made(&after, &PlanEdit::Trace { step: 1, trace });
    assert_eq!(again.text(), after.text(), "what is there is left alone");
}

// B-09: an error goes when it is over; the keys around it stay.
#[test]
fn an_error_is_written_and_taken_away() {
    for source in samples() {
        for step in 0..source.draft().steps.len() {
            let error = |text: &str| Trace { error: Some(text.to_owned()), ..Trace::default() };
            let failed = made(&source, &PlanEdit::Trace { step, trace: error("exit 1: no `x`\nat all\n") });
            let said = failed.draft().steps[step].trace.0.error.clone();
            assert_eq!(said.as_deref(), Some("exit 1: no `x`\nat all"));
            let files = Some(vec!["a".to_owned()]);
            let trace = Trace { affected_files: files.clone(), ..error("") };
            let over = made(&failed, &PlanEdit::Trace { step, trace });
            assert_eq!(over.draft().steps[step].trace.0.error, None, "{}", over.text());
            assert_eq!(over.draft().steps[step].trace.0.affected_files, files);
            let bare = made(&failed, &PlanEdit::Trace { step, trace: error("") });
            assert_eq!(bare.text(), source.text(), "every byte is back");
        }
    }
    let remarked = plan("task: x\nsteps: [{description: a, # why\n  error: b, status: failed}]\n");
    let trace = Trace { error: Some(String::new()), ..Trace::default() };
    let over = made(&remarked, &PlanEdit::Trace { step: 0, trace });
    assert_eq!(over.text(), "task: x\nsteps: [{description: a, # why\n  error: \"\", status: failed}]\n");
}

// B-09: whatever an agent says is read back as it was said, in every spelling, and cut at 10 KB.
#[test]
fn an_output_is_read_back_as_it_was_said() {
    let outputs = [
        "true",
        "12",
        "null",
        "# no comment",
        "a: b",
        "- x",
        "\u{feff}",
        "  indented\nlines",
        "tabs\t\n\tand \\ \"quotes\"",
        "trailing blank \nline",
        "\n\nfirst",
        "\u{7}bell\nand \u{2028} more",
        "emoji 👩‍👩‍👧\nñ",
        "---\n...\n",
        "a\r\nb",
        "{{ x }}\n%y",
        "x\n \ny",
    ];
    for source in samples() {
        for output in outputs {
            let step = source.draft().steps.len() - 1;
            let trace = Trace { output: Some(output.to_owned()), ..Trace::default() };
            let after = made(&source, &PlanEdit::Trace { step, trace });
            let said = after.draft().steps[step].trace.0.output.clone();
            assert_eq!(said.as_deref(), Some(output.trim_end_matches('\n')), "{}", after.text());
        }
        let long = "0123456789\n".repeat(2000);
        let trace = Trace { output: Some(long), ..Trace::default() };
        let after = made(&source, &PlanEdit::Trace { step: 0, trace });
        let said = after.draft().steps[0].trace.0.output.clone().unwrap_or_default();
        assert!(said.starts_with("[11760 bytes cut]\n") && said.len() < 10_300, "{said:.40}");
    }
}

// B-02, B-11: a failed step leaves a plan that is being replanned, in the document's own word and the author's quotes.
#[test]
fn a_state_is_written_in_the_words_and_quotes_of_the_file() {
    let [_, _, _, unusual] = &samples()[..] else { panic!("there are four samples") };
    let replanning = made(unusual, &PlanEdit::Become { state: PlanState::Waiting(WaitReason::Replanning) });
    assert_eq!(
        changed(unusual, &replanning),
        [
            "-status: 'draft'          # nobody has started",
            "+status: 'replanning'          # nobody has started"
        ]
    );
    let marked = made(unusual, &PlanEdit::Mark { step: 0, mark: Some(Mark::Skipped) });
    assert_eq!(
        changed(unusual, &marked),
        ["-  status: \"pending\" # the first one", "+  status: \"skipped\" # the first one"]
    );
    let marked = made(unusual, &PlanEdit::Mark { step: 3, mark: Some(Mark::Running) });
    assert_eq!(changed(unusual, &marked), ["+  status: in_progress"]);
    let stateless = json("{\"task\": \"x\", \"steps\": []}");
    let became = made(&stateless, &PlanEdit::Become { state: PlanState::Running });
    assert_eq!(became.text(), "{\"task\": \"x\", \"status\": \"in_progress\", \"steps\": []}");
}

// B-03: a dependency is an index, in the list that is there.
#[test]
fn a_need_is_written_as_an_index() {
    let [yaml, _, json, unusual] = &samples()[..] else { panic!("there are four samples") };
    let need = |step: usize, source: &Source, on: usize| {
        let on = planwright_core::plan::verified::ids(&source.draft()).swap_remove(on);
        made(source, &PlanEdit::Need { step, on })
    };
    assert_eq!(changed(yaml, &need(3, yaml, 0)), ["-    dependsOn: [1, 2]", "+    dependsOn: [1, 2, 0]"]);
    assert_eq!(changed(json, &need(4, json, 0)), ["-        3", "+        3,", "+        0"]);
    assert_eq!(changed(unusual, &need(0, unusual, 0)).len(), 2, "an empty list gets its first item");
    let listed = need(3, unusual, 0);
    assert_eq!(changed(unusual, &listed), ["+  dependsOn: [2, 0]"], "what was waited for is said now");
    let twice = plan(
        "task: x\nsteps:\n- description: a\n- description: b\n- description: c\n  dependsOn:\n  - 0 # a\nid: p\n",
    );
    assert_eq!(changed(&twice, &need(2, &twice, 1)), ["+  - 1"]);
    assert_eq!(need(2, &twice, 0).text(), twice.text());
}

// B-18: steps change places; indexes and dependencies follow, in YAML and JSON.
#[test]
fn a_step_that_moves_takes_its_index_along() {
    for source in [samples()[0].clone(), samples()[2].clone()] {
        let moved = made(&source, &PlanEdit::Move { step: 4, to: 3 });
        let draft = moved.draft();
        assert_eq!(draft.oddities.0, [], "{}", moved.text());
        assert_eq!(draft.steps[3].title.value, "Review and validate implementation");
        assert_eq!(waits(&draft)[3], [4], "it still waits for the tests");
    }
    let [_, _, _, unusual] = &samples()[..] else { panic!("there are four samples") };
    let moved = made(unusual, &PlanEdit::Move { step: 1, to: 0 });
    assert_eq!(moved.draft().steps[0].title.value, "Join them");
    assert!(
        moved.text().contains("- {index: 0, description: \"Join them\", status: pending, dependsOn: [1]")
    );
    let counted =
        plan("task: x\nsteps:\n- {index: 1, description: a}\n- {index: 2, description: b, dependsOn: [1]}\n");
    let renumbered = made(&counted, &PlanEdit::Renumber);
    assert_eq!(
        renumbered.text(),
        "task: x\nsteps:\n- {index: 0, description: a}\n- {index: 1, description: b, dependsOn: [0]}\n"
    );
}

// B-05: notes are kept in the metadata, wherever that is and if there is none.
#[test]
fn a_note_goes_into_the_metadata() {
    let note = PlanEdit::Note { text: "it's late: stop".to_owned() };
    for source in samples() {
        let noted = made(&source, &note);
        assert_eq!(noted.draft().notes.last().map(|note| note.value.as_str()), Some("it's late: stop"));
        let twice = made(&noted, &note);
        assert_eq!(twice.draft().notes.len(), source.draft().notes.len() + 2);
    }
    let [_, short, ..] = &samples()[..] else { panic!("there are four samples") };
    assert_eq!(
        changed(short, &made(short, &note)),
        ["+metadata:", "+  notes:", "+    - \"it's late: stop\""]
    );
}

// M-10: keys of the author are set, a new one comes last; those of the harness are not his to set.
#[test]
fn keys_are_set_renamed_and_refused() {
    let set = |key: &str, value: &str| PlanEdit::Set { key: key.to_owned(), value: value.to_owned() };
    for source in samples() {
        let made = made(&source, &set("createdBy", "12"));
        assert_eq!(made.draft().owner.0.map(|owner| owner.value).as_deref(), Some("12"));
        let refused = source.dialect().patch(&source, &set("version", "7"));
        assert_eq!(refused, Err(EditError::Owned { key: "version".to_owned() }));
        let expanded =
            source.dialect().patch(&source, &PlanEdit::Expand { step: 0, items: vec!["a".to_owned()] });
        assert!(expanded.is_err(), "a record has no templates");
    }
    let short = &samples()[1];
    assert_eq!(changed(short, &made(short, &set("team", "a, b"))), ["+team: \"a, b\""]);
    assert_eq!(
        changed(short, &made(short, &set("task", "Other"))),
        ["-task: \"Implement user authentication with JWT\"", "+task: \"Other\""]
    );
    let renamed = made(short, &PlanEdit::Rename { step: 1, id: "middleware".to_owned() });
    assert_eq!(changed(short, &renamed), ["+    id: middleware"]);
}

// M-10: no change takes a comment, a blank line or the quotes of what it does not change.
#[test]
fn comments_stay_whatever_is_changed() {
    let unusual = &samples()[3];
    let remarks = |source: &Source| source.text().matches('#').count();
    let id = planwright_core::plan::verified::ids(&unusual.draft()).swap_remove(0);
    let changes = [
        PlanEdit::Mark { step: 0, mark: Some(Mark::Done) },
        PlanEdit::Become { state: PlanState::Done },
        PlanEdit::Note { text: "x".to_owned() },
        PlanEdit::Rename { step: 2, id: "index".to_owned() },
        PlanEdit::Need { step: 3, on: id },
        PlanEdit::Move { step: 0, to: 1 },
        PlanEdit::Renumber,
    ];
    for change in changes {
        let after = made(unusual, &change);
        assert_eq!(remarks(&after), remarks(unusual), "{change:?}\n{}", after.text());
        for variant in [unusual.text().replace('\n', "\r\n"), format!("\u{feff}{}", unusual.text())] {
            let variant = unusual.with(variant);
            let after = made(&variant, &change);
            let is_crlf = variant.text().contains('\r');
            assert!(!is_crlf || !after.text().replace("\r\n", "").contains('\n'), "{change:?}");
        }
    }
}

// B-12: the next version keeps what is finished, opens what failed, and counts on from its base.
#[test]
fn a_plan_that_is_made_anew_keeps_what_is_finished() {
    let constraints = ["No new dependency".to_owned()];
    let discoveries = ["The user store is read-only".to_owned()];
    let replan = record::RecordReplan {
        failed: 2,
        error: "401 for\nvalid credentials",
        discoveries: &discoveries,
        constraints: &constraints,
        changes: "",
        reasoning: "the store has to be written to first",
        now: NOW,
    };
    for source in [samples()[0].clone(), samples()[2].clone()] {
        let failed = made(&source, &PlanEdit::Mark { step: 2, mark: Some(Mark::Failed) });
        let next = record::replanned(&failed, &replan).expect("it can be made anew");
        assert_eq!(next.id, "plan-20260123-auth-feature-v2");
        let successor = source.with(next.text);
        let draft = successor.draft();
        assert_eq!(draft.oddities.0, [], "{}", successor.text());
        let key = |draft: &Draft, key: &str| {
            draft.frontmatter.value(key).map(|value| value.value.clone()).unwrap_or_default()
        };
        assert_eq!(key(&draft, "id"), next.id);
        assert_eq!(key(&draft, "version"), "2");
        assert_eq!(key(&draft, "previousPlanId"), "plan-20260123-auth-feature");
        assert_eq!(key(&draft, "currentStepIndex"), "2");
        assert_eq!((key(&draft, "createdAt"), key(&draft, "updatedAt")), (NOW.to_owned(), NOW.to_owned()));
        assert_eq!(draft.state.map(|state| state.value), Some(PlanState::Draft), "it needs another approval");
        let marks: Vec<Option<Mark>> = draft.steps.iter().map(StepDraft::mark).collect();
        assert_eq!(marks, [Some(Mark::Done), Some(Mark::Done), None, None, None]);
        assert_eq!(draft.steps[1].trace.0, source.draft().steps[1].trace.0);
        assert_eq!(draft.steps[2].trace.0, Trace::default());
        assert!(draft.context.is_some_and(|context| context.value.ends_with("\n- No new dependency")));
        let notes: Vec<&str> = draft.notes.iter().map(|note| note.value.as_str()).collect();
        assert_eq!(
            notes,
            [
                "plan-20260123-auth-feature: step 3 (Implement login endpoint) failed: 401 for valid credentials",
                "discovery: The user store is read-only",
                "reasoning: the store has to be written to first",
            ]
        );
        let third = record::replanned(&successor, &replan).expect("it can be made anew");
        assert_eq!(third.id, "plan-20260123-auth-feature-v3", "never -v2-v3");
        assert_eq!(key(&source.with(third.text).draft(), "previousPlanId"), next.id);
        let nowhere = record::RecordReplan { failed: 9, ..replan };
        assert_eq!(record::replanned(&source, &nowhere), Err(EditError::NoStep { step: 9, count: 5 }));
    }
}

// B-16: exactly the names and fields of the document.
#[test]
fn what_happens_is_told_in_the_events_of_the_document() {
    let source = plan(
        "id: p\ntask: \"a\\tb\"\nversion: 1\nsteps:\n- {index: 0, description: first, done: no, n: 1.5}\n- description: second\n  dependsOn: [0]\n",
    );
    let (step, attempt) = ("second".to_owned(), 1);
    let blob = || Blob("00".to_owned());
    let finished = |code: i32| {
        let run = ContractRun::of(&Contract::Manual, Observation::Exited(code));
        let receipt = Receipt::new(&run, None, Provenance::default());
        Event::Step {
            step: step.clone(),
            event: StepEvent::Judged { of: Judged::attempt(attempt), receipt, broken_by: None },
        }
    };
    let line = |event: &Event, said: &str| mirror::event_line(&source, event, said);
    let started = Event::Step {
        step: step.clone(),
        event: StepEvent::Started(AttemptStart { attempt, agent: "a".to_owned(), prompt: blob() }),
    };
    assert_eq!(line(&started, "").as_deref(), Some(r#"{"type":"STEP_STARTED","stepIndex":1}"#));
    let completed = r#"{"type":"STEP_COMPLETED","stepIndex":1,"output":"ok\n\"it\""}"#;
    assert_eq!(line(&finished(0), "ok\n\"it\"").as_deref(), Some(completed));
    let failed = r#"{"type":"STEP_FAILED","stepIndex":1,"error":"exit 1"}"#;
    assert_eq!(line(&finished(1), "exit 1").as_deref(), Some(failed));
    let ended = |end| {
        let (step, changed) = (step.clone(), Vec::new());
        Event::Step {
            step,
            event: StepEvent::Finished(AttemptFinish {
                attempt,
                end,
                output: None,
                usage: Usage::default(),
                changed,
                account: planwright_core::agent::account::Account::default(),
            }),
        }
    };
    assert_eq!(mirror::event_name(&ended(AttemptEnd::TimedOut(60))), Some("STEP_FAILED"));
    assert_eq!(line(&ended(AttemptEnd::Exited(0)), ""), None, "only the contract tells");
    assert_eq!(line(&Event::Run(RunEvent::Resumed { by: "ada".to_owned() }), ""), None);
    let plan_json = r#"{"id":"p","task":"a\tb","version":1,"steps":[{"index":0,"description":"first","done":"no","n":1.5},{"description":"second","dependsOn":[0]}]}"#;
    let begun = Event::Run(RunEvent::Started(RunStart {
        digest: String::new(),
        approved_by: "ada".to_owned(),
        approved_at: "rev".to_owned(),
        base: None,
        agents: planwright_core::run::event::AgentCommands::new(),
        sealed: std::collections::BTreeMap::new(),
        programs: std::collections::BTreeMap::new(),
        approvals: Vec::new(),
        note: String::new(),
    }));
    assert_eq!(line(&begun, ""), Some(format!(r#"{{"type":"PLAN_CREATED","plan":{plan_json}}}"#)));
    assert_eq!(
        record::replanned_line(&source),
        format!(r#"{{"type":"PLAN_REPLANNED","newPlan":{plan_json}}}"#)
    );
    let unknown = Event::Step {
        step: "none".to_owned(),
        event: StepEvent::Started(AttemptStart { attempt, agent: "a".to_owned(), prompt: blob() }),
    };
    assert_eq!(line(&unknown, ""), None);
}

// B-07: the pointer is read, and one that points nowhere says so.
#[test]
fn the_pointer_names_a_plan_or_says_why_not() {
    let read = record::pointer(
        "# .rawko/current-task.yaml\ntask: \"Implement user authentication\"\nplanId: \"plan-20260123-auth-feature\"\nstatus: in_progress\n",
    );
    let pointer = record::TaskPointer {
        task: "Implement user authentication".to_owned(),
        plan_id: "plan-20260123-auth-feature".to_owned(),
        status: "in_progress".to_owned(),
    };
    assert_eq!(pointer.files()[0], "plans/plan-20260123-auth-feature.yaml");
    assert_eq!(read, Ok(pointer));
    let faults = [
        ("", "`planId` is missing"),
        ("task: x\nplanId:\n", "`planId` is missing"),
        ("- planId: x\n", "`planId` is missing"),
        ("planId: ../../etc/passwd\n", "invalid plan name `../../etc/passwd`"),
        ("task: a\nplanId: \"x\n", "line 3: "),
        ("planId: x\nplanId: y\n", "line 2: duplicate key `planId`"),
    ];
    for (text, why) in faults {
        let fault = record::pointer(text).expect_err(text).to_string();
        assert!(fault.starts_with(why), "{fault}");
    }
}

// B-07: the pointer follows the plan that is carried out, and no other.
#[test]
fn the_pointer_follows_the_plan_that_runs() {
    let source = &samples()[0];
    let beside = |source: &Source, state: PlanState| {
        source.dialect().beside(source, &source.draft(), &PlanEvent::Became { state, at: NOW })
    };
    let values = [
        ("task", "Implement user authentication with JWT"),
        ("planId", "plan-20260123-auth-feature"),
        ("status", "in_progress"),
    ];
    let values = values.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    assert_eq!(
        beside(source, PlanState::Running),
        [SidecarEdit::Set { path: "../current-task.yaml".to_owned(), values }]
    );
    assert_eq!(beside(source, PlanState::Proposed), [], "a plan that is not begun is nobody's current one");
    let elsewhere = source.clone().at("plans/auth.yaml");
    assert_eq!(beside(&elsewhere, PlanState::Running), [], "no pointer outside the folder of the document");
}

// M-10: a record is told by its place or its keys; what other tools keep is none.
#[test]
fn files_of_other_tools_are_no_records() {
    let named = |place: &str, text: &str| detect(place, text).ok().map(|found: _| found.dialect.name);
    let record = Some("record");
    assert_eq!(named(".rawko/plans/x.yaml", "broken: ["), record, "the place is enough");
    assert_eq!(named("/people/ada/.rawko/plans/x.json", "{}"), record);
    assert_eq!(named("x.json", "{\"task\": \"a\", \"steps\": [], \"currentStepIndex\": 0}"), record);
    assert_eq!(named("x.yml", "task: a\nstatus: replanning\nsteps:\n- description: b\n"), record);
    let long = format!("task: a\ncurrentStepIndex: 0\nmetadata:\n  tags:\n{}", "  - long\n".repeat(900));
    assert_eq!(named("x.yml", &long), record, "the steps may begin far behind");
    let others = [
        (".rawko/current-task.yaml", "task: a\nplanId: b\nstatus: in_progress\n"),
        (".rawko/plans/README.md", "# Plans\n"),
        (".rawko/plans/old/x.md", "task: a\nsteps: []\ncurrentStepIndex: 0\n"),
        (
            "tasks.json",
            "{\"master\": {\"tasks\": [{\"id\": 1, \"title\": \"a\", \"status\": \"pending\", \"subtasks\": []}]}}",
        ),
        ("tasks.json", "{\"tasks\": [{\"id\": 1, \"status\": \"done\"}]}"),
        ("ci.yml", "name: ci\njobs:\n  build:\n    steps:\n    - run: make\n"),
        ("action.yml", "name: a\nruns:\n  using: composite\n  steps: []\n"),
        ("x.yaml", "task: a\nsteps: []\n"),
        ("x.yaml", "task: a\nsteps: []\nstatus: todo\n"),
        ("x.md", "---\ntask: a\nstatus: draft\nsteps: []\n---\n# A\n"),
        ("x.yaml", ""),
        ("prd.json", "{\"project\": \"a\", \"userStories\": []}"),
    ];
    for (place, text) in others {
        assert_ne!(named(place, text), record, "{place}: {text}");
    }
    let native = "---\ntype: plan\nstatus: draft\nowner: a\n---\n# T\n\n### 1. A\n**task:** x\n";
    assert_eq!(named(".rawko/plans/x.md", native), Some("native"));
}

// B-19: a plan of 10 MB and 10,000 steps is read, and a text that would stand for millions of values is not.
#[test]
fn large_plans_are_read_and_bombs_are_not() {
    let step = |index: usize| {
        let text = "      Some text that the agent is told, long enough to matter.\n".repeat(14);
        format!(
            "  - index: {index}\n    description: step {index}\n    status: complete\n    instructions: |\n{text}"
        )
    };
    let steps: String = (0..10_000).map(step).collect();
    let large =
        plan(&format!("task: x\nstatus: in_progress\ncurrentStepIndex: 0\nupdatedAt: x\nsteps:\n{steps}"));
    assert!(large.text().len() > 9_000_000);
    let draft = large.draft();
    assert_eq!((draft.steps.len(), draft.oddities.0.len()), (10_000, 0));
    let marked = made(&large, &PlanEdit::Mark { step: 9_999, mark: None });
    assert_eq!(changed(&large, &marked), ["-    status: complete", "+    status: pending"]);
    let mut bomb = "task: x\na: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for (from, to) in "abcdefgh".chars().zip("bcdefghi".chars()) {
        bomb.push_str(&format!("{to}: &{to} [*{from}, *{from}, *{from}, *{from}, *{from}, *{from}]\n"));
    }
    bomb.push_str("steps:\n- description: a\n");
    let draft = plan(&bomb).draft();
    assert_eq!(draft.steps.len(), 1);
    assert!(draft.oddities.0.len() > 50, "each alias is named");
    let endless = plan(&format!("task: x\nsteps: [{}", "[".repeat(100_000))).draft();
    assert_eq!(endless.oddities.0.len(), 1, "one complaint: {:?}", endless.oddities.0);
    let many = plan(&format!("task: x\nsteps:\n{}", "- a\n".repeat(1_000_100))).draft();
    assert!(many.steps.len() == 20_000, "it stops somewhere");
}

// M-10: a repair writes what the file's own language asks for, and a text with escapes is no cause to fall over.
#[test]
fn a_repair_of_json_is_json() {
    let source = json(concat!(
        "{\"task\": \"x\", \"status\": \"draff\", \"steps\": [{\"index\": 0, \"description\": \"a\", \"staus\": \"pending\",\n",
        "\"suggestedAgent\": \"codr\", \"reads\": [\"a.md\", \"file:\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\\P\"]}]}"
    ));
    let draft = source.draft();
    let facts = Facts { agents: ["coder".to_owned()].into(), ..Facts::default() };
    let checked = verify(&Study::of(&source, &draft), &facts, &VerifyLimits::default());
    let fixes = checked.diagnostics.iter().filter_map(|found| found.fix.as_ref());
    let edits: Vec<Edit> = fixes.flat_map(|fix| fix.edits.clone()).collect();
    let repaired = source.edited(&edits);
    for said in ["\"status\": \"draft\"", "\"status\": \"pending\"", "\"coder\"", "\"file:a.md\""] {
        assert!(repaired.text().contains(said), "{said} is not in {}", repaired.text());
    }
}

/// The twin of [`Dialect::patch`]'s guard: a file that can't be read as a whole is not written to.
#[test]
fn what_was_not_read_to_its_end_is_left_alone() {
    let broken = plan("task: x\nstatus: draft\nsteps:\n- description: a\n- description: \"b\n");
    assert_eq!(broken.draft().steps.len(), 2);
    for change in
        [PlanEdit::Mark { step: 0, mark: Some(Mark::Done) }, PlanEdit::Become { state: PlanState::Done }]
    {
        assert!(Dialect::patch(broken.dialect(), &broken, &change).is_err());
    }
    assert_eq!(broken.dialect().touched(&broken, NOW).text(), broken.text());
    let odd = plan("? task\n");
    assert_eq!(odd.dialect().touched(&odd, NOW).text(), odd.text(), "a line behind it would join it");
}
