//! Signals that end the process: Ctrl-C, SIGTERM, SIGHUP. The first one is recorded, so that a command can shut down
//! cleanly; the second ends the process immediately.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::output::Exit;

/// The signals that this process was sent since it began to listen.
#[derive(Debug)]
pub(crate) struct Signals {
    /// The number of the signal; 0 while there was none.
    told: Arc<AtomicUsize>,
}

impl Signals {
    /// Listens from now on. Before this, a signal does what it always does.
    pub(crate) fn listen() -> io::Result<Self> {
        let told = Arc::new(AtomicUsize::new(0));
        let is_told = Arc::new(AtomicBool::new(false));
        for (signal, exit) in
            [(SIGINT, Exit::Interrupted), (SIGTERM, Exit::Terminated), (SIGHUP, Exit::Terminated)]
        {
            // In this order: the first signal must not find what it sets itself.
            flag::register_conditional_shutdown(signal, i32::from(exit.code()), Arc::clone(&is_told))?;
            flag::register(signal, Arc::clone(&is_told))?;
            flag::register_usize(signal, Arc::clone(&told), signal.unsigned_abs() as usize)?;
        }
        Ok(Self { told })
    }

    /// The exit code after a signal.
    pub(crate) fn leave(&self) -> Option<Exit> {
        match self.told.load(Ordering::Acquire) {
            0 => None,
            signal if signal == SIGINT.unsigned_abs() as usize => Some(Exit::Interrupted),
            _ => Some(Exit::Terminated),
        }
    }
}
