//! The next command to type. Owns the quoting of words for a shell; never runs anything.

use std::fmt::Write as _;

use super::clean::is_hidden;

/// A command that works, to be typed next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextCommand {
    /// The command line, quoted for a shell.
    pub command: String,
    /// When one would rather type this than the first one.
    pub remark: Option<String>,
}

impl NextCommand {
    /// The command with these words, the first of which is the program.
    pub fn new<W: AsRef<str>>(words: impl IntoIterator<Item = W>) -> Self {
        let words: Vec<String> = words.into_iter().map(|word| shell_word(word.as_ref())).collect();
        Self { command: words.join(" "), remark: None }
    }

    /// Says when one would rather type this: "to look first".
    #[must_use]
    pub fn remark(mut self, remark: impl Into<String>) -> Self {
        self.remark = Some(remark.into());
        self
    }
}

/// The line that ends plain text, or nothing where there is nothing to type.
pub(super) fn line(next: &[NextCommand]) -> Option<String> {
    let (first, others) = next.split_first()?;
    let mut line = format!("next: {}", first.command);
    for other in others {
        let remark = other.remark.as_deref().unwrap_or("or");
        write!(line, "        {remark}: {}", other.command).expect("writing to a string cannot fail");
    }
    Some(line)
}

/// Returns `word` so that bash reads exactly it, and a terminal shows all of it.
pub fn shell_word(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "_-./:=@%+,".contains(character);
    if word.chars().any(is_hidden) {
        let mut quoted = String::from("$'");
        for character in word.chars() {
            match character {
                '\'' | '\\' => quoted.extend(['\\', character]),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                // Bytes rather than code points: what bash makes of those depends on its locale.
                _ if is_hidden(character) => {
                    for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                        write!(quoted, "\\x{byte:02x}").expect("writing to a string cannot fail");
                    }
                }
                _ => quoted.push(character),
            }
        }
        quoted + "'"
    } else if word.is_empty() || !word.chars().all(is_plain) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_where_a_shell_would_misread_them() {
        let words = ["verify", "plans/été.md", "--rev=b90f2a5e", "a b", "it's", "", "$x", "~", "*.md", "a;b"];
        assert_eq!(
            NextCommand::new(words).command,
            r"verify plans/été.md --rev=b90f2a5e 'a b' 'it'\''s' '' '$x' '~' '*.md' 'a;b'"
        );
    }

    #[test]
    fn a_word_with_hidden_characters_is_spelled_out() {
        assert_eq!(shell_word("a\u{1b}[2J'\\\n\u{202e}"), r"$'a\x1b[2J\'\\\n\xe2\x80\xae'");
    }

    #[test]
    fn the_first_command_leads_and_the_others_say_when() {
        let next = [
            NextCommand::new(["planwright", "merge", "hello"]),
            NextCommand::new(["planwright", "show", "hello"]).remark("to look first"),
        ];
        assert_eq!(
            line(&next).as_deref(),
            Some("next: planwright merge hello        to look first: planwright show hello")
        );
        assert_eq!(line(&[]), None);
    }
}
