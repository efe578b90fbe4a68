//! Parses a plan record. Keeps everything; a value of the wrong kind becomes an oddity.

use std::collections::HashMap;

use super::excerpt;
use super::{DIALECT, FIELDS, NODES_MAX, STEP_KEYS, STEPS_MAX};
use crate::dialect;
use crate::plan::draft::{
    ContractDraft, Draft, DraftField, FieldDraft, FrontmatterEntry, Layout, Mark, ParseIssue, RecordFault,
    StepDraft, StepNumber, Trace,
};
use crate::plan::edit::number_at;
use crate::syntax::source::{Source, Span, Spanned};
use crate::syntax::yaml;
use crate::syntax::yaml::{YamlNode, YamlStyle, YamlValue};

/// The tree of a plan, and what is wrong with it.
pub(super) struct RecordTree {
    pub(super) root: Option<YamlNode>,
    faults: Vec<yaml::YamlFault>,
}

impl RecordTree {
    pub(super) fn of(source: &Source) -> Self {
        let (root, faults) = yaml::read_up_to(source.text(), 0, NODES_MAX);
        Self { root, faults }
    }

    /// The map of the plan; `None` if there is none, or it was not parsed completely.
    pub(super) fn whole(&self) -> Option<&YamlNode> {
        let is_whole = !self.faults.iter().any(|fault| RecordFault::is_end(&fault.kind))
            && self.steps().len() <= STEPS_MAX;
        self.root.as_ref().filter(|root| is_whole && root.is_map())
    }

    /// The steps, in file order.
    pub(super) fn steps(&self) -> &[YamlNode] {
        let steps = self.root.as_ref().and_then(|root| root.get("steps"));
        steps.map_or(&[], YamlNode::items)
    }
}

/// Whether a value exists and is not empty.
fn is_said(node: &YamlNode) -> bool {
    match &node.value {
        YamlValue::Scalar { text, style } => {
            let is_null =
                *style == YamlStyle::Plain && matches!(text.as_str(), "null" | "Null" | "NULL" | "~");
            !(is_null || text.trim().is_empty())
        }
        YamlValue::List(_) | YamlValue::Map(_) => true,
    }
}

pub(super) fn parse(source: &Source) -> Draft {
    let tree = RecordTree::of(source);
    let mut reader = Reader::new(source);
    let mut draft = reader.plan(&tree);
    for (place, node) in reader.counted(tree.steps()).iter().enumerate() {
        let step = reader.step(place, node);
        draft.steps.push(step);
    }
    resolve(&mut draft);
    reader.finish(&tree, draft)
}

/// Reads what a list shows: the keys, and the titles and marks of the steps.
pub(super) fn skim(source: &Source) -> Draft {
    let tree = RecordTree::of(source);
    let mut reader = Reader::new(source);
    let mut draft = reader.plan(&tree);
    for (place, node) in reader.counted(tree.steps()).iter().enumerate() {
        let mut step = reader.bare_step(place, node);
        step.marks.extend(reader.mark(node));
        draft.steps.push(step);
    }
    reader.finish(&tree, draft)
}

/// Turns indices into step ids. Before this, a need is as written.
///
/// A step without `dependsOn` depends on all earlier ones: the dialect runs one step at a time, in order. If a step
/// depends on a later one, the steps between them come before it, and those without `dependsOn` depend on nothing.
fn resolve(draft: &mut Draft) {
    let ids = crate::plan::verified::ids(draft);
    let mut places: HashMap<u32, usize> = HashMap::new();
    for (place, step) in draft.steps.iter().enumerate() {
        if let StepNumber::Counted(number) = step.number.value {
            places.entry(number).or_insert(place);
        }
    }
    let named: HashMap<&str, usize> = ids.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
    let mut overtaken: Vec<(usize, usize)> = Vec::new();
    for (place, step) in draft.steps.iter_mut().enumerate() {
        for need in step.needs.iter_mut().flatten() {
            let number = need.value.parse::<u32>().ok().and_then(|index| index.checked_add(1));
            let meant = match number {
                Some(number) => places.get(&number).copied(),
                None => named.get(need.value.as_str()).copied(),
            };
            overtaken.extend(meant.filter(|&meant| meant > place).map(|meant| (place, meant)));
            if let Some(number) = number {
                need.value = meant.map_or_else(|| format!("#{number}"), |place| ids[place].clone());
            }
        }
    }
    let mut reach = 0;
    let mut overtaken = overtaken.into_iter().peekable();
    for (place, step) in draft.steps.iter_mut().enumerate() {
        if place <= reach && step.needs.is_none() && reach > 0 {
            step.needs = Some(Vec::new());
        }
        while let Some((_, last)) = overtaken.next_if(|&(first, _)| first == place) {
            reach = reach.max(last);
        }
    }
}

