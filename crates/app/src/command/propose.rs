//! `propose`: asks for approval of all named plans or none. Plans must have no errors; a policy rule may approve them
//! immediately.

use planwright_engine::api::{Plan, ProposalsView, STDIN, proposal_of_json, read_input, slug};

use crate::interaction::project::workspace;
use crate::interaction::proposal::print;
use crate::output::{Exit, Failure, NextCommand, Out, Response};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plans; `-` reads standard input [default: the plan this worktree uses]
    #[arg(value_name = "PLAN")]
    pub(crate) plans: Vec<String>,
    /// Use .harness/PLAN-<NAME>.md; with `-`, the name of the new plan
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Read a proposal from a JSON file; `-` reads standard input: {"title", "steps": [{"description", "tool", "operation", "target"}], "context"}
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plans", "name"])]
    pub(crate) steps: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let candidates = match &args.steps {
        Some(file) => vec![inline(file)?],
        None => args.plans.iter().map(|plan| candidate(plan, args)).collect::<Result<_, Failure>>()?,
    };
    // All of them are looked at before anything is written.
    candidates.iter().try_for_each(Plan::may_be_proposed)?;
    let mut view = ProposalsView { plans: Vec::new() };
    for plan in candidates {
        out.warn_all(&plan.workspace().expire()?);
        let proposed = plan.propose()?;
        print(&proposed, out);
        view.plans.push(proposed);
    }
    let answer = Response::done("propose", &view);
    Ok(match view.plans.first() {
        Some(first) => {
            let verb = if first.approved_by_rule.is_some() { "run" } else { "review" };
            answer.next(NextCommand::new(["planwright", verb, first.path.as_str()]))
        }
        None => answer,
    })
}

fn candidate(plan: &str, args: &Args) -> Result<Plan, Failure> {
    if plan != STDIN {
        return Ok(workspace()?.plan(plan)?);
    }
    let Some(name) = args.name.as_ref().filter(|name| !name.is_empty() && slug(name) == **name) else {
        let failure = Failure::new(Exit::Usage, "a plan from standard input needs a name");
        return Err(failure.hint("pass --name with lowercase letters, digits and dashes"));
    };
    Ok(workspace()?.plan_of_text(name, read_input(STDIN, STDIN)?)?)
}

/// A proposal out of steps that a planner names: document C's `plan_propose`.
fn inline(file: &str) -> Result<Plan, Failure> {
    let draft = proposal_of_json(&read_input(file, file)?).map_err(|why| {
        Failure::new(Exit::Usage, format!("{file} is not a proposal: {why}")).hint(
            "expected {\"title\": …, \"steps\": [{\"description\": …, \"tool\": …, \"operation\": …, \"target\": \
             …}], \"context\": …}",
        )
    })?;
    Ok(workspace()?.plan_of_steps(&draft)?)
}
