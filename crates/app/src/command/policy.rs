//! `policy`: shows who may approve plans here, checks a policy file, and installs one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use planwright_engine::config::policy;
use planwright_engine::config::policy::{InstalledPolicy, Loaded, PolicyPaths};
use planwright_engine::core::approval::policy::{
    Automatic, BY_DEFAULT, Policy, Requirement, ToolLists, When,
};
use planwright_engine::core::syntax::glob::Glob;
use planwright_engine::workspace::project;
use schemars::JsonSchema;
use serde::Serialize;
use similar::{Algorithm, TextDiff};

use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone, clean};
use planwright_engine::api::shown;
use planwright_engine::api::{Caller, Right};

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PolicyData {
    /// The policy file; `None` if there is none, so a person decides by default.
    pub(crate) path: Option<String>,
    /// Names its exact text and that of its list of signers.
    pub(crate) digest: Option<String>,
    /// Where the policy of this repository is looked for first.
    pub(crate) repository_file: String,
    /// The user's policy file; `None` without a home directory.
    pub(crate) user_file: Option<String>,
    /// The rules by which a plan is approved without a person.
    pub(crate) auto: Vec<RuleData>,
    /// What every other plan needs.
    pub(crate) approval: DemandData,
    /// What some plans need besides.
    pub(crate) when: Vec<WhenData>,
    /// The list of signers; `None` if there is none.
    pub(crate) signers: Option<String>,
    /// How many keys count.
    pub(crate) keys: usize,
    /// Whether another policy holds now than before.
    pub(crate) is_changed: bool,
    /// Where the policy before is kept, if it was replaced.
    pub(crate) backup: Option<String>,
}

/// A rule by which a plan is approved without a person.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RuleData {
    /// Its name.
    pub(crate) name: String,
    /// Its conditions, all of which must hold.
    pub(crate) conditions: Vec<String>,
}

/// What an approval needs.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DemandData {
    /// The people who may approve; `None`: anybody.
    pub(crate) from: Option<Vec<String>>,
    /// How many of them have to; `None`: nothing is said.
    pub(crate) needed: Option<u32>,
    /// Whether the one who proposed the plan may be one of them.
    pub(crate) planner_may_approve: Option<bool>,
    /// How long an approval holds.
    pub(crate) expires_seconds: Option<u64>,
    /// Whether only a signed approval counts.
    pub(crate) signed: Option<bool>,
}

/// What some plans need besides.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WhenData {
    /// Its name.
    pub(crate) name: String,
    /// What such a plan may do.
    pub(crate) conditions: Vec<String>,
    /// What it needs.
    pub(crate) approval: DemandData,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let places = PolicyPaths::of(&project::root_of(".".as_ref())?)?;
    match &args.act {
        None | Some(Act::Show) => {
            let loaded = places.load()?;
            show(&places, loaded.as_ref(), out);
            let next = NextCommand::new(["planwright", "help", "policy"]);
            Ok(Response::done("policy", &data(&places, loaded.as_ref())).next(next))
        }
        Some(Act::Check { file }) => {
            let loaded = policy::check(file)?;
            show(&places, Some(&loaded), out);
            out.talk("not in effect until it is installed");
            let next = NextCommand::new(["planwright", "policy", "install", shown(file).as_str()]);
            Ok(Response::done("policy", &data(&places, Some(&loaded))).next(next))
        }
        Some(Act::Install { file }) => {
            Caller::of_process().may(Right::ChangePolicy)?;
            Ok(install(&places, file, out)?.next(NextCommand::new(["planwright", "policy"])))
        }
    }
}