struct Reader<'a> {
    source: &'a Source,
    oddities: Vec<Spanned<ParseIssue>>,
}

impl<'a> Reader<'a> {
    fn new(source: &'a Source) -> Self {
        Self { source, oddities: Vec::new() }
    }

    fn complain(&mut self, span: Span, fault: RecordFault) {
        self.oddities.push(Spanned::new(ParseIssue::Record(fault), span));
    }

    fn finish(mut self, tree: &RecordTree, mut draft: Draft) -> Draft {
        let language = if super::is_json(self.source) { "JSON" } else { "YAML" };
        for fault in &tree.faults {
            self.complain(fault.span, RecordFault::of(fault.kind.clone(), language));
        }
        draft.oddities = dialect::in_order(self.oddities);
        draft
    }

    /// Copies the keys of the plan.
    fn plan(&mut self, tree: &RecordTree) -> Draft {
        let mut draft = Draft::default();
        let Some(root) = &tree.root else { return draft };
        if !root.is_map() {
            let what = "the plan is not a map with keys such as `task` and `steps`".to_owned();
            self.complain(self.first_line(root.span), RecordFault::Unread(what));
            return draft;
        }
        for (key, value) in root.entries() {
            let Some(name) = key.text() else { continue };
            match name {
                "steps" if is_said(value) && !value.is_list() => {
                    self.wrong_kind(value, "steps", "a list");
                }
                "metadata" if is_said(value) && !value.is_map() => {
                    self.wrong_kind(value, "metadata", "a map");
                }
                "steps" | "metadata" => {}
                _ => draft.frontmatter.entries.push(FrontmatterEntry {
                    key: Spanned::new(name.to_owned(), bare(self.source, key, name)),
                    value: plain(self.source, value).filter(|_| is_one_line(value)),
                }),
            }
        }
        DIALECT.claim(self.line(root, "status"), &mut draft);
        draft.owner = Layout(self.line(root, "createdBy"));
        let mut context: Vec<Spanned<String>> = Vec::new();
        if let Some(task) = self.line(root, "task") {
            let (title, rest) = first_line(&task.value);
            draft.title = Some(Spanned::new(title.to_owned(), self.first_line(task.span)));
            context.extend((!rest.is_empty()).then(|| Spanned::new(rest.to_owned(), task.span)));
        }
        if let Some(metadata) = root.get("metadata") {
            self.metadata(metadata, &mut draft, &mut context);
        }
        let place = context.first().map(|part| part.span);
        draft.context = place.map(|place| {
            let parts: Vec<String> = context.into_iter().map(|part| part.value).collect();
            Spanned::new(parts.join("\n\n"), place)
        });
        draft
    }

    fn metadata(&mut self, metadata: &YamlNode, draft: &mut Draft, context: &mut Vec<Spanned<String>>) {
        if let Some(complexity) = self.line(metadata, "complexity") {
            let number: Option<f64> = complexity.value.trim().parse().ok();
            if !number.is_some_and(|number| (1.0..=10.0).contains(&number)) {
                self.complain(complexity.span, RecordFault::Complexity(complexity.value));
            }
        }
        for key in ["tags", "informedByMemories"] {
            self.list(metadata, key);
        }
        if let Some(constraints) = self.list(metadata, "constraints").filter(|list| !list.is_empty()) {
            let lines: Vec<String> = constraints.iter().map(|item| format!("- {}", item.value)).collect();
            context.push(Spanned::new(format!("Constraints:\n{}", lines.join("\n")), constraints[0].span));
        }
        draft.priority = self.line(metadata, "priority");
        draft.budget = self.line(metadata, "budget");
        draft.notes = self.list(metadata, "notes").unwrap_or_default();
    }

