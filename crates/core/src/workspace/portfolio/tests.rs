//! Invariants of every table of plans, and common cases.

use proptest::prelude::*;

use super::*;

fn open(name: &str, depends_on: &[&str]) -> PlanNode {
    entry(name, PlanProgress::Open, depends_on)
}

fn entry(name: &str, status: PlanProgress, depends_on: &[&str]) -> PlanNode {
    let depends_on = depends_on.iter().map(|&name| name.to_owned()).collect();
    PlanNode { name: name.to_owned(), status, depends_on, touches: None, size: 0 }
}

fn touching(name: &str, touches: &[&str]) -> PlanNode {
    let touches = touches.iter().map(|&pattern| pattern.to_owned()).collect();
    PlanNode { touches: Some(touches), ..open(name, &[]) }
}

fn said(entries: &[PlanNode]) -> Vec<String> {
    let readiness = readiness(entries);
    let held = readiness.held_back.iter().map(|held| {
        let reasons: Vec<String> = held.reasons.iter().map(ToString::to_string).collect();
        format!("{}: {} [{}]", entries[held.entry].name, reasons.join("; "), held.recovery().word())
    });
    let ready = readiness.ready.iter().map(|&place| format!("{}: ready", entries[place].name));
    let running = readiness.running.iter().map(|&place| format!("{}: running", entries[place].name));
    ready.chain(running).chain(held).collect()
}

// D-06
#[test]
fn a_plan_is_ready_when_all_that_it_waits_for_is_proven() {
    let asked = || PlanProgress::Waiting("attempts spent".to_owned());
    let tripped = || PlanProgress::Tripped(CircuitBreaker { step: Some("build".to_owned()), failures: 3 });
    let cases: &[(Vec<PlanNode>, &[&str])] = &[
        (vec![open("a", &[])], &["a: ready"]),
        (vec![entry("a", PlanProgress::Done, &[]), open("b", &["a"])], &["b: ready"]),
        (vec![entry("a", PlanProgress::Done, &[]), open("b", &["PLAN-a.md", " PLAN-a "])], &["b: ready"]),
        (vec![open("a", &[]), open("b", &["a"])], &["a: ready", "b: needs a, which is not done [waits]"]),
        (
            vec![entry("a", PlanProgress::Running, &[]), open("b", &["a"])],
            &["a: running", "b: needs a, which is running [waits]"],
        ),
        (
            vec![entry("a", PlanProgress::Claimed, &[]), open("b", &["a"])],
            &[
                "a: is marked as done without proof [person]",
                "b: needs a, which is marked as done without proof [waits]",
            ],
        ),
        (vec![open("auth", &["autth"])], &["auth: needs unknown plan autth; did you mean auth? [replan]"]),
        (vec![open("a", &["storage"])], &["a: needs unknown plan storage [replan]"]),
        (
            vec![entry("x", PlanProgress::Cancelled, &[]), open("b", &["x"])],
            &["b: needs x, which is cancelled [person]"],
        ),
        (
            vec![
                entry("a", PlanProgress::Done, &[]),
                entry("PLAN-a", PlanProgress::Done, &[]),
                open("b", &["a"]),
            ],
            &["b: needs a, which is ambiguous: 2 plans have this name [replan]"],
        ),
        (vec![open("a", &["a"])], &["a: needs itself: a → a [replan]"]),
        (
            vec![open("a", &["b"]), open("b", &["c"]), open("c", &["a"]), open("d", &["a"])],
            &[
                "a: needs itself: a → b → c → a [replan]",
                "b: needs itself: a → b → c → a [replan]",
                "c: needs itself: a → b → c → a [replan]",
                "d: needs a, which is not done [waits]",
            ],
        ),
        // A cycle that contains a done plan blocks nobody.
        (vec![open("a", &["b"]), entry("b", PlanProgress::Done, &["a"])], &["a: ready"]),
        (
            vec![entry("a", tripped(), &[])],
            &["a: step `build` failed 3 times in a row; it won't start again without you [person]"],
        ),
        (
            vec![entry("a", asked(), &["storage"])],
            &["a: needs you: attempts spent; needs unknown plan storage [replan]"],
        ),
        (vec![entry("a", PlanProgress::Failed, &[])], &["a: its last run failed [retry]"]),
        (vec![entry("a", PlanProgress::Stopped, &[])], &["a: is stopped [retry]"]),
        (vec![entry("a", PlanProgress::Staged, &[])], &["a: is shelved [person]"]),
        (
            vec![entry("a", PlanProgress::Unreadable("no text".to_owned()), &[])],
            &["a: is unreadable: no text [replan]"],
        ),
    ];
    for (entries, expected) in cases {
        assert_eq!(said(entries), *expected, "{entries:#?}");
    }
}

