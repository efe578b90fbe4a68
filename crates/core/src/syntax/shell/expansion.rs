//! What bash may do to expand a word besides running the commands in it. Where it calculates, it takes the value of a name for
//! arithmetic again and runs the command in a subscript of that, so that any text becomes a command: `echo $((x))`. Owns the short
//! list of expansions that only put text in place.

/// Whether every expansion in a text only puts text in place. Quotes are not looked at: what stands in them counts as well.
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

/// Whether arithmetic has numbers and operators, and nothing that has a value.
pub(super) fn is_sum(text: &str) -> bool {
    text.chars().all(is_numeric)
}

/// How many commands a text runs, counted from above: quotes are not told apart.
pub(super) fn commands(raw: &str) -> usize {
    let substitutions = raw.match_indices("$(").filter(|(at, _)| !raw[at + 2..].starts_with('(')).count();
    let processes = raw.matches("<(").count() + raw.matches(">(").count();
    substitutions + processes + raw.matches('`').count().div_ceil(2)
}

/// What stands behind `$((`, up to where that is closed.
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

/// What stands behind `${`: a parameter and what is done to its text. Neither is it the name of another (`${!x}`), nor is its value
/// read as a prompt (`${x@P}`), nor is anything set (`${x:=y}`).
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

/// What stands behind a parameter and its subscript; `None` where one of them may do more than name a text.
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
