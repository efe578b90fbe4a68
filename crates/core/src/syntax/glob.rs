//! Path patterns as in `touches`, and whether two of them can match the same file. Works on text only: never checks
//! whether a path exists. The separator is `/` on every platform.

use std::fmt;

mod automaton;
mod inclusion;

use automaton::{Automaton, Set};

/// How many patterns the braces of one pattern may expand to.
pub const ALTERNATIVES_MAX: usize = 64;

/// How many states the automaton of one pattern may have: about one per character of every alternative.
pub const STATES_MAX: usize = 1_024;

/// A pattern of paths, relative to the top of the repository.
///
/// | written | means |
/// |---|---|
/// | `*` | any characters but `/`, or none |
/// | `**/` | any number of directories, or none |
/// | `**` | any characters, `/` included |
/// | `?` | one character but `/` |
/// | `[a-z]` `[!a]` `[^a]` | one character of these, or none of these; never `/` |
/// | `{a,b}` | `a` or `b` |
/// | `\*` | the character itself |
/// | `src/` | everything below `src` |
///
/// A leading `!` is rejected: where it means "all but", the pattern would be read as its opposite.
///
/// A name without a trailing slash is only that path, because the text doesn't show whether it is a directory. Paths
/// are those of files: no leading, trailing or double `/`, and no `.` or `..` segments. A leading `./` is dropped.
#[derive(Debug, Clone)]
pub struct Glob {
    pattern: String,
    automaton: Automaton,
    /// The common prefix of all matches.
    prefix: String,
    /// The common suffix of all matches.
    suffix: String,
    /// The leading path segments of all matches, and the trailing ones, last first; empty if there are alternatives.
    first_names: Vec<Name>,
    last_names: Vec<Name>,
    /// A matching path, for a literal the only one; `None` if nothing matches.
    example: Option<String>,
    is_literal: bool,
}

/// Why a text is not a valid pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Error {
    Empty,
    /// It starts with `/`, or has two in a row.
    EmptySegment,
    /// A name is `.` or `..`.
    DotSegment,
    /// It starts with `!`: there is no "all but".
    Negation,
    /// A `{` without its `}`.
    UnclosedBrace,
    /// A `[` without its `]`.
    UnclosedClass,
    /// A range such as `z-a`.
    ReversedRange,
    /// A `\` with nothing after it.
    TrailingEscape,
    /// More than [`ALTERNATIVES_MAX`] alternatives.
    TooManyAlternatives,
    /// More than [`STATES_MAX`] states.
    TooLong,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the pattern is empty"),
            Self::EmptySegment => f.write_str("missing name before a `/`"),
            Self::DotSegment => f.write_str("`.` and `..` are not allowed in a pattern"),
            Self::Negation => f.write_str(
                "a leading `!` is not supported: list the files you want, or write `\\!` for the character",
            ),
            Self::UnclosedBrace => f.write_str("unclosed `{`"),
            Self::UnclosedClass => f.write_str("unclosed `[`"),
            Self::ReversedRange => f.write_str("reversed range in `[…]`"),
            Self::TrailingEscape => f.write_str("nothing follows the last `\\`"),
            Self::TooManyAlternatives => {
                write!(f, "the braces expand to more than {ALTERNATIVES_MAX} patterns")
            }
            Self::TooLong => write!(f, "the pattern is longer than {STATES_MAX} characters"),
        }
    }
}

impl std::error::Error for Error {}

