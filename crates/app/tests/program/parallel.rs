//! Steps that are under way at once, each in a tree of its own: they land in order, on what landed before, and only if their
//! contract passes there.

use crate::follow::FILE;
use crate::sample::{Sketch, runnable};
use crate::test_env::Place;

/// Waits until the other side is there, too: two of these end only if both are under way at once.
const MEETS: &str = "touch \"$HOME/OWN\"; for _ in $(seq 1000); do [ -e \"$HOME/OTHER\" ] && break; sleep 0.01; done; [ -e \"$HOME/OTHER\" ]; pwd >OWN.out";

impl Place {
    /// A repository with this plan, committed.
    pub(crate) fn repository(steps: &[Sketch<'_>]) -> Self {
        let place = Self::empty();
        place.write(FILE, runnable(steps));
        place.commit("first");
        place
    }

    /// Commits everything, as somebody would.
    #[track_caller]
    pub(crate) fn commit(&self, message: &str) {
        let script = format!(
            "git init -q -b main . 2>/dev/null; git config user.name Ada; git config user.email ada@example.org; \
             git add -A && git commit -qm '{message}'"
        );
        self.bash(&script).expect(0, &[]);
    }

    /// What a script in the project prints.
    #[track_caller]
    pub(crate) fn printed(&self, script: &str) -> String {
        self.bash(script).expect(0, &[]).stdout.trim().to_owned()
    }
}

/// The hidden reference of the newest run with this name.
fn kept(place: &Place, name: &str) -> String {
    place.printed(&format!(
        "git for-each-ref --format='%(refname)' refs/planwright | grep '/{name}$' | tail -1"
    ))
}

pub(crate) fn meeting(own: &str, other: &str) -> String {
    MEETS.replace("OWN", own).replace("OTHER", other)
}

// A-48, P-12, P-23: two steps at once, each in a tree that is not the workspace; both land, one commit a step.
#[test]
fn steps_at_once_work_in_trees_and_land_in_order() {
    let (left, right) = (meeting("left", "right"), meeting("right", "left"));
    let place = Place::repository(&[
        ("left", "**needs:** none\n**touches:**\n- left.out", &left, "test -s left.out"),
        ("right", "**needs:** none\n**touches:**\n- right.out", &right, "test -s right.out"),
        ("both", "**needs:** left, right", "cat left.out right.out >both.out", "test $(wc -l <both.out) = 2"),
    ]);
    place.run(&["run", "it", "--jobs", "2", "--rev", &place.digest()]).expect(0, &["3 of 3 steps passed"]);
    let project = place.project().display().to_string();
    let both = place.read("both.out");
    let mut folders: Vec<&str> = both.lines().collect();
    assert!(folders.iter().all(|folder| *folder != project && !folder.is_empty()), "{both}");
    folders.dedup();
    assert_eq!(folders.len(), 2, "each has a tree of its own: {both}");
    // They are gone, and nothing of the user's moved but the files.
    assert_eq!(place.printed(&format!("ls -d {} {} 2>/dev/null | wc -l", folders[0], folders[1])), "0");
    assert_eq!(place.printed("git log --oneline main | wc -l"), "1");
    assert_eq!(
        place.printed("git status --porcelain | grep -v plans/"),
        "?? both.out\n?? left.out\n?? right.out"
    );
    let head = kept(&place, "head");
    let subjects = place.printed(&format!("git log --format=%s {head}"));
    let subjects: Vec<&str> = subjects.lines().collect();
    assert_eq!((subjects.len(), subjects[0], subjects[3]), (4, "Do both", "first"));
    assert_eq!(place.printed(&format!("git log -1 --format=%an {head}")), "Ada");
    // The twin: one at a time, the first would wait for the second in vain.
    let place = Place::repository(&[
        ("left", "**needs:** none\n**touches:**\n- left.out", &left, "test -s left.out"),
        ("right", "**needs:** none\n**touches:**\n- right.out", &right, "test -s right.out"),
    ]);
    place.run(&["run", "it", "--rev", &place.digest()]).expect(3, &["left needs you"]);
}

// S7: what an agent does to the git folder of its tree reaches nobody: not the repository, not the harness, not what is judged.
#[test]
fn an_agent_in_a_tree_can_not_attack_the_repository() {
    let attack = "git config core.fsmonitor \"touch $HOME/sprung\"; git config filter.x.clean \"touch $HOME/sprung; cat\"; \
                  echo '* filter=x' >.gitattributes; mkdir -p .git/hooks; printf '#!/bin/sh\\ntouch $HOME/sprung\\n' \
                  >.git/hooks/reference-transaction; chmod +x .git/hooks/*; git update-ref refs/heads/main HEAD^ 2>/dev/null || true; \
                  rm -rf .git/objects; mkdir sub; git init -q sub; echo x >sub/x; echo done >a.out";
    let place = Place::repository(&[
        (
            "a",
            "**needs:** none\n**touches:**\n- .gitattributes\n- a.out\n- sub/**",
            attack,
            "test -s a.out && test -s sub/x",
        ),
        ("b", "**needs:** a", "rm -rf .git; echo done >b.out", "test -s b.out"),
    ]);
    let before = place.printed("git rev-parse main; cat .git/config; ls .git/hooks 2>/dev/null | wc -l");
    place.run(&["run", "it", "--jobs", "2", "--rev", &place.digest()]).expect(0, &["2 of 2 steps passed"]);
    assert_eq!(
        place.printed("git rev-parse main; cat .git/config; ls .git/hooks 2>/dev/null | wc -l"),
        before
    );
    assert_eq!(place.printed("test -e $HOME/sprung && echo sprung || echo no"), "no");
    assert_eq!(place.printed("git fsck 2>&1 | grep -c -E 'missing|corrupt|error' || true"), "0");
    assert!(place.has("sub/x") && !place.has("sub/.git") && place.has("b.out"));
}

// P-13, D-08: a step that changes what another one changed meanwhile is judged on both: it can't land, and is done again on that.
#[test]
fn a_step_that_strays_into_another_is_done_again_on_what_landed() {
    let stray = |own: &str, other: &str| format!("{}; echo {own} >>shared", meeting(own, other));
    let (left, right) = (stray("left", "right"), stray("right", "left"));
    let place = Place::repository(&[
        (
            "left",
            "**needs:** none\n**touches:**\n- left.out\n**on_fail:** retry(2)",
            &left,
            "grep -q left shared",
        ),
        (
            "right",
            "**needs:** none\n**touches:**\n- right.out\n**on_fail:** retry(2)",
            &right,
            "grep -q right shared",
        ),
    ]);
    place.write("shared", "first\n");
    place.commit("shared");
    place.run(&["run", "it", "--jobs", "2", "--rev", &place.digest()]).expect(0, &["2 of 2 steps passed"]);
    let shared = place.read("shared");
    let mut lines: Vec<&str> = shared.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["first", "left", "right"], "both are there, once");
    let said = place.run(&["log", "it", "--json"]).stdout;
    assert!(said.contains("its changes conflict with changes made meanwhile: shared"), "{said}");
}

