//! Programs of which it is known what one more operand means. A closed list: for most programs a second file is neither more nor
//! less (`cmp a b`), or means something else than the first (`bash -n a b`).

/// What other operands do to a call, and a sentence that says so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operands {
    /// It asks for more.
    AskMore(String),
    /// It asks for less.
    AskLess(String),
    /// Fewer tests are run. More of them would prove nothing: what is found beside a test can change all others.
    FewerTests(String),
}

/// What one more operand means to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// It succeeds if all operands are well.
    All,
    /// It succeeds if one operand after the pattern is well, whatever the others are.
    AnyAfterPattern,
    /// It runs what it finds there.
    Tests,
}

struct Family {
    lead: &'static [&'static str],
    rule: Rule,
    /// The options that change nothing about the rule and take no value.
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

/// Words in front of a program that only say which copy of it is meant.
const RUNNERS: [&[&str]; 6] =
    [&["uv", "run"], &["poetry", "run"], &["pdm", "run"], &["python", "-m"], &["python3", "-m"], &["npx"]];

fn is_check(option: &str) -> bool {
    matches!(option, "-c" | "--check")
}

fn is_pytest_flag(option: &str) -> bool {
    matches!(option, "-x" | "-q" | "-qq" | "-v" | "-vv" | "-s" | "--exitfirst" | "--quiet" | "--verbose")
}

/// With `-q` one match is enough, even if another file can't be read.
fn is_quiet_grep(option: &str) -> bool {
    option.starts_with('-')
        && option.contains('q')
        && option.chars().skip(1).all(|letter| "qisxFEwvr".contains(letter))
}

/// What the difference between two calls means. `None` where they differ in more than operands, or nobody knows.
pub(super) fn compare(old: &[String], new: &[String]) -> Option<Operands> {
    if let Some(gone) = removed(old, new) {
        return match rule(new)? {
            Rule::All => Some(Operands::AskLess(format!("`{gone}` is no longer looked at"))),
            Rule::AnyAfterPattern => Some(Operands::AskMore(format!("`{gone}` no longer counts as a find"))),
            Rule::Tests => Some(Operands::FewerTests(format!("`{gone}` is no longer run"))),
        };
    }
    let come = removed(new, old)?;
    match rule(old)? {
        Rule::All => Some(Operands::AskMore(format!("`{come}` is looked at, too"))),
        Rule::AnyAfterPattern => Some(Operands::AskLess(format!("`{come}` counts as a find, too"))),
        Rule::Tests => None,
    }
}

/// The rule for a call, if all its options are known and enough operands are left. A runner of tests may have any option.
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

/// The words that can't be an option, nor the value of one.
fn operands<'w>(family: &Family, arguments: &'w [String]) -> impl Iterator<Item = &'w String> {
    let flags = family.flags;
    let is_operand = move |at: usize| {
        let is_value = at > 0 && arguments[at - 1].starts_with('-') && !flags(&arguments[at - 1]);
        !arguments[at].starts_with('-') && !arguments[at].is_empty() && !is_value
    };
    (0..arguments.len()).filter(move |&at| is_operand(at)).map(|at| &arguments[at])
}

/// The operands that `short` lacks, if it is `long` without some of its operands. The first of `grep` is its pattern.
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
