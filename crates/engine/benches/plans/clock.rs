//! What a piece of work cost: time on the wall, and time of the processor, which a busy machine does not change.
//! Reads Linux's `/proc`; elsewhere the wall stands in for the processor.

use std::hint::black_box;
use std::time::Instant;

/// A tick of the kernel's accounts of whole processes; 100 a second everywhere that we run.
const TICK_MS: f64 = 10.0;

/// What a piece of work cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) wall_ms: f64,
    /// Time of this thread and of the processes that it waited for.
    pub(crate) processor_ms: f64,
    /// Time of all threads, in ticks of the kernel.
    pub(crate) threads_ms: f64,
}

impl Cost {
    /// Runs `work` and says what it cost.
    pub(crate) fn of<T>(work: impl FnOnce() -> T) -> Self {
        let (begin, before) = (Instant::now(), Accounts::now());
        black_box(work());
        let wall_ms = begin.elapsed().as_secs_f64() * 1e3;
        let used = |pick: fn(&Accounts) -> f64| {
            let used = Accounts::now().zip(before).map(|(after, before)| pick(&after) - pick(&before));
            used.filter(|&used| used > 0.0).unwrap_or(wall_ms)
        };
        let processor_ms = used(|accounts| accounts.thread_ms + accounts.children_ms);
        Self { wall_ms, processor_ms, threads_ms: used(|accounts| accounts.process_ms) }
    }
}

/// Measures `rounds` times and takes the median of each cost by itself.
pub(crate) fn medians<const N: usize>(rounds: usize, mut measure: impl FnMut() -> [Cost; N]) -> [Cost; N] {
    let all: Vec<[Cost; N]> = (0..rounds).map(|_| measure()).collect();
    let median = |pick: &dyn Fn(&[Cost; N]) -> f64| {
        let mut values: Vec<f64> = all.iter().map(pick).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    std::array::from_fn(|place| Cost {
        wall_ms: median(&|round| round[place].wall_ms),
        processor_ms: median(&|round| round[place].processor_ms),
        threads_ms: median(&|round| round[place].threads_ms),
    })
}

/// What the kernel has put down so far.
#[derive(Clone, Copy)]
struct Accounts {
    thread_ms: f64,
    process_ms: f64,
    children_ms: f64,
}

impl Accounts {
    #[expect(clippy::cast_precision_loss, reason = "times of a benchmark are far below 2^53")]
    fn now() -> Option<Self> {
        let thread = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let thread_ns: u64 = thread.split_whitespace().next()?.parse().ok()?;
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The name of the program may have blanks; the fields behind it are counted from its closing bracket.
        let behind: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |place: usize| behind.get(place).and_then(|field| field.parse::<u64>().ok());
        let both = |place: usize| Some((ticks(place)? + ticks(place + 1)?) as f64 * TICK_MS);
        Some(Self { thread_ms: thread_ns as f64 / 1e6, process_ms: both(11)?, children_ms: both(13)? })
    }
}
