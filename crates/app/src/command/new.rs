//! `new`: writes a plan that verifies, for people to fill in.

use std::path::PathBuf;

use planwright_engine::core::dialect::{Birth, NATIVE};
use planwright_engine::core::source::Source;
use planwright_engine::core::{plan, verify};
use planwright_engine::{clock, project, store};
use schemars::JsonSchema;
use serde::Serialize;

use super::{here, shown};
use crate::out::{Answer, Exit, Failure, Next, Out, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The name of the plan: small letters, digits and dashes
    name: String,
    /// The title; made of the name where it is not said
    #[arg(long)]
    title: Option<String>,
    /// Who owns its execution
    #[arg(long, default_value = "orchestrator")]
    owner: String,
    /// The title of a step; may be given several times
    #[arg(long = "step", value_name = "TITLE")]
    steps: Vec<String>,
    /// The role or agent that does the steps
    #[arg(long, default_value = "coder")]
    target: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Created {
    /// The name of the plan.
    pub(crate) name: String,
    /// Its file.
    pub(crate) path: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let slug = plan::slug(&args.name);
    if slug != args.name || slug.is_empty() {
        let failure = Failure::new(Exit::Usage, format!("`{}` is no name for a plan", args.name));
        let failure = failure.hint("use small letters, digits and dashes");
        return Err(match slug.is_empty() {
            true => failure,
            false => failure.next(Next::new(["planwright", "new", slug.as_str()])),
        });
    }
    let steps = args.steps.iter().map(|step| ("--step", step));
    let others = args.title.iter().map(|title| ("--title", title));
    for (option, text) in steps.chain(others).chain([("--owner", &args.owner), ("--target", &args.target)]) {
        if text.trim().is_empty() || text.chars().any(verify::is_hidden) || text.contains(['\n', '\r']) {
            return Err(Failure::new(Exit::Usage, format!("{option} {text:?} is not one line of text")));
        }
    }
    let here = here()?;
    let dialect = here.dialect.unwrap_or(NATIVE);
    let home = (dialect.home)(&slug, &store::chance()?);
    let path: PathBuf = here.root.join(&home.path);
    let text = match dialect.is_native() {
        true => template(args),
        false => {
            let birth = Birth { id: &home.id, now: &clock::utc_now() };
            dialect.compose(&Source::new("plan", template(args)).draft(), &birth)
        }
    };
    store::create_plan(&path, &text, dialect)?;
    let created = Created { name: project::name(&path), path: shown(&path) };
    out.line(&format!("{}  {}", out.palette().paint(Tone::Good, "wrote"), created.path));
    Ok(Answer::done("new", &created).next(Next::new(["planwright", "verify", created.name.as_str()])))
}

fn template(args: &Args) -> String {
    let title = args.title.clone().unwrap_or_else(|| sentence(&args.name));
    let usual = ["Write the test".to_owned(), "Make it pass".to_owned()];
    let steps = if args.steps.is_empty() { usual.as_slice() } else { &args.steps };
    let owner = scalar(&args.owner);
    let mut text = format!(
        "---\ntype: plan\nstatus: draft\nowner: {owner}\n---\n\n# {title}\n\n\
         **Context:** Say why this is worth doing and what the agents must know.\n\
         **Budget:** max 200k tokens, $2.00, 30 minutes\n\n## Steps\n"
    );
    for (place, step) in steps.iter().enumerate() {
        let target = &args.target;
        let file = format!("{}.txt", plan::slug(step));
        text.push_str(&format!(
            "\n### {}. {step}\n\n**target:** {target}\n\n**task:**\n\
             Say what the agent shall do. It sees this text and nothing of the other steps.\n\n\
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
