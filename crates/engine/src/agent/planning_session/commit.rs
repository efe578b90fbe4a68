//! Commits a planner session: checks every directory, then records everything in one ledger transaction.
//! Copies are noted before and created by [`settle`] after, or removed if the ledger does not know them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use planwright_core::plan::digest::Digest;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::workspace::session;
use planwright_core::workspace::session::{CommitAction, PlanHistory, SessionPlan};

use super::Error;
use super::copy;
use super::copy::SessionCopy;
use super::folder::{self, Content};
use super::record::{Goal, SessionLock, SessionMove, SessionRecord};
use crate::approval::{Approvals, BatchAction, Proposed};
use crate::store::plan_file;
use crate::workspace::project::{Project, Verified};

/// Why the contracts of such a plan are not run when it is proposed.
const UNRUN: &str = "not run yet: committed in a planner's session";
const CLEARED: &str = "its planner cleared the thread";
const REMOVED: &str = "its planner removed the thread";

pub enum SessionCommit {
    /// All problems in all directories. Nothing was submitted.
    Refused(Vec<CommitFault>),
    Done(Vec<CommitOutcome>),
}

pub struct CommitFault {
    pub thread: String,
    pub folder: PathBuf,
    pub wrong: Wrong,
}

pub enum Wrong {
    Unclean(Box<Verified>),
    Missing {
        /// Whether it is the current thread, which is cleared and not removed.
        is_current: bool,
    },
    /// A link or a pipe where a file or directory should be.
    Link(PathBuf),
    /// Somebody else changed or decided on the plan.
    Taken {
        plan: String,
        why: &'static str,
    },
}

pub struct CommitOutcome {
    /// `None` if it was removed before.
    pub thread: Option<String>,
    /// Empty if it never had one.
    pub plan: String,
    pub came: Came,
}

pub enum Came {
    Proposed(Box<Proposed>),
    /// Nothing changed, and nothing was recorded.
    Unchanged(PlanState),
    /// Its plan was withdrawn.
    Withdrawn,
    /// It no longer has a plan, and nothing of it is pending.
    Empty,
    /// It no longer has a plan; people decide about what it became.
    Stays(PlanState),
}

/// A thread, the contents of its directory, and what is due for it.
struct Look {
    thread: Option<String>,
    plan: Option<String>,
    verified: Option<Box<Verified>>,
    stand: Option<PlanHistory>,
    due: CommitAction,
}

pub(super) fn commit(
    held: &mut SessionLock,
    project: &Project,
    by: &Identity,
) -> Result<SessionCommit, Error> {
    let project = &Project { dialect: Some(copy::dialect()), ..project.clone() };
    let decisions = Approvals::open(project)?;
    let kept = SessionCopy::take(project)?;
    let ground = (project, &decisions, &kept);
    let (mut looks, faults) = look(&held.record, ground, by)?;
    if !faults.is_empty() {
        return Ok(SessionCommit::Refused(faults));
    }
    name_all(&held.record, ground, &mut looks)?;
    held.record.moves = looks.iter().filter_map(move_of).collect();
    for thread in held.record.desk.threads_mut() {
        let is_its = |look: &Look| look.thread.as_ref() == Some(&thread.id) && look.verified.is_some();
        thread.is_cleared &= !looks.iter().any(is_its);
    }
    held.save()?;
    let said = say(&looks, (&decisions, &kept), by);
    settle_with(&mut held.record, project, (&decisions, &kept))?;
    held.save()?;
    let mut said = said?.into_iter();
    let outcomes = looks.into_iter().map(|look| {
        let said = if is_said(&look.due) { said.next().flatten() } else { None };
        outcome(look, said)
    });
    Ok(SessionCommit::Done(outcomes.collect()))
}

type Ground<'a> = (&'a Project, &'a Approvals, &'a SessionCopy);

