//! Parses one task file: its keys, its text, and the contract in its text.

use super::{FIELDS, RESERVED, TASK_FOLDER, first_line};
use crate::dialect;
use crate::dialect::frontmatter;
use crate::dialect::frontmatter::FrontmatterParts;
use crate::dialect::verification;
use crate::plan::draft::{
    ContractDraft, DraftField, FieldDraft, Layout, ParseIssue, StepDraft, StepNumber, UnreadStepReason,
};
use crate::plan::edit;
use crate::syntax::markdown::{Blocks, Heading};
use crate::syntax::source::{Source, SourcePart, Span, Spanned};
use crate::syntax::tree;
use crate::syntax::tree::{Node, Style, Value};

/// The section or label with the contract. The dialect itself has none: it is planwright's addition.
pub(super) const VERIFICATION: &str = "Verification";

/// A task with number and title only, for lists.
pub(super) fn bare(source: &Source, part: &SourcePart, place: usize) -> StepDraft {
    let parts = frontmatter::split_part(source, part.span);
    let at = Span::at(part.span.start);
    let heading = title_line(source, Span::new(parts.body, part.span.end));
    let title =
        heading.as_ref().map_or_else(|| Spanned::new(words(&part.path), at), |(_, title)| title.clone());
    let number = StepNumber::Counted(index(&part.path).unwrap_or_else(|| edit::number_at(place)));
    let mut step = StepDraft::empty(Spanned::new(number, at), title);
    step.whole = Layout(part.span);
    step.heading = Layout(heading.map_or_else(|| first_line(source, part.span), |(line, _)| line));
    step.level = Layout(1);
    step
}

/// A complete task.
pub(super) fn read(
    source: &Source,
    part: &SourcePart,
    place: usize,
    oddities: &mut Vec<Spanned<ParseIssue>>,
) -> StepDraft {
    let parts = frontmatter::split_part(source, part.span);
    let mut step = bare(source, part, place);
    let entries = entries(source, &parts, oddities);
    read_fields(source, &entries, &mut step, oddities);
    let body = Span::new(parts.body, part.span.end);
    // A file without a heading is best identified by its id.
    if let Some(id) = step.id.as_ref().filter(|_| !body.covers(step.heading.0)) {
        step.heading = Layout(source.line_at(id.span.start));
    }
    let blocks = Blocks::read_in(source, body);
    oddities.extend(dialect::unclosed(&blocks));
    read_body(source, &blocks, body, &mut step, oddities);
    oddities.extend(second_frontmatter(source, &blocks, body));
    step
}

/// The frontmatter of a file, with its irregularities.
pub(super) fn entries(
    source: &Source,
    parts: &FrontmatterParts,
    oddities: &mut Vec<Spanned<ParseIssue>>,
) -> Vec<(Node, Node)> {
    let (entries, faults) = frontmatter::nodes(source, parts);
    let tabs = parts.yaml.into_iter().flat_map(|yaml| source.lines_in(yaml));
    let tabs = tabs.filter(|&line| source.slice(line).starts_with('\t') && faults.is_empty()).map(|line| {
        let why = "the frontmatter is not valid YAML: a line is indented with a tab".to_owned();
        Spanned::new(ParseIssue::Frontmatter(why), Span::new(line.start, line.start + 1))
    });
    oddities.extend(tabs.collect::<Vec<_>>());
    oddities.extend(faults);
    entries
}

