//! Output of `worktree`, as data and as text.

use planwright_engine::api::worktree::{
    AddedWorktree, CreatedBy, PruneDecision, Removed, ScriptRun, WorktreeFinding, WorktreeState, Worktrees,
    typed_command,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::output::wording;
use crate::output::{Cell, Out, Table, Tone, clean, clean_line};

/// One tree.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TreeData {
    /// What it is called.
    pub(crate) name: String,
    /// The root of the project in it.
    pub(crate) path: String,
    /// The plan that it is for, relative to the root of the project.
    pub(crate) plan: Option<String>,
    /// The branch that its work goes to.
    pub(crate) branch: Option<String>,
    /// `active`, `merged`, `orphaned` or `dangling`.
    pub(crate) state: String,
    /// `planwright`, or `git` where the user made it with `git worktree`.
    pub(crate) made_by: String,
    /// How many bytes it takes.
    pub(crate) bytes: u64,
    /// The ports that it has for itself.
    pub(crate) ports: Vec<u16>,
    /// When something in it changed last, in milliseconds since 1970.
    pub(crate) changed_at_ms: Option<u64>,
    /// Whether `prune` removes it.
    pub(crate) is_safe_to_reclaim: bool,
    /// Why it does not.
    pub(crate) kept_because: Option<String>,
    /// Whether its creation was never finished: setup failed, or the process died.
    pub(crate) is_unfinished: bool,
    /// A command that fixes it.
    pub(crate) mend: Option<String>,
}

impl TreeData {
    pub(super) fn of(trees: &Worktrees, finding: &WorktreeFinding) -> Self {
        let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
        Self {
            name: finding.name.clone(),
            path: text(&trees.place(&finding.path)),
            plan: finding.plan.as_deref().map(text),
            branch: finding.branch.clone(),
            state: finding.state.word().to_owned(),
            made_by: maker(finding.maker).to_owned(),
            bytes: finding.bytes,
            ports: finding.ports.clone(),
            changed_at_ms: finding.changed_at_ms,
            is_safe_to_reclaim: finding.reclaim == PruneDecision::Safe,
            kept_because: match &finding.reclaim {
                PruneDecision::Safe => None,
                PruneDecision::Kept { why } => Some(why.to_string()),
            },
            is_unfinished: finding.maker == CreatedBy::Planwright && trees.is_unfinished(&finding.name),
            mend: finding.mend.clone(),
        }
    }
}

/// A tree that was removed, or would be.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RemovedData {
    /// What it was called.
    pub(crate) name: String,
    /// Where it was.
    pub(crate) path: String,
    /// The branch with its work, which stays.
    pub(crate) branch: Option<String>,
    /// How many bytes it took.
    pub(crate) bytes: u64,
    /// Where its plan and its progress were saved, if they had changed.
    pub(crate) saved: Vec<String>,
}

impl RemovedData {
    pub(super) fn of(removed: &Removed) -> Self {
        Self {
            name: removed.name.clone(),
            path: removed.path.to_string_lossy().into_owned(),
            branch: removed.branch.clone(),
            bytes: removed.bytes,
            saved: removed.saved.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        }
    }

    pub(super) fn would(finding: &WorktreeFinding) -> Self {
        Self {
            name: finding.name.clone(),
            path: finding.path.to_string_lossy().into_owned(),
            branch: finding.branch.clone(),
            bytes: finding.bytes,
            saved: Vec::new(),
        }
    }
}

const fn maker(maker: CreatedBy) -> &'static str {
    match maker {
        CreatedBy::Planwright => "planwright",
        CreatedBy::Git => "git",
    }
}

