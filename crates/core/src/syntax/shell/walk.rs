//! Collects what a script calls and which files it names. Tracks the working directory through `cd`; never checks
//! whether anything exists.

use std::collections::BTreeSet;

use super::arguments;
use super::arguments::ShellInput;
use super::tree;
use super::tree::{CommandKind, Condition, Redirect, ShellCommand, Way};
use super::word::Word;
use super::{FileRole, PathUse, ShellCall, is_builtin};
use crate::syntax::source::Span;

/// The result of a walk.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) calls: Vec<ShellCall>,
    pub(super) functions: BTreeSet<String>,
    pub(super) paths: Vec<PathUse>,
    pub(super) weakened: Option<Span>,
    pub(super) adrift: Option<String>,
}

/// Collects everything from a script.
pub(super) fn walk(tree: &ShellCommand) -> Found {
    let mut walk = Walk { found: Found::default(), folder: Folder::Known(String::new()), is_negated: false };
    walk.command(tree);
    let Found { mut calls, functions, mut paths, weakened, adrift } = walk.found;
    calls.retain(|call| !functions.contains(&call.name));
    // A word's substitutions are walked before its command is.
    calls.sort_by_key(|call| call.span.start);
    paths.sort_by_key(|path| path.span.start);
    paths.dedup();
    Found { calls, functions, paths, weakened, adrift }
}

/// The paths that a script tests, if it is nothing but a conjunction of plain existence tests.
pub(super) fn only_tests(tree: &ShellCommand) -> Option<Vec<PathUse>> {
    let mut tests = Vec::new();
    (is_only_tests(tree, &mut tests) && !tests.is_empty()).then_some(tests)
}

fn is_only_tests(command: &ShellCommand, tests: &mut Vec<PathUse>) -> bool {
    let is_quiet =
        |redirect: &Redirect| redirect.way == Way::Inner || redirect.target.literal() == Some("/dev/null");
    if !command.redirects.iter().all(is_quiet) {
        return false;
    }
    match &command.kind {
        CommandKind::Simple { assignments, words } => {
            assignments.is_empty() && is_presence_command(words, tests)
        }
        CommandKind::Sequence(commands) => commands.iter().all(|command| is_only_tests(command, tests)),
        CommandKind::Chain { first, rest } => {
            is_only_tests(first, tests)
                && rest.iter().all(|(link, next)| *link == tree::ListLink::And && is_only_tests(next, tests))
        }
        CommandKind::Subshell(body) | CommandKind::Group(body) => is_only_tests(body, tests),
        CommandKind::Condition(condition) => is_presence_condition(condition, tests),
        CommandKind::Pipeline(_)
        | CommandKind::Background(_)
        | CommandKind::Not(_)
        | CommandKind::If { .. }
        | CommandKind::While { .. }
        | CommandKind::Until { .. }
        | CommandKind::For { .. }
        | CommandKind::Select { .. }
        | CommandKind::Case { .. }
        | CommandKind::Function { .. }
        | CommandKind::Coprocess(_)
        | CommandKind::Arithmetic(_)
        | CommandKind::Nothing => false,
    }
}

fn is_presence_command(words: &[Word], tests: &mut Vec<PathUse>) -> bool {
    match words.first().and_then(Word::literal) {
        Some("test" | "[") => {
            let tested = arguments::tested(words);
            tested.is_all && tested.files.iter().all(|word| push_test(word, tests))
        }
        // `set -e` is a common first line and changes nothing here.
        Some("set") => words.iter().skip(1).all(|word| word.literal().is_some_and(|text| text != "+e")),
        Some(_) | None => false,
    }
}

fn is_presence_condition(condition: &Condition, tests: &mut Vec<PathUse>) -> bool {
    match condition {
        Condition::Unary { operator, operand } => {
            arguments::is_presence_test(operator) && push_test(operand, tests)
        }
        Condition::And(left, right) => {
            is_presence_condition(left, tests) && is_presence_condition(right, tests)
        }
        Condition::Binary { .. } | Condition::Or(..) | Condition::Not(_) | Condition::Opaque => false,
    }
}

