//! Names of people. Permission compares letter by letter; "somebody else" compares what could look the same,
//! so that a capital, a space or a letter of another alphabet doesn't make a second person.

const NAME_CHARS_MAX: usize = 64;
/// How many plain letters one other character may stand for: a ligature has up to three.
const SIGN_CHARS_MAX: usize = 3;

/// Whether a policy may use this name: only ASCII letters, digits and `._@+-`, which have no lookalikes.
pub fn is_plain(name: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "._@+-".contains(sign);
    (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_sign)
}

/// Whether two names could be the same person's: they differ only in case and spaces, or in non-ASCII
/// characters, which may look like anything or nothing.
pub fn is_same(one: &str, other: &str) -> bool {
    let folded = |name: &str| -> Vec<char> {
        let visible = name.chars().filter(|sign| !sign.is_whitespace() && !sign.is_control());
        visible.flat_map(char::to_lowercase).take(4 * NAME_CHARS_MAX).collect()
    };
    let (one, other) = (folded(one), folded(other));
    // Which prefixes of `other` match the part of `one` read so far.
    let mut row = vec![false; other.len() + 1];
    row[0] = true;
    skip(&mut row, &other);
    for &sign in &one {
        let mut next = vec![false; other.len() + 1];
        for at in (0..=other.len()).filter(|&at| row[at]) {
            if other.get(at) == Some(&sign) {
                next[at + 1] = true;
            }
            if !sign.is_ascii() {
                next[at..=(at + SIGN_CHARS_MAX).min(other.len())].fill(true);
            }
        }
        // A non-ASCII character of the other name may stand for this one, or for up to three.
        for at in 0..other.len() {
            if row[at] && !other[at].is_ascii() {
                next[at] = true;
                next[at + 1] = true;
            }
        }
        skip(&mut next, &other);
        row = next;
    }
    row[other.len()]
}

/// Non-ASCII characters may be invisible.
fn skip(row: &mut [bool], other: &[char]) {
    for at in 0..other.len() {
        if row[at] && !other[at].is_ascii() {
            row[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_taken_for_each_other_are_the_same() {
        let same = [
            ("ada", "ada"),
            ("ada", "Ada"),
            ("ada", " ada "),
            ("ada", "аda"),
            ("ada", "adа"),
            ("ada", "a\u{200b}da"),
            ("a\u{200d}\u{200d}da", "ada"),
            ("ﬁona", "fiona"),
            ("ADA", "ａｄａ"),
            ("ada\n", "ada"),
            ("", ""),
        ];
        for (one, other) in same {
            assert!(is_same(one, other), "{one:?} {other:?}");
            assert!(is_same(other, one), "{other:?} {one:?}");
        }
        let different =
            [("ada", "bo"), ("ada", "adam"), ("ada", ""), ("josé", "ana"), ("ada", "adа-lovelace")];
        for (one, other) in different {
            assert!(!is_same(one, other), "{one:?} {other:?}");
            assert!(!is_same(other, one), "{other:?} {one:?}");
        }
    }

    #[test]
    fn a_policy_names_people_plainly() {
        assert!(["ada", "ada@example.com", "A.B+c-d_e"].into_iter().all(is_plain));
        for name in ["", "аda", "ada bo", "ada\n", "a/b", "group:x", &"a".repeat(65)] {
            assert!(!is_plain(name), "{name:?}");
        }
    }
}
