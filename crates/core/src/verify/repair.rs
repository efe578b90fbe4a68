//! Applies fixes to a plan. Whatever a rule proposes, no fix removes a step or removes or changes a contract: such a fix is
//! refused.

use crate::plan::draft::{ContractDraft, Draft, StepDraft, StepNumber};
use crate::syntax::diagnostic::{Diagnostic, Fix};
use crate::syntax::source::{Edit, Source};

/// A plan with fixes applied.
pub struct Repaired {
    pub source: Source,
    /// What the applied fixes do.
    pub titles: Vec<String>,
    /// The fixes that are not applied, by the place of their diagnostic, and why.
    pub refused: Vec<(usize, String)>,
}

/// Applies the fixes of these diagnostics. Of overlapping ones, only the first.
pub fn repaired(source: &Source, diagnostics: &[Diagnostic]) -> Repaired {
    let before = source.draft();
    let mut chosen: Vec<(usize, &Fix)> = Vec::new();
    for (place, fix) in diagnostics.iter().enumerate().filter_map(|(at, one)| Some((at, one.fix.as_ref()?))) {
        if !chosen.iter().any(|(_, other)| meets(fix, other)) {
            chosen.push((place, fix));
        }
    }
    let mut refused = Vec::new();
    if harm(&before, &edited(source, &chosen).draft()).is_some() {
        // Applied one after the other, to find those that do harm.
        let mut kept = Vec::new();
        for one in chosen {
            kept.push(one);
            if let Some(why) = harm(&before, &edited(source, &kept).draft()) {
                kept.pop();
                refused.push((one.0, why));
            }
        }
        chosen = kept;
    }
    let titles = chosen.iter().map(|(_, fix)| fix.title.clone()).collect();
    Repaired { source: edited(source, &chosen), titles, refused }
}

fn edited(source: &Source, fixes: &[(usize, &Fix)]) -> Source {
    let edits: Vec<Edit> = fixes.iter().flat_map(|(_, fix)| fix.edits.iter().cloned()).collect();
    source.edited(&edits)
}

fn meets(one: &Fix, other: &Fix) -> bool {
    let meets =
        |edit: &Edit, other: &Edit| edit.span.start <= other.span.end && other.span.start <= edit.span.end;
    one.edits.iter().any(|edit| other.edits.iter().any(|other| meets(edit, other)))
}

/// What a changed plan has lost: a step, or a contract that the plan had before. More of both is no loss.
fn harm(before: &Draft, after: &Draft) -> Option<String> {
    if after.steps.len() < before.steps.len() {
        return Some(format!("it would leave {} of {} steps", after.steps.len(), before.steps.len()));
    }
    let mut others = after.steps.iter();
    let mut is_kept = |step: &&StepDraft| others.any(|other| judges_alike(step, other));
    // A template has placeholders where the steps made of it have names.
    let real = before.steps.iter().filter(|step| matches!(step.number.value, StepNumber::Counted(_)));
    let lost = real.filter(|step| command(step).is_some()).find(|step| !is_kept(step))?;
    Some(format!("it would change the contract of step {}", lost.number.value))
}

fn judges_alike(one: &StepDraft, other: &StepDraft) -> bool {
    let code = |step: &StepDraft| {
        let expect = step.contract.as_ref().and_then(|contract| contract.expect.as_ref());
        expect.map_or_else(|| "0".to_owned(), |expect| expect.value.clone())
    };
    command(one) == command(other) && code(one) == code(other)
}

/// The command that judges a step; none if a person does.
fn command(step: &StepDraft) -> Option<&str> {
    let contract: &ContractDraft = step.contract.as_ref().filter(|contract| !contract.is_manual)?;
    contract.command.as_ref().map(|command| command.value.as_str())
}
