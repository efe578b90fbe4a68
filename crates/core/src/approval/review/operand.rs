//! Programs for which the effect of one more operand is known. A closed list: for most programs a second file
//! is neither stricter nor weaker (`cmp a b`), or means something else than the first (`bash -n a b`).

/// The effect of different operands on a call, with a sentence that describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operands {
    /// Stricter.
    AskMore(String),
    /// Weaker.
    AskLess(String),
    /// Fewer tests run. More of them would prove nothing: what is collected beside a test can change all
    /// others.
    FewerTests(String),
}

/// The effect of one more operand on a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// It succeeds if every operand is fine.
    All,
    /// It succeeds if one operand after the pattern matches, whatever the others are.
    AnyAfterPattern,
    /// It runs the tests it finds there.
    Tests,
}

struct Family {
    lead: &'static [&'static str],
    rule: Rule,
    /// The options without a value that don't affect the rule.
    flags: fn(&str) -> bool,
}

const NONE: fn(&str) -> bool = |_| false;

const FAMILIES: [Family; 15] = [
    Family { lead: &["cat"], rule: Rule::All, flags: NONE },
    Family { lead: &["ls"], rule: Rule::All, flags: NONE },
    Family { lead: &["stat"], rule: Rule::All, flags: NONE },
    Family { lead: &["md5sum"], rule: Rule::All, flags: is_check },
    Family { lead: &["sha1sum"], rule: Rule::All, flags: is_check },
    Family { lead: &["sha256sum"], rule: Rule::All, flags: is_check },
    Family { lead: &["sha512sum"], rule: Rule::All, flags: is_check },
    Family { lead: &["ruff", "check"], rule: Rule::All, flags: |option| option == "--no-fix" },
    Family { lead: &["go", "vet"], rule: Rule::All, flags: NONE },
    Family { lead: &["grep"], rule: Rule::AnyAfterPattern, flags: is_quiet_grep },
    Family { lead: &["pytest"], rule: Rule::Tests, flags: is_pytest_flag },
    Family { lead: &["go", "test"], rule: Rule::Tests, flags: NONE },
    Family { lead: &["jest"], rule: Rule::Tests, flags: NONE },
    Family { lead: &["vitest", "run"], rule: Rule::Tests, flags: NONE },
    Family { lead: &["rspec"], rule: Rule::Tests, flags: NONE },
];

/// Prefixes that only select which copy of a program runs.
const RUNNERS: [&[&str]; 6] =
    [&["uv", "run"], &["poetry", "run"], &["pdm", "run"], &["python", "-m"], &["python3", "-m"], &["npx"]];

fn is_check(option: &str) -> bool {
    matches!(option, "-c" | "--check")
}

fn is_pytest_flag(option: &str) -> bool {
    matches!(option, "-x" | "-q" | "-qq" | "-v" | "-vv" | "-s" | "--exitfirst" | "--quiet" | "--verbose")
}

/// With `-q` one match is enough, even if another file is unreadable.
fn is_quiet_grep(option: &str) -> bool {
    option.starts_with('-')
        && option.contains('q')
        && option.chars().skip(1).all(|letter| "qisxFEwvr".contains(letter))
}

/// The effect of the difference between two calls; `None` if they differ in more than operands, or the effect
/// is unknown.
pub(super) fn compare(old: &[String], new: &[String]) -> Option<Operands> {
    if let Some(gone) = removed(old, new) {
        return match rule(new)? {
            Rule::All => Some(Operands::AskLess(format!("`{gone}` is no longer checked"))),
            Rule::AnyAfterPattern => Some(Operands::AskMore(format!("a match in `{gone}` no longer counts"))),
            Rule::Tests => Some(Operands::FewerTests(format!("`{gone}` no longer runs"))),
        };
    }
    let come = removed(new, old)?;
    match rule(old)? {
        Rule::All => Some(Operands::AskMore(format!("`{come}` is also checked"))),
        Rule::AnyAfterPattern => Some(Operands::AskLess(format!("a match in `{come}` counts, too"))),
        Rule::Tests => None,
    }
}

/// The rule for a call, if all its options are known and it has enough operands. A test runner may have any
/// option.
fn rule(words: &[String]) -> Option<Rule> {
    let (family, lead) = family(words)?;
    let arguments = &words[lead..];
    let mut options = arguments.iter().filter(|word| word.starts_with('-'));
    let are_known = family.rule == Rule::Tests || options.all(|option| (family.flags)(option));
    let is_quiet = family.rule != Rule::AnyAfterPattern || arguments.iter().any(|word| is_quiet_grep(word));
    let least = if family.rule == Rule::AnyAfterPattern { 2 } else { 1 };
    let is_enough = operands(family, arguments).nth(least - 1).is_some();
    (are_known && is_quiet && is_enough).then_some(family.rule)
}

fn family(words: &[String]) -> Option<(&'static Family, usize)> {
    let begins = |lead: &[&str], from: usize| {
        words.len() >= from + lead.len() && lead.iter().zip(&words[from..]).all(|(lead, word)| lead == word)
    };
    let from = RUNNERS.iter().find(|runner| begins(runner, 0)).map_or(0, |runner| runner.len());
    let family = FAMILIES.iter().find(|family| begins(family.lead, from))?;
    Some((family, from + family.lead.len()))
}

/// The arguments that can't be an option or its value.
fn operands<'w>(family: &Family, arguments: &'w [String]) -> impl Iterator<Item = &'w String> {
    let flags = family.flags;
    let is_operand = move |at: usize| {
        let is_value = at > 0 && arguments[at - 1].starts_with('-') && !flags(&arguments[at - 1]);
        !arguments[at].starts_with('-') && !arguments[at].is_empty() && !is_value
    };
    (0..arguments.len()).filter(move |&at| is_operand(at)).map(|at| &arguments[at])
}

/// The operands that `short` lacks, if it equals `long` otherwise. The first operand of `grep` is its
/// pattern.
fn removed(long: &[String], short: &[String]) -> Option<String> {
    let (family, lead) = family(long)?;
    let is_shorter = short.len() < long.len() && short.get(..lead) == long.get(..lead);
    if !is_shorter || long.iter().any(|word| word == "--") {
        return None;
    }
    let arguments = &long[lead..];
    let mut rest = short[lead..].iter().peekable();
    let mut gone = Vec::new();
    let operands: Vec<&String> = operands(family, arguments).collect();
    let pattern = (family.rule == Rule::AnyAfterPattern).then(|| operands.first().copied()).flatten();
    for word in arguments {
        if rest.next_if(|next| *next == word).is_some() {
            continue;
        }
        let is_operand = operands.iter().any(|operand| std::ptr::eq(*operand, word));
        let is_pattern = pattern.is_some_and(|pattern| std::ptr::eq(pattern, word));
        if !is_operand || is_pattern {
            return None;
        }
        gone.push(word.as_str());
    }
    (rest.next().is_none() && !gone.is_empty()).then(|| gone.join(" "))
}
