//! Work on several cores. Threads that cannot be started only make it slower: the caller works as well.

use std::thread;

/// Does a piece of work on up to `threads` threads at once, of which the caller is one. `work` takes what is left
/// to do until nothing is. A panic in one of them is one of the caller.
pub(crate) fn side_by_side(threads: usize, work: &(dyn Fn() + Sync)) {
    thread::scope(|scope| {
        for _ in 1..threads {
            // No thread to be had, so the others do more.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
}

/// How many threads can work at once.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn everything_is_done_once_however_many_threads_there_are() {
        for threads in [0, 1, 2, 8] {
            let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
            side_by_side(threads, &|| {
                while next.fetch_add(1, Ordering::Relaxed) < 100 {
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!(done.into_inner(), 100, "{threads}");
        }
    }
}