#[test]
fn every_reason_names_a_command() {
    let reason = |status| BlockReason::Waits { plan: "a".to_owned(), status };
    let command = |reason: BlockReason| reason.command("b").join(" ");
    assert_eq!(command(reason(PlanProgress::Claimed)), "planwright run a");
    assert_eq!(command(reason(PlanProgress::Staged)), "planwright unshelve a");
    let tripped = CircuitBreaker { step: None, failures: 3 };
    assert_eq!(command(BlockReason::Own(PlanProgress::Tripped(tripped))), "planwright run b");
    assert_eq!(command(BlockReason::Unknown { plan: "x".to_owned(), meant: None }), "planwright show b");
}

// D-07
#[test]
fn plans_run_together_only_if_no_file_could_be_meant_by_both() {
    let entries = [
        touching("a", &["a*.py"]),
        touching("b", &["docs/**", "*b.py"]),
        touching("c", &["src/c/"]),
        open("d", &[]),
        touching("e", &["src/[z-a]"]),
        touching("f", &[]),
    ];
    let together = safe_together(&entries, &[0, 1, 2, 3, 4, 5]);
    assert_eq!(together.plans, [0, 2, 5], "who comes first is taken first");
    let [overlap] = together.overlaps.as_slice() else { panic!("{together:?}") };
    assert_eq!(overlap.plans, (0, 1));
    assert_eq!(overlap.patterns, ("a*.py".to_owned(), "*b.py".to_owned()));
    let means = |pattern: &str| Glob::new(pattern).is_ok_and(|glob| glob.matches(&overlap.path));
    assert!(means("a*.py") && means("*b.py"), "{}", overlap.path);
    let unbounded: Vec<String> =
        together.unbounded.iter().map(|one| format!("{}: {}", entries[one.entry].name, one.why)).collect();
    assert_eq!(
        unbounded,
        ["d: it declares no `touches`", "e: invalid `touches` pattern `src/[z-a]`: reversed range in `[…]`"]
    );
    assert_eq!(safe_together(&entries, &[1, 0]).plans, [1], "the order of the question decides");
    // A name may be a directory, and "all but" isn't a pattern.
    let entries = [touching("a", &["docs"]), touching("b", &["docs/x.md"]), touching("c", &["!src/**"])];
    let together = safe_together(&entries, &[0, 1, 2]);
    assert_eq!(together.plans, [0]);
    assert_eq!(together.overlaps[0].path, "docs/x.md");
    assert_eq!(together.unbounded[0].entry, 2);
}

// D-08
#[test]
fn work_lands_by_what_it_waits_for_then_small_first_then_by_name() {
    let sized = |name: &str, size: u64, depends_on: &[&str]| PlanNode { size, ..open(name, depends_on) };
    let names = |entries: &[PlanNode]| {
        merge_order(entries)
            .map(|order| order.iter().map(|&place| entries[place].name.clone()).collect::<Vec<_>>().join(" "))
            .map_err(|cycle| cycle.to_string())
    };
    let order = |entries: &[PlanNode], expected: &str| assert_eq!(names(entries), Ok(expected.to_owned()));
    order(&[], "");
    order(&[sized("b", 1, &[]), sized("a", 1, &[])], "a b");
    order(&[sized("a", 9, &[]), sized("b", 1, &[])], "b a");
    order(&[sized("a", 1, &["b"]), sized("b", 9, &[]), sized("c", 5, &[])], "c b a");
    order(&[sized("a", 1, &["gone"])], "a");
    assert_eq!(
        names(&[sized("z", 1, &[]), sized("b", 1, &["PLAN-c"]), sized("c", 1, &["b"])]),
        Err("b → c → b".to_owned())
    );
    assert_eq!(names(&[sized("a", 1, &["a"])]), Err("a → a".to_owned()));
}

fn any_status() -> impl Strategy<Value = PlanProgress> {
    let all = [
        PlanProgress::Open,
        PlanProgress::Done,
        PlanProgress::Running,
        PlanProgress::Claimed,
        PlanProgress::Failed,
    ];
    prop::sample::select(all.to_vec())
}

