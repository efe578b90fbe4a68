//! Computes the edits that set, add or remove a key of a map, or extend a list, in block and flow style. All other
//! bytes stay.

use super::spelling::{New, RecordPage, column, odd};
use super::{METADATA_KEYS, PLAN_KEYS};
use crate::plan::edit::EditError;
use crate::syntax::source::{Edit, Span};
use crate::syntax::yaml::{YamlNode, YamlStyle, YamlValue};

/// A map to edit.
pub(super) struct RecordKeys<'a> {
    pub(super) page: &'a RecordPage<'a>,
    pub(super) map: &'a YamlNode,
    /// The canonical key order: a new key goes after those that precede it; one that is not listed goes last.
    pub(super) order: &'a [&'a str],
}

impl RecordKeys<'_> {
    /// The edit that sets `key`; `None` if it already has this value.
    pub(super) fn set(&self, key: &str, new: &New) -> Result<Option<Edit>, EditError> {
        match self.map.entries().iter().find(|(name, _)| name.text() == Some(key)) {
            // An empty value such as `status:` has no bytes to replace.
            Some((_, value)) if says(value, new) && !value.span.is_empty() => Ok(None),
            Some((name, value)) => self.replace(name, value, new).map(Some),
            None => self.insert(key, new, None).map(Some),
        }
    }

    /// The edit that adds a missing key, as if `gone` were missing too.
    pub(super) fn insert(&self, key: &str, new: &New, gone: Option<&str>) -> Result<Edit, EditError> {
        let YamlValue::Map(entries) = &self.map.value else { return Err(odd("a step is not a map")) };
        let rank = |key: &str| self.order.iter().position(|&known| known == key);
        let kept = || entries.iter().filter(|(name, _)| gone.is_none() || name.text() != gone);
        let is_before = |name: &YamlNode| match (name.text().and_then(rank), rank(key)) {
            (Some(rank), Some(wanted)) => rank < wanted,
            (Some(_) | None, None) => true,
            (None, Some(_)) => false,
        };
        let anchor = kept().rfind(|(name, _)| is_before(name)).or_else(|| kept().next());
        if self.is_flow() {
            return Ok(self.insert_flow(key, new, anchor));
        }
        let Some((name, value)) = anchor else { return Err(odd("no existing key to insert it after")) };
        let indent = self.page.indent(self.map)?;
        let text = format!(
            "{}{}{}:{}",
            self.page.newline(),
            " ".repeat(indent),
            self.page.key(key),
            self.page.behind_colon(new, indent)
        );
        Ok(Edit::insert(self.end_of_entry(name, value), text))
    }

    fn insert_flow(&self, key: &str, new: &New, anchor: Option<&(YamlNode, YamlNode)>) -> Edit {
        let entry = format!("{}: {}", self.page.key(key), self.page.inline(new));
        let Some((name, value)) = anchor else { return Edit::insert(self.map.span.start + 1, entry) };
        let gap = self.gap(name.span.start);
        Edit::insert(value.span.end.max(name.span.end), format!(",{gap}{entry}"))
    }

    /// The separator in a flow collection: a line break if each entry is on a separate line.
    fn gap(&self, at: usize) -> String {
        let source = self.page.source;
        let before = &source.text()[source.line_at(at).start..at];
        match before.trim().is_empty() && source.line_at(at).start > 0 {
            true => format!("{}{before}", self.page.newline()),
            false => " ".to_owned(),
        }
    }

    /// Where the line after an entry of a block map would start.
    fn end_of_entry(&self, name: &YamlNode, value: &YamlNode) -> usize {
        let source = self.page.source;
        let end = source.line_at(value.span.end.max(name.span.end)).end;
        let header = source.slice(value.span).lines().next().unwrap_or_default();
        let keeps_blanks =
            matches!(value.value, YamlValue::Scalar { style: YamlStyle::Block, .. }) && header.contains('+');
        if !keeps_blanks {
            return end;
        }
        // The blank lines after it belong to its text.
        let rest = &source.text()[end..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\n', '\r']).len();
        end + rest[..blank]
            .rfind('\n')
            .map_or(0, |newline| newline.saturating_sub(usize::from(rest[..newline].ends_with('\r'))))
    }

    fn replace(&self, name: &YamlNode, value: &YamlNode, new: &New) -> Result<Edit, EditError> {
        let source = self.page.source;
        let gap = Span::new(name.span.end, value.span.start);
        let colon = source.slice(gap).find(':').map(|at| gap.start + at + 1);
        let refusal = || EditError::NotPlain { key: name.text().unwrap_or_default().to_owned() };
        let colon = colon.ok_or_else(refusal)?;
        let is_scalar = matches!(value.value, YamlValue::Scalar { .. });
        if !is_scalar && matches!(new, New::Text(_) | New::Number(_)) {
            return Err(refusal());
        }
        let line_end = source.line_at(value.span.end).end;
        let is_last = source.text()[value.span.end..line_end.max(value.span.end)].trim().is_empty();
        let is_below = source.slice(Span::new(colon, value.span.start)).contains('\n');
        let blank_gap = source.slice(Span::new(colon, value.span.start)).trim().is_empty();
        let text = match self.is_flow() || !is_last {
            true => format!(" {}", same_style(self.page, value, new)),
            false => {
                let indent = self.page.indent(self.map)?;
                let text = self.page.behind_colon(new, indent);
                match text.contains('\n') {
                    true => text,
                    false => format!(" {}", same_style(self.page, value, new)),
                }
            }
        };
        let is_block = !text.starts_with(' ') || text.contains('\n');
        if value.span.is_empty() || (blank_gap && !self.is_flow() && (is_below || is_block)) {
            return Ok(Edit::replace(Span::new(colon, value.span.end.max(colon)), text));
        }
        if is_block && !text.starts_with(' ') {
            return Err(refusal());
        }
        Ok(Edit::replace(value.span, &text[1..]))
    }

    /// The edit that removes a key, or empties it if removing would affect something else; `None` if it is missing.
    pub(super) fn remove(&self, key: &str) -> Result<Option<Edit>, EditError> {
        let entries = self.map.entries();
        let Some(at) = entries.iter().position(|(name, _)| name.text() == Some(key)) else {
            return Ok(None);
        };
        let (name, value) = &entries[at];
        let source = self.page.source;
        if self.is_flow() {
            let span = match (at.checked_sub(1).map(|before| &entries[before]), entries.get(at + 1)) {
                (Some((name, before)), _) => Span::new(before.span.end.max(name.span.end), value.span.end),
                (None, Some((next, _))) => Span::new(name.span.start, next.span.start),
                (None, None) => Span::new(name.span.start, value.span.end),
            };
            // Text around the entry may be a comment on its neighbor.
            let around = [Span::new(span.start, name.span.start), Span::new(value.span.end, span.end)];
            let has_remark = around.into_iter().any(|gap| source.slice(gap).contains('#'));
            return if has_remark { self.set(key, &New::text("")) } else { Ok(Some(Edit::delete(span))) };
        }
        let line = source.line_at(name.span.start);
        let is_alone = source.slice(Span::new(line.start, name.span.start)).trim().is_empty();
        let end = value.span.end.max(name.span.end);
        let behind = &source.text()[end..source.line_at(end).end.max(end)];
        let is_removable = is_alone && at > 0 && matches!(behind.trim(), "" | ":");
        if !is_removable {
            return self.set(key, &New::text(""));
        }
        // Removes the preceding line break too: the file may end right after the entry.
        let before = line.start - usize::from(line.start > 0);
        let before = before - usize::from(source.text()[..before].ends_with('\r'));
        Ok(Some(Edit::delete(Span::new(before, source.line_at(end).end))))
    }

    /// The edit that adds an item to the list of a key, or starts one.
    pub(super) fn push(&self, key: &str, item: New) -> Result<Edit, EditError> {
        let present = self.map.get(key);
        let Some(list) = present.filter(|list| list.is_list()) else {
            let kept = present.and_then(YamlNode::text).filter(|text| !text.is_empty() && *text != "null");
            let items = kept.map(New::text).into_iter().chain([item]).collect();
            return self.set(key, &New::List(items))?.ok_or_else(|| odd("the list already exists"));
        };
        let source = self.page.source;
        let last = list.items().last();
        if source.slice(list.span).starts_with('[') {
            let item = self.page.inline(&item);
            return Ok(match last {
                Some(last) => Edit::insert(last.span.end, format!(",{}{item}", self.gap(last.span.start))),
                None => Edit::insert(list.span.start + 1, item),
            });
        }
        let Some(last) = last else { return Err(odd("the list has no item to insert it after")) };
        let end = source.line_at(last.span.end).end;
        Ok(Edit::insert(end, self.page.item(&item, column(source, list.span.start))))
    }

    fn is_flow(&self) -> bool {
        let first = self.map.entries().first().map(|(name, _)| name.span.start);
        self.page.source.slice(self.map.span).starts_with('{') && first != Some(self.map.span.start)
    }
}

