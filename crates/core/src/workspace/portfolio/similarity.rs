//! Whether two plans describe the same work, since people and agents that don't know about each other plan
//! work twice. Similarity is a hint for the person who decides, never a verdict.

use std::collections::BTreeSet;

use crate::plan::draft::Draft;
use crate::syntax::source::text;

/// Titles with this word overlap count as the same.
const TITLE_PERCENT_MIN: usize = 80;
/// Steps with this word overlap count as the same.
const STEPS_PERCENT_MIN: usize = 80;
/// The title overlap required when the steps match: plans from one template share their steps.
const TITLE_OF_STEPS_PERCENT_MIN: usize = 50;
/// A one-word title is too short to compare.
const TITLE_WORDS_MIN: usize = 2;

/// The words that describe a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fingerprint {
    title: BTreeSet<String>,
    steps: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Similarity {
    Title,
    Steps,
}

impl Similarity {
    pub const fn words(self) -> &'static str {
        match self {
            Self::Title => "the titles are nearly the same",
            Self::Steps => "the steps are nearly the same",
        }
    }
}

impl Fingerprint {
    pub fn of(draft: &Draft) -> Self {
        let steps = draft.steps.iter().flat_map(|step| {
            let task = words(&text(step.task.as_ref()));
            words(&step.title.value).into_iter().chain(task)
        });
        Self { title: words(&text(draft.title.as_ref())), steps: steps.collect() }
    }

    pub fn likeness(&self, other: &Self) -> Option<Similarity> {
        let title = share(&self.title, &other.title);
        let is_long = self.title.len().min(other.title.len()) >= TITLE_WORDS_MIN;
        if title >= TITLE_PERCENT_MIN && is_long {
            return Some(Similarity::Title);
        }
        let steps = share(&self.steps, &other.steps);
        (steps >= STEPS_PERCENT_MIN && title >= TITLE_OF_STEPS_PERCENT_MIN).then_some(Similarity::Steps)
    }
}

/// The words of a text, ignoring case and order.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The overlap of two sets, as a percentage of their union.
fn share(one: &BTreeSet<String>, other: &BTreeSet<String>) -> usize {
    let both = one.intersection(other).count();
    both * 100 / (one.len() + other.len() - both).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::source::Source;

    fn gist(title: &str, steps: &[&str]) -> Fingerprint {
        let mut text = format!("---\ntype: plan\n---\n\n# {title}\n\n## Steps\n");
        for (place, step) in steps.iter().enumerate() {
            text.push_str(&format!("\n### {}. {step}\n\n**task:** {step}, please.\n", place + 1));
        }
        Fingerprint::of(&Source::new("plan", text).draft())
    }

    // D-24
    #[test]
    fn plans_of_the_same_work_are_told_and_those_of_one_template_are_not() {
        let steps = ["Write the test", "Make it pass"];
        let one = gist("Fix the login timeout", &steps);
        let like = |title: &str, steps: &[&str]| one.likeness(&gist(title, steps));
        assert_eq!(like("Fix the login timeout", &["Other"]), Some(Similarity::Title));
        assert_eq!(like("Login timeout: fix the", &["Other"]), Some(Similarity::Title));
        assert_eq!(like("Fix the slow login", &steps), Some(Similarity::Steps));
        assert_eq!(like("Move the users table", &steps), None, "the steps of a template alone say nothing");
        assert_eq!(like("Fix the slow login", &["Measure it", "Cache sessions"]), None);
        assert_eq!(
            gist("Parser", &["A"]).likeness(&gist("Parser", &["B"])),
            None,
            "one word says too little"
        );
        assert_eq!(gist("", &[]).likeness(&gist("", &[])), None);
    }
}
