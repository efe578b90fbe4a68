//! What must hold for any input at all. Each function here takes bytes and panics, with a sentence, where it does not.
//! Drivers choose the inputs: coverage decides in `targets/`, chance in `random.rs`. A fixed sample is a test of core,
//! `crates/core/tests/fuzz.rs`, which has this file as a module: so no path here begins at the crate.

pub mod chance;
mod named;
mod place;
mod proposal;
mod record;

pub use proposal::proposal;

use std::collections::{BTreeMap, BTreeSet};

use planwright_core::dialect;
use planwright_core::dialect::frontmatter as block;
use planwright_core::dialect::import::IMPORTERS;
use planwright_core::dialect::{Dialect, NewPlan};
use planwright_core::plan::digest::Digest;
use planwright_core::plan::draft::{Draft, Frontmatter, FrontmatterEntry, Mark};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::syntax::diagnostic::Diagnostic;
use planwright_core::syntax::source;
use planwright_core::syntax::source::{Edit, Source, Span};
use planwright_core::syntax::tree::{Node, Value};
use planwright_core::syntax::yaml;
use planwright_core::syntax::{glob as pattern, shell as bash};
use planwright_core::verify;
use planwright_core::verify::{BashFault, CheckedPlan, Facts, Questions, Study, VerifyLimits};

pub use record::record;

pub use named::named;
use place::{assert_draft_inside, assert_inside};

/// A target: its name and what it holds of an input.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("parse", parse),
    ("patch", patch),
    ("frontmatter", frontmatter),
    ("shell", shell),
    ("glob", glob),
    ("record", record),
    ("directory", directory),
    ("proposal", proposal),
    ("named", named),
    ("foreign", foreign),
];

/// Bytes a YAML reader must take for a key on one line; longer ones are no keys.
const KEY_BYTES_MAX: usize = 1000;

/// Any bytes can be read, taken apart and checked; every complaint has its place in the file and is made once.
pub fn parse(bytes: &[u8]) {
    let source = match verify::read("plan.md", bytes.to_vec()) {
        Ok(source) => source,
        Err(unreadable) => {
            assert_inside(unreadable.source.text(), unreadable.diagnostic.primary.span, "the complaint");
            return;
        }
    };
    let draft = source.draft();
    assert_draft_inside(source.text(), &draft);
    let study = Study::of(&source, &draft);
    let questions = study.questions();
    for facts in [everything(&questions, &draft), nothing(&questions)] {
        let checked = verify::verify(&study, &facts, &VerifyLimits::default());
        assert_complaints(&source, &checked);
        if let Some(plan) = &checked.plan {
            assert_eq!(Digest::of(plan), Digest::of(&plan.clone()), "a digest names one meaning");
        }
    }
}

/// Any text is read by every importer, and what comes out can be written as a native plan with as many steps.
pub fn foreign(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let birth = NewPlan { id: "PLAN-a1b2c3d4", now: "2026-01-01T00:00:00Z" };
    for importer in IMPORTERS {
        let draft = (importer.parse)(&Source::new("plan.md", text));
        for step in &draft.steps {
            assert_inside(text, step.whole.0, "a step");
            assert_inside(text, step.title.span, "a title");
        }
        let composed = Source::new("plan.md", dialect::NATIVE.compose(&draft, &birth));
        let (found, meant) = (composed.draft().steps.len(), draft.steps.len());
        assert_eq!(found, meant, "{} is written with all of its steps", importer.name);
    }
}

/// A world that has all that a plan asks for.
fn everything(questions: &Questions, draft: &Draft) -> Facts {
    let topics = draft.steps.iter().flat_map(|step| &step.reads);
    Facts {
        paths: questions.paths.clone(),
        programs: questions.programs.clone(),
        bash: questions.commands.iter().map(|command| (command.clone(), Vec::new())).collect(),
        agents: draft.steps.iter().filter_map(|step| Some(step.target.as_ref()?.value.clone())).collect(),
        topics: topics.filter_map(|read| Some(read.value.split_once(':')?.1.trim().to_owned())).collect(),
        ..Facts::default()
    }
}

/// A world that has nothing of what a plan asks for, and a bash that refuses the last line of every command.
fn nothing(questions: &Questions) -> Facts {
    let refused = |command: &String| {
        let line = command.split('\n').count();
        (command.clone(), vec![BashFault { line, message: "syntax error".to_owned() }])
    };
    Facts { bash: questions.commands.iter().map(refused).collect(), ..Facts::default() }
}