fn any_entries() -> impl Strategy<Value = Vec<PlanNode>> {
    let pattern = "[ab*?]{1,4}|src/[*]{2}|src/a/|[*]{2}/b";
    let touches = prop::option::of(prop::collection::vec(pattern, 0..3));
    let one = (any_status(), prop::collection::vec(0..10_usize, 0..3), touches, 0..4_u64);
    prop::collection::vec(one, 0..9).prop_map(|rows| {
        let entry = |(place, (status, needs, touches, size)): (usize, (_, Vec<usize>, _, _))| PlanNode {
            name: format!("p{place}"),
            status,
            depends_on: needs.iter().map(|need| format!("p{need}")).collect(),
            touches,
            size,
        };
        rows.into_iter().enumerate().map(entry).collect()
    })
}

/// Whether work on `pattern` may change `path`: a name without a wildcard is a file or a folder, and only the disk knows which.
fn may_mean(pattern: &str, path: &str) -> bool {
    let is_below = || path.strip_prefix(pattern).is_some_and(|rest| rest.starts_with('/'));
    Glob::new(pattern).is_ok_and(|glob| glob.matches(path) || glob.is_literal() && is_below())
}

proptest! {
    #[test]
    fn everybody_is_in_one_list_and_only_proof_makes_ready(entries in any_entries()) {
        let found = readiness(&entries);
        let held = found.held_back.iter().map(|held| held.entry);
        let mut all: Vec<usize> = found.ready.iter().chain(&found.running).copied().chain(held).collect();
        all.sort_unstable();
        let open = (0..entries.len()).filter(|&place| entries[place].status != PlanProgress::Done);
        prop_assert_eq!(all, open.collect::<Vec<_>>());
        for &place in &found.ready {
            for name in &entries[place].depends_on {
                let other = entries.iter().find(|entry| entry.name == *name);
                prop_assert!(other.is_some_and(|other| other.status == PlanProgress::Done));
            }
        }
        prop_assert!(found.held_back.iter().all(|held| !held.reasons.is_empty()));
    }

    #[test]
    fn an_order_has_everybody_after_what_it_waits_for(entries in any_entries()) {
        let mut turned: Vec<PlanNode> = entries.iter().rev().cloned().collect();
        let names = |entries: &[PlanNode], order: Vec<usize>| {
            order.into_iter().map(|place| entries[place].name.clone()).collect::<Vec<_>>()
        };
        match merge_order(&entries) {
            Ok(order) => {
                let order = names(&entries, order);
                let at = |name: &str| order.iter().position(|own| own == name);
                for entry in &entries {
                    for need in &entry.depends_on {
                        prop_assert!(at(need) < at(&entry.name));
                    }
                }
                let again = merge_order(&turned).map(|order| names(&turned, order));
                prop_assert_eq!(again, Ok(order), "the order of the table does not count");
            }
            Err(cycle) => {
                for (place, plan) in cycle.plans.iter().enumerate() {
                    let next = &cycle.plans[(place + 1) % cycle.plans.len()];
                    let entry = entries.iter().find(|entry| entry.name == *plan);
                    prop_assert!(entry.is_some_and(|entry| entry.depends_on.contains(next)));
                }
                turned.retain(|entry| !cycle.plans.contains(&entry.name));
                prop_assert!(turned.len() < entries.len());
            }
        }
    }

    #[test]
    fn what_runs_together_never_meets(entries in any_entries(), path in "[ab]{1,4}(/[ab]{1,2})?|src/[ab]{1,2}|src/a/b") {
        let among: Vec<usize> = (0..entries.len()).collect();
        let together = safe_together(&entries, &among);
        let touch = |place: &usize| entries[*place].touches.iter().flatten().any(|pattern| may_mean(pattern, &path));
        prop_assert!(together.plans.iter().filter(|place| touch(place)).count() <= 1);
        for place in among {
            let is_named = together.plans.contains(&place)
                || together.unbounded.iter().any(|one| one.entry == place)
                || together.overlaps.iter().any(|one| one.plans.0 == place || one.plans.1 == place);
            prop_assert!(is_named, "nobody is left out in silence");
        }
        for overlap in &together.overlaps {
            let means = |pattern: &str| may_mean(pattern, &overlap.path);
            prop_assert!(means(&overlap.patterns.0) && means(&overlap.patterns.1), "{:?}", overlap);
        }
    }
}
