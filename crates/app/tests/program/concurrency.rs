//! Many at once: thousands of plans in one project, and many processes on one plan.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::sample::sound;
use crate::test_env::Place;

#[test]
fn thousands_of_plans_are_listed_in_order_and_ignored_ones_are_left_out() {
    let place = Place::empty();
    let text = sound("One of many", 1);
    for number in 0..2000 {
        place.write(&format!("area-{}/plan-{number:04}.md", number % 7), &text);
    }
    for number in 0..20 {
        place
            .write(&format!("build/out-{number}.md"), &text)
            .write(&format!("plans/draft-{number}.md"), &text);
    }
    place.write("plans/kept.md", &text).write("README.md", "# No plan\n");
    place.write(".gitignore", "build/\n").write("plans/.gitignore", "draft-*\n");
    let ran = place.run(&["list"]);
    let rows: Vec<&str> = ran.expect(0, &[]).stdout.lines().collect();
    assert_eq!(rows.len(), 2001);
    let paths: Vec<&str> = rows.iter().filter_map(|row| row.split_whitespace().last()).collect();
    assert!(paths.is_sorted() && paths.ends_with(&["plans/kept.md"]), "{:?}", &paths[..10]);
    let envelope: Value = serde_json::from_str(&place.run(&["list", "--json"]).stdout).expect("an envelope");
    let listed = envelope["data"]["plans"].as_array().expect("plans");
    assert_eq!(listed.iter().map(|plan| plan["path"].as_str().expect("text")).collect::<Vec<_>>(), paths);
    place.run(&["list", "--find", "plan-1999"]).expect(0, &["plan-1999", "area-4/plan-1999.md"]);
}

// D-02, C-08, P-01: 64 processes at once. A write goes through only if the plan still is what was read; exit code 4 says that it is not.
#[test]
fn of_many_writers_none_loses_a_note_and_none_writes_twice() {
    const WRITERS: usize = 64;
    const NOTES: usize = 1;
    let place = Place::empty();
    let old = sound("Everybody's plan", 2);
    place.write("plan.md", &old);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let place = &place;
            scope.spawn(move || {
                for number in 0..NOTES {
                    let note = format!("note {number} of writer {writer}");
                    let mut code = 4;
                    while code == 4 {
                        let ran = place.run(&["edit", "plan.md", "--note", &note]);
                        assert!([0, 4].contains(&ran.code), "{ran:#?}");
                        code = ran.code;
                    }
                }
            });
        }
    });
    let new = place.read("plan.md");
    assert!(new.starts_with(&old), "nothing else was changed: {new}");
    let mut notes: BTreeMap<&str, usize> = BTreeMap::new();
    for line in new.lines().filter(|line| line.contains("note ")) {
        *notes.entry(line).or_default() += 1;
    }
    assert_eq!((notes.len(), notes.values().max()), (WRITERS * NOTES, Some(&1)), "{new}");
}

/// Opening a pipe waits for the other end: the second writer comes exactly between the first one's reading and writing.
#[test]
fn what_somebody_else_changed_is_not_written_over_by_an_edit() {
    let place = Place::empty();
    let plan = sound("Theirs", 1).replace("### 1.", "### 1\u{2013}N.");
    place.write("plan.md", &plan);
    let script = "mkfifo items; (exec 3>items; echo '<!-- theirs -->' >>plan.md; echo one >&3) &
        planwright edit plan.md --expand s1=items";
    place
        .bash(script)
        .expect(4, &["plan.md was changed by something other than planwright", "nothing was written"]);
    assert_eq!(place.read("plan.md"), format!("{plan}<!-- theirs -->\n"));
}

/// The checker asks bash about the contracts after it has read the plan: this bash changes the plan meanwhile.
#[test]
fn what_somebody_else_changed_is_not_written_over_by_a_repair() {
    let place = Place::empty();
    let plan = sound("Theirs", 2).replace("### 2.", "### 3.");
    place.write("plan.md", &plan);
    let file = place.path("plan.md");
    let script = format!("#!/bin/sh\necho '<!-- theirs -->' >>'{}'\nexec /bin/bash \"$@\"\n", file.display());
    place.replace_tool("bash", &script);
    place
        .run(&["verify", "--fix", "plan.md"])
        .expect(4, &["plan.md was changed by something other than planwright", "nothing was written"]);
    assert_eq!(place.read("plan.md"), format!("{plan}<!-- theirs -->\n"));
}
