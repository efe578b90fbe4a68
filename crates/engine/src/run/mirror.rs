//! The marks and the status in a plan file, and what its dialect keeps beside it: a mirror of the journal, set after the verdict is
//! durable. Never the truth, never written over somebody's edit; what can't be set is only said.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use planwright_core::dialect::Beside;
use planwright_core::plan::draft::Draft;
use planwright_core::plan::edit::Change;
use planwright_core::plan::lifecycle::State;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::Event;
use planwright_core::run::mirror::{Reflection, Seen};
use planwright_core::run::state::RunState;
use planwright_core::syntax::source::Source;

use crate::run::Run;
use crate::store::journal::{Recorded, Store};
use crate::store::plan_file;
use crate::store::plan_file::{Reading, Text};
use crate::system::clock;

/// How often a mark is tried again when somebody edits the plan at the same time.
const TRIES: usize = 5;
/// Of the time, at most one part in so many goes into the mirror: a long plan with short steps is not read for each of them.
const SHARE: u32 = 20;
/// A file that changed so short ago may change again without a sign: clocks of file systems are coarse.
const RESTLESS: Duration = Duration::from_millis(100);
/// How much of what an agent said is shown in a plan: its end.
const OUTPUT_BYTES_MAX: usize = 4 << 10;
/// How much of a file that only grows is searched for a line.
const BESIDE_BYTES_MAX: u64 = 64 << 20;

/// The mirror of one run.
pub(crate) struct Mirror {
    /// The plan: a file or a folder.
    path: PathBuf,
    bytes_max: usize,
    store: Arc<Store>,
    /// The plan as it was approved, which says what it is about.
    approved: (Source, Draft),
    /// A text of it that means what was approved: the last such one that was seen or written.
    source: Source,
    /// What the file looked like when it was last found to mean what was approved.
    look: Option<Look>,
    news: Reflection,
    /// What is to be written beside the plan.
    beside: Vec<Beside>,
    last: Option<(Instant, Duration)>,
    /// What went wrong; nothing is lost by it.
    pub(crate) complaints: Vec<String>,
}

/// How far a plan file is behind the journal.
pub(crate) struct Behind {
    /// What is to be changed in it.
    pub(crate) changes: Vec<Change>,
    /// What it says now.
    pub(crate) draft: Draft,
}

/// What tells one state of a file from another without reading it.
#[derive(PartialEq, Eq)]
struct Look {
    length: u64,
    modified: SystemTime,
    changed: (i64, i64),
    inode: u64,
}

impl Mirror {
    /// A mirror in the file `path`, for a plan that was approved as `source`.
    pub(crate) fn new(path: &Path, source: Source, store: &Arc<Store>, bytes_max: usize) -> Self {
        Self {
            path: path.to_owned(),
            bytes_max,
            store: Arc::clone(store),
            approved: (source.clone(), source.draft()),
            source,
            look: None,
            news: Reflection::default(),
            beside: Vec::new(),
            last: None,
            complaints: Vec::new(),
        }
    }

    /// Notes what follows from an event; [`Mirror::settle`] writes it.
    pub(crate) fn note(&mut self, plan: &Plan, event: &Event, at_ms: u64) {
        // What an agent said is long, and most plans have no place for it.
        let has_traces = self.source.dialect().has_traces;
        let said = if let Event::AttemptFinished { output: Some(output), .. } = event
            && has_traces
        {
            self.store.get(output).ok()
        } else {
            None
        };
        let said = said.map(|said| tail(&String::from_utf8_lossy(&said)).to_owned());
        let at = clock::utc(at_ms);
        let (source, draft) = &self.approved;
        let beside = &mut self.beside;
        self.news.see(plan, Seen { event, at: &at, output: said.as_deref() }, &mut |happening| {
            beside.extend(source.dialect().beside(source, draft, happening));
        });
    }

