//! PW0204: a step that reads a topic without a page.

use super::{Diagnostic, Rule, VerifySubject};
use crate::syntax::diagnostic::Severity;
use crate::plan::verified::Reference;
use crate::syntax::source::Edit;
use crate::syntax::nearest;

pub(super) const RULE: Rule = Rule {
    code: "PW0204",
    name: "unknown-topic",
    severity: Severity::Warning,
    summary: "a step reads an unknown topic",
    page: include_str!("../../rules/unknown-topic.md"),
    check,
};

fn check(subject: &VerifySubject<'_>, found: &mut Vec<Diagnostic>) {
    let topics = &subject.facts.topics;
    for (place, step) in subject.steps() {
        for read in &step.reads {
            let Some(Reference::Topic(topic)) = Reference::read(&read.value) else { continue };
            if topics.contains(&topic) {
                continue;
            }
            let span = subject.tail(read, &topic);
            let unknown = RULE.at(span, format!("{} reads unknown topic `{topic}`", subject.name(place)));
            let meant = nearest::nearest(&topic, topics.iter().map(String::as_str)).filter(|_| span != read.span);
            found.push(match meant {
                Some(meant) => unknown
                    .label(format!("did you mean `{meant}`?"))
                    .fix(format!("change it to `{meant}`"), vec![Edit::replace(span, meant)]),
                None => unknown
                    .label("planwright will tell the agent that it is missing")
                    .help(format!("create .planwright/topics/{topic}.md")),
            });
        }
    }
}
