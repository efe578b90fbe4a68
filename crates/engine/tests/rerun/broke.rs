//! Contracts that passed once and fail now.

use planwright_core::audit::rerun::Broke;
use planwright_core::run::event::Event;
use planwright_engine::audit::rerun::{PlanAudit, RerunOptions};

use crate::site::{Site, passed, words};

const BEGIN: u64 = 1_700_000_000;
const TWO: &str = "grep -q hello app.txt";

/// Seven steps of which the second makes `app.txt` and the seventh spoils it.
fn seven() -> Site {
    let site = Site::new();
    let titles = ["One", "Two", "Three", "Four", "Five", "Six", "Seven"];
    let steps: Vec<(&str, &str, &str)> =
        titles.iter().map(|&title| (title, "", if title == "Two" { TWO } else { "true" })).collect();
    site.plan(&steps);
    site
}

/// When a step began, in seconds since 1970.
fn at(step: u64) -> u64 {
    BEGIN + step * 100
}

fn run(site: &Site, commits: &[u64]) {
    let mut events: Vec<(u64, Event)> = Vec::new();
    for (step, id) in (1..).zip(["one", "two", "three", "four", "five", "six", "seven"]) {
        let (file, text) = match step {
            2 => ("app.txt".to_owned(), "hello\n"),
            7 => ("app.txt".to_owned(), "spoiled\n"),
            other => (format!("file-{other}"), "work\n"),
        };
        site.write(&file, text);
        if commits.contains(&step) {
            site.commit_at(&format!("work of {id}"), at(step) + 8);
        }
        let contract = if step == 2 { TWO } else { "true" };
        events.extend(passed(id, at(step) * 1000, (&[file.as_str()], contract, "")));
    }
    site.record(&events);
}

fn sentence(audit: &PlanAudit) -> String {
    assert_eq!(words(audit)[1], "2 BROKEN", "{audit:#?}");
    let broke = audit.steps[1].broke.as_ref().expect("somebody broke it");
    format!("step 2 {}", broke.sentence(|id| audit.number(id)))
}

// M-09: "step 2 broke at step 7": by who changed a file that the contract names.
pub(crate) fn two_broke_at_seven_by_what_is_recorded() {
    let site = seven();
    run(&site, &[]);
    let audit = site.audit(&RerunOptions::default());
    assert_eq!(sentence(&audit), "step 2 broke at step 7 `seven`, which changed app.txt");
    assert_eq!(audit.steps.iter().filter(|step| step.settled.is_fault()).count(), 1);
}

// M-09: by running the contract on the commits in between, where the steps left some.
pub(crate) fn two_broke_at_seven_by_trying_commits() {
    let site = seven();
    run(&site, &[1, 2, 3, 4, 5, 6, 7]);
    let audit = site.audit(&RerunOptions::default());
    let said = sentence(&audit);
    assert!(said.starts_with("step 2 broke at step 7 `seven`: passes before commit "), "{said}");
    let Some(Broke::Commit { subject, .. }) = &audit.steps[1].broke else { panic!("{audit:#?}") };
    assert_eq!(subject, "work of seven");
    // Where the work was committed once, by somebody else, nothing can be tried; what is recorded still tells.
    let site = seven();
    run(&site, &[7]);
    assert_eq!(
        sentence(&site.audit(&RerunOptions::default())),
        "step 2 broke at step 7 `seven`, which changed app.txt"
    );
    // Spoiled after the run by a person, who did not commit it.
    let site = seven();
    run(&site, &[1, 2, 3, 4, 5, 6]);
    site.write("app.txt", "hello again\n");
    site.commit_at("put right", at(8));
    site.write("app.txt", "by hand\n");
    let said = sentence(&site.audit(&RerunOptions::default()));
    assert_eq!(said, "step 2 broke after the last commit, on which it passes");
    // What the seventh did is in no commit, and the last commit is about something else.
    let site = seven();
    run(&site, &[1, 2, 3, 4, 5, 6]);
    site.write("else", "");
    site.git(&["add", "else"]);
    site.git_at(&["commit", "--quiet", "-m", "else"], at(8));
    let said = sentence(&site.audit(&RerunOptions::default()));
    assert_eq!(said, "step 2 broke at step 7 `seven`, which changed app.txt");
}

// A contract that was made easier does not inherit the receipt of the one that was run.
pub(crate) fn another_contract_under_the_same_receipt_is_named() {
    let site = seven();
    run(&site, &[]);
    let plan = std::fs::read_to_string(site.root().join("plan.md")).expect("read");
    site.write("plan.md", &plan.replace(TWO, "test -e app.txt"));
    assert_eq!(words(&site.audit(&RerunOptions::default()))[1], "2 MOVED");
    let code = plan.replace(&format!("{TWO}\n```\n"), &format!("{TWO}\n```\nexit_code == 1\n"));
    site.write("plan.md", &code);
    assert_eq!(
        words(&site.audit(&RerunOptions::default()))[1],
        "2 MOVED",
        "another code under the same command"
    );
}
