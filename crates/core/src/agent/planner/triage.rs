//! Whether a task is worth a plan: a few rules in order, of which the first match decides. Looks only at the
//! words, knows no project, and only advises: it never blocks anything.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// Write a plan, and have a person approve it.
    Plan,
    Act,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriageRule {
    /// It can't be undone.
    Irreversible,
    /// It affects people or systems outside.
    Outside,
    /// It needs a guarded tool.
    Guarded,
    /// The user asks for a plan.
    Asked,
    /// It only asks or reads.
    Question,
    /// It affects several files.
    Files,
    /// It has several steps.
    Steps,
    /// It is one small change.
    Small,
}

/// A rule that matches, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    pub rule: TriageRule,
    /// The words of the task that matched.
    pub words: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Triage {
    pub advice: Advice,
    /// The rule that decided.
    pub by: TriageRule,
    /// Everything that matched, in rule order.
    pub signs: Vec<Signal>,
}

/// Every rule in order of precedence, with its name, its advice and the reason.
pub const RULES: &[(TriageRule, &str, Advice, &str)] = &[
    (
        TriageRule::Irreversible,
        "irreversible",
        Advice::Plan,
        "a person should decide before anything irreversible",
    ),
    (
        TriageRule::Outside,
        "outside",
        Advice::Plan,
        "a person should decide before anything affects other people or systems",
    ),
    (TriageRule::Guarded, "guarded", Advice::Plan, "a guarded tool requires an approved plan"),
    (TriageRule::Asked, "asked", Advice::Plan, "the task asks for a plan or a review first"),
    (TriageRule::Question, "question", Advice::Act, "nothing changes, so there is nothing to approve"),
    (TriageRule::Files, "files", Advice::Plan, "changes to several files are easier to verify step by step"),
    (TriageRule::Steps, "steps", Advice::Plan, "several steps, each of which can have its own contract"),
    (TriageRule::Small, "small", Advice::Act, "one small change that is easy to revert"),
];

/// From this many files on, the task is worth a plan.
const FILES_MIN: usize = 3;
/// From this many step words on, the task has several steps.
const STEPS_MIN: usize = 2;

const IRREVERSIBLE: &[&str] = &[
    "delete",
    "deletes",
    "deleting",
    "drop",
    "dropping",
    "truncate",
    "purge",
    "wipe",
    "erase",
    "destroy",
    "revoke",
    "overwrite",
    "irreversible",
    "irreversibly",
    "rm -rf",
    "force-push",
    "force push",
    "push --force",
    "rewrite history",
    "reset --hard",
    "shred",
    "decommission",
];
/// Words that make a match above harmless: only code is changed, and git has the old version.
const CODE: &[&str] = &[
    "comment",
    "comments",
    "import",
    "imports",
    "line",
    "lines",
    "function",
    "variable",
    "whitespace",
    "blank",
    "log statement",
    "dead code",
    "unused",
    "semicolon",
    "word",
];
const OUTSIDE: &[&str] = &[
    "send",
    "sends",
    "email",
    "e-mail",
    "mail",
    "publish",
    "deploy",
    "release to",
    "roll out",
    "rollout",
    "tweet",
    "post to",
    "notify",
    "pay",
    "payment",
    "refund",
    "charge",
    "invoice",
    "production",
    "customers",
    "upload",
    "push to main",
    "merge to main",
    "open a pull request",
    "open a pr",
    "transfer",
];
const ASKED: &[&str] = &[
    "plan",
    "plans",
    "before you start",
    "before you begin",
    "step by step",
    "review before",
    "approve",
    "approval",
    "propose",
];
const QUESTIONS: &[&str] = &[
    "what",
    "why",
    "how",
    "who",
    "where",
    "when",
    "which",
    "explain",
    "show",
    "list",
    "find",
    "summarize",
    "summarise",
    "describe",
    "tell",
    "is",
    "are",
    "does",
    "do",
    "can",
    "read",
    "look",
    "search",
    "count",
    "compare",
    "check",
];
const CHANGES: &[&str] = &[
    "add",
    "change",
    "fix",
    "write",
    "create",
    "implement",
    "refactor",
    "rename",
    "migrate",
    "move",
    "replace",
    "update",
    "upgrade",
    "remove",
    "build",
    "convert",
    "extract",
    "port",
    "introduce",
    "rewrite",
    "install",
    "split",
    "merge",
    "make",
    "set",
];
const EVERYWHERE: &[&str] = &[
    "everywhere",
    "all files",
    "every file",
    "whole code base",
    "whole codebase",
    "entire codebase",
    "across",
    "all modules",
    "every module",
    "all callers",
    "every caller",
    "all tests",
    "migrate",
    "migration",
    "refactor",
    "throughout",
    "all services",
    "every service",
    "repository-wide",
    "project-wide",
];
const STEPS: &[&str] = &[
    "then",
    "after that",
    "afterwards",
    "finally",
    "next",
    "first",
    "second",
    "third",
    "once",
    "and also",
    "followed by",
];
const SMALL: &[&str] = &[
    "typo",
    "typos",
    "one line",
    "one-line",
    "comment",
    "whitespace",
    "rename the variable",
    "rename a variable",
    "bump",
    "indent",
    "formatting",
    "spelling",
    "wording",
];

