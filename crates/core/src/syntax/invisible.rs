//! Characters that readers can't see.

/// Joins emoji, where it is harmless.
pub(crate) const JOINER: char = '\u{200d}';

/// Whether a character is one that readers can't see.
pub fn is_hidden(character: char) -> bool {
    kind(character).is_some() && character != JOINER
}

/// Whether a character steers a terminal, reorders text or cannot be seen.
///
/// The joiners U+200C and U+200D and the variation selectors of the basic plane are left alone: writing systems and emoji need
/// them. The other variation selectors and the tag characters can smuggle whole sentences, and are listed.
pub fn is_unprintable(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
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