/// Reports a created or existing worktree.
pub(super) fn added(added: &AddedWorktree, out: &mut Out<'_>) {
    let tree = &added.tree;
    let word = if added.furnished.is_some() { "created" } else { "exists " };
    let word = out.palette().paint(Tone::Good, word);
    let plan = tree.plan.as_ref().map(|plan| plan.to_string_lossy().into_owned()).unwrap_or_default();
    let branch = tree.branch.as_deref().unwrap_or_default();
    let what = format!("{}   {plan} on {branch}", tree.name);
    out.line(&format!("{word}  {}", clean_line(&what)));
    out.line(&format!("         {}", clean_line(&added.place.to_string_lossy())));
    if !tree.ports.is_empty() {
        out.line(&format!("         ports {}", ports(&tree.ports)));
    }
    let Some(furnished) = &added.furnished else { return };
    if !furnished.copied.is_empty() {
        let copied: Vec<String> =
            furnished.copied.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        out.line(&format!("         copied {}", clean_line(&copied.join(", "))));
    }
    for (path, why) in &furnished.left_out {
        out.warn(&format!("{} was not copied: {why}", path.display()));
    }
    match &furnished.setup {
        ScriptRun::Nothing => {}
        ScriptRun::Well => out.line("         set up"),
        ScriptRun::Unallowed { command } => out.warn(&format!(
            "setup command not run: it comes from planwright.toml, which agents can write, and is not allowed yet: {}",
            typed_command(command)
        )),
        ScriptRun::Badly { how, said } => {
            out.warn(&format!("setup command failed: {how}; worktree kept, run the same command to try again"));
            out.talk(&wording::indented(&clean(said.trim_end())));
        }
    }
}

fn ports(ports: &[u16]) -> String {
    ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}

/// All worktrees, one per line.
pub(super) fn table(findings: &[WorktreeFinding], out: &mut Out<'_>) {
    let now = wording::now();
    let mut table = Table::new();
    for finding in findings {
        let plan = finding.plan.as_ref().map(|plan| plan.to_string_lossy().into_owned());
        let plan = plan.unwrap_or_else(|| match finding.maker {
            CreatedBy::Git => "(git worktree)".to_owned(),
            CreatedBy::Planwright => String::new(),
        });
        table.row([
            Cell::new(&finding.name).tone(Tone::Strong),
            Cell::new(plan),
            Cell::new(finding.branch.as_deref().unwrap_or_default()),
            Cell::new(finding.state.word()).tone(tone(finding.state)),
            Cell::new(wording::size(finding.bytes)).right(),
            Cell::new(ports(&finding.ports)),
            Cell::new(finding.changed_at_ms.map(|at| wording::age(at, now)).unwrap_or_default()).right(),
        ]);
    }
    out.table(&table);
}

const fn tone(state: WorktreeState) -> Tone {
    match state {
        WorktreeState::Active => Tone::Good,
        WorktreeState::Merged | WorktreeState::Orphaned | WorktreeState::Dangling => Tone::Attention,
    }
}

/// Lists removed worktrees and what was saved.
pub(super) fn removed(all: &[Removed], word: &str, out: &mut Out<'_>) {
    for removed in all {
        let word = out.palette().paint(Tone::Good, word);
        let branch = removed.branch.as_ref().map(|branch| format!("   its work is on {branch}"));
        let what =
            format!("{}   {}{}", removed.name, wording::size(removed.bytes), branch.unwrap_or_default());
        out.line(&format!("{word}  {}", clean_line(&what)));
        for saved in &removed.saved {
            out.line(&format!("         saved {}", clean_line(&saved.to_string_lossy())));
        }
    }
}

/// Lists worktrees that would be removed.
pub(super) fn would_remove(safe: &[WorktreeFinding], out: &mut Out<'_>) {
    for finding in safe {
        let what = format!("{}   {}   {}", finding.name, finding.state.word(), wording::size(finding.bytes));
        out.line(&format!("would remove  {}", clean_line(&what)));
    }
    let bytes: u64 = safe.iter().map(|finding| finding.bytes).sum();
    out.line(&format!(
        "{} can be removed, {}",
        wording::number(safe.len(), "worktree"),
        wording::size(bytes)
    ));
}

/// Lists kept worktrees and why; those in use are omitted.
pub(super) fn kept(all: &[WorktreeFinding], out: &mut Out<'_>) {
    for finding in all {
        if let PruneDecision::Kept { why } = &finding.reclaim {
            let what = format!("{}   {}: {why}", finding.name, finding.state.word());
            out.line(&format!("kept  {}", clean_line(&what)));
        }
    }
}
