//! `new`: writes a plan for people to fill in, or one from a template with everything filled in.

pub(crate) mod copy;

use std::collections::BTreeMap;
use std::path::PathBuf;

use planwright_engine::Project;
use planwright_engine::core::dialect::template;
use planwright_engine::core::dialect::{NATIVE, NewPlan};
use planwright_engine::core::plan::draft::StepNumber;
use planwright_engine::core::plan::edit::PlanEdit;
use planwright_engine::core::plan::verified;
use planwright_engine::core::syntax::invisible;
use planwright_engine::core::syntax::nearest;
use planwright_engine::core::syntax::source::Source;
use planwright_engine::store::plan_file;
use planwright_engine::system::clock;
use planwright_engine::workspace::template as templates;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::duplicate::warn_of_twins;
use crate::interaction::project::here;
use crate::output::{Cell, Exit, Failure, NextCommand, Out, Response, Table, Tone};
use planwright_engine::api::shown;

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Created {
    /// The name of the plan.
    pub(crate) name: String,
    /// Its file.
    pub(crate) path: String,
    /// The templates, where they were asked for; nothing was written then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) templates: Vec<TemplateData>,
}

/// One template.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TemplateData {
    /// Its name.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) summary: String,
    /// Its file; `None` where it comes along.
    pub(crate) path: Option<String>,
    /// The variables that have to be said.
    pub(crate) variables: Vec<String>,
    /// Whether it has steps for a list.
    pub(crate) is_for_each: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.templates {
        return list(out);
    }
    let slug = verified::slug(&args.name);
    if slug != args.name || slug.is_empty() {
        let failure = Failure::new(Exit::Usage, format!("`{}` is not a valid plan name", args.name));
        let failure = failure.hint("use lowercase letters, digits and dashes");
        return Err(match slug.is_empty() {
            true => failure,
            false => failure.next(NextCommand::new(["planwright", "new", slug.as_str()])),
        });
    }
    let steps = args.steps.iter().map(|step| ("--step", step));
    let others = args.title.iter().map(|title| ("--title", title));
    for (option, text) in steps.chain(others).chain([("--owner", &args.owner), ("--target", &args.target)]) {
        if text.trim().is_empty() || text.chars().any(invisible::is_hidden) || text.contains(['\n', '\r']) {
            return Err(Failure::new(Exit::Usage, format!("{option} {text:?} is not one line of text")));
        }
    }
    let here = here()?;
    let dialect = here.dialect.unwrap_or(NATIVE);
    let home = (dialect.home)(&slug, &planwright_engine::store::plan_file::chance()?);
    let path: PathBuf = here.root.join(&home.path);
    let native = match &args.template {
        Some(name) => filled(args, &here, name)?,
        None => usual(args),
    };
    let text = match dialect.is_native() {
        true => native,
        false => {
            let birth = NewPlan { id: &home.id, now: &clock::utc_now() };
            dialect.compose(&Source::new("plan", native).draft(), &birth)
        }
    };
    plan_file::create_plan(&path, &text, dialect)?;
    warn_of_twins(&here, (&path, &Source::new("plan", text.as_str()).written_in(dialect).draft()), out)?;
    let created = Created { name: plan_file::name(&path), path: shown(&path), templates: Vec::new() };
    out.line(&format!("{}  {}", out.palette().paint(Tone::Good, "wrote"), created.path));
    Ok(Response::done("new", &created).next(NextCommand::new([
        "planwright",
        "verify",
        created.name.as_str(),
    ])))
}

/// The templates that there are.
fn list(out: &mut Out<'_>) -> Result<Response, Failure> {
    let all = templates::all(&here()?);
    let mut table = Table::new();
    let data: Vec<TemplateData> = all
        .into_iter()
        .map(|found| {
            let variables = template::variables(&found.text);
            let variables: Vec<String> =
                variables.into_iter().filter(|name| !template::GIVEN.contains(&name.as_str())).collect();
            TemplateData {
                is_for_each: list_of(&Source::new("plan", found.text.as_str())).is_some(),
                path: found.path.as_deref().map(shown),
                name: found.name,
                summary: found.summary,
                variables,
            }
        })
        .collect();
    for one in &data {
        let variables = one.variables.iter().map(|name| format!("--var {name}=…"));
        let each = one.is_for_each.then(|| "--each FILE".to_owned());
        table.row(vec![
            Cell::new(&one.name).tone(Tone::Strong),
            Cell::new(&one.summary),
            Cell::new(variables.chain(each).collect::<Vec<_>>().join(" ")).tone(Tone::Muted),
        ]);
    }
    out.table(&table);
    out.talk(&format!("templates of your own: {}/NAME.md", templates::FOLDER));
    let created = Created { name: String::new(), path: String::new(), templates: data };
    Ok(Response::done("new", &created).next(NextCommand::new(["planwright", "help", "new"])))
}

