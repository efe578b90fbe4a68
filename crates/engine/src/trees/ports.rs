//! Ports that trees have for themselves. The leases lie in the state folder, for all repositories of the user together: a port
//! knows no repository.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::path::{Path, PathBuf};

use super::Error;
use crate::store::{self, state};

/// The file with the leases, and the one that is locked while they change.
const FILE: &str = "ports.json";
const LOCK: &str = "ports.lock";
/// Every port there is, each with a long path.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Who has which port.
type Leases = BTreeMap<u16, PathBuf>;

/// Gives a tree as many ports as it is to have. Those that it has already stay its own.
pub(super) fn lease(tree: &Path, count: usize, (min, max): (u16, u16)) -> Result<Vec<u16>, Error> {
    change(|leases| {
        // A tree that is neither on the disk nor known any more can't use its ports.
        leases.retain(|_, other| other.symlink_metadata().is_ok() || state::tree_at(other).is_some());
        let mut ports: Vec<u16> = held(leases, tree);
        for port in ports.split_off(count.min(ports.len())) {
            leases.remove(&port);
        }
        for port in min..=max {
            if ports.len() == count {
                break;
            }
            if !leases.contains_key(&port) && is_free(port) {
                leases.insert(port, tree.to_owned());
                ports.push(port);
            }
        }
        match ports.len() == count {
            true => Ok(ports),
            // Nothing is kept of a lease that can't be given whole.
            false => Err(Error::Ports { count, free: ports.len(), min, max }),
        }
    })
}

/// Gives the ports of a tree back.
pub(super) fn release(tree: &Path) -> Result<(), Error> {
    if of(tree).is_empty() {
        return Ok(());
    }
    change(|leases| {
        leases.retain(|_, other| other != tree);
        Ok(())
    })
}

/// The ports of a tree, in order.
pub fn of(tree: &Path) -> Vec<u16> {
    // Who can't read the leases has none: what is leased is never taken by chance, so nothing collides.
    read().map(|leases| held(&leases, tree)).unwrap_or_default()
}

/// The variables that name the ports of the tree that a folder lies in; none where it lies in no tree, or that has no ports.
pub fn environment(folder: &Path) -> Vec<(String, String)> {
    let Ok(leases) = read() else { return Vec::new() };
    let tree = folder.ancestors().find(|above| leases.values().any(|tree| tree == above));
    tree.map(|tree| variables(&held(&leases, tree))).unwrap_or_default()
}

/// The variables for these ports: `PLANWRIGHT_PORT` is the first, `PLANWRIGHT_PORT_1` and so on are all of them.
pub(super) fn variables(ports: &[u16]) -> Vec<(String, String)> {
    let first = ports.first().map(|port| ("PLANWRIGHT_PORT".to_owned(), port.to_string()));
    let counted = (1..).zip(ports).map(|(place, port)| (format!("PLANWRIGHT_PORT_{place}"), port.to_string()));
    first.into_iter().chain(counted).collect()
}

fn held(leases: &Leases, tree: &Path) -> Vec<u16> {
    leases.iter().filter(|(_, other)| *other == tree).map(|(port, _)| *port).collect()
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

fn read() -> io::Result<Leases> {
    let path = state::folder().join(FILE);
    let text = match store::read_text(&path, FILE_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Leases::new()),
        read => read?,
    };
    serde_json::from_str(&text).map_err(io::Error::from)
}

/// Changes the leases; nobody else does meanwhile.
fn change<T>(act: impl FnOnce(&mut Leases) -> Result<T, Error>) -> Result<T, Error> {
    let folder = state::folder();
    state::create(&folder)?;
    let failed = |source| Error::File { path: folder.join(FILE), source };
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(LOCK));
    let lock = lock.map_err(failed)?;
    lock.lock().map_err(failed)?;
    let mut leases = read().map_err(failed)?;
    let before = leases.clone();
    let made = act(&mut leases)?;
    if leases != before {
        let text = serde_json::to_string(&leases).map_err(|error| failed(error.into()))?;
        store::put_private(&folder.join(FILE), &text).map_err(failed)?;
    }
    Ok(made)
}
