//! Separate worker processes that take attempts from the queue of runs owned by other processes. They never
//! judge or record: they deliver the outcome of an attempt, and the owner of the run takes it from there.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use planwright_core::run::event::Event;

use crate::run::worker;
use crate::run::worker::{Done, WorkerInput, unmade};
use crate::run::{Error, Runs};
use crate::store::journal::{BEAT_MS, RunLock, WorkClaim};
use crate::system::clock::now;
use crate::system::process::Stop;

/// How often the queue is polled.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, Clone)]
pub struct WorkerOptions {
    /// Parallel attempts.
    pub jobs: usize,
    pub until: WorkUntil,
    /// Tells the worker to leave: running attempts are ended and delivered as stopped.
    pub leave: Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkUntil {
    /// Never: it waits for more.
    Told,
    /// When nothing is left to do.
    Idle,
}

/// What a worker reports.
#[derive(Debug)]
pub enum WorkerEvent<'a> {
    /// It claimed an attempt.
    Took(&'a WorkClaim),
    /// It delivered the outcome.
    Delivered(&'a WorkClaim, &'a Event),
    /// The outcome is no longer wanted: the claim was given up, or the run has finished.
    Fenced(&'a WorkClaim),
}

/// What came of an attempt, or the message of the panic that ended it.
type Report = (WorkClaim, Result<Done, String>);

/// A worker: alive as long as its lock is held.
struct Crew<'a> {
    runs: &'a Runs,
    name: String,
    _lock: RunLock,
    results: mpsc::Receiver<Report>,
    report: mpsc::Sender<Report>,
    /// What it has under way, each with what ends it.
    under_way: Vec<(WorkClaim, Stop)>,
    beaten: Instant,
}

/// Takes attempts of this workspace from the queue and makes them until the shift ends. Returns how many were
/// delivered.
pub fn work(
    runs: &Runs,
    shift: &WorkerOptions,
    tell: &mut dyn FnMut(&WorkerEvent<'_>),
) -> Result<usize, Error> {
    // The time makes the name unique across reused process ids.
    let name = format!("worker-{}-{}", std::process::id(), now());
    let lock = runs.store().lock_named(&name)?;
    let lock = lock.expect("nobody else has a lock of this name");
    let (report, results) = mpsc::channel();
    let mut crew =
        Crew { runs, name, _lock: lock, results, report, under_way: Vec::new(), beaten: Instant::now() };
    let delivered = crew.work(shift, tell);
    runs.store().forget_lock(&crew.name);
    delivered
}

impl Crew<'_> {
    fn work(
        &mut self,
        shift: &WorkerOptions,
        tell: &mut dyn FnMut(&WorkerEvent<'_>),
    ) -> Result<usize, Error> {
        let mut delivered = 0;
        let mut panicked = None;
        loop {
            let is_leaving = shift.leave.is_requested() || panicked.is_some();
            if is_leaving {
                self.under_way.iter().for_each(|(_, stop)| stop.request());
            }
            while !is_leaving && self.under_way.len() < shift.jobs {
                let root = &self.runs.project().root;
                let Some(claim) = self.runs.store().claim(&self.name, root, now())? else { break };
                tell(&WorkerEvent::Took(&claim));
                self.begin(claim)?;
            }
            if self.under_way.is_empty() && (is_leaving || shift.until == WorkUntil::Idle) {
                return panicked.map_or(Ok(delivered), Err);
            }
            if let Ok((claim, done)) = self.results.recv_timeout(LOOK) {
                self.under_way.retain(|(other, _)| other.fence != claim.fence);
                let done = match done {
                    Ok(done) => done,
                    // Nothing is known of the attempt, so nothing is delivered: the driver sees that this worker is gone.
                    Err(panic) => {
                        panicked = Some(Error::Panicked { step: claim.step, panic });
                        continue;
                    }
                };
                let is_wanted = self.runs.store().deliver(&claim, &done.event, done.blobs)?;
                delivered += usize::from(is_wanted);
                tell(&if is_wanted {
                    WorkerEvent::Delivered(&claim, &done.event)
                } else {
                    WorkerEvent::Fenced(&claim)
                });
            }
            if !self.under_way.is_empty() && self.beaten.elapsed() >= Duration::from_millis(BEAT_MS) {
                self.beaten = Instant::now();
                self.beat()?;
            }
        }
    }

    /// Sends a heartbeat, and ends attempts that are no longer wanted.
    fn beat(&self) -> Result<(), Error> {
        for (claim, stop) in &self.under_way {
            if !self.runs.store().beat(claim, now())? {
                stop.request();
            }
        }
        Ok(())
    }

    /// Starts an attempt in its own thread.
    fn begin(&mut self, claim: WorkClaim) -> Result<(), Error> {
        let run = self.runs.run(claim.run)?;
        let place = run.state.place(&claim.step).ok_or(Error::Plan { run: claim.run })?;
        let worker = Arc::new(self.runs.worker(&run)?);
        let prompt = String::from_utf8_lossy(&self.runs.store().get(&claim.prompt)?).into_owned();
        let feedback = worker.feedback(&run.state.steps[place], &[]).text(&worker.plan.steps[place]);
        let (report, unable, stop) = (self.report.clone(), self.report.clone(), Stop::new());
        self.under_way.push((claim.clone(), stop.clone()));
        let (id, attempt, ours) = (claim.step.clone(), claim.attempt, claim.clone());
        let told = WorkerInput { prompt, feedback };
        let work = move || worker.attempt(&worker.plan.steps[place], attempt, &told, &stop);
        // The crew waits for every report before it ends.
        let report = move |done| drop(report.send((claim, done)));
        if let Err(fault) = worker::begin(&id, work, report) {
            unable.send((ours, Ok(unmade(&id, attempt, fault)))).ok();
        }
        Ok(())
    }
}
