//! Trees of plans with real git: what a new one is given, which state each is in, and that nothing is reclaimed that would be lost.
#![expect(clippy::disallowed_methods, reason = "these tests lay out repositories and trees")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use planwright_core::workspace::worktree::{CreatedBy, PruneDecision, WorktreeState};
use planwright_engine::git::checkout::History;
use planwright_engine::git::repository::OwnedRefs;
use planwright_engine::git::worktree;
use planwright_engine::git::worktree::{AddOptions, Error, Setup, Worktrees};
use planwright_engine::store::worktree_registry;
use planwright_engine::store::worktree_registry::RegisteredWorktree;
use planwright_engine::workspace::project::Project;

use crate::repository::{self, Repository, lay_traps, plant};
use crate::scratch::Scratch;
use crate::sweep::is_whole;

fn shell(folder: &Path, words: &str) -> String {
    let who = ["AUTHOR", "COMMITTER"]
        .iter()
        .flat_map(|role| [(format!("GIT_{role}_NAME"), "a"), (format!("GIT_{role}_EMAIL"), "a@b")]);
    let ended =
        Command::new("bash").args(["-ec", words]).current_dir(folder).envs(who).output().expect("bash");
    assert!(ended.status.success(), "{words}: {}", String::from_utf8_lossy(&ended.stderr));
    String::from_utf8_lossy(&ended.stdout).trim().to_owned()
}

fn plan(name: &str) -> String {
    format!("# Plan: {name}\n\n## Tasks\n\n### 1. Do it\n- What: it\n- Verification: `true`\n- Status: [ ]\n")
}

/// A repository with two named plans, and a folder for its trees.
struct Place {
    repository: Repository,
    scratch: Scratch,
    base: String,
}

impl Place {
    fn new(name: &str) -> Self {
        let mut place = Self {
            repository: Repository::new(name),
            scratch: Scratch::new(&format!("{name}-trees")),
            base: String::new(),
        };
        place
            .repository
            .write("src/a.rs", "a\n")
            .write("src/b.rs", "b\n")
            .write(".gitignore", ".env*\nlocal/\nbig/\n");
        place
            .repository
            .write(".harness/PLAN-one.md", &plan("one"))
            .write(".harness/PLAN-two.md", &plan("two"));
        place.base = place.repository.commit().commit;
        place
    }

    fn root(&self) -> &Path {
        self.repository.root()
    }

    fn project(&self) -> Project {
        let mut project = Project::find(self.root()).expect("a project");
        project.config.worktree.folder = Some(self.scratch.path().to_owned());
        project
    }

    fn trees(&self) -> Worktrees {
        Worktrees::of(&self.project()).expect("trees")
    }

    /// Where its trees are.
    fn folder(&self) -> PathBuf {
        self.scratch.path().join(self.repository.state().file_name().expect("a name"))
    }

    fn add(&self, plan: &str) -> RegisteredWorktree {
        let plan = self.root().join(".harness").join(format!("PLAN-{plan}.md"));
        let wish = AddOptions { plan: &plan, name: None, base: None, after: &[], setup: Setup::Run };
        self.trees().add(&wish).expect("a tree").tree
    }

