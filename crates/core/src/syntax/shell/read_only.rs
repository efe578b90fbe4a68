//! Decides whether a script only reads: every command in it, at any depth, must be on an allowlist of commands that
//! read and print, because no list of harmful commands is complete. Rejects whatever it can't parse or resolve.

use std::cell::Cell;

use super::arguments;
use super::expansion;
use super::requirement;
use super::requirement::Nature;
use super::test_command;
use super::tree;
use super::tree::{CommandKind, Condition, Redirect, ShellCommand, Way};
use super::word::{Text, Word};

/// A program that only reads, except with some of its options.
struct Looker {
    name: &'static str,
    /// Short options that do more, bundled or alone.
    letters: &'static str,
    /// Long options and words that do more. Prefixes count: most programs accept abbreviations.
    words: &'static [&'static str],
    /// The operand limit, if an additional operand would be written to.
    operands_max: usize,
}

const fn looker(name: &'static str, letters: &'static str, words: &'static [&'static str]) -> Looker {
    Looker { name, letters, words, operands_max: usize::MAX }
}

/// Programs that only read, whatever their arguments.
pub(super) const FREE: &[&str] = &[
    ":",
    "[",
    "basename",
    "cat",
    "cd",
    "cmp",
    "column",
    "comm",
    "cut",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "exit",
    "expr",
    "false",
    "fgrep",
    "fold",
    "grep",
    "head",
    "hexdump",
    "id",
    "jq",
    "ls",
    "md5sum",
    "nl",
    "od",
    "paste",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "seq",
    "sha1sum",
    "sha256sum",
    "sleep",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "type",
    "uname",
    "wc",
    "which",
    "whoami",
];

const BOUND: &[Looker] = &[
    looker("date", "s", &["--set"]),
    looker("fd", "xX", &["--exec", "--exec-batch"]),
    looker("file", "C", &["--compile"]),
    looker(
        "find",
        "",
        &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"],
    ),
    looker("printf", "v", &[]),
    looker("rg", "", &["--pre", "--hostname-bin"]),
    looker("sort", "o", &["--output", "--compress-program"]),
    looker("tree", "oR", &["--output"]),
    Looker { name: "uniq", letters: "", words: &[], operands_max: 1 },
];

/// Allowed git commands, and the short options that make each do more.
const GIT: &[(&str, &str)] = &[
    ("blame", ""),
    ("cat-file", ""),
    ("describe", ""),
    ("diff", ""),
    ("grep", "O"),
    ("log", ""),
    ("ls-files", ""),
    ("ls-tree", ""),
    ("merge-base", ""),
    ("rev-list", ""),
    ("rev-parse", ""),
    ("shortlog", ""),
    ("show", ""),
    ("status", ""),
];
/// Words that make any of these do more: commands that walk revisions accept the options of `diff` too.
const GIT_WORDS: &[&str] = &["--output", "--ext-diff", "--open-files-in-pager", "--textconv", "--filters"];
/// Git commands that are allowed only with one of these subcommands.
const GIT_LISTS: &[(&str, &[&str])] = &[
    ("branch", &["", "-a", "-r", "-v", "-vv", "-av", "--all", "--list", "--show-current"]),
    ("remote", &["", "-v"]),
    ("stash", &["list"]),
    ("tag", &["", "-l", "--list"]),
    ("worktree", &["list"]),
];

/// Wrappers that run the following command and change nothing themselves.
const WRAPPERS: &[&str] = &["command", "nice", "time", "timeout"];

/// Why a script may do more than read; `None` if every command in it only reads.
pub fn beyond_looking(script: &str) -> Option<String> {
    let tree = match tree::read(script) {
        Ok(tree) => tree,
        Err(fault) => return Some(format!("cannot parse the command: {}", fault.message)),
    };
    // The tree treats it as reading, but it creates the file.
    if script.contains("<>") {
        return Some("`<>` opens a file for writing".to_owned());
    }
    // bash expands the body of a here-document, and the tree loses one after `[[ ]]`.
    let is_string = |at: usize| script[at + 2..].starts_with('<') || script[..at].ends_with('<');
    let has_document = script.match_indices("<<").any(|(at, _)| !is_string(at));
    if has_document && script.contains(['$', '`']) {
        return Some("a here-document may expand to commands".to_owned());
    }
    // bash joins continued lines before parsing and the tree does not: `$\` and `(rm x)` on the next line are one word.
    let mut breaks = script.match_indices("\\\n");
    if breaks.any(|(at, _)| script[..at].ends_with(|sign: char| !sign.is_whitespace())) {
        return Some("a word continues on the next line".to_owned());
    }
    if let Some(name) = descriptor_variable(script) {
        return Some(format!("it sets `{name}`"));
    }
    Look { script, judged: Cell::new(0) }.command(&tree).err()
}