/// Assesses a task. `guarded` are the names of guarded tools.
pub fn triage(task: &str, guarded: &[String]) -> Triage {
    let text = Words::of(task);
    let signs: Vec<Signal> = RULES
        .iter()
        .map(|(rule, ..)| Signal { rule: *rule, words: seen(*rule, &text, guarded) })
        .filter(|sign| !sign.words.is_empty())
        .collect();
    let first = signs.first().map_or(TriageRule::Small, |sign| sign.rule);
    Triage { advice: advice(first), by: first, signs }
}

/// The name and the reason of a rule.
pub fn said(rule: TriageRule) -> (&'static str, &'static str) {
    RULES.iter().find(|(known, ..)| *known == rule).map_or(("", ""), |(_, name, _, why)| (name, why))
}

fn advice(rule: TriageRule) -> Advice {
    RULES.iter().find(|(known, ..)| *known == rule).map_or(Advice::Act, |(_, _, advice, _)| *advice)
}

/// The words that match a rule; empty if it doesn't match.
fn seen(rule: TriageRule, text: &Words, guarded: &[String]) -> Vec<String> {
    match rule {
        TriageRule::Irreversible => {
            let found = text.among(IRREVERSIBLE);
            let is_code =
                found.iter().all(|word| ["delete", "drop", "overwrite", "deletes"].contains(&word.as_str()));
            if is_code && !text.among(CODE).is_empty() { Vec::new() } else { found }
        }
        TriageRule::Outside => text.among(OUTSIDE),
        TriageRule::Guarded => guarded
            .iter()
            .filter(|tool| text.has(&tool.to_lowercase().replace('_', " ")) || text.has(&tool.to_lowercase()))
            .cloned()
            .collect(),
        TriageRule::Asked => text.among(ASKED),
        TriageRule::Question => {
            let begins = text.first.as_deref().filter(|first| QUESTIONS.contains(first));
            let is_question = begins.is_some() || text.ends_as_question;
            match is_question && text.among(CHANGES).is_empty() {
                true => vec![begins.unwrap_or("?").to_owned()],
                false => Vec::new(),
            }
        }
        TriageRule::Files => {
            let wide = text.among(EVERYWHERE);
            if text.paths.len() >= FILES_MIN {
                text.paths.iter().cloned().chain(wide).collect()
            } else {
                wide
            }
        }
        TriageRule::Steps => {
            let mut found = text.among(STEPS);
            found.extend(text.items.iter().cloned());
            if found.len() >= STEPS_MIN { found } else { Vec::new() }
        }
        TriageRule::Small => text.among(SMALL),
    }
}

/// A task, as the rules see it.
struct Words {
    /// Lowercase, with single spaces between words and at both ends, and no punctuation around words.
    text: String,
    first: Option<String>,
    ends_as_question: bool,
    /// What looks like a path.
    paths: Vec<String>,
    /// List markers: `1.`, `-`.
    items: Vec<String>,
}

