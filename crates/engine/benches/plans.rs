//! How much the checker costs, as ratios: against raw markdown on the same bytes, and against reading the same files.
//! `cargo bench` measures; `cargo test --benches` only shows that it still runs. docs/contributing/performance.md says what is aimed at.

#[path = "plans/clock.rs"]
mod clock;
#[path = "plans/corpus.rs"]
mod corpus;
#[path = "plans/memory.rs"]
mod memory;

use std::hint::black_box;
use std::path::PathBuf;

use clock::Cost;
use memory::peak_kib;

use planwright_core::plan::draft::Draft;
use planwright_core::syntax::source::Source;
use planwright_core::verify;
use planwright_core::verify::{Facts, Questions, Study, VerifyLimits};
use planwright_engine::workspace::facts;
use planwright_engine::workspace::project::Project;
use pulldown_cmark::{Options, Parser};

/// How much work a run does.
struct Size {
    plans: usize,
    /// How often everything is measured; medians are printed.
    rounds: usize,
    /// Steps of the long plan.
    steps: usize,
    /// How often the long plan is gone through in a round: one time is too short for the clock of the processor.
    repeats: usize,
}

const FULL: Size = Size { plans: 10_000, rounds: 3, steps: 500, repeats: 20 };
const SMOKE: Size = Size { plans: 20, rounds: 1, steps: 5, repeats: 1 };

fn main() {
    // Only `cargo bench` passes this.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let size = if is_bench { FULL } else { SMOKE };
    // First of all: the peak can only grow, and the corpus in memory would hide the rest.
    measure_memory(&size);
    measure_corpus(&size);
    measure_long_plan(&size);
}

#[expect(clippy::print_stdout, reason = "the table is what a benchmark is for")]
fn say(line: &str) {
    println!("{line}");
}

fn parse(source: &Source) -> Draft {
    (source.dialect().parse)(source)
}

fn drain_markdown(text: &str) -> usize {
    Parser::new_ext(text, Options::empty()).into_offset_iter().count()
}

/// Facts under which a generated plan has nothing missing: what is measured is the checking, not the asking.
fn given(questions: &Questions) -> Facts {
    Facts {
        paths: questions.paths.iter().filter(|path| path.starts_with("docs/")).cloned().collect(),
        programs: questions.programs.clone(),
        bash: questions.commands.iter().map(|command| (command.clone(), Vec::new())).collect(),
        agents: facts::AGENTS.iter().chain(facts::ROLES).map(|&name| name.to_owned()).collect(),
        topics: std::iter::once("conventions".to_owned()).collect(),
        ..Facts::default()
    }
}

/// Parses and checks one plan; returns how many complaints there are.
fn check(source: &Source) -> usize {
    let draft = parse(source);
    let study = Study::of(source, &draft);
    let facts = given(&study.questions());
    verify::verify(&study, &facts, &VerifyLimits::default()).diagnostics.len()
}

/// Plans one after the other: what one leaves behind must not add up.
fn measure_memory(size: &Size) {
    let tenth = size.plans / 10;
    let mut complaints = 0;
    let mut early = 0;
    for number in 0..size.plans {
        complaints += check(&Source::new("plan.md", corpus::plan(number)));
        if number + 1 == tenth {
            early = peak_kib();
        }
    }
    let late = peak_kib();
    say(&format!("\nMemory: peak while plans are checked one by one ({complaints} complaints in all)"));
    say(&format!("  after {tenth:>6} plans   {early:>8} KiB   1.00"));
    say(&format!("  after {:>6} plans   {late:>8} KiB   {:.2}", size.plans, ratio(late, early)));
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio of sizes in KiB needs no more digits than a float has"
)]
fn ratio(one: u64, other: u64) -> f64 {
    one as f64 / other.max(1) as f64
}