impl Glob {
    pub fn new(pattern: &str) -> Result<Glob, Error> {
        let plain = without_dot(pattern);
        let whole = match (pattern, plain) {
            ("", _) => return Err(Error::Empty),
            (_, plain) if plain.starts_with('!') => return Err(Error::Negation),
            (_, "" | ".") => "**",
            (_, plain) => plain,
        };
        if whole.len() > STATES_MAX {
            return Err(Error::TooLong);
        }
        let alternatives = expand(whole)?;
        let parsed = alternatives.iter().map(|text| parse(text)).collect::<Result<Vec<_>, _>>()?;
        if parsed.iter().all(Vec::is_empty) {
            return Err(Error::Empty);
        }
        let automaton = Automaton::new(&parsed);
        if automaton.len() > STATES_MAX {
            return Err(Error::TooLong);
        }
        let prefix = shared(parsed.iter().map(|parts| literal(parts.iter())));
        let suffix = shared(parsed.iter().map(|parts| literal(parts.iter().rev())));
        let is_literal = matches!(&parsed[..], [parts] if prefix.len() == parts.len());
        let prefix: String = prefix.into_iter().collect();
        let example = if is_literal {
            Some(prefix.clone())
        } else {
            automaton.meet(&Automaton::new(&[vec![Part::Deep]]))
        };
        let suffix = suffix.into_iter().rev().collect();
        let (first_names, last_names) = match &parsed[..] {
            [parts] => (first_names(parts), last_names(parts)),
            _ => (Vec::new(), Vec::new()),
        };
        let pattern = pattern.to_owned();
        Ok(Glob { pattern, automaton, prefix, suffix, first_names, last_names, example, is_literal })
    }

    /// Whether `path` matches.
    pub fn matches(&self, path: &str) -> bool {
        let path = without_dot(path);
        if self.is_literal {
            return path == self.prefix;
        }
        path.starts_with(&self.prefix)
            && path.ends_with(&self.suffix)
            && path.split('/').all(|name| !matches!(name, "" | "." | ".."))
            && self.automaton.accepts(path)
    }

    /// Whether exactly one path matches: no wildcard, no choice, no directory.
    pub fn is_literal(&self) -> bool {
        self.is_literal
    }

    /// The pattern as written.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }
}

/// A short path that both patterns match, or `None` if no path can match both.
pub fn intersection(a: &Glob, b: &Glob) -> Option<String> {
    // Most pairs differ in a directory or an extension, and most others share a known example; the automata are for the
    // rest.
    let (from_a, from_b) = (a.example.as_ref()?, b.example.as_ref()?);
    let is_apart = part_in_front(&a.prefix, &b.prefix)
        || part_behind(&a.suffix, &b.suffix)
        || a.first_names.iter().zip(&b.first_names).any(|(left, right)| left.excludes(right))
        || a.last_names.iter().zip(&b.last_names).any(|(left, right)| left.excludes(right));
    if is_apart {
        return None;
    }
    if a.matches(from_b) {
        return Some(from_b.clone());
    }
    if b.matches(from_a) {
        return Some(from_a.clone());
    }
    if a.is_literal || b.is_literal {
        return None;
    }
    let below = |directory: &Glob, path: &str| {
        let end = directory.prefix.rfind('/').map_or(0, |slash| slash + 1);
        let path = format!("{}{path}", &directory.prefix[..end]);
        (end > 0 && a.matches(&path) && b.matches(&path)).then_some(path)
    };
    below(a, from_b).or_else(|| below(b, from_a)).or_else(|| a.automaton.meet(&b.automaton))
}

/// A short path where work on both patterns can collide, or `None`: a path that both match, or one that one pattern
/// matches in a directory that the other names. A plain name may be a file or a directory.
pub fn collision(a: &Glob, b: &Glob) -> Option<String> {
    intersection(a, b).or_else(|| below(a, b)).or_else(|| below(b, a))
}

/// A path that `other` matches below the single path that `name` matches.
fn below(name: &Glob, other: &Glob) -> Option<String> {
    if !name.is_literal || part_in_front(&name.prefix, &other.prefix) {
        return None;
    }
    if other.is_literal {
        let is_below = other.prefix.strip_prefix(&name.prefix).is_some_and(|rest| rest.starts_with('/'));
        return is_below.then(|| other.prefix.clone());
    }
    match Glob::new(&format!("{}/**", name.pattern)) {
        Ok(folder) => intersection(&folder, other),
        // A pattern that is too long for this check is not known to be separate.
        Err(_) => Some(name.prefix.clone()),
    }
}

/// Whether every path that `inner` matches is matched by one of `outer`: proven, not guessed. False for a pattern
/// without matches, and if the proof would take too long.
pub fn is_within(inner: &Glob, outer: &[Glob]) -> bool {
    match &inner.example {
        None => false,
        Some(path) if inner.is_literal => outer.iter().any(|glob| glob.matches(path)),
        Some(_) => {
            let outer: Vec<&Automaton> = outer.iter().map(|glob| &glob.automaton).collect();
            inclusion::is_proven(&inner.automaton, &outer)
        }
    }
}

