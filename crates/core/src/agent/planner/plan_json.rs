//! `plan-json` blocks: what agents of other harnesses print to plan, to say that they are done, or to call for somebody. Read as
//! proposals: `plan` becomes the text of a plan, and the other two only say something. docs/planning.md describes the block.

use std::fmt;

use serde::Deserialize;

use crate::dialect::{Birth, NATIVE};
use crate::plan::draft::{ContractDraft, Draft, StepDraft, StepNumber};
use crate::plan::verified;
use crate::syntax::source::{Excerpt, Source, Span, Spanned};

/// The word behind the fence.
const LANGUAGE: &str = "plan-json";
/// The most attempts that a step may ask for; the checker has its own limit below this.
const ATTEMPTS_MAX: u32 = 1000;
/// Who does a step that names nobody.
const AGENT: &str = "coder";

/// What a block asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A plan, or the rest of one.
    Plan(Box<Planned>),
    /// The agent says that everything is done. Nobody takes its word for it.
    Done { summary: String },
    /// The agent wants somebody to look.
    Escalate {
        /// The id or number of the step that it is about.
        step: Option<String>,
        reason: String,
    },
}

/// Steps that an agent wants, as a plan of their own or in the place of what is left of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// The title, context and steps; numbers count from 1.
    pub draft: Draft,
    /// The number of the first step of the present plan that these replace; `None`: they are a plan of their own.
    pub replace_from: Option<usize>,
    /// The revision of the present plan that the agent had read.
    pub revision: Option<u32>,
}

/// Why a block can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It is no JSON, or none of ours; says why and where.
    Json(String),
    /// A step lacks something, or says what does not go together.
    Step { number: usize, why: String },
    /// There are several blocks.
    Several(usize),
    /// The steps that shall be replaced are not there, or not all to be replaced.
    Place {
        /// The number that was said.
        said: usize,
        /// Why it can't be.
        why: String,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(why) => write!(f, "the plan-json block can't be read: {why}"),
            Self::Step { number, why } => write!(f, "step {number} of the plan-json block {why}"),
            Self::Several(count) => write!(f, "there are {count} plan-json blocks: give exactly one"),
            Self::Place { said, why } => write!(f, "replace_from_step {said}: {why}"),
        }
    }
}

impl std::error::Error for Fault {}

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

/// A step is named by its id or its number.
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
    /// An agent does it.
    Spawn,
    /// A script does it.
    Shell,
}

/// What must hold for a step to be done.
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

/// The block in what an agent said; `None` where there is none.
pub fn find(said: &str) -> Option<Result<Action, Fault>> {
    let blocks = blocks(said);
    match blocks.as_slice() {
        [] => None,
        [only] => Some(read(only)),
        several => Some(Err(Fault::Several(several.len()))),
    }
}

/// What an agent said, without its block: why it wants what it wants.
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

pub fn read(json: &str) -> Result<Action, Fault> {
    let wire: Wire = serde_json::from_str(json).map_err(|error| Fault::Json(error.to_string()))?;
    Ok(match wire {
        Wire::Done { summary } => Action::Done { summary },
        Wire::Escalate { reason, step } => Action::Escalate { step: step.map(Name::text), reason },
        Wire::Plan { title, context, budget, steps, replace_from_step, revision } => {
            if steps.is_empty() {
                return Err(Fault::Json("`steps` is empty".to_owned()));
            }
            let steps: Result<Vec<StepDraft>, Fault> =
                steps.into_iter().enumerate().map(|(place, step)| step.draft(place + 1)).collect();
            let text = |text: String| (!text.trim().is_empty()).then(|| unplaced(text));
            let draft = Draft {
                title: text(title),
                context: text(context),
                budget: text(budget),
                steps: steps?,
                ..Draft::default()
            };
            Action::Plan(Box::new(Planned { draft, replace_from: replace_from_step, revision }))
        }
    })
}