    /// The steps to parse: all of them, up to a limit that no real plan reaches.
    fn counted<'n>(&mut self, steps: &'n [YamlNode]) -> &'n [YamlNode] {
        if let Some(beyond) = steps.get(STEPS_MAX) {
            let why = format!("the plan has more than {STEPS_MAX} steps");
            self.complain(self.first_line(beyond.span), RecordFault::Unread(why));
        }
        &steps[..steps.len().min(STEPS_MAX)]
    }

    /// A step with only position, number and title.
    fn bare_step(&mut self, place: usize, node: &YamlNode) -> StepDraft {
        let here = Span::at(node.span.start);
        let index = node.get("index").and_then(|node| plain(self.source, node));
        let number = index.as_ref().and_then(|index| index.value.parse::<u32>().ok()?.checked_add(1));
        let number = Spanned::new(
            StepNumber::Counted(number.unwrap_or_else(|| number_at(place))),
            index.map_or(here, |index| index.span),
        );
        let described = match &node.value {
            YamlValue::Scalar { .. } => plain(self.source, node),
            YamlValue::Map(_) | YamlValue::List(_) => {
                node.get("description").and_then(|node| plain(self.source, node))
            }
        };
        let title = match &described {
            Some(described) => {
                let (title, _) = first_line(&described.value);
                Spanned::new(title.to_owned(), self.first_line(described.span))
            }
            None => Spanned::new(String::new(), here),
        };
        let heading = if described.is_some() { title.span } else { self.first_line(node.span) };
        StepDraft { whole: Layout(node.span), heading: Layout(heading), ..StepDraft::empty(number, title) }
    }

    fn step(&mut self, place: usize, node: &YamlNode) -> StepDraft {
        let mut step = self.bare_step(place, node);
        if !node.is_map() {
            self.complain(
                self.first_line(node.span),
                RecordFault::WrongKind { what: "a step".to_owned(), expected: "a map of keys" },
            );
        }
        let is_placed = step.number.value == StepNumber::Counted(number_at(place));
        let index = node.get("index").filter(|index| is_said(index));
        let is_number = index.and_then(YamlNode::text).is_none_or(|index| index.parse::<u32>().is_ok());
        if !is_placed || !is_number {
            self.complain(self.first_line(step.number.span), RecordFault::Index { expected: place });
        }
        step.marks.extend(self.mark(node));
        step.id = self.line(node, "id");
        step.target = self.line(node, "suggestedAgent");
        let described = match &node.value {
            YamlValue::Scalar { .. } => plain(self.source, node),
            YamlValue::Map(_) | YamlValue::List(_) => self.line(node, "description"),
        };
        step.task = self.line(node, "instructions").or(described);
        step.needs = self.list(node, "dependsOn");
        step.accept = self.list(node, "acceptanceCriteria").unwrap_or_default();
        step.reads = self.list(node, "reads").unwrap_or_default();
        step.touches = self.list(node, "touches");
        step.sealed = self.list(node, "sealed").unwrap_or_default();
        step.tools = self.list(node, "tools").unwrap_or_default();
        step.env = self.list(node, "env").unwrap_or_default();
        step.green = self.line(node, "green");
        step.judge = self.line(node, "judge");
        step.on_fail = self.line(node, "onFail");
        step.timeout = self.line(node, "timeout");
        step.contract_timeout = self.line(node, "contractTimeout");
        step.network = self.line(node, "network");
        step.setup = self.line(node, "setup").and_then(|_| self.command(node, "setup"));
        step.contract = self.contract(node);
        step.trace = Layout(self.trace(node));
        step.fields = Layout(fields(self.source, node));
        if step.mark() == Some(Mark::Skipped) && !is_explained(&step.trace.0) {
            let at = step.marks.first().map_or(step.heading.0, |mark| mark.span);
            self.complain(at, RecordFault::UnexplainedSkip);
        }
        step
    }

    fn mark(&mut self, step: &YamlNode) -> Option<Spanned<Mark>> {
        let word =
            step.get("status").filter(|word| is_said(word)).and_then(|node| plain(self.source, node))?;
        if word.value == super::word(None) {
            return None;
        }
        let mark = Mark::ALL.into_iter().find(|&mark| super::word(Some(mark)) == word.value);
        if mark.is_none() {
            let span = self.first_line(word.span);
            self.oddities.push(Spanned::new(ParseIssue::UnknownMark(word.value), span));
        }
        Some(Spanned::new(mark?, word.span))
    }

    fn contract(&mut self, step: &YamlNode) -> Option<ContractDraft> {
        let expect = self.line(step, "exitCode");
        let said = self.line(step, "contract");
        let is_manual = said.as_ref().is_some_and(|said| said.value.trim() == "manual");
        let command = said.filter(|_| !is_manual).and_then(|_| self.command(step, "contract"));
        let has_label = step.get("contract").is_some();
        (has_label || expect.is_some()).then_some(ContractDraft {
            command,
            is_manual,
            language: None,
            expect,
        })
    }

    fn command(&self, step: &YamlNode, key: &str) -> Option<crate::syntax::source::Excerpt> {
        step.get(key).and_then(|node| excerpt::of(self.source, node))
    }

    fn trace(&mut self, step: &YamlNode) -> Trace {
        let mut said = |key: &str| self.line(step, key).map(|said| said.value);
        Trace {
            executed_by: said("executedBy"),
            started_at: said("startedAt"),
            completed_at: said("completedAt"),
            output: said("output"),
            error: said("error"),
            affected_files: self
                .list(step, "affectedFiles")
                .map(|files| files.into_iter().map(|file| file.value).collect()),
        }
    }

    /// The text of a key; `None` if empty.
    fn line(&mut self, map: &YamlNode, key: &str) -> Option<Spanned<String>> {
        let node = map.get(key).filter(|node| is_said(node))?;
        if node.text().is_none() {
            self.wrong_kind(node, key, "text");
        }
        plain(self.source, node)
    }

    /// The items of a key; a single value is a list of one.
    fn list(&mut self, map: &YamlNode, key: &str) -> Option<Vec<Spanned<String>>> {
        let node = map.get(key).filter(|node| is_said(node))?;
        let items = match &node.value {
            YamlValue::Scalar { .. } => std::slice::from_ref(node),
            YamlValue::List(items) => items,
            YamlValue::Map(_) => &[],
        };
        match &node.value {
            YamlValue::List(_) => {}
            YamlValue::Scalar { .. } => {
                self.complain(self.first_line(node.span), RecordFault::LoneItem(key.to_owned()));
            }
            YamlValue::Map(_) => self.wrong_kind(node, key, "a list"),
        }
        for item in items.iter().filter(|item| item.text().is_none()) {
            self.wrong_kind(item, key, "a list of plain values");
        }
        Some(items.iter().filter(|item| is_said(item)).filter_map(|item| plain(self.source, item)).collect())
    }

    fn wrong_kind(&mut self, node: &YamlNode, what: &str, expected: &'static str) {
        let fault = RecordFault::WrongKind { what: format!("`{what}`"), expected };
        self.complain(self.first_line(node.span), fault);
    }

    /// The first line of a span; for a block scalar, the first line of its text.
    fn first_line(&self, span: Span) -> Span {
        let text = self.source.slice(span);
        let header = text.starts_with(['|', '>']).then(|| text.find('\n')).flatten();
        let begin = header.map_or(0, |newline| text.len() - text[newline..].trim_start().len());
        let start = span.start + begin;
        Span::new(start, self.source.line_at(start).end.clamp(start, span.end))
    }
}

