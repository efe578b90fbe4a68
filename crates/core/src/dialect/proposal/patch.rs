//! Computes the edits for a change to a proposal, and what every write adds. Never edits anything itself.

use super::outline::ProposalOutline;
use super::{DIALECT, KEYS, id_of, spell};
use crate::dialect::frontmatter;
use crate::dialect::frontmatter::FrontmatterParts;
use crate::dialect::patch;
use crate::plan::draft::{Draft, Frontmatter, ParseIssue, StepDraft};
use crate::plan::edit::{EditError, PlanEdit};
use crate::plan::lifecycle::PlanState;
use crate::syntax::count::number;
use crate::syntax::source::{Edit, Source, Span};
use crate::syntax::text::one_line;
use crate::syntax::yaml;

/// The edits for `change` in `source`, parsed as `draft`.
pub(super) fn edits(source: &Source, draft: &Draft, change: &PlanEdit) -> Result<Vec<Edit>, EditError> {
    Ok(match change {
        // Boxes are the only marks, and they are only ever cleared: the dialect has no marks of its own.
        PlanEdit::Mark { step, .. } => {
            draft.steps[*step].marks.iter().map(|mark| Edit::replace(mark.span, " ")).collect()
        }
        PlanEdit::Become { state } => become_state(source, draft, *state)?,
        PlanEdit::Trace { .. } => Vec::new(),
        PlanEdit::Set { key, value } => vec![patch::set_key(source, key, value)?],
        PlanEdit::Note { text } => vec![append_note(source, text)],
        PlanEdit::Rename { step, id } => patch::rename(draft, *step, id, || {
            Ok(insert_field(source, &draft.steps[*step], &format!("- **id:** {id}")))
        })?,
        PlanEdit::Need { step, on } => {
            let append = |last: Span| patch::append_name(source, last, on);
            patch::add_need(draft, *step, on, append, |names| {
                Ok(insert_field(source, &draft.steps[*step], &format!("- **needs:** {names}")))
            })?
        }
        PlanEdit::Move { step, to } => {
            let slots: Vec<Span> = draft.steps.iter().map(|step| step.whole.0).collect();
            patch::relocate(source, draft, &slots, *step, *to)
        }
        PlanEdit::Renumber => patch::renumber(source, draft),
        PlanEdit::Append { .. } => return Err(DIALECT.no_word("a new step")),
        PlanEdit::Expand { step, .. } => return Err(EditError::NotATemplate { step: *step }),
    })
}

/// The writable frontmatter of a plan.
struct Keys<'a> {
    source: &'a Source,
    frontmatter: Frontmatter,
    block: Span,
}

impl<'a> Keys<'a> {
    /// `None` if there is no block, or one that can't be parsed to its end: unseen keys would be written twice.
    fn of(source: &'a Source) -> Option<Self> {
        let parts: FrontmatterParts = frontmatter::split(source.text());
        let (frontmatter, oddities) = frontmatter::read(source, &parts);
        let is_unread = oddities.iter().any(|oddity| matches!(oddity.value, ParseIssue::Frontmatter(_)));
        Some(Self { source, frontmatter, block: parts.yaml.filter(|_| !is_unread)? })
    }

    /// The value of a key; empty if missing.
    fn value(&self, key: &str) -> &str {
        self.frontmatter.value(key).map_or("", |value| value.value.as_str())
    }

    /// The edit that sets a key to an already quoted value. A missing key is inserted in the order of the dialect;
    /// `None` if the present value is not plain text.
    fn set(&self, key: &str, spelled: &str) -> Option<Edit> {
        let Some(entry) = self.frontmatter.entry(key) else {
            let newline = self.source.line_ending();
            return Some(Edit::insert(self.place(key), format!("{key}: {spelled}{newline}")));
        };
        let present = self.source.slice(entry.value.as_ref()?.span);
        let quote = present.get(..1).filter(|sign| ["\"", "'"].contains(sign));
        let quote = quote.filter(|_| !spelled.starts_with(['"', '\''])).unwrap_or_default();
        frontmatter::set_value(self.source, entry, &format!("{quote}{spelled}{quote}"))
    }

    /// The edit that clears a key.
    fn clear(&self, key: &str) -> Option<Edit> {
        let entry = self.frontmatter.entry(key)?;
        let present = entry.value.as_ref().filter(|value| !value.span.is_empty())?;
        Some(Edit::delete(Span::new(frontmatter::colon_end(self.source, entry)?, present.span.end)))
    }

    /// Where to insert a missing key: before the next key in the order of the dialect and its comments, or at the end.
    fn place(&self, key: &str) -> usize {
        let rank = KEYS.iter().position(|known| *known == key).unwrap_or(KEYS.len());
        let later = KEYS[(rank + 1).min(KEYS.len())..].iter().find_map(|key| self.frontmatter.entry(key));
        let Some(entry) = later else { return self.block.end };
        let mut start = self.source.line_at(entry.key.span.start).start;
        while start > self.block.start {
            let above = self.source.line_at(start - 1);
            let text = self.source.slice(above).trim();
            if !text.is_empty() && !text.starts_with('#') {
                break;
            }
            start = above.start;
        }
        start.max(self.block.start)
    }
}