    fn registered(&self, name: &str, plan: &str) -> RegisteredWorktree {
        RegisteredWorktree {
            path: self.folder().join(name),
            repository: self.root().join(".git"),
            origin: self.root().to_owned(),
            name: name.to_owned(),
            plan: Some(PathBuf::from(format!(".harness/PLAN-{plan}.md"))),
            owner: None,
            branch: Some(format!("plan/{name}")),
            base: self.base.clone(),
            ports: Vec::new(),
            created_at_ms: 1,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let common = self.root().join(".git");
        for tree in worktree_registry::trees().into_iter().filter(|tree| tree.repository == common) {
            // What is left in the registry harms nobody.
            worktree_registry::forget(&tree.path).ok();
        }
    }
}

// D-18: a new tree is on the branch of its plan, bound to it, and says how to come back; nothing of that can be committed.
#[test]
fn a_new_tree_is_bound_to_its_plan_and_nothing_of_that_is_committed() {
    let place = Place::new("trees-new");
    let sprung = lay_traps(&place.repository);
    // The plan as the user has it now, which no commit holds.
    place
        .repository
        .write(".harness/PLAN-new.md", &plan("new"))
        .write(".harness/progress-new.md", "- begun\n");
    let tree = place.add("new");
    let at = |path: &str| tree.path.join(path);
    assert_eq!(shell(&tree.path, "git symbolic-ref --short HEAD"), "plan/new");
    assert_eq!(repository::read(&at(".harness/active-plan")).trim(), "new");
    assert_eq!(repository::read(&at(".harness/PLAN-new.md")), plan("new"));
    assert_eq!(repository::read(&at(".harness/progress-new.md")), "- begun\n");
    let pointer = repository::read(&at(worktree::POINTER));
    for words in ["plan/new", ".harness/PLAN-new.md", "planwright worktree path new"] {
        assert!(pointer.contains(words), "{words}: {pointer}");
    }
    let status = shell(&tree.path, "git status --porcelain --untracked-files=all");
    assert_eq!(status, "?? .harness/PLAN-new.md\n?? .harness/progress-new.md");
    // S7: nothing in it leads to the repository of the user.
    assert!(!at(".git/objects/info/alternates").exists());
    assert_eq!(shell(&tree.path, "git remote; git config --get-all include.path || true"), "");
    assert_eq!(fs::metadata(at(".git/HEAD")).expect("there").nlink(), 1);
    place.trees().inspect().expect("looked at");
    assert!(!sprung.exists(), "{}", repository::read(&sprung));
    // Twice is once, and a plan has one tree.
    assert_eq!(place.add("new"), worktree_registry::tree_at(&tree.path).expect("read").expect("known"));
    let again = place.root().join(".harness/PLAN-new.md");
    let other = AddOptions { plan: &again, name: Some("other"), base: None, after: &[], setup: Setup::Run };
    assert!(matches!(place.trees().add(&other), Err(Error::HasTree { .. })));
    let one = place.root().join(".harness/PLAN-one.md");
    let taken = AddOptions { plan: &one, name: Some("new"), base: None, after: &[], setup: Setup::Run };
    assert!(matches!(place.trees().add(&taken), Err(Error::Taken { .. })));
    // From within the tree the same trees are seen.
    let inside = Project::find(&tree.path).expect("a project");
    assert_eq!(Worktrees::of(&inside).expect("trees").find("new").expect("known").path, tree.path);
}

// P-12: what no commit holds is copied, as far as git ignores it, and never through a link.
#[test]
fn what_is_included_is_copied_and_no_link_leads_out() {
    let place = Place::new("trees-include");
    let root = place.root().to_owned();
    place.repository.write(".env", "SECRET=1\n").write(".env.local", "L\n").write("local/deep/x", "x");
    place.repository.write(".worktreeinclude", "# as others have it\n.env*\n!.env.local\n");
    place.repository.write("big/module/index.js", "js").write("big/.git/HEAD", "ref: refs/heads/main\n");
    place.repository.write("untracked.txt", "not ignored");
    fs::set_permissions(root.join(".env"), fs::Permissions::from_mode(0o600)).expect("a mode");
    symlink("/etc/passwd", root.join("local/out")).expect("a link");
    symlink("../../../../etc/passwd", root.join("local/deep/out")).expect("a link");
    symlink("deep/x", root.join("local/in")).expect("a link");
    symlink("/etc", root.join("local/folder")).expect("a link");
    fs::create_dir_all(root.join("local/inner/.git")).expect("made");
    fs::write(root.join("local/inner/.git/config"), "c").expect("written");
    let folder = place.scratch.path().join("tree");
    let keep = OwnedRefs::of(&root).expect("kept");
    plant(&keep, &place.repository.base().commit, &folder, History::Whole).expect("planted");
    let mut project = place.project();
    project.config.worktree.include = ["local", "untracked.txt", "src"].map(str::to_owned).to_vec();
    let furnished = worktree::furnish(&project, &folder, Setup::Leave).expect("furnished");
    assert_eq!(furnished.copied, [".env", "local"].map(PathBuf::from));
    let mut left_out: Vec<String> =
        furnished.left_out.iter().map(|(path, _)| path.display().to_string()).collect();
    left_out.sort();
    assert_eq!(left_out, ["local/deep/out", "local/folder", "local/out"]);
    assert_eq!(repository::read(&folder.join(".env")), "SECRET=1\n");
    assert_eq!(fs::metadata(folder.join(".env")).expect("there").permissions().mode() & 0o777, 0o600);
    assert_ne!(
        fs::metadata(folder.join(".env")).expect("there").ino(),
        fs::metadata(root.join(".env")).expect("there").ino()
    );
    assert_eq!(fs::read_link(folder.join("local/in")).expect("a link"), Path::new("deep/x"));
    for absent in [".env.local", "untracked.txt", "big", "local/out", "local/inner/.git"] {
        assert!(fs::symlink_metadata(folder.join(absent)).is_err(), "{absent} is not copied");
    }
    // Again changes nothing, and what the tree has is the tree's.
    fs::write(folder.join(".env"), "MINE=1\n").expect("written");
    worktree::furnish(&project, &folder, Setup::Leave).expect("furnished");
    assert_eq!(repository::read(&folder.join(".env")), "MINE=1\n");
    assert_eq!(shell(&folder, "git status --porcelain"), "");
}

// P-12: two dev servers at once. No two trees share a port, and none is given that somebody listens on.
#[test]
fn no_two_trees_share_a_port() {
    let place = Place::new("trees-ports");
    let stranger = TcpListener::bind("127.0.0.1:0").expect("a port");
    let min = stranger.local_addr().expect("an address").port().min(60_000);
    let mut project = place.project();
    project.config.worktree.ports = 2;
    project.config.worktree.port_range = (min, min + 200);
    let names: Vec<String> = (0..8).map(|number| format!("t{number}")).collect();
    for name in &names {
        let tree = place.registered(name, "one");
        fs::create_dir_all(&tree.path).expect("made");
        worktree_registry::register(&tree).expect("registered");
    }
    let folder = place.trees().folder().to_owned();
    let leased: Vec<Vec<u16>> = std::thread::scope(|scope| {
        let all: Vec<_> = names
            .iter()
            .map(|name| (folder.join(name), &project))
            .map(|(path, project)| {
                scope.spawn(move || worktree::furnish(project, &path, Setup::Leave).expect("furnished").ports)
            })
            .collect();
        all.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let distinct: BTreeSet<u16> = leased.iter().flatten().copied().collect();
    assert_eq!(distinct.len(), 16, "{leased:?}");
    assert!(!distinct.contains(&stranger.local_addr().expect("an address").port()));
    let servers: Vec<TcpListener> =
        distinct.iter().map(|port| TcpListener::bind(("127.0.0.1", *port)).expect("free")).collect();
    fs::create_dir_all(folder.join("t0/src")).expect("made");
    // A lease stays while its server runs, and agents and contracts in the tree are told of it.
    assert_eq!(
        worktree::furnish(&project, &folder.join("t0"), Setup::Leave).expect("furnished").ports,
        leased[0]
    );
    let told: BTreeMap<String, String> = worktree::environment(&folder.join("t0/src")).into_iter().collect();
    assert_eq!(told["PLANWRIGHT_PORT"], leased[0][0].to_string());
    assert_eq!(told["PLANWRIGHT_PORT_2"], leased[0][1].to_string());
    assert!(worktree::environment(place.root()).is_empty());
    drop(servers);
    // The twin: without the registry the second tree is given what the first one has.
    worktree_registry::forget(&folder.join("t0")).expect("forgotten");
    let thief = place.registered("thief", "one");
    fs::create_dir_all(&thief.path).expect("made");
    worktree_registry::register(&thief).expect("registered");
    project.config.worktree.port_range = (leased[0][0].min(leased[0][1]), leased[0][0].max(leased[0][1]));
    project.config.worktree.ports = 1;
    let stolen = worktree::furnish(&project, &thief.path, Setup::Leave).expect("furnished").ports;
    assert!(leased[0].contains(&stolen[0]), "{stolen:?}");
    // What can't be given whole is not given at all.
    project.config.worktree.ports = 64;
    project.config.worktree.port_range = (min, min + 3);
    let refused = worktree::furnish(&project, &folder.join("t1"), Setup::Leave);
    assert!(matches!(refused, Err(Error::Ports { .. })), "{refused:?}");
    assert_eq!(
        worktree_registry::tree_at(&folder.join("t1")).expect("read").expect("known").ports,
        leased[1]
    );
}

/// Everything below some folders: content by path.
fn all_of(folders: &[PathBuf]) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left: Vec<PathBuf> = folders.to_vec();
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type().expect("a kind") {
                kind if kind.is_dir() => left.push(entry.path()),
                kind if kind.is_file() => {
                    drop(all.insert(entry.path(), fs::read(entry.path()).expect("read")));
                }
                _ => drop(all.insert(entry.path(), Vec::new())),
            }
        }
    }
    all
}

