//! Who may say yes to what: by the policy that a person wrote, or by default.

use std::path::Path;

use planwright_core::ledger::{Entry, Role, Subject};
use planwright_core::plan::Plan;
use planwright_core::red::Red;
use planwright_core::standing::Revision;

use super::{Case, Decisions, Error, Yes};
use crate::project::Verified;
use crate::red;

/// The right to say yes.
pub(super) struct Right {
    /// The rule that gives it.
    pub(super) rule: String,
    /// How many have to say yes.
    pub(super) needed: u32,
    /// The hash of the policy.
    pub(super) policy: String,
    /// Until when the yes holds.
    pub(super) until_ms: Option<u64>,
}

impl Decisions {
    /// What the contracts say before the work.
    pub(super) fn red(&self, plan: &Plan, subject: &Subject) -> Result<Vec<Red>, Error> {
        let limits = red::Limits::of(&self.project().config);
        Ok(red::check(self.project(), plan, subject.base.as_ref(), &limits, &|_| ())?)
    }

    /// The approval that a written rule gives to what is being proposed.
    pub(super) fn automatic(
        &self,
        _case: &Case,
        _of: (&Plan, &Verified),
        _proposed: &Entry,
    ) -> Result<Option<Entry>, Error> {
        Ok(None)
    }

    /// The right of somebody to say yes to a revision.
    pub(super) fn right(&self, _case: &Case, _of: (&Plan, &Revision), yes: &Yes) -> Result<Right, Error> {
        if yes.by.role != Role::Person {
            return Err(Error::Refused(format!("{} is no person, and only a person may approve", yes.by)));
        }
        Ok(Right {
            rule: "a person, by default".to_owned(),
            needed: 1,
            policy: String::new(),
            until_ms: None,
        })
    }

    /// The hash of the policy that holds now; empty where there is none.
    pub(super) fn policy_digest(&self) -> Result<String, Error> {
        Ok(String::new())
    }

    /// Signs a statement.
    pub(super) fn sign(&self, _key: &Path, _text: &str) -> Result<String, Error> {
        Err(Error::Refused("approvals can't be signed yet".to_owned()))
    }
}
