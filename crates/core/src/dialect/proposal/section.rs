//! Finds the sections of a proposal by name, and moves parts of an oversized context to `artifacts/<id>/`, leaving
//! references. Pure: the caller writes the files.

use schemars::JsonSchema;
use serde::Serialize;

use super::outline::{CONTEXT, ProposalHeading, ProposalOutline};
use super::{id_of, parse};
use crate::dialect::frontmatter;
use crate::plan::verified;
use crate::syntax::markdown::Code;
use crate::syntax::outline::Section;
use crate::syntax::source::{Edit, Source, Span};
use crate::syntax::text::unbroken;

/// The limit for context inside the plan, 50 KB.
pub const CONTEXT_BYTES_MAX: usize = 50_000;

/// Separates file and directory in a reference to an artifact.
const ARROW: &str = " → ";

/// One section of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ProposalSection {
    #[serde(skip)]
    pub name: String,
    /// The headings above it and its own, as in `Context/Tool Outputs`.
    pub path: String,
    /// The rank of the heading: 2 for `##`.
    #[serde(skip)]
    pub level: u8,
    /// From the heading to the end of the section, the sections inside included.
    #[serde(skip)]
    pub span: Span,
    /// The text below the heading, without blank lines around it; its lines end in LF.
    pub text: String,
    /// The first block of code in it: the JSON of the tool outputs.
    pub code: Option<String>,
}

/// Every section of the plan, in file order; a section comes before those inside.
pub fn sections(source: &Source) -> Vec<ProposalSection> {
    let outline = ProposalOutline::of(source, &frontmatter::split(source.text()));
    let mut above: Vec<&ProposalHeading> = Vec::new();
    let mut sections = Vec::new();
    for section in &outline.sections {
        above.retain(|outer| outer.below().covers(section.heading.span));
        above.push(section);
        let path: Vec<&str> = above.iter().map(|section| section.title.value.as_str()).collect();
        let text = source.slice(section.below()).replace("\r\n", "\n");
        let code = outline.blocks.codes_in(section.below()).next().map(|code| code.text.value.clone());
        sections.push(ProposalSection {
            name: section.title.value.clone(),
            path: path.join("/"),
            level: section.heading.level,
            span: Span::new(section.start(), section.end),
            text: text.trim_matches('\n').trim_end().to_owned(),
            code,
        });
    }
    sections
}

/// The first section with this name, however it is spelled: `Tool Outputs`, `tool-outputs` or `context/tool outputs`.
pub fn section(source: &Source, name: &str) -> Option<ProposalSection> {
    let slugs = |path: &str| path.split('/').map(verified::slug).collect::<Vec<_>>();
    let wanted = slugs(name);
    sections(source).into_iter().find(|section| slugs(&section.path).ends_with(&wanted))
}

/// The heading under which rejections are kept.
const REJECTIONS: &str = "Rejection History";

/// A rejection, as the history shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RejectionNote<'a> {
    pub revision: u32,
    pub by: &'a str,
    pub at: &'a str,
    pub feedback: &'a str,
}

/// The text of the plan with another rejection in its history, which is at the end.
pub fn rejected(source: &Source, rejection: RejectionNote<'_>) -> String {
    let newline = source.line_ending();
    let text = source.text().trim_end_matches(['\n', '\r']);
    let heading = match section(source, REJECTIONS) {
        Some(_) => String::new(),
        None => format!("{newline}## {REJECTIONS}{newline}"),
    };
    // Quoted line by line, so that a comment can't become a heading or a step.
    let feedback: Vec<String> = rejection.feedback.trim().lines().map(|line| format!("> {line}")).collect();
    let RejectionNote { revision, at, .. } = rejection;
    let by = unbroken(rejection.by);
    format!(
        "{text}{newline}{heading}{newline}### r{revision}, rejected {at} by {by}{newline}{newline}{}{newline}",
        feedback.join(newline)
    )
}

/// A reference to a file with a part of the context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub name: String,
    /// Its directory, relative to the project: `.pi/plans/artifacts/PLAN-a1b2c3d4/`.
    pub folder: String,
}

/// Every reference in the context: lines `name → folder`, with or without a dash in front.
pub fn artifacts(source: &Source) -> Vec<Artifact> {
    let outline = ProposalOutline::of(source, &frontmatter::split(source.text()));
    let Some(context) = outline.context() else { return Vec::new() };
    let read = |line: &str| {
        let (name, folder) = line.trim().trim_start_matches(['-', '*', '+']).split_once(ARROW.trim())?;
        let (name, folder) = (name.trim(), folder.trim());
        let is_reference = !name.is_empty() && folder.contains("artifacts/") && !folder.contains(' ');
        is_reference.then(|| Artifact { name: name.to_owned(), folder: folder.to_owned() })
    };
    source.slice(context.below()).lines().filter_map(read).collect()
}

