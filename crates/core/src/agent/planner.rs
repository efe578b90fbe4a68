//! What a planner is asked, and what its answer means. Text in, text out: never decides whom to ask, how
//! often, or what happens to the plan. An answer is only a proposal: nothing in it can approve or finish
//! anything.

pub mod triage;
mod answer;
pub mod plan_json;
mod revision;

pub use answer::{AnswerFault, PlannerAnswer, read};
pub use revision::{RevisionPlan, fingerprint, next, says_the_same, unkept};

use crate::agent::prompt::PromptContext;
use crate::dialect::{NATIVE, NewPlan};
use crate::plan::draft::{ContractDraft, Draft, StepDraft, StepNumber};
use crate::syntax::diagnostic::{Diagnostic, Severity};
use crate::syntax::source::{Excerpt, Source, Span, Spanned};
use crate::verify::suggest;

/// The most diagnostics passed to a planner; a longer list goes unread.
const COMPLAINTS_MAX: usize = 30;
/// Longer reasoning is truncated.
pub const REASONING_BYTES_MAX: usize = 16 << 10;

/// What a planner is told about the project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectContext {
    /// The test and build tools of the project.
    pub kind: suggest::ProjectFiles,
    /// Roles and agents that steps can be assigned to.
    pub targets: Vec<String>,
    /// Tools that the agents of steps may use, one per line.
    pub tools: Vec<String>,
    /// Names of existing plans.
    pub plans: Vec<String>,
}

/// A request for a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanRequest<'a> {
    pub task: &'a str,
    /// Relevant files.
    pub code: &'a [PromptContext],
    /// Notes from earlier work.
    pub memories: &'a [String],
    pub constraints: &'a [String],
    pub around: &'a ProjectContext,
}

/// Why a plan has to be revised.
#[derive(Debug, Clone, Copy)]
pub struct FailureContext<'a> {
    /// The current plan, byte for byte.
    pub plan: &'a Source,
    /// The language of its code fence.
    pub language: &'a str,
    /// The number and title of each.
    pub finished: &'a [String],
    /// Its number and title.
    pub step: &'a str,
    /// Why it failed, with the end of the contract's output.
    pub error: &'a str,
    /// What was found in the meantime.
    pub discoveries: &'a [String],
    /// New constraints.
    pub constraints: &'a [String],
    /// Why earlier versions failed, oldest first.
    pub earlier: &'a [String],
    pub around: &'a ProjectContext,
}

/// What is wrong with an answer, for the next attempt.
#[derive(Debug, Clone, Copy)]
pub struct PlannerFeedback<'a> {
    /// The plan in the answer; `None` if none was found.
    pub plan: Option<&'a Source>,
    /// All problems, one paragraph each.
    pub complaints: &'a [String],
}

pub fn wish(wish: &PlanRequest<'_>) -> String {
    let mut text = String::from(
        "You are a planner. Write a plan for the task below. Other agents will run it, one step each, without seeing this\n\
         conversation or each other. planwright runs each step's contract, and only the contract decides whether the step is done.\n\
         Explore the project as much as you need. Change no files: your answer is the plan.\n",
    );
    section(&mut text, "Task", wish.task);
    list(&mut text, "Constraints", wish.constraints);
    list(&mut text, "Notes from earlier work", wish.memories);
    for context in wish.code {
        section(&mut text, &format!("Existing code: {}", context.reference), &excerpt(context));
    }
    surroundings(&mut text, wish.around);
    text.push_str(FORMAT);
    text.push_str(ANSWER);
    text
}