/// The text of a scalar and its span: inside the quotes if possible, so that a replacement stays quoted.
fn plain(source: &Source, node: &YamlNode) -> Option<Spanned<String>> {
    let text = node.text()?.trim_end_matches('\n');
    Some(Spanned::new(text.to_owned(), bare(source, node, text)))
}

fn bare(source: &Source, node: &YamlNode, text: &str) -> Span {
    let written = source.slice(node.span);
    let inner = ['"', '\''].into_iter().find_map(|quote| written.strip_prefix(quote)?.strip_suffix(quote));
    match inner.is_some_and(|inner| inner == text) {
        true => Span::new(node.span.start + 1, node.span.end - 1),
        false => node.span,
    }
}

fn is_one_line(node: &YamlNode) -> bool {
    match &node.value {
        YamlValue::Scalar { style, .. } => *style != YamlStyle::Block,
        YamlValue::List(_) | YamlValue::Map(_) => false,
    }
}

/// The first non-blank line of a text, and the rest.
fn first_line(text: &str) -> (&str, &str) {
    let text = text.trim();
    text.split_once('\n').map_or((text, ""), |(first, rest)| (first.trim_end(), rest.trim()))
}

/// Whether there is a reason for skipping a step.
fn is_explained(trace: &Trace) -> bool {
    [&trace.error, &trace.output].into_iter().flatten().any(|reason| !reason.trim().is_empty())
}

/// The author's keys and the unknown ones.
fn fields(source: &Source, step: &YamlNode) -> Vec<FieldDraft> {
    let field = |(key, value): &(YamlNode, YamlNode)| {
        let name = key.text()?;
        let kind: Option<DraftField> =
            FIELDS.iter().find(|(_, names)| names.contains(&name)).map(|&(field, _)| field);
        let is_ours = kind.is_none() && STEP_KEYS.contains(&name);
        (!is_ours).then(|| FieldDraft {
            name: Spanned::new(name.to_owned(), bare(source, key, name)),
            kind,
            label: key.span,
            value: value.span,
            whole: Span::new(key.span.start, value.span.end),
        })
    };
    step.entries().iter().filter_map(field).collect()
}
