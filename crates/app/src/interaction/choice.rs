//! How a person is asked to choose: one key, no Enter. Input that was typed before the question is discarded, so that a key
//! typed during output decides nothing. Knows no question; never asks where no person is at a terminal.

use std::io::{self, BufRead as _, IsTerminal as _};

use nix::errno::Errno;
use nix::sys::termios::{
    FlushArg, LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcflush, tcgetattr, tcsetattr,
};
use nix::unistd::read;

use crate::output::{Exit, Failure, Out, clean_line};
use planwright_engine::api::Caller;

/// One answer.
pub(crate) struct Choice {
    /// The word, with its key in brackets: `[y]es`. A capital is what Enter chooses: the safe answer, one per question.
    pub(crate) label: &'static str,
    /// What it does, for `?`.
    pub(crate) about: &'static str,
}

impl Choice {
    pub(crate) const fn new(label: &'static str, about: &'static str) -> Self {
        Self { label, about }
    }

    fn bracketed(&self) -> char {
        self.label.chars().skip_while(|&character| character != '[').nth(1).unwrap_or_default()
    }

    fn key(&self) -> char {
        self.bracketed().to_ascii_lowercase()
    }

    fn is_safe(&self) -> bool {
        self.bracketed().is_ascii_uppercase()
    }
}

/// What a person answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// The key of a choice, as a lowercase letter.
    Key(char),
    /// `q`, Esc, Ctrl-D, or a terminal that is gone: nothing is decided.
    Nothing,
}

/// Whether a person can be asked: at a terminal, with nothing but text printed, and no agent in sight.
pub(crate) fn can_ask(out: &Out<'_>) -> bool {
    io::stdin().is_terminal() && !out.settings().is_json && Caller::of_process().is_person()
}

/// Asks until a key of a choice is pressed. The question goes to stderr.
pub(crate) fn choose(question: &str, choices: &[Choice], out: &mut Out<'_>) -> Result<Pressed, Failure> {
    let labels: Vec<&str> = choices.iter().map(|choice| choice.label).collect();
    let question = format!("{question}  {}  [?]  ", labels.join("  ")).trim_start().to_owned();
    let keyboard = Keyboard::open();
    loop {
        out.complain(&question);
        let typed = match &keyboard {
            Some(keyboard) => keyboard.key(),
            None => line_key(),
        };
        let typed =
            typed.map_err(|error| Failure::new(Exit::Machine, "cannot read your answer").because(&error))?;
        // A terminal in raw mode does not echo.
        let end_line = |key: &str, out: &mut Out<'_>| {
            if keyboard.is_some() {
                echo(key, out);
            }
        };
        let key = match typed {
            Typed::Interrupt => {
                end_line("^C", out);
                return Err(Failure::new(Exit::Interrupted, "interrupted; nothing was decided"));
            }
            Typed::End => {
                end_line("", out);
                return Ok(Pressed::Nothing);
            }
            Typed::Enter => choices.iter().find(|choice| choice.is_safe()).map_or('q', Choice::key),
            Typed::Sequence => '\u{fffd}',
            Typed::Key(key) => key.to_ascii_lowercase(),
        };
        end_line(key.to_string().as_str(), out);
        match key {
            '?' => explain(choices, out),
            'q' => return Ok(Pressed::Nothing),
            _ if choices.iter().any(|choice| choice.key() == key) => return Ok(Pressed::Key(key)),
            '\u{fffd}' => out.complain("that key is not a choice; press ? for help\n"),
            _ => out
                .complain(&format!("`{}` is not a choice; press ? for help\n", clean_line(&key.to_string()))),
        }
    }
}

/// Reads a line of text after a prompt, without what was typed before it. An empty line cancels.
pub(crate) fn line(prompt: &str, out: &mut Out<'_>) -> Result<String, Failure> {
    // Where nothing can be discarded, nothing was typed ahead.
    tcflush(io::stdin(), FlushArg::TCIFLUSH).ok();
    out.complain(prompt);
    let mut text = String::new();
    io::stdin()
        .lock()
        .read_line(&mut text)
        .map_err(|error| Failure::new(Exit::Machine, "cannot read your answer").because(&error))?;
    Ok(text.trim().to_owned())
}

