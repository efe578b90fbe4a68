//! Gathers the parts of a review: the proposed revision, the one the reader knows, and what the checker and
//! the disk say about them. Decides nothing.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use planwright_core::agent::finding;
use planwright_core::agent::report::ReportFinding;
use planwright_core::approval::ledger::ApprovalSubject;
use planwright_core::approval::review;
use planwright_core::approval::review::{FileReach, Review, ReviewInput, ReviewReason, Since, Touched};
use planwright_core::approval::status::Revision;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified::Plan;
use planwright_core::syntax::diagnostic::Severity;
use planwright_core::syntax::glob::Glob;
use planwright_core::syntax::source::Source;

use super::{Approvals, Error, PlanRecord, lower, short, shown};
use crate::run;
use crate::run::Run;
use crate::run::baseline;
use crate::run::stats;
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::workspace::project::Verified;

/// A review, and the texts it is about.
pub struct Reviewed {
    pub review: Review,
    pub state: PlanState,
    /// Exactly what would be approved; `None` if it was never proposed.
    pub subject: Option<ApprovalSubject>,
    pub source: Source,
}

/// What reviewers found in a run, one line each.
fn found(run: &Run) -> Vec<String> {
    let line = |(place, finding): (usize, &ReportFinding)| {
        format!("{}: {}", run.plan.steps[place].id, finding::line(finding))
    };
    run.state.findings().map(line).collect()
}

impl Approvals {
    /// The review of a plan. Reviews what was proposed, whatever the file says now; a plan that was never
    /// proposed is reviewed as in its file, if it has no errors. It is compared with revision `since`, or the one
    /// that its reader read last.
    pub fn review(
        &self,
        path: &Path,
        file: &Verified,
        reader: &Identity,
        since: Option<u32>,
    ) -> Result<Reviewed, Error> {
        let case = self.case(path)?;
        let newest = case.standing.newest();
        let proposed = newest.map(|newest| self.verify(&case, newest)).transpose()?;
        let (checked, plan) = match &proposed {
            Some((checked, plan)) => (checked, plan),
            None => (file, unproposed(&case, file)?),
        };
        let since = compared(&case, reader, since)?;
        let old = since.as_ref().map(|(_, revision)| self.plan(&case, revision)).transpose()?;
        let warnings = checked.draft.as_ref().map(|draft| review::warnings(draft, &checked.diagnostics));
        let is_open = matches!(case.state(), PlanState::Proposed | PlanState::Approved);
        let moved = match newest.filter(|_| is_open) {
            Some(newest) => self.moved(&case, plan, &newest.subject)?,
            None => Vec::new(),
        };
        let name = plan_file::name(path);
        let input = ReviewInput {
            name: &name,
            path: &shown(&case.plan),
            standing: &case.standing,
            state: case.state(),
            plan,
            reader,
            since: since.map(|(since, _)| since).zip(old.as_ref()),
            warnings: warnings.unwrap_or_default(),
            reach: self.reach(plan)?,
            // An unreadable history gives no forecast.
            forecast: stats::forecast(self.project(), plan).ok().flatten(),
            moved,
            drift: newest.and_then(|newest| drift(newest, file)),
            findings: case.run.as_ref().map(found).unwrap_or_default(),
        };
        let subject = newest.map(|newest| newest.subject.clone());
        let (review, source) = (Review::of(input), checked.source.clone());
        Ok(Reviewed { review, state: case.state(), subject, source })
    }

    /// A revision as the checker sees it today, and its plan as proposed, which stays a plan whatever is missing today.
    fn verify(&self, case: &PlanRecord, revision: &Revision) -> Result<(Verified, Plan), Error> {
        let source = self.source(case, revision)?;
        let checked =
            baseline::verify_text(self.project(), FileText::Plan(source)).map_err(run::Error::Project)?;
        let draft = checked.draft.as_ref().expect("a revision is text");
        let plan = lower(case, revision, &checked.source, draft)?;
        Ok((checked, plan))
    }

    /// How many files of the project every glob of a plan matches.
    fn reach(&self, plan: &Plan) -> Result<FileReach, Error> {
        let patterns = review::globs(plan);
        let globs: Vec<(String, Option<Glob>, AtomicU64)> = patterns
            .into_iter()
            .map(|pattern| {
                let glob = Glob::new(&pattern).ok();
                (pattern, glob, AtomicU64::new(0))
            })
            .collect();
        let files = AtomicU64::new(0);
        let root = &self.project().root;
        let see = |path: &Path| {
            let Some(below) = path.strip_prefix(root).ok().and_then(Path::to_str) else { return };
            let mut is_any = false;
            for (_, glob, count) in &globs {
                if glob.as_ref().is_some_and(|glob| glob.matches(below)) {
                    count.fetch_add(1, Ordering::Relaxed);
                    is_any = true;
                }
            }
            files.fetch_add(u64::from(is_any), Ordering::Relaxed);
        };
        if !globs.is_empty() {
            self.project()
                .walk(&|path| {
                    if path.is_file() {
                        see(path);
                    }
                })
                .map_err(run::Error::Project)?;
        }
        let touched =
            |(glob, _, count): (String, Option<Glob>, AtomicU64)| Touched { glob, files: count.into_inner() };
        Ok(FileReach {
            globs: globs.into_iter().map(touched).collect(),
            files: files.into_inner(),
            undeclared: Vec::new(),
        })
    }
}

/// The plan of a file that was never proposed.
fn unproposed<'a>(case: &PlanRecord, file: &'a Verified) -> Result<&'a Plan, Error> {
    let errors = file.count(Severity::Error);
    file.plan.as_ref().ok_or_else(|| Error::Unclean { plan: shown(&case.plan), errors })
}

fn compared<'a>(
    case: &'a PlanRecord,
    reader: &Identity,
    since: Option<u32>,
) -> Result<Option<(Since, &'a Revision)>, Error> {
    let newest = case.standing.newest().map_or(0, |newest| newest.number);
    let since = match since {
        Some(revision) => Some(Since { revision, why: ReviewReason::Asked }),
        None => review::last_read(&case.ledger, reader, newest),
    };
    let Some(since) = since else { return Ok(None) };
    let (plan, revision) = (shown(&case.plan), since.revision);
    let known = review::revision(&case.standing, revision);
    known.map(|known| Some((since, known))).ok_or(Error::Revision { plan, revision, newest })
}

/// The file's difference from the proposal, if any.
fn drift(newest: &Revision, file: &Verified) -> Option<String> {
    let now = file.plan.as_ref().map(|plan| Digest::of(plan).to_string());
    match now {
        Some(now) if now == newest.subject.digest => None,
        Some(now) => Some(format!("the file changed ({}) and that change is not proposed", short(&now))),
        None => Some("the file has errors now; this is the proposed revision".to_owned()),
    }
}
