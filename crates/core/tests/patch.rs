//! Lossless edits: whatever the file and whatever the change, all bytes but those of the change stay, and reading the
//! result gives the changed plan. What a change means and which bytes it may take is written out here a second time, so
//! that the guard in the dialect is no judge in its own cause.

#[path = "patch/generate.rs"]
mod generate;

use std::collections::BTreeMap;

use generate::{Purity, plans, soups, wishes};
use planwright_core::dialect::{self, Dialect};
use planwright_core::plan::digest::Digest;
use planwright_core::plan::draft::{Draft, DraftField, Mark, StepDraft, StepNumber};
use planwright_core::plan::edit::{EditError, PlanEdit};
use planwright_core::plan::verified;
use planwright_core::syntax::source;
use planwright_core::syntax::source::{Edit, Source, Span, Spanned};
use planwright_core::syntax::yaml;
use planwright_core::verify::{Facts, Study, VerifyLimits, verify};
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

fn native() -> &'static Dialect {
    dialect::DIALECTS.iter().find(|dialect| dialect.name == "native").expect("the native dialect is listed")
}

fn parse(text: &str) -> Draft {
    (native().parse)(&Source::new("plan.md", text))
}

/// The text with the change made.
fn patched(text: &str, change: &PlanEdit) -> Result<String, EditError> {
    let source = Source::new("plan.md", text);
    native().patch(&source, change).map(|edits| source::apply(text, &edits))
}

/// What is wrong with `after` as the outcome of `change` on `before`; empty when nothing is.
fn faults(before: &str, change: &PlanEdit, after: &str) -> Vec<String> {
    let source = Source::new("plan.md", before);
    let draft = (native().parse)(&source);
    let mut faults = Vec::new();
    if !are_bytes_kept(&source, &draft, change, after) {
        faults.push("bytes were changed that the change does not need".to_owned());
    }
    let (meant, read) = (meant(&draft, change), parse(after));
    if meant != read {
        faults.push(format!("the result reads as\n{read:#?}\ninstead of\n{meant:#?}"));
    }
    faults
}

// ---- what a change means -------------------------------------------------------------------------------------------

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::default())
}

fn counted(step: &StepDraft) -> Option<usize> {
    match step.number.value {
        StepNumber::Counted(number) => usize::try_from(number).ok(),
        StepNumber::Template(_) => None,
    }
}

fn template(step: &StepDraft) -> Option<&str> {
    match &step.number.value {
        StepNumber::Counted(_) => None,
        StepNumber::Template(text) => Some(text),
    }
}

fn numbered(number: usize) -> Spanned<StepNumber> {
    spanned(StepNumber::Counted(u32::try_from(number).expect("few steps")))
}

/// What a need that names a number says once the steps have been numbered anew; `None` when it names none.
fn renumbered(need: &str, steps: &[StepDraft]) -> Option<String> {
    let digits = need.trim_start_matches('#');
    let number: usize = digits.parse().ok()?;
    let place = steps.iter().position(|step| counted(step) == Some(number))?;
    Some(need.replace(digits, &(place + 1).to_string()))
}

fn renumber(draft: &mut Draft) {
    let before = draft.steps.clone();
    for (place, step) in draft.steps.iter_mut().enumerate() {
        if counted(step).is_some() {
            step.number = numbered(place + 1);
        }
        for need in step.needs.iter_mut().flatten() {
            need.value = renumbered(&need.value, &before).unwrap_or_else(|| need.value.clone());
        }
    }
}

/// The names that a step waits for.
fn waits_for(draft: &Draft, step: usize) -> Vec<String> {
    let ids = verified::ids(draft);
    match &draft.steps[step].needs {
        Some(needs) => needs.iter().map(|need| need.value.clone()).collect(),
        None => verified::needs(draft, &ids)[step].iter().map(|&place| ids[place].clone()).collect(),
    }
}

