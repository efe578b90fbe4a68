//! Lists of signers: which lines are accepted, and the errors for the rest.

use std::path::Path;

use super::*;

const KEY: &str = include_str!("../../../../tests/signature/ed25519.pub");
const RSA: &str = include_str!("../../../../tests/signature/rsa.pub");
const P521: &str = include_str!("../../../../tests/signature/p521.pub");

fn read(text: &str) -> Result<Signers, Vec<ConfigFault>> {
    Signers::read(Path::new("/list"), text.replace("KEY", KEY.trim()).replace("RSA", RSA.trim()))
}

#[test]
fn lines_are_read_as_ssh_keygen_reads_them() {
    let text = "# ours\n\nada@example.com KEY ada's own\n  \"bo,carl\"   namespaces=\"planwright,git\" RSA\n\
        d*,!dora valid-after=20260101Z,valid-before=\"20270131143000Z\",NAMESPACES=\"plan*\" KEY\n";
    let signers = read(text).expect("a list");
    assert_eq!(signers.len(), 3);
    let line = &signers.lines[2];
    assert_eq!((line.after, line.before), (Some(1_767_225_600), Some(1_801_405_800)));
    assert_eq!(signers.lines[1].principals, "bo,carl");
}

#[test]
fn a_list_with_a_line_that_cannot_be_read_is_none_and_all_of_them_are_named() {
    let (kind, key) = KEY.trim().split_once(' ').expect("a kind and a key");
    let rows: &[(&str, &str)] = &[
        ("ada cert-authority KEY", "certificates are not supported"),
        ("ada CERT-AUTHORITY,namespaces=\"x\" KEY", "certificates are not supported"),
        ("ada", "missing key"),
        ("KEY", "neither an option"),
        ("ada ssh-ed25519", "missing key"),
        ("ada ssh-ed25519 AAAA", "invalid key"),
        ("ada ssh-ed25519 ####", "missing key"),
        ("ada ssh-rsa {key}", "the line names key type `ssh-rsa`"),
        ("ada {p521}", "unsupported key type `ecdsa-sha2-nistp521`"),
        ("ada no-touch-required KEY", "neither an option"),
        ("ada valid-before=20270131 KEY", "append Z"),
        ("ada valid-before=soon KEY", "invalid time"),
        ("ada valid-before=20271331Z KEY", "invalid time"),
        ("ada valid-before=20270230Z KEY", "invalid time"),
        ("ada valid-before=2027013114Z KEY", "invalid time"),
        ("ada valid-after= KEY", "depends on the local time zone"),
        ("ada namespaces=\"\" KEY", "is empty"),
        ("ada namespaces=\"a\",namespaces=\"planwright\" KEY", "duplicate option"),
        ("ada valid-after=20270101Z,valid-after=20260101Z KEY", "duplicate option"),
        ("\"ada KEY", "missing key"),
        ("\"\" KEY", "missing principals"),
    ];
    let text: Vec<&str> = rows.iter().map(|(line, _)| *line).collect();
    let text = text.join("\n").replace("{key}", key).replace("{p521}", P521.trim());
    let faults = read(&text).expect_err("no list");
    assert_eq!(faults.len(), rows.len(), "{faults:#?} {kind}");
    for (place, ((line, why), fault)) in rows.iter().zip(&faults).enumerate() {
        assert_eq!(fault.line, Some(place + 1), "{line}");
        assert!(fault.message.contains(why), "{line}: {}", fault.message);
    }
}

#[test]
fn whose_a_key_is_is_told_by_patterns() {
    let cases: &[(&str, &str, bool)] = &[
        ("ada", "ada", true),
        ("ada", "Ada", false),
        ("ada", "adam", false),
        ("bo,ada", "ada", true),
        ("*@example.com", "ada@example.com", true),
        ("*@example.com", "ada@example.com.evil.org", false),
        ("*", "anybody", true),
        ("*,!ada", "ada", false),
        ("!ada,*", "bo", true),
        ("!ada", "bo", false),
        ("?da", "ada", true),
        ("a*a*a", "ada", false),
        ("a*a", "ada", true),
        ("", "ada", false),
        ("ada", "", false),
        ("*a*b*c*", "xxaxxbxxcxx", true),
    ];
    for (list, name, expected) in cases {
        let signer = Signer { principals: vec![(*list).to_owned()], fingerprint: String::new() };
        assert_eq!(signer.speaks_for(name), *expected, "{list} {name}");
    }
}
