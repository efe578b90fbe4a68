//! New plans: for people to fill in, from a template with everything filled in, or with the text of another plan.

use std::collections::BTreeMap;
use std::path::PathBuf;

use planwright_core::dialect::template;
use planwright_core::dialect::{NATIVE, NewPlan};
use planwright_core::plan::draft::{Draft, StepNumber};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified;
use planwright_core::syntax::invisible;
use planwright_core::syntax::nearest;
use planwright_core::syntax::source::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::{Error, ErrorKind, unchanged};
use crate::api::input::read_input;
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::workspace::Workspace;
use crate::portfolio::board::DuplicatePlan;
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::system::clock;
use crate::workspace::active_plan;
use crate::workspace::project::Project;
use crate::workspace::template as templates;

/// A plan that somebody wants.
#[derive(Debug)]
pub struct NewPlanOptions<'a> {
    /// Lowercase letters, digits and dashes.
    pub name: &'a str,
    /// From the name if there is none.
    pub title: Option<&'a str>,
    pub owner: &'a str,
    /// The titles of its steps.
    pub steps: &'a [String],
    /// The role or agent of its steps.
    pub target: &'a str,
    /// A template, by name or file.
    pub template: Option<&'a str>,
    /// Variables of the template: `KEY=VALUE`.
    pub variables: &'a [String],
    /// A file whose lines each become a step of the template, or `-`.
    pub each: Option<&'a str>,
}

/// A plan that was written, or the templates for one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewPlanView {
    /// The name of the plan.
    pub name: String,
    /// Its file.
    pub path: String,
    /// The templates, where they were asked for; nothing was written then.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub templates: Vec<TemplateView>,
    /// Other plans that may be the same work.
    #[serde(skip)]
    pub duplicates: Vec<DuplicatePlan>,
}

/// One template.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TemplateView {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub summary: String,
    /// Its file; `None` where it comes along.
    pub path: Option<String>,
    /// The variables that have to be said.
    pub variables: Vec<String>,
    /// Whether it has steps for a list.
    pub is_for_each: bool,
}

/// A plan that was made of another one.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CopyView {
    /// The plan that it was made of.
    pub from: String,
    /// The new plan.
    pub plan: String,
    /// Its file.
    pub path: String,
}

impl Workspace {
    pub fn create(&self, plan: &NewPlanOptions<'_>) -> Result<NewPlanView, Error> {
        let slug = verified::slug(plan.name);
        if slug != plan.name || slug.is_empty() {
            let failure = Error::new(ErrorKind::Usage, format!("`{}` is not a valid plan name", plan.name));
            let failure = failure.hint("use lowercase letters, digits and dashes");
            return Err(match slug.is_empty() {
                true => failure,
                false => failure.next(NextCommand::new(["planwright", "new", slug.as_str()])),
            });
        }
        let steps = plan.steps.iter().map(|step| ("--step", step.as_str()));
        let others = plan.title.iter().map(|title| ("--title", *title));
        for (option, text) in steps.chain(others).chain([("--owner", plan.owner), ("--target", plan.target)])
        {
            if text.trim().is_empty() || text.chars().any(invisible::is_hidden) || text.contains(['\n', '\r'])
            {
                return Err(Error::new(
                    ErrorKind::Usage,
                    format!("{option} {text:?} is not one line of text"),
                ));
            }
        }
        let native = match plan.template {
            Some(name) => filled(plan, self.project(), name)?,
            None => usual(plan),
        };
        let source = Source::new("plan", native);
        let draft = parse(&source);
        let path = self.write_new(&slug, &source, &draft)?;
        Ok(NewPlanView {
            name: plan_file::name(&path),
            path: shown(&path),
            templates: Vec::new(),
            duplicates: self.duplicates(&path, &draft)?,
        })
    }

    /// Makes the file of a plan in the dialect of the project; never over one that is there.
    pub(crate) fn write_new(
        &self,
        name: &str,
        native: &Source,
        draft: &Draft,
    ) -> Result<PathBuf, plan_file::Error> {
        let dialect = self.project().dialect.unwrap_or(NATIVE);
        let home = (dialect.home)(name, &plan_file::chance()?);
        let path = active_plan::place(self.project(), &home.path);
        let text = match dialect.is_native() {
            true => native.text().to_owned(),
            false => dialect.compose(draft, &NewPlan { id: &home.id, now: &clock::utc_now() }),
        };
        plan_file::create_plan(&path, &text, dialect)?;
        Ok(path)
    }

    /// The templates that there are; nothing is written.
    pub fn templates(&self) -> NewPlanView {
        let templates = templates::all(self.project())
            .into_iter()
            .map(|found| {
                let variables = template::variables(&found.text);
                let variables: Vec<String> =
                    variables.into_iter().filter(|name| !template::GIVEN.contains(&name.as_str())).collect();
                TemplateView {
                    is_for_each: list_of(&Source::new("plan", found.text.as_str())).is_some(),
                    path: found.path.as_deref().map(shown),
                    name: found.name,
                    summary: found.summary,
                    variables,
                }
            })
            .collect();
        NewPlanView { name: String::new(), path: String::new(), templates, duplicates: Vec::new() }
    }

