//! What a program needs to carry out runs itself: the loop, what the loop needs of the world, and the process that supervises
//! commands on this machine.

pub use crate::run::driver::{Error, Host, HostEvent, Progress, Recovered, drive};
pub use crate::system::process::{SHIM, shim_main};
