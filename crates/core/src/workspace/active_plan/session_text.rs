//! What a session is told about the plans in the `.harness` directory, and the session-start scripts, which
//! both shells get from the same source. For projects without named plans the text is locked: it must not
//! change by a byte.

use super::{MARKER, MarkerFault};
use crate::dialect::named::{PlanSlug, Slug, plan_file, progress_file};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanNames<'a> {
    pub folder: &'a str,
    /// The unnamed plan first.
    pub plans: &'a [PlanSlug],
    /// The plan that the marker names, or why it leads to none; `None` without a marker.
    pub bound: Option<Result<&'a Slug, &'a MarkerFault>>,
}

/// What a session is told at its start; `None` if there is no plan.
pub fn block(plans: &PlanNames<'_>) -> Option<String> {
    let has_name = plans.plans.iter().any(|plan| plan.slug().is_some());
    match (has_name || plans.bound.is_some(), plans.plans) {
        (false, []) => None,
        (false, _) => Some(unnamed(plans.folder)),
        (true, _) => Some(named(plans)),
    }
}

/// The locked text, for projects that have only the unnamed plan.
fn unnamed(folder: &str) -> String {
    let (plan, progress) = (plan_file(None), progress_file(None));
    format!(
        "[planwright] The state of this project's work:\n  {plan}:     {folder}/{plan}\n  {progress}: {folder}/{progress}\n\
         Read {plan} before you say where the work stands, and before you work, review or release.\n"
    )
}

fn named(plans: &PlanNames<'_>) -> String {
    let files: Vec<String> = plans.plans.iter().map(|plan| plan_file(plan.slug())).collect();
    let width = files.iter().map(|file| file.chars().count()).max().unwrap_or_default();
    let mut text =
        "[planwright] The state of this project's work: named plans, each with a worker of its own:\n"
            .to_owned();
    for file in &files {
        text.push_str(&format!("  {file:<width$}  {}/{file}\n", plans.folder));
    }
    text.push_str(&binding(plans));
    text.push_str(
        "Read the plan that you own before you say where the work stands, and before you work, review or release. The others are \
         other workers'.\n",
    );
    text
}

fn binding(plans: &PlanNames<'_>) -> String {
    match plans.bound {
        None => {
            "Active plan: none is bound here (planwright use NAME binds one); without a name it is PLAN.md\n"
                .to_owned()
        }
        Some(Ok(slug)) => {
            format!("Active plan ({MARKER} -> {slug}): {}/{}\n", plans.folder, plan_file(Some(slug)))
        }
        Some(Err(fault)) => {
            let slug = fault.slug().map_or("?", Slug::as_str);
            format!("Active plan ({MARKER} -> {slug}): DANGLING - {fault}; run planwright doctor\n")
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShellKind {
    Bash,
    PowerShell,
}

impl ShellKind {
    pub const ALL: [Self; 2] = [Self::Bash, Self::PowerShell];

    pub const fn word(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::PowerShell => "powershell",
        }
    }

    /// Where a project keeps the script.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Bash => ".harness/session-start.sh",
            Self::PowerShell => ".harness/session-start.ps1",
        }
    }
}

/// The program that resolves plans, and the arguments that scripts call it with.
pub const PROGRAM: &str = "planwright";
pub const WORDS: &str = "list-plans --session";

/// One action of a script. Each shell spells it; the actions and their order are defined once.
enum Act {
    Comment(&'static str),
    /// Ends the script if the program is missing, without failing the session.
    Require(&'static str),
    /// Passes the agent's standard input to the program, whose output is the script's.
    Ask,
    /// Ends with success, whatever the program returned.
    End,
}

const SCRIPT: &[Act] = &[
    Act::Comment("Tells a session which plans this project has and to which one its worktree is bound."),
    Act::Comment(
        "Made by `planwright prompt session-start`; the twin for the other shell is made of the same source.",
    ),
    Act::Require("[planwright] not on the PATH, so no plan is told of"),
    Act::Ask,
    Act::End,
];

/// The script that an agent runs at session start. It never fails and never asks for input.
pub fn script(shell: ShellKind) -> String {
    let head = match shell {
        ShellKind::Bash => "#!/usr/bin/env bash\n",
        ShellKind::PowerShell => "#!/usr/bin/env pwsh\n",
    };
    let lines = SCRIPT.iter().map(|act| match shell {
        ShellKind::Bash => bash(act),
        ShellKind::PowerShell => powershell(act),
    });
    std::iter::once(head.to_owned()).chain(lines).collect()
}

fn bash(act: &Act) -> String {
    match act {
        Act::Comment(text) => format!("# {text}\n"),
        Act::Require(complaint) => {
            format!("command -v {PROGRAM} >/dev/null 2>&1 || {{ echo '{complaint}' >&2; exit 0; }}\n")
        }
        Act::Ask => format!("{PROGRAM} --quiet {WORDS}\n"),
        Act::End => "exit 0\n".to_owned(),
    }
}

fn powershell(act: &Act) -> String {
    match act {
        Act::Comment(text) => format!("# {text}\n"),
        Act::Require(complaint) => format!(
            "if (-not (Get-Command {PROGRAM} -ErrorAction SilentlyContinue)) {{ [Console]::Error.WriteLine('{complaint}'); exit 0 }}\n"
        ),
        Act::Ask => format!("[Console]::In.ReadToEnd() | & {PROGRAM} --quiet {WORDS}\n"),
        Act::End => "exit 0\n".to_owned(),
    }
}
