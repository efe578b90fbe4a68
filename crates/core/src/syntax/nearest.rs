//! "Did you mean": the nearest of some known names.

/// Names further apart than a third of their length are different words, not a slip.
const SLIP_SHARE: usize = 3;
/// Longer names are no slip of a short one, and comparing them costs their product in memory.
const NAME_CHARS_MAX: usize = 64;

/// The known name that `name` most likely was meant to be; `None` when none is near, or when it is one of them.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().count() > NAME_CHARS_MAX {
        return None;
    }
    let name = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    known
        .into_iter()
        .map(|known| (distance(known), known))
        .filter(|&(distance, known)| distance > 0 && distance <= known.chars().count().div_ceil(SLIP_SHARE))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["contract", "target", "task"];
        assert_eq!(nearest("contarct", known), Some("contract"));
        assert_eq!(nearest("Targets", known), Some("target"));
        assert_eq!(nearest("reviewer", known), None);
        assert_eq!(nearest("task", ["task"]), None, "a known name needs no suggestion");
    }
}