/// The text of a template with everything filled in.
fn filled(args: &Args, project: &Project, name: &str) -> Result<String, Failure> {
    let found = templates::find(project, name).map_err(|error| unknown(project, name, error))?;
    let mut said = BTreeMap::new();
    for text in &args.variables {
        let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
        let (name, value) = pair.ok_or_else(|| {
            Failure::new(Exit::Usage, format!("`{text}` is not of the form KEY=VALUE"))
                .next(NextCommand::new(["planwright", "new", "--templates"]))
        })?;
        said.insert(name.to_owned(), value.to_owned());
    }
    let title = args.title.clone().unwrap_or_else(|| sentence(&args.name));
    let given = [
        ("name", args.name.clone()),
        ("title", title),
        ("owner", scalar(&args.owner)),
        ("target", args.target.clone()),
    ];
    let given = given.map(|(name, value)| (name.to_owned(), value)).into();
    let text = template::fill(&found.text, &said, &given).map_err(|unfilled| {
        Failure::new(Exit::Usage, format!("cannot fill in template {}: {unfilled}", found.name))
            .hint("pass each variable with --var KEY=VALUE; nothing was written")
            .next(NextCommand::new(["planwright", "new", "--templates"]))
    })?;
    let Some(each) = &args.each else { return Ok(text) };
    let text_of_list = planwright_engine::api::read_input(each, each)?;
    let items: Vec<String> =
        text_of_list.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let mut source = Source::new(args.name.as_str(), text);
    if list_of(&source).is_none() {
        return Err(Failure::new(Exit::Usage, format!("template {} has no step to expand", found.name))
            .hint("such a step has the heading `### 1–N. Title`; nothing was written"));
    }
    while let Some(step) = list_of(&source) {
        let change = PlanEdit::Expand { step, items: items.clone() };
        let edits = NATIVE
            .patch(&source, &change)
            .map_err(|refusal| Failure::new(Exit::No, format!("cannot expand {each}")).because(&refusal))?;
        source = source.edited(&edits);
    }
    Ok(source.text().to_owned())
}

/// The first template step. `N+1` only continues its numbering.
fn list_of(source: &Source) -> Option<usize> {
    source.draft().steps.iter().position(|step| match &step.number.value {
        StepNumber::Template(text) => !text.contains('+'),
        StepNumber::Counted(_) => false,
    })
}

fn unknown(project: &Project, name: &str, error: Option<plan_file::Error>) -> Failure {
    let Some(error) = error else {
        let names: Vec<String> = templates::all(project).into_iter().map(|found| found.name).collect();
        let failure = Failure::new(Exit::Usage, format!("unknown template `{name}`"));
        let failure = match nearest::nearest(name, names.iter().map(String::as_str)) {
            Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
            None => failure.hint(format!("the templates are {}", names.join(", "))),
        };
        return failure.next(NextCommand::new(["planwright", "new", "--templates"]));
    };
    error.into()
}

fn usual(args: &Args) -> String {
    let title = args.title.clone().unwrap_or_else(|| sentence(&args.name));
    let usual = ["Write the test".to_owned(), "Make it pass".to_owned()];
    let steps = if args.steps.is_empty() { usual.as_slice() } else { &args.steps };
    let owner = scalar(&args.owner);
    let mut text = format!(
        "---\ntype: plan\nstatus: draft\nowner: {owner}\n---\n\n# {title}\n\n\
         **Context:** Explain why this is worth doing and what the agents must know.\n\
         **Budget:** max 200k tokens, $2.00, 30 minutes\n\n## Steps\n"
    );
    for (place, step) in steps.iter().enumerate() {
        let target = &args.target;
        let file = format!("{}.txt", verified::slug(step));
        text.push_str(&format!(
            "\n### {}. {step}\n\n**target:** {target}\n\n**task:**\n\
             Describe what the agent should do. It sees only this text, not the other steps.\n\n\
             **contract:**\n```shell\ntest -s {file}   # replace this: exit 0 only when the step is done\n```\n\
             exit_code == 0\n**on_fail:** retry(2), then escalate\n",
            place + 1
        ));
    }
    text
}

/// The text as a value of the frontmatter: quoted where YAML would read something else into it.
fn scalar(text: &str) -> String {
    let is_plain = text.chars().all(|character| character.is_alphanumeric() || "-_.@".contains(character))
        && text.starts_with(char::is_alphabetic);
    // YAML takes every JSON string.
    if is_plain { text.to_owned() } else { serde_json::Value::from(text).to_string() }
}

/// `auth-timeout` as a title: "Auth timeout".
fn sentence(name: &str) -> String {
    let words = name.replace('-', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
