//! Semantic three-way merge of plan files, for git. Pure: three texts in, one text out.
//!
//! Every text is divided into units (`unit`): keys of the frontmatter, sections, steps, their fields, list items. Units
//! are merged by name, so that two changes conflict only if both sides change the same thing differently. Changes of
//! only one side are taken byte for byte. In the end the merged text is parsed again and must mean what both sides
//! meant (`fact`); otherwise the merge is not clean, whatever it looks like.

mod append;
mod split;
mod check;
mod sequence;
mod spelling;
mod step;
mod unit;
mod yaml;

pub use append::merge_appended;

use std::collections::BTreeMap;

use crate::plan::draft::{Draft, Mark, StepDraft};
use crate::syntax::source::Source;
use sequence::Stretch;
use split::MergeSide;
use unit::{MergeUnit, UnitKind};

/// A merged text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedText {
    /// With markers around every conflict.
    pub text: String,
    /// The number of conflicts.
    pub conflicts: usize,
}

/// The style of conflict markers.
#[derive(Debug, Clone, Copy)]
pub struct Markers<'a> {
    /// The length of a marker; git uses 7.
    pub size: usize,
    /// The label of our side.
    pub ours: &'a str,
    /// The label of their side.
    pub theirs: &'a str,
}

impl Default for Markers<'_> {
    fn default() -> Self {
        Self { size: 7, ours: "ours", theirs: "theirs" }
    }
}

impl Markers<'_> {
    fn clash(&self, ours: &str, theirs: &str) -> MergedText {
        let line = |mark: &str, label: &str| format!("{}{label}\n", mark.repeat(self.size.max(1)));
        let ended = |text: &str| {
            if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
        };
        let text = [
            line("<", &format!(" {}", self.ours)),
            ended(ours),
            line("=", ""),
            ended(theirs),
            line(">", &format!(" {}", self.theirs)),
        ];
        MergedText { text: text.concat(), conflicts: 1 }
    }
}

/// Merges both sides' changes to a plan.
///
/// Swapping the sides only changes the order inside conflicts.
pub fn merge(base: &Source, ours: &Source, theirs: &Source) -> MergedText {
    merge_marked([base, ours, theirs], &Markers::default())
}

/// Merges base, ours and theirs, with markers of the caller's choice.
pub fn merge_marked([base, ours, theirs]: [&Source; 3], markers: &Markers<'_>) -> MergedText {
    let clean = |text: &str| MergedText { text: text.to_owned(), conflicts: 0 };
    if ours.text() == theirs.text() || theirs.text() == base.text() {
        return clean(ours.text());
    }
    if ours.text() == base.text() {
        return clean(theirs.text());
    }
    let (plain, spelling) = spelling::plain([base, ours, theirs]);
    let texts = plain.map(|source| {
        let draft = source.draft();
        (source, draft)
    });
    let merged = by_meaning(texts.clone(), markers).unwrap_or_else(|| by_lines(&texts, markers));
    MergedText { text: spelling.restore(&merged.text), ..merged }
}

/// Merges texts line by line.
pub fn merge_lines([base, ours, theirs]: [&str; 3], markers: &Markers<'_>) -> MergedText {
    together(sequence::lines(base, ours, theirs), markers)
}

fn together(stretches: Vec<Stretch>, markers: &Markers<'_>) -> MergedText {
    let mut merged = MergedText { text: String::new(), conflicts: 0 };
    for stretch in stretches {
        let piece = match stretch {
            Stretch::Settled(text) => MergedText { text, conflicts: 0 },
            Stretch::Clash { ours, theirs } => markers.clash(&ours, &theirs),
        };
        merged.text += &piece.text;
        merged.conflicts += piece.conflicts;
    }
    merged
}

