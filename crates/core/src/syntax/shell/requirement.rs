//! Splits a script into demands that must all be met for it to succeed under `bash -euo pipefail`. Returns nothing when
//! it is not certain.

use super::arguments;
use super::tree;
use super::tree::{CommandKind, Condition, ListLink, Redirect, ShellCommand, Way};
use super::word::Word;
use crate::syntax::source::Span;

/// One part of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileRequirement {
    One(Single),
    /// `a && b || c || d`: the parts after `||` are alternatives.
    Forgiven {
        /// All of it, as written.
        text: String,
        place: RequirementPlace,
        /// `a`, `b`
        stem: Vec<Single>,
        /// `c`, `d`
        instead: Vec<String>,
    },
}

/// One command of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Single {
    /// The command, as written.
    pub text: String,
    pub nature: Nature,
    pub place: RequirementPlace,
    /// Its words without quotes, if it is a plain call and all of them are known.
    pub words: Vec<String>,
}

/// The effect of a command on the script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// If it fails, so does the script. It changes nothing, so later commands see no difference.
    Looks,
    /// If it fails, so does the script, but it may affect later commands.
    Acts,
    /// It sets options that contracts run with anyway: `set -euo pipefail`.
    Tightens,
    /// It ignores failures: `set +e`.
    Loosens,
    /// It may change how the script ends, or what its words mean: `trap`, `exit`, `eval`, `hash`.
    Steers,
    /// A compound command, whose failure depends on its position.
    Whole,
}

/// The position of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RequirementPlace {
    /// A statement that others follow.
    Inner,
    /// Before `&&` or `||`, where `-e` doesn't apply.
    Chained,
    /// At the end of the script.
    Last,
}

/// Builtins that decide how a script ends or what its words mean.
const STEERING: [&str; 24] = [
    ".", "alias", "break", "builtin", "command", "continue", "coproc", "enable", "eval", "exec", "exit",
    "fc", "function", "hash", "kill", "logout", "return", "set", "shopt", "source", "suspend", "trap",
    "unalias", "unset",
];

/// Programs and builtins without side effects, whatever their arguments.
const LOOKING: [&str; 25] = [
    ":",
    "[",
    "basename",
    "cat",
    "cmp",
    "diff",
    "dirname",
    "echo",
    "egrep",
    "false",
    "fgrep",
    "grep",
    "head",
    "jq",
    "ls",
    "md5sum",
    "nl",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "stat",
    "tac",
    "test",
    "true",
    "wc",
];

/// Ways to inspect the script itself, for which an added command or option would change the result.
const MIRRORS: [&str; 14] = [
    "$_",
    "${_",
    "$-",
    "${-",
    "$!",
    "BASH",
    "LINENO",
    "PIPESTATUS",
    "SHELLOPTS",
    "FUNCNAME",
    "DIRSTACK",
    "RANDOM",
    "SECONDS",
    "EPOCH",
];

/// The demands of a script in order. `None` if uncertain: it doesn't parse, defines functions, has here-documents
/// (`<<`), or inspects itself.
pub fn demands(script: &str) -> Option<Vec<FileRequirement>> {
    if script.contains("<<") || MIRRORS.iter().any(|mirror| script.contains(mirror)) {
        return None;
    }
    let tree = tree::read(script).ok()?;
    if !super::walk::walk(&tree).functions.is_empty() {
        return None;
    }
    let statements = tree::statements(&tree);
    let mut reader = Reader { script, spans: Vec::new(), demands: Vec::new() };
    for (at, statement) in statements.iter().enumerate() {
        let place = if at + 1 == statements.len() { RequirementPlace::Last } else { RequirementPlace::Inner };
        reader.statement(statement, place);
    }
    reader.is_covered().then_some(reader.demands)
}

struct Reader<'s> {
    script: &'s str,
    /// The spans of the recognized commands, in order.
    spans: Vec<Span>,
    demands: Vec<FileRequirement>,
}

