//! Proposals for the suite: document C's own example, one that is spelled in odd ways, and one that says everything. And what
//! holds for proposals alone: steps and their tools, states, versions, sections, sessions.

use planwright_core::dialect::proposal::{
    CONTEXT_BYTES_MAX, ProposalConfig, SessionOutcome, artifacts, checkpoints, config, context_bytes, id,
    is_id, operation, overflow, section, sections, summarise, version,
};
use planwright_core::dialect::{Dialect, NATIVE, NewPlan, PlanEvent, SidecarEdit, detect, named};
use planwright_core::plan::draft::{Draft, Mark};
use planwright_core::plan::edit::{EditError, PlanEdit};
use planwright_core::plan::lifecycle::{PlanState, WaitReason};
use planwright_core::syntax::source::Source;
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};

#[path = "proposal/corpus.rs"]
mod corpus;

const NOW: &str = "2026-11-16T10:00:00Z";
const DOCUMENT: &str = include_str!("../proposal/PLAN-a1b2c3d4.md");

fn dialect() -> &'static Dialect {
    named("proposal").expect("it is in the table")
}

fn proposal(text: impl Into<String>) -> Source {
    Source::new(".pi/plans/PLAN-a1b2c3d4.md", text).written_in(dialect())
}

/// A proposal with nothing but these lines below `## Steps`.
fn with_steps(lines: &str) -> Source {
    proposal(format!(
        "---\nid: PLAN-a1b2c3d4\ntitle: \"T\"\nstatus: proposed\nversion: 1\n---\n\n## Steps\n{lines}"
    ))
}

/// Plans as their authors keep them.
pub(crate) fn samples() -> Vec<Source> {
    [
        (".pi/plans/PLAN-a1b2c3d4.md", DOCUMENT),
        (".pi/plans/PLAN-0ddc0de5.md", include_str!("../proposal/PLAN-0ddc0de5.md")),
        (".pi/plans/PLAN-e5f6a7b8.md", include_str!("../proposal/PLAN-e5f6a7b8.md")),
    ]
    .map(|(name, text)| Source::new(name, text).written_in(dialect()))
    .into()
}

fn titles(draft: &Draft) -> Vec<&str> {
    draft.steps.iter().map(|step| step.title.value.as_str()).collect()
}

/// Every step in one line: number, title, tool and operation.
fn told(source: &Source) -> Vec<String> {
    let steps = source.draft().steps;
    let line = |step: &planwright_core::plan::draft::StepDraft| {
        let tool = operation(step).map(|operation| operation.to_string()).unwrap_or_default();
        format!("{}|{tool}", step.title.value)
    };
    steps.iter().map(line).collect()
}

fn changed(source: &Source, change: &PlanEdit) -> Source {
    let edits = dialect().patch(source, change);
    source.edited(&edits.unwrap_or_else(|refusal| panic!("{change:?}: {refusal}")))
}

// C-04, a fault of document C: its reader demands `(tool: operation)` without blanks and drops the second of its own three
// steps when it rewrites the plan. Nothing that is done to a plan here loses one.
#[test]
fn the_documents_own_sample_keeps_three_of_three_steps_after_every_rewrite() {
    let source = proposal(DOCUMENT);
    let expected = [
        "Fetch invoice 2024-0847 from Odoo|(odoo-toolbox: read)",
        "Send payment reminder to client|(go-easy: gmail send)",
        "Update invoice status to \"reminder sent\"|(odoo-toolbox: write)",
    ];
    assert_eq!(told(&source), expected);
    let approved =
        dialect().touched(&changed(&source, &PlanEdit::Become { state: PlanState::Approved }), NOW);
    assert_eq!(told(&approved), expected);
    let birth = NewPlan { id: "PLAN-00000000", now: NOW };
    let composed = proposal(dialect().compose(&source.draft(), &birth));
    assert_eq!(told(&composed), expected);
    assert_eq!(composed.draft().context, source.draft().context, "the context is kept as well");
    let formatted = proposal(dialect().format(&source).expect("it has a canonical form"));
    assert_eq!(told(&formatted), expected);
    let native = Source::new("plan.md", NATIVE.compose(&source.draft(), &birth));
    let back = proposal(dialect().compose(&native.draft(), &birth));
    assert_eq!(told(&back), expected, "there and back:\n{}", back.text());
}