/// Looks at every thread, and at the plans of removed ones.
fn look(
    record: &SessionRecord,
    ground: Ground<'_>,
    by: &Identity,
) -> Result<(Vec<Look>, Vec<CommitFault>), Error> {
    let stand_of = |plan: &Option<String>| plan.as_ref().map(|plan| stand(ground, plan)).transpose();
    let (mut looks, mut faults) = (Vec::new(), Vec::new());
    for thread in record.desk.threads() {
        let fault = |wrong| CommitFault { thread: thread.id.clone(), folder: thread.folder.clone(), wrong };
        let verified = match read(ground.0, thread)? {
            Ok(verified) => verified,
            Err(wrong) => {
                faults.push(fault(wrong));
                continue;
            }
        };
        let digest = verified.as_ref().and_then(|verified| verified.plan.as_ref()).map(Digest::of);
        let stand = stand_of(&thread.plan)?;
        let due =
            session::due(thread, digest.map(|digest| digest.to_string()).as_deref(), stand.as_ref(), by);
        match due {
            CommitAction::Missing => {
                let is_current = thread.id == record.desk.current.id;
                faults.push(fault(Wrong::Missing { is_current }));
            }
            CommitAction::Taken(why) => {
                faults.push(fault(Wrong::Taken { plan: thread.plan.clone().unwrap_or_default(), why }));
            }
            CommitAction::Propose
            | CommitAction::ProposeAnew
            | CommitAction::Nothing
            | CommitAction::Withdraw
            | CommitAction::LetGo => {
                let (thread, plan) = (Some(thread.id.clone()), thread.plan.clone());
                looks.push(Look { thread, plan, verified, stand, due });
            }
        }
    }
    for plan in &record.desk.leaving {
        let plan = Some(plan.clone());
        let stand = stand_of(&plan)?;
        let due = session::withdrawal(stand.as_ref(), by);
        looks.push(Look { thread: None, plan, verified: None, stand, due });
    }
    Ok((looks, faults))
}

/// The plan in the directory of a thread, if any, or what is wrong with it.
fn read(project: &Project, thread: &SessionPlan) -> Result<Result<Option<Box<Verified>>, Wrong>, Error> {
    match folder::content(project, &thread.folder) {
        Ok(Content::Nothing) => Ok(Ok(None)),
        Ok(Content::Plan(verified)) if verified.plan.is_none() => Ok(Err(Wrong::Unclean(verified))),
        Ok(Content::Plan(verified)) => Ok(Ok(Some(verified))),
        Ok(Content::Link(path)) | Err(Error::Astray { path }) => Ok(Err(Wrong::Link(path))),
        Err(error) => Err(error),
    }
}

fn stand((project, decisions, kept): Ground<'_>, plan: &str) -> Result<PlanHistory, Error> {
    let case = decisions.case(&kept.path(plan))?;
    let newest = case.standing.newest();
    Ok(PlanHistory {
        state: case.state(),
        proposed: newest.map(|newest| (newest.subject.digest.clone(), newest.by.clone())),
        copy: kept.digest(project, plan)?,
    })
}

/// Names every plan that is proposed for the first time.
fn name_all(
    record: &SessionRecord,
    (project, decisions, kept): Ground<'_>,
    looks: &mut [Look],
) -> Result<(), Error> {
    let mut given = BTreeSet::new();
    let topic = record.desk.topic.clone().unwrap_or_default();
    for look in looks {
        let is_new = look.due == CommitAction::ProposeAnew
            || (look.due == CommitAction::Propose && look.plan.is_none());
        let plan = look.verified.as_ref().and_then(|verified| verified.plan.as_ref());
        if let Some(plan) = plan.filter(|_| is_new) {
            let name = kept.name((project, decisions), [&plan.title, &topic], &given)?;
            given.insert(name.clone());
            look.stand = None;
            look.plan = Some(name);
        }
    }
    Ok(())
}

/// What is noted before anything is recorded.
fn move_of(look: &Look) -> Option<SessionMove> {
    let goal = match look.due {
        CommitAction::Propose | CommitAction::ProposeAnew => {
            let digest = Digest::of(look.verified.as_ref()?.plan.as_ref()?).to_string();
            Goal::Laid { digest, old: look.stand.as_ref().and_then(|stand| stand.copy.clone()) }
        }
        CommitAction::Withdraw => Goal::Gone,
        CommitAction::LetGo => Goal::Left,
        CommitAction::Nothing | CommitAction::Missing | CommitAction::Taken(_) => return None,
    };
    Some(SessionMove { plan: look.plan.clone()?, thread: look.thread.clone(), goal })
}

/// Whether something is recorded about the plan of a thread.
const fn is_said(due: &CommitAction) -> bool {
    match due {
        CommitAction::Propose | CommitAction::ProposeAnew | CommitAction::Withdraw => true,
        CommitAction::Nothing | CommitAction::LetGo | CommitAction::Missing | CommitAction::Taken(_) => false,
    }
}

