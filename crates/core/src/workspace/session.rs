//! A planner's workspace, which the directory dialect and the commands call a session: one plan directory for
//! the thread it was asked in, more for further threads, all committed together. Defines what each command
//! does to it and what a commit has to do per thread; never reads a directory.

pub mod prompt;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::plan::identity::{Identity, Role};
use crate::plan::lifecycle::{PlanState, WaitReason};
use crate::syntax::invisible::is_hidden;
use crate::workspace::session::prompt::TOPIC_CHARS_MAX;

/// Further threads, in addition to the current one.
pub const THREADS_MAX: usize = 100;
/// The prefix of thread ids.
const THREAD: &str = "thread_";
const NAME_CHARS_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanningSession {
    /// One line that describes the session.
    #[serde(default)]
    pub topic: Option<String>,
    /// The thread that the planner was asked in. It can be cleared, but never dropped.
    pub current: SessionPlan,
    /// Further threads, in the order of request.
    #[serde(default)]
    pub additional: Vec<SessionPlan>,
    /// Plans of threads that were dropped since the last commit; the next commit withdraws them.
    #[serde(default)]
    pub leaving: Vec<String>,
}

/// A thread: one directory, one plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionPlan {
    pub id: String,
    /// Outside every repository.
    pub folder: PathBuf,
    /// The name of the plan that a commit made from it.
    #[serde(default)]
    pub plan: Option<String>,
    /// Whether its planner declared that it has no plan, and wrote none since.
    #[serde(default)]
    pub is_cleared: bool,
}

/// Why a command is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionRefusal {
    Unknown {
        id: String,
        known: Vec<String>,
    },
    /// The current thread can't be dropped.
    Current {
        id: String,
    },
    Full,
    EmptyTopic,
    LongTopic {
        chars: usize,
    },
    /// The topic has line breaks or invisible characters.
    HiddenTopic,
    /// Not a valid session name.
    Name {
        name: String,
    },
}

impl fmt::Display for SessionRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { id, .. } => write!(f, "unknown additional thread `{id}`"),
            Self::Current { id } => write!(f, "`{id}` is the current thread and cannot be removed"),
            Self::Full => write!(f, "this session already has {THREADS_MAX} additional threads, the limit"),
            Self::EmptyTopic => f.write_str("empty topic"),
            Self::LongTopic { chars } => {
                write!(f, "the topic has {chars} characters; the limit is {TOPIC_CHARS_MAX}")
            }
            Self::HiddenTopic => f.write_str("the topic contains line breaks or invisible characters"),
            Self::Name { name } => write!(f, "invalid session name `{name}`"),
        }
    }
}

impl std::error::Error for SessionRefusal {}

impl PlanningSession {
    pub fn new(current: SessionPlan) -> Self {
        Self { topic: None, current, additional: Vec::new(), leaving: Vec::new() }
    }

    /// Every thread, the current one first.
    pub fn threads(&self) -> impl Iterator<Item = &SessionPlan> {
        std::iter::once(&self.current).chain(&self.additional)
    }

    pub fn threads_mut(&mut self) -> impl Iterator<Item = &mut SessionPlan> {
        std::iter::once(&mut self.current).chain(&mut self.additional)
    }

    pub fn has_room(&self) -> Result<(), SessionRefusal> {
        if self.additional.len() < THREADS_MAX { Ok(()) } else { Err(SessionRefusal::Full) }
    }

    /// Drops a further thread and returns it. The next commit withdraws a plan that was committed from it.
    pub fn drop_thread(&mut self, id: &str) -> Result<SessionPlan, SessionRefusal> {
        if self.current.id == id {
            return Err(SessionRefusal::Current { id: id.to_owned() });
        }
        let Some(place) = self.additional.iter().position(|thread| thread.id == id) else {
            let known = self.additional.iter().map(|thread| thread.id.clone()).collect();
            return Err(SessionRefusal::Unknown { id: id.to_owned(), known });
        };
        let thread = self.additional.remove(place);
        self.leaving.extend(thread.plan.clone());
        Ok(thread)
    }

