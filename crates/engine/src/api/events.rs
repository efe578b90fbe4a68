//! Everything that is recorded about the plans of a project as one stream, and its delivery to the user's hooks.

mod record;

use std::path::{Path, PathBuf};

use planwright_core::plan::budget;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::workspace::Workspace;
use crate::run;
use crate::run::Runs;
use crate::system::clock;
use crate::system::process;
use crate::workspace::feed::{EventFeed, FeedItem, Filter};
use crate::workspace::notify;
use crate::workspace::notify::{Encode, PendingDeliveries};

/// What became of events: before it, every event has an envelope of its own, `planwright.event/1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EventsView {
    /// How many events were reported.
    pub events: u64,
    /// What became of them for each hook, with `--deliver`.
    pub hooks: Vec<HookView>,
}

/// What became of the events for one hook.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HookView {
    /// Its name: `needs_you`, `done`, `failed` or `webhook`.
    pub hook: String,
    /// How many events it took.
    pub delivered: u64,
    /// How many were given up since this was last asked.
    pub skipped: u64,
    /// Why not everything was delivered; `None` where all of it was.
    pub left: Option<String>,
}

/// The starting point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    Begin,
    /// After the event with this number, in each journal and ledger.
    Seq(u64),
    /// After this time, in milliseconds since 1970.
    Time(u64),
}

impl Since {
    /// Reads a starting point. A bare number is a journal sequence number.
    pub fn read(text: &str, now_ms: u64) -> Option<Self> {
        let text = text.trim();
        if let Ok(seq) = text.parse() {
            return Some(Self::Seq(seq));
        }
        if let Some(at) = clock::read(text, now_ms) {
            return Some(Self::Time(at));
        }
        let age = budget::seconds(text)?;
        Some(Self::Time(now_ms.saturating_sub(age.saturating_mul(1000))))
    }
}

/// A stream of events that continues where it was last read.
pub struct EventStream {
    runs: Runs,
    feed: EventFeed,
}

impl Workspace {
    /// What was recorded about a plan, or all plans, since then.
    pub fn events(&self, plan: Option<&str>, since: Since) -> Result<EventStream, Error> {
        let (after_seq, since_ms) = match since {
            Since::Begin => (0, 0),
            Since::Seq(seq) => (seq, 0),
            Since::Time(at) => (0, at),
        };
        let path = plan.map(|plan| self.project().address(plan)).transpose()?.map(|address| address.plan);
        let workspace = match &path {
            Some(path) => Self::open_for(path, self.options())?,
            None => self.clone(),
        };
        let root = workspace.root();
        let within = |path: PathBuf| path.strip_prefix(root).map(Path::to_owned).unwrap_or(path);
        let runs = Runs::open(workspace.project())?;
        let filter = Filter { plan: path.map(within), after_seq, since_ms };
        let feed = EventFeed::after(runs.store(), root, filter, 0);
        Ok(EventStream { runs, feed })
    }

    /// Sends the hooks the events that they missed.
    pub fn deliver_events(&self, encode: Encode) -> Result<EventsView, Error> {
        if process::job_above().is_some() {
            let message = "an agent in a run cannot deliver events: your own hooks would miss them";
            let next = NextCommand::new(["planwright", "log", "--all"]);
            return Err(Error::new(ErrorKind::Refused, message).next(next));
        }
        let runs = Runs::open(self.project())?;
        let told = notify::deliver(self.project(), runs.store(), encode).map_err(run::Error::from)?;
        let hooks = told.into_iter().map(|told| HookView {
            hook: told.hook.to_owned(),
            delivered: told.delivered,
            skipped: told.skipped,
            left: match told.rest {
                PendingDeliveries::Nothing => None,
                PendingDeliveries::Later(why) => Some(why),
                PendingDeliveries::Busy => Some("another process is delivering".to_owned()),
            },
        });
        let hooks: Vec<HookView> = hooks.collect();
        Ok(EventsView { events: hooks.iter().map(|hook| hook.delivered).sum(), hooks })
    }
}

impl EventStream {
    /// The next events; `None` if there is nothing new.
    pub fn next_batch(&mut self) -> Result<Option<Vec<FeedItem>>, Error> {
        Ok(self.feed.next_batch().map_err(run::Error::from)?)
    }

    /// The event as a line of document B; `None` where that has no name for it.
    pub fn record_line(&self, item: &FeedItem) -> Result<Option<String>, Error> {
        record::line(&self.runs, item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_place_and_everything_with_a_unit_is_a_time() {
        let now = 1_767_268_800_000;
        let since = Since::read;
        assert_eq!(since("12", now), Some(Since::Seq(12)));
        assert_eq!(since("14m", now), Some(Since::Time(now - 14 * 60_000)));
        assert_eq!(since("2 days", now), Some(Since::Time(now - 172_800_000)));
        assert_eq!(since("2026-01-01T12:00:00Z", 0), Some(Since::Time(now)));
        assert_eq!([since("soon", now), since("$3", now), since("", now)], [None, None, None]);
    }
}
