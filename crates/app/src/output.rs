//! All of planwright's output: data to stdout, messages to stderr, one envelope with `--json`, one exit code. Owns
//! the terminal rules (color, glyphs, width, broken pipes); never decides what to print.

pub(crate) mod wording;
mod clean;
pub mod diagnostics;
mod envelope;
mod exit;
mod failure;
mod glyph;
mod markdown;
mod next;
pub mod picture;
mod settings;
mod table;

use std::io::{self, BufWriter, ErrorKind, Write};

pub use clean::{clean, clean_line};
pub(crate) use envelope::Page;
pub use envelope::{Envelope, ErrorData, ErrorEnvelope, Response};
pub use exit::{EXIT_CODES, Exit};
pub use failure::Failure;
pub use glyph::{Glyph, Glyphs, Palette, Tone};
pub(crate) use markdown::markdown;
pub use planwright_engine::api::{NextCommand, shell_word};
pub use settings::{Color, Flags, Settings, Stream};
pub use table::{Cell, Table, cut};

use envelope::EnvelopeLayout;

/// The two streams of a command and the rules for them.
///
/// Writing never fails for the caller. The first fault of stdout is kept and settled by [`Out::finish`]: a command is not cut
/// short in the middle of its work because the reader is gone, and its exit code stays correct.
pub struct Out<'w> {
    settings: Settings,
    stdout: Box<dyn Write + 'w>,
    stderr: Box<dyn Write + 'w>,
    /// Why stdout takes no more.
    fault: Option<io::Error>,
    /// Lines of the block above the cursor, to be redrawn.
    drawn: usize,
}

impl Out<'static> {
    /// The streams of this process.
    pub fn of_process(flags: &Flags) -> Self {
        Self::new(Settings::of_process(flags), BufWriter::new(io::stdout()), io::stderr())
    }
}

