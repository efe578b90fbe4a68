//! How what was said about a plan is said on one line.

use planwright_engine::core::approval::ledger::Entry;

use super::words;

/// What an entry is about: `it/fix`, or `it` for the whole plan.
pub(crate) fn place(plan: &str, entry: &Entry) -> String {
    match entry {
        Entry::Commented { step: Some(step), .. }
        | Entry::Discovered { step: Some(step), .. }
        | Entry::Added { step, .. } => format!("{plan}/{step}"),
        Entry::Commented { step: None, .. }
        | Entry::Discovered { step: None, .. }
        | Entry::Drafted { .. }
        | Entry::Proposed { .. }
        | Entry::Approved { .. }
        | Entry::Rejected { .. }
        | Entry::Answered { .. }
        | Entry::Reopened { .. }
        | Entry::Cancelled { .. }
        | Entry::Lapsed { .. }
        | Entry::Started { .. }
        | Entry::Ended { .. }
        | Entry::Undone { .. }
        | Entry::Merged { .. }
        | Entry::Evicted { .. }
        | Entry::Archived { .. }
        | Entry::Deleted { .. } => plan.to_owned(),
    }
}

/// What an entry says, as `name=value` words.
pub(crate) fn fields(entry: &Entry) -> String {
    let revision = |revision: &u32| ("revision", revision.to_string());
    let short = |hash: &str| hash.get(..8).unwrap_or(hash).to_owned();
    let digest = |digest: &str| ("digest", short(digest));
    let mut fields: Vec<(&str, String)> = match entry {
        Entry::Proposed { revision: number, subject, warnings, .. } => {
            vec![revision(number), digest(&subject.digest), ("warnings", warnings.to_string())]
        }
        Entry::Approved { revision: number, subject, way, rule, .. } => {
            vec![revision(number), digest(&subject.digest), ("way", way.clone()), ("rule", rule.clone())]
        }
        Entry::Rejected { revision: number, digest: rejected, feedback, .. } => {
            vec![revision(number), digest(rejected), ("feedback", feedback.clone())]
        }
        Entry::Commented { comment, revision: number, text, .. } => {
            vec![("comment", comment.to_string()), revision(number), ("text", text.clone())]
        }
        Entry::Answered { comment, text, .. } => {
            vec![("comment", comment.to_string()), ("text", text.clone())]
        }
        Entry::Drafted { digest: written, drafting, .. } => {
            let after = drafting.after.as_ref().map(|after| ("after", after.previous.clone()));
            // A reasoning may be pages; a line tells that there is one, and `history` has all of it.
            let why = drafting.reasoning.lines().next().map(|first| ("reasoning", first.to_owned()));
            std::iter::once(digest(written)).chain(after).chain(why).collect()
        }
        Entry::Discovered { number, title, .. } => {
            vec![("number", number.to_string()), ("title", title.clone())]
        }
        Entry::Added { number, .. } => vec![("number", number.to_string())],
        Entry::Reopened { why, .. } | Entry::Cancelled { why, .. } => vec![("why", why.clone())],
        Entry::Lapsed { moved } => vec![("moved", moved.join("; "))],
        Entry::Started { run, .. } => vec![("run", run.to_string())],
        Entry::Ended { run, outcome, .. } => {
            vec![("run", run.to_string()), ("outcome", outcome.word().to_owned())]
        }
        Entry::Undone { seq, .. } => vec![("seq", seq.to_string())],
        Entry::Merged { into, commit, .. } => vec![("into", into.clone()), ("commit", short(commit))],
        Entry::Evicted { into, with, evidence, paths, .. } => {
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
        Entry::Archived { to, .. } => vec![("to", to.clone())],
        Entry::Deleted { .. } => Vec::new(),
    };
    fields.extend(entry.by().map(|by| ("by", by.to_string())));
    words(&fields)
}

#[cfg(test)]
mod tests {
    use planwright_engine::core::approval::ledger::Who;

    use super::*;

    #[test]
    fn an_entry_is_one_line_of_words() {
        let remark = Entry::Commented {
            comment: 2,
            revision: 1,
            step: Some("fix".to_owned()),
            by: Who::agent("a b"),
            text: "two\nlines".to_owned(),
        };
        assert_eq!(place("it", &remark), "it/fix");
        assert_eq!(fields(&remark), r"comment=2 revision=1 text=$'two\nlines' by='a b (an agent)'");
        let lapsed = Entry::Lapsed { moved: vec!["the plan".to_owned(), "the base".to_owned()] };
        assert_eq!(
            (place("it", &lapsed).as_str(), fields(&lapsed).as_str()),
            ("it", "moved='the plan; the base'")
        );
    }
}
