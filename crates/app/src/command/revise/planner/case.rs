//! Everything known about a plan to revise: what failed and why, what is finished, and its versions. Refuses to
//! replan forever.

use std::collections::BTreeSet;
use std::path::PathBuf;

use planwright_engine::Project;
use planwright_engine::approval::Approvals;
use planwright_engine::core::agent::planner;
use planwright_engine::core::agent::planner::RevisionPlan as NextVersion;
use planwright_engine::core::approval::ledger::Setback;
use planwright_engine::core::dialect;
use planwright_engine::core::plan::draft::{Draft, Mark};
use planwright_engine::core::plan::verified;
use planwright_engine::core::run::event::RunOutcome;
use planwright_engine::core::run::state::{StepState, StepStatus};
use planwright_engine::core::syntax::source::Source;
use planwright_engine::run;
use planwright_engine::run::{Run, Runs};
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::workspace::version;

use super::Args;
use crate::interaction::target::{Opened, open};
use crate::output::{Exit, Failure, NextCommand, Out};
use planwright_engine::api::Caller;
use planwright_engine::api::plan::find_step;
use planwright_engine::api::shown;

/// How much of what a contract printed says why it failed.
const ERROR_BYTES_MAX: usize = 2 << 10;
/// The dialects whose plans have versions in files of their own.
const DIALECTS: [&str; 2] = ["native", "record"];

/// A plan to revise.
pub(super) struct Case {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) project: Project,
    pub(super) source: Source,
    pub(super) draft: Draft,
    pub(super) ids: Vec<String>,
    /// The step that failed; `None` where none did and an answer is handed in.
    pub(super) failed: Option<usize>,
    pub(super) error: String,
    /// Places of the finished steps.
    pub(super) finished: BTreeSet<usize>,
    /// How the new version is called.
    pub(super) next: NextVersion,
    /// Why there were versions before this one, the oldest first.
    pub(super) setbacks: Vec<Setback>,
    /// All versions, the oldest first.
    chain: Vec<PathBuf>,
    run: Option<Run>,
}

impl Case {
    pub(super) fn of(args: &Args) -> Result<Self, Failure> {
        let Opened { path, project, source, step } = open(&args.plan)?;
        if !DIALECTS.contains(&source.dialect().name) {
            let message = format!("plans in dialect {} have no version files", source.dialect().name);
            let next = NextCommand::new(["planwright", "propose", shown(&path).as_str()]);
            return Err(Failure::new(Exit::No, message).hint("edit it and propose it again").next(next));
        }
        let draft = source.draft();
        let ids = verified::ids(&draft);
        let runs = Runs::open_existing(&project)?;
        let run = runs.as_ref().map(|runs| runs.latest(&path)).transpose()?.flatten();
        let named = args.step.as_ref().or(step.as_ref());
        let failed = match named {
            Some(step) => Some(find_step(&draft, step, &shown(&path))?),
            None => failed_step(&draft, (&ids, run.as_ref())),
        };
        if failed.is_none() && args.from.is_none() {
            return Err(Failure::new(Exit::Usage, format!("no step of {} has failed", shown(&path)))
                .hint("name the failed step: PLAN/STEP"));
        }
        let said = || failed.and_then(|failed| said(&draft, (failed, &ids), run.as_ref(), runs.as_ref()));
        let error = args.error.clone().or_else(said).unwrap_or_default();
        let finished = finished(&draft, &ids, run.as_ref());
        let name = plan_file::name(&path);
        let next = planner::next(&name, &draft);
        let chain = version::of(&project, &path);
        let setbacks = setbacks(&project, &chain)?;
        Ok(Self {
            path,
            name,
            project,
            source,
            draft,
            ids,
            failed,
            error,
            finished,
            next,
            setbacks,
            chain,
            run,
        })
    }

    /// The file of the new version.
    pub(super) fn file(&self) -> PathBuf {
        let ending = self.path.extension().unwrap_or_default().to_string_lossy().into_owned();
        self.path.with_file_name(format!("{}.{ending}", self.next.id))
    }

