//! Converts a plan to another dialect and reports what the other can't express. Nothing is dropped silently: the result
//! is parsed again and compared field by field, then word by word.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::dialect::{Dialect, NATIVE, NewPlan};
use crate::plan::draft::{ContractDraft, Draft, ParseIssue, StepDraft};
use crate::plan::edit::unplaced;
use crate::plan::verified;
use crate::plan::view;
use crate::syntax::count::counted;
use crate::syntax::source::{Source, Spanned, text, texts};
use crate::syntax::text::one_line;

/// The target of a step without one.
const TARGET: &str = "coder";
/// Shorter words are too common to tell whether a text was carried over.
const WORD_CHARS_MIN: usize = 3;
/// The length of quotes of lost text.
const QUOTE_CHARS_MAX: usize = 60;

const PROSE: &[&str] = &["title", "context", "notes", "task", "accept"];

/// A plan in another dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// Its text; that of a directory if the dialect uses directories.
    pub text: String,
    /// What is lost.
    pub losses: Vec<Loss>,
}

/// Something that the dialect can't express.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Loss {
    /// The number of the step; `None` for the plan as a whole.
    pub step: Option<usize>,
    /// Such as `contract` or `text on line 12`.
    pub what: String,
    pub said: String,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said: Vec<char> = one_line(&self.said).chars().collect();
        if said.len() > QUOTE_CHARS_MAX {
            said.truncate(QUOTE_CHARS_MAX);
            said.push('…');
        }
        let said: String = said.into_iter().collect();
        match self.step {
            Some(step) => write!(f, "step {step}, {}: {said}", self.what),
            None => write!(f, "{}: {said}", self.what),
        }
    }
}

impl std::error::Error for Loss {}

/// A plan that would not have the same steps in another dialect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepsDiffer {
    /// Something in the old text looks like a step and was not read as one.
    Unread {
        /// With the name of the file.
        place: String,
    },
    Count {
        steps: usize,
        found: usize,
        dialect: &'static str,
    },
}

impl fmt::Display for StepsDiffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread { place } => write!(f, "{place}: looks like a step but is not read as one"),
            Self::Count { steps, found, dialect } => {
                let steps = counted(*steps, "step", "steps");
                write!(f, "the plan has {steps}, but {found} in dialect {dialect}")
            }
        }
    }
}

impl std::error::Error for StepsDiffer {}

/// Converts `source`, parsed as `draft`, to another dialect. Refused if the result would not have as many steps.
pub fn convert(
    source: &Source,
    draft: &Draft,
    to: &'static Dialect,
    birth: &NewPlan<'_>,
) -> Result<Converted, StepsDiffer> {
    let is_unread = |issue: &&Spanned<ParseIssue>| matches!(issue.value, ParseIssue::UnreadStep { .. });
    if let Some(unread) = draft.oddities.0.iter().find(is_unread) {
        let start = unread.span.start;
        let place = format!("{}:{}", source.name_at(start), source.position(start));
        return Err(StepsDiffer::Unread { place });
    }
    let prepared = prepared(draft, to);
    let written = Source::new(source.name(), to.compose(&prepared, birth)).written_in(to);
    let read = written.draft();
    if read.steps.len() != draft.steps.len() {
        let (steps, found) = (draft.steps.len(), read.steps.len());
        return Err(StepsDiffer::Count { steps, found, dialect: to.name });
    }
    let kept: BTreeSet<String> = words(written.text()).collect();
    let mut losses = plan_losses(&prepared, &read);
    // Prose may have moved or changed its form: only a word that is nowhere in the result is lost.
    losses.retain(|loss| {
        !PROSE.contains(&loss.what.as_str()) || words(&loss.said).any(|word| !kept.contains(&word))
    });
    losses.extend(text_losses(source, written.text()));
    Ok(Converted { text: written.text().to_owned(), losses })
}

/// The draft with the fields that every native step needs and other dialects leave out.
fn prepared(draft: &Draft, to: &Dialect) -> Draft {
    let mut draft = draft.clone();
    for step in draft.steps.iter_mut().filter(|_| to == NATIVE) {
        step.target.get_or_insert_with(|| unplaced(TARGET.to_owned()));
        step.task.get_or_insert_with(|| unplaced(step.title.value.clone()));
        let manual = || ContractDraft { is_manual: true, ..ContractDraft::default() };
        step.contract.get_or_insert_with(manual);
    }
    draft
}

/// The plan-wide facts by name.
fn facets(draft: &Draft) -> Vec<(String, String)> {
    let keys = draft.frontmatter.entries.iter().filter_map(|entry| {
        let value = entry.value.as_ref().filter(|value| !value.value.is_empty())?;
        Some((format!("key `{}`", entry.key.value), value.value.clone()))
    });
    let facets = [
        ("title", text(draft.title.as_ref())),
        ("owner", text(draft.owner.0.as_ref())),
        ("context", text(draft.context.as_ref())),
        ("priority", text(draft.priority.as_ref())),
        ("budget", text(draft.budget.as_ref())),
        ("notes", texts(&draft.notes).join("\n")),
        ("depends_on", texts(&draft.depends_on).join(", ")),
        ("touches", texts(&draft.touches).join(", ")),
    ];
    facets.into_iter().map(|(name, said)| (name.to_owned(), said)).chain(keys).collect()
}

