//! Fields below a step: `- **verify:** …`, `- **needs:** …`. They extend the dialect so that a proposal can express
//! plans of other dialects. Only bold labels count, and `verify:` before a command: any other `name: value` is the
//! author's text.

use super::outline::ProposalOutline;
use super::step::StepLine;
use crate::dialect::label::{Labels, Markdown};
use crate::dialect::verification;
use crate::plan::draft::{ContractDraft, DraftField, FieldDraft, ParseIssue, StepDraft};
use crate::syntax::markdown::Code;
use crate::syntax::outline::behind_bullet;
use crate::syntax::source::{Excerpt, Source, Span, Spanned};

/// The fields, and their names.
pub(super) const FIELDS: &[(DraftField, &[&str])] = &[
    (DraftField::Id, &["id"]),
    (DraftField::Target, &["agent", "role"]),
    (DraftField::Needs, &["needs"]),
    (DraftField::Reads, &["reads"]),
    (DraftField::Touches, &["touches"]),
    (DraftField::Sealed, &["sealed"]),
    (DraftField::Tools, &["tools"]),
    (DraftField::Env, &["env"]),
    (DraftField::Network, &["network"]),
    (DraftField::Timeout, &["timeout"]),
    (DraftField::ContractTimeout, &["contract_timeout"]),
    (DraftField::Accept, &["accept"]),
    (DraftField::Setup, &["setup"]),
    (DraftField::Contract, &["verify", "contract", "verification"]),
    (DraftField::ExitCode, &["exit_code"]),
    (DraftField::Green, &["green"]),
    (DraftField::Judge, &["judge"]),
    (DraftField::OnFail, &["on_fail"]),
];

const LABELS: Labels = Labels { fields: FIELDS, style: Markdown::Strict };

/// A label before a value.
struct ProposalLabel {
    kind: DraftField,
    name: Spanned<String>,
    /// With stars and colon.
    span: Span,
    /// The rest of its line.
    value: Span,
    is_bold: bool,
}

/// The field that a line of text names, if any.
pub(super) fn is_field(line: &str) -> bool {
    label(line.trim(), 0).is_some_and(|label| label.is_bold)
}

fn label(text: &str, at: usize) -> Option<ProposalLabel> {
    let bare = behind_bullet(text).unwrap_or(text).trim_start();
    let start = at + text.len() - bare.len();
    let (name, name_at, length) = match bare.strip_prefix("**") {
        Some(inner) => {
            let (name, _) = inner.split_once("**")?;
            let colon = name.ends_with(':');
            let behind = &inner[name.len() + 2..];
            let length = 2 + name.len() + 2 + usize::from(!colon);
            (colon || behind.starts_with(':')).then_some((name.trim_end_matches(':'), 2, length))?
        }
        None => {
            let (name, _) = bare.split_once(':')?;
            (name, 0, name.len() + 1)
        }
    };
    let kind = LABELS.field(name.trim())?;
    let value = bare[length..].trim();
    let value_at = start + bare.len() - bare[length..].trim_start().len();
    Some(ProposalLabel {
        kind,
        name: Spanned::new(name.to_owned(), Span::new(start + name_at, start + name_at + name.len())),
        span: Span::new(start, start + length),
        value: Span::new(value_at, value_at + value.len()),
        is_bold: name_at > 0,
    })
}

