//! Checks plan files, also those that cannot be read as text: diagnostics, fixes, contracts before the work, suggestions, and
//! the review of an agent. Runs nothing of a plan unless that is asked for.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use planwright_core::agent::finding;
use planwright_core::agent::report::ReportFinding;
use planwright_core::approval::status::Comment;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::verified;
use planwright_core::plan::verified::Contract;
use planwright_core::run::baseline::Baseline;
use planwright_core::syntax::diagnostic::{Diagnostic, Severity};
use planwright_core::verify;
use planwright_core::verify::Rule;
use planwright_core::verify::suggest;

use crate::api::diagnostics::{BaselineView, CheckedFile, ReviewFindingView, SuggestionView, Warnings};
use crate::api::error::{Error, ErrorKind, WHAT_IS_A_PLAN};
use crate::api::format::STDIN_SHOWN;
use crate::api::input::STDIN;
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::workspace::Workspace;
use crate::approval::Approvals;
use crate::config::SettingValue;
use crate::run::baseline;
use crate::run::baseline::BaselineLimits;
use crate::run::consult;
use crate::run::consult::{AgentQuery, AgentQuestion};
use crate::store::plan_file;
use crate::system::process;
use crate::system::process::Stop;
use crate::system::watch::Watch;
use crate::workspace::project::{self, Verified};
use crate::workspace::toolchain;

/// The role of an agent that reviews plans.
pub const REVIEWER: &str = "reviewer";
/// Rounds of fixes: each may uncover what the last one hid, but a file that never settles is left alone.
const REPAIR_ROUNDS_MAX: usize = 64;

/// What is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckInput {
    File(PathBuf),
    Stdin,
}

impl CheckInput {
    /// Watches the files among these.
    pub fn watch(inputs: &[Self]) -> Watch {
        let files = inputs.iter().filter_map(|input| match input {
            Self::File(path) => Some(path.clone()),
            Self::Stdin => None,
        });
        Watch::of(&files.collect::<Vec<_>>())
    }
}

/// What the user says about warnings.
pub struct WarningLevels {
    denied: Vec<&'static Rule>,
    allowed: Vec<&'static Rule>,
    pub warnings: Warnings,
}

impl WarningLevels {
    /// Rules by code or name; `warnings` denies all of them.
    pub fn new(deny: &[String], allow: &[String]) -> Result<Self, Error> {
        let rule = |name: &String| {
            Rule::find(name).ok_or_else(|| {
                Error::new(ErrorKind::Usage, format!("unknown rule `{name}`"))
                    .next(NextCommand::new(["planwright", "explain"]))
            })
        };
        let is_all = |name: &&String| name.as_str() == "warnings";
        let denied = deny.iter().filter(|name| !is_all(name)).map(rule).collect::<Result<Vec<_>, _>>()?;
        let allowed = allow.iter().map(rule).collect::<Result<Vec<_>, _>>()?;
        if let Some(error) = allowed.iter().find(|rule| rule.severity == Severity::Error) {
            let message = format!("{} ({}) is an error and cannot be ignored", error.code, error.name);
            return Err(Error::new(ErrorKind::Usage, message).next(NextCommand::new([
                "planwright",
                "explain",
                error.code,
            ])));
        }
        let warnings =
            if deny.iter().any(|name| is_all(&name)) { Warnings::Denied } else { Warnings::Allowed };
        Ok(Self { denied, allowed, warnings })
    }

    /// Leaves out what is allowed and raises what is denied.
    pub fn apply(&self, diagnostics: &mut Vec<Diagnostic>) {
        let among =
            |rules: &[&Rule], diagnostic: &Diagnostic| rules.iter().any(|rule| rule.code == diagnostic.code);
        diagnostics
            .retain(|diagnostic| diagnostic.severity == Severity::Error || !among(&self.allowed, diagnostic));
        for diagnostic in diagnostics.iter_mut().filter(|diagnostic| among(&self.denied, diagnostic)) {
            diagnostic.severity = Severity::Error;
        }
    }
}

