//! The next version of a plan after a step failed: the same text with another id, in which what was finished stays finished.

use super::map::Keys;
use super::read::{self, Tree};
use super::spelling::{New, Page, odd};
use super::{METADATA_KEYS, PLAN_KEYS, STEP_KEYS, word};
use crate::plan::edit::Refusal;
use crate::syntax::source::{Edit, Source};
use crate::syntax::yaml::Node;

/// Why a plan is made anew, and what is known by now.
#[derive(Debug, Clone, Copy)]
pub struct Replan<'a> {
    /// The place of the step that failed.
    pub failed: usize,
    pub error: &'a str,
    /// What was found out meanwhile.
    pub discoveries: &'a [String],
    /// What has to be kept to from now on.
    pub constraints: &'a [String],
    /// What is different in the new version; may be empty.
    pub changes: &'a str,
    /// Why it is; may be empty.
    pub reasoning: &'a str,
    /// The time, as RFC 3339 has it.
    pub now: &'a str,
}

/// The next version of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Successor {
    /// Its id, which is also the name of its file.
    pub id: String,
    pub text: String,
}

/// The next version of a plan: a draft that has to be approved anew.
///
/// Finished steps keep all that is written of them; the step that failed is pending again. What is known goes into the
/// metadata.
pub fn replanned(source: &Source, replan: &Replan<'_>) -> Result<Successor, Refusal> {
    let mut next = Version { source: source.clone() };
    next.reopen(replan.failed)?;
    next.succeed(source, replan)
}

/// The next version of a plan, with the text that a planner wrote. What it says about itself is set, whatever the planner says.
pub fn adopted(old: &Source, written: &Source, replan: &Replan<'_>) -> Result<Successor, Refusal> {
    Version { source: written.clone() }.succeed(old, replan)
}

/// The id of the version behind `version`: `auth` and `auth-v2` are followed by `auth-v2` and `auth-v3`.
///
/// An id that grew by a suffix each time (`auth-v2-v3`) is taken back to its base; a name that merely ends like one keeps its
/// ending.
pub fn next_id(id: &str, version: usize, previous: Option<&str>) -> String {
    let strip = |id: &str, version: usize| id.strip_suffix(&format!("-v{version}")).map(str::to_owned);
    let mut base = id.to_owned();
    let mut counted = version;
    while counted > 1
        && let Some(shorter) = strip(&base, counted)
    {
        // The one before was called like this: then its own suffix is still there.
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
fn notes(name: &str, old: &Source, replan: &Replan<'_>) -> Vec<String> {
    let title = old.draft().steps.get(replan.failed).map(|step| step.title.value.clone());
    let failure = format!(
        "{name}: step {} ({}) failed: {}",
        replan.failed + 1,
        title.unwrap_or_default(),
        one_line(replan.error)
    );
    let found = replan.discoveries.iter().map(|found| format!("discovery: {}", one_line(found)));
    let said = [("changes", replan.changes), ("reasoning", replan.reasoning)]
        .into_iter()
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(label, text)| format!("{label}: {}", one_line(text)));
    std::iter::once(failure).chain(found).chain(said).collect()
}

/// A text as one line of a note.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let end = line.floor_char_boundary(NOTE_BYTES_MAX);
    if end < line.len() { format!("{}…", &line[..end]) } else { line }
}

/// The most bytes of an error that a note repeats.
const NOTE_BYTES_MAX: usize = 500;

/// The text as it becomes the next version. Each edit is made before the next one is thought of, so none meets another.
struct Version {
    source: Source,
}

/// What an edit of the next version can see.
struct Sight<'a> {
    page: &'a Page<'a>,
    tree: &'a Tree,
    root: &'a Node,
}

impl<'a> Sight<'a> {
    #[expect(clippy::unnecessary_wraps, reason = "reads like the other maps at the call")]
    fn plan(&self) -> Result<Keys<'a>, Refusal> {
        Ok(Keys { page: self.page, map: self.root, order: PLAN_KEYS })
    }

    fn step(&self, step: usize) -> Result<Keys<'a>, Refusal> {
        let steps = self.tree.steps();
        let map = steps.get(step).ok_or(Refusal::NoStep { step, count: steps.len() })?;
        Ok(Keys { page: self.page, map, order: STEP_KEYS })
    }
}

impl Version {
    /// Calls it the version behind `old`, and writes down why there is one.
    fn succeed(mut self, old: &Source, replan: &Replan<'_>) -> Result<Successor, Refusal> {
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
            return Err(odd("the next version would be read in another way"));
        }
        Ok(Successor { id, text: next.text().to_owned() })
    }

    fn edit(&mut self, edits: impl FnOnce(&Sight<'_>) -> Result<Vec<Edit>, Refusal>) -> Result<(), Refusal> {
        let tree = Tree::of(&self.source);
        let root = tree.whole().ok_or_else(|| odd("the plan can't be read as a whole"))?;
        let page = Page::of(&self.source, root);
        let edits = edits(&Sight { page: &page, tree: &tree, root })?;
        self.source = self.source.edited(&edits);
        Ok(())
    }

    /// The step that failed is pending again, and so is one that was under way.
    fn reopen(&mut self, failed: usize) -> Result<(), Refusal> {
        let count = Tree::of(&self.source).steps().len();
        if failed >= count {
            return Err(Refusal::NoStep { step: failed, count });
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
    fn add(&mut self, key: &'static str, item: &str) -> Result<(), Refusal> {
        self.edit(|sight| {
            let metadata = read::value(sight.root, "metadata").filter(|map| !read::entries(map).is_empty());
            let edit = match metadata {
                Some(map) => {
                    Keys { page: sight.page, map, order: METADATA_KEYS }.push(key, New::text(item))?
                }
                None => {
                    let map = New::Map(vec![(key, New::List(vec![New::text(item)]))]);
                    let edit = sight.plan()?.set("metadata", &map)?;
                    edit.ok_or_else(|| odd("the metadata is there already"))?
                }
            };
            Ok(vec![edit])
        })
    }
}
