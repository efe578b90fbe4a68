//! The page docs/reference/commands.md, generated from the grammar of the command line. Built for tests only: one of them holds
//! the page to the program, and writes it when `PLANWRIGHT_COMMANDS=overwrite` is set.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command};

const HEAD: &str = "\
# Commands

After this page you can look up every command, argument and option. It is generated from the program;
`planwright help COMMAND` prints the same in the terminal.

PLAN is a name, the start of a name or a path; PLAN/STEP is one step. `-` reads standard input where an
option says so. [Exit codes](exit-codes.md) lists what commands return.
";

fn page(grammar: &Command) -> String {
    let (hidden, shown): (Vec<&Command>, Vec<&Command>) =
        grammar.get_subcommands().partition(|command| command.is_hide_set());
    let mut text = HEAD.to_owned();
    text.push_str("\n| command | summary |\n|---|---|\n");
    for command in &shown {
        let name = command.get_name();
        writeln!(text, "| [`{name}`](#planwright-{name}) | {} |", summary(command))
            .expect("written to memory");
    }
    text.push_str("\n## Options of every command\n\n");
    table(&mut text, "option", grammar.get_arguments().filter(|arg| arg.is_global_set()));
    for command in shown {
        section(&mut text, command, "planwright", 2);
    }
    if !hidden.is_empty() {
        text.push_str(
            "\n## Commands for agents, scripts and tools\n\n`planwright help` doesn't list these.\n",
        );
        for command in hidden {
            section(&mut text, command, "planwright", 3);
        }
    }
    text
}

fn section(text: &mut String, command: &Command, parent: &str, level: usize) {
    let name = format!("{parent} {}", command.get_name());
    write!(text, "\n{} {name}\n\n{}\n", "#".repeat(level), about(command)).expect("written to memory");
    let aliases: Vec<String> = command.get_all_aliases().map(|alias| format!("`{alias}`")).collect();
    if !aliases.is_empty() {
        writeln!(text, "\nAlias: {}", aliases.join(", ")).expect("written to memory");
    }
    let usage = command.clone().bin_name(&name).render_usage().to_string();
    let usage: Vec<&str> = usage
        .lines()
        .map(|line| line.trim_start_matches("Usage:").trim())
        .filter(|line| !line.is_empty())
        .collect();
    write!(text, "\n```text\n{}\n```\n", usage.join("\n")).expect("written to memory");
    let own = |arg: &&Arg| {
        !arg.is_global_set() && !arg.is_hide_set() && !matches!(arg.get_id().as_str(), "help" | "version")
    };
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(own).partition(|arg| arg.is_positional());
    for (title, args) in [("argument", positional), ("option", options)] {
        if !args.is_empty() {
            text.push('\n');
            table(text, title, args.into_iter());
        }
    }
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set() && inner.get_name() != "help")
    {
        section(text, inner, &name, level + 1);
    }
}

fn table<'a>(text: &mut String, title: &str, args: impl Iterator<Item = &'a Arg>) {
    writeln!(text, "| {title} | meaning |\n|---|---|").expect("written to memory");
    for arg in args {
        writeln!(text, "| {} | {} |", spelling(arg), meaning(arg)).expect("written to memory");
    }
}

/// How an argument is typed: `-f`, `--follow`, `--since <TIME>`, `[PLAN]...`.
fn spelling(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let takes_value = arg.is_positional()
        || matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) && arg.get_long().is_some();
    let many = arg.get_num_args().is_some_and(|range| range.max_values() > names.len().max(1));
    let values: Vec<String> = names
        .iter()
        .map(|name| match (arg.is_positional(), arg.is_required_set()) {
            (true, false) => format!("[{name}]"),
            _ => format!("<{name}>"),
        })
        .collect();
    let value = if takes_value { values.join(" ") + if many { "..." } else { "" } } else { String::new() };
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let words: Vec<String> = short.into_iter().chain(long).collect();
    let typed = [words.join(", "), value].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
    format!("`{}`", typed.join(" ").replace('|', "\\|"))
}

fn meaning(arg: &Arg) -> String {
    let mut text =
        arg.get_help().or(arg.get_long_help()).map(|help| line(&help.to_string())).unwrap_or_default();
    let values: Vec<String> = match matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) {
        true => arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect(),
        false => Vec::new(),
    };
    if !values.is_empty() {
        text.push_str(&format!(" ({})", values.join(", ")));
    }
    let default: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if arg.get_action().takes_values() && !default.is_empty() && !text.contains("[default:") {
        text.push_str(&format!(" [default: {}]", default.join(" ")));
    }
    text
}

fn summary(command: &Command) -> String {
    command.get_about().map(|about| line(&about.to_string())).unwrap_or_default()
}

fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    about.lines().map(str::trim_end).collect::<Vec<_>>().join("\n").trim().to_owned()
}

/// The text on one line of a table.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[test]
#[expect(clippy::disallowed_methods, reason = "it reads and writes the page that it is about")]
fn the_reference_lists_every_command() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/commands.md");
    let mut grammar = super::grammar();
    grammar.build();
    let expected = page(&grammar);
    if std::env::var_os("PLANWRIGHT_COMMANDS").is_some_and(|value| value == "overwrite") {
        std::fs::write(&path, &expected).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/reference/commands.md is out of date; run PLANWRIGHT_COMMANDS=overwrite cargo test -p planwright --lib reference"
    );
}

#[test]
fn a_command_is_described_with_all_its_arguments() {
    let mut grammar = Command::new("planwright")
        .arg(Arg::new("json").long("json").global(true).action(ArgAction::SetTrue).help("Print JSON"))
        .subcommand(
            Command::new("run")
                .about("Run a plan")
                .alias("work")
                .arg(Arg::new("plan").value_name("PLAN").help("Plan to run"))
                .arg(Arg::new("jobs").short('j').long("jobs").value_name("N").default_value("1").help("Jobs"))
                .arg(Arg::new("plain").long("plain").action(ArgAction::SetTrue).help("No | redraw")),
        )
        .subcommand(Command::new("mcp").about("Serve agents").hide(true));
    grammar.build();
    let page = page(&grammar);
    let expected = [
        "| [`run`](#planwright-run) | Run a plan |",
        "| `--json` | Print JSON |",
        "## planwright run\n\nRun a plan\n\nAlias: `work`\n\n```text\nplanwright run [OPTIONS] [PLAN]\n```",
        "| `[PLAN]` | Plan to run |",
        "| `-j, --jobs <N>` | Jobs [default: 1] |",
        "| `--plain` | No \\| redraw |",
        "### planwright mcp\n\nServe agents",
    ];
    for part in expected {
        assert!(page.contains(part), "`{part}` is missing:\n{page}");
    }
}