// C-04: whatever a step begins with and whatever its brackets hold, it is a step.
#[test]
fn no_step_is_dropped_for_its_spelling() {
    let cases: &[(&str, &[&str])] = &[
        ("1. a (x: y)\n2. b\n", &["a|(x: y)", "b|"]),
        ("1) a (x: y z → t)\n2) b (x: y->t u)\n", &["a|(x: y z → t)", "b|(x: y → t u)"]),
        ("- a (x: y)\n- b\n", &["a|(x: y)", "b|"]),
        ("- [ ] a (x: y)\n- [x] b\n* [X] c\n", &["a|(x: y)", "b|", "c|"]),
        ("1. a\n1. b\n1. c\n", &["a|", "b|", "c|"]),
        ("1. a\n\n\n7. b\n", &["a|", "b|"]),
        ("   1. a\n   2. b\n", &["a|", "b|"]),
        ("    1. a\n    2. b\n", &["a|", "b|"]),
        ("\t1. a\n\t2. b\n", &["a|", "b|"]),
        ("1. a\n   2. b\n   3. c\n", &["a|", "b|", "c|"]),
        ("1. a\n   1. nested\n   2. nested\n2. b\n", &["a|", "b|"]),
        ("1. a\n- detail\n- detail (x: y)\n2. b (x: z)\n", &["a|(x: y)", "b|(x: z)"]),
        ("1. a (x: y)\n- [ ] b\n- c (x: z)\n", &["a|(x: y)", "b|", "c|(x: z)"]),
        ("1. a\n\nmore of a (x: y)\n2. b\n", &["a|(x: y)", "b|"]),
        ("1. a\n\nmore of a (x: y)\n", &["a|(x: y)"]),
        ("1. a\n\nNote: careful\n---\n2. b\n", &["a|", "b|"]),
        ("1. ```\n2. b\n", &["```|", "b|"]),
        ("```\n1. a\n2. b\n", &["a|", "b|"]),
        ("1. a\n   ```\n   2. no step\n   ```\n2. b\n", &["a|", "b|"]),
        ("<!--\n1. no step\n-->\n1. a\n", &["a|"]),
        ("### Phase 1\n1. a\n### Phase 2\n- b\n", &["a|", "b|"]),
        ("### 1. a\nmore\n1. of a\n### Step 2: b\n", &["a|", "b|"]),
        ("### 1. group\n1. a (x: y)\n### 2. group\n1. b (x: y)\n", &["a|(x: y)", "b|(x: y)"]),
        ("**1. a** (x: y)\n**2.** b\nStep 3: c\n", &["a|(x: y)", "b|", "c|"]),
        ("1.\n2. b\n", &["|", "b|"]),
        ("99999999999. a\n", &["a|"]),
        ("1. a (x: y)   \n\n## Steps\n1. b\n", &["a|(x: y)", "b|"]),
    ];
    for (lines, expected) in cases {
        for source in [with_steps(lines), with_steps(&lines.replace('\n', "\r\n"))] {
            assert_eq!(told(&source), *expected, "{lines}");
        }
    }
}

// C-04: where no heading says that there are steps, a numbered list is one of steps; the lists of known sections are none.
#[test]
fn steps_are_found_without_their_heading() {
    let text = "---\nid: PLAN-a1b2c3d4\nstatus: proposed\n---\n# T\n\n- no step\n\n1. a (x: y)\n2. b\n\n## Risks\n\n1. c\n";
    let draft = proposal(text).draft();
    assert_eq!(titles(&draft), ["a", "b"]);
    assert_eq!(draft.title.map(|title| title.value).as_deref(), Some("T"));
    assert_eq!(draft.context.expect("there is one").value, "- no step\n\n## Risks\n\n1. c");
}

// C-04: the tool is data: it limits what the step may use, and a step without one may use what the plan lists.
#[test]
fn the_tool_of_a_step_is_what_it_may_use() {
    let source = &samples()[1];
    let tools: Vec<Vec<String>> = source.draft().steps.iter().map(|step| values(&step.tools)).collect();
    assert_eq!(tools, [vec!["wiki"], vec!["bash"], vec!["wiki", "bash", "mail"], vec!["wiki"], vec!["mail"]]);
    let everything = &samples()[2];
    assert_eq!(values(&everything.draft().steps[2].tools), ["cargo", "bash"], "a field says it outright");
}

