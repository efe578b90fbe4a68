//! Finds contracts in the prose of dialects that have no contract field: commands in fences or backticks. Accepts only
//! text that is clearly nothing but commands. If anything else must be checked, the whole contract is manual, so that
//! no step passes on half of its criteria.

use crate::plan::draft::ContractDraft;
use crate::syntax::markdown::{Blocks, Code};
use crate::syntax::shell;
use crate::syntax::source::{Excerpt, Source, Span, Spanned};

/// Words around commands that ask for nothing except that they pass.
const NEUTRAL: &[&str] = &[
    "run",
    "runs",
    "running",
    "rerun",
    "execute",
    "command",
    "commands",
    "verify",
    "ensure",
    "confirm",
    "check",
    "checks",
    "that",
    "the",
    "this",
    "it",
    "following",
    "all",
    "both",
    "each",
    "of",
    "these",
    "must",
    "should",
    "and",
    "then",
    "also",
    "plus",
    "or",
    "via",
    "with",
    "by",
    "using",
    "from",
    "repo",
    "repository",
    "project",
    "root",
    "at",
    "is",
    "are",
    "still",
    "stays",
    "remains",
    "passes",
    "pass",
    "passing",
    "passed",
    "succeeds",
    "succeed",
    "green",
    "clean",
    "cleanly",
    "ok",
    "exits",
    "exit",
    "returns",
    "return",
    "code",
    "status",
    "without",
    "no",
    "error",
    "errors",
    "successfully",
    "0",
    "+",
    "&",
    "&&",
    "→",
    "->",
    "=>",
    "—",
    "–",
    "-",
    "✅",
    "✓",
];

/// Words that must not join two commands: either one would do, or one would not run.
const CHOICES: &[&str] = &["or"];

/// Fence languages that a shell can run. `console` counts as long as it has no prompt.
const SHELLS: &[&str] = &["bash", "sh", "shell", "zsh", "console", "terminal"];

/// Programs that need no arguments.
const ALONE: &[&str] = &[
    "ant", "bats", "ctest", "eslint", "gradle", "jest", "just", "make", "mypy", "mvn", "ninja", "nox",
    "phpunit", "pytest", "rake", "rspec", "tox", "tsc", "vitest",
];

/// First words of code that is not shell.
const FOREIGN: &[&str] = &[
    "import",
    "from",
    "const",
    "let",
    "var",
    "fn",
    "def",
    "class",
    "return",
    "select",
    "insert",
    "update",
    "delete",
    "public",
    "private",
    "async",
    "await",
    "struct",
    "enum",
    "interface",
    "function",
    "use",
    "type",
];

/// The contract in `region`; manual if it can't be run, `None` if there is none.
pub(super) fn contract(source: &Source, blocks: &Blocks, region: Span) -> Option<ContractDraft> {
    if source.slice(region).trim().is_empty() {
        return None;
    }
    let fences: Vec<&Code> = blocks.codes_in(region).filter(|code| code.span.end <= region.end).collect();
    let contract = match fences.as_slice() {
        [] => quoted(source, region),
        fences => fenced(source, region, fences),
    };
    Some(contract.unwrap_or(ContractDraft { is_manual: true, ..ContractDraft::default() }))
}

/// The commands of all fences in order, if the text asks for nothing else.
fn fenced(source: &Source, region: Span, fences: &[&Code]) -> Option<ContractDraft> {
    let mut around = Around::default();
    let mut at = region.start;
    for code in fences {
        around.read(source.slice(Span::new(at, code.span.start.max(at))))?;
        at = code.span.end;
        let is_shell = code
            .language
            .as_ref()
            .is_none_or(|language| SHELLS.iter().any(|known| language.value.eq_ignore_ascii_case(known)));
        let has_prompt = code.text.value.lines().any(|line| line.starts_with("$ ") || line.starts_with("> "));
        if !is_shell || has_prompt || code.text.value.trim().is_empty() {
            return None;
        }
    }
    around.read(source.slice(Span::new(at, region.end)))?;
    let mut command = fences[0].text.clone();
    for code in &fences[1..] {
        command.span.end = code.span.end;
        command.push(&code.text.value, code.text.locate(Span::at(0)).start);
    }
    if command.value.ends_with('\n') {
        command.value.pop();
    }
    let language = fences[0].language.clone();
    Some(ContractDraft {
        command: Some(command),
        language,
        expect: around.expected(region),
        is_manual: false,
    })
}

