//! The approvers that a plan itself requires, in the frontmatter key `approval_required_from`. It can only
//! narrow a policy.

use crate::dialect::frontmatter;
use crate::plan::draft::{Draft, REQUIRED_FROM};
use crate::syntax::source::Source;
use crate::syntax::yaml;
use crate::syntax::yaml::YamlNode;

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
        None => yaml::read(source.text(), 0).0?.entries().to_vec(),
    };
    let list = yaml::value(&keys, REQUIRED_FROM).filter(|list| list.is_list())?;
    let name = |item: &YamlNode| Some(item.text()?.trim().to_owned()).filter(|name| !name.is_empty());
    list.items().iter().map(name).collect()
}
