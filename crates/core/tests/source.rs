//! Files that are no plans: bytes that are no text, too many of them, and frontmatter that means harm. Each is reported
//! with its place, and none costs more than its size.
#![expect(clippy::disallowed_methods, reason = "the bounds on time are measured with a clock")]

use std::time::{Duration, Instant};

use planwright_core::plan::draft::{Draft, Mark, ParseIssue};
use planwright_core::plan::edit::PlanEdit;
use planwright_core::syntax::source::Source;
use planwright_core::verify::{read, too_large};

const MEBIBYTE: usize = 1 << 20;

/// Far more than any of these inputs takes, and far less than what a quadratic reader would take.
const TIME_MAX: Duration = Duration::from_secs(20);

/// The message and the place of the complaint about these bytes.
fn complaint(bytes: &[u8]) -> String {
    let unreadable = read("plan.md", bytes.to_vec()).expect_err("these bytes are no plan");
    let diagnostic = &unreadable.diagnostic;
    let place = unreadable.source.position(diagnostic.primary.span.start);
    assert!(diagnostic.primary.span.end <= unreadable.source.text().len().max(1));
    format!("{} {place}: {}", diagnostic.code, diagnostic.message)
}

#[test]
fn bytes_that_are_no_text_are_named_by_their_place() {
    assert_eq!(complaint(b"\xff# Plan\n"), "PW0101 1:1: file is not UTF-8 text: byte 0 is 0xff");
    assert_eq!(complaint(b"# Plan\n\n\xc3(\n"), "PW0101 3:1: file is not UTF-8 text: byte 8 is 0xc3");
    assert_eq!(complaint(b"# Pl\xe4n\n"), "PW0101 1:5: file is not UTF-8 text: byte 4 is 0xe4");
    assert_eq!(complaint(b"# \xe2\x9c"), "PW0101 1:3: file is not UTF-8 text: byte 2 is 0xe2");
    assert_eq!(complaint(b"\xff\xfe#\0 \0"), "PW0101 1:1: file is not UTF-8 text: byte 0 is 0xff");
    assert_eq!(
        complaint("ñ\nñ\n".as_bytes().iter().chain(&[0x80]).copied().collect::<Vec<_>>().as_slice()),
        "PW0101 3:1: file is not UTF-8 text: byte 6 is 0x80"
    );
}

#[test]
fn a_nul_byte_is_named_by_its_place() {
    assert_eq!(complaint(b"\0"), "PW0101 1:1: file contains a NUL byte at offset 0");
    assert_eq!(complaint(b"# Plan\nab\0c\n"), "PW0101 2:3: file contains a NUL byte at offset 9");
}

/// Whether a file is too large is for the engine to see, which stops reading there; what is said of it stands here.
#[test]
fn a_file_that_is_too_large_is_told_its_size_and_the_limit() {
    let unreadable = too_large("plan.md", MEBIBYTE);
    let diagnostic = &unreadable.diagnostic;
    assert_eq!(diagnostic.message, "file is larger than 1048576 bytes");
    assert!(
        diagnostic.help.as_ref().is_some_and(|help| help.contains("--max-bytes")),
        "{:?}",
        diagnostic.help
    );
}

/// What reading and editing may cost the most: one piece over and over.
const PIECES: &[&str] = &[
    "x",
    "\n",
    "### 1. a\n",
    "**task:** a\n",
    "- ",
    "> ",
    "`",
    "```\n",
    "[",
    "*",
    "**",
    "<!--",
    "\t",
    "1. ",
    "---\n",
    "\r",
    "&",
    "#### notes\n",
    "### 1. a\n#### Notes\n",
];

fn timed<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let begin = Instant::now();
    let result = act();
    let elapsed = begin.elapsed();
    assert!(elapsed < TIME_MAX, "{what} took {elapsed:?}");
    result
}

#[test]
fn files_at_the_limit_are_read_in_time() {
    for piece in PIECES {
        let text = piece.repeat(MEBIBYTE / piece.len());
        let source = read("plan.md", text.clone().into_bytes()).expect("this is text");
        timed(&format!("reading {piece:?}"), || source.draft());
    }
}

