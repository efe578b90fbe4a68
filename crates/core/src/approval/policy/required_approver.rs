//! The approvers that a plan itself requires, in the frontmatter key `approval_required_from`. It can only
//! narrow a policy.

use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, REQUIRED_FROM};
use crate::syntax::source::Source;
use crate::syntax::yaml;
use crate::syntax::yaml::{YamlNode, YamlValue};

/// The names and groups that may approve; `None` if the plan doesn't say. An invalid value allows nobody, so
/// that a typo never widens access.
pub fn required_from(source: &Source, draft: &Draft) -> Option<Vec<String>> {
    let entry = draft.frontmatter.entry(REQUIRED_FROM)?;
    let count = draft.frontmatter.entries.iter().filter(|other| other.key.value == REQUIRED_FROM).count();
    match &entry.value {
        // A duplicate key could mean either.
        _ if count > 1 => Some(Vec::new()),
        Some(text) => Some(names(&text.value)),
        None => Some(list(source).unwrap_or_default()),
    }
}

fn names(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Parses the list, which the draft doesn't contain.
fn list(source: &Source) -> Option<Vec<String>> {
    let parts = frontmatter::split(source.text());
    let keys = match parts.block {
        Some(_) => frontmatter::nodes(source, &parts).0,
        None => match yaml::read(source.text(), 0).0?.value {
            YamlValue::Map(keys) => keys,
            YamlValue::Scalar { .. } | YamlValue::List(_) => return None,
        },
    };
    let is_key =
        |node: &YamlNode| matches!(&node.value, YamlValue::Scalar { text, .. } if text == REQUIRED_FROM);
    let (_, value) = keys.into_iter().find(|(key, _)| is_key(key))?;
    let YamlValue::List(items) = value.value else { return None };
    let name = |item: YamlNode| match item.value {
        YamlValue::Scalar { text, .. } => Some(text.trim().to_owned()).filter(|name| !name.is_empty()),
        YamlValue::List(_) | YamlValue::Map(_) => None,
    };
    items.into_iter().map(name).collect()
}
