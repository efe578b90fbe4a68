//! Plans that agents name or hand in as text. They read, check and propose; a person decides.

use std::path::PathBuf;

use planwright_core::agent::integration::SKILL;
use planwright_core::dialect::proposal;
use planwright_core::plan::identity;
use planwright_core::plan::identity::Identity;
use planwright_core::plan::tool::ToolKind;
use planwright_core::verify;
use serde::Serialize;

use crate::agent::submission;
use crate::agent::submission::Submission;
use crate::api::error::{Error, ErrorKind};
use crate::api::proposal::ProposalView;
use crate::api::workspace::Workspace;
use crate::approval::Approvals;
use crate::run::baseline;
use crate::run::permission;
use crate::run::simulate::{Simulation, simulate};
use crate::store::plan_file;
use crate::store::plan_file::FileText;
use crate::workspace::facts;
use crate::workspace::project::Verified;

impl From<submission::Error> for Error {
    fn from(error: submission::Error) -> Self {
        match error {
            submission::Error::Project(error) => error.into(),
            submission::Error::Store(error) => error.into(),
            submission::Error::Decisions(error) => error.into(),
            submission::Error::Elsewhere { .. } | submission::Error::Place { .. } => {
                Self::from_error(ErrorKind::Usage, &error)
            }
            submission::Error::Taken { .. } => Self::from_error(ErrorKind::Refused, &error),
        }
    }
}

/// A plan that a call of an agent is about, checked.
pub struct SubmittedPlan {
    workspace: Workspace,
    path: PathBuf,
    pub verified: Verified,
}

/// The recorded state of a plan.
#[derive(Serialize)]
pub struct FeedbackView {
    pub plan: String,
    pub state: String,
    /// The newest revision; `None`: it was never proposed.
    pub revision: Option<u32>,
    pub rejections: Vec<FeedbackRejection>,
    pub comments: Vec<FeedbackComment>,
    /// What an approval lapsed for.
    pub lapsed_because: Vec<String>,
    /// The first digits of the digest of the newest revision.
    #[serde(skip)]
    pub digest: Option<String>,
}

#[derive(Serialize)]
pub struct FeedbackRejection {
    pub revision: u32,
    #[serde(serialize_with = "identity::as_text")]
    pub by: Identity,
    pub feedback: String,
}

#[derive(Serialize)]
pub struct FeedbackComment {
    pub number: u32,
    pub revision: u32,
    pub step: Option<String>,
    #[serde(serialize_with = "identity::as_text")]
    pub by: Identity,
    pub text: String,
    pub answer: Option<String>,
}

/// What an author of plans has to know about this project.
pub struct AuthorGuide {
    /// The skill that teaches the format.
    pub skill: &'static str,
    /// Roles with their agents, and the other agents.
    pub targets: Vec<String>,
    /// A line for each tool that the project declares.
    pub tools: String,
    /// The tools of every agent.
    pub tool_kinds: Vec<&'static str>,
}

impl Workspace {
    /// The plan of this project with this name or path. An agent cannot name any other file.
    pub fn submitted_plan(&self, id: &str) -> Result<SubmittedPlan, Error> {
        let path = submission::named(self.project(), id)?;
        let verified = baseline::verify(self.project(), &path, &self.relative(&path))?;
        Ok(SubmittedPlan { workspace: self.clone(), path, verified })
    }

    /// A text for this path, or for the place where its dialect keeps plans.
    pub fn submit_text(&self, text: &str, path: Option<&str>) -> Result<SubmittedPlan, Error> {
        let Submission { path, text } = Submission::of(self.project(), text, path)?;
        let verified = baseline::verify_text(self.project(), text)?;
        Ok(SubmittedPlan { workspace: self.clone(), path, verified })
    }

    /// Steps in the words of a proposal, as JSON.
    pub fn submit_steps(&self, steps: &str) -> Result<SubmittedPlan, Error> {
        let draft = proposal::inline(steps)
            .map_err(|why| Error::new(ErrorKind::Usage, format!("invalid steps: {why}")))?;
        let plan = self.plan_of_steps(&draft)?;
        let verified = baseline::verify_text(self.project(), FileText::Plan(plan.source().clone()))?;
        Ok(SubmittedPlan { workspace: self.clone(), path: plan.path().to_owned(), verified })
    }

    /// What people say about a plan.
    pub fn feedback(&self, id: &str) -> Result<FeedbackView, Error> {
        let path = submission::named(self.project(), id)?;
        let case = Approvals::open(self.project())?.case(&path)?;
        let state = case.state().to_string();
        let standing = case.standing;
        let newest = standing.newest().map(|newest| (newest.number, newest.subject.digest.clone()));
        let rejections = standing.rejections.into_iter().map(|one| FeedbackRejection {
            revision: one.revision,
            by: one.by,
            feedback: one.feedback,
        });
        let comments = standing.comments.into_iter().map(|one| FeedbackComment {
            number: one.number,
            revision: one.revision,
            step: one.step,
            by: one.by,
            text: one.text,
            answer: one.answer.map(|(_, text)| text),
        });
        Ok(FeedbackView {
            plan: self.relative(&path),
            state,
            revision: newest.as_ref().map(|(number, _)| *number),
            rejections: rejections.collect(),
            comments: comments.collect(),
            lapsed_because: standing.moved,
            digest: newest.and_then(|(_, digest)| digest.get(..8).map(str::to_owned)),
        })
    }

    pub fn author_guide(&self) -> AuthorGuide {
        let config = &self.project().config;
        let roles = config.roles.iter().map(|(role, agent)| format!("{role} ({agent})"));
        let agents = facts::agents(self.project()).into_iter();
        let others = agents.filter(|name| !config.roles.contains_key(name));
        AuthorGuide {
            skill: SKILL,
            targets: roles.chain(others).collect(),
            tools: permission::inventory(config),
            tool_kinds: ToolKind::words().collect(),
        }
    }
}

impl SubmittedPlan {
    /// Its path from the root.
    pub fn shown(&self) -> String {
        self.workspace.relative(&self.path)
    }

    /// Writes the plan if it is new and asks for its approval. Contracts do not run for an agent.
    pub fn propose(self) -> Result<(Verified, ProposalView), Error> {
        let approvals = Approvals::open(self.workspace.project())?;
        // Expired plans no longer block this one.
        approvals.sweep()?;
        let by = self.workspace.caller().identity();
        let (verified, proposed) = submission::propose(&approvals, &self.path, self.verified, &by)?;
        Ok((verified, ProposalView::new(&self.path, proposed)))
    }

    /// What a run would do; `None` if the plan has errors.
    pub fn simulate(&self) -> Result<Option<Simulation>, Error> {
        let Verified { source, draft, .. } = &self.verified;
        let plan = draft.as_ref().and_then(|draft| verify::trusted_draft(source, draft));
        let Some(plan) = plan else { return Ok(None) };
        Ok(Some(simulate(self.workspace.project(), &plan_file::name(&self.path), &plan)?))
    }
}
