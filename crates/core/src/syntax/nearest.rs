//! "Did you mean": the nearest of some known names.

/// More edits than this make another word. A wrong suggestion is worse than none.
const EDITS_MAX: usize = 2;
/// In a short name even two edits make another word: at most one edit per this many characters.
const CHARS_PER_EDIT: usize = 3;
/// Comparing two names takes memory in proportion to the product of their lengths.
const NAME_CHARS_MAX: usize = 64;

/// The known name that `name` was most likely meant to be; `None` if none is near, or if `name` is known itself.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.chars().count() > NAME_CHARS_MAX {
        return None;
    }
    let name = name.to_lowercase();
    let distance = |known: &str| strsim::damerau_levenshtein(&name, &known.to_lowercase());
    known
        .into_iter()
        .map(|known| (distance(known), known))
        .filter(|&(distance, known)| distance > 0 && distance <= edits_max(known))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, known)| known)
}

/// The question at the end of a message; empty without a suggestion.
pub fn did_you_mean(near: Option<impl std::fmt::Display>) -> String {
    near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
}

fn edits_max(known: &str) -> usize {
    known.chars().count().div_ceil(CHARS_PER_EDIT).min(EDITS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_recognized_and_another_word_is_not() {
        let known = ["contract", "target", "task"];
        assert_eq!(nearest("contarct", known), Some("contract"));
        assert_eq!(nearest("Targets", known), Some("target"));
        assert_eq!(nearest("reviewer", known), None);
        assert_eq!(nearest("aprove", ["approve", "archive"]), Some("approve"));
        assert_eq!(nearest("frobnicate", ["arbiter", "rollback", "approve"]), None);
        assert_eq!(nearest("task", ["task"]), None, "a known name needs no suggestion");
    }
}
