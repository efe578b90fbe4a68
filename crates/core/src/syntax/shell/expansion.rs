//! Side effects of bash expansions other than command substitution. In arithmetic, bash evaluates the value of a name
//! again and runs commands in its subscripts, so that any text can become a command: `echo $((x))`. Owns the short list
//! of expansions that only insert text.

/// Whether every expansion in a text only inserts text. Ignores quoting: quoted expansions count as well.
pub(super) fn is_plain(raw: &str) -> bool {
    raw.match_indices('$').map(|(at, _)| &raw[at + 1..]).all(|behind| {
        if let Some(inner) = behind.strip_prefix("((") {
            is_closed_sum(inner)
        } else if let Some(inner) = behind.strip_prefix('{') {
            is_plain_parameter(inner)
        } else {
            !behind.starts_with('[')
        }
    })
}

/// Whether arithmetic has only numbers and operators.
pub(super) fn is_sum(text: &str) -> bool {
    text.chars().all(is_numeric)
}

/// An upper bound for the commands that a text runs, ignoring quotes.
pub(super) fn commands(raw: &str) -> usize {
    let substitutions = raw.match_indices("$(").filter(|(at, _)| !raw[at + 2..].starts_with('(')).count();
    let processes = raw.matches("<(").count() + raw.matches(">(").count();
    substitutions + processes + raw.matches('`').count().div_ceil(2)
}

/// The text after `$((`, up to its end.
fn is_closed_sum(inner: &str) -> bool {
    let mut open = 2_usize;
    for sign in inner.chars() {
        match sign {
            '(' => open += 1,
            ')' => open -= 1,
            sign if is_numeric(sign) => {}
            _ => return false,
        }
        if open == 0 {
            return true;
        }
    }
    false
}

fn is_numeric(sign: char) -> bool {
    sign.is_ascii_digit() || sign.is_ascii_whitespace() || "+-*/%<>=!&|^~?:,()".contains(sign)
}

/// The text after `${`: a parameter and an operation on its text. It must not be an indirection (`${!x}`), a prompt
/// expansion (`${x@P}`) or an assignment (`${x:=y}`).
fn is_plain_parameter(inner: &str) -> bool {
    if inner.starts_with("#}") || inner.starts_with("!}") {
        return true;
    }
    if let Some(counted) = inner.strip_prefix('#') {
        return parameter(counted).is_some_and(|behind| behind.starts_with('}'));
    }
    let Some(behind) = parameter(inner) else { return false };
    match behind.strip_prefix(':') {
        Some(text) if text.starts_with(['-', '+', '?']) => true,
        Some(place) => place.split_once('}').is_some_and(|(place, _)| {
            place.chars().all(|sign| sign.is_ascii_digit() || matches!(sign, ' ' | '-' | ':'))
        }),
        None => behind.starts_with(['}', '-', '+', '?', '#', '%', '/', '^', ',']),
    }
}

/// The text after a parameter and its subscript; `None` if one of them may do more than name a text.
fn parameter(text: &str) -> Option<&str> {
    let is_special = text.starts_with(['@', '*', '?', '$', '-']);
    let is_digits = text.starts_with(|first: char| first.is_ascii_digit());
    let end = match (is_special, is_digits) {
        (true, _) => 1,
        (_, true) => text.find(|sign: char| !sign.is_ascii_digit())?,
        (false, false) => text.find(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'))?,
    };
    let behind = (end > 0).then(|| &text[end..])?;
    let Some(inner) = behind.strip_prefix('[') else { return Some(behind) };
    let (subscript, behind) = inner.split_once(']')?;
    let is_place = !subscript.is_empty() && subscript.chars().all(|sign| sign.is_ascii_digit());
    (is_place || matches!(subscript, "@" | "*")).then_some(behind)
}
