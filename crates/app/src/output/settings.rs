//! The rules for one pair of streams, made from flags, environment and terminals. Pure but for [`Settings::of_process`].

use std::io::{self, IsTerminal as _};

use clap::{Args, ValueEnum};

use super::glyph::{Glyphs, Palette};

/// What the user says about output, with every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Args)]
pub struct Flags {
    /// Print JSON instead of text
    #[arg(long, global = true, hide_short_help = true, hide_long_help = true)]
    pub json: bool,
    /// Print results only
    #[arg(long, short, global = true, hide_short_help = true, hide_long_help = true)]
    pub quiet: bool,
    /// Use color: auto, always or never
    #[arg(
        long,
        global = true,
        hide_short_help = true,
        hide_long_help = true,
        value_name = "WHEN",
        default_value = "auto"
    )]
    pub color: Color,
    /// Terminal width [default: detected]
    #[arg(long, global = true, hide_short_help = true, hide_long_help = true, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

/// When to use color.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Color {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

/// The rules by which [`super::Out`] writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whether stdout gets one envelope and nothing else.
    pub is_json: bool,
    /// Whether progress, hints and `next:` are left out.
    pub is_quiet: bool,
    /// Where data goes.
    pub stdout: Stream,
    /// Where talk goes.
    pub stderr: Stream,
    /// Whether lines that were printed can be drawn over: stdout is a terminal that can move its cursor.
    pub can_redraw: bool,
    /// Columns of the terminal.
    pub width: usize,
    /// Which glyphs may be used.
    pub glyphs: Glyphs,
}

/// What one stream can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// Whether a person may be looking at it.
    pub is_terminal: bool,
    /// Whether color may be used.
    pub has_color: bool,
}

/// The width where no terminal tells one, and the one that the reference pictures have.
const WIDTH_DEFAULT: usize = 100;

/// Below this a table or a diagnostic is noise; such a terminal may wrap instead.
const WIDTH_MIN: usize = 40;

impl Settings {
    /// Two pipes, no color, ASCII.
    pub const PLAIN: Self = Self {
        is_json: false,
        is_quiet: false,
        stdout: Stream::PIPE,
        stderr: Stream::PIPE,
        can_redraw: false,
        width: WIDTH_DEFAULT,
        glyphs: Glyphs::Ascii,
    };

    /// The rules for the streams of this process.
    pub fn of_process(flags: &Flags) -> Self {
        let environment =
            |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let mut settings =
            Self::resolve(flags, environment, [io::stdout().is_terminal(), io::stderr().is_terminal()]);
        if flags.width.is_none()
            && let Some((terminal_size::Width(columns), _)) = terminal_size::terminal_size()
        {
            settings.width = usize::from(columns).max(WIDTH_MIN);
        }
        settings
    }

    /// The rules that follow from flags, environment variables, and whether stdout and stderr are terminals.
    pub fn resolve(
        flags: &Flags,
        environment: impl Fn(&str) -> Option<String>,
        [stdout, stderr]: [bool; 2],
    ) -> Self {
        let set = |name: &str| environment(name).filter(|value| !value.is_empty());
        let forced = match flags.color {
            Color::Always => Some(true),
            Color::Never => Some(false),
            Color::Auto if set("NO_COLOR").is_some() => Some(false),
            Color::Auto if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") => Some(true),
            Color::Auto if set("TERM").as_deref() == Some("dumb") => Some(false),
            Color::Auto => None,
        };
        let stream = |is_terminal| Stream { is_terminal, has_color: forced.unwrap_or(is_terminal) };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set).unwrap_or_default();
        let is_utf8 = ["UTF-8", "UTF8"].iter().any(|name| locale.to_uppercase().contains(name));
        Self {
            is_json: flags.json,
            is_quiet: flags.quiet,
            stdout: stream(stdout),
            stderr: stream(stderr),
            can_redraw: stdout && set("TERM").is_some_and(|term| term != "dumb"),
            width: flags.width.unwrap_or(WIDTH_DEFAULT).max(WIDTH_MIN),
            glyphs: if is_utf8 { Glyphs::Unicode } else { Glyphs::Ascii },
        }
    }
}

