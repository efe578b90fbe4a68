//! Goes through every place that a draft names and holds it against the text.

use planwright_core::plan::draft::{Draft, FieldDraft, ParseIssue, RecordFault, StepDraft};
use planwright_core::syntax::source::{Excerpt, Span, Spanned};

/// Holds that a span lies in the text and splits no character.
pub(crate) fn assert_inside(text: &str, span: Span, what: &str) {
    assert!(span.start <= span.end, "{what} ends before it begins: {span:?}");
    assert!(span.end <= text.len(), "{what} lies behind the end, {}: {span:?}", text.len());
    let is_whole = text.is_char_boundary(span.start) && text.is_char_boundary(span.end);
    assert!(is_whole, "{what} splits a character: {span:?}");
}

/// Holds that everything that was read from the text lies in it.
pub(crate) fn assert_draft_inside(text: &str, draft: &Draft) {
    let mut spans: Vec<Span> = draft.frontmatter.block.0.into_iter().collect();
    spans.extend(
        draft
            .frontmatter
            .entries
            .iter()
            .flat_map(|entry| place(entry.value.as_ref()).into_iter().chain([entry.key.span])),
    );
    for part in [&draft.title, &draft.context, &draft.priority, &draft.budget] {
        spans.extend(place(part.as_ref()));
    }
    spans.extend(draft.notes.iter().map(|note| note.span));
    for oddity in &draft.oddities.0 {
        spans.push(oddity.span);
        spans.extend(cause(&oddity.value));
    }
    for span in spans {
        assert_inside(text, span, "a part of the plan");
    }
    let mut end = 0;
    for step in &draft.steps {
        assert_step_inside(text, step);
        assert!(
            end <= step.whole.0.start,
            "a step begins at {}, before {end}, the end of the last",
            step.whole.0.start
        );
        end = step.whole.0.end;
    }
}

fn assert_step_inside(text: &str, step: &StepDraft) {
    assert_inside(text, step.whole.0, "a step");
    let mut spans = vec![step.heading.0, step.number.span, step.title.span];
    spans.extend(step.marks.iter().map(|mark| mark.span));
    for part in [&step.id, &step.target, &step.task, &step.on_fail, &step.timeout, &step.network, &step.green]
    {
        spans.extend(place(part.as_ref()));
    }
    let optional = [&step.needs, &step.touches].into_iter().flatten();
    let lists = [&step.reads, &step.sealed, &step.accept, &step.tools, &step.env, &step.each, &step.stray];
    spans.extend(lists.into_iter().chain(optional).flatten().map(|item| item.span));
    if let Some(contract) = &step.contract {
        spans.extend(place(contract.language.as_ref()).into_iter().chain(place(contract.expect.as_ref())));
    }
    for field in &step.fields.0 {
        let FieldDraft { name, label, value, whole, .. } = field;
        spans.extend([name.span, *label, *value, *whole]);
    }
    let commands =
        [step.contract.as_ref().and_then(|contract| contract.command.as_ref()), step.setup.as_ref()];
    for command in commands.into_iter().flatten() {
        spans.push(command.span);
        spans.extend(characters(command));
    }
    for span in spans {
        assert_inside(text, span, "a part of a step");
        assert!(step.whole.0.covers(span), "{span:?} is said to be in the step at {:?}", step.whole.0);
    }
}

/// Where every character of a command stands in the file.
fn characters(command: &Excerpt) -> impl Iterator<Item = Span> {
    let spans = command.value.char_indices().map(|(at, character)| Span::new(at, at + character.len_utf8()));
    spans.map(|span| command.locate(span))
}

fn place<T>(spanned: Option<&Spanned<T>>) -> Option<Span> {
    spanned.map(|spanned| spanned.span)
}

fn cause(oddity: &ParseIssue) -> Option<Span> {
    match oddity {
        ParseIssue::DuplicateKey { first, .. }
        | ParseIssue::DuplicateField { first, .. }
        | ParseIssue::SecondContract { first }
        | ParseIssue::Record(RecordFault::DuplicateKey { first, .. })
        | ParseIssue::SameIndex { first, .. } => Some(*first),
        ParseIssue::Frontmatter(_)
        | ParseIssue::UnclosedFence
        | ParseIssue::HeadingLevel { .. }
        | ParseIssue::UnknownMark(_)
        | ParseIssue::Unreadable(_)
        | ParseIssue::NearlyField { .. }
        | ParseIssue::Record(_)
        | ParseIssue::MissingFile { .. }
        | ParseIssue::MisnamedTask { .. }
        | ParseIssue::WrongType { .. }
        | ParseIssue::UnreadStep { .. }
        | ParseIssue::OddNumber { .. }
        | ParseIssue::PlainField { .. } => None,
    }
}