    /// Writes a new draft with the text of another plan, without its proofs and decisions.
    pub fn copy_plan(&self, from: &str, name: &str) -> Result<CopyView, Error> {
        if name.is_empty() || verified::slug(name) != name {
            let failure = Error::new(ErrorKind::Usage, format!("invalid plan name `{name}`"));
            return Err(failure.hint("use lowercase letters, digits and dashes"));
        }
        let plan = self.plan(from)?;
        let source = plan.source();
        let dialect = source.dialect();
        let home = (dialect.home)(name, &plan_file::chance()?);
        let to = plan.workspace().root().join(&home.path);
        let text = match dialect.is_native() {
            // What is only spelling stays as it is; marks and states are claims about another plan.
            true => {
                let marks = (0..plan.draft().steps.len()).map(|step| PlanEdit::Mark { step, mark: None });
                let changes: Vec<PlanEdit> =
                    marks.chain([PlanEdit::Become { state: PlanState::Draft }]).collect();
                let edits = dialect
                    .patch_all(source, &changes)
                    .map_err(|refusal| unchanged(plan.path(), &refusal))?;
                source.edited(&edits).text().to_owned()
            }
            false => dialect.compose(plan.draft(), &NewPlan { id: &home.id, now: &clock::utc_now() }),
        };
        plan_file::create_plan(&to, &text, dialect)?;
        Ok(CopyView { from: plan.shown(), plan: plan_file::name(&to), path: shown(&to) })
    }
}

/// The text of a template with everything filled in.
fn filled(plan: &NewPlanOptions<'_>, project: &Project, name: &str) -> Result<String, Error> {
    let found = templates::find(project, name).map_err(|error| unknown(project, name, error))?;
    let mut said = BTreeMap::new();
    for text in plan.variables {
        let pair = text.split_once('=').filter(|(name, _)| !name.is_empty());
        let (name, value) = pair.ok_or_else(|| {
            Error::new(ErrorKind::Usage, format!("`{text}` is not of the form KEY=VALUE"))
                .next(NextCommand::new(["planwright", "new", "--templates"]))
        })?;
        said.insert(name.to_owned(), value.to_owned());
    }
    let title = plan.title.map_or_else(|| sentence(plan.name), str::to_owned);
    let given = [
        ("name", plan.name.to_owned()),
        ("title", title),
        ("owner", scalar(plan.owner)),
        ("target", plan.target.to_owned()),
    ];
    let given = given.map(|(name, value)| (name.to_owned(), value)).into();
    let text = template::fill(&found.text, &said, &given).map_err(|unfilled| {
        Error::new(ErrorKind::Usage, format!("cannot fill in template {}: {unfilled}", found.name))
            .hint("pass each variable with --var KEY=VALUE; nothing was written")
            .next(NextCommand::new(["planwright", "new", "--templates"]))
    })?;
    let Some(each) = &plan.each else { return Ok(text) };
    let text_of_list = read_input(each, each)?;
    let items: Vec<String> =
        text_of_list.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let mut source = Source::new(plan.name, text);
    if list_of(&source).is_none() {
        return Err(Error::new(ErrorKind::Usage, format!("template {} has no step to expand", found.name))
            .hint("such a step has the heading `### 1–N. Title`; nothing was written"));
    }
    while let Some(step) = list_of(&source) {
        let change = PlanEdit::Expand { step, items: items.clone() };
        let edits = NATIVE.patch(&source, &change).map_err(|refusal| {
            Error::new(ErrorKind::Refused, format!("cannot expand {each}")).because(&refusal)
        })?;
        source = source.edited(&edits);
    }
    Ok(source.text().to_owned())
}

/// The first template step. `N+1` only continues its numbering.
fn list_of(source: &Source) -> Option<usize> {
    parse(source).steps.iter().position(|step| match &step.number.value {
        StepNumber::Template(text) => !text.contains('+'),
        StepNumber::Counted(_) => false,
    })
}

fn unknown(project: &Project, name: &str, error: Option<plan_file::Error>) -> Error {
    let Some(error) = error else {
        let names: Vec<String> = templates::all(project).into_iter().map(|found| found.name).collect();
        let failure = Error::new(ErrorKind::Usage, format!("unknown template `{name}`"));
        let failure = match nearest::nearest(name, names.iter().map(String::as_str)) {
            Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
            None => failure.hint(format!("the templates are {}", names.join(", "))),
        };
        return failure.next(NextCommand::new(["planwright", "new", "--templates"]));
    };
    error.into()
}

fn usual(plan: &NewPlanOptions<'_>) -> String {
    let title = plan.title.map_or_else(|| sentence(plan.name), str::to_owned);
    let usual = ["Write the test".to_owned(), "Make it pass".to_owned()];
    let steps = if plan.steps.is_empty() { usual.as_slice() } else { plan.steps };
    let owner = scalar(plan.owner);
    let mut text = format!(
        "---\ntype: plan\nstatus: draft\nowner: {owner}\n---\n\n# {title}\n\n\
         **Context:** Explain why this is worth doing and what the agents must know.\n\
         **Budget:** max 200k tokens, $2.00, 30 minutes\n\n## Steps\n"
    );
    for (place, step) in steps.iter().enumerate() {
        let target = plan.target;
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
