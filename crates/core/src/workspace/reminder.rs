//! What an agent's session is told about the active plans of its project: short, bounded and deterministic.
//! Omits finished plans; nothing in it is a verdict.

use crate::plan::verified::{Contract, Plan, Step};

/// A session gets this at every start, so it must not displace the actual work from the context.
pub const BYTES_MAX: usize = 8 * 1024;
/// The limit for a task and any other long text.
const TASK_BYTES_MAX: usize = 2048;
const TEXT_BYTES_MAX: usize = 512;
/// The limit for listed steps, criteria, questions and further plans.
const LINES_MAX: usize = 12;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveStep {
    pub name: String,
    /// Relative to the project root.
    pub path: String,
    pub title: String,
    /// Such as `running, run 3; 1 of 3 steps settled`.
    pub state: String,
    pub stage: ReminderStage,
    /// Finished steps, one line each: `1 test: passed, attempt 2`.
    pub settled: Vec<String>,
    /// The current step.
    pub now: Option<ReminderContext>,
    /// Open questions, one line each.
    pub asks: Vec<String>,
    /// The next command to type.
    pub next: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReminderStage {
    /// planwright is running it.
    Run,
    /// Approved, but not started.
    Approved,
    /// Pending approval.
    Proposed,
}

/// The current step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReminderContext {
    /// Number, id and title: `2 fix: Write the fix`.
    pub heading: String,
    pub task: String,
    pub accept: Vec<String>,
    /// `None` for a manual step.
    pub contract: Option<String>,
    /// `None` if undeclared.
    pub touches: Option<Vec<String>>,
    pub sealed: Vec<String>,
}

impl ReminderContext {
    pub fn of(step: &Step) -> Self {
        Self {
            heading: heading(step),
            task: step.task.clone(),
            accept: step.accept.clone(),
            contract: match &step.contract {
                Contract::Shell { command, expect } => Some(format!("{command}   (must exit {expect})")),
                Contract::Manual => None,
            },
            touches: step.touches.clone(),
            sealed: step.sealed.clone(),
        }
    }
}

/// Number, id and title of a step.
pub fn heading(step: &Step) -> String {
    format!("{} {}: {}", step.number, step.id, step.title)
}

/// The first step that needs no unfinished one; `settled` has an item for every step.
pub fn first_open(plan: &Plan, settled: &[bool]) -> Option<usize> {
    let is_settled = |place: usize| settled.get(place).copied().unwrap_or(false);
    (0..plan.steps.len())
        .find(|&place| !is_settled(place) && plan.steps[place].needs.iter().all(|&need| is_settled(need)))
}

/// The reminder for a worktree that is bound to a plan: one line about the binding, then [`reminder`].
pub fn reminder_bound(binding: &str, plans: &[ActiveStep]) -> String {
    let binding = short(binding);
    match within(plans, BYTES_MAX.saturating_sub(binding.len() + 2)) {
        Some(text) => format!("{binding}\n\n{text}"),
        None => format!("{binding}\n"),
    }
}

/// The first plan in full, the others in one line each; `None` without an active plan.
pub fn reminder(plans: &[ActiveStep]) -> Option<String> {
    within(plans, BYTES_MAX)
}

fn within(plans: &[ActiveStep], bytes_max: usize) -> Option<String> {
    let (first, others) = plans.split_first()?;
    let mut text = "This project has an active plan (planwright).\n\n".to_owned();
    tell(first, &mut text);
    if !others.is_empty() {
        text.push_str("\nOther active plans:\n");
        list(
            &others
                .iter()
                .map(|plan| format!("{}: {} ({})", plan.name, plan.state, plan.path))
                .collect::<Vec<_>>(),
            &mut text,
        );
    }
    let rules = rules(first);
    // Truncate the rest, because the rules must survive.
    let text = cut(&text, bytes_max.saturating_sub(rules.len() + 1));
    Some(format!("{text}\n{rules}"))
}

fn tell(plan: &ActiveStep, text: &mut String) {
    let mut line = |label: &str, value: &str| text.push_str(&format!("{label:<9} {value}\n"));
    line("plan", &format!("{} ({}): {}", plan.name, plan.path, short(&plan.title)));
    line("state", &plan.state);
    if !plan.settled.is_empty() {
        text.push_str("done (verified):\n");
        list(&plan.settled, text);
    }
    if let Some(now) = &plan.now {
        text.push_str(&format!("current step: {}\n", short(&now.heading)));
        text.push_str(&format!("task:\n{}\n", indented(&cut(now.task.trim(), TASK_BYTES_MAX))));
        if !now.accept.is_empty() {
            text.push_str("accepted when:\n");
            list(&now.accept, text);
        }
        match &now.contract {
            Some(contract) => {
                text.push_str(&format!("contract:\n{}\n", indented(&cut(contract, TEXT_BYTES_MAX))));
            }
            None => text.push_str("contract: manual, confirmed by a person\n"),
        }
        if let Some(touches) = &now.touches {
            text.push_str(&format!("may change: {}\n", short(&touches.join(", "))));
        }
        if !now.sealed.is_empty() {
            text.push_str(&format!("must not change: {}\n", short(&now.sealed.join(", "))));
        }
    }
    if !plan.asks.is_empty() {
        text.push_str("needs a person:\n");
        list(&plan.asks, text);
    }
}

