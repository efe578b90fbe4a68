//! Whether a script only looks: every command in it, however deep, is on a list of those that read and print. A list of what is
//! allowed, since no list of what is harmful is whole; what can't be read or told is refused.

use super::operand;
use super::probe;
use super::tree::{self, Command, Condition, Kind, Redirect, Way};
use super::word::{Text, Word};

/// A program that only looks, but for some of its options.
struct Looker {
    name: &'static str,
    /// Short options that do more, in a bundle or alone.
    letters: &'static str,
    /// Long options and whole words that do more. A beginning of one counts: most programs take it for the whole.
    words: &'static [&'static str],
    /// How many operands it may have, where the last one of more would be written to.
    operands_max: usize,
}

const fn looker(name: &'static str, letters: &'static str, words: &'static [&'static str]) -> Looker {
    Looker { name, letters, words, operands_max: usize::MAX }
}

/// Programs that only look whatever they are given.
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
    "set",
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
    looker("tree", "o", &["--output"]),
    Looker { name: "uniq", letters: "", words: &[], operands_max: 1 },
];

/// What git may be asked, and the words of each that would have it do more.
const GIT: &[(&str, &[&str])] = &[
    ("blame", &[]),
    ("cat-file", &["--textconv", "--filters"]),
    ("describe", &[]),
    ("diff", &["--output", "--ext-diff"]),
    ("grep", &["--open-files-in-pager", "-O"]),
    ("log", &["--output", "--ext-diff"]),
    ("ls-files", &[]),
    ("ls-tree", &[]),
    ("merge-base", &[]),
    ("rev-list", &[]),
    ("rev-parse", &[]),
    ("shortlog", &["--output"]),
    ("show", &["--output", "--ext-diff"]),
    ("status", &[]),
];
/// What git may be asked with one of these words behind it, and no others.
const GIT_LISTS: &[(&str, &[&str])] = &[
    ("branch", &["", "-a", "-r", "-v", "-vv", "-av", "--all", "--list", "--show-current"]),
    ("remote", &["", "-v"]),
    ("stash", &["list"]),
    ("tag", &["", "-l", "--list"]),
    ("worktree", &["list"]),
];

/// Programs that run the command behind them, and change nothing themselves.
const WRAPPERS: &[&str] = &["command", "nice", "time", "timeout"];

/// Says why a script does more than look, or that it may; nothing if every command in it only looks.
pub fn beyond_looking(script: &str) -> Option<String> {
    let tree = match tree::read(script) {
        Ok(tree) => tree,
        Err(fault) => return Some(format!("the command can't be read: {}", fault.message)),
    };
    // The tree takes it for reading, but it makes the file.
    if script.contains("<>") {
        return Some("`<>` opens a file for writing".to_owned());
    }
    Look { script }.command(&tree).err()
}

/// Whether a script is one plain command: nothing else is run, nothing is written to a file by the shell.
pub fn is_single_call(script: &str) -> bool {
    let Ok(tree) = tree::read(script) else { return false };
    let is_plain = |word: &Word| word.literal().is_some() && !may_expand(word);
    matches!(&tree.kind, Kind::Simple { assignments, words } if assignments.is_empty() && words.iter().all(is_plain))
        && tree.redirects.is_empty()
}

/// The commands that a reader may use, for messages.
pub fn lookers() -> Vec<&'static str> {
    let is_word = |name: &&&str| name.chars().all(|sign| sign.is_ascii_alphanumeric());
    FREE.iter().filter(is_word).copied().chain(BOUND.iter().map(|looker| looker.name)).collect()
}

struct Look<'s> {
    script: &'s str,
}

type Looks = Result<(), String>;