fn meant(draft: &Draft, change: &PlanEdit) -> Draft {
    let mut meant = draft.clone();
    match change {
        PlanEdit::Mark { step, mark } => {
            meant.steps[*step].marks = mark.iter().map(|&mark| spanned(mark)).collect();
        }
        PlanEdit::Become { state } => meant.state = Some(spanned(*state)),
        PlanEdit::Trace { .. } => {}
        PlanEdit::Set { key, value } => {
            let value = Some(spanned(value.clone()));
            let entries = &mut meant.frontmatter.entries;
            match entries.iter().position(|entry| entry.key.value == *key) {
                Some(place) => entries[place].value = value,
                None => entries.push(planwright_core::plan::draft::FrontmatterEntry {
                    key: spanned(key.clone()),
                    value,
                }),
            }
        }
        PlanEdit::Note { text } => meant.notes.push(spanned(text.clone())),
        PlanEdit::Rename { step, id } => {
            let old = verified::ids(draft)[*step].clone();
            for need in meant.steps.iter_mut().filter_map(|step| step.needs.as_mut()).flatten() {
                need.value = if need.value == old { id.clone() } else { need.value.clone() };
            }
            meant.steps[*step].id = Some(spanned(id.clone()));
        }
        PlanEdit::Need { step, on } => {
            let names = waits_for(draft, *step);
            if !names.contains(on) {
                meant.steps[*step].needs = Some(names.into_iter().chain([on.clone()]).map(spanned).collect());
            }
        }
        PlanEdit::Move { step, to } => {
            let moved = meant.steps.remove(*step);
            meant.steps.insert(*to, moved);
            renumber(&mut meant);
        }
        PlanEdit::Renumber => renumber(&mut meant),
        PlanEdit::Append { .. } => panic!("the suite of the native dialect shows this"),
        PlanEdit::Expand { step, items } => expand(&mut meant, *step, items),
    }
    meant
}

/// Every place for an item in the generated templates.
fn filled(text: &str, item: &str) -> String {
    let pieces = text
        .split("{item}")
        .map(|piece| piece.replace("[batch list here]", item).replace("[list here]", item));
    pieces.collect::<Vec<_>>().join(item)
}

fn expand(draft: &mut Draft, at: usize, items: &[String]) {
    let old = verified::ids(draft)[at].clone();
    let written = draft.steps.remove(at);
    for (index, item) in items.iter().enumerate() {
        let mut step = written.clone();
        step.number = numbered(at + index + 1);
        step.each.clear();
        step.texts_mut().for_each(|text| *text = filled(text, item));
        let title = filled(&written.title.value, item);
        step.title = spanned(if title == written.title.value { format!("{title}: {item}") } else { title });
        if let Some(id) = written.id.as_ref().filter(|id| filled(&id.value, item) == id.value) {
            step.id = Some(spanned(format!("{}-{}", id.value, index + 1)));
        }
        draft.steps.insert(at + index, step);
    }
    let new: Vec<String> = verified::ids(draft)[at..at + items.len()].to_vec();
    for needs in draft.steps.iter_mut().filter_map(|step| step.needs.as_mut()) {
        let names = needs
            .iter()
            .flat_map(|need| if need.value == old { new.clone() } else { vec![need.value.clone()] });
        *needs = names.map(spanned).collect();
    }
    for (place, step) in draft.steps.iter_mut().enumerate().skip(at) {
        match template(step) {
            Some(text) if text.contains('+') => step.number = numbered(place + 1),
            Some(_) => break,
            None => {}
        }
    }
}

// ---- which bytes a change may take ---------------------------------------------------------------------------------

/// A place in the file that may change, and everything that may stand there instead.
struct Hole {
    span: Span,
    texts: Vec<String>,
}

fn hole(span: Span, texts: &[&str]) -> Hole {
    Hole { span, texts: texts.iter().map(|&text| text.to_owned()).collect() }
}

/// Whether `after` is `before` with every hole filled by one of its texts, and nothing else.
fn is_filled(before: &str, mut holes: Vec<Hole>, after: &str) -> bool {
    fn from(before: &str, at: usize, holes: &[Hole], after: &str) -> bool {
        let Some((hole, rest)) = holes.split_first() else { return &before[at..] == after };
        let Some(after) = after.strip_prefix(&before[at..hole.span.start]) else { return false };
        let mut texts = hole.texts.iter().filter_map(|text| after.strip_prefix(text.as_str()));
        texts.any(|after| from(before, hole.span.end, rest, after))
    }
    holes.sort_by_key(|hole| (hole.span.start, hole.span.end));
    from(before, 0, &holes, after)
}

