//! Planners' sessions, killed anywhere (E-15): every verb has happened or it has not, a commit of several threads for all of them or
//! for none, and whoever comes next finds everything in its place.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use serde_json::Value;

use crate::call;
use crate::point::{Deed, Order, Role};
use crate::scenario::{Play, finish};
use crate::sweep::{counts, has_struck, sample};
use crate::tracer::KILLED;

/// How many points of one kind are tried by default.
const SAMPLE: usize = 3;
/// Plays at the same time.
const AT_ONCE: usize = 2;

/// A verb that is killed, with what comes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Add,
    Drop,
    Clear,
    /// Two threads are committed for the first time.
    First,
    /// Two threads are committed again, both changed.
    Again,
    /// One thread was removed and the other cleared since they were committed.
    Leave,
}

const VERBS: &[Verb] = &[Verb::Add, Verb::Drop, Verb::Clear, Verb::First, Verb::Again, Verb::Leave];

impl Verb {
    /// Brings a session up to the verb, and returns the words for it.
    fn prepare(self, play: &Play) -> Result<Vec<String>, String> {
        play.data(&["session", "dir", "--json"])?;
        if self == Self::Add {
            return Ok(words(&["session", "add"]));
        }
        play.data(&["session", "add", "--json"])?;
        write_all(play, "as it was")?;
        let id = || Ok::<_, String>(text(&threads(play)?[1]["thread_id"]));
        match self {
            Self::Add | Self::First => {}
            Self::Drop => return Ok(words(&["session", "drop", &id()?])),
            Self::Clear => return Ok(words(&["session", "clear"])),
            Self::Again | Self::Leave => drop(play.data(&["session", "commit", "--json"])?),
        }
        if self == Self::Again {
            write_all(play, "as it is")?;
        }
        if self == Self::Leave {
            play.data(&["session", "drop", &id()?, "--json"])?;
            play.data(&["session", "clear", "--json"])?;
        }
        Ok(words(&["session", "commit"]))
    }

    /// What is found after a kill: as before the verb or as after it, and never anything else.
    fn found(self, play: &Play) -> Result<bool, String> {
        let (before, after) = match self {
            Self::Add => (vec!["1"], vec!["2"]),
            Self::Drop => (vec!["2"], vec!["1"]),
            Self::Clear => (vec!["plan"], vec![]),
            Self::First => (vec![], vec!["left r1", "right r1"]),
            Self::Again => (vec!["left r1", "right r1"], vec!["left r2", "right r2"]),
            Self::Leave => (vec!["left r1", "right r1"], vec![]),
        };
        let found = match self {
            Self::Add | Self::Drop => vec![folders(play)?.len().to_string()],
            Self::Clear => plan_of_current(play)?,
            Self::First | Self::Again | Self::Leave => waiting(play)?,
        };
        match (found == before, found == after) {
            (true, _) => Ok(false),
            (false, true) => Ok(true),
            (false, false) => Err(format!("{self:?}: {found:?} is neither {before:?} nor {after:?}")),
        }
    }