    /// What a fence around the plan is marked with.
    pub(super) fn language(&self) -> &'static str {
        if self.source.dialect() == dialect::NATIVE { "markdown" } else { "yaml" }
    }

    /// Prevents endless replanning: too many versions, or the same failure without new information.
    pub(super) fn refuse_endless(&self, args: &Args, out: &mut Out<'_>) -> Result<(), Failure> {
        let place = self.chain.iter().position(|version| plan_file::name(version) == self.name).unwrap_or(0);
        if let Some(later) = self.chain.get(place + 1) {
            let message = format!("{} already has a newer version: {}", self.name, shown(later));
            let last = self.chain.last().unwrap_or(later);
            return Err(Failure::new(Exit::Moved, message)
                .hint("nothing was written; revise the newest version")
                .next(NextCommand::new(["planwright", "revise", shown(last).as_str(), "--planner"])));
        }
        if plan_file::is_there(&self.file()) {
            return Err(plan_file::Error::Exists { path: self.file() }.into());
        }
        let max = self.project.config.replan.max as usize;
        // Files of earlier versions may be gone; what was recorded of them is not.
        let times = place.max(self.setbacks.len());
        if times >= max {
            return Err(self.give_up(times, out));
        }
        let Some(step) = self.failed.map(|place| &self.ids[place]).filter(|_| args.from.is_none()) else {
            return Ok(());
        };
        let print = planner::fingerprint(&self.error);
        let is_same = |setback: &&Setback| {
            setback.step == *step && !self.error.is_empty() && planner::fingerprint(&setback.error) == print
        };
        let is_known = |told: fn(&Setback) -> &Vec<String>, text: &String| {
            self.setbacks.iter().any(|setback| told(setback).contains(text))
        };
        let is_new = args.discoveries.iter().any(|text| !is_known(|setback| &setback.discoveries, text))
            || args.constraints.iter().any(|text| !is_known(|setback| &setback.constraints, text));
        match self.setbacks.iter().find(is_same).filter(|_| !is_new && !args.copy) {
            Some(setback) => {
                let message = format!(
                    "step `{step}` failed the same way in {}: replanning would loop",
                    setback.previous
                );
                Err(Failure::new(Exit::Person, message)
                    .hint("pass --discovery or --constraint with something new, or edit the plan yourself with --copy")
                    .next(NextCommand::new(["planwright", "log", shown(&self.path).as_str(), "--versions"])))
            }
            None => Ok(()),
        }
    }

    /// The plan has failed for good. Only a person ends its run: an agent that asks for one more version too many is refused.
    fn give_up(&self, times: usize, out: &mut Out<'_>) -> Failure {
        let why =
            format!("replanned {}, the limit (`replan.max`)", crate::output::wording::number(times, "time"));
        if Caller::of_process().is_person() {
            match self.end_runs(&why) {
                Ok(complaints) => out.warn_all(&complaints),
                Err(error) => out.warn(&format!("cannot end its runs: {error}")),
            }
        }
        let message = format!("cannot replan {}: {why}", self.name);
        Failure::new(Exit::No, message)
            .hint("write another plan, or raise `replan.max`")
            .next(NextCommand::new(["planwright", "log", shown(&self.path).as_str(), "--versions"]))
    }

    /// Ends the runs of all versions that still wait; what could not be written into their files is returned.
    fn end_runs(&self, why: &str) -> Result<Vec<String>, run::Error> {
        let runs = Runs::open(&self.project)?;
        let mut complaints = Vec::new();
        for version in &self.chain {
            if let Some(run) = runs.latest(version)?.filter(|run| run.state.outcome().is_none()) {
                runs.end(&run, RunOutcome::Failed, why)?;
                complaints.extend(runs.mirror(run.row.id, version)?);
            }
        }
        Ok(complaints)
    }

    /// The version that says the same as this text.
    pub(super) fn same_as(&self, text: &Source) -> Option<String> {
        let mut versions = self.chain.iter().filter_map(|path| {
            match plan_file::read(path, &shown(path), self.project.reading()).ok()? {
                FileText::Plan(source) => Some((path, source)),
                FileText::Unreadable(_) => None,
            }
        });
        let same = versions.find(|(_, version)| planner::says_the_same(version, text));
        same.map(|(path, _)| plan_file::name(path))
    }

    /// What is wrong with the revision that an agent had read, if it is another one than the newest.
    pub(super) fn other_revision(&self, read: Option<u32>) -> Result<Option<String>, Failure> {
        let Some(read) = read else { return Ok(None) };
        let newest = match Approvals::open_existing(&self.project)? {
            Some(decisions) => {
                decisions.case(&self.path)?.standing.newest().map_or(0, |newest| newest.number)
            }
            None => 0,
        };
        let fault =
            || format!("the block is for revision {read} but the plan is at r{newest}; read it again");
        Ok((read != newest).then(fault))
    }

    pub(super) fn talk_of_the_old_run(&self, out: &mut Out<'_>) {
        if self.run.as_ref().is_some_and(|run| run.state.outcome().is_none()) {
            out.talk("the run of the old version is still open; end it with `planwright cancel`");
        }
    }
}

