//! Ports that trees have for themselves. A lease is a part of what the registry knows of a tree, for all repositories of the user
//! together: a port knows no repository. It ends when the tree is forgotten.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::Path;

use super::Error;
use crate::keep;
use crate::store::{registry, state};

/// The file that is locked while leases change.
const LOCK: &str = "ports.lock";

/// Gives a registered tree as many ports as it is to have. Those that it has already stay its own; a tree that is not registered
/// has none.
pub(super) fn lease(top: &Path, count: usize, (min, max): (u16, u16)) -> Result<Vec<u16>, Error> {
    let _lock = locked()?;
    let Some(mut tree) = registry::tree_at(top)? else { return Ok(Vec::new()) };
    let others = registry::trees().into_iter().filter(|other| other.path != top);
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
        registry::register(&tree)?;
    }
    Ok(ports)
}

/// The variables that name the ports of the tree that a folder lies in; none where it lies in no tree, or that has no ports.
pub fn environment(folder: &Path) -> Vec<(String, String)> {
    // Where nobody can tell there are none: what is leased is never taken by chance, so nothing collides.
    keep::tree_around(folder).ok().flatten().map(|tree| variables(&tree.ports)).unwrap_or_default()
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
    let folder = state::folder();
    state::create(&folder)?;
    let path = folder.join(LOCK);
    let failed = |source| Error::File { path: path.clone(), source };
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
    lock.lock().map_err(failed)?;
    Ok(lock)
}
