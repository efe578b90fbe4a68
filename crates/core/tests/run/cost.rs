//! What work has cost, on paper: sums by step and agent, and what the rest will take.

use planwright_core::agent::account::Usage;
use planwright_core::run::cost::{of_run, projection, sums};
use planwright_core::run::event::{AttemptEnd, AttemptStart, Event, StepEvent};
use planwright_core::run::state::RunState;

use super::happened::{judged, spent, started};
use super::sample::{plan, run_started};

fn used(tokens: Option<u64>, micro_dollars: Option<u64>, milliseconds: u64) -> Usage {
    Usage { tokens, micro_dollars, milliseconds }
}

/// An attempt by this agent that used so much and was judged by this exit code.
fn tried(step: &str, attempt: u32, agent: &str, (usage, code): (Usage, i32)) -> [Event; 3] {
    let mut start = started(step, attempt);
    if let Event::Step { event: StepEvent::Started(AttemptStart { agent: by, .. }), .. } = &mut start {
        agent.clone_into(by);
    }
    [start, spent(step, attempt, (AttemptEnd::Exited(0), usage)), judged(step, attempt, code)]
}

// P-16: every attempt counts once, by step and by agent; what no agent said stays unknown; the rest is counted at this rate.
#[test]
fn what_was_spent_is_added_up_and_the_rest_is_counted_at_this_rate() {
    let plan = plan("a retry=1\nb\nc\nd");
    let attempts = [
        tried("a", 1, "claude", (used(Some(100), Some(300_000), 1_000), 1)),
        tried("a", 2, "claude", (used(Some(50), Some(100_000), 3_000), 0)),
        tried("b", 1, "mute", (used(None, None, 2_000), 0)),
    ];
    let events: Vec<Event> = [run_started()].into_iter().chain(attempts.into_iter().flatten()).collect();
    let mut state = RunState::new(&plan);
    for event in &events {
        state.apply(event).expect("a run on paper");
    }
    let rows = of_run("it", &plan, events.iter());
    let said = |rows: &[planwright_core::run::cost::Spent]| -> Vec<String> {
        let row = |row: &planwright_core::run::cost::Spent| {
            format!(
                "{}/{} x{} {:?} {:?} {}",
                row.step, row.agent, row.attempts, row.tokens, row.micro_dollars, row.milliseconds
            )
        };
        rows.iter().map(row).collect()
    };
    assert_eq!(said(&rows), ["a/claude x2 Some(150) Some(400000) 4000", "b/mute x1 None None 2000"]);
    assert_eq!(
        said(&sums(&rows)),
        [
            "/claude x2 Some(150) Some(400000) 4000",
            "/mute x1 None None 2000",
            "/ x3 Some(150) Some(400000) 6000"
        ]
    );
    let rest = projection(&rows, &state).expect("two steps are settled, two are left");
    assert_eq!((rest.steps_left, rest.steps_settled), (2, 2));
    // Only one of the two said what it cost: the rate is that of those who did.
    assert_eq!((rest.tokens, rest.micro_dollars, rest.milliseconds), (Some(300), Some(800_000), 6_000));
    assert_eq!(projection(&[], &state), None, "nothing is projected from nothing");
    assert_eq!(sums(&[]), []);
}