/// A plan that was checked.
pub struct CheckedPlan {
    workspace: Workspace,
    input: CheckInput,
    pub verified: Verified,
}

/// What a plan without errors comes to.
pub struct CheckSummary {
    pub steps: usize,
    pub waves: usize,
    /// Whom its steps are for.
    pub targets: BTreeSet<String>,
    /// The first digits.
    pub digest: String,
}

/// What is known of the contracts of a plan before the work.
pub struct BaselineSummary {
    /// Steps that a contract judges.
    pub judged: usize,
    /// Steps that a person confirms.
    pub manual: usize,
    /// What is known, with the numbers of the steps.
    pub results: Vec<(u32, Baseline)>,
}

impl Workspace {
    /// What the user names, each once; all plans if nothing is named.
    pub fn check_inputs(&self, names: &[String]) -> Result<Vec<CheckInput>, Error> {
        let input = |name: &String| match name.as_str() {
            STDIN => Ok(CheckInput::Stdin),
            name => match self.project().address(name)? {
                project::Address { plan, step: None } => Ok(CheckInput::File(plan)),
                // A step is judged by what the others make: its whole plan is checked.
                project::Address { step: Some(_), .. } => {
                    Ok(CheckInput::File(self.plan(name)?.path().to_owned()))
                }
            },
        };
        let mut inputs: Vec<CheckInput> = match names.is_empty() {
            true => self.project().plans()?.into_iter().map(CheckInput::File).collect(),
            false => names.iter().map(input).collect::<Result<_, Error>>()?,
        };
        if inputs.is_empty() {
            return Err(Error::new(ErrorKind::Usage, "no plans found")
                .hint(WHAT_IS_A_PLAN)
                .next(NextCommand::new(["planwright", "new", "first-plan"])));
        }
        let mut seen = BTreeSet::new();
        inputs.retain(|input| match input {
            CheckInput::File(path) => seen.insert(shown(path)),
            CheckInput::Stdin => seen.insert(STDIN.to_owned()),
        });
        Ok(inputs)
    }

    /// Checks a plan of at most this size, or of the size that the settings allow.
    pub fn check(&self, input: &CheckInput, bytes_max: Option<usize>) -> Result<CheckedPlan, Error> {
        let workspace = match input {
            CheckInput::File(path) => Self::open_for(path, self.options())?,
            CheckInput::Stdin => self.clone(),
        };
        let workspace = match bytes_max {
            Some(bytes) => workspace.with_plan_bytes(bytes),
            None => workspace,
        };
        let verified = match input {
            CheckInput::File(path) => baseline::verify(workspace.project(), path, &shown(path))?,
            CheckInput::Stdin => {
                let reading = workspace.project().reading();
                let text = plan_file::read_stream(&mut io::stdin(), STDIN_SHOWN, reading);
                let stream = |source| project::Error::Stream { name: STDIN_SHOWN.to_owned(), source };
                baseline::verify_text(workspace.project(), text.map_err(stream)?)?
            }
        };
        Ok(CheckedPlan { workspace, input: input.clone(), verified })
    }
}