pub fn replan(failure: &FailureContext<'_>) -> String {
    let mut text = String::from(
        "You are a planner. One step of the plan below has failed. Write the next version: the whole plan, changed so\n\
         that it can succeed. Explore the project as much as you need. Change no files: your answer is the plan.\n\
         Keep finished steps exactly as they are, in the same place: same heading, same fields, same contract. Do not weaken\n\
         contracts: a contract that cannot fail proves nothing.\n",
    );
    section(&mut text, "Failed step", failure.step);
    section(&mut text, "Error", failure.error);
    list(&mut text, "Finished steps (keep them as they are)", failure.finished);
    list(&mut text, "Findings since then", failure.discoveries);
    list(&mut text, "New constraints", failure.constraints);
    list(&mut text, "Why earlier versions failed (do not repeat them)", failure.earlier);
    surroundings(&mut text, failure.around);
    section(&mut text, "Current plan", &fenced(failure.plan.text(), failure.language));
    if failure.plan.dialect().is_native() {
        text.push_str(FORMAT);
    }
    text.push_str(&ANSWER.replace("markdown", failure.language));
    text.push_str(
        "\nBefore the block, write a line `Changes:` that says what is different and a line `Reasoning:` that says why.\n",
    );
    text
}

/// The prompt for another attempt: the first prompt, the last answer, and what is wrong with it.
pub fn again(first: &str, returned: &PlannerFeedback<'_>) -> String {
    let mut text = first.to_owned();
    if let Some(plan) = returned.plan {
        section(&mut text, "Your last answer", &fenced(plan.text(), "markdown"));
    }
    let mut complaints = returned.complaints.join("\n\n");
    if complaints.is_empty() {
        complaints.push_str("The answer could not be used.");
    }
    section(&mut text, "Problems", &complaints);
    text.push_str(
        "\nAnswer again with the whole plan, fixed. Fix the plan itself; do not argue a problem away.\n",
    );
    text
}

/// The checker's diagnostics in a form that a planner can act on, one paragraph each. Includes warnings once
/// there is an error.
pub fn complaints(source: &Source, diagnostics: &[Diagnostic]) -> Vec<String> {
    let mut sorted: Vec<&Diagnostic> = diagnostics.iter().collect();
    sorted.sort_by_key(|diagnostic| std::cmp::Reverse(diagnostic.severity));
    if !sorted.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        return Vec::new();
    }
    sorted.into_iter().take(COMPLAINTS_MAX).map(|diagnostic| complaint(source, diagnostic)).collect()
}

fn complaint(source: &Source, diagnostic: &Diagnostic) -> String {
    let at = diagnostic.primary.span.start.min(source.text().len());
    let line = source.slice(source.line_at(at)).trim();
    let place = source.position(at);
    let mut text =
        format!("{}[{}] at {place}: {}", diagnostic.severity.word(), diagnostic.code, diagnostic.message);
    if !line.is_empty() {
        text.push_str(&format!("\n  line: {line}"));
    }
    if !diagnostic.primary.text.is_empty() {
        text.push_str(&format!("\n  label: {}", diagnostic.primary.text));
    }
    let fix = diagnostic.fix.as_ref().map(|fix| &fix.title);
    for (word, said) in diagnostic
        .notes
        .iter()
        .map(|note| ("note", note))
        .chain(diagnostic.help.iter().chain(fix).map(|help| ("help", help)))
    {
        text.push_str(&format!("\n  {word}: {said}"));
    }
    text
}

/// A plan with one step: the task and its contract. The same input gives the same text. On failure it ends,
/// because nobody is there to answer a question.
pub fn quick(task: &str, contract: &str, target: &str, retries: u32) -> String {
    let unplaced = |text: String| Spanned::new(text, Span::default());
    let first = task.trim().lines().next().unwrap_or_default();
    let title = match first.char_indices().nth(TITLE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", first[..end].trim_end()),
        None => first.to_owned(),
    };
    let mut command = Excerpt::new(Span::default());
    command.push(contract.trim(), 0);
    let on_fail = if retries == 0 { "abort".to_owned() } else { format!("retry({retries}), then abort") };
    let number = Spanned::new(StepNumber::Counted(1), Span::default());
    let step = StepDraft {
        id: Some(unplaced("task".to_owned())),
        target: Some(unplaced(target.to_owned())),
        task: Some(unplaced(task.trim().to_owned())),
        contract: Some(ContractDraft {
            command: Some(command),
            expect: Some(unplaced("0".to_owned())),
            ..ContractDraft::default()
        }),
        on_fail: Some(unplaced(on_fail)),
        ..StepDraft::empty(number, unplaced(title.clone()))
    };
    let draft = Draft { title: Some(unplaced(title)), steps: vec![step], ..Draft::default() };
    NATIVE.compose(&draft, &NewPlan { id: "quick", now: "" })
}

