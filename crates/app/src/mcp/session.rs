//! State that outlives a call: the client, the project, and the runs this process owns.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use planwright_engine::api::{Driving, Error, ErrorKind, Identity, PlanRun, Stop, Workspace};

use super::tool::ToolError;
use crate::interaction::project::options;

/// Maximum length of a client name.
const CLIENT_CHARACTERS_MAX: usize = 64;

/// One client and what is done for it.
#[derive(Clone)]
pub(super) struct McpSession {
    /// What the client calls itself, made harmless.
    pub(super) client: String,
    pub(super) drivers: Arc<Drivers>,
}

impl McpSession {
    /// A session with a client that calls itself so.
    pub(super) fn with(client: Option<String>, drivers: &Arc<Drivers>) -> Self {
        let is_plain = |character: &char| character.is_ascii_alphanumeric() || "._- /".contains(*character);
        let name: String =
            client.unwrap_or_default().chars().filter(is_plain).take(CLIENT_CHARACTERS_MAX).collect();
        let client = if name.trim().is_empty() { "mcp".to_owned() } else { name.trim().to_owned() };
        Self { client, drivers: Arc::clone(drivers) }
    }

    /// The caller of a tool is always an agent, whatever the server's role.
    pub(super) fn agent(&self) -> Identity {
        Identity::agent(&self.client)
    }

    /// The workspace that is served, as it is now; who calls is an agent.
    pub(super) fn workspace(&self) -> Result<Workspace, ToolError> {
        Ok(Workspace::open(&options().for_agent(&self.client, "MCP"))?)
    }

    /// The file of the plan that is meant.
    pub(super) fn plan(&self, id: &str) -> Result<PathBuf, ToolError> {
        Ok(self.workspace()?.plan_of_agent(id)?)
    }
}

/// Runs plans until the session ends. Another process can resume them later.
#[derive(Default)]
pub(super) struct Drivers {
    leave: Stop,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Drivers {
    /// Stops the runs of this process.
    pub(super) fn leave(&self) -> Stop {
        self.leave.clone()
    }

    /// Runs a plan in the background and owns the run from now on.
    pub(super) fn drive(&self, run: Box<PlanRun>, driving: Driving) -> Result<(), Error> {
        let drive = move || {
            // What goes wrong is in the journal, or the next `run` says it.
            driving.drive(&run, &mut |_, _| ()).ok();
        };
        let started = thread::Builder::new().name("run".to_owned()).spawn(drive);
        let thread = started.map_err(|error| {
            Error::new(ErrorKind::Machine, "cannot start a thread for the run").because(&error)
        })?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Ends running attempts; nothing is lost.
    pub(super) fn end(&self) {
        self.leave.request();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // After a panic, the next process resumes the run.
            thread.join().ok();
        }
    }
}
