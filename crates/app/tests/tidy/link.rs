//! Pages: relative links lead to files that exist, and the changelog has a place for the next change.

use crate::tree::{Fault, File, assert_caught, assert_none, repository};

fn broken_links<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let files: Vec<&File> = files.into_iter().collect();
    let mut faults = Vec::new();
    for page in files.iter().filter(|file| file.is_markdown()) {
        let is_page = !page.path.contains('/') || page.path.starts_with("docs/");
        for (line, target) in if is_page { links(page) } else { Vec::new() } {
            let target = target.split(['#', '?']).next().unwrap_or_default();
            let is_elsewhere = target.is_empty() || target.contains("://") || target.starts_with("mailto:");
            if is_elsewhere {
                continue;
            }
            let is_there = resolve(&page.path, target).is_some_and(|path| {
                let folder = format!("{path}/");
                path.is_empty()
                    || files.iter().any(|file| file.path == path || file.path.starts_with(&folder))
            });
            if !is_there {
                faults.push(Fault::new(&page.path, line, format!("the link to `{target}` leads nowhere")));
            }
        }
    }
    faults
}

/// Targets of `[text](target)` and `[name]: target` outside code, with their lines.
fn links(page: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fence: Option<String> = None;
    for (number, line) in page.lines() {
        let text = line.trim_start();
        let marks: String =
            text.chars().take_while(|c| text.starts_with(*c) && (*c == '`' || *c == '~')).collect();
        if let Some(open) = &fence {
            if marks.starts_with(open.as_str()) && text.trim_end() == marks {
                fence = None;
            }
            continue;
        }
        if marks.len() >= 3 {
            fence = Some(marks);
            continue;
        }
        // What stands between single backticks is code.
        let prose: String = text.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for (at, _) in prose.match_indices("](") {
            let inside = prose[at + 2..].split(')').next().unwrap_or_default();
            let target = inside.split_whitespace().next().unwrap_or_default();
            found.push((number, target.trim_matches(['<', '>']).to_owned()));
        }
        let definition = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        if let Some((_, target)) =
            definition.filter(|(name, _)| !name.contains(']') && !name.starts_with('^'))
        {
            found.push((number, target.split_whitespace().next().unwrap_or_default().to_owned()));
        }
    }
    found
}

/// The path from the root that `target` means on the page `page`; nothing if it leaves the repository.
fn resolve(page: &str, target: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    (!target.starts_with('/')).then(|| parts.join("/"))
}

fn changelog_without_next<'a>(files: impl IntoIterator<Item = &'a File>) -> Vec<Fault> {
    let changelog = files.into_iter().find(|file| file.path == "CHANGELOG.md");
    let is_there = changelog.is_some_and(|file| {
        file.text
            .lines()
            .any(|line| line.strip_prefix("## ").is_some_and(|title| title.contains("Unreleased")))
    });
    if is_there { Vec::new() } else { vec![Fault::new("CHANGELOG.md", 1, "has no heading `## Unreleased`")] }
}

#[test]
fn links_between_pages_lead_somewhere() {
    assert_none(&broken_links(&repository()));
}

#[test]
fn a_link_that_leads_nowhere_is_caught() {
    let target = File::new("docs/rules/cycle.md", "");
    let judge = |path: &str, text: &str| broken_links([&File::new(path, text), &target]);
    assert_caught(
        &judge("README.md", "one\nsee [it](docs/gone.md)"),
        "README.md:2: the link to `docs/gone.md`",
    );
    assert_caught(&judge("docs/a.md", "[up](../../outside.md)"), "../../outside.md");
    assert_caught(&judge("docs/a.md", "[root](/docs/rules/cycle.md)"), "/docs/rules/cycle.md");
    assert_caught(&judge("docs/a.md", "[name]: gone.md"), "`gone.md`");
    let good = "[a](rules/cycle.md#why) [b](../docs/rules) [c](#here) [d](https://example.org/x) `[e](gone.md)`\n\
                ```text\n[f](gone.md)\n```\n~~~~\n```\n[g](gone.md)\n~~~~\n";
    assert_none(&judge("docs/a.md", good));
    assert_none(&judge("crates/core/tests/verify/case.md", "[h](gone.md)"));
}

#[test]
fn the_changelog_has_a_place_for_the_next_change() {
    assert_none(&changelog_without_next(&repository()));
}

#[test]
fn a_changelog_without_a_next_section_is_caught() {
    let closed = File::new("CHANGELOG.md", "# Changelog\n\n## 0.1.0\n\nUnreleased things are elsewhere.\n");
    assert_caught(&changelog_without_next([&closed]), "CHANGELOG.md:1");
    assert_caught(&changelog_without_next([]), "CHANGELOG.md:1");
}
