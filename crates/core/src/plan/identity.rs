//! Who does something to a plan.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// As far as it is known.
    pub name: String,
    pub role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Somebody at a terminal, or with a key.
    Person,
    /// A program that writes or runs plans.
    Agent,
    /// A rule that a person wrote.
    Policy,
    /// planwright itself, because time passed.
    Age,
}

impl Identity {
    pub fn person(name: impl Into<String>) -> Self {
        Self { name: name.into(), role: Role::Person }
    }

    pub fn agent(name: impl Into<String>) -> Self {
        Self { name: name.into(), role: Role::Agent }
    }

    pub fn policy(rule: impl Into<String>) -> Self {
        Self { name: rule.into(), role: Role::Policy }
    }

    pub fn age() -> Self {
        Self { name: "age".to_owned(), role: Role::Age }
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.role {
            Role::Person | Role::Age => f.write_str(&self.name),
            Role::Agent => write!(f, "{} (an agent)", self.name),
            Role::Policy => write!(f, "policy rule `{}`", self.name),
        }
    }
}

/// Serializes an identity as its name alone.
pub fn as_name<S: Serializer>(identity: &Identity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&identity.name)
}

/// Serializes an identity as people read it.
pub fn as_text<S: Serializer>(identity: &Identity, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(identity)
}
