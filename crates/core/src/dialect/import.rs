//! Importers: plan files of other tools, parsed as drafts. Each format is one entry in [`IMPORTERS`]: a row over the
//! readers of checklists and JSON tasks, or a file of its own. Parsing never fails and loses no task: whatever a draft can't represent stays in the text of a task.
//! Writes nothing.

mod backlog;
mod checklist;
mod checklist_tool;
mod cursor;
mod gsd;
mod item;
mod json_task;
mod json_tool;
mod json_walk;
mod lenient_markdown;
mod order;
mod outline;
mod ralphex;
mod spec_kitty;
mod status;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::plan::draft::{ContractDraft, Draft, StepDraft, StepNumber};
use crate::plan::verified;
use crate::syntax::markdown;
use crate::syntax::source::{Source, Span, Spanned};

/// One importer.
pub struct Importer {
    /// The name on the command line: `spec-kit`.
    pub name: &'static str,
    /// The tool and its file: `spec-kit tasks.md`.
    pub tool: &'static str,
    /// Whether a file with this path and text has this format, and the evidence.
    pub recognises: fn(place: &str, text: &str) -> Option<String>,
    /// Parses a file, or the files of a directory. Never fails.
    pub parse: fn(&Source) -> Draft,
}

impl fmt::Debug for Importer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Foreign({})", self.name)
    }
}

impl PartialEq for Importer {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Importer {}

/// Every importer, in detection order: the one that accepts any list comes last.
pub const IMPORTERS: &[&Importer] = &[
    &backlog::IMPORTER,
    &json_tool::BEADS,
    &json_tool::CODEX,
    &json_tool::CLAUDE_TASKS,
    &json_tool::FEATURE_LIST,
    &json_tool::TASK_MASTER,
    &json_tool::RALPH,
    &cursor::IMPORTER,
    &spec_kitty::IMPORTER,
    &gsd::IMPORTER,
    &checklist_tool::OPENSPEC,
    &checklist_tool::CC_SDD,
    &checklist_tool::KIRO,
    &checklist_tool::SPEC_KIT,
    &ralphex::IMPORTER,
    &checklist_tool::CLAUDE_PLAN,
    &checklist_tool::ANY,
];

/// The format of a file with this path and text, and the evidence.
pub fn detect(place: &str, text: &str) -> Option<(&'static Importer, String)> {
    let place = place.replace('\\', "/");
    IMPORTERS.iter().find_map(|&foreign| Some((foreign, (foreign.recognises)(&place, text)?)))
}

pub fn named(name: &str) -> Option<&'static Importer> {
    IMPORTERS.iter().copied().find(|foreign| foreign.name == name)
}

/// Whether a file name is that of a Markdown file.
pub(crate) fn is_markdown(place: &str) -> bool {
    let place = place.to_ascii_lowercase();
    [".md", ".markdown", ".mdc", ".txt"].iter().any(|ending| place.ends_with(ending))
}

/// A manual contract.
pub(crate) fn manual() -> ContractDraft {
    ContractDraft { is_manual: true, ..ContractDraft::default() }
}

/// A step of an imported plan: without needs, and confirmed by a person, until the file says more.
pub(crate) fn step(title: Spanned<String>, whole: Span) -> StepDraft {
    let number = Spanned::new(StepNumber::Counted(0), Span::at(whole.start));
    let mut step = StepDraft::empty(number, title);
    step.heading.0 = step.title.span;
    step.whole.0 = whole;
    step.needs = Some(Vec::new());
    step.contract = Some(manual());
    step
}

/// A step id derived from another tool's id: `T001` is `t001`, `1.2` is `task-1-2`, which can't be a number. `None` if
/// nothing is left.
pub(crate) fn legal(name: &str) -> Option<String> {
    let slug = verified::slug(name);
    match slug.bytes().any(|byte| byte.is_ascii_lowercase()) {
        true => Some(slug),
        false if slug.is_empty() => None,
        false => Some(format!("task-{slug}")),
    }
}

/// The files that a step may change, as patterns. `None` if one of them is not a path: a wrong limit is worse than
/// none, and the text of the task has them all.
pub(crate) fn files(paths: Vec<Spanned<String>>) -> Option<Vec<Spanned<String>>> {
    let pattern = |path: Spanned<String>| {
        // `src/a.rs:10-20` includes a line range.
        let name =
            path.value.split_once(':').map_or(path.value.as_str(), |(name, _)| name).trim_end_matches('/');
        let is_path = !name.is_empty()
            && !name.starts_with(['/', '~', '-', '('])
            && !name.contains(char::is_whitespace)
            && name.split('/').all(|part| !part.is_empty() && part != "..")
            && name.contains(['.', '/']);
        let escaped: String = name
            .chars()
            .flat_map(|character| {
                let escape = "[]{}!\\".contains(character).then_some('\\');
                escape.into_iter().chain([character])
            })
            .collect();
        is_path.then(|| Spanned::new(escaped, path.span))
    };
    let patterns = paths.into_iter().map(pattern).collect::<Option<Vec<_>>>()?;
    (!patterns.is_empty()).then_some(patterns)
}

/// Completes the draft of a Markdown file, whose title is usually that of the tool.
pub(crate) fn finished(source: &Source, mut draft: Draft, usual: &str) -> Draft {
    entitle(&mut draft, source.place(), usual);
    settle(&mut draft);
    draft
}

