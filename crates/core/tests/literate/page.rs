//! Literate suites: a page is a list of claims, and under each stand blocks of what is given and, last, what must come of
//! it. Knows nothing of what the blocks say.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

/// A claim and its blocks.
#[derive(Debug, Default)]
pub(crate) struct Case {
    pub(crate) claim: String,
    /// What is given, by the word behind the fence.
    pub(crate) given: BTreeMap<String, String>,
    /// The word behind the fence of what must come of it.
    pub(crate) kind: String,
    expected: String,
    /// Lines of the page that the expectation takes.
    lines: Range<usize>,
}

fn cases(page: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(claim) = line.strip_prefix("## ") {
            cases.push(Case { claim: claim.to_owned(), ..Case::default() });
        }
        let fence: String = line.chars().take_while(|&character| character == '`').collect();
        let (true, Some(case)) = (fence.len() >= 3, cases.last_mut()) else { continue };
        let body: Vec<&str> =
            lines.by_ref().map(|(_, inner)| inner).take_while(|&inner| inner != fence).collect();
        if !case.kind.is_empty() {
            case.given.insert(std::mem::take(&mut case.kind), std::mem::take(&mut case.expected));
        }
        line[fence.len()..].clone_into(&mut case.kind);
        case.expected = body.iter().map(|line| format!("{line}\n")).collect();
        case.lines = number + 1..number + 1 + body.len();
    }
    cases
}

/// Holds what `found` makes of every case on the pages in a folder of `tests` against what the page says. With `UPDATE`
/// set it is written into the pages instead. Returns how many cases there are.
#[expect(clippy::disallowed_methods, reason = "the pages of a suite are files; core itself never opens one")]
pub(crate) fn check(folder: &str, found: impl Fn(&Case) -> String) -> usize {
    let is_update = std::env::var_os("UPDATE").is_some();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = std::fs::read_dir(&folder).expect("the pages have a folder");
    let (mut wrong, mut count) = (String::new(), 0);
    for path in entries.map(|entry| entry.expect("a readable entry").path()) {
        let page = std::fs::read_to_string(&path).expect("a readable page");
        let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        for case in cases(&page).iter().rev() {
            count += 1;
            assert!(!case.given.is_empty(), "{name}: nothing is given and expected in: {}", case.claim);
            let found = found(case);
            if found != case.expected {
                let Case { claim, expected, .. } = case;
                let _ = write!(wrong, "\n{name}: {claim}\n  expected\n{expected}\n  found\n{found}");
            }
            lines.splice(case.lines.clone(), found.lines().map(str::to_owned));
        }
        if is_update {
            std::fs::write(&path, lines.join("\n") + "\n").expect("a writable page");
        }
    }
    assert!(wrong.is_empty() || is_update, "{wrong}");
    count
}