fn assert_complaints(source: &Source, checked: &CheckedPlan) {
    let text = source.text();
    let starts: Vec<usize> = checked.diagnostics.iter().map(|found| found.primary.span.start).collect();
    assert!(starts.is_sorted(), "complaints come in file order: {:?}", checked.diagnostics);
    let mut seen: BTreeSet<(&str, Span, &str)> = BTreeSet::new();
    for diagnostic in &checked.diagnostics {
        let Diagnostic { code, primary, secondary, message, fix, .. } = diagnostic;
        for label in std::iter::once(primary).chain(secondary) {
            assert_inside(text, label.span, code);
        }
        assert!(seen.insert((code, primary.span, message)), "said twice: {diagnostic:?}");
        if let Some(fix) = fix {
            assert_others_stay(text, &fix.edits);
        }
    }
}

/// A change is refused, or it changes what it says and no byte besides; a canonical form is one.
pub fn patch(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (order, text) = text.split_once('\n').unwrap_or(("", text));
    let source = Source::new("plan.md", text);
    let dialect = source.dialect();
    let before = (dialect.parse)(&source);
    let change = change(order, before.steps.len());
    if let Ok(edits) = dialect.patch(&source, &change) {
        assert_patched(dialect, &source, &change, &edits);
    }
    if let Ok(formatted) = dialect.format(&source) {
        let again = Source::new("plan.md", formatted.as_str());
        assert_eq!((dialect.parse)(&again), before, "the canonical form says the same");
        assert_eq!(dialect.format(&again).as_ref(), Ok(&formatted), "the canonical form is its own");
    }
}

fn assert_patched(dialect: &Dialect, source: &Source, change: &PlanEdit, edits: &[Edit]) {
    assert_others_stay(source.text(), edits);
    let before = (dialect.parse)(source);
    let mut meant = before.clone();
    change.apply(&mut meant).expect("a change that was made can be meant");
    let patched = Source::new("plan.md", source::apply(source.text(), edits));
    assert_eq!((dialect.parse)(&patched), meant, "the patched text says what {change:?} means: {edits:?}");
    let reach = reach(source.text(), &before, change);
    for edit in edits {
        let is_allowed = reach.iter().any(|reach| reach.covers(edit.span));
        assert!(is_allowed, "{change:?} takes bytes that it has no business with: {edit:?}");
    }
}

/// The change that a line of the input asks for: a digit for its kind, a digit for the step, and words.
fn change(order: &str, count: usize) -> PlanEdit {
    let digit = |index: usize| usize::from(order.as_bytes().get(index).copied().unwrap_or(b'0') % 16);
    let step = digit(1) % (count + 1);
    let words = order.get(2..).unwrap_or_default();
    let (first, second) = words.split_once('\t').unwrap_or((words, words));
    let marks = [None, Some(Mark::Done), Some(Mark::Failed), Some(Mark::Skipped)];
    match digit(0) % 8 {
        0 => PlanEdit::Mark { step, mark: marks[first.len() % marks.len()] },
        1 => PlanEdit::Set { key: first.to_owned(), value: second.to_owned() },
        2 => PlanEdit::Note { text: words.to_owned() },
        3 => PlanEdit::Rename { step, id: words.to_owned() },
        4 => PlanEdit::Need { step, on: words.to_owned() },
        5 => PlanEdit::Move { step, to: first.len() % (count + 1) },
        6 => PlanEdit::Renumber,
        _ => PlanEdit::Expand { step, items: words.split('\t').map(str::to_owned).collect() },
    }
}

/// Where a change may take bytes.
fn reach(text: &str, draft: &Draft, change: &PlanEdit) -> Vec<Span> {
    let parts = block::split(text);
    let steps = || draft.steps.iter().map(|step| step.whole.0).collect();
    match change {
        PlanEdit::Set { .. } | PlanEdit::Become { .. } => vec![Span::new(0, parts.body)],
        PlanEdit::Mark { step, .. } | PlanEdit::Trace { step, .. } | PlanEdit::Need { step, .. } => {
            vec![draft.steps[*step].whole.0]
        }
        // Notes are only ever added: the edit takes nothing.
        PlanEdit::Note { .. } | PlanEdit::Append { .. } => (parts.body..=text.len()).map(Span::at).collect(),
        PlanEdit::Rename { .. } | PlanEdit::Move { .. } | PlanEdit::Renumber | PlanEdit::Expand { .. } => {
            steps()
        }
    }
}