fn read_fields(
    source: &Source,
    entries: &[(Node, Node)],
    step: &mut StepDraft,
    oddities: &mut Vec<Spanned<ParseIssue>>,
) {
    for (key, value) in entries {
        let Some(name) = key.text() else {
            let why = "a frontmatter key is not plain text".to_owned();
            oddities.push(Spanned::new(ParseIssue::Frontmatter(why), key.span));
            continue;
        };
        let kind = FIELDS.iter().find(|(_, names)| names.contains(&name)).map(|&(kind, _)| kind);
        let whole = Span::new(key.span.start, value.span.end.max(key.span.end));
        // Unknown keys become part of the draft, so that no edit can lose them.
        if kind.is_none() {
            step.stray.push(Spanned::new(unix(source.slice(whole)), whole));
        }
        if kind.is_some() || !RESERVED.contains(&name) {
            let name = Spanned::new(name.to_owned(), key.span);
            step.fields.0.push(FieldDraft { name, kind, label: key.span, value: value.span, whole });
        }
    }
    let mut fields = Fields::new(entries, oddities);
    step.id = fields.line("id");
    step.target = fields.line("agent");
    step.timeout = fields.line("timeout");
    step.accept = fields.list("subtasks", "a list of texts");
    // In this dialect a task without `depends_on` depends on nothing.
    step.needs = Some(fields.list("depends_on", "a list of ids"));
}

/// Typed access to frontmatter entries.
pub(super) struct Fields<'a> {
    entries: &'a [(Node, Node)],
    oddities: &'a mut Vec<Spanned<ParseIssue>>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(entries: &'a [(Node, Node)], oddities: &'a mut Vec<Spanned<ParseIssue>>) -> Self {
        Self { entries, oddities }
    }

    fn complain(&mut self, key: &str, expected: &'static str, span: Span) {
        self.oddities.push(Spanned::new(ParseIssue::WrongType { key: key.to_owned(), expected }, span));
    }

    /// A text; `None` if the key or its value is missing.
    pub(super) fn line(&mut self, key: &str) -> Option<Spanned<String>> {
        let node = tree::first(self.entries, key)?;
        if node.text().is_none() {
            self.complain(key, "text", node.span);
        }
        let lines: Vec<&str> = scalar(node)?.lines().map(str::trim).collect();
        let text = lines.join(" ").trim().to_owned();
        (!text.is_empty()).then(|| Spanned::new(text, node.span))
    }

    /// A list of texts.
    pub(super) fn list(&mut self, key: &str, expected: &'static str) -> Vec<Spanned<String>> {
        let Some(node) = tree::first(self.entries, key) else { return Vec::new() };
        if node.is_map() || scalar(node).is_some() {
            self.complain(key, expected, node.span);
        }
        let mut texts = Vec::new();
        for item in node.items() {
            match scalar(item).map(str::trim).filter(|text| !text.is_empty()) {
                Some(text) => texts.push(Spanned::new(text.to_owned(), item.span)),
                None => self.complain(key, expected, item.span),
            }
        }
        texts
    }
}

/// The text of a scalar; `None` for null and for other kinds of values.
fn scalar(node: &Node) -> Option<&str> {
    match &node.value {
        Value::Scalar { text, style } => {
            let is_null =
                *style == Style::Plain && ["", "~", "null", "Null", "NULL"].contains(&text.as_str());
            (!is_null).then_some(text.as_str())
        }
        Value::List(_) | Value::Map(_) => None,
    }
}

/// The task is the whole text except a section with only the contract's command.
fn read_body(
    source: &Source,
    blocks: &Blocks,
    body: Span,
    step: &mut StepDraft,
    oddities: &mut Vec<Spanned<ParseIssue>>,
) {
    let mut sections = verification_sections(source, blocks, body).into_iter();
    let section = sections.next();
    for other in sections {
        let has_command = |contract: ContractDraft| contract.command.is_some();
        if let Some(first) = &section
            && read_contract(source, blocks, &other).is_some_and(has_command)
        {
            oddities.push(Spanned::new(ParseIssue::SecondContract { first: first.label }, other.label));
        }
    }
    let contract = section.as_ref().and_then(|section| read_contract(source, blocks, section));
    let others = match (&section, &contract) {
        (Some(section), Some(contract)) if is_command_alone(source, blocks, section, contract) => {
            let pieces = [Span::new(body.start, section.whole.start), Span::new(section.whole.end, body.end)];
            joined(pieces.into_iter().filter_map(|piece| prose(source, piece)).collect())
        }
        _ => None,
    };
    // If the section is all there is, the agent still gets it as its task.
    step.task = others.or_else(|| prose(source, body));
    if let (Some(section), Some(_)) = (section, &contract) {
        let value = source.line_at(section.region.start);
        let value =
            Span::new(section.region.start, value.end.clamp(section.region.start, section.region.end));
        let (kind, whole) = (Some(DraftField::Contract), section.whole);
        step.fields.0.push(FieldDraft { name: section.name, kind, label: section.label, value, whole });
    }
    step.contract = contract;
}