impl<'w> Out<'w> {
    /// Writes to these streams by these rules.
    pub fn new(settings: Settings, stdout: impl Write + 'w, stderr: impl Write + 'w) -> Self {
        Self { settings, stdout: Box::new(stdout), stderr: Box::new(stderr), fault: None, drawn: 0 }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How data is dressed.
    pub fn palette(&self) -> Palette {
        self.settings.stdout.palette(self.settings.glyphs)
    }

    /// How talk is dressed.
    pub fn talk_palette(&self) -> Palette {
        self.settings.stderr.palette(self.settings.glyphs)
    }

    /// Writes exactly `text` to stdout; what comes from a plan must be clean already. With `--json` nothing is written: there the
    /// [`Response`] holds the data.
    pub fn data(&mut self, text: &str) {
        if !self.settings.is_json {
            self.write(text);
        }
    }

    /// Writes a text that another program may read: a filter passes every byte on, and only a terminal is kept from what could
    /// steer it.
    pub fn filtered(&mut self, text: &str) {
        match self.settings.stdout.is_terminal {
            true => self.data(&clean(text)),
            false => self.data(text),
        }
    }

    /// Writes `text` and a line break to stdout, under the rule of [`Out::data`].
    pub fn line(&mut self, text: &str) {
        self.data(text);
        self.data("\n");
    }

    /// Writes exactly these bytes to stdout, whatever they are, under the rule of [`Out::data`]. Never for a terminal.
    pub fn bytes(&mut self, bytes: &[u8]) {
        if !self.settings.is_json && self.fault.is_none() {
            self.fault = self.stdout.write_all(bytes).err();
        }
    }

    /// Writes a table to stdout, under the rule of [`Out::data`]. It is cut to the width on a terminal only.
    pub fn table(&mut self, table: &Table) {
        let width = self.settings.stdout.is_terminal.then_some(self.settings.width);
        let text = table.text(self.palette(), width);
        self.data(&text);
    }

    /// Prints rows under a title, or nothing where there are none.
    pub(crate) fn section(&mut self, title: &str, rows: Vec<Vec<Cell>>) {
        if rows.is_empty() {
            return;
        }
        self.line(&self.palette().paint(Tone::Strong, title));
        let mut table = Table::new();
        for row in rows {
            table.row(row);
        }
        self.table(&table);
    }

    /// Says one line on stderr: progress and hints, which `--quiet` leaves out. What comes from a plan must be clean already.
    pub fn talk(&mut self, text: &str) {
        if !self.settings.is_quiet {
            self.say(&format!("{text}\n"));
        }
    }

    /// Warns on stderr, even with `--quiet`.
    pub fn warn(&mut self, text: &str) {
        let word = self.talk_palette().paint(Tone::Attention, "warning:");
        // What is warned of has names that others chose: behind a line break in one, nothing may look like a line of ours.
        let text = clean(text);
        let indented = |line: &str| format!("\n{}{line}", if line.starts_with(' ') { "" } else { "  " });
        let mut lines = text.lines();
        let first = lines.next().unwrap_or_default();
        self.say(&format!("{word} {first}{}\n", lines.map(indented).collect::<String>()));
    }

    /// Warns of several things, each on a line of its own.
    pub fn warn_all(&mut self, texts: &[String]) {
        for text in texts {
            self.warn(text);
        }
    }

    /// Says exactly this on stderr, even with `--quiet`: what is wrong with the command line.
    pub fn complain(&mut self, text: &str) {
        self.say(text);
    }

    /// Prints the envelope of an answer that is not the last one: a long-running command, such as a watch, prints one per line.
    pub fn event(&mut self, answer: &Response) {
        if self.settings.is_json {
            self.write(&answer.json(EnvelopeLayout::Compact));
        }
    }

    /// Draws a block of lines in the place of the one that was drawn last. They must be clean, and fit [`Out::screen`]. What is
    /// written next replaces the block. The cursor is never hidden and is below the block, so that a process
    /// that is killed leaves a terminal as it was.
    pub fn draw(&mut self, lines: &[String]) {
        let mut text = up(self.drawn);
        for line in lines {
            text.extend([line.as_str(), "\u{1b}[K\n"]);
        }
        // What is left of a block that was longer.
        text.push_str("\u{1b}[J");
        self.pass(&text);
        self.drawn = lines.len();
        self.flush();
    }

    /// Takes away the block that was drawn last.
    pub fn erase(&mut self) {
        if self.drawn > 0 {
            let text = format!("{}\u{1b}[J", up(self.drawn));
            self.drawn = 0;
            self.pass(&text);
        }
    }

    /// How many columns and lines a block may have now.
    pub fn screen(&self) -> (usize, usize) {
        settings::screen(&self.settings)
    }

    /// Hands over what was written so far. A long-running command calls this whenever it has said something.
    pub fn flush(&mut self) {
        if self.fault.is_none() {
            self.fault = self.stdout.flush().err();
        }
    }

    /// Whether stdout still takes something. A command without an end stops when this is no longer so.
    pub fn is_open(&self) -> bool {
        self.fault.is_none()
    }

    /// Says the last words of a command and returns its exit code.
    pub fn finish(mut self, result: &Result<Response, Failure>) -> Exit {
        self.erase();
        let exit = match result {
            Ok(answer) => {
                if self.settings.is_json {
                    self.write(&answer.json(self.layout()));
                }
                answer.exit
            }
            Err(failure) => {
                if self.settings.is_json {
                    self.write(&failure.json(self.layout()));
                } else {
                    self.say(&failure.text(self.talk_palette()));
                }
                failure.exit
            }
        };
        self.flush();
        match self.fault.take() {
            None => {
                self.say_next(result);
                exit
            }
            Some(fault) if fault.kind() == ErrorKind::BrokenPipe => exit,
            Some(fault) => {
                let failure = Failure::new(Exit::Machine, "cannot write to standard output").because(&fault);
                self.say(&failure.text(self.talk_palette()));
                failure.exit
            }
        }
    }

    fn say_next(&mut self, result: &Result<Response, Failure>) {
        let next = match result {
            Ok(answer) => &answer.next,
            Err(failure) => &failure.next,
        };
        if let Some(line) = next::line(next)
            && !self.settings.is_json
        {
            self.talk(&line);
        }
    }

    fn layout(&self) -> EnvelopeLayout {
        if self.settings.stdout.is_terminal { EnvelopeLayout::Pretty } else { EnvelopeLayout::Compact }
    }

    fn write(&mut self, text: &str) {
        self.erase();
        self.pass(text);
    }

    fn pass(&mut self, text: &str) {
        if self.fault.is_none() {
            self.fault = self.stdout.write_all(text.as_bytes()).err();
        }
    }

    fn say(&mut self, text: &str) {
        self.erase();
        // Both streams are often the same terminal: what was written first must appear first.
        self.flush();
        // An unwritable stderr is ignored: there is no third stream to report it on.
        drop(self.stderr.write_all(text.as_bytes()).and_then(|()| self.stderr.flush()));
    }
}

/// What moves the cursor to the start of the line so many lines above. Ctrl-C has moved it to the right.
fn up(lines: usize) -> String {
    if lines == 0 { String::new() } else { format!("\r\u{1b}[{lines}A") }
}

#[cfg(test)]
#[expect(clippy::disallowed_types, reason = "a full disk is a file that has to be opened")]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    /// A reader that went away.
    struct Gone;

    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn answer() -> Response {
        Response::done("list", &["a"]).next(NextCommand::new(["planwright", "show", "a"]))
    }

    fn failure() -> Failure {
        Failure::new(Exit::Usage, "no plan `x`").next(NextCommand::new(["planwright", "list"]))
    }

