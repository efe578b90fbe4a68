//! `doctor`: checks everything planwright relies on, reports problems with a fix, and fixes what is safe.

use planwright_engine::api::{DoctorFindingView, Repair, doctor};

use crate::interaction::project::options;
use crate::output::wording::number;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Fix what can be fixed without losing data
    #[arg(long)]
    fix: bool,
    /// Give this project the record of a project that is gone
    #[arg(long, value_name = "RECORD", conflicts_with_all = ["fix", "set_aside"])]
    adopt: Option<String>,
    /// Move the record of this project out of the way and start with an empty one
    #[arg(long, conflicts_with = "fix")]
    set_aside: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let repair = match (&args.adopt, args.fix, args.set_aside) {
        (Some(record), _, _) => Repair::Adopt(record.clone()),
        (None, true, _) => Repair::Yes,
        (None, false, true) => Repair::SetAside,
        (None, false, false) => Repair::No,
    };
    let view = doctor(options(), &repair)?;
    for what in &view.fixed {
        line("fixed", Tone::Good, what, out);
    }
    out.warn_all(&view.unfixed);
    for finding in &view.findings {
        print(finding, out);
    }
    let summary = match (view.errors, view.warnings) {
        (0, 0) => "healthy".to_owned(),
        (0, warnings) => number(warnings, "warning"),
        (errors, 0) => number(errors, "error"),
        (errors, warnings) => format!("{}, {}", number(errors, "error"), number(warnings, "warning")),
    };
    out.line(&match view.fixable {
        0 => summary,
        fixable => format!("{summary}; planwright doctor --fix fixes {fixable} of them"),
    });
    let exit = if view.errors > 0 { Exit::No } else { Exit::Done };
    let mut answer = Response::new(exit, "doctor", &view);
    answer.next.extend(view.next().map(|command| NextCommand { command: command.clone(), remark: None }));
    Ok(answer)
}

fn print(finding: &DoctorFindingView, out: &mut Out<'_>) {
    let tone = match finding.level.as_str() {
        "ok" => Tone::Good,
        "warn" => Tone::Attention,
        _ => Tone::Bad,
    };
    let fix = finding.fix.as_ref().map(|fix| format!("     fix: {fix}")).unwrap_or_default();
    line(&finding.level, tone, &format!("{}{fix}", finding.what), out);
}

fn line(word: &str, tone: Tone, text: &str, out: &mut Out<'_>) {
    let pad = " ".repeat(5_usize.saturating_sub(word.len()));
    let word = out.palette().paint(tone, word);
    let text = clean(text.trim_end()).replace('\n', "\n      ");
    out.line(&format!("{word}{pad} {text}"));
}