/// Records everything in one transaction. A plan without a copy gets one first, so that people can read what
/// they are asked about.
fn say(
    looks: &[Look],
    (decisions, kept): (&Approvals, &SessionCopy),
    by: &Identity,
) -> Result<Vec<Option<Proposed>>, Error> {
    let said: Vec<(&Look, PathBuf)> = looks
        .iter()
        .filter(|look| is_said(&look.due))
        .map(|look| (look, kept.path(look.plan.as_deref().unwrap_or_default())))
        .collect();
    for (look, path) in said.iter().filter(|(_, path)| !plan_file::is_there(path)) {
        if let Some(verified) = &look.verified {
            plan_file::replace_copy(path, verified.source.text(), copy::dialect())?;
        }
    }
    let acts: Vec<BatchAction<'_>> = said
        .iter()
        .map(|(look, path)| match (&look.verified, &look.thread) {
            (Some(verified), _) => BatchAction::Propose { path, verified },
            (None, Some(_)) => BatchAction::Withdraw { path, why: CLEARED },
            (None, None) => BatchAction::Withdraw { path, why: REMOVED },
        })
        .collect();
    Ok(decisions.say_together(&acts, by, UNRUN)?)
}

/// Finishes a commit: does what the ledger contains, and removes traces of what it does not.
pub(super) fn settle(record: &mut SessionRecord, project: &Project) -> Result<(), Error> {
    let project = &Project { dialect: Some(copy::dialect()), ..project.clone() };
    let decisions = Approvals::open(project)?;
    let kept = SessionCopy::take(project)?;
    settle_with(record, project, (&decisions, &kept))
}

fn settle_with(
    record: &mut SessionRecord,
    project: &Project,
    (decisions, kept): (&Approvals, &SessionCopy),
) -> Result<(), Error> {
    for SessionMove { plan, thread, goal } in std::mem::take(&mut record.moves) {
        let path = kept.path(&plan);
        let case = decisions.case(&path)?;
        let newest = case.standing.newest();
        let copy = kept.digest(project, &plan)?;
        let (is_done, keeps) = match goal {
            Goal::Laid { digest, old } => match newest.filter(|newest| newest.subject.digest == digest) {
                Some(newest) if case.state() != PlanState::Draft => {
                    // Edits of the copy since then stay.
                    let is_due = copy.is_none() || (copy == old && copy.as_ref() != Some(&digest));
                    if is_due {
                        let source = decisions.source(&case, newest)?;
                        plan_file::replace_copy(&path, source.text(), copy::dialect())?;
                    }
                    (true, true)
                }
                Some(_) | None => {
                    if old.is_none() {
                        plan_file::remove_laid(&path)?;
                    }
                    (false, true)
                }
            },
            Goal::Gone => {
                let is_done = case.state() == PlanState::Draft;
                // Without a copy, parts of it may still be left.
                let is_due = copy.is_none() || copy.as_ref() == newest.map(|newest| &newest.subject.digest);
                if is_done && is_due {
                    plan_file::remove_laid(&path)?;
                }
                (is_done, false)
            }
            Goal::Left => (true, false),
        };
        if !is_done {
            continue;
        }
        record.desk.leaving.retain(|leaving| *leaving != plan);
        for known in record.desk.threads_mut().filter(|known| thread.as_ref() == Some(&known.id)) {
            known.plan = Some(plan.clone()).filter(|_| keeps);
        }
    }
    Ok(())
}

fn outcome(look: Look, said: Option<Proposed>) -> CommitOutcome {
    let state = look.stand.map(|stand| stand.state);
    let came = match (look.due, said, state) {
        (_, Some(proposed), _) => Came::Proposed(Box::new(proposed)),
        (CommitAction::Withdraw, None, _) => Came::Withdrawn,
        (
            CommitAction::LetGo,
            None,
            Some(state @ (PlanState::Approved | PlanState::Running | PlanState::Waiting(_))),
        ) => Came::Stays(state),
        (CommitAction::LetGo, None, _) => Came::Empty,
        (
            CommitAction::Nothing
            | CommitAction::Propose
            | CommitAction::ProposeAnew
            | CommitAction::Missing
            | CommitAction::Taken(_),
            None,
            state,
        ) => Came::Unchanged(state.unwrap_or(PlanState::Draft)),
    };
    CommitOutcome { thread: look.thread, plan: look.plan.unwrap_or_default(), came }
}