// What somebody wrote into the workspace while a step worked on the same file is not written over.
#[test]
fn what_a_person_edits_meanwhile_is_not_lost() {
    let place = Place::repository(&[
        (
            "a",
            "**needs:** none\n**touches:**\n- shared",
            "echo agent >shared; echo mine >\"$WORKSPACE/shared\"",
            "grep -q agent shared",
        ),
        ("b", "**needs:** none\n**touches:**\n- b.out", "touch b.out", "test -e b.out"),
    ]);
    let workspace = place.project().display().to_string();
    place.write(FILE, place.read(FILE).replace("$WORKSPACE", &workspace));
    place.write("shared", "first\n");
    place.commit("shared");
    place.run(&["run", "it", "--jobs", "2", "--rev", &place.digest()]).expect(3, &["a needs you", "shared"]);
    assert_eq!(place.read("shared"), "mine\n");
    assert!(place.has("b.out"), "the other one landed");
    let agents = kept(&place, "a/1");
    assert_eq!(place.printed(&format!("git show {agents}:shared")), "agent", "and the work is kept");
}

// P-23: the work goes back to before a step; it and what came after it are to be done again.
#[test]
fn a_rollback_takes_the_work_back_to_before_a_step() {
    for jobs in ["1", "2"] {
        let place = Place::repository(&[
            ("a", "**needs:** none\n**touches:**\n- a.out", "echo once >>a.out", "test -s a.out"),
            ("b", "**needs:** a\n**touches:**\n- b.out", "echo once >>b.out", "test -s b.out"),
            ("c", "**needs:** b\n**touches:**\n- c.out", "echo once >>c.out", "test -s c.out"),
            (
                "d",
                "**needs:** c\n**touches:**\n- d.out",
                "test -e \"$HOME/go\" && touch d.out",
                "test -e d.out",
            ),
        ]);
        place.run(&["run", "it", "--jobs", jobs, "--rev", &place.digest()]).expect(3, &["d needs you"]);
        place.write("b.out", "edited\n");
        place.run(&["rollback", "it", "d"]).expect(1, &["no checkpoint for step `d`"]);
        place.run(&["rollback", "it", "9"]).expect(2, &["no step `9`"]);
        place
            .run(&["rollback", "it", "2"])
            .expect(0, &["runs again: b, c", "removed: b.out", "removed: c.out"]);
        assert!(place.has("a.out") && !place.has("b.out") && !place.has("c.out"));
        let before =
            place.printed("git for-each-ref --format='%(refname)' refs/planwright | grep before-rollback");
        assert_eq!(place.printed(&format!("git show {before}:b.out")), "edited", "what lay there is kept");
        assert!(
            !place.read(FILE).contains("✅ Do b") && place.read(FILE).contains("✅ Do a"),
            "the marks follow"
        );
        place.printed("touch $HOME/go");
        place.run(&["answer", "it/d", "--retry"]).expect(0, &[]);
        place.run(&["run", "it", "--jobs", jobs]).expect(0, &["4 of 4 steps passed"]);
        assert_eq!((place.read("a.out"), place.read("b.out")), ("once\n".to_owned(), "once\n".to_owned()));
        assert_eq!(
            place.count("b contract.finished 1 passed") + place.count("b contract.finished 2 passed"),
            2
        );
        place.run(&["audit", "it"]).expect(0, &[]);
    }
}

