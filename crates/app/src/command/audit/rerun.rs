//! `audit --rerun` and `audit --marks`: contracts run again, with no agent, on a fresh checkout, and what that settles.

use planwright_engine::api::{CurrentResult, Earlier, RerunOptions, RerunOutcome, RerunScope, RerunView};

use crate::output::wording;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
// A part of the arguments of `audit`: a second group of the same name is none.
#[group(skip)]
pub(crate) struct Args {
    /// Run every contract again in a fresh checkout, without an agent
    #[arg(long)]
    rerun: bool,
    /// Run the contracts of steps marked done; list false claims
    #[arg(long, conflicts_with = "rerun")]
    marks: bool,
    /// Audit this commit [default: the working directory]
    #[arg(long, value_name = "COMMIT")]
    at: Option<String>,
    /// Run contracts that already passed on the same content
    #[arg(long)]
    no_cache: bool,
}

impl Args {
    /// How contracts run again, if that was asked for.
    pub(super) fn options(&self) -> Result<Option<RerunOptions>, Failure> {
        let scope = match (self.rerun, self.marks) {
            (true, _) => RerunScope::All,
            (false, true) => RerunScope::Claims,
            (false, false) if self.at.is_some() || self.no_cache => {
                let failure = Failure::new(Exit::Usage, "`--at` and `--no-cache` apply to reruns only");
                let next = NextCommand::new(["planwright", "help", "audit"]);
                return Err(failure.hint("pass `--rerun` or `--marks` as well").next(next));
            }
            (false, false) => return Ok(None),
        };
        let earlier = if self.no_cache { Earlier::Ignored } else { Earlier::Counts };
        Ok(Some(RerunOptions { at: self.at.clone(), scope, earlier }))
    }
}

/// Shows what came of the steps of a plan.
pub(super) fn show(rerun: &RerunView, out: &mut Out<'_>) {
    if !rerun.fault.is_empty() {
        let word = out.palette().paint(Tone::Bad, "unreadable");
        out.line(&format!("{word}: {}", clean_line(&rerun.fault)));
        return;
    }
    let now = wording::now();
    let mut table = Table::new();
    for step in &rerun.steps {
        let tone = match step.settled {
            RerunOutcome::Holds | RerunOutcome::Confirmed => Tone::Good,
            RerunOutcome::False | RerunOutcome::Broken | RerunOutcome::Moved => Tone::Bad,
            RerunOutcome::Open | RerunOutcome::Unknown => Tone::Muted,
        };
        let note = match (step.earlier_ms, step.now.because()) {
            (Some(at_ms), _) => format!("ran {} on the same content", wording::age(at_ms, now)),
            (None, because) => because.to_owned(),
        };
        table.row(vec![
            Cell::new(&step.number).right(),
            Cell::new(&step.id),
            Cell::new(step.settled.word()).tone(tone),
            Cell::new(step.now.word()),
            Cell::new(note).tone(Tone::Muted),
        ]);
    }
    out.table(&table);
    let count = rerun.steps.iter().filter(|step| step.now == CurrentResult::Passes).count();
    let contracts = rerun.steps.iter().filter(|step| step.now != CurrentResult::Manual).count();
    let spared = match rerun.cached {
        0 => String::new(),
        cached => format!("; {cached} cached: nothing changed since"),
    };
    out.line(&format!("{count} of {} pass{spared}", wording::number(contracts, "contract")));
}