/// The facts of a step by name.
fn step_facets(step: &StepDraft) -> Vec<(&'static str, String)> {
    let list = |items: &[Spanned<String>]| texts(items).join("\n");
    let contract = step.contract.as_ref();
    let command = contract.and_then(|contract| contract.command.as_ref());
    let expect = contract.and_then(|contract| contract.expect.as_ref());
    vec![
        ("title", step.title.value.clone()),
        ("target", text(step.target.as_ref())),
        ("task", text(step.task.as_ref())),
        ("contract", command.map(|command| command.value.clone()).unwrap_or_default()),
        ("exit code", text(expect.filter(|code| code.value != "0"))),
        ("green", text(step.green.as_ref())),
        ("judge", text(step.judge.as_ref())),
        ("on_fail", text(step.on_fail.as_ref())),
        ("reads", list(&step.reads)),
        ("touches", step.touches.as_deref().map(list).unwrap_or_default()),
        ("accept", list(&step.accept)),
        ("timeout", text(step.timeout.as_ref())),
        ("contract timeout", text(step.contract_timeout.as_ref())),
        ("sealed", list(&step.sealed)),
        ("tools", list(&step.tools)),
        ("env", list(&step.env)),
        ("network", text(step.network.as_ref())),
        ("setup", step.setup.as_ref().map(|setup| setup.value.clone()).unwrap_or_default()),
        ("each", list(&step.each)),
        ("mark", step.mark().map(|mark| mark.word().to_owned()).unwrap_or_default()),
    ]
}

fn plan_losses(meant: &Draft, read: &Draft) -> Vec<Loss> {
    let mut losses = Vec::new();
    let known: BTreeSet<(String, String)> =
        facets(read).into_iter().map(|(name, said)| (name, one_line(&said))).collect();
    for (what, said) in facets(meant) {
        // A key may have become a field; the comparison by words below covers it.
        let is_key = what.starts_with("key ");
        if !is_key && !said.is_empty() && !known.contains(&(what.clone(), one_line(&said))) {
            losses.push(Loss { step: None, what, said });
        }
    }
    let ids = |draft: &Draft| verified::ids(draft);
    let (old, new) = (ids(meant), ids(read));
    let (waits, waited) = (view::graph(meant), view::graph(read));
    for (place, step) in meant.steps.iter().enumerate() {
        let mut lost = |what: &str, said: String| {
            losses.push(Loss { step: Some(place + 1), what: what.to_owned(), said });
        };
        for ((what, said), (_, kept)) in step_facets(step).into_iter().zip(step_facets(&read.steps[place])) {
            if !said.is_empty() && one_line(&said) != one_line(&kept) {
                lost(what, said);
            }
        }
        if step.id.is_some() && new.get(place) != old.get(place) {
            lost("id", old[place].clone());
        }
        if waits.needs(place) != waited.needs(place) {
            let names: Vec<&str> = waits.needs(place).iter().map(|&need| old[need].as_str()).collect();
            lost("needs", names.join(", "));
        }
    }
    losses
}

/// Lines with a word that the new text has nowhere. This finds whatever a dialect doesn't parse, such as an additional
/// section.
fn text_losses(source: &Source, written: &str) -> Vec<Loss> {
    let kept: BTreeSet<String> = tokens(written).collect();
    let dialect = source.dialect();
    let mut losses = Vec::new();
    for part in source.parts() {
        let mut at = part.span.start;
        for line in pieces(source.slice(part.span)) {
            let (label, value) = labelled(line);
            let is_lost = match label {
                _ if is_frame(line) => false,
                Some(label) if is_known(dialect, label) || tokens(value).next().is_none() => false,
                // Unknown keys often have common words as values, so the key's name must survive as well.
                Some(label) => tokens(label).chain(tokens(value)).any(|word| !kept.contains(&word)),
                // A number in prose may be a step number, which other dialects count differently.
                None => words(value).any(|word| !kept.contains(&word)),
            };
            if is_lost {
                let number = source.position(at).line;
                let file = if part.path.is_empty() { String::new() } else { format!(" of {}", part.path) };
                losses.push(Loss {
                    step: None,
                    what: format!("text on line {number}{file}"),
                    said: line.trim().to_owned(),
                });
            }
            at += line.len();
        }
    }
    losses
}

/// The lines of a text; data on one line is split at its commas.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n').flat_map(|line| {
        let ends: &[char] = if line.starts_with(['{', '[']) { &[',', '\n'] } else { &['\n'] };
        line.split_inclusive(ends)
    })
}

/// Whether the dialect parses this label: its value was compared above, or planwright writes it.
fn is_known(dialect: &Dialect, label: &str) -> bool {
    let names = dialect.fields.iter().flat_map(|(_, names)| names.iter());
    let compared = ["type", "owner", "context", "budget", "priority"];
    let mut known = dialect.owned.iter().chain(names).chain(&compared).chain(&dialect.title_key);
    known.any(|known| known.eq_ignore_ascii_case(label))
}

