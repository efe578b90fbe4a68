//! Injected errors: a disk that breaks, a full one, no more files to open, at one call of a command. Reported or right,
//! never silently wrong; and a plain run afterwards comes to the same end.

use std::collections::BTreeSet;
use std::time::Instant;

use crate::call::{self, error_name};
use crate::point::{Deed, Order, Point, Role};
use crate::scenario::{Play, Ran, finish, run_words};
use crate::story::{Disturbance, Story};
use crate::sweep::{
    Census, Findings, asked_for, census, counts, has_struck, play_to, sample, side_by_side, try_all,
};

/// How many calls of one name in one `run` get each error by default. An `answer` makes the same ones, and fewer.
const SAMPLE: usize = 2;
/// The exit code for what the machine can't do.
const MACHINE: i32 = 5;
/// The exit code for what only a person can settle.
const PERSON: i32 = 3;
/// The exit code for a plan that is not there. Nothing was done.
const USAGE: i32 = 2;
/// What the loader of the system says when it can't load the program.
const LOADER: &str = "error while loading shared libraries";

fn points(census: &Census) -> Vec<Point> {
    let mut points = Vec::new();
    for (command, counts) in census.iter().enumerate() {
        let is_run = counts.keys().any(|(role, _)| *role == Role::Supervisor);
        for (&(role, call), &last) in counts {
            let Some(known) = call::named(call) else { continue };
            // What a supervisor reads is the program itself, which the system loads.
            if role == Role::Supervisor && !known.is_mark {
                continue;
            }
            let most = if is_run && known.is_mark { SAMPLE } else { 1 };
            for &error in known.errors {
                let order = |count| Order::Once { role, call, count, deed: Deed::Fail(error) };
                let chosen = sample(last, most).into_iter();
                points.extend(chosen.map(|count| Point { command, order: order(count) }));
            }
        }
    }
    points
}

/// What is wrong with the way in which a command ended that met an error.
fn complaint(ran: &Ran, usual: i32) -> Option<&'static str> {
    let said = format!("{}{}", ran.stdout, ran.stderr);
    let Some(code) = ran.code else { return Some("it hangs") };
    if said.contains("panicked") || code == 101 {
        return Some("it panicked");
    }
    // A run that can't start an agent asks a person, and says why. A plan that is looked for by its name is not found where
    // a folder can't be read: that is no good answer, but a clear one, before anything was done.
    match code {
        code if code == usual || code == PERSON => None,
        MACHINE | USAGE if ran.stderr.contains("error") => None,
        MACHINE | USAGE => Some("it failed and did not say why"),
        _ if ran.stderr.contains(LOADER) => None,
        _ => Some("it ended with a code that is for something else"),
    }
}

fn fail_at(story: &Story, point: &Point) -> Result<Findings, String> {
    let (play, ran, usual) = play_to(point)?;
    let struck = usize::from(has_struck(&play, "failed"));
    if let Some(complaint) = complaint(&ran, usual) {
        return Err(format!("{complaint}: {ran:#?}"));
    }
    let story = play.converge().and_then(|()| story.compare(&play, Disturbance::Error));
    let cost = story.map_err(|fault| format!("{fault}\nafter {ran:#?}"))?;
    let reported = usize::from(ran.code == Some(MACHINE));
    Ok(Findings { struck, reported, lost: cost.lost, ..Findings::default() })
}

// M-04, M-20: EIO, ENOSPC and EMFILE at the calls of a run that use files, EAGAIN where threads and processes are started.
pub(crate) fn an_error_of_the_machine_is_reported_or_harmless() {
    let begin = Instant::now();
    let (census, story) = census();
    let points = asked_for(points(&census), |deed| matches!(deed, Deed::Fail(_)));
    let found = try_all(&points, &|_, point| fail_at(&story, point));
    let errors: BTreeSet<&str> = points.iter().filter_map(|point| name(&point.order)).collect();
    println!(
        "injected errors ({}): {} points tried, {} struck, {} reported with exit code {MACHINE}, {} wrong, {} s",
        errors.into_iter().collect::<Vec<_>>().join(", "),
        found.tried,
        found.struck,
        found.reported,
        found.faults.len(),
        begin.elapsed().as_secs()
    );
    assert!(found.faults.is_empty(), "{}", found.faults.join("\n\n"));
}

fn name(order: &Order) -> Option<&'static str> {
    match order {
        Order::Once { deed: Deed::Fail(error), .. } => Some(error_name(*error)),
        Order::Once { deed: Deed::Kill | Deed::Skip, .. } | Order::Watch | Order::Skip(_) => None,
    }
}

/// What is typed before a run, each after the ones before it.
fn decisions() -> [Vec<&'static str>; 3] {
    let digest = run_words().pop().unwrap_or_default();
    [vec!["propose", "it"], vec!["approve", "it", "--rev", digest], vec!["undo", "it"]]
}

/// Plays the decisions up to one of them, and that one under the tracer.
fn decide(last: usize, order: &Order) -> Result<(Play, Ran), String> {
    let (play, decisions) = (Play::new(), decisions());
    for words in &decisions[..last] {
        let ran = play.run(words);
        if ran.code != Some(0) {
            return Err(format!("{words:?} ended badly before anything was done to it: {ran:#?}"));
        }
    }
    let ran = finish(&mut play.traced(order, &[], &decisions[last]));
    Ok((play, ran))
}

/// The story of a run after a decision that nothing disturbed, and the points at which it can be disturbed.
fn decided(last: usize) -> (Story, Vec<Order>) {
    let (play, ran) = decide(last, &Order::Watch).expect("nothing disturbs it");
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let mut orders = Vec::new();
    for ((role, name), calls) in counts(&play.log()) {
        let Some(known) = call::named(name) else { continue };
        for &error in known.errors {
            let order = |count| Order::Once { role, call: known.name, count, deed: Deed::Fail(error) };
            orders.extend(sample(calls, 1).into_iter().map(order));
        }
    }
    play.converge().expect("an undisturbed run");
    (Story::of(&play).expect("an undisturbed play has a story"), orders)
}

// M-20: the same for `propose`, `approve` and `undo`. `answer` is part of the play above.
pub(crate) fn an_error_in_a_decision_is_reported_or_harmless() {
    let begin = Instant::now();
    let decided: Vec<(Story, Vec<Order>)> = (0..decisions().len()).map(decided).collect();
    let points: Vec<(usize, &Story, &Order)> = decided
        .iter()
        .enumerate()
        .flat_map(|(last, (story, orders))| orders.iter().map(move |order| (last, story, order)))
        .collect();
    let faults: Vec<String> = side_by_side(&points, &|(last, story, order)| {
        let tried = decide(*last, order).and_then(|(play, ran)| {
            if let Some(complaint) = complaint(&ran, 0) {
                return Err(format!("{complaint}: {ran:#?}"));
            }
            let story = play.converge().and_then(|()| story.compare(&play, Disturbance::Error));
            story.map(drop).map_err(|fault| format!("{fault}\nafter {ran:#?}"))
        });
        tried.map_err(|fault| format!("{:?} {order}\n{fault}", decisions()[*last])).err()
    })
    .into_iter()
    .flatten()
    .collect();
    println!(
        "injected errors in decisions: {} points tried, {} wrong, {} s",
        points.len(),
        faults.len(),
        begin.elapsed().as_secs()
    );
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}
