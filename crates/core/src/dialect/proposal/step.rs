//! Finds and parses the steps of a proposal. A step is an item of the list below `## Steps`, whether it starts with a
//! number, a dash or a box. Anything that no rule matches stays part of the previous step: no step and no text is
//! dropped.

use super::operation::{self, Suffix};
use super::outline::ProposalOutline;
use super::{field, item};
use crate::plan::draft::{DraftField, Layout, ParseIssue, StepDraft, StepNumber};
use crate::plan::edit::number_at;
use crate::syntax::outline::indent;
use crate::syntax::source::{Source, Span, Spanned};
use item::{ItemMarker, ProposalItem};

/// The column from which a line is indented below the previous step.
const NESTED: usize = 2;

/// Indentation characters. Wider blanks are text in Markdown.
const BLANKS: [char; 2] = [' ', '\t'];

/// A line of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepLine<'a> {
    pub(super) span: Span,
    /// Without blanks at both ends.
    pub(super) text: &'a str,
    pub(super) at: usize,
    /// Whether it is between the fences of code.
    pub(super) is_code: bool,
}

impl StepLine<'_> {
    pub(super) fn is_blank(&self) -> bool {
        self.text.is_empty()
    }

    /// The column of its first character.
    fn indent(&self, source: &Source) -> usize {
        indent(source.slice(self.span))
    }
}

/// The lines of a region.
fn lines<'a>(source: &'a Source, outline: &ProposalOutline, region: Span) -> Vec<StepLine<'a>> {
    let line = |span: Span| {
        let raw = source.slice(span);
        let at = span.end - raw.trim_start_matches(BLANKS).len();
        StepLine { span, text: raw.trim_matches(BLANKS), at, is_code: outline.is_fenced(span.start) }
    };
    source.lines_in(region).map(line).collect()
}

/// A found step: its lines and its marker.
struct Found {
    /// Places of its lines.
    first: usize,
    end: usize,
    item: ProposalItem,
    indent: usize,
    is_heading: bool,
}

/// The state of the search inside a step.
struct Current {
    number: Option<u32>,
    indent: usize,
    is_heading: bool,
    has_tool: bool,
    has_blank: bool,
    has_nested_number: bool,
}

/// Parses every step. `tools` are those that steps without one may use.
pub(super) fn read_all(
    source: &Source,
    outline: &ProposalOutline,
    tools: &[Spanned<String>],
    oddities: &mut Vec<Spanned<ParseIssue>>,
) -> Vec<StepDraft> {
    let mut steps: Vec<StepDraft> = Vec::new();
    for region in outline.regions() {
        let lines = lines(source, outline, region);
        for found in find(source, outline, &lines) {
            let mut step = read(source, outline, (&lines, &found), oddities);
            if found.item.number().is_none() {
                step.number.value = StepNumber::Counted(number_at(steps.len()));
            }
            if step.tools.is_empty() {
                let line = step.heading.0;
                step.tools = tools.iter().map(|tool| Spanned::new(tool.value.clone(), line)).collect();
            }
            steps.push(step);
        }
    }
    steps
}