/// Lines of a terminal that does not tell how many it has.
const HEIGHT_DEFAULT: usize = 24;

/// How many columns and lines a block may have now: the terminal may have changed since the start. One column stays free,
/// or some terminals wrap a line that is full; one line is for the cursor.
pub(super) fn screen(settings: &Settings) -> (usize, usize) {
    let (columns, lines) = match terminal_size::terminal_size() {
        Some((terminal_size::Width(columns), terminal_size::Height(lines))) => {
            (usize::from(columns).min(settings.width), usize::from(lines))
        }
        None => (settings.width, HEIGHT_DEFAULT),
    };
    (columns.saturating_sub(1), lines.saturating_sub(1))
}

impl Stream {
    /// A pipe or a file.
    pub const PIPE: Self = Self { is_terminal: false, has_color: false };

    pub(super) const fn palette(self, glyphs: Glyphs) -> Palette {
        Palette { has_color: self.has_color, glyphs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn colors(color: Color, environment: &[(&str, &str)]) -> [bool; 2] {
        let settings = resolve(&Flags { color, ..Flags::default() }, environment);
        [settings.stdout.has_color, settings.stderr.has_color]
    }

    /// With stdout on a terminal and stderr not.
    fn resolve(flags: &Flags, environment: &[(&str, &str)]) -> Settings {
        let lookup = |name: &str| {
            environment.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::resolve(flags, lookup, [true, false])
    }

    #[test]
    fn colour_follows_the_flag_then_the_environment_then_the_terminal() {
        assert_eq!(colors(Color::Auto, &[]), [true, false]);
        assert_eq!(colors(Color::Auto, &[("NO_COLOR", "")]), [true, false]);
        assert_eq!(colors(Color::Auto, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]), [false, false]);
        assert_eq!(colors(Color::Auto, &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")]), [true, true]);
        assert_eq!(colors(Color::Auto, &[("CLICOLOR_FORCE", "0")]), [true, false]);
        assert_eq!(colors(Color::Auto, &[("TERM", "dumb")]), [false, false]);
        assert_eq!(colors(Color::Always, &[("NO_COLOR", "1")]), [true, true]);
        assert_eq!(colors(Color::Never, &[("CLICOLOR_FORCE", "1")]), [false, false]);
    }

    #[test]
    fn glyphs_follow_the_first_locale_that_is_set() {
        let glyphs = |environment: &[(&str, &str)]| resolve(&Flags::default(), environment).glyphs;
        assert_eq!(glyphs(&[]), Glyphs::Ascii);
        assert_eq!(glyphs(&[("LANG", "de_DE.utf8@euro")]), Glyphs::Unicode);
        assert_eq!(glyphs(&[("LC_ALL", ""), ("LC_CTYPE", "C.UTF-8")]), Glyphs::Unicode);
        assert_eq!(glyphs(&[("LC_ALL", "C"), ("LANG", "en_US.UTF-8")]), Glyphs::Ascii);
    }

    #[test]
    fn only_a_terminal_that_can_move_its_cursor_is_drawn_over() {
        let can_redraw = |environment: &[(&str, &str)]| resolve(&Flags::default(), environment).can_redraw;
        assert_eq!(
            [can_redraw(&[("TERM", "xterm")]), can_redraw(&[("TERM", "dumb")]), can_redraw(&[])],
            [true, false, false]
        );
        let term = |name: &str| (name == "TERM").then(|| "xterm".to_owned());
        assert!(!Settings::resolve(&Flags::default(), term, [false, true]).can_redraw);
    }

    #[test]
    fn the_width_has_a_floor() {
        let width = |width| resolve(&Flags { width, ..Flags::default() }, &[]).width;
        assert_eq!([width(None), width(Some(72)), width(Some(0))], [100, 72, 40]);
    }
}