impl Reader<'_> {
    fn statement(&mut self, command: &ShellCommand, place: RequirementPlace) {
        let CommandKind::Chain { first, rest } = &command.kind else {
            let single = self.single(command, place);
            self.demands.push(FileRequirement::One(single));
            return;
        };
        let elements: Vec<(ListLink, &ShellCommand)> = std::iter::once((ListLink::And, first.as_ref()))
            .chain(rest.iter().map(|(link, command)| (*link, command)))
            .collect();
        let forgiving = elements.iter().rposition(|(link, _)| *link == ListLink::Or);
        // `a && b; c` continues with `c` if `a` fails: only at the end is a chain a list of demands.
        let is_forgiven_statement = elements.iter().skip(1).all(|(link, _)| *link == ListLink::Or);
        if place != RequirementPlace::Last && !is_forgiven_statement {
            let single = self.whole(command, place);
            self.demands.push(FileRequirement::One(single));
            return;
        }
        let (head, tail) = elements.split_at(forgiving.map_or(0, |at| at + 1));
        let is_whole = tail.is_empty();
        if !head.is_empty() {
            let place = if is_whole { place } else { RequirementPlace::Chained };
            self.forgiven(head, place);
        }
        for (at, (_, command)) in tail.iter().enumerate() {
            let place = if at + 1 == tail.len() { place } else { RequirementPlace::Chained };
            let single = self.single(command, place);
            self.demands.push(FileRequirement::One(single));
        }
    }

    fn forgiven(&mut self, elements: &[(ListLink, &ShellCommand)], place: RequirementPlace) {
        let count = elements.iter().take_while(|(link, _)| *link == ListLink::And).count();
        let (stem, instead) = elements.split_at(count);
        let (Some((_, first)), Some((_, last))) = (elements.first(), elements.last()) else { return };
        let span = Span::new(first.span.start, last.span.end);
        let text = self.script[span.start..span.end].to_owned();
        if instead.iter().any(|(link, _)| *link == ListLink::And) {
            self.spans.push(span);
            self.demands.push(FileRequirement::One(Single {
                text,
                nature: whole(span, self.script),
                place,
                words: vec![],
            }));
            return;
        }
        let (end, mut stem_read) = (stem.len(), Vec::with_capacity(stem.len()));
        for (at, (_, command)) in stem.iter().enumerate() {
            // Its position without the alternatives.
            let place = if at + 1 == end { place } else { RequirementPlace::Chained };
            stem_read.push(self.single(command, place));
        }
        self.spans.extend(instead.iter().map(|(_, command)| command.span));
        let instead = instead.iter().map(|(_, command)| self.slice(command.span)).collect();
        self.demands.push(FileRequirement::Forgiven { text, place, stem: stem_read, instead });
    }

    fn single(&mut self, command: &ShellCommand, place: RequirementPlace) -> Single {
        self.spans.push(command.span);
        let nature = match nature(command) {
            Nature::Whole => whole(command.span, self.script),
            // `! a` fails the script only if its result is used.
            Nature::Looks | Nature::Acts
                if place == RequirementPlace::Inner && matches!(command.kind, CommandKind::Not(_)) =>
            {
                Nature::Whole
            }
            nature @ (Nature::Looks | Nature::Acts | Nature::Tightens | Nature::Loosens | Nature::Steers) => {
                nature
            }
        };
        Single { text: self.slice(command.span), nature, place, words: plain_words(command) }
    }

    fn whole(&mut self, command: &ShellCommand, place: RequirementPlace) -> Single {
        self.spans.push(command.span);
        let nature = whole(command.span, self.script);
        Single { text: self.slice(command.span), nature, place, words: Vec::new() }
    }

    fn slice(&self, span: Span) -> String {
        self.script[span.start..span.end].to_owned()
    }

    /// Whether only separators and comments are between the recognized commands.
    fn is_covered(&self) -> bool {
        let mut end = 0;
        for span in &self.spans {
            if span.start < end || !self.script.get(end..span.start).is_some_and(is_separator) {
                return false;
            }
            end = span.end;
        }
        self.script.get(end..).is_some_and(is_separator)
    }
}

/// Whether a text has only separators of commands, white space and comments.
fn is_separator(text: &str) -> bool {
    let continued = text.replace("\\\n", " ");
    continued.lines().all(|line| {
        let code = line.split('#').next().unwrap_or_default();
        code.chars().all(|character| character.is_whitespace() || matches!(character, ';' | '&' | '|'))
    }) && !text.contains('\r')
}

/// Compound commands are not analyzed; one that names a control command may run it.
fn whole(span: Span, script: &str) -> Nature {
    let words = script[span.start..span.end].split(|letter: char| !letter.is_alphanumeric() && letter != '.');
    let is_steering = words.into_iter().any(|word| STEERING.contains(&word));
    if is_steering { Nature::Steers } else { Nature::Whole }
}

fn nature(command: &ShellCommand) -> Nature {
    let own = match &command.kind {
        CommandKind::Simple { assignments, words } => simple(assignments, words),
        CommandKind::Pipeline(commands) => commands.iter().map(nature).fold(Nature::Looks, weakest),
        CommandKind::Not(inner) => match &inner.kind {
            CommandKind::Simple { .. } | CommandKind::Pipeline(_) | CommandKind::Condition(_) => {
                nature(inner)
            }
            CommandKind::Sequence(_)
            | CommandKind::Background(_)
            | CommandKind::Chain { .. }
            | CommandKind::Not(_)
            | CommandKind::If { .. }
            | CommandKind::While { .. }
            | CommandKind::Until { .. }
            | CommandKind::For { .. }
            | CommandKind::Select { .. }
            | CommandKind::Case { .. }
            | CommandKind::Function { .. }
            | CommandKind::Subshell(_)
            | CommandKind::Group(_)
            | CommandKind::Coprocess(_)
            | CommandKind::Arithmetic(_)
            | CommandKind::Nothing => Nature::Whole,
        },
        CommandKind::Condition(condition) if is_looking_condition(condition) => Nature::Looks,
        CommandKind::Condition(_) | CommandKind::Arithmetic(_) => Nature::Acts,
        CommandKind::Sequence(_)
        | CommandKind::Chain { .. }
        | CommandKind::If { .. }
        | CommandKind::While { .. }
        | CommandKind::Until { .. }
        | CommandKind::For { .. }
        | CommandKind::Case { .. }
        | CommandKind::Subshell(_)
        | CommandKind::Group(_) => Nature::Whole,
        CommandKind::Background(_)
        | CommandKind::Select { .. }
        | CommandKind::Function { .. }
        | CommandKind::Coprocess(_)
        | CommandKind::Nothing => Nature::Steers,
    };
    if own == Nature::Looks && !command.redirects.iter().all(is_harmless) { Nature::Acts } else { own }
}

