//! `new`: writes a plan for people to fill in, or one from a template with everything filled in.

pub(crate) mod copy;

use planwright_engine::api::{NewPlanOptions, TEMPLATES};

use crate::interaction::duplicate::warn_of_duplicates;
use crate::interaction::project::workspace;
use crate::output::{Cell, Failure, NextCommand, Out, Response, Table, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan name: lowercase letters, digits and dashes
    #[arg(required_unless_present = "templates", default_value = "", hide_default_value = true)]
    pub(crate) name: String,
    /// Title [default: from the name]
    #[arg(long)]
    title: Option<String>,
    /// Owner
    #[arg(long, default_value = "orchestrator")]
    owner: String,
    /// Add a step with this title (repeatable)
    #[arg(long = "step", value_name = "TITLE")]
    steps: Vec<String>,
    /// Role or agent for the steps
    #[arg(long, default_value = "coder")]
    target: String,
    /// Template name or file
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "steps")]
    template: Option<String>,
    /// Set a template variable (repeatable)
    #[arg(long = "var", value_name = "KEY=VALUE", requires = "template")]
    variables: Vec<String>,
    /// Expand the template's `N` steps, once per line of FILE; `-` reads standard input
    #[arg(long, value_name = "FILE", requires = "template")]
    each: Option<String>,
    /// List templates and their variables
    #[arg(long, conflicts_with_all = ["name", "template"])]
    templates: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.templates {
        return list(out);
    }
    let created = workspace()?.create(&NewPlanOptions {
        name: &args.name,
        title: args.title.as_deref(),
        owner: &args.owner,
        steps: &args.steps,
        target: &args.target,
        template: args.template.as_deref(),
        variables: &args.variables,
        each: args.each.as_deref(),
    })?;
    warn_of_duplicates(&created.duplicates, out);
    out.line(&format!("{}  {}", out.palette().paint(Tone::Good, "wrote"), created.path));
    Ok(Response::done("new", &created).next(NextCommand::new([
        "planwright",
        "verify",
        created.name.as_str(),
    ])))
}

/// The templates that there are.
fn list(out: &mut Out<'_>) -> Result<Response, Failure> {
    let view = workspace()?.templates();
    let mut table = Table::new();
    for one in &view.templates {
        let variables = one.variables.iter().map(|name| format!("--var {name}=…"));
        let each = one.is_for_each.then(|| "--each FILE".to_owned());
        table.row(vec![
            Cell::new(&one.name).tone(Tone::Strong),
            Cell::new(&one.summary),
            Cell::new(variables.chain(each).collect::<Vec<_>>().join(" ")).tone(Tone::Muted),
        ]);
    }
    out.table(&table);
    out.talk(&format!("templates of your own: {TEMPLATES}/NAME.md"));
    Ok(Response::done("new", &view).next(NextCommand::new(["planwright", "help", "new"])))
}
