//! `doctor`: checks everything planwright relies on, reports problems with a fix, and fixes what is safe.

use planwright_engine::audit::doctor;
use planwright_engine::audit::doctor::{DoctorFinding, DoctorLevel};
use planwright_engine::workspace::project;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::project::typed_settings;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean};
use planwright_engine::api::{Caller, Right};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Fix what can be fixed without losing data
    #[arg(long)]
    fix: bool,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Examined {
    /// Everything that was looked at, as it is now.
    pub(crate) findings: Vec<FindingData>,
    /// How many of them are errors.
    pub(crate) errors: usize,
    /// How many of them are warnings.
    pub(crate) warnings: usize,
    /// What was fixed.
    pub(crate) fixed: Vec<String>,
}

/// One thing that was looked at.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FindingData {
    /// `ok`, `warn` or `error`.
    pub(crate) level: String,
    /// What was found.
    pub(crate) what: String,
    /// A command that helps.
    pub(crate) fix: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.fix {
        Caller::of_process().may(Right::Repair)?;
    }
    let root = project::root_of(".".as_ref())?;
    let mut findings = doctor::examine(&root, typed_settings());
    let mut fixed = Vec::new();
    if args.fix {
        for finding in &findings {
            let Some(repair) = &finding.repair else { continue };
            match doctor::mend(&root, typed_settings(), repair) {
                Ok(()) => {
                    line("fixed", Tone::Good, &finding.what, out);
                    fixed.push(finding.what.clone());
                }
                Err(why) => out.warn(&format!("{}: {why}", finding.what)),
            }
        }
        findings = doctor::examine(&root, typed_settings());
    }
    for finding in &findings {
        print(finding, out);
    }
    let count = |level: DoctorLevel| findings.iter().filter(|finding| finding.level == level).count();
    let (errors, warnings) = (count(DoctorLevel::Error), count(DoctorLevel::Warn));
    let mendable = findings.iter().filter(|finding| finding.repair.is_some()).count();
    let number = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        _ => format!("{count} {word}s"),
    };
    let summary = match (errors, warnings) {
        (0, 0) => "healthy".to_owned(),
        (0, _) => number(warnings, "warning"),
        (_, 0) => number(errors, "error"),
        (_, _) => format!("{}, {}", number(errors, "error"), number(warnings, "warning")),
    };
    out.line(&match mendable {
        0 => summary,
        _ => format!("{summary}; planwright doctor --fix fixes {mendable} of them"),
    });
    // The worst first; at the same level in the order of the list.
    let with_fix = |level: DoctorLevel| {
        let mut findings = findings.iter().filter(|finding| finding.level == level);
        findings.find_map(|finding| finding.fix.clone())
    };
    let next = with_fix(DoctorLevel::Error).or_else(|| with_fix(DoctorLevel::Warn));
    let data = findings.iter().map(|finding| FindingData {
        level: finding.level.word().to_owned(),
        what: finding.what.clone(),
        fix: finding.fix.clone(),
    });
    let data = Examined { findings: data.collect(), errors, warnings, fixed };
    let exit = if errors > 0 { Exit::No } else { Exit::Done };
    let mut answer = Response::new(exit, "doctor", &data);
    answer.next.extend(next.map(|command| NextCommand { command, remark: None }));
    Ok(answer)
}

fn print(finding: &DoctorFinding, out: &mut Out<'_>) {
    let tone = match finding.level {
        DoctorLevel::Ok => Tone::Good,
        DoctorLevel::Warn => Tone::Attention,
        DoctorLevel::Error => Tone::Bad,
    };
    let fix = finding.fix.as_ref().map(|fix| format!("     fix: {fix}")).unwrap_or_default();
    line(finding.level.word(), tone, &format!("{}{fix}", finding.what), out);
}

fn line(word: &str, tone: Tone, text: &str, out: &mut Out<'_>) {
    let pad = " ".repeat(5_usize.saturating_sub(word.len()));
    let word = out.palette().paint(tone, word);
    let text = clean(text.trim_end()).replace('\n', "\n      ");
    out.line(&format!("{word}{pad} {text}"));
}
