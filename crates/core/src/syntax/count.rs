//! Numbers in sentences, with the right plural. Knows nothing about what is counted.

/// A count with its word, in the form that fits: `1 match`, `2 matches`.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_has_a_form_of_its_own() {
        let said = [0, 1, 2].map(|count| counted(count, "match", "matches"));
        assert_eq!(said, ["0 matches", "1 match", "2 matches"]);
    }
}