/// What a leftover is: how many there are, the state that it is in, and whether nothing is lost with it.
const LEFTOVERS: &[(&str, usize, WorktreeState, bool)] = &[
    ("active", 15, WorktreeState::Active, false),
    ("active-with-work", 15, WorktreeState::Active, false),
    ("merged", 20, WorktreeState::Merged, true),
    ("merged-with-work", 20, WorktreeState::Merged, false),
    ("merged-with-commit", 15, WorktreeState::Merged, false),
    ("plan-gone", 20, WorktreeState::Orphaned, true),
    ("plan-gone-with-work", 20, WorktreeState::Orphaned, false),
    ("folder-gone", 20, WorktreeState::Orphaned, true),
    ("unknown", 10, WorktreeState::Orphaned, true),
    ("unknown-with-work", 10, WorktreeState::Orphaned, false),
    ("unknown-rubbish", 10, WorktreeState::Orphaned, false),
    ("dangling", 10, WorktreeState::Dangling, false),
    ("git", 5, WorktreeState::Active, false),
    ("git-dangling", 5, WorktreeState::Dangling, false),
    ("git-gone", 5, WorktreeState::Orphaned, false),
];

/// How many of a kind are left behind.
fn left(count: usize) -> usize {
    if is_whole() { count } else { count / 5 }
}

