//! The contract in the prose of a dialect that has no field for one: a command in a fence or in backticks. Prose that only
//! describes what to look at is for a person.

use crate::draft::ContractDraft;
use crate::markdown::Blocks;
use crate::source::{Excerpt, Source, Span};

/// What a command in backticks may be followed by and still be the whole of what is verified.
const PASSES: &[&str] =
    &["", "passes", "pass", "succeeds", "exits 0", "exits with 0", "is green", "is clean", "runs clean"];

/// The contract that the text of `region` says; manual where it says none in a way that can be run, `None` where it says
/// nothing.
pub(super) fn contract(source: &Source, blocks: &Blocks, region: Span) -> Option<ContractDraft> {
    let text = source.slice(region);
    if text.trim().is_empty() {
        return None;
    }
    let fence = blocks.codes_in(region).next().filter(|code| code.span.end <= region.end);
    if let Some(code) = fence {
        let language = code.language.clone();
        return Some(ContractDraft {
            command: Some(code.text.clone()),
            language,
            ..ContractDraft::default()
        });
    }
    let start = region.start + (text.len() - text.trim_start().len());
    let command = quoted(text.trim()).map(|(at, command)| {
        let at = start + at;
        let mut excerpt = Excerpt::new(Span::new(at, at + command.len()));
        excerpt.push(command, at);
        excerpt
    });
    Some(ContractDraft { is_manual: command.is_none(), command, ..ContractDraft::default() })
}

/// The command in backticks that a line consists of, and where it begins.
fn quoted(text: &str) -> Option<(usize, &str)> {
    let ticks = text.bytes().take_while(|&byte| byte == b'`').count();
    let fence = &text[..ticks];
    let (command, behind) = text[ticks..].split_once(fence).filter(|_| ticks > 0)?;
    let behind = behind.trim().trim_end_matches('.').trim().to_lowercase();
    let is_whole = PASSES.contains(&behind.as_str()) && !command.trim().is_empty() && !command.contains('\n');
    is_whole.then(|| (ticks + command.len() - command.trim_start().len(), command.trim()))
}