fn measure_corpus(size: &Size) {
    let texts: Vec<String> = (0..size.plans).map(corpus::plan).collect();
    let sources: Vec<Source> = texts.iter().map(|text| Source::new("plan.md", text.as_str())).collect();
    let bytes: usize = texts.iter().map(String::len).sum();
    say(&format!(
        "\nCorpus: {} plans of {} bytes on average, in memory, time of one processor",
        texts.len(),
        bytes / texts.len()
    ));
    let table = clock::medians(size.rounds, || {
        [
            Cost::of(|| texts.iter().map(|text| drain_markdown(text)).sum::<usize>()),
            Cost::of(|| {
                texts
                    .iter()
                    .map(|text| parse(&Source::new("plan.md", text.as_str())).steps.len())
                    .sum::<usize>()
            }),
            Cost::of(|| sources.iter().map(|source| parse(source).steps.len()).sum::<usize>()),
            Cost::of(|| sources.iter().map(check).sum::<usize>()),
        ]
    });
    let names =
        ["raw pulldown-cmark, events drained", "lines and parse", "parse", "parse and verify, facts given"];
    for (name, cost) in names.iter().zip(&table) {
        say(&format!(
            "  {name:<36} {:>9.1} ms   {:>6.2}",
            cost.processor_ms,
            cost.processor_ms / table[0].processor_ms
        ));
    }
    measure_list(size, &texts);
}

/// What `list` does, against nothing but reading the same files.
fn measure_list(size: &Size, texts: &[String]) {
    let folder = corpus::Folder::with(texts);
    let project = Project::find(&folder.0).expect("the folder is a project");
    say(&format!(
        "\nList: {} files on disk, read before: time of all processors, and on the wall",
        texts.len()
    ));
    let table = clock::medians(size.rounds, || {
        [
            Cost::of(|| {
                paths(&folder).map(|path| std::fs::read(path).expect("a readable file").len()).sum::<usize>()
            }),
            Cost::of(|| project.plans().expect("a readable folder").len()),
            Cost::of(|| project.survey().expect("a readable folder").plans.len()),
        ]
    });
    assert_eq!(project.survey().expect("a readable folder").plans.len(), texts.len(), "every file is a plan");
    for (name, cost) in ["read every file", "find the plans", "list"].iter().zip(&table) {
        let (all, wall) = (cost.threads_ms, cost.wall_ms);
        let ratios = [all / table[0].threads_ms, wall / table[0].wall_ms];
        say(&format!(
            "  {name:<36} {all:>9.1} ms   {:>6.2}   {wall:>9.1} ms   {:>6.2}",
            ratios[0], ratios[1]
        ));
    }
}

fn paths(folder: &corpus::Folder) -> impl Iterator<Item = PathBuf> {
    let below = |path: PathBuf| {
        path.read_dir().expect("a readable folder").map(|entry| entry.expect("an entry").path())
    };
    below(folder.0.clone()).filter(|path| path.is_dir()).flat_map(below)
}

fn measure_long_plan(size: &Size) {
    let source = Source::new("long.md", corpus::plan_of(0, size.steps));
    let draft = parse(&source);
    let study = Study::of(&source, &draft);
    let questions = study.questions();
    let facts = given(&questions);
    let folder = corpus::Folder::with(&[]);
    let project = Project::find(&folder.0).expect("the folder is a project");
    let bytes = source.text().len();
    say(&format!(
        "\nOne plan of {} steps, {bytes} bytes: time of the processor, bash included",
        draft.steps.len()
    ));
    let table = clock::medians(size.rounds, || {
        let many = |work: &dyn Fn() -> usize| Cost::of(|| (0..size.repeats).map(|_| work()).sum::<usize>());
        [
            many(&|| drain_markdown(source.text())),
            many(&|| parse(&source).steps.len()),
            many(&|| Study::of(&source, &draft).ids.len()),
            many(&|| verify::verify(&study, &facts, &VerifyLimits::default()).diagnostics.len()),
            many(&|| check(&source)),
            many(&|| facts::gather(&project, &questions).expect("bash is there").bash.len()),
        ]
    });
    let names = [
        "raw pulldown-cmark, events drained",
        "parse",
        "study (contracts taken apart)",
        "rules",
        "parse, study, facts given, rules",
        "gather facts (disk, PATH, bash)",
    ];
    for (name, cost) in names.iter().zip(&table) {
        let each = cost.processor_ms / f64::from(u32::try_from(size.repeats).expect("few repeats"));
        say(&format!("  {name:<36} {each:>9.2} ms   {:>6.2}", cost.processor_ms / table[0].processor_ms));
    }
    black_box(&study);
}
