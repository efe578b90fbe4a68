//! Whether a record is intact, and whether it proves what it claims. Works on data alone, so that a third
//! party with an exported file finds what the store itself would. Only reports; never repairs, and trusts no
//! claim in a record.

pub mod bundle;
pub mod hash_chain;
pub mod rerun;
mod approval;
mod chain_check;
mod history;
mod claim_check;
mod receipt;
mod test_result;

pub use claim_check::claims;
pub use history::{HistoryLine, history};
pub use test_result::{TestResult, test_results};

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::ledger::LedgerEntry;
use crate::audit::bundle::{Anchor, AuditBundle};
use crate::plan::identity::Identity;
use crate::syntax::source::Source;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuditFinding {
    pub kind: Kind,
    /// Relative to the project root; empty if the finding isn't about a plan.
    pub plan: String,
    /// A record, a step or a line.
    #[serde(rename = "where")]
    pub where_: String,
    pub text: String,
}

impl fmt::Display for AuditFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.kind, self.where_, self.text)
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident $word:literal $check:ident $meaning:literal,)*) => {
        /// The kinds of findings. One word each, the same in text, in JSON and in docs/reference/audit-record.md.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Kind {
            $($(#[doc = $doc])* #[serde(rename = $word)] $kind,)*
        }

        impl Kind {
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            pub const fn word(self) -> &'static str {
                match self { $(Self::$kind => $word),* }
            }

            /// One sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$kind => $meaning),* }
            }

            pub const fn check(self) -> AuditCheck {
                match self { $(Self::$kind => AuditCheck::$check),* }
            }
        }
    };
}

kinds! {
    /// A record is missing between two others.
    Missing "missing-record" Chain "a record was removed from the middle of a book",
    /// A record does not match its hash.
    Changed "changed-record" Chain "a record was changed after it was written",
    /// A record does not follow the one before it.
    Unlinked "unlinked-record" Chain "a record was inserted, or the one before it was replaced",
    /// A record can't be read.
    Unreadable "unreadable-record" Chain "a record is not in planwright's format",
    /// A record is stored under a key that isn't its own.
    Misfiled "misfiled-record" Tables "the same record could be stored twice",
    /// A book ends at a record other than its recorded head.
    OtherHead "other-head" Chain "records were cut off the end of a book, or appended without updating its head",
    /// A book ends before a head that the anchor recorded.
    CutOff "cut-off" Anchor "the database was truncated or restored from a backup: its anchor has later records",
    /// A record differs from the one that the anchor recorded.
    Rewritten "rewritten" Anchor "the book was rewritten: its anchor has a different record at this position",
    /// A book that the anchor recorded is missing.
    Gone "gone" Anchor "a whole run or ledger was deleted",
    /// A recorded head belongs to another store.
    OtherStore "other-store" Anchor "the database was replaced, or the anchor comes from another machine",
    AnchorUnreadable "unreadable-anchor" Anchor "the anchor file was changed",
    AnchorLost "lost-anchor" Anchor "the anchor file was deleted: earlier records have no anchor",
    FileUnreadable "unreadable-line" File "the exported file was changed",
    FileChanged "changed-file" File "the exported file was changed",
    FileCut "cut-file" File "the exported file was cut off",
    /// An event that could not have happened.
    IllegalEvent "illegal-event" Fold "the journal contains an event that planwright would not write",
    /// An entry that could not have been made.
    IllegalEntry "illegal-entry" Fold "the ledger contains an entry that planwright does not allow",
    /// The text of a plan doesn't match the approved digest.
    OtherPlan "other-plan" Plan "the plan that ran is not the approved one",
    OtherDigest "other-digest" Receipt "a verdict was copied from another plan",
    OtherContract "other-contract" Receipt "the command that ran is not the approved one",
    /// A verdict doesn't follow from the observation.
    WrongVerdict "wrong-verdict" Receipt "a verdict was forged: it does not follow from the recorded observation",
    /// A blob that a record refers to is missing.
    NoOutput "no-output" Output "the output of an agent or a contract was deleted",
    /// A blob doesn't match its hash.
    OtherOutput "other-output" Output "the output of an agent or a contract was changed",
    /// A run started without an approval.
    Unapproved "unapproved" Approval "work was done without an approval",
    /// A run started on an approval of something else.
    OtherApproval "other-approval" Approval "the approval has a different subject or approver than the run claims",
    /// Something approved changed before the run started.
    Moved "moved" Approval "the base, an agent command or a sealed file changed after approval",
    Expired "expired" Approval "the approval had expired when the run started",
    TooFew "too-few" Approval "fewer people approved than required",
    WrongPerson "wrong-person" Person "an approver was not allowed to approve",
    BadSignature "bad-signature" Signature "the signature was not made with the named approver's key",
    /// A run in the ledger has no journal.
    NoRun "no-run" Approval "the record of a run is missing",
    /// A mark in the file has no receipt.
    UnprovenMark "unproven-mark" Mark "a mark without a receipt is only a claim; run the contract to verify it",
    /// A table doesn't match the journals.
    Table "table" Tables "the queue or the questions do not match the journals",
    Database "database" Tables "the database file is corrupt, or another program wrote to it",
    Broke "broke" Rerun "a contract that passed fails on the current files",
    /// A mark in the file is refuted by the contract.
    FalseMark "false-mark" Rerun "the file marks a step as done, but its contract fails",
    /// A receipt is for a contract that the plan no longer has.
    MovedContract "moved-contract" Rerun "the plan changed: the contract that passed is not the current one",
    NotRerun "not-rerun" Rerun "unknown: a contract could not be run again",
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The checks. Each can be disabled on its own, which lets tests show what it detects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuditCheck {
    /// The hash chain.
    Chain,
    /// Heads recorded in the anchor.
    Anchor,
    /// The bytes of an exported file.
    File,
    /// Whether the recorded events could have happened.
    Fold,
    /// The texts of plans against their digests.
    Plan,
    /// Verdicts against the plan and the judge.
    Receipt,
    Output,
    Approval,
    /// Whether each approver was allowed to approve.
    Person,
    Signature,
    /// The marks in the plan file.
    Mark,
    /// Tables derived from the journals, and the database itself.
    Tables,
    Rerun,
}

/// The enabled checks: all of them, except those that a test disables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckSet {
    left_out: BTreeSet<AuditCheck>,
}