/// Whether `after` is `before` with one piece put in, at a place and with a text that `is_allowed` takes.
fn is_inserted(before: &str, after: &str, is_allowed: impl Fn(usize, &str) -> bool) -> bool {
    let Some(length) = after.len().checked_sub(before.len()) else { return false };
    let common = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
    (0..=common).rev().take_while(|&at| at + length + 1 > common).any(|at| {
        let is_whole =
            before.is_char_boundary(at) && after.is_char_boundary(at) && after.is_char_boundary(at + length);
        is_whole && after[at + length..] == before[at..] && is_allowed(at, &after[at..at + length])
    })
}

fn are_bytes_kept(source: &Source, draft: &Draft, change: &PlanEdit, after: &str) -> bool {
    let before = source.text();
    let newline = source.line_ending();
    match change {
        PlanEdit::Mark { step, mark } => is_filled(before, mark_holes(&draft.steps[*step], *mark), after),
        PlanEdit::Become { .. } | PlanEdit::Trace { .. } | PlanEdit::Append { .. } => {
            panic!("the suite of all dialects shows these")
        }
        PlanEdit::Set { key, value } => is_set(source, draft, (key, value), after),
        PlanEdit::Note { text } => is_inserted(before, after, |_, piece| {
            let note = piece.trim_start_matches(['\r', '\n', '#']).trim_end_matches(['\r', '\n']);
            note.strip_prefix(&format!(" Notes{newline}{newline}")).unwrap_or(note) == format!("- {text}")
        }),
        PlanEdit::Rename { step, id } => is_renamed(source, draft, (*step, id), after),
        PlanEdit::Need { step, on } => is_need_added(source, draft, (*step, on), after),
        PlanEdit::Move { step, to } => after == moved(source, draft, *step, *to),
        PlanEdit::Renumber => is_filled(before, number_holes(&draft.steps, &draft.steps), after),
        PlanEdit::Expand { step, items } => after == expanded(source, draft, *step, items),
    }
}

/// The text with a template written out: its body once for each item, all else as it was but for the numbers behind it
/// and the needs that named it.
fn expanded(source: &Source, draft: &Draft, at: usize, items: &[String]) -> String {
    let (step, text, newline) = (&draft.steps[at], source.text(), source.line_ending());
    let end = slot(source, step).end;
    let meant = meant(draft, &PlanEdit::Expand { step: at, items: items.to_vec() });
    let written = meant.steps[at..at + items.len()].iter().zip(items).map(|(written, item)| {
        let each = step.field(DraftField::Each).map(|each| {
            Edit::delete(Span::new(
                source.line_at(each.label.start).start,
                source.next_line(each.whole.end).min(end),
            ))
        });
        let id = step
            .id
            .as_ref()
            .zip(written.id.as_ref())
            .map(|(old, new)| Edit::replace(old.span, new.value.as_str()));
        let edits: Vec<Edit> = each.into_iter().chain(id).collect();
        let body = &source::apply(&text[..end], &edits)[step.heading.0.end..];
        let mark = match step.mark() {
            Some(Mark::Done) => "✅ ",
            Some(Mark::Running) => panic!("a native step has no such mark"),
            Some(Mark::Failed) => "❌ ",
            Some(Mark::Skipped) => "⏭ ",
            None => "",
        };
        let number = counted(written).expect("a step that was written out has a number");
        format!(
            "{} {number}. {mark}{}{}",
            "#".repeat(step.level.0.into()),
            written.title.value,
            filled(body, item)
        )
    });
    let written = written.collect::<Vec<_>>().join(&newline.repeat(2));
    let mut edits = vec![Edit::replace(Span::new(step.whole.0.start, end), written)];
    for (old, new) in draft.steps[at + 1..].iter().zip(&meant.steps[at + items.len()..]) {
        let number = counted(new).filter(|_| template(old).is_some());
        edits.extend(number.map(|number| Edit::replace(old.number.span, number.to_string())));
    }
    let (old, new) = (&verified::ids(draft)[at], &verified::ids(&meant)[at..at + items.len()]);
    for other in draft.steps.iter().filter(|other| other.whole.0 != step.whole.0) {
        for need in other.needs.iter().flatten().filter(|need| need.value == *old) {
            let lead = &text[source.line_at(need.span.start).start..need.span.start];
            let ticks = "`".repeat(lead.len() - lead.trim_end_matches('`').len());
            let is_item = lead.trim_matches(['`', ' ', '\t', '-', '*', '+']).is_empty();
            let between =
                if is_item { format!("{ticks}{newline}{lead}") } else { format!("{ticks}, {ticks}") };
            edits.push(Edit::replace(need.span, new.join(&between)));
        }
    }
    source::apply(text, &edits)
}

