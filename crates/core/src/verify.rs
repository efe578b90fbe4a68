//! The checker: every rule that a plan is held to before it runs. Each rule has one file, one line in [`RULES`] and one
//! page in docs/reference/rules. Rules are pure: [`Study::questions`] lists what they need to know about the world, and the
//! answers come in as [`Facts`].

mod repair;
pub mod suggest;
mod subject;
pub(crate) use lower::step_as_read;
pub use repair::{Repaired, repaired};
pub use subject::{BashFault, Facts, Questions, Study, VerifyLimits, VerifySubject};

use std::collections::HashSet;

use crate::plan::draft::Draft;
use crate::plan::verified::Plan;
use crate::syntax::diagnostic::{Diagnostic, Label, Severity};
use crate::syntax::source::{Source, Span};

/// Declares the rule modules and lists them in [`RULES`], ordered by code.
macro_rules! rules {
    ($($module:ident),* $(,)?) => {
        $(mod $module;)*
        /// Every rule, ordered by code.
        pub const RULES: &[Rule] = &[$($module::RULE),*];
    };
}

rules![
    unreadable_text,
    bad_frontmatter,
    missing_frontmatter,
    unknown_field,
    missing_title,
    no_steps,
    step_numbering,
    missing_task,
    unexpanded_template,
    unclosed_fence,
    duplicate_field,
    heading_level,
    hidden_character,
    unread_text,
    unknown_status,
    unknown_dialect,
    unread_step,
    odd_number,
    plain_field,
    missing_plan_file,
    misnamed_task,
    duplicate_index,
    missing_id,
    wrong_type,
    unreadable_record,
    misplaced_index,
    complexity_range,
    unexplained_skip,
    wrong_kind,
    bad_plan_id,
    bad_version,
    unlisted_tool,
    large_context,
    unknown_need,
    cycle,
    unmade_file,
    unknown_topic,
    escaping_path,
    self_need,
    touches_overlap,
    bad_reference,
    early_contract,
    touches_sealed,
    invalid_bash,
    manual_step,
    empty_contract,
    missing_program,
    foreign_fence,
    cannot_fail,
    passes_already,
    bad_exit_code,
    second_contract,
    masked_exit,
    thin_budget,
    undeclared_touches,
    too_many_retries,
    unreadable_on_fail,
    unreadable_limit,
    unknown_target,
    missing_target,
    duplicate_id,
    unsafe_id,
    unsafe_env,
    unknown_tool,
];

mod lower;

pub use unknown_dialect::{NoPlan, no_plan};
pub use unreadable_text::{Unreadable, read, too_large};
pub use unsafe_env::is_obeyed;

/// One problem that a plan can have.
pub struct Rule {
    /// The stable code: `PW` and four digits; the first two are the family.
    pub code: &'static str,
    /// Names the problem, so that "allow this" makes sense.
    pub name: &'static str,
    /// The default; a rule may override it per diagnostic.
    pub severity: Severity,
    /// One line, for lists of rules.
    pub summary: &'static str,
    pub page: &'static str,
    /// Reports every case.
    check: fn(&VerifySubject<'_>, &mut Vec<Diagnostic>),
}

impl Rule {
    /// The rule with this code or name.
    pub fn find(wanted: &str) -> Option<&'static Rule> {
        RULES.iter().find(|rule| rule.code.eq_ignore_ascii_case(wanted) || rule.name == wanted)
    }

    fn at(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code: self.code,
            rule: self.name,
            severity: self.severity,
            message: shortened(message.into()),
            primary: Label { span, text: String::new() },
            secondary: Vec::new(),
            notes: Vec::new(),
            help: None,
            fix: None,
        }
    }
}

/// A message quotes the plan, and a quote can be as long as the file.
const MESSAGE_CHARS_MAX: usize = 400;

fn shortened(mut message: String) -> String {
    if let Some((end, _)) = message.char_indices().nth(MESSAGE_CHARS_MAX) {
        message.truncate(end);
        message.push('…');
    }
    message
}

/// The result of a check.
#[derive(Debug)]
pub struct CheckedPlan {
    /// The plan, if it has no errors.
    pub plan: Option<Plan>,
    /// In file order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Checks a plan against every rule.
pub fn verify(study: &Study<'_>, facts: &Facts, limits: &VerifyLimits) -> CheckedPlan {
    let subject = VerifySubject::new(study, facts, limits);
    let mut diagnostics = Vec::new();
    // A file that is not a plan, or that was not parsed to its end, would only produce misleading follow-up
    // diagnostics.
    let none = no_plan(study.source, study.draft).map(|_| &unknown_dialect::RULE);
    let only = none.or(unreadable_record::is_unread(&subject).then_some(&unreadable_record::RULE));
    for rule in RULES.iter().filter(|rule| only.is_none_or(|only| rule.code == only.code)) {
        (rule.check)(&subject, &mut diagnostics);
    }
    in_file_order(study.source, &mut diagnostics);
    let is_clean = diagnostics.iter().all(|diagnostic| diagnostic.severity == Severity::Warning);
    let plan = is_clean.then(|| lower::plan(&subject));
    CheckedPlan { plan, diagnostics }
}

/// Reads the plan from bytes that were checked and approved before. The world may have changed since, so everything the
/// rules would ask about it is assumed to hold.
pub fn trusted(source: &Source) -> Option<Plan> {
    trusted_draft(source, &source.draft())
}

/// The same for text that is already parsed.
pub fn trusted_draft(source: &Source, draft: &Draft) -> Option<Plan> {
    let study = Study::of(source, draft);
    let Questions { paths, programs, .. } = study.questions();
    let values = |spanned: &[crate::syntax::source::Spanned<String>]| {
        spanned
            .iter()
            .map(|spanned| spanned.value.trim_start_matches("topic:").to_owned())
            .collect::<Vec<_>>()
    };
    let facts = Facts {
        paths,
        programs,
        agents: draft.steps.iter().filter_map(|step| Some(step.target.as_ref()?.value.clone())).collect(),
        topics: draft.steps.iter().flat_map(|step| values(&step.reads)).collect(),
        ..Facts::default()
    };
    verify(&study, &facts, &VerifyLimits { retries_max: u32::MAX, ..VerifyLimits::default() }).plan
}

/// Sorts by position, then by code, and drops duplicates.
fn in_file_order(source: &Source, diagnostics: &mut Vec<Diagnostic>) {
    let end = source.text().len();
    for diagnostic in diagnostics.iter() {
        assert!(diagnostic.primary.span.end <= end, "{} points past the end of the file", diagnostic.code);
    }
    diagnostics.sort_by_key(|diagnostic| {
        (diagnostic.primary.span.start, diagnostic.code, diagnostic.primary.span.end)
    });
    // Duplicates need not be adjacent: another diagnostic of the same rule and position can sort between them.
    let mut said: HashSet<(&str, Span, String)> = HashSet::new();
    diagnostics.retain(|found| said.insert((found.code, found.primary.span, found.message.clone())));
}
