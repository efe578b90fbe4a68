//! PW0104: an unknown key or field, which has no effect.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::dialect::directory;
use crate::plan::draft::ParseIssue;
use crate::syntax::source::Edit;
use crate::syntax::nearest as suggest;

pub(super) const RULE: Rule = Rule {
    code: "PW0104",
    name: "unknown-field",
    severity: Severity::Warning,
    summary: "a frontmatter key or step field is unknown",
    page: include_str!("../../rules/unknown-field.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let first = found.len();
    let dialect = subject.source.dialect();
    let reserved = if subject.is_directory() { directory::RESERVED } else { &[] };
    let fields = || dialect.fields.iter().flat_map(|(_, names)| names.iter().copied());
    let names = || fields().chain(reserved.iter().copied());
    for entry in &subject.draft.frontmatter.entries {
        let key = &entry.key;
        // An invalid key has its own diagnostic already.
        if subject.draft.oddities.0.iter().any(|oddity| oddity.span == key.span) {
            continue;
        }
        if !dialect.keys.contains(&key.value.as_str()) {
            let meant = nearest(&key.value, dialect.keys.iter().copied());
            // A similar name that is already in use can't be what the author meant.
            let meant = meant.filter(|meant| subject.draft.frontmatter.entry(meant).is_none());
            let unknown = RULE.at(key.span, format!("unknown key `{}` in frontmatter", key.value));
            found.push(suggested(unknown, meant));
        }
    }
    for (place, step) in subject.steps() {
        for field in step.fields.0.iter().filter(|field| field.kind.is_none()) {
            let name = &field.name.value;
            let meant = nearest(name, names());
            // A field that the step already has can't be what the author meant.
            let named = |meant: &str| dialect.fields.iter().find(|(_, names)| names.contains(&meant));
            let has = |meant: &str| named(meant).is_some_and(|&(kind, _)| step.field(kind).is_some());
            let meant = meant.filter(|meant| !has(meant));
            let unknown = RULE.at(field.name.span, format!("unknown field `{name}` in {}", subject.name(place)));
            found.push(suggested(unknown, meant));
        }
    }
    for oddity in &subject.draft.oddities.0 {
        if let ParseIssue::NearlyField { meant } = &oddity.value {
            let name = subject.source.slice(oddity.span);
            let nearly = RULE
                .at(oddity.span, format!("`{name}` looks like field `{meant}` but is read as task text"));
            found.push(suggested(nearly, Some(meant)));
        }
    }
    if dialect.is_strict {
        found[first..].iter_mut().for_each(|unknown| refuse(subject, unknown));
    }
}

/// The known name that was probably meant: the nearest, or the same in another letter case.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let is_same = |known: &&str| known.eq_ignore_ascii_case(name);
    known.clone().find(is_same).or_else(|| suggest::nearest(&name.to_lowercase(), known))
}

/// A strict dialect allows no other names, so an unknown one is an error.
fn refuse(subject: &VerifySubject<'_>, unknown: &mut Diagnostic) {
    unknown.severity = Severity::Error;
    if unknown.fix.is_some() {
        return;
    }
    let dialect = subject.source.dialect();
    let is_key = subject.draft.frontmatter.entries.iter().any(|entry| entry.key.span == unknown.primary.span);
    let fields = dialect.fields.iter().map(|(_, names)| names[0]);
    let reserved = directory::RESERVED.iter().copied().filter(|name| !fields.clone().any(|field| field == *name));
    let known: Vec<&str> = if is_key { dialect.keys.to_vec() } else { fields.clone().chain(reserved).collect() };
    "unknown key".clone_into(&mut unknown.primary.text);
    unknown.help = Some(format!("expected one of {}", known.join(", ")));
}

fn suggested(unknown: Diagnostic, meant: Option<&str>) -> Diagnostic {
    let span = unknown.primary.span;
    match meant {
        Some(meant) => unknown
            .label(format!("did you mean `{meant}`?"))
            .fix(format!("change it to `{meant}`"), vec![Edit::replace(span, meant)]),
        None => unknown.label("ignored"),
    }
}
