//! Tests of valid JSON, damaged JSON, and what people write instead of it.

use super::*;

fn ok(text: &str) -> Node {
    let (mut values, faults) = read(text, 0);
    assert_eq!(faults, [], "{text}");
    assert_eq!(values.len(), 1, "{text}");
    values.remove(0)
}

fn torn(text: &str) -> (String, Vec<String>) {
    let (values, faults) = read(text, 0);
    let shown = values.iter().map(show).collect::<Vec<_>>().join(" ");
    (shown, faults.into_iter().map(|fault| fault.value).collect())
}

fn show(node: &Node) -> String {
    match &node.value {
        Value::Scalar { text, style: Style::Plain } => text.clone(),
        Value::Scalar { text, .. } => format!("{text:?}"),
        Value::List(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(",")),
        Value::Map(entries) => {
            let entry =
                |(key, value): &(Node, Node)| format!("{}:{}", key.text().unwrap_or_default(), show(value));
            format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
        }
    }
}

#[test]
fn sound_json_is_read_whole_and_every_value_knows_its_bytes() {
    let text = "{ \"a\": [1, -2.5e3, true, null], \"b\\n\": \"x\\u00e9\\ud83d\\ude00\\\"\" }";
    let root = ok(text);
    assert_eq!(show(&root), "{a:[1,-2.5e3,true,null],b\n:\"xé😀\\\"\"}");
    let list = root.get("a").expect("it is there");
    assert_eq!(&text[list.span.start..list.span.end], "[1, -2.5e3, true, null]");
    let second = &list.items()[1];
    assert_eq!(&text[second.span.start..second.span.end], "-2.5e3");
}

#[test]
fn the_last_of_two_keys_counts_and_null_is_no_value() {
    let root = ok(r#"{"a": 1, "a": 2, "b": 3, "b": null}"#);
    assert_eq!(root.get("a").and_then(Node::said).as_deref(), Some("2"));
    assert_eq!(root.get("b").and_then(Node::said).as_deref(), Some("3"));
}

// Whatever is not JSON is reported, and everything that makes sense around it is kept.
#[test]
fn what_is_torn_is_read_as_far_as_it_goes() {
    for (text, read, why) in [
        ("[{\"id\": 1, \"t\": \"ab", "[{id:1,t:\"ab\"}]", "unclosed string"),
        ("[{\"id\": 1}, {\"id\"", "[{id:1},{id:null}]", "expected a colon after the key"),
        ("{\"a\": [1, 2,],}", "{a:[1,2]}", "trailing comma"),
        ("{\"a\": 1 // one\n, \"b\": 2}", "{a:1,b:2}", "JSON has no comments"),
        ("{a: 1, 'b': yes}", "{a:1,b:\"yes\"}", "unquoted key"),
        ("{\"a\": 1 \"b\": 2}", "{a:1,b:2}", "expected a comma between two values"),
        ("[{\"id\": 1, {\"id\": 2}]", "[{id:1},{id:2}]", "expected `}`, found `{`"),
        ("{\"l\": [1, 2, \"m\": 3}", "{l:[1,2],m:3}", "expected `]`, found a key"),
        ("{\"l\": [{\"a\": 1}}, {\"a\": 2}]}", "{l:[{a:1},{a:2}]}", "expected a value"),
        (
            "{\"t\": \"say \"hi\" now\", \"b\": 1}",
            "{t:\"say \\\"hi\\\" now\",b:1}",
            "unescaped quote in a string",
        ),
        ("{\"t\": \"two\nlines\"}", "{t:\"two\\nlines\"}", "line break in a string"),
        ("{\"t\": \"torn,\n\"b\": 1\n}", "{t:\"torn\",b:1}", "unclosed string"),
        (
            "[\n<<<<<<< a\n1,\n=======\n2\n>>>>>>> b\n]",
            "[1,2]",
            "unresolved merge conflict; both sides are read",
        ),
        ("\"\\ud83d\"", "\"\u{fffd}\"", "lone surrogate"),
        ("\"\\q\"", "\"\\\\q\"", "invalid escape"),
    ] {
        let (shown, faults) = torn(text);
        assert_eq!(shown, read, "{text}");
        assert!(faults.iter().any(|fault| fault == why), "{text}: {faults:?}");
    }
}

#[test]
fn a_byte_order_mark_is_no_fault() {
    assert_eq!(show(&ok("\u{feff}{\"a\": 1}")), "{a:1}");
}

#[test]
fn what_is_nested_too_deep_is_kept_as_text() {
    let text = format!("{}{}", "[".repeat(70), "]".repeat(70));
    let (values, faults) = read(&text, 0);
    assert_eq!(values.len(), 1);
    assert_eq!(faults.len(), 1, "{faults:?}");
    let unclosed = "{\"a\":[".repeat(20_000);
    let (values, _) = read(&unclosed, 0);
    assert_eq!(values.len(), 1, "and a long way down costs nothing");
}

/// However the text is damaged, parsing ends and every span is inside the text.
#[test]
fn no_text_is_too_broken() {
    let sound =
        r#"{"tasks": [{"id": 1, "title": "é \"x\" \u00e9"}, {"id": 2.5, "ok": [true, null]}], "m": {}}"#;
    for cut in (0..sound.len()).filter(|&cut| sound.is_char_boundary(cut)) {
        for tail in ["", "}", "]", "\"", ",", ":", "\\", "{", "[", "\n", "'", "/*", "é"] {
            let text = format!("{}{tail}{}", &sound[..cut], &sound[cut..]);
            let (_, faults) = read(&text, 0);
            assert!(faults.iter().all(|fault| fault.span.end <= text.len()));
            read(&format!("{}{tail}", &sound[..cut]), 0);
        }
    }
}
