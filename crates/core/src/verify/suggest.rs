//! Suggests contracts for steps that have none: commands that the step names, files that it creates, and the project's
//! test command. Never writes to a plan, and never suggests anything that could do harm.

mod allowlist;
mod prose;

use std::collections::BTreeSet;

use crate::dialect::{NATIVE, NewPlan};
use crate::plan::draft::{ContractDraft, Draft, StepDraft};
use crate::syntax::shell;
use crate::syntax::source::{Excerpt, Source, Span};
use crate::verify;
use crate::verify::{Facts, Study, VerifyLimits};

/// The limit of commands and files per suggestion; people don't read longer ones.
const PARTS_MAX: usize = 4;

/// What the files at the project root reveal about it, and which files exist.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectFiles {
    /// There is a `Cargo.toml`.
    pub has_cargo: bool,
    /// There is a `package.json` with a script `test`.
    pub has_npm_test: bool,
    /// There is a `pyproject.toml` or a `setup.py`.
    pub has_python: bool,
    /// There is a `go.mod`.
    pub has_go: bool,
    /// The targets of the `Makefile`.
    pub make_targets: BTreeSet<String>,
    /// Which of [`paths`] already exist: testing for them proves nothing.
    pub present: BTreeSet<String>,
}

/// A suggested contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    /// The position of the step.
    pub step: usize,
    pub command: String,
    /// The reason, in one line.
    pub because: String,
}

/// The files that a suggestion may test for; the caller sets in [`ProjectFiles::present`] which of them exist.
pub fn paths(draft: &Draft) -> BTreeSet<String> {
    let steps = draft.steps.iter().filter(|step| is_without(step));
    steps.flat_map(|step| texts(step).flat_map(|(_, text)| prose::made_files(&text))).collect()
}

/// Contracts for the steps that have none, at most one each. All of them pass the contract rules.
pub fn suggestions(draft: &Draft, project: &ProjectFiles) -> Vec<Suggestion> {
    let steps = draft.steps.iter().enumerate().filter(|(_, step)| is_without(step));
    let suggested: Vec<Suggestion> =
        steps.filter_map(|(place, step)| suggestion(place, step, project)).collect();
    let bad = complained_about(draft, &suggested);
    suggested.into_iter().filter(|suggestion| !bad.contains(&suggestion.step)).collect()
}

/// Whether a step has no contract to run.
fn is_without(step: &StepDraft) -> bool {
    step.contract.as_ref().is_none_or(|contract| contract.command.is_none())
}

/// The texts of a step, criteria first, because they describe the result.
fn texts(step: &StepDraft) -> impl Iterator<Item = (&'static str, String)> {
    let criteria = step.accept.iter().map(|criterion| ("a criterion", criterion.value.clone()));
    let task = step.task.iter().map(|task| ("the task", task.value.clone()));
    criteria.chain(task).chain([("the title", step.title.value.clone())])
}

fn suggestion(place: usize, step: &StepDraft, project: &ProjectFiles) -> Option<Suggestion> {
    let mut parts: Vec<(String, String)> = Vec::new();
    for (who, text) in texts(step) {
        let commands = prose::commands(&text).into_iter().filter(|command| is_fit(command));
        parts.extend(commands.map(|command| (format!("{who} names `{command}`"), command)));
        let files = prose::made_files(&text).into_iter().filter(|path| !project.present.contains(path));
        parts
            .extend(files.map(|path| (format!("{who} says it creates `{path}`"), format!("test -f {path}"))));
    }
    if parts.is_empty() {
        let usual = texts(step).find_map(|(who, text)| usual(who, &text, project));
        parts.extend(usual);
    }
    let mut seen = BTreeSet::new();
    parts.retain(|(_, command)| is_fit(command) && seen.insert(command.clone()));
    parts.truncate(PARTS_MAX);
    let because: Vec<&str> = parts.iter().map(|(because, _)| because.as_str()).collect();
    let commands: Vec<&str> = parts.iter().map(|(_, command)| command.as_str()).collect();
    let (command, because) = (commands.join(" && "), because.join(", "));
    (!parts.is_empty()).then_some(Suggestion { step: place, command, because })
}