/// A repository in which up to 200 trees were left, each called by what it is.
fn littered() -> Place {
    let place = Place::new("trees-litter");
    let root = place.root().to_owned();
    let base = place.base.clone();
    place.repository.write("src/landed.rs", "landed\n");
    let landed = place.repository.commit().commit;
    let keep = OwnedRefs::of(&root).expect("kept");
    let stencils = place.scratch.path().join("stencils");
    plant(&keep, &base, &stencils.join("base"), History::Whole).expect("planted");
    plant(&keep, &landed, &stencils.join("landed"), History::Whole).expect("planted");
    shell(
        &stencils,
        "cp -a landed commit; cd commit; echo more > more; git add more; git commit --quiet -m 'a fix'",
    );
    assert_eq!(place.trees().folder(), place.folder());
    fs::create_dir_all(place.folder()).expect("made");
    for (kind, count, ..) in LEFTOVERS {
        for number in 0..left(*count) {
            leave(&place, (kind, &format!("{kind}-{number}")), (&stencils, &landed));
        }
    }
    place
}

/// Leaves one tree: a copy of a stencil, known or not, with work in it or without.
fn leave(place: &Place, (kind, name): (&str, &str), (stencils, landed): (&Path, &str)) {
    let at = place.folder().join(name);
    let known = |plan: &str| worktree_registry::register(&place.registered(name, plan)).expect("registered");
    let lay = |stencil: &str| drop(shell(stencils, &format!("cp -a {stencil} '{}'", at.display())));
    let write = |file: &str, text: &str| fs::write(at.join(file), text).expect("written");
    match kind {
        "active" | "active-with-work" | "plan-gone" | "plan-gone-with-work" | "dangling" => {
            known(if kind.starts_with("plan-gone") { "gone" } else { "one" });
            lay("base");
        }
        "merged" | "merged-with-work" | "merged-with-commit" => {
            known("two");
            place.repository.git(&["update-ref", &format!("refs/heads/plan/{name}"), landed]);
            lay(if kind.ends_with("commit") { "commit" } else { "landed" });
        }
        "folder-gone" => known("one"),
        "unknown" | "unknown-with-work" => lay("base"),
        "unknown-rubbish" => fs::create_dir(&at).expect("made"),
        _ => {
            let plain = place.scratch.path().join("plain").join(name);
            place.repository.git(&["worktree", "add", "--quiet", "-b", name, &plain.display().to_string()]);
            match kind {
                "git-dangling" => {
                    fs::write(plain.join(".harness/active-plan"), "nowhere\n").expect("written");
                }
                "git-gone" => fs::remove_dir_all(plain).expect("removed"),
                _ => {}
            }
        }
    }
    match kind {
        "active-with-work" => write("src/new.rs", "new"),
        "merged-with-work" => write("src/a.rs", "changed"),
        "plan-gone-with-work" => fs::remove_file(at.join("src/b.rs")).expect("removed"),
        "unknown-with-work" => write("notes", "mine"),
        "unknown-rubbish" => write("thesis.txt", "years of work"),
        "dangling" => write(".harness/active-plan", "nowhere\n"),
        _ => {}
    }
}

