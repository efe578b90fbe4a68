//! What an agent is given: its task, context, acceptance criteria, and on a retry the output of the contract.
//! Nothing about other steps. Text in, text out; the engine collects the parts.

use crate::agent::finding;
use crate::agent::work_item::WorkKind;
use crate::plan::verified::{Contract, Step};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptContext {
    /// As in the plan: `file:src/a.rs` or `topic:auth`.
    pub reference: String,
    /// The text, or why it is missing.
    pub text: Result<PromptExcerpt, String>,
}

/// A text that may have been truncated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptExcerpt {
    pub text: String,
    /// How many bytes were cut off.
    pub bytes_cut: u64,
}

/// What went wrong before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum FeedbackCause {
    /// The last attempt failed its contract.
    #[default]
    Attempt,
    /// The contract passed, and fails since this later step, as far as it is known.
    BrokenBy(Option<String>),
    /// The work broke the contract of another step.
    Broke { step: String, contract: Contract },
}

/// The result of the last attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Feedback {
    pub cause: FeedbackCause,
    /// Such as `exit 1`.
    pub failure: String,
    /// The end of the contract's output.
    pub output: String,
    pub changed: Vec<String>,
    /// A person's hint.
    pub hint: String,
}

impl Feedback {
    /// The feedback as text for an agent or a script.
    pub fn text(&self, step: &Step) -> String {
        let mut text = String::new();
        if !self.failure.is_empty() {
            let (what, contract) = match &self.cause {
                FeedbackCause::Attempt => {
                    ("The previous attempt failed its contract.".to_owned(), &step.contract)
                }
                FeedbackCause::BrokenBy(culprit) => {
                    let by = culprit.as_ref().map(|culprit| format!("step `{culprit}`"));
                    let by = by.unwrap_or_else(|| "a later change".to_owned());
                    let what = format!(
                        "This step was done and its contract passed. Then {by} broke it: on the final state of the workspace the contract fails. Repair it without undoing the rest of the work there."
                    );
                    (what, &step.contract)
                }
                FeedbackCause::Broke { step, contract } => {
                    let what = format!(
                        "This step was done and its own contract passed, but its work broke the contract of step `{step}`, which had passed before. Do it so that both contracts pass."
                    );
                    (what, contract)
                }
            };
            text.push_str(&what);
            text.push('\n');
            if let Contract::Shell { command, expect } = contract {
                text.push_str(&format!("\nContract (must exit {expect}):\n{command}\n"));
            }
            text.push_str(&format!("\nResult: {}\n", self.failure));
            if !self.output.trim().is_empty() {
                text.push_str(&format!("\nEnd of its output:\n{}\n", self.output.trim_end()));
            }
            if !self.changed.is_empty() {
                text.push_str(&format!("\nFiles changed by the attempt: {}\n", self.changed.join(", ")));
            }
        }
        if !self.hint.is_empty() {
            text.push_str(&format!("\nHint from a person: {}\n", self.hint));
        }
        text
    }
}

pub fn prompt(step: &Step, context: &[PromptContext], feedback: &Feedback) -> String {
    let mut text = step.task.clone();
    if !context.is_empty() {
        text.push_str("\n\n# Context\n");
    }
    for given in context {
        text.push_str(&format!("\n## {}\n\n", given.reference));
        match &given.text {
            Ok(excerpt) => {
                text.push_str(excerpt.text.trim_end());
                if excerpt.bytes_cut > 0 {
                    text.push_str(&format!("\n[{} more bytes not shown]", excerpt.bytes_cut));
                }
                text.push('\n');
            }
            Err(why) => text.push_str(&format!("[missing: {why}]\n")),
        }
    }
    if !step.accept.is_empty() {
        text.push_str("\n# Acceptance criteria\n\n");
        step.accept.iter().for_each(|criterion| text.push_str(&format!("- {criterion}\n")));
    }
    if !step.tools.is_empty() {
        text.push_str(&format!(
            "\n# Tools\n\nYou ONLY have these tools, and bash only if it is listed: {}\n",
            step.tools.join(", ")
        ));
    }
    if !step.sealed.is_empty() {
        text.push_str("\n# Sealed files\n\nThese files are used to judge the work. Do not change them: a change is detected and counts against the work:\n\n");
        step.sealed.iter().for_each(|sealed| text.push_str(&format!("- {sealed}\n")));
    }
    if WorkKind::of(&step.target) == WorkKind::Review {
        let gap = if text.ends_with('\n') { "" } else { "\n" };
        text.push_str(&format!("{gap}\n# How to report findings\n\n{}", finding::HOW_TO_SAY));
    }
    let feedback = feedback.text(step);
    if !feedback.is_empty() {
        text.push_str(&format!("\n# What happened before\n\n{feedback}"));
    }
    text
}