fn values(items: &[planwright_core::syntax::source::Spanned<String>]) -> Vec<String> {
    items.iter().map(|item| item.value.clone()).collect()
}

// C-01: the place tells, and so does the frontmatter; what has neither is no proposal.
#[test]
fn a_proposal_is_told_by_its_place_or_its_frontmatter() {
    let because = |place: &str, text: &str| {
        let detected = detect(place, text).ok().filter(|detected| detected.dialect == dialect());
        detected.map(|detected| detected.because)
    };
    let told = |place: &str, text: &str| because(place, text).unwrap_or_default();
    assert_eq!(told("/w/.pi/plans/PLAN-1a2b3c4d.md", ""), "PLAN-1a2b3c4d.md in .pi/plans/");
    assert_eq!(told(".pi/plans/archive/PLAN-x.md", ""), "PLAN-x.md in .pi/plans/archive/");
    let said = "`id: PLAN-a1b2c3d4` and `status: proposed` in its frontmatter";
    assert_eq!(told("copy.md", DOCUMENT), said);
    assert_eq!(because("copy.md", &DOCUMENT.replace("status: proposed", "status: draft")), None);
    assert_eq!(because("copy.md", &DOCUMENT.replace("id: PLAN-", "id: ")), None);
    assert_eq!(because(".pi/plans/notes.md", "# x\n"), None);
}

// C-01: ids are `PLAN-` and eight characters.
#[test]
fn an_id_has_eight_characters() {
    assert_eq!(id(0), "PLAN-00000000");
    assert_eq!(id(0xdead_beef), "PLAN-deadbeef");
    assert!(is_id(&id(7)) && is_id("PLAN-e5f6g7h8"));
    assert!(
        !is_id("PLAN-1234567")
            && !is_id("PLAN-123456789")
            && !is_id("plan-12345678")
            && !is_id("PLAN-1234567é")
    );
}

// C-03: every edge that the document draws is one of the table, or a way through states that the document does not tell
// apart. The others are refused.
#[test]
fn every_edge_of_the_document_can_be_gone() {
    let state = |word: &str| dialect().state(word).unwrap_or_else(|| panic!("{word} is a state"));
    let direct = [
        ("proposed", "approved"),
        ("proposed", "rejected"),
        ("proposed", "cancelled"),
        ("approved", "executing"),
        ("executing", "completed"),
        ("executing", "failed"),
        ("executing", "stalled"),
        ("rejected", "needs_review"),
        // The three answers of crash recovery.
        ("stalled", "executing"),
        ("stalled", "failed"),
        ("stalled", "cancelled"),
    ];
    for (from, to) in direct {
        assert!(state(from).to(state(to)).is_ok(), "{from} to {to}");
    }
    // The document draws these as one edge. Here the planner takes the plan back first: a draft, which the document spells
    // `proposed` too, and whatever is proposed is checked anew.
    let through = [
        ("rejected", PlanState::Draft, "proposed"),
        ("needs_review", PlanState::Draft, "proposed"),
        ("proposed", PlanState::Rejected, "needs_review"),
    ];
    for (from, middle, to) in through {
        assert!(state(from).to(state(to)).is_err(), "{from} to {to} is one edge now: move it up");
        assert!(state(from).to(middle).is_ok() && middle.to(state(to)).is_ok(), "{from} to {to}");
    }
    // The loop from `executing` back to `proposed`.
    let replanning = PlanState::Waiting(WaitReason::Replanning);
    let way = [PlanState::Running, replanning, PlanState::Draft, PlanState::Proposed];
    assert!(way.windows(2).all(|pair| pair[0].to(pair[1]).is_ok()));
    let forbidden = [
        ("proposed", "executing"),
        ("proposed", "completed"),
        ("rejected", "approved"),
        ("needs_review", "approved"),
        ("completed", "executing"),
        ("cancelled", "approved"),
        ("stalled", "completed"),
    ];
    for (from, to) in forbidden {
        assert!(state(from).to(state(to)).is_err(), "{from} to {to}");
    }
}

