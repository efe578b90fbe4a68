//! `plan-json` blocks, which agents of other harnesses print to plan, to report completion, or to escalate.
//! Treated as proposals: `plan` becomes the text of a plan, and the other two are only messages.
//! docs/how-to/plan-with-an-agent.md describes the block.

use std::fmt;

use serde::Deserialize;

use crate::dialect::{NATIVE, NewPlan};
use crate::plan::draft::{ContractDraft, Draft, StepDraft, StepNumber};
use crate::plan::verified;
use crate::syntax::source::{Excerpt, Source, Span, Spanned};

/// The info string of the fence.
const LANGUAGE: &str = "plan-json";
/// An upper bound; the checker's own limit is lower.
const ATTEMPTS_MAX: u32 = 1000;
/// The default target.
const AGENT: &str = "coder";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanJsonAction {
    /// A plan, or the rest of one.
    Plan(Box<Planned>),
    /// The agent reports that everything is done. Only contracts decide that.
    Done { summary: String },
    /// The agent asks for a person.
    Escalate {
        /// The id or number of the step concerned.
        step: Option<String>,
        reason: String,
    },
}

/// Steps from an agent, as a new plan or to replace the rest of an existing one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Title, context and steps, numbered from 1.
    pub draft: Draft,
    /// The number of the first step of the current plan that these replace; `None` for a new plan.
    pub replace_from: Option<usize>,
    /// The revision of the current plan that the agent had read.
    pub revision: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanJsonFault {
    /// Not JSON, or an unexpected structure; contains the position and the reason.
    Json(String),
    /// A step lacks a field, or combines incompatible ones.
    Step {
        number: usize,
        why: String,
    },
    Several(usize),
    /// The steps to replace don't exist, or some must not be replaced.
    Place {
        /// The number in the block.
        said: usize,
        why: String,
    },
}

impl fmt::Display for PlanJsonFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(why) => write!(f, "invalid plan-json block: {why}"),
            Self::Step { number, why } => write!(f, "step {number} of the plan-json block: {why}"),
            Self::Several(count) => write!(f, "found {count} plan-json blocks: give exactly one"),
            Self::Place { said, why } => write!(f, "replace_from_step {said}: {why}"),
        }
    }
}

impl std::error::Error for PlanJsonFault {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, tag = "action", rename_all = "lowercase")]
enum Wire {
    Plan {
        #[serde(default)]
        title: String,
        #[serde(default)]
        context: String,
        #[serde(default)]
        budget: String,
        steps: Vec<WireStep>,
        replace_from_step: Option<usize>,
        revision: Option<u32>,
    },
    Done {
        #[serde(default, alias = "result")]
        summary: String,
    },
    Escalate {
        #[serde(alias = "question", alias = "message")]
        reason: String,
        step: Option<Name>,
    },
}

/// Refers to a step by its id or its number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Name {
    Number(u32),
    Id(String),
}