/// Whether a line is only a frame: a fence, or the exit code of a contract.
fn is_frame(line: &str) -> bool {
    ["```", "~~~", "exit_code"].iter().any(|frame| line.trim_start().starts_with(frame))
}

/// The label before a value, as in `key: value` and `- **label:** value`, and the rest of the line.
fn labelled(line: &str) -> (Option<&str>, &str) {
    // A heading names what follows it; the title was compared.
    if line.starts_with('#') {
        return (None, "");
    }
    let bare = line.trim_start_matches([' ', '\t', '-', '*', '"', '{', ',']);
    match bare.split_once(':') {
        Some((label, value))
            if label.chars().all(|c| c.is_alphanumeric() || "_-\"* ".contains(c))
                && value.chars().next().is_none_or(|c| c.is_whitespace() || "*\"".contains(c)) =>
        {
            (Some(label.trim_matches(['"', '*', ' '])), value)
        }
        Some(_) | None => (None, line),
    }
}

/// Every run of letters and digits in a text.
fn tokens(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|character: char| !character.is_alphanumeric())
        .filter(|word| word.chars().count() >= WORD_CHARS_MIN && word.contains(char::is_alphabetic))
        .map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "---\ntype: plan\nstatus: draft\nowner: ada\nteam: rockets\n---\n\n# Do it\n\n\
        **Context:** Because.\n\n## Steps\n\n### 1. Do a\n\n**target:** shell\n**timeout:** 5 minutes\n\n\
        **task:**\nWrite.\n\n**contract:**\n```shell\ntest -e a\n```\nexit_code == 3\n\n## Appendix\n\nNobody reads elephants.\n";

    fn converted(text: &str, compose: impl Fn(&mut Draft)) -> Vec<String> {
        let source = Source::new("plan.md", text);
        let mut draft = source.draft();
        compose(&mut draft);
        let birth = NewPlan { id: "do-it", now: "2026-11-16T10:00:00Z" };
        let converted = convert(&source, &draft, NATIVE, &birth).expect("the same steps");
        converted.losses.iter().map(ToString::to_string).collect()
    }

    // P-07: what the target can't say is listed, also what no field holds.
    #[test]
    fn every_loss_is_named() {
        let losses = converted(PLAN, |_| ());
        assert_eq!(
            losses,
            ["text on line 5: team: rockets", "text on line 30: Nobody reads elephants."],
            "{losses:?}"
        );
    }

    type Forget = fn(&mut StepDraft);

    /// The twin: what a dialect forgets to write is found, whatever it is.
    #[test]
    fn what_is_not_written_is_found() {
        let source = Source::new("plan.md", PLAN);
        let meant = source.draft();
        let forget: [(&str, Forget); 4] = [
            ("contract", |step| step.contract = None),
            ("exit code", |step| step.contract.as_mut().expect("one").expect = None),
            ("timeout", |step| step.timeout = None),
            ("task", |step| step.task = None),
        ];
        for (what, forget) in forget {
            let mut read = meant.clone();
            forget(&mut read.steps[0]);
            let losses = plan_losses(&meant, &read);
            assert!(
                losses.iter().any(|loss| loss.what == what && loss.step == Some(1)),
                "{what}: {losses:?}"
            );
        }
    }

    /// A dialect that forgets to write a step, or to read one.
    #[test]
    fn a_plan_with_another_number_of_steps_is_refused() {
        const FORGETFUL: Dialect = Dialect {
            compose: |draft, birth| {
                let first = Draft { steps: draft.steps[..1].to_vec(), ..draft.clone() };
                NATIVE.compose(&first, birth)
            },
            ..crate::dialect::native::DIALECT
        };
        let two = PLAN.replace("## Appendix", "### 2. Do b\n\n**task:** b\n\n## Appendix");
        let source = Source::new("plan.md", two);
        let birth = NewPlan { id: "do-it", now: "" };
        let refused = convert(&source, &source.draft(), &FORGETFUL, &birth).expect_err("a step is missing");
        assert_eq!(refused.to_string(), "the plan has 2 steps, but 1 in dialect native");
        let unread =
            Source::new("plan.md", PLAN.replace("## Appendix", "## Do b\n\n**task:** b\n\n## Appendix"));
        let refused = convert(&unread, &unread.draft(), NATIVE, &birth).expect_err("a step is not read");
        assert_eq!(refused.to_string(), "plan.md:28:1: looks like a step but is not read as one");
    }

    #[test]
    fn what_other_dialects_leave_open_is_said_in_a_native_plan() {
        let source = Source::new("plan.md", "---\ntype: plan\n---\n# T\n\n### 1. A\n");
        let birth = NewPlan { id: "t", now: "" };
        let text = convert(&source, &source.draft(), NATIVE, &birth).expect("the same steps").text;
        assert!(text.contains("**target:** coder") && text.contains("**contract:** manual"), "{text}");
    }
}