// C-09: the version grows by one and the time is set with every write, each in its own line; everything else stays.
#[test]
fn every_write_counts_the_version_and_says_when() {
    let source = proposal(DOCUMENT);
    let touched = dialect().touched(&source, NOW);
    let expected = DOCUMENT
        .replace("version: 1  ", "version: 2  ")
        .replace("updated_at: 2026-02-11T12:05:00Z", "updated_at: 2026-11-16T10:00:00Z");
    assert_eq!(touched.text(), expected);
    assert_eq!(version(&dialect().touched(&touched, NOW)), Some(3));
    let quoted = dialect().touched(&samples()[1], NOW);
    assert!(quoted.text().contains("version: '8'\n"), "{}", quoted.text());
    assert!(quoted.text().contains("updated_at: \"2026-11-16T10:00:00Z\"\n"));
    let broken = proposal("---\nid: PLAN-a1b2c3d4\nversion: many\n---\n");
    assert_eq!(version(&broken), None);
    assert_eq!(
        dialect().touched(&broken, NOW).text(),
        "---\nid: PLAN-a1b2c3d4\nversion: many\nupdated_at: 2026-11-16T10:00:00Z\n---\n"
    );
    let without = proposal("---\nid: PLAN-a1b2c3d4\ntitle: x\n# says who\nplanner_model: y\n---\n");
    let expected = "---\nid: PLAN-a1b2c3d4\ntitle: x\nversion: 2\nupdated_at: 2026-11-16T10:00:00Z\n# says who\nplanner_model: y\n---\n";
    assert_eq!(dialect().touched(&without, NOW).text(), expected, "missing keys come to their place");
    for lost in ["", "# no frontmatter\n", "---\nid: x\n", "---\nid: [\n---\n"] {
        assert_eq!(dialect().touched(&proposal(lost), NOW).text(), lost, "what can't be read is left alone");
    }
}

// C-02: an execution sets its times and its result, and the next one begins anew.
#[test]
fn an_execution_says_when_it_began_and_ended() {
    let become_at = |source: &Source, state: PlanState, at: &str| {
        dialect().touched(&changed(source, &PlanEdit::Become { state }), at)
    };
    let value = |source: &Source, key: &str| {
        source.draft().frontmatter.value(key).map(|value| value.value.clone()).unwrap_or_default()
    };
    let times = |source: &Source| {
        ["execution_started_at", "execution_ended_at", "result_summary"].map(|key| value(source, key))
    };
    let running = become_at(&proposal(DOCUMENT), PlanState::Running, "T1");
    assert_eq!(times(&running), ["T1", "", ""]);
    let again = become_at(&running, PlanState::Running, "T2");
    assert_eq!(times(&again), ["T1", "", ""], "it runs already");
    let stalled = become_at(&again, PlanState::Waiting(WaitReason::Stalled), "T3");
    assert_eq!(times(&stalled), ["T1", "", ""]);
    let failed = become_at(&stalled, PlanState::Failed, "T4");
    let failed = failed.edited(&summarise(&failed, "step 2 \"failed\":\nno recipient"));
    assert_eq!(times(&failed), ["T1", "T4", "step 2 \"failed\": no recipient"]);
    let resumed = become_at(&failed, PlanState::Running, "T5");
    assert_eq!(times(&resumed), ["T5", "", ""]);
    assert!(resumed.text().contains("\nexecution_ended_at:\nresult_summary:\n---"), "{}", resumed.text());
    let done = become_at(&resumed, PlanState::Done, "T6");
    assert_eq!(times(&done), ["T5", "T6", "3 of 3 steps done"]);
    assert_eq!(version(&done), Some(7), "six writes after the first");
    let never_ran = become_at(&proposal(DOCUMENT), PlanState::Cancelled, "T1");
    assert_eq!(times(&never_ran), ["", "", ""]);
    let composed = proposal("---\nid: PLAN-a1b2c3d4\nstatus: approved\n---\n## Steps\n1. a\n");
    let running = become_at(&composed, PlanState::Running, "T1");
    assert_eq!(value(&running, "execution_session"), ".pi/plans/sessions/PLAN-a1b2c3d4.jsonl");
}

