//! Claude Code plans: `~/.claude/plans/<words>.md`, free text with headings, phases and lists.

use super::{Foreign, generic, is_markdown, settle, titled_by_folder};
use crate::draft::Draft;
use crate::source::Source;

/// How the table of importers knows this one.
pub(super) const FOREIGN: Foreign =
    Foreign { name: "claude-plan", tool: "Claude Code plan", recognises, parse };

fn recognises(place: &str, _: &str) -> Option<String> {
    (place.contains(".claude/plans/") && is_markdown(place)).then(|| "a file in .claude/plans/".to_owned())
}

fn parse(source: &Source) -> Draft {
    let mut draft = generic::read(source, source.parts()[0].span);
    unprefix(&mut draft);
    titled_by_folder(&mut draft, source.place(), "Plan");
    settle(&mut draft);
    draft
}

/// Takes the word away that such titles begin with: `Plan: Add caching`.
pub(super) fn unprefix(draft: &mut Draft) {
    const WORDS: &[&str] = &["Plan:", "Implementation Plan:", "Plan —", "Plan -", "Plan –"];
    if let Some(title) = &mut draft.title
        && let Some(bare) = WORDS.iter().find_map(|word| title.value.strip_prefix(word))
    {
        title.value = bare.trim_start().to_owned();
    }
}