impl Look<'_> {
    fn command(&self, command: &Command) -> Looks {
        command.redirects.iter().try_for_each(|redirect| self.redirect(redirect))?;
        match &command.kind {
            Kind::Simple { assignments, words } => {
                assignments.iter().try_for_each(|word| self.assignment(word))?;
                self.words(words)?;
                simple(words)
            }
            Kind::Pipeline(commands) | Kind::Sequence(commands) => self.all(commands),
            Kind::Chain { first, rest } => {
                self.command(first)?;
                rest.iter().try_for_each(|(_, next)| self.command(next))
            }
            Kind::If { condition, then, otherwise } => {
                self.command(condition)?;
                self.command(then)?;
                otherwise.as_deref().map_or(Ok(()), |otherwise| self.command(otherwise))
            }
            Kind::While { condition, body } | Kind::Until { condition, body } => {
                self.command(condition)?;
                self.command(body)
            }
            Kind::For { words, body, .. } | Kind::Select { words, body } => {
                self.variables()?;
                self.words(words)?;
                self.command(body)
            }
            Kind::Case { words, arms } => {
                self.words(words)?;
                self.all(arms)
            }
            Kind::Not(body) | Kind::Background(body) | Kind::Subshell(body) | Kind::Group(body) => {
                self.command(body)
            }
            Kind::Condition(condition) => self.condition(condition),
            Kind::Arithmetic(word) => self.word(word),
            // A function may take the name of a program; a coprocess is talked to by names that are not seen here.
            Kind::Function { name, .. } => Err(format!("it defines the function `{name}`")),
            Kind::Coprocess(_) => Err("it starts a coprocess".to_owned()),
            Kind::Nothing if self.script.trim().is_empty() => Ok(()),
            Kind::Nothing => Err("it holds a command that can't be read".to_owned()),
        }
    }

    fn all(&self, commands: &[Command]) -> Looks {
        commands.iter().try_for_each(|command| self.command(command))
    }

    fn words(&self, words: &[Word]) -> Looks {
        words.iter().try_for_each(|word| self.word(word))
    }

    /// Everything that is run to expand a word.
    fn word(&self, word: &Word) -> Looks {
        self.all(&word.substitutions)?;
        let raw = word.raw.as_str();
        let is_quoted = raw.len() > 1
            && raw.starts_with('\'')
            && raw.ends_with('\'')
            && !raw[1..raw.len() - 1].contains('\'');
        let runs = ["$(", "`", "<(", ">("].iter().any(|sign| raw.replace("$((", "").contains(sign));
        if runs && word.substitutions.is_empty() && !is_quoted {
            return Err(format!("what `{raw}` runs can't be told"));
        }
        Ok(())
    }

    /// A variable in capitals may steer a program: `PATH`, `GIT_EXTERNAL_DIFF`, `LD_PRELOAD`.
    fn assignment(&self, word: &Word) -> Looks {
        let name = word.raw.split('=').next().unwrap_or_default();
        // A subscript is expanded, even one in quotes.
        if !is_own_variable(name) || !probe::is_name(name.strip_suffix('+').unwrap_or(name)) {
            return Err(format!("it sets `{name}`"));
        }
        self.word(word)
    }

    /// The variables of loops, which the tree has no names for.
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
            // bash makes a connection of `/dev/tcp/host/port`.
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
                probe::unary(operator, operand)
            }
            Condition::Binary { operator, left, right } => {
                self.word(left)?;
                self.word(right)?;
                probe::binary(operator, left, right)
            }
            Condition::And(left, right) | Condition::Or(left, right) => {
                self.condition(left)?;
                self.condition(right)
            }
            Condition::Not(inner) => self.condition(inner),
            Condition::Opaque => Err("it holds a test that can't be read".to_owned()),
        }
    }
}