// C-02: a new plan has all thirteen keys, in the order of the document.
#[test]
fn a_new_plan_has_every_key_in_the_order_of_the_document() {
    let keys = |source: &Source| -> Vec<String> {
        source.draft().frontmatter.entries.iter().map(|entry| entry.key.value.clone()).collect()
    };
    let draft = proposal(DOCUMENT).draft();
    let composed = proposal(dialect().compose(&draft, &NewPlan { id: "PLAN-0badcafe", now: NOW }));
    assert_eq!(keys(&composed), keys(&proposal(DOCUMENT)));
    assert_eq!(keys(&composed).len(), 13);
    let expected = "---\nid: PLAN-0badcafe\ntitle: \"Tramitar factura 2024-0847 de Fabbula en Odoo\"\n\
        status: proposed\nversion: 1\ncreated_at: 2026-11-16T10:00:00Z\nupdated_at: 2026-11-16T10:00:00Z\n\
        planner_model: claude-sonnet-4-5\ntools_required:\n  - odoo-toolbox\n  - go-easy\n\
        executor_model: claude-haiku-4-5\nexecution_session: .pi/plans/sessions/PLAN-0badcafe.jsonl\n\
        execution_started_at:\nexecution_ended_at:\nresult_summary:\n---\n\n## Steps\n1. Fetch";
    assert!(composed.text().starts_with(expected), "{}", composed.text());
    let empty = proposal(dialect().compose(&Draft::default(), &NewPlan { id: "PLAN-0badcafe", now: NOW }));
    assert_eq!(keys(&empty).len(), 13, "{}", empty.text());
}

// C-04: what a proposal says in fields is kept by a plan that is made of it, byte for byte where it is data.
#[test]
fn a_plan_that_is_composed_says_all_that_the_original_says() {
    for source in samples() {
        let draft = source.draft();
        let composed = proposal(dialect().compose(&draft, &NewPlan { id: "PLAN-0badcafe", now: NOW }));
        let read = composed.draft();
        assert_eq!(read.context, draft.context, "{}", composed.text());
        assert_eq!(read.notes, draft.notes);
        for (read, meant) in read.steps.iter().zip(&draft.steps) {
            let mut meant = meant.clone();
            // Numbers are counted anew, and boxes stay behind: what became of a step stands in the session.
            meant.number = read.number.clone();
            meant.marks.clear();
            assert_eq!(*read, meant, "{}", composed.text());
        }
    }
}

// C-04: titles that look like a tool, a box or another number are titles.
#[test]
fn titles_of_other_plans_are_not_taken_apart() {
    let titles = [
        "Add it (core: read)",
        "[x] is ticked",
        "2. is no number",
        "f() ()",
        "(a: b)",
        "- x",
        "**1.** y",
        "Call f(x)",
    ];
    let mut draft = with_steps("1. a\n2. b\n3. c\n4. d\n5. e\n6. f\n7. g\n8. h\n").draft();
    for (step, title) in draft.steps.iter_mut().zip(titles) {
        title.clone_into(&mut step.title.value);
        step.task = Some(planwright_core::syntax::source::Spanned::new(
            "Do it.\n\n2. this (see: that)\n# Steps\n(a: b)".to_owned(),
            step.title.span,
        ));
    }
    let composed = proposal(dialect().compose(&draft, &NewPlan { id: "PLAN-0badcafe", now: NOW }));
    let read = composed.draft();
    assert_eq!(self::titles(&read), titles, "{}", composed.text());
}

// C-05: sections are found by their names, however those are spelled.
#[test]
fn sections_are_addressable() {
    let source = proposal(DOCUMENT);
    let paths: Vec<String> = sections(&source).into_iter().map(|section| section.path).collect();
    assert_eq!(
        paths,
        ["Steps", "Context", "Context/Tool Outputs", "Context/Notes", "Context/Artifacts", "Risks"]
    );
    let outputs = section(&source, "tool-outputs").expect("it is there");
    let json: serde_json::Value = serde_json::from_str(&outputs.code.expect("code")).expect("JSON");
    assert_eq!(json["odoo_read_invoice_123"]["data"]["partner_id"], 456);
    let notes = section(&source, "context/NOTES").expect("it is there");
    assert_eq!(notes.text, "User mentioned payment should go through bank account XYZ.");
    assert!(section(&source, "risks").expect("it is there").text.starts_with("- Client email"));
    assert!(section(&source, "steps/notes").is_none());
    let crlf = proposal(DOCUMENT.replace('\n', "\r\n"));
    assert_eq!(section(&crlf, "Notes").expect("it is there").text, notes.text);
    let found = artifacts(&source);
    assert_eq!(
        (found[0].name.as_str(), found[0].folder.as_str()),
        ("invoice-2024-0847.pdf", ".pi/plans/artifacts/PLAN-abc123/")
    );
}

