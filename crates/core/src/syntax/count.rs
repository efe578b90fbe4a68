//! Numbers in sentences, with the right plural. Knows nothing about what is counted.

use std::fmt::Display;

/// A count with its word, in the form that fits: `1 match`, `2 matches`.
pub fn counted<N: Display + PartialEq + From<u8> + Copy>(count: N, one: &str, many: &str) -> String {
    let word = if count == N::from(1) { one } else { many };
    format!("{count} {word}")
}

/// A count with a word whose plural ends in `s`: `1 file`, `2 files`.
pub fn number<N: Display + PartialEq + From<u8> + Copy>(count: N, word: &str) -> String {
    counted(count, word, &format!("{word}s"))
}

#[cfg(test)]
mod tests {
    use super::{counted, number};

    #[test]
    fn one_has_a_form_of_its_own() {
        let said = [0, 1, 2].map(|count| counted(count, "match", "matches"));
        assert_eq!(said, ["0 matches", "1 match", "2 matches"]);
        assert_eq!([1_u64, 2].map(|count| number(count, "named plan")), ["1 named plan", "2 named plans"]);
    }
}
