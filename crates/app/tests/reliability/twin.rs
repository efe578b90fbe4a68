//! Saboteurs: the same program with one of its promises taken away. What guards the promise must catch each of them, or it
//! guards nothing.

use std::fs;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::point::{Deed, Order, Role};
use crate::scenario::{Play, agent_steps, finish, run_words};
use crate::story::{Disturbance, Story};
use crate::sweep::census;

/// How long the second of two drivers is given to do harm. It does it at once, or not at all.
const PATIENCE: Duration = Duration::from_secs(3);
/// Far more than anything here takes.
const DEADLINE: Duration = Duration::from_mins(1);

/// An event as it is written, and the beginning of the command whose start or end it is about.
struct Rule {
    step: &'static str,
    written: String,
    script: String,
}

fn mark(event: &str, step: &str) -> String {
    format!("\"event\":\"{event}\",\"step\":\"{step}\",\"attempt\":1")
}

fn rules() -> Vec<Rule> {
    let rule =
        |step| Rule { step, written: mark("attempt.started", step), script: format!("echo {step} >>") };
    agent_steps().map(rule).collect()
}

/// What the record of all calls says about the order: where an agent began before its intent was synced, or a verdict was
/// shown before it was.
fn disorder(log: &str) -> Vec<String> {
    let lines: Vec<&str> = log.lines().collect();
    let mut faults = Vec::new();
    for Rule { step, written, script } in rules() {
        let begun = lines.iter().position(|line| line.starts_with("command") && line.contains(&script));
        match begun {
            None => faults.push(format!("the agent of {step} never began")),
            Some(begun) if !is_synced(&lines[..begun], &written) => {
                faults.push(format!("the agent of {step} began before its intent was durable"));
            }
            Some(_) => {}
        }
        let contract = lines.iter().position(|line| is_contract_of(line, step));
        let is_shown = |line: &&str| line.contains("\tfd1 ") && line.split('\t').any(|part| part == step);
        let shown = contract.and_then(|at| Some(at + lines[at..].iter().position(is_shown)?));
        match shown {
            None => faults.push(format!("the verdict on {step} was never shown")),
            Some(shown) if !is_synced(&lines[..shown], &mark("contract.finished", step)) => {
                faults.push(format!("the verdict on {step} was shown before it was durable"));
            }
            Some(_) => {}
        }
    }
    faults
}

fn is_contract_of(line: &str, step: &str) -> bool {
    line.starts_with("command") && !line.contains(">>") && line.contains(&format!("{step}."))
}

/// Whether something was written and the file synced after that, really.
fn is_synced(lines: &[&str], written: &str) -> bool {
    let Some(at) = lines.iter().position(|line| line.contains("write") && line.contains(written)) else {
        return false;
    };
    let file = lines[at].split([' ', '@', '\t']).find(|part| part.starts_with('/')).unwrap_or("/");
    lines[at..].iter().any(|line| {
        let mut parts = line.split('\t').skip(1);
        let is_sync = matches!(parts.next(), Some("fsync" | "fdatasync"));
        is_sync && line.contains(file) && !line.contains("skipped")
    })
}

fn record(order: &Order) -> String {
    let play = Play::new();
    let steps = agent_steps().map(str::to_owned);
    let events =
        agent_steps().flat_map(|step| [mark("attempt.started", step), mark("contract.finished", step)]);
    let marks: Vec<String> = events.chain(steps).collect();
    let ran = finish(&mut play.traced(order, &marks, &run_words()));
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    play.log()
}

// M-04, A-24: an intent is durable before its effect, a verdict before anybody is told; without syncs neither is.
pub(crate) fn nothing_is_begun_or_shown_before_it_is_durable() {
    let faults = disorder(&record(&Order::Watch));
    assert!(faults.is_empty(), "{faults:#?}");
    let twin = disorder(&record(&Order::Skip(vec!["fsync", "fdatasync"])));
    assert_eq!(twin.len(), 2 * agent_steps().count(), "a program that never syncs is not caught: {twin:#?}");
}