impl Words {
    fn of(task: &str) -> Self {
        let trim = |word: &str| {
            word.trim_matches(|sign: char| !sign.is_alphanumeric() && !"-/_.".contains(sign))
                .trim_end_matches('.')
                .to_lowercase()
        };
        let words: Vec<String> = task.split_whitespace().map(trim).filter(|word| !word.is_empty()).collect();
        let mut paths: Vec<String> = words.iter().filter(|word| is_path(word)).cloned().collect();
        paths.sort();
        paths.dedup();
        let mark = |line: &str| {
            let mark = line.split_whitespace().next()?;
            let is_number = mark.len() > 1
                && mark.ends_with(['.', ')'])
                && mark[..mark.len() - 1].chars().all(|sign| sign.is_ascii_digit());
            (is_number || ["-", "*", "+"].contains(&mark)).then(|| mark.to_owned())
        };
        Self {
            text: format!(" {} ", words.join(" ")),
            first: words.first().cloned(),
            ends_as_question: task.trim_end().ends_with('?'),
            paths,
            items: task.lines().filter_map(mark).collect(),
        }
    }

    fn has(&self, words: &str) -> bool {
        self.text.contains(&format!(" {words} "))
    }

    fn among(&self, list: &[&str]) -> Vec<String> {
        list.iter().filter(|words| self.has(words)).map(|words| (*words).to_owned()).collect()
    }
}

/// `src/a.rs`, `Cargo.toml`, `docs/`; not `and/or`, `1.5` or `e.g`.
fn is_path(word: &str) -> bool {
    let (stem, ending) = word.rsplit_once('.').unwrap_or((word, ""));
    let is_file = !stem.is_empty()
        && (1..=5).contains(&ending.len())
        && ending.starts_with(|first: char| first.is_ascii_alphabetic())
        && stem.len() > 1;
    let is_folder = word.ends_with('/') || word.matches('/').count() > 1;
    is_file || is_folder
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-29: too many plans annoy, too few are dangerous. Every rule with a task that it decides, and a near
    // miss.
    #[test]
    fn the_first_rule_that_fits_decides() {
        let guarded = ["gmail_send".to_owned(), "odoo_create".to_owned()];
        let cases: &[(&str, Advice, TriageRule)] = &[
            ("Delete all users that never logged in", Advice::Plan, TriageRule::Irreversible),
            ("drop the table sessions", Advice::Plan, TriageRule::Irreversible),
            ("git push --force to the release branch", Advice::Plan, TriageRule::Irreversible),
            ("delete the unused import in main.rs", Advice::Act, TriageRule::Small),
            ("Send the invoice to the client", Advice::Plan, TriageRule::Outside),
            ("Deploy the new version", Advice::Plan, TriageRule::Outside),
            ("Use gmail_send for the reminder", Advice::Plan, TriageRule::Guarded),
            ("use odoo create on it", Advice::Plan, TriageRule::Guarded),
            ("Write a plan for the login", Advice::Plan, TriageRule::Asked),
            ("Why does the login time out?", Advice::Act, TriageRule::Question),
            ("explain src/a.rs, src/b.rs and src/c.rs", Advice::Act, TriageRule::Question),
            ("Can you fix the typo in README.md?", Advice::Act, TriageRule::Small),
            ("change src/a.rs, src/b.rs and src/c.rs", Advice::Plan, TriageRule::Files),
            ("change src/a.rs and src/b.rs", Advice::Act, TriageRule::Small),
            ("Rename Session to Visit across the code", Advice::Plan, TriageRule::Files),
            ("First write the test, then make it pass", Advice::Plan, TriageRule::Steps),
            ("Do this:\n1. write the test\n2. make it pass", Advice::Plan, TriageRule::Steps),
            ("fix the typo in README.md", Advice::Act, TriageRule::Small),
            ("make the button blue", Advice::Act, TriageRule::Small),
            ("", Advice::Act, TriageRule::Small),
        ];
        for (task, advice, by) in cases {
            let found = triage(task, &guarded);
            assert_eq!((found.advice, found.by), (*advice, *by), "{task}: {found:?}");
        }
    }

    #[test]
    fn nothing_is_guarded_unless_somebody_says_so() {
        assert_eq!(triage("Use gmail_send for it", &[]).by, TriageRule::Small);
    }

    #[test]
    fn every_rule_has_a_name_and_a_reason() {
        let names: std::collections::BTreeSet<&str> = RULES.iter().map(|(_, name, ..)| *name).collect();
        assert_eq!(names.len(), RULES.len());
        assert!(RULES.iter().all(|(rule, _, known, _)| !said(*rule).1.is_empty() && advice(*rule) == *known));
    }
}
