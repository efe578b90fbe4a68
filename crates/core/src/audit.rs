//! Whether a record is what was written, and whether it proves what it says. Works on data alone, so that a stranger with a file
//! finds what the store itself would. Looks; never mends, and takes nobody's word.

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
pub use history::{Happened, history};
pub use test_result::{TestResult, test_results};

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::approval::ledger::{Entry, Who};
use crate::audit::bundle::{Anchor, Bundle};
use crate::syntax::source::Source;

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    pub kind: Kind,
    /// The plan, relative to the root of the project; empty where it is about no plan.
    pub plan: String,
    /// The place: a record, a step, a line.
    #[serde(rename = "where")]
    pub where_: String,
    /// What was found, in words.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.kind, self.where_, self.text)
    }
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident $word:literal $check:ident $meaning:literal,)*) => {
        /// What can be found. One word for each, the same in text, in JSON and in docs/audit.md.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum Kind {
            $($(#[doc = $doc])* #[serde(rename = $word)] $kind,)*
        }

        impl Kind {
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            /// The word for it.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$kind => $word),* }
            }

            /// What it means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$kind => $meaning),* }
            }

            /// The check that finds it.
            pub const fn check(self) -> Check {
                match self { $(Self::$kind => Check::$check),* }
            }
        }
    };
}

kinds! {
    /// A record is missing between two others.
    Missing "missing-record" Chain "a record was taken out of the middle of a book",
    /// A record is not what its hash was made of.
    Changed "changed-record" Chain "a record was changed after it was written",
    /// A record does not follow the one before it.
    Unlinked "unlinked-record" Chain "a record was put in, or another was put in the place of the one before it",
    /// A record can't be read.
    Unreadable "unreadable-record" Chain "a record is not in the vocabulary of planwright",
    /// A record is filed under another key than its own.
    Misfiled "misfiled-record" Tables "a record could be recorded a second time",
    /// A book ends elsewhere than it says.
    OtherHead "other-head" Chain "records were cut off the end of a book, or added behind its back",
    /// A book ends before a place that was kept elsewhere.
    CutOff "cut-off" Anchor "the database was cut off or set back: its anchor knows of later records",
    /// A record is not the one that was kept elsewhere.
    Rewritten "rewritten" Anchor "the book was written anew: its anchor knows another record at this place",
    /// A book is gone that was kept elsewhere.
    Gone "gone" Anchor "a whole run or ledger was deleted",
    /// A head that was kept elsewhere is of another store.
    OtherStore "other-store" Anchor "the database was replaced, or the anchor comes from another machine",
    /// The anchor can't be read.
    AnchorUnreadable "unreadable-anchor" Anchor "the file that keeps the heads was changed",
    /// The anchor is gone.
    AnchorLost "lost-anchor" Anchor "the file that keeps the heads was deleted; it knows nothing of what was before",
    /// A line of an exported file can't be read.
    FileUnreadable "unreadable-line" File "the exported file was changed",
    /// The bytes of an exported file are not those that were exported.
    FileChanged "changed-file" File "the exported file was changed",
    /// An exported file has no end.
    FileCut "cut-file" File "the exported file was cut off",
    /// An event that could not have happened.
    IllegalEvent "illegal-event" Fold "the journal tells what the harness does not do: somebody else wrote it",
    /// An entry that could not have been said.
    IllegalEntry "illegal-entry" Fold "the ledger tells what planwright does not allow: somebody else wrote it",
    /// The text of a plan does not have the digest that was approved.
    OtherPlan "other-plan" Plan "what was run is not what was approved",
    /// A receipt is about another plan.
    OtherDigest "other-digest" Receipt "a verdict was taken over from another plan",
    /// A receipt is about another contract.
    OtherContract "other-contract" Receipt "another command was run than the one that was approved",
    /// A verdict does not follow from what was seen.
    WrongVerdict "wrong-verdict" Receipt "a verdict was forged: the judge says otherwise",
    /// What a record names is not kept.
    NoOutput "no-output" Output "what an agent or a contract printed was deleted",
    /// What is kept under a name is not what it names.
    OtherOutput "other-output" Output "what an agent or a contract printed was changed",
    /// A run began that nobody approved.
    Unapproved "unapproved" Approval "work was done that nobody had said yes to",
    /// A run began on an approval of something else.
    OtherApproval "other-approval" Approval "the approval is for something else, or by somebody else, than the run says",
    /// Something that was approved moved before the run began.
    Moved "moved" Approval "what was run is not exactly what was approved",
    /// The approval had run out.
    Expired "expired" Approval "the approval no longer held when the run began",
    /// Too few had approved.
    TooFew "too-few" Approval "more people had to say yes than did",
    /// Somebody approved who may not.
    WrongPerson "wrong-person" Person "somebody approved who has no right to",
    /// A signature does not hold.
    BadSignature "bad-signature" Signature "the approval was not made with the key of who is said to have made it",
    /// A run that the ledger knows is not recorded.
    NoRun "no-run" Approval "the record of a run is gone",
    /// The file claims what no receipt shows.
    UnprovenMark "unproven-mark" Mark "a mark without a receipt is a claim; run the contract to settle it",
    /// The tables differ from what the journals say.
    Table "table" Tables "the lists of what waits do not follow from the journals",
    /// The database is damaged.
    Database "database" Tables "the database file is damaged, or was written to by something else",
    /// A contract that passed no longer does.
    Broke "broke" Rerun "a contract that passed fails on what is there now",
    /// The file claims what the contract denies.
    FalseMark "false-mark" Rerun "the file says that a step is done, and its contract fails",
    /// A receipt is about another contract than the plan has.
    MovedContract "moved-contract" Rerun "the plan was changed since: what passed is not what would be run now",
    /// A contract could not be run again.
    NotRerun "not-rerun" Rerun "nothing is known about a contract: it could not be run again",
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What is looked at. Each can be left out alone, which shows what it is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// The hashes from record to record.
    Chain,
    /// Heads that were kept elsewhere.
    Anchor,
    /// The bytes of an exported file.
    File,
    /// Whether what is told could have happened.
    Fold,
    /// The texts of plans against their digests.
    Plan,
    /// Verdicts against plan and judge.
    Receipt,
    Output,
    Approval,
    /// Whether who approved may.
    Person,
    Signature,
    /// What the plan file claims.
    Mark,
    /// What follows from the journals, and the database itself.
    Tables,
    Rerun,
}

