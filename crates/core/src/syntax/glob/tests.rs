//! Tests of globs: matching, intersection, and both against brute force.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;

use super::{ALTERNATIVES_MAX, Error, Glob, STATES_MAX, collision, intersection, is_within};

fn glob(pattern: &str) -> Glob {
    Glob::new(pattern).unwrap_or_else(|error| panic!("`{pattern}`: {error}"))
}

#[test]
fn a_pattern_means_these_paths_and_not_those() {
    let cases: [(&str, &[&str], &[&str]); 27] = [
        ("a.py", &["a.py", "./a.py"], &["b/a.py", "a.pyc", "aXpy", "a.py/b", ""]),
        ("./src/a", &["src/a"], &["a", "src/a/b"]),
        ("*", &["a", ".a", "ñ"], &["a/b", "", "/", ".", ".."]),
        ("*.py", &["a.py", ".py"], &["d/a.py", "a.py/x"]),
        ("src/*", &["src/a"], &["src", "src/", "src/a/b"]),
        ("src/*/x", &["src/a/x"], &["src/x", "src/a/b/x", "src//x"]),
        ("**", &["a", "a/b/c"], &["", "a/", "a//b", "/a"]),
        ("src/", &["src/a", "src/a/b"], &["src", "src2/a", "x/src/a"]),
        ("src/**", &["src/a", "src/a/b"], &["src", "srcs"]),
        ("src", &["src"], &["src/a"]),
        ("**/a", &["a", "x/a", "x/y/a"], &["xa", "a/b", "x/ya"]),
        ("a/**/b", &["a/b", "a/x/b", "a/x/y/b"], &["ab", "a/xb", "a/b/c"]),
        ("a/**/**/b", &["a/b", "a/x/y/b"], &["ab"]),
        ("**/*.rs", &["a.rs", "x/a.rs"], &["a.rsx"]),
        ("a**b", &["ab", "axb", "ax/yb"], &["a", "abc"]),
        ("**/", &["a", "a/b"], &[""]),
        ("?.c", &["a.c", "✅.c"], &[".c", "ab.c", "/.c"]),
        ("a?b", &["axb"], &["a/b"]),
        ("[a-c]x", &["ax", "cx"], &["dx", "x"]),
        ("[!a-c]x", &["dx", "Ax"], &["ax", "/x"]),
        ("a[^b]c", &["axc"], &["abc", "a/c"]),
        ("[]-]x", &["]x", "-x"], &["ax"]),
        ("[.-0]x", &[".x", "0x"], &["/x"]),
        ("{a,b/c}.md", &["a.md", "b/c.md"], &["b.md", "c.md"]),
        ("{src,{x,y}/z}/", &["src/a", "y/z/a"], &["z/a"]),
        (r"\*\{a,b\}[\]{]", &["*{a,b}]", "*{a,b}{"], &["xa]"]),
        ("./", &["a", "a/b"], &[]),
    ];
    for (pattern, meant, others) in cases {
        let glob = glob(pattern);
        assert_eq!(glob.pattern(), pattern);
        for path in meant {
            assert!(glob.matches(path), "`{pattern}` means `{path}`");
        }
        for path in others {
            assert!(!glob.matches(path), "`{pattern}` does not mean `{path}`");
        }
    }
}

#[test]
fn a_name_may_be_a_folder_that_others_work_in() {
    let cases = [
        ("docs", "docs/x.md", Some("docs/x.md")),
        ("docs/x.md", "./docs", Some("docs/x.md")),
        ("src/auth", "src/auth/**", Some("src/auth/a")),
        ("src/auth", "src/*/x.rs", Some("src/auth/x.rs")),
        ("src/auth", "src/auth", Some("src/auth")),
        ("docs", "docs2/x.md", None),
        ("docs", "do/x", None),
        ("src/a", "src/*.rs", None),
        ("src/*", "src/a/b", None),
        (r"\!docs", r"\!docs/x", Some("!docs/x")),
    ];
    for (one, other, path) in cases {
        let (one, other) = (glob(one), glob(other));
        assert_eq!(collision(&one, &other).as_deref(), path, "{} {}", one.pattern(), other.pattern());
        assert_eq!(collision(&other, &one).as_deref(), path, "{} {}", other.pattern(), one.pattern());
    }
}

