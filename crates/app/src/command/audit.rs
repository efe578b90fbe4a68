//! `audit`: whether the record is intact and proves what it claims. Lists every finding with its meaning, and who did
//! what.

mod rerun;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use planwright_engine::Project;
use planwright_engine::audit;
use planwright_engine::audit::{AnchorRefs, AuditBasis, AuditReport, Auditor, PlanReport};
use planwright_engine::core::audit::{AuditFinding, HistoryLine};
use schemars::JsonSchema;
use serde::Serialize;

use rerun::Again;

use crate::interaction::agent_guard::refuse_agents;
use crate::interaction::project::{here, project_of, shown};
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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Audited {
    /// Whether nothing was found.
    pub(crate) is_intact: bool,
    /// The plans of which anything is recorded or claimed.
    pub(crate) plans: Vec<PlanData>,
    /// What is about no plan.
    pub(crate) findings: Vec<FindingData>,
    /// What the records were compared with.
    pub(crate) compared: Vec<String>,
    /// What is good to know, and no finding.
    pub(crate) notes: Vec<String>,
    /// The in-toto statements that were written.
    pub(crate) statements: Vec<String>,
    /// Where the heads are kept now, if that was asked for.
    pub(crate) anchor: Option<AnchorData>,
}

/// One plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PlanData {
    /// The plan, relative to the root of the project.
    pub(crate) plan: String,
    /// Where the record comes from: `store`, the path of a file, or nothing.
    pub(crate) basis: String,
    /// How many records there are.
    pub(crate) records: usize,
    /// The hash over the ends of its ledger and of its runs.
    pub(crate) head: String,
    /// What was found.
    pub(crate) findings: Vec<FindingData>,
    /// Who did what, the oldest first.
    pub(crate) history: Vec<HistoryLine>,
    /// Current contract results, if they were run again.
    pub(crate) rerun: Option<rerun::RerunData>,
}

/// Something that is not as it should be.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FindingData {
    /// What was found, and where.
    #[serde(flatten)]
    pub(crate) finding: AuditFinding,
    /// What it means.
    pub(crate) meaning: String,
}

/// Heads that are kept in the repository.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnchorData {
    /// Where.
    pub(crate) place: String,
    /// The hash over the ends of all books.
    pub(crate) head: String,
}

impl FindingData {
    fn of(finding: &AuditFinding) -> Self {
        Self { finding: finding.clone(), meaning: finding.kind.meaning().to_owned() }
    }
}

impl PlanData {
    fn of(report: &PlanReport, again: &[Again]) -> Self {
        let rerun = again.iter().find(|again| again.plan == report.plan);
        Self {
            plan: report.plan.clone(),
            basis: match &report.basis {
                AuditBasis::Nothing => String::new(),
                AuditBasis::Store => "store".to_owned(),
                AuditBasis::File(path) => shown(path),
            },
            records: report.records,
            head: report.head.clone(),
            findings: report.findings.iter().map(FindingData::of).collect(),
            history: report.history.clone(),
            rerun: rerun.map(Again::data),
        }
    }
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.anchor.is_some() {
        refuse_agents("anchor the record")?;
    }
    let (project, path) = subject(args.plan.as_deref())?;
    let mut report = Auditor::of(&project, path.as_deref())?;
    let again = rerun::rerun(&args.again, &project, path.as_deref(), &mut report)?;
    let count = report.findings().count();
    match args.format {
        Format::Text => text(&report, &again, path.as_deref(), out),
        Format::Markdown => out.data(&markdown(&report)),
    }
    let mut statements = Vec::new();
    if let Some(folder) = &args.statements {
        for plan in &report.plans {
            statements.extend(audit::write_statements(plan, folder)?.iter().map(|path| shown(path)));
        }
        let count = wording::number(statements.len(), "statement");
        out.talk(&format!("wrote {count} to {}", clean_line(&shown(folder))));
    }
    let anchor = args.anchor.map(|place| anchor(&project, place, count)).transpose()?;
    if let Some(AnchorData { place, head }) = &anchor {
        out.line(&format!("anchored {} in {}", &head[..8], clean_line(place)));
    }
    let audited = Audited {
        is_intact: count == 0,
        plans: report.plans.iter().map(|plan| PlanData::of(plan, &again)).collect(),
        findings: report.findings.iter().map(FindingData::of).collect(),
        compared: report.compared.clone(),
        notes: report.notes.clone(),
        statements,
        anchor,
    };
    let exit = if count == 0 { Exit::Done } else { Exit::No };
    Ok(Response::new(exit, "audit", &audited).next(next(path.as_deref(), &report)))
}

