//! Characters that readers can't see.

/// Joins emoji, where it is harmless.
pub(crate) const JOINER: char = '\u{200d}';

/// Whether a character is one that readers can't see.
pub fn is_hidden(character: char) -> bool {
    kind(character).is_some() && character != JOINER
}

/// What kind of hidden character it is; `None` for a visible one.
pub(crate) fn kind(character: char) -> Option<&'static str> {
    match character {
        // First, because nearly every character of a plan matches this arm.
        ' '..='~' | '\t' | '\n' | '\r' => None,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{061c}' => {
            Some("bidirectional control character")
        }
        '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{00ad}' | '\u{180e}' => {
            Some("zero-width character")
        }
        '\u{e0000}'..='\u{e007f}' => Some("invisible tag character"),
        character if character.is_control() => Some("control character"),
        _ => None,
    }
}
