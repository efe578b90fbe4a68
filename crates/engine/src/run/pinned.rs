//! The programs that contracts call, as an approval names them: where they are, and what is in those that this user, and so an agent,
//! could replace. Programs of the workspace are files of the work and are not among them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use planwright_core::plan::verified::{Contract, Plan, Step};
use planwright_core::syntax::shell;

use crate::system::program;
use crate::system::program::Tool;

/// A program could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read program `{name}`")]
pub struct Error {
    name: String,
    source: io::Error,
}

/// Every program that the contracts of a plan in the project at this root call, and what planwright itself relies on. One that is
/// not there is left out: a step may install it.
pub(crate) fn of(root: &Path, plan: &Plan) -> Result<BTreeMap<String, String>, Error> {
    let names: BTreeSet<String> = plan.steps.iter().flat_map(|step| names(root, step)).collect();
    let path = program::outside(&[root]);
    let mut pins = BTreeMap::new();
    for name in names {
        // An error of the machine says nothing about the program, so nothing is approved on it.
        match program::pin(&name, &path) {
            Ok(pin) => pins.extend(pin.map(|pin| (name, pin))),
            Err(source) => return Err(Error { name, source }),
        }
    }
    Ok(pins)
}

/// What of the programs that a step's contract calls is not what was approved, for people.
pub(crate) fn moved_for(
    step: &Step,
    approved: &BTreeMap<String, String>,
    closed: &[&Path],
) -> io::Result<Vec<String>> {
    let root = closed.last().copied().unwrap_or(Path::new("/"));
    let path = program::outside(closed);
    let (mut then, mut now) = (BTreeMap::new(), BTreeMap::new());
    for (name, pin) in names(root, step).filter_map(|name| approved.get_key_value(&name)) {
        then.insert(name.clone(), pin.clone());
        now.extend(program::pin(name, &path)?.map(|pin| (name.clone(), pin)));
    }
    Ok(moved(&then, &now))
}

/// What changed between two sets of programs, for people. Only what was approved can change.
pub(crate) fn moved(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> Vec<String> {
    let place = |pin: &str| pin.split(' ').next().unwrap_or_default().to_owned();
    let changed = before.iter().filter_map(|(name, pin)| match now.get(name) {
        Some(found) if found == pin => None,
        Some(found) if place(found) == place(pin) => {
            Some(format!("program `{name}` was changed ({})", place(pin)))
        }
        Some(found) => Some(format!("program `{name}` was {} and is {}", place(pin), place(found))),
        None => Some(format!("program `{name}` is gone ({})", place(pin))),
    });
    changed.collect()
}

/// The programs of a step's contract and its setup that are not part of the workspace.
fn names<'a>(root: &'a Path, step: &'a Step) -> impl Iterator<Item = String> + 'a {
    let contract = match &step.contract {
        Contract::Shell { command, .. } => Some(command.as_str()),
        Contract::Manual => None,
    };
    let scripts = contract.into_iter().chain(step.setup.as_deref().filter(|_| contract.is_some()));
    let called = scripts.flat_map(move |script| {
        let script = shell::analyse(script);
        let names = script.calls.into_iter().map(|call| call.name);
        let functions = script.functions;
        let is_outside = move |name: &String| match name.contains('/') {
            true => name.starts_with('/') && !Path::new(name).starts_with(root),
            false => !shell::is_builtin(name) && !functions.contains(name),
        };
        names.filter(is_outside)
    });
    called.chain(Tool::ALL.map(|tool| tool.name().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_named_and_what_was_not_approved_is_not_asked_about() {
        let map = |pins: &[(&str, &str)]| -> BTreeMap<String, String> {
            pins.iter().map(|(name, pin)| ((*name).to_owned(), (*pin).to_owned())).collect()
        };
        let before = map(&[("a", "/bin/a"), ("b", "/opt/b 11"), ("c", "/opt/c 22"), ("d", "/opt/d 33")]);
        let now = map(&[("a", "/opt/a 00"), ("b", "/opt/b 12"), ("c", "/opt/c 22"), ("new", "/opt/new 44")]);
        assert_eq!(
            moved(&before, &now),
            [
                "program `a` was /bin/a and is /opt/a",
                "program `b` was changed (/opt/b)",
                "program `d` is gone (/opt/d)",
            ]
        );
    }
}
