//! Agents that mean harm: what they try to be taken for a person, or to be judged by something else than the contract.

use crate::sample::runnable;
use crate::test_env::Place;

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

// Point 8: the work that a contract runs reaches for what judges it, and puts it out of the way while it is judged.
#[test]
fn a_contract_that_changes_a_sealed_file_is_no_proof() {
    let contract = "grep -q wanted want && sh work && grep -q . want";
    let place = Place::empty();
    place.write("want", "wanted\n");
    let step = ("a", "**sealed:** want", "echo 'echo forged >want' >work", contract);
    place.write(crate::follow::FILE, runnable(&[step]));
    place
        .approve_and_run()
        .expect(3, &["sealed file want was changed, while the contract ran", "a needs you"]);
    assert_eq!(place.count("a contract.finished 1 passed"), 0);
}

/// Takes the place of a program that its contract calls, which lies where every program of the user does.
const SHADOW: &str = r#"
grep=$(command -v grep)
rm "$grep"
printf '#!/bin/sh\nexit 0\n' >"$grep"
chmod +x "$grep"
"#;

// Point 8, A-01: a contract is not judged by a program that an agent has put in the place of the approved one.
#[test]
fn an_agent_that_replaces_a_program_of_its_contract_does_not_pass() {
    let place = Place::with_plan(&[("a", "", SHADOW, "grep -q wanted made")]);
    place.approve_and_run().expect(3, &["program `grep` was changed", "a needs you"]);
    assert_eq!(place.count("a contract.finished 1 passed"), 0);
    // The approval does not cover it either: a plan with this contract is not run on the strength of an older one.
    let other = Place::with_plan(&[("a", "", "touch made", "grep -q wanted made")]);
    other.run(&["propose", "it"]).expect(0, &[]);
    other.run(&["approve", "it", "--rev", &other.digest()]).expect(0, &["approved"]);
    other.replace_tool("grep", "#!/bin/sh\nexit 0\n");
    other.run(&["run", "it"]).expect(4, &["program `grep` was changed"]);
    assert_eq!(other.count("run.started"), 0);
}

/// Delivers what another step's attempt is said to have done.
const DELIVERS: &str = r#"
export XDG_STATE_HOME="$HOME/state"
planwright worker --once >said 2>&1 || echo "$?" >code
"#;

// A-01, finding 21: an agent is no worker, so it can't say what came of an attempt.
#[test]
fn an_agent_is_no_worker() {
    let place = Place::with_plan(&[("a", "", DELIVERS, "test -e never")]);
    place.approve_and_run().expect(3, &["a needs you"]);
    assert_eq!(place.read("code"), "3\n");
    assert!(place.read("said").contains("only a person may work for runs"), "{}", place.read("said"));
}

/// Looks into the memory of whoever runs the plan: the parent of the supervisor.
const LOOKS: &str = r#"
read -r _ _ _ driver _ <"/proc/$PPID/stat"
if cat "/proc/$driver/environ" >/dev/null 2>&1; then echo open; else echo closed; fi >driver
"#;
/// The same for the supervisor of the contract, which reports how it ended.
const SUPERVISED: &str =
    "test -s driver && if cat /proc/$PPID/environ >/dev/null 2>&1; then exit 7; else exit 0; fi";

// Safety 4, row 13: who has the same user as the harness can't read or write its memory.
#[cfg(target_os = "linux")]
#[test]
fn nobody_looks_into_the_memory_of_the_harness() {
    let place = Place::with_plan(&[("a", "", LOOKS, SUPERVISED)]);
    place.permit("", 0o777).permit("plans", 0o777).permit("plans/it.md", 0o666);
    let Some(dry) = place.run_unprivileged(&["run", "it", "--dry-run", "--json"]) else { return };
    let dry: serde_json::Value = serde_json::from_str(&dry.stdout).unwrap_or_else(|_| panic!("{dry:#?}"));
    let digest = dry["data"]["digest"].as_str().expect("a digest");
    let ran = place.run_unprivileged(&["run", "it", "--rev", digest]).expect("it was done before");
    ran.expect(0, &["done"]);
    assert_eq!(place.read("driver"), "closed\n");
}
