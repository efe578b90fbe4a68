//! `comment`: a comment on a plan or a step, and answers to it. Changes no state. Without a text it lists comments.

use planwright_engine::api::Comment;

use crate::interaction::project::workspace;
use crate::interaction::target::NamedPlan;
use crate::output::{Failure, NextCommand, Out, Response, Tone, clean_line};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plan, or PLAN/STEP
    #[arg(value_name = "PLAN[/STEP]", default_value = "", hide_default_value = true)]
    pub(crate) plan: String,
    #[command(flatten)]
    pub(crate) named: NamedPlan,
    /// Comment text
    #[arg(short, long)]
    message: Option<String>,
    /// Answer comment N
    #[arg(long, value_name = "N", requires = "message")]
    answer: Option<u32>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let plan = workspace()?.plan(&args.plan)?;
    match (&args.message, args.answer) {
        (Some(message), Some(comment)) => plan.answer_comment(comment, message)?,
        (Some(message), None) => plan.comment(message)?,
        (None, _) => {}
    }
    let view = plan.comments()?;
    for comment in &view.comments {
        tell(comment, out);
    }
    if view.comments.is_empty() {
        out.talk("no comments");
    }
    let next = NextCommand::new(["planwright", "review", plan.shown().as_str()]);
    Ok(Response::done("comment", &view).next(next))
}

fn tell(comment: &Comment, out: &mut Out<'_>) {
    let (tone, mark) =
        if comment.answer.is_some() { (Tone::Good, "answered") } else { (Tone::Attention, "open") };
    let word = out.palette().paint(tone, mark);
    let step = comment.step.as_deref().map(|step| format!(" on {step}")).unwrap_or_default();
    let by = clean_line(&comment.by.to_string()).into_owned();
    let text = clean_line(&comment.text).into_owned();
    out.line(&format!(
        "{word}  {}{}  r{}, {by}: {text}",
        comment.number,
        clean_line(&step),
        comment.revision
    ));
    if let Some((who, answer)) = &comment.answer {
        out.line(&format!("          {}: {}", clean_line(&who.to_string()), clean_line(answer)));
    }
}
