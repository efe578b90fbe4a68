//! Tests of the step graph, by example and against brute force.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, prop_assert, prop_assert_eq, proptest};

use super::Graph;

/// `"1<0 2<0,1"`: 1 needs 0; 2 needs 0 and 1. A bare number is a step that needs nothing.
fn graph(text: &str) -> Graph {
    let number = |text: &str| text.parse::<usize>().expect("a number");
    let mut needs: Vec<Vec<usize>> = Vec::new();
    for word in text.split_whitespace() {
        let (step, list) = word.split_once('<').unwrap_or((word, ""));
        let list: Vec<usize> = list.split(',').filter(|need| !need.is_empty()).map(number).collect();
        let count = list.iter().copied().chain([number(step)]).max().map_or(0, |last| last + 1);
        needs.resize(needs.len().max(count), Vec::new());
        needs[number(step)].extend(list);
    }
    Graph::new(needs)
}

fn chain(count: usize) -> Graph {
    Graph::new((0..count).map(|step| step.checked_sub(1).into_iter().collect()).collect())
}

#[test]
fn repeated_needs_count_once_and_are_turned_round() {
    let graph = graph("3<2,0,2,0 1<0 2<1");
    assert_eq!(graph.needs(3), [0, 2]);
    assert_eq!(graph.dependents(0), [1, 3]);
    assert_eq!(graph.dependents(3), [] as [usize; 0]);
    assert_eq!((graph.len(), graph.is_empty()), (4, false));
    assert!(Graph::new(Vec::new()).is_empty());
}

#[test]
#[should_panic(expected = "step 0 needs unknown step 7")]
fn a_need_that_is_no_step_is_a_bug() {
    Graph::new(vec![vec![7]]);
}

#[test]
fn a_cycle_is_named_by_its_shortest_witness() {
    let cases: [(&str, &[&[usize]]); 10] = [
        ("", &[]),
        ("1<0 2<1", &[]),
        ("0<0", &[&[0]]),
        ("0<1 1<0", &[&[0, 1]]),
        // Each needs the next: 0 needs 2, 2 needs 1, 1 needs 0.
        ("0<2 2<1 1<0", &[&[0, 2, 1]]),
        // The long way round has five, the shortcut through 3 and 4 has two.
        ("0<1 1<2 2<3 3<4 4<0,3", &[&[3, 4]]),
        // Two of the same length: the one with the smaller index.
        ("0<1 1<0,2 2<1", &[&[0, 1]]),
        // Components are ordered by their smallest index, even if that is not in their shortest cycle.
        ("0<4 4<5 5<4,0 1<2 2<1 3", &[&[4, 5], &[1, 2]]),
        // A step that needs itself is the shortest cycle of its component.
        ("0<1 1<0,1", &[&[1]]),
        ("6<6 2<3 3<2 4<2,6", &[&[2, 3], &[6]]),
    ];
    for (text, expected) in cases {
        assert_eq!(graph(text).cycles(), expected, "{text}");
    }
}

#[test]
fn the_order_keeps_to_the_needs_and_then_to_the_index() {
    let cases: [(&str, Option<&[usize]>); 6] = [
        ("", Some(&[])),
        ("0 1 2", Some(&[0, 1, 2])),
        ("0<3 1 2 3<2", Some(&[1, 2, 3, 0])),
        ("0<2 1<0", Some(&[2, 0, 1])),
        ("0 1<1", None),
        ("0 1<2 2<1 3<2", None),
    ];
    for (text, expected) in cases {
        assert_eq!(graph(text).order().as_deref(), expected, "{text}");
    }
}

#[test]
fn waves_leave_out_circles_and_what_waits_for_them() {
    let cases: [(&str, &[&[usize]]); 5] = [
        ("", &[]),
        ("0 1 2", &[&[0, 1, 2]]),
        ("0<3 1<3 2<0,1 3", &[&[3], &[0, 1], &[2]]),
        ("0 1<0 2<0,1 3<0", &[&[0], &[1, 3], &[2]]),
        ("0 1<2 2<1 3<2,0 4<0", &[&[0], &[4]]),
    ];
    for (text, expected) in cases {
        assert_eq!(graph(text).waves(), expected, "{text}");
    }
}

