//! Random plans, and things that two people do to them on two branches.

use planwright_core::plan::draft::Mark;
use planwright_core::plan::edit::PlanEdit;
use planwright_core::syntax::source::{Edit, Source, Span};

/// Random numbers that are the same on every run.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).expect("31 bits") % sides
    }

    fn pick<T: Copy>(&mut self, sides: &[T]) -> T {
        sides[self.roll(sides.len())]
    }
}

/// One thing that somebody does. A step is known by the word that stands in its contract alone: `check-2`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Deed {
    Mark(usize, Mark),
    Key(&'static str, &'static str),
    /// Moves the plan on.
    Status(&'static str),
    Note(&'static str),
    /// Gives a step an id.
    Id(usize, &'static str),
    /// Calls a step something else.
    Title(usize, &'static str),
    /// Changes what the agent is told.
    Task(usize, &'static str),
    Contract(usize, &'static str),
    /// Changes who does it.
    Target(usize, &'static str),
    /// Lets a step touch one more file.
    Touch(usize, &'static str),
    /// Lets a step wait for another one.
    Need(usize, usize),
    /// Puts a new step behind another one.
    Add(usize, &'static str),
    /// Takes a step out.
    Remove(usize),
    /// Moves a step to the front.
    First(usize),
    /// Says something else about why.
    Context(&'static str),
    /// Calls the plan something else.
    Name(&'static str),
}

/// What comes of two deeds on two branches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    Both,
    /// They are about the same thing.
    Conflict,
    /// People could see it either way: nothing is lost, and it does not matter who is ours.
    Either,
}

const WORDS: &[&str] = &["amber", "birch", "cedar", "delta", "ember", "fjord"];

impl Deed {
    pub(super) fn random(dice: &mut Dice, steps: usize) -> Self {
        let (step, word) = (dice.roll(steps), dice.pick(WORDS));
        match dice.roll(18) {
            0 | 1 => Self::Mark(step, dice.pick(&[Mark::Done, Mark::Failed, Mark::Skipped])),
            2 => Self::Key(dice.pick(&["owner", "reviewer", "ticket"]), word),
            3 => Self::Status(dice.pick(&["verified", "approved", "in-progress", "done", "failed"])),
            4 | 5 => Self::Note(word),
            6 => Self::Id(step, word),
            7 => Self::Title(step, word),
            8 => Self::Task(step, word),
            9 => Self::Contract(step, word),
            10 => Self::Target(step, word),
            11 => Self::Touch(step, word),
            12 => Self::Need(step, dice.roll(steps)),
            13 | 14 => Self::Add(step, word),
            15 => Self::Remove(step),
            16 => Self::First(step),
            _ => dice.pick(&[Self::Context as fn(&'static str) -> Self, Self::Name])(word),
        }
    }

    /// The same deed to the same thing, with another word; `None` where there is no such thing.
    pub(super) fn otherwise(&self) -> Option<Self> {
        let other = |word: &str| {
            WORDS[(WORDS.iter().position(|known| *known == word).unwrap_or(0) + 1) % WORDS.len()]
        };
        Some(match self {
            Self::Mark(step, Mark::Done) => Self::Mark(*step, Mark::Failed),
            Self::Mark(step, _) => Self::Mark(*step, Mark::Done),
            Self::Key(key, word) => Self::Key(key, other(word)),
            Self::Id(step, word) => Self::Id(*step, other(word)),
            Self::Title(step, word) => Self::Title(*step, other(word)),
            Self::Task(step, word) => Self::Task(*step, other(word)),
            Self::Contract(step, word) => Self::Contract(*step, other(word)),
            Self::Target(step, word) => Self::Target(*step, other(word)),
            Self::Context(word) => Self::Context(other(word)),
            Self::Name(word) => Self::Name(other(word)),
            Self::Status(_)
            | Self::Note(_)
            | Self::Touch(..)
            | Self::Need(..)
            | Self::Add(..)
            | Self::Remove(_)
            | Self::First(_) => return None,
        })
    }

    /// The step that it is about.
    fn step(&self) -> Option<usize> {
        match *self {
            Self::Mark(step, _)
            | Self::Id(step, _)
            | Self::Title(step, _)
            | Self::Task(step, _)
            | Self::Contract(step, _)
            | Self::Target(step, _)
            | Self::Touch(step, _)
            | Self::Need(step, _)
            | Self::Remove(step) => Some(step),
            Self::Key(..)
            | Self::Status(_)
            | Self::Note(_)
            | Self::Add(..)
            | Self::First(_)
            | Self::Context(_)
            | Self::Name(_) => None,
        }
    }

    /// What comes of it beside another deed.
    pub(super) fn beside(&self, other: &Self) -> Expected {
        if self == other {
            return Expected::Either;
        }
        if self.otherwise().is_some() && std::mem::discriminant(self) == std::mem::discriminant(other) {
            let is_same_key = |left: &Self, right: &Self| match (left, right) {
                (Self::Key(left, _), Self::Key(right, _)) => left == right,
                _ => left.step() == right.step(),
            };
            return if is_same_key(self, other) { Expected::Conflict } else { self.apart(other) };
        }
        let is_loose = |left: &Self, right: &Self| match left {
            // A step that goes takes along what is needed of it, and what was put behind it stands elsewhere.
            Self::First(_) => right.moves_steps(),
            // And a step that declared nothing declares all that it waited for: what that is depends on the steps in front.
            Self::Remove(_) | Self::Need(..) => right.moves_steps() || matches!(right, Self::Need(..)),
            Self::Mark(..)
            | Self::Key(..)
            | Self::Status(_)
            | Self::Note(_)
            | Self::Id(..)
            | Self::Title(..)
            | Self::Task(..)
            | Self::Contract(..)
            | Self::Target(..)
            | Self::Touch(..)
            | Self::Add(..)
            | Self::Context(_)
            | Self::Name(_) => false,
        };
        if is_loose(self, other) || is_loose(other, self) {
            return Expected::Either;
        }
        let takes_away =
            |left: &Self, right: &Self| matches!(left, Self::Remove(gone) if right.step() == Some(*gone));
        if takes_away(self, other) || takes_away(other, self) {
            return Expected::Conflict;
        }
        self.apart(other)
    }

    fn moves_steps(&self) -> bool {
        matches!(self, Self::Add(..) | Self::Remove(_) | Self::First(_))
    }

    fn apart(&self, other: &Self) -> Expected {
        // Two steps with one id are one too many, whoever gave it.
        // A step that both added is one step, even where they put it at two places.
        let is_same = matches!(
            (self, other),
            (Self::Id(_, left), Self::Id(_, right)) | (Self::Add(_, left), Self::Add(_, right)) if left == right
        );
        if is_same { Expected::Either } else { Expected::Both }
    }

    /// The plan after the deed; `None` where it can't be done.
    pub(super) fn done(&self, plan: &Source) -> Option<Source> {
        let patched =
            |plan: &Source, change: PlanEdit| Some(plan.edited(&plan.dialect().patch(plan, &change).ok()?));
        let place = |step: usize| place(plan, step);
        match self {
            Self::Mark(step, mark) => {
                patched(plan, PlanEdit::Mark { step: place(*step)?, mark: Some(*mark) })
            }
            Self::Key(key, value) => {
                patched(plan, PlanEdit::Set { key: (*key).to_owned(), value: (*value).to_owned() })
            }
            Self::Status(word) => {
                patched(plan, PlanEdit::Become { state: plan.dialect().state(word).expect("it is a word") })
            }
            Self::Note(word) => patched(plan, PlanEdit::Note { text: format!("noted {word}") }),
            Self::Id(step, word) => {
                patched(plan, PlanEdit::Rename { step: place(*step)?, id: format!("id-{word}") })
            }
            Self::Title(step, word) => {
                let title = plan.draft().steps[place(*step)?].title.span;
                Some(plan.edited(&[Edit::replace(title, format!("Do the {word} part {step}"))]))
            }
            Self::Task(step, word) => {
                replaced(plan, &format!("task-{step}."), &format!("task-{step}. Mind {word}."))
            }
            Self::Contract(step, word) => {
                replaced(plan, &format!("check-{step} "), &format!("check-{step} {word} "))
            }
            Self::Target(step, word) => {
                replaced(plan, &format!("agent-{step}"), &format!("agent-{step}-{word}"))
            }
            Self::Touch(step, word) => {
                let newline = plan.line_ending();
                let line = format!("- src/{step}.rs{newline}");
                replaced(plan, &line, &format!("{line}- src/{word}.rs{newline}"))
            }
            Self::Need(step, on) => {
                let (step, on) = (place(*step)?, place(*on)?);
                let draft = plan.draft();
                let on = (on < step).then(|| planwright_core::plan::verified::ids(&draft)[on].clone())?;
                patched(plan, PlanEdit::Need { step, on })
            }
            Self::Add(behind, word) => add(plan, place(*behind)?, word),
            Self::Remove(step) => remove(plan, place(*step)?),
            Self::First(step) => patched(plan, PlanEdit::Move { step: place(*step)?, to: 0 }),
            Self::Context(word) => replaced(plan, "Because.", &format!("Because of {word}.")),
            Self::Name(word) => replaced(plan, "# Plan", &format!("# Plan {word}")),
        }
    }
}

fn place(plan: &Source, step: usize) -> Option<usize> {
    let word = format!("check-{step} ");
    (plan.dialect().skim)(plan).steps.iter().position(|draft| plan.slice(draft.whole.0).contains(&word))
}

fn replaced(plan: &Source, old: &str, new: &str) -> Option<Source> {
    plan.text().contains(old).then(|| plan.with(plan.text().replacen(old, new, 1)))
}

fn renumbered(plan: &Source) -> Option<Source> {
    Some(plan.edited(&plan.dialect().patch(plan, &PlanEdit::Renumber).ok()?))
}

fn add(plan: &Source, behind: usize, word: &str) -> Option<Source> {
    let newline = plan.line_ending();
    let steps = plan.draft().steps;
    let whole = steps[behind].whole.0;
    let kept = plan.slice(whole).trim_end().len();
    // A number that no step has yet, so that no need comes to mean another step.
    let heading = format!("### {}. Add {word}", steps.len() + 1);
    let lines = ["", "", &heading, "", "**task:**", &format!("New {word}.")];
    renumbered(&plan.edited(&[Edit::insert(whole.start + kept, lines.join(newline))]))
}

fn remove(plan: &Source, step: usize) -> Option<Source> {
    let draft = plan.draft();
    let whole = draft.steps[step].whole.0;
    let is_needed = draft.steps.iter().any(|other| other.needs.is_some());
    if draft.steps.len() < 2 || is_needed {
        return None;
    }
    let whole = Span::new(whole.start, whole.end);
    renumbered(&plan.edited(&[Edit::delete(whole)]))
}

/// A plan of a few steps, in one of many spellings.
pub(super) fn plan(dice: &mut Dice) -> (Source, usize) {
    let count = 2 + usize::from(dice.roll(3) == 0);
    let mut text = dice
        .pick(&[
            "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n",
            "---\n# the usual\ntype: plan   # always\nstatus: \"draft\"\nowner: 'ada' # her\n\nticket: 7\n---\n",
        ])
        .to_owned();
    text += dice
        .pick(&["# Plan\n\n**Context:** Because.\n\n## Steps\n\n", "# Plan\n\n**Context**: Because.\n\n"]);
    let (has_ids, has_needs) = (dice.roll(3) > 0, dice.roll(2) == 0);
    for step in 0..count {
        let number = step + 1;
        text += &format!("### {number}. Step {}\n\n", ["one", "two", "three"][step]);
        if has_ids {
            text += &format!("**id:** s{step}\n");
        }
        text += &format!("**target:** agent-{step}\n");
        if has_needs && step > 0 {
            text +=
                &if has_ids { format!("**needs:** s{}\n", step - 1) } else { format!("**needs:** {step}\n") };
        }
        if dice.roll(2) == 0 {
            text += &format!("**touches:**\n- src/{step}.rs\n\n");
        }
        text +=
            &format!("**task:**\nDo task-{step}.\n\n**contract:**\n```shell\ntest check-{step} = x\n```\n");
        text += dice.pick(&["exit_code == 0\n", ""]);
        text += dice.pick(&["\n", "\n", "\n---\n\n"]);
    }
    text += dice.pick(&["", "## Notes\n\n- one\n", "## Appendix\n\nText.\n"]);
    if dice.roll(3) == 0 {
        text.truncate(text.trim_end().len());
    }
    if dice.roll(4) == 0 {
        text = text.replace('\n', "\r\n");
    }
    if dice.roll(5) == 0 {
        text.insert(0, '\u{feff}');
    }
    (Source::new("plan.md", text), count)
}
