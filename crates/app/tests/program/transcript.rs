//! Pages with commands and what they print: every `console` block is run and compared, in a copy of the example project.
//!
//! A line `$ …` is typed, lines `> …` go on with it, `? N` is the exit code where it is not 0, and the rest is what both
//! streams say. `[..]` stands for anything on a line and a line `...` for any lines; pages for people have neither, since what
//! differs from run to run (times, commits) is left out of the comparison there. With the environment variable
//! `PLANWRIGHT_TRANSCRIPTS=overwrite` the pages are written anew: read them then.
#![expect(
    clippy::disallowed_methods,
    reason = "these tests stand outside of the program: they read and write its pages"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::test_env::{Place, Ran, repository};

/// One command on a page.
#[derive(Debug, Default)]
struct Typed {
    /// The line of the page, from 1.
    line: usize,
    command: String,
    /// `None`: the page does not say.
    code: Option<i32>,
    said: Vec<String>,
}

/// A part of a page.
enum Part {
    Prose(String),
    Typed(Typed),
}

/// Whose pages these are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Made for this test: every exit code is said, and the folder beside the page lies over the example.
    Transcript,
    /// Made for people, who stand in the root of the repository and are called ada. What builds or tests planwright is not
    /// run. No mark of these tests is shown to them.
    Manual,
}

// P-03, P-22, P-25, A-42, A-47: one page a command, plain and with --json, with its errors and their exit codes.
#[test]
fn every_command_prints_what_its_page_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcript");
    let pages = pages(&folder);
    assert!(pages.len() > 10, "{pages:?}");
    check(&pages, Kind::Transcript);
}

#[test]
fn what_the_manual_shows_is_what_one_gets() {
    let root = repository();
    let readme = root.join("README.md");
    let mut pages = manual(&root.join("docs"));
    pages.extend(readme.exists().then_some(readme));
    assert!(pages.len() > 20, "{pages:?}");
    check(&pages, Kind::Manual);
}

#[test]
fn a_page_for_people_shows_no_mark_of_its_test() {
    let fault = |said: &str| {
        play(&format!("```console\n$ echo one\n{said}```\n"), &Place::harbor(), Kind::Manual).1.join("\n")
    };
    assert_eq!(fault("one\n"), "");
    for mark in ["[..]\n", "o[..]e\n", "...\n", "? 0\none\n"] {
        assert!(fault(mark).contains("a mark of the test"), "{mark}");
    }
}

#[test]
fn what_differs_from_run_to_run_is_not_compared() {
    for (page, said) in [
        ("✓ 1 test   0.1 s", "✓ 1 test   12.3 s"),
        ("hello  r2 cc28d253 on main@264cdcc", "hello  r2 cc28d253 on main@f55d4a6"),
        ("  proposed 3 s ago by ada", "  proposed 2 min ago by ada"),
        ("09:30:00  ada  started  run 1, base 2c5fe202", "10:31:22  ada  started  run 1, base 00000000"),
    ] {
        assert_eq!(without_chance(page), without_chance(said));
    }
    for (page, said) in [
        ("limits $0.00, 60 s", "limits $0.00, 61 s"),
        ("r2 cc28d253 on main", "r2 cc28d254 on main"),
        ("a  b", "a b"),
        ("attempt 1   0.1 s", "attempt 2   0.1 s"),
    ] {
        assert_ne!(without_chance(page), without_chance(said));
    }
}

#[test]
fn a_page_that_is_wrong_is_caught() {
    let fault = |page: &str| play(page, &Place::harbor(), Kind::Transcript).1.join("\n");
    let page = |said: &str| format!("# A page\n\n```console\n$ echo one; echo two\n{said}```\n");
    assert_eq!(fault(&page("one\ntwo\n")), "");
    assert_eq!(fault(&page("[..]e\n...\n")), "");
    assert_eq!(fault(&page("...\ntwo\n")), "");
    assert!(fault(&page("one\n")).contains("line 4"));
    assert!(fault(&page("one\ntwo\nthree\n")).contains("three"));
    assert!(fault(&page("? 1\none\ntwo\n")).contains("exit code 0"));
    assert!(fault("```console\n$ false\n```\n").contains("exit code 1"));
    assert!(
        fault("```console\n$ cd src && (exit 3)\n? 3\n$ echo $? > code && cat code ../src/code\n3\n3\n```\n")
            .is_empty()
    );
}

fn pages(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).expect("a folder of pages").map(|entry| entry.expect("an entry").path());
    let mut pages: Vec<_> = entries.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.sort();
    pages
}