/// Completes an imported draft: numbers the steps, makes every id unique, and moves unknown needs into the text of the
/// task, so that they are not lost.
pub(crate) fn settle(draft: &mut Draft) {
    for (place, step) in draft.steps.iter_mut().enumerate() {
        step.number.value = StepNumber::Counted(u32::try_from(place + 1).unwrap_or(u32::MAX));
    }
    unrepeated(&mut draft.steps);
    let ids = verified::ids(draft);
    let known: BTreeSet<&str> = ids.iter().map(String::as_str).collect();
    for (step, id) in draft.steps.iter_mut().zip(&ids) {
        let span = step.title.span;
        step.id.get_or_insert_with(|| Spanned::new(id.clone(), span));
        let Some(needs) = &mut step.needs else { continue };
        let mut seen = BTreeSet::new();
        needs.retain(|need| need.value != *id && seen.insert(need.value.clone()));
        let lost: Vec<String> = needs
            .extract_if(.., |need| !known.contains(need.value.as_str()))
            .map(|need| need.value)
            .collect();
        if !lost.is_empty() {
            tell(step, &format!("Depends on {}, which is not in this plan.", lost.join(", ")));
        }
    }
}

/// Adds plan-wide information from another file of the directory, without its steps.
pub(crate) fn join(draft: &mut Draft, file: Draft) {
    draft.title = draft.title.take().or(file.title);
    if draft.frontmatter.entries.is_empty() {
        draft.frontmatter = file.frontmatter;
    }
    draft.oddities.0.extend(file.oddities.0);
    match (&mut draft.context, file.context) {
        (Some(context), Some(more)) => context.value.push_str(&format!("\n\n{}", more.value)),
        (None, more) => draft.context = more,
        (Some(_), None) => {}
    }
}

/// Makes duplicate ids unique. The first step keeps the id, because needs refer to it.
pub(crate) fn unrepeated(steps: &mut [StepDraft]) {
    let mut taken: BTreeSet<String> =
        steps.iter().filter_map(|step| step.id.as_ref()).map(|id| id.value.clone()).collect();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for id in steps.iter_mut().filter_map(|step| step.id.as_mut()) {
        let count = counts.entry(id.value.clone()).or_default();
        *count += 1;
        while *count > 1 {
            let free = format!("{}-{count}", id.value);
            if taken.insert(free.clone()) {
                id.value = free;
                break;
            }
            *count += 1;
        }
    }
}

/// Adds a line to the text of a step's task.
pub(crate) fn tell(step: &mut StepDraft, line: &str) {
    match &mut step.task {
        Some(task) => task.value.push_str(&format!("\n{line}")),
        None => step.task = Some(Spanned::new(line.to_owned(), step.title.span)),
    }
}

/// Removes words that a tool puts before every title, as in `Plan: Add caching`. A plan without a title, or with the
/// tool's generic one, is named after its file, or after its directory if all files have the same name.
fn entitle(draft: &mut Draft, place: &str, usual: &str) {
    const NAMES: &[&str] = &["tasks", "plan", "todo", "readme", "roadmap", "work-packages"];
    const WORDS: &[&str] =
        &["Plan", "Implementation Plan", "Tasks", "Implementation Tasks", "Work Packages", "Roadmap"];
    if let Some(title) = &mut draft.title {
        let bare =
            |word: &&str| title.value.strip_prefix(*word)?.trim_start().strip_prefix([':', '-', '–', '—']);
        let bare = WORDS.iter().find_map(bare).map(str::trim).filter(|bare| !bare.is_empty());
        title.value = bare.unwrap_or(&title.value).to_owned();
    }
    if draft.title.as_ref().is_some_and(|title| !title.value.eq_ignore_ascii_case(usual)) {
        return;
    }
    let mut parts = place.trim_end_matches('/').rsplit(['/', '\\']);
    let file = parts.next().unwrap_or_default();
    let stem = file.split('.').find(|part| !part.is_empty()).unwrap_or(file);
    let name = match NAMES.contains(&stem.to_lowercase().as_str()) {
        true => parts.next().filter(|folder| !folder.is_empty()).unwrap_or(stem),
        false => stem,
    };
    let words: Vec<&str> = name.split(['-', '_', ' ']).filter(|word| !word.is_empty()).collect();
    if !words.is_empty() {
        draft.title = Some(Spanned::new(words.join(" "), Span::at(0)));
    }
}

/// Text that is safe in a plan of any dialect: headings become bold, labels lose their stars, and text with unclosed
/// code or comments becomes a block quote.
pub(crate) fn prose(text: &str) -> String {
    let (text, _) = markdown::outside_code(undivided(text), plain);
    match markdown::is_closed(&text) {
        true => text,
        false => text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n"),
    }
}

/// The text without trailing dividing lines.
fn undivided(text: &str) -> &str {
    let mut kept = text.trim_end();
    while let Some((before, last)) = kept.rsplit_once('\n') {
        let is_rule =
            last.len() >= 3 && ["-", "*", "_"].iter().any(|sign| last.trim().replace(sign, "").is_empty());
        if !is_rule {
            break;
        }
        kept = before.trim_end();
    }
    kept
}

/// A line that is neither heading nor label.
fn plain(line: &str) -> String {
    let bare = line.trim_start();
    let marks = bare.bytes().take_while(|&byte| byte == b'#').count();
    if (1..=6).contains(&marks) && bare[marks..].starts_with([' ', '\t']) {
        let title = bare[marks..].trim().trim_end_matches(['#', ':']).trim_end().replace("**", "");
        // Bold words with a colon would be parsed as a label.
        let is_bold = !title.is_empty() && !title.contains(':');
        return if is_bold { format!("**{title}**") } else { title };
    }
    let bullet = bare.strip_prefix(['-', '*', '+']).filter(|behind| behind.starts_with([' ', '\t']));
    let label = bullet.map_or(bare, str::trim_start).strip_prefix("**");
    match label.and_then(|label| label.split_once("**")) {
        Some((name, behind)) if name.contains(':') || behind.trim_start().starts_with(':') => {
            line.replacen("**", "", 2)
        }
        Some(_) | None => line.to_owned(),
    }
}