// C-06: a context of more than 50 KB moves into files, the largest part first; the plan keeps references to them.
#[test]
fn a_context_that_is_too_large_moves_into_artifacts() {
    let large = format!("\"rows\": \"{}\"", "x".repeat(51_000));
    let text = DOCUMENT.replace("{\n  \"odoo_read", &format!("{{\n  {large},\n  \"odoo_read"));
    for source in [proposal(text.as_str()), proposal(text.replace('\n', "\r\n"))] {
        assert!(context_bytes(&source) > CONTEXT_BYTES_MAX);
        let moved = overflow(&source).expect("it is too large");
        let [(path, file)] = moved.files.as_slice() else { panic!("{:?}", moved.files.len()) };
        let digest = path.strip_prefix("artifacts/PLAN-a1b2c3d4/tool-outputs-");
        assert_eq!(digest.and_then(|rest| rest.strip_suffix(".json")).map(str::len), Some(8), "{path}");
        let json: serde_json::Value = serde_json::from_str(file).expect("the file is JSON, without fences");
        assert_eq!(json["rows"].as_str().map(str::len), Some(51_000));
        assert_eq!(json["odoo_read_invoice_123"]["data"]["id"], 123);
        let after = source.with(moved.text.as_str());
        assert_eq!((is_too_large(&source), is_too_large(&after)), (true, false), "the rule says so, too");
        assert!(context_bytes(&after) < 1000);
        assert_eq!(overflow(&after), None);
        let name = path.rsplit('/').next().expect("a name");
        let reference = format!("{name} → .pi/plans/artifacts/PLAN-a1b2c3d4/");
        assert_eq!(section(&after, "tool outputs").expect("the section stays").text, reference);
        assert!(artifacts(&after).iter().any(|artifact| artifact.name == name));
        assert_eq!(after.draft().steps, source.draft().steps);
        assert_eq!(section(&after, "notes"), section(&after, "context/notes"));
    }
    assert_eq!(overflow(&proposal(DOCUMENT)), None);
}

/// Whether the rule large-context complains.
fn is_too_large(source: &Source) -> bool {
    let draft = source.draft();
    let checked = verify(&Study::of(source, &draft), &Facts::default(), &VerifyLimits::default());
    checked.diagnostics.iter().any(|diagnostic| diagnostic.rule == "large-context")
}

// C-06: the limit holds for any division: one heading, many small ones, none at all; and nothing is lost.
#[test]
fn whatever_the_context_is_divided_into_it_fits_afterwards() {
    let many: String = (0..3000).map(|part| format!("### Part {part}\n\ntext {part}\n\n")).collect();
    let three: String =
        (0..3).map(|part| format!("### Part\n\n{}\n\n", format!("{part}\n").repeat(15_000))).collect();
    let prose = "word ".repeat(20_000);
    for context in [many.as_str(), &three, &prose] {
        let source =
            proposal(format!("{}\n## Context\n\n{context}", DOCUMENT.replace("## Context", "## More")));
        let moved = overflow(&source).expect("it is too large");
        let after = source.with(moved.text.as_str());
        assert!(context_bytes(&after) <= CONTEXT_BYTES_MAX);
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let written: usize = moved.files.iter().map(|(_, text)| words(text).len()).sum();
        let references = 3 * moved.files.len();
        assert_eq!(
            words(after.text()).len() + written,
            words(source.text()).len() + references,
            "no word is lost"
        );
        let mut paths: Vec<&String> = moved.files.iter().map(|(path, _)| path).collect();
        paths.dedup();
        assert_eq!(paths.len(), moved.files.len(), "no file is written twice");
    }
}