/// The project, and the plan that is asked for. One whose file is gone is known by its record.
fn subject(plan: Option<&str>) -> Result<(Project, Option<PathBuf>), Failure> {
    let project = here()?;
    let Some(plan) = plan else { return Ok((project, None)) };
    match project.address(plan) {
        Ok(address) => Ok((project_of(&address.plan)?, Some(address.plan))),
        Err(error) => match audit::recorded(&project, plan)? {
            Some(path) => Ok((project, Some(path))),
            None => Err(error.into()),
        },
    }
}

fn anchor(project: &Project, place: Place, findings: usize) -> Result<AnchorData, Failure> {
    let place = match place {
        Place::Ref => AnchorRefs::Ref,
        Place::Note => AnchorRefs::Note,
    };
    let (head, place) = audit::keep(project, place, findings)?;
    Ok(AnchorData { place, head })
}

fn next(path: Option<&Path>, report: &AuditReport) -> NextCommand {
    let plan = path.map(shown);
    let is_intact = report.findings().next().is_none();
    let is_recorded = report.plans.iter().any(|plan| plan.basis == AuditBasis::Store);
    match (plan, is_recorded) {
        _ if !is_intact => NextCommand::new(["planwright", "doctor"]),
        (_, false) => NextCommand::new(["planwright", "list"]),
        (Some(plan), true) => NextCommand::new(["planwright", "export", plan.as_str(), "--receipts"])
            .remark("to export the record"),
        (None, true) => {
            NextCommand::new(["planwright", "export", "--receipts"]).remark("to export the records")
        }
    }
}

fn text(report: &AuditReport, again: &[Again], asked: Option<&Path>, out: &mut Out<'_>) {
    for plan in &report.plans {
        if asked.is_none() {
            out.line(&out.palette().paint(Tone::Strong, &clean_line(&plan.plan)));
        }
        let again = again.iter().find(|again| again.plan == plan.plan);
        match again {
            Some(_) if plan.basis == AuditBasis::Nothing => out.line("no records"),
            Some(_) | None => out.line(&summary(plan, out)),
        }
        findings(&plan.findings, out);
        if let Some(again) = again {
            rerun::show(&again.audit, out);
        }
        if asked.is_some() {
            out.table(&history(&plan.history));
        }
    }
    findings(&report.findings, out);
    if report.plans.is_empty() && report.findings.is_empty() {
        out.talk("no records");
    }
    if !report.compared.is_empty() {
        out.talk(&format!("compared with {}", clean_line(&report.compared.join(", "))));
    }
    for note in &report.notes {
        out.talk(&clean_line(note));
    }
}

fn summary(plan: &PlanReport, out: &Out<'_>) -> String {
    let palette = out.palette();
    let what = match (plan.findings.len(), &plan.basis) {
        (0, AuditBasis::Nothing) => return "no records".to_owned(),
        (0, AuditBasis::Store | AuditBasis::File(_)) => palette.paint(Tone::Good, "chain intact"),
        (1, _) => palette.paint(Tone::Bad, "1 finding"),
        (count, _) => palette.paint(Tone::Bad, &format!("{count} findings")),
    };
    let from = match &plan.basis {
        AuditBasis::Nothing => return format!("{what}: no records"),
        AuditBasis::Store => String::new(),
        AuditBasis::File(path) => format!(", from {}", clean_line(&shown(path))),
    };
    format!("{what}: {}, head {}{from}", wording::number(plan.records, "event"), &plan.head[..8])
}

fn findings(findings: &[AuditFinding], out: &mut Out<'_>) {
    for finding in findings {
        let kind = out.palette().paint(Tone::Bad, finding.kind.word());
        out.line(&format!("{kind}  {}: {}", clean_line(&finding.where_), clean_line(&finding.text)));
        out.line(&format!("    {}", finding.kind.meaning()));
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

fn markdown(report: &AuditReport) -> String {
    let mut page = String::new();
    for plan in &report.plans {
        let what = match plan.findings.len() {
            0 => "chain intact".to_owned(),
            1 => "1 finding".to_owned(),
            count => format!("{count} findings"),
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
                let when = planwright_engine::system::clock::local(line.at_ms);
                let cells = [&when, &line.who, &line.what, &line.about, &line.note].map(|text| cell(text));
                let _ = writeln!(page, "| {} |", cells.join(" | "));
            }
            page.push('\n');
        }
    }
    page.push_str(&finding_list(&report.findings));
    page
}

fn finding_list(findings: &[AuditFinding]) -> String {
    let mut list = String::new();
    for finding in findings {
        let (where_, text) = (cell(&finding.where_), cell(&finding.text));
        let _ = writeln!(list, "- **{}** {where_}: {text} ({})", finding.kind, finding.kind.meaning());
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
