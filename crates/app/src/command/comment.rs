//! `comment`: a comment on a plan or a step, and answers to it. Changes no state. Without a text it lists comments.

use planwright_engine::approval::Approvals;
use planwright_engine::core::approval::status::Comment;
use planwright_engine::core::plan::verified;
use planwright_engine::store::plan_file;
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::target::{NamedPlan, Opened, open};
use crate::output::{Exit, Failure, NextCommand, Out, Response, Tone, clean_line};
use planwright_engine::api::plan::find_step;
use planwright_engine::api::shown;

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

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Comments {
    /// The plan.
    pub(crate) plan: String,
    /// Every comment, the oldest first.
    pub(crate) comments: Vec<CommentData>,
}

/// One comment.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CommentData {
    /// Its number.
    pub(crate) number: u32,
    /// The revision that it was made on.
    pub(crate) revision: u32,
    /// The id of the step that it is about.
    pub(crate) step: Option<String>,
    /// Who made it.
    pub(crate) by: String,
    /// What it says.
    pub(crate) text: String,
    /// What was answered; `None`: it is open.
    pub(crate) answer: Option<String>,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let Opened { path, project, source, step } = open(&args.plan)?;
    let decisions = Approvals::open(&project)?;
    if args.message.as_ref().is_some_and(|message| message.trim().is_empty()) {
        return Err(Failure::new(Exit::Usage, "empty comment"));
    }
    let draft = source.draft();
    let step = step.map(|step| find_step(&draft, &step, &shown(&path))).transpose()?;
    let step = step.map(|place| verified::ids(&draft).swap_remove(place));
    match (&args.message, args.answer) {
        (Some(message), Some(comment)) => drop(decisions.answer(&path, comment, &who(), message)?),
        (Some(message), None) => drop(decisions.comment(&path, step.as_deref(), &who(), message)?),
        (None, _) => {}
    }
    let case = decisions.case(&path)?;
    let wanted = |comment: &&Comment| step.is_none() || comment.step == step;
    let comments: Vec<&Comment> = case.standing.comments.iter().filter(wanted).collect();
    for comment in &comments {
        tell(comment, out);
    }
    if comments.is_empty() {
        out.talk("no comments");
    }
    let data = comments.into_iter().map(|comment| CommentData {
        number: comment.number,
        revision: comment.revision,
        step: comment.step.clone(),
        by: comment.by.name.clone(),
        text: comment.text.clone(),
        answer: comment.answer.as_ref().map(|(_, text)| text.clone()),
    });
    let data = Comments { plan: plan_file::name(&path), comments: data.collect() };
    Ok(Response::done("comment", &data).next(NextCommand::new([
        "planwright",
        "review",
        shown(&path).as_str(),
    ])))
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
