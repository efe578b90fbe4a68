//! `help`: how a command is used, or what a topic is about.

use planwright_engine::core::suggest;
use schemars::JsonSchema;
use serde::Serialize;

use crate::cli;
use crate::out::{Answer, Cell, EXIT_CODES, Exit, Failure, Next, Out, Table, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A command, or a topic: exit-codes
    topic: Option<String>,
}

/// The data of envelopes that hold a text.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Page {
    /// The text.
    pub(crate) text: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    if args.topic.as_deref() == Some("exit-codes") {
        return Ok(exit_codes(out));
    }
    let mut command = command(args.topic.as_deref())?;
    let text = command.render_long_help().to_string();
    out.data(&text);
    Ok(Answer::done("help", &Page { text }))
}

fn exit_codes(out: &mut Out<'_>) -> Answer {
    let mut table = Table::new();
    for &(code, word, meaning) in EXIT_CODES {
        table.row(vec![
            Cell::new(&code.to_string()).right().tone(Tone::Strong),
            Cell::new(word),
            Cell::new(meaning),
        ]);
    }
    out.table(&table);
    let text = EXIT_CODES.iter().map(|(code, word, meaning)| format!("{code} {word}: {meaning}\n")).collect();
    Answer::done("help", &Page { text })
}

/// The grammar of a command, under the name that one types.
pub(crate) fn command(name: Option<&str>) -> Result<clap::Command, Failure> {
    let grammar = cli::grammar();
    let Some(name) = name else { return Ok(grammar) };
    let found = grammar.find_subcommand(name).cloned();
    found.map(|command| command.bin_name(format!("planwright {name}")).display_name(format!("planwright-{name}"))).ok_or_else(|| {
        let names: Vec<&str> = grammar.get_subcommands().map(clap::Command::get_name).chain(["exit-codes"]).collect();
        let failure = Failure::new(Exit::Usage, format!("there is no command or topic `{name}`"));
        match suggest::nearest(name, names) {
            Some(meant) => failure.next(Next::new(["planwright", "help", meant])),
            None => failure.next(Next::new(["planwright", "help"])),
        }
    })
}
