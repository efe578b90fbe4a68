//! Runs the contracts of a plan again, without an agent, on a fresh checkout, and compares the results with
//! what the plan claims and its receipts record. Never writes a mark, a receipt or anything in the workspace;
//! caches passing results for the next audit.

mod blame;
mod cache;
mod record;

pub use cache::{Cache, CacheEntry};
pub use record::{RerunBasis, RerunRecord, record};

use std::path::{Path, PathBuf};

use blake3::Hash;
use planwright_core::audit::AuditFinding;
use planwright_core::audit::rerun::{
    AsRead, Broke, CurrentResult, MarkClaim, Recorded, RerunOutcome, as_read, finding, reads_outside,
};
use planwright_core::plan::verified::{Contract, Step};
use planwright_core::run::judge::judge;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::audit;
use crate::git::base;
use crate::git::base::tree_of_workspace;
use crate::git::checkout::{Checkout, Content};
use crate::run::contract::ContractRunner;
use crate::store::journal;
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::store::state_dir;
use crate::system::clock;
use crate::system::process;
use crate::system::process::{Stop, Supervisors};
use crate::workspace::project::Project;
use cache::CacheKeys;

/// Part of the process tags of every audit.
const NAME: &str = "/audit-";
/// How much of what a contract printed is kept.
const OUTPUT_BYTES_MAX: usize = 2_000;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot create a checkout to run contracts in")]
    Base(#[from] base::Error),
    #[error("cannot find the state directory of the project")]
    State(#[from] state_dir::Error),
    #[error("cannot access the journal")]
    Journal(#[from] journal::Error),
    #[error(transparent)]
    Store(#[from] plan_file::Error),
    /// An export next to the code cannot be read.
    #[error(transparent)]
    Exported(#[from] Box<audit::Error>),
    /// A rerun contract asks for this.
    #[error("`audit --rerun` cannot run inside a rerun contract")]
    Nested,
    /// The workspace changed meanwhile.
    #[error("the workspace changed during the rerun")]
    Moved,
}

impl From<audit::Error> for Error {
    fn from(error: audit::Error) -> Self {
        Self::Exported(Box::new(error))
    }
}

#[derive(Debug, Clone, Default)]
pub struct RerunOptions {
    /// The commit, by any name; `None`: the workspace.
    pub at: Option<String>,
    pub scope: RerunScope,
    /// Whether earlier passing results count.
    pub earlier: Earlier,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RerunScope {
    #[default]
    All,
    /// Those that the file or the record claims are done.
    Claims,
}

/// Whether a contract that passed on the same content before runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Earlier {
    #[default]
    Counts,
    Ignored,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StepAudit {
    /// The number in the heading.
    pub number: String,
    pub id: String,
    pub title: String,
    /// Whether the file says that it is done.
    #[serde(rename = "is_claimed", serialize_with = "is_done")]
    #[schemars(with = "bool")]
    pub claim: MarkClaim,
    /// What is recorded: `passed`, `confirmed`, `skipped`, or nothing.
    #[serde(serialize_with = "recorded_word")]
    #[schemars(with = "String")]
    pub recorded: Recorded,
    /// The hash of the contract; empty without one.
    pub contract: String,
    /// The contract's result now.
    pub now: CurrentResult,
    pub settled: RerunOutcome,
    /// When it ran, in milliseconds since 1970, if that was before this audit.
    #[serde(rename = "cached_at_ms")]
    pub earlier_ms: Option<u64>,
    /// Why an earlier result cannot be used; empty if it can.
    #[serde(serialize_with = "or_empty")]
    #[schemars(with = "String")]
    pub uncached: Option<String>,
    pub milliseconds: u64,
    /// The end of its output; empty if it did not run now, or passed.
    pub output: String,
    /// Since when it fails, if it once passed.
    pub broke: Option<Broke>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
fn is_done<S: Serializer>(claim: &MarkClaim, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(*claim == MarkClaim::Done)
}

fn recorded_word<S: Serializer>(recorded: &Recorded, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match recorded {
        Recorded::Nothing => "",
        Recorded::Passed(_) => "passed",
        Recorded::Confirmed { .. } => "confirmed",
        Recorded::Skipped { .. } => "skipped",
    })
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn or_empty<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text.as_deref().unwrap_or_default())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanAudit {
    pub path: PathBuf,
    pub name: String,
    /// Empty if it cannot be read.
    pub dialect: &'static str,
    /// Identifies the audited content.
    pub tree: String,
    /// Where the receipts come from.
    pub basis: RerunBasis,
    /// In file order.
    pub steps: Vec<StepAudit>,
    /// Why the plan cannot be read, if it cannot.
    pub fault: Option<String>,
    /// Whether it was interrupted before all steps were checked.
    pub is_stopped: bool,
}

impl PlanAudit {
    /// How many steps have this result.
    pub fn count(&self, settled: RerunOutcome) -> usize {
        self.steps.iter().filter(|step| step.settled == settled).count()
    }

    /// How many contracts ran now.
    pub fn ran(&self) -> usize {
        self.steps
            .iter()
            .filter(|step| step.earlier_ms.is_none() && step.now != CurrentResult::Manual)
            .count()
    }

    /// The findings, under the plan's name in records.
    pub fn findings(&self, plan: &str) -> Vec<AuditFinding> {
        let found = self.steps.iter().filter_map(|step| {
            let broke = step.broke.as_ref().map(|broke| broke.sentence(|id| self.number(id)));
            let (said, come_to) = ((step.claim, &step.recorded), (step.settled, &step.now));
            finding((plan, &step.number, &step.id), said, come_to, broke)
        });
        found.collect()
    }

    pub fn number(&self, id: &str) -> Option<String> {
        self.steps.iter().find(|step| step.id == id).map(|step| step.number.clone())
    }
}

/// An audit of any number of plans on one content.
pub struct RerunReport<'a> {
    project: &'a Project,
    options: RerunOptions,
    at: Content,
    /// Identifies the audited content.
    tree: String,
    /// `None` until a contract has to run.
    checkout: Option<Checkout>,
    cache: Option<Cache>,
    keys: CacheKeys,
    supervisors: Supervisors,
    /// The tag of this audit's processes.
    tag: String,
    /// Whether cache keys ignore the content.
    is_blind: bool,
}

/// The result of one contract.
struct Looked {
    now: CurrentResult,
    earlier_ms: Option<u64>,
    uncached: Option<String>,
    milliseconds: u64,
    output: String,
}

impl<'a> RerunReport<'a> {
    /// Starts an audit. Nothing runs yet.
    pub fn open(project: &'a Project, options: &RerunOptions) -> Result<Self, Error> {
        // It would run itself again and again.
        if process::job_above().is_some_and(|sign| sign.tag().is_some_and(|tag| tag.contains(NAME))) {
            return Err(Error::Nested);
        }
        let (at, tree) = match &options.at {
            Some(name) => {
                let base = base::named(&project.root, name)?;
                // Another kind of hash than that of a workspace; the same content may have two names, but
                // never the other way round.
                (Content::Commit(base.commit), format!("git {}", base.tree))
            }
            None => (Content::Workspace, tree_of_workspace(&project.root, &[])?),
        };
        let cache = match options.earlier {
            // A result that an agent obtained, with programs of its own, must not count for others later.
            Earlier::Counts if process::job_above().is_none() => Some(Cache::of(&project.root)?),
            Earlier::Counts | Earlier::Ignored => None,
        };
        let key = state_dir::of_project(&project.root)?;
        let key = key.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self {
            project,
            options: options.clone(),
            at,
            tree,
            checkout: None,
            cache,
            keys: CacheKeys::default(),
            supervisors: Supervisors::new(),
            tag: format!("{key}{NAME}{}", std::process::id()),
            is_blind: false,
        })
    }

    /// The same audit with keys that ignore the content, as a faulty cache would. For the test that must see
    /// it fail.
    #[doc(hidden)]
    #[must_use]
    pub fn blind(self) -> Self {
        Self { is_blind: true, ..self }
    }

    /// Identifies the audited content.
    pub fn tree(&self) -> &str {
        &self.tree
    }

    pub fn at(&self) -> &Content {
        &self.at
    }

    /// Audits one plan. `watch` receives every step once it is done.
    pub fn plan(
        &mut self,
        path: &Path,
        record: &RerunRecord,
        stop: &Stop,
        watch: &mut dyn FnMut(&StepAudit),
    ) -> Result<PlanAudit, Error> {
        let mut audit = PlanAudit {
            path: path.to_owned(),
            name: plan_file::name(path),
            dialect: "",
            tree: self.tree.clone(),
            basis: record.basis.clone(),
            steps: Vec::new(),
            fault: None,
            is_stopped: false,
        };
        let source = match self.read(path)? {
            FileText::Plan(source) => source,
            FileText::Unreadable(unreadable) => {
                audit.fault = Some(unreadable.diagnostic.message);
                return Ok(audit);
            }
        };
        audit.dialect = source.dialect().name;
        for read in as_read(&source, &parse(&source)) {
            let recorded = record.history.step(&read.id);
            let is_wanted = match self.options.scope {
                RerunScope::All => true,
                RerunScope::Claims => {
                    read.claim == MarkClaim::Done || recorded.proof().is_some() || recorded.is_confirmed()
                }
            };
            if !is_wanted {
                continue;
            }
            let Some(step) = self.step(read, record, stop)? else {
                audit.is_stopped = true;
                break;
            };
            watch(&step);
            audit.steps.push(step);
        }
        if let Some(cache) = &mut self.cache {
            // What cannot be cached runs again next time.
            cache.keep().ok();
        }
        Ok(audit)
    }

    /// The plan from the audited content, or from the workspace if it is not in there.
    fn read(&mut self, path: &Path) -> Result<FileText, Error> {
        let shown = path.to_string_lossy().into_owned();
        let relative = path.canonicalize().ok();
        let relative = relative.as_deref().unwrap_or(path).strip_prefix(&self.project.root).ok();
        if let (Content::Commit(_), Some(relative)) = (&self.at, relative) {
            let there = self.folder()?.join(relative);
            if there.exists() {
                return Ok(plan_file::read(&there, &shown, self.project.reading())?);
            }
        }
        Ok(plan_file::read(path, &shown, self.project.reading())?)
    }

    fn step(&mut self, read: AsRead, record: &RerunRecord, stop: &Stop) -> Result<Option<StepAudit>, Error> {
        let recorded = record.history.step(&read.id).clone();
        let (contract, expect) = match &read.step {
            Ok(step) => (step.contract.hash(), step.contract.expected_code().unwrap_or_default()),
            Err(_) => (String::new(), 0),
        };
        let looked = match &read.step {
            Err(why) => Looked::not_run(CurrentResult::CannotRun((*why).to_owned())),
            Ok(step) if step.contract == Contract::Manual => Looked::not_run(CurrentResult::Manual),
            Ok(step) => match self.look(step, stop)? {
                Some(looked) => looked,
                None => return Ok(None),
            },
        };
        let settled = RerunOutcome::of(read.claim, &recorded, (&contract, expect), &looked.now);
        let broke = match (&read.step, recorded.proof(), settled) {
            (Ok(step), Some(proof), RerunOutcome::Broken) => Some(self.blame(step, proof, record, stop)?),
            _ => None,
        };
        let Looked { now, earlier_ms, uncached, milliseconds, output } = looked;
        let AsRead { number, id, title, claim, .. } = read;
        Ok(Some(StepAudit {
            number,
            id,
            title,
            claim,
            recorded,
            contract,
            now,
            settled,
            earlier_ms,
            uncached,
            milliseconds,
            output,
            broke,
        }))
    }

    /// Runs the contract of a step, unless it passed before on the same content. `None` if interrupted.
    fn look(&mut self, step: &Step, stop: &Stop) -> Result<Option<Looked>, Error> {
        let uncached = reads_outside(step);
        let key = self.key(step).filter(|_| uncached.is_none());
        let known = key.zip(self.cache.as_ref()).and_then(|(key, cache)| cache.get(&key, clock::now()));
        if let Some(entry) = known {
            return Ok(Some(Looked {
                now: CurrentResult::Passes,
                earlier_ms: Some(entry.at_ms),
                uncached: None,
                milliseconds: entry.milliseconds,
                output: String::new(),
            }));
        }
        let folder = self.folder()?;
        let tag = format!("{}/{}", self.tag, step.id);
        let Some(seen) =
            self.runner(&folder).run(step, &self.supervisors, &tag, stop).map_err(base::Error::from)?
        else {
            return Ok(None);
        };
        let verdict = judge(&seen, None);
        if let (true, Some(key), Some(cache)) = (verdict.is_passed(), key, &mut self.cache) {
            cache.put(key, CacheEntry { at_ms: clock::now(), milliseconds: seen.milliseconds });
        }
        let now = CurrentResult::of(&verdict);
        let output = if now == CurrentResult::Passes { "" } else { seen.output.as_str() };
        let start = output.ceil_char_boundary(output.len().saturating_sub(OUTPUT_BYTES_MAX));
        let output = output[start..].to_owned();
        Ok(Some(Looked { now, earlier_ms: None, uncached, milliseconds: seen.milliseconds, output }))
    }

    fn runner<'f>(&'f self, folder: &'f Path) -> ContractRunner<'f> {
        let Project { root, config, .. } = self.project;
        ContractRunner::new(folder, &config.run, std::slice::from_ref(root))
    }

    /// The root of the project in a checkout of the audited content, as the next contract must find it.
    fn folder(&mut self) -> Result<PathBuf, Error> {
        let (project, at, tree) = (self.project, &self.at, &self.tree);
        let checkout = Checkout::fresh(&mut self.checkout, || {
            let checkout = Checkout::for_contracts(project, at, &[])?;
            // A change during the copy would be judged under another content's name.
            match *at == Content::Workspace && tree_of_workspace(&project.root, &[])? != *tree {
                true => Err(Error::Moved),
                false => Ok(checkout),
            }
        })?;
        Ok(checkout.path())
    }

    /// The cache key of a step's contract on this content. Independent of the location of the checkout, which
    /// is new each time.
    fn key(&mut self, step: &Step) -> Option<Hash> {
        self.cache.as_ref()?;
        let runner = ContractRunner::new(&self.project.root, &self.project.config.run, &[]);
        let tree = if self.is_blind { "" } else { self.tree.as_str() };
        self.keys.key(step, &runner, tree)
    }
}

impl Looked {
    const fn not_run(now: CurrentResult) -> Self {
        Self { now, earlier_ms: None, uncached: None, milliseconds: 0, output: String::new() }
    }
}
