//! The folders of each crate: `lib.rs` lists them bottom up, and every import goes down. So the folder graph has no cycle,
//! and the list tells a reader what a folder can depend on.

use std::collections::BTreeSet;

use crate::import::Crate;
use crate::tree::{Fault, File, assert_caught, assert_none, repository};

const CRATES: [&str; 3] = ["core", "engine", "app"];

/// Each place where a folder names one that `lib.rs` lists below it, or something that `lib.rs` itself defines.
fn upward<'a>(files: impl IntoIterator<Item = &'a File>, name: &str) -> Vec<Fault> {
    let read = Crate::read(files, name);
    let place = |folder: &str| read.declared.iter().position(|declared| declared == folder);
    // Once per line: the import counts, and uses of the imported name in the same file don't count again.
    let mut said = BTreeSet::new();
    let mut faults = Vec::new();
    for mention in read.mentions() {
        let Some(own) = mention.from.first() else { continue };
        let why = match mention.to.first() {
            None => format!("`{}` is defined in lib.rs, above every folder", mention.path),
            Some(other) if place(own) < place(other) => {
                format!(
                    "folder `{own}` must not import from `{other}`, listed after it in lib.rs: `{}`",
                    mention.path
                )
            }
            Some(_) => continue,
        };
        let target = mention.to.first().cloned();
        let is_by_name = !["crate", "self", "super"].iter().any(|head| mention.path.starts_with(head));
        let is_new = said.insert((mention.file.clone(), target.clone(), 0));
        if said.insert((mention.file.clone(), target, mention.line)) && (is_new || !is_by_name) {
            faults.push(Fault::new(&mention.file, mention.line, why));
        }
    }
    faults
}

/// Folders that `lib.rs` doesn't list: they have no place in the order, so no import of theirs could be wrong.
fn unlisted(files: &[File], name: &str) -> Vec<Fault> {
    let root = format!("crates/{name}/src/");
    let declared =
        Crate::read(files.iter().filter(|file| file.path == format!("{root}lib.rs")), name).declared;
    let sources = files.iter().filter_map(|file| Some((file, file.path.strip_prefix(&root)?)));
    let outside = sources.filter(|(_, inside)| {
        let top = inside.split('/').next().unwrap_or_default().trim_end_matches(".rs");
        !["lib", "main", "bin"].contains(&top) && !declared.iter().any(|folder| folder == top)
    });
    outside.map(|(file, _)| Fault::new(&file.path, 1, "its folder is not in lib.rs")).collect()
}

#[test]
fn every_import_goes_down() {
    let files = repository();
    let faults: Vec<Fault> = CRATES.into_iter().flat_map(|name| upward(&files, name)).collect();
    assert_none(&faults);
}

#[test]
fn every_folder_is_listed() {
    let files = repository();
    let faults: Vec<Fault> = CRATES.into_iter().flat_map(|name| unlisted(&files, name)).collect();
    assert_none(&faults);
}

/// A crate with the folders `low`, `middle` and `high`, and `text` in `low/part.rs`.
fn with(text: &str) -> Vec<File> {
    vec![
        File::new(
            "crates/core/src/lib.rs",
            "pub mod low;\npub mod middle;\npub mod high;\npub use high::Top;\n",
        ),
        File::new("crates/core/src/low.rs", "pub mod part;\npub use crate::low::part::Own;\n"),
        File::new("crates/core/src/low/part.rs", text),
        File::new("crates/core/src/middle.rs", "pub use crate::low::Own as Shown;\n"),
        File::new("crates/core/src/high.rs", "use crate::middle::Shown;\npub struct Top;\npub mod r#use;\n"),
        File::new("crates/core/src/high/use.rs", "use super::Top;\nuse crate::low;\n"),
    ]
}