impl CheckedPlan {
    pub fn file(&self) -> CheckedFile<'_> {
        CheckedFile { source: &self.verified.source, diagnostics: &self.verified.diagnostics }
    }

    pub fn name(&self) -> &str {
        self.verified.source.name()
    }

    pub fn is_file(&self) -> bool {
        self.input != CheckInput::Stdin
    }

    /// Applies fixes until none is left, and says what each does. Overlapping fixes wait for the next round. A fix that
    /// would take a step or a contract away is refused, and its diagnostic says so.
    pub fn fix(mut self, fixed: &mut dyn FnMut(&str)) -> Result<Self, Error> {
        let CheckInput::File(path) = &self.input else { return Ok(self) };
        for _ in 0..REPAIR_ROUNDS_MAX {
            let repaired = verify::repaired(&self.verified.source, &self.verified.diagnostics);
            for (place, why) in &repaired.refused {
                let refused = &mut self.verified.diagnostics[*place];
                refused
                    .notes
                    .extend(refused.fix.take().map(|fix| format!("not fixed (`{}`): {why}", fix.title)));
            }
            if repaired.titles.is_empty() {
                break;
            }
            plan_file::save(path, &self.verified.source, &repaired.source)?;
            for title in &repaired.titles {
                fixed(title);
            }
            self.verified = baseline::verify(self.workspace.project(), path, &shown(path))?;
        }
        Ok(self)
    }

    /// Runs the contracts of the plan before the work, unless the plan has errors.
    pub fn with_baseline(self) -> Result<Self, Error> {
        let project = self.workspace.project();
        let limits = BaselineLimits::of(&project.config);
        let verified = baseline::verify_on_base(project, self.verified, &limits, &|_| {})?;
        Ok(Self { verified, ..self })
    }

    pub fn summary(&self) -> Option<CheckSummary> {
        let plan = self.verified.plan.as_ref()?;
        Some(CheckSummary {
            steps: plan.steps.len(),
            waves: plan.graph().waves().len(),
            targets: plan.steps.iter().map(|step| step.target.clone()).collect(),
            digest: Digest::of(plan).short(),
        })
    }

    pub fn baseline_summary(&self) -> Option<BaselineSummary> {
        let (plan, known) = self.verified.plan.as_ref().zip(self.verified.red.as_ref())?;
        let is_judged = |contract: &Contract| matches!(contract, Contract::Shell { .. });
        let judged = plan.steps.iter().filter(|step| is_judged(&step.contract)).count();
        let number =
            |red: &Baseline| plan.steps.iter().find(|step| step.id == red.step).map_or(0, |it| it.number);
        let results = known.contracts.iter().map(|red| (number(red), red.clone())).collect();
        Some(BaselineSummary { judged, manual: plan.steps.len() - judged, results })
    }

    /// What contracts say before the work, as far as it is known.
    pub fn baseline(&self) -> Vec<BaselineView> {
        let Some(known) = &self.verified.red else { return Vec::new() };
        let base = known.base.as_ref().map(ToString::to_string);
        let view = |red: &Baseline| BaselineView {
            plan: self.name().to_owned(),
            base: base.clone(),
            red: red.clone(),
        };
        known.contracts.iter().map(view).collect()
    }

    /// Contracts for the steps that have none: words for a person to take or leave.
    pub fn suggestions(&self) -> Vec<SuggestionView> {
        let Some(draft) = &self.verified.draft else { return Vec::new() };
        let ids = verified::ids(draft);
        let found = suggest::suggestions(draft, &toolchain::of(self.workspace.project(), draft));
        let view = |found: suggest::Suggestion| SuggestionView {
            plan: self.name().to_owned(),
            step: ids[found.step].clone(),
            command: found.command,
            because: found.because,
        };
        found.into_iter().map(view).collect()
    }

    /// The agent that reviews the plan, by its name or role.
    pub fn reviewer(&self, agent: &str) -> Result<PlanReviewer<'_>, Error> {
        let CheckInput::File(path) = &self.input else {
            return Err(Error::new(ErrorKind::Usage, "comments need a file, not standard input"));
        };
        if process::job_above().is_some() {
            let message = "an attempt cannot ask another agent for a review";
            return Err(Error::new(ErrorKind::NeedsPerson, message));
        }
        let query =
            AgentQuery::find(&self.workspace.project().config, agent).map_err(|error| unasked(&error))?;
        Ok(PlanReviewer { plan: self, path, query })
    }
}