/// The combined effect of two commands in a pipeline.
fn weakest(left: Nature, right: Nature) -> Nature {
    match (left, right) {
        (Nature::Looks, Nature::Looks) => Nature::Looks,
        (Nature::Looks | Nature::Acts, Nature::Looks | Nature::Acts) => Nature::Acts,
        (Nature::Looks | Nature::Acts | Nature::Whole, Nature::Looks | Nature::Acts | Nature::Whole) => {
            Nature::Whole
        }
        (_, Nature::Tightens | Nature::Loosens | Nature::Steers)
        | (Nature::Tightens | Nature::Loosens | Nature::Steers, _) => Nature::Steers,
    }
}

fn simple(assignments: &[Word], words: &[Word]) -> Nature {
    let Some(first) = words.first() else { return Nature::Acts };
    let Some(name) = first.literal() else { return Nature::Steers };
    let is_still = assignments.is_empty() && words.iter().all(is_still);
    match name {
        "set" => setting(words),
        "command" if is_still && matches!(words.get(1).and_then(Word::literal), Some("-v")) => Nature::Looks,
        "printf" if is_still && words.get(1).and_then(Word::literal) != Some("-v") => Nature::Looks,
        _ if STEERING.contains(&name) => Nature::Steers,
        _ if LOOKING.contains(&name) && is_still => Nature::Looks,
        // `env`, `nice` and similar commands start programs, which can't affect the shell.
        _ => Nature::Acts,
    }
}

/// The effect of `set` on the options that contracts run with.
pub(super) fn setting(words: &[Word]) -> Nature {
    let mut rest = words.iter().skip(1).map(Word::literal);
    let mut nature = None;
    while let Some(word) = rest.next() {
        let Some(word) = word else { return Nature::Steers };
        let (this, letters) = match (word.strip_prefix('-'), word.strip_prefix('+')) {
            (Some(letters), None) => (Nature::Tightens, letters),
            (None, Some(letters)) => (Nature::Loosens, letters),
            (Some(_), Some(_)) | (None, None) => return Nature::Steers,
        };
        if letters.is_empty() || nature.is_some_and(|nature| nature != this) {
            return Nature::Steers;
        }
        for letter in letters.chars() {
            let is_known = match letter {
                'e' | 'u' => true,
                'x' => this == Nature::Tightens,
                'o' => matches!(rest.next().flatten(), Some("errexit" | "nounset" | "pipefail")),
                _ => false,
            };
            if !is_known {
                return Nature::Steers;
            }
        }
        nature = Some(this);
    }
    nature.unwrap_or(Nature::Steers)
}

/// Whether expanding a word has no side effects.
fn is_still(word: &Word) -> bool {
    let raw = &word.raw;
    let sets = raw.contains("$((") || raw.contains("$[") || (raw.contains("${") && raw.contains('='));
    word.substitutions.is_empty() && !sets && !raw.contains('`') && !raw.contains("$(")
}

fn is_harmless(redirect: &Redirect) -> bool {
    let is_nowhere = redirect.target.literal() == Some("/dev/null");
    let is_open = redirect.target.raw.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match redirect.way {
        // `<>` creates the file that it reads, and is indistinguishable from `<` here.
        Way::From | Way::Into => is_nowhere,
        Way::Inner => is_open,
    }
}

fn is_looking_condition(condition: &Condition) -> bool {
    match condition {
        Condition::Unary { operand, .. } => is_still(operand),
        // `=~` sets BASH_REMATCH; comparisons of numbers are arithmetic, which can set variables.
        Condition::Binary { operator, left, right } => {
            let compares = matches!(operator.as_str(), "=" | "==" | "!=" | "-nt" | "-ot" | "-ef" | "<" | ">");
            compares && is_still(left) && is_still(right)
        }
        Condition::And(left, right) | Condition::Or(left, right) => {
            is_looking_condition(left) && is_looking_condition(right)
        }
        Condition::Not(inner) => is_looking_condition(inner),
        Condition::Opaque => false,
    }
}

/// The words of a plain call.
fn plain_words(command: &ShellCommand) -> Vec<String> {
    let CommandKind::Simple { assignments, words } = &command.kind else { return Vec::new() };
    if !assignments.is_empty()
        || !command.redirects.iter().all(is_harmless)
        || arguments::wrapped(words).is_some()
    {
        return Vec::new();
    }
    let literals: Option<Vec<String>> = words.iter().map(|word| word.literal().map(str::to_owned)).collect();
    literals.unwrap_or_default()
}