/// Whether a script is a single plain command without redirections.
pub fn is_single_call(script: &str) -> bool {
    let Ok(tree) = tree::read(script) else { return false };
    let is_known = |word: &Word| word.literal().is_some();
    matches!(&tree.kind, CommandKind::Simple { assignments, words } if assignments.is_empty() && words.iter().all(is_known))
        && tree.redirects.is_empty()
}

/// The allowed commands, for messages.
pub fn lookers() -> Vec<&'static str> {
    let is_word = |name: &&&str| name.chars().all(|sign| sign.is_ascii_alphanumeric());
    FREE.iter().filter(is_word).copied().chain(BOUND.iter().map(|looker| looker.name)).collect()
}

struct Look<'s> {
    script: &'s str,
    /// The number of commands found in words so far, including lookalikes.
    judged: Cell<usize>,
}

type Looks = Result<(), String>;

impl Look<'_> {
    fn command(&self, command: &ShellCommand) -> Looks {
        command.redirects.iter().try_for_each(|redirect| self.redirect(redirect))?;
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                assignments.iter().try_for_each(|word| self.assignment(word))?;
                self.words(words)?;
                simple(words)
            }
            CommandKind::Pipeline(commands) | CommandKind::Sequence(commands) => self.all(commands),
            CommandKind::Chain { first, rest } => {
                self.command(first)?;
                rest.iter().try_for_each(|(_, next)| self.command(next))
            }
            CommandKind::If { condition, then, otherwise } => {
                self.command(condition)?;
                self.command(then)?;
                otherwise.as_deref().map_or(Ok(()), |otherwise| self.command(otherwise))
            }
            CommandKind::While { condition, body } | CommandKind::Until { condition, body } => {
                self.command(condition)?;
                self.command(body)
            }
            CommandKind::For { words, body, is_arithmetic: true } => {
                words.iter().try_for_each(arithmetic)?;
                self.command(body)
            }
            CommandKind::For { words, body, is_arithmetic: false } | CommandKind::Select { words, body } => {
                self.variables()?;
                self.words(words)?;
                self.command(body)
            }
            CommandKind::Case { words, arms } => {
                self.words(words)?;
                self.all(arms)
            }
            CommandKind::Not(body)
            | CommandKind::Background(body)
            | CommandKind::Subshell(body)
            | CommandKind::Group(body) => self.command(body),
            CommandKind::Condition(condition) => self.condition(condition),
            CommandKind::Arithmetic(word) => arithmetic(word),
            // A function may shadow a program; a coprocess is used through names that are not visible here.
            CommandKind::Function { name, .. } => Err(format!("it defines the function `{name}`")),
            CommandKind::Coprocess(_) => Err("it starts a coprocess".to_owned()),
            CommandKind::Nothing if self.script.trim().is_empty() => Ok(()),
            CommandKind::Nothing => Err("it contains a command that cannot be parsed".to_owned()),
        }
    }

    fn all(&self, commands: &[ShellCommand]) -> Looks {
        commands.iter().try_for_each(|command| self.command(command))
    }

    fn words(&self, words: &[Word]) -> Looks {
        words.iter().try_for_each(|word| self.word(word))
    }

    /// Everything that runs to expand a word.
    fn word(&self, word: &Word) -> Looks {
        let raw = word.raw.as_str();
        let before = self.judged.get();
        if word.literal().is_some() && word.substitutions.is_empty() {
            self.judged.set(before + expansion::commands(raw));
            return Ok(());
        }
        self.judged.set(before + word.substitutions.len());
        self.all(&word.substitutions)?;
        // A command that the tree missed has not been checked.
        if !expansion::is_plain(raw) || expansion::commands(raw) > self.judged.get() - before {
            return Err(format!("cannot tell what `{raw}` runs"));
        }
        Ok(())
    }

    /// An uppercase variable may control a program: `PATH`, `GIT_EXTERNAL_DIFF`, `LD_PRELOAD`.
    fn assignment(&self, word: &Word) -> Looks {
        let name = word.raw.split('=').next().unwrap_or_default();
        // bash expands a subscript even in quotes.
        if !is_own_variable(name) || !test_command::is_name(name.strip_suffix('+').unwrap_or(name)) {
            return Err(format!("it sets `{name}`"));
        }
        // The indices of an array are arithmetic: `a=([x]=1)`.
        if word.raw[name.len()..].starts_with("=(") && word.raw.contains('[') {
            return Err(format!("cannot tell what `{}` runs", word.raw));
        }
        self.word(word)
    }

    /// Loop variables, for which the tree has no names.
    fn variables(&self) -> Looks {
        let mut words = self.script.split(|sign: char| !(sign.is_ascii_alphanumeric() || sign == '_'));
        while let Some(word) = words.next() {
            if matches!(word, "for" | "select")
                && let Some(name) = words.clone().find(|word| !word.is_empty())
                && !is_own_variable(name)
            {
                return Err(format!("it sets `{name}`"));
            }
        }
        Ok(())
    }

    fn redirect(&self, redirect: &Redirect) -> Looks {
        self.word(&redirect.target)?;
        let target = redirect.target.literal();
        let shown = target.unwrap_or(&redirect.target.raw);
        match redirect.way {
            Way::Into if target == Some("/dev/null") => Ok(()),
            Way::Into => Err(format!("it writes to `{shown}`")),
            // bash opens a network connection for `/dev/tcp/host/port`.
            Way::From if target.is_none_or(|path| path.starts_with("/dev/") && path != "/dev/null") => {
                Err(format!("it reads from `{shown}`"))
            }
            Way::From | Way::Inner => Ok(()),
        }
    }

    fn condition(&self, condition: &Condition) -> Looks {
        match condition {
            Condition::Unary { operator, operand } => {
                self.word(operand)?;
                test_command::unary(operator, operand)
            }
            Condition::Binary { operator, left, right } => {
                self.word(left)?;
                self.word(right)?;
                test_command::binary(operator, left, right)
            }
            Condition::And(left, right) | Condition::Or(left, right) => {
                self.condition(left)?;
                self.condition(right)
            }
            Condition::Not(inner) => self.condition(inner),
            Condition::Opaque => Err("it contains a test that cannot be parsed".to_owned()),
        }
    }
}

