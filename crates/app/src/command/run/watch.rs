//! Watches a run of this or another process: one thread runs or follows it, this one prints and handles signals. All
//! output of a run is printed here.

use std::sync::mpsc::{self, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::Duration;

use planwright_engine::api::{
    DriveResult, Driving, Error, ErrorKind, Event, LiveEvent, LiveRun, PlanRun, RunState, Stop,
};

use super::{Subject, block, plain};
use crate::interaction::signal::Signals;
use crate::output::wording::now;
use crate::output::{Exit, Out, Response, Tone, clean_line};

/// How often the block is drawn, and how soon a signal is heard.
const TICK: Duration = Duration::from_millis(100);
/// How much news may wait to be shown before the run waits for the reader.
const NEWS_MAX: usize = 256;

/// How a run that was watched came to rest.
pub(super) struct Watched {
    pub(super) rest: DriveResult,
    /// The exit code, if the process was told to leave.
    pub(super) left: Option<Exit>,
    pub(super) retried: usize,
    pub(super) milliseconds: u64,
}

/// What this process has to do with the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role<'a> {
    /// It runs the plan with this many parallel attempts.
    Driver(usize),
    /// It follows this one, who does.
    Follower(&'a str),
}

/// Runs the plan and shows progress. With `--json`, events after `seen` are printed.
pub(super) fn drive(
    subject: &Subject<'_>,
    (run, seen): (&PlanRun, u64),
    driving: Driving,
    out: &mut Out<'_>,
) -> Result<Watched, Error> {
    let (leave, workers) = (driving.drive.leave.clone(), driving.drive.workers);
    let view = View { subject, run, seen, leave, role: Role::Driver(workers) };
    view.watch(|watch: &mut dyn FnMut(&RunState, &Event)| driving.drive(run, watch), out)
}

/// Follows a run of another process and shows progress.
pub(super) fn follow(
    subject: &Subject<'_>,
    run: &PlanRun,
    holder: &str,
    out: &mut Out<'_>,
) -> Result<Watched, Error> {
    let leave = Stop::new();
    let told = leave.clone();
    let view = View { subject, run, seen: run.last_seq(), leave, role: Role::Follower(holder) };
    view.watch(|watch: &mut dyn FnMut(&RunState, &Event)| run.follow(&told, watch), out)
}

struct View<'a> {
    subject: &'a Subject<'a>,
    run: &'a PlanRun,
    /// The last event that was printed.
    seen: u64,
    leave: Stop,
    role: Role<'a>,
}

impl View<'_> {
    fn watch(
        mut self,
        work: impl FnOnce(&mut dyn FnMut(&RunState, &Event)) -> Result<DriveResult, Error> + Send,
        out: &mut Out<'_>,
    ) -> Result<Watched, Error> {
        let signals = match Signals::listen() {
            Ok(signals) => Some(signals),
            Err(error) => {
                out.warn(&format!("cannot handle signals: {error}; Ctrl-C ends immediately"));
                None
            }
        };
        if let Role::Follower(holder) = self.role {
            let word = out.talk_palette().paint(Tone::Strong, "following");
            let (number, holder) = (self.run.run.row.id.number(), clean_line(holder));
            out.talk(&format!("{word} run {number} ({holder}); Ctrl-C detaches, the run continues"));
        }
        let steps = self.subject.steps.clone().filter(|_| matches!(self.role, Role::Driver(_)));
        let mut board = self.run.live(steps);
        let mut left = None;
        let (sender, news) = mpsc::sync_channel(NEWS_MAX);
        let rest = thread::scope(|scope| {
            let work = move || work(&mut |state, event| send(&sender, state, event));
            let working = thread::Builder::new().name("run".to_owned()).spawn_scoped(scope, work);
            let working = working.map_err(|error| {
                Error::new(ErrorKind::Machine, "cannot start a thread for the run").because(&error)
            })?;
            let mut is_over = false;
            while !is_over {
                is_over = self.show_next(&news, &mut board, out);
                if left.is_none() {
                    left = signals.as_ref().and_then(Signals::leave);
                    if left.is_some() {
                        self.say_leaving(&board, out);
                    }
                }
                if block::is_wanted(self.subject.args, out.settings()) && !is_over {
                    let lines = block::lines(&board, now(), out.screen(), out.palette());
                    out.draw(&lines);
                }
            }
            out.erase();
            working.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        self.print_events(out);
        let rest = rest?;
        let milliseconds = now().saturating_sub(board.began_ms);
        Ok(Watched { rest, left, retried: board.retried, milliseconds })
    }

    /// Shows what happened, waiting a moment for it. Returns whether there will be nothing more.
    fn show_next(
        &mut self,
        news: &mpsc::Receiver<LiveEvent>,
        board: &mut LiveRun<'_>,
        out: &mut Out<'_>,
    ) -> bool {
        let mut next = match news.recv_timeout(TICK) {
            Ok(next) => Some(next),
            Err(RecvTimeoutError::Timeout) => return false,
            Err(RecvTimeoutError::Disconnected) => return true,
        };
        // Show all pending events before drawing the block again.
        while let Some(shown) = next {
            board.take(&shown, now());
            plain::tell(board, &shown, self.run, out);
            next = news.try_recv().ok();
        }
        self.print_events(out);
        out.flush();
        false
    }

    /// With `--json`, prints what was recorded since, from the journal itself.
    fn print_events(&mut self, out: &mut Out<'_>) {
        if !out.settings().is_json {
            return;
        }
        for event in self.run.events_after(self.seen) {
            self.seen = event.seq;
            out.event(&Response::done("event", &event));
        }
    }

    fn say_leaving(&self, board: &LiveRun<'_>, out: &mut Out<'_>) {
        self.leave.request();
        out.talk(&match self.role {
            Role::Follower(_) => "detached; the run continues".to_owned(),
            // Attempts of other processes continue.
            Role::Driver(workers) => match board.under_way().min(workers) {
                1 => "pausing: ending 1 attempt; nothing is lost".to_owned(),
                count => format!("pausing: ending {count} attempts; nothing is lost"),
            },
        });
    }
}

fn send(sender: &SyncSender<LiveEvent>, state: &RunState, event: &Event) {
    // A reader that is gone needs no news.
    sender.send(LiveEvent::of(state, event)).ok();
}
