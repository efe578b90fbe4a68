//! Shared by `convert` and `import`: writes a plan in another dialect and reports what that dialect cannot express.

use planwright_engine::api;
use planwright_engine::api::{Conversion, ConvertOutput, ConvertView, dialect_named};

use crate::output::wording;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

/// How many losses are shown; `--json` has all of them.
const LOSSES_SHOWN_MAX: usize = 20;
/// Argument for standard output.
const STDOUT: &str = "-";

/// Where a plan goes and on which terms.
#[derive(Debug, clap::Args)]
pub(crate) struct ConvertOptions {
    /// Output path; `-` writes standard output [default: the dialect's own place]
    #[arg(long, short, value_name = "PATH")]
    output: Option<String>,
    /// Name of the new plan
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Write nothing if something would be lost
    #[arg(long)]
    strict: bool,
}

impl ConvertOptions {
    /// The same for a dialect, which must exist.
    pub(crate) fn to(&self, dialect: &str) -> Result<api::ConvertOptions, Failure> {
        let output = match self.output.as_deref() {
            Some(STDOUT) => ConvertOutput::Text,
            Some(path) => ConvertOutput::File(path.into()),
            None => ConvertOutput::Default,
        };
        let to = dialect_named(dialect)?;
        Ok(api::ConvertOptions { to, output, name: self.name.clone(), is_strict: self.strict })
    }
}

/// Writes the new plan and says what it can't hold.
pub(crate) fn write(
    command: &'static str,
    conversion: &Conversion,
    options: &api::ConvertOptions,
    out: &mut Out<'_>,
) -> Result<Response, Failure> {
    let view = conversion.write(options)?;
    if let Some(path) = &view.path {
        let word = out.palette().paint(Tone::Good, "wrote");
        let steps = wording::number(view.steps, "step");
        out.line(&format!("{word}  {}   {steps}, from {}", clean_line(path), clean_line(&view.read_as)));
    }
    if let Some(text) = &view.text {
        out.filtered(text);
    }
    tell_losses(&view, out);
    let mut answer = Response::done(command, &view);
    answer.next.extend(view.path.map(|path| NextCommand::new(["planwright", "verify", path.as_str()])));
    Ok(answer)
}

fn tell_losses(view: &ConvertView, out: &mut Out<'_>) {
    if view.losses.is_empty() {
        return;
    }
    let things = wording::number(view.losses.len(), "value");
    out.warn(&format!("dialect {} cannot express {things}:", view.dialect));
    for loss in view.losses.iter().take(LOSSES_SHOWN_MAX) {
        out.talk(&format!("  {}", clean_line(&loss.to_string())));
    }
    if let Some(more) = view.losses.len().checked_sub(LOSSES_SHOWN_MAX).filter(|more| *more > 0) {
        out.talk(&format!("  and {more} more; --json has all of them"));
    }
}
