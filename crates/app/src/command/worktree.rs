//! `worktree`: working copies of the repository, one per plan. Creates, lists and removes them without losing work.

mod show;

use planwright_engine::api::Right;
use planwright_engine::api::worktree::{
    DIGITS_MIN, PruneDecision, Pruned, RegisteredWorktree, ScriptRun, Setup, WorktreeScript,
    Worktrees as Trees, script_digest, typed_command,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::choice::{Choice, Pressed, can_ask, choose};
use crate::interaction::project::workspace;
use crate::output::wording;
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use show::{RemovedData, TreeData};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Create a worktree for a plan, or print its path
    Add(AddArgs),
    /// List worktrees and their states
    List,
    /// Print the path: cd "$(planwright worktree path NAME)"
    Path {
        /// Worktree or plan
        name: String,
    },
    /// Remove a worktree unless work would be lost; keep branches
    Remove {
        /// Worktree or plan
        name: String,
        /// Keep the plan's branch; always on
        #[arg(long)]
        keep_branch: bool,
        /// Allow the teardown command in planwright.toml by its digest
        #[arg(long, value_name = "DIGEST")]
        allow: Option<String>,
    },
    /// Remove unused worktrees unless work would be lost
    Prune {
        /// Show what would be removed
        #[arg(long)]
        dry_run: bool,
    },
}

