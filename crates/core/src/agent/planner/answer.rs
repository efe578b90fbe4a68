//! Finds the plan in a planner's answer: one code block, surrounded by reasoning. Models fence badly, so
//! every possible extent of a block is tried, and the one that parses best as a plan wins.

use std::fmt;

use crate::dialect::Dialect;
use crate::plan::draft::{ContractDraft, ParseIssue};
use crate::syntax::source::Source;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannerAnswer {
    pub plan: String,
    /// Everything else, except the changes.
    pub reasoning: String,
    /// What changed since the previous version, if the answer says so.
    pub changes: String,
}

/// Why an answer contains no usable plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerFault {
    Empty,
    /// Text, but no plan.
    NoPlan,
    Several(usize),
}

impl fmt::Display for AnswerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("empty answer"),
            Self::NoPlan => f.write_str(
                "no plan in the answer: give the whole plan, frontmatter first, in one code block",
            ),
            Self::Several(count) if *count > PLANS_MAX => {
                write!(f, "more than {PLANS_MAX} plans in the answer: give exactly one")
            }
            Self::Several(count) => write!(f, "{count} plans in the answer: give exactly one"),
        }
    }
}

impl std::error::Error for AnswerFault {}

const FENCES_MAX: usize = 2000;
/// The most block ends that are tried, half of them the nearest and half the farthest: a plan ends at the
/// fence that closes it, which is nearly always one of the last, or was closed too early.
const ENDS_MAX: usize = 64;
/// The most bytes that are parsed to find the end of a block, half for the nearest and half for the farthest.
const READ_BYTES_MAX: usize = 8 << 20;
/// Above this number, the answer has failed to give exactly one anyway.
const PLANS_MAX: usize = 4;

/// A line that may open or close a block.
#[derive(Debug, Clone, Copy)]
struct Fence<'a> {
    /// The offset of the line.
    start: usize,
    /// The offset of the next line.
    below: usize,
    mark: u8,
    length: usize,
    info: &'a str,
}

/// A block of the answer that may be the plan.
#[derive(Debug, Clone, Copy)]
struct Block<'a> {
    /// The range of the block including its fences.
    whole: (usize, usize),
    text: &'a str,
}

/// Parses an answer that contains a plan in this dialect.
pub fn read(said: &str, dialect: &'static Dialect) -> Result<PlannerAnswer, AnswerFault> {
    if said.trim().is_empty() {
        return Err(AnswerFault::Empty);
    }
    let fences = fences(said);
    let mut found: Vec<Block<'_>> = Vec::new();
    for (place, fence) in fences.iter().enumerate() {
        let is_inside = found.iter().any(|block| (block.whole.0..block.whole.1).contains(&fence.start));
        if !is_inside && begins_plan(&said[fence.below..], dialect) {
            if found.len() == PLANS_MAX {
                return Err(AnswerFault::Several(PLANS_MAX + 1));
            }
            found.extend(best(said, &fences[place..], dialect));
        }
    }
    match found.as_slice() {
        [] => bare(said, dialect).ok_or(AnswerFault::NoPlan),
        [block] => Ok(around(said, *block)),
        // A plan that is repeated verbatim still counts as one.
        [first, rest @ ..] if rest.iter().all(|other| other.text.trim() == first.text.trim()) => {
            Ok(around(said, *first))
        }
        several => Err(AnswerFault::Several(several.len())),
    }
}

/// Whether a text starts like a plan in this dialect.
fn begins_plan(text: &str, dialect: &'static Dialect) -> bool {
    let text = text.trim_start_matches(['\n', '\r', ' ']);
    match dialect.is_native() {
        true => text.starts_with("---") && (dialect.recognises)("", text).is_some(),
        false => (dialect.recognises)("", text).is_some(),
    }
}

/// The block that the first of these fences opens, with the end that makes the best plan.
fn best<'a>(said: &'a str, fences: &[Fence<'a>], dialect: &'static Dialect) -> Option<Block<'a>> {
    let (opening, rest) = fences.split_first()?;
    let closes = |fence: &&Fence<'_>| {
        fence.mark == opening.mark && fence.length >= opening.length && fence.info.is_empty()
    };
    let block = |end: usize, behind: usize| Block {
        whole: (opening.start, behind),
        text: said.get(opening.below..end).unwrap_or_default(),
    };
    let closed = rest.iter().filter(closes).map(|fence| block(fence.start, fence.below));
    // An answer that was cut off, or lacks the last fence, may still be complete.
    let open = std::iter::once(block(said.len(), said.len()));
    let blocks: Vec<Block<'_>> = closed.chain(open).collect();
    tried(&blocks).max_by_key(|block| rank(block.text, dialect))
}