    /// Mirrors where the run stands: what a person settled while nobody drove it, and what a driver that died had no time
    /// for.
    pub(crate) fn show(&mut self, plan: &Plan, state: &RunState, events: &[Recorded]) {
        // What is still to be written must be, lest it is told twice.
        self.settle();
        for recorded in events {
            self.note(plan, &recorded.event, recorded.at_ms);
        }
        self.drop_known();
        self.news.stand(state);
        self.settle();
    }

    /// The same for a run that nobody drives: what somebody marked meanwhile and is still to be done stays marked.
    pub(crate) fn mend(&mut self, run: &Run) {
        for recorded in &run.events {
            self.note(&run.plan, &recorded.event, recorded.at_ms);
        }
        self.drop_known();
        self.stand_beside_marks(&run.state);
        self.settle();
    }

    fn stand_beside_marks(&mut self, state: &RunState) {
        self.news.stand(state);
        // What can't be read is not written either, and that is said.
        if let Ok(Text::Plan(now)) = self.read()
            && self.means_the_same(&now)
        {
            self.news.spare(&now.draft(), state);
        }
    }

    /// Mirrors where a plan stands that is not being run.
    pub(crate) fn rest(&mut self, state: State, at_ms: u64) {
        let (source, draft) = &self.approved;
        let beside = &mut self.beside;
        self.news.rest(state, &clock::utc(at_ms), &mut |happening| {
            beside.extend(source.dialect().beside(source, draft, happening));
        });
        self.drop_known();
        self.settle();
    }

    /// What [`Mirror::mend`] would change in the file. Nothing is written.
    pub(crate) fn behind_run(&mut self, run: &Run) -> Result<Option<Behind>, plan_file::Error> {
        for recorded in &run.events {
            self.note(&run.plan, &recorded.event, recorded.at_ms);
        }
        self.stand_beside_marks(&run.state);
        self.behind()
    }

    /// What [`Mirror::rest`] would change in the file. Nothing is written.
    pub(crate) fn behind_rest(&mut self, state: State) -> Result<Option<Behind>, plan_file::Error> {
        self.news.rest(state, "", &mut |_| {});
        self.behind()
    }

    /// The marks and the state that are yet to be set. `None` where the file is no plan, or means something else by now.
    fn behind(&mut self) -> Result<Option<Behind>, plan_file::Error> {
        let mut changes = self.news.take(self.source.dialect());
        let Text::Plan(now) = self.read()? else { return Ok(None) };
        if !self.means_the_same(&now) {
            return Ok(None);
        }
        let draft = now.draft();
        // A trace is only how it came about.
        changes.retain(|change| !matches!(change, Change::Trace { .. }) && !is_made(&now, &draft, change));
        Ok(Some(Behind { changes, draft }))
    }

    /// Forgets the lines that stand beside the plan already: what is told again when a run is taken up was told before.
    fn drop_known(&mut self) {
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        self.beside.retain(|beside| {
            let Beside::Append { path, line } = beside else { return true };
            let known = texts.entry(path.clone()).or_insert_with(|| {
                let text = plan_file::read_text(&folder.join(path), BESIDE_BYTES_MAX).unwrap_or_default();
                text.lines().map(str::to_owned).collect()
            });
            // Each line of the file answers for one of ours: the same thing may happen twice in a second.
            let found = known.iter().position(|known| known == line);
            found.map(|place| known.swap_remove(place)).is_none()
        });
    }

    /// How long until the mirror may be set again; `None` when there is nothing to set.
    pub(crate) fn due(&self) -> Option<Duration> {
        if self.news.is_empty() && self.beside.is_empty() {
            return None;
        }
        let wait = self.last.map(|(since, cost)| (cost * SHARE).saturating_sub(since.elapsed()));
        Some(wait.unwrap_or_default())
    }

    /// Writes what was noted, all of it at once.
    pub(crate) fn settle(&mut self) {
        let begin = Instant::now();
        let changes = self.news.take(self.source.dialect());
        if !changes.is_empty()
            && let Err(why) = self.change(&changes)
        {
            self.complain(format!("{} was not marked: {why}", self.path.display()));
        }
        for beside in std::mem::take(&mut self.beside) {
            if let Err(error) = plan_file::keep(&self.path, &beside) {
                self.complain(format!("nothing was noted beside {}: {error}", self.path.display()));
            }
        }
        self.last = Some((Instant::now(), begin.elapsed()));
    }