impl WireStep {
    fn draft(self, number: usize) -> Result<StepDraft, Fault> {
        let fault = |why: &str| Fault::Step { number, why: why.to_owned() };
        let (target, task) = match (self.kind, &self.task, &self.command, &self.agent) {
            (Kind::Spawn, Some(task), None, agent) => {
                (agent.clone().unwrap_or_else(|| AGENT.to_owned()), task.clone())
            }
            (Kind::Spawn, Some(_), Some(_), _) => {
                return Err(fault("is of kind `spawn` and has a `command`: what decides belongs in `check`"));
            }
            (Kind::Spawn, None, _, _) => return Err(fault("is of kind `spawn` and has no `task`")),
            (Kind::Shell, None, Some(command), None) => ("shell".to_owned(), fenced(command)),
            (Kind::Shell, _, Some(_), _) => {
                return Err(fault("is of kind `shell`: it has a `command`, no `task` and no `agent`"));
            }
            (Kind::Shell, _, None, _) => return Err(fault("is of kind `shell` and has no `command`")),
        };
        let said = self.command.as_ref().or(self.task.as_ref()).and_then(|text| text.lines().next());
        let title = self.title.clone().or_else(|| said.map(|line| shortened(line.trim())));
        let title = title.filter(|title| !title.trim().is_empty() && !title.contains(['\n', '\r']));
        let title = title.ok_or_else(|| fault("has no `title` of one line"))?;
        if self.id.as_ref().is_some_and(|id| verified::slug(id) != *id || id.is_empty()) {
            return Err(fault("has an `id` that is not made of small letters, digits and dashes"));
        }
        let attempts = self.attempts.unwrap_or(3);
        if attempts == 0 || attempts > ATTEMPTS_MAX {
            return Err(fault("must have `attempts` from 1 to 1000"));
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

/// What decides, as a contract. A step that expects nothing is for a person to confirm.
fn contract(check: Option<Check>, number: usize) -> Result<ContractDraft, Fault> {
    let expect = match check {
        None => return Ok(ContractDraft { is_manual: true, ..ContractDraft::default() }),
        Some(Check::Command(command)) => Expect { command: Some(command), ..Expect::default() },
        Some(Check::Expect(expect)) => expect,
    };
    let fault = |why: &str| Err(Fault::Step { number, why: why.to_owned() });
    let code = expect.exit_code.unwrap_or(0);
    let files =
        expect.file_exists.iter().chain(&expect.files_exist).map(|path| format!("test -e {}", quoted(path)));
    let files: Vec<String> = files.collect();
    let command = match (expect.command, expect.stdout_contains) {
        (None, Some(_)) => return fault("expects an output and has no command that prints one"),
        (None, None) if files.is_empty() => return fault("has a `check` that expects nothing"),
        (None, None) if expect.exit_code.is_some() => {
            return fault("expects an exit code and has no command");
        }
        (None, None) => files.join(" && "),
        (Some(_), Some(_)) if code != 0 => {
            return fault("expects an output of a command that fails; say it in the command itself");
        }
        (Some(command), Some(text)) => {
            // bash leaves `-e` off in a substitution, and on the left of `&&`: so it is said again, and each demand is a line.
            let said = format!("said=$(set -e\n{command}\n)\ngrep -qF -- {} <<<\"$said\"", quoted(&text));
            std::iter::once(said).chain(files).collect::<Vec<_>>().join("\n")
        }
        (Some(_), None) if code != 0 && !files.is_empty() => {
            return fault("expects files of a command that fails; say it in the command itself");
        }
        (Some(command), None) if files.is_empty() => command,
        // In a shell of its own: an `exit 0` or a `set +e` of the command must not skip what else is demanded.
        (Some(command), None) => format!("(\n{command}\n)\n{}", files.join("\n")),
    };
    let mut excerpt = Excerpt::new(Span::default());
    excerpt.push(&command, 0);
    let expect = (code != 0).then(|| unplaced(code.to_string())).or_else(|| Some(unplaced("0".to_owned())));
    Ok(ContractDraft { command: Some(excerpt), expect, ..ContractDraft::default() })
}

/// The text of a plan of its own.
pub fn compose(planned: &Planned) -> String {
    NATIVE.compose(&planned.draft, &Birth { id: "plan", now: "" })
}

/// The text of a native plan in which these steps stand for everything from `replace_from` on. What stands before is the same,
/// byte for byte.
pub fn replace(old: &Source, planned: &Planned) -> Result<String, Fault> {
    let said = planned.replace_from.unwrap_or(1);
    let draft = old.draft();
    let fault = |why: String| Err(Fault::Place { said, why });
    if !old.dialect().is_native() {
        return fault(format!(
            "a plan of the dialect {} can't be patched; give the whole plan",
            old.dialect().name
        ));
    }
    let count = draft.steps.len();
    if said == 0 || said > count + 1 {
        return fault(format!("the plan has {count} steps, counted from 1"));
    }
    let end = draft.steps.last().map_or(old.text().len(), |last| last.whole.0.end);
    let start = draft.steps.get(said - 1).map_or(end, |step| step.whole.0.start);
    let mut new = planned.draft.clone();
    for (place, step) in new.steps.iter_mut().enumerate() {
        step.number.value = StepNumber::Counted(u32::try_from(said + place).unwrap_or(u32::MAX));
    }
    let composed = NATIVE.compose(&new, &Birth { id: "plan", now: "" });
    let read = old.with(composed.as_str()).draft();
    let begin = read.steps.first().map_or(composed.len(), |first| first.whole.0.start);
    let before = old.text()[..start].trim_end();
    let behind = old.text()[end..].trim_start_matches(['\n', '\r']);
    let gap = if behind.is_empty() { "" } else { "\n" };
    Ok(format!("{before}\n\n{}\n{gap}{behind}", composed[begin..].trim_end()))
}

/// A text as one word of a shell.
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
