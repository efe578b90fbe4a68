//! Commits a planner session: checks every directory, then records everything in one ledger transaction.
//! Copies are noted before and created by [`settle`] after, or removed if the ledger does not know them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use planwright_core::approval::ledger::Who;
use planwright_core::plan::digest::Digest;
use planwright_core::plan::lifecycle::State;
use planwright_core::workspace::session;
use planwright_core::workspace::session::{Due, Stand, Thread};

use super::Error;
use super::copy;
use super::copy::Kept;
use super::folder::{self, Content};
use super::record::{Goal, Held, Move, Record};
use crate::approval::{Act, Decisions, Proposed};
use crate::store::plan_file;
use crate::workspace::project::{Project, Verified};

/// Why the contracts of such a plan are not run when it is proposed.
const UNRUN: &str = "not run yet: committed in a planner's session";
const CLEARED: &str = "its planner cleared the thread";
const REMOVED: &str = "its planner removed the thread";

pub enum Commit {
    /// All problems in all directories. Nothing was submitted.
    Refused(Vec<Fault>),
    Done(Vec<Outcome>),
}

pub struct Fault {
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

pub struct Outcome {
    /// `None` if it was removed before.
    pub thread: Option<String>,
    /// Empty if it never had one.
    pub plan: String,
    pub came: Came,
}

pub enum Came {
    Proposed(Box<Proposed>),
    /// Nothing changed, and nothing was recorded.
    Unchanged(State),
    /// Its plan was withdrawn.
    Withdrawn,
    /// It no longer has a plan, and nothing of it is pending.
    Empty,
    /// It no longer has a plan; people decide about what it became.
    Stays(State),
}

/// A thread, the contents of its directory, and what is due for it.
struct Look {
    thread: Option<String>,
    plan: Option<String>,
    verified: Option<Box<Verified>>,
    stand: Option<Stand>,
    due: Due,
}

pub(super) fn commit(held: &mut Held, project: &Project, by: &Who) -> Result<Commit, Error> {
    let project = &Project { dialect: Some(copy::dialect()), ..project.clone() };
    let decisions = Decisions::open(project)?;
    let kept = Kept::take(project)?;
    let ground = (project, &decisions, &kept);
    let (mut looks, faults) = look(&held.record, ground, by)?;
    if !faults.is_empty() {
        return Ok(Commit::Refused(faults));
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
    Ok(Commit::Done(outcomes.collect()))
}

type Ground<'a> = (&'a Project, &'a Decisions, &'a Kept);

/// Looks at every thread, and at the plans of removed ones.
fn look(record: &Record, ground: Ground<'_>, by: &Who) -> Result<(Vec<Look>, Vec<Fault>), Error> {
    let stand_of = |plan: &Option<String>| plan.as_ref().map(|plan| stand(ground, plan)).transpose();
    let (mut looks, mut faults) = (Vec::new(), Vec::new());
    for thread in record.desk.threads() {
        let fault = |wrong| Fault { thread: thread.id.clone(), folder: thread.folder.clone(), wrong };
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
            Due::Missing => {
                let is_current = thread.id == record.desk.current.id;
                faults.push(fault(Wrong::Missing { is_current }));
            }
            Due::Taken(why) => {
                faults.push(fault(Wrong::Taken { plan: thread.plan.clone().unwrap_or_default(), why }));
            }
            Due::Propose | Due::ProposeAnew | Due::Nothing | Due::Withdraw | Due::LetGo => {
                let (thread, plan) = (Some(thread.id.clone()), thread.plan.clone());
                looks.push(Look { thread, plan, verified, stand, due });
            }
        }
    }
    for plan in &record.desk.leaving {
        let plan = Some(plan.clone());
        let stand = stand_of(&plan)?;
        let due = session::parting(stand.as_ref(), by);
        looks.push(Look { thread: None, plan, verified: None, stand, due });
    }
    Ok((looks, faults))
}

/// The plan in the directory of a thread, if any, or what is wrong with it.
fn read(project: &Project, thread: &Thread) -> Result<Result<Option<Box<Verified>>, Wrong>, Error> {
    match folder::content(project, &thread.folder) {
        Ok(Content::Nothing) => Ok(Ok(None)),
        Ok(Content::Plan(verified)) if verified.plan.is_none() => Ok(Err(Wrong::Unclean(verified))),
        Ok(Content::Plan(verified)) => Ok(Ok(Some(verified))),
        Ok(Content::Link(path)) | Err(Error::Astray { path }) => Ok(Err(Wrong::Link(path))),
        Err(error) => Err(error),
    }
}

fn stand((project, decisions, kept): Ground<'_>, plan: &str) -> Result<Stand, Error> {
    let case = decisions.case(&kept.path(plan))?;
    let newest = case.standing.newest();
    Ok(Stand {
        state: case.state(),
        proposed: newest.map(|newest| (newest.subject.digest.clone(), newest.by.clone())),
        copy: kept.digest(project, plan)?,
    })
}