/// The rules that always apply, and the next command.
fn rules(plan: &ActiveStep) -> String {
    let who = match plan.stage {
        ReminderStage::Run => {
            "planwright starts the agents that run its steps. Don't do the steps in this session unless a person asks you to."
        }
        ReminderStage::Approved => {
            "A person approved exactly this plan. If you work on it here, follow its steps, their order and their files; its contracts judge your work."
        }
        ReminderStage::Proposed => "It is pending approval by a person. Don't start it.",
    };
    format!(
        "{who}\nYou cannot mark a step done: only planwright can, by running its contract. Only people may approve, answer and skip. \
         If the plan no longer fits, say so.\nnext: {}\n",
        plan.next
    )
}

fn list(lines: &[String], text: &mut String) {
    for line in lines.iter().take(LINES_MAX) {
        text.push_str(&format!("  - {}\n", short(line)));
    }
    if lines.len() > LINES_MAX {
        text.push_str(&format!("  and {} more\n", lines.len() - LINES_MAX));
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// A text on one line, truncated.
fn short(text: &str) -> String {
    cut(&text.split_whitespace().collect::<Vec<_>>().join(" "), TEXT_BYTES_MAX)
}

/// The start of a text, with a mark if the rest is cut off.
fn cut(text: &str, bytes_max: usize) -> String {
    const REST: &str = " […]";
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = (0..=bytes_max.saturating_sub(REST.len())).rev().find(|&at| text.is_char_boundary(at));
    format!("{}{REST}", &text[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(task: &str) -> ActiveStep {
        ActiveStep {
            name: "hello".to_owned(),
            path: "plans/hello.md".to_owned(),
            title: "Say hello".to_owned(),
            state: "running, run 1; 1 of 2 steps settled".to_owned(),
            stage: ReminderStage::Run,
            settled: vec!["1 test: passed, attempt 2".to_owned()],
            now: Some(ReminderContext {
                heading: "2 greeter: Write the greeter".to_owned(),
                task: task.to_owned(),
                accept: vec!["it greets".to_owned()],
                contract: Some("sh test.sh   (must exit 0)".to_owned()),
                touches: Some(vec!["greet.sh".to_owned()]),
                sealed: vec!["test.sh".to_owned()],
            }),
            asks: vec!["greeter: attempts spent".to_owned()],
            next: "planwright answer hello/greeter".to_owned(),
        }
    }

    // P-10: everything that a session has to know.
    #[test]
    fn a_reminder_says_where_the_plan_stands_and_what_nobody_but_planwright_may_do() {
        let text = reminder(&[active("Write `greet.sh`.")]).expect("a plan is active");
        insta::assert_snapshot!(text, @"
        This project has an active plan (planwright).

        plan      hello (plans/hello.md): Say hello
        state     running, run 1; 1 of 2 steps settled
        done (verified):
          - 1 test: passed, attempt 2
        current step: 2 greeter: Write the greeter
        task:
          Write `greet.sh`.
        accepted when:
          - it greets
        contract:
          sh test.sh   (must exit 0)
        may change: greet.sh
        must not change: test.sh
        needs a person:
          - greeter: attempts spent

        planwright starts the agents that run its steps. Don't do the steps in this session unless a person asks you to.
        You cannot mark a step done: only planwright can, by running its contract. Only people may approve, answer and skip. If the plan no longer fits, say so.
        next: planwright answer hello/greeter
        ");
        assert_eq!(reminder(&[]), None);
    }

    #[test]
    fn whatever_a_plan_says_the_reminder_stays_small_and_keeps_its_rules() {
        let long = "ä".repeat(100_000);
        let mut plan = active(&long);
        plan.title.clone_from(&long);
        plan.settled = vec![long.clone(); 100];
        plan.asks = vec![long.clone(); 100];
        if let Some(now) = &mut plan.now {
            now.accept = vec![long.clone(); 100];
        }
        let plans: Vec<ActiveStep> = std::iter::repeat_n(plan, 50).collect();
        let text = reminder(&plans).expect("a plan is active");
        assert!(text.len() <= BYTES_MAX, "{} bytes", text.len());
        assert!(text.contains("You cannot mark a step done"));
        assert!(text.ends_with("next: planwright answer hello/greeter\n"), "{text}");
        let text = reminder_bound(&long, &plans);
        assert!(text.len() <= BYTES_MAX, "{} bytes", text.len());
        assert!(text.ends_with("next: planwright answer hello/greeter\n"), "{text}");
    }

    // D-14: the binding comes first; without one the text is unchanged.
    #[test]
    fn a_bound_session_is_told_so_first() {
        let plain = reminder(&[active("x")]).expect("a plan is active");
        assert_eq!(reminder_bound("bound to `foo`", &[active("x")]), format!("bound to `foo`\n\n{plain}"));
        assert_eq!(reminder_bound("bound\nto nothing", &[]), "bound to nothing\n");
    }

    #[test]
    fn further_plans_are_a_line_each() {
        let other = ActiveStep { name: "other".to_owned(), ..active("x") };
        let text = reminder(&[active("x"), other]).expect("two are active");
        assert!(
            text.contains(
                "Other active plans:\n  - other: running, run 1; 1 of 2 steps settled (plans/hello.md)\n"
            ),
            "{text}"
        );
    }
}