// M-13: several agents at one step; the contract picks, and what the others did stays as evidence.
#[test]
fn a_tournament_is_won_by_the_smallest_work_that_passes() {
    // Each of them takes the next number, by making a folder that only one can make.
    let script = "for n in 1 2 3; do mkdir \"$HOME/entrant-$n\" 2>/dev/null && break; done; \
                  case $n in 1) echo wrong >out ;; 2) printf 'right\\n2\\n3\\n4\\n' >out ;; 3) echo right >out ;; esac";
    let place = Place::repository(&[
        ("a", "**needs:** none\n**touches:**\n- out", script, "grep -q right out"),
        ("b", "**needs:** none\n**touches:**\n- b.out", "touch b.out", "test -e b.out"),
    ]);
    place
        .run(&["run", "it", "--tournament", "3", "a", "--rev", &place.digest()])
        .expect(0, &["2 of 2 steps passed"]);
    assert_eq!(place.read("out"), "right\n");
    let works = place.printed(
        "for r in $(git for-each-ref --format='%(refname)' refs/planwright | grep '/a/1-'); do git show $r:out | head -1; done | sort",
    );
    assert_eq!(works, "right\nright\nwrong");
    let said = place.run(&["log", "it/a", "--output"]).said() + &place.run(&["log", "it", "--json"]).said();
    assert!(place.count("a attempt.started 1") == 1 && place.count("a attempt.started 2") == 0, "{said}");
    for words in [["1", "a"], ["17", "a"], ["x", "a"], ["3", "nobody"]] {
        place.run(&["run", "it", "--tournament", words[0], words[1]]).expect(2, &[]);
    }
    let bare = Place::with_plan(&[("a", "", "touch out", "test -e out")]);
    bare.run(&["run", "it", "--tournament", "2", "a", "--rev", &bare.digest()])
        .expect(1, &["is not in a git repository with a commit"]);
}

