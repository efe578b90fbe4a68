//! Where a fault is put and which: the k-th call of a name that a driver or a supervisor makes, in one command of the
//! scenario. A point has a name that can be typed, so that a failure can be repeated.

use std::fmt;

use crate::call;

/// Who makes a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    /// The command that was typed, with all its threads.
    Driver,
    /// The processes between it and agents and contracts, all together.
    Supervisor,
}

impl Role {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Driver => "driver",
            Self::Supervisor => "supervisor",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        [Self::Driver, Self::Supervisor].into_iter().find(|role| role.name() == name)
    }
}

/// What is done to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deed {
    /// Whoever makes it is killed before it is done.
    Kill,
    /// It is not done and returns this error.
    Fail(i32),
    /// It is not done and says that it was.
    Skip,
}

/// What the tracer is told.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    Watch,
    /// Do this to one call.
    Once {
        role: Role,
        call: &'static str,
        /// Which one, counted from 1.
        count: usize,
        /// What is done to it.
        deed: Deed,
    },
    /// Say of every call with one of these names that it was done, and don't do it.
    Skip(Vec<&'static str>),
}

impl Order {
    /// What is to be done to this call.
    pub(crate) fn deed(&self, by: Role, name: &str, number: usize) -> Option<Deed> {
        match self {
            Self::Watch => None,
            Self::Once { role, call, count, deed } => {
                (*role == by && *call == name && *count == number).then_some(*deed)
            }
            Self::Skip(calls) => calls.contains(&name).then_some(Deed::Skip),
        }
    }

    /// Reads what [`fmt::Display`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.split('/').collect();
        let known = |name: &str| call::named(name).map(|call| call.name);
        match parts[..] {
            ["watch"] => Some(Self::Watch),
            ["skip", ref names @ ..] => {
                names.iter().map(|name| known(name)).collect::<Option<_>>().map(Self::Skip)
            }
            [deed, role, call, count] => Some(Self::Once {
                role: Role::parse(role)?,
                call: known(call)?,
                count: count.parse().ok()?,
                deed: match deed.parse() {
                    Ok(error) => Deed::Fail(error),
                    Err(_) if deed == "kill" => Deed::Kill,
                    Err(_) => return None,
                },
            }),
            _ => None,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Watch => write!(f, "watch"),
            Self::Once { role, call, count, deed } => {
                match deed {
                    Deed::Kill => write!(f, "kill")?,
                    Deed::Fail(error) => write!(f, "{error}")?,
                    Deed::Skip => write!(f, "skip")?,
                }
                write!(f, "/{}/{call}/{count}", role.name())
            }
            Self::Skip(calls) => write!(f, "skip/{}", calls.join("/")),
        }
    }
}

/// A fault in one command of the scenario.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) command: usize,
    pub(crate) order: Order,
}

impl Point {
    /// Reads what [`fmt::Display`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (command, order) = text.split_once(':')?;
        Some(Self { command: command.parse().ok()?, order: Order::parse(order)? })
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.command, self.order)
    }
}