/// Any text can be read as a folder: no file is lost, every complaint is in one of them, and a change is refused or takes
/// bytes of files alone. The first line says which change.
pub fn directory(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (order, text) = text.split_once('\n').unwrap_or(("", text));
    let dialect = dialect::named("directory").expect("it is in the table");
    let source = Source::new("plan", text).written_in(dialect);
    let draft = source.draft();
    assert_draft_inside(source.text(), &draft);
    let study = Study::of(&source, &draft);
    let questions = study.questions();
    for facts in [everything(&questions, &draft), nothing(&questions)] {
        let checked = verify::verify(&study, &facts, &VerifyLimits::default());
        assert_complaints(&source, &checked);
        for found in &checked.diagnostics {
            let file = source.part_at(found.primary.span.start);
            assert!(file.span.covers(found.primary.span), "{found:?} is not in {:?}", file.path);
        }
    }
    let change = change(order, draft.steps.len());
    if let Ok(edits) = dialect.patch(&source, &change) {
        assert_others_stay(source.text(), &edits);
        for edit in &edits {
            let is_inside = source.parts().iter().any(|part| part.span.covers(edit.span));
            assert!(is_inside, "{change:?} takes bytes of no file: {edit:?}");
        }
    }
    if let Ok(formatted) = dialect.format(&source) {
        assert_eq!(
            dialect.format(&source.with(formatted.as_str())),
            Ok(formatted),
            "the canonical form is its own"
        );
    }
    let birth = dialect::NewPlan { id: "PLAN-a1b2c3d4", now: "2026-11-16T10:00:00Z" };
    let composed = source.with(dialect.compose(&draft, &birth));
    assert_eq!(composed.draft().steps.len(), draft.steps.len(), "no step is lost: {}", composed.text());
}

/// The edits lie in the text, apart from each other, and everything between them is still there after they were made.
fn assert_others_stay(text: &str, edits: &[Edit]) {
    let mut ordered: Vec<&Edit> = edits.iter().collect();
    ordered.sort_by_key(|edit| (edit.span.start, edit.span.end));
    let patched = source::apply(text, edits);
    let (mut old, mut new) = (0, 0);
    for edit in ordered {
        assert_inside(text, edit.span, "the edit");
        assert!(old <= edit.span.start, "edits overlap: {edits:?}");
        let kept = &text.as_bytes()[old..edit.span.start];
        assert_eq!(&patched.as_bytes()[new..new + kept.len()], kept, "bytes in front of {edit:?} changed");
        new += kept.len();
        assert_eq!(
            &patched.as_bytes()[new..new + edit.text.len()],
            edit.text.as_bytes(),
            "{edit:?} is not there"
        );
        new += edit.text.len();
        old = edit.span.end;
    }
    assert_eq!(&patched.as_bytes()[new..], &text.as_bytes()[old..], "bytes behind the last edit changed");
}

/// Any text is a tree or a list of faults with places; what is quoted or set reads back as it was given.
pub fn frontmatter(bytes: &[u8]) {
    /// How far into its file the text is said to stand.
    const OFFSET: usize = 7;
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (root, faults) = yaml::read(text, OFFSET);
    let file = format!("{:OFFSET$}{text}", "");
    if let Some(root) = &root {
        assert!(root.span.start >= OFFSET, "the tree begins in front of its text: {root:?}");
        assert_nested(&file, root);
    }
    for fault in &faults {
        assert_inside(&file, fault.span, "the fault");
    }
    assert!(faults.is_sorted_by_key(|fault| fault.span.start), "faults come in file order: {faults:?}");
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    assert_quoted(text);
    assert_quoted(first);
    let (key, value) = first.split_once('\t').unwrap_or(("status", first));
    assert_set(rest, key, value);
}

/// Children lie inside their parent, one behind the other.
fn assert_nested(text: &str, node: &Node) {
    assert_inside(text, node.span, "the node");
    let children: Vec<&Node> = match &node.value {
        Value::Scalar { .. } => Vec::new(),
        Value::List(items) => items.iter().collect(),
        Value::Map(entries) => entries.iter().flat_map(|(key, value)| [key, value]).collect(),
    };
    let mut end = node.span.start;
    for child in children {
        assert!(node.span.covers(child.span), "{:?} is not inside {:?}", child.span, node.span);
        assert!(end <= child.span.start, "{:?} begins before {end}, the end of its neighbour", child.span);
        end = child.span.end;
        assert_nested(text, child);
    }
}