/// Names every plan that is proposed for the first time.
fn name_all(
    record: &Record,
    (project, decisions, kept): Ground<'_>,
    looks: &mut [Look],
) -> Result<(), Error> {
    let mut given = BTreeSet::new();
    let topic = record.desk.topic.clone().unwrap_or_default();
    for look in looks {
        let is_new = look.due == Due::ProposeAnew || (look.due == Due::Propose && look.plan.is_none());
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
fn move_of(look: &Look) -> Option<Move> {
    let goal = match look.due {
        Due::Propose | Due::ProposeAnew => {
            let digest = Digest::of(look.verified.as_ref()?.plan.as_ref()?).to_string();
            Goal::Laid { digest, old: look.stand.as_ref().and_then(|stand| stand.copy.clone()) }
        }
        Due::Withdraw => Goal::Gone,
        Due::LetGo => Goal::Left,
        Due::Nothing | Due::Missing | Due::Taken(_) => return None,
    };
    Some(Move { plan: look.plan.clone()?, thread: look.thread.clone(), goal })
}

/// Whether something is recorded about the plan of a thread.
const fn is_said(due: &Due) -> bool {
    match due {
        Due::Propose | Due::ProposeAnew | Due::Withdraw => true,
        Due::Nothing | Due::LetGo | Due::Missing | Due::Taken(_) => false,
    }
}

/// Records everything in one transaction. A plan without a copy gets one first, so that people can read what
/// they are asked about.
fn say(
    looks: &[Look],
    (decisions, kept): (&Decisions, &Kept),
    by: &Who,
) -> Result<Vec<Option<Proposed>>, Error> {
    let said: Vec<(&Look, PathBuf)> = looks
        .iter()
        .filter(|look| is_said(&look.due))
        .map(|look| (look, kept.path(look.plan.as_deref().unwrap_or_default())))
        .collect();
    for (look, path) in said.iter().filter(|(_, path)| !plan_file::is_there(path)) {
        if let Some(verified) = &look.verified {
            plan_file::lay_plan(path, verified.source.text(), copy::dialect())?;
        }
    }
    let acts: Vec<Act<'_>> = said
        .iter()
        .map(|(look, path)| match (&look.verified, &look.thread) {
            (Some(verified), _) => Act::Propose { path, verified },
            (None, Some(_)) => Act::Withdraw { path, why: CLEARED },
            (None, None) => Act::Withdraw { path, why: REMOVED },
        })
        .collect();
    Ok(decisions.say_together(&acts, by, UNRUN)?)
}

/// Finishes a commit: does what the ledger contains, and removes traces of what it does not.
pub(super) fn settle(record: &mut Record, project: &Project) -> Result<(), Error> {
    let project = &Project { dialect: Some(copy::dialect()), ..project.clone() };
    let decisions = Decisions::open(project)?;
    let kept = Kept::take(project)?;
    settle_with(record, project, (&decisions, &kept))
}

fn settle_with(
    record: &mut Record,
    project: &Project,
    (decisions, kept): (&Decisions, &Kept),
) -> Result<(), Error> {
    for Move { plan, thread, goal } in std::mem::take(&mut record.moves) {
        let path = kept.path(&plan);
        let case = decisions.case(&path)?;
        let newest = case.standing.newest();
        let copy = kept.digest(project, &plan)?;
        let (is_done, keeps) = match goal {
            Goal::Laid { digest, old } => match newest.filter(|newest| newest.subject.digest == digest) {
                Some(newest) if case.state() != State::Draft => {
                    // Edits of the copy since then stay.
                    let is_due = copy.is_none() || (copy == old && copy.as_ref() != Some(&digest));
                    if is_due {
                        let source = decisions.source(&case, newest)?;
                        plan_file::lay_plan(&path, source.text(), copy::dialect())?;
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
                let is_done = case.state() == State::Draft;
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

fn outcome(look: Look, said: Option<Proposed>) -> Outcome {
    let state = look.stand.map(|stand| stand.state);
    let came = match (look.due, said, state) {
        (_, Some(proposed), _) => Came::Proposed(Box::new(proposed)),
        (Due::Withdraw, None, _) => Came::Withdrawn,
        (Due::LetGo, None, Some(state @ (State::Approved | State::Running | State::Waiting(_)))) => {
            Came::Stays(state)
        }
        (Due::LetGo, None, _) => Came::Empty,
        (Due::Nothing | Due::Propose | Due::ProposeAnew | Due::Missing | Due::Taken(_), None, state) => {
            Came::Unchanged(state.unwrap_or(State::Draft))
        }
    };
    Outcome { thread: look.thread, plan: look.plan.unwrap_or_default(), came }
}
