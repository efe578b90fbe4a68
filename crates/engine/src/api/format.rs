//! The canonical form of plan files.

use std::io;
use std::path::Path;

use planwright_core::syntax::source::Source;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::error::{Error, ErrorKind, unchanged};
use crate::api::plan;
use crate::api::plan::Plan;
use crate::api::workspace::Workspace;
use crate::store::plan_file;
use crate::store::plan_file::FileText;

/// The name of a plan that comes on standard input.
pub(crate) const STDIN_SHOWN: &str = "<stdin>";

/// Whether formatted plans are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatMode {
    Write,
    Check,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct FormatView {
    /// How many plans were looked at.
    pub plans: usize,
    /// Those that were not in canonical form.
    pub changed: Vec<String>,
    /// The canonical text of a plan that came on standard input.
    pub text: Option<String>,
}

impl Workspace {
    /// Formats these plans, or all of them if none is named.
    pub fn format(&self, addresses: &[String], mode: FormatMode) -> Result<FormatView, Error> {
        // Everything is read before anything is written: a plan that can't be read leaves the others as they are.
        let plans: Vec<Plan> = match addresses.is_empty() {
            true => {
                let paths = self.project().plans()?.into_iter();
                paths.map(|path| self.plan_at(path)).collect::<Result<_, _>>()?
            }
            false => addresses.iter().map(|address| self.plan(address)).collect::<Result<_, _>>()?,
        };
        let texts = plans.iter().map(|plan| {
            plan.require_plan()?;
            canonical(plan.path(), plan.source())
        });
        let texts = texts.collect::<Result<Vec<_>, _>>()?;
        let mut changed = Vec::new();
        for (plan, text) in plans.iter().zip(texts).filter(|(plan, text)| text != plan.source().text()) {
            if mode == FormatMode::Write {
                plan_file::save(plan.path(), plan.source(), &plan.source().with(text))?;
            }
            changed.push(plan.shown());
        }
        Ok(FormatView { plans: plans.len(), changed, text: None })
    }

    /// Formats the plan on standard input.
    pub fn format_stdin(&self) -> Result<FormatView, Error> {
        let read = plan_file::read_stream(&mut io::stdin(), STDIN_SHOWN, self.project().reading());
        let read = read
            .map_err(|error| Error::new(ErrorKind::Machine, "cannot read standard input").because(&error))?;
        let source = match read {
            FileText::Plan(source) => source,
            FileText::Unreadable(unreadable) => {
                return Err(Error::new(ErrorKind::Refused, unreadable.diagnostic.message));
            }
        };
        plan::require_plan(&source)?;
        let text = canonical(Path::new(STDIN_SHOWN), &source)?;
        let changed = (text != source.text()).then(|| STDIN_SHOWN.to_owned());
        Ok(FormatView { plans: 1, changed: changed.into_iter().collect(), text: Some(text) })
    }
}

fn canonical(path: &Path, source: &Source) -> Result<String, Error> {
    source.dialect().format(source).map_err(|refusal| unchanged(path, &refusal))
}
