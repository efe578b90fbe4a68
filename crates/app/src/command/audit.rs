//! `audit`: whether the record is intact and proves what it claims. Lists every finding with its meaning, and who did
//! what.

mod rerun;

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::ValueEnum;
use planwright_engine::api::{
    AnchorRefs, AnchorView, AuditFindingView, AuditOptions, AuditView, AuditedPlanView, HistoryLine,
    local_time, shown,
};

use crate::interaction::project::workspace;
use crate::output::wording;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan [default: all]
    plan: Option<String>,
    /// Output format
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Text)]
    format: Format,
    /// Write each verdict as an in-toto statement to DIR
    #[arg(long, value_name = "DIR")]
    statements: Option<PathBuf>,
    /// Store the heads of all records in the repository if the audit passes
    #[arg(long, value_enum, value_name = "PLACE")]
    anchor: Option<Place>,
    #[command(flatten)]
    again: rerun::Args,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For terminals
    Text,
    /// For pages and comments
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Place {
    /// Ref refs/planwright/anchor
    Ref,
    /// Note on HEAD
    Note,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let anchor = args.anchor.map(|place| match place {
        Place::Ref => AnchorRefs::Ref,
        Place::Note => AnchorRefs::Note,
    });
    let options = AuditOptions { plan: args.plan.as_deref(), rerun: args.again.options()?, anchor };
    let mut audit = workspace()?.audit(&options)?;
    match args.format {
        Format::Text => text(&audit.view, out),
        Format::Markdown => out.data(&markdown(&audit.view)),
    }
    if let Some(folder) = &args.statements {
        audit.write_statements(folder)?;
        let count = wording::number(audit.view.statements.len(), "statement");
        out.talk(&format!("wrote {count} to {}", clean_line(&shown(folder))));
    }
    if let Some(AnchorView { place, head }) = audit.anchor()? {
        out.line(&format!("anchored {} in {}", &head[..8], clean_line(place)));
    }
    let view = audit.view;
    let exit = if view.is_intact { Exit::Done } else { Exit::No };
    Ok(Response::new(exit, "audit", &view).next(next(&view)))
}

fn next(view: &AuditView) -> NextCommand {
    let is_recorded = view.plans.iter().any(|plan| plan.basis == "store");
    match (&view.asked, is_recorded) {
        _ if !view.is_intact => NextCommand::new(["planwright", "doctor"]),
        (_, false) => NextCommand::new(["planwright", "list"]),
        (Some(plan), true) => NextCommand::new(["planwright", "export", plan.as_str(), "--receipts"])
            .remark("to export the record"),
        (None, true) => {
            NextCommand::new(["planwright", "export", "--receipts"]).remark("to export the records")
        }
    }
}

fn text(view: &AuditView, out: &mut Out<'_>) {
    for plan in &view.plans {
        if view.asked.is_none() {
            out.line(&out.palette().paint(Tone::Strong, &clean_line(&plan.plan)));
        }
        out.line(&match &plan.rerun {
            Some(_) if plan.basis.is_empty() => "no records".to_owned(),
            Some(_) | None => summary(plan, out),
        });
        findings(&plan.findings, out);
        if let Some(rerun) = &plan.rerun {
            rerun::show(rerun, out);
        }
        if view.asked.is_some() {
            out.table(&history(&plan.history));
        }
    }
    findings(&view.findings, out);
    if view.plans.is_empty() && view.findings.is_empty() {
        out.talk("no records");
    }
    if !view.compared.is_empty() {
        out.talk(&format!("compared with {}", clean_line(&view.compared.join(", "))));
    }
    for note in &view.notes {
        out.talk(&clean_line(note));
    }
}

fn summary(plan: &AuditedPlanView, out: &Out<'_>) -> String {
    let palette = out.palette();
    let what = match (plan.findings.len(), plan.basis.as_str()) {
        (0, "") => return "no records".to_owned(),
        (0, _) => palette.paint(Tone::Good, "chain intact"),
        (count, _) => palette.paint(Tone::Bad, &wording::number(count, "finding")),
    };
    let from = match plan.basis.as_str() {
        "" => return format!("{what}: no records"),
        "store" => String::new(),
        path => format!(", from {}", clean_line(path)),
    };
    format!("{what}: {}, head {}{from}", wording::number(plan.records, "event"), &plan.head[..8])
}

fn findings(findings: &[AuditFindingView], out: &mut Out<'_>) {
    for AuditFindingView { finding, meaning } in findings {
        let kind = out.palette().paint(Tone::Bad, finding.kind.word());
        out.line(&format!("{kind}  {}: {}", clean_line(&finding.where_), clean_line(&finding.text)));
        out.line(&format!("    {meaning}"));
    }
}

fn history(lines: &[HistoryLine]) -> Table {
    let now = wording::now();
    let mut table = Table::new();
    for line in lines {
        table.row(vec![
            Cell::new(wording::clock_time(line.at_ms, now)).tone(Tone::Muted),
            Cell::new(&line.who),
            Cell::new(&line.what),
            Cell::new(&line.about),
            Cell::new(&line.note).tone(Tone::Muted),
        ]);
    }
    table
}

fn markdown(view: &AuditView) -> String {
    let mut page = String::new();
    for plan in &view.plans {
        let what = match plan.findings.len() {
            0 => "chain intact".to_owned(),
            count => wording::number(count, "finding"),
        };
        // Writing to a string can't fail.
        let _ = writeln!(
            page,
            "## {}\n\n{what}: {}, head `{}`\n",
            cell(&plan.plan),
            wording::number(plan.records, "event"),
            &plan.head[..8]
        );
        page.push_str(&finding_list(&plan.findings));
        if !plan.history.is_empty() {
            page.push_str("| when | who | what | about | |\n|---|---|---|---|---|\n");
            for line in &plan.history {
                let when = local_time(line.at_ms);
                let cells = [&when, &line.who, &line.what, &line.about, &line.note].map(|text| cell(text));
                let _ = writeln!(page, "| {} |", cells.join(" | "));
            }
            page.push('\n');
        }
    }
    page.push_str(&finding_list(&view.findings));
    page
}

fn finding_list(findings: &[AuditFindingView]) -> String {
    let mut list = String::new();
    for AuditFindingView { finding, meaning } in findings {
        let (where_, text) = (cell(&finding.where_), cell(&finding.text));
        let _ = writeln!(list, "- **{}** {where_}: {text} ({meaning})", finding.kind);
    }
    if !list.is_empty() {
        list.push('\n');
    }
    list
}

/// A text that stays in its cell.
fn cell(text: &str) -> String {
    clean_line(text).replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}