#[test]
fn a_text_that_is_no_pattern_says_why() {
    let cases = [
        ("", Error::Empty),
        ("{,}", Error::Empty),
        ("/etc", Error::EmptySegment),
        ("a//b", Error::EmptySegment),
        ("{a/,}/b", Error::EmptySegment),
        ("../a", Error::DotSegment),
        ("a/./b", Error::DotSegment),
        (r"a/\./b", Error::DotSegment),
        (r"\.\.", Error::DotSegment),
        ("a{b,c", Error::UnclosedBrace),
        ("a[bc", Error::UnclosedClass),
        ("a[]", Error::UnclosedClass),
        ("[z-a]", Error::ReversedRange),
        ("a\\", Error::TrailingEscape),
        ("!src/**", Error::Negation),
        ("./!a", Error::Negation),
    ];
    for (pattern, expected) in cases {
        assert_eq!(Glob::new(pattern).err(), Some(expected), "{pattern}");
    }
    assert_eq!(Glob::new(&"a".repeat(STATES_MAX)).err(), None);
    assert_eq!(Glob::new(&"a".repeat(STATES_MAX + 1)).err(), Some(Error::TooLong));
    assert_eq!(Glob::new(&format!("{}{{a,b}}", "a".repeat(STATES_MAX / 2))).err(), Some(Error::TooLong));
    assert_eq!(Glob::new(&"{a,b}".repeat(6)).err(), None);
    assert_eq!(ALTERNATIVES_MAX, 64);
    assert_eq!(Glob::new(&"{a,b}".repeat(7)).err(), Some(Error::TooManyAlternatives));
    assert_eq!(Glob::new(&"{a,".repeat(300)).err(), Some(Error::UnclosedBrace));
}

#[test]
fn only_a_pattern_without_choice_is_literal() {
    for pattern in ["a", "./src/a.py", r"\*", "{a}"] {
        assert!(glob(pattern).is_literal(), "{pattern}");
    }
    for pattern in ["*", "src/", "a?", "[a]", "{a,b}", "./"] {
        assert!(!glob(pattern).is_literal(), "{pattern}");
    }
}

#[test]
fn two_patterns_meet_in_a_readable_path() {
    let cases = [
        ("src/a*.py", "src/*b.py", Some("src/ab.py")),
        ("a.py", "a.py", Some("a.py")),
        ("a.py", "b.py", None),
        ("a.py", "*.py", Some("a.py")),
        ("src/", "src/a/b.py", Some("src/a/b.py")),
        ("src", "src/a.py", None),
        ("src/**", "src/**", Some("src/a")),
        ("**", "**", Some("a")),
        ("*.py", "*.py", Some("a.py")),
        ("src/**/*.py", "**/test_*", Some("src/test_.py")),
        ("*.py", "*.md", None),
        ("*/a", "a/*", Some("a/a")),
        ("*", "a/b", None),
        ("src/*", "src/*/*", None),
        ("src/*/b", "src/**/b/b", Some("src/b/b")),
        ("x*", "[!a-w]?", Some("xa")),
        ("[a-m]", "[k-z]", Some("k")),
        ("[!a-z]", "[!0-9]", Some("A")),
        ("[a-c]", "[d-f]", None),
        ("[☀-☃]", "[!☀-☂]", Some("☃")),
        ("{a,b}/*.c", "{b,c}/x*", Some("b/x.c")),
        (".github/*.yml", ".github/**", Some(".github/a.yml")),
        (".*", "*.yml", Some(".yml")),
        ("./a/", "a/?", Some("a/a")),
        (".?", "?.", None),
        (".*/", "**", Some(".a/a")),
        ("**/b/*.rs", "a/**/c.rs", Some("a/b/c.rs")),
        ("src/x/**", "**/*_1.sql", Some("src/x/_1.sql")),
        ("**/m1/*.rs", "**/m2/*.rs", None),
        ("**/m/*.rs", "**m/a*", Some("m/a.rs")),
        ("a/*/m1/**", "a/*/m2/**", None),
        ("a/b**", "a/c/**", None),
        ("a/b**", "a/b/c/**", Some("a/b/c/a")),
        ("**b/c", "a/**/b/c", Some("a/b/c")),
        ("a*b*c", "*d*e*f", None),
        ("a*b*c", "*d*e*c", Some("abdec")),
    ];
    for (a, b, expected) in cases {
        assert_eq!(intersection(&glob(a), &glob(b)).as_deref(), expected, "`{a}` and `{b}`");
        assert_eq!(intersection(&glob(b), &glob(a)).is_some(), expected.is_some(), "`{b}` and `{a}`");
    }
}

