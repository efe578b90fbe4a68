//! Tests of the spanned YAML tree: spans, faults, limits and quoting.

use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

use super::{DEPTH_MAX, FaultKind, NODES_MAX, Node, Style, Value, YamlFault, quote, read};
use crate::syntax::source::Span;

/// Every node in file order as `kind start..end slice`, so that a table row shows all spans.
fn outline(text: &str, node: &Node, lines: &mut Vec<String>) {
    let Span { start, end } = node.span;
    let slice = &text[start..end];
    match &node.value {
        Value::Scalar { text, style } => {
            let style = match style {
                Style::Plain => "plain",
                Style::SingleQuoted => "single",
                Style::DoubleQuoted => "double",
                Style::Block => "block",
            };
            lines.push(format!("{style} {start} {slice:?} = {text:?}"));
        }
        Value::List(items) => {
            lines.push(format!("list {start} {slice:?}"));
            for item in items {
                outline(text, item, lines);
            }
        }
        Value::Map(entries) => {
            lines.push(format!("map {start} {slice:?}"));
            for (key, value) in entries {
                outline(text, key, lines);
                outline(text, value, lines);
            }
        }
    }
}

fn outlined(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    if let (Some(root), _) = read(text, 0) {
        outline(text, &root, &mut lines);
    }
    lines
}

/// Every fault as the text at fault and its name.
fn faults(text: &str) -> Vec<String> {
    let name = |fault: YamlFault| format!("{:?} {:?}", &text[fault.span.start..fault.span.end], fault.kind);
    read(text, 0).1.into_iter().map(name).collect()
}

fn check(text: &str, expected: &[&str]) {
    assert_eq!(outlined(text), expected, "{text:?}");
    assert_eq!(faults(text), [] as [&str; 0], "{text:?}");
}

#[test]
fn nothing_is_no_tree() {
    check("", &[]);
    check("# only a comment\n", &[]);
    check("---\n", &["plain 3 \"\" = \"\""]);
}

#[test]
fn a_missing_value_never_lies_behind_what_follows_it() {
    check(
        "? a\n:b: c\n",
        &[
            r#"map 0 "? a\n:b: c""#,
            r#"plain 2 "a" = "a""#,
            r#"plain 3 "" = """#,
            r#"plain 4 ":b" = ":b""#,
            r#"plain 8 "c" = "c""#,
        ],
    );
    let (root, _) = read(": ?\n:", 0);
    let Some(Node { value: Value::Map(entries), .. }) = root else { panic!("a map") };
    let places: Vec<Span> = entries.iter().flat_map(|(key, value)| [key.span, value.span]).collect();
    assert!(places.is_sorted_by(|one, next| one.end <= next.start), "{places:?}");
}