/// Which checks are made: all of them, but for those that a test leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Checks {
    left_out: BTreeSet<Check>,
}

impl Checks {
    pub fn all() -> Self {
        Self::default()
    }

    /// All checks but these: for tests that show what a check is good for.
    pub fn without(left_out: impl IntoIterator<Item = Check>) -> Self {
        Self { left_out: left_out.into_iter().collect() }
    }

    /// Whether a check is made.
    pub fn has(&self, check: Check) -> bool {
        !self.left_out.contains(&check)
    }
}

/// A head that was kept elsewhere, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptHead {
    pub anchor: Anchor,
    /// Where it was kept, in words: `the anchor file`.
    pub by: String,
}

/// An approval, with what there is to know about the right to it.
#[derive(Debug, Clone, Copy)]
pub struct Claimed<'a> {
    pub approved: &'a Entry,
    /// When it was made, in milliseconds since 1970.
    pub at_ms: u64,
    /// What was proposed last before it.
    pub proposed: Option<&'a Entry>,
    /// The text of that, where it is at hand.
    pub text: Option<&'a str>,
    /// Who had approved the same before.
    pub before: &'a [Who],
}

/// Whether an approval was somebody's to make. Says why not.
pub type May<'a> = &'a dyn Fn(&Claimed<'_>) -> Result<(), String>;
/// Whether a signature over a statement was made by somebody at that time, in milliseconds since 1970. Says why not.
pub type Signed<'a> = &'a dyn Fn((&str, &str), &Who, u64) -> Result<(), String>;

/// What the record is compared with.
pub struct World<'a> {
    /// The plan file as it is now; `None` where there is none.
    pub file: Option<&'a Source>,
    /// Heads that were kept elsewhere, of books of this plan.
    pub kept: &'a [KeptHead],
    /// Whether somebody may approve.
    pub may: May<'a>,
    /// Whether a signature holds.
    pub signed: Signed<'a>,
    /// Which checks are made.
    pub checks: &'a Checks,
}

/// Checks the record of one plan. Everything is found at once, in the order of the record.
pub fn audit(bundle: &Bundle, world: &World<'_>) -> Vec<Finding> {
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

/// What is wrong with an exported file as such.
pub fn file_findings(path: &str, plan: &str, faults: &[bundle::Fault], checks: &Checks) -> Vec<Finding> {
    let mut found = Found { plan, checks, findings: Vec::new() };
    for fault in faults {
        match fault {
            bundle::Fault::Line(line, why) => found.find(
                Kind::FileUnreadable,
                format!("{path}:{line}"),
                format!("the line can't be read: {why}"),
            ),
            bundle::Fault::Seal => found.find(
                Kind::FileChanged,
                path.to_owned(),
                "its bytes are not those that its last line was made of".to_owned(),
            ),
            bundle::Fault::Cut => found.find(
                Kind::FileCut,
                path.to_owned(),
                "it has no last line: the end was cut off".to_owned(),
            ),
        }
    }
    found.findings
}

/// Collects what is found.
struct Found<'a> {
    plan: &'a str,
    checks: &'a Checks,
    findings: Vec<Finding>,
}

impl Found<'_> {
    fn has(&self, check: Check) -> bool {
        self.checks.has(check)
    }

    fn find(&mut self, kind: Kind, where_: String, text: String) {
        // The check is asked before it looks, too; here it holds for those that look for several things at once.
        if self.has(kind.check()) {
            self.findings.push(Finding { kind, plan: self.plan.to_owned(), where_, text });
        }
    }
}