// C-20: a step that was judged is one line of the session, in the form of the document.
#[test]
fn a_judged_step_is_a_line_of_the_session() {
    let source = proposal(DOCUMENT);
    let draft = source.draft();
    let line = |step: usize, passed: bool, summary: &str| {
        let happening = PlanEvent::Judged { step, passed, summary, at: NOW };
        match dialect().beside(&source, &draft, &happening).as_slice() {
            [SidecarEdit::Append { path, line }] => {
                assert_eq!(path, "sessions/PLAN-a1b2c3d4.jsonl");
                line.clone()
            }
            other => panic!("{other:?}"),
        }
    };
    let found = line(0, true, "Invoice found");
    assert_eq!(
        found,
        r#"{"step": 1, "tool": "odoo-toolbox", "op": "read", "status": "success", "result_summary": "Invoice found"}"#
    );
    let failed = line(1, false, "no \"such\"\nrecipient\u{1}");
    assert_eq!(
        failed,
        r#"{"step": 2, "tool": "go-easy", "op": "gmail send", "status": "failed", "error": "no \"such\"\nrecipient\u0001"}"#
    );
    let beyond = line(9, true, "");
    // The lines of the document, of its project (which says `operation` and more), and one that a crash cut off.
    let session = format!(
        "{found}\n{failed}\r\n\n{beyond}\n{}\n{}\n{}",
        r#"{"type":"execution_start","plan_id":"PLAN-a1b2c3d4"}"#,
        r#"{"step":3,"tool":"bash","operation":"run","status":"started","timestamp":"2026"}"#,
        r#"{"step": 4, "tool": "od"#
    );
    let read = checkpoints(&session);
    assert_eq!(
        read.iter().map(|line| (line.step, line.status)).collect::<Vec<_>>(),
        [
            (1, SessionOutcome::Success),
            (2, SessionOutcome::Failed),
            (10, SessionOutcome::Success),
            (3, SessionOutcome::Started)
        ]
    );
    assert_eq!(
        (read[1].operation.as_str(), read[1].error.as_deref()),
        ("gmail send", Some("no \"such\"\nrecipient\u{1}"))
    );
    assert_eq!(read[3].operation, "run");
    for other in
        [PlanEvent::Noted { text: "x", at: NOW }, PlanEvent::Became { state: PlanState::Done, at: NOW }]
    {
        assert_eq!(dialect().beside(&source, &draft, &other), []);
    }
}

