//! Markdown as a terminal shows it: bold headings, wrapped paragraphs, indented code. For our own pages; pure.

use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use unicode_width::UnicodeWidthStr as _;

use super::glyph::{Palette, Tone};

/// How far code and the text of list items are indented.
const CODE_INDENT: &str = "    ";

/// The page as text of at most `width` columns, code aside.
pub(crate) fn markdown(page: &str, width: usize, palette: Palette) -> String {
    let mut printer =
        Printer { text: String::new(), words: String::new(), depth: 0, is_item: false, width, palette };
    for event in Parser::new(page) {
        printer.take(event);
    }
    printer.text.trim_end().to_owned() + "\n"
}

struct Printer {
    text: String,
    /// The paragraph so far.
    words: String,
    /// How many lists this is in.
    depth: usize,
    /// Whether the next paragraph is the first of an item.
    is_item: bool,
    width: usize,
    palette: Palette,
}

impl Printer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(Tag::List(_)) => {
                // A tight list has no paragraphs of its own: what came before it ends here.
                self.flush();
                self.depth += 1;
            }
            Event::End(TagEnd::List(_)) => {
                self.depth = self.depth.saturating_sub(1);
                self.gap();
            }
            Event::Start(Tag::Item) => self.is_item = true,
            Event::End(TagEnd::Item) | Event::Start(Tag::CodeBlock(_)) => self.flush(),
            Event::End(TagEnd::Heading(_)) => {
                let heading = self.palette.paint(Tone::Strong, self.words.trim());
                self.words.clear();
                self.text.push_str(&heading);
                self.text.push('\n');
                self.gap();
            }
            Event::End(TagEnd::Paragraph) => {
                self.flush();
                if self.depth == 0 {
                    self.gap();
                }
            }
            Event::End(TagEnd::CodeBlock) => {
                for line in std::mem::take(&mut self.words).lines() {
                    self.text.push_str(format!("{CODE_INDENT}{line}").trim_end());
                    self.text.push('\n');
                }
                self.gap();
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.words.push_str(&text),
            Event::Code(code) => self.words.extend(["`", &code, "`"]),
            Event::SoftBreak | Event::HardBreak => self.words.push(' '),
            Event::Rule => self.gap(),
            Event::Start(_)
            | Event::End(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_) => {}
        }
    }

    /// Ends a paragraph: its words, wrapped.
    fn flush(&mut self) {
        let words = std::mem::take(&mut self.words);
        if words.trim().is_empty() {
            return;
        }
        let indent = "  ".repeat(self.depth);
        let mut line = match std::mem::take(&mut self.is_item) {
            true => format!("{}- ", "  ".repeat(self.depth.saturating_sub(1))),
            false => indent.clone(),
        };
        let mut is_empty = true;
        for word in words.split_whitespace() {
            if !is_empty && line.width() + 1 + word.width() > self.width {
                self.text.extend([line.as_str(), "\n"]);
                line.clone_from(&indent);
                is_empty = true;
            }
            line.extend([if is_empty { "" } else { " " }, word]);
            is_empty = false;
        }
        self.text.extend([line.as_str(), "\n"]);
    }

    /// Leaves one blank line.
    fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_wrapped_and_code_is_not() {
        let page = "# A `title`\n\nSome words that are long\nenough, see [a page](b.md).\n\n- one\n- two that wraps around here\n\n```sh\na   b # stays as it is, however long it may be\n```\n";
        insta::assert_snapshot!(markdown(page, 20, Palette::PLAIN), @r"
        A `title`

        Some words that are
        long enough, see a
        page.

        - one
        - two that wraps
          around here

            a   b # stays as it is, however long it may be
        ");
    }
}
