//! The arbiter on paper: what it is told, what it chooses and why, and that no choice leaves what `decide` would do.

use std::collections::BTreeSet;

use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified::Plan;
use planwright_core::run::arbiter::{
    Agents, ArbiterAction, ArbiterChoice, ArbiterContext, ArbiterRecords, BUILT_IN, Candidates, DiagramStage,
    STAGES, begun, bounded, choose, context, diagram, history, prompt, table,
};
use planwright_core::run::event::{
    AskAnswer, AskReason, AttemptEnd, AttemptStart, Event, RunOutcome, StepEvent,
};
use planwright_core::run::schedule::{Action, ScheduleLimits, next_actions};
use planwright_core::run::state::RunState;

use super::happened::{answered, asked, ended, exited, finished, judged, retry, started};
use super::sample::{plan, run_started};

const NOW: u64 = 1_000;

fn agents(configured: &str, roles: &[(&str, &str)]) -> Agents {
    let text = |text: &str| text.to_owned();
    Agents {
        configured: configured.split_whitespace().map(text).collect(),
        roles: roles.iter().map(|(role, agent)| (text(role), text(agent))).collect(),
        records: ArbiterRecords::default(),
    }
}

fn state(plan: &Plan, events: &[Event]) -> RunState {
    let mut state = RunState::new(plan);
    for event in events {
        state.apply(event).unwrap_or_else(|illegal| panic!("{illegal}"));
    }
    state
}

/// An attempt by this agent that is judged by this exit code.
fn tried(step: &str, attempt: u32, (agent, code): (&str, i32)) -> [Event; 3] {
    let mut start = started(step, attempt);
    if let Event::Step { event: StepEvent::Started(AttemptStart { agent: by, .. }), .. } = &mut start {
        agent.clone_into(by);
    }
    [start, exited(step, attempt), judged(step, attempt, code)]
}

fn chosen(plan: &Plan, state: &RunState, agents: &Agents) -> (Candidates, ArbiterChoice) {
    let limits = ScheduleLimits::default();
    let table = table(plan, state, agents, (&limits, NOW));
    let choice = choose(plan, state, agents, &table);
    assert_eq!(choice, choose(plan, state, agents, &table), "the same inputs, the same choice");
    (table, choice)
}

// B-14: the layout of document B, line for line, with the example of its plan; then history and last error.
#[test]
fn an_arbiter_is_told_what_document_b_says() {
    let mut plan = plan("analyze\nmiddleware\nlogin\ntests\nreview");
    "Implement user authentication with JWT".clone_into(&mut plan.title);
    let titles = [
        "Analyze existing codebase structure and auth patterns",
        "Implement authentication middleware",
        "Implement login endpoint",
        "Write integration tests for auth flow",
        "Review and validate implementation",
    ];
    let targets = ["planner", "developer", "developer", "tester", "reviewer"];
    for ((step, title), target) in plan.steps.iter_mut().zip(titles).zip(targets) {
        title.clone_into(&mut step.title);
        target.clone_into(&mut step.target);
    }
    plan.steps[2].accept = vec!["Accepts email/password".to_owned(), "Returns JWT on success".to_owned()];
    let events: Vec<Event> = [run_started()]
        .into_iter()
        .chain(tried("analyze", 1, ("planner", 0)))
        .chain(tried("middleware", 1, ("developer", 0)))
        .chain([started("login", 1)])
        .collect();
    let state = state(&plan, &events);
    let told =
        ArbiterContext { plan: &plan, state: Some(&state), current: Some(2), history: &[], last_error: None };
    let layout = "\
## Current Task

Implement user authentication with JWT

## Plan Status

Status: in_progress
Progress: 2/5 steps

## Current Step

Step 3: Implement login endpoint
Suggested agent: developer
Acceptance criteria:
- Accepts email/password
- Returns JWT on success

## Remaining Steps

- Step 4: Write integration tests for auth flow
- Step 5: Review and validate implementation
";
    assert_eq!(context(&told), layout);
    let history = history(&plan, events.iter());
    let told = ArbiterContext { history: &history, last_error: Some("exit 1\nno such route\n"), ..told };
    let more = "
## History

- Step 1, attempt 1 by planner: passed
- Step 2, attempt 1 by developer: passed
- Step 3, attempt 1 by coder: running

## Last Error

exit 1
no such route
";
    assert_eq!(context(&told), format!("{layout}{more}"));
    let unrun = ArbiterContext { plan: &plan, state: None, current: None, history: &[], last_error: None };
    assert!(context(&unrun).contains("Status: draft\nProgress: 0/5 steps\n"), "{}", context(&unrun));
}