/// The step that failed last: in its run, else as the file says.
fn failed_step(draft: &Draft, (ids, run): (&[String], Option<&Run>)) -> Option<usize> {
    let is_stuck = |step: &&StepState| {
        !step.history.failed.is_empty()
            && !matches!(step.status, StepStatus::Passed { .. } | StepStatus::Skipped { .. })
    };
    let in_run = run.and_then(|run| run.state.steps.iter().find(is_stuck));
    let in_run = in_run.and_then(|step| ids.iter().position(|id| *id == step.id));
    in_run.or_else(|| draft.steps.iter().position(|step| step.mark() == Some(Mark::Failed)))
}

/// Why a step failed: the verdict, and the end of what its contract printed.
fn said(
    draft: &Draft,
    (step, ids): (usize, &[String]),
    run: Option<&Run>,
    runs: Option<&Runs>,
) -> Option<String> {
    let state = run.and_then(|run| run.state.steps.iter().find(|state| state.id == ids[step]));
    let Some(last) = state.and_then(|state| state.history.failed.last()) else {
        return draft.steps[step].trace.0.error.clone().filter(|error| !error.is_empty());
    };
    let output = last.output.as_ref().and_then(|blob| runs?.blob(blob).ok()).unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    let start = output.ceil_char_boundary(output.len().saturating_sub(ERROR_BYTES_MAX));
    Some(format!("{}\n{}", last.failure, output[start..].trim()).trim_end().to_owned())
}

/// The steps that are finished: as the run says, else as the file claims.
fn finished(draft: &Draft, ids: &[String], run: Option<&Run>) -> BTreeSet<usize> {
    let Some(run) = run else {
        let steps = draft.steps.iter().enumerate();
        return steps.filter(|(_, step)| step.mark() == Some(Mark::Done)).map(|(place, _)| place).collect();
    };
    let passed = run.state.steps.iter().filter(|step| matches!(step.status, StepStatus::Passed { .. }));
    passed.filter_map(|step| ids.iter().position(|id| *id == step.id)).collect()
}

/// Why there were versions before, the oldest first. The record leads on where the file of an earlier version is gone.
fn setbacks(project: &Project, chain: &[PathBuf]) -> Result<Vec<Setback>, Failure> {
    let Some(decisions) = Approvals::open_existing(project)? else { return Ok(Vec::new()) };
    let mut seen: BTreeSet<String> = chain.iter().map(|version| plan_file::name(version)).collect();
    let mut rest = chain.to_vec();
    let mut setbacks = Vec::new();
    while let Some(version) = rest.pop() {
        let drafts = decisions.case(&version)?.standing.drafts;
        let after: Vec<Setback> = drafts.into_iter().filter_map(|drafted| drafted.drafting.after).collect();
        if rest.is_empty() {
            let earlier = after.iter().find(|setback| seen.insert(setback.previous.clone()));
            let ending = version.extension().unwrap_or_default().to_string_lossy().into_owned();
            rest.extend(
                earlier.map(|setback| version.with_file_name(format!("{}.{ending}", setback.previous))),
            );
        }
        setbacks.extend(after.into_iter().rev());
    }
    setbacks.reverse();
    Ok(setbacks)
}