fn explain(choices: &[Choice], out: &mut Out<'_>) {
    for choice in choices {
        let enter = if choice.is_safe() { "; so does Enter" } else { "" };
        out.complain(&format!("  {}  {}{enter}\n", choice.key(), choice.about));
    }
    if !choices.iter().any(|choice| choice.key() == 'q') {
        out.complain("  q  decides nothing; so do Esc and Ctrl-D\n");
    }
}

fn echo(key: &str, out: &mut Out<'_>) {
    let shown = if key.chars().all(|character| character.is_ascii_graphic()) { key } else { "" };
    out.complain(&format!("{shown}\n"));
}

/// What was pressed.
enum Typed {
    Key(char),
    Enter,
    /// Ctrl-C.
    Interrupt,
    /// Esc, Ctrl-D, or no more input.
    End,
    /// An arrow, a function key and the like.
    Sequence,
}

/// The terminal while keys are read one by one; dropping it restores the terminal.
struct Keyboard {
    before: Termios,
}

/// How long to wait for the rest of a key that is more than one byte, in tenths of a second.
const SEQUENCE_TENTHS: u8 = 1;

impl Keyboard {
    /// Discards pending input and reads keys from now on; `None` where the terminal can't.
    fn open() -> Option<Self> {
        let before = tcgetattr(io::stdin()).ok()?;
        let keyboard = Self { before };
        keyboard.wait_for(1, 0, SetArg::TCSAFLUSH).ok()?;
        Some(keyboard)
    }

    /// Returns a read after so many bytes, or after so many tenths of a second.
    fn wait_for(&self, bytes: u8, tenths: u8, when: SetArg) -> Result<(), Errno> {
        let mut raw = self.before.clone();
        // Ctrl-C is read as a key, so that the terminal is restored before the process ends.
        raw.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG);
        raw.control_chars[SpecialCharacterIndices::VMIN as usize] = bytes;
        raw.control_chars[SpecialCharacterIndices::VTIME as usize] = tenths;
        tcsetattr(io::stdin(), when, &raw)
    }

    fn key(&self) -> io::Result<Typed> {
        let mut byte = [0];
        let count = loop {
            match read(io::stdin(), &mut byte) {
                Err(Errno::EINTR) => {}
                Err(Errno::EIO) => break 0,
                other => break other?,
            }
        };
        Ok(match (count, byte[0]) {
            (0, _) | (_, 0x04) => Typed::End,
            (_, 0x03) => Typed::Interrupt,
            (_, b'\r' | b'\n') => Typed::Enter,
            (_, 0x1b) if self.rest()? == 0 => Typed::End,
            (_, 0x1b) => Typed::Sequence,
            (_, key) if key.is_ascii() => Typed::Key(char::from(key)),
            _ => {
                self.rest()?;
                Typed::Sequence
            }
        })
    }

    /// Takes what belongs to the same key, and says how much that was.
    fn rest(&self) -> io::Result<usize> {
        self.wait_for(0, SEQUENCE_TENTHS, SetArg::TCSANOW)?;
        let count = read(io::stdin(), &mut [0; 16]);
        self.wait_for(1, 0, SetArg::TCSANOW)?;
        Ok(count?)
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // A terminal that is gone needs no restoring.
        tcsetattr(io::stdin(), SetArg::TCSADRAIN, &self.before).ok();
    }
}

/// A key from a line of input, where the terminal can't give single ones.
fn line_key() -> io::Result<Typed> {
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line)? == 0 {
        return Ok(Typed::End);
    }
    Ok(match line.trim().chars().next() {
        Some('\u{1b}') => Typed::End,
        Some(key) => Typed::Key(key),
        None => Typed::Enter,
    })
}
