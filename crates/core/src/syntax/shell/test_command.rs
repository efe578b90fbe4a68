//! Decides whether `test`, `[`, `[[`, `read` and `printf` run nothing. bash expands the subscript of a variable given
//! by name, even from quotes, and runs the commands in it: `test -v 'a[$(rm x)]'`.

use super::word::{Text, Word};

type Looks = Result<(), String>;

/// Operators with arithmetic operands, in which a name and its value may have subscripts.
const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
/// Operators that take the name of a variable.
const NAMING: &[&str] = &["-v", "-R"];
/// Options of `read` with an argument: the next word, unless attached.
const READ_VALUED: &str = "dinNptu";

/// A call of `test` or `[`, without its name.
pub(super) fn test(name: &str, rest: &[Word]) -> Looks {
    for (at, word) in rest.iter().enumerate() {
        operand(word)?;
        let next = rest.get(at + 1);
        // A word that expands to several may contain an operator, and so may one before another.
        let is_operator = word.text == Text::One && next.is_some_and(|next| next.literal().is_none());
        if word.text == Text::Loose || is_operator {
            return Err(format!("cannot tell what `{}` means to `{name}`", word.raw));
        }
        let Some(operator) = word.literal() else { continue };
        if let Some(next) = next {
            unary(operator, next)?;
            if at > 0 {
                binary(operator, &rest[at - 1], next)?;
            }
        }
    }
    Ok(())
}

/// One operator with the text after it.
pub(super) fn unary(operator: &str, behind: &Word) -> Looks {
    operand(behind)?;
    if NAMING.contains(&operator) && !behind.literal().is_some_and(|text| text == "]" || is_name(text)) {
        return Err(format!("cannot tell what `{operator} {}` runs", behind.raw));
    }
    Ok(())
}

/// One operator between two words.
pub(super) fn binary(operator: &str, left: &Word, right: &Word) -> Looks {
    for word in [left, right] {
        operand(word)?;
        if NUMERIC.contains(&operator) && !word.literal().is_some_and(is_number) {
            return Err(format!("cannot tell what `{}` runs as a number of `{operator}`", word.raw));
        }
    }
    Ok(())
}

/// A call of `read`, without its name.
pub(super) fn read(rest: &[Word]) -> Looks {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let refused = || Err(format!("it sets `{}`", word.raw));
        let Some(text) = word.literal() else { return refused() };
        let Some(letters) = text.strip_prefix('-') else {
            if is_name(text) && !text.chars().any(char::is_uppercase) {
                continue;
            }
            return refused();
        };
        let (flags, value) = match letters.find(|letter| READ_VALUED.contains(letter)) {
            Some(at) => (&letters[..at], Some(&letters[at + 1..])),
            None => (letters, None),
        };
        // `-aPATH` is `-a PATH`.
        if flags.find('a').is_some_and(|at| at + 1 < letters.len()) {
            return refused();
        }
        if value == Some("") && words.next().is_some_and(|text| text.text == Text::Loose) {
            return refused();
        }
    }
    Ok(())
}

/// A call of `printf`, without its name: `%n` sets a variable.
pub(super) fn printf(rest: &[Word]) -> Looks {
    let format = rest.iter().find(|word| word.literal() != Some("--"));
    let sets = |format: &str| {
        let behind = |part: &str| {
            part.trim_start_matches(|sign: char| !sign.is_ascii_alphabetic() || "hjlLtz".contains(sign))
                .starts_with('n')
        };
        format.replace("%%", "").split('%').skip(1).any(behind)
    };
    match format.map(Word::literal) {
        None => Ok(()),
        Some(Some(format)) if !sets(format) => Ok(()),
        Some(_) => Err("cannot tell what `printf` sets".to_owned()),
    }
}

/// A tested operand: no subscript with a command, however it is quoted.
fn operand(word: &Word) -> Looks {
    let hides = |text: &str| text.contains('[') && (text.contains("$(") || text.contains('`'));
    if hides(&word.raw) || word.literal().is_some_and(hides) {
        return Err(format!("cannot tell what `{}` runs", word.raw));
    }
    Ok(())
}

/// The name of a variable, without a subscript.
pub(super) fn is_name(text: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
    text.chars().all(is_sign) && text.starts_with(|first: char| is_sign(first) && !first.is_ascii_digit())
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}