fn mark_holes(step: &StepDraft, mark: Option<Mark>) -> Vec<Hole> {
    let present: Vec<Mark> = step.marks.iter().map(|mark| mark.value).collect();
    if present == mark.into_iter().collect::<Vec<_>>() {
        return Vec::new();
    }
    let (glyph, word) = match mark {
        Some(Mark::Done) => ("✅", "done"),
        Some(Mark::Running) => panic!("a native step has no such mark"),
        Some(Mark::Failed) => ("❌", "failed"),
        Some(Mark::Skipped) => ("⏭", "skipped"),
        None => ("", "pending"),
    };
    let in_heading = step.marks.iter().filter(|mark| step.heading.0.covers(mark.span));
    let mut holes: Vec<Hole> = in_heading.map(|mark| hole(mark.span, &[""])).collect();
    match step.field(DraftField::Status) {
        Some(field) if field.value.is_empty() => holes.push(hole(field.value, &[&format!(" {word}")])),
        Some(field) => holes.push(hole(field.value, &[word])),
        None if mark.is_none() => {}
        None => {
            holes.push(hole(Span::at(step.title.span.start), &[&format!("{glyph} "), &format!(" {glyph} ")]));
        }
    }
    holes
}

fn is_set(source: &Source, draft: &Draft, (key, value): (&str, &str), after: &str) -> bool {
    let (before, newline, value) = (source.text(), source.line_ending(), yaml::quote(value));
    let present = draft.frontmatter.entry(key);
    match (present.map(|entry| (entry.key.span, &entry.value)), draft.frontmatter.block.0) {
        (Some((_, Some(present))), _) if !present.span.is_empty() => {
            is_filled(before, vec![hole(present.span, &[&value])], after)
        }
        (Some((name, _)), _) => is_inserted(before, after, |at, piece| {
            piece == format!(" {value}") && source.line_at(at) == source.line_at(name.start)
        }),
        (None, Some(block)) => is_inserted(before, after, |at, piece| {
            piece == format!("{}: {value}{newline}", yaml::quote(key)) && block.covers(Span::at(at))
        }),
        (None, None) => is_inserted(before, after, |at, piece| {
            piece == format!("---{newline}{}: {value}{newline}---{newline}", yaml::quote(key))
                && at <= '\u{feff}'.len_utf8()
        }),
    }
}

fn is_renamed(source: &Source, draft: &Draft, (step, id): (usize, &str), after: &str) -> bool {
    let old = &verified::ids(draft)[step];
    let needs =
        draft.steps.iter().filter_map(|step| step.needs.as_ref()).flatten().filter(|need| need.value == *old);
    let followed: Vec<Edit> = needs.map(|need| Edit::replace(need.span, id)).collect();
    if let Some(present) = &draft.steps[step].id {
        let edits: Vec<Edit> = followed.into_iter().chain([Edit::replace(present.span, id)]).collect();
        return after == source::apply(source.text(), &edits);
    }
    let field = format!("**id:** {id}");
    is_inserted(&source::apply(source.text(), &followed), after, |_, piece| {
        piece == format!(" {id}") || is_framed(piece, &field)
    })
}

/// Whether `piece` is `text` with nothing around it but what sets off fields and items.
fn is_framed(piece: &str, text: &str) -> bool {
    let is_free = |part: &str| {
        part.chars().all(|sign| "-*+,`.)".contains(sign) || sign.is_whitespace() || sign.is_ascii_digit())
    };
    piece.split_once(text).is_some_and(|(before, behind)| is_free(before) && is_free(behind))
}

fn is_need_added(source: &Source, draft: &Draft, (step, on): (usize, &str), after: &str) -> bool {
    let names = waits_for(draft, step);
    if names.iter().any(|name| name == on) {
        return after == source.text();
    }
    let names = names.into_iter().chain([on.to_owned()]).collect::<Vec<_>>().join(", ");
    let step = &draft.steps[step];
    let has_names = step.needs.as_ref().is_some_and(|needs| !needs.is_empty());
    match step.field(DraftField::Needs) {
        Some(_) if has_names => is_inserted(source.text(), after, |at, piece| {
            step.whole.0.covers(Span::at(at)) && is_framed(piece, on)
        }),
        Some(field) if !field.value.is_empty() => {
            is_filled(source.text(), vec![hole(field.value, &[&names])], after)
        }
        Some(_) => is_inserted(source.text(), after, |_, piece| piece == format!(" {names}")),
        None => is_inserted(source.text(), after, |at, piece| {
            let line = format!("**needs:** {names}");
            step.whole.0.covers(Span::at(at)) && is_framed(piece, &line)
        }),
    }
}

