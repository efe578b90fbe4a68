//! Asks a planner until its answer can be used. The front end that shows the conversation makes one try after the other.

use planwright_core::agent::planner as planning;
use planwright_core::agent::planner::PlannerFeedback;
use planwright_core::syntax::source::Source;

use crate::agent::planner;
use crate::agent::planner::{Planner, PlannerReply};
use crate::api::error::{Error, ErrorKind};
use crate::api::next::NextCommand;
use crate::api::workspace::Workspace;
use crate::system::process;
use crate::system::process::Stop;

/// How many diagnostics about the last answer are shown.
const COMPLAINTS_SHOWN_MAX: usize = 5;

/// What an answer of a planner comes to.
pub enum PlannerAnswer<T> {
    /// It can be used.
    Plan(Box<T>),
    Returned(ReturnedAnswer),
    /// The agent says that the work is done.
    Done(String),
    /// It wants a person to look at a step.
    Escalate {
        step: Option<String>,
        reason: String,
    },
}

/// An answer that goes back to the planner.
#[derive(Default)]
pub struct ReturnedAnswer {
    /// The plan in it, if there is one.
    pub plan: Option<Source>,
    /// Everything that is wrong, a paragraph each.
    pub complaints: Vec<String>,
}

impl<T> PlannerAnswer<T> {
    /// An answer without a plan.
    pub(crate) fn refused(complaint: &impl ToString) -> Self {
        Self::Returned(ReturnedAnswer { plan: None, complaints: vec![complaint.to_string()] })
    }
}

/// A planner and what it is asked for.
pub struct Conversation {
    workspace: Workspace,
    pub planner: Planner,
    /// How often it is asked at most.
    pub tries: u32,
    /// Files of the workspace that changed meanwhile.
    pub changed: Vec<String>,
    first: String,
    prompt: String,
    /// The last answer and what is wrong with it.
    last: (String, Vec<String>),
    terms: ConversationTerms,
}

/// What is asked for.
pub(crate) struct ConversationTerms {
    /// What the planner is asked for: `the whole plan`.
    pub(crate) wanted: &'static str,
    /// The command that accepts a fixed answer, without the file.
    pub(crate) hand_in: Vec<String>,
}

impl Workspace {
    /// A conversation with the named agent, or the one that plans here. An agent that is itself a part of a run or of a planner
    /// may not start another.
    pub(crate) fn conversation(
        &self,
        first: String,
        agent: Option<&str>,
        tries: Option<u32>,
        terms: ConversationTerms,
    ) -> Result<Conversation, Error> {
        if process::job_above().is_some() {
            let message = "an agent started by planwright cannot start a planner";
            let error = Error::new(ErrorKind::NeedsPerson, message);
            return Err(error.hint("pass the plan yourself: --from FILE"));
        }
        let config = &self.project().config;
        Ok(Conversation {
            planner: Planner::find(config, agent)?,
            tries: tries.unwrap_or(config.draft.tries),
            workspace: self.clone(),
            changed: Vec::new(),
            prompt: first.clone(),
            first,
            last: (String::new(), Vec::new()),
            terms,
        })
    }
}

impl Conversation {
    /// Asks once.
    pub fn ask(&mut self, stop: &Stop) -> Result<PlannerReply, Error> {
        Ok(self.planner.ask(self.workspace.project(), &self.prompt, stop, &mut self.changed)?)
    }

    /// The message to a planner that reports instead of planning.
    pub fn report_returned(&self) -> ReturnedAnswer {
        let complaint = format!("a report is not a plan: answer with {}", self.terms.wanted);
        ReturnedAnswer { plan: None, complaints: vec![complaint] }
    }

    /// The next try is about what is wrong with this answer.
    pub fn send_back(&mut self, said: String, returned: ReturnedAnswer) {
        let ReturnedAnswer { plan, complaints } = returned;
        let feedback = PlannerFeedback { plan: plan.as_ref(), complaints: &complaints };
        self.prompt = planning::again(&self.first, &feedback);
        self.last = (said, complaints);
    }

    /// The error when no try is left. The paid answer is saved.
    pub fn spent(&self) -> Error {
        let tries = if self.tries == 1 { "1 try".to_owned() } else { format!("{} tries", self.tries) };
        let message = format!("planner {} returned no valid plan in {tries}", self.planner.name);
        let mut error = Error::new(ErrorKind::Refused, message);
        let (said, complaints) = &self.last;
        error.causes = complaints.iter().take(COMPLAINTS_SHOWN_MAX).cloned().collect();
        match planner::keep_answer(self.workspace.project(), said) {
            Ok(path) => {
                let path = path.to_string_lossy().into_owned();
                let words = self.terms.hand_in.iter().map(String::as_str).chain([path.as_str()]);
                let next = NextCommand::new(words);
                let hint = format!(
                    "nothing was written; fix its last answer, saved as {path}, and pass it with --from"
                );
                error.hint(hint).next(next)
            }
            Err(kept) => error.hint(format!("nothing was written; cannot save its last answer: {kept}")),
        }
    }
}
