//! Literate suites: each page in `tests/verify/` is a list of plans and exactly the diagnostics that they must raise.
//! `UPDATE=1 cargo test -p planwright-core --test verify` writes what is raised into the pages; read the difference.

#![expect(
    clippy::disallowed_methods,
    reason = "the pages of the suite are files; core itself never opens one"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use planwright_core::dialect;
use planwright_core::source::Source;
use planwright_core::verify::{BashFault, Facts, Limits, Study, verify};

const PROGRAMS: &str = "bash test grep cat ls sh cargo python3 git make sed awk wc head tail sort diff find xargs env \
                        timeout sleep true false echo printf";
const AGENTS: &str = "coder reviewer planner shell command human claude codex gemini pi";

struct Case {
    claim: String,
    world: String,
    plan: String,
    expected: String,
    /// Lines of the page that the expectation takes.
    lines: std::ops::Range<usize>,
}

fn pages() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify");
    let entries = std::fs::read_dir(&folder).expect("tests/verify is a folder");
    let mut pages: Vec<PathBuf> = entries.map(|entry| entry.expect("readable entry").path()).collect();
    pages.sort();
    pages
}

fn cases(page: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        if let Some(claim) = line.strip_prefix("## ") {
            let case = Case {
                claim: claim.to_owned(),
                world: String::new(),
                plan: String::new(),
                expected: String::new(),
                lines: 0..0,
            };
            cases.push(case);
        }
        let fence: String = line.chars().take_while(|&character| character == '`').collect();
        let (true, Some(case)) = (fence.len() >= 3, cases.last_mut()) else { continue };
        let mut body = String::new();
        let mut range = 0..0;
        for (number, inner) in lines.by_ref() {
            if inner == fence {
                range.end = number;
                break;
            }
            body.push_str(inner);
            body.push('\n');
        }
        range.start = range.end - body.lines().count();
        match &line[fence.len()..] {
            "world" => case.world = body,
            "plan" => case.plan = body,
            "diagnostics" => {
                case.expected = body;
                case.lines = range;
            }
            other => panic!("unknown block `{other}` in: {}", case.claim),
        }
    }
    cases
}

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
            "programs" => facts.programs.extend(items),
            "agents" => facts.agents.extend(items),
            "topics" => facts.topics.extend(items),
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
    let source = Source::new("plan.md", case.plan.as_str());
    let draft = (dialect::of(source.text()).parse)(&source);
    let study = Study::of(&source, &draft);
    let checked = verify(&study, &facts(&case.world, &study.questions().commands), &Limits::default());
    let mut lines = String::new();
    for diagnostic in &checked.diagnostics {
        let place = source.position(diagnostic.primary.span.start);
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
    let update = std::env::var_os("UPDATE").is_some();
    let mut wrong = String::new();
    let mut count = 0;
    for path in pages() {
        let page = std::fs::read_to_string(&path).expect("a readable page");
        let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
        for case in cases(&page).iter().rev() {
            count += 1;
            let raised = raised(case);
            if raised != case.expected {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let _ = write!(
                    wrong,
                    "\n{name}: {}\n  expected\n{}  raised\n{}",
                    case.claim,
                    indent(&case.expected),
                    indent(&raised)
                );
            }
            lines.splice(case.lines.clone(), raised.lines().map(str::to_owned));
        }
        if update {
            std::fs::write(&path, lines.join("\n") + "\n").expect("a writable page");
        }
    }
    assert!(count > 200, "only {count} cases were found");
    assert!(wrong.is_empty() || update, "{wrong}");
}

fn indent(text: &str) -> String {
    text.lines().fold(String::new(), |all, line| all + "    " + line + "\n")
}
