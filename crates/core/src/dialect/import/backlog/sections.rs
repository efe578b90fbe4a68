//! Parses the text of a task file: criteria, which are boxes below one of two headings, and everything else.

use crate::dialect::frontmatter;
use crate::dialect::import::json_task;
use crate::syntax::markdown::Blocks;
use crate::syntax::source::{Source, Span, Spanned};

/// The headings whose items are criteria.
const CRITERIA: &[&str] = &["acceptance criteria", "definition of done"];

/// The parsed text.
#[derive(Debug, Default)]
pub(super) struct Body {
    /// The first heading of the highest rank.
    pub(super) title: Option<Spanned<String>>,
    /// The acceptance criteria.
    pub(super) criteria: Vec<Spanned<String>>,
    /// All other lines, without the tool's section markers.
    pub(super) text: String,
}

/// Reads the text of the file at `part`.
pub(super) fn read(source: &Source, part: Span) -> Body {
    let start = frontmatter::split_part(source, part).body;
    // The file is parsed alone, so that nothing left open in another file affects it.
    let file = Source::new("task", source.slice(Span::new(start, part.end)));
    let blocks = Blocks::read(&file, 0);
    let mut body = Body::default();
    let mut lines = Vec::new();
    let (mut is_criteria, mut is_item, mut heading) = (false, false, None);
    let mut at = 0;
    while at < file.text().len() {
        let span = file.line_at(at);
        let line = file.slice(span);
        let is_heading =
            blocks.headings.iter().any(|heading| heading.span.start == at && !heading.is_underlined);
        let here = span.shifted(start);
        at = file.next_line(at).max(span.end.max(at + 1));
        let bare = line.trim();
        if is_heading {
            let words = bare.trim_start_matches('#').trim();
            let level = bare.len() - bare.trim_start_matches('#').len();
            if level == 1 && body.title.is_none() {
                body.title = Some(Spanned::new(words.to_owned(), here));
                continue;
            }
            if level <= 2 {
                let is_known = CRITERIA.contains(&words.trim_end_matches(':').to_lowercase().as_str());
                (is_criteria, is_item) = (is_known, false);
                // The heading above the description, which every task has.
                heading = (!is_known && !words.eq_ignore_ascii_case("description")).then(|| bare.to_owned());
                continue;
            }
        }
        if is_mark(bare) {
            continue;
        }
        let is_bullet = is_criteria && ["- ", "* ", "+ "].iter().any(|sign| bare.starts_with(sign));
        if is_bullet && (!line.starts_with("    ") || !is_item) {
            body.criteria.push(Spanned::new(criterion(bare), here));
            is_item = true;
        } else if is_item && is_criteria && line.starts_with([' ', '\t']) && !bare.is_empty() {
            if let Some(last) = body.criteria.last_mut() {
                last.value = format!("{} {}", last.value, json_task::unbulleted(bare));
            }
        } else {
            is_item &= bare.is_empty();
            if !bare.is_empty() {
                lines.extend(heading.take().map(|heading| format!("\n{heading}\n")));
            }
            lines.push(line.to_owned());
        }
    }
    body.criteria.retain(|criterion| !criterion.value.is_empty());
    body.text = squeezed(&lines);
    body
}

/// The lines with at most one blank line between them. Code keeps its own.
fn squeezed(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    while let Some(at) = text.find("\n\n\n") {
        text.remove(at);
    }
    text.trim().to_owned()
}

/// A criterion without its box and number: `- [ ] #1 It works` is `It works`.
fn criterion(line: &str) -> String {
    let text = json_task::unbulleted(line);
    let number = text.strip_prefix('#').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
    match number {
        Some(rest) if rest.starts_with(' ') && rest.len() + 1 < text.len() => rest.trim().to_owned(),
        Some(_) | None => text.to_owned(),
    }
}

/// Whether a line is a section marker of the tool: `<!-- AC:BEGIN -->`.
fn is_mark(line: &str) -> bool {
    let inner = line.strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->")).map(str::trim);
    inner.is_some_and(|inner| inner.ends_with(":BEGIN") || inner.ends_with(":END"))
}
