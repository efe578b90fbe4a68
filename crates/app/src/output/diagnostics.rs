//! What the verifier complains about, in every format that people and programs read. Owns the formats; never adds, drops or
//! reorders a diagnostic.

mod github;
mod human;
mod junit;
mod sarif;
mod short;
mod window;

pub use github::github;
pub use human::human;
pub use junit::junit;
pub use sarif::sarif;
pub use short::short;

/// What is known about a rule besides its diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleDoc<'a> {
    /// The stable code, such as `PW0203`.
    pub code: &'a str,
    /// The name, such as `unmade-file`.
    pub name: &'a str,
    /// What it finds, in one line.
    pub summary: &'a str,
}

#[cfg(test)]
mod folder;
#[cfg(test)]
mod json;
#[cfg(test)]
mod sample;
