//! Literate suites: each page in `tests/verify/` is a list of plans and exactly the diagnostics that they must raise.
//! `UPDATE=1 cargo test -p planwright-core --test verify` writes what is raised into the pages; read the difference.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use planwright_core::syntax::source::Source;
use planwright_core::verify::{BashFault, Facts, Study, VerifyLimits, verify};

use crate::page::{self, Case};

const PROGRAMS: &str = "bash test grep cat ls sh cargo python3 git make sed awk wc head tail sort diff find xargs env \
                        timeout sleep true false echo printf";
const AGENTS: &str = "coder reviewer planner shell command human claude codex gemini pi";

/// The facts that a `world` block lists, on top of what every machine has.
fn facts(world: &str, commands: &BTreeSet<String>) -> Facts {
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<BTreeSet<_>>();
    let mut facts = Facts { programs: words(PROGRAMS), agents: words(AGENTS), ..Facts::default() };
    for line in world.lines() {
        let (key, value) = line.split_once(':').expect("a fact is `key: value`");
        let items = value.split(',').map(|item| item.trim().to_owned());
        match key {
            "files" => {
                for file in items {
                    let folders = file.match_indices('/').map(|(at, _)| file[..at].to_owned());
                    facts.paths.extend(folders.collect::<Vec<_>>());
                    facts.paths.insert(file);
                }
            }
            "place" => {}
            "programs" => facts.programs.extend(items),
            "agents" => facts.agents.extend(items),
            "topics" => facts.topics.extend(items),
            "tools" => facts.tools.get_or_insert_default().extend(items),
            "passed" => facts.passed.extend(items.map(|id| (id, "run on main@4f1c8aa, exit 0".to_owned()))),
            "bash" => {
                let (line, message) = value.trim().split_once(": ").expect("`bash: LINE: MESSAGE`");
                let fault =
                    BashFault { line: line.parse().expect("a line number"), message: message.to_owned() };
                for command in commands {
                    facts.bash.insert(command.clone(), vec![fault.clone()]);
                }
            }
            other => panic!("unknown fact `{other}`"),
        }
    }
    facts
}

fn raised(case: &Case) -> String {
    let (mut world, mut plan) = ("", "");
    for (kind, text) in &case.given {
        match kind.as_str() {
            "world" => world = text,
            "plan" => plan = text,
            other => panic!("unknown block `{other}` in: {}", case.claim),
        }
    }
    assert_eq!(case.kind, "diagnostics", "{}", case.claim);
    // What sets the files of a folder apart can't be seen, so a page shows the sign for it.
    let plan = plan.replace('\u{241c}', "\u{1c}");
    // Where a plan lies tells its dialect; without that every page is about native plans.
    let place = world.lines().find_map(|line| line.strip_prefix("place: "));
    let source = match place {
        Some(place) => Source::new(place, plan).recognised(None),
        None => Source::new("plan.md", plan),
    };
    let draft = source.draft();
    let study = Study::of(&source, &draft);
    let checked = verify(&study, &facts(world, &study.questions().commands), &VerifyLimits::default());
    let mut lines = String::new();
    for diagnostic in &checked.diagnostics {
        let start = diagnostic.primary.span.start;
        let file = match source.parts() {
            [_] => String::new(),
            _ => format!("{}:", source.part_at(start).path),
        };
        let place = format!("{file}{}", source.position(start));
        let _ = writeln!(
            lines,
            "{}[{}] {place}: {}",
            diagnostic.severity.word(),
            diagnostic.code,
            diagnostic.message
        );
    }
    lines
}

// A-35 invalid-bash, A-36 missing-program, A-37 unmade-file, A-38 unmade-file and early-contract, A-39 cycle,
// A-40 thin-budget, A-41 unknown-target, A-42 all of them at once.
#[test]
fn every_plan_raises_exactly_what_its_page_says() {
    let count = page::check("verify", raised);
    assert!(count > 200, "only {count} cases were found");
}
