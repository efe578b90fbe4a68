//! What an agent is told: its task, what it was given to read, what is expected, and on a retry what the contract said.
//! Nothing of the other steps. Pure text in, text out; the engine gathers the pieces.

use crate::agent::finding;
use crate::agent::work_item::WorkKind;
use crate::plan::verified::{Contract, Step};

/// Something that the agent is given to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// How the plan refers to it: `file:src/a.rs` or `topic:auth`.
    pub reference: String,
    /// Its text, or why there is none.
    pub text: Result<Excerpt, String>,
}

/// A text that may have been cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// What is left of it.
    pub text: String,
    /// How many bytes were cut off.
    pub bytes_cut: u64,
}

/// What the last attempt came to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Feedback {
    /// Why the contract failed: `exit 1`.
    pub failure: String,
    /// The end of what it printed.
    pub output: String,
    /// Files that the attempt had changed.
    pub changed: Vec<String>,
    /// What a person says to it.
    pub hint: String,
}

impl Feedback {
    /// What the contract said, as the text that an agent or a script reads.
    pub fn text(&self, step: &Step) -> String {
        let mut text = String::new();
        if !self.failure.is_empty() {
            text.push_str("The previous attempt failed its contract.\n");
            if let Contract::Shell { command, expect } = &step.contract {
                text.push_str(&format!("\nContract (must exit {expect}):\n{command}\n"));
            }
            text.push_str(&format!("\nResult: {}\n", self.failure));
            if !self.output.trim().is_empty() {
                text.push_str(&format!("\nEnd of its output:\n{}\n", self.output.trim_end()));
            }
            if !self.changed.is_empty() {
                text.push_str(&format!("\nFiles that the attempt changed: {}\n", self.changed.join(", ")));
            }
        }
        if !self.hint.is_empty() {
            text.push_str(&format!("\nA person says: {}\n", self.hint));
        }
        text
    }
}

/// The whole prompt of an attempt.
pub fn prompt(step: &Step, context: &[Context], feedback: &Feedback) -> String {
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
                    text.push_str(&format!("\n[{} more bytes are left out here]", excerpt.bytes_cut));
                }
                text.push('\n');
            }
            Err(why) => text.push_str(&format!("[missing: {why}]\n")),
        }
    }
    if !step.accept.is_empty() {
        text.push_str("\n# What is expected\n\n");
        step.accept.iter().for_each(|criterion| text.push_str(&format!("- {criterion}\n")));
    }
    if !step.tools.is_empty() {
        text.push_str(&format!(
            "\n# Tools\n\nYou ONLY have these tools, and bash only if it is among them: {}\n",
            step.tools.join(", ")
        ));
    }
    if !step.sealed.is_empty() {
        text.push_str("\n# What must stay as it is\n\nThese files judge the work. A change of them is found and counts against it:\n\n");
        step.sealed.iter().for_each(|sealed| text.push_str(&format!("- {sealed}\n")));
    }
    if WorkKind::of(&step.target) == WorkKind::Review {
        let gap = if text.ends_with('\n') { "" } else { "\n" };
        text.push_str(&format!("{gap}\n# How to say what you find\n\n{}", finding::HOW_TO_SAY));
    }
    let feedback = feedback.text(step);
    if !feedback.is_empty() {
        text.push_str(&format!("\n# What happened before\n\n{feedback}"));
    }
    text
}