/// The edit that adds an item to a list of the metadata.
pub(super) fn add_metadata(
    page: &RecordPage<'_>,
    root: &YamlNode,
    key: &'static str,
    item: &str,
) -> Result<Edit, EditError> {
    if let Some(map) = root.get("metadata").filter(|map| !map.entries().is_empty()) {
        return RecordKeys { page, map, order: METADATA_KEYS }.push(key, New::text(item));
    }
    let metadata = New::Map(vec![(key, New::List(vec![New::text(item)]))]);
    let keys = RecordKeys { page, map: root, order: PLAN_KEYS };
    keys.set("metadata", &metadata)?.ok_or_else(|| odd("the metadata already exists"))
}

/// Whether a value is already this.
fn says(value: &YamlNode, new: &New) -> bool {
    match (&value.value, new) {
        (YamlValue::Scalar { text, .. }, New::Text(new)) => text == new,
        (YamlValue::Scalar { text, .. }, New::Number(number)) => *text == number.to_string(),
        (YamlValue::List(items), New::List(new)) => {
            items.len() == new.len() && items.iter().zip(new).all(|(item, new)| says(item, new))
        }
        (YamlValue::Scalar { .. } | YamlValue::List(_) | YamlValue::Map(_), _) => false,
    }
}

/// The value on one line, in the quotes that the present one has.
fn same_style(page: &RecordPage<'_>, present: &YamlNode, new: &New) -> String {
    let New::Text(text) = new else { return page.inline(new) };
    let YamlValue::Scalar { style, .. } = &present.value else { return page.inline(new) };
    let is_simple =
        text.chars().all(|character| (' '..='~').contains(&character)) && !text.contains(['\'', '"', '\\']);
    match style {
        YamlStyle::SingleQuoted if is_simple && !page.is_json => format!("'{text}'"),
        YamlStyle::DoubleQuoted if is_simple => format!("\"{text}\""),
        YamlStyle::Plain | YamlStyle::SingleQuoted | YamlStyle::DoubleQuoted | YamlStyle::Block => {
            page.inline(new)
        }
    }
}