/// Merges the units of the texts; `None` if the result would not mean what both sides meant.
fn by_meaning(texts: [(Source, Draft); 3], markers: &Markers<'_>) -> Option<MergedText> {
    let drafts = texts.each_ref().map(|(_, draft)| draft);
    let names = step::names(drafts);
    // The facts of each side are read before its needs are renumbered: in its own text they refer to its own steps.
    let said: [_; 3] = std::array::from_fn(|side| check::facts(&texts[side].0, drafts[side], &names[side]));
    let are_counted = drafts.into_iter().all(step::are_counted);
    // First give the same step the same number everywhere: only then can changes and moves be compared.
    let provisional = step::counted(names.iter().flatten());
    let alike = step::follow(texts, &names, are_counted.then_some(&provisional))?;
    let order = step_order(&alike, &names)?;
    let numbers = step::counted(&order);
    let followed = step::follow(alike, &names, are_counted.then_some(&numbers))?;
    let sides: [MergeSide<'_>; 3] = std::array::from_fn(|side| {
        let (source, draft) = &followed[side];
        MergeSide { source, draft, names: &names[side] }
    });
    let [base, ours, theirs] = sides.each_ref().map(MergeSide::units);
    let merged = Merger { markers }.units(&base, &ours, &theirs)?;
    if merged.conflicts > 0 {
        return Some(merged);
    }
    let read = followed[0].0.with(merged.text.as_str());
    let draft = read.draft();
    let is_sound = draft.steps.len() == order.len()
        && check::are_merged(said.each_ref(), &check::facts(&read, &draft, &order));
    is_sound.then_some(merged)
}

/// The names of the steps of the merged text, in their order.
fn step_order(texts: &[(Source, Draft); 3], names: &[Vec<String>; 3]) -> Option<Vec<String>> {
    if names[1] == names[0] && names[2] == names[0] {
        return Some(names[0].clone());
    }
    let mut units: [Vec<MergeUnit<'_>>; 3] = std::array::from_fn(|side| {
        let (source, draft) = &texts[side];
        MergeSide { source, draft, names: &names[side] }.units()
    });
    let count = |units: &[MergeUnit<'_>]| units.iter().filter(|unit| unit.kind == UnitKind::Step).count();
    let are_here = (0..3).all(|side| count(&units[side]) == names[side].len());
    if !are_here {
        // They are nested: in a list of a record, or in separate files.
        units = std::array::from_fn(|side| {
            let (source, draft) = &texts[side];
            let unit = |(step, name): (&StepDraft, &String)| {
                let text = unit::UnitText(source.text());
                let mut unit = text.unit(Some(name.clone()), UnitKind::Step, step.whole.0);
                unit.rank = step::rank(step);
                unit
            };
            draft.steps.iter().zip(&names[side]).map(unit).collect()
        });
    }
    let [base, ours, theirs] = &units;
    let known = Known::of(base, ours, theirs);
    let steps =
        known.order()?.into_iter().filter_map(|id| known.any(id)).filter(|unit| unit.kind == UnitKind::Step);
    Some(steps.filter_map(|unit| unit.name.clone()).collect())
}

/// The fallback: a line merge, or if even that would mean something that neither side wrote, one conflict around
/// everything.
fn by_lines(texts: &[(Source, Draft); 3], markers: &Markers<'_>) -> MergedText {
    let (sources, drafts) = (texts.each_ref().map(|text| &text.0), texts.each_ref().map(|text| &text.1));
    let [base, ours, theirs] = sources.map(Source::text);
    let merged = merge_lines([base, ours, theirs], markers);
    let says_the_same = |side: usize, draft: &Draft| {
        let titles =
            |draft: &Draft| draft.steps.iter().map(|step| step.title.value.clone()).collect::<Vec<_>>();
        titles(drafts[side]) == titles(draft)
    };
    let is_sound = merged.conflicts > 0 || {
        let names = step::names(drafts);
        let read = sources[0].with(merged.text.as_str());
        let draft = read.draft();
        let facts = |side: usize| check::facts(sources[side], drafts[side], &names[side]);
        // If no step was added, removed or moved, the names are those of the base.
        (0..3).all(|side| says_the_same(side, &draft))
            && check::are_merged([&facts(0), &facts(1), &facts(2)], &check::facts(&read, &draft, &names[0]))
    };
    if is_sound { merged } else { apart(ours, theirs, markers) }
}

/// Both texts with one conflict around everything but their common start and end.
fn apart(ours: &str, theirs: &str, markers: &Markers<'_>) -> MergedText {
    let [ours, theirs] = [ours, theirs].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    let front = ours.iter().zip(&theirs).take_while(|(left, right)| left == right).count();
    let (our_rest, their_rest) = (&ours[front..], &theirs[front..]);
    let back =
        our_rest.iter().rev().zip(their_rest.iter().rev()).take_while(|(left, right)| left == right).count();
    let clash = markers
        .clash(&our_rest[..our_rest.len() - back].concat(), &their_rest[..their_rest.len() - back].concat());
    let text = [ours[..front].concat(), clash.text, our_rest[our_rest.len() - back..].concat()].concat();
    MergedText { text, conflicts: 1 }
}