// Entrants work at the same attempt at once; what ends the processes of one must not find those of another.
#[test]
fn every_entrant_of_a_tournament_has_a_tag_of_its_own() {
    let script = "mkdir -p \"$HOME/tags\"; echo \"$PLANWRIGHT_TAG\" >\"$HOME/tags/$$\"; echo right >out";
    let place =
        Place::repository(&[("a", "**needs:** none\n**touches:**\n- out", script, "grep -q right out")]);
    place.run(&["run", "it", "--tournament", "3", "a", "--rev", &place.digest()]).expect(0, &["1 of 1 step"]);
    let tags = place.printed("cat $HOME/tags/* | sort");
    let mut tags: Vec<&str> = tags.lines().collect();
    assert!(tags.iter().all(|tag| tag.contains("/a/1/agent")), "all belong to the attempt: {tags:?}");
    tags.dedup();
    assert_eq!(tags.len(), 3, "{tags:?}");
}

// A tournament needs a contract that picks; nothing is asked or begun where a person confirms the step.
#[test]
fn a_tournament_of_a_step_without_a_contract_is_refused() {
    let place = Place::repository(&[("a", "**needs:** none", "touch out", "manual")]);
    place
        .run(&["run", "it", "--tournament", "2", "a", "--rev", &place.digest()])
        .expect(2, &["step `a` has no contract", "a person confirms this step"]);
    place.run(&["status", "it"]).expect(0, &["plans/it.md has not been run"]);
}

// a project that wants all its steps in one folder gets that.
#[test]
fn steps_can_work_in_the_workspace_all_the_same() {
    let (left, right) = (meeting("left", "right"), meeting("right", "left"));
    let place = Place::repository(&[
        ("left", "**needs:** none\n**touches:**\n- left.out", &left, "test -s left.out"),
        ("right", "**needs:** none\n**touches:**\n- right.out", &right, "test -s right.out"),
    ]);
    let words = ["run", "it", "--jobs", "2", "--config", "run.tree_per_step=never", "--rev", &place.digest()];
    place.run(&words).expect(0, &["2 of 2 steps passed"]);
    let project = place.project().display().to_string();
    assert_eq!(
        (place.read("left.out").trim(), place.read("right.out").trim()),
        (project.as_str(), project.as_str())
    );
}

// a plan whose workspace is taken gives way to the owner, or waits for it.
#[test]
fn a_second_plan_waits_for_the_workspace() {
    let place = Place::with_plan(&[(
        "a",
        "",
        "echo $$ >agent; until [ -e go ]; do sleep 0.01; done; echo first >>order",
        "test -s order",
    )]);
    place.write("plans/other.md", runnable(&[("b", "", "echo second >>order", "test -s order")]));
    let mut first = place.start(&[]);
    place.wait_for_file("agent");
    let digest = place.printed(
        "planwright run other --dry-run --json | grep -o '\"digest\":\"[0-9a-f]*' | head -1 | cut -d'\"' -f4",
    );
    place.run(&["run", "other", "--rev", &digest]).expect(4, &["it"]);
    assert!(!place.run(&["log", "other"]).said().contains("run 1"), "nothing was recorded of it");
    let mut second = place.start_into(&["run", "other", "--rev", &digest, "--wait"], "said");
    crate::follow::wait_until("it says that it waits", || {
        place.read("said").contains("other is blocked by it")
    });
    place.write("go", "");
    assert_eq!((first.end(), second.end()), (0, 0), "{}", place.read("said"));
    assert_eq!(place.read("order"), "first\nsecond\n");
}