/// The numbers in headings and needs of `some` of the steps, once they stand in this order.
fn number_holes(some: &[StepDraft], order: &[StepDraft]) -> Vec<Hole> {
    let mut holes = Vec::new();
    for step in some {
        let place = order.iter().position(|other| other.whole.0 == step.whole.0).expect("one of the steps");
        if counted(step).is_some() {
            holes.push(hole(step.number.span, &[&(place + 1).to_string()]));
        }
        for need in step.needs.iter().flatten() {
            holes.extend(renumbered(&need.value, order).map(|now| hole(need.span, &[&now])));
        }
    }
    holes
}

/// A step without the blank lines behind it.
fn slot(source: &Source, step: &StepDraft) -> Span {
    let whole = step.whole.0;
    let end = whole.start + source.slice(whole).trim_end().len();
    Span::new(whole.start, end.max(step.heading.0.end))
}

/// The text with a step moved: the steps change places without the blank lines behind them, all else stays.
fn moved(source: &Source, draft: &Draft, step: usize, to: usize) -> String {
    let mut order = draft.steps.clone();
    let taken = order.remove(step);
    order.insert(to, taken);
    let own_text = |step: &StepDraft| {
        let from = slot(source, step);
        let holes = number_holes(std::slice::from_ref(step), &order);
        let edits: Vec<Edit> = holes
            .into_iter()
            .map(|hole| {
                Edit::replace(
                    Span::new(hole.span.start - from.start, hole.span.end - from.start),
                    hole.texts[0].as_str(),
                )
            })
            .collect();
        source::apply(source.slice(from), &edits)
    };
    let edits: Vec<Edit> = draft
        .steps
        .iter()
        .zip(&order)
        .map(|(here, now)| Edit::replace(slot(source, here), own_text(now)))
        .collect();
    source::apply(source.text(), &edits)
}

/// Facts under which every contract, reference and target of the generated plans is fine.
fn facts(study: &Study<'_>) -> Facts {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    let questions = study.questions();
    Facts {
        paths: words(&["a.md"]),
        programs: questions.programs,
        bash: questions.commands.into_iter().map(|command| (command, Vec::new())).collect(),
        agents: words(&["coder", "reviewer"]),
        topics: words(&["b"]),
        ..Facts::default()
    }
}

/// The digest of the plan, if it verifies.
fn digest(text: &str) -> Option<Digest> {
    let source = Source::new("plan.md", text);
    let draft = (native().parse)(&source);
    let study = Study::of(&source, &draft);
    let checked = verify(&study, &facts(&study), &VerifyLimits::default());
    checked.plan.as_ref().map(Digest::of)
}