/// Three lists of units and which of them are the same.
struct Known<'l, 'a> {
    lists: [&'l [MergeUnit<'a>]; 3],
    /// What every unit of each list is: the same number for the same unit.
    ids: [Vec<usize>; 3],
    /// Where each is, by its number.
    places: Vec<[Option<usize>; 3]>,
}

impl<'l, 'a> Known<'l, 'a> {
    fn of(base: &'l [MergeUnit<'a>], ours: &'l [MergeUnit<'a>], theirs: &'l [MergeUnit<'a>]) -> Self {
        let mut count = base.len();
        let mut fresh = || {
            count += 1;
            count - 1
        };
        let our_ids: Vec<usize> =
            pair(base, ours).into_iter().map(|pair| pair.unwrap_or_else(&mut fresh)).collect();
        let mut is_taken = vec![false; ours.len()];
        let their_ids: Vec<usize> = pair(base, theirs)
            .into_iter()
            .zip(theirs)
            .map(|(pair, unit)| {
                pair.unwrap_or_else(|| {
                    let is_same = |other: &MergeUnit<'_>| match (&unit.name, &other.name) {
                        (Some(left), Some(right)) => left == right,
                        (None, None) => unit.text == other.text,
                        (Some(_), None) | (None, Some(_)) => false,
                    };
                    let twin = (0..ours.len())
                        .find(|&at| our_ids[at] >= base.len() && !is_taken[at] && is_same(&ours[at]));
                    twin.map_or_else(&mut fresh, |at| {
                        is_taken[at] = true;
                        our_ids[at]
                    })
                })
            })
            .collect();
        let ids = [(0..base.len()).collect(), our_ids, their_ids];
        let mut places = vec![[None; 3]; count];
        for (side, ids) in ids.iter().enumerate() {
            for (place, &id) in ids.iter().enumerate() {
                places[id][side] = Some(place);
            }
        }
        Self { lists: [base, ours, theirs], ids, places }
    }

    fn unit(&self, id: usize, side: usize) -> Option<&'l MergeUnit<'a>> {
        self.places[id][side].map(|place| &self.lists[side][place])
    }

    fn any(&self, id: usize) -> Option<&'l MergeUnit<'a>> {
        self.unit(id, 1).or(self.unit(id, 2)).or(self.unit(id, 0))
    }

    /// The merged list in order. A unit that one side removed is dropped unless the other one changed it.
    fn order(&self) -> Option<Vec<usize>> {
        let is_kept = |id: usize| match [0, 1, 2].map(|side| self.unit(id, side)) {
            [Some(_), None, None] => false,
            [Some(base), Some(one), None] | [Some(base), None, Some(one)] => base.text != one.text,
            [_, _, _] => true,
        };
        let comes_first = |left: &[usize], right: &[usize]| self.rank(left) < self.rank(right);
        let [base, ours, theirs] = [0, 1, 2].map(|side| self.ids[side].as_slice());
        sequence::order([base, ours, theirs], is_kept, comes_first)
    }

    /// Steps come before anything else inserted at the same position: a section may end where no step follows it.
    fn rank(&self, run: &[usize]) -> Vec<(bool, &'l str, &'l str)> {
        let units = run.iter().filter_map(|&id| self.any(id));
        units.map(|unit| (unit.kind != UnitKind::Step, unit.rank.as_str(), unit.text)).collect()
    }

    /// The blank lines between two units of the merged list.
    fn gap(&self, id: usize, next: Option<usize>, inner: Option<&str>) -> String {
        let beside = |side: usize| {
            let place = self.places[id][side]?;
            let follower = self.ids[side].get(place + 1).copied();
            (follower == next).then(|| self.lists[side][place].gap)
        };
        let longest = |gaps: &[Option<&'l str>]| {
            gaps.iter().flatten().copied().max_by_key(|gap| (gap.len(), *gap)).unwrap_or_default()
        };
        let gap = match [0, 1, 2].map(beside) {
            [Some(base), Some(ours), Some(theirs)] if theirs == base => ours,
            [Some(base), Some(ours), Some(theirs)] if ours == base => theirs,
            [_, None, None] => {
                let is_alike = next.and_then(|next| Some(self.any(id)?.kind.is_like(&self.any(next)?.kind)));
                let own = [1, 2].map(|side| self.unit(id, side).map(|unit| unit.gap));
                let in_front = [1, 2].map(|side| {
                    let place = self.places[next?][side]?.checked_sub(1)?;
                    Some(self.lists[side][place].gap)
                });
                match inner.filter(|_| is_alike == Some(true)) {
                    Some(inner) => return inner.to_owned(),
                    None => longest(&[own, in_front].concat()),
                }
            }
            [_, ours, theirs] => longest(&[ours, theirs]),
        };
        gap.to_owned()
    }
}

