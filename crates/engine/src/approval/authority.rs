//! Who may approve what: by the policy that a person wrote, or by default. Checked at approval, and again
//! when a run would start because of it: the record is not trusted on its own.

use std::path::Path;

use planwright_core::approval::ledger::{ApprovalSubject, LedgerEntry, statement};
use planwright_core::approval::policy as core_policy;
use planwright_core::approval::policy::{
    Decision, PolicyFacts, PolicyQuestion, SignatureStatus, required_from,
};
use planwright_core::approval::status::{ApprovalRecord, Revision};
use planwright_core::plan::draft::Draft;
use planwright_core::plan::identity::{Identity, Role};
use planwright_core::plan::verified::Plan;
use planwright_core::run::baseline::Baseline;
use planwright_core::syntax::source::Source;

use super::{ApprovalRequest, Approvals, Error, PlanRecord, shown};
use crate::config::policy;
use crate::config::policy::Loaded;
use crate::config::signature;
use crate::run::baseline;
use crate::run::circuit_breaker;
use crate::store::plan_count::parse;
use crate::system::clock::now;
use crate::system::process;
use crate::workspace::project::Verified;

/// The permission to approve.
pub(super) struct ApprovalRight {
    /// The rule that grants it.
    pub(super) rule: String,
    /// How many approvals are required.
    pub(super) needed: u32,
    pub(super) policy: String,
    /// When the approval expires.
    pub(super) until_ms: Option<u64>,
}

impl Approvals {
    /// The contract results before the work.
    pub(super) fn red(&self, plan: &Plan, subject: &ApprovalSubject) -> Result<Vec<Baseline>, Error> {
        let limits = baseline::BaselineLimits::of(&self.project().config);
        Ok(baseline::check(self.project(), plan, subject.base.as_ref(), &limits, &|_| ())?)
    }

    /// The known contract results before the work, and why the others are unknown.
    pub(super) fn known_red(
        &self,
        plan: &Plan,
        subject: &ApprovalSubject,
        why: &str,
    ) -> Result<Vec<Baseline>, Error> {
        let known = match &subject.base {
            Some(base) => baseline::known(&self.project().root, plan, base)?,
            None => Vec::new(),
        };
        Ok(baseline::with_unrun(plan, known, why))
    }

    /// The approval of a proposal by a policy rule.
    pub(super) fn automatic(
        &self,
        case: &PlanRecord,
        (plan, verified): (&Plan, &Verified),
        proposed: &LedgerEntry,
    ) -> Result<Option<LedgerEntry>, Error> {
        // A rule would restart it again and again.
        if circuit_breaker::trip(&self.runs, &case.plan)?.is_some() {
            return Ok(None);
        }
        let LedgerEntry::Proposed { revision, subject, by, red, dialect, .. } = proposed else {
            return Ok(None);
        };
        let loaded = self.policy()?.filter(|loaded| by.role != Role::Agent || self.holds_for_agents(loaded));
        let wanted = verified.draft.as_ref().and_then(|draft| required_from(&verified.source, draft));
        let facts = PolicyFacts {
            proposer: by,
            red,
            dialect,
            agents: &subject.agents,
            required_from: wanted.as_deref(),
            now_ms: now(),
        };
        let decision = core_policy::decide(loaded.as_ref().map(|loaded| &loaded.policy), plan, &facts);
        let Decision::Automatic { rule, until_ms } = decision else { return Ok(None) };
        Ok(Some(LedgerEntry::Approved {
            revision: *revision,
            subject: subject.clone(),
            by: Identity::policy(&rule),
            way: "policy".to_owned(),
            note: String::new(),
            rule,
            needed: 1,
            policy: digest_of(loaded.as_ref()),
            until_ms,
            signature: None,
        }))
    }

    /// Whether rules of this policy approve what an agent proposes. The user's file is found through
    /// variables, which an agent can set for a command; what `policy install` put into the state directory is
    /// not.
    fn holds_for_agents(&self, loaded: &Loaded) -> bool {
        let is_installed =
            policy::PolicyPaths::of(self.root()).is_ok_and(|places| places.repository == loaded.path);
        is_installed && process::job_above().is_none()
    }

    /// The permission of somebody to approve a revision.
    pub(super) fn right(
        &self,
        case: &PlanRecord,
        proposed: &ProposedPlan<'_>,
        yes: &ApprovalRequest,
    ) -> Result<ApprovalRight, Error> {
        let loaded = self.policy()?;
        let ask = proposed.ask(loaded.as_ref());
        let before: Vec<Identity> =
            case.standing.approvals.iter().map(|approval| approval.by.clone()).collect();
        // The signature itself is verified once it exists; without a key there will be none.
        let signed = if yes.key.is_some() { SignatureStatus::Yes } else { SignatureStatus::No };
        let rule = core_policy::may_approve(&ask, &yes.by, signed, &before)
            .map_err(|refusal| Error::Refused(refusal.to_string()))?;
        Ok(ApprovalRight {
            rule,
            needed: ask.needed,
            policy: digest_of(loaded.as_ref()),
            until_ms: ask.until_ms,
        })
    }