/// One command with its words.
fn simple(words: &[Word]) -> Looks {
    let Some(first) = words.first() else { return Ok(()) };
    let named = first.literal().filter(|_| !may_expand(first));
    let Some(name) = named else { return Err(format!("what `{}` runs can't be told", first.raw)) };
    let name = name.strip_prefix("/usr/bin/").or(name.strip_prefix("/bin/")).unwrap_or(name);
    let rest = &words[1..];
    if matches!(name, "test" | "[") {
        return probe::test(name, rest);
    }
    if FREE.contains(&name) {
        return Ok(());
    }
    if let Some(looker) = BOUND.iter().find(|looker| looker.name == name) {
        return options(name, rest, looker);
    }
    match name {
        "git" => git(rest),
        "sed" => sed(rest),
        "read" => probe::read(rest),
        // The program, and not the word of bash: it writes to a file if it is told to.
        "time" if rest.first().and_then(Word::literal).is_none_or(|word| word.starts_with('-')) => {
            Err("`time` with options is not on the list of commands that only read".to_owned())
        }
        "command" if matches!(rest.first().and_then(Word::literal), Some("-v" | "-V")) => Ok(()),
        "xargs" => match operand::wrapped(words).and_then(|at| words[at].literal()) {
            // What comes in may be any option.
            Some(inner) if FREE.contains(&inner) => Ok(()),
            Some(inner) => Err(format!("`xargs {inner}` is not on the list of commands that only read")),
            None => Err("what `xargs` runs can't be told".to_owned()),
        },
        _ if WRAPPERS.contains(&name) => match operand::wrapped(words) {
            Some(at) => simple(&words[at..]),
            None => Err(format!("what `{name}` runs can't be told")),
        },
        _ => Err(format!("`{name}` is not on the list of commands that only read")),
    }
}

/// A name that no program looks at.
fn is_own_variable(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(char::is_uppercase)
}

/// Whether bash makes something else of a word although it has no sign of an expansion: `{-a,-b}`.
fn may_expand(word: &Word) -> bool {
    word.raw.contains('{') && (word.raw.contains(',') || word.raw.contains(".."))
}

/// Whether a word that nobody knows yet may become an option.
fn may_be_option(word: &Word) -> bool {
    let is_known = word.literal().is_some() && !may_expand(word);
    let start = word.raw.trim_start_matches('"').chars().next();
    !is_known
        && (word.text == Text::Loose || start != Some('\''))
        && start.is_none_or(|sign| "$`*?[{-\"".contains(sign))
}

fn options(name: &str, rest: &[Word], looker: &Looker) -> Looks {
    let refused = |word: &Word| Err(format!("`{name} {}` does more than look", word.raw));
    let mut operands = 0;
    for word in rest {
        let Some(text) = word.literal().filter(|_| !may_be_option(word)) else {
            // A pattern such as `src/*` becomes files, and no option.
            if may_be_option(word) {
                return Err(format!("what `{}` means to `{name}` can't be told", word.raw));
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
    // Options in front of the verb that only say where to look and how to print.
    loop {
        match rest.first().and_then(Word::literal) {
            Some("-C") if rest.len() > 1 => rest = &rest[2..],
            Some("--no-pager" | "-P" | "--no-optional-locks") => rest = &rest[1..],
            Some(_) | None => break,
        }
    }
    let Some(verb) = rest.first().and_then(Word::literal) else {
        return Err("what `git` is asked can't be told".to_owned());
    };
    let rest = &rest[1..];
    if let Some((_, words)) = GIT.iter().find(|(known, _)| *known == verb) {
        let letters = if verb == "grep" { "O" } else { "" };
        return options(
            &format!("git {verb}"),
            rest,
            &Looker { name: "git", letters, words, operands_max: usize::MAX },
        );
    }
    let typed = rest.first().map_or(Some(""), Word::literal);
    let is_listing = |allowed: &[&str]| rest.len() < 2 && typed.is_some_and(|word| allowed.contains(&word));
    match GIT_LISTS.iter().find(|(known, _)| *known == verb) {
        Some((_, allowed)) if is_listing(allowed) => Ok(()),
        Some(_) => Err(format!("`git {verb}` with these words does more than list")),
        None => Err(format!("`git {verb}` is not on the list of commands that only read")),
    }
}

/// `sed -n '10,20p' file` prints lines; any other script may write or run.
fn sed(rest: &[Word]) -> Looks {
    let is_address = |text: &str| {
        text.strip_suffix('p').is_some_and(|lines| {
            !lines.is_empty() && lines.chars().all(|sign| sign.is_ascii_digit() || matches!(sign, ',' | '$'))
        })
    };
    match rest {
        [quiet, script, files @ ..]
            if quiet.literal() == Some("-n")
                && script.literal().is_some_and(is_address)
                && files.iter().all(|word| !may_be_option(word) && !word.raw.starts_with('-')) =>
        {
            Ok(())
        }
        _ => Err("`sed` is only for printing lines here: sed -n '10,20p' FILE".to_owned()),
    }
}