/// Arithmetic as a command.
fn arithmetic(word: &Word) -> Looks {
    match expansion::is_sum(&word.raw) {
        true => Ok(()),
        false => Err(format!("cannot tell what `{}` runs as arithmetic", word.raw)),
    }
}

/// The variable that receives a descriptor number: `{x}<file`.
fn descriptor_variable(script: &str) -> Option<&str> {
    let ends = script.match_indices('}').filter(|(at, _)| script[at + 1..].starts_with(['<', '>']));
    ends.map(|(at, _)| &script[..at]).find_map(|front| {
        let is_border = |sign: char| sign.is_whitespace() || ";&|()`".contains(sign);
        front.rsplit(is_border).next()?.strip_prefix('{')
    })
}

/// One command with its words.
fn simple(words: &[Word]) -> Looks {
    let Some(first) = words.first() else { return Ok(()) };
    let Some(name) = first.literal() else { return Err(format!("cannot tell what `{}` runs", first.raw)) };
    let name = name.strip_prefix("/usr/bin/").or(name.strip_prefix("/bin/")).unwrap_or(name);
    let rest = &words[1..];
    if matches!(name, "test" | "[") {
        return test_command::test(name, rest);
    }
    if FREE.contains(&name) {
        return Ok(());
    }
    if let Some(looker) = BOUND.iter().find(|looker| looker.name == name) {
        options(name, rest, looker)?;
    }
    let unlisted = || Err(format!("`{name}` with these arguments is not a known read-only command"));
    match name {
        "date" if rest.iter().any(is_clock_time) => Err("`date` with a time sets the clock".to_owned()),
        "printf" => test_command::printf(rest),
        _ if BOUND.iter().any(|looker| looker.name == name) => Ok(()),
        "git" => git(rest),
        "sed" => sed(rest),
        "read" => test_command::read(rest),
        // Other options change how words are parsed: `set -k` turns them into variables.
        "set" if matches!(requirement::setting(words), Nature::Tightens | Nature::Loosens) => Ok(()),
        "set" => unlisted(),
        // The program `time`, not the bash keyword: it can write to a file.
        "time" if rest.first().and_then(Word::literal).is_none_or(|word| word.starts_with('-')) => {
            Err("`time` with options is not a known read-only command".to_owned())
        }
        "command" if matches!(rest.first().and_then(Word::literal), Some("-v" | "-V")) => Ok(()),
        "xargs" => {
            let (front, inner) = wrapped(words)?;
            options(name, front, &looker("xargs", "", &["--process-slot-var"]))?;
            // The input may contain any option.
            if inner[0].literal().is_some_and(|inner| FREE.contains(&inner)) { Ok(()) } else { unlisted() }
        }
        _ if WRAPPERS.contains(&name) => simple(wrapped(words)?.1),
        _ => Err(format!("`{name}` is not a known read-only command")),
    }
}