/// For every unit of `side` the unit of `base` that it was: by its name, or by its text and place.
fn pair(base: &[MergeUnit<'_>], side: &[MergeUnit<'_>]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; side.len()];
    let mut named: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, unit) in base.iter().enumerate().rev() {
        if let Some(name) = &unit.name {
            named.entry(name).or_default().push(place);
        }
    }
    for (unit, pair) in side.iter().zip(&mut pairs) {
        *pair = unit.name.as_deref().and_then(|name| named.get_mut(name)?.pop());
    }
    let unnamed =
        |units: &[MergeUnit<'_>]| (0..units.len()).filter(|&at| units[at].name.is_none()).collect::<Vec<_>>();
    let (base_places, side_places) = (unnamed(base), unnamed(side));
    let base_texts: Vec<&str> = base_places.iter().map(|&at| base[at].text).collect();
    let side_texts: Vec<&str> = side_places.iter().map(|&at| side[at].text).collect();
    let same = sequence::common(&base_texts, &side_texts);
    for &(old, new) in &same {
        pairs[side_places[new]] = Some(base_places[old]);
    }
    for (old, new) in sequence::changes(&same, base_texts.len(), side_texts.len()) {
        // If the count is unchanged, each corresponds to the one at its position. Otherwise the mapping is unknown.
        if old.len() == new.len() {
            for (old, new) in old.zip(new) {
                let (old, new) = (base_places[old], side_places[new]);
                pairs[new] = base[old].kind.is_like(&side[new].kind).then_some(old);
            }
        }
    }
    pairs
}

struct Merger<'m> {
    markers: &'m Markers<'m>,
}

