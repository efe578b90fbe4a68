//! The red check: runs every contract on the base commit, where it should fail. One that passes there proves
//! nothing. Never runs anything in the workspace, and caches results, so that a second check of the same tree
//! is free.

mod cache;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use planwright_core::approval::ledger::Base;
use planwright_core::plan::draft::Draft;
use planwright_core::plan::verified::{Contract, Plan, Step};
use planwright_core::run::baseline::{Baseline, BaselineResult};
use planwright_core::run::judge::{ContractRun, Observation, judge};
use planwright_core::syntax::source::Source;

use crate::config::Config;
use crate::git::base;
use crate::git::checkout::{Checkout, Content, Lifetime, Objects};
use crate::run::contract::ContractRunner;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::system::parallel::{cores, side_by_side};
use crate::system::process;
use crate::system::process::{Stop, Supervisors};
use crate::workspace::project;
use crate::workspace::project::{BaselineSet, Project, Verified};
use cache::Memory;

/// The most parallel contracts, whatever the machine has.
const JOBS_MAX: usize = 16;
/// Reported for a contract that did not get its turn.
const NO_TIME: &str = "no time left";

#[derive(Debug, Clone)]
pub struct BaselineLimits {
    /// Time limit of one contract; its own limit applies if it is shorter.
    pub seconds: u64,
    /// Time limit of all of them together.
    pub total_seconds: u64,
    pub stop: Stop,
}

impl BaselineLimits {
    pub fn of(config: &Config) -> Self {
        Self { seconds: config.red.seconds, total_seconds: config.red.total_seconds, stop: Stop::new() }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Project(#[from] project::Error),
    #[error("cannot run the contracts on the base commit")]
    Base(#[from] base::Error),
}

/// Reads and verifies a plan with the known results of its contracts; `shown` is the user's name for it.
pub fn verify(project: &Project, path: &Path, shown: &str) -> Result<Verified, project::Error> {
    verify_text(project, plan_file::read(path, shown, project.reading())?)
}

/// Verifies a plan that was already read, with the known results of its contracts.
pub fn verify_text(project: &Project, text: FileText) -> Result<Verified, project::Error> {
    with_known(project, project.check(text)?)
}

/// The same for a plan that was already parsed.
pub fn verify_draft(project: &Project, source: Source, draft: Draft) -> Result<Verified, project::Error> {
    with_known(project, project.judge(source, draft, BTreeMap::new())?)
}

fn with_known(project: &Project, verified: Verified) -> Result<Verified, project::Error> {
    match verified.plan.as_ref().and_then(|plan| known_set(project, plan)) {
        Some(red) => with_results(project, verified, red),
        None => Ok(verified),
    }
}

/// Runs every contract of a plan on the base commit, and verifies the plan again with the results. A plan
/// with errors is left alone: nothing of it runs. See [`check`].
pub fn verify_on_base(
    project: &Project,
    verified: Verified,
    limits: &BaselineLimits,
    progress: &(dyn Fn(&Baseline) + Sync),
) -> Result<Verified, Error> {
    let Some(plan) = &verified.plan else { return Ok(verified) };
    let base = base::of(&project.root)?;
    let contracts = check(project, plan, base.as_ref(), limits, progress)?;
    Ok(with_results(project, verified, BaselineSet { base, contracts })?)
}

/// The known contract results of a plan, without running any.
fn known_set(project: &Project, plan: &Plan) -> Option<BaselineSet> {
    // Git is used only if contracts were run before. What it cannot tell is unknown; nothing else is lost.
    if !Memory::is_there(&project.root) {
        return None;
    }
    let base = base::of(&project.root).ok()??;
    let contracts = known(&project.root, plan, &base).ok()?;
    (!contracts.is_empty()).then_some(BaselineSet { base: Some(base), contracts })
}

/// The plan, verified with the results of its contracts.
fn with_results(project: &Project, verified: Verified, red: BaselineSet) -> Result<Verified, project::Error> {
    let passed = match (&verified.plan, &red.base) {
        (Some(plan), Some(base)) => passed(plan, base, &red.contracts),
        (None, _) | (_, None) => BTreeMap::new(),
    };
    project.check_with(verified, red, passed)
}

/// Runs every contract of the plan on the base commit and returns the results. Steps that a person confirms
/// have none. `progress` receives each result as soon as it is known.
///
/// Each contract gets a checkout that no other contract has changed. Without a base none of them can run; nor
/// do they run for a working agent, whose environment decides what `bash` is: it only gets known results.
pub fn check(
    project: &Project,
    plan: &Plan,
    base: Option<&Base>,
    limits: &BaselineLimits,
    progress: &(dyn Fn(&Baseline) + Sync),
) -> Result<Vec<Baseline>, base::Error> {
    let steps: Vec<&Step> = judged(plan).collect();
    let Some(base) = base else {
        let why = why_no_base(&project.root)?;
        let all = steps.iter().map(|step| red(step, BaselineResult::CannotRun(why.to_owned()), 0));
        return Ok(all.inspect(|red| progress(red)).collect());
    };
    if process::job_above().is_some() {
        let all = with_unrun(
            plan,
            known(&project.root, plan, base)?,
            "an attempt cannot run contracts of its plan",
        );
        all.iter().for_each(progress);
        return Ok(all);
    }
    let check = Check {
        project,
        base,
        limits,
        memory: Memory::of(&project.root, base)?,
        supervisors: Supervisors::new(),
        end: Instant::now() + Duration::from_secs(limits.total_seconds),
    };
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Baseline)>> = Mutex::default();
    let failed: Mutex<Option<base::Error>> = Mutex::default();
    side_by_side(cores().min(steps.len()).min(JOBS_MAX), &|| {
        let mut checkout = None;
        while let Some((place, step)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|place| Some((place, steps.get(place)?)))
        {
            match check.step(step, &mut checkout) {
                Ok(red) => {
                    progress(&red);
                    lock(&done).push((place, red));
                }
                Err(error) => drop(lock(&failed).get_or_insert(error)),
            }
        }
    });
    if let Some(error) = lock(&failed).take() {
        return Err(error);
    }
    check.memory.forget_oldest();
    let mut done = std::mem::take(&mut *lock(&done));
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, red)| red).collect())
}

