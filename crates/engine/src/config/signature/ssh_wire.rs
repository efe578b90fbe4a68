//! The SSH wire format: length-prefixed strings, unsigned numbers, armored base64. Accepts only one encoding
//! of everything, so that a signature has no second form.

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----\n";
const END: &str = "-----END SSH SIGNATURE-----\n";
/// The length of a base64 line.
const LINE_CHARS: usize = 70;
/// The longest accepted signature: the largest RSA key and its signature have a few thousand bytes each.
const ARMORED_BYTES_MAX: usize = 16 << 10;
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) struct Reader<'b>(&'b [u8]);

impl<'b> Reader<'b> {
    pub(super) const fn new(bytes: &'b [u8]) -> Self {
        Self(bytes)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    pub(super) fn number(&mut self) -> Option<u32> {
        let (first, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_be_bytes(*first))
    }

    pub(super) fn string(&mut self) -> Option<&'b [u8]> {
        let mut after = Self(self.0);
        let length = usize::try_from(after.number()?).ok()?;
        let (string, rest) = after.0.split_at_checked(length)?;
        self.0 = rest;
        Some(string)
    }

    /// A non-negative number without leading zeros, in its only encoding.
    pub(super) fn natural(&mut self) -> Option<&'b [u8]> {
        match self.string()? {
            [0, rest @ ..] if rest.first().is_some_and(|first| first & 0x80 != 0) => Some(rest),
            [first, ..] if first & 0x80 != 0 || *first == 0 => None,
            [] => None,
            number => Some(number),
        }
    }
}

/// Writes a length-prefixed string.
pub(super) fn put(bytes: &mut Vec<u8>, string: &[u8]) {
    let length = u32::try_from(string.len()).expect("no part is longer than what was read");
    bytes.extend(length.to_be_bytes());
    bytes.extend(string);
}

/// The bytes between the two armor lines, or what is wrong with the text.
pub(super) fn dearmored(text: &str) -> Result<Vec<u8>, &'static str> {
    if text.len() > ARMORED_BYTES_MAX {
        return Err("too long");
    }
    let whole = if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let inside = whole.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END));
    let inside = inside.ok_or("missing first or last line")?;
    let bytes = decoded(&inside.replace('\n', "")).ok_or("not base64")?;
    // Other line breaks would be a second form of the same signature.
    if armored(&bytes) == whole { Ok(bytes) } else { Err("unexpected line breaks") }
}

pub(super) fn armored(bytes: &[u8]) -> String {
    let text = encoded(bytes);
    let mut lines = String::from(BEGIN);
    for line in text.as_bytes().chunks(LINE_CHARS) {
        lines.extend(line.iter().map(|&byte| char::from(byte)));
        lines.push('\n');
    }
    lines + END
}

pub(super) fn encoded(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |place: usize| u32::from(chunk.get(place).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 0x3f];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

/// Decodes base64; `None` if it is invalid or not canonical.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let letters = text.trim_end_matches('=').as_bytes();
    for chunk in letters.chunks(4) {
        let mut bits = 0_u32;
        for &letter in chunk {
            let value = LETTERS.iter().position(|&known| known == letter)?;
            bits = bits << 6 | u32::try_from(value).ok()?;
        }
        bits <<= 6 * (4 - chunk.len());
        bytes.extend(&bits.to_be_bytes()[1..chunk.len()]);
    }
    (encoded(&bytes) == text).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_one_spelling() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(encoded(bytes.as_bytes()), text);
            assert_eq!(decoded(text).as_deref(), Some(bytes.as_bytes()), "{text}");
        }
        for text in
            ["Zh==", "Zg=", "Zg", "Zg===", "Z", "Zm9=", "Zm9v=", "Zm 9v", "Zm9v\n", "Zm9_", "é", "====", "="]
        {
            assert_eq!(decoded(text), None, "{text}");
        }
    }

    #[test]
    fn a_number_has_one_spelling() {
        let natural = |bytes: &[u8]| {
            let mut written = Vec::new();
            put(&mut written, bytes);
            Reader::new(&written).natural().map(<[u8]>::to_vec)
        };
        assert_eq!(natural(&[1]), Some(vec![1]));
        assert_eq!(natural(&[0, 0x80]), Some(vec![0x80]));
        for bytes in [&[][..], &[0], &[0, 1], &[0x80], &[0, 0, 0x80]] {
            assert_eq!(natural(bytes), None, "{bytes:?}");
        }
        assert!(Reader::new(&[0, 0, 0, 9, 1]).string().is_none(), "a length that leads out of the text");
        assert!(Reader::new(&[0xff; 8]).string().is_none());
    }
}
