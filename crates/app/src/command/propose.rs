//! `propose`: asks for approval of all named plans or none. Plans must have no errors; a policy rule may approve them
//! immediately.

use std::io::{self, Read as _};
use std::path::PathBuf;

use planwright_engine::approval::Approvals;
use planwright_engine::core::dialect::{NATIVE, NewPlan, proposal};
use planwright_engine::core::plan::verified;
use planwright_engine::core::syntax::diagnostic::Severity;
use planwright_engine::core::syntax::source::Source;
use planwright_engine::run::baseline;
use planwright_engine::store::plan_file;
use planwright_engine::store::plan_file::FileText;
use planwright_engine::system::clock;
use planwright_engine::{Project, Verified};
use schemars::JsonSchema;
use serde::Serialize;

use crate::interaction::confirm::who;
use crate::interaction::project::here;
use crate::interaction::proposal::{OneProposed, data, print};
use crate::interaction::target::{Opened, open};
use crate::output::{Exit, Failure, NextCommand, Out, Response};
use planwright_engine::api::shown;

/// Argument for standard input.
pub(crate) const STDIN: &str = "-";
/// The most that is read from standard input or a file of steps.
const INPUT_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plans; `-` reads standard input [default: the plan this worktree uses]
    #[arg(value_name = "PLAN")]
    pub(crate) plans: Vec<String>,
    /// Use .harness/PLAN-<NAME>.md; with `-`, the name of the new plan
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Read a proposal from a JSON file; `-` reads standard input: {"title", "steps": [{"description", "tool", "operation", "target"}], "context"}
    #[arg(long, value_name = "FILE", conflicts_with_all = ["plans", "name"])]
    pub(crate) steps: Option<String>,
}

/// The data of the envelope.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProposedData {
    /// The plans.
    pub(crate) plans: Vec<OneProposed>,
}

/// A plan that is to be proposed.
struct Candidate {
    path: PathBuf,
    project: Project,
    verified: Verified,
    /// The text that is yet to be written to the file.
    is_new: bool,
}

pub(crate) fn run(args: &Args, out: &mut Out<'_>) -> Result<Response, Failure> {
    let candidates = match &args.steps {
        Some(file) => vec![inline(file)?],
        None => args.plans.iter().map(|plan| candidate(plan, args)).collect::<Result<_, Failure>>()?,
    };
    // All of them are looked at before anything is written.
    for candidate in &candidates {
        refuse_unclean(candidate)?;
    }
    let mut plans = Vec::new();
    for candidate in candidates {
        let Candidate { path, project, verified, is_new } = candidate;
        if is_new {
            plan_file::create_plan(&path, verified.source.text(), verified.dialect())?;
        }
        let decisions = Approvals::open(&project)?;
        for notice in decisions.sweep()? {
            out.warn(&format!("{}: {}", notice.plan.display(), notice.text));
        }
        let proposed = decisions.propose(&path, &verified, &who())?;
        out.warn_all(&proposed.complaints);
        print(&plan_file::name(&path), &proposed, out);
        plans.push(data(&path, proposed));
    }
    let first = plans.first().map(|plan| (plan.path.clone(), plan.approved_by_rule.is_some()));
    let answer = Response::done("propose", &ProposedData { plans });
    Ok(match first {
        Some((path, true)) => answer.next(NextCommand::new(["planwright", "run", path.as_str()])),
        Some((path, false)) => answer.next(NextCommand::new(["planwright", "review", path.as_str()])),
        None => answer,
    })
}

fn candidate(plan: &str, args: &Args) -> Result<Candidate, Failure> {
    if plan == STDIN {
        return from_stdin(args);
    }
    let Opened { path, project, source, .. } = open(plan)?;
    let verified = baseline::verify_text(&project, FileText::Plan(source))?;
    Ok(Candidate { path, project, verified, is_new: false })
}

/// A plan whose text comes from standard input. It becomes a file only if it can be proposed.
fn from_stdin(args: &Args) -> Result<Candidate, Failure> {
    let Some(name) = args.name.as_ref().filter(|name| !name.is_empty() && verified::slug(name) == **name)
    else {
        let failure = Failure::new(Exit::Usage, "a plan from standard input needs a name");
        return Err(failure.hint("pass --name with lowercase letters, digits and dashes"));
    };
    let project = here()?;
    let text = read(STDIN)?;
    let dialect = project.dialect.unwrap_or(NATIVE);
    let home = (dialect.home)(name, &planwright_engine::store::plan_file::chance()?);
    fresh(
        project.root.join(&home.path),
        Source::new(home.path.as_str(), text).at(home.path.as_str()).written_in(dialect),
    )
}

/// A proposal out of steps that a planner names: document C's `plan_propose`.
fn inline(file: &str) -> Result<Candidate, Failure> {
    let text = read(file)?;
    let draft = proposal::inline(&text).map_err(|why| {
        Failure::new(Exit::Usage, format!("{file} is not a proposal: {why}")).hint(
            "expected {\"title\": …, \"steps\": [{\"description\": …, \"tool\": …, \"operation\": …, \"target\": \
             …}], \"context\": …}",
        )
    })?;
    let dialect = planwright_engine::api::dialect_named("proposal")?;
    let home = (dialect.home)("proposal", &planwright_engine::store::plan_file::chance()?);
    let birth = NewPlan { id: &home.id, now: &clock::utc_now() };
    let text = dialect.compose(&draft, &birth);
    let root = here()?.root;
    fresh(
        root.join(&home.path),
        Source::new(home.path.as_str(), text).at(home.path.as_str()).written_in(dialect),
    )
}

fn fresh(path: PathBuf, source: Source) -> Result<Candidate, Failure> {
    let project = here()?;
    let verified = baseline::verify_text(&project, FileText::Plan(source))?;
    Ok(Candidate { path, project, verified, is_new: true })
}

fn read(file: &str) -> Result<String, Failure> {
    let text = match file {
        STDIN => {
            let mut text = String::new();
            io::stdin().take(INPUT_BYTES_MAX).read_to_string(&mut text).map(|_| text)
        }
        file => plan_file::read_stream_at(file.as_ref(), INPUT_BYTES_MAX),
    };
    text.map_err(|error| match error.kind() == io::ErrorKind::NotFound {
        true => Failure::new(Exit::Usage, format!("file {file} not found")),
        false => Failure::new(Exit::Machine, format!("cannot read {file}")).because(&error),
    })
}

fn refuse_unclean(candidate: &Candidate) -> Result<(), Failure> {
    if candidate.verified.plan.is_some() {
        return Ok(());
    }
    let errors = candidate.verified.diagnostics.iter();
    let first = errors
        .filter(|fault| fault.severity == Severity::Error)
        .map(|fault| fault.message.clone())
        .next()
        .unwrap_or_default();
    let name = shown(&candidate.path);
    let failure = Failure::new(Exit::No, format!("{name} has errors; fix them before proposing"))
        .hint(format!("first error: {first}; nothing was proposed"));
    Err(match candidate.is_new {
        true => failure,
        false => failure.next(NextCommand::new(["planwright", "verify", name.as_str()])),
    })
}
