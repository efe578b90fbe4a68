//! `merge-driver` as Git calls it: two branches of a real repository are merged.

use crate::sample::sound;
use crate::test_env::Place;

const AUTHOR: &str =
    "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n";

/// A repository with a plan and a progress file, and the driver installed.
fn repository() -> Place {
    let place = Place::empty();
    place.write("plans/good.md", sound("A good plan", 3)).write(".harness/progress.md", "# Progress\n");
    let script =
        "git init --quiet -b main . && planwright init --merge-driver && git add -A && git commit -qm base";
    place.bash(&format!("{AUTHOR}{script}")).expect(0, &[".gitattributes", "git config merge.planwright"]);
    place
}

/// Marks a step as the harness does.
fn mark(step: usize, glyph: &str) -> String {
    format!("p=$(<plans/good.md) && printf '%s\\n' \"${{p/ {step}. / {step}. {glyph} }}\" > plans/good.md")
}

/// Does one thing on each of two branches and merges them.
fn merged(place: &Place, ours: &str, theirs: &str) -> crate::test_env::Ran {
    place.bash(&format!(
        "{AUTHOR}git checkout -qb theirs && {theirs} && git commit -qam theirs && git checkout -q main && {ours} \
         && git commit -qam ours && git merge --no-edit theirs"
    ))
}

// P-05: branches that would conflict line by line are merged by what they say.
#[test]
fn marks_and_notes_of_two_branches_are_merged() {
    let place = repository();
    let said = |glyph: &str, step: usize, note: &str, line: &str| {
        let mark = mark(step, glyph);
        format!("{mark} && planwright edit good --note {note} && echo '{line}' >> .harness/progress.md")
    };
    let ours = said("✅", 1, "ours", "- 2026-11-16 two");
    let theirs = said("❌", 2, "theirs", "- 2026-11-15 one");
    merged(&place, &ours, &theirs).expect(0, &[]);
    let plan = place.read("plans/good.md");
    for said in ["- ours", "- theirs", "✅", "❌"] {
        assert!(plan.contains(said), "{said}:\n{plan}");
    }
    assert_eq!(place.read(".harness/progress.md"), "# Progress\n- 2026-11-15 one\n- 2026-11-16 two\n");
}

// P-05: a true conflict is shown with both texts, and Git knows of it.
#[test]
fn a_true_conflict_shows_both_texts_and_git_reports_it() {
    let place = repository();
    let ran = merged(&place, &mark(1, "✅"), &mark(1, "❌"));
    ran.expect(1, &["CONFLICT", "plans/good.md", "both sides changed 1 place"]);
    let plan = place.read("plans/good.md");
    assert!(plan.contains("<<<<<<< ours\n") && plan.contains("✅") && plan.contains("❌"), "{plan}");
    place.bash("git ls-files --unmerged").expect(0, &["plans/good.md"]);
}

// P-02: two branches make a plan with one name, or a step each.
#[test]
fn a_file_that_is_no_text_and_a_plan_without_a_base_lose_nothing() {
    let place = repository();
    place.write("plans/raw.md", b"one\n\xff\n");
    place.bash(&format!("{AUTHOR}git add -A && git commit -qm raw")).expect(0, &[]);
    let ran = merged(
        &place,
        "printf 'ours\\n\\377\\n' > plans/raw.md && planwright new fresh && git add -A",
        "printf 'theirs\\n\\377\\n' > plans/raw.md && planwright new fresh && planwright edit fresh --note x && git add -A",
    );
    ran.expect(1, &["CONFLICT"]);
    let raw = String::from_utf8_lossy(&place.bytes("plans/raw.md")).into_owned();
    assert!(raw.contains("ours") && raw.contains("theirs"), "{raw}");
    let fresh = place.read("plans/fresh.md");
    assert!(fresh.contains("- x") && !fresh.contains("<<<<"), "{fresh}");
    let unmerged = place.bash("git ls-files --unmerged").said();
    assert!(unmerged.contains("raw.md") && !unmerged.contains("fresh.md"), "{unmerged}");
}

#[test]
fn the_driver_is_installed_once_and_needs_a_repository() {
    let place = repository();
    let before = place.read(".gitattributes");
    place
        .run(&["init", "--merge-driver"])
        .expect(0, &["kept", ".gitattributes", "git config merge.planwright"]);
    assert_eq!(place.read(".gitattributes"), before);
    let script = "mkdir ../alone && cd ../alone && planwright init --merge-driver";
    place.bash(script).expect(1, &["is not in a git repository", "next: git init"]);
}

// whatever the environment says about git, the settings go to the repository of the project, and no program of the project's
// is started for it.
#[test]
fn the_driver_is_set_in_the_repository_of_the_project_and_nowhere_else() {
    let place = Place::empty();
    place
        .bash("rm -r .git && git init --quiet -b main . && git init --quiet -b main ../other")
        .expect(0, &[]);
    place.write("tools/git", "#!/bin/sh\necho \"$@\" >>\"$HOME/fooled\"\n");
    place.bash("chmod +x tools/git").expect(0, &[]);
    let before = place.read("../other/.git/config");
    let mut command = place.planwright(&["init", "--merge-driver"]);
    let bin = place.project().with_file_name("bin");
    let path = format!("{}:tools:{}", place.path("tools").display(), bin.display());
    command.env("PATH", path).env("GIT_DIR", place.path("../other/.git"));
    command.env("GIT_CONFIG", place.path("../other/.git/config"));
    crate::test_env::run(&mut command, b"").expect(0, &["git config merge.planwright"]);
    assert!(place.read(".git/config").contains("planwright merge-driver"), "{}", place.read(".git/config"));
    assert_eq!(place.read("../other/.git/config"), before);
    assert_eq!(place.bash("cat \"$HOME/fooled\" 2>/dev/null || true").stdout, "");
}
