//! What a person can answer to what a run asks.

use planwright_core::run::event::{AnswerKind, AskReason, JudgedBy};

use crate::api::next::{NextCommand, shell_word};

/// The commands that answer what is asked about `subject`, each with what it does.
pub fn answers(subject: &str, reason: AskReason, judged_by: JudgedBy) -> Vec<NextCommand> {
    let subject = shell_word(subject);
    let answer = |command: String, what: &str| NextCommand { command, remark: Some(what.to_owned()) };
    if reason == AskReason::Stalled {
        return vec![
            answer(format!("planwright run {subject}"), "resume the run"),
            answer(format!("planwright cancel {subject} --failed -m '...'"), "record the run as failed"),
            answer(format!("planwright cancel {subject} -m '...'"), "end it for good"),
        ];
    }
    let choice = |kind: &AnswerKind| {
        let (more, what) = match kind {
            AnswerKind::Retry => (" --hint '...'", "try again with a hint"),
            AnswerKind::RetryStep => (" '...'", "redo the step that broke it"),
            AnswerKind::TakeOver => ("", "I fixed it; run the contract"),
            AnswerKind::Confirm => ("", "confirm that it is done"),
            AnswerKind::Skip => (" -m '...'", "skip it, recorded as your decision"),
            AnswerKind::Revise => (" -m '...'", "end the run and revise the plan"),
            AnswerKind::Budget => (" +1.00", "raise the budget: money, tokens or time"),
            AnswerKind::Stop => ("", "pause the run"),
        };
        answer(format!("planwright answer {subject} --{}{more}", kind.word()), what)
    };
    reason.answers(judged_by).iter().map(choice).collect()
}

/// The answers that fit, as options of `answer`.
pub fn answer_options(reason: AskReason, judged_by: JudgedBy) -> String {
    if reason == AskReason::Stalled {
        return "resume, fail, cancel".to_owned();
    }
    let answers = reason.answers(judged_by);
    let options: Vec<String> = answers.iter().map(|kind| format!("--{}", kind.word())).collect();
    let judged = if answers.contains(&AnswerKind::TakeOver) { "; the contract still decides" } else { "" };
    options.join(", ") + judged
}
