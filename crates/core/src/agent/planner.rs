//! What a planner is told and what its answer says. Text in, text out: who is asked, how often, and what becomes of the plan is
//! for others. An answer is never more than a proposal: nothing in it can approve or finish anything.

pub mod triage;
mod answer;
pub mod plan_json;
mod revision;

pub use answer::{Answer, Fault, read};
pub use revision::{Next, fingerprint, next, says_the_same, unkept};

use crate::agent::prompt::Context;
use crate::dialect::{Birth, NATIVE};
use crate::plan::draft::{ContractDraft, Draft, StepDraft, StepNumber};
use crate::syntax::diagnostic::{Diagnostic, Severity};
use crate::syntax::source::{Excerpt, Source, Span, Spanned};
use crate::verify::suggest;

/// The most complaints that a planner is told at once; a longer list is not read.
const COMPLAINTS_MAX: usize = 30;
/// The most bytes of a planner's reasoning that are kept.
pub const REASONING_BYTES_MAX: usize = 16 << 10;

/// What a planner is told about the place that the plan is for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// What the project is tested and built with.
    pub kind: suggest::Project,
    /// Roles and agents that steps can be given to.
    pub targets: Vec<String>,
    /// Tools that the agents of steps may be given, in lines.
    pub tools: Vec<String>,
    /// Names of plans that are there already.
    pub plans: Vec<String>,
}

/// What somebody wants planned.
#[derive(Debug, Clone, Copy)]
pub struct Wish<'a> {
    pub task: &'a str,
    /// Files that it is about.
    pub code: &'a [Context],
    /// What is remembered from earlier work.
    pub memories: &'a [String],
    /// What has to be kept to.
    pub constraints: &'a [String],
    pub around: &'a Surroundings,
}

/// Why a plan has to be made anew.
#[derive(Debug, Clone, Copy)]
pub struct Failure<'a> {
    /// The plan as it stands, byte for byte.
    pub plan: &'a Source,
    /// The language that a fence of it is marked with.
    pub language: &'a str,
    /// Finished steps: number and title of each.
    pub finished: &'a [String],
    /// The step that failed: number and title.
    pub step: &'a str,
    /// Why it failed, with the end of what its contract printed.
    pub error: &'a str,
    /// What was found out meanwhile.
    pub discoveries: &'a [String],
    /// What has to be kept to from now on.
    pub constraints: &'a [String],
    /// Why earlier versions failed, the oldest first.
    pub earlier: &'a [String],
    pub around: &'a Surroundings,
}

/// What is wrong with an answer, for the next try.
#[derive(Debug, Clone, Copy)]
pub struct Returned<'a> {
    /// The plan of the answer; `None` where none was found.
    pub plan: Option<&'a Source>,
    /// Everything that is wrong with it, a paragraph each.
    pub complaints: &'a [String],
}

/// The prompt for a new plan.
pub fn wish(wish: &Wish<'_>) -> String {
    let mut text = String::from(
        "You are a planner. Write a plan for the task below. Other agents will carry it out, one step each, without seeing this\n\
         conversation or each other; a harness runs each step's contract and nothing else decides whether the step is done.\n\
         Look around in the project as much as you need. Change no files: your answer is the plan.\n",
    );
    section(&mut text, "Task", wish.task);
    list(&mut text, "What has to be kept to", wish.constraints);
    list(&mut text, "What is remembered from earlier work", wish.memories);
    for context in wish.code {
        section(&mut text, &format!("Existing code: {}", context.reference), &excerpt(context));
    }
    surroundings(&mut text, wish.around);
    text.push_str(FORMAT);
    text.push_str(ANSWER);
    text
}

/// The prompt for the next version of a plan.
pub fn replan(failure: &Failure<'_>) -> String {
    let mut text = String::from(
        "You are a planner. A plan that agents carry out has failed at one step. Write its next version: the whole plan, changed so\n\
         that it can succeed. Look around in the project as much as you need. Change no files: your answer is the plan.\n\
         Steps that are finished stay exactly as they are, in their place: same heading, same fields, same contract. Do not weaken\n\
         what decides: a contract that can't fail proves nothing.\n",
    );
    section(&mut text, "The step that failed", failure.step);
    section(&mut text, "Why", failure.error);
    list(&mut text, "Finished steps, which stay as they are", failure.finished);
    list(&mut text, "What was found out meanwhile", failure.discoveries);
    list(&mut text, "What has to be kept to from now on", failure.constraints);
    list(&mut text, "Why earlier versions failed; do not go in a circle", failure.earlier);
    surroundings(&mut text, failure.around);
    section(&mut text, "The plan as it stands", &fenced(failure.plan.text(), failure.language));
    if failure.plan.dialect().is_native() {
        text.push_str(FORMAT);
    }
    text.push_str(&ANSWER.replace("markdown", failure.language));
    text.push_str(
        "\nIn front of the block write a line `Changes:` with what is different, and a line `Reasoning:` with why.\n",
    );
    text
}