/// The commands in backticks, if the text asks for nothing else.
fn quoted(source: &Source, region: Span) -> Option<ContractDraft> {
    let text = source.slice(region);
    let mut around = Around::default();
    let mut commands: Vec<Span> = Vec::new();
    let mut at = 0;
    while let Some(tick) = text[at..].find('`') {
        around.read(&text[at..at + tick])?;
        let ticks = text[at + tick..].bytes().take_while(|&byte| byte == b'`').count();
        let start = at + tick + ticks;
        let length = text[start..].find(&text[at + tick..start])?;
        let code = text[start..start + length].trim();
        if !is_command(code) {
            return None;
        }
        let code_start = start + (text[start..].len() - text[start..].trim_start().len());
        commands.push(Span::new(region.start + code_start, region.start + code_start + code.len()));
        at = start + length + ticks;
    }
    around.read(&text[at..])?;
    let is_choice = around.has_choice && commands.len() > 1;
    // With several commands, it is unclear which one the expected exit code belongs to.
    let is_vague = around.code.is_some() && commands.len() > 1;
    let command = joined(source, &commands)?;
    let expect = around.expected(region);
    (!is_choice && !is_vague).then(|| ContractDraft {
        command: Some(command),
        expect,
        ..ContractDraft::default()
    })
}

/// The text around the commands.
#[derive(Default)]
struct Around {
    /// The expected exit code, if not 0.
    code: Option<String>,
    has_choice: bool,
}

impl Around {
    /// Parses the text; `None` if it asks for more than that the commands pass.
    fn read(&mut self, text: &str) -> Option<()> {
        let mut before = String::new();
        for word in text.split([' ', '\t', '\n', '\r', ',', ';', ':', '(', ')', '|']) {
            let word = word.trim_matches(['.', '*', '_', '!', '"', '>']).to_lowercase();
            if word.is_empty() || NEUTRAL.contains(&word.as_str()) || self.is_code(&word, &before) {
                self.has_choice |= CHOICES.contains(&word.as_str());
                before = word;
            } else {
                return None;
            }
        }
        Some(())
    }

    /// `exits 3`, `exit code 3`, `exit status 3`.
    fn is_code(&mut self, word: &str, before: &str) -> bool {
        let is_number = word.len() <= 3 && word.bytes().all(|byte| byte.is_ascii_digit());
        let is_code = is_number && ["exits", "exit", "code", "status", "with", "returns"].contains(&before);
        if is_code {
            self.code = Some(word.to_owned());
        }
        is_code
    }

    fn expected(self, region: Span) -> Option<Spanned<String>> {
        self.code.map(|code| Spanned::new(code, region))
    }
}

/// Whether code is a shell command, rather than a file, a value or a snippet of a program.
fn is_command(code: &str) -> bool {
    let is_assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| is_variable(name));
    let mut words = code
        .split_whitespace()
        .skip_while(|word| is_assignment(word) || ["!", "sudo", "time"].contains(word));
    let Some(first) = words.next().map(|word| word.trim_start_matches(['(', '{'])) else { return false };
    let is_name =
        first.chars().all(|character| character.is_ascii_alphanumeric() || "_./+~-[".contains(character))
            && first.contains(|character: char| character.is_ascii_lowercase() || character == '[')
            && !first.starts_with(|character: char| character.is_ascii_digit() || character == '-');
    let is_script = first.starts_with("./") || matches!(first.rsplit_once('.'), Some((_, "sh" | "bash")));
    let is_file =
        !is_script && first.contains('/') && first.rsplit('/').next().is_some_and(|file| file.contains('.'));
    let is_known = match words.next() {
        None => is_script || ALONE.contains(&first),
        Some(second) => !["=", "==", "!=", ":=", "=>", "->", "→", "is", "are"].contains(&second),
    };
    is_name && is_known && !is_file && !FOREIGN.contains(&first) && shell::analyse(code).fault.is_none()
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Joins commands into one that passes when all do. Each runs in a subshell, so that none affects the next.
fn joined(source: &Source, commands: &[Span]) -> Option<Excerpt> {
    let (first, last) = commands.first().zip(commands.last())?;
    let mut joined = Excerpt::new(Span::new(first.start, last.end));
    for (index, &command) in commands.iter().enumerate() {
        let text = source.slice(command);
        if index > 0 {
            joined.push(" && ", command.start);
        }
        let is_alone =
            commands.len() == 1 || !text.contains([';', '|', '&', '#']) && !text.starts_with("cd ");
        if is_alone {
            joined.push(text, command.start);
        } else {
            joined.push("( ", command.start);
            joined.push(text, command.start);
            joined.push(if text.contains('#') { "\n)" } else { " )" }, command.end);
        }
    }
    Some(joined)
}

#[cfg(test)]
mod tests;
