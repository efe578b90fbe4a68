//! `arbiter`: recommends the agent for the next step and the next action, with reasons. Changes nothing, except role
//! assignments with `--assign`.

use planwright_engine::api::{ArbiterNews, ArbiterOptions, ArbiterView, Vacancy};

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::{Cell, Failure, Out, Response, Table, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan [default: the plan this worktree uses]
    #[arg(default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Use the built-in arbiter
    #[arg(long)]
    built_in: bool,
    /// Save an agent for each role without one to the project settings
    #[arg(long)]
    assign: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let options = ArbiterOptions { is_built_in: args.built_in, is_assigning: args.assign };
    let view = workspace()?.plan(&args.plan)?.arbitrate(options, &mut |news| match news {
        ArbiterNews::Asking(agent) => out.talk(&clean_line(&format!("asking `{agent}`"))),
        ArbiterNews::NotAsked => out
            .talk("arbiter not asked, because this terminal belongs to an agent; using the built-in choice"),
    })?;
    print(&view, out);
    Ok(Response::done("arbiter", &view).next(view.next))
}

fn print(view: &ArbiterView, out: &mut Out<'_>) {
    let step = view.number.zip(view.step.as_ref());
    let about = step.map(|(number, id)| format!("   step {number} {id}")).unwrap_or_default();
    out.line(&format!(
        "{}{}",
        out.palette().paint(Tone::Strong, &clean_line(&view.plan)),
        clean_line(&about)
    ));
    let mut table = Table::new();
    let mut row = |word: &str, text: &str| {
        table.row(vec![Cell::new(""), Cell::new(word).tone(Tone::Muted), Cell::new(text)]);
    };
    let words: Vec<&str> = view.actions.iter().map(|action| action.word()).collect();
    row("action", &format!("{} (of {})", view.action.word(), words.join(", ")));
    row("agent", view.agent.as_deref().unwrap_or("none"));
    for (place, reason) in view.reasons.iter().enumerate() {
        row(if place == 0 { "because" } else { "" }, reason);
    }
    row("chosen by", &view.by);
    out.table(&table);
    for Vacancy { target, agent, because, is_assigned } in &view.vacancies {
        let line = match (agent, is_assigned) {
            (Some(agent), true) => format!("role `{target}` is now assigned to `{agent}`: {because}"),
            (Some(agent), false) => format!("role `{target}` could be assigned to `{agent}`: {because}"),
            (None, _) => format!("no agent for role `{target}`: {because}"),
        };
        out.line(&clean_line(&line));
    }
}
