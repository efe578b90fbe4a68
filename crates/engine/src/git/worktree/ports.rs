//! Ports reserved for worktrees. A lease is part of the registry entry of a worktree and is shared by all
//! repositories of the user, since ports are. It ends when the worktree is forgotten.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::Path;

use super::Error;
use crate::git::repository;
use crate::store::state_dir;
use crate::store::worktree_registry;

/// The lock file for changes of leases.
const LOCK: &str = "ports.lock";

/// Reserves ports for a registered worktree. It keeps those it has; an unregistered one gets none.
pub(in crate::git) fn lease(top: &Path, count: usize, (min, max): (u16, u16)) -> Result<Vec<u16>, Error> {
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

/// The port variables of the worktree around a directory; empty without a worktree or ports.
pub fn environment(folder: &Path) -> Vec<(String, String)> {
    // If it cannot be determined there are none: leased ports are never used by chance, so nothing collides.
    repository::tree_around(folder).ok().flatten().map(|tree| variables(&tree.ports)).unwrap_or_default()
}

/// The variables for these ports: `PLANWRIGHT_PORT` is the first, `PLANWRIGHT_PORT_1` and so on are all of
/// them.
pub(super) fn variables(ports: &[u16]) -> Vec<(String, String)> {
    let first = ports.first().map(|port| ("PLANWRIGHT_PORT".to_owned(), port.to_string()));
    let counted = (1..)
        .zip(ports)
        .map(|(place, port): (u32, _)| (format!("PLANWRIGHT_PORT_{place}"), port.to_string()));
    first.into_iter().chain(counted).collect()
}

fn is_free(port: u16) -> bool {
    let is_open = |bound: io::Result<TcpListener>| match bound {
        Ok(_) => true,
        // A machine may support only one kind of address.
        Err(error) => !matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied),
    };
    is_open(TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
        && is_open(TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)))
}

fn locked() -> Result<File, Error> {
    let folder = state_dir::folder()?;
    state_dir::create(&folder)?;
    let path = folder.join(LOCK);
    let failed = |source| Error::File { path: path.clone(), source };
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    lock.lock().map_err(failed)?;
    Ok(lock)
}