/// The project's test or build command, if a text asks for it.
fn usual(who: &str, text: &str, project: &ProjectFiles) -> Option<(String, String)> {
    let (says, command) = if prose::says_tests(text) {
        ("tests", project.tests()?)
    } else if prose::says_build(text) {
        ("a build", project.build()?)
    } else {
        return None;
    };
    Some((format!("{who} mentions {says}, and the project has a {}", command.1), command.0.to_owned()))
}

impl ProjectFiles {
    /// The test and build commands of the project, each with the file that implies it.
    pub fn usual(&self) -> Vec<(&'static str, &'static str)> {
        [self.tests(), self.build()].into_iter().flatten().collect()
    }

    /// The command that runs all tests, and the file that implies it.
    fn tests(&self) -> Option<(&'static str, &'static str)> {
        let known = [
            (self.has_cargo, "cargo test", "Cargo.toml"),
            (self.has_go, "go test ./...", "go.mod"),
            (self.has_npm_test, "npm test", "package.json"),
            (self.has_python, "python -m pytest", "pyproject.toml"),
            (self.make_targets.contains("test"), "make test", "Makefile"),
        ];
        first(&known)
    }

    /// The command that builds everything, and the file that implies it.
    fn build(&self) -> Option<(&'static str, &'static str)> {
        let known = [
            (self.has_cargo, "cargo check", "Cargo.toml"),
            (self.has_go, "go build ./...", "go.mod"),
            (self.make_targets.contains("build"), "make build", "Makefile"),
        ];
        first(&known)
    }
}

fn first(known: &[(bool, &'static str, &'static str)]) -> Option<(&'static str, &'static str)> {
    known.iter().find(|(is_there, _, _)| *is_there).map(|&(_, command, file)| (command, file))
}

/// Whether a command is harmless and checks the work.
fn is_fit(command: &str) -> bool {
    let script = shell::analyse(command);
    allowlist::is_harmless(command)
        && script.fault.is_none()
        && script.weakened.is_none()
        && script.outcome == shell::ExitOutcome::Open
        && script.adrift.is_none()
        && script.paths.iter().all(|used| used.role != shell::FileRole::Written)
}

/// The steps whose suggestion a rule rejects. Tries all in one plan that is never written.
fn complained_about(draft: &Draft, suggested: &[Suggestion]) -> BTreeSet<usize> {
    let mut tried = draft.clone();
    for suggestion in suggested {
        let mut command = Excerpt::new(Span::default());
        command.push(&suggestion.command, 0);
        tried.steps[suggestion.step].contract =
            Some(ContractDraft { command: Some(command), ..ContractDraft::default() });
    }
    let text = NATIVE.compose(&tried, &NewPlan { id: "suggested", now: "" });
    let source = Source::new("suggested.md", text);
    let read = source.draft();
    if read.steps.len() != draft.steps.len() {
        return suggested.iter().map(|suggestion| suggestion.step).collect();
    }
    let study = Study::of(&source, &read);
    // Ignores missing programs: the suggestion may be for another machine.
    let facts = Facts { programs: study.questions().programs, ..Facts::default() };
    let found = verify::verify(&study, &facts, &VerifyLimits::default()).diagnostics;
    let of_contracts = |code: &str| code.starts_with("PW03") || code == "PW0209";
    let spans = found.iter().filter(|found| of_contracts(found.code)).map(|found| found.primary.span);
    let places = spans.filter_map(|span| read.steps.iter().position(|step| step.whole.0.covers(span)));
    places.filter(|place| suggested.iter().any(|suggestion| suggestion.step == *place)).collect()
}

#[cfg(test)]
mod tests;
