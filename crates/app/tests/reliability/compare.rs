//! Errors while planwright looks at a workspace or prepares an attempt (M-20): they are neither a change nor none, and
//! nobody's failed attempt. By default a sample of the calls; all of them with `PLANWRIGHT_SWEEP=all`.

use std::fs;
use std::time::Instant;

use nix::libc;
use serde_json::Value;

use crate::call;
use crate::point::{Deed, Order, Role};
use crate::scenario::{FILE, Play, finish};
use crate::sweep::{counts, has_struck, sample, side_by_side};

/// How many calls of one name get an error by default.
const SAMPLE: usize = 4;
/// Runs until the plan is done, or its file out of scope was found.
const ROUNDS_MAX: usize = 6;

/// What the agent does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Agent {
    /// Writes only what it may.
    Keeps,
    /// Writes a file out of its scope as well.
    Strays,
}

impl Agent {
    fn plan(self) -> String {
        let stray = if self == Self::Strays { "echo x >> outside.txt\n" } else { "" };
        format!(
            "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Compare\n\n**Context:** Because.\n\n## Steps\n\n\
             ### 1. Write it\n\n**id:** write\n**target:** shell\n**touches:**\n- made.txt\n\n**task:**\n```sh\n\
             echo y >> made.txt\n{stray}```\n\n**contract:**\n```shell\ntest -s made.txt\n```\nexit_code == 0\n"
        )
    }

    /// A project where files out of scope count, with the git files that say what git would run.
    fn play(self) -> (Play, Vec<String>) {
        let play = Play::new();
        let write = |name: &str, text: &str| {
            let path = play.project().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        };
        write(FILE, &self.plan());
        // Only the user decides that.
        write("../.config/planwright/config.toml", "[scope]\nviolation = \"fail\"\n");
        write(".git/config", "[core]\n\tbare = false\n\tfsmonitor = false\n");
        write(".git/info/exclude", "*.tmp\n");
        write(".gitignore", "*.log\n");
        write("src/deep/file.txt", "text\n");
        let digest = play.data(&["run", "it", "--dry-run", "--json"]).expect("a digest");
        let digest = digest["digest"].as_str().expect("a digest").to_owned();
        (play, ["run", "it", "--rev", &digest].map(str::to_owned).to_vec())
    }

    /// Goes on to the end, and says what is wrong with it.
    fn check(self, play: &Play, words: &[&str]) -> Result<(), String> {
        for _ in 0..ROUNDS_MAX {
            // An error before the start leaves nothing to read.
            let events = match play.events() {
                Err(why) if why.contains("has not been run") => Vec::new(),
                events => events?,
            };
            let is_said = |event: &&Value, name: &str| event["event"] == name;
            let is_passed = events.iter().any(|event| event["receipt"]["verdict"] == "passed");
            let failed = events.iter().find(|event| event["receipt"]["verdict"].get("failed").is_some());
            let asks = events.iter().filter(|event| is_said(event, "ask.opened"));
            let is_accused = failed.is_some() || asks.clone().any(|ask| ask["reason"] == "strayed");
            match self {
                Self::Keeps if is_accused => return Err(format!("it accuses the agent: {events:#?}")),
                Self::Strays if is_passed => return Err(format!("it overlooks the file: {events:#?}")),
                Self::Keeps if is_passed => return Ok(()),
                Self::Strays if is_accused => return Ok(()),
                Self::Keeps | Self::Strays => {}
            }
            let answered = events.iter().filter(|event| is_said(event, "ask.answered")).count();
            if asks.count() > answered {
                play.data(&["answer", "it/write", "--retry", "--json"])?;
            }
            let ran = play.run(words);
            if !matches!(ran.code, Some(0 | 3)) {
                return Err(format!("a plain run ended badly: {ran:#?}"));
            }
        }
        Err("it did not come to an end".to_owned())
    }
}

/// Runs the plan with an error at a call, and goes on.
fn disturb(agent: Agent, order: &Order) -> Result<bool, String> {
    let (play, words) = agent.play();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = finish(&mut play.traced(order, &[], &words));
    let said = format!("{}{}", ran.stdout, ran.stderr);
    if ran.code.is_none() || ran.code == Some(101) || said.contains("panicked") {
        return Err(format!("it hangs or panicked: {ran:#?}"));
    }
    agent.check(&play, &words).map_err(|fault| format!("{fault}\nafter {ran:#?}"))?;
    Ok(has_struck(&play, "failed"))
}

// M-20: EIO at the reads of a run where files out of scope count: 0 false accusations, 0 overlooked changes.
pub(crate) fn an_error_while_the_workspace_is_compared_accuses_nobody_and_overlooks_nothing() {
    let begin = Instant::now();
    let mut points = Vec::new();
    for agent in [Agent::Keeps, Agent::Strays] {
        let (play, words) = agent.play();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        finish(&mut play.traced(&Order::Watch, &[], &words));
        agent.check(&play, &words).expect("an undisturbed run");
        let looks = counts(&play.log()).into_iter().filter(|((role, name), _)| {
            *role == Role::Driver && call::named(name).is_some_and(|call| !call.is_mark)
        });
        for ((role, call), last) in looks {
            let order = |count| Order::Once { role, call, count, deed: Deed::Fail(libc::EIO) };
            points.extend(sample(last, SAMPLE).into_iter().map(|count| (agent, order(count))));
        }
    }
    let tried = side_by_side(&points, &|(agent, order)| {
        disturb(*agent, order).map_err(|fault| format!("{agent:?} {order}\n{fault}"))
    });
    let (struck, faults): (Vec<_>, Vec<_>) = tried.into_iter().partition(Result::is_ok);
    let faults: Vec<String> = faults.into_iter().filter_map(Result::err).collect();
    println!(
        "errors while the workspace is compared: {} points tried, {} struck, {} wrong, {} s",
        points.len(),
        struck.into_iter().filter(|struck| *struck == Ok(true)).count(),
        faults.len(),
        begin.elapsed().as_secs()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

/// The calls that prepare an attempt, with the error that each of them gets.
const PLACES: [(&str, &str, i32); 5] = [
    ("mkdir", "/attempts/", libc::ENOSPC),
    ("unlink", "planwright", libc::EIO),
    ("flock", "", libc::EIO),
    ("socketpair", "", libc::EMFILE),
    ("clone3", "", libc::EAGAIN),
];

// M-20: the calls that used to cost an attempt.
pub(crate) fn an_error_at_a_place_of_ours_costs_no_attempt() {
    let (play, words) = Agent::Keeps.play();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    finish(&mut play.traced(&Order::Watch, &[], &words));
    let log = play.log();
    let mut points = Vec::new();
    for (name, about, error) in PLACES {
        let call = call::named(name).expect("a call of the list").name;
        let calls = log.lines().filter(|line| line.starts_with(&format!("driver\t{name}\t")));
        let places = calls.enumerate().filter(|(_, line)| line.contains(about)).map(|(place, _)| place + 1);
        let order = |count| Order::Once { role: Role::Driver, call, count, deed: Deed::Fail(error) };
        points.extend(places.map(order));
    }
    assert!(points.len() >= PLACES.len(), "{points:?}");
    let tried = side_by_side(&points, &|order| {
        disturb(Agent::Keeps, order).map_err(|fault| format!("{order}\n{fault}"))
    });
    let faults: Vec<String> = tried.into_iter().filter_map(Result::err).collect();
    println!("errors at our own places: {} points tried, {} wrong", points.len(), faults.len());
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
