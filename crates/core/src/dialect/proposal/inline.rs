//! A proposal from structured parameters, as the tool `plan_propose` receives them.

use serde::Deserialize;

use crate::plan::draft::{Draft, StepDraft, StepNumber};
use crate::plan::edit::unplaced;
use crate::syntax::text::one_line;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    title: String,
    steps: Vec<StepParameters>,
    #[serde(default)]
    context: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StepParameters {
    description: String,
    tool: String,
    operation: String,
    #[serde(default)]
    target: Option<String>,
}

/// The draft of a proposal; `Err` says what is wrong with the parameters.
pub fn inline(json: &str) -> Result<Draft, String> {
    let parameters: Parameters = serde_json::from_str(json).map_err(|error| error.to_string())?;
    if parameters.title.trim().is_empty() {
        return Err("`title` is empty".to_owned());
    }
    if parameters.steps.is_empty() {
        return Err("`steps` is empty".to_owned());
    }
    let steps = parameters.steps.iter().enumerate().map(|(place, step)| step_of(place, step));
    let steps = steps.collect::<Result<Vec<_>, String>>()?;
    let context = parameters.context.filter(|context| !context.trim().is_empty());
    Ok(Draft {
        title: Some(unplaced(one_line(&parameters.title))),
        context: context.map(unplaced),
        steps,
        ..Draft::default()
    })
}

fn step_of(place: usize, step: &StepParameters) -> Result<StepDraft, String> {
    for (name, value) in
        [("description", &step.description), ("tool", &step.tool), ("operation", &step.operation)]
    {
        if value.trim().is_empty() {
            return Err(format!("`{name}` of step {} is empty", place + 1));
        }
    }
    let number = u32::try_from(place + 1).map_err(|_| "too many steps".to_owned())?;
    let (tool, operation) = (one_line(&step.tool), one_line(&step.operation));
    let target = step.target.as_deref().map(|target| format!(" → {}", one_line(target))).unwrap_or_default();
    let description = one_line(&step.description);
    let mut draft = StepDraft::empty(unplaced(StepNumber::Counted(number)), unplaced(description.clone()));
    draft.task = Some(unplaced(format!("{description} ({tool}: {operation}{target})")));
    draft.tools = vec![unplaced(tool)];
    Ok(draft)
}