    pub fn set_topic(&mut self, topic: &str) -> Result<(), SessionRefusal> {
        let topic = topic.trim();
        let chars = topic.chars().count();
        if chars == 0 {
            return Err(SessionRefusal::EmptyTopic);
        }
        if chars > TOPIC_CHARS_MAX {
            return Err(SessionRefusal::LongTopic { chars });
        }
        if topic.chars().any(|sign| sign.is_control() || is_hidden(sign)) {
            return Err(SessionRefusal::HiddenTopic);
        }
        self.topic = Some(topic.to_owned());
        Ok(())
    }
}

impl SessionPlan {
    /// A thread without a plan; `chance` must be unique.
    pub fn new(chance: &str, folder: PathBuf) -> Self {
        Self { id: format!("{THREAD}{chance}"), folder, plan: None, is_cleared: false }
    }
}

/// Validates a session name, because it becomes part of a path.
pub fn session_name(name: &str) -> Result<&str, SessionRefusal> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    let begins_well = name.starts_with(|sign: char| sign.is_ascii_alphanumeric());
    match begins_well && name.len() <= NAME_CHARS_MAX && name.chars().all(is_plain) {
        true => Ok(name),
        false => Err(SessionRefusal::Name { name: name.to_owned() }),
    }
}

/// The decisions about the plan that a thread became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanHistory {
    pub state: PlanState,
    /// The digest of the last proposal and its author.
    pub proposed: Option<(String, Identity)>,
    /// The digest of the copy under review; `None` if it is missing or unreadable.
    pub copy: Option<String>,
}

/// What a commit has to do for a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitAction {
    /// Propose its plan, as a new revision if it was proposed before.
    Propose,
    /// Propose its plan as a new one, because the previous one has finished.
    ProposeAnew,
    /// Nothing changed.
    Nothing,
    /// It no longer has a plan: withdraw the pending proposal.
    Withdraw,
    /// It no longer has a plan; what was made from it is for people to end.
    LetGo,
    /// It has no plan, but wasn't cleared.
    Missing,
    /// Somebody else changed or decided about its plan; contains the reason.
    Taken(&'static str),
}

/// What a commit by `by` has to do for a thread whose directory contains a plan with this digest (`None` if
/// it contains none).
///
/// | directory | earlier decision | due |
/// |---|---|---|
/// | empty, not cleared | any | `Missing` |
/// | empty, cleared | proposed | `Withdraw`, by the author of the proposal |
/// | empty, cleared | none, or any other | `LetGo` |
/// | a plan | none, or withdrawn | `Propose` |
/// | the same plan | proposed | `Propose`, which records nothing if nothing changed |
/// | the same plan | any other | `Nothing` |
/// | another plan | finished | `ProposeAnew` |
/// | another plan | approved, or edited or proposed by somebody else | `Taken` |
/// | another plan | any other | `Propose` |
pub fn due(
    thread: &SessionPlan,
    digest: Option<&str>,
    stand: Option<&PlanHistory>,
    by: &Identity,
) -> CommitAction {
    let said = stand.and_then(|stand| Some((stand, stand.proposed.as_ref()?)));
    match (digest, said) {
        (None, _) if !thread.is_cleared => CommitAction::Missing,
        (None, _) => withdrawal(stand, by),
        (Some(_), None) => CommitAction::Propose,
        (Some(digest), Some((stand, (known, _)))) if digest == known => match stand.state {
            PlanState::Draft | PlanState::Proposed => CommitAction::Propose,
            PlanState::Approved
            | PlanState::Running
            | PlanState::Waiting(_)
            | PlanState::Done
            | PlanState::Failed
            | PlanState::Rejected
            | PlanState::Cancelled => CommitAction::Nothing,
        },
        (Some(_), Some((stand, (known, author)))) => match stand.state {
            PlanState::Done | PlanState::Failed | PlanState::Cancelled => CommitAction::ProposeAnew,
            PlanState::Waiting(WaitReason::RevisionsSpent) => {
                CommitAction::Taken("it was rejected too often")
            }
            PlanState::Approved | PlanState::Running => CommitAction::Taken("it is already approved"),
            PlanState::Draft
            | PlanState::Proposed
            | PlanState::Rejected
            | PlanState::Waiting(WaitReason::Lapsed) => {
                match (is_own(author, by), stand.copy.as_ref().is_none_or(|copy| copy == known)) {
                    (false, _) => CommitAction::Taken("a person proposed it"),
                    (true, false) => CommitAction::Taken("it was changed after it was proposed"),
                    (true, true) => CommitAction::Propose,
                }
            }
            PlanState::Waiting(_) => CommitAction::Taken("its run needs an answer"),
        },
    }
}