// C-14: the settings of the document, with its comments; what is missing is as usual, what is wrong is said.
#[test]
fn settings_have_defaults_and_faults_are_named() {
    let document = "// .pi/plans.json\n{\n  \"guardedTools\": [],              // TUI default: nothing guarded\n  \
        \"stale_after_days\": 30,          // TUI default\n  \"executor_timeout_minutes\": 30\n}\n";
    assert_eq!(config(document), (ProposalConfig::default(), Vec::new()));
    let (read, wrong) = config(r#"{"guardedTools": ["gmail_send", "a//b"], "stale_after_days": 7}"#);
    assert_eq!(
        (read.guarded_tools, read.stale_after_days, read.executor_timeout_minutes),
        (vec!["gmail_send".to_owned(), "a//b".to_owned()], 7, 30)
    );
    assert_eq!(wrong, [""; 0]);
    let (read, wrong) = config(
        r#"{"guarded_tools": ["x"], "stale_after_days": 0, "executor_timeout_minutes": "9", "guardedTools": [1]}"#,
    );
    assert_eq!(read, ProposalConfig::default());
    assert_eq!(
        wrong,
        [
            "unknown setting `guarded_tools`",
            "`stale_after_days` must be a positive whole number, not 0; using 30",
            "`executor_timeout_minutes` must be a positive whole number, not \"9\"; using 30",
            "`guardedTools` must be a list of names, not [1]; no tools are guarded",
        ]
    );
    let (_, wrong) = config(r#"{"guardedTool": ["x"]}"#);
    assert_eq!(wrong, ["unknown setting `guardedTool`; did you mean `guardedTools`?"]);
    for broken in ["", "[]", "{", "\"", "/", "//", "{\"a\": \"\\"] {
        assert_eq!(config(broken).1.len(), 1, "{broken}");
    }
}

// M-10: every change that the dialect can make, on every sample; the comparison in `patch` is what checks them.
#[test]
fn every_change_is_made_or_refused_with_a_reason() {
    for source in samples() {
        let count = source.draft().steps.len();
        for step in 0..count {
            let renamed = changed(&source, &PlanEdit::Rename { step, id: "another-name".to_owned() });
            assert_eq!(
                renamed.draft().steps[step].id.as_ref().map(|id| id.value.as_str()),
                Some("another-name")
            );
            changed(&source, &PlanEdit::Mark { step, mark: None });
            let mark = PlanEdit::Mark { step, mark: Some(Mark::Done) };
            assert!(matches!(dialect().patch(&source, &mark), Err(EditError::NoWord { .. })));
            let expand = PlanEdit::Expand { step, items: vec!["a".to_owned()] };
            assert!(matches!(dialect().patch(&source, &expand), Err(EditError::NotATemplate { .. })));
        }
        changed(&source, &PlanEdit::Renumber);
        changed(&source, &PlanEdit::Set { key: "title".to_owned(), value: "Another: \"title\"".to_owned() });
        changed(&source, &PlanEdit::Set { key: "executor_model".to_owned(), value: "other".to_owned() });
        for key in ["status", "version", "updated_at", "result_summary"] {
            let owned = PlanEdit::Set { key: key.to_owned(), value: "x".to_owned() };
            assert!(matches!(dialect().patch(&source, &owned), Err(EditError::Owned { .. })));
        }
        let noted = changed(&source, &PlanEdit::Note { text: "first (of two)".to_owned() });
        let noted = changed(&noted, &PlanEdit::Note { text: "second".to_owned() });
        let notes = values(&noted.draft().notes);
        assert_eq!(notes[notes.len() - 2..], ["first (of two)", "second"]);
        assert!(section(&noted, "context/notes").is_some(), "{}", noted.text());
    }
}

// C-04: steps change places with all that belongs to them, and numbers follow.
#[test]
fn steps_can_be_moved() {
    let source = proposal(DOCUMENT);
    let moved = changed(&source, &PlanEdit::Move { step: 2, to: 0 });
    let expected = "## Steps\n1. Update invoice status to \"reminder sent\" (odoo-toolbox: write)\n\
        2. Fetch invoice 2024-0847 from Odoo (odoo-toolbox: read)\n\
        3. Send payment reminder to client (go-easy: gmail send)\n\n## Context";
    assert!(moved.text().contains(expected), "{}", moved.text());
    let everything = &samples()[2];
    let moved = changed(everything, &PlanEdit::Move { step: 0, to: 1 });
    assert_eq!(moved.draft().steps[1].id.as_ref().map(|id| id.value.as_str()), Some("branch"));
    let nine: String = (1..=12)
        .map(|step| format!("{step}. step {step}\n   - **id:** s{step}\n\n   Text of it.\n"))
        .collect();
    let moved = changed(&with_steps(&nine), &PlanEdit::Move { step: 0, to: 11 });
    assert_eq!(titles(&moved.draft()).last(), Some(&"step 1"));
}

// C-04: an order that is not that of the list can be said, as an addition of ours.
#[test]
fn a_step_can_wait_for_another() {
    let source = with_steps("1. a\n2. b\n3. c\n");
    let first = changed(&source, &PlanEdit::Need { step: 2, on: "a".to_owned() });
    assert!(first.text().ends_with("3. c\n   - **needs:** b, a\n"), "{}", first.text());
    let again = changed(&first, &PlanEdit::Need { step: 2, on: "a".to_owned() });
    assert_eq!(again.text(), first.text());
}

// M-10: the canonical form says the same and is its own; blanks in front of everything are no reason for a second round.
#[test]
fn the_canonical_form_is_its_own() {
    let mut sources = samples();
    sources.extend(
        ["", "\n \n>\n", "\u{feff}\n\t\n1) a (x:y)  \n\n\n\n* b\n", "  \n---\nid: x\n---\n\n\n"]
            .map(proposal),
    );
    for source in sources {
        let once = dialect().format(&source).unwrap_or_else(|refusal| panic!("{}: {refusal}", source.text()));
        assert_eq!(dialect().format(&source.with(once.as_str())).as_ref(), Ok(&once));
        assert_eq!(source.with(once.as_str()).draft(), source.draft());
    }
    let text = with_steps("1) a (x:y->z)  \n\n\n\n2) b\n\n\n");
    let once = dialect().format(&text).expect("it has one");
    assert!(once.ends_with("## Steps\n1. a (x: y → z)\n\n2. b\n"), "{once}");
}