/// All pages in a folder and those below it.
fn manual(folder: &Path) -> Vec<PathBuf> {
    let mut found = pages(folder);
    let inside =
        fs::read_dir(folder).expect("a folder of pages").map(|entry| entry.expect("an entry").path());
    let mut inside: Vec<_> = inside.filter(|path| path.is_dir()).collect();
    inside.sort();
    found.extend(inside.iter().flat_map(|folder| manual(folder)));
    found
}

/// Pages that are played at the same time: what they run waits more than it works.
const AT_ONCE: usize = 4;

fn check(pages: &[PathBuf], kind: Kind) {
    let next = AtomicUsize::new(0);
    let check_some = || {
        let mut faults = Vec::new();
        while let Some(path) = pages.get(next.fetch_add(1, Ordering::Relaxed)) {
            faults.extend(check_page(path, kind));
        }
        faults
    };
    let faults = thread::scope(|scope| {
        let lanes: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(check_some)).collect();
        lanes.into_iter().flat_map(|lane| lane.join().expect("no panic")).collect::<Vec<String>>()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What is wrong with a page; nothing, if it is written anew.
fn check_page(path: &Path, kind: Kind) -> Vec<String> {
    let page = fs::read_to_string(path).expect("a page can be read");
    if !page.contains("```console") {
        return Vec::new();
    }
    let is_overwriting = std::env::var_os("PLANWRIGHT_TRANSCRIPTS").is_some_and(|value| value == "overwrite");
    let (new, found) = play(&page, &place(path, kind), kind);
    if is_overwriting && new != page {
        fs::write(path, new).expect("a page can be written");
        return Vec::new();
    }
    found.into_iter().map(|fault| format!("{}, {fault}", path.display())).collect()
}

fn place(page: &Path, kind: Kind) -> Place {
    if kind == Kind::Manual {
        let place = Place::empty();
        place.lay(&repository().join("examples"), "examples");
        return place;
    }
    let place = Place::harbor();
    let own = page.with_extension("");
    if own.is_dir() {
        place.lay(&own, "");
    }
    place
}

/// Runs a page; returns it as it ought to be, and what is wrong with it as it is.
fn play(page: &str, place: &Place, kind: Kind) -> (String, Vec<String>) {
    let (mut new, mut faults) = (String::new(), Vec::new());
    let mut last = 0;
    for part in parts(page) {
        let typed = match part {
            Part::Prose(text) => {
                new.push_str(&text);
                continue;
            }
            Part::Typed(typed) => typed,
        };
        let is_ours =
            !["cargo ", "git ", "just ", "scripts/"].iter().any(|tool| typed.command.starts_with(tool));
        if kind == Kind::Manual && !is_ours {
            new.push_str(&typed.text());
            continue;
        }
        let ran = type_in(place, &typed.command, last, kind);
        last = ran.code;
        let said: Vec<String> = place.without_folders(&ran.said()).lines().map(str::to_owned).collect();
        let is_code_right = match (typed.code, kind) {
            (None, Kind::Manual) => true,
            (code, Kind::Manual | Kind::Transcript) => code.unwrap_or(0) == ran.code,
        };
        // Commands may stand apart on the page.
        let blank = typed.said.iter().rev().take_while(|line| line.is_empty()).count();
        let told = &typed.said[..typed.said.len() - blank];
        let is_same = match kind {
            Kind::Transcript => fits(told, &said),
            Kind::Manual => {
                told.iter().map(|line| without_chance(line)).eq(said.iter().map(|line| without_chance(line)))
            }
        };
        let has_mark = kind == Kind::Manual
            && (typed.code.is_some() || told.iter().any(|line| line.contains("[..]") || line == "..."));
        if is_code_right && is_same && !has_mark {
            new.push_str(&typed.text());
            continue;
        }
        if has_mark {
            faults.push(format!("line {}: a mark of the test is shown to people", typed.line));
        }
        let shown = said.join("\n");
        faults.push(format!(
            "line {}: `{}` ends with exit code {}\n{shown}\nwhere the page says {:?}\n{}\n",
            typed.line,
            typed.command,
            ran.code,
            typed.code,
            typed.said.join("\n")
        ));
        let code = (ran.code != 0 && kind == Kind::Transcript).then_some(ran.code);
        // What differs each time stays a gap.
        let gap =
            |line: String| typed.said.iter().find(|page| is_gap_for(page, &line)).cloned().unwrap_or(line);
        let said = said.into_iter().map(gap).collect();
        new.push_str(&Typed { code, said, ..typed }.text());
        new.push_str(&"\n".repeat(blank));
    }
    (new, faults)
}

/// Types a command where the last one left off: in its folder, with its exit code in `$?`.
fn type_in(place: &Place, command: &str, last: i32, kind: Kind) -> Ran {
    // Who reads the manual is called ada there.
    let who = match kind {
        Kind::Transcript => "",
        Kind::Manual => "export USER=ada; ",
    };
    let script = format!(
        "{who}exec 2>&1; cd \"$(cat ~/folder 2>/dev/null || echo .)\"; (exit {last})\n{command}\ncode=$?; echo \"$PWD\" >~/folder; exit $code"
    );
    place.bash(&script)
}

impl Typed {
    fn text(&self) -> String {
        let mut lines = self.command.lines();
        let mut text = format!("$ {}\n", lines.next().unwrap_or_default());
        for line in lines {
            text.push_str(&format!("> {line}\n"));
        }
        if let Some(code) = self.code {
            text.push_str(&format!("? {code}\n"));
        }
        for line in &self.said {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

fn parts(page: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in page.lines().enumerate() {
        let is_end = fence.is_some_and(|fence| line == fence);
        match (&fence, parts.last_mut()) {
            (Some(_), Some(Part::Typed(typed))) if !is_end && !line.starts_with("$ ") => typed.take(line),
            (Some(_), _) if line.starts_with("$ ") => {
                parts.push(Part::Typed(Typed {
                    line: index + 1,
                    command: line[2..].to_owned(),
                    ..Typed::default()
                }));
            }
            _ => parts.push(Part::Prose(format!("{line}\n"))),
        }
        if is_end {
            fence = None;
        } else if let Some(marks) = line.strip_suffix("console")
            && marks.len() >= 3
            && marks.bytes().all(|byte| byte == b'`')
        {
            fence = Some(marks);
        }
    }
    parts
}

impl Typed {
    /// Takes the next line of the block.
    fn take(&mut self, line: &str) {
        let is_first = self.said.is_empty() && self.code.is_none();
        match line.split_once(' ') {
            Some((">", more)) if is_first => {
                self.command.push('\n');
                self.command.push_str(more);
            }
            Some(("?", code)) if is_first => self.code = Some(code.parse().expect("`? N` is an exit code")),
            _ => self.said.push(line.to_owned()),
        }
    }
}

/// A line without what chance decides: how long something took, when it was, which commit it was on. Blanks beside such words
/// count as one, since columns follow them.
fn without_chance(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let is_hex = |word: &str| word.len() >= 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_clock = |word: &str| {
        word.len() == 8
            && word.bytes().enumerate().all(|(at, byte)| match at {
                2 | 5 => byte == b':',
                _ => byte.is_ascii_digit(),
            })
    };
    let plain = |at: usize| words.get(at).copied().unwrap_or_default().trim_end_matches([',', ';', '.', ')']);
    let stable = |(at, word): (usize, &&str)| -> String {
        let before = at.checked_sub(1).map_or("", plain);
        let (unit, behind) = (plain(at + 1), plain(at + 2));
        let is_time = is_number(word) && ((word.contains('.') && unit == "s") || behind == "ago");
        let is_unit = is_number(before) && plain(at + 1) == "ago";
        match word.split_once('@') {
            Some((branch, commit)) if is_hex(commit.trim_end_matches([',', ';', '.'])) => {
                format!("{branch}@COMMIT")
            }
            _ if is_time || is_unit => "TIME".to_owned(),
            _ if is_clock(word) => "CLOCK".to_owned(),
            _ if matches!(before, "head" | "base" | "tree") && is_hex(plain(at)) => "HASH".to_owned(),
            _ => (*word).to_owned(),
        }
    };
    let stable: Vec<String> = words.iter().enumerate().map(stable).collect();
    if stable == words { line.to_owned() } else { stable.join(" ") }
}

/// Whether the lines are what the page says, with its gaps.
fn fits(page: &[String], said: &[String]) -> bool {
    match (page, said) {
        ([], []) => true,
        ([gap, rest @ ..], _) if gap == "..." => (0..=said.len()).any(|skipped| fits(rest, &said[skipped..])),
        ([line, page @ ..], [is, said @ ..]) => fits_line(line, is) && fits(page, said),
        ([], _) | (_, []) => false,
    }
}

/// Whether a line of a page has a gap, says something beside it, and fits.
fn is_gap_for(page: &str, said: &str) -> bool {
    page.contains("[..]") && page.replace("[..]", "").trim().len() > 3 && fits_line(page, said)
}

fn fits_line(page: &str, said: &str) -> bool {
    match page.split_once("[..]") {
        None => page == said,
        Some((before, after)) => said.strip_prefix(before).is_some_and(|rest| {
            (0..=rest.len()).filter(|&at| rest.is_char_boundary(at)).any(|at| fits_line(after, &rest[at..]))
        }),
    }
}
