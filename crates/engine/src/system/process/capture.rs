//! The output of a process, kept within a limit: its beginning and its end. Never interprets the text.

use std::collections::VecDeque;

/// The beginning and the end of an output, and its total length.
#[derive(Debug, Clone, Default)]
pub struct Capture {
    // Never longer than `head_bytes_max`; `tail` is empty until `head` is full.
    head: Vec<u8>,
    // Never longer than `tail_bytes_max`.
    tail: VecDeque<u8>,
    head_bytes_max: usize,
    tail_bytes_max: usize,
    total: u64,
}

impl Capture {
    /// An empty capture that keeps at most `bytes_max` bytes, half of them from the beginning.
    pub fn new(bytes_max: usize) -> Self {
        let head_bytes_max = bytes_max / 2;
        Self { head_bytes_max, tail_bytes_max: bytes_max - head_bytes_max, ..Self::default() }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.head_bytes_max - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.tail_bytes_max)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(self.tail_bytes_max);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }

    /// Total bytes, kept or not.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The output as text: all of it, or the beginning and the end with a line between them that says how
    /// much is missing.
    pub fn text(&self) -> String {
        let (front, back) = self.tail.as_slices();
        let tail = [front, back].concat();
        if self.total == (self.head.len() + tail.len()) as u64 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned();
        }
        let (head, tail) = (without_cut_end(&self.head), without_cut_beginning(&tail));
        let missing = self.total - (head.len() + tail.len()) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(tail));
        format!("{head}\n… {missing} bytes left out …\n{tail}")
    }

    /// The end of the output as text, at most `bytes` of it, as far as it was kept without a gap.
    pub fn tail(&self, bytes: usize) -> String {
        let (front, back) = self.tail.as_slices();
        let is_whole = self.total == (self.head.len() + self.tail.len()) as u64;
        let kept = if is_whole { [&self.head, front, back].concat() } else { [front, back].concat() };
        let end = &kept[kept.len().saturating_sub(bytes)..];
        let is_cut = (end.len() as u64) < self.total;
        String::from_utf8_lossy(if is_cut { without_cut_beginning(end) } else { end }).into_owned()
    }
}

/// The bytes without the rest of a character whose start was cut off.
fn without_cut_beginning(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|&&byte| is_continuation(byte)).count();
    &bytes[cut..]
}

/// The bytes without the start of a character whose rest was cut off.
fn without_cut_end(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().rev().take(3).take_while(|&&byte| is_continuation(byte)).count();
    let Some(first) = bytes.len().checked_sub(rest + 1) else { return bytes };
    let length = match bytes[first].leading_ones() {
        0 | 1 => 1,
        ones => ones as usize,
    };
    if rest + 1 < length { &bytes[..first] } else { bytes }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::Capture;

    fn capture(bytes_max: usize, pieces: &[&str]) -> Capture {
        let mut capture = Capture::new(bytes_max);
        for piece in pieces {
            capture.push(piece.as_bytes());
        }
        capture
    }

    #[test]
    fn an_output_within_the_limit_is_kept_whole() {
        let capture = capture(10, &["ab", "cdefgh", "ij"]);
        assert_eq!((capture.text().as_str(), capture.total()), ("abcdefghij", 10));
        assert_eq!(capture.tail(4), "ghij");
        assert_eq!(capture.tail(99), "abcdefghij");
    }

    #[test]
    fn beyond_the_limit_the_beginning_and_the_end_are_kept_however_it_arrives() {
        let text = "0123456789abcdefghijklmnopqrstuvwxyz";
        for length in 1..=text.len() {
            let pieces: Vec<&str> = text
                .as_bytes()
                .chunks(length)
                .map(|piece| std::str::from_utf8(piece).expect("the text is ASCII"))
                .collect();
            let capture = capture(10, &pieces);
            assert_eq!(capture.text(), "01234\n… 26 bytes left out …\nvwxyz", "pieces of {length}");
            assert_eq!((capture.total(), capture.tail(99).as_str()), (36, "vwxyz"), "pieces of {length}");
            assert_eq!(capture.tail(2), "yz");
        }
    }

    #[test]
    fn a_character_that_the_limit_cuts_is_left_out_and_counted() {
        let capture = capture(8, &["ab€", "xxxxxxxxxxxxx", "€cd"]);
        assert_eq!(capture.text(), "ab\n… 19 bytes left out …\ncd", "{capture:?}");
        assert_eq!(capture.tail(3), "cd");
    }

    #[test]
    fn a_limit_of_nothing_keeps_nothing_and_counts() {
        let capture = capture(0, &["abc"]);
        assert_eq!((capture.text().as_str(), capture.total()), ("\n… 3 bytes left out …\n", 3));
    }

    #[test]
    fn bytes_that_are_not_text_do_not_stop_anything() {
        let mut capture = Capture::new(100);
        capture.push(&[b'a', 0xff, b'b']);
        assert_eq!(capture.text(), "a\u{fffd}b");
    }
}