fn push_test(word: &Word, tests: &mut Vec<PathUse>) -> bool {
    let Some(path) = word.literal().filter(|path| !path.is_empty()) else { return false };
    tests.push(PathUse { path: path.to_owned(), span: word.span, role: FileRole::Tested });
    true
}

/// The `set` that disables error checking: `set +e`, `set +o pipefail`.
fn weakened(words: &[Word]) -> Option<Span> {
    let (first, options) = words.split_first().filter(|(first, _)| first.literal() == Some("set"))?;
    let is_guard = |word: &Word| matches!(word.literal(), Some("errexit" | "pipefail"));
    let off = options.iter().enumerate().find(|(index, word)| match word.literal() {
        Some("+o") => options.get(index + 1).is_some_and(is_guard),
        Some(text) => text.starts_with('+') && text.contains('e'),
        None => false,
    });
    off.map(|(index, word)| {
        Span::new(
            first.span.start,
            options.get(index + 1).filter(|next| is_guard(next)).unwrap_or(word).span.end,
        )
    })
}

/// The working directory, relative to the workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Folder {
    /// A known directory; empty for the workspace itself.
    Known(String),
    /// A directory that is or may be outside the workspace: an absolute path, or one that goes up. Writes from there
    /// count; reads don't concern files of the plan.
    Elsewhere(String),
    /// Unknown.
    Unknown,
}

impl Folder {
    /// Resolves a path from here; `None` if unknown.
    fn lead(&self, path: &str) -> Option<String> {
        match self {
            _ if path.starts_with('/') => Some(path.to_owned()),
            Self::Known(folder) if folder.is_empty() => Some(path.to_owned()),
            Self::Known(folder) | Self::Elsewhere(folder) => Some(flat(&format!("{folder}/{path}"))),
            Self::Unknown => None,
        }
    }

    /// The same, but only for paths inside the workspace.
    fn join(&self, path: &str) -> Option<String> {
        let is_elsewhere = matches!(self, Self::Elsewhere(_)) && !path.starts_with('/');
        self.lead(path).filter(|_| !is_elsewhere)
    }

    fn enter(&self, target: Option<&str>) -> Self {
        match target {
            Some("") => self.clone(),
            // `cd -` returns to the previous directory.
            Some(path) if !path.starts_with('-') => match self.lead(path).map(|path| flat(&path)) {
                Some(path) if path.starts_with('/') || path.split('/').next() == Some("..") => {
                    Self::Elsewhere(path)
                }
                Some(path) => Self::Known(path),
                None => Self::Unknown,
            },
            Some(_) | None => Self::Unknown,
        }
    }
}

/// A path without `.`, double slashes and resolvable `..`.
pub(crate) fn flat(path: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let root = if path.starts_with('/') { "/" } else { "" };
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            ".." if !root.is_empty() => {}
            name => names.push(name),
        }
    }
    format!("{root}{}", names.join("/"))
}

struct Walk {
    found: Found,
    folder: Folder,
    /// Whether the current command is negated: then a tested file must not exist.
    is_negated: bool,
}