fn assert_quoted(text: &str) {
    let quoted = yaml::quote(text);
    assert!(!quoted.contains(['\n', '\r']), "{quoted:?} is not one line");
    let scalar = |node: &Node| match &node.value {
        Value::Scalar { text, .. } => text.clone(),
        Value::List(_) | Value::Map(_) => panic!("{quoted:?} reads as a collection"),
    };
    let (root, faults) = yaml::read(&format!("key: {quoted}\n"), 0);
    assert_eq!(faults, [], "{quoted:?} has faults");
    let Some(Node { value: Value::Map(entries), .. }) = root else { panic!("{quoted:?} breaks its map") };
    assert_eq!(entries.iter().map(|(_, value)| scalar(value)).collect::<Vec<_>>(), [text], "as a value");
    let (root, _) = yaml::read(&format!("[{quoted}, {quoted}]\n"), 0);
    let Some(Node { value: Value::List(items), .. }) = root else { panic!("{quoted:?} breaks its list") };
    assert_eq!(items.iter().map(scalar).collect::<Vec<_>>(), [text, text], "in a list");
    if quoted.len() < KEY_BYTES_MAX {
        let (root, _) = yaml::read(&format!("{quoted}: value\n"), 0);
        let Some(Node { value: Value::Map(entries), .. }) = root else { panic!("{quoted:?} is no key") };
        assert_eq!(entries.iter().map(|(key, _)| scalar(key)).collect::<Vec<_>>(), [text], "as a key");
    }
}

/// Where the block is in order, setting a key sets that key and no other.
fn assert_set(text: &str, key: &str, value: &str) {
    let source = Source::new("plan.md", text);
    let (before, oddities) = block::read(&source, &block::split(text));
    let is_key = !key.is_empty() && yaml::quote(key).len() < KEY_BYTES_MAX;
    let is_ours = is_key && oddities.is_empty() && takes_a_line(&source, &before);
    let Some(edit) = block::set(&source, key, value).filter(|_| is_ours) else { return };
    assert_others_stay(text, std::slice::from_ref(&edit));
    let source = Source::new("plan.md", source::apply(text, std::slice::from_ref(&edit)));
    let (after, oddities) = block::read(&source, &block::split(source.text()));
    assert_eq!(oddities, [], "{key:?}: {value:?} breaks the block by {edit:?}");
    let values = |entries: &[FrontmatterEntry]| -> BTreeMap<String, Option<String>> {
        let value = |entry: &FrontmatterEntry| entry.value.as_ref().map(|value| value.value.clone());
        entries.iter().map(|entry| (entry.key.value.clone(), value(entry))).collect()
    };
    let mut meant = values(&before.entries);
    meant.insert(key.to_owned(), Some(value.to_owned()));
    assert_eq!(values(&after.entries), meant, "after {edit:?}");
}

/// Whether a line at the margin can add a key: the block has keys at the margin, or nothing but comments. Patching refuses
/// the others.
fn takes_a_line(source: &Source, present: &Frontmatter) -> bool {
    let text = source.text();
    let mut lines = block::split(text).yaml.map_or("", |yaml| &text[yaml.start..yaml.end]).lines();
    let at_margin = |at: usize| source.line_at(at).start == at;
    if present.entries.is_empty() {
        return lines.all(|line| line.trim().is_empty() || line.starts_with('#'));
    }
    present.entries.iter().all(|entry| at_margin(entry.key.span.start))
        && !lines.any(|line| line.starts_with('%') || line.starts_with("---"))
}

/// Any text can be taken for a contract; everything that is told of it has its place in it.
pub fn shell(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let script = bash::analyse(text);
    let faults = script.fault.iter().map(|fault| fault.span);
    let calls = script.calls.iter().map(|call| call.span);
    let paths = script.paths.iter().chain(script.tests.iter().flatten()).map(|used| used.span);
    for span in faults.chain(calls).chain(paths) {
        assert_inside(text, span, "what the script uses");
    }
    assert!(script.calls.is_sorted_by_key(|call| call.span.start), "calls come in the order of the text");
    assert_eq!(bash::analyse(text), script, "the same text is told the same way");
}

/// Two patterns meet in a path that both mean, and they do meet where some path shows that they can.
pub fn glob(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut lines = text.split('\n');
    let (first, second) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let (Ok(a), Ok(b)) = (pattern::Glob::new(first), pattern::Glob::new(second)) else { return };
    let meet = pattern::intersection(&a, &b);
    let other_way = pattern::intersection(&b, &a);
    assert_eq!(meet.is_some(), other_way.is_some(), "{first:?} and {second:?} meet in one order only");
    for path in meet.iter().chain(&other_way) {
        assert!(a.matches(path), "{first:?} does not mean {path:?}");
        assert!(b.matches(path), "{second:?} does not mean {path:?}");
    }
    for path in lines.filter(|path| a.matches(path) && b.matches(path)) {
        assert!(meet.is_some(), "{first:?} and {second:?} both mean {path:?}");
    }
    for glob in [&a, &b] {
        let own = pattern::intersection(glob, glob);
        assert!(
            own.is_none_or(|path| glob.matches(&path)),
            "{:?} does not mean its own example",
            glob.pattern()
        );
    }
}
