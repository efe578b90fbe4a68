//! The Markdown blocks that matter to a plan: headings, code, and lines that are neither text nor code. The only module
//! that uses the Markdown parser.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::syntax::source::{Excerpt, Source, Span, Spanned, item_at};

/// A heading outside of lists and block quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heading {
    /// 1 to 6.
    pub(crate) level: u8,
    /// The heading without its last line ending.
    pub(crate) span: Span,
    /// Where the line after it starts.
    pub(crate) below: usize,
    /// Whether it is a setext heading, underlined with dashes or equals signs.
    pub(crate) is_underlined: bool,
}

/// A code block, fenced or indented, at any position.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    /// The block with its fences.
    pub(crate) span: Span,
    pub(crate) text: Excerpt,
    /// The first word after the opening fence.
    pub(crate) language: Option<Spanned<String>>,
}

/// The blocks of one plan, in file order.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    /// The text that was read: everything after the frontmatter.
    pub(crate) body: Span,
    pub(crate) headings: Vec<Heading>,
    pub(crate) codes: Vec<Code>,
    /// Opening lines of fences that are never closed.
    pub(crate) unclosed: Vec<Span>,
    /// Spans in which no line is running text: code and HTML, ascending.
    opaque: Vec<Span>,
}

impl Blocks {
    /// Reads the blocks of everything from byte `body` on.
    pub(crate) fn read(source: &Source, body: usize) -> Self {
        Self::read_in(source, Span::new(body, source.text().len()))
    }

    /// Parses the blocks of one part of the text; its end closes every block.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the parser has many events and few matter here")]
    pub(crate) fn read_in(source: &Source, body: Span) -> Self {
        let mut blocks = Self { body, ..Self::default() };
        let mut depth = 0_usize;
        let mut code: Option<Code> = None;
        // No extensions: YAML blocks would be found anywhere in the text, and tables and footnotes change nothing here.
        let parser = Parser::new_ext(source.slice(body), Options::empty());
        for (event, range) in parser.into_offset_iter() {
            let span = Span::from(range).shifted(body.start);
            match event {
                Event::Start(Tag::Heading { level, .. }) if depth == 0 => {
                    blocks.headings.push(heading(source, rank(level), span));
                }
                Event::Start(Tag::CodeBlock(kind)) => code = Some(open_code(source, &kind, span)),
                Event::Start(Tag::List(_) | Tag::Item | Tag::BlockQuote(_)) => depth += 1,
                Event::End(TagEnd::List(_) | TagEnd::Item | TagEnd::BlockQuote(_)) => depth -= 1,
                Event::Text(piece) => {
                    if let Some(code) = &mut code {
                        push_code(&mut code.text, &piece, span);
                    }
                }
                Event::End(TagEnd::CodeBlock) => {
                    if let Some(code) = code.take() {
                        blocks.close_code(source, code);
                    }
                }
                Event::Start(Tag::HtmlBlock) => blocks.opaque.push(span),
                _ => {}
            }
        }
        blocks
    }

    /// Whether the line that starts at `at` is code or HTML rather than running text.
    pub(crate) fn is_opaque(&self, at: usize) -> bool {
        item_at(&self.opaque, at, |span| *span).is_some()
    }

    /// The lines of `span` that are running text, without their line endings.
    pub(crate) fn text_lines<'a>(
        &'a self,
        source: &'a Source,
        span: Span,
    ) -> impl Iterator<Item = Span> + 'a {
        source.lines_in(span).filter(|line| !self.is_opaque(line.start))
    }

    /// The code that starts inside `span`.
    pub(crate) fn codes_in(&self, span: Span) -> impl Iterator<Item = &Code> {
        let first = self.codes.partition_point(|code| code.span.start < span.start);
        self.codes[first..].iter().take_while(move |code| code.span.start < span.end)
    }

    fn close_code(&mut self, source: &Source, code: Code) {
        let first_line = source.line_at(code.span.start);
        let opening = source.slice(Span::new(code.span.start, first_line.end));
        let fence = opening.chars().next().filter(|&mark| mark == '`' || mark == '~');
        if let Some(mark) = fence {
            let last = source.line_at(code.span.end.saturating_sub(1).max(code.span.start));
            let closing = source.slice(last).trim_start_matches(['>', ' ', '\t']).trim_end();
            let marks = opening.chars().take_while(|&character| character == mark).count();
            let is_closed = last.start > first_line.start
                && closing.len() >= marks
                && closing.chars().all(|character| character == mark);
            if !is_closed {
                self.unclosed.push(Span::new(code.span.start, first_line.end));
            }
        }
        // The lines of a block are opaque from their start: indentation belongs to the block.
        self.opaque.push(Span::new(first_line.start, code.span.end));
        self.codes.push(code);
    }
}

