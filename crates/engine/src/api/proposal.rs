//! Asks for approval of plans: those in files, and texts that become files when they are proposed.

use std::path::Path;

use planwright_core::dialect::{Dialect, NATIVE, NewPlan};
use planwright_core::plan::draft::Draft;
use planwright_core::plan::identity::{Identity, Role};
use planwright_core::run::baseline::Baseline;
use planwright_core::syntax::diagnostic::Severity;
use planwright_core::syntax::source::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::agent::submission::UNRUN;
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::path::shown;
use crate::api::plan::Plan;
use crate::api::workspace::{Workspace, dialect_named};
use crate::approval;
use crate::approval::{Approvals, Authorship, Proposed};
use crate::store::plan_file;
use crate::store::random_id::chance;
use crate::system::clock;
use crate::workspace::project::Verified;

/// The dialect of what a planner proposes as a list of steps, and the name of such a plan.
const PROPOSAL: &str = "proposal";

/// Plans that were proposed together.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProposalsView {
    pub plans: Vec<ProposalView>,
}

/// One plan that was proposed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProposalView {
    pub plan: String,
    pub path: String,
    pub revision: u32,
    pub digest: String,
    /// The commit the work would start from.
    pub base: Option<String>,
    /// How many warnings the checker has.
    pub warnings: u32,
    /// What the contracts say before the work.
    pub red: Vec<Baseline>,
    /// Whether exactly this was proposed already.
    pub is_known: bool,
    /// The policy rule that approved it.
    pub approved_by_rule: Option<String>,
    /// The branch and the commit the work would start from, for people.
    #[serde(skip)]
    pub on: Option<String>,
    /// What could not be written to the plan file.
    #[serde(skip)]
    pub complaints: Vec<String>,
}

impl ProposalView {
    pub(crate) fn new(path: &Path, proposed: Proposed) -> Self {
        let Proposed { revision, is_known, rule, complaints } = proposed;
        Self {
            plan: plan_file::name(path),
            path: shown(path),
            revision: revision.number,
            digest: revision.subject.digest,
            on: revision.subject.base.as_ref().map(ToString::to_string),
            base: revision.subject.base.map(|base| base.commit),
            warnings: revision.warnings,
            red: revision.red,
            is_known,
            approved_by_rule: rule,
            complaints,
        }
    }
}

impl Workspace {
    /// Cancels proposals that are too old, asks about runs without a process, and says both, a line each.
    pub fn expire(&self) -> Result<Vec<String>, Error> {
        let Some(approvals) = Approvals::open_existing(self.project())? else { return Ok(Vec::new()) };
        let expired = approvals.sweep()?.into_iter();
        Ok(expired.map(|expired| format!("{}: {}", expired.plan.display(), expired.text)).collect())
    }

    /// A text that somebody hands in under a name. It becomes a file when it is proposed.
    pub fn plan_of_text(&self, name: &str, text: String) -> Result<Plan, Error> {
        let dialect = self.project().dialect.unwrap_or(NATIVE);
        let path = (dialect.home)(name, &chance()?).path;
        Ok(self.unwritten(dialect, &path, text))
    }

    /// The steps of a proposal. They become a file when it is proposed.
    pub fn plan_of_steps(&self, draft: &Draft) -> Result<Plan, Error> {
        let dialect = dialect_named(PROPOSAL)?;
        let home = (dialect.home)(PROPOSAL, &chance()?);
        let text = dialect.compose(draft, &NewPlan { id: &home.id, now: &clock::utc_now() });
        Ok(self.unwritten(dialect, &home.path, text))
    }

    fn unwritten(&self, dialect: &'static Dialect, path: &str, text: String) -> Plan {
        let source = Source::new(path, text).at(path).written_in(dialect);
        Plan::unwritten(self.clone(), self.root().join(path), source)
    }
}

impl Plan {
    /// Refuses a plan with errors.
    pub fn may_be_proposed(&self) -> Result<(), Error> {
        let verified = self.verified()?;
        if verified.plan.is_some() {
            return Ok(());
        }
        let mut errors = verified.diagnostics.iter().filter(|fault| fault.severity == Severity::Error);
        let first = errors.next().map(|fault| fault.message.as_str()).unwrap_or_default();
        let name = self.shown();
        let error = Error::new(ErrorKind::Refused, format!("{name} has errors; fix them before proposing"))
            .hint(format!("first error: {first}; nothing was proposed"));
        Err(match self.is_written() {
            true => error.next(NextCommand::new(["planwright", "verify", name.as_str()])),
            false => error,
        })
    }

    /// Asks for an approval of the plan. A policy rule may approve it immediately.
    pub fn propose(&self) -> Result<ProposalView, Error> {
        let verified = self.verified()?;
        if !self.is_written() {
            plan_file::create_plan(self.path(), self.source().text(), verified.dialect())?;
        }
        let workspace = self.workspace();
        let approvals = Approvals::open(workspace.project())?;
        let proposed = approvals.propose(self.path(), verified, &workspace.caller().identity())?;
        Ok(ProposalView::new(self.path(), proposed))
    }

    /// Whether exactly this digest is pending review.
    pub fn is_proposed(&self, digest: &str) -> Result<bool, Error> {
        Ok(Approvals::open(self.workspace().project())?.is_proposed(self.path(), digest)?)
    }
}

/// Proposes a text that `by` wrote. What a planner wrote is not run before anybody has read it: it had no tool that writes, and
/// its contracts would be one.
pub fn propose_written(
    approvals: &Approvals,
    path: &Path,
    verified: &Verified,
    by: &Identity,
) -> Result<ProposalView, approval::Error> {
    let proposed = match by.role {
        Role::Agent => approvals.propose_unrun(path, verified, (by, Authorship::Own), UNRUN),
        Role::Person | Role::Policy | Role::Age => approvals.propose(path, verified, by),
    }?;
    Ok(ProposalView::new(path, proposed))
}
