//! Whether the approvers were allowed to approve, judged by today's policy where it is the one they approved
//! under. What cannot be determined is a note, not a finding: a stranger need not have the policy.

use std::cell::RefCell;
use std::collections::BTreeSet;

use planwright_core::approval::ledger::LedgerEntry;
use planwright_core::approval::policy as core_policy;
use planwright_core::approval::policy::{Decision, PolicyFacts, SignatureStatus, required_from};
use planwright_core::audit::Claimed;
use planwright_core::dialect;
use planwright_core::plan::identity::{Identity, Role};
use planwright_core::syntax::source::Source;

use crate::config::policy;
use crate::config::policy::{Loaded, Unverified};
use crate::config::signature;
use crate::store::plan_count::{parse, trusted};
use crate::workspace::project::Project;

/// What approvals are checked against.
pub(super) struct RecordedRight<'a> {
    project: &'a Project,
    loaded: Option<Loaded>,
    is_known: bool,
    notes: RefCell<BTreeSet<String>>,
}

impl<'a> RecordedRight<'a> {
    pub(super) fn of(project: &'a Project) -> Self {
        let right = Self { project, loaded: None, is_known: true, notes: RefCell::default() };
        match policy::load(&project.root) {
            Ok(loaded) => Self { loaded, ..right },
            Err(error) => {
                right.note(format!("approvers were not checked: {error}"));
                Self { is_known: false, ..right }
            }
        }
    }

    fn note(&self, text: String) {
        self.notes.borrow_mut().insert(text);
    }

    /// What could not be determined.
    pub(super) fn notes(&self) -> Vec<String> {
        self.notes.borrow().iter().cloned().collect()
    }

    /// Whether the approver was allowed to approve.
    pub(super) fn may(&self, claimed: &Claimed<'_>) -> Result<(), String> {
        let LedgerEntry::Approved { by, rule, needed, policy, signature, .. } = claimed.approved else {
            return Ok(());
        };
        let digest = self.loaded.as_ref().map(|loaded| loaded.digest.as_str()).unwrap_or_default();
        if !self.is_known || policy != digest {
            self.note("some approvals were made under another policy".to_owned());
            return Ok(());
        }
        let Some(LedgerEntry::Proposed { by: proposer, red, dialect: written_in, subject, .. }) =
            claimed.proposed
        else {
            return Ok(());
        };
        let source = claimed
            .text
            .zip(dialect::named(written_in))
            .map(|(text, dialect)| Source::new("plan", text).written_in(dialect));
        let Some((source, plan)) = source.and_then(|source| trusted(&source).map(|plan| (source, plan)))
        else {
            return Ok(());
        };
        let wanted = required_from(&source, &parse(&source));
        let facts = PolicyFacts {
            proposer,
            red,
            dialect: written_in,
            agents: &subject.agents,
            required_from: wanted.as_deref(),
            now_ms: claimed.at_ms,
        };
        let policy = self.loaded.as_ref().map(|loaded| &loaded.policy);
        if by.role == Role::Policy {
            let decision = core_policy::decide(policy, &plan, &facts);
            return match decision {
                Decision::Automatic { rule: ref says, .. } if says == rule => Ok(()),
                Decision::Automatic { .. } | Decision::Ask(_) => {
                    Err(format!("the policy has no matching rule `{rule}`"))
                }
            };
        }
        let ask = core_policy::ask(policy, &plan, &facts);
        let signed = if signature.is_some() { SignatureStatus::Yes } else { SignatureStatus::No };
        core_policy::may_approve(&ask, by, signed, claimed.before).map_err(|refusal| refusal.to_string())?;
        match ask.needed > *needed {
            true => Err(format!("{} approvals required by rule: {}", ask.needed, ask.rule)),
            false => Ok(()),
        }
    }

    /// Whether a signature belongs to its signer.
    pub(super) fn signed(
        &self,
        (text, armored): (&str, &str),
        by: &Identity,
        at_ms: u64,
    ) -> Result<(), String> {
        match policy::verify(&self.project.root, text, armored, (&by.name, at_ms)) {
            Ok(_) => Ok(()),
            Err(Unverified::Signature(signature::Error::NoList) | Unverified::Policy(_)) => {
                self.note("signatures were not checked: no list of signers found".to_owned());
                Ok(())
            }
            Err(Unverified::Signature(error)) => Err(error.to_string()),
        }
    }
}