// B-15: suggested if configured, else by history, else any; ties by name; never a person.
#[test]
fn an_agent_is_suggested_or_known_or_any() {
    let mut plan = plan("one\ntwo");
    plan.steps[1].target = "reviewer".to_owned();
    let mut known = agents("claude codex pi shell human", &[]);
    let past: Vec<Event> =
        [tried("one", 1, ("codex", 1)), tried("one", 2, ("codex", 0)), tried("two", 1, ("pi", 0))].concat();
    known.records.count(&plan, past.iter());
    let coded = |agents: &Agents, target: &str| {
        let mut plan = plan.clone();
        target.clone_into(&mut plan.steps[0].target);
        let (_, choice) = chosen(&plan, &begun(&plan), agents);
        (choice.agent.unwrap_or_default(), choice.reasons[0].clone())
    };
    let cases = [
        (agents("claude codex", &[]), "codex", "codex", "the step names `codex`"),
        (agents("claude", &[("coder", "claude")]), "coder", "claude", "role `coder`, assigned to `claude`"),
        (
            agents("claude pi", &[("coder", "gone")]),
            "coder",
            "claude",
            "no agent has a history; `claude` is first",
        ),
        (known.clone(), "coder", "codex", "`codex` has the best record at CODE steps: 1 of 2 passed"),
        (known.clone(), "reviewer", "pi", "`pi` has the best record at REVIEW steps: 1 of 1 passed"),
        (agents("shell human", &[]), "coder", "", "`coder` is not configured, and no other agent is"),
        (agents("", &[]), "coder", "", "not configured"),
        (known.clone(), "human", "", "the step is manual"),
        (known.clone(), "shell", "shell", "names `shell`"),
    ];
    for (agents, target, agent, reason) in cases {
        let (got, why) = coded(&agents, target);
        assert_eq!(got, agent, "{target}: {why}");
        assert!(why.contains(reason), "{target}: {why}");
    }
    // One of two is as good as two of four: the first name wins; one more that passed, and it is better.
    let more: Vec<Event> =
        (1..5).flat_map(|attempt| tried("one", attempt, ("aider", i32::from(attempt > 2)))).collect();
    known.records.count(&plan, more.iter());
    known.configured.insert("aider".to_owned());
    assert_eq!(coded(&known, "coder").0, "aider");
    known.records.count(&plan, tried("one", 9, ("codex", 0)).iter());
    assert_eq!(coded(&known, "coder").0, "codex");
}

/// Runs on paper, with what may be done next and what is chosen.
fn walks() -> Vec<(&'static str, Plan, RunState, &'static str)> {
    let make = |lines: &str, events: Vec<Event>| {
        let plan = plan(lines);
        let state = state(&plan, &[vec![run_started()], events].concat());
        (plan, state)
    };
    let fails = |attempts: std::ops::Range<u32>| -> Vec<Event> {
        attempts.flat_map(|attempt| tried("a", attempt, ("coder", 1))).collect()
    };
    let ask = asked("a/1", Some("a"), AskReason::AttemptsSpent);
    let budget = asked("run/budget/1", None, AskReason::Budget);
    let cases = [
        ("first", make("a\nb", vec![]), "a: continue of continue"),
        ("under way", make("a\nb", vec![started("a", 1)]), "-: continue of continue"),
        ("judged", make("a\nb", vec![started("a", 1), exited("a", 1)]), "a: continue of continue"),
        ("failed once", make("a retry=2\nb", fails(1..2)), "a: retry of retry"),
        ("spent", make("a retry=1\nb", fails(1..3)), "a: replan of escalate, replan"),
        ("spent at once", make("a\nb", fails(1..2)), "a: escalate of escalate, replan"),
        ("asked", make("a\nb", [fails(1..2), vec![ask.clone()]].concat()), "a: escalate of escalate, replan"),
        (
            "answered",
            make("a\nb", [fails(1..2), vec![ask, answered("a/1", retry())]].concat()),
            "a: retry of retry",
        ),
        ("a person's", make("a human\nb", vec![]), "a: escalate of escalate"),
        ("another goes on", make("a human\nb free", vec![]), "b: continue of continue"),
        ("over budget", make("a\nb", vec![budget]), "-: escalate of escalate"),
        ("done", make("a", tried("a", 1, ("coder", 0)).to_vec()), "-: continue of continue"),
        ("aborts", make("a abort\nb", fails(1..2)), "-: continue of continue"),
    ];
    cases.into_iter().map(|(name, (plan, state), wanted)| (name, plan, state, wanted)).collect()
}

// B-15: the action comes from what `decide` says, and from nothing else.
#[test]
fn an_action_is_one_that_decide_allows() {
    let agents = agents("coder", &[]);
    for (name, plan, state, wanted) in walks() {
        let (table, choice) = chosen(&plan, &state, &agents);
        let id = table.step.map_or("-", |place| plan.steps[place].id.as_str());
        let words: Vec<&str> = table.actions.iter().map(|action| action.word()).collect();
        let said = format!("{id}: {} of {}", choice.action.word(), words.join(", "));
        assert_eq!(said, wanted, "{name}: {:?}", choice.reasons);
        assert_eq!((choice.by.as_str(), choice.reasons.is_empty()), (BUILT_IN, false), "{name}");
        assert!(is_allowed(&plan, &state, &choice), "{name}");
    }
}

