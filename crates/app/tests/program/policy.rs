//! The policy at work: who is asked, who is refused, what a written rule approves, and what a signature changes.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "these tests stand outside of the program: they make its files and start it"
)]

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::approval::status::{ApprovalStatus, RecordedEntry};
use planwright_core::plan::identity::Identity;
use planwright_engine::config::policy;
use planwright_engine::store::journal::{LedgerSummary, Statement, Store};

use crate::sample::sound;
use crate::test_env::{Place, Ran, run};

const RULE: &str = "[[auto]]\nname = \"parts\"\nagents = [\"shell\"]\nsteps_max = 1\n";

fn place(policy: &str) -> Place {
    let place = Place::harbor();
    let plan = sound("A good plan", 1).replace("Write part 1.\n", "echo done > part-1.txt\n");
    place.write("plans/good.md", plan).write("new.toml", policy);
    place.run(&["policy", "install", "new.toml"]).expect(0, &["installed"]);
    place
}

/// Runs the program as somebody.
fn by(place: &Place, name: &str, words: &[&str]) -> Ran {
    run(place.planwright(words).env("USER", name), b"")
}

/// The digest of the plan, as far as people type it.
fn digest(place: &Place) -> String {
    let ran = place.run(&["show", "good", "--json"]);
    let (_, rest) = ran.stdout.split_once("\"digest\":\"").expect("a digest");
    rest[..16].to_owned()
}

// a plan that nobody approved does not run; a written rule may approve it, and says its name.
#[test]
fn a_written_rule_approves_what_it_is_about_and_nothing_else() {
    let place = place(RULE);
    by(&place, "ada", &["propose", "good"]).expect(0, &["parts"]);
    by(&place, "ada", &["run", "good"]).expect(0, &["done"]);
    assert_eq!(place.read("part-1.txt"), "done\n");
    place.write("plans/large.md", sound("A large plan", 2));
    by(&place, "ada", &["propose", "large"]).expect(0, &[]);
    by(&place, "ada", &["run", "large"]).expect(3, &["is not approved"]);
}

// what was approved by one policy is not approved by another.
#[test]
fn an_approval_lapses_when_the_policy_changes() {
    let place = place(RULE);
    by(&place, "ada", &["propose", "good"]).expect(0, &["parts"]);
    place.write("other.toml", "[approval]\nneeded = 2\n");
    place.run(&["policy", "install", "other.toml"]).expect(0, &["lapsed"]);
    let ran = by(&place, "ada", &["run", "good"]);
    assert!(ran.code != 0 && ran.said().contains("policy"), "{ran:#?}");
    assert!(!place.path("part-1.txt").exists(), "nothing was started");
}

// C-33: the wrong approver is refused, and told who may.
#[test]
fn only_those_whom_the_policy_names_may_approve_and_as_many_as_it_says() {
    let place = place(
        "[approval]\nrequired_from = [\"ada\", \"group:leads\"]\nneeded = 2\nplanner_may_approve = false\n[groups]\nleads = [\"bo\", \"carl\"]\n",
    );
    by(&place, "carl", &["propose", "good"]).expect(0, &[]);
    let digest = digest(&place);
    let approve = |name: &str| by(&place, name, &["approve", "good", "--rev", &digest]);
    approve("mallory").expect(3, &["mallory may not approve", "rule: approval", "may approve: ada, bo"]);
    approve("Ada").expect(3, &["may not approve"]);
    approve("carl").expect(3, &["carl proposed this plan"]);
    approve("ada").expect(0, &["1 more"]);
    by(&place, "ada", &["run", "good"]).expect(3, &[]);
    approve("ada").expect(3, &["already"]);
    approve("bo").expect(0, &["approved"]);
    by(&place, "ada", &["run", "good"]).expect(0, &["done"]);
}

// C-11: an agent never approves, and never changes who may.
#[test]
fn an_agent_neither_approves_nor_changes_who_may() {
    let place = place(RULE);
    let digest = digest(&place);
    let as_agent =
        |words: &[&str]| run(place.planwright(words).env("CLAUDECODE", "1").env("USER", "ada"), b"");
    as_agent(&["approve", "good", "--rev", &digest]).expect(3, &["only a person may approve"]);
    as_agent(&["policy", "install", "new.toml"]).expect(3, &["only a person may change the policy"]);
    as_agent(&["policy"]).expect(0, &["parts"]);
}

#[test]
fn a_policy_that_cannot_be_read_approves_nothing() {
    let place = place(RULE);
    by(&place, "ada", &["propose", "good"]).expect(0, &["parts"]);
    let file = state(&place).join(policy::FILE);
    std::fs::write(&file, "[aproval]\n").expect("written");
    for words in [&["propose", "good"][..], &["run", "good"], &["policy"]] {
        let ran = by(&place, "ada", words);
        assert!(ran.code != 0 && ran.said().contains("did you mean `approval`?"), "{words:?} {ran:#?}");
    }
    assert!(!place.path("part-1.txt").exists(), "nothing was started");
}

/// The state folder of the project.
fn state(place: &Place) -> PathBuf {
    let states = place.project().with_file_name("home").join("state/planwright");
    let folders = std::fs::read_dir(states).expect("states").map(|entry| entry.expect("an entry").path());
    folders.into_iter().find(|folder| folder.join("policy.toml").exists()).expect("a state folder")
}