#[test]
fn the_critical_path_is_the_longest_chain_with_the_smallest_indices() {
    let cases: [(&str, &[usize]); 7] = [
        ("", &[]),
        ("0 1", &[0]),
        ("0<2 1<2 2", &[2, 0]),
        ("1<0 2<0 3<1 4<2", &[0, 1, 3]),
        ("0 1 2<1 3<0 4<2,3", &[0, 3, 4]),
        ("0<0 1<0 2 3<2", &[2, 3]),
        ("0<1 1<0", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(graph(text).critical_path(), expected, "{text}");
    }
}

#[test]
fn a_need_that_follows_from_others_is_dropped() {
    let cases = [
        ("1<0 2<0,1", "1<0 2<1"),
        ("0<3 3<2 2<1 0<1,2", "0<3 3<2 2<1"),
        ("1<0 2<0 3<0,1,2", "1<0 2<0 3<1,2"),
        ("0<1 1<0 2<0,1", "0<1 1<0 2<0,1"),
    ];
    for (text, expected) in cases {
        assert_eq!(graph(text).reduced(), graph(expected), "{text}");
    }
}

#[test]
fn steps_of_a_circle_come_before_each_other_and_themselves() {
    let reach = graph("0<1 1<0 2<0 3").reach();
    assert!(reach.is_before(0, 1) && reach.is_before(1, 0) && reach.is_before(0, 0));
    assert!(reach.is_before(1, 2) && !reach.is_before(2, 1) && !reach.is_before(2, 2));
    assert!(reach.are_ordered(2, 1) && reach.are_ordered(1, 2) && !reach.are_ordered(2, 3));
}

#[test]
fn a_chain_and_a_ring_of_twenty_thousand_need_no_stack() {
    let count = 20_000;
    let long = chain(count);
    assert_eq!(long.order().map(|order| order.len()), Some(count));
    assert_eq!((long.waves().len(), long.critical_path().len()), (count, count));
    assert_eq!(long.cycles(), [] as [Vec<usize>; 0]);
    assert_eq!(long.reduced(), long);
    assert!(long.reach().is_before(0, count - 1));
    let ring = Graph::new((0..count).map(|step| vec![(step + 1) % count]).collect());
    assert_eq!(ring.cycles(), [(0..count).collect::<Vec<_>>()]);
    assert_eq!(ring.order(), None);
}

#[test]
fn five_hundred_steps_that_need_all_earlier_ones_reduce_to_a_chain() {
    assert_eq!(Graph::new((0..500).map(|step| (0..step).collect()).collect()).reduced(), chain(500));
}

fn any_graph() -> impl Strategy<Value = Graph> {
    (1_usize..8).prop_flat_map(|count| vec(vec(0..count, 0..3), count)).prop_map(Graph::new)
}

/// `distance[a][b]`: the fewest needs to follow from `a` to `b`, at least one (Floyd and Warshall).
fn distances(graph: &Graph) -> Vec<Vec<usize>> {
    let steps = 0..graph.len();
    let mut distance = vec![vec![usize::MAX / 2; graph.len()]; graph.len()];
    for step in steps.clone() {
        for &need in graph.needs(step) {
            distance[step][need] = 1;
        }
    }
    for via in steps.clone() {
        for from in steps.clone() {
            for to in steps.clone() {
                distance[from][to] = distance[from][to].min(distance[from][via] + distance[via][to]);
            }
        }
    }
    distance
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn small_graphs_agree_with_brute_force(graph in any_graph()) {
        let distance = distances(&graph);
        let is_before = |earlier: usize, later: usize| distance[later][earlier] < usize::MAX / 2;
        let reach = graph.reach();
        for a in 0..graph.len() {
            for b in 0..graph.len() {
                prop_assert_eq!(reach.is_before(a, b), is_before(a, b));
            }
        }
        let cycles = graph.cycles();
        let knotted = (0..graph.len()).filter(|&step| is_before(step, step));
        let heads = knotted.filter(|&step| (0..step).all(|other| !(is_before(other, step) && is_before(step, other))));
        prop_assert_eq!(cycles.len(), heads.clone().count());
        for (cycle, head) in cycles.iter().zip(heads) {
            let knot = (0..graph.len()).filter(|&step| is_before(step, head) && is_before(head, step));
            prop_assert_eq!(Some(cycle.len()), knot.map(|step| distance[step][step]).min());
            prop_assert_eq!(cycle.iter().min(), cycle.first());
            for (at, &step) in cycle.iter().enumerate() {
                prop_assert!(graph.needs(step).contains(&cycle[(at + 1) % cycle.len()]));
            }
        }
        prop_assert_eq!(graph.order().is_none(), !cycles.is_empty());
    }

    #[test]
    fn a_reduced_graph_orders_the_same_and_no_need_of_it_can_go(graph in any_graph()) {
        let reduced = graph.reduced();
        prop_assert_eq!(reduced.reach(), graph.reach());
        let spare = |step: usize| reduced.needs(step).iter().any(|need| {
            reduced.needs(step).iter().any(|other| reduced.reach().is_before(*need, *other))
        });
        if graph.order().is_some() {
            prop_assert!(!(0..graph.len()).any(spare));
        }
    }
}