// C-28, A-44: a plan that is running in its worktree is shown, answered and gone on with from anywhere, and begun nowhere else.
#[test]
fn a_plan_has_one_run_at_a_time_wherever_it_is() {
    let place = Place::repository(&[("a", "", "test -e \"$HOME/go\" && touch a.out", "test -e a.out")]);
    let digest = place.digest();
    place
        .run(&["run", "it", "--worktree", "--jobs", "2"])
        .expect(3, &[&format!("planwright run it --jobs 2 --worktree --rev {}", &digest[..8])]);
    place.run(&["run", "it", "--worktree", "--rev", &digest]).expect(3, &["a needs you", "worktree  "]);
    place.run(&["status", "it"]).expect(0, &["Needs you", "it/a"]);
    place.run(&["status", "--inbox"]).expect(0, &["it/a"]);
    place.run(&["answer", "it/a", "--retry"]).expect(0, &[]);
    place
        .run(&["run", "it", "--rev", &digest])
        .expect(4, &["is running in ", "planwright run plans/it.md --worktree"]);
    place.run(&["status", "it"]).expect(0, &["0 of 1 step done"]);
    place.printed("touch $HOME/go");
    place.run(&["run", "it", "--worktree"]).expect(0, &["1 of 1 step passed"]);
    assert!(!place.has("a.out"), "nothing was done here");
    place.run(&["rollback", "it", "a"]).expect(1, &["cannot roll back it: its run has finished"]);
    place.run(&["merge"]).expect(0, &["merged  it"]);
    place.run(&["worktree", "remove", "it"]).expect(0, &[]);
    place.run(&["log", "it"]).expect(0, &["done"]);
    place.run(&["doctor"]).expect(0, &[]);
}

// A run in a worktree is resumed there: the same command without the option would start in the workspace.
#[test]
fn the_next_command_of_a_worktree_run_names_the_worktree() {
    let place = Place::repository(&[
        ("a", "", "touch a.out", "test -e a.out"),
        ("b", "", "touch b.out", "test -e b.out"),
    ]);
    let ran = place.run(&["run", "it", "--worktree", "--until", "a", "--rev", &place.digest()]);
    ran.expect(0, &["reached  it   1 of 2 steps passed", "next: planwright run it --worktree"]);
    place.run(&["run", "it", "--worktree"]).expect(0, &["2 of 2 steps passed", "next: planwright merge it"]);
}

// Steps may be called like what the harness calls its own.
#[test]
fn no_name_of_a_step_is_in_the_way() {
    let touch = |own: &str| format!("**needs:** none\n**touches:**\n- {own}.out");
    let names = ["first", "head", "synced", "apart"];
    let fields: Vec<String> = names.iter().map(|name| touch(name)).collect();
    let scripts: Vec<(String, String)> =
        names.iter().map(|name| (format!("touch {name}.out"), format!("test -e {name}.out"))).collect();
    let steps: Vec<Sketch<'_>> = (0..4)
        .map(|place| {
            (names[place], fields[place].as_str(), scripts[place].0.as_str(), scripts[place].1.as_str())
        })
        .collect();
    let place = Place::repository(&steps);
    place.run(&["run", "it", "--jobs", "2", "--rev", &place.digest()]).expect(0, &["4 of 4 steps passed"]);
}

// P-23: a rollback that can't put every file back puts none back, and says what is in the way.
#[test]
fn a_rollback_that_something_is_in_the_way_of_changes_nothing() {
    let place = Place::repository(&[
        ("a", "", "rm cfg; echo cfg >.gitignore", "test ! -e cfg"),
        ("b", "", "true", "test -e b.out"),
    ]);
    place.write("cfg", "committed\n");
    place.commit("cfg");
    place.approve_and_run().expect(3, &["b needs you"]);
    place.write("cfg", "mine\n");
    place.run(&["rollback", "it", "a"]).expect(1, &["cfg", "nothing was restored"]);
    assert_eq!((place.read("cfg").as_str(), place.read(".gitignore").as_str()), ("mine\n", "cfg\n"));
    assert!(place.read(FILE).contains("✅ Do a"), "the step is still done");
}

/// A `git` that does something when files are about to be laid out for this workspace, before it answers.
fn when_laid_out(place: &Place, script: &str) {
    let folder = place.project().display().to_string();
    let script = format!(
        "#!/bin/sh\nfor real in /usr/bin/git /bin/git /usr/local/bin/git; do [ -x \"$real\" ] && break; done\n\
         case \"$*\" in *checkout-index*{folder}/.git/*) cd '{folder}'; [ -e ../met ] || {{ touch ../met; {script}; }};; esac\n\
         exec \"$real\" \"$@\"\n"
    );
    place.replace_tool("git", &script);
}

