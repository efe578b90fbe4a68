//! What passed on the same content is not run twice; everything else is.

use std::fs;
use std::path::PathBuf;

use planwright_core::audit::rerun::CurrentResult;
use planwright_engine::audit::rerun::{Earlier, RerunOptions, RerunReport};
use planwright_engine::store::state_dir;

use crate::site::{Site, look};

/// How many contracts an audit ran.
fn ran(site: &Site) -> usize {
    site.audit(&RerunOptions::default()).ran()
}

// M-09: nothing is run where nothing changed, and everything where anything did.
pub(crate) fn what_did_not_change_is_not_run_again() {
    let site = Site::new();
    let contract = "test -s one && grep -q needle one";
    site.plan(&[("One", "", contract), ("Two", "", "test -e one")]);
    site.write("one", "needle\n").write(".gitignore", "ignored\n");
    assert_eq!((ran(&site), ran(&site)), (2, 0));
    let audit = site.audit(&RerunOptions { earlier: Earlier::Ignored, ..RerunOptions::default() });
    assert_eq!(audit.ran(), 2, "everything is run where somebody says so");
    site.write("ignored", "no part of it");
    assert_eq!(ran(&site), 0);
    site.write("beside", "a part of it");
    assert_eq!((ran(&site), ran(&site)), (2, 0));
    // A contract that never ran here is run, and nothing else is; but the plan is a part of the content, too.
    site.plan(&[("One", "", contract), ("Two", "", "test -s one")]);
    assert_eq!(ran(&site), 2);
    site.write("one", "hay\n");
    let audit = site.audit(&RerunOptions::default());
    assert_eq!(
        audit.steps[0].now,
        CurrentResult::Fails("exit 1".to_owned()),
        "the earlier yes is none to this content"
    );
    site.write("one", "needle\n");
    assert_eq!(ran(&site), 0, "what comes back has been seen before");
}

pub(crate) fn everything_that_a_contract_hangs_on_is_in_its_key() {
    let site = Site::new();
    let lay = |fields: &str, contract: &str| {
        // The plan is outside what is looked at, so that the content stays the same whatever it says.
        site.write(".gitignore", "plan.md\n");
        site.plan(&[("One", fields, contract)]);
    };
    lay("", "true");
    assert_eq!((ran(&site), ran(&site)), (1, 0));
    for (fields, contract) in [
        ("", "true "),
        ("", "true; true"),
        ("**env:** A=1\n", "true"),
        ("**env:** A=2\n", "true"),
        ("**setup:** true\n", "true"),
        ("**setup:** true; true\n", "true"),
        ("**contract_timeout:** 7 s\n", "true"),
    ] {
        lay(fields, contract);
        assert_eq!((ran(&site), ran(&site)), (1, 0), "{fields:?} {contract:?}");
    }
    lay("", "true");
    assert_eq!(ran(&site), 0);
}

/// What the key of an entry knows.
#[derive(PartialEq, Eq)]
enum Key {
    Content,
    EverythingElse,
}

/// What is said about content that fails, after other content passed.
fn stale(key: &Key) -> CurrentResult {
    let site = Site::new();
    site.plan(&[("One", "", "grep -q needle one")]).write("one", "needle\n");
    let project = site.project();
    for text in ["needle\n", "hay\n"] {
        site.write("one", text);
        let audit = RerunReport::open(&project, &RerunOptions::default()).expect("an audit");
        let mut audit = if *key == Key::Content { audit } else { audit.blind() };
        let audit = look(&mut audit, &project, &site.root().join("plan.md"));
        if text == "hay\n" {
            return audit.steps[0].now.clone();
        }
    }
    unreachable!("the second text is looked at")
}

// M-09: the twin without the content in its key says yes to what fails, so the content is what makes the difference.
pub(crate) fn a_cache_that_is_blind_to_the_content_lies() {
    assert_eq!(stale(&Key::Content), CurrentResult::Fails("exit 1".to_owned()));
    assert_eq!(stale(&Key::EverythingElse), CurrentResult::Passes, "the twin should have been caught");
}

fn file(site: &Site) -> PathBuf {
    state_dir::of_project(site.root()).expect("a folder").join("audit-cache")
}

#[expect(clippy::disallowed_methods, reason = "damages a file of the state folder")]
pub(crate) fn a_damaged_entry_is_no_entry() {
    let site = Site::new();
    site.plan(&[("One", "", "true")]);
    assert_eq!((ran(&site), ran(&site)), (1, 0));
    let whole = fs::read(file(&site)).expect("kept");
    for place in (0..whole.len()).step_by(5) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1;
        fs::write(file(&site), &damaged).expect("written");
        assert_eq!(ran(&site), 1, "byte {place} of the cache was changed and nobody saw it");
    }
    for length in (0..whole.len() - 1).step_by(11) {
        fs::write(file(&site), &whole[..length]).expect("written");
        assert_eq!(ran(&site), 1, "the cache was cut at {length} and nobody saw it");
    }
    fs::write(file(&site), &whole).expect("written");
    assert_eq!(ran(&site), 0);
}

pub(crate) fn what_looks_beyond_the_files_is_run_each_time() {
    let site = Site::new();
    let beyond = [
        "git rev-parse --git-dir",
        "test -e /etc/passwd",
        "date",
        "cat ~/x || true",
        "test -n \"$RANDOM\"",
        "test -d ../",
        "bash -c 'curl --version || true'",
    ];
    let steps: Vec<(String, &str)> =
        beyond.iter().enumerate().map(|(place, contract)| (format!("S{place}"), *contract)).collect();
    let mut sketches: Vec<(&str, &str, &str)> =
        steps.iter().map(|(title, contract)| (title.as_str(), "", *contract)).collect();
    sketches.push(("Network", "**network:** yes\n", "true"));
    sketches.push(("Plain", "", "true"));
    site.plan(&sketches);
    ran(&site);
    let audit = site.audit(&RerunOptions::default());
    let again: Vec<bool> = audit.steps.iter().map(|step| step.uncached.is_some()).collect();
    assert_eq!(again, [[true; 8].as_slice(), &[false]].concat(), "{audit:#?}");
    assert_eq!(audit.ran(), 8);
}

pub(crate) fn a_failure_is_never_kept() {
    let site = Site::new();
    site.plan(&[("One", "", "false")]);
    assert_eq!((ran(&site), ran(&site)), (1, 1));
    assert!(!file(&site).exists(), "there is nothing to keep");
}
