//! Commands with several modes: one name to type, several modules behind it. Each module keeps its own output and
//! schema; only the grammar is shared.

use crate::command::log::{events, versions};
use crate::command::new::copy;
use crate::command::revise::planner;
use crate::command::status::{inbox, queue, standup};
use crate::command::r#use::active;
use crate::command::{log, new, revise, show, status, r#use};
use crate::interaction::target::NamedPlan;
use crate::output::{Failure, Out, Response};

#[derive(Debug, clap::Args)]
pub(super) struct Status {
    #[command(flatten)]
    pub(super) status: status::Args,
    /// Show every open question with its answers, and pending reviews
    #[arg(long, group = "view", conflicts_with_all = ["plan", "name", "watch", "next", "all"])]
    inbox: bool,
    /// Show which plans can start, what blocks others, and attempts
    #[arg(long, group = "view", conflicts_with_all = ["plan", "name", "watch", "next", "all"])]
    queue: bool,
    /// Summarize what happened since 24h, 7d, 09:00 or 2026-05-27
    #[arg(long, value_name = "TIME", group = "view", conflicts_with_all = ["plan", "name", "watch", "next", "all"])]
    since: Option<String>,
}

impl Status {
    /// Whether this is about all plans, whatever the worktree uses.
    pub(super) const fn is_about_all(&self) -> bool {
        self.inbox || self.queue || self.since.is_some()
    }

    pub(super) fn run(&self, out: &mut Out<'_>) -> Result<Response, Failure> {
        match &self.since {
            Some(since) => standup::run(since, out),
            None if self.inbox => inbox::run(out),
            None if self.queue => queue::list(out),
            None => status::run(&self.status, out),
        }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct Log {
    #[command(flatten)]
    pub(super) log: log::Args,
    /// Show the versions of the plan, their runs and merges
    #[arg(long, conflicts_with_all = ["part", "follow", "run", "task"])]
    versions: bool,
    /// Show events of all plans and runs
    #[arg(long, conflicts_with_all = ["part", "versions", "run", "task", "name"], help_heading = "All plans")]
    pub(super) all: bool,
    #[command(flatten, next_help_heading = "All plans")]
    events: events::Args,
}

impl Log {
    pub(super) fn run(mut self, out: &mut Out<'_>) -> Result<Response, Failure> {
        if self.all {
            self.events.follow = self.log.follow;
            let typed = Some(self.log.plan).filter(|plan| !plan.is_empty());
            self.events.plan = self.events.plan.or(typed);
            return events::run(&self.events, out);
        }
        if self.versions { versions::run(&self.log.plan, out) } else { log::run(&self.log, out) }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct Show {
    #[command(flatten)]
    pub(super) show: show::Args,
    /// Show the queued attempt of a step as its agent gets it
    #[arg(long, conflicts_with_all = ["graph", "section", "reader"])]
    work_item: bool,
}

impl Show {
    pub(super) fn run(&self, out: &mut Out<'_>) -> Result<Response, Failure> {
        if self.work_item { queue::show(&self.show.plan, out) } else { show::run(&self.show, out) }
    }
}

#[derive(Debug, clap::Args)]
pub(super) struct New {
    #[command(flatten)]
    new: new::Args,
    /// Copy the text of another plan; approvals and marks are not copied
    #[arg(
        long,
        value_name = "PLAN",
        conflicts_with_all = ["title", "owner", "steps", "target", "template", "templates"]
    )]
    from: Option<String>,
}

impl New {
    pub(super) fn run(&self, out: &mut Out<'_>) -> Result<Response, Failure> {
        match &self.from {
            Some(plan) => copy::run(plan, &self.new.name, out),
            None => new::run(&self.new, out),
        }
    }
}

/// Chooses the plan of a worktree, or shows it.
pub(super) fn run_use(args: &r#use::Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.only_shows() { active::show(out) } else { r#use::run(args, out) }
}

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("next_version").args(["planner", "copy", "from"]).multiple(true))]
pub(super) struct Revise {
    /// Plan, or PLAN/STEP for a failed step
    #[arg(value_name = "PLAN[/STEP]", default_value = "", hide_default_value = true)]
    pub(super) plan: String,
    #[command(flatten)]
    pub(super) named: NamedPlan,
    /// Why you revise it
    #[arg(short, long, default_value = "", hide_default_value = true, conflicts_with = "next_version")]
    message: String,
    /// Have the planner write the next version after a failure, and propose it
    #[arg(long, help_heading = "Next version")]
    planner: bool,
    #[command(flatten)]
    next: planner::Args,
}

impl Revise {
    pub(super) fn run(mut self, out: &mut Out<'_>) -> Result<Response, Failure> {
        if self.planner || self.next.is_asked_for() {
            self.next.plan = self.plan;
            return planner::run(&self.next, out);
        }
        revise::run(&self.plan, &self.message, out)
    }
}