/// Whether `decide`, asked on its own, would do what was chosen, or a question is open that it is an answer to.
fn is_allowed(plan: &Plan, state: &RunState, choice: &ArbiterChoice) -> bool {
    let commands = next_actions(plan, state, &ScheduleLimits::default(), NOW);
    let tries = commands.iter().any(|command| match command {
        Action::Attempt { step, .. } => {
            Some(*step) == choice.step && state.steps[*step].history.failures() > 0
        }
        Action::Contract { .. }
        | Action::Ask { .. }
        | Action::Close { .. }
        | Action::Warn { .. }
        | Action::Wake { .. }
        | Action::Finish { .. } => false,
    });
    let asks: Vec<(Option<usize>, AskReason)> = commands
        .iter()
        .filter_map(|command| match command {
            Action::Ask { step, reason, .. } => Some((*step, *reason)),
            Action::Attempt { .. }
            | Action::Contract { .. }
            | Action::Close { .. }
            | Action::Warn { .. }
            | Action::Wake { .. }
            | Action::Finish { .. } => None,
        })
        .chain(state.asks.values().map(|ask| (ask.step, ask.reason)))
        .filter(|(step, _)| *step == choice.step)
        .collect();
    match choice.action {
        ArbiterAction::Retry => tries,
        ArbiterAction::Continue => !tries && asks.is_empty(),
        ArbiterAction::Escalate => !asks.is_empty(),
        ArbiterAction::Replan => asks.iter().any(|(_, reason)| *reason == AskReason::AttemptsSpent),
    }
}

// B-15: an agent that is the arbiter can say anything; only what the table has is taken, and a twin without the table is caught.
#[test]
fn an_agent_as_arbiter_is_held_to_the_table() {
    let agents = agents("coder sage", &[]);
    let mut followed = BTreeSet::new();
    let mut caught = 0;
    for (name, plan, state, _) in walks() {
        let (table, built_in) = chosen(&plan, &state, &agents);
        for action in ["continue", "retry", "replan", "escalate", "approve", "done", ""] {
            for agent in ["coder", "sage", "human", "nobody", ""] {
                let said = format!("{{\"agent\":\"{agent}\",\"action\":\"{action}\",\"reason\":\"so\"}}");
                let choice = bounded(built_in.clone(), &table, ("sage", Ok(&said)));
                assert!(is_allowed(&plan, &state, &choice), "{name}: {said}");
                assert!(
                    choice.agent.is_none()
                        || table.agents.iter().any(|known| Some(known) == choice.agent.as_ref())
                );
                match choice.by.as_str() {
                    BUILT_IN => {
                        assert_eq!(
                            (choice.action, &choice.agent),
                            (built_in.action, &built_in.agent),
                            "{said}"
                        );
                        assert!(choice.reasons[0].contains("ignored the answer of arbiter `sage`"), "{said}");
                    }
                    by => drop(followed.insert((by.to_owned(), choice.action))),
                }
                caught += usize::from(!is_allowed(&plan, &state, &unbounded(&built_in, action)));
            }
        }
        for rubbish in
            [Ok("I would retry."), Ok(""), Ok("{\"verdict\":1}"), Err("it took longer than 9 s".to_owned())]
        {
            let choice = bounded(built_in.clone(), &table, ("sage", rubbish));
            assert_eq!((choice.action, choice.by.as_str()), (built_in.action, BUILT_IN), "{name}");
        }
    }
    assert_eq!(followed.len(), 4, "each action is followed somewhere: {followed:?}");
    assert!(caught > 0, "an arbiter without a table must be caught");
}

/// The twin: whatever the agent says is taken.
fn unbounded(built_in: &ArbiterChoice, action: &str) -> ArbiterChoice {
    let action = match action {
        "retry" => ArbiterAction::Retry,
        "replan" => ArbiterAction::Replan,
        "escalate" => ArbiterAction::Escalate,
        _ => ArbiterAction::Continue,
    };
    ArbiterChoice { action, by: "sage".to_owned(), ..built_in.clone() }
}

#[test]
fn an_agent_as_arbiter_sees_the_table() {
    let plan = plan("a retry=1");
    let state = begun(&plan);
    let (table, _) = chosen(&plan, &state, &agents("coder sage human", &[]));
    let told = ArbiterContext {
        plan: &plan,
        state: Some(&state),
        current: table.step,
        history: &[],
        last_error: None,
    };
    let prompt = prompt(&told, &table);
    assert!(prompt.starts_with("## Current Task\n"), "{prompt}");
    assert!(prompt.contains("Agents: coder, sage\nActions: continue\n"), "{prompt}");
}