/// An agent that sees a plan and its diagnostics. Its findings become comments; it neither approves nor rejects.
pub struct PlanReviewer<'a> {
    plan: &'a CheckedPlan,
    path: &'a Path,
    query: AgentQuery,
}

impl PlanReviewer<'_> {
    pub fn name(&self) -> &str {
        &self.query.name
    }

    /// Asks, and keeps what is found as comments.
    pub fn review(&self) -> Result<Vec<ReviewFindingView>, Error> {
        let Verified { source, diagnostics, .. } = &self.plan.verified;
        let complaints: Vec<String> = diagnostics
            .iter()
            .map(|one| {
                let line = source.position(one.primary.span.start).line;
                format!("line {line}: {} {}: {}", one.severity.word(), one.code, one.message)
            })
            .collect();
        let prompt = finding::plan_prompt(source.name(), source.text(), &complaints);
        let project = self.plan.workspace.project();
        let (config, root) = (&project.config, project.root.as_path());
        let question = AgentQuestion { prompt: &prompt, config, root, is_inside: true, role: REVIEWER };
        let said = self.query.ask(question, &Stop::new()).map_err(|error| unasked(&error))?;
        if !finding::is_list(&said.text) {
            let how = "it returned no list of findings".to_owned();
            return Err(unasked(&consult::Error::Silent { name: self.query.name.clone(), how }));
        }
        let found = finding::in_text(&said.text);
        self.comment(&found)?;
        let views = found.into_iter().map(|one| ReviewFindingView {
            plan: source.name().to_owned(),
            by: self.query.name.clone(),
            severity: one.severity.word().to_owned(),
            summary: finding::line(&one),
            path: one.path,
            line: one.line,
            text: one.text,
        });
        Ok(views.collect())
    }

    /// Keeps findings as comments of the agent; one that is open already is not said twice.
    fn comment(&self, found: &[ReportFinding]) -> Result<(), Error> {
        let approvals = Approvals::open(self.plan.workspace.project())?;
        let who = Identity::agent(&self.query.name);
        for one in found {
            let text = finding::line(one);
            let is_known =
                |comment: &Comment| comment.answer.is_none() && comment.by == who && comment.text == text;
            if !approvals.case(self.path)?.standing.comments.iter().any(is_known) {
                approvals.comment(self.path, self.step_at(one.line).as_deref(), &who, &text)?;
            }
        }
        Ok(())
    }

    /// The step that a line of the plan belongs to.
    fn step_at(&self, line: Option<u32>) -> Option<String> {
        let Verified { source, draft, .. } = &self.plan.verified;
        let (draft, line) = (draft.as_ref()?, usize::try_from(line?).ok()?);
        let starts = |place: usize| source.position(draft.steps[place].heading.0.start).line;
        let place = (0..draft.steps.len()).rfind(|&place| starts(place) <= line)?;
        Some(verified::ids(draft).swap_remove(place))
    }
}

fn unasked(error: &consult::Error) -> Error {
    let doctor = || NextCommand::new(["planwright", "doctor"]);
    match error {
        consult::Error::Nobody { .. } | consult::Error::Mute { .. } => {
            Error::from_error(ErrorKind::Usage, error)
                .hint("name an agent, or set roles.reviewer")
                .next(doctor())
        }
        consult::Error::Unapproved { name, command } => {
            let (key, words) =
                (format!("agents.{name}.command"), SettingValue::Words(command.clone()).to_string());
            Error::from_error(ErrorKind::NeedsPerson, error)
                .hint(format!(
                    "check the command, set it in your own settings and remove it from the project's, which win: \
                     planwright config unset {key}"
                ))
                .next(NextCommand::new(["planwright", "config", "set", &key, &words, "--user"]))
        }
        consult::Error::Late { .. }
        | consult::Error::Silent { .. }
        | consult::Error::Stopped { .. }
        | consult::Error::Machine { .. } => Error::from_error(ErrorKind::Machine, error).next(doctor()),
    }
}
