//! `new NAME --from PLAN`: a new draft with the text of another plan, without its proofs and decisions.

use planwright_engine::core::dialect::NewPlan;
use planwright_engine::core::plan::edit::PlanEdit;
use planwright_engine::core::plan::verified;
use planwright_engine::store::plan_file;
use planwright_engine::system::clock;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::target::{Opened, open};
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::shown;
use planwright_engine::api::unchanged;

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Cloned {
    /// The plan that it was made of.
    pub(crate) from: String,
    /// The new plan.
    pub(crate) plan: String,
    /// Its file.
    pub(crate) path: String,
}

pub(crate) fn run(from: &str, name: &str, out: &mut Out<'_>) -> Result<Response, Failure> {
    if name.is_empty() || verified::slug(name) != name {
        let failure = Failure::new(Exit::Usage, format!("invalid plan name `{name}`"));
        return Err(failure.hint("use lowercase letters, digits and dashes"));
    }
    let Opened { path, project, source, .. } = open(from)?;
    let dialect = source.dialect();
    let home = (dialect.home)(name, &planwright_engine::store::plan_file::chance()?);
    let to = project.root.join(&home.path);
    let text = match dialect.is_native() {
        // What is only spelling stays as it is; marks and states are claims about another plan.
        true => {
            let draft = source.draft();
            let marks = (0..draft.steps.len()).map(|step| PlanEdit::Mark { step, mark: None });
            let changes: Vec<PlanEdit> = marks
                .chain([PlanEdit::Become {
                    state: planwright_engine::core::plan::lifecycle::PlanState::Draft,
                }])
                .collect();
            let edits = dialect.patch_all(&source, &changes).map_err(|refusal| unchanged(&path, &refusal))?;
            source.edited(&edits).text().to_owned()
        }
        false => dialect.compose(&source.draft(), &NewPlan { id: &home.id, now: &clock::utc_now() }),
    };
    plan_file::create_plan(&to, &text, dialect)?;
    let data = Cloned { from: shown(&path), plan: plan_file::name(&to), path: shown(&to) };
    let word = out.palette().paint(Tone::Good, "wrote");
    out.line(&format!("{word}  {}   from {}", clean_line(&data.path), clean_line(&data.from)));
    Ok(Response::done("clone", &data).next(NextCommand::new(["planwright", "verify", data.path.as_str()])))
}
