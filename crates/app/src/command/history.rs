//! `history`: the versions of a plan and the runs of each, the oldest first.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use planwright_engine::runs::Runs;
use planwright_engine::store::{self, Text};
use planwright_engine::{Project, clock, project};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Opened, open, run_word, shown};
use crate::out::{Answer, Cell, Failure, Next, Out, Table, Tone, clean_line};

/// What the files of versions end in.
const ENDINGS: &[&str] = &["yaml", "yml", "json"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The plan
    plan: String,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct History {
    /// The versions, the oldest first.
    pub(crate) versions: Vec<Version>,
}

/// One version of a plan.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Version {
    /// Its name.
    pub(crate) name: String,
    /// Its file.
    pub(crate) path: String,
    /// The number that it gives itself; empty where it has none.
    pub(crate) version: String,
    /// The version that it follows; empty for the first one.
    pub(crate) previous: String,
    /// The status that the file says.
    pub(crate) status: String,
    /// Its runs, the oldest first.
    pub(crate) runs: Vec<RunData>,
}

/// One run of a version.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunData {
    /// Its number.
    pub(crate) run: i64,
    /// The digest that was approved.
    pub(crate) digest: String,
    /// When it began, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// How it stands.
    pub(crate) state: String,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Answer, Failure> {
    let Opened { path, project, .. } = open(&args.plan)?;
    let mut versions = Vec::new();
    for file in chain(&project, &path) {
        versions.extend(version(&project, &file)?);
    }
    let mut table = Table::new();
    for version in &versions {
        table.row(vec![
            Cell::new(&version.name).tone(Tone::Strong),
            Cell::new(if version.version.is_empty() {
                String::new()
            } else {
                format!("v{}", version.version)
            }),
            Cell::new(&version.status),
            Cell::new(&version.path).tone(Tone::Muted),
        ]);
        for run in &version.runs {
            let when = clock::local(run.at_ms);
            let word = format!("run {}", run.run);
            table.row(vec![
                Cell::new(format!("  {word}")).tone(Tone::Muted),
                Cell::new(&run.digest[..run.digest.len().min(8)]),
                Cell::new(&run.state),
                Cell::new(when).tone(Tone::Muted),
            ]);
        }
    }
    out.table(&table);
    if versions.iter().all(|version| version.runs.is_empty()) {
        out.talk(&format!("{} was not run yet", clean_line(&project::name(&path))));
    }
    let next = Next::new(["planwright", "show", shown(&path).as_str()]);
    Ok(Answer::done("history", &History { versions }).next(next))
}

/// The files of all versions of the plan at `path`, the oldest first. Names lead from one to the other; where they lead in a
/// circle, or nowhere, they end.
fn chain(project: &Project, path: &Path) -> Vec<PathBuf> {
    let mut chain = vec![path.to_owned()];
    let mut seen = BTreeSet::from([project::name(path)]);
    let sibling = |name: &str| {
        let is_name = !name.is_empty() && !name.contains('/');
        let files = ENDINGS.iter().map(|ending| path.with_file_name(format!("{name}.{ending}")));
        files.filter(|_| is_name).find(|file| file.is_file())
    };
    let mut first = path.to_owned();
    while let Some(earlier) = said(project, &first, "previousPlanId").and_then(|name| sibling(&name)) {
        if !seen.insert(project::name(&earlier)) {
            break;
        }
        chain.insert(0, earlier.clone());
        first = earlier;
    }
    let folder = path.parent().and_then(|folder| folder.read_dir().ok());
    let mut others: Vec<PathBuf> = folder.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    others
        .retain(|other| ENDINGS.iter().any(|ending| other.extension().is_some_and(|known| known == *ending)));
    others.sort();
    while let Some(last) = chain.last().map(|last| project::name(last)) {
        let follows =
            |other: &&PathBuf| said(project, other, "previousPlanId").is_some_and(|name| name == last);
        let Some(later) = others.iter().find(follows).filter(|later| seen.insert(project::name(later)))
        else {
            break;
        };
        chain.push(later.clone());
    }
    chain
}

/// What a plan file says in a key of its own.
fn said(project: &Project, path: &Path, key: &str) -> Option<String> {
    let Ok(Text::Plan(source)) = store::read(path, "plan", project.reading()) else { return None };
    let draft = (source.dialect().skim)(&source);
    draft.frontmatter.value(key).map(|value| value.value.clone())
}

fn version(project: &Project, path: &Path) -> Result<Option<Version>, Failure> {
    let Text::Plan(source) = store::read(path, &shown(path), project.reading())? else { return Ok(None) };
    let draft = (source.dialect().skim)(&source);
    let key = |name: &str| draft.frontmatter.value(name).map(|value| value.value.clone()).unwrap_or_default();
    let mut all = Vec::new();
    if let Some(runs) = Runs::open_existing(project)? {
        for run in runs.of_plan(path)? {
            all.push(RunData {
                run: run.row.id.number(),
                digest: run.row.digest.clone(),
                at_ms: run.row.created_at_ms,
                state: run_word(&run).to_owned(),
            });
        }
    }
    Ok(Some(Version {
        name: project::name(path),
        path: shown(path),
        version: key("version"),
        previous: key("previousPlanId"),
        status: draft.status.0.as_ref().map(|status| status.value.clone()).unwrap_or_default(),
        runs: all,
    }))
}