    fn complain(&mut self, complaint: String) {
        if !self.complaints.contains(&complaint) {
            self.complaints.push(complaint);
        }
    }

    /// The plan is read in the dialect that it was approved in, whatever it looks like now.
    fn read(&self) -> Result<Text, plan_file::Error> {
        let reading = Reading { bytes_max: self.bytes_max, dialect: Some(self.source.dialect()) };
        plan_file::read(&self.path, "plan", reading)
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), String> {
        for _ in 0..TRIES {
            let now = match self.read().map_err(|error| error.to_string())? {
                Text::Plan(source) => source,
                Text::Unreadable(unreadable) => return Err(unreadable.diagnostic.message),
            };
            // Where the plan says something else now, the same place may be another step.
            if !self.means_the_same(&now) {
                return Err("it was edited meanwhile".to_owned());
            }
            let news: Vec<Change> = {
                let draft = now.draft();
                changes.iter().filter(|change| !is_made(&now, &draft, change)).cloned().collect()
            };
            if news.is_empty() {
                return Ok(());
            }
            let edits = now.dialect().patch_all(&now, &news).map_err(|refusal| refusal.to_string())?;
            if edits.is_empty() {
                return Ok(());
            }
            match crate::store::plan_write::save(&self.path, &now, &now.edited(&edits)) {
                Ok(written) => {
                    self.source = written;
                    return Ok(());
                }
                Err(plan_file::Error::Moved { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("somebody keeps editing it".to_owned())
    }

    fn means_the_same(&self, now: &Source) -> bool {
        let dialect = self.source.dialect();
        now.text() == self.source.text() || dialect.meaning(now) == dialect.meaning(&self.source)
    }

    /// Whether the plan still means what was approved.
    pub(crate) fn is_current(&mut self) -> Result<bool, plan_file::Error> {
        let look = look(&self.path);
        if look.is_some() && look == self.look {
            return Ok(true);
        }
        let now = match self.read() {
            Ok(Text::Plan(source)) => source,
            Ok(Text::Unreadable(_))
            | Err(plan_file::Error::Missing { .. } | plan_file::Error::NotAFile { .. }) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        if !self.means_the_same(&now) {
            return Ok(false);
        }
        self.source = now;
        // What was looked at before the file was read is trusted only where the file has been quiet since.
        let is_quiet = |look: &Look| look.modified.elapsed().is_ok_and(|age| age > RESTLESS);
        self.look = look.filter(is_quiet);
        Ok(true)
    }
}

/// What a file looks like. A folder has no look: its files can change without a sign.
fn look(path: &Path) -> Option<Look> {
    use std::os::unix::fs::MetadataExt;
    let data = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(Look {
        length: data.len(),
        modified: data.modified().ok()?,
        changed: (data.ctime(), data.ctime_nsec()),
        inode: data.ino(),
    })
}

/// The end of what an agent said.
fn tail(text: &str) -> &str {
    let text = text.trim_end();
    &text[text.ceil_char_boundary(text.len().saturating_sub(OUTPUT_BYTES_MAX))..]
}

/// Whether a plan says already what a change would make it say. Cheap: a plan may have thousands of marks.
fn is_made(source: &Source, draft: &Draft, change: &Change) -> bool {
    match change {
        Change::Mark { step, mark } => draft.steps.get(*step).is_some_and(|step| step.mark() == *mark),
        Change::Become { state } => match source.dialect().read_back(*state) {
            Some(state) => draft.state.is_some_and(|said| said.value == state),
            None => true,
        },
        Change::Trace { step, trace } => {
            draft.steps.get(*step).is_some_and(|step| trace.is_said_by(&step.trace.0))
        }
        Change::Set { .. }
        | Change::Note { .. }
        | Change::Rename { .. }
        | Change::Need { .. }
        | Change::Move { .. }
        | Change::Renumber
        | Change::Append { .. }
        | Change::Expand { .. } => false,
    }
}