impl Name {
    fn text(self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Id(id) => id,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireStep {
    id: Option<String>,
    title: Option<String>,
    kind: Kind,
    agent: Option<String>,
    #[serde(alias = "prompt")]
    task: Option<String>,
    command: Option<String>,
    check: Option<Check>,
    attempts: Option<u32>,
    needs: Option<Vec<Name>>,
    #[serde(default)]
    reads: Vec<String>,
    touches: Option<Vec<String>>,
    #[serde(default)]
    accept: Vec<String>,
    timeout: Option<String>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Spawn,
    Shell,
}

/// The conditions for a step to be done.
#[derive(Deserialize)]
#[serde(untagged)]
enum Check {
    Command(String),
    Expect(Expect),
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Expect {
    #[serde(alias = "run")]
    command: Option<String>,
    exit_code: Option<i32>,
    stdout_contains: Option<String>,
    file_exists: Option<String>,
    files_exist: Vec<String>,
}

/// The block in an agent's message; `None` if there is none.
pub fn find(said: &str) -> Option<Result<PlanJsonAction, PlanJsonFault>> {
    let blocks = blocks(said);
    match blocks.as_slice() {
        [] => None,
        [only] => Some(read(only)),
        several => Some(Err(PlanJsonFault::Several(several.len()))),
    }
}

/// An agent's message without its block, which usually contains its reasons.
pub fn around(said: &str) -> String {
    let rest = blocks(said).iter().fold(said.to_owned(), |text, block| text.replace(block, ""));
    let lines = rest.lines().filter(|line| !line.trim_start_matches(['`', '~']).trim().eq(LANGUAGE));
    let lines: Vec<&str> = lines.filter(|line| !is_bare_fence(line)).collect();
    let text = lines.join("\n");
    let text = text.trim();
    text[..text.floor_char_boundary(super::REASONING_BYTES_MAX)].to_owned()
}

fn is_bare_fence(line: &str) -> bool {
    let bare = line.trim();
    bare.len() >= 3 && (bare.bytes().all(|byte| byte == b'`') || bare.bytes().all(|byte| byte == b'~'))
}

fn blocks(said: &str) -> Vec<String> {
    let source = Source::new("answer", said);
    let codes = crate::syntax::markdown::Blocks::read(&source, 0).codes;
    let is_ours = |code: &&crate::syntax::markdown::Code| {
        code.language.as_ref().is_some_and(|language| language.value.eq_ignore_ascii_case(LANGUAGE))
    };
    codes.iter().filter(is_ours).map(|code| code.text.value.clone()).collect()
}

pub fn read(json: &str) -> Result<PlanJsonAction, PlanJsonFault> {
    let wire: Wire = serde_json::from_str(json).map_err(|error| PlanJsonFault::Json(error.to_string()))?;
    Ok(match wire {
        Wire::Done { summary } => PlanJsonAction::Done { summary },
        Wire::Escalate { reason, step } => PlanJsonAction::Escalate { step: step.map(Name::text), reason },
        Wire::Plan { title, context, budget, steps, replace_from_step, revision } => {
            if steps.is_empty() {
                return Err(PlanJsonFault::Json("`steps` is empty".to_owned()));
            }
            let steps: Result<Vec<StepDraft>, PlanJsonFault> =
                steps.into_iter().enumerate().map(|(place, step)| step.draft(place + 1)).collect();
            let text = |text: String| (!text.trim().is_empty()).then(|| unplaced(text));
            let draft = Draft {
                title: text(title),
                context: text(context),
                budget: text(budget),
                steps: steps?,
                ..Draft::default()
            };
            PlanJsonAction::Plan(Box::new(Planned { draft, replace_from: replace_from_step, revision }))
        }
    })
}

impl WireStep {
    fn draft(self, number: usize) -> Result<StepDraft, PlanJsonFault> {
        let fault = |why: &str| PlanJsonFault::Step { number, why: why.to_owned() };
        let (target, task) = match (self.kind, &self.task, &self.command, &self.agent) {
            (Kind::Spawn, Some(task), None, agent) => {
                (agent.clone().unwrap_or_else(|| AGENT.to_owned()), task.clone())
            }
            (Kind::Spawn, Some(_), Some(_), _) => {
                return Err(fault("kind `spawn` does not accept `command`; put the contract in `check`"));
            }
            (Kind::Spawn, None, _, _) => return Err(fault("kind `spawn` requires `task`")),
            (Kind::Shell, None, Some(command), None) => ("shell".to_owned(), fenced(command)),
            (Kind::Shell, _, Some(_), _) => {
                return Err(fault("kind `shell` accepts `command`, but not `task` or `agent`"));
            }
            (Kind::Shell, _, None, _) => return Err(fault("kind `shell` requires `command`")),
        };
        let said = self.command.as_ref().or(self.task.as_ref()).and_then(|text| text.lines().next());
        let title = self.title.clone().or_else(|| said.map(|line| shortened(line.trim())));
        let title = title.filter(|title| !title.trim().is_empty() && !title.contains(['\n', '\r']));
        let title = title.ok_or_else(|| fault("missing one-line `title`"))?;
        if self.id.as_ref().is_some_and(|id| verified::slug(id) != *id || id.is_empty()) {
            return Err(fault("invalid `id`; use lowercase letters, digits and dashes"));
        }
        let attempts = self.attempts.unwrap_or(3);
        if attempts == 0 || attempts > ATTEMPTS_MAX {
            return Err(fault("invalid `attempts`: expected 1 to 1000"));
        }
        let on_fail = match attempts {
            1 => "escalate".to_owned(),
            more => format!("retry({}), then escalate", more - 1),
        };
        let counted = StepNumber::Counted(u32::try_from(number).unwrap_or(u32::MAX));
        let all = |texts: Vec<String>| texts.into_iter().map(unplaced).collect::<Vec<_>>();
        Ok(StepDraft {
            id: self.id.map(unplaced),
            target: Some(unplaced(target)),
            task: Some(unplaced(task)),
            contract: Some(contract(self.check, number)?),
            on_fail: Some(unplaced(on_fail)),
            needs: self.needs.map(|needs| all(needs.into_iter().map(Name::text).collect())),
            reads: all(self.reads),
            touches: self.touches.map(all),
            accept: all(self.accept),
            timeout: self.timeout.map(unplaced),
            ..StepDraft::empty(unplaced(counted), unplaced(title))
        })
    }
}

/// The contract for a check. A step without one is manual.
fn contract(check: Option<Check>, number: usize) -> Result<ContractDraft, PlanJsonFault> {
    let expect = match check {
        None => return Ok(ContractDraft { is_manual: true, ..ContractDraft::default() }),
        Some(Check::Command(command)) => Expect { command: Some(command), ..Expect::default() },
        Some(Check::Expect(expect)) => expect,
    };
    let fault = |why: &str| Err(PlanJsonFault::Step { number, why: why.to_owned() });
    let code = expect.exit_code.unwrap_or(0);
    let files =
        expect.file_exists.iter().chain(&expect.files_exist).map(|path| format!("test -e {}", quoted(path)));
    let files: Vec<String> = files.collect();
    let command = match (expect.command, expect.stdout_contains) {
        (None, Some(_)) => return fault("expects output, but has no command"),
        (None, None) if files.is_empty() => return fault("`check` is empty"),
        (None, None) if expect.exit_code.is_some() => {
            return fault("expects an exit code, but has no command");
        }
        (None, None) => files.join(" && "),
        (Some(_), Some(_)) if code != 0 => {
            return fault(
                "cannot combine expected output with a nonzero exit code; check the output in the command",
            );
        }
        (Some(command), Some(text)) => {
            // bash turns `-e` off in a substitution and on the left of `&&`, so it is set again and each
            // condition gets its own line.
            let said = format!("said=$(set -e\n{command}\n)\ngrep -qF -- {} <<<\"$said\"", quoted(&text));
            std::iter::once(said).chain(files).collect::<Vec<_>>().join("\n")
        }
        (Some(_), None) if code != 0 && !files.is_empty() => {
            return fault(
                "cannot combine expected files with a nonzero exit code; check the files in the command",
            );
        }
        (Some(command), None) if files.is_empty() => command,
        // In a subshell: an `exit 0` or a `set +e` in the command must not skip the other conditions.
        (Some(command), None) => format!("(\n{command}\n)\n{}", files.join("\n")),
    };
    let mut excerpt = Excerpt::new(Span::default());
    excerpt.push(&command, 0);
    let expect = (code != 0).then(|| unplaced(code.to_string())).or_else(|| Some(unplaced("0".to_owned())));
    Ok(ContractDraft { command: Some(excerpt), expect, ..ContractDraft::default() })
}

/// The text of a new plan.
pub fn compose(planned: &Planned) -> String {
    NATIVE.compose(&planned.draft, &NewPlan { id: "plan", now: "" })
}

/// The text of a native plan with everything from `replace_from` on replaced by these steps. Earlier text
/// stays, byte for byte.
pub fn replace(old: &Source, planned: &Planned) -> Result<String, PlanJsonFault> {
    let said = planned.replace_from.unwrap_or(1);
    let draft = old.draft();
    let fault = |why: String| Err(PlanJsonFault::Place { said, why });
    if !old.dialect().is_native() {
        return fault(format!(
            "cannot replace steps of a plan in dialect {}; give the whole plan",
            old.dialect().name
        ));
    }
    let count = draft.steps.len();
    if said == 0 || said > count + 1 {
        return fault(format!("out of range, the plan has steps 1 to {count}"));
    }
    let end = draft.steps.last().map_or(old.text().len(), |last| last.whole.0.end);
    let start = draft.steps.get(said - 1).map_or(end, |step| step.whole.0.start);
    let mut new = planned.draft.clone();
    for (place, step) in new.steps.iter_mut().enumerate() {
        step.number.value = StepNumber::Counted(u32::try_from(said + place).unwrap_or(u32::MAX));
    }
    let composed = NATIVE.compose(&new, &NewPlan { id: "plan", now: "" });
    let read = old.with(composed.as_str()).draft();
    let begin = read.steps.first().map_or(composed.len(), |first| first.whole.0.start);
    let before = old.text()[..start].trim_end();
    let behind = old.text()[end..].trim_start_matches(['\n', '\r']);
    let gap = if behind.is_empty() { "" } else { "\n" };
    Ok(format!("{before}\n\n{}\n{gap}{behind}", composed[begin..].trim_end()))
}

/// Quotes a text as one shell word.
fn quoted(text: &str) -> String {
    let is_plain = !text.is_empty()
        && !text.starts_with('-')
        && text.chars().all(|sign| sign.is_ascii_alphanumeric() || "-_./".contains(sign));
    if is_plain { text.to_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

fn unplaced<T>(value: T) -> Spanned<T> {
    Spanned::new(value, Span::default())
}

fn shortened(line: &str) -> String {
    const TITLE_CHARS_MAX: usize = 60;
    match line.char_indices().nth(TITLE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line.to_owned(),
    }
}

fn fenced(command: &str) -> String {
    let ticks =
        command.lines().map(|line| line.trim_start().bytes().take_while(|&byte| byte == b'`').count()).max();
    let fence = "`".repeat(ticks.unwrap_or(0).max(2) + 1);
    format!("{fence}shell\n{}\n{fence}", command.trim_end())
}