#[derive(Debug, clap::Args)]
struct AddArgs {
    /// Plan
    plan: String,
    /// Worktree name [default: the plan name]
    #[arg(long)]
    name: Option<String>,
    /// Base commit [default: the plan's branch, otherwise HEAD]
    #[arg(long, value_name = "REV")]
    base: Option<String>,
    /// Skip the setup command
    #[arg(long)]
    no_setup: bool,
    /// Allow the setup command in planwright.toml by its digest
    #[arg(long, value_name = "DIGEST", conflicts_with = "no_setup")]
    allow: Option<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Worktrees {
    /// All worktrees; with `add` and `path`, the one in question.
    pub(crate) trees: Vec<TreeData>,
    /// The worktrees that were removed, or would be.
    pub(crate) removed: Vec<RemovedData>,
    /// Whether it was only looked at.
    pub(crate) is_dry_run: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    match &args.verb {
        Verb::Add(args) => add(args, out),
        Verb::List => list(out),
        Verb::Path { name } => path(name, out),
        Verb::Remove { name, allow, keep_branch: _ } => remove(name, allow.as_deref(), out),
        Verb::Prune { dry_run: true } => would_prune(out),
        Verb::Prune { dry_run: false } => prune(out),
    }
}

fn add(args: &AddArgs, out: &mut Out<'_>) -> Result<Response, Failure> {
    let opened = workspace()?.plan(&args.plan)?;
    let trees = opened.workspace().worktrees()?;
    let setup = if args.no_setup { Setup::Leave } else { Setup::Run };
    if setup == Setup::Run {
        permit(&trees, trees.unallowed_setup()?, args.allow.as_deref(), Right::AllowSetup, out)?;
    }
    let added = trees.add(&opened, args.name.as_deref(), args.base.as_deref(), setup)?;
    out.warn_all(&added.complaints);
    show::added(&added, out);
    let data = data_of(&trees, &added.tree)?;
    let again = ["planwright", "worktree", "add"].map(str::to_owned);
    let again = again.into_iter().chain([opened.shown()]);
    let (exit, next) = match added.furnished.as_ref().map(|furnished| &furnished.setup) {
        None | Some(ScriptRun::Nothing | ScriptRun::Well) => {
            (Exit::Done, NextCommand::new(["cd", added.place.to_string_lossy().as_ref()]))
        }
        Some(ScriptRun::Unallowed { command }) => {
            let digest = script_digest(command)[..DIGITS_MIN].to_owned();
            (Exit::Person, NextCommand::new(again.chain(["--allow".to_owned(), digest])))
        }
        Some(ScriptRun::Badly { .. }) => (Exit::No, NextCommand::new(again)),
    };
    let data = Worktrees { trees: vec![data], removed: Vec::new(), is_dry_run: false };
    Ok(Response::new(exit, "worktree", &data).next(next))
}

/// Asks a person to allow a command set only by the project. Without permission it is not run, which is reported later.
fn permit(
    trees: &Trees,
    script: Option<&WorktreeScript>,
    allow: Option<&str>,
    right: Right,
    out: &mut Out<'_>,
) -> Result<(), Failure> {
    let Some(script) = script else { return Ok(()) };
    let what = if right == Right::AllowSetup { "setup" } else { "teardown" };
    let digest = script_digest(&script.command);
    let command = clean_line(&typed_command(&script.command)).into_owned();
    if let Some(typed) = allow {
        trees.may_allow(right)?;
        if typed.len() < DIGITS_MIN || !digest.starts_with(typed) {
            let short = &digest[..DIGITS_MIN];
            return Err(Failure::new(
                Exit::Moved,
                format!("the {what} command is {short}, not {typed}: {command}"),
            )
            .hint("read it, then pass its digest")
            .next(NextCommand::new(["planwright", "config", &format!("worktree.{what}")])));
        }
        return Ok(trees.allow(script, right)?);
    }
    if !can_ask(out) {
        return Ok(());
    }
    out.complain(&format!(
        "planwright.toml, which agents can write, sets a {what} command that runs as you:\n  {command}\n"
    ));
    let choices = [
        Choice::new("[y]es", "allows exactly this command in worktrees of this repository"),
        Choice::new("[N]o", "runs nothing"),
    ];
    match choose("Allow it in worktrees of this repository?", &choices, out)? {
        Pressed::Key('y') => Ok(trees.allow(script, right)?),
        Pressed::Key(_) | Pressed::Nothing => Ok(()),
    }
}

fn data_of(trees: &Trees, tree: &RegisteredWorktree) -> Result<TreeData, Failure> {
    let finding = trees.look_at(tree)?;
    Ok(TreeData::of(trees, &finding))
}

fn list(out: &mut Out<'_>) -> Result<Response, Failure> {
    let trees = workspace()?.worktrees()?;
    let findings = trees.inspect()?;
    show::table(&findings, out);
    let data: Vec<TreeData> = findings.iter().map(|finding| TreeData::of(&trees, finding)).collect();
    let is_any_safe = findings.iter().any(|finding| finding.reclaim == PruneDecision::Safe);
    let next = match findings.is_empty() {
        true => {
            out.talk("no worktrees");
            NextCommand::new(["planwright", "help", "worktree"])
        }
        false if is_any_safe => NextCommand::new(["planwright", "worktree", "prune", "--dry-run"]),
        false => NextCommand::new(["planwright", "status"]),
    };
    let data = Worktrees { trees: data, removed: Vec::new(), is_dry_run: false };
    Ok(Response::done("worktree", &data).next(next))
}

fn path(name: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    let trees = workspace()?.worktrees()?;
    let tree = trees.find(name)?;
    let place = trees.place(&tree.path);
    if !trees.is_there(&tree) {
        let message = format!("worktree `{}` exists, but its directory is missing", tree.name);
        return Err(Failure::new(Exit::No, message).next(NextCommand::new([
            "planwright",
            "worktree",
            "list",
        ])));
    }
    out.line(&place.to_string_lossy());
    // The path alone needs no scan of all files.
    let data = match out.settings().is_json {
        true => vec![data_of(&trees, &tree)?],
        false => Vec::new(),
    };
    Ok(Response::done("worktree", &Worktrees { trees: data, removed: Vec::new(), is_dry_run: false }))
}

fn remove(name: &str, allow: Option<&str>, out: &mut Out<'_>) -> Result<Response, Failure> {
    let trees = workspace()?.worktrees()?;
    permit(&trees, trees.unallowed_teardown()?, allow, Right::AllowTeardown, out)?;
    let removed = trees.remove(name)?;
    show::removed(std::slice::from_ref(&removed), "removed", out);
    let data = Worktrees { trees: Vec::new(), removed: vec![RemovedData::of(&removed)], is_dry_run: false };
    Ok(Response::done("worktree", &data).next(NextCommand::new(["planwright", "worktree", "list"])))
}

fn would_prune(out: &mut Out<'_>) -> Result<Response, Failure> {
    let trees = workspace()?.worktrees()?;
    let (safe, kept): (Vec<_>, Vec<_>) =
        trees.inspect()?.into_iter().partition(|finding| finding.reclaim == PruneDecision::Safe);
    let removed: Vec<RemovedData> = safe.iter().map(RemovedData::would).collect();
    show::would_remove(&safe, out);
    show::kept(&kept, out);
    let data = Worktrees {
        trees: kept.iter().map(|finding| TreeData::of(&trees, finding)).collect(),
        removed,
        is_dry_run: true,
    };
    let next = match safe.is_empty() {
        true => NextCommand::new(["planwright", "worktree", "list"]),
        false => NextCommand::new(["planwright", "worktree", "prune"]),
    };
    Ok(Response::done("worktree", &data).next(next))
}

fn prune(out: &mut Out<'_>) -> Result<Response, Failure> {
    let trees = workspace()?.worktrees()?;
    permit(&trees, trees.unallowed_teardown()?, None, Right::AllowTeardown, out)?;
    let Pruned { removed, kept, failed } = trees.prune()?;
    show::removed(&removed, "reclaimed", out);
    let bytes: u64 = removed.iter().map(|removed| removed.bytes).sum();
    let word = out.palette().paint(Tone::Good, &wording::number(removed.len(), "worktree"));
    out.line(&format!("{word} reclaimed, {}", wording::size(bytes)));
    show::kept(&kept, out);
    for (_, error) in &failed {
        out.warn(&error.to_string());
    }
    let stays = kept.iter().chain(failed.iter().map(|(finding, _)| finding));
    let data = Worktrees {
        trees: stays.map(|finding| TreeData::of(&trees, finding)).collect(),
        removed: removed.iter().map(RemovedData::of).collect(),
        is_dry_run: false,
    };
    Ok(Response::done("worktree", &data).next(NextCommand::new(["planwright", "worktree", "list"])))
}
