//! A planner's workspace, which the directory dialect and the commands call a session: one plan directory for
//! the thread it was asked in, more for further threads, all committed together. Defines what each command
//! does to it and what a commit has to do per thread; never reads a directory.

pub mod prompt;

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::approval::ledger::{Role, Who};
use crate::plan::lifecycle::{Reason, State};
use crate::verify::is_hidden;
use crate::workspace::session::prompt::TOPIC_CHARS_MAX;

/// Further threads, in addition to the current one.
pub const THREADS_MAX: usize = 100;
/// The prefix of thread ids.
const THREAD: &str = "thread_";
const NAME_CHARS_MAX: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Desk {
    /// One line that describes the session.
    #[serde(default)]
    pub topic: Option<String>,
    /// The thread that the planner was asked in. It can be cleared, but never dropped.
    pub current: Thread,
    /// Further threads, in the order of request.
    #[serde(default)]
    pub additional: Vec<Thread>,
    /// Plans of threads that were dropped since the last commit; the next commit withdraws them.
    #[serde(default)]
    pub leaving: Vec<String>,
}

/// A thread: one directory, one plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
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
pub enum Refusal {
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

impl fmt::Display for Refusal {
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

impl std::error::Error for Refusal {}

impl Desk {
    pub fn new(current: Thread) -> Self {
        Self { topic: None, current, additional: Vec::new(), leaving: Vec::new() }
    }

    /// Every thread, the current one first.
    pub fn threads(&self) -> impl Iterator<Item = &Thread> {
        std::iter::once(&self.current).chain(&self.additional)
    }

    pub fn threads_mut(&mut self) -> impl Iterator<Item = &mut Thread> {
        std::iter::once(&mut self.current).chain(&mut self.additional)
    }

    pub fn has_room(&self) -> Result<(), Refusal> {
        if self.additional.len() < THREADS_MAX { Ok(()) } else { Err(Refusal::Full) }
    }

    /// Drops a further thread and returns it. The next commit withdraws a plan that was committed from it.
    pub fn drop_thread(&mut self, id: &str) -> Result<Thread, Refusal> {
        if self.current.id == id {
            return Err(Refusal::Current { id: id.to_owned() });
        }
        let Some(place) = self.additional.iter().position(|thread| thread.id == id) else {
            let known = self.additional.iter().map(|thread| thread.id.clone()).collect();
            return Err(Refusal::Unknown { id: id.to_owned(), known });
        };
        let thread = self.additional.remove(place);
        self.leaving.extend(thread.plan.clone());
        Ok(thread)
    }

