//! `verify --watch`: real files, real notices of the kernel. Waits are bounded and end as soon as the words are there.
#![expect(
    clippy::disallowed_types,
    reason = "these tests stand outside of the program: they start and end it"
)]

use std::io::Read;
use std::process::Child;
use std::sync::mpsc;
use std::time::Instant;

use crate::sample::sound;
use crate::test_env::{DEADLINE, Place, end};

/// A program that goes on, and what it says.
struct Going {
    child: Child,
    chunks: mpsc::Receiver<Vec<u8>>,
    said: String,
}

impl Going {
    fn start(place: &Place, words: &[&str]) -> Self {
        let mut child = place.planwright(words).spawn().expect("the program starts");
        let (tell, chunks) = mpsc::channel();
        let streams: [Box<dyn Read + Send>; 2] =
            [Box::new(child.stdout.take().expect("a pipe")), Box::new(child.stderr.take().expect("a pipe"))];
        for mut stream in streams {
            let tell = tell.clone();
            std::thread::spawn(move || {
                let mut chunk = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut chunk) {
                    // Nobody listens any more once the test is over.
                    tell.send(chunk[..length].to_vec()).ok();
                }
            });
        }
        Self { child, chunks, said: String::new() }
    }

    /// Waits until all of these words were said since the last call, and returns what was.
    #[track_caller]
    fn hear(&mut self, words: &[&str]) -> String {
        let begin = Instant::now();
        while !words.iter().all(|words| self.said.contains(words)) {
            let left = DEADLINE.checked_sub(begin.elapsed());
            let chunk = left.and_then(|left| self.chunks.recv_timeout(left).ok());
            let chunk = chunk.unwrap_or_else(|| panic!("{words:?} were never said: {}", self.said));
            self.said.push_str(&String::from_utf8_lossy(&chunk));
        }
        std::mem::take(&mut self.said)
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        // A program that has ended by itself can't be killed, and need not be.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn a_plan_is_checked_again_whenever_it_is_saved() {
    let place = Place::harbor();
    place.write("plans/good.md", sound("Good", 1));
    let mut going = Going::start(&place, &["verify", "good", "--watch"]);
    going.hear(&["no errors", "watching 1 plan for changes"]);
    place.write("plans/good.md", sound("Good", 2).replace("### 2.", "### 7."));
    going.hear(&["PW0", "1 error", "watching"]);
    // Many editors write a new file and move it over the old one.
    place.write("plans/good.md.new", sound("Good", 3));
    place.bash("mv plans/good.md.new plans/good.md").expect(0, &[]);
    going.hear(&["3 steps", "no errors", "watching"]);
}

#[test]
fn a_plan_that_is_gone_for_a_moment_is_waited_for() {
    let place = Place::harbor();
    place.write("plans/good.md", sound("Good", 1));
    let mut going = Going::start(&place, &["verify", "plans/good.md", "--watch"]);
    going.hear(&["no errors", "watching"]);
    place.bash("rm plans/good.md").expect(0, &[]);
    going.hear(&["file plans/good.md not found", "watching"]);
    place.write("plans/good.md", sound("Good", 2));
    going.hear(&["2 steps", "no errors", "watching"]);
}

#[test]
fn with_json_every_check_is_one_line() {
    let place = Place::harbor();
    place.write("plans/good.md", sound("Good", 1));
    let mut going = Going::start(&place, &["verify", "good", "--watch", "--json"]);
    let first = going.hear(&["planwright.verify/1", "watching"]);
    assert_eq!(first.matches("planwright.verify/1").count(), 1, "{first}");
    place.write("plans/good.md", sound("Good", 2).replace("### 2.", "### 7."));
    let second = going.hear(&["\"ok\":false", "watching"]);
    assert!(second.lines().any(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{second}");
}

#[test]
fn a_watch_ends_when_nobody_reads_any_more() {
    let place = Place::harbor();
    place.write("plans/good.md", sound("Good", 1));
    let mut child = place.planwright(&["verify", "good", "--watch"]).spawn().expect("the program starts");
    drop(child.stdout.take());
    assert_eq!(end(&mut child), 0);
}