/// The prefix and suffix of each path segment that all matches share.
#[derive(Debug, Clone)]
struct Name {
    front: String,
    back: String,
}

impl Name {
    fn new(parts: &[Part]) -> Self {
        let front = literal(parts.iter()).into_iter().collect();
        Self { front, back: literal(parts.iter().rev()).into_iter().rev().collect() }
    }

    fn excludes(&self, other: &Name) -> bool {
        part_in_front(&self.front, &other.front) || part_behind(&self.back, &other.back)
    }
}

/// Whether no text can start with both.
fn part_in_front(a: &str, b: &str) -> bool {
    let length = a.len().min(b.len());
    a.as_bytes()[..length] != b.as_bytes()[..length]
}

/// Whether no text can end with both.
fn part_behind(a: &str, b: &str) -> bool {
    let length = a.len().min(b.len());
    a.as_bytes()[a.len() - length..] != b.as_bytes()[b.len() - length..]
}

/// The complete segments before the first part that may match a `/`.
fn first_names(parts: &[Part]) -> Vec<Name> {
    let end = parts.iter().position(is_deep);
    let mut names: Vec<Name> = parts[..end.unwrap_or(parts.len())].split(is_slash).map(Name::new).collect();
    if end.is_some() {
        names.pop();
    }
    names
}

/// The complete segments after the last part that may match a `/`, last first.
fn last_names(parts: &[Part]) -> Vec<Name> {
    let start = parts.iter().rposition(is_deep);
    let mut names: Vec<Name> =
        parts[start.map_or(0, |at| at + 1)..].rsplit(is_slash).map(Name::new).collect();
    if start.is_some_and(|at| parts[at] == Part::Deep) {
        names.pop();
    }
    names
}

fn is_deep(part: &Part) -> bool {
    matches!(part, Part::Deep | Part::Directories)
}

fn is_slash(part: &Part) -> bool {
    *part == Part::One(Set::Single('/'))
}

/// One part of a pattern without braces.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    /// One character of a set.
    One(Set),
    /// `*`
    Star,
    /// `**`
    Deep,
    /// `**/` at the start of a name.
    Directories,
}

fn without_dot(mut path: &str) -> &str {
    while let Some(rest) = path.strip_prefix("./") {
        path = rest;
    }
    path
}

/// The characters that `parts` starts with and that leave no choice.
fn literal<'a>(parts: impl Iterator<Item = &'a Part>) -> Vec<char> {
    let single = |part: &Part| match part {
        Part::One(Set::Single(character)) => Some(*character),
        Part::One(Set::Name | Set::All | Set::Ranges(_)) | Part::Star | Part::Deep | Part::Directories => {
            None
        }
    };
    parts.map_while(single).collect()
}

/// What all of `texts` start with.
fn shared(mut texts: impl Iterator<Item = Vec<char>>) -> Vec<char> {
    let mut shared = texts.next().unwrap_or_default();
    for text in texts {
        let length = shared.iter().zip(&text).take_while(|(left, right)| left == right).count();
        shared.truncate(length);
    }
    shared
}

/// Expands the braces of `pattern`.
fn expand(pattern: &str) -> Result<Vec<String>, Error> {
    let mut open = vec![pattern.to_owned()];
    let mut done = Vec::new();
    while let Some(text) = open.pop() {
        let Some(group) = first_group(&text)? else {
            done.push(text);
            continue;
        };
        let (before, after) = (&text[..group.start], &text[group.end..]);
        // The last is pushed first, so that alternatives come out in written order.
        for choice in group.choices.iter().rev() {
            open.push(format!("{before}{choice}{after}"));
        }
        if open.len() + done.len() > ALTERNATIVES_MAX {
            return Err(Error::TooManyAlternatives);
        }
    }
    Ok(done)
}

struct Group<'a> {
    start: usize,
    end: usize,
    choices: Vec<&'a str>,
}

