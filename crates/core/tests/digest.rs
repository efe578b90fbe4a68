//! The digest: what it covers, what it leaves out, and the vectors of docs/reference/plan-format.md, which are the input of the tests here.

use planwright_core::plan::digest;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::verified::Plan;
use planwright_core::syntax::source::Source;
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};

const FORMATS: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/plan-format.md"));

fn plan(text: &str) -> Plan {
    let source = Source::new("plan.md", text);
    let draft = source.draft();
    let study = Study::of(&source, &draft);
    let questions = study.questions();
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let facts = Facts {
        paths: words(&["a.md", "b.md"]),
        programs: questions.programs,
        bash: questions.commands.into_iter().map(|command| (command, Vec::new())).collect(),
        agents: words(&["coder", "reviewer"]),
        topics: words(&["sizes", "other"]),
        ..Facts::default()
    };
    let checked = verify(&study, &facts, &VerifyLimits::default());
    checked.plan.unwrap_or_else(|| panic!("{:#?}\n{text}", checked.diagnostics))
}

/// The block below `heading` that is marked with `language`.
fn block(heading: &str, language: &str) -> String {
    let (_, section) = FORMATS.split_once(heading).expect("docs/reference/plan-format.md has the heading");
    let mut lines = section.lines();
    let opening = lines.find(|line| line.trim_start_matches('`') == language && line.starts_with("```"));
    let ticks = opening.expect("the section has the block").trim_end_matches(language);
    lines.take_while(|&line| line != ticks).map(|line| format!("{line}\n")).collect()
}

fn check_vector(heading: &str) {
    let (text, records) = (block(heading, "plan"), block(heading, "records"));
    let (_, section) = FORMATS.split_once(heading).expect("docs/reference/plan-format.md has the heading");
    let (_, named) = section.split_once("and its digest is `").expect("the section names the digest");
    let plan = plan(&text);
    assert_eq!(digest::encoding(&plan), records, "the records of {heading}");
    assert_eq!(Digest::of(&plan).to_string(), named[..64], "the digest of {heading}");
    assert_eq!(
        blake3::hash(records.as_bytes()).to_hex().as_str(),
        &named[..64],
        "the hash of the records of {heading}"
    );
    assert_eq!(Digest::of(&plan).short(), named[..8]);
}

#[test]
fn the_first_vector_of_the_format_holds() {
    check_vector("### Vector 1");
}

#[test]
fn the_second_vector_of_the_format_holds() {
    check_vector("### Vector 2");
}

/// The digest of the second vector with one piece of its text replaced.
fn replaced(old: &str, new: &str) -> Digest {
    let text = block("### Vector 2", "plan");
    assert!(text.contains(old), "{old:?} is in the plan");
    Digest::of(&plan(&text.replacen(old, new, 1)))
}

#[test]
fn every_field_that_means_something_changes_the_digest() {
    let changes = [
        ("owner: ada", "owner: bob"),
        ("# Größe", "# Grösse"),
        ("one thought", "two thoughts"),
        ("200k tokens", "201k tokens"),
        ("$1.50", "$1.51"),
        ("20 minutes", "21 minutes"),
        ("**Priority:** high", "**Priority:** low"),
        ("✅ Measure", "✅ Measure it"),
        ("**id:** measure", "**id:** measured"),
        ("**target:** reviewer", "**target:** coder"),
        ("file:a.md", "file:b.md"),
        ("topic:sizes", "topic:other"),
        ("file:a.md, topic:sizes", "topic:sizes, file:a.md"),
        ("**touches:** none\n", ""),
        ("**touches:** b.md", "**touches:** d.md"),
        ("**touches:** b.md", "**sealed:** tests/**\n**touches:** b.md"),
        ("**on_fail:** abort", "**green:** it guards what is there\n**on_fail:** abort"),
        ("**on_fail:** abort", "**judge:** is it whole?\n**on_fail:** abort"),
        ("**tools:** bash", "**tools:** bash, edit"),
        ("LANG=C", "LANG=D"),
        ("**network:** no", "**network:** yes"),
        ("`true`", "`false`"),
        ("2 min", "3 min"),
        ("2 min", "2 min\n**contract_timeout:** 5 min"),
        ("Small, and whole.", "Small and whole."),
        ("Measure it.", "Measure it!"),
        ("Measure it.\n\nTwice.", "Measure it.\nTwice."),
        ("grep -q size \\\n  a.md", "grep -q size \\\n   a.md"),
        ("exit_code == 1", "exit_code == 2"),
        ("**on_fail:** abort", "**on_fail:** retry(1), then abort"),
        ("**needs:** 1", "**needs:** none"),
        ("**contract:** manual", "**contract:** `test -f b.md`"),
    ];
    let before = replaced("", "");
    for (old, new) in changes {
        assert_ne!(replaced(old, new), before, "{old:?} to {new:?}");
    }
}

// A-14: marks and spelling are no part of what is approved.
#[test]
fn marks_status_spelling_notes_and_unknown_fields_do_not_change_the_digest() {
    let changes = [
        ("status: approved", "status: done"),
        ("status: approved", "status: \"approved\" # by me\nreviewed: yes"),
        ("1. ✅ Measure", "1. Measure"),
        ("1. ✅ Measure", "1. Measure (failed)"),
        ("**id:** measure", "**Id**: `measure`\n**status:** done"),
        ("### 1.", "## Step 1:"),
        ("**target:** reviewer", "**colour:** red\n**target:** reviewer"),
        ("**reads:** file:a.md, topic:sizes", "**subscriptions:**\n* `file:a.md`\n+ topic:sizes\n"),
        ("```shell", "```bash"),
        ("exit_code == 1", "**exit_code:** 1"),
        ("**on_fail:** abort", "**On fail:** Abort."),
        ("**needs:** 1", "**needs:** measure"),
        ("2 min", "120"),
        ("200k tokens", "at most 200,000 tokens"),
        ("not part of it", "nor is this\n- or that"),
        ("### 2.", "<!-- between -->\n---\n\n### 2."),
    ];
    let before = replaced("", "");
    for (old, new) in changes {
        assert_eq!(replaced(old, new), before, "{old:?} to {new:?}");
    }
    let text = block("### Vector 2", "plan");
    assert_eq!(Digest::of(&plan(&text.replace('\n', "\r\n"))), before, "CRLF");
    assert_eq!(Digest::of(&plan(&format!("\u{feff}{text}"))), before, "a byte order mark");
}

#[test]
fn no_text_passes_for_another_record() {
    let plain = Digest::of(&plan(&block("### Vector 1", "plan")));
    let forged = block("### Vector 1", "plan").replace(
        "**task:** Write `notes.md`.",
        "**task:** Write `notes.md`.\ncontract 16\ntest -s notes.md\nexit-code 1\n0",
    );
    assert_ne!(Digest::of(&plan(&forged)), plain);
}