#[test]
fn the_worst_patterns_end() {
    let stars = glob(&"*a".repeat(STATES_MAX / 4));
    let others = glob(&format!("{}*", "*b".repeat(STATES_MAX / 4)));
    assert_eq!(intersection(&stars, &others).map(|path| path.len()), Some(STATES_MAX / 2));
    assert!(!stars.matches(&"a".repeat(STATES_MAX / 4 - 1)));
}

const PLAIN_PIECES: &[&str] = &["a", "b", ".", "/", "*", "**", "**/", "?"];
const PIECES: &[&str] =
    &["a", "b", ".", "/", "*", "**", "**/", "?", "[a.]", "[!a]", "{a,b/}", "{,.a}", "/**", "a/"];

fn any_pattern(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    let text = vec(select(pieces), 1..7).prop_map(|pieces| pieces.concat());
    text.prop_filter("a pattern", |text| Glob::new(text).is_ok())
}

fn any_path() -> impl Strategy<Value = String> {
    let name = select(&["a", "b", "ab", "ba", ".a", "b.a", "a.", "..."][..]);
    vec(name, 1..4).prop_map(|names| names.join("/"))
}

/// A naive matcher for patterns without classes and braces, as an oracle: whether `pattern` from `at` on matches
/// `path`.
fn means(pattern: &[char], at: usize, path: &[char]) -> bool {
    let is_fresh = at == 0 || pattern[at - 1] == '/';
    let rests = || (0..=path.len()).map(|read| path.split_at(read));
    match &pattern[at..] {
        [] => path.is_empty(),
        ['*', '*', '/', ..] if is_fresh => rests()
            .any(|(read, rest)| (read.is_empty() || read.ends_with(&['/'])) && means(pattern, at + 3, rest)),
        ['*', '*', ..] => rests().any(|(_, rest)| means(pattern, at + 2, rest)),
        ['*', ..] => rests().any(|(read, rest)| !read.contains(&'/') && means(pattern, at + 1, rest)),
        [first, ..] => match path {
            [] => false,
            [read, rest @ ..] => {
                (first == read || *first == '?' && *read != '/') && means(pattern, at + 1, rest)
            }
        },
    }
}

