//! Imports Claude Code plans: `~/.claude/plans/<words>.md`, free text with headings, phases and lists.

use super::{Importer, entitle, generic, is_markdown, settle};
use crate::plan::draft::Draft;
use crate::syntax::source::Source;

pub(super) const FOREIGN: Importer =
    Importer { name: "claude-plan", tool: "Claude Code plan", recognises, parse };

fn recognises(place: &str, _: &str) -> Option<String> {
    (place.contains(".claude/plans/") && is_markdown(place)).then(|| "a file in .claude/plans/".to_owned())
}

fn parse(source: &Source) -> Draft {
    let mut draft = generic::read(source, source.parts()[0].span);
    entitle(&mut draft, source.place(), "Plan");
    settle(&mut draft);
    draft
}
