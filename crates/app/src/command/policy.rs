//! `policy`: shows who may approve plans here, checks a policy file, and installs one.

use std::path::PathBuf;
use std::time::Duration;

use planwright_engine::api::{BY_DEFAULT, PolicyView, ProjectPolicy, RequirementView, shown};
use similar::{Algorithm, TextDiff};

use crate::interaction::project::options;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone, clean};

/// How many lines of a difference are shown; the files have the rest.
const LINES_MAX: usize = 60;
/// How many lines around a difference are shown.
const CONTEXT_LINES: usize = 1;
/// How long it may take to find the smallest difference; after that a larger one will do.
const TIME_MAX: Duration = Duration::from_secs(1);
/// How many digits of a hash people compare.
const DIGITS: usize = 8;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    act: Option<Act>,
}

#[derive(Debug, clap::Subcommand)]
#[command(disable_help_subcommand = true)]
enum Act {
    /// Show the policy (default)
    Show,
    /// Check a policy file
    Check {
        /// Policy file
        file: PathBuf,
    },
    /// Install a policy for this repository; keep a backup
    Install {
        /// Policy file
        file: PathBuf,
    },
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let policy = ProjectPolicy::open(options())?;
    let (view, next) = match &args.act {
        None | Some(Act::Show) => {
            let view = policy.current()?;
            show(&view, out);
            (view, NextCommand::new(["planwright", "help", "policy"]))
        }
        Some(Act::Check { file }) => {
            let view = policy.check(file)?;
            show(&view, out);
            out.talk("not in effect until it is installed");
            (view, NextCommand::new(["planwright", "policy", "install", shown(file).as_str()]))
        }
        Some(Act::Install { file }) => {
            let view = policy.install(file)?;
            say_installed(&view, out);
            (view, NextCommand::new(["planwright", "policy"]))
        }
    };
    Ok(Response::done("policy", &view).next(next))
}

fn say_installed(view: &PolicyView, out: &mut Out<'_>) {
    let word = out.palette().paint(Tone::Good, if view.is_changed { "installed" } else { "kept" });
    out.line(&format!("{word}  {}", named(view)));
    if let Some([old, new]) = &view.texts {
        for line in difference(old, new) {
            out.line(&line);
        }
    }
    if let Some(backup) = &view.backup {
        out.talk(&format!("previous policy: {backup}"));
    }
    if view.is_changed {
        out.talk("approvals under the previous policy have lapsed");
    }
}

/// The file of a policy, with what names its exact text.
fn named(view: &PolicyView) -> String {
    let (path, digest) =
        (view.path.as_deref().unwrap_or_default(), view.digest.as_deref().unwrap_or_default());
    format!("{path}  {}", &digest[..DIGITS.min(digest.len())])
}

/// The lines that differ.
fn difference(old: &str, new: &str) -> Vec<String> {
    let found = TextDiff::configure().algorithm(Algorithm::Myers).timeout(TIME_MAX).diff_lines(old, new);
    let text = found.unified_diff().context_radius(CONTEXT_LINES).to_string();
    let mut lines: Vec<String> = text.lines().map(|line| format!("  {}", clean(line))).collect();
    let hidden = lines.len().saturating_sub(LINES_MAX);
    lines.truncate(LINES_MAX);
    if hidden > 0 {
        lines.push(format!("  and {hidden} more lines"));
    }
    lines
}

fn show(view: &PolicyView, out: &mut Out<'_>) {
    let mut table = Table::new();
    let head = |word: &str| Cell::new(word).tone(Tone::Strong);
    if view.path.is_none() {
        table.row([head("approval"), Cell::new(BY_DEFAULT)]);
        table.row([head("policy"), Cell::new("none").tone(Tone::Muted)]);
        for path in std::iter::once(&view.repository_file).chain(&view.user_file) {
            table.row([head(""), Cell::new(format!("not in {path}")).tone(Tone::Muted)]);
        }
        out.table(&table);
        return;
    }
    table.row([head("policy"), Cell::new(named(view))]);
    for rule in &view.auto {
        table.row([head("auto"), Cell::new(format!("{}: {}", rule.name, rule.conditions.join("; ")))]);
    }
    table.row([head("approval"), Cell::new(demanded(&view.approval).join("; "))]);
    for when in &view.when {
        let (may, needs) = (when.conditions.join(" and "), demanded(&when.approval).join("; "));
        table.row([head("when"), Cell::new(format!("{}: {may}: {needs}", when.name))]);
    }
    let signers = match &view.signers {
        Some(signers) => format!("{signers}  {} keys", view.keys),
        None => "none; approvals cannot be signed".to_owned(),
    };
    table.row([head("signers"), Cell::new(signers)]);
    out.table(&table);
}

/// What an approval needs, in words.
fn demanded(demand: &RequirementView) -> Vec<String> {
    let from = demand.from.as_ref().map(|from| from.join(", "));
    let who = match (demand.needed, from) {
        (None, None) => "a person".to_owned(),
        (None, Some(from)) => format!("one of {from}"),
        (Some(needed), None) => crate::output::wording::number(needed as usize, "approver"),
        (Some(needed), Some(from)) => format!("{needed} of {from}"),
    };
    let all = [
        Some(who),
        (demand.planner_may_approve == Some(false)).then(|| "not the proposer".to_owned()),
        (demand.signed == Some(true)).then(|| "signed".to_owned()),
        demand.expires_seconds.map(|seconds| format!("for {}", length(seconds))),
    ];
    all.into_iter().flatten().collect()
}

/// A duration in policy notation.
fn length(seconds: u64) -> String {
    let units = [(86_400, "d"), (3600, "h"), (60, "m")];
    let unit = units.into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{seconds}s"), |(unit, sign)| format!("{}{sign}", seconds / unit))
}
