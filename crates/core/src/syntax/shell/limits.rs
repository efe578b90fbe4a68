//! Limits on script size and nesting. They keep parsing cheap and within the stack: the parser recurses on every level,
//! and so does dropping its tree. Says nothing about whether a script is valid.

use super::ShellFault;
use crate::syntax::source::Span;

/// A contract is a page at most; a larger text is a program and belongs in a file.
const BYTES_MAX: usize = 32 * 1024;
/// Lists nest to the left, one level per command. A stack of 2 MiB holds 16,000 of them.
const COMMANDS_MAX: usize = 4_000;
/// Open brackets and braces. The parser's time grows with the third power of this.
const NESTING_MAX: usize = 32;
/// The same with backquotes, where its time doubles with every second level.
const NESTING_WITH_BACKQUOTES_MAX: usize = 12;
/// Open compound commands. A stack of 2 MiB holds 300 of them.
const COMPOUNDS_MAX: usize = 100;
/// Pairs `()`: each may start a function whose body is the next function.
const FUNCTIONS_MAX: usize = 400;
/// Operators in possible arithmetic, in which each can be a level. A stack of 2 MiB holds 1,000 levels.
const OPERATORS_MAX: usize = 1_000;

/// Rejects a script that could be too expensive to parse. Counts an upper bound, ignoring quotes and comments.
pub(super) fn measure(script: &str) -> Result<(), ShellFault> {
    if script.len() > BYTES_MAX {
        return Err(too_much(script, BYTES_MAX, "the script is too long to analyse"));
    }
    let nesting_max = if script.contains('`') { NESTING_WITH_BACKQUOTES_MAX } else { NESTING_MAX };
    let may_calculate = script.contains("((") || script.contains("$[") || script.contains("[[");
    let (mut commands, mut nesting, mut compounds, mut functions, mut operators) =
        (0, 0_usize, 0_usize, 0, 0);
    let mut word_start = 0;
    let mut previous = b' ';
    for (at, byte) in script.bytes().chain(std::iter::once(b'\n')).enumerate() {
        match byte {
            b';' | b'&' | b'|' | b'\n' => commands += 1,
            b'(' | b'{' => nesting += 1,
            b')' | b'}' => nesting = nesting.saturating_sub(1),
            b'=' | b'*' | b'+' | b'-' | b'!' | b'~' | b'?' if may_calculate => operators += 1,
            _ => {}
        }
        if previous == b'(' && byte == b')' {
            functions += 1;
        }
        previous = byte;
        if !byte.is_ascii_alphanumeric() && byte != b'_' {
            match script.as_bytes().get(word_start..at).unwrap_or_default() {
                b"if" | b"elif" | b"while" | b"until" | b"for" | b"case" | b"select" | b"function" => {
                    compounds += 1;
                }
                b"fi" | b"done" | b"esac" => compounds = compounds.saturating_sub(1),
                _ => {}
            }
            word_start = at + 1;
        }
        let excess = [
            (commands > COMMANDS_MAX, "the script has too many commands to analyse"),
            (nesting > nesting_max, "brackets are nested too deeply to analyse"),
            (compounds > COMPOUNDS_MAX, "commands are nested too deeply to analyse"),
            (functions > FUNCTIONS_MAX, "the script has too many functions to analyse"),
            (operators > OPERATORS_MAX, "the script has too many operators to analyse"),
        ];
        if let Some((_, message)) = excess.into_iter().find(|(is_reached, _)| *is_reached) {
            return Err(too_much(script, at, message));
        }
    }
    Ok(())
}

fn too_much(script: &str, at: usize, message: &str) -> ShellFault {
    let start = script.floor_char_boundary(at);
    ShellFault { span: Span::new(start, script.ceil_char_boundary(at + 1)), message: message.to_owned() }
}
