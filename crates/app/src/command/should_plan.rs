//! `should-plan`: whether a task deserves a plan, and by which rule. Advice only.

use planwright_engine::core::agent::planner::triage::{Advice, said, triage};
use planwright_engine::run::permission::guard_of;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::here;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Task, as requested
    task: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Weighed {
    /// The task.
    pub(crate) task: String,
    /// `plan` or `act`.
    pub(crate) advice: String,
    /// The rule that decided.
    pub(crate) rule: String,
    /// Why.
    pub(crate) why: String,
    /// Every rule that fits, in the order in which they decide.
    pub(crate) signs: Vec<SignData>,
    /// Tools that are guarded here.
    pub(crate) guarded: Vec<String>,
}

/// A rule that fits.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SignData {
    /// The rule.
    pub(crate) rule: String,
    /// The words of the task that it was told by.
    pub(crate) words: Vec<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let task = args.task.clone();
    // A file that can't be read guards nothing, and is the doctor's to complain about.
    let guarded = guard_of(&here()?).0.tools;
    let found = triage(&task, &guarded);
    let (rule, why) = said(found.by);
    let (word, tone, exit) = match found.advice {
        Advice::Plan => ("plan", Tone::Attention, Exit::Done),
        Advice::Act => ("act", Tone::Good, Exit::No),
    };
    let mut table = Table::new();
    table.row(vec![Cell::new(word).tone(tone), Cell::new(rule).tone(Tone::Strong), Cell::new(why)]);
    for sign in &found.signs {
        let name = said(sign.rule).0;
        let lead = if sign.rule == found.by { "by" } else { "also" };
        table.row(vec![
            Cell::new(lead).tone(Tone::Muted),
            Cell::new(name),
            Cell::new(sign.words.iter().map(|word| clean_line(word)).collect::<Vec<_>>().join(", ")),
        ]);
    }
    out.table(&table);
    if found.signs.is_empty() {
        out.line("no sign that this task needs a plan");
    }
    let next = match found.advice {
        Advice::Plan => NextCommand::new(["planwright", "draft", task.as_str()]),
        Advice::Act => NextCommand::new(["planwright", "prompt", "skill"]),
    };
    let data = Weighed {
        task,
        advice: word.to_owned(),
        rule: rule.to_owned(),
        why: why.to_owned(),
        signs: found
            .signs
            .iter()
            .map(|sign| SignData { rule: said(sign.rule).0.to_owned(), words: sign.words.clone() })
            .collect(),
        guarded,
    };
    Ok(Response::new(exit, "should-plan", &data).next(next))
}
