//! Glyphs and colors by meaning. Color only repeats what glyph and word already say, so everything reads without it.

use anstyle::{AnsiColor, Effects, Style};

/// The meaning of a glyph, the same in terminal and web.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Glyph {
    /// Finished, and proven so.
    Done,
    Running,
    /// Waits for a person.
    NeedsYou,
    /// Tried, and not met.
    Failed,
    /// Waits for something else.
    Waiting,
    /// Kept back on purpose.
    Held,
}

/// Which characters the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Glyphs {
    /// The locale is UTF-8.
    Unicode,
    Ascii,
}

/// The meaning of a color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tone {
    Good,
    Bad,
    Attention,
    /// Less important than its neighbours.
    Muted,
    /// More important than its neighbours.
    Strong,
}

/// How text is dressed on one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// Whether color may be used.
    pub has_color: bool,
    /// Which glyphs may be used.
    pub glyphs: Glyphs,
}

impl Glyph {
    /// Its characters.
    pub const fn symbol(self, glyphs: Glyphs) -> &'static str {
        match (self, glyphs) {
            (Self::Done, Glyphs::Unicode) => "✓",
            (Self::Done, Glyphs::Ascii) => "ok",
            (Self::Running, Glyphs::Unicode) => "◐",
            (Self::Running, Glyphs::Ascii) => "run",
            (Self::NeedsYou, Glyphs::Unicode) => "◆",
            (Self::NeedsYou, Glyphs::Ascii) => "you",
            (Self::Failed, Glyphs::Unicode) => "✗",
            (Self::Failed, Glyphs::Ascii) => "ERR",
            (Self::Waiting, Glyphs::Unicode) => "○",
            (Self::Waiting, Glyphs::Ascii) => "..",
            (Self::Held, Glyphs::Unicode | Glyphs::Ascii) => "=",
        }
    }

    /// The tone that repeats its meaning.
    pub const fn tone(self) -> Tone {
        match self {
            Self::Done => Tone::Good,
            Self::Failed => Tone::Bad,
            Self::NeedsYou => Tone::Attention,
            Self::Running => Tone::Strong,
            Self::Waiting | Self::Held => Tone::Muted,
        }
    }
}

impl Glyphs {
    /// Marks truncated text.
    pub const fn ellipsis(self) -> &'static str {
        match self {
            Self::Unicode => "…",
            Self::Ascii => "...",
        }
    }
}

impl Tone {
    const fn style(self) -> Style {
        match self {
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().effects(Effects::BOLD),
            Self::Attention => AnsiColor::Yellow.on_default().effects(Effects::BOLD),
            Self::Muted => Style::new().effects(Effects::DIMMED),
            Self::Strong => Style::new().effects(Effects::BOLD),
        }
    }
}

impl Palette {
    /// Neither color nor glyphs beyond ASCII.
    pub const PLAIN: Self = Self { has_color: false, glyphs: Glyphs::Ascii };

    /// `text` in the color of `tone`, if color may be used. The text must be clean already.
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if self.has_color {
            let style = tone.style();
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    /// The glyph in the color of its meaning.
    pub fn glyph(self, glyph: Glyph) -> String {
        self.paint(glyph.tone(), glyph.symbol(self.glyphs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Glyph; 6] =
        [Glyph::Done, Glyph::Running, Glyph::NeedsYou, Glyph::Failed, Glyph::Waiting, Glyph::Held];

    #[test]
    fn every_glyph_has_a_spelling_in_both_sets() {
        assert_eq!(ALL.map(|glyph| glyph.symbol(Glyphs::Unicode)).join(" "), "✓ ◐ ◆ ✗ ○ =");
        assert_eq!(ALL.map(|glyph| glyph.symbol(Glyphs::Ascii)).join(" "), "ok run you ERR .. =");
    }

    #[test]
    fn colour_wraps_the_text_and_never_replaces_it() {
        let palette = Palette { has_color: true, glyphs: Glyphs::Unicode };
        assert_eq!(palette.glyph(Glyph::Done), "\u{1b}[32m✓\u{1b}[0m");
        assert_eq!(Palette::PLAIN.glyph(Glyph::Done), "ok");
        assert_eq!(Palette::PLAIN.paint(Tone::Bad, "failed"), "failed");
    }
}
