//! Creates the next version of a plan after a step failed: the same text with another id, in which finished steps stay
//! finished.

use super::map;
use super::map::RecordKeys;
use super::read::RecordTree;
use super::spelling::{New, RecordPage, odd};
use super::{PLAN_KEYS, STEP_KEYS, word};
use crate::plan::edit::EditError;
use crate::syntax::source::{Edit, Source};
use crate::syntax::text::one_line;
use crate::syntax::yaml::YamlNode;

/// Why a plan is revised, and what is known by now.
#[derive(Debug, Clone, Copy)]
pub struct RecordReplan<'a> {
    /// The position of the failed step.
    pub failed: usize,
    pub error: &'a str,
    /// New findings.
    pub discoveries: &'a [String],
    /// New constraints.
    pub constraints: &'a [String],
    /// The differences in the new version; may be empty.
    pub changes: &'a str,
    /// The reason; may be empty.
    pub reasoning: &'a str,
    /// RFC 3339.
    pub now: &'a str,
}

/// The next version of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// Its id, which is also the name of its file.
    pub id: String,
    pub text: String,
}

/// The next version of a plan: a draft that needs a new approval.
///
/// Finished steps keep their records; the failed step is pending again. Findings go into the metadata.
pub fn replanned(source: &Source, replan: &RecordReplan<'_>) -> Result<Successor, EditError> {
    let mut next = Version { source: source.clone() };
    next.reopen(replan.failed)?;
    next.succeed(source, replan)
}

/// The next version of a plan, with text from a planner. planwright sets its id, version and state, whatever the
/// planner wrote.
pub fn adopted(old: &Source, written: &Source, replan: &RecordReplan<'_>) -> Result<Successor, EditError> {
    Version { source: written.clone() }.succeed(old, replan)
}

/// The id of the version after `version`: `auth` and `auth-v2` are followed by `auth-v2` and `auth-v3`.
///
/// An id with accumulated suffixes (`auth-v2-v3`) is reduced to its base; a name that merely ends like a version keeps
/// its ending.
pub fn next_id(id: &str, version: usize, previous: Option<&str>) -> String {
    let strip = |id: &str, version: usize| id.strip_suffix(&format!("-v{version}")).map(str::to_owned);
    let mut base = id.to_owned();
    let mut counted = version;
    while counted > 1
        && let Some(shorter) = strip(&base, counted)
    {
        // The previous version had this name, so its own suffix is still present.
        let has_grown = previous == Some(shorter.as_str());
        base = shorter;
        counted -= 1;
        if !has_grown && counted + 1 == version {
            break;
        }
    }
    format!("{base}-v{}", version.saturating_add(1))
}

/// What is known, a line each.
fn notes(name: &str, old: &Source, replan: &RecordReplan<'_>) -> Vec<String> {
    let title = old.draft().steps.get(replan.failed).map(|step| step.title.value.clone());
    let failure = format!(
        "{name}: step {} ({}) failed: {}",
        replan.failed + 1,
        title.unwrap_or_default(),
        note_line(replan.error)
    );
    let found = replan.discoveries.iter().map(|found| format!("discovery: {}", note_line(found)));
    let said = [("changes", replan.changes), ("reasoning", replan.reasoning)]
        .into_iter()
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(label, text)| format!("{label}: {}", note_line(text)));
    std::iter::once(failure).chain(found).chain(said).collect()
}

/// A text as one line of a note.
fn note_line(text: &str) -> String {
    let line = one_line(text);
    let end = line.floor_char_boundary(NOTE_BYTES_MAX);
    if end < line.len() { format!("{}…", &line[..end]) } else { line }
}

/// The most bytes of an error that a note repeats.
const NOTE_BYTES_MAX: usize = 500;

/// The text while it becomes the next version. Each edit is applied before the next is computed, so that none overlap.
struct Version {
    source: Source,
}

