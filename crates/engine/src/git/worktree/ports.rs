//! Ports that trees have for themselves. A lease is a part of what the registry knows of a tree, for all repositories of the user
//! together: a port knows no repository. It ends when the tree is forgotten.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::{Path, PathBuf};

use super::Error;
use crate::git::repository;
use crate::git::repository::Keep;
use crate::run;
use crate::store::state_dir;
use crate::store::worktree_registry;
use crate::store::worktree_registry::Tree;
use crate::workspace::project::Project;

/// The file that is locked while leases change.
const LOCK: &str = "ports.lock";

/// What a throw-away tree is called, in which contracts are run.
const FOR_A_WHILE: &str = "contracts";

/// The ports of a throw-away tree. They are free again when this is dropped.
#[derive(Debug)]
pub struct Lease {
    top: PathBuf,
}

impl Drop for Lease {
    fn drop(&mut self) {
        // What stays of it is forgotten when the folder is gone.
        worktree_registry::forget(&self.top).ok();
    }
}

/// Gives a throw-away tree of a project ports, as every tree has them. `None` where trees have none.
pub fn lend(project: &Project, top: &Path) -> Result<Option<Lease>, Error> {
    let settings = &project.config.worktree;
    if settings.ports == 0 {
        return Ok(None);
    }
    let Some(keep) = Keep::find(&project.root)? else { return Ok(None) };
    let top = top.canonicalize().map_err(|source| Error::File { path: top.to_owned(), source })?;
    worktree_registry::register(&Tree {
        path: top.clone(),
        repository: keep.common().to_owned(),
        origin: keep.top().to_owned(),
        name: FOR_A_WHILE.to_owned(),
        plan: None,
        owner: None,
        branch: None,
        base: String::new(),
        ports: Vec::new(),
        created_at_ms: run::now(),
    })?;
    let lent = Lease { top };
    lease(&lent.top, settings.ports, settings.port_range)?;
    Ok(Some(lent))
}

/// Gives a registered tree as many ports as it is to have. Those that it has already stay its own; a tree that is not registered
/// has none.
pub(super) fn lease(top: &Path, count: usize, (min, max): (u16, u16)) -> Result<Vec<u16>, Error> {
    let _lock = locked()?;
    let Some(mut tree) = worktree_registry::tree_at(top)? else { return Ok(Vec::new()) };
    let others = worktree_registry::trees().into_iter().filter(|other| other.path != top);
    let taken: BTreeSet<u16> = others.flat_map(|other| other.ports).collect();
    let mut ports = tree.ports.clone();
    ports.truncate(count);
    for port in min..=max {
        if ports.len() == count {
            break;
        }
        if !taken.contains(&port) && !ports.contains(&port) && is_free(port) {
            ports.push(port);
        }
    }
    if ports.len() < count {
        return Err(Error::Ports { count, free: ports.len(), min, max });
    }
    if ports != tree.ports {
        tree.ports.clone_from(&ports);
        worktree_registry::register(&tree)?;
    }
    Ok(ports)
}

/// The variables that name the ports of the tree that a folder lies in; none where it lies in no tree, or that has no ports.
pub fn environment(folder: &Path) -> Vec<(String, String)> {
    // Where nobody can tell there are none: what is leased is never taken by chance, so nothing collides.
    repository::tree_around(folder).ok().flatten().map(|tree| variables(&tree.ports)).unwrap_or_default()
}

/// The variables for these ports: `PLANWRIGHT_PORT` is the first, `PLANWRIGHT_PORT_1` and so on are all of them.
pub(super) fn variables(ports: &[u16]) -> Vec<(String, String)> {
    let first = ports.first().map(|port| ("PLANWRIGHT_PORT".to_owned(), port.to_string()));
    let counted = (1..)
        .zip(ports)
        .map(|(place, port): (u32, _)| (format!("PLANWRIGHT_PORT_{place}"), port.to_string()));
    first.into_iter().chain(counted).collect()
}

/// Whether nobody listens there.
fn is_free(port: u16) -> bool {
    let is_open = |bound: io::Result<TcpListener>| match bound {
        Ok(_) => true,
        // A machine may know only one of both kinds of addresses.
        Err(error) => !matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied),
    };
    is_open(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
        && is_open(TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)))
}

fn locked() -> Result<File, Error> {
    let folder = state_dir::folder();
    state_dir::create(&folder)?;
    let path = folder.join(LOCK);
    let failed = |source| Error::File { path: path.clone(), source };
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    lock.lock().map_err(failed)?;
    Ok(lock)
}