/// A plan whose first step changes two files, and a person who is asked about the second.
fn two_files() -> Place {
    let place = Place::repository(&[
        (
            "one",
            "**needs:** none\n**touches:**\n- a.txt\n- z.txt\n**on_fail:** retry(2)",
            "echo line >>a.txt; echo agent >>z.txt",
            "grep -q agent z.txt",
        ),
        ("two", "**needs:** one", "true", "test -e never"),
    ]);
    place.write("a.txt", "begin\n").write("z.txt", "begin\n");
    place.commit("files");
    place
}

// P-12: what somebody edits while work lands stops it, and nothing of the attempt stays: the next one begins with the edit alone.
#[test]
fn an_edit_that_comes_while_work_lands_leaves_nothing_of_it() {
    let place = two_files();
    when_laid_out(&place, "echo person >>z.txt");
    place.run(&["run", "it", "--jobs", "2", "--rev", &place.digest()]).expect(3, &["two needs you"]);
    assert!(place.has("../met"), "somebody edited it");
    let said = place.run(&["log", "it", "--json"]).stdout;
    assert!(said.contains("the workspace has conflicting changes: z.txt"), "{said}");
    assert_eq!(place.read("a.txt"), "begin\nline\n", "once");
    assert_eq!(place.read("z.txt"), "begin\nperson\nagent\n");
}

// P-12: whoever dies while work is laid out leaves half of it, which the next driver takes for nobody's work.
#[test]
fn half_of_a_landing_is_taken_back_after_a_crash() {
    let place = two_files();
    when_laid_out(&place, "kill -9 $PPID; exit 1");
    let killed = place.run(&["run", "it", "--jobs", "2", "--rev", &place.digest()]);
    assert_ne!(killed.code, 3, "{killed:#?}");
    // It died before the first file; this is what one that dies after it leaves.
    place.write("a.txt", "begin\nline\n");
    place.run(&["run", "it", "--jobs", "2"]).expect(3, &["two needs you"]);
    assert_eq!(
        (place.read("a.txt").as_str(), place.read("z.txt").as_str()),
        ("begin\nline\n", "begin\nagent\n")
    );
    place.run(&["rollback", "it", "one"]).expect(0, &["restored: a.txt"]);
    assert_eq!((place.read("a.txt").as_str(), place.read("z.txt").as_str()), ("begin\n", "begin\n"));
    assert_eq!(
        place.printed("find . -name '*planwright*' -not -path './plans/*' -type f | grep -v /lock$ || true"),
        ""
    );
}

// Submodules are empty in trees, and that is said.
#[test]
fn a_submodule_that_is_empty_in_trees_is_named() {
    let place = Place::repository(&[(
        "a",
        "**touches:**\n- a.out",
        "ls vendor/lib >a.out; touch a.out",
        "test -e a.out",
    )]);
    place.printed(
        "git init -q ../lib; cd ../lib; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m lib; cd -; \
         git -c protocol.file.allow=always submodule -q add ../lib vendor/lib; git commit -qm lib",
    );
    let warning = "vendor/lib is a submodule and is empty in a worktree";
    place.run(&["worktree", "add", "it"]).expect(0, &[warning]);
    place.run(&["run", "it", "--jobs", "2", "--rev", &place.digest()]).expect(0, &[warning]);
}

// A tree has a copy of its own of its plan: whoever approves another text hears where it is.
#[test]
fn a_plan_that_was_edited_beside_its_tree_is_told_apart() {
    let place = Place::repository(&[("a", "", "touch a.out", "test -e a.out")]);
    let old = place.digest();
    place.run(&["worktree", "add", "it"]).expect(0, &[]);
    place.write(FILE, place.read(FILE).replace("touch a.out", "touch a.out; true"));
    let new = place.digest();
    assert_ne!(old, new);
    let copy = place.printed("planwright worktree path it");
    place.run(&["run", "it", "--worktree", "--rev", &new]).expect(
        4,
        &[
            "the worktree's copy of plans/it.md is different",
            &format!("cp -rT plans/it.md {copy}/plans/it.md"),
        ],
    );
    place.run(&["run", "it", "--worktree"]).expect(3, &["the worktree's copy of plans/it.md is different"]);
    place.printed(&format!("cp -rT plans/it.md {copy}/plans/it.md"));
    place.run(&["run", "it", "--worktree", "--rev", &new]).expect(0, &["1 of 1 step passed"]);
}
