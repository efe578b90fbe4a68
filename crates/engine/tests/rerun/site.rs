//! A project in a repository of its own, and what is asked of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use planwright_core::agent::account::Usage;
use planwright_core::run::event::{AttemptEnd, AttemptFinish, AttemptStart, Event, Judged, StepEvent};
use planwright_core::run::judge::{ContractRun, Observation};
use planwright_core::run::receipt::{Blob, Provenance, Receipt};
use planwright_engine::audit::rerun::{PlanAudit, RerunOptions, RerunReport, record};
use planwright_engine::store::journal::{NewRun, Store};
use planwright_engine::system::process::Stop;
use planwright_engine::workspace::project::Project;

use crate::scratch::Scratch;

pub(crate) struct Site {
    pub(crate) scratch: Scratch,
}

/// A step: its mark and title, more fields, and its contract; empty for none.
pub(crate) type Sketch<'a> = (&'a str, &'a str, &'a str);

impl Site {
    /// A repository with nothing in it.
    pub(crate) fn new() -> Self {
        let site = Self { scratch: Scratch::new("site") };
        site.git(&["init", "--quiet", "--initial-branch=main"]);
        site
    }

    /// A folder that no repository is in.
    pub(crate) fn bare() -> Self {
        Self { scratch: Scratch::new("site") }
    }

    pub(crate) fn root(&self) -> &Path {
        self.scratch.path()
    }

    pub(crate) fn git(&self, words: &[&str]) {
        self.git_at(words, 1_700_000_000);
    }

    /// Runs git at a time of our choice, in seconds since 1970.
    pub(crate) fn git_at(&self, words: &[&str], seconds: u64) {
        let date = format!("{seconds} +0000");
        let mut git = Command::new("git");
        git.args(["-c", "user.name=ada", "-c", "user.email=ada@example.org"]).args(words);
        git.current_dir(self.root()).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        git.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
        assert!(git.status().expect("git is there").success(), "git {words:?}");
    }

    pub(crate) fn commit_at(&self, subject: &str, seconds: u64) {
        self.git_at(&["add", "-A"], seconds);
        self.git_at(&["commit", "--quiet", "-m", subject], seconds);
    }

    #[expect(clippy::disallowed_methods, reason = "lays out a project")]
    pub(crate) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("made");
        fs::write(path, text).expect("written");
        self
    }

    /// Writes `plan.md`.
    pub(crate) fn plan(&self, steps: &[Sketch<'_>]) -> &Self {
        let mut text =
            "---\ntype: plan\nstatus: approved\nowner: ada\n---\n\n# It\n\n**Context:** Because.\n\
                        **Budget:** $1\n\n## Steps\n"
                .to_owned();
        for (number, (title, fields, contract)) in (1..).zip(steps) {
            let contract = match *contract {
                "" => "**contract:** manual\n".to_owned(),
                command => format!("**contract:**\n```shell\n{command}\n```\n"),
            };
            text.push_str(&format!(
                "\n### {number}. {title}\n\n**target:** shell\n{fields}\n**task:**\nDo it.\n\n{contract}"
            ));
        }
        self.write("plan.md", &text)
    }

    pub(crate) fn project(&self) -> Project {
        Project::find(self.root()).expect("a project")
    }

    pub(crate) fn audit(&self, options: &RerunOptions) -> PlanAudit {
        self.audit_of("plan.md", options)
    }

    pub(crate) fn audit_of(&self, plan: &str, options: &RerunOptions) -> PlanAudit {
        let project = self.project();
        let mut audit = RerunReport::open(&project, options).expect("an audit");
        look(&mut audit, &project, &self.root().join(plan))
    }

    /// Every file with its bytes, the git folder included.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in folder.read_dir().expect("a folder").flatten() {
                match entry.path() {
                    path if path.is_dir() => folders.push(path),
                    path => {
                        let bytes = fs::read(&path).expect("read");
                        files.insert(path, bytes);
                    }
                }
            }
        }
        files
    }

    /// Records a run of `plan.md` that began at `at_ms`: events, each with its time.
    pub(crate) fn record(&self, events: &[(u64, Event)]) {
        let store = Store::open(self.root()).expect("a store");
        let new = NewRun {
            root: self.root().to_owned(),
            plan: PathBuf::from("plan.md"),
            name: "plan".to_owned(),
            digest: "d".repeat(64),
            text: "as it was approved".to_owned(),
            dialect: "native".to_owned(),
            created_at_ms: 1,
        };
        let run = store.create_run(&new).expect("a run");
        for (seq, (at_ms, event)) in (0..).zip(events) {
            store.append(run, seq, std::slice::from_ref(event), *at_ms).expect("appended");
        }
    }
}

pub(crate) fn look(audit: &mut RerunReport<'_>, project: &Project, plan: &Path) -> PlanAudit {
    let record = record(project, plan).expect("a record");
    audit.plan(plan, &record, &Stop::new(), &mut |_| ()).expect("it can be looked at")
}

/// An attempt from beginning to end, and its contract that passed, on content of this name.
pub(crate) fn passed(
    step: &str,
    at_ms: u64,
    (changed, contract, tree): (&[&str], &str, &str),
) -> Vec<(u64, Event)> {
    let observation = Observation::Exited(0);
    let started = Event::Step {
        step: step.to_owned(),
        event: StepEvent::Started(AttemptStart {
            attempt: 1,
            agent: "shell".to_owned(),
            prompt: Blob(String::new()),
        }),
    };
    let finished = Event::Step {
        step: step.to_owned(),
        event: StepEvent::Finished(AttemptFinish {
            attempt: 1,
            end: AttemptEnd::Exited(0),
            output: None,
            usage: Usage::default(),
            changed: changed.iter().map(|&path| path.to_owned()).collect(),
            account: planwright_core::agent::account::Account::default(),
        }),
    };
    let judged = Event::Step {
        step: step.to_owned(),
        event: StepEvent::Judged {
            of: Judged::Attempt(1),
            broken_by: None,
            receipt: Receipt::new(
                &ContractRun {
                    expect: Some(0),
                    contract: blake3::hash(contract.as_bytes()).to_hex().to_string(),
                    observation,
                    output: String::new(),
                    milliseconds: 1,
                },
                None,
                Provenance {
                    digest: "d".repeat(64),
                    tier: "open".to_owned(),
                    tree: tree.to_owned(),
                    ..Provenance::default()
                },
            ),
        },
    };
    vec![(at_ms, started), (at_ms + 5_000, finished), (at_ms + 6_000, judged)]
}

/// What an audit settled: a word for each step, its number in front.
pub(crate) fn words(audit: &PlanAudit) -> Vec<String> {
    audit.steps.iter().map(|step| format!("{} {}", step.number, step.settled.word())).collect()
}