/// The frontmatter of another task in the text of this one.
fn second_frontmatter(source: &Source, blocks: &Blocks, body: Span) -> Option<Spanned<ParseIssue>> {
    let lines: Vec<Span> = blocks.text_lines(source, body).collect();
    let is_begun = |pair: &&[Span]| {
        source.slice(pair[0]).trim_end() == "---" && source.slice(pair[1]).starts_with("id:")
    };
    let found = lines.windows(2).find(is_begun)?;
    let unread = ParseIssue::UnreadStep { why: UnreadStepReason::Fields, heading: None };
    Some(Spanned::new(unread, found[1]))
}

/// The verification part of a text.
struct Section {
    name: Spanned<String>,
    /// The heading, or the label with stars.
    label: Span,
    /// The text below the heading or after the label.
    region: Span,
    whole: Span,
}

/// The parts of a text that are called verification: sections before labels. The first one is the contract.
fn verification_sections(source: &Source, blocks: &Blocks, body: Span) -> Vec<Section> {
    let named = |heading: &&Heading| heading_text(source, heading).eq_ignore_ascii_case(VERIFICATION);
    let headed = blocks.headings.iter().filter(named).map(|heading| {
        let is_next = |next: &&Heading| next.span.start > heading.span.start && next.level <= heading.level;
        let end = blocks.headings.iter().find(is_next).map_or(body.end, |next| next.span.start);
        let name = Spanned::new(VERIFICATION.to_owned(), heading.span);
        let region = Span::new(heading.below.min(end), end);
        Section { name, label: heading.span, region, whole: Span::new(heading.span.start, end) }
    });
    let mut sections: Vec<Section> = headed.collect();
    let labels: Vec<(Span, Span)> =
        blocks.text_lines(source, body).filter_map(|line| Some((line, bold_label(source, line)?))).collect();
    for (index, &(line, label)) in labels.iter().enumerate() {
        let name = source.slice(label).trim_matches(['*', ':', ' ']);
        let is_inside = sections.iter().any(|section| section.whole.covers(label));
        if is_inside || !name.eq_ignore_ascii_case(VERIFICATION) {
            continue;
        }
        let next_label = labels.get(index + 1).map_or(body.end, |(line, _)| line.start);
        let next_heading =
            blocks.headings.iter().map(|heading| heading.span.start).find(|&start| start > label.end);
        let end = next_heading.map_or(next_label, |heading| heading.min(next_label));
        let name = Spanned::new(VERIFICATION.to_owned(), label);
        let region = Span::new(label.end, end);
        sections.push(Section { name, label, region, whole: Span::new(line.start, end) });
    }
    sections
}

/// The label `**name:**` or `**name**:` at the start of a line.
fn bold_label(source: &Source, line: Span) -> Option<Span> {
    let text = source.slice(line);
    let begins = text.trim_start().trim_start_matches(['-', '+']).trim_start();
    let inner = begins.strip_prefix("**")?;
    let close = inner.find("**")?;
    let behind = &inner[close + 2..];
    let colon = match (inner[..close].ends_with(':'), behind.starts_with(':')) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => return None,
    };
    let start = line.end - begins.len();
    Some(Span::new(start, start + 2 + close + 2 + colon))
}

