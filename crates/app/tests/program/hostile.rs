//! Agents that mean harm: what they try to be taken for a person, or to be judged by something else than the contract.

use crate::place::Place;
use crate::sample::runnable;

/// Wipes every sign of an agent, leaves the session and its parents, and then does what only a person may.
const WIPED: &str = r#"
export XDG_STATE_HOME="$HOME/state"
try() {
    code=0
    /usr/bin/env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" \
        /usr/bin/setsid --wait planwright "$@" </dev/null >>said 2>&1 || code=$?
    echo "$code $1" >>codes
}
( ( try answer it/a --skip -m "done by hand"; try run other --rev 0123456789; echo over >over ) & )
until [ -e over ]; do sleep 0.01; done
"#;

// A-01, A-19: what planwright has started is known by what is above it, whatever it does to its own environment.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_that_wipes_its_environment_is_still_no_person() {
    let place = Place::with_plan(&[("a", "", WIPED, "test -e never")]);
    place.write("plans/other.md", runnable(&[("b", "", "touch b", "test -e b")]));
    place.approve_and_run().expect(3, &["a needs you"]);
    assert_eq!(place.read("codes"), "3 answer\n3 run\n", "{}", place.read("said"));
    assert_eq!(place.read("said").matches("only a person may").count(), 2, "{}", place.read("said"));
}

/// Does what only a person may where nothing can be seen of the processes above, and notes the limit that it has.
const APART: &str = r#"
export XDG_STATE_HOME="$HOME/state"
namespace="/usr/bin/unshare --user --map-root-user --pid --fork --mount-proc"
ulimit -Hx >limit
$namespace /bin/true 2>/dev/null && echo apart >apart
$namespace /usr/bin/env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" \
    planwright approve other --rev "$(cat digest)" </dev/null >said 2>&1
true
"#;

// A-01, C-11: in a namespace of its own, where no process above it can be seen, an agent still is no person.
#[cfg(target_os = "linux")]
#[test]
fn an_agent_that_hides_its_ancestors_is_still_no_person() {
    let place = Place::with_plan(&[("a", "", APART, "test -e never")]);
    place.write("plans/other.md", runnable(&[("b", "", "touch b", "test -e b")]));
    place.run(&["propose", "other"]).expect(0, &["r1"]);
    let data = place.run(&["run", "other", "--dry-run", "--json"]).stdout;
    let data: serde_json::Value = serde_json::from_str(&data).expect("an envelope");
    let digest = data["data"]["digest"].as_str().expect("a digest");
    place.write("digest", digest);
    place.approve_and_run().expect(3, &["a needs you"]);
    assert_eq!(place.read("limit"), "4611686018427387903\n");
    if place.has("apart") {
        assert!(place.read("said").contains("RLIMIT_LOCKS is 4611686018427387903"), "{}", place.read("said"));
    }
    // Whoever has that limit, or a lower one, is refused with nothing above it that would tell, and learns the way out.
    for limit in ["4611686018427387903", "200000"] {
        let limited = format!("ulimit -x {limit} && planwright approve other --rev {digest}");
        place.bash(&limited).expect(3, &["only a person may", limit, "ulimit -Hx"]);
    }
    place
        .bash(&format!("ulimit -x 4611686018427387904 && planwright approve other --rev {digest}"))
        .expect(0, &["approved"]);
}

// The setup prepares what the contract looks at, each time that it looks; where it fails the work is not judged as done.
#[test]
fn a_setup_runs_before_every_look_and_must_work() {
    let setup = "**setup:** touch prepared && test -e made";
    let place = Place::with_plan(&[("a", setup, "touch made", "test -e prepared")]);
    place.approve_and_run().expect(0, &["done"]);
    let place = Place::with_plan(&[("a", setup, "true", "test -e prepared")]);
    place.approve_and_run().expect(3, &["the setup failed (exit 1)", "a needs you"]);
    assert_eq!(place.count("a contract.finished 1 failed"), 1);
}