// A policy may treat a pattern as part of another only if that is certain.
#[test]
fn a_pattern_lies_within_others_only_if_all_that_it_means_does() {
    let cases: &[(&str, &[&str], bool)] = &[
        ("src/a.rs", &["src/**"], true),
        ("src/a.rs", &["src/"], true),
        ("src/", &["src/**"], true),
        ("src/**", &["src/"], true),
        ("src/**/*.rs", &["src/**"], true),
        ("src/**", &["src/**/*.rs"], false),
        ("**", &["src/**"], false),
        ("**", &["**"], true),
        ("**/*", &["**"], true),
        ("*", &["**"], true),
        ("**", &["*"], false),
        ("src*", &["src/**"], false),
        ("src**", &["src/**"], false),
        ("src", &["src/**"], false),
        ("src", &["src"], true),
        ("src/?", &["src/*"], true),
        ("src/*", &["src/?"], false),
        ("{src,docs}/x", &["src/**", "docs/**"], true),
        ("{src,docs,etc}/x", &["src/**", "docs/**"], false),
        ("src/[a-c]", &["src/[a-b]", "src/[c-d]"], true),
        ("src/[a-c]", &["src/[a-b]", "src/[d-e]"], false),
        ("src/[!a]", &["src/[!ab]", "src/b"], true),
        ("src/[!a]", &["src/[!ab]"], false),
        ("*.md", &["*.[a-m]d", "*.[n-z]d"], true),
        ("a/**/b", &["a/b", "a/*/b", "a/*/**/b"], true),
        ("a/**/b", &["a/b", "a/*/b"], false),
        ("SRC/a", &["src/**"], false),
        ("ѕrc/a", &["src/**"], false),
        ("src/a", &[], false),
        ("x*", &["xa*", "x[!a]*", "x"], true),
        ("x*", &["xa*", "x[!a]*"], false),
    ];
    for (inner, outer, expected) in cases {
        let outer_globs: Vec<Glob> = outer.iter().map(|pattern| glob(pattern)).collect();
        assert_eq!(is_within(&glob(inner), &outer_globs), *expected, "`{inner}` within {outer:?}");
    }
}

#[test]
fn what_would_take_too_long_to_prove_is_not_taken_for_proven() {
    let within = |count: usize| {
        let ends = ["a", "b"].map(|letter| glob(&format!("**{letter}{}", "?".repeat(count))));
        is_within(&glob(&"[ab]".repeat(2 * count)), &ends)
    };
    assert!(within(3), "both are true, and only the first is small enough to be seen");
    assert!(!within(24));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn no_path_within_is_outside(a in any_pattern(PIECES), b in any_pattern(PIECES), paths in vec(any_path(), 40)) {
        let (a, b) = (glob(&a), glob(&b));
        if is_within(&a, std::slice::from_ref(&b)) {
            for path in paths {
                prop_assert!(!a.matches(&path) || b.matches(&path), "{}", path);
            }
        }
        // Unproven counts as no: alternatives may exceed the search limit.
        let is_plain = !a.pattern().contains('{');
        prop_assert!(!is_plain || is_within(&a, std::slice::from_ref(&a)) || intersection(&a, &a).is_none());
    }

    #[test]
    fn a_witness_is_meant_by_both_and_is_a_path(a in any_pattern(PIECES), b in any_pattern(PIECES)) {
        let (a, b) = (glob(&a), glob(&b));
        if let Some(path) = intersection(&a, &b) {
            prop_assert!(a.matches(&path) && b.matches(&path), "{}", path);
            prop_assert!(path.split('/').all(|name| !["", ".", ".."].contains(&name)), "{}", path);
            prop_assert!(path.chars().all(|character| character.is_ascii_alphanumeric() || "/.".contains(character)));
        }
    }

    #[test]
    fn patterns_that_share_a_path_meet(a in any_pattern(PIECES), b in any_pattern(PIECES), paths in vec(any_path(), 40)) {
        let (a, b) = (glob(&a), glob(&b));
        if paths.iter().any(|path| a.matches(path) && b.matches(path)) {
            prop_assert!(intersection(&a, &b).is_some());
        }
    }

    #[test]
    fn the_automaton_reads_a_pattern_as_the_oracle_does(
        text in any_pattern(PLAIN_PIECES),
        path in any_path(),
    ) {
        let mut plain = text.trim_start_matches("./").to_owned();
        if plain.is_empty() || plain == "." {
            plain = "**".to_owned();
        }
        if plain.ends_with('/') {
            plain.push_str("**");
        }
        while plain.contains("***") {
            plain = plain.replace("***", "**");
        }
        let pattern: Vec<char> = plain.chars().collect();
        let characters: Vec<char> = path.chars().collect();
        prop_assert_eq!(glob(&text).matches(&path), means(&pattern, 0, &characters));
    }
}