/// The prompt for another try: all of the first one, what came of it, and what is wrong with that.
pub fn again(first: &str, returned: &Returned<'_>) -> String {
    let mut text = first.to_owned();
    if let Some(plan) = returned.plan {
        section(&mut text, "Your last answer", &fenced(plan.text(), "markdown"));
    }
    let mut complaints = returned.complaints.join("\n\n");
    if complaints.is_empty() {
        complaints.push_str("It could not be used.");
    }
    section(&mut text, "What is wrong with it", &complaints);
    text.push_str("\nAnswer again, with the whole plan, repaired. Repair the plan itself; do not explain a fault away.\n");
    text
}

/// What the checker says, a paragraph each, as a planner can repair it. Warnings come along once there is an error.
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
        text.push_str(&format!("\n  the line: {line}"));
    }
    if !diagnostic.primary.text.is_empty() {
        text.push_str(&format!("\n  there: {}", diagnostic.primary.text));
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

/// A plan of one step: the task, and the command that decides. The same words make the same text. One that fails is over: there
/// is nobody whom it could wait for.
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
    NATIVE.compose(&draft, &Birth { id: "quick", now: "" })
}

/// The longest title that is made of a task.
const TITLE_CHARS_MAX: usize = 60;

/// The format of a native plan, in short. docs/formats.md has all of it.
pub const FORMAT: &str = r"
## The format of a plan

A markdown file. Frontmatter, a title, a few words about the whole, then steps:

---
type: plan
status: draft
owner: orchestrator
---

# A title

**Context:** Why, and what every reader must know.
**Budget:** max 200k tokens, $2.00, 30 minutes

## Steps

### 1. Write the failing test

**id:** test
**target:** coder
**needs:** none
**touches:**
- tests/login.rs

**task:**
What the agent shall do, complete in itself: it sees this text and nothing of the other steps.

**contract:**
```shell
test -s tests/login.rs && ! cargo test --test login
```
exit_code == 0
**on_fail:** retry(2), then escalate

Rules that plans fail by most often:
- Every step has a target, a task and a contract. The contract is a bash command that exits 0 only when the step is done and
  fails before the work; it only looks, changes nothing, and needs nothing that the machine lacks. `contract: manual` is for what
  only a person can see.
- `needs` lists ids of steps that must be done first; without it a step waits for all earlier ones; `none` means nothing.
- `touches` lists globs of the files that the step may change; `sealed` lists files that judge and must not change.
- `subscriptions` lists `file:PATH` that the agent is given to read: it exists, or an earlier step's contract names it.
- Ids are small letters, digits and dashes. Steps are numbered 1, 2, 3. No contract may end in `|| true` or be a mere `true`.
- Small steps: one agent does one in minutes. As few as will do.
";

/// How the answer shall look.
const ANSWER: &str = "
## Your answer

Say first, in a few sentences, why the plan is as it is. Then give the whole plan in exactly one block that begins with a line of
five backticks and the word markdown and ends with a line of five backticks, so that blocks inside of the plan don't end it:

`````markdown
(the whole plan)
`````
";

fn surroundings(text: &mut String, around: &Surroundings) {
    let usual: Vec<String> = around
        .kind
        .usual()
        .into_iter()
        .map(|(command, file)| format!("`{command}` (there is a {file})"))
        .collect();
    list(text, "What the project is tested and built with", &usual);
    let targets = around.targets.iter().map(|target| format!("`{target}`"));
    list(text, "Targets that steps can be given to", &targets.collect::<Vec<_>>());
    list(text, "Tools that agents of steps can be given (`**tools:**`)", &around.tools);
    list(text, "Plans that are there already", &around.plans);
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

fn excerpt(context: &Context) -> String {
    match &context.text {
        Ok(excerpt) => {
            let cut = match excerpt.bytes_cut {
                0 => String::new(),
                bytes => format!("\n({bytes} bytes more are left out)"),
            };
            format!("{}{cut}", fenced(&excerpt.text, ""))
        }
        Err(why) => format!("(can't be read: {why})"),
    }
}

/// The text in a fence that nothing in it can close.
fn fenced(text: &str, language: &str) -> String {
    let ticks =
        text.lines().map(|line| line.trim_start().bytes().take_while(|&byte| byte == b'`').count()).max();
    let fence = "`".repeat(ticks.unwrap_or(0).max(4) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests;