/// What a commit by `by` has to do with the plan of a thread that no longer has one.
pub fn withdrawal(stand: Option<&PlanHistory>, by: &Identity) -> CommitAction {
    let author =
        stand.filter(|stand| stand.state == PlanState::Proposed).and_then(|stand| stand.proposed.as_ref());
    match author.is_some_and(|(_, author)| is_own(author, by)) {
        true => CommitAction::Withdraw,
        false => CommitAction::LetGo,
    }
}

/// Whether the committer is the proposal's author: agents of one session count as one author.
fn is_own(author: &Identity, by: &Identity) -> bool {
    author.role == Role::Agent || author == by
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(name: &str) -> SessionPlan {
        SessionPlan::new(name, format!("/plans/{name}").into())
    }

    fn desk() -> PlanningSession {
        let mut desk = PlanningSession::new(thread("a"));
        desk.additional = vec![thread("b"), thread("c")];
        desk
    }

    // E-13: only further threads can be dropped, what was committed of them leaves, and an unknown id is refused.
    #[test]
    fn only_additional_threads_can_be_dropped() {
        let mut desk = desk();
        assert_eq!(desk.drop_thread("thread_a"), Err(SessionRefusal::Current { id: "thread_a".to_owned() }));
        for id in ["thread_x", "", "b", "../thread_b", "/plans/b", "thread_b/../thread_c", "THREAD_B"] {
            let known = vec!["thread_b".to_owned(), "thread_c".to_owned()];
            assert_eq!(desk.drop_thread(id), Err(SessionRefusal::Unknown { id: id.to_owned(), known }));
        }
        desk.additional[0].plan = Some("bees".to_owned());
        assert_eq!(desk.drop_thread("thread_b").map(|thread| thread.folder), Ok("/plans/b".into()));
        assert_eq!(desk.leaving, ["bees"]);
        assert!(matches!(desk.drop_thread("thread_b"), Err(SessionRefusal::Unknown { .. })), "it is gone");
        desk.drop_thread("thread_c").expect("dropped");
        assert_eq!(desk.leaving, ["bees"], "nothing was committed of the other");
        assert_eq!(desk.threads().count(), 1);
    }

    // E-16: characters are counted, not bytes; 101 are refused, as is nothing at all.
    #[test]
    fn a_topic_has_at_most_a_hundred_characters() {
        let mut desk = desk();
        for topic in ["x".repeat(100), "é".repeat(100), "🦀".repeat(100)] {
            desk.set_topic(&topic).expect("a topic");
            assert_eq!(desk.topic.as_deref(), Some(topic.as_str()));
        }
        assert_eq!(desk.set_topic(&"é".repeat(101)), Err(SessionRefusal::LongTopic { chars: 101 }));
        assert_eq!(desk.set_topic(" \t"), Err(SessionRefusal::EmptyTopic));
        assert_eq!(desk.set_topic("two\nlines"), Err(SessionRefusal::HiddenTopic));
        assert_eq!(desk.set_topic("a\u{202e}b"), Err(SessionRefusal::HiddenTopic));
        assert_eq!(desk.topic, Some("🦀".repeat(100)), "what is refused changes nothing");
        desk.set_topic("  login  ").expect("a topic");
        assert_eq!(desk.topic.as_deref(), Some("login"));
    }

    #[test]
    fn a_desk_has_a_limit() {
        let mut desk = desk();
        desk.additional = (0..THREADS_MAX - 1).map(|number| thread(&number.to_string())).collect();
        desk.has_room().expect("one more");
        desk.additional.push(thread("last"));
        assert_eq!(desk.has_room(), Err(SessionRefusal::Full));
    }

    #[test]
    fn the_name_of_a_session_is_no_path() {
        for name in ["a", "01950f64-7c1e", "A.b_c-9"] {
            assert_eq!(session_name(name), Ok(name));
        }
        let long = "x".repeat(65);
        for name in ["", ".", "..", "../x", "a/b", "/etc", "-x", ".hidden", "a b", "a\n", "ä", &long] {
            assert_eq!(session_name(name), Err(SessionRefusal::Name { name: name.to_owned() }), "{name:?}");
        }
    }

    /// The status of a plan that `author` proposed with the digest `old`; its copy has the digest `copy`.
    fn stand(state: PlanState, author: Identity, copy: &str) -> PlanHistory {
        PlanHistory { state, proposed: Some(("old".to_owned(), author)), copy: Some(copy.to_owned()) }
    }

    // E-14, E-15: the whole table.
    #[test]
    fn what_a_commit_owes_a_thread() {
        use WaitReason::{Failed, Lapsed, RevisionsSpent};
        let (agent, ada) = (Identity::agent("claude"), Identity::person("ada"));
        let cases: Vec<(Option<&str>, PlanState, CommitAction)> = vec![
            (None, PlanState::Proposed, CommitAction::Withdraw),
            (None, PlanState::Draft, CommitAction::LetGo),
            (None, PlanState::Rejected, CommitAction::LetGo),
            (None, PlanState::Approved, CommitAction::LetGo),
            (None, PlanState::Running, CommitAction::LetGo),
            (None, PlanState::Done, CommitAction::LetGo),
            (Some("old"), PlanState::Draft, CommitAction::Propose),
            (Some("old"), PlanState::Proposed, CommitAction::Propose),
            (Some("old"), PlanState::Approved, CommitAction::Nothing),
            (Some("old"), PlanState::Running, CommitAction::Nothing),
            (Some("old"), PlanState::Rejected, CommitAction::Nothing),
            (Some("old"), PlanState::Waiting(Lapsed), CommitAction::Nothing),
            (Some("old"), PlanState::Done, CommitAction::Nothing),
            (Some("old"), PlanState::Cancelled, CommitAction::Nothing),
            (Some("new"), PlanState::Draft, CommitAction::Propose),
            (Some("new"), PlanState::Proposed, CommitAction::Propose),
            (Some("new"), PlanState::Rejected, CommitAction::Propose),
            (Some("new"), PlanState::Waiting(Lapsed), CommitAction::Propose),
            (
                Some("new"),
                PlanState::Waiting(RevisionsSpent),
                CommitAction::Taken("it was rejected too often"),
            ),
            (Some("new"), PlanState::Waiting(Failed), CommitAction::Taken("its run needs an answer")),
            (Some("new"), PlanState::Approved, CommitAction::Taken("it is already approved")),
            (Some("new"), PlanState::Running, CommitAction::Taken("it is already approved")),
            (Some("new"), PlanState::Done, CommitAction::ProposeAnew),
            (Some("new"), PlanState::Failed, CommitAction::ProposeAnew),
            (Some("new"), PlanState::Cancelled, CommitAction::ProposeAnew),
        ];
        let cleared = SessionPlan { is_cleared: true, plan: Some("it".to_owned()), ..thread("a") };
        for (digest, state, wanted) in cases {
            let known = stand(state, agent.clone(), "old");
            assert_eq!(due(&cleared, digest, Some(&known), &agent), wanted, "{digest:?} {state}");
            let uncleared = SessionPlan { is_cleared: false, ..cleared.clone() };
            let wanted = if digest.is_none() { CommitAction::Missing } else { wanted };
            assert_eq!(due(&uncleared, digest, Some(&known), &agent), wanted, "{digest:?} {state}");
        }
        let unsaid = PlanHistory { state: PlanState::Draft, proposed: None, copy: None };
        for stand in [None, Some(&unsaid)] {
            assert_eq!(due(&thread("a"), Some("new"), stand, &agent), CommitAction::Propose);
            assert_eq!(due(&thread("a"), None, stand, &agent), CommitAction::Missing);
            assert_eq!(
                due(&cleared, None, stand, &agent),
                CommitAction::LetGo,
                "the document's recipe succeeds"
            );
        }
        let theirs = stand(PlanState::Proposed, ada.clone(), "old");
        assert_eq!(due(&cleared, None, Some(&theirs), &agent), CommitAction::LetGo);
        assert_eq!(
            due(&cleared, Some("new"), Some(&theirs), &agent),
            CommitAction::Taken("a person proposed it")
        );
        assert_eq!(due(&cleared, Some("new"), Some(&theirs), &ada), CommitAction::Propose);
        let edited = stand(PlanState::Proposed, agent.clone(), "edited");
        let taken = CommitAction::Taken("it was changed after it was proposed");
        assert_eq!(due(&cleared, Some("new"), Some(&edited), &agent), taken);
    }
}