fn read_contract(source: &Source, blocks: &Blocks, section: &Section) -> Option<ContractDraft> {
    let whole = verification::contract(source, blocks, section.region)?;
    if whole.command.is_some() {
        return Some(whole);
    }
    // A label often has the command on the same line; the text after it is about something else.
    let line = source.line_at(section.region.start);
    let first = Span::new(section.region.start, line.end.clamp(section.region.start, section.region.end));
    let short = verification::contract(source, blocks, first).filter(|contract| contract.command.is_some());
    Some(short.unwrap_or(whole))
}

/// Whether a section has nothing for the agent.
fn is_command_alone(source: &Source, blocks: &Blocks, section: &Section, contract: &ContractDraft) -> bool {
    let Some(command) = &contract.command else { return false };
    let text = source.slice(section.region);
    match blocks.codes_in(section.region).next() {
        Some(code) => text.trim() == source.slice(code.span).trim(),
        None => !text.trim().contains('\n') && section.region.covers(command.span),
    }
}

/// The text of some lines, trimmed of blank lines, with LF line endings; `None` if empty.
pub(super) fn prose(source: &Source, region: Span) -> Option<Spanned<String>> {
    let first = source.lines_in(region).find(|&line| !source.slice(line).trim().is_empty())?;
    let text = source.slice(Span::new(first.start, region.end)).trim_end();
    Some(Spanned::new(unix(text), Span::new(first.start, first.start + text.len())))
}

fn joined(pieces: Vec<Spanned<String>>) -> Option<Spanned<String>> {
    let span = Span::new(pieces.first()?.span.start, pieces.last()?.span.end);
    let texts: Vec<String> = pieces.into_iter().map(|piece| piece.value).collect();
    Some(Spanned::new(texts.join("\n\n"), span))
}

fn unix(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The words of a heading.
pub(super) fn heading_text<'a>(source: &'a Source, heading: &Heading) -> &'a str {
    let first = source.slice(heading.span).lines().next().unwrap_or_default();
    first.trim_matches(['#', ' ', '\t', ':', '*', '\r'])
}

/// The heading `# Title` at the start of a text, and the title.
fn title_line(source: &Source, body: Span) -> Option<(Span, Spanned<String>)> {
    let line = source.lines_in(body).find(|&line| !source.slice(line).trim().is_empty())?;
    let title = title(source.slice(line))?;
    let start = line.start + source.slice(line).find(title)?;
    Some((line, Spanned::new(title.to_owned(), Span::new(start, start + title.len()))))
}

/// The title in a line `# Title`.
pub(super) fn title(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches(' ');
    let text =
        bare.strip_prefix('#').filter(|text| text.starts_with([' ', '\t']) && line.len() - bare.len() < 4)?;
    let text = text.trim();
    let open = text.trim_end_matches('#');
    let text = if open.ends_with([' ', '\t']) { open.trim_end() } else { text };
    (!text.trim_matches('#').is_empty()).then_some(text)
}

/// The file name without directory, extension and number.
fn stem(path: &str) -> &str {
    let name = path.strip_prefix(TASK_FOLDER).unwrap_or(path);
    if super::is_markdown(name) { &name[..name.len() - 3] } else { name }
}

/// The file name in words: the title of a task without a heading.
pub(super) fn words(path: &str) -> String {
    let stem = stem(path);
    let slug = stem.trim_start_matches(|character: char| character.is_ascii_digit());
    let slug = slug.trim_start_matches(['-', '_', '.', ' ']);
    let text = if slug.is_empty() { stem } else { slug }.replace(['-', '_'], " ");
    let mut characters = text.trim().chars();
    match characters.next() {
        Some(first) => first.to_uppercase().chain(characters).collect(),
        None => path.to_owned(),
    }
}

/// The number at the start of a file name.
fn index(path: &str) -> Option<u32> {
    let digits: &str = stem(path).split(|character: char| !character.is_ascii_digit()).next()?;
    digits.parse().ok()
}