/// A policy that wants ada's signature; with the list of signers that the engine's tests have.
fn signed_place() -> Place {
    let key = include_str!("../../../engine/tests/signature/ed25519.pub");
    let place = Place::harbor();
    let plan = sound("A good plan", 1).replace("Write part 1.\n", "echo done > part-1.txt\n");
    place.write("plans/good.md", plan).write("allowed_signers", format!("ada {key}"));
    place.write("new.toml", "[approval]\nrequired_from = [\"ada\"]\nsigned = true\n");
    place.run(&["policy", "install", "new.toml"]).expect(0, &["installed"]);
    place
}

/// Writes an approval into the record, as a program of the same user could.
fn forge(place: &Place, signature: Option<&str>) {
    let store = Store::open_folder(&state(place)).expect("the store");
    let plan = Path::new("plans/good.md");
    let mut ledger = store.ledger(plan).expect("a ledger");
    let standing = ApprovalStatus::of(&ledger).expect("it fits");
    let newest = standing.newest().expect("a revision");
    let loaded = policy::check(&state(place).join(policy::FILE)).expect("a policy");
    let forged = LedgerEntry::Approved {
        revision: newest.number,
        subject: newest.subject.clone(),
        by: Identity::person("ada"),
        way: "rev".to_owned(),
        note: String::new(),
        rule: "approval".to_owned(),
        needed: 1,
        policy: loaded.digest,
        until_ms: None,
        signature: signature.map(str::to_owned),
    };
    let after = ledger.last().map_or(0, |said| said.seq);
    ledger.push(RecordedEntry { seq: after + 1, at_ms: 1, entry: forged.clone() });
    let summary = LedgerSummary::of(&ApprovalStatus::of(&ledger).expect("it fits"));
    let entries = [forged];
    let statement = Statement { after, entries: &entries, blobs: Vec::new(), at_ms: 1, summary };
    store.say(plan, statement).expect("said");
}

// P-11: where signatures are asked for, an approval that somebody wrote into the record starts nothing.
#[test]
fn an_approval_that_was_written_into_the_record_starts_nothing() {
    let other = include_str!("../../../engine/tests/signature/ed25519.sig");
    for signature in [None, Some("-----BEGIN SSH SIGNATURE-----\n"), Some(other)] {
        let place = signed_place();
        by(&place, "claude", &["propose", "good"]).expect(0, &[]);
        let digest = digest(&place);
        by(&place, "ada", &["approve", "good", "--rev", &digest])
            .expect(3, &["is not signed", "may approve: ada"]);
        forge(&place, signature);
        let ran = by(&place, "ada", &["run", "good"]);
        assert!(ran.code != 0 && ran.said().contains("is not signed"), "{signature:?} {ran:#?}");
        assert!(!place.path("part-1.txt").exists(), "nothing was started");
    }
    // The twin: where nobody asks for a signature, the same forgery goes through. That is what an unsigned approval is worth.
    let place = place("[approval]\nrequired_from = [\"ada\"]\n");
    by(&place, "claude", &["propose", "good"]).expect(0, &[]);
    forge(&place, None);
    by(&place, "ada", &["run", "good"]).expect(0, &["done"]);
}

// P-11: a signed approval counts if the key is theirs, and only then.
#[test]
fn a_signed_approval_starts_what_it_is_for() {
    let programs = ["/usr/bin/ssh-keygen", "/bin/ssh-keygen", "/usr/local/bin/ssh-keygen"];
    let Some(program) = programs.iter().find(|path| Path::new(path).exists()) else {
        eprintln!(
            "ssh-keygen is not on this machine: no approval was signed; engine/tests/signature.rs has some that were"
        );
        return;
    };
    let place = signed_place();
    let home = place.project().with_file_name("home");
    symlink(program, place.project().with_file_name("bin").join("ssh-keygen")).expect("linked");
    for name in ["ada", "mallory"] {
        let mut make = Command::new(program);
        make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(home.join(name)).stdin(Stdio::null());
        assert!(make.status().expect("started").success());
    }
    let key = std::fs::read_to_string(home.join("ada.pub")).expect("a key");
    place.write("allowed_signers", format!("ada namespaces=\"planwright\" {key}"));
    place.run(&["policy", "install", "new.toml"]).expect(0, &["installed"]);
    by(&place, "claude", &["propose", "good"]).expect(0, &[]);
    let digest = digest(&place);
    let sign =
        |name: &str, key: &str| by(&place, name, &["approve", "good", "--rev", &digest, "--sign", key]);
    let (ada, mallory) = (home.join("ada"), home.join("mallory"));
    sign("ada", &mallory.display().to_string()).expect(3, &["is not in"]);
    sign("mallory", &ada.display().to_string()).expect(3, &["may not approve"]);
    place.run(&["config", "set", "approve.key", "~/ada"]).expect(2, &["approve.key"]);
    place.run(&["config", "set", "approve.key", "~/ada", "--user"]).expect(0, &[]);
    by(&place, "ada", &["approve", "good", "--rev", &digest]).expect(0, &["approved"]);
    by(&place, "bo", &["run", "good"]).expect(0, &["done"]);
}
