//! Kill anywhere (M-04): the program is killed at the calls that matter, one after another, and goes on as if nothing had
//! been. By default a sample that takes a minute or two; all points with `PLANWRIGHT_SWEEP=all`.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::call;
use crate::point::{Deed, Order, Point, Role};
use crate::scenario::{Play, Ran, commands, finish, run_words};
use crate::story::{Disturbance, Story};
use crate::tracer::KILLED;

/// `all`, or the name of one point.
pub(crate) const SWEEP: &str = "PLANWRIGHT_SWEEP";
/// Points that are tried at the same time.
const AT_ONCE: usize = 2;
/// How many points of one kind are tried by default: first and last ones, and a stride between them.
const SAMPLE: usize = 6;
/// A second kill comes in the resume of every such point.
const TWICE: usize = 3;
/// A long sweep says how far it is after so many points.
const NEWS: usize = 500;

/// How often each call is made by whom, in each command of the scenario.
pub(crate) type Census = Vec<BTreeMap<(Role, &'static str), usize>>;

/// Plays the scenario undisturbed under the tracer.
pub(crate) fn census() -> (Census, Story) {
    let play = Play::new();
    let mut census = Vec::new();
    for (words, code) in commands() {
        let ran = finish(&mut play.traced(&Order::Watch, &[], &words));
        assert_eq!(ran.code, Some(code), "{words:?} under the tracer: {ran:#?}");
        census.push(counts(&play.log()));
    }
    (census, Story::of(&play).expect("an undisturbed play has a story"))
}

/// How often each call was made by whom, by what the tracer saw.
pub(crate) fn counts(log: &str) -> BTreeMap<(Role, &'static str), usize> {
    let mut counts = BTreeMap::new();
    for line in log.lines() {
        let mut parts = line.split('\t');
        let role = match parts.next() {
            Some("driver") => Role::Driver,
            Some("supervisor") => Role::Supervisor,
            Some(_) | None => continue,
        };
        if let Some(call) = parts.next().and_then(call::named) {
            *counts.entry((role, call.name)).or_default() += 1;
        }
    }
    counts
}

/// The numbers from 1 to `last` that are tried: all of them, or a few that are spread evenly.
pub(crate) fn sample(last: usize, most: usize) -> Vec<usize> {
    if last <= most || std::env::var(SWEEP).is_ok_and(|what| what == "all") {
        return (1..=last).collect();
    }
    if most == 1 {
        return vec![last.div_ceil(2)];
    }
    let mut chosen: Vec<usize> = (0..most).map(|place| 1 + place * (last - 1) / (most - 1)).collect();
    chosen.dedup();
    chosen
}

fn points(census: &Census) -> Vec<Point> {
    let mut points = Vec::new();
    for (command, counts) in census.iter().enumerate() {
        for (&(role, call), &last) in counts {
            if is_mark(call) {
                let order = |count| Order::Once { role, call, count, deed: Deed::Kill };
                points.extend(
                    sample(last, SAMPLE).into_iter().map(|count| Point { command, order: order(count) }),
                );
            }
        }
    }
    points
}

/// What a fault came to, and what all of them did.
#[derive(Default)]
pub(crate) struct Findings {
    /// Points that were tried.
    pub(crate) tried: usize,
    /// Points at which the fault struck.
    pub(crate) struck: usize,
    /// Points at which a second one did.
    pub(crate) struck_twice: usize,
    /// Attempts that were lost.
    pub(crate) lost: usize,
    /// Commands that reported the fault.
    pub(crate) reported: usize,
    pub(crate) faults: Vec<String>,
}

/// Tries all points, some at a time. `attempt` gets the place of a point in the list.
pub(crate) fn try_all(
    points: &[Point],
    attempt: &(dyn Fn(usize, &Point) -> Result<Findings, String> + Sync),
) -> Findings {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Findings::default());
    let work = || {
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(point) = points.get(place) else { return };
            let one = attempt(place, point);
            let mut all = found.lock().expect("no panic");
            all.tried += 1;
            match one {
                Ok(one) => {
                    all.struck += one.struck;
                    all.struck_twice += one.struck_twice;
                    all.lost += one.lost;
                    all.reported += one.reported;
                }
                Err(fault) => {
                    println!("differs: {SWEEP}={point}");
                    all.faults.push(format!("{SWEEP}={point}\n{fault}"));
                }
            }
            if all.tried.is_multiple_of(NEWS) {
                println!("{} of {} points tried", all.tried, points.len());
            }
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    found.into_inner().expect("no panic")
}

/// Tries all of them, some at a time; returns what came of each.
pub(crate) fn side_by_side<T: Sync, Found: Send>(
    points: &[T],
    attempt: &(dyn Fn(&T) -> Found + Sync),
) -> Vec<Found> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::new());
    let work = || {
        while let Some(point) = points.get(next.fetch_add(1, Ordering::Relaxed)) {
            let one = attempt(point);
            found.lock().expect("no panic").push(one);
        }
    };
    std::thread::scope(|scope| (0..AT_ONCE).for_each(|_| drop(scope.spawn(work))));
    found.into_inner().expect("no panic")
}