/// The stages that a run on paper goes through, one for each thing that happens.
fn stages(plan: &Plan, events: &[Event]) -> Vec<DiagramStage> {
    let mut state = RunState::new(plan);
    let mut stages = vec![DiagramStage::of(Some(&state))];
    for event in events {
        state.apply(event).unwrap_or_else(|illegal| panic!("{illegal}"));
        stages.push(DiagramStage::of(Some(&state)));
    }
    stages
}

fn journals() -> Vec<(Plan, Vec<Event>)> {
    let ask = || asked("a/1", Some("a"), AskReason::AttemptsSpent);
    let begin = |events: Vec<Event>| [vec![run_started()], events].concat();
    let fails = || tried("a", 1, ("coder", 1)).to_vec();
    let passes = |attempt| tried("a", attempt, ("coder", 0)).to_vec();
    let answer = |answer: AskAnswer| vec![ask(), answered("a/1", answer)];
    let revised = AskAnswer::Revise { reason: "no".to_owned() };
    vec![
        (plan("a"), begin([fails(), passes(2), vec![finished(RunOutcome::Done)]].concat())),
        (plan("a done"), begin(vec![judged("a", 0, 0), finished(RunOutcome::Done)])),
        (plan("a"), begin([fails(), answer(retry()), passes(2), vec![finished(RunOutcome::Done)]].concat())),
        (
            plan("a"),
            begin(
                [fails(), answer(AskAnswer::TakeOver), vec![judged("a", 2, 0), finished(RunOutcome::Done)]]
                    .concat(),
            ),
        ),
        (plan("a"), begin([fails(), answer(revised), vec![finished(RunOutcome::Cancelled)]].concat())),
        (plan("a abort"), begin([fails(), vec![finished(RunOutcome::Failed)]].concat())),
        (plan("a"), begin(vec![started("a", 1), ended("a", 1, AttemptEnd::Lost), started("a", 2)])),
        (
            plan("a manual"),
            begin(vec![started("a", 1), exited("a", 1), asked("a/1", Some("a"), AskReason::Manual)]),
        ),
        (
            plan("a\nb free"),
            begin([fails(), vec![ask(), started("b", 1), exited("b", 1), judged("b", 1, 0)]].concat()),
        ),
    ]
}

/// The first step between stages that is not in a table.
fn astray(ways: impl Fn(DiagramStage) -> Vec<DiagramStage>) -> Option<(DiagramStage, DiagramStage)> {
    let journals = journals();
    let pairs = journals.iter().flat_map(|(plan, events)| {
        let stages = stages(plan, events);
        stages.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>()
    });
    pairs.into_iter().find(|(from, to)| from != to && !ways(*from).contains(to))
}

// B-17: every run goes through the machine of document B as its table says; a table that lacks a way is caught.
#[test]
fn runs_go_through_the_stages_of_the_table() {
    let ways = |from: DiagramStage| from.ways().iter().map(|(to, _)| *to).collect::<Vec<_>>();
    assert_eq!(astray(ways), None);
    for (from, to) in [
        (DiagramStage::Planning, DiagramStage::Selecting),
        (DiagramStage::Selecting, DiagramStage::Executing),
        (DiagramStage::Executing, DiagramStage::Evaluating),
        (DiagramStage::Evaluating, DiagramStage::Selecting),
        (DiagramStage::Selecting, DiagramStage::Complete),
    ] {
        let without = |at: DiagramStage| {
            ways(at).into_iter().filter(|way| (at, *way) != (from, to)).collect::<Vec<_>>()
        };
        assert_eq!(astray(without), Some((from, to)), "document B's own way");
    }
}

// B-17: the picture has every way of both tables, and no other.
#[test]
fn the_picture_is_the_table() {
    let drawn: BTreeSet<(String, String)> = diagram()
        .lines()
        .filter_map(|line| line.trim().split_once(" --> "))
        .filter(|(from, _)| *from != "[*]")
        .map(|(from, rest)| (from.to_owned(), rest.split(':').next().unwrap_or_default().to_owned()))
        .collect();
    let stages = STAGES.into_iter().flat_map(|from| {
        from.ways().iter().map(move |(to, _)| (format!("{}_", from.word()), format!("{}_", to.word())))
    });
    let name = |state: PlanState| match state.to_string().split_once(" (") {
        None => state.to_string(),
        Some((word, reason)) => format!("{word}__{}", reason.trim_end_matches(')').replace('-', "_")),
    };
    let states =
        PlanState::all().flat_map(|from| from.ways().into_iter().map(move |(to, _)| (name(from), name(to))));
    assert_eq!(drawn, stages.chain(states).collect());
}
