//! Settings from the outside: where they come from, which one wins, and that a run goes by them.

use crate::sample::sound;
use crate::test_env::{Place, Ran, run};

/// A project with one step that reads a topic.
fn reader(name: &str) -> Place {
    let fields = format!("**target:** coder\n**reads:**\n- topic:{name}\n- file:long.txt");
    let place = Place::with_plan(&[("ask", &fields, "Answer.", "test -s prompt")]);
    place.write("long.txt", "é".repeat(4000));
    place
}

const PEN: &str = "[roles]\ncoder = \"pen\"\n[agents.pen]\ncommand = [\"bash\", \"-c\", \"cat >prompt\"]\n";

// a topic that is no page comes from the command of the settings; one that fails is missing, and said to be.
#[test]
fn a_topic_comes_from_its_page_or_from_the_command() {
    let place = reader("auth");
    place.write("planwright.toml", format!("{PEN}[topics]\ncommand = [\"bash\", \"topic.sh\", \"--\"]\n"));
    place.write("topic.sh", "echo \"in $PWD\"; echo \"about $*\"\n");
    place.run(&["verify", "it"]).expect(0, &[]);
    place.approve_and_run().expect(0, &["1 of 1 step passed"]);
    let prompt = place.read("prompt");
    let expected = format!("## topic:auth\n\nin {}\nabout -- auth\n", place.project().display());
    assert!(prompt.contains(&expected), "{prompt}");

    let place = reader("auth");
    place.write("planwright.toml", format!("{PEN}[topics]\ncommand = [\"bash\", \"topic.sh\"]\n"));
    place.write("topic.sh", "echo half; echo 'no such topic' >&2; exit 3\n");
    place.approve_and_run().expect(0, &["1 of 1 step passed"]);
    let prompt = place.read("prompt");
    assert!(prompt.contains("[missing: `bash` exited with 3: no such topic]"), "{prompt}");
    assert!(!prompt.contains("half"), "{prompt}");

    let place = reader("auth");
    place.write("planwright.toml", format!("{PEN}[topics]\ncommand = [\"bash\", \"topic.sh\"]\n"));
    place.write("topic.sh", "touch asked\n").write(".planwright/topics/auth.md", "The page.\n");
    place.approve_and_run().expect(0, &[]);
    assert!(place.read("prompt").contains("The page."));
    place.bash("test ! -e asked").expect(0, &[]);
}

// checking a plan runs nothing that the project brings.
#[test]
fn the_checker_does_not_run_the_topic_command() {
    let place = reader("auth");
    place.write("planwright.toml", format!("{PEN}[topics]\ncommand = [\"bash\", \"-c\", \"touch asked\"]\n"));
    place.run(&["verify", "it"]).expect(0, &[]);
    place.bash("test ! -e asked").expect(0, &[]);
}

#[test]
fn what_an_agent_is_given_to_read_ends_where_the_settings_say() {
    let place = reader("gone");
    place.write("planwright.toml", format!("{PEN}[run]\ncontext_bytes = 2001\n"));
    place.approve_and_run().expect(0, &[]);
    let prompt = place.read("prompt");
    assert!(prompt.contains("[6000 more bytes not shown]"), "{prompt}");
    assert_eq!(prompt.matches('é').count(), 1000);
}

// a contract has a deadline, from the settings or of its own; missing it is a failure, not a crash.
#[test]
fn a_contract_that_hangs_fails_at_its_deadline() {
    let slow = ("slow", "", "true", "echo \"here: $PWD\"; sleep 60");
    let place = Place::with_plan(&[slow]);
    let digest = place.digest();
    place.run(&["config", "run.contract_seconds"]).expect(0, &["run.contract_seconds  60  default"]);
    let words = ["run", "it", "--rev", &digest, "--config", "run.contract_seconds=1"];
    let here = format!("here: {}", place.project().display());
    place.run(&words).expect(3, &["timed out after 1 s", "slow needs you", &here]);
    let own = ("slow", "**contract_timeout:** 1 s", "true", "sleep 60");
    let place = Place::with_plan(&[own]);
    place.approve_and_run().expect(3, &["timed out after 1 s", "slow needs you"]);
}

#[test]
fn an_attempt_that_hangs_ends_at_the_deadline_of_the_settings() {
    let place = Place::with_plan(&[("slow", "", "sleep 60", "test -e never")]);
    place.write("planwright.toml", "[run]\nstep_seconds = 1\n");
    place.approve_and_run().expect(3, &["timed out after 1 s"]);
}

/// What `config run.jobs` says in this environment.
fn jobs(place: &Place, variables: &[(&str, &str)], words: &[&str]) -> Ran {
    let mut command = place.planwright(&[&["config", "run.jobs"], words].concat());
    command.envs(variables.iter().copied());
    run(&mut command, b"")
}

#[test]
fn each_source_of_a_setting_beats_the_next() {
    let place = Place::empty();
    let home = place.path("../home").display().to_string();
    let elsewhere = [("XDG_CONFIG_HOME", home.as_str())];
    jobs(&place, &[], &[]).expect(0, &["run.jobs  1  default"]);
    place.run(&["config", "set", "--user", "run.jobs", "2"]).expect(0, &["/.config/planwright/config.toml"]);
    jobs(&place, &[], &[]).expect(0, &["run.jobs  2  user"]);
    jobs(&place, &elsewhere, &[]).expect(0, &["run.jobs  1  default"]);
    place.run(&["config", "set", "run.jobs", "3"]).expect(0, &["planwright.toml"]);
    jobs(&place, &[], &[]).expect(0, &["run.jobs  3  project"]);
    let four = [("PLANWRIGHT_RUN_JOBS", "4")];
    jobs(&place, &four, &[]).expect(0, &["run.jobs  4  env"]);
    jobs(&place, &four, &["--config", "run.jobs=5"]).expect(0, &["run.jobs  5  flag"]);
    // A flag of a command's own is stronger still, and none of them is silently wrong.
    jobs(&place, &[("PLANWRIGHT_RUN_JOBS", "0")], &[]).expect(2, &["PLANWRIGHT_RUN_JOBS", "from 1 to 256"]);
    jobs(&place, &[("PLANWRIGHT_RUN_JOB", "4")], &[]).expect(2, &["did you mean `PLANWRIGHT_RUN_JOBS`?"]);
    jobs(&place, &[], &["--config", "run.job=5"]).expect(2, &["did you mean `run.jobs`?"]);
    jobs(&place, &[], &["--config", "run.jobs"]).expect(2, &["KEY=VALUE"]);
}

#[test]
fn a_setting_of_the_user_is_refused_as_one_of_the_project_is() {
    let place = Place::empty();
    place.write("../home/.config/planwright/config.toml", "[run]\n\njbos = 2\n").write("a.md", sound("A", 1));
    for words in [&["list"][..], &["verify", "a.md"], &["config"]] {
        let ran = place.run(words);
        ran.expect(
            2,
            &[
                "invalid configuration /",
                "/.config/planwright/config.toml",
                "line 3: unknown setting `run.jbos`",
            ],
        );
    }
}