/// The candidates that are worth parsing, of all blocks with the same start.
fn tried<'b, 'a>(blocks: &'b [Block<'a>]) -> impl Iterator<Item = Block<'a>> + 'b {
    let (near, far) = blocks.split_at(blocks.len().saturating_sub(ENDS_MAX / 2));
    let is_affordable = |bytes: &mut usize, block: &Block<'_>| {
        *bytes = bytes.saturating_add(block.text.len());
        *bytes <= READ_BYTES_MAX / 2
    };
    let (mut near_bytes, mut far_bytes) = (0, 0);
    let near = near.iter().take(ENDS_MAX / 2).take_while(move |block| is_affordable(&mut near_bytes, block));
    // Always parse the last two, whatever they cost: the last fence, and the end of the text.
    let far = far
        .iter()
        .rev()
        .enumerate()
        .take_while(move |(place, block)| is_affordable(&mut far_bytes, block) || *place < 2);
    near.chain(far.map(|(_, block)| block)).copied()
}

/// How well a text parses as a plan: complete blocks first, then the most steps with a contract, then the
/// shortest text.
fn rank(text: &str, dialect: &'static Dialect) -> (bool, usize, std::cmp::Reverse<usize>) {
    let draft = Source::new("answer", text).written_in(dialect).draft();
    let is_whole = !draft.oddities.0.iter().any(|oddity| oddity.value == ParseIssue::UnclosedFence);
    let is_judged = |contract: &ContractDraft| contract.command.is_some() || contract.is_manual;
    let judged = draft.steps.iter().filter(|step| step.contract.as_ref().is_some_and(is_judged)).count();
    (is_whole, judged, std::cmp::Reverse(text.len()))
}

/// A plan without a fence: from its frontmatter to the end.
fn bare(said: &str, dialect: &'static Dialect) -> Option<PlannerAnswer> {
    let mut at = 0;
    let mut rules = 0;
    for line in said.split_inclusive('\n') {
        let is_first = if dialect.is_native() { line.trim_end() == "---" } else { at == 0 };
        rules += usize::from(is_first);
        if rules > FENCES_MAX {
            return None;
        }
        if is_first && begins_plan(&said[at..], dialect) {
            return Some(around(said, Block { whole: (at, said.len()), text: &said[at..] }));
        }
        at += line.len();
    }
    None
}

fn fences(said: &str) -> Vec<Fence<'_>> {
    let mut fences = Vec::new();
    let mut start = 0;
    for line in said.split_inclusive('\n') {
        let below = start + line.len();
        let bare = line.trim_start();
        let indent = line.len() - bare.len();
        let mark = bare.bytes().next().filter(|mark| matches!(mark, b'`' | b'~'));
        if let Some(mark) = mark.filter(|_| indent < 4) {
            let length = bare.bytes().take_while(|&byte| byte == mark).count();
            let info = bare[length..].trim();
            if length >= 3 && !info.contains('`') {
                fences.push(Fence { start, below, mark, length, info });
            }
        }
        start = below;
    }
    fences.truncate(FENCES_MAX);
    fences
}

/// The answer around its plan.
fn around(said: &str, block: Block<'_>) -> PlannerAnswer {
    let (before, behind) = (&said[..block.whole.0], &said[block.whole.1..]);
    let mut changes = Vec::new();
    let mut reasoning = Vec::new();
    let mut is_change = false;
    for line in before.lines().chain([""]).chain(behind.lines()) {
        match label(line) {
            Some((Part::Changes, rest)) => {
                is_change = true;
                changes.push(rest);
            }
            Some((Part::Reasoning, rest)) => {
                is_change = false;
                reasoning.push(rest);
            }
            None if is_change => changes.push(line),
            None => reasoning.push(line),
        }
    }
    let plan = block.text.trim_start_matches(['\n', '\r']).trim_end();
    PlannerAnswer { plan: format!("{plan}\n"), reasoning: kept(&reasoning), changes: kept(&changes) }
}

enum Part {
    Changes,
    Reasoning,
}

/// `Changes: …`, `**Reasoning:** …` or `## Changes` at the start of a line.
fn label(line: &str) -> Option<(Part, &str)> {
    let bare = line.trim_start_matches(['#', '*', ' ']);
    let is_heading = line.trim_start().starts_with('#');
    for (word, part) in [("changes", Part::Changes), ("reasoning", Part::Reasoning)] {
        let Some(rest) = bare.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)) else {
            continue;
        };
        let rest = bare[rest.len()..].trim_start_matches('*');
        if let Some(rest) = rest.strip_prefix(':') {
            return Some((part, rest.trim_start_matches('*').trim()));
        }
        if is_heading && rest.trim().is_empty() {
            return Some((part, ""));
        }
    }
    None
}

/// The lines as one text, truncated to the limit.
fn kept(lines: &[&str]) -> String {
    let mut text = lines.join("\n");
    while text.contains("\n\n\n") {
        text = text.replace("\n\n\n", "\n\n");
    }
    let text = text.trim();
    let end = text.floor_char_boundary(super::REASONING_BYTES_MAX);
    if end < text.len() { format!("{}…", &text[..end]) } else { text.to_owned() }
}