/// Waits until something is so, at most this long; returns whether it is.
fn wait(patience: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < patience {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    is_so()
}

/// One step whose agent works until it is let go, and two drivers for it; what went wrong, in words.
fn two_drivers(second: &Order) -> Vec<String> {
    let play = Play::new();
    let script = "echo base >>base.log\n";
    let slow = format!("{script}until [ -e go ]; do sleep 0.01; done\n");
    let file = play.project().join(crate::scenario::FILE);
    let text = fs::read_to_string(&file).expect("the plan");
    let end = text.find("\n### 2.").expect("a second step");
    fs::write(&file, text[..end].replace(script, &slow)).expect("written");
    let digest = play.data(&["run", "it", "--dry-run", "--json"]).expect("a digest")["digest"].clone();
    let words = ["run", "it", "--rev", digest.as_str().expect("a digest")];
    let mut first = play.planwright(&words).spawn().expect("the program starts");
    assert!(wait(DEADLINE, || play.done("base") == 1), "the first driver starts its agent");
    let mut other = play.traced(second, &[], &words).spawn().expect("the program starts");
    wait(PATIENCE, || play.done("base") > 1 || is_over(&mut other));
    fs::write(play.project().join("go"), "").expect("written");
    assert!(wait(DEADLINE, || is_over(&mut first) && is_over(&mut other)), "both end");
    let mut faults = Vec::new();
    let events = play.events().unwrap_or_else(|fault| {
        faults.push(fault);
        Vec::new()
    });
    let started = events.iter().filter(|event| event["event"] == "attempt.started").count();
    if (started, play.done("base")) != (1, 1) {
        faults.push(format!("{started} attempts were started, and {} were made", play.done("base")));
    }
    let ends: Vec<_> = events.iter().map(|event| &event["end"]).filter(|end| !end.is_null()).collect();
    if ends.iter().any(|end| end["exited"] != 0) {
        faults.push(format!("an agent was not left to end by itself: {ends:?}"));
    }
    let code = first.wait().expect("a child can be waited for").code();
    if code != Some(0) {
        faults.push(format!("the first driver ended with {code:?}"));
    }
    faults
}

fn is_over(child: &mut Child) -> bool {
    child.try_wait().expect("a child can be waited for").is_some()
}

// M-04, P-15: one driver a run. A second one that does not ask for the lock is seen at once.
pub(crate) fn two_drivers_never_work_on_one_run() {
    assert_eq!(two_drivers(&Order::Watch), [] as [String; 0]);
    let twin = two_drivers(&Order::Skip(vec!["flock"]));
    assert!(!twin.is_empty(), "a driver that takes no lock is not caught");
}

// M-04: an effect whose intent was not durable is work that nobody knows of. The comparison that every kill goes through
// must see that.
pub(crate) fn an_effect_without_its_intent_is_caught() {
    let (_, story) = census();
    // By the time at which the supervisor of its contract gets its order, the agent has done its work.
    let log = record(&Order::Watch);
    let before = log.lines().take_while(|line| !is_contract_of(line, "base"));
    let count = before.filter(|line| line.starts_with("driver\tsendmsg")).count();
    let cut = |play: &Play| {
        let order = Order::Once { role: Role::Driver, call: "sendmsg", count, deed: Deed::Kill };
        let ran = finish(&mut play.traced(&order, &[mark("attempt.started", "base")], &run_words()));
        assert_eq!(ran.code, Some(crate::tracer::KILLED), "{ran:#?}");
        assert_eq!(play.done("base"), 1);
    };
    let play = Play::new();
    cut(&play);
    play.converge().and_then(|()| told(&story, &play)).expect("with its intent it is no more than a kill");
    let play = Play::new();
    cut(&play);
    forget(&play);
    play.converge().expect("it goes on");
    let fault = told(&story, &play).expect_err("an effect before its intent is not caught");
    assert!(fault.contains("base: done 2 times in 1 attempts"), "{fault}");
}

fn told(story: &Story, play: &Play) -> Result<(), String> {
    story.compare(play, Disturbance::Kills(1)).map(drop)
}

/// Takes back what was written from the intent on, as if it had come after the effect and the driver had died between.
fn forget(play: &Play) {
    let log = play.log();
    let line = log.lines().find(|line| line.ends_with(&mark("attempt.started", "base"))).expect("an intent");
    let place = line.split('\t').nth(3).and_then(|about| about.split_once(' ')).expect("a file").1;
    let (file, offset) = place.rsplit_once('@').expect("a place in the file");
    let wal = fs::File::options().write(true).open(file).expect("the log of the database");
    wal.set_len(offset.parse().expect("a number")).expect("cut");
    // The index of what was cut off; without it the log is read anew.
    fs::remove_file(file.replace("-wal", "-shm")).expect("removed");
    // Outside the database the intent is known, too.
    fs::remove_dir_all(play.folder.join("state/planwright/anchors")).expect("removed");
}