/// Extracts the fields from the lines below a step's first one. The rest is the step's text, unindented, with single
/// blank lines.
pub(super) fn read(
    source: &Source,
    outline: &ProposalOutline,
    lines: &[StepLine<'_>],
    (step, oddities): (&mut StepDraft, &mut Vec<Spanned<ParseIssue>>),
) -> Vec<String> {
    let mut kept: Vec<&StepLine<'_>> = Vec::new();
    let mut place = 0;
    while let Some(line) = lines.get(place) {
        let label = (!line.is_code).then(|| label(line.text, line.at)).flatten();
        let taken = label.and_then(|label| take(source, outline, (lines, place), label, (step, oddities)));
        match taken {
            Some(count) => place += count,
            None => {
                kept.push(line);
                place += 1;
            }
        }
    }
    unindented(source, &kept)
}

/// Extracts one field and returns its number of lines; `None` if it turns out to be text.
fn take(
    source: &Source,
    outline: &ProposalOutline,
    (lines, place): (&[StepLine<'_>], usize),
    label: ProposalLabel,
    (step, oddities): (&mut StepDraft, &mut Vec<Spanned<ParseIssue>>),
) -> Option<usize> {
    let below = lines[place + 1..].iter().position(|line| !line.is_blank()).map(|gap| place + 1 + gap);
    let is_command = matches!(label.kind, DraftField::Contract | DraftField::Setup);
    let limit = lines.last().map_or(0, |line| line.at + line.text.len());
    // An unclosed code block may extend past the step, so it is not a command.
    let is_of_step = |code: &&Code| code.span.start + source.slice(code.span).trim_end().len() <= limit;
    let code = below
        .filter(|_| is_command && label.value.is_empty())
        .and_then(|below| outline.code_in_line(source, lines[below].span))
        .filter(is_of_step);
    let region = Span::new(label.value.start, code.map_or(label.value.end, |code| code.span.end));
    let end = region.end.min(limit).max(label.value.end);
    let is_run = verification::contract(source, &outline.blocks, region)
        .is_some_and(|contract| contract.command.is_some());
    let is_plain_verify = label.kind == DraftField::Contract && is_run;
    if !label.is_bold && !is_plain_verify {
        return None;
    }
    if label.kind == DraftField::Id && source.slice(label.value).contains(char::is_whitespace) {
        return None;
    }
    let count = lines[place..].iter().take_while(|line| line.span.start < end.max(label.span.end)).count();
    set(source, outline, region, &label, (step, oddities));
    let contract = step.contract.as_mut().and_then(|contract| contract.command.as_mut());
    for command in contract.into_iter().chain(&mut step.setup) {
        command.span.end = command.span.end.min(limit);
    }
    let whole = Span::new(label.span.start, end.max(label.span.end));
    let ProposalLabel { kind, name, span, value, .. } = label;
    step.fields.0.push(FieldDraft { name, kind: Some(kind), label: span, value, whole });
    Some(count.max(1))
}

/// Stores the value in the step. The first one counts; lists accumulate.
fn set(
    source: &Source,
    outline: &ProposalOutline,
    region: Span,
    label: &ProposalLabel,
    (step, oddities): (&mut StepDraft, &mut Vec<Spanned<ParseIssue>>),
) {
    let text = source.slice(label.value);
    if let Some(first) = step.field(label.kind).filter(|_| !label.kind.is_list()) {
        let name = LABELS.name(label.kind);
        oddities.push(Spanned::new(ParseIssue::DuplicateField { name, first: first.label }, label.span));
        return;
    }
    let line = (!text.is_empty()).then(|| source.spanned(label.value));
    match label.kind {
        DraftField::Id => step.id = line,
        DraftField::Target => step.target = line,
        DraftField::Network => step.network = line,
        DraftField::Timeout => step.timeout = line,
        DraftField::ContractTimeout => step.contract_timeout = line,
        DraftField::Green => step.green = line,
        DraftField::Judge => step.judge = line,
        DraftField::OnFail => step.on_fail = line,
        DraftField::Needs => step.needs.get_or_insert_default().extend(names(text, label.value.start)),
        DraftField::Touches => step.touches.get_or_insert_default().extend(names(text, label.value.start)),
        DraftField::Reads => step.reads.extend(names(text, label.value.start)),
        DraftField::Sealed => step.sealed.extend(names(text, label.value.start)),
        DraftField::Tools => step.tools.extend(names(text, label.value.start)),
        DraftField::Env => step.env.extend(line),
        DraftField::Accept => step.accept.extend(line),
        DraftField::Setup => step.setup = command(source, outline, region),
        DraftField::Contract => {
            let expect = step.contract.take().and_then(|contract| contract.expect);
            let contract = verification::contract(source, &outline.blocks, region).unwrap_or_default();
            step.contract = Some(ContractDraft { expect, ..contract });
        }
        DraftField::ExitCode => step.contract.get_or_insert_default().expect = line,
        DraftField::Each | DraftField::Task | DraftField::Status => {}
    }
}

fn command(source: &Source, outline: &ProposalOutline, region: Span) -> Option<Excerpt> {
    verification::contract(source, &outline.blocks, region)?.command
}

/// The names in a list with commas; `none` means none.
fn names(text: &str, at: usize) -> Vec<Spanned<String>> {
    if text.eq_ignore_ascii_case("none") {
        return Vec::new();
    }
    let mut start = at;
    let mut names = Vec::new();
    for piece in text.split(',') {
        let name = piece.trim().trim_matches('`');
        let first = start + piece.find(name).unwrap_or_default();
        if !name.is_empty() {
            names.push(Spanned::new(name.to_owned(), Span::new(first, first + name.len())));
        }
        start += piece.len() + 1;
    }
    names
}

/// The lines without the blanks that all of them start with, and without blank lines that follow another one.
fn unindented(source: &Source, lines: &[&StepLine<'_>]) -> Vec<String> {
    let blanks = |line: &&&StepLine<'_>| line.at - line.span.start;
    let shared = lines.iter().filter(|line| !line.is_blank()).map(|line| blanks(&line)).min().unwrap_or(0);
    let mut texts: Vec<String> = Vec::new();
    for line in lines {
        let text = source.slice(Span::new((line.span.start + shared).min(line.at), line.span.end)).trim_end();
        let was_blank = texts.last().is_none_or(String::is_empty);
        if line.is_code || !text.trim().is_empty() || (!was_blank && !texts.is_empty()) {
            texts.push(text.to_owned());
        }
    }
    while texts.pop_if(|last| last.trim().is_empty()).is_some() {}
    texts
}