    /// Says a bit of everything and returns the exit code, stdout and stderr.
    fn run(settings: Settings, result: &Result<Response, Failure>) -> (Exit, String, String) {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut out = Out::new(settings, &mut stdout, &mut stderr);
        out.talk("reading plans");
        out.line("a  Say hello");
        out.warn("b.md was skipped");
        let exit = out.finish(result);
        let text = |bytes| String::from_utf8(bytes).expect("only text is written");
        (exit, text(stdout), text(stderr))
    }

    #[test]
    fn data_goes_to_stdout_and_talk_with_the_next_command_last_to_stderr() {
        let (exit, stdout, stderr) = run(Settings::PLAIN, &Ok(answer()));
        assert_eq!((exit, stdout.as_str()), (Exit::Done, "a  Say hello\n"));
        assert_eq!(stderr, "reading plans\nwarning: b.md was skipped\nnext: planwright show a\n");
    }

    #[test]
    fn quiet_leaves_out_talk_and_next_but_no_warning_and_no_error() {
        let quiet = Settings { is_quiet: true, ..Settings::PLAIN };
        let (exit, stdout, stderr) = run(quiet, &Err(failure()));
        assert_eq!((exit, stdout.as_str()), (Exit::Usage, "a  Say hello\n"));
        assert_eq!(stderr, "warning: b.md was skipped\nerror: no plan `x`\n");
    }

    #[test]
    fn with_json_stdout_is_one_envelope_whether_it_went_well_or_not() {
        let json = Settings { is_json: true, ..Settings::PLAIN };
        let (_, stdout, stderr) = run(json.clone(), &Ok(answer()));
        assert_eq!(
            stdout,
            "{\"schema\":\"planwright.list/1\",\"ok\":true,\"data\":[\"a\"],\"next\":[\"planwright show a\"]}\n"
        );
        assert_eq!(stderr, "reading plans\nwarning: b.md was skipped\n");
        let (exit, stdout, _) = run(json, &Err(failure()));
        assert_eq!(exit, Exit::Usage);
        assert_eq!(stdout.lines().count(), 1);
        assert!(stdout.starts_with("{\"schema\":\"planwright.error/1\",\"ok\":false,"), "{stdout}");
    }

    #[test]
    fn on_a_terminal_the_envelope_is_indented() {
        let stdout = Stream { is_terminal: true, has_color: true };
        let (_, stdout, _) = run(Settings { is_json: true, stdout, ..Settings::PLAIN }, &Ok(answer()));
        assert!(stdout.starts_with("{\n  \"schema\": \"planwright.list/1\",\n"), "{stdout}");
    }

    #[test]
    fn a_block_is_drawn_over_and_goes_before_anything_else_is_said() {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        let mut out = Out::new(Settings::PLAIN, &mut stdout, &mut stderr);
        out.draw(&["one".to_owned(), "two".to_owned()]);
        out.draw(&["three".to_owned()]);
        out.line("a fact");
        out.line("another");
        out.draw(&["four".to_owned()]);
        out.finish(&Ok(answer()));
        let stdout = String::from_utf8(stdout).expect("only text is written");
        let said = stdout.replace("\u{1b}[", "<").replace('\n', "/").replace('\r', "|");
        assert_eq!(said, "one<K/two<K/<J|<2Athree<K/<J|<1A<Ja fact/another/four<K/<J|<1A<J");
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure_and_hides_none() {
        for is_json in [false, true] {
            for exit in [Exit::Done, Exit::No] {
                let mut stderr = Vec::new();
                let mut out = Out::new(Settings { is_json, ..Settings::PLAIN }, Gone, &mut stderr);
                assert!(out.is_open());
                out.line("a");
                out.flush();
                assert_eq!(out.is_open(), is_json, "with --json nothing was written yet");
                assert_eq!(out.finish(&Ok(Response { exit, ..answer() })), exit);
                assert_eq!(stderr, b"");
            }
        }
    }

    #[test]
    fn a_full_disk_is_said_and_is_the_machine() {
        for buffered in [false, true] {
            let full = OpenOptions::new().write(true).open("/dev/full").expect("there is a /dev/full");
            let mut stderr = Vec::new();
            let stdout: Box<dyn Write> =
                if buffered { Box::new(BufWriter::new(full)) } else { Box::new(full) };
            let mut out = Out::new(Settings::PLAIN, stdout, &mut stderr);
            out.line("a");
            assert_eq!(out.finish(&Ok(answer())), Exit::Machine);
            let stderr = String::from_utf8(stderr).expect("only text is written");
            assert!(
                stderr.starts_with("error: cannot write to standard output\n  caused by: No space left"),
                "{stderr}"
            );
        }
    }

    #[test]
    fn talk_that_cannot_be_heard_changes_nothing() {
        let mut stdout = Vec::new();
        let mut out = Out::new(Settings::PLAIN, &mut stdout, Gone);
        out.talk("reading plans");
        out.line("a");
        assert_eq!(out.finish(&Err(failure())), Exit::Usage);
        assert_eq!(stdout, b"a\n");
    }
}