/// The number of bytes of context in the plan itself.
pub fn context_bytes(source: &Source) -> usize {
    let outline = ProposalOutline::of(source, &frontmatter::split(source.text()));
    reaches(&outline).map(Span::len).sum()
}

fn reaches(outline: &ProposalOutline) -> impl Iterator<Item = Span> {
    outline.sections.iter().filter(|section| section.read.0 == CONTEXT).map(Section::below)
}

/// A plan whose context is within the limit again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overflow {
    /// The new text of the plan.
    pub text: String,
    /// The files to write first: paths relative to the plan's directory, and contents. A name contains the digest of
    /// the content, so an existing file of that name is identical.
    pub files: Vec<(String, String)>,
}

/// Moves the largest parts of the context out first; `None` if it is within the limit. References replace what moved. A
/// context of very many small parts moves as a whole.
pub fn overflow(source: &Source) -> Option<Overflow> {
    let total = context_bytes(source);
    if total <= CONTEXT_BYTES_MAX {
        return None;
    }
    let outline = ProposalOutline::of(source, &frontmatter::split(source.text()));
    let id = id_of(source, &parse(source));
    let mut pieces = pieces(source, &outline);
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.span.len()));
    let mut left = total;
    let mut moved = Vec::new();
    for piece in pieces {
        let moving = Moved::of(source, &piece, &id);
        if left <= CONTEXT_BYTES_MAX || moving.edit.text.len() >= piece.span.len() {
            break;
        }
        left = left - piece.span.len() + moving.edit.text.len();
        moved.push(moving);
    }
    if left > CONTEXT_BYTES_MAX {
        let whole =
            |span| Piece { span, name: CONTEXT.to_owned(), text: prose(source, span), extension: "md" };
        let wholes = reaches(&outline).map(whole);
        moved = wholes.map(|piece| Moved::of(source, &piece, &id)).collect();
    }
    let edits: Vec<Edit> = moved.iter().map(|moved| moved.edit.clone()).collect();
    let mut files: Vec<(String, String)> = moved.into_iter().map(|moved| (moved.path, moved.text)).collect();
    files.dedup();
    Some(Overflow { text: source.edited(&edits).text().to_owned(), files })
}

/// A movable part of the context: the text below one heading, up to the next.
struct Piece {
    span: Span,
    name: String,
    /// The content of the file: the text, or JSON without its fences.
    text: String,
    extension: &'static str,
}

struct Moved {
    path: String,
    text: String,
    edit: Edit,
}

impl Moved {
    fn of(source: &Source, piece: &Piece, id: &str) -> Self {
        let digest = blake3::hash(piece.text.as_bytes()).to_hex();
        let name = format!("{}-{}.{}", piece.name, &digest[..8], piece.extension);
        let newline = source.line_ending();
        let is_last = piece.span.end == source.text().len();
        let gap = if is_last { "" } else { newline };
        let line = format!("{newline}{name}{ARROW}.pi/plans/artifacts/{id}/{newline}{gap}");
        Self {
            path: format!("artifacts/{id}/{name}"),
            text: piece.text.clone(),
            edit: Edit::replace(piece.span, line),
        }
    }
}

/// The parts of the context. Code that is alone below its heading moves without its fences.
fn pieces(source: &Source, outline: &ProposalOutline) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut end = 0;
    for context in outline.sections.iter().filter(|section| section.read.0 == CONTEXT) {
        if context.below().start < end {
            continue;
        }
        end = context.end;
        let inside = outline.sections.iter().filter(|section| context.below().covers(section.heading.span));
        pieces.extend(std::iter::once(context).chain(inside).map(|section| piece(source, outline, section)));
    }
    pieces
}

fn piece(source: &Source, outline: &ProposalOutline, section: &ProposalHeading) -> Piece {
    let span = section.own();
    let name = if section.read.0.is_empty() { "part".to_owned() } else { section.read.0.clone() };
    let code = outline.blocks.codes_in(span).next().filter(|code| {
        let before = source.slice(Span::new(span.start, code.span.start.max(span.start)));
        let behind = source.slice(Span::new(code.span.end.min(span.end), span.end));
        code.span.end <= span.end && before.trim().is_empty() && behind.trim().is_empty()
    });
    let is_json = |code: &&Code| code.language.as_ref().is_some_and(|language| language.value == "json");
    match code.filter(is_json) {
        Some(code) => Piece { span, name, text: code.text.value.clone(), extension: "json" },
        None => Piece { span, name, text: prose(source, span), extension: "md" },
    }
}

/// The lines under a span, without blank ones around them.
fn prose(source: &Source, span: Span) -> String {
    let text = source.slice(span).trim_start_matches(['\n', '\r']).trim_end();
    format!("{text}{}", source.line_ending())
}
