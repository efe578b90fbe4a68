//! The next command to type. Owns the quoting of words for a shell; never runs anything.

use std::fmt::Write as _;

use planwright_core::syntax::invisible::is_unprintable;

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

/// Returns `word` so that bash reads exactly it, and a terminal shows all of it.
pub fn shell_word(word: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "_-./:=@%+,".contains(character);
    if word.chars().any(is_unprintable) {
        let mut quoted = String::from("$'");
        for character in word.chars() {
            match character {
                '\'' | '\\' => quoted.extend(['\\', character]),
                '\n' => quoted.push_str("\\n"),
                '\t' => quoted.push_str("\\t"),
                // Bytes rather than code points: what bash makes of those depends on its locale.
                _ if is_unprintable(character) => {
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
}