const TITLE_CHARS_MAX: usize = 60;

/// The native plan format in brief. docs/reference/plan-format.md is the full reference.
pub const FORMAT: &str = r"
## The format of a plan

A markdown file: frontmatter, a title, a short introduction, then steps:

---
type: plan
status: draft
owner: orchestrator
---

# A title

**Context:** The reason for the plan, and what every reader must know.
**Budget:** max 200k tokens, $2.00, 30 minutes

## Steps

### 1. Write the failing test

**id:** test
**target:** coder
**needs:** none
**touches:**
- tests/login.rs

**task:**
Instructions for the agent. They must be complete: the agent sees this text and nothing of the other steps.

**contract:**
```shell
test -s tests/login.rs && ! cargo test --test login
```
exit_code == 0
**on_fail:** retry(2), then escalate

The rules that plans break most often:
- Every step has a target, a task and a contract. The contract is a bash command that exits 0 only when the step is done and
  fails before the work. It only checks, changes nothing, and uses only installed programs. `contract: manual` is for what
  only a person can verify.
- `needs` lists the ids of steps that must be done first. Without it a step needs all earlier ones; `none` means no step.
- `touches` lists globs of the files that the step may change; `sealed` lists files that must not change, such as tests.
- `subscriptions` lists `file:PATH` entries for the agent to read. Each file exists, or an earlier step's contract names it.
- Ids use lowercase letters, digits and dashes. Steps are numbered 1, 2, 3. No contract may end in `|| true` or be just `true`.
- Keep steps small: one agent finishes a step in minutes. Use as few steps as possible.
";

const ANSWER: &str = "
## Your answer

First explain in a few sentences why the plan is as it is. Then give the whole plan in exactly one block. Start the block with a line
of five backticks and the word markdown, and end it with a line of five backticks, so that blocks inside the plan don't end it:

`````markdown
(the whole plan)
`````
";

fn surroundings(text: &mut String, around: &ProjectContext) {
    let usual: Vec<String> = around
        .kind
        .usual()
        .into_iter()
        .map(|(command, file)| format!("`{command}` (found {file})"))
        .collect();
    list(text, "How to test and build the project", &usual);
    let targets = around.targets.iter().map(|target| format!("`{target}`"));
    list(text, "Available targets", &targets.collect::<Vec<_>>());
    list(text, "Available tools (`**tools:**`)", &around.tools);
    list(text, "Existing plans", &around.plans);
}

fn section(text: &mut String, title: &str, body: &str) {
    if !body.trim().is_empty() {
        text.push_str(&format!("\n## {title}\n\n{}\n", body.trim_end()));
    }
}

fn list(text: &mut String, title: &str, items: &[String]) {
    let items: String =
        items.iter().map(|item| format!("- {}\n", item.trim().replace('\n', "\n  "))).collect();
    section(text, title, &items);
}

fn excerpt(context: &PromptContext) -> String {
    match &context.text {
        Ok(excerpt) => {
            let cut = match excerpt.bytes_cut {
                0 => String::new(),
                bytes => format!("\n({bytes} more bytes not shown)"),
            };
            format!("{}{cut}", fenced(&excerpt.text, ""))
        }
        Err(why) => format!("(cannot read it: {why})"),
    }
}

/// The text in a fence that is longer than any fence in it.
fn fenced(text: &str, language: &str) -> String {
    let ticks =
        text.lines().map(|line| line.trim_start().bytes().take_while(|&byte| byte == b'`').count()).max();
    let fence = "`".repeat(ticks.unwrap_or(0).max(4) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests;