impl CheckSet {
    pub fn all() -> Self {
        Self::default()
    }

    /// For tests that show what a check detects.
    pub fn without(left_out: impl IntoIterator<Item = AuditCheck>) -> Self {
        Self { left_out: left_out.into_iter().collect() }
    }

    pub fn has(&self, check: AuditCheck) -> bool {
        !self.left_out.contains(&check)
    }
}

/// A head that was recorded outside the store, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptHead {
    pub anchor: Anchor,
    /// Such as `the anchor file`.
    pub by: String,
}

/// An approval, with what its validity depends on.
#[derive(Debug, Clone, Copy)]
pub struct Claimed<'a> {
    pub approved: &'a LedgerEntry,
    /// In milliseconds since 1970.
    pub at_ms: u64,
    /// The last proposal before it.
    pub proposed: Option<&'a LedgerEntry>,
    /// The text of that proposal, if available.
    pub text: Option<&'a str>,
    /// Who had approved the same revision before.
    pub before: &'a [Identity],
}

/// Whether somebody was allowed to make an approval; the error is the reason why not.
pub type Authorizer<'a> = &'a dyn Fn(&Claimed<'_>) -> Result<(), String>;
/// Whether this person signed a statement at that time, in milliseconds since 1970; the error is the reason
/// why not.
pub type Signed<'a> = &'a dyn Fn((&str, &str), &Identity, u64) -> Result<(), String>;

/// What the record is compared with.
pub struct AuditContext<'a> {
    /// The current plan file, if it exists.
    pub file: Option<&'a Source>,
    /// Heads of this plan's books that were recorded outside the store.
    pub kept: &'a [KeptHead],
    pub may: Authorizer<'a>,
    pub signed: Signed<'a>,
    pub checks: &'a CheckSet,
}

/// Checks the record of one plan, and reports all findings in the order of the record.
pub fn audit(bundle: &AuditBundle, world: &AuditContext<'_>) -> Vec<AuditFinding> {
    let mut found = Found { plan: &bundle.plan, checks: world.checks, findings: Vec::new() };
    chain_check::chains(bundle, &mut found);
    chain_check::anchors(bundle, world.kept, &mut found);
    let folded = receipt::fold(bundle, &mut found);
    receipt::receipts(bundle, &folded, &mut found);
    receipt::outputs(bundle, &mut found);
    approval::approvals(bundle, world, &mut found);
    claim_check::marks(bundle, &folded, world.file, &mut found);
    found.findings
}

/// Problems of an exported file as such.
pub fn file_findings(
    path: &str,
    plan: &str,
    faults: &[bundle::BundleFault],
    checks: &CheckSet,
) -> Vec<AuditFinding> {
    let mut found = Found { plan, checks, findings: Vec::new() };
    for fault in faults {
        match fault {
            bundle::BundleFault::Line(line, why) => {
                found.find(Kind::FileUnreadable, format!("{path}:{line}"), format!("invalid line: {why}"));
            }
            bundle::BundleFault::Seal => found.find(
                Kind::FileChanged,
                path.to_owned(),
                "checksum mismatch with its last line".to_owned(),
            ),
            bundle::BundleFault::Cut => {
                found.find(Kind::FileCut, path.to_owned(), "truncated: its last line is missing".to_owned());
            }
        }
    }
    found.findings
}

struct Found<'a> {
    plan: &'a str,
    checks: &'a CheckSet,
    findings: Vec<AuditFinding>,
}

impl Found<'_> {
    fn has(&self, check: AuditCheck) -> bool {
        self.checks.has(check)
    }

    fn find(&mut self, kind: Kind, where_: String, text: String) {
        // Callers ask before they look, too; this is for checks that report several kinds.
        if self.has(kind.check()) {
            self.findings.push(AuditFinding { kind, plan: self.plan.to_owned(), where_, text });
        }
    }
}