/// Whether a heading after this text would be parsed as one, and the text has none itself: no code, comment or
/// underline extends past its end.
#[expect(clippy::wildcard_enum_match_arm, reason = "the parser has many events and few matter here")]
pub(crate) fn is_closed(text: &str) -> bool {
    // Only fences, tags and underlines extend further, and most texts have none.
    let is_underline =
        |line: &str| !line.trim().is_empty() && line.trim().trim_matches(['=', '-']).is_empty();
    if !text.contains(['<', '#'])
        && !text.contains("```")
        && !text.contains("~~~")
        && !text.lines().any(is_underline)
    {
        return true;
    }
    let probed = format!("{text}\n\n### 1. probe\n");
    let mut depth = 0_usize;
    let mut headings = Parser::new_ext(&probed, Options::empty()).into_offset_iter().filter(|(event, _)| {
        match event {
            Event::Start(Tag::List(_) | Tag::Item | Tag::BlockQuote(_)) => depth += 1,
            Event::End(TagEnd::List(_) | TagEnd::Item | TagEnd::BlockQuote(_)) => depth -= 1,
            _ => {}
        }
        depth == 0 && matches!(event, Event::Start(Tag::Heading { .. }))
    });
    headings.next().is_some_and(|(_, range)| range.start >= text.len())
}

fn rank(level: HeadingLevel) -> u8 {
    match level {
        HeadingLevel::H1 => 1,
        HeadingLevel::H2 => 2,
        HeadingLevel::H3 => 3,
        HeadingLevel::H4 => 4,
        HeadingLevel::H5 => 5,
        HeadingLevel::H6 => 6,
    }
}

fn heading(source: &Source, level: u8, span: Span) -> Heading {
    let text = source.slice(span).trim_end_matches(['\n', '\r']);
    let span = Span::new(span.start, span.start + text.len());
    Heading { level, span, below: source.next_line(span.end), is_underlined: text.contains('\n') }
}

fn open_code(source: &Source, kind: &CodeBlockKind<'_>, span: Span) -> Code {
    let language = match kind {
        CodeBlockKind::Fenced(info) => language(source, info, span),
        CodeBlockKind::Indented => None,
    };
    Code { span, text: Excerpt::new(span), language }
}

fn language(source: &Source, info: &CowStr<'_>, span: Span) -> Option<Spanned<String>> {
    let word = info.split([' ', '\t', ',', '{']).next().filter(|word| !word.is_empty())?;
    let line = Span::new(span.start, source.line_at(span.start).end);
    let at = line.start + source.slice(line).find(word)?;
    Some(Spanned::new(word.to_owned(), Span::new(at, at + word.len())))
}

/// Adds a piece of code. Commands end their lines in LF whatever the file does.
fn push_code(text: &mut Excerpt, piece: &str, span: Span) {
    let mut at = span.start;
    for line in piece.split_inclusive('\n') {
        match line.strip_suffix("\r\n") {
            Some(bare) => {
                text.push(bare, at);
                text.push("\n", at + bare.len() + 1);
            }
            None => text.push(line, at),
        }
        at += line.len();
    }
}

/// The unparsed rest of a heading, and its offset in the file.
pub(crate) struct Cursor<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
}

impl Cursor<'_> {
    /// Consumes this many bytes; returns their span.
    pub(crate) fn skip(&mut self, bytes: usize) -> Span {
        let span = Span::new(self.at, self.at + bytes);
        self.text = &self.text[bytes..];
        self.at = span.end;
        span
    }

    /// Skips leading blanks.
    pub(crate) fn skip_blanks(&mut self) {
        self.skip(self.text.len() - self.text.trim_start().len());
    }
}

/// Prose with `change` applied to every line outside of code, and the character of an unclosed fence.
pub(crate) fn outside_code<'a>(
    text: &'a str,
    mut change: impl FnMut(&'a str) -> String,
) -> (String, Option<&'a str>) {
    let mut fence: Option<&str> = None;
    let lines = text.lines().map(|line| {
        let bare = line.trim_start();
        let ticks = &bare[..bare.len() - bare.trim_start_matches(['`', '~']).len()];
        match fence {
            Some(open) if ticks.starts_with(open) => fence = None,
            Some(_) => return line.to_owned(),
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => {}
        }
        change(line)
    });
    let changed = lines.collect::<Vec<_>>().join("\n");
    (changed, fence)
}