// D-24: 200 leftovers of all four states, a fifth of them by default: each is named rightly, only what loses nothing is reclaimed, and no branch is deleted.
#[test]
fn of_many_leftovers_each_is_named_rightly_and_only_what_is_safe_goes() {
    let place = littered();
    let trees = place.trees();
    let findings = trees.inspect().expect("looked at");
    assert_eq!(findings.len(), LEFTOVERS.iter().map(|(_, count, ..)| left(*count)).sum::<usize>());
    let kind_of = |name: &str| {
        let kind = name.rsplit_once('-').map(|(kind, _)| kind.to_owned()).expect("a kind");
        *LEFTOVERS.iter().find(|(known, ..)| *known == kind).expect("known")
    };
    let (mut safe, mut kept) = (BTreeSet::new(), Vec::new());
    for finding in &findings {
        let (kind, _, state, is_safe) = kind_of(&finding.name);
        assert_eq!(finding.state, state, "{finding:?}");
        assert_eq!(finding.reclaim == PruneDecision::Safe, is_safe, "{finding:?}");
        assert_eq!(finding.maker == CreatedBy::Git, kind.starts_with("git"), "{finding:?}");
        assert_eq!(finding.mend.is_none(), state == WorktreeState::Active, "{finding:?}");
        assert_eq!(finding.bytes > 0, !kind.ends_with("gone") || kind == "plan-gone", "{finding:?}");
        match is_safe {
            true => drop(safe.insert(finding.name.clone())),
            false => kept.push(finding.path.clone()),
        }
    }
    let seen: BTreeSet<WorktreeState> = findings.iter().map(|finding| finding.state).collect();
    assert_eq!(seen, BTreeSet::from(WorktreeState::ALL));
    let work = findings.iter().find(|finding| finding.name == "merged-with-commit-0").expect("there");
    let PruneDecision::Kept { why } = &work.reclaim else { panic!("{work:?}") };
    assert!(why.to_string().contains("a fix"), "the commit is named: {why}");
    let before = all_of(&kept);
    let branches = place.repository.git(&["for-each-ref"]);
    let pruned = trees.prune().expect("pruned");
    let removed: BTreeSet<String> = pruned.removed.iter().map(|removed| removed.name.clone()).collect();
    assert_eq!(removed, safe, "{:?}", pruned.failed);
    assert!(pruned.removed.iter().all(|removed| !removed.path.exists()));
    assert_eq!(all_of(&kept), before, "nothing of what stays was touched");
    assert_eq!(place.repository.git(&["for-each-ref"]), branches, "no branch is deleted");
    assert!(trees.inspect().expect("looked at").iter().all(|finding| finding.reclaim != PruneDecision::Safe));

    // The twin: whoever goes by the state alone loses work, and the check above sees it.
    for finding in findings
        .iter()
        .filter(|finding| matches!(finding.state, WorktreeState::Merged | WorktreeState::Orphaned))
    {
        if finding.maker == CreatedBy::Planwright {
            fs::remove_dir_all(&finding.path).ok();
        }
    }
    assert_ne!(all_of(&kept), before, "a prune without the guard must be caught");
}