/// Only the point that was asked for, if one was and this sweep has such points.
pub(crate) fn asked_for(points: Vec<Point>, is_own: fn(Deed) -> bool) -> Vec<Point> {
    let asked = std::env::var(SWEEP).ok().and_then(|name| Point::parse(&name));
    let deed = |point: &Point| match point.order {
        Order::Once { deed, .. } => Some(deed),
        Order::Watch | Order::Skip(_) => None,
    };
    match asked {
        Some(point) => Some(point).filter(|point| deed(point).is_some_and(is_own)).into_iter().collect(),
        None => points,
    }
}

/// Plays the scenario up to the command of a point, and that one under the tracer.
pub(crate) fn play_to(point: &Point) -> Result<(Play, Ran, i32), String> {
    let play = Play::new();
    let commands = commands();
    for (words, code) in &commands[..point.command] {
        let ran = play.run(words);
        if ran.code != Some(*code) {
            return Err(format!("{words:?} ended badly before anything was done to it: {ran:#?}"));
        }
    }
    let (words, code) = &commands[point.command];
    let ran = finish(&mut play.traced(&point.order, &[], words));
    Ok((play, ran, *code))
}

/// Whether the last fault struck.
pub(crate) fn has_struck(play: &Play, what: &str) -> bool {
    play.log().lines().any(|line| line.split('\t').nth(3).is_some_and(|detail| detail.starts_with(what)))
}

fn kill_at(story: &Story, census: &Census, place: usize, point: &Point) -> Result<Findings, String> {
    let (play, ran, code) = play_to(point)?;
    let mut found = Findings { struck: usize::from(has_struck(&play, "killed")), ..Findings::default() };
    let is_driver = matches!(point.order, Order::Once { role: Role::Driver, .. });
    let wanted = if is_driver && found.struck == 1 { KILLED } else { code };
    if ran.code != Some(wanted) {
        return Err(format!("it ended with {:?}, not {wanted}: {ran:#?}", ran.code));
    }
    if place.is_multiple_of(TWICE) {
        let again = second(census, place);
        finish(&mut play.traced(&again, &[], &run_words()));
        found.struck_twice = usize::from(has_struck(&play, "killed"));
    }
    play.converge()?;
    let cost = story.compare(&play, Disturbance::Kills(found.struck + found.struck_twice))?;
    found.lost = cost.lost;
    Ok(found)
}

/// A kill for the resume: another one for every place.
fn second(census: &Census, place: usize) -> Order {
    let calls: Vec<_> = census[3].iter().filter(|((role, _), _)| *role == Role::Driver).collect();
    let (&(role, call), &last) = calls[place / TWICE % calls.len()];
    Order::Once { role, call, count: 1 + place * 7 % last, deed: Deed::Kill }
}

// M-04, A-24, P-15: killed at any call that matters, once or twice, a run comes to the same end.
pub(crate) fn killed_anywhere_a_run_comes_to_the_same_end() {
    let begin = Instant::now();
    let (census, story) = census();
    let known: usize = census
        .iter()
        .flat_map(BTreeMap::iter)
        .filter(|((_, call), _)| is_mark(call))
        .map(|(_, count)| count)
        .sum();
    let points = asked_for(points(&census), |deed| deed == Deed::Kill);
    let found = try_all(&points, &|place, point| kill_at(&story, &census, place, point));
    println!(
        "kill anywhere: {} of {known} points tried, {} struck, {} struck again in the resume, {} attempts lost, \
         {} plays differ, {} s",
        found.tried,
        found.struck,
        found.struck_twice,
        found.lost,
        found.faults.len(),
        begin.elapsed().as_secs()
    );
    assert!(found.faults.is_empty(), "{}", found.faults.join("\n\n"));
}

fn is_mark(name: &str) -> bool {
    call::named(name).is_some_and(|call| call.is_mark)
}
