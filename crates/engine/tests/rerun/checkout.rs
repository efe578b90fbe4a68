//! What contracts run on.

use planwright_core::audit::rerun::{Broke, CurrentResult, RerunOutcome};
use planwright_engine::audit::rerun::RerunOptions;
use planwright_engine::git::base::tree_of_workspace;

use crate::site::{Site, passed, words};

pub(crate) fn the_workspace_stays_as_it_is() {
    let site = Site::new();
    site.plan(&[
        ("Write", "", "echo new >made; echo more >>kept; mkdir -p deep/er && touch deep/er/x"),
        ("Remove", "", "rm kept"),
        ("Git", "", "git add -A && git -c user.name=a -c user.email=b commit -qm x && git status --short"),
    ]);
    site.write("kept", "as it was\n").write(".gitignore", "ignored\n").write("ignored", "here\n");
    site.commit_at("begin", 1_700_000_000);
    site.write("untracked", "and here\n");
    let before = site.files();
    let audit = site.audit(&RerunOptions::default());
    assert_eq!(words(&audit), ["1 holds", "2 holds", "3 holds"], "{audit:#?}");
    assert_eq!(site.files(), before);
}

pub(crate) fn no_contract_sees_what_another_left() {
    let site = Site::new();
    site.plan(&[
        ("Make", "", "touch made; mkdir folder; touch folder/x; ln -s / root"),
        ("Clean", "", "test ! -e made && test ! -e folder && test ! -e root"),
        ("Change", "", "echo changed >kept"),
        ("Same", "", "test \"$(cat kept)\" = 'as it was'"),
        ("Remove", "", "rm kept"),
        ("There", "", "test -s kept"),
        ("Ignored", "", "touch ignored"),
        ("Not there", "", "test ! -e ignored"),
        ("Same time", "", "cp -p kept was; echo changed >kept; touch -r was kept; rm was"),
        ("Same again", "", "test \"$(cat kept)\" = 'as it was'"),
        ("Setup", "**setup:** touch prepared\n", "test -e prepared"),
        ("Not prepared", "", "test ! -e prepared"),
    ]);
    site.write("kept", "as it was\n").write(".gitignore", "ignored\n");
    let audit = site.audit(&RerunOptions::default());
    assert_eq!(audit.count(RerunOutcome::Holds), 12, "{audit:#?}");
}

// each commit is judged by the plan that lies in it.
pub(crate) fn a_commit_is_looked_at_by_its_own_plan() {
    let site = Site::new();
    site.plan(&[("✅ Make one", "", "test -e one")]);
    site.commit_at("forged", 1_700_000_000);
    site.write("one", "");
    site.plan(&[("✅ Make one", "", "test -e one"), ("✅ Make two", "", "test -e two")]);
    site.commit_at("done", 1_700_000_100);
    let at = |name: &str| RerunOptions { at: Some(name.to_owned()), ..RerunOptions::default() };
    assert_eq!(words(&site.audit(&at("HEAD~1"))), ["1 FALSE"]);
    assert_eq!(words(&site.audit(&at("main"))), ["1 holds", "2 FALSE"]);
    let again = site.audit(&at("HEAD"));
    assert_eq!((again.ran(), words(&again)), (1, vec!["1 holds".to_owned(), "2 FALSE".to_owned()]));
    for name in ["nothing", "--all", "HEAD:one", ""] {
        let project = site.project();
        let error = planwright_engine::audit::rerun::RerunReport::open(&project, &at(name))
            .err()
            .map(|error| std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default());
        assert_eq!(error.as_deref(), Some(format!("invalid commit `{name}`").as_str()));
    }
}

// A contract that hangs on a file which is no part of the project passes here and on no other machine.
pub(crate) fn an_ignored_file_is_no_part_of_it() {
    let site = Site::new();
    let contract = "test -s build/report";
    site.plan(&[("✅ Build", "", contract)]);
    site.write(".gitignore", "build/\n").write("build/report", "fine\n");
    let audit = site.audit(&RerunOptions::default());
    assert_eq!(words(&audit), ["1 FALSE"]);
    // The receipt was made in the workspace, where the file lay, and is about the very same content.
    let tree = tree_of_workspace(site.root(), &["plan.md".into()]).expect("a tree");
    site.record(&passed("build", 1_700_000_000_000, (&["build/report"], contract, &tree)));
    let audit = site.audit(&RerunOptions::default());
    assert_eq!(words(&audit), ["1 BROKEN"]);
    assert_eq!(audit.steps[0].broke, Some(Broke::Outside));
}

pub(crate) fn a_folder_without_git_is_looked_at_too() {
    let site = Site::bare();
    site.plan(&[("✅ Make one", "", "test -e one"), ("Strange", "", "no-such-program")]);
    site.write("planwright.toml", "").write("one", "");
    let audit = site.audit(&RerunOptions::default());
    assert_eq!(words(&audit), ["1 holds", "2 open"]);
    assert_eq!(audit.steps[1].now, CurrentResult::CannotRun("cannot run, exit 127".to_owned()));
    let again = site.audit(&RerunOptions::default());
    assert_eq!((again.ran(), again.steps[0].earlier_ms.is_some()), (1, true));
}