/// The first `{…}` that is neither escaped nor in a class.
fn first_group(text: &str) -> Result<Option<Group<'_>>, Error> {
    let bytes = text.as_bytes();
    let mut choices = Vec::new();
    let (mut at, mut start, mut choice, mut depth) = (0, 0, 0, 0_usize);
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'[' => at = class_end(text, at)? - 1,
            b'{' => {
                if depth == 0 {
                    (start, choice) = (at, at + 1);
                }
                depth += 1;
            }
            b',' if depth == 1 => {
                choices.push(&text[choice..at]);
                choice = at + 1;
            }
            b'}' if depth == 1 => {
                choices.push(&text[choice..at]);
                return Ok(Some(Group { start, end: at + 1, choices }));
            }
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    if depth > 0 { Err(Error::UnclosedBrace) } else { Ok(None) }
}

/// One past the `]` of the class that starts at `start`.
fn class_end(text: &str, start: usize) -> Result<usize, Error> {
    let bytes = text.as_bytes();
    let mut at = start + 1;
    if matches!(bytes.get(at), Some(b'!' | b'^')) {
        at += 1;
    }
    // A bracket in the first place is a member.
    let first = at;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 1,
            b']' if at > first => return Ok(at + 1),
            _ => {}
        }
        at += 1;
    }
    Err(Error::UnclosedClass)
}

/// The parts of a pattern that has no braces left.
fn parse(text: &str) -> Result<Vec<Part>, Error> {
    let mut parts = Vec::new();
    let mut at = 0;
    // The part before was `/`, or there was none.
    let mut is_fresh = true;
    while let Some(character) = text[at..].chars().next() {
        let was_fresh = std::mem::replace(&mut is_fresh, character == '/');
        at += character.len_utf8();
        match character {
            '/' if was_fresh => return Err(Error::EmptySegment),
            '?' => parts.push(Part::One(Set::Name)),
            '*' => {
                let stars = 1 + text[at..].bytes().take_while(|&byte| byte == b'*').count();
                at += stars - 1;
                if stars == 1 {
                    parts.push(Part::Star);
                } else if was_fresh && text[at..].starts_with('/') {
                    at += 1;
                    is_fresh = true;
                    if parts.last() != Some(&Part::Directories) {
                        parts.push(Part::Directories);
                    }
                } else {
                    parts.push(Part::Deep);
                }
            }
            '[' => {
                let end = class_end(text, at - 1)?;
                parts.push(Part::One(Set::Ranges(class(&text[at..end - 1])?)));
                at = end;
            }
            '\\' => {
                let escaped = text[at..].chars().next().ok_or(Error::TrailingEscape)?;
                at += escaped.len_utf8();
                parts.push(Part::One(Set::Single(escaped)));
            }
            _ => parts.push(Part::One(Set::Single(character))),
        }
    }
    // Checks the parts and not the text: `\.` is a dot too.
    let is_dot = |part: &Part| *part == Part::One(Set::Single('.'));
    let mut names = parts.split(|part| is_slash(part) || *part == Part::Directories);
    if names.any(|name| matches!(name.len(), 1 | 2) && name.iter().all(is_dot)) {
        return Err(Error::DotSegment);
    }
    if is_fresh && !parts.is_empty() {
        parts.push(Part::Deep);
    }
    Ok(parts)
}

/// The ranges of a class, given the text between its brackets; `/` is in none.
fn class(body: &str) -> Result<Vec<(char, char)>, Error> {
    let members = body.strip_prefix(['!', '^']);
    let mut ranges = Vec::new();
    let mut rest = members.unwrap_or(body).chars().peekable();
    while let Some(start) = member(&mut rest)? {
        let mut end = start;
        if rest.peek() == Some(&'-') {
            rest.next();
            match member(&mut rest)? {
                Some(last) => end = last,
                None => ranges.push(('-', '-')),
            }
        }
        if end < start {
            return Err(Error::ReversedRange);
        }
        ranges.push((start, end));
    }
    let ranges = if members.is_some() { automaton::complement(ranges) } else { ranges };
    Ok(automaton::without_slash(ranges))
}

fn member(rest: &mut impl Iterator<Item = char>) -> Result<Option<char>, Error> {
    match rest.next() {
        Some('\\') => rest.next().ok_or(Error::TrailingEscape).map(Some),
        other => Ok(other),
    }
}

#[cfg(test)]
mod tests;
