//! One line for each ledger entry of a plan.

use planwright_engine::api::LedgerEntry;

use super::words;

/// What an entry is about: `it/fix`, or `it` for the whole plan.
pub(crate) fn place(plan: &str, entry: &LedgerEntry) -> String {
    match entry {
        LedgerEntry::Commented { step: Some(step), .. }
        | LedgerEntry::Discovered { step: Some(step), .. }
        | LedgerEntry::Added { step, .. } => format!("{plan}/{step}"),
        LedgerEntry::Commented { step: None, .. }
        | LedgerEntry::Discovered { step: None, .. }
        | LedgerEntry::Drafted { .. }
        | LedgerEntry::Proposed { .. }
        | LedgerEntry::Approved { .. }
        | LedgerEntry::Rejected { .. }
        | LedgerEntry::Answered { .. }
        | LedgerEntry::Reopened { .. }
        | LedgerEntry::Cancelled { .. }
        | LedgerEntry::Lapsed { .. }
        | LedgerEntry::Started { .. }
        | LedgerEntry::Ended { .. }
        | LedgerEntry::Undone { .. }
        | LedgerEntry::Merged { .. }
        | LedgerEntry::Evicted { .. }
        | LedgerEntry::Archived { .. }
        | LedgerEntry::Deleted { .. } => plan.to_owned(),
    }
}

/// What an entry says, as `name=value` words.
pub(crate) fn fields(entry: &LedgerEntry) -> String {
    let revision = |revision: &u32| ("revision", revision.to_string());
    let short = |hash: &str| hash.get(..8).unwrap_or(hash).to_owned();
    let digest = |digest: &str| ("digest", short(digest));
    let mut fields: Vec<(&str, String)> = match entry {
        LedgerEntry::Proposed { revision: number, subject, warnings, .. } => {
            vec![revision(number), digest(&subject.digest), ("warnings", warnings.to_string())]
        }
        LedgerEntry::Approved { revision: number, subject, way, rule, .. } => {
            vec![revision(number), digest(&subject.digest), ("way", way.clone()), ("rule", rule.clone())]
        }
        LedgerEntry::Rejected { revision: number, digest: rejected, feedback, .. } => {
            vec![revision(number), digest(rejected), ("feedback", feedback.clone())]
        }
        LedgerEntry::Commented { comment, revision: number, text, .. } => {
            vec![("comment", comment.to_string()), revision(number), ("text", text.clone())]
        }
        LedgerEntry::Answered { comment, text, .. } => {
            vec![("comment", comment.to_string()), ("text", text.clone())]
        }
        LedgerEntry::Drafted { digest: written, drafting, .. } => {
            let after = drafting.after.as_ref().map(|after| ("after", after.previous.clone()));
            // A reasoning may be pages; a line tells that there is one, and `history` has all of it.
            let why = drafting.reasoning.lines().next().map(|first| ("reasoning", first.to_owned()));
            std::iter::once(digest(written)).chain(after).chain(why).collect()
        }
        LedgerEntry::Discovered { number, title, .. } => {
            vec![("number", number.to_string()), ("title", title.clone())]
        }
        LedgerEntry::Added { number, .. } => vec![("number", number.to_string())],
        LedgerEntry::Reopened { why, .. } | LedgerEntry::Cancelled { why, .. } => vec![("why", why.clone())],
        LedgerEntry::Lapsed { moved } => vec![("moved", moved.join("; "))],
        LedgerEntry::Started { run, .. } => vec![("run", run.to_string())],
        LedgerEntry::Ended { run, outcome, .. } => {
            vec![("run", run.to_string()), ("outcome", outcome.word().to_owned())]
        }
        LedgerEntry::Undone { seq, .. } => vec![("seq", seq.to_string())],
        LedgerEntry::Merged { into, commit, .. } => vec![("into", into.clone()), ("commit", short(commit))],
        LedgerEntry::Evicted { into, with, evidence, paths, .. } => {
            let why = match evidence {
                Some(evidence) => {
                    let contract = format!("{}/{}", evidence.plan, evidence.step);
                    vec![("contract", contract), ("failure", evidence.failure.clone())]
                }
                None => vec![("conflict", paths.join(","))],
            };
            let with = (!with.is_empty()).then(|| ("with", with.join(",")));
            std::iter::once(("into", into.clone())).chain(why).chain(with).collect()
        }
        LedgerEntry::Archived { to, .. } => vec![("to", to.clone())],
        LedgerEntry::Deleted { .. } => Vec::new(),
    };
    fields.extend(entry.by().map(|by| ("by", by.to_string())));
    words(&fields)
}

#[cfg(test)]
mod tests {
    use planwright_engine::api::Identity;

    use super::*;

    #[test]
    fn an_entry_is_one_line_of_words() {
        let remark = LedgerEntry::Commented {
            comment: 2,
            revision: 1,
            step: Some("fix".to_owned()),
            by: Identity::agent("a b"),
            text: "two\nlines".to_owned(),
        };
        assert_eq!(place("it", &remark), "it/fix");
        assert_eq!(fields(&remark), r"comment=2 revision=1 text=$'two\nlines' by='a b (an agent)'");
        let lapsed = LedgerEntry::Lapsed { moved: vec!["the plan".to_owned(), "the base".to_owned()] };
        assert_eq!(
            (place("it", &lapsed).as_str(), fields(&lapsed).as_str()),
            ("it", "moved='the plan; the base'")
        );
    }
}