fn install(places: &PolicyPaths, file: &Path, out: &mut Out<'_>) -> Result<Response, Failure> {
    // The policy in effect until now: approvals under it lapse. An unreadable one had no effect.
    let before = places.load().ok().flatten();
    let InstalledPolicy { path, old, backup, loaded } = places.install(file)?;
    let is_changed = before.as_ref().is_none_or(|before| before.digest != loaded.digest);
    let word = out.palette().paint(Tone::Good, if is_changed { "installed" } else { "kept" });
    out.line(&format!("{word}  {}  {}", shown(&path), &loaded.digest[..DIGITS]));
    for line in difference(old.as_deref().unwrap_or_default(), &loaded.text) {
        out.line(&line);
    }
    if let Some(backup) = &backup {
        out.talk(&format!("previous policy: {}", shown(backup)));
    }
    if is_changed {
        out.talk("approvals under the previous policy have lapsed");
    }
    let data = PolicyData { is_changed, backup: backup.as_deref().map(shown), ..data(places, Some(&loaded)) };
    Ok(Response::done("policy", &data))
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

fn show(places: &PolicyPaths, loaded: Option<&Loaded>, out: &mut Out<'_>) {
    let mut table = Table::new();
    let head = |word: &str| Cell::new(word).tone(Tone::Strong);
    let Some(loaded) = loaded else {
        table.row([head("approval"), Cell::new(BY_DEFAULT)]);
        table.row([head("policy"), Cell::new("none").tone(Tone::Muted)]);
        for path in std::iter::once(&places.repository).chain(&places.user) {
            table.row([head(""), Cell::new(format!("not in {}", shown(path))).tone(Tone::Muted)]);
        }
        out.table(&table);
        return;
    };
    let policy = &loaded.policy;
    table.row([head("policy"), Cell::new(format!("{}  {}", shown(&loaded.path), &loaded.digest[..DIGITS]))]);
    for rule in &policy.automatic {
        table.row([head("auto"), Cell::new(format!("{}: {}", rule.name, conditions(rule).join("; ")))]);
    }
    table.row([head("approval"), Cell::new(demanded(policy, &policy.demand).join("; "))]);
    for when in &policy.when {
        let (may, needs) = (possible(when).join(" and "), demanded(policy, &when.demand).join("; "));
        table.row([head("when"), Cell::new(format!("{}: {may}: {needs}", when.name))]);
    }
    let signers = match &loaded.signers {
        Some(signers) => format!("{}  {} keys", shown(&signers.path), signers.len()),
        None => "none; approvals cannot be signed".to_owned(),
    };
    table.row([head("signers"), Cell::new(signers)]);
    out.table(&table);
}

fn data(places: &PolicyPaths, loaded: Option<&Loaded>) -> PolicyData {
    let none = Policy::default();
    let policy = loaded.map_or(&none, |loaded| &loaded.policy);
    let signers = loaded.and_then(|loaded| loaded.signers.as_ref());
    let rule = |rule: &Automatic| RuleData { name: rule.name.clone(), conditions: conditions(rule) };
    let when = |when: &When| WhenData {
        name: when.name.clone(),
        conditions: possible(when),
        approval: demand(policy, &when.demand),
    };
    PolicyData {
        path: loaded.map(|loaded| shown(&loaded.path)),
        digest: loaded.map(|loaded| loaded.digest.clone()),
        repository_file: shown(&places.repository),
        user_file: places.user.as_deref().map(shown),
        auto: policy.automatic.iter().map(rule).collect(),
        approval: demand(policy, &policy.demand),
        when: policy.when.iter().map(when).collect(),
        signers: signers.map(|signers| shown(&signers.path)),
        keys: signers.map_or(0, planwright_engine::config::signature::Signers::len),
        is_changed: false,
        backup: None,
    }
}

fn demand(policy: &Policy, demand: &Requirement) -> DemandData {
    DemandData {
        from: demand.from.as_ref().map(|from| policy.people_of(from).into_iter().collect()),
        needed: demand.needed,
        planner_may_approve: demand.planner_may_approve,
        expires_seconds: demand.expires_seconds,
        signed: demand.is_signed,
    }
}

/// The conditions of a rule, in words.
fn conditions(rule: &Automatic) -> Vec<String> {
    let listed = |what: &str, list: &Option<Vec<String>>| {
        list.as_ref().map(|list| format!("{what} {}", list.join(", ")))
    };
    let most = |amount: Option<u64>, unit: &str| amount.map(|amount| format!("at most {amount} {unit}"));
    let tools = match &rule.tools {
        Some(ToolLists::Any) => Some("uses any tool".to_owned()),
        Some(ToolLists::These(tools)) => Some(format!("uses only {}", tools.join(", "))),
        None => None,
    };
    let commands = rule.commands.as_ref().map(|commands| {
        let commands = commands.iter().map(|(target, words)| format!("{target} = {}", words.join(" ")));
        format!("agent commands {}", commands.collect::<Vec<_>>().join(", "))
    });
    let all = [
        rule.paths.as_ref().map(|paths| format!("touches only {}", patterns(paths))),
        tools,
        listed("run by", &rule.agents),
        commands,
        listed("proposed by", &rule.proposers),
        rule.micro_dollars.map(|amount| format!("at most {}", dollars(amount))),
        most(rule.tokens, "tokens"),
        most(rule.seconds, "seconds"),
        most(rule.steps_max.map(u64::from), "steps"),
        listed("in dialect", &rule.dialects),
        rule.is_red_required.then(|| "every contract fails before the work".to_owned()),
    ];
    all.into_iter().flatten().collect()
}

/// What a plan may do that needs more, in words.
fn possible(when: &When) -> Vec<String> {
    let all = [
        when.paths.as_ref().map(|paths| format!("may touch {}", patterns(paths))),
        when.tools.as_ref().map(|tools| format!("may use {}", tools.join(", "))),
        when.micro_dollars.map(|amount| format!("may cost {}", dollars(amount))),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { vec!["every plan".to_owned()] } else { all }
}

/// What an approval needs, in words.
fn demanded(policy: &Policy, demand: &Requirement) -> Vec<String> {
    let from =
        demand.from.as_ref().map(|from| policy.people_of(from).into_iter().collect::<Vec<_>>().join(", "));
    let who = match (demand.needed, from) {
        (None, None) => "a person".to_owned(),
        (None, Some(from)) => format!("one of {from}"),
        (Some(needed), None) => crate::output::wording::number(needed as usize, "approver"),
        (Some(needed), Some(from)) => format!("{needed} of {from}"),
    };
    let all = [
        Some(who),
        (demand.planner_may_approve == Some(false)).then(|| "not the proposer".to_owned()),
        (demand.is_signed == Some(true)).then(|| "signed".to_owned()),
        demand.expires_seconds.map(|seconds| format!("for {}", length(seconds))),
    ];
    all.into_iter().flatten().collect()
}

fn patterns(globs: &[Glob]) -> String {
    globs.iter().map(Glob::pattern).collect::<Vec<_>>().join(", ")
}

fn dollars(micro: u64) -> String {
    let cents = micro / 10_000;
    match micro % 10_000 {
        0 => format!("${}.{:02}", cents / 100, cents % 100),
        _ => format!("${}.{:06}", micro / 1_000_000, micro % 1_000_000),
    }
}

/// A duration in policy notation.
fn length(seconds: u64) -> String {
    let units = [(86_400, "d"), (3600, "h"), (60, "m")];
    let unit = units.into_iter().find(|(unit, _)| seconds.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{seconds}s"), |(unit, sign)| format!("{}{sign}", seconds / unit))
}
