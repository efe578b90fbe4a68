//! `help`: how a command is used, or what a topic is about.

use crate::command::{Page, grammar};
use crate::output::{Cell, EXIT_CODES, Failure, Out, Response, Table, Tone};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A command, or a topic: exit-codes
    topic: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    if args.topic.as_deref() == Some("exit-codes") {
        return Ok(exit_codes(out));
    }
    let mut command = grammar(args.topic.as_deref())?;
    let text = command.render_long_help().to_string();
    out.data(&text);
    Ok(Response::done("help", &Page { text }))
}

fn exit_codes(out: &mut Out<'_>) -> Response {
    let mut table = Table::new();
    for &(code, word, meaning) in EXIT_CODES {
        table.row(vec![
            Cell::new(code.to_string()).right().tone(Tone::Strong),
            Cell::new(word),
            Cell::new(meaning),
        ]);
    }
    out.table(&table);
    let text = EXIT_CODES.iter().map(|(code, word, meaning)| format!("{code} {word}: {meaning}\n")).collect();
    Response::done("help", &Page { text })
}
