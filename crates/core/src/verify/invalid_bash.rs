//! PW0301: a contract or setup command that bash can't parse.

use super::{BashFault, Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::syntax::shell;
use crate::syntax::source::{Excerpt, Span};

pub(super) const RULE: Rule = Rule {
    code: "PW0301",
    name: "invalid-bash",
    severity: Severity::Error,
    summary: "a contract is not valid bash",
    page: include_str!("../../rules/invalid-bash.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for contract in subject.contracts() {
        // Bash decides, because bash runs the command. Our parser only gives a more exact position.
        let fault = subject.facts.bash.get(&contract.command.value).and_then(|faults| faults.first());
        let Some(fault) = fault else { continue };
        let line = line_span(contract.command, fault.line);
        let parsed = contract.script.fault.as_ref().map(|parsed| contract.command.locate(parsed.span));
        let span = parsed.filter(|span| line.covers(*span) && !span.is_empty()).unwrap_or(line);
        let message = format!("the contract of {} is not valid bash", subject.name(contract.place));
        // For an unexpected end of file, point at whatever was opened and never closed.
        let is_cut_short = fault.message.contains("unexpected end of file") || fault.message.contains("unexpected EOF");
        let quote = named_quote(&contract.command.value, fault);
        let opener = if is_cut_short { quote.or_else(|| shell::opener(&contract.command.value)) } else { None };
        found.push(match opener {
            Some(opener) => RULE
                .at(contract.command.locate(opener), message)
                .label("opened here, never closed")
                .note(format!("bash says: {}", fault.message)),
            None => RULE.at(span, message).label(fault.message.clone()),
        });
    }
    for (place, step) in subject.steps() {
        let Some(setup) = &step.setup else { continue };
        let fault = subject.facts.bash.get(&setup.value).and_then(|faults| faults.first());
        if let Some(fault) = fault {
            let message = format!("the setup of {} is not valid bash", subject.name(place));
            found.push(RULE.at(line_span(setup, fault.line), message).label(fault.message.clone()));
        }
    }
}

/// The unclosed quote that bash reports, on the line where bash says it starts.
fn named_quote(command: &str, fault: &BashFault) -> Option<Span> {
    let mark = fault.message.split("matching `").nth(1)?.chars().next()?;
    let mark = Some(mark).filter(|mark| ['"', '\'', '`'].contains(mark))?;
    let start: usize = command.split('\n').take(fault.line.checked_sub(1)?).map(|line| line.len() + 1).sum();
    let at = start + command.get(start..)?.lines().next()?.rfind(mark)?;
    Some(Span::new(at, at + 1))
}

/// The text on a line of a command, counted from 1; the last line if bash counted past the end.
fn line_span(command: &Excerpt, line: usize) -> Span {
    let lines: Vec<&str> = command.value.split('\n').collect();
    let wanted = line.clamp(1, lines.len()) - 1;
    // Bash reports an error at the end of the text on a blank line: point at the last line with text.
    let index = (0..=wanted).rev().find(|&index| !lines[index].trim().is_empty()).unwrap_or(0);
    let start: usize = lines[..index].iter().map(|line| line.len() + 1).sum();
    let text = lines[index];
    let indent = text.len() - text.trim_start().len();
    command.locate(Span::new(start + indent, start + text.trim_end().len().max(indent)))
}
