//! Rows in aligned columns. Owns widths and cutting; the words come from the commands.

use unicode_width::UnicodeWidthStr as _;

use super::clean::clean_line;
use super::glyph::{Palette, Tone};

/// Rows with aligned columns.
#[derive(Debug, Clone, Default)]
pub struct Table {
    rows: Vec<Vec<Cell>>,
}

/// One cell of a [`Table`].
#[derive(Debug, Clone)]
pub struct Cell {
    /// What it says, on one line.
    text: String,
    side: Side,
    tone: Option<Tone>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

impl Cell {
    /// A cell with this text; it need not be clean.
    pub fn new(text: impl AsRef<str>) -> Self {
        Self { text: clean_line(text.as_ref()).into_owned(), side: Side::Left, tone: None }
    }

    /// The same cell, set against the right side of its column.
    #[must_use]
    pub fn right(mut self) -> Self {
        self.side = Side::Right;
        self
    }

    /// The same cell in a color.
    #[must_use]
    pub fn tone(mut self, tone: Tone) -> Self {
        self.tone = Some(tone);
        self
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

impl Table {
    /// A table without rows.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a row. A header is a row like any other.
    pub fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The rows as lines. Where a width is given, the last cell of a row is cut so that the row fits.
    pub fn text(&self, palette: Palette, width: Option<usize>) -> String {
        let widths = self.widths();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            let mut used = 0;
            for (column, cell) in row.iter().enumerate() {
                let is_last = column + 1 == row.len();
                let shown = match width {
                    Some(width) if is_last => cut(&cell.text, width.saturating_sub(used), palette),
                    Some(_) | None => cell.text.clone(),
                };
                let painted = cell.tone.map_or_else(|| shown.clone(), |tone| palette.paint(tone, &shown));
                let pad = " ".repeat(widths[column].saturating_sub(shown.width()));
                match cell.side {
                    Side::Right => line.extend([pad.as_str(), &painted]),
                    Side::Left if is_last => line.push_str(&painted),
                    Side::Left => line.extend([painted.as_str(), &pad]),
                }
                if !is_last {
                    line.push_str(GAP);
                }
                used += widths[column] + GAP.len();
            }
            text.push_str(line.trim_end_matches(' '));
            text.push('\n');
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.rows.iter().map(Vec::len).max().unwrap_or(0)];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.width());
            }
        }
        widths
    }
}

const GAP: &str = "  ";

/// Returns as much of the beginning of `text` as fits into `width` columns, and a mark where something is missing.
pub fn cut(text: &str, width: usize, palette: Palette) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mark = palette.glyphs.ellipsis();
    let room = width.saturating_sub(mark.width());
    let end = text.char_indices().map(|(at, _)| at).take_while(|&at| text[..at].width() <= room).last();
    format!("{}{mark}", &text[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::super::glyph::Glyphs;
    use super::*;

    const UNICODE: Palette = Palette { has_color: false, glyphs: Glyphs::Unicode };

    fn plans() -> Table {
        let mut table = Table::new();
        table.row([Cell::new("plan"), Cell::new("steps").right(), Cell::new("title")]);
        table.row([
            Cell::new("漢字-plan"),
            Cell::new("12").right(),
            Cell::new("Say hello\u{1b}[2J properly"),
        ]);
        table.row([Cell::new("été"), Cell::new("3").right(), Cell::new("漢字漢字漢字漢字漢字漢字")]);
        table
    }

    #[test]
    fn columns_are_aligned_by_what_the_eye_sees() {
        insta::assert_snapshot!(plans().text(UNICODE, None), @r"
        plan       steps  title
        漢字-plan     12  Say hello\u{1b}[2J properly
        été            3  漢字漢字漢字漢字漢字漢字
        ");
    }

    #[test]
    fn on_a_terminal_the_last_cell_is_cut_to_the_width() {
        insta::assert_snapshot!(plans().text(UNICODE, Some(30)), @r"
        plan       steps  title
        漢字-plan     12  Say hello\u…
        été            3  漢字漢字漢…
        ");
        insta::assert_snapshot!(plans().text(Palette::PLAIN, Some(30)), @"
        plan       steps  title
        漢字-plan     12  Say hello...
        été            3  漢字漢字...
        ");
        for line in plans().text(UNICODE, Some(30)).lines() {
            assert!(line.width() <= 30, "{line}");
        }
    }

    #[test]
    fn colour_does_not_move_a_column() {
        let mut table = Table::new();
        table.row([Cell::new("ok").tone(Tone::Good), Cell::new("x")]);
        table.row(["waiting", "y"]);
        let colored = table.text(Palette { has_color: true, glyphs: Glyphs::Unicode }, None);
        assert_eq!(colored, "\u{1b}[32mok\u{1b}[0m       x\nwaiting  y\n");
    }
}