/// Sets the state. A new run clears the times and the result of the last one; [`touch`], which knows the time, sets the
/// new ones.
fn become_state(source: &Source, draft: &Draft, state: PlanState) -> Result<Vec<Edit>, EditError> {
    let word = spell(state).unwrap_or_default();
    let Some(keys) = Keys::of(source) else {
        return Ok(vec![patch::set_key(source, "status", word)?]);
    };
    let mut edits = Vec::new();
    if keys.value("status") != word {
        let refused = || EditError::NotPlain { key: "status".to_owned() };
        edits.push(keys.set("status", word).ok_or_else(refused)?);
    }
    let was = draft.state.map(|state| state.value);
    if state == PlanState::Running && was != Some(PlanState::Running) {
        let spent = ["execution_started_at", "execution_ended_at", "result_summary"];
        edits.extend(spent.iter().filter_map(|key| keys.clear(key)));
        if keys.value("execution_session").is_empty() {
            edits.extend(keys.set("execution_session", &session(&id_of(source, draft))));
        }
    }
    if state == PlanState::Done && keys.value("result_summary").is_empty() {
        let count = draft.steps.len();
        edits.extend(
            keys.set("result_summary", &quoted(&format!("{count} of {} done", number(count, "step")))),
        );
    }
    Ok(edits)
}

/// The path of a plan's session log, relative to the project.
pub(super) fn session(id: &str) -> String {
    let path = format!(".pi/plans/sessions/{id}.jsonl");
    // A leading dot needs no quotes in YAML.
    let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    if is_plain { path } else { yaml::quote(&path) }
}

/// What every write adds: the next version, the time, and the times of the execution where they are due.
pub(super) fn touch(source: &Source, now: &str) -> Vec<Edit> {
    let Some(keys) = Keys::of(source) else { return Vec::new() };
    let next = super::version(source).and_then(|version| version.checked_add(1));
    let mut edits: Vec<Edit> = Vec::new();
    edits.extend(next.and_then(|next| keys.set("version", &next.to_string())));
    edits.extend(keys.set("updated_at", now));
    let is_blank = |key: &str| keys.value(key).is_empty();
    let state = DIALECT.state(keys.value("status"));
    let is_over = match state {
        // A cancelled plan has an end time only if it was started.
        Some(PlanState::Cancelled) => !is_blank("execution_started_at"),
        state => matches!(state, Some(PlanState::Done | PlanState::Failed)),
    };
    if state == Some(PlanState::Running) && is_blank("execution_started_at") {
        edits.extend(keys.set("execution_started_at", now));
    }
    if is_over && is_blank("execution_ended_at") {
        edits.extend(keys.set("execution_ended_at", now));
    }
    edits
}

/// The edits that record the result of a run.
pub(super) fn summarise(source: &Source, summary: &str) -> Vec<Edit> {
    Keys::of(source)
        .and_then(|keys| keys.set("result_summary", &quoted(&one_line(summary))))
        .into_iter()
        .collect()
}

/// A text in double quotes, as the dialect writes titles.
pub(super) fn quoted(text: &str) -> String {
    let spelled = yaml::quote(text);
    if spelled.starts_with('"') {
        return spelled;
    }
    format!("\"{}\"", spelled.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Appends a note below `### Notes`, adding missing headings.
pub(super) fn append_note(source: &Source, text: &str) -> Edit {
    let newline = source.line_ending();
    let outline = ProposalOutline::of(source, &frontmatter::split(source.text()));
    let end_of = |reach: Span| {
        let kept = source.slice(reach).trim_end();
        if kept.is_empty() {
            source.text()[..reach.start].trim_end_matches(['\n', '\r']).len()
        } else {
            reach.start + kept.len()
        }
    };
    if let Some(notes) = outline.notes() {
        let at = end_of(notes.below());
        let last = source.slice(source.line_at(at));
        let is_below_item = last.trim_start().starts_with("- ");
        let gap = if is_below_item { "" } else { newline };
        return Edit::insert(at, format!("{newline}{gap}- {text}"));
    }
    if let Some(context) = outline.context() {
        let marks = "#".repeat(usize::from(context.heading.level.min(5)) + 1);
        let note = format!("{newline}{newline}{marks} Notes{newline}{newline}- {text}");
        return Edit::insert(end_of(context.below()), note);
    }
    let end = source.text().len();
    let gap = if source.text().ends_with('\n') || end == 0 { "" } else { newline };
    let headings = format!("## Context{newline}{newline}### Notes{newline}{newline}");
    Edit::insert(end, format!("{gap}{newline}{headings}- {text}{newline}"))
}

/// Inserts a field right below the first line of a step, indented like the text of its item.
fn insert_field(source: &Source, step: &StepDraft, line: &str) -> Edit {
    let first = source.line_at(step.heading.0.start);
    let is_heading = source.slice(step.heading.0).starts_with('#');
    let column = source.slice(Span::new(first.start, step.title.span.start)).chars().count();
    // A box is part of the item's text, so the item's content starts below the box.
    let boxed = source.slice(Span::new(first.start, step.title.span.start)).find('[').unwrap_or(column);
    let indent = if is_heading { String::new() } else { " ".repeat(column.min(boxed)) };
    Edit::insert(step.heading.0.end, format!("{}{indent}{line}", source.line_ending()))
}