/// What an edit of the next version can see.
struct Sight<'a> {
    page: &'a RecordPage<'a>,
    tree: &'a RecordTree,
    root: &'a YamlNode,
}

impl<'a> Sight<'a> {
    #[expect(clippy::unnecessary_wraps, reason = "reads like the other maps at the call")]
    fn plan(&self) -> Result<RecordKeys<'a>, EditError> {
        Ok(RecordKeys { page: self.page, map: self.root, order: PLAN_KEYS })
    }

    fn step(&self, step: usize) -> Result<RecordKeys<'a>, EditError> {
        let steps = self.tree.steps();
        let map = steps.get(step).ok_or(EditError::NoStep { step, count: steps.len() })?;
        Ok(RecordKeys { page: self.page, map, order: STEP_KEYS })
    }
}

impl Version {
    /// Sets the version after `old`, and records the reason.
    fn succeed(mut self, old: &Source, replan: &RecordReplan<'_>) -> Result<Successor, EditError> {
        let source = self.source.clone();
        let said = |key: &str| old.draft().frontmatter.value(key).map(|value| value.value.clone());
        let stem = old.place().rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem).to_owned();
        let name = said("id").unwrap_or(stem);
        let version = said("version").and_then(|version| version.parse().ok()).unwrap_or(1_usize);
        let id = next_id(&name, version, said("previousPlanId").as_deref());
        for (key, value) in [
            ("id", New::text(id.as_str())),
            ("status", New::text("draft")),
            ("version", New::Number(version.saturating_add(1))),
            ("previousPlanId", New::text(name.as_str())),
            ("createdAt", New::text(replan.now)),
        ] {
            self.edit(|keys| keys.plan()?.set(key, &value).map(Vec::from_iter))?;
        }
        for constraint in replan.constraints {
            self.add("constraints", constraint)?;
        }
        for note in notes(&name, old, replan) {
            self.add("notes", &note)?;
        }
        let next = super::DIALECT.touched(&self.source, replan.now);
        let (meant, read) = (super::DIALECT.meaning(&source), super::DIALECT.meaning(&next));
        let is_named = read.frontmatter.value("id").is_some_and(|read| read.value == id);
        if meant.steps != read.steps || !is_named {
            return Err(odd("the next version would be read differently"));
        }
        Ok(Successor { id, text: next.text().to_owned() })
    }

    fn edit(
        &mut self,
        edits: impl FnOnce(&Sight<'_>) -> Result<Vec<Edit>, EditError>,
    ) -> Result<(), EditError> {
        let tree = RecordTree::of(&self.source);
        let root = tree.whole().ok_or_else(|| odd("the plan has syntax errors"))?;
        let page = RecordPage::of(&self.source, root);
        let edits = edits(&Sight { page: &page, tree: &tree, root })?;
        self.source = self.source.edited(&edits);
        Ok(())
    }

    /// The failed step becomes pending again, and so does one that was running.
    fn reopen(&mut self, failed: usize) -> Result<(), EditError> {
        let count = RecordTree::of(&self.source).steps().len();
        if failed >= count {
            return Err(EditError::NoStep { step: failed, count });
        }
        let running = self.source.draft();
        let is_open = |place: &usize| {
            *place == failed || running.steps[*place].mark() == Some(crate::plan::draft::Mark::Running)
        };
        for place in (0..count).filter(is_open) {
            self.edit(|sight| sight.step(place)?.set("status", &New::text(word(None))).map(Vec::from_iter))?;
            for key in ["executedBy", "startedAt", "completedAt", "output", "error", "affectedFiles"] {
                self.edit(|sight| sight.step(place)?.remove(key).map(Vec::from_iter))?;
            }
        }
        Ok(())
    }

    /// Adds an item to a list of the metadata.
    fn add(&mut self, key: &'static str, item: &str) -> Result<(), EditError> {
        self.edit(|sight| Ok(vec![map::add_metadata(sight.page, sight.root, key, item)?]))
    }
}
