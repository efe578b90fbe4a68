//! Explains which part of a script decides its exit code, and how, in label texts.

use super::{Judge, Verdict, exit_trap, simple_words, statements};
use crate::syntax::shell::tree::{CommandKind, ListLink, ShellCommand};
use crate::syntax::shell::word::Word;
use crate::syntax::source::Span;

/// Longer commands are abbreviated in quotes.
const QUOTE_CHARACTERS_MAX: usize = 32;

/// The part of the script that decides its code, and how.
pub(super) fn explain(
    script: &str,
    tree: &ShellCommand,
    judge: &Judge<'_>,
    verdict: &Verdict,
) -> (Span, String) {
    let Some(statement) = statements(tree).get(verdict.decisive) else {
        return (tree.span, "nothing to run".to_owned());
    };
    let code = verdict.code().unwrap_or_default();
    let scene = Scene { script, judge, code, is_after_others: verdict.decisive > 0 };
    let (span, why) = scene.explain(statement);
    match verdict.loosened {
        Some(command) => (span, format!("after `{command}`, {why}")),
        None => (span, why),
    }
}

struct Scene<'s> {
    script: &'s str,
    judge: &'s Judge<'s>,
    code: u8,
    is_after_others: bool,
}

impl Scene<'_> {
    fn explain(&self, command: &ShellCommand) -> (Span, String) {
        match &command.kind {
            CommandKind::Group(body) | CommandKind::Subshell(body) => self.explain(body),
            CommandKind::Sequence(commands) => match commands.last() {
                Some(last) => Scene { is_after_others: commands.len() > 1, ..*self }.explain(last),
                None => (command.span, "nothing to run".to_owned()),
            },
            CommandKind::Background(_) => {
                (command.span, "nothing waits for the background command after `&`".to_owned())
            }
            CommandKind::Chain { first, rest } => self.explain_chain(command, first, rest),
            CommandKind::Simple { words, assignments } if words.is_empty() => {
                let is_plain = assignments.iter().all(|word| word.substitutions.is_empty());
                let plain = || "an assignment always succeeds".to_owned();
                (command.span, if is_plain { plain() } else { self.always(command) })
            }
            CommandKind::Simple { words, .. } => (command.span, self.simple(command, words)),
            CommandKind::Pipeline(commands) => match commands.last() {
                Some(last) if self.code == 0 => {
                    (last.span, format!("the exit code is that of {}", self.name(last)))
                }
                Some(_) | None => (command.span, self.always(command)),
            },
            CommandKind::If { otherwise: None, .. } if self.code == 0 => {
                (command.span, "`if` without `else` succeeds when its condition fails".to_owned())
            }
            CommandKind::While { .. } | CommandKind::Until { .. } | CommandKind::For { .. }
                if self.code == 0 =>
            {
                (command.span, "the loop succeeds whatever its commands return".to_owned())
            }
            CommandKind::If { .. } | CommandKind::Case { .. } if self.code == 0 => {
                (command.span, "none of its branches can fail".to_owned())
            }
            CommandKind::Function { .. } => (command.span, "defined but never called".to_owned()),
            CommandKind::If { .. }
            | CommandKind::While { .. }
            | CommandKind::Until { .. }
            | CommandKind::For { .. }
            | CommandKind::Not(_)
            | CommandKind::Select { .. }
            | CommandKind::Case { .. }
            | CommandKind::Coprocess(_)
            | CommandKind::Condition(_)
            | CommandKind::Arithmetic(_)
            | CommandKind::Nothing => (command.span, self.always(command)),
        }
    }

    fn explain_chain(
        &self,
        chain: &ShellCommand,
        first: &ShellCommand,
        rest: &[(ListLink, ShellCommand)],
    ) -> (Span, String) {
        let before =
            rest.len().checked_sub(2).and_then(|at| rest.get(at)).map_or(first, |(_, command)| command);
        let Some((ListLink::Or, last)) = rest.last() else { return (chain.span, self.always(chain)) };
        let settles = |command: &ShellCommand| self.judge.script(command).code();
        let is_settled_before = rest.len() == 1 && settles(first).is_some();
        if chain.depth > 0 || is_settled_before || settles(last) != Some(self.code) {
            return (chain.span, self.always(chain));
        }
        let operator =
            self.script.get(before.span.end..last.span.start).and_then(|between| between.find("||"));
        let start = operator.map_or(last.span.start, |at| before.span.end + at);
        let text = quote(self.script.get(last.span.start..last.span.end).unwrap_or_default());
        let effect = match self.code {
            0 => "success".to_owned(),
            code => format!("exit code {code}"),
        };
        (Span::new(start, last.span.end), format!("`|| {text}` turns every failure into {effect}"))
    }

    fn simple(&self, command: &ShellCommand, words: &[Word]) -> String {
        match words.first().and_then(Word::literal) {
            Some("trap") if exit_trap(command).is_some() => {
                "the trap sets the exit code, hiding earlier failures".to_owned()
            }
            Some("exit") if self.is_after_others => {
                format!("`{}` hides earlier failures", self.quoted(command, "exit"))
            }
            Some("exit") => format!("`{}` sets the exit code", self.quoted(command, "exit")),
            Some(_) | None if self.is_after_others => {
                format!("the exit code is that of {}", self.name(command))
            }
            Some("wait") => "`wait` without operands always succeeds".to_owned(),
            Some(name @ ("true" | ":" | "echo" | "printf")) => format!("`{name}` always succeeds"),
            Some("false") => "`false` always fails".to_owned(),
            Some(_) | None => self.always(command),
        }
    }

    fn name(&self, command: &ShellCommand) -> String {
        match simple_words(command).first().and_then(Word::literal) {
            Some(name) => format!("`{}`", quote(name)),
            None => format!("`{}`", self.quoted(command, "its last command")),
        }
    }

    fn always(&self, command: &ShellCommand) -> String {
        let text = self.quoted(command, "…");
        match self.code {
            0 => format!("`{text}` always succeeds"),
            code => format!("`{text}` always exits {code}"),
        }
    }

    /// The text of a command, or `otherwise` if it is inside a word.
    fn quoted(&self, command: &ShellCommand, otherwise: &str) -> String {
        match self.script.get(command.span.start..command.span.end) {
            Some(text) if command.depth == 0 => quote(text),
            Some(_) | None => otherwise.to_owned(),
        }
    }
}

/// The text if it is short and on one line, else its start.
fn quote(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    if line.len() == text.len() && line.chars().count() <= QUOTE_CHARACTERS_MAX {
        return line.to_owned();
    }
    let words = line.split(' ').next().unwrap_or_default();
    format!("{} …", words.chars().take(QUOTE_CHARACTERS_MAX).collect::<String>())
}
