//! Static analysis of contracts: the programs they call, the files they name, their possible exit codes. Owns all
//! parsing of bash; never starts a process, reads a file, or decides what to report.

mod requirement;
mod expansion;
mod limits;
mod read_only;
mod arguments;
mod exit_code;
mod test_command;
mod tree;
mod walk;
mod word;

use std::collections::BTreeSet;

pub use read_only::{beyond_looking, is_single_call, lookers};
pub use requirement::{FileRequirement, Nature, RequirementPlace, Single, demands};
pub(crate) use walk::flat;

use crate::syntax::source::Span;

/// What is known about a contract without running it. Spans are bytes of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellScript {
    /// Why nothing else is known. The script may still be valid bash: `bash -n` decides.
    pub fault: Option<ShellFault>,
    /// The programs called, in text order.
    pub calls: Vec<ShellCall>,
    /// The functions and aliases that it defines.
    pub functions: BTreeSet<String>,
    /// The files that it names.
    pub paths: Vec<PathUse>,
    /// A file that it writes from an unknown directory, as written.
    pub adrift: Option<String>,
    /// The exit codes that it can end with.
    pub outcome: ExitOutcome,
    /// A command that disables error checking: `set +e` or `set +o pipefail`.
    pub weakened: Option<Span>,
    /// The tested paths, if the script does nothing but test that paths exist.
    pub tests: Option<Vec<PathUse>>,
}

/// A position where parsing failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellFault {
    /// Where parsing stopped.
    pub span: Span,
    /// What is wrong there.
    pub message: String,
}

/// One call of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCall {
    /// The name without quotes. A relative path after `cd` is given relative to the workspace.
    pub name: String,
    /// The word that holds the name.
    pub span: Span,
}

/// One use of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathUse {
    /// Relative to the workspace, or absolute.
    pub path: String,
    /// The word that holds the path.
    pub span: Span,
    /// What is done with the file.
    pub role: FileRole,
}

/// What a script does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileRole {
    /// It tests whether the file exists.
    Tested,
    /// It reads the file.
    Read,
    /// It writes the file.
    Written,
    /// It runs the file.
    Run,
}

/// What the exit code can be, under `bash -euo pipefail -c`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitOutcome {
    /// It depends on the commands.
    Open,
    /// It is always the same.
    Fixed {
        code: u8,
        span: Span,
        /// The explanation, as a fragment for a label.
        why: String,
    },
    /// A plain shell always succeeds; only `-e`, `-u` and `-o pipefail` make failure possible.
    Masked {
        /// The part that decides.
        span: Span,
        /// The explanation, as a fragment for a label.
        why: String,
    },
}

/// Analyzes `script` as run by `bash -euo pipefail -c`.
pub fn analyse(script: &str) -> ShellScript {
    let tree = match tree::read(script) {
        Ok(tree) => tree,
        Err(fault) => {
            return ShellScript {
                fault: Some(fault),
                calls: Vec::new(),
                functions: BTreeSet::new(),
                paths: Vec::new(),
                adrift: None,
                outcome: ExitOutcome::Open,
                weakened: None,
                tests: None,
            };
        }
    };
    let found = walk::walk(&tree);
    let outcome = exit_code::judge(script, &tree, &found.functions);
    ShellScript {
        fault: None,
        calls: found.calls,
        functions: found.functions,
        paths: found.paths,
        adrift: found.adrift,
        outcome,
        weakened: found.weakened,
        tests: walk::only_tests(&tree),
    }
}

/// Finds what a script opens and never closes: a bracket, a brace, a quote or a compound command. `None` if the script
/// is complete, or broken in another way.
///
/// Something is open if the text before it would be a complete script with any command in its place. The last such
/// opening is the one that a reader looks for.
pub fn opener(script: &str) -> Option<Span> {
    const TRIES_MAX: usize = 64;
    let is_whole = |text: &str| tree::read(text).is_ok();
    if is_whole(script) {
        return None;
    }
    let candidates = openings(script).into_iter().rev().take(TRIES_MAX);
    candidates.into_iter().find(|opening| is_whole(&format!("{} true", &script[..opening.start])))
}

/// Everything in a script that may open something, quoted or not.
fn openings(script: &str) -> Vec<Span> {
    const KEYWORDS: [&str; 6] = ["if", "while", "until", "for", "case", "select"];
    let mut openings = Vec::new();
    let mut word = 0;
    for (at, character) in script.char_indices().chain([(script.len(), '\n')]) {
        if !character.is_alphanumeric() {
            if KEYWORDS.contains(&&script[word..at]) {
                openings.push(Span::new(word, at));
            }
            word = at + character.len_utf8();
        }
        match character {
            '(' | '{' if script[..at].ends_with('$') => openings.push(Span::new(at - 1, at + 1)),
            '(' | '{' | '"' | '\'' | '`' => openings.push(Span::new(at, at + 1)),
            _ => {}
        }
    }
    openings
}

/// Whether `name` is a bash builtin or keyword.
pub fn is_builtin(name: &str) -> bool {
    BUILTINS.binary_search(&name).is_ok()
}

/// Sorted for binary search.
const BUILTINS: [&str; 83] = [
    "!",
    ".",
    ":",
    "[",
    "[[",
    "]]",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
    "{",
    "}",
];

#[cfg(test)]
#[path = "shell/look_tests.rs"]
mod look_tests;
#[cfg(test)]
mod tests;