// ---- the claims ----------------------------------------------------------------------------------------------------

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(500))]

    //
    #[test]
    fn a_change_takes_only_its_bytes_and_reads_as_it_means(text in plans(Purity::Wild), wish in wishes()) {
        let change = wish.change(&parse(&text));
        if let Ok(after) = patched(&text, &change) {
            prop_assert_eq!(faults(&text, &change, &after), Vec::<String>::new(), "{:?}\n{}\n=>\n{}", change, text, after);
        }
    }

    #[test]
    fn any_text_is_read_and_a_change_to_it_is_refused_or_right(text in soups(), wish in wishes()) {
        let change = wish.change(&parse(&text));
        if let Ok(after) = patched(&text, &change) {
            prop_assert_eq!(faults(&text, &change, &after), Vec::<String>::new(), "{:?}\n{:?}\n=>\n{:?}", change, text, after);
        }
    }

    #[test]
    fn any_text_has_a_canonical_form_that_is_stable_or_none(text in soups()) {
        if let Ok(canonical) = native().format(&Source::new("plan.md", text.as_str())) {
            prop_assert_eq!(parse(&canonical), parse(&text));
            prop_assert_eq!(native().format(&Source::new("plan.md", canonical.as_str())), Ok(canonical));
        }
    }

    #[test]
    fn any_characters_at_all_do_no_harm(text in ".{0,200}", bytes in proptest::collection::vec(any::<u8>(), 0..200), wish in wishes()) {
        for text in [text, String::from_utf8_lossy(&bytes).into_owned()] {
            let change = wish.change(&parse(&text));
            if let Ok(after) = patched(&text, &change) {
                prop_assert_eq!(faults(&text, &change, &after), Vec::<String>::new());
            }
            let _ = native().format(&Source::new("plan.md", text));
        }
    }

    #[test]
    fn a_plan_has_a_canonical_form_that_says_the_same(text in plans(Purity::Wild)) {
        let canonical = native().format(&Source::new("plan.md", text.as_str()));
        let canonical = canonical.map_err(|refusal| proptest::test_runner::TestCaseError::fail(format!("{refusal}\n{text}")))?;
        prop_assert_eq!(parse(&canonical), parse(&text));
        prop_assert!(!canonical.contains('\r') && canonical.ends_with('\n') && !canonical.ends_with("\n\n"));
        prop_assert_eq!(native().format(&Source::new("plan.md", canonical.as_str())), Ok(canonical));
    }
}

/// Whether a change to a plan that verifies changes what it says; `None` where that hangs on more than its kind.
fn is_meaningful(text: &str, change: &PlanEdit) -> Option<bool> {
    match change {
        // The steps of a plan that verifies are numbered already.
        PlanEdit::Mark { .. }
        | PlanEdit::Become { .. }
        | PlanEdit::Trace { .. }
        | PlanEdit::Note { .. }
        | PlanEdit::Renumber => Some(false),
        PlanEdit::Set { key, value } if key == "owner" => {
            let owner = parse(text).frontmatter.value("owner").map(|owner| owner.value.clone());
            Some(owner.as_ref() != Some(value))
        }
        PlanEdit::Set { key, .. } => {
            Some(false).filter(|_| ["status", "approved_by"].contains(&key.as_str()))
        }
        PlanEdit::Rename { step, id } => Some(verified::ids(&parse(text))[*step] != *id),
        PlanEdit::Need { step, on } => Some(!is_waited_for(text, *step, on)),
        PlanEdit::Move { step, to } => Some(step != to),
        PlanEdit::Append { .. } | PlanEdit::Expand { .. } => None,
    }
}

/// Whether a step waits for the step called `on`.
fn is_waited_for(text: &str, step: usize, on: &str) -> bool {
    let draft = parse(text);
    let ids = verified::ids(&draft);
    verified::find_step(&draft, &ids, on).is_some_and(|on| verified::needs(&draft, &ids)[step].contains(&on))
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_mark_and_its_removal_restore_every_byte(text in plans(Purity::Wild), wish in wishes()) {
        let draft = parse(&text);
        let Some((place, _)) = draft.steps.iter().enumerate().find(|(_, step)| {
            step.marks.is_empty() && step.field(DraftField::Status).is_none()
        }) else { return Ok(()) };
        let mark = match wish.change(&draft) {
            PlanEdit::Mark { mark: Some(mark), .. } => mark,
            PlanEdit::Mark { .. } | PlanEdit::Become { .. } | PlanEdit::Trace { .. } | PlanEdit::Set { .. } | PlanEdit::Note { .. } | PlanEdit::Rename { .. } | PlanEdit::Need { .. }
            | PlanEdit::Move { .. } | PlanEdit::Renumber | PlanEdit::Append { .. } | PlanEdit::Expand { .. } => Mark::Done,
        };
        let marked = patched(&text, &PlanEdit::Mark { step: place, mark: Some(mark) }).expect("a mark can be set");
        prop_assert!(marked != text);
        let cleared = patched(&marked, &PlanEdit::Mark { step: place, mark: None }).expect("a mark can be cleared");
        prop_assert_eq!(cleared, text);
    }

    #[test]
    fn the_digest_ignores_marks_status_notes_and_form_and_nothing_else(text in plans(Purity::Clean), wish in wishes()) {
        let Some(before) = digest(&text) else { return Ok(()) };
        let change = wish.change(&parse(&text));
        let Ok(after) = patched(&text, &change) else { return Ok(()) };
        let now = digest(&after);
        let is_same = now == Some(before);
        if let Some(is_meaningful) = is_meaningful(&text, &change) {
            prop_assert!(is_same != is_meaningful, "{:?}\n{}", change, text);
        }
        let canonical = native().format(&Source::new("plan.md", text.as_str()));
        let canonical = canonical.expect("a clean plan has a canonical form");
        prop_assert_eq!(digest(&canonical), Some(before));
    }
}

