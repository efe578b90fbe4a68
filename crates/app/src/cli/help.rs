//! `help`: the first screen, all commands, one command, or a topic.

use crate::cli;
use crate::output::{Cell, EXIT_CODES, Failure, Out, Page, Palette, Response, Table, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Command or topic [default: the most used commands]
    topic: Option<String>,
    /// List all commands by group
    #[arg(long, conflicts_with = "topic")]
    all: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let page: fn(Palette) -> String = match args.topic.as_deref() {
        _ if args.all => all,
        Some("exit-codes") => exit_codes,
        Some("topics") => topics,
        Some("options") => options,
        Some("agents") => agents,
        topic => {
            let mut command = cli::grammar_of(topic)?;
            let text = command.render_long_help();
            let shown = match out.settings().stdout.has_color {
                true => text.ansi().to_string(),
                false => text.to_string(),
            };
            out.data(&shown);
            return Ok(Response::done("help", &Page { text: text.to_string() }));
        }
    };
    let shown = page(out.palette());
    out.data(&shown);
    Ok(Response::done("help", &Page { text: page(Palette::PLAIN) }))
}

/// The commands of a group with their summaries.
fn group(title: &str, names: &[&str], palette: Palette) -> String {
    let grammar = cli::grammar();
    let mut table = Table::new();
    for name in names {
        let about = grammar.find_subcommand(name).and_then(clap::Command::get_about);
        let about = about.map(ToString::to_string).unwrap_or_default();
        table.row(vec![Cell::new(format!("  {name:<17}")).tone(Tone::Strong), Cell::new(about)]);
    }
    format!("{}\n{}", palette.paint(Tone::Strong, &format!("{title}:")), table.text(palette, None))
}

fn all(palette: Palette) -> String {
    let groups: Vec<String> = cli::GROUPS.iter().map(|(title, names)| group(title, names, palette)).collect();
    let last = "One command: planwright COMMAND --help   Commands for agents: planwright help agents\n";
    format!("{}\n{last}", groups.join("\n"))
}

fn agents(palette: Palette) -> String {
    let last = "Any command accepts `plan` in front: planwright plan verify, plan run, plan --name SLUG \"TASK\".\n\
                `agentctl` allocates plan directories for planners: agentctl --help\n\
                Texts for agents: planwright prompt overseer, planner, skill\n";
    format!("{}\n{last}", group("For agents and scripts", cli::FOR_AGENTS, palette))
}

fn topics(palette: Palette) -> String {
    let mut table = Table::new();
    for (name, about) in cli::TOPICS {
        table.row(vec![Cell::new(format!("  {name:<17}")).tone(Tone::Strong), Cell::new(*about)]);
    }
    let title = palette.paint(Tone::Strong, "Topics:");
    format!(
        "{title}\n{}\nRead one: planwright help TOPIC   Rules of the checker: planwright explain\n",
        table.text(palette, None)
    )
}

/// The options that every command accepts.
fn options(palette: Palette) -> String {
    let grammar = cli::grammar();
    let mut table = Table::new();
    for option in grammar.get_arguments().filter(|option| option.is_global_set()) {
        let short = option.get_short().map_or_else(|| "    ".to_owned(), |short| format!("-{short}, "));
        let value = option.get_value_names().filter(|_| option.get_action().takes_values());
        let value =
            value.and_then(|names| names.first()).map(|name| format!(" <{name}>")).unwrap_or_default();
        let long = option.get_long().unwrap_or_default();
        let about = option.get_help().map(ToString::to_string).unwrap_or_default();
        table.row(vec![Cell::new(format!("  {short}--{long}{value}")).tone(Tone::Strong), Cell::new(about)]);
    }
    let title = palette.paint(Tone::Strong, "Options of every command:");
    format!("{title}\n{}", table.text(palette, None))
}

fn exit_codes(palette: Palette) -> String {
    let mut table = Table::new();
    for &(code, word, meaning) in EXIT_CODES {
        table.row(vec![
            Cell::new(code.to_string()).right().tone(Tone::Strong),
            Cell::new(word),
            Cell::new(meaning),
        ]);
    }
    table.text(palette, None)
}