    /// The hash of the current policy; empty without one.
    pub(super) fn policy_digest(&self) -> Result<String, Error> {
        Ok(digest_of(self.policy()?.as_ref()))
    }

    /// Signs a statement with a key that counts as the signer's.
    pub(super) fn sign(&self, key: &Path, text: &str, by: &Identity) -> Result<String, Error> {
        let armored = signature::sign(key, text)?;
        policy::verify(self.root(), text, &armored, (&by.name, now()))?;
        Ok(armored)
    }

    /// Why recorded approvals do not permit a start: where a signature is required, being able to write the
    /// record must not be enough to approve.
    pub(super) fn unfounded(
        &self,
        case: &PlanRecord,
        plan: &Plan,
        approvals: &[ApprovalRecord],
    ) -> Result<Vec<String>, Error> {
        let loaded = self.policy()?;
        let Some(revision) = case.standing.newest() else { return Ok(Vec::new()) };
        let source = self.source(case, revision)?;
        let proposed = ProposedPlan::new(plan, revision, &source, &parse(&source));
        let mut why = Vec::new();
        let mut before: Vec<Identity> = Vec::new();
        for approval in approvals {
            match approval.by.role {
                Role::Policy => {
                    why.extend(proposed.no_rule(loaded.as_ref(), approval));
                }
                Role::Person | Role::Agent | Role::Age => {
                    let ask = proposed.ask(loaded.as_ref());
                    let signed = self.signed(&ask, case, approval)?;
                    let refusal = core_policy::may_approve(&ask, &approval.by, signed, &before).err();
                    why.extend(refusal.map(|refusal| refusal.to_string()));
                    if ask.needed as usize > approvals.len() {
                        why.push(format!("{} approvals required by rule: {}", ask.needed, ask.rule));
                    }
                }
            }
            before.push(approval.by.clone());
        }
        why.dedup();
        Ok(why)
    }

    fn policy(&self) -> Result<Option<Loaded>, Error> {
        Ok(policy::load(self.root())?)
    }

    /// Whether a recorded approval is signed by a key of the person it names. Checked only where it matters.
    fn signed(
        &self,
        ask: &PolicyQuestion,
        case: &PlanRecord,
        approval: &ApprovalRecord,
    ) -> Result<SignatureStatus, Error> {
        let Some(armored) = approval.signature.as_ref().filter(|_| ask.is_signed) else {
            return Ok(SignatureStatus::No);
        };
        let text = statement(&shown(&case.plan), &entry_of(approval)).unwrap_or_default();
        match policy::verify(self.root(), &text, armored, (&approval.by.name, approval.at_ms)) {
            Ok(_) => Ok(SignatureStatus::Yes),
            Err(policy::Unverified::Policy(error)) => Err(error.into()),
            Err(policy::Unverified::Signature(_)) => Ok(SignatureStatus::No),
        }
    }
}

/// A revision as proposed, which counts: the file may have changed.
pub(super) struct ProposedPlan<'a> {
    plan: &'a Plan,
    revision: &'a Revision,
    /// Whom the plan itself asks.
    required_from: Option<Vec<String>>,
}

impl<'a> ProposedPlan<'a> {
    pub(super) fn new(plan: &'a Plan, revision: &'a Revision, source: &Source, draft: &Draft) -> Self {
        Self { plan, revision, required_from: required_from(source, draft) }
    }

    /// Whom the policy asks to approve it.
    fn ask(&self, loaded: Option<&Loaded>) -> PolicyQuestion {
        core_policy::ask(loaded.map(|loaded| &loaded.policy), self.plan, &self.facts())
    }

    /// Why a rule no longer approves.
    fn no_rule(&self, loaded: Option<&Loaded>, approval: &ApprovalRecord) -> Option<String> {
        let decision = core_policy::decide(loaded.map(|loaded| &loaded.policy), self.plan, &self.facts());
        let is_said = matches!(decision, Decision::Automatic { rule, .. } if rule == approval.rule);
        (!is_said).then(|| format!("the policy has no matching rule `{}`", approval.rule))
    }

    fn facts(&self) -> PolicyFacts<'_> {
        PolicyFacts {
            proposer: &self.revision.by,
            red: &self.revision.red,
            dialect: &self.revision.dialect,
            agents: &self.revision.subject.agents,
            required_from: self.required_from.as_deref(),
            now_ms: now(),
        }
    }
}

fn digest_of(loaded: Option<&Loaded>) -> String {
    loaded.map(|loaded| loaded.digest.clone()).unwrap_or_default()
}

/// The ledger entry of an approval.
fn entry_of(approval: &ApprovalRecord) -> LedgerEntry {
    LedgerEntry::Approved {
        revision: approval.revision,
        subject: approval.subject.clone(),
        by: approval.by.clone(),
        way: approval.way.clone(),
        note: approval.note.clone(),
        rule: approval.rule.clone(),
        needed: approval.needed,
        policy: approval.policy.clone(),
        until_ms: approval.until_ms,
        signature: approval.signature.clone(),
    }
}