// D-24: work that appears after a tree was looked at brings it back; a tree that comes after a crash is finished or removed.
#[test]
fn what_a_crash_leaves_is_finished_by_the_next_command() {
    let place = Place::new("trees-crash");
    let state = place.repository.state().join("worktrees");
    let note = |name: &str, intent: &str| {
        fs::create_dir_all(&state).expect("made");
        fs::write(state.join(name), format!("\"{intent}\"")).expect("written");
    };
    let folder = place.trees().folder().to_owned();
    // Somebody died while it was laid out: nobody ever worked in it.
    worktree_registry::register(&place.registered("one", "one")).expect("registered");
    fs::create_dir_all(folder.join(".planting-one/.git")).expect("made");
    note("one", "add");
    let tree = place.add("one");
    assert!(tree.path.join("src/a.rs").exists());
    assert!(!folder.join(".planting-one").exists() && !state.join("one").exists());
    // Somebody died after it was laid out and before it was bound.
    fs::remove_file(tree.path.join(".harness/active-plan")).expect("removed");
    note("one", "add");
    assert!(place.trees().is_unfinished("one"));
    place.add("one");
    assert!(tree.path.join(".harness/active-plan").exists() && !place.trees().is_unfinished("one"));
    // Somebody died after it was set aside: with work in it, it comes back; without, it goes.
    for (work, stays) in [("src/new.rs", true), ("", false)] {
        if stays {
            fs::write(tree.path.join(work), "new").expect("written");
        }
        fs::rename(&tree.path, folder.join(".removed-one")).expect("set aside");
        note("one", "remove");
        place.trees().prune().expect("settled");
        assert_eq!(tree.path.exists(), stays);
        assert!(!folder.join(".removed-one").exists() && !state.join("one").exists());
        assert_eq!(worktree_registry::tree_at(&tree.path).expect("read").is_some(), stays);
        if stays {
            assert_eq!(repository::read(&tree.path.join(work)), "new");
            let refused = place.trees().remove("one");
            assert!(refused.as_ref().is_err_and(|error| error.to_string().contains(work)), "{refused:?}");
            fs::remove_file(tree.path.join(work)).expect("removed");
        }
    }
}

// A tree that somebody else made of it, by links or another git folder, is never followed and never deleted.
#[test]
fn a_tree_that_was_replaced_stays() {
    let place = Place::new("trees-replaced");
    let tree = place.add("one");
    let elsewhere = place.scratch.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("made");
    fs::write(elsewhere.join("precious"), "mine").expect("written");
    let kept = |expected: &str| {
        let refused = place.trees().remove("one").expect_err("it stays").to_string();
        assert!(refused.contains(expected), "{refused}");
        assert_eq!(repository::read(&elsewhere.join("precious")), "mine");
    };
    fs::rename(tree.path.join(".git"), elsewhere.join("git")).expect("moved");
    kept("no git directory of its own");
    fs::write(tree.path.join(".git"), format!("gitdir: {}\n", elsewhere.join("git").display()))
        .expect("written");
    kept("no git directory of its own");
    fs::remove_dir_all(&tree.path).expect("removed");
    symlink(&elsewhere, &tree.path).expect("a link");
    kept("not a directory");
}

// A submodule, a repository in the tree, commits that only its own git folder knows and what was only staged: nobody else has them.
#[test]
fn what_only_the_git_folder_of_a_tree_holds_keeps_it() {
    let place = Place::new("trees-own");
    let lib = Scratch::new("trees-own-lib");
    shell(lib.path(), "git init -q . && echo lib > lib.txt && git add -A && git commit -qm lib");
    let add =
        format!("git -c protocol.file.allow=always submodule -q add '{}' vendor/lib", lib.path().display());
    shell(place.root(), &format!("{add} && git commit -qm sub"));
    let tree = place.add("one");
    let kept = |expected: &str| {
        let refused = place.trees().remove("one").expect_err("it stays").to_string();
        assert!(refused.contains(expected), "{refused}");
        assert!(tree.path.is_dir());
    };
    shell(&tree.path, "echo precious > vendor/lib/precious.txt");
    kept("contains another repository");
    shell(
        &tree.path,
        "rm vendor/lib/precious.txt && mkdir -p .git/modules/lib && touch .git/modules/lib/HEAD",
    );
    kept("contains another repository");
    shell(&tree.path, "rm -r .git/modules && git init -q nested");
    kept("contains another repository");
    shell(&tree.path, "rm -rf nested && echo staged > st.txt && git add st.txt && rm st.txt");
    kept("st.txt (staged)");
    shell(
        &tree.path,
        "git reset -q && git checkout -q --detach && echo w > w.txt && git add -A && git commit -qm lost-work",
    );
    shell(&tree.path, "git checkout -q plan/one");
    kept("lost-work");
    shell(&tree.path, "git reflog expire --expire=now --all");
    place.trees().remove("one").expect("nothing is left that would be lost");
}