impl Walk {
    fn command(&mut self, command: &ShellCommand) {
        // bash opens files before it does anything, a `cd` in the command included.
        command.redirects.iter().for_each(|redirect| self.redirect(redirect));
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                self.words(assignments);
                self.words(words);
                self.found.weakened = self.found.weakened.or_else(|| weakened(words));
                self.simple(words, command.depth);
            }
            CommandKind::Pipeline(commands) => commands.iter().for_each(|command| self.apart(command)),
            CommandKind::Sequence(commands) => commands.iter().for_each(|command| self.command(command)),
            CommandKind::Chain { first, rest } => {
                self.command(first);
                for (_, next) in rest {
                    self.command(next);
                }
            }
            CommandKind::Not(inner) => {
                self.is_negated = !self.is_negated;
                self.command(inner);
                self.is_negated = !self.is_negated;
            }
            CommandKind::If { condition, then, otherwise } => {
                self.command(condition);
                self.perhaps(then);
                if let Some(otherwise) = otherwise {
                    self.perhaps(otherwise);
                }
            }
            CommandKind::While { condition, body } | CommandKind::Until { condition, body } => {
                self.command(condition);
                self.perhaps(body);
            }
            CommandKind::For { words, body, .. } | CommandKind::Select { words, body } => {
                self.words(words);
                self.perhaps(body);
            }
            CommandKind::Case { words, arms } => {
                self.words(words);
                for arm in arms {
                    self.perhaps(arm);
                }
            }
            CommandKind::Function { name, body } => {
                self.found.functions.insert(name.clone());
                self.perhaps(body);
            }
            CommandKind::Subshell(body) | CommandKind::Background(body) | CommandKind::Coprocess(body) => {
                self.apart(body);
            }
            CommandKind::Group(body) => self.command(body),
            CommandKind::Condition(condition) => self.condition(condition),
            CommandKind::Arithmetic(word) => self.words(std::slice::from_ref(word)),
            CommandKind::Nothing => {}
        }
    }

    /// A command in a subprocess: its `cd` ends with it.
    fn apart(&mut self, command: &ShellCommand) {
        let folder = self.folder.clone();
        self.command(command);
        self.folder = folder;
    }

    /// A command that may not run: after its `cd` the directory is unknown.
    fn perhaps(&mut self, command: &ShellCommand) {
        let folder = self.folder.clone();
        self.command(command);
        if self.folder != folder {
            self.folder = Folder::Unknown;
        }
    }

    fn words(&mut self, words: &[Word]) {
        for substitution in words.iter().flat_map(|word| &word.substitutions) {
            let is_negated = std::mem::replace(&mut self.is_negated, false);
            self.apart(substitution);
            self.is_negated = is_negated;
        }
    }

    fn redirect(&mut self, redirect: &Redirect) {
        self.words(std::slice::from_ref(&redirect.target));
        match redirect.way {
            Way::From => self.path(&redirect.target, FileRole::Read),
            Way::Into => self.path(&redirect.target, FileRole::Written),
            Way::Inner => {}
        }
    }

    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Unary { operator, operand } => {
                self.words(std::slice::from_ref(operand));
                if arguments::is_file_test(operator) && !self.is_negated {
                    self.path(operand, FileRole::Tested);
                }
            }
            Condition::Binary { operator, left, right } => {
                for word in [left, right] {
                    self.words(std::slice::from_ref(word));
                    if matches!(operator.as_str(), "-nt" | "-ot" | "-ef") && !self.is_negated {
                        self.path(word, FileRole::Tested);
                    }
                }
            }
            Condition::And(left, right) | Condition::Or(left, right) => {
                self.condition(left);
                self.condition(right);
            }
            Condition::Not(inner) => {
                self.is_negated = !self.is_negated;
                self.condition(inner);
                self.is_negated = !self.is_negated;
            }
            Condition::Opaque => {}
        }
    }

    fn simple(&mut self, words: &[Word], depth: usize) {
        let mut words = words;
        loop {
            let Some(first) = words.first() else { return };
            let Some(name) = first.literal().filter(|name| !name.is_empty()) else { return };
            self.call(name, first.span);
            match arguments::wrapped(words) {
                Some(at) => words = &words[at..],
                None => break,
            }
        }
        let Some(name) = words.first().and_then(Word::literal) else { return };
        match name {
            "test" | "[" if !self.is_negated => {
                for word in arguments::tested(words).files {
                    self.path(word, FileRole::Tested);
                }
            }
            "cd" => {
                let target =
                    words.iter().skip(1).find(|word| !matches!(word.literal(), Some("--" | "-P" | "-L")));
                self.folder = self.folder.enter(target.and_then(Word::literal));
            }
            "pushd" | "popd" => self.folder = Folder::Unknown,
            "alias" => {
                let names = words.iter().skip(1).filter_map(|word| word.raw.split_once('='));
                self.found.functions.extend(names.map(|(name, _)| name.to_owned()));
            }
            "eval" => self.evaluate(&words[1..], depth),
            "trap" => {
                let body = words.iter().skip(1).find(|word| word.literal() != Some("--"));
                self.script(body, depth);
            }
            "find" => self.find(words, depth),
            _ => self.files(words, depth),
        }
    }

    fn files(&mut self, words: &[Word], depth: usize) {
        match arguments::shell_input(words) {
            Some(ShellInput::Text(word, _)) => {
                let folder = self.folder.clone();
                self.script(Some(word), depth);
                self.folder = folder;
            }
            Some(ShellInput::File(word, role)) => self.path(word, role),
            None => {
                for (word, role) in arguments::files(words) {
                    self.path(word, role);
                }
            }
        }
    }

    fn evaluate(&mut self, words: &[Word], depth: usize) {
        let Some(first) = words.first() else { return };
        let Some(texts) = words.iter().map(Word::literal).collect::<Option<Vec<&str>>>() else { return };
        if let Some(inner) = tree::read_within(&texts.join(" "), first.span, depth) {
            self.command(&inner);
        }
    }

    fn script(&mut self, word: Option<&Word>, depth: usize) {
        if let Some(word) = word
            && let Some(text) = word.literal().filter(|text| !text.starts_with('-'))
            && let Some(inner) = tree::read_within(text, word.span, depth)
        {
            self.command(&inner);
        }
    }

    /// Walks the commands that `find` runs, in directories that are unknown here.
    fn find(&mut self, words: &[Word], depth: usize) {
        let mut rest = words;
        while let Some(at) = rest
            .iter()
            .position(|word| matches!(word.literal(), Some("-exec" | "-execdir" | "-ok" | "-okdir")))
        {
            rest = &rest[at + 1..];
            let end =
                rest.iter().position(|word| matches!(word.literal(), Some(";" | "+"))).unwrap_or(rest.len());
            let folder = std::mem::replace(&mut self.folder, Folder::Unknown);
            self.simple(&rest[..end], depth);
            self.folder = folder;
            rest = &rest[end..];
        }
    }

    fn call(&mut self, name: &str, span: Span) {
        if is_builtin(name) {
            return;
        }
        if !name.contains('/') {
            self.found.calls.push(ShellCall { name: name.to_owned(), span });
        } else if let Some(path) = self.folder.join(name) {
            self.found.calls.push(ShellCall { name: path.clone(), span });
            self.found.paths.push(PathUse { path, span, role: FileRole::Run });
        }
    }

    fn path(&mut self, word: &Word, role: FileRole) {
        let Some(text) = word.literal().filter(|text| !text.is_empty()) else { return };
        if role == FileRole::Written {
            return self.written(text, word.span);
        }
        let is_device = text.starts_with("/dev/") || text.starts_with("/proc/");
        if text.starts_with('-') || is_device || text.contains(['\n', '\0']) || text.contains("://") {
            return;
        }
        if let Some(path) = self.folder.join(text) {
            self.found.paths.push(PathUse { path, span: word.span, role });
        }
    }

    /// A written file, whatever its name.
    fn written(&mut self, text: &str, span: Span) {
        match self.folder.lead(text) {
            Some(path) if flat(&path).starts_with("/dev/") => {}
            Some(path) => self.found.paths.push(PathUse { path, span, role: FileRole::Written }),
            None => self.found.adrift = Some(text.to_owned()),
        }
    }
}