/// Finds the steps of a region.
fn find(source: &Source, outline: &ProposalOutline, lines: &[StepLine<'_>]) -> Vec<Found> {
    // Below numbered headings, items are steps only if they name their tools.
    let has_tool_items = lines.iter().any(|line| {
        !line.is_code && item::read(line.text).is_some_and(|item| has_tool(item.text(line.text)))
    });
    let mut found: Vec<Found> = Vec::new();
    let mut current: Option<Current> = None;
    let mut is_elsewhere = false;
    for (place, line) in lines.iter().enumerate() {
        if let Some(section) = outline.heading_at(line.span.start) {
            close(&mut found, place);
            current = None;
            is_elsewhere = section.read.is_other();
            let numbered = item::read(&section.title.value).filter(|item| item.number().is_some());
            if let Some(item) = numbered.filter(|_| !has_tool_items && !is_elsewhere) {
                let shift = section.title.span.start - line.at.min(section.title.span.start);
                current = Some(Current { is_heading: true, ..Current::of(&item, line, 0) });
                found.push(Found {
                    first: place,
                    end: lines.len(),
                    item: item.shifted(shift),
                    indent: 0,
                    is_heading: true,
                });
            }
            continue;
        }
        if line.is_blank() {
            if let Some(current) = &mut current {
                current.has_blank = true;
            }
            continue;
        }
        if is_elsewhere || line.is_code || outline.is_html(source, line.span.start) {
            continue;
        }
        let Some(item) = item::read(line.text) else { continue };
        let indent = line.indent(source);
        if !begins_step(&item, line, indent, (current.as_mut(), outline)) {
            continue;
        }
        close(&mut found, place);
        current = Some(Current::of(&item, line, indent));
        found.push(Found { first: place, end: lines.len(), item, indent, is_heading: false });
    }
    for place in 0..found.len() {
        let next = found.get(place + 1).map_or(lines.len(), |next| next.first);
        if found[place].end < next || next == lines.len() {
            found[place].end = last_paragraph(source, lines, &found[place]);
        }
    }
    found
}

/// Ends the step that is open before this line.
fn close(found: &mut [Found], place: usize) {
    if let Some(last) = found.last_mut() {
        last.end = last.end.min(place);
    }
}

impl Current {
    fn of(item: &ProposalItem, line: &StepLine<'_>, indent: usize) -> Self {
        Self {
            number: item.number(),
            indent,
            is_heading: false,
            has_tool: has_tool(item.text(line.text)),
            has_blank: false,
            has_nested_number: false,
        }
    }
}

fn has_tool(text: &str) -> bool {
    matches!(operation::divide(text).1, Suffix::Tool(_))
}

/// Whether an item starts a step, rather than being a detail of the previous one.
fn begins_step(
    item: &ProposalItem,
    line: &StepLine<'_>,
    indent: usize,
    (current, outline): (Option<&mut Current>, &ProposalOutline),
) -> bool {
    let Some(current) = current else {
        // Without a heading for steps, a list contains steps only if it looks like it.
        return outline.has_steps() || item.number().is_some() || item.checkbox.is_some();
    };
    if current.is_heading {
        return false;
    }
    let is_nested = indent >= current.indent + NESTED;
    match (item.marker, current.number) {
        (ItemMarker::Number { .. }, Some(number)) if is_nested => {
            // A list that continues the numbering right below is the same list, badly indented.
            let goes_on = item.number() == number.checked_add(1);
            let is_step = goes_on && !current.has_nested_number && !current.has_blank;
            current.has_nested_number = true;
            is_step
        }
        (ItemMarker::Number { .. } | ItemMarker::Bullet, _) if is_nested => false,
        (ItemMarker::Number { .. }, _) | (ItemMarker::Bullet, None) => true,
        // Dashes at the margin below a number are its details, unless they look like steps.
        (ItemMarker::Bullet, Some(_)) => {
            item.checkbox.is_some() || (current.has_tool && has_tool(item.text(line.text)))
        }
    }
}

/// The end of the last step: before text that starts a new paragraph at the margin. Such text is about the plan, unless
/// it ends in the tool that the step doesn't name.
fn last_paragraph(source: &Source, lines: &[StepLine<'_>], found: &Found) -> usize {
    if found.is_heading {
        return found.end;
    }
    let is_margin = |place: &usize| {
        let (before, line) = (&lines[place - 1], &lines[*place]);
        let is_item = item::read(line.text).is_some();
        before.is_blank()
            && !line.is_blank()
            && !line.is_code
            && !is_item
            && line.indent(source) < found.indent + NESTED
    };
    let Some(cut) = (found.first + 1..found.end).find(is_margin) else { return found.end };
    let first = found.item.text(lines[found.first].text);
    let last = lines[cut..found.end].iter().rev().find(|line| !line.is_blank());
    let is_tool_below = operation::divide(first).1 == Suffix::Absent
        && last.is_some_and(|line| !line.is_code && has_tool(line.text));
    if is_tool_below { found.end } else { cut }
}

fn read(
    source: &Source,
    outline: &ProposalOutline,
    (lines, found): (&[StepLine<'_>], &Found),
    oddities: &mut Vec<Spanned<ParseIssue>>,
) -> StepDraft {
    let used = lines[found.first..found.end].iter().rposition(|line| !line.is_blank()).unwrap_or_default();
    let lines = &lines[found.first..=found.first + used];
    let first = lines[0];
    let whole = Span::new(first.span.start, lines[used].at + lines[used].text.len());
    let (content, text) = found.item.content(first.text);
    let start = first.at + content;
    let (title, suffix) = operation::divide(text);
    let number = StepNumber::Counted(found.item.number().unwrap_or_default());
    let mut step = StepDraft::empty(
        Spanned::new(number, found.item.number_span(first.at)),
        Spanned::new(item::unstarred(title), Span::new(start, start + title.len())),
    );
    step.whole = Layout(whole);
    step.heading = Layout(Span::new(first.at, first.at + first.text.len()));
    step.marks = found.item.mark(first.at).into_iter().collect();
    let body = field::read(source, outline, &lines[1..], (&mut step, oddities));
    tell(&mut step, suffix, body, Span::new(start, whole.end));
    if let ([tool], None) =
        (step.tools.as_mut_slice(), step.fields.0.iter().find(|field| field.kind == Some(DraftField::Tools)))
    {
        tool.span = place_of(source, &tool.value, Span::new(start, whole.end)).unwrap_or(tool.span);
    }
    step
}

/// The tool of a step: in the last brackets that start with it.
fn place_of(source: &Source, tool: &str, span: Span) -> Option<Span> {
    let text = source.slice(span);
    let is_named = |at: &usize| text[..*at].trim_end_matches(['`', ' ', '\t']).ends_with('(');
    let at = text.rmatch_indices(tool).map(|(at, _)| at).find(is_named)?;
    Some(Span::new(span.start + at, span.start + at + tool.len()))
}

/// Builds the text for the agent: with the tool in canonical spelling, and everything below that is not a field.
fn tell(step: &mut StepDraft, suffix: Suffix, mut body: Vec<String>, span: Span) {
    let mut first = step.title.value.clone();
    let is_whole = operation::divide(&first).1 != Suffix::Absent && first.starts_with('(');
    let operation = match suffix {
        Suffix::Tool(operation) => {
            first = if is_whole { operation.to_string() } else { format!("{first} {operation}") };
            Some(operation)
        }
        Suffix::Empty => None,
        Suffix::Absent => body.last_mut().and_then(|last| {
            let indent = last.len() - last.trim_start().len();
            let (text, Suffix::Tool(operation)) = operation::divide(&last[indent..]) else { return None };
            let gap =
                if text.starts_with('(') || text.is_empty() { String::new() } else { format!("{text} ") };
            *last = format!("{}{gap}{operation}", &last[..indent]);
            Some(operation)
        }),
    };
    if let (Some(operation), true) = (&operation, step.tools.is_empty()) {
        step.tools.push(Spanned::new(operation.tool.clone(), step.heading.0));
    }
    let text = std::iter::once(first).chain(body).collect::<Vec<_>>().join("\n");
    step.task = (!text.trim().is_empty()).then(|| Spanned::new(text, span));
}
