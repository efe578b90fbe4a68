//! Unit tests of ids, times, and the positions of a command's characters.

use super::{excerpt, patch, replan};
use crate::syntax::source::{Source, Span};
use crate::syntax::yaml;

// No id grows by a suffix with each version, not even one that another program extended.
#[test]
fn an_id_has_one_version_at_its_end() {
    let cases = [
        (("auth", 1, None), "auth-v2"),
        (("auth-v2", 2, Some("auth")), "auth-v3"),
        (("auth-v3", 3, Some("auth-v2")), "auth-v4"),
        (("auth-v2", 2, None), "auth-v3"),
        (("auth-v2-v3", 3, Some("auth-v2")), "auth-v4"),
        (("auth-v2-v3-v4", 4, Some("auth-v2-v3")), "auth-v5"),
        // A name that ends like a version is not a version.
        (("move-to-v2", 1, None), "move-to-v2-v2"),
        (("move-to-v2-v2", 2, Some("move-to-v2")), "move-to-v2-v3"),
        (("move-to-v2-v3", 3, Some("move-to-v2-v2")), "move-to-v2-v4"),
        (("", 1, None), "-v2"),
        (("x", usize::MAX, None), "x-v18446744073709551615"),
    ];
    for ((id, version, previous), next) in cases {
        assert_eq!(replan::next_id(id, version, previous), next, "{id} {version} {previous:?}");
    }
}

#[test]
fn every_character_of_a_command_has_its_place() {
    let texts = [
        "contract: test -s a.md\n",
        "contract: 'it''s'\n",
        "contract: \"grep -q \\\"ö\\\" a.md\\n\\ttrue\"\n",
        "contract: |\n  test -s a.md\n\n  sort -c ä.md\n",
        "contract: |-\r\n    a\r\n      b\r\n",
        "contract: >-\n  ä folded\n  line\n",
        "contract: \"over\n  lines ✅\"\n",
        "contract: \"\\x41\\u00e9\"\n",
        "contract: \"\\ud83d\\ude00\"\n",
        "contract: |2\n    indented\n",
    ];
    for text in texts {
        let source = Source::new("plan.yaml", text);
        let (root, faults) = yaml::read(text, 0);
        assert_eq!(faults, [], "{text:?}");
        let root = root.expect("there is a map");
        let node = root.get("contract").expect("there is a contract");
        let command = excerpt::of(&source, node).expect("it is a scalar");
        assert_eq!(Some(command.value.as_str()), node.text().map(|text| text.trim_end_matches('\n')));
        for (at, character) in command.value.char_indices() {
            let place = command.locate(Span::new(at, at + character.len_utf8()));
            assert!(node.span.covers(place), "{text:?}: {place:?}");
            let said = source.slice(place);
            let is_exact = character.is_ascii_alphanumeric() && !text.contains(['>', '✅', 'x']);
            assert!(!is_exact || said.starts_with(character), "{text:?}: {said:?} for {character:?}");
        }
    }
}

#[test]
fn the_end_of_a_long_output_is_kept_and_what_was_cut_is_said() {
    let short = "x".repeat(patch::OUTPUT_BYTES_MAX);
    assert_eq!(patch::capped(&short), short);
    let long = format!("ä{}end", "✅".repeat(5000));
    let capped = patch::capped(&long);
    assert!(capped.starts_with("[4766 bytes cut]\n✅") && capped.ends_with("end"), "{capped:.40}");
    assert!(capped.len() <= patch::OUTPUT_BYTES_MAX + 32);
}