impl Merger<'_> {
    /// Merges lists of units; `None` if both sides reordered them differently.
    fn units(
        &self,
        base: &[MergeUnit<'_>],
        ours: &[MergeUnit<'_>],
        theirs: &[MergeUnit<'_>],
    ) -> Option<MergedText> {
        let known = Known::of(base, ours, theirs);
        let order = known.order()?;
        let mut merged = MergedText { text: String::new(), conflicts: 0 };
        let mut inner: Vec<(UnitKind, String)> = Vec::new();
        for (at, &id) in order.iter().enumerate() {
            let next = order.get(at + 1).copied();
            let unit = known.any(id)?;
            let used = inner.iter().find(|(kind, _)| kind.is_like(&unit.kind)).map(|(_, gap)| gap.clone());
            let gap = known.gap(id, next, used.as_deref());
            let piece = self.unit([0, 1, 2].map(|side| known.unit(id, side)));
            merged.text += &piece.text;
            merged.text += &gap;
            merged.conflicts += piece.conflicts;
            if next.and_then(|next| known.any(next)).is_some_and(|next| next.kind.is_like(&unit.kind)) {
                inner.retain(|(kind, _)| !kind.is_like(&unit.kind));
                inner.push((unit.kind.clone(), gap));
            }
        }
        Some(merged)
    }

    fn unit(&self, [base, ours, theirs]: [Option<&MergeUnit<'_>>; 3]) -> MergedText {
        let clean = |text: &str| MergedText { text: text.to_owned(), conflicts: 0 };
        let (ours, theirs) = match (ours, theirs) {
            (Some(ours), Some(theirs)) => (ours, theirs),
            (Some(one), None) if base.is_none() => return clean(one.text),
            (None, Some(one)) if base.is_none() => return clean(one.text),
            (ours, theirs) => {
                let text = |unit: Option<&MergeUnit<'_>>| unit.map_or("", |unit| unit.text).to_owned();
                return self.markers.clash(&text(ours), &text(theirs));
            }
        };
        let base_text = base.map(|base| base.text);
        if let Some(written) = owned(base, ours, theirs) {
            return clean(&written);
        }
        if ours.text == theirs.text || base_text == Some(theirs.text) {
            return clean(ours.text);
        }
        if base_text == Some(ours.text) {
            return clean(theirs.text);
        }
        let is_new_step = base.is_none() && ours.kind == UnitKind::Step;
        let has_parts = !ours.parts.is_empty() && !theirs.parts.is_empty() && !is_new_step;
        if has_parts && base.is_none_or(|base| !base.parts.is_empty()) {
            let merged = self.units(base.map_or(&[], |base| &base.parts), &ours.parts, &theirs.parts);
            let is_inline = ours.kind == UnitKind::Inline || theirs.kind == UnitKind::Inline;
            return match merged {
                Some(merged) if merged.conflicts == 0 || !is_inline => merged,
                Some(_) | None => self.markers.clash(ours.text, theirs.text),
            };
        }
        self.leaf(base, ours, theirs)
    }

    /// Two versions of a unit that both sides changed.
    fn leaf(&self, base: Option<&MergeUnit<'_>>, ours: &MergeUnit<'_>, theirs: &MergeUnit<'_>) -> MergedText {
        let settled = match (base.map(|base| &base.kind), &ours.kind, &theirs.kind) {
            (Some(UnitKind::Value(was)), UnitKind::Value(us), UnitKind::Value(them)) => {
                match (us == was, them == was) {
                    (true, false) => Some(theirs.text),
                    (false, true) => Some(ours.text),
                    (true, true) => Some(ours.text.max(theirs.text)),
                    (false, false) => (us == them).then(|| ours.text.max(theirs.text)),
                }
            }
            (_, us @ UnitKind::Claim(_), them @ UnitKind::Claim(_)) => {
                claim(us, them).map(|kind| if kind == us { ours.text } else { theirs.text })
            }
            (Some(_), UnitKind::Lines | UnitKind::Item, UnitKind::Lines | UnitKind::Item) => {
                let base = base.map_or("", |base| base.text);
                return together(sequence::lines(base, ours.text, theirs.text), self.markers);
            }
            _ => None,
        };
        match settled {
            Some(text) => MergedText { text: text.to_owned(), conflicts: 0 },
            None => self.markers.clash(ours.text, theirs.text),
        }
    }
}

/// The claim that wins if both sides changed it: "running" yields to a result. Done on one side and failed on the other
/// is a conflict.
fn claim<'k>(ours: &'k UnitKind, theirs: &'k UnitKind) -> Option<&'k UnitKind> {
    match (ours, theirs) {
        (UnitKind::Claim(Some(Mark::Running)), UnitKind::Claim(Some(_))) => Some(theirs),
        (UnitKind::Claim(Some(_)), UnitKind::Claim(Some(Mark::Running))) => Some(ours),
        (UnitKind::Claim(Some(us)), UnitKind::Claim(Some(them))) if us == them => Some(ours),
        _ => None,
    }
}

/// Values that planwright wrote on both sides: the further state, the later time. A version that both sides incremented
/// is incremented once more, so that it identifies only this text.
fn owned(base: Option<&MergeUnit<'_>>, ours: &MergeUnit<'_>, theirs: &MergeUnit<'_>) -> Option<String> {
    let (UnitKind::Owned { key, value: us }, UnitKind::Owned { value: them, .. }) =
        (&ours.kind, &theirs.kind)
    else {
        return None;
    };
    let Some(UnitKind::Owned { value: was, .. }) = base.map(|base| &base.kind) else {
        return Some(further(us, them, ours.text, theirs.text).to_owned());
    };
    match (us == was, them == was) {
        (true, true) => None,
        (true, false) => Some(theirs.text.to_owned()),
        (false, true) => Some(ours.text.to_owned()),
        (false, false) => {
            let text = further(us, them, ours.text, theirs.text);
            let counted = us.parse::<u64>().ok().zip(them.parse::<u64>().ok()).map(|(us, them)| us.max(them));
            Some(match counted.filter(|_| key == "version") {
                Some(version) => {
                    let value = version.to_string();
                    let at = text.rfind(value.as_str()).unwrap_or(text.len());
                    format!("{}{}{}", &text[..at], version + 1, &text[(at + value.len()).min(text.len())..])
                }
                None => text.to_owned(),
            })
        }
    }
}

fn further<'t>(us: &str, them: &str, ours: &'t str, theirs: &'t str) -> &'t str {
    let state = |word: &str| crate::dialect::DIALECTS.iter().find_map(|dialect| dialect.state(word));
    let number = |word: &str| word.parse::<u64>().ok();
    let rank = |word: &str, text: &'t str| (state(word), number(word), word.to_owned(), text);
    if rank(us, ours) >= rank(them, theirs) { ours } else { theirs }
}