#[test]
fn scalars_span_what_was_written_without_spaces_and_comments() {
    check(
        "a: x y   # c\n\"b\" : 'it''s' # d\n'c': \"t\\tt\"  \n",
        &[
            r#"map 0 "a: x y   # c\n\"b\" : 'it''s' # d\n'c': \"t\\tt\"""#,
            r#"plain 0 "a" = "a""#,
            r#"plain 3 "x y" = "x y""#,
            r#"double 13 "\"b\"" = "b""#,
            r#"single 19 "'it''s'" = "it's""#,
            r#"single 31 "'c'" = "c""#,
            r#"double 36 "\"t\\tt\"" = "t\tt""#,
        ],
    );
    check(
        "m: one\n  two # c\n",
        &[r#"map 0 "m: one\n  two""#, r#"plain 0 "m" = "m""#, r#"plain 3 "one\n  two" = "one two""#],
    );
    check("n: ~\n", &[r#"map 0 "n: ~""#, r#"plain 0 "n" = "n""#, r#"plain 3 "~" = "~""#]);
}

#[test]
fn spans_count_bytes_after_wide_characters_and_carriage_returns() {
    check(
        "ñß: ✅ 𝒳  # é\r\nb:\r\n  - \"ü\"\r\n  - z\r\n",
        &[
            r#"map 0 "ñß: ✅ 𝒳  # é\r\nb:\r\n  - \"ü\"\r\n  - z""#,
            r#"plain 0 "ñß" = "ñß""#,
            r#"plain 6 "✅ 𝒳" = "✅ 𝒳""#,
            r#"plain 22 "b" = "b""#,
            r#"list 28 "- \"ü\"\r\n  - z""#,
            r#"double 30 "\"ü\"" = "ü""#,
            r#"plain 40 "z" = "z""#,
        ],
    );
    let (root, _) = read("\u{feff}a: 1", 100);
    assert_eq!(root.map(|node| node.span), Some(Span::new(103, 107)));
}

#[test]
fn an_empty_value_stands_right_after_its_colon_or_dash() {
    check(
        "k:\nb:   # c\nc : \r\n",
        &[
            r#"map 0 "k:\nb:   # c\nc :""#,
            r#"plain 0 "k" = "k""#,
            r#"plain 2 "" = """#,
            r#"plain 3 "b" = "b""#,
            r#"plain 5 "" = """#,
            r#"plain 12 "c" = "c""#,
            r#"plain 15 "" = """#,
        ],
    );
    check(
        "{a, b: , c:}",
        &[
            r#"map 0 "{a, b: , c:}""#,
            r#"plain 1 "a" = "a""#,
            r#"plain 2 "" = """#,
            r#"plain 4 "b" = "b""#,
            r#"plain 6 "" = """#,
            r#"plain 9 "c" = "c""#,
            r#"plain 11 "" = """#,
        ],
    );
    check(
        "-   # c\n- a\n- \n-\n",
        &[
            r#"list 0 "-   # c\n- a\n- \n-""#,
            r#"plain 1 "" = """#,
            r#"plain 10 "a" = "a""#,
            r#"plain 13 "" = """#,
            r#"plain 16 "" = """#,
        ],
    );
    check("? e # c\n", &[r#"map 0 "? e""#, r#"plain 2 "e" = "e""#, r#"plain 3 "" = """#]);
}

#[test]
fn collections_span_their_dashes_and_brackets() {
    check(
        "a: # c\n- x\n-  - y\n   - k: v\nb: [1, {c: d} ] # e\n",
        &[
            r#"map 0 "a: # c\n- x\n-  - y\n   - k: v\nb: [1, {c: d} ]""#,
            r#"plain 0 "a" = "a""#,
            r#"list 7 "- x\n-  - y\n   - k: v""#,
            r#"plain 9 "x" = "x""#,
            r#"list 14 "- y\n   - k: v""#,
            r#"plain 16 "y" = "y""#,
            r#"map 23 "k: v""#,
            r#"plain 23 "k" = "k""#,
            r#"plain 26 "v" = "v""#,
            r#"plain 28 "b" = "b""#,
            r#"list 31 "[1, {c: d} ]""#,
            r#"plain 32 "1" = "1""#,
            r#"map 35 "{c: d}""#,
            r#"plain 36 "c" = "c""#,
            r#"plain 39 "d" = "d""#,
        ],
    );
    check(
        "[a: 1]",
        &[r#"list 0 "[a: 1]""#, r#"map 1 "a: 1""#, r#"plain 1 "a" = "a""#, r#"plain 4 "1" = "1""#],
    );
}

#[test]
fn block_scalars_span_header_and_lines() {
    check(
        "a: | # x | y\r\n  l1\r\n  l2 \r\n\r\n# c\r\nb:\r\n - >-\r\n  z\r\nc: |",
        &[
            r#"map 0 "a: | # x | y\r\n  l1\r\n  l2 \r\n\r\n# c\r\nb:\r\n - >-\r\n  z\r\nc: |""#,
            r#"plain 0 "a" = "a""#,
            r#"block 3 "| # x | y\r\n  l1\r\n  l2 " = "l1\nl2 \n""#,
            r#"plain 34 "b" = "b""#,
            r#"list 39 "- >-\r\n  z""#,
            r#"block 41 ">-\r\n  z" = "z""#,
            r#"plain 50 "c" = "c""#,
            r#"block 53 "|" = """#,
        ],
    );
}

#[test]
fn all_faults_come_at_once_in_file_order() {
    let text =
        "a: &x 1\nb: *x\nc: *nope\nd: !t 2\n<<: *x\na: 3\ne: {k: &y [], k: !!map {}}\n'a': 4\n---\nf: *z\n";
    assert_eq!(
        faults(text),
        [
            r#""&x" Anchor"#,
            r#""*x" Alias"#,
            r#""*nope" Alias"#,
            r#""!t" Tag"#,
            r#""<<" MergeKey"#,
            r#""*x" Alias"#,
            r#""a" DuplicateKey { key: "a", first: Span { start: 0, end: 1 } }"#,
            r#""&y" Anchor"#,
            r#""k" DuplicateKey { key: "k", first: Span { start: 47, end: 48 } }"#,
            r#""!!map" Tag"#,
            r#""'a'" DuplicateKey { key: "a", first: Span { start: 0, end: 1 } }"#,
            r#""---" SecondDocument"#,
        ]
    );
    assert!(outlined(text).contains(&r#"plain 17 "*nope" = "*nope""#.to_owned()));
}

#[test]
fn a_duplicate_key_names_both_places_in_the_file() {
    let first = Span::new(1_000, 1_001);
    let kind = FaultKind::DuplicateKey { key: "a".into(), first };
    assert_eq!(read("a: 1\nb: 2\na: 3\n", 1_000).1, [YamlFault { span: Span::new(1_010, 1_011), kind }]);
}

#[test]
fn what_stands_before_a_syntax_error_is_kept() {
    let (root, found) = read("a: 1\nb: [x, y\nc: 3\n", 10);
    assert!(matches!(
        &found[..],
        [YamlFault { span: Span { start: 25, end: 26 }, kind: FaultKind::Syntax(_) }]
    ));
    assert!(root.is_some());
    assert_eq!(
        outlined("a: 1\nb: [x, y\nc: 3\n")[..3],
        [r#"map 0 "a: 1\nb: [x""#, r#"plain 0 "a" = "a""#, r#"plain 3 "1" = "1""#]
    );
    assert_eq!(outlined("a: b: c"), [r#"map 0 "a: b""#, r#"plain 0 "a" = "a""#, r#"plain 3 "b" = "b""#]);
    assert_eq!(faults("a: b: c").len(), 1);
    assert_eq!(faults("a: \"x"), [r#""\"" Syntax("unclosed quote")"#]);
}

#[test]
fn a_bomb_is_a_handful_of_faults() {
    let level = |level: usize| format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1);
    let text: String = std::iter::once("a0: &a0 [x, x]\n".to_owned()).chain((1..30).map(level)).collect();
    let found = read(&text, 0).1;
    assert_eq!(found.iter().filter(|fault| fault.kind == FaultKind::Anchor).count(), 30);
    assert_eq!(found.iter().filter(|fault| fault.kind == FaultKind::Alias).count(), 58);
}

#[test]
fn depth_and_size_end_at_their_limits() {
    let kinds = |text: &str| read(text, 0).1.into_iter().map(|fault| fault.kind).collect::<Vec<_>>();
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert_eq!(kinds(&nested(DEPTH_MAX)), []);
    assert_eq!(kinds(&nested(DEPTH_MAX + 1)), [FaultKind::TooDeep]);
    for open in ["[", "{a: ", "- ", "? "] {
        assert_eq!(kinds(&open.repeat(100_000)), [FaultKind::TooDeep], "{open}");
    }
    // The list itself is a node, too.
    assert_eq!(kinds(&"- a\n".repeat(NODES_MAX - 1)), []);
    let (root, found) = read(&"- a\n".repeat(NODES_MAX), 0);
    assert_eq!(found, [YamlFault { span: Span::at(39_998), kind: FaultKind::TooManyNodes }]);
    assert!(matches!(root, Some(Node { value: Value::List(items), .. }) if items.len() == NODES_MAX - 1));
}

#[test]
fn quotes_come_only_where_they_are_needed() {
    for plain in [
        "word",
        "two words",
        "a:b",
        "http://x/y#z",
        "it's",
        "3rd",
        "v1.2",
        "ñ ✅",
        "a-b",
        "x=1",
        "no one",
        "\\",
    ] {
        assert_eq!(quote(plain), plain);
    }
    assert_eq!(quote("4"), "\"4\"");
    assert_eq!(quote("say \"a\\b\": now\t\u{7}"), "\"say \\\"a\\\\b\\\": now\\t\\U00000007\"");
}

const NASTY: [&str; 52] = [
    "", " ", "~", "null", "Null", "true", "FALSE", "yes", "No", "on", "OFF", "y", "N", "0", "-1", "+1",
    "1_000", "0x1F", "0o7", "1e3", ".5", ".inf", ".NaN", "12:30:45", "-", "- a", "?", "? a", ":", "a:",
    "a: b", "a #b", "#a", "&a", "*a", "!a", "|", ">", "'", "''", "\"", "%a", "@a", "`a", "{a}", "[a]",
    "a, b", "<<", "=", "---", "...", " a ",
];
const NASTY_AND_LONG: [&str; 4] =
    ["a\tb", "2026-11-15", "2001-12-14 21:59:43.10 -5", "a\nb\r\u{0}\u{85}\u{2028}\u{feff}\u{7f}"];

/// Reads a scalar back from every place that it may be put in.
fn read_back(quoted: &str) -> Vec<String> {
    let places = [
        format!("{quoted}\n"),
        format!("a-very-long-key: {quoted} # c\r\n"),
        format!("{quoted}: v\n"),
        format!("- {quoted}"),
        format!("[{quoted}, x]"),
        format!("{{a-very-long-key: {quoted}}}"),
        format!("{{{quoted}: v}}"),
    ];
    let texts = places.iter().map(|text| {
        let (root, found) = read(text, 0);
        assert_eq!(found, [], "{text:?}");
        let mut node = root.expect("a tree");
        loop {
            node = match node.value {
                Value::Scalar { text, style: Style::Plain | Style::DoubleQuoted } => return text,
                Value::Scalar { .. } => panic!("a style that is never written: {text:?}"),
                Value::List(items) => items.into_iter().next().expect("an item"),
                Value::Map(entries) => {
                    let (key, value) = entries.into_iter().next().expect("an entry");
                    if matches!(&key.value, Value::Scalar { text, .. } if text == "a-very-long-key") {
                        value
                    } else {
                        key
                    }
                }
            };
        }
    });
    texts.collect()
}

#[test]
fn a_quoted_scalar_reads_back_in_every_place() {
    for &text in NASTY.iter().chain(&NASTY_AND_LONG) {
        let quoted = quote(text);
        assert!(quoted.starts_with('"'), "{text:?} would be read as something else");
        assert_eq!(read_back(&quoted), [text; 7], "{text:?}");
    }
}

fn is_nested(text: &str, node: &Node) -> bool {
    let is_inside = |child: &Node| node.span.covers(child.span) && is_nested(text, child);
    text.get(node.span.start..node.span.end).is_some()
        && match &node.value {
            Value::Scalar { .. } => true,
            Value::List(items) => items.iter().all(is_inside),
            Value::Map(entries) => entries.iter().all(|(key, value)| is_inside(key) && is_inside(value)),
        }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_and_children_stand_inside_their_parents(text in "([-?:,\\[\\]{}#&*!|>'\"%<ab ñ✅\\\\~]|\n|\r\n|: |- |  |---|\u{feff}|\t){0,24}") {
        let (root, found) = read(&text, 0);
        if let Some(root) = root {
            prop_assert!(is_nested(&text, &root), "{:?}", root);
        }
        for fault in found {
            prop_assert!(text.get(fault.span.start..fault.span.end).is_some());
        }
    }

    #[test]
    fn any_text_can_be_quoted(text in "([-?:,\\[\\]{}#&*!|>'\"%<ab0. ñ✅\\\\~=\u{0}-\u{20}\u{fffe}]|\\PC){0,12}") {
        prop_assert_eq!(read_back(&quote(&text)), vec![text; 7]);
    }
}
