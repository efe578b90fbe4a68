//! `log PLAN --versions`: the versions of a plan and the runs of each, oldest first.

use planwright_engine::api::{Drafting, local_time};

use crate::interaction::project::workspace;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone, clean, clean_line};

pub(crate) fn run(plan: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(plan)?;
    let history = plan.history()?;
    let all = &history.versions;
    let mut table = Table::new();
    for version in all {
        table.row(vec![
            Cell::new(&version.name).tone(Tone::Strong),
            Cell::new(if version.version.is_empty() {
                String::new()
            } else {
                format!("v{}", version.version)
            }),
            Cell::new(&version.status),
            Cell::new(&version.path).tone(Tone::Muted),
        ]);
        for draft in &version.drafts {
            let after = draft.drafting.after.as_ref();
            let why = after.map(|after| {
                let error = after.error.lines().next().unwrap_or_default();
                match after.step.as_str() {
                    "" => format!("after {}", after.previous),
                    step => format!("after {}, where {step} failed: {error}", after.previous),
                }
            });
            table.row(vec![
                Cell::new("  drafted").tone(Tone::Muted),
                Cell::new(&draft.digest[..draft.digest.len().min(8)]),
                Cell::new(format!("by {}", draft.by)),
                Cell::new(why.unwrap_or_else(|| local_time(draft.at_ms))).tone(Tone::Muted),
            ]);
        }
        let mut merges = Vec::new();
        for merge in &version.merges {
            let (word, how) = if merge.is_landed { ("merged", "into") } else { ("evicted", "from") };
            let when = local_time(merge.at_ms);
            let note = if merge.why.is_empty() { when } else { merge.why.clone() };
            merges.push(vec![
                Cell::new(format!("  {word}")).tone(Tone::Muted),
                Cell::new(&merge.commit[..merge.commit.len().min(8)]),
                Cell::new(format!("{how} {}", merge.into)),
                Cell::new(note).tone(Tone::Muted),
            ]);
        }
        for run in &version.runs {
            let when = local_time(run.at_ms);
            let word = format!("run {}", run.run);
            table.row(vec![
                Cell::new(format!("  {word}")).tone(Tone::Muted),
                Cell::new(&run.digest[..run.digest.len().min(8)]),
                Cell::new(&run.state),
                Cell::new(when).tone(Tone::Muted),
            ]);
        }
        for row in merges {
            table.row(row);
        }
    }
    out.table(&table);
    for version in all {
        for draft in &version.drafts {
            print_reasons(&version.name, &draft.drafting, out);
        }
    }
    if all.iter().all(|version| version.runs.is_empty()) {
        out.talk(&format!("{} has not been run", clean_line(&plan.name())));
    }
    let next = NextCommand::new(["planwright", "show", plan.shown().as_str()]);
    Ok(Response::done("history", &history).next(next))
}

/// All that a planner said about a version.
fn print_reasons(name: &str, drafting: &Drafting, out: &mut Out<'_>) {
    for (word, text) in [("changes", &drafting.changes), ("why", &drafting.reasoning)] {
        if !text.trim().is_empty() {
            out.line(&format!("{} {word}:", clean_line(name)));
            let lines = clean(text.trim());
            out.data(&lines.lines().map(|line| format!("  {line}\n")).collect::<String>());
        }
    }
}