    pub fn set_topic(&mut self, topic: &str) -> Result<(), Refusal> {
        let topic = topic.trim();
        let chars = topic.chars().count();
        if chars == 0 {
            return Err(Refusal::EmptyTopic);
        }
        if chars > TOPIC_CHARS_MAX {
            return Err(Refusal::LongTopic { chars });
        }
        if topic.chars().any(|sign| sign.is_control() || is_hidden(sign)) {
            return Err(Refusal::HiddenTopic);
        }
        self.topic = Some(topic.to_owned());
        Ok(())
    }
}

impl Thread {
    /// A thread without a plan; `chance` must be unique.
    pub fn new(chance: &str, folder: PathBuf) -> Self {
        Self { id: format!("{THREAD}{chance}"), folder, plan: None, is_cleared: false }
    }
}

/// Validates a session name, because it becomes part of a path.
pub fn session_name(name: &str) -> Result<&str, Refusal> {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "-_.".contains(sign);
    let begins_well = name.starts_with(|sign: char| sign.is_ascii_alphanumeric());
    match begins_well && name.len() <= NAME_CHARS_MAX && name.chars().all(is_plain) {
        true => Ok(name),
        false => Err(Refusal::Name { name: name.to_owned() }),
    }
}

/// The decisions about the plan that a thread became.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stand {
    pub state: State,
    /// The digest of the last proposal and its author.
    pub proposed: Option<(String, Who)>,
    /// The digest of the copy under review; `None` if it is missing or unreadable.
    pub copy: Option<String>,
}

/// What a commit has to do for a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Due {
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
pub fn due(thread: &Thread, digest: Option<&str>, stand: Option<&Stand>, by: &Who) -> Due {
    let said = stand.and_then(|stand| Some((stand, stand.proposed.as_ref()?)));
    match (digest, said) {
        (None, _) if !thread.is_cleared => Due::Missing,
        (None, _) => parting(stand, by),
        (Some(_), None) => Due::Propose,
        (Some(digest), Some((stand, (known, _)))) if digest == known => match stand.state {
            State::Draft | State::Proposed => Due::Propose,
            State::Approved
            | State::Running
            | State::Waiting(_)
            | State::Done
            | State::Failed
            | State::Rejected
            | State::Cancelled => Due::Nothing,
        },
        (Some(_), Some((stand, (known, author)))) => match stand.state {
            State::Done | State::Failed | State::Cancelled => Due::ProposeAnew,
            State::Waiting(Reason::RevisionsSpent) => Due::Taken("it was rejected too often"),
            State::Approved | State::Running => Due::Taken("it is already approved"),
            State::Draft | State::Proposed | State::Rejected | State::Waiting(Reason::Lapsed) => {
                match (is_own(author, by), stand.copy.as_ref().is_none_or(|copy| copy == known)) {
                    (false, _) => Due::Taken("a person proposed it"),
                    (true, false) => Due::Taken("it was changed after it was proposed"),
                    (true, true) => Due::Propose,
                }
            }
            State::Waiting(_) => Due::Taken("its run needs an answer"),
        },
    }
}

/// What a commit by `by` has to do with the plan of a thread that no longer has one.
pub fn parting(stand: Option<&Stand>, by: &Who) -> Due {
    let author =
        stand.filter(|stand| stand.state == State::Proposed).and_then(|stand| stand.proposed.as_ref());
    match author.is_some_and(|(_, author)| is_own(author, by)) {
        true => Due::Withdraw,
        false => Due::LetGo,
    }
}

/// Whether the committer is the proposal's author: agents of one session count as one author.
fn is_own(author: &Who, by: &Who) -> bool {
    author.role == Role::Agent || author == by
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(name: &str) -> Thread {
        Thread::new(name, format!("/plans/{name}").into())
    }

    fn desk() -> Desk {
        let mut desk = Desk::new(thread("a"));
        desk.additional = vec![thread("b"), thread("c")];
        desk
    }

    // E-13: only further threads can be dropped, what was committed of them leaves, and an unknown id is refused.
    #[test]
    fn only_additional_threads_can_be_dropped() {
        let mut desk = desk();
        assert_eq!(desk.drop_thread("thread_a"), Err(Refusal::Current { id: "thread_a".to_owned() }));
        for id in ["thread_x", "", "b", "../thread_b", "/plans/b", "thread_b/../thread_c", "THREAD_B"] {
            let known = vec!["thread_b".to_owned(), "thread_c".to_owned()];
            assert_eq!(desk.drop_thread(id), Err(Refusal::Unknown { id: id.to_owned(), known }));
        }
        desk.additional[0].plan = Some("bees".to_owned());
        assert_eq!(desk.drop_thread("thread_b").map(|thread| thread.folder), Ok("/plans/b".into()));
        assert_eq!(desk.leaving, ["bees"]);
        assert!(matches!(desk.drop_thread("thread_b"), Err(Refusal::Unknown { .. })), "it is gone");
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
        assert_eq!(desk.set_topic(&"é".repeat(101)), Err(Refusal::LongTopic { chars: 101 }));
        assert_eq!(desk.set_topic(" \t"), Err(Refusal::EmptyTopic));
        assert_eq!(desk.set_topic("two\nlines"), Err(Refusal::HiddenTopic));
        assert_eq!(desk.set_topic("a\u{202e}b"), Err(Refusal::HiddenTopic));
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
        assert_eq!(desk.has_room(), Err(Refusal::Full));
    }

    #[test]
    fn the_name_of_a_session_is_no_path() {
        for name in ["a", "01950f64-7c1e", "A.b_c-9"] {
            assert_eq!(session_name(name), Ok(name));
        }
        let long = "x".repeat(65);
        for name in ["", ".", "..", "../x", "a/b", "/etc", "-x", ".hidden", "a b", "a\n", "ä", &long] {
            assert_eq!(session_name(name), Err(Refusal::Name { name: name.to_owned() }), "{name:?}");
        }
    }

    /// Where a plan stands that `author` proposed with the digest `old`; its copy has the digest `copy`.
    fn stand(state: State, author: Who, copy: &str) -> Stand {
        Stand { state, proposed: Some(("old".to_owned(), author)), copy: Some(copy.to_owned()) }
    }

    // E-14, E-15: the whole table.
    #[test]
    fn what_a_commit_owes_a_thread() {
        use Reason::{Failed, Lapsed, RevisionsSpent};
        let (agent, ada) = (Who::agent("claude"), Who::person("ada"));
        let cases: Vec<(Option<&str>, State, Due)> = vec![
            (None, State::Proposed, Due::Withdraw),
            (None, State::Draft, Due::LetGo),
            (None, State::Rejected, Due::LetGo),
            (None, State::Approved, Due::LetGo),
            (None, State::Running, Due::LetGo),
            (None, State::Done, Due::LetGo),
            (Some("old"), State::Draft, Due::Propose),
            (Some("old"), State::Proposed, Due::Propose),
            (Some("old"), State::Approved, Due::Nothing),
            (Some("old"), State::Running, Due::Nothing),
            (Some("old"), State::Rejected, Due::Nothing),
            (Some("old"), State::Waiting(Lapsed), Due::Nothing),
            (Some("old"), State::Done, Due::Nothing),
            (Some("old"), State::Cancelled, Due::Nothing),
            (Some("new"), State::Draft, Due::Propose),
            (Some("new"), State::Proposed, Due::Propose),
            (Some("new"), State::Rejected, Due::Propose),
            (Some("new"), State::Waiting(Lapsed), Due::Propose),
            (Some("new"), State::Waiting(RevisionsSpent), Due::Taken("it was rejected too often")),
            (Some("new"), State::Waiting(Failed), Due::Taken("its run needs an answer")),
            (Some("new"), State::Approved, Due::Taken("it is already approved")),
            (Some("new"), State::Running, Due::Taken("it is already approved")),
            (Some("new"), State::Done, Due::ProposeAnew),
            (Some("new"), State::Failed, Due::ProposeAnew),
            (Some("new"), State::Cancelled, Due::ProposeAnew),
        ];
        let cleared = Thread { is_cleared: true, plan: Some("it".to_owned()), ..thread("a") };
        for (digest, state, wanted) in cases {
            let known = stand(state, agent.clone(), "old");
            assert_eq!(due(&cleared, digest, Some(&known), &agent), wanted, "{digest:?} {state}");
            let uncleared = Thread { is_cleared: false, ..cleared.clone() };
            let wanted = if digest.is_none() { Due::Missing } else { wanted };
            assert_eq!(due(&uncleared, digest, Some(&known), &agent), wanted, "{digest:?} {state}");
        }
        let unsaid = Stand { state: State::Draft, proposed: None, copy: None };
        for stand in [None, Some(&unsaid)] {
            assert_eq!(due(&thread("a"), Some("new"), stand, &agent), Due::Propose);
            assert_eq!(due(&thread("a"), None, stand, &agent), Due::Missing);
            assert_eq!(due(&cleared, None, stand, &agent), Due::LetGo, "the document's recipe succeeds");
        }
        let theirs = stand(State::Proposed, ada.clone(), "old");
        assert_eq!(due(&cleared, None, Some(&theirs), &agent), Due::LetGo);
        assert_eq!(due(&cleared, Some("new"), Some(&theirs), &agent), Due::Taken("a person proposed it"));
        assert_eq!(due(&cleared, Some("new"), Some(&theirs), &ada), Due::Propose);
        let edited = stand(State::Proposed, agent.clone(), "edited");
        let taken = Due::Taken("it was changed after it was proposed");
        assert_eq!(due(&cleared, Some("new"), Some(&edited), &agent), taken);
    }
}