/// The known results of a plan's contracts on this base, without running anything. Steps with unknown results
/// are missing.
pub fn known(root: &Path, plan: &Plan, base: &Base) -> Result<Vec<Baseline>, base::Error> {
    let memory = Memory::of(root, base)?;
    Ok(judged(plan).filter_map(|step| remembered(&memory, step)).collect())
}

/// The known results, and for all other contracts this reason why they cannot run; in step order.
pub(crate) fn with_unrun(plan: &Plan, known: Vec<Baseline>, why: &str) -> Vec<Baseline> {
    let mut known: BTreeMap<String, Baseline> =
        known.into_iter().map(|red| (red.step.clone(), red)).collect();
    let unrun = |step: &Step| red(step, BaselineResult::CannotRun(why.to_owned()), 0);
    judged(plan).map(|step| known.remove(&step.id).unwrap_or_else(|| unrun(step))).collect()
}

/// Steps whose contracts passed, by id, and how that was determined: facts for the checker.
pub fn passed(plan: &Plan, base: &Base, reds: &[Baseline]) -> BTreeMap<String, String> {
    let passed = reds.iter().filter(|red| matches!(red.before, BaselineResult::Passes));
    let said = passed.filter_map(|red| {
        let step = plan.steps.iter().find(|step| step.id == red.step)?;
        let Contract::Shell { expect, .. } = step.contract else { return None };
        let hundredths = red.milliseconds.div_ceil(10);
        let seconds = format!("{}.{:02}", hundredths / 100, hundredths % 100);
        Some((red.step.clone(), format!("run on {base}, exit {expect} in {seconds} s")))
    });
    said.collect()
}

/// The steps that a contract judges.
fn judged(plan: &Plan) -> impl Iterator<Item = &Step> {
    plan.steps.iter().filter(|step| matches!(step.contract, Contract::Shell { .. }))
}

fn red(step: &Step, before: BaselineResult, milliseconds: u64) -> Baseline {
    Baseline { step: step.id.clone(), contract: step.contract.hash(), before, milliseconds }
}

/// What a run of its contract means for a step.
fn red_of(step: &Step, run: &ContractRun) -> Baseline {
    red(step, BaselineResult::of(&judge(run, None), step.green.as_deref()), run.milliseconds)
}

fn remembered(memory: &Memory, step: &Step) -> Option<Baseline> {
    let seen = memory.get(step)?;
    let run = ContractRun::of(&step.contract, seen.observation);
    Some(red_of(step, &ContractRun { milliseconds: seen.milliseconds, ..run }))
}

fn why_no_base(root: &Path) -> Result<&'static str, base::Error> {
    Ok(match base::is_repository(root)? {
        false => "no base: not a git repository",
        true => "no base: no commit yet",
    })
}

struct Check<'a> {
    project: &'a Project,
    base: &'a Base,
    limits: &'a BaselineLimits,
    memory: Memory,
    supervisors: Supervisors,
    end: Instant,
}

impl Check<'_> {
    /// The result of a step's contract.
    fn step(&self, step: &Step, checkout: &mut Option<Checkout>) -> Result<Baseline, base::Error> {
        if let Some(red) = remembered(&self.memory, step) {
            return Ok(red);
        }
        let cannot = |why: &str| Ok(red(step, BaselineResult::CannotRun(why.to_owned()), 0));
        let own = step.contract_timeout_seconds.unwrap_or(self.project.config.run.contract_seconds);
        let allowed = Duration::from_secs(own.min(self.limits.seconds));
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return cannot(NO_TIME);
        }
        // A contract must not see what another one wrote.
        let path = Checkout::fresh(checkout, || self.checkout())?.path();
        let Project { root, config, .. } = self.project;
        let runner = ContractRunner::new(&path, &config.run, std::slice::from_ref(root));
        let mut bounded = step.clone();
        bounded.contract_timeout_seconds = Some(allowed.min(left).as_secs().max(1));
        let tag = format!("red-{}/{}/contract", std::process::id(), step.id);
        let Some(seen) = runner.run(&bounded, &self.supervisors, &tag, &self.limits.stop)? else {
            return cannot("stopped");
        };
        if matches!(seen.observation, Observation::TimedOut(_)) && left < allowed {
            return cannot(NO_TIME);
        }
        self.memory.put(step, &seen);
        Ok(red_of(step, &seen))
    }

    fn checkout(&self) -> Result<Checkout, base::Error> {
        let content = Content::Commit(self.base.commit.clone());
        let root = &self.project.root;
        let mut checkout = Checkout::of(root, &content, Objects::Borrowed, Lifetime::Temporary)?;
        // A contract that needs a port and has none reports it itself, and nothing is decided by it here.
        checkout.lend_ports(self.project).ok();
        Ok(checkout)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
