//! Who may drive a run and work in a workspace: locks that the kernel releases with their holder.

use std::time::{Duration, Instant};

use super::{Error, Runs};
use crate::store::journal::lock::workspace_lock;
use crate::store::journal::{LockHolder, RunId, RunLock, RunRow};

/// How long those who hold a run only to look at it may take.
const LOOKERS_MAX: Duration = Duration::from_secs(5);

impl Runs {
    /// The right to drive a run, and to work in this workspace.
    pub(crate) fn rights(&self, run: RunId) -> Result<[RunLock; 2], Error> {
        let right = self.lock(run)?;
        // Released in this order: a process that sees nobody running the plan can work here immediately.
        Ok([self.occupy()?, right])
    }

    pub(crate) fn lock(&self, run: RunId) -> Result<RunLock, Error> {
        if let Some(lock) = self.store.lock(run)? {
            return Ok(lock);
        }
        let holder = self.store.holder(run)?.map_or_else(String::new, |holder| holder.to_string());
        Err(Error::Driven { run, holder })
    }

    /// The right to drive a run for who has its folder. Others hold the run for a moment, to look at it or to ask about it.
    pub(crate) fn lock_soon(&self, run: RunId) -> Result<RunLock, Error> {
        let since = Instant::now();
        loop {
            match self.lock(run) {
                Err(Error::Driven { .. }) if since.elapsed() < LOOKERS_MAX => {}
                locked => return locked,
            }
        }
    }

    /// The plan running in this workspace now, and the process that runs it.
    pub fn occupant(&self) -> Result<Option<(String, String)>, Error> {
        let Some(holder) = self.store.holder_named(&self.workspace())? else { return Ok(None) };
        let plan = self.held_by(&holder)?.map_or_else(|| "another plan".to_owned(), |row| row.name);
        Ok(Some((plan, holder.to_string())))
    }

    /// The run that whoever works in this workspace drives. `None` if nobody does, or has recorded nothing yet.
    pub(crate) fn occupying_run(&self) -> Result<Option<RunId>, Error> {
        let Some(holder) = self.store.holder_named(&self.workspace())? else { return Ok(None) };
        Ok(self.held_by(&holder)?.map(|row| row.id))
    }

    fn held_by(&self, holder: &LockHolder) -> Result<Option<RunRow>, Error> {
        for row in self.store.runs()?.into_iter().rev() {
            if self.store.holder(row.id)?.as_ref() == Some(holder) {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }

    fn workspace(&self) -> String {
        workspace_lock(&self.project.root)
    }

    /// Locks the workspace for one run: two plans working in the same directory would judge each other's
    /// work.
    pub(crate) fn occupy(&self) -> Result<RunLock, Error> {
        if let Some(lock) = self.store.lock_named(&self.workspace())? {
            return Ok(lock);
        }
        let (plan, holder) = self.occupant()?.unwrap_or_else(|| ("another plan".to_owned(), String::new()));
        Err(Error::Occupied { plan, holder })
    }
}