#[test]
fn the_clean_plans_of_the_generator_verify() {
    let plans = samples(300, &plans(Purity::Clean));
    let verified = plans.iter().filter(|text| digest(text).is_some()).count();
    assert!(verified * 10 > plans.len() * 6, "only {verified} of {} verify", plans.len());
}

/// Where a byte of `text` can be changed, from `seed` on.
fn other_byte(text: &str, seed: usize) -> Option<usize> {
    (0..text.len()).map(|step| (seed + step) % text.len()).find(|&at| text.as_bytes()[at].is_ascii())
}

/// A patch that also changes one byte somewhere else is caught, wherever that byte is.
#[test]
fn the_check_catches_a_saboteur() {
    let mut count = 0;
    for (text, wish) in samples(400, &(plans(Purity::Wild), wishes())) {
        let change = wish.change(&parse(&text));
        let Ok(after) = patched(&text, &change) else { continue };
        let Some(at) = other_byte(&after, count * 7919) else { continue };
        let other = if after.as_bytes()[at] == b'x' { "y" } else { "x" };
        let sabotaged = format!("{}{other}{}", &after[..at], &after[at + 1..]);
        assert!(faults(&text, &change, &after).is_empty());
        assert!(
            !faults(&text, &change, &sabotaged).is_empty(),
            "byte {at}: {change:?}\n{text}\n=>\n{sabotaged}"
        );
        count += 1;
    }
    assert!(count > 300, "only {count} changes were sabotaged");
}

/// `count` samples of a strategy, the same ones every time.
fn samples<T: std::fmt::Debug>(count: usize, strategy: &impl Strategy<Value = T>) -> Vec<T> {
    let mut runner = TestRunner::deterministic();
    let sample = |_| strategy.new_tree(&mut runner).expect("the strategies never reject").current();
    (0..count).map(sample).collect()
}

/// Why a change that makes sense may be refused all the same.
fn is_explained(draft: &Draft, change: &PlanEdit, refusal: &EditError) -> bool {
    match (refusal, change) {
        // There is a step to write out in one plan of three.
        (EditError::NotATemplate { step }, PlanEdit::Expand { .. }) => counted(&draft.steps[*step]).is_some(),
        // A list and a block of text are not replaced by a word.
        (EditError::NotPlain { key }, PlanEdit::Set { .. }) => {
            draft.frontmatter.entry(key).is_some_and(|entry| entry.value.is_none())
        }
        // Numbers that stand twice can't all be followed.
        (EditError::WouldChangeMore(why), PlanEdit::Move { .. } | PlanEdit::Renumber) => {
            why.ends_with("would refer to another step")
        }
        (EditError::Owned { key }, PlanEdit::Set { .. }) => key == "status",
        (
            EditError::NoStep { .. }
            | EditError::NotOneLine(_)
            | EditError::NoItems { .. }
            | EditError::NotATemplate { .. }
            | EditError::Owned { .. }
            | EditError::NotPlain { .. }
            | EditError::NoWord { .. }
            | EditError::FileName { .. }
            | EditError::WouldChangeMore(_),
            _,
        ) => false,
    }
}

#[test]
fn hardly_any_sensible_change_is_refused() {
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    let cases = samples(3000, &(plans(Purity::Wild), wishes()));
    for (text, wish) in &cases {
        let draft = parse(text);
        let change = wish.change(&draft);
        let Err(refusal) = patched(text, &change) else { continue };
        assert!(is_explained(&draft, &change, &refusal), "{refusal}: {change:?}\n{text}");
        *refused.entry(kind(&change)).or_default() += 1;
    }
    // Templates are rare, so most of what is refused is to write out a step that is none.
    refused.remove("Expand");
    let total: usize = refused.values().sum();
    assert!(total * 100 < cases.len(), "{total} of {} were refused: {refused:#?}", cases.len());
}

fn kind(change: &PlanEdit) -> String {
    format!("{change:?}").split([' ', '{']).next().unwrap_or_default().to_owned()
}
