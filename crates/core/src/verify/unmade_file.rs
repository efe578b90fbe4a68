//! PW0203: a step that reads a file which won't exist when it starts.

use super::subject::FileMaker;
use super::{Diagnostic, Rule, VerifySubject};
use crate::plan::edit::PlanEdit;
use crate::syntax::diagnostic::Severity;
use crate::plan::verified::Reference;
use crate::syntax::source::Spanned;

pub(super) const RULE: Rule = Rule {
    code: "PW0203",
    name: "unmade-file",
    severity: Severity::Error,
    summary: "a step reads a file that doesn't exist and that no earlier step creates",
    page: include_str!("../../rules/unmade-file.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    for (place, step) in subject.steps() {
        for read in &step.reads {
            let Some(Reference::File(path)) = Reference::read(&read.value) else { continue };
            if !super::escaping_path::leaves_workspace(&path) && !subject.is_there_before(&path, place) {
                found.push(unmade(subject, place, read, &path));
            }
        }
    }
}

fn unmade(subject: &VerifySubject<'_>, place: usize, read: &Spanned<String>, path: &str) -> Diagnostic {
    let span = subject.tail(read, path);
    let name = subject.name(place);
    let message = format!("{name} reads `{path}`, which no earlier step creates");
    let unmade = RULE.at(span, message).label("file not found");
    let others = subject.makers(path);
    let Some(&FileMaker { place: maker, span: says, .. }) = others.iter().find(|maker| maker.place != place) else {
        return match others.first() {
            Some(own) => unmade.also(own.span, "only the same step seems to create it").help("a step can't read a file that it creates itself"),
            None => unmade.help("correct the path, or create the file in an earlier step"),
        };
    };
    let unmade = unmade.also(says, format!("{} seems to create it", subject.name(maker)));
    let (this, that) = (subject.short_name(place), subject.short_name(maker));
    if subject.reach.is_before(place, maker) {
        let file = subject.source.name();
        return unmade.help(format!(
            "{that} needs {this}; move it first: planwright edit {file} --move {}={}",
            subject.ids[maker],
            place + 1
        ));
    }
    let wait = PlanEdit::Need { step: place, on: subject.ids[maker].clone() };
    match subject.repair(&wait) {
        Some(edits) => unmade.fix(format!("make {this} need {that}"), edits),
        None => unmade.help(format!("make {this} need {that}")),
    }
}
