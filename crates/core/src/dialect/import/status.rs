//! The status words of other tools.

use crate::plan::draft::Mark;

/// The meaning of a status word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImportedStatus {
    /// Exactly this mark, or not started.
    Plainly(Option<Mark>),
    /// This mark and more, which stays in the text of the task.
    Roughly(Option<Mark>),
    Unknown,
}

impl ImportedStatus {
    pub(super) fn mark(self) -> Option<Mark> {
        match self {
            Self::Plainly(mark) | Self::Roughly(mark) => mark,
            Self::Unknown => None,
        }
    }

    /// Whether the mark says it all.
    pub(super) fn is_plain(self) -> bool {
        matches!(self, Self::Plainly(_))
    }
}

/// The meaning of a status word, ignoring spelling: `In Progress`, `in_progress`, `in-progress`.
pub(super) fn read(word: &str) -> ImportedStatus {
    let letters: String = word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    match letters.as_str() {
        "done" | "completed" | "complete" | "closed" | "finished" | "passed" | "passing" => {
            ImportedStatus::Plainly(Some(Mark::Done))
        }
        "inprogress" | "running" | "active" | "doing" | "started" => {
            ImportedStatus::Plainly(Some(Mark::Running))
        }
        "failed" | "error" => ImportedStatus::Plainly(Some(Mark::Failed)),
        "skipped" | "cancelled" | "canceled" => ImportedStatus::Plainly(Some(Mark::Skipped)),
        "" | "pending" | "todo" | "open" | "notstarted" | "new" | "planned" | "ready" | "queued"
        | "failing" => ImportedStatus::Plainly(None),
        "resolved" | "merged" | "verified" | "shipped" | "implemented" | "released" | "success"
        | "approved" => ImportedStatus::Roughly(Some(Mark::Done)),
        "review" | "inreview" | "reviewing" | "testing" | "wip" | "hooked" | "needsreview" | "working" => {
            ImportedStatus::Roughly(Some(Mark::Running))
        }
        "deferred" | "wontdo" | "wontfix" | "obsolete" | "tombstone" | "rejected" | "abandoned"
        | "duplicate" | "removed" | "deleted" | "superseded" | "archived" | "dropped" | "onhold"
        | "parked" => ImportedStatus::Roughly(Some(Mark::Skipped)),
        "blocked" | "draft" | "backlog" | "proposed" | "icebox" | "pinned" | "waiting" | "notdone" => {
            ImportedStatus::Roughly(None)
        }
        _ => ImportedStatus::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_says_the_same_in_every_spelling() {
        for word in ["in-progress", "In Progress", "in_progress", "INPROGRESS"] {
            assert_eq!(read(word), ImportedStatus::Plainly(Some(Mark::Running)), "{word}");
        }
        assert_eq!(read("Won't Do"), ImportedStatus::Roughly(Some(Mark::Skipped)));
        assert_eq!(read("Merged into 12.16"), ImportedStatus::Unknown, "only whole words are known");
    }
}