#[test]
fn an_import_that_goes_up_is_caught() {
    let caught = |text: &str, line: usize| {
        let expected =
            format!("crates/core/src/low/part.rs:{line}: folder `low` must not import from `high`");
        assert_caught(&upward(&with(text), "core"), &expected);
    };
    // Plain, in a tree, in a tree of trees, over several lines, with a visibility, raw.
    caught("//! Part.\nuse crate::high::Top;", 2);
    caught("use crate::{low::Own, high::Top};", 1);
    caught("use crate::{\n    low::{self, Own},\n    high::{Top as Bottom},\n};", 3);
    caught("pub(in crate::low) use crate::high::Top;", 1);
    caught("use crate::high::r#use;", 1);
    // By a path in code, in a type, behind a range, in a macro.
    caught("fn a() {\n    crate::high::make()\n}", 2);
    caught("fn a(b: &'static mut crate :: high :: Top) {}", 1);
    caught("fn a() { b(..crate::high::LIMIT) }", 1);
    caught("macro_rules! a { () => { $crate::high::make() } }", 1);
    caught("fn a() {\n    use crate::high::make;\n    make()\n}", 2);
    // By `super` and `self`, from a file and from a module inside of it.
    caught("use super::super::high::Top;", 1);
    caught("use self::super::super::high::Top;", 1);
    caught("mod inner {\n    fn a() { super::super::super::high::make() }\n}", 2);
}

#[test]
fn an_import_that_goes_up_under_another_name_is_caught() {
    let caught = |text: &str, line: usize| {
        let expected =
            format!("crates/core/src/low/part.rs:{line}: folder `low` must not import from `high`");
        assert_caught(&upward(&with(text), "core"), &expected);
    };
    // An alias of the root or of a folder.
    caught("use crate as root;\nfn a() { root::high::make() }", 2);
    caught("use crate::{self as root};\nuse root::high::Top;", 2);
    caught("use super::super as root;\nfn a() { root::high::make() }", 2);
    // The root's own re-export hides the folder, by name and by glob.
    caught("use crate::Top;", 1);
    caught("fn a(b: crate::Top) {}", 1);
    caught("use crate::*;\nfn a(b: Top) {}", 2);
    caught("use crate::*;\nfn a() { high::make() }", 2);
    // A re-export from above counts where it is made, and so does every import of it.
    let mut files = with("pub use crate::high::Top;");
    files.push(File::new("crates/core/src/low/user.rs", "use super::part::Top;"));
    let lines: Vec<String> = upward(&files, "core").iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].starts_with("crates/core/src/low/part.rs:1: "), "{lines:#?}");
    assert!(lines[1].starts_with("crates/core/src/low/user.rs:1: "), "{lines:#?}");
    // One that leads down again counts as well: the name still comes from above.
    let mut files = with("use crate::high::Lent;");
    files[4].text.push_str("pub use crate::low::part::Own as Lent;\n");
    assert_caught(&upward(&files, "core"), "part.rs:1: folder `low` must not import from `high`");
}

#[test]
fn what_lib_rs_defines_is_out_of_reach_for_folders() {
    let mut files = with("use crate::LIMIT;");
    files[0].text.push_str("pub const LIMIT: usize = 1;\n");
    assert_caught(&upward(&files, "core"), "part.rs:1: `crate::LIMIT` is defined in lib.rs");
}

#[test]
fn the_order_of_lib_rs_decides() {
    let mut files = with("use crate::middle::Shown;");
    assert_caught(&upward(&files, "core"), "folder `low` must not import from `middle`");
    files[0].text = "pub mod middle;\npub mod low;\npub mod high;\n".to_owned();
    assert_caught(&upward(&files, "core"), "folder `middle` must not import from `low`");
}

#[test]
fn what_goes_down_or_is_not_an_import_is_left_alone() {
    let fine = "//! crate::high::Top\nuse std::{fmt, high};\nuse super::part::Own;\n\
        fn a(high: Own) -> impl Fn() + use<> { let b = \"crate::high\"; high.make(); self::high::make(); other::high::b() }\n\
        #[cfg(test)]\nmod tests {\n    use crate::high::Top;\n}\n#[cfg(test)]\nuse crate::high::Top;\n";
    let mut files = with(fine);
    files.push(File::new("crates/core/src/low/part/tests.rs", "use crate::high::Top;"));
    files.push(File::new("crates/core/src/main.rs", "use crate::high::Top;"));
    files.push(File::new("crates/engine/src/low.rs", "use crate::high::Top;"));
    assert_none(&upward(&files, "core"));
}

#[test]
fn a_folder_that_is_not_listed_is_caught() {
    let mut files = with("");
    assert_none(&unlisted(&files, "core"));
    files.push(File::new("crates/core/src/stray/part.rs", ""));
    assert_caught(&unlisted(&files, "core"), "crates/core/src/stray/part.rs:1");
}