#[test]
fn large_files_are_edited_in_time() {
    for piece in PIECES {
        let text = piece.repeat(MEBIBYTE / 8 / piece.len());
        let source = Source::new("plan.md", text.as_str());
        let mark = PlanEdit::Mark { step: 0, mark: Some(Mark::Done) };
        let formatted = timed(&format!("formatting {piece:?}"), || source.dialect().format(&source));
        let marked = timed(&format!("marking {piece:?}"), || source.dialect().patch(&source, &mark));
        assert!(formatted.is_ok(), "{piece:?}: {:?}", formatted.err());
        assert_eq!(marked.is_ok(), piece.starts_with("### 1."), "{piece:?}");
    }
}

#[test]
fn an_empty_file_and_a_bare_byte_order_mark_are_text() {
    for text in ["", "\u{feff}", "\n", "\u{feff}\r\n"] {
        let source = read("plan.md", text.as_bytes().to_vec()).expect("this is text");
        assert_eq!(source.text(), text);
        assert_eq!(source.draft(), Draft::default());
    }
}

/// What is odd about the frontmatter with these lines, and that it was found in time.
fn oddities(yaml: &str) -> Vec<String> {
    let text = format!("---\ntype: plan\n{yaml}\n---\n\n# Plan\n\n### 1. Step\n\n**task:** Do it.\n");
    let source = Source::new("plan.md", text.as_str());
    let begin = Instant::now();
    let draft = source.draft();
    assert!(begin.elapsed() < TIME_MAX, "reading took {:?}", begin.elapsed());
    assert_eq!(draft.steps.len(), 1, "the steps are read whatever the frontmatter is");
    assert_eq!(draft.frontmatter.value("type").map(|value| value.value.as_str()), Some("plan"));
    let oddities = draft.oddities.0.iter().map(|oddity| {
        let place = source.position(oddity.span.start);
        if let ParseIssue::DuplicateKey { key, first } = &oddity.value {
            return format!("{place} `{key}` twice, first at {}", source.position(first.start));
        }
        let ParseIssue::Frontmatter(why) = &oddity.value else {
            panic!("only the frontmatter is odd here: {oddity:?}")
        };
        format!("{place} {why}")
    });
    oddities.collect()
}

fn check(yaml: &str, expected: &[&str]) {
    assert_eq!(oddities(yaml), expected, "{}", &yaml[..yaml.len().min(80)]);
}

// A-04: the frontmatter is a few plain keys; whatever else YAML can do is reported where it stands.
#[test]
fn yaml_that_plans_may_not_use_is_reported() {
    check("a: &x 1", &["3:4 anchors (`&name`) are not allowed in frontmatter"]);
    check("a: !!python/object:os.system x", &["3:4 tags (`!name`) are not allowed in frontmatter"]);
    check("owner: a\nowner: b", &["4:1 `owner` twice, first at 3:1"]);
    check("type: x", &["3:1 `type` twice, first at 2:1"]);
}

#[test]
fn a_yaml_bomb_does_not_go_off() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..30 {
        let list = vec![format!("*a{}", level - 1); 10].join(", ");
        bomb += &format!("a{level}: &a{level} [{list}]\n");
    }
    let found = oddities(&bomb);
    assert!(found[0].ends_with("anchors (`&name`) are not allowed in frontmatter"), "{}", found[0]);
    assert!(found.iter().any(|found| found.contains("aliases")), "{found:?}");
}

#[test]
fn nesting_and_size_are_bounded_and_reported() {
    for open in ["[", "{a: ", "- "] {
        let found = oddities(&format!("a: {}", open.repeat(100_000)));
        assert_eq!(found.len(), 1, "{open}: {:?}", &found[..found.len().min(3)]);
        assert!(found[0].starts_with("3:"), "{open}: {}", found[0]);
    }
    let keys: String = (0..100_000).map(|key| format!("k{key}: v\n")).collect();
    assert!(keys.len() > MEBIBYTE - 100_000);
    let found = oddities(&keys);
    assert_eq!(found.len(), 1, "{:?}", &found[..found.len().min(3)]);
    assert!(found[0].ends_with("the frontmatter has more than 10000 values"), "{}", found[0]);
}

#[test]
fn one_key_many_times_is_reported_in_time() {
    let found = oddities("owner: ada\n".repeat(4_000).as_str());
    assert_eq!(found.len(), 3_999);
}