/// The arguments of a wrapper, and the command that it runs.
fn wrapped(words: &[Word]) -> Result<(&[Word], &[Word]), String> {
    let at = arguments::wrapped(words).filter(|&at| words[..at].iter().all(|word| word.literal().is_some()));
    match at {
        Some(at) => Ok((&words[1..at], &words[at..])),
        None => Err(format!("cannot tell what `{}` runs", words[0].raw)),
    }
}

/// Whether `date` would set the clock to this word: `MMDDhhmm`.
fn is_clock_time(word: &Word) -> bool {
    let is_digit = |sign: char| sign.is_ascii_digit() || sign == '.';
    word.literal().is_some_and(|text| text.len() >= 8 && text.chars().all(is_digit))
}

/// A variable name that no program uses.
fn is_own_variable(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(char::is_uppercase)
}

/// Whether the expansion of a word may become or contain an option.
fn may_be_option(word: &Word) -> bool {
    let start = word.raw.trim_start_matches(['"', '\'', '\\']).chars().next();
    match word.text {
        Text::Literal(_) => false,
        Text::One => start.is_none_or(|sign| "$`-".contains(sign)),
        // A pattern such as `src/*` expands to files, never to an option; a variable may be split at spaces.
        Text::Loose => word.raw.contains(['$', '`', '{']) || start.is_none_or(|sign| "*?[-".contains(sign)),
    }
}

fn options(name: &str, rest: &[Word], looker: &Looker) -> Looks {
    let refused = |word: &Word| Err(format!("`{name} {}` does more than read", word.raw));
    let mut operands = 0;
    for word in rest {
        let Some(text) = word.literal() else {
            let is_many = word.text == Text::Loose && looker.operands_max < usize::MAX;
            if is_many || may_be_option(word) {
                return Err(format!("cannot tell what `{}` means to `{name}`", word.raw));
            }
            operands += 1;
            continue;
        };
        let option = text.split('=').next().unwrap_or(text);
        let is_long = option.len() > 2 && looker.words.iter().any(|word| word.starts_with(option));
        let is_single = text.starts_with('-') && !text.starts_with("--");
        let is_short = is_single && text.chars().any(|letter| looker.letters.contains(letter));
        if (is_long && text.starts_with('-')) || is_short {
            return refused(word);
        }
        operands += usize::from(!text.starts_with('-') || text == "-");
    }
    if operands > looker.operands_max {
        return Err(format!("`{name}` writes to its last file"));
    }
    Ok(())
}

fn git(rest: &[Word]) -> Looks {
    let mut rest = rest;
    // Global options that only choose where to read and how to print.
    loop {
        match rest.first().and_then(Word::literal) {
            Some("-C") if rest.get(1).is_some_and(|folder| folder.text != Text::Loose) => rest = &rest[2..],
            Some("--no-pager" | "-P" | "--no-optional-locks") => rest = &rest[1..],
            Some(_) | None => break,
        }
    }
    let Some(verb) = rest.first().and_then(Word::literal) else {
        return Err("cannot tell what `git` runs".to_owned());
    };
    let rest = &rest[1..];
    if let Some((_, letters)) = GIT.iter().find(|(known, _)| *known == verb) {
        return options(&format!("git {verb}"), rest, &looker("git", letters, GIT_WORDS));
    }
    let typed = rest.first().map_or(Some(""), Word::literal);
    let is_listing = |allowed: &[&str]| rest.len() < 2 && typed.is_some_and(|word| allowed.contains(&word));
    match GIT_LISTS.iter().find(|(known, _)| *known == verb) {
        Some((_, allowed)) if is_listing(allowed) => Ok(()),
        Some(_) => Err(format!("`git {verb}` with these arguments does more than list")),
        None => Err(format!("`git {verb}` is not a known read-only command")),
    }
}

/// `sed -n '10,20p' file` prints lines; any other script may write or run.
fn sed(rest: &[Word]) -> Looks {
    let is_address = |text: &str| {
        text.strip_suffix('p').is_some_and(|lines| {
            !lines.is_empty() && lines.chars().all(|sign| sign.is_ascii_digit() || matches!(sign, ',' | '$'))
        })
    };
    let is_file = |word: &Word| word.literal().map_or(!may_be_option(word), |text| !text.starts_with('-'));
    match rest {
        [quiet, script, files @ ..]
            if quiet.literal() == Some("-n")
                && script.literal().is_some_and(is_address)
                && files.iter().all(is_file) =>
        {
            Ok(())
        }
        _ => Err("only `sed -n '10,20p' FILE` is allowed here".to_owned()),
    }
}