    /// What must hold once the verb was said again.
    fn end(self, play: &Play) -> Result<(), String> {
        let copies = copies(play)?;
        let wanted: &[&str] = match self {
            Self::Add | Self::Drop | Self::Clear | Self::Leave => &[],
            Self::First => &["left: as it was", "right: as it was"],
            Self::Again => &["left: as it is", "right: as it is"],
        };
        if copies != wanted {
            return Err(format!("{self:?}: people read {copies:?}, not {wanted:?}"));
        }
        if self == Self::Drop
            && fs::read_dir(play.folder.join(".agentflow/plans")).is_ok_and(|all| all.count() != 1)
        {
            return Err("a folder stayed that nobody has".to_owned());
        }
        Ok(())
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn threads(play: &Play) -> Result<Vec<Value>, String> {
    let data = play.data(&["session", "show", "--json"])?;
    Ok(data["threads"].as_array().cloned().unwrap_or_default())
}

/// The folders of all threads, all of which must be there.
fn folders(play: &Play) -> Result<Vec<PathBuf>, String> {
    let folders: Vec<PathBuf> =
        threads(play)?.iter().map(|thread| text(&thread["plan_dir"]).into()).collect();
    match folders.iter().find(|folder| !folder.is_dir()) {
        Some(missing) => Err(format!("{} is missing", missing.display())),
        None => Ok(folders),
    }
}

fn write_all(play: &Play, how: &str) -> Result<(), String> {
    for (folder, title) in folders(play)?.iter().zip(["Left", "Right"]) {
        fs::create_dir_all(folder.join("tasks")).expect("a folder");
        fs::write(folder.join("plan.md"), format!("---\ntitle: {title}\n---\n\nWhy.\n")).expect("written");
        for name in ["01-a", "02-b"] {
            let task = format!("---\nid: {}\n---\n\nDo it {how}.\n", &name[3..]);
            fs::write(folder.join(format!("tasks/{name}.md")), task).expect("written");
        }
    }
    Ok(())
}

/// The plans that wait for a person, each of which must be there for them to read.
fn waiting(play: &Play) -> Result<Vec<String>, String> {
    let data = play.data(&["status", "--inbox", "--json"])?;
    let mut names = Vec::new();
    for review in data["reviews"].as_array().into_iter().flatten() {
        play.data(&["review", &text(&review["plan"]), "--json"])?;
        names.push(format!("{} r{}", text(&review["plan"]), review["revision"]));
    }
    names.sort();
    Ok(names)
}

/// Whether the folder of the current thread holds a plan: all of it, or nothing.
fn plan_of_current(play: &Play) -> Result<Vec<String>, String> {
    let folder = folders(play)?.swap_remove(0);
    let files = ["plan.md", "tasks/01-a.md", "tasks/02-b.md"].map(|file| folder.join(file).exists());
    match files {
        [true, true, true] => Ok(vec!["plan".to_owned()]),
        [false, false, false] => Ok(Vec::new()),
        _ => Err(format!("half of the plan is there: {files:?}")),
    }
}

/// What people read of the plans that were committed.
fn copies(play: &Play) -> Result<Vec<String>, String> {
    let data = play.data(&["list", "--json"])?;
    let plans = data["plans"].as_array().cloned().unwrap_or_default();
    let mut copies = Vec::new();
    for plan in plans.iter().filter(|plan| plan["dialect"] == "directory") {
        let folder = PathBuf::from(text(&plan["path"]));
        let how = ["01-a", "02-b"].map(|name| {
            let task = fs::read_to_string(folder.join(format!("tasks/{name}.md"))).unwrap_or_default();
            task.lines()
                .last()
                .unwrap_or_default()
                .trim_start_matches("Do it ")
                .trim_end_matches('.')
                .to_owned()
        });
        if how[0] != how[1] {
            return Err(format!("half of {} is old: {how:?}", plan["name"]));
        }
        copies.push(format!("{}: {}", text(&plan["name"]), how[0]));
    }
    Ok(copies)
}

fn strs(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// Every point at which a verb is killed.
fn points(verb: Verb) -> Vec<Order> {
    let play = Play::new();
    let typed = verb.prepare(&play).expect("nothing is killed yet");
    let ran = finish(&mut play.traced(&Order::Watch, &[], &strs(&typed)));
    assert_eq!(ran.code, Some(0), "{verb:?} under the tracer: {ran:#?}");
    let counts = counts(&play.log());
    let marks = counts.into_iter().filter(|((role, name), _)| {
        *role == Role::Driver && call::named(name).is_some_and(|call| call.is_mark)
    });
    let orders = |((role, call), last): ((Role, &'static str), usize)| {
        let order = move |count| Order::Once { role, call, count, deed: Deed::Kill };
        sample(last, SAMPLE).into_iter().map(order)
    };
    marks.flat_map(orders).collect()
}

/// Kills a verb, looks, and says it again. Returns whether the kill struck, and whether the verb had happened.
fn kill(verb: Verb, order: &Order) -> Result<(bool, bool), String> {
    let play = Play::new();
    let typed = verb.prepare(&play)?;
    let ran = finish(&mut play.traced(order, &[], &strs(&typed)));
    let is_struck = has_struck(&play, "killed");
    let wanted = if is_struck { KILLED } else { 0 };
    if ran.code != Some(wanted) {
        return Err(format!("it ended with {:?}, not {wanted}: {ran:#?}", ran.code));
    }
    let is_done = verb.found(&play)?;
    if !is_done || !matches!(verb, Verb::Add | Verb::Drop) {
        let again = play.run(&strs(&typed));
        if again.code != Some(0) {
            return Err(format!("said again, it ended badly: {again:#?}"));
        }
    }
    if !verb.found(&play)? {
        return Err("said again, it did not happen".to_owned());
    }
    verb.end(&play)?;
    Ok((is_struck, is_done))
}

// E-12, E-13, E-14, E-15: killed at any call that matters, a verb has happened or it has not; said again, it has.
pub(crate) fn a_session_that_is_killed_anywhere_is_whole() {
    let begin = Instant::now();
    let points: Vec<(Verb, Order)> =
        VERBS.iter().flat_map(|&verb| points(verb).into_iter().map(move |order| (verb, order))).collect();
    let (next, struck, done) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let faults: Mutex<Vec<String>> = Mutex::default();
    let work = || {
        while let Some((verb, order)) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
            match kill(*verb, order) {
                Ok((is_struck, is_done)) => {
                    struck.fetch_add(usize::from(is_struck), Ordering::Relaxed);
                    done.fetch_add(usize::from(is_done), Ordering::Relaxed);
                }
                Err(fault) => faults.lock().expect("no panic").push(format!("{verb:?} {order}\n{fault}")),
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    let (struck, done) = (struck.into_inner(), done.into_inner());
    println!(
        "sessions: {} points tried, {struck} struck, {done} of the verbs had happened, {} s",
        points.len(),
        begin.elapsed().as_secs()
    );
    let faults = faults.into_inner().expect("no panic");
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    assert!(
        struck * 2 > points.len() && done > 0 && done < points.len(),
        "kills come before and after the act"
    );
}

// The twin: a commit of which only a half was said is what the sweep looks for.
pub(crate) fn half_a_commit_is_caught() {
    let play = Play::new();
    Verb::First.prepare(&play).expect("nothing is killed");
    let right = text(&threads(&play).expect("threads")[1]["thread_id"]);
    play.data(&["session", "drop", &right, "--json"]).expect("dropped");
    play.data(&["session", "commit", "--json"]).expect("committed");
    let found = Verb::First.found(&play);
    assert!(found.as_ref().is_err_and(|why| why.contains("is neither")), "{found:?}");
    let left = folders(&play).expect("folders").swap_remove(0);
    fs::remove_file(left.join("tasks/02-b.md")).expect("removed");
    let found = Verb::Clear.found(&play);
    assert!(found.as_ref().is_err_and(|why| why.contains("half of the plan")), "{found:?}");
}
