//! The marks and the status in a plan file, and what its dialect keeps next to it: a mirror of the journal,
//! written once the verdict is durable. Never the truth, never written over an edit; what cannot be written
//! is only reported.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use planwright_core::dialect::{PlanEvent, SidecarEdit};
use planwright_core::plan::draft::Draft;
use planwright_core::plan::edit::PlanEdit;
use planwright_core::plan::lifecycle::PlanState;
use planwright_core::plan::verified::Plan;
use planwright_core::run::event::{Event, StepEvent};
use planwright_core::run::mirror::{EventWithContext, MirrorState};
use planwright_core::run::state::RunState;
use planwright_core::syntax::source::Source;

use crate::run::Run;
use crate::store::journal::{RecordedEvent, Store};
use crate::store::plan_count::parse;
use crate::store::plan_file;
use crate::store::plan_file::{FileText, ReadOptions};
use crate::system::clock;

/// How often a mark is retried while somebody edits the plan.
const TRIES: usize = 5;
/// At most one part in this many of the time goes into the mirror: a long plan with short steps is not read
/// for each of them.
const SHARE: u32 = 20;
/// A file that changed this recently may change again without a visible difference: file system clocks are
/// coarse.
const RESTLESS: Duration = Duration::from_millis(100);
/// How much of the end of an agent's message is shown in a plan.
const OUTPUT_BYTES_MAX: usize = 4 << 10;
/// How much of an append-only file is searched for a line.
const BESIDE_BYTES_MAX: u64 = 64 << 20;

pub(crate) struct Mirror {
    /// A file or a directory.
    path: PathBuf,
    bytes_max: usize,
    store: Arc<Store>,
    /// The approved plan, whose meaning is the reference.
    approved: Source,
    approved_draft: OnceCell<Draft>,
    /// The last text seen or written that means what was approved.
    source: Source,
    /// The metadata of the file when it last matched the approval.
    look: Option<Look>,
    news: MirrorState,
    /// What to write next to the plan.
    beside: Vec<SidecarEdit>,
    last: Option<(Instant, Duration)>,
    /// What went wrong; nothing is lost by it.
    pub(crate) complaints: Vec<String>,
}

/// How far a plan file is behind the journal.
pub(crate) struct Behind {
    pub(crate) changes: Vec<PlanEdit>,
    pub(crate) draft: Draft,
}

/// Distinguishes states of a file without reading it.
#[derive(PartialEq, Eq)]
struct Look {
    length: u64,
    modified: SystemTime,
    changed: (i64, i64),
    inode: u64,
}

/// What planwright itself writes into the workspace for a plan at this path, relative to the same directory: the plan,
/// the file that briefly replaces it, and what its dialect keeps next to it. No receipt is about these.
pub(crate) fn written_files(plan: &Path, source: &Source) -> Vec<PathBuf> {
    let name = plan.file_name().unwrap_or_default().to_string_lossy();
    let mut files = vec![plan.to_owned(), plan.with_file_name(format!(".{name}.planwright"))];
    let folder = plan.parent().unwrap_or(Path::new(""));
    for path in source.dialect().sidecars(source) {
        let mut file = folder.to_owned();
        for part in Path::new(&path).components() {
            match part {
                Component::ParentDir => drop(file.pop()),
                Component::Normal(part) => file.push(part),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        files.push(file);
    }
    files
}

impl Mirror {
    /// A mirror in the file `path`, for a plan approved as `source`.
    pub(crate) fn new(path: &Path, source: Source, store: &Arc<Store>, bytes_max: usize) -> Self {
        Self {
            path: path.to_owned(),
            bytes_max,
            store: Arc::clone(store),
            approved: source.clone(),
            approved_draft: OnceCell::new(),
            source,
            look: None,
            news: MirrorState::default(),
            beside: Vec::new(),
            last: None,
            complaints: Vec::new(),
        }
    }

    /// Notes what follows from an event; [`Mirror::settle`] writes it.
    pub(crate) fn note(&mut self, plan: &Plan, event: &Event, at_ms: u64) {
        // An agent's message is long, and most plans have no place for it.
        let has_traces = self.source.dialect().has_traces;
        let said = if let Event::Step { event: StepEvent::Finished(finish), .. } = event
            && let Some(output) = &finish.output
            && has_traces
        {
            self.store.get(output).ok()
        } else {
            None
        };
        let said = said.map(|said| tail(&String::from_utf8_lossy(&said)).to_owned());
        let at = clock::utc(at_ms);
        let (source, draft, beside) = (&self.approved, &self.approved_draft, &mut self.beside);
        self.news.see(plan, EventWithContext { event, at: &at, output: said.as_deref() }, &mut |happening| {
            beside.extend(sidecar_edits(source, draft, happening));
        });
    }

    /// Mirrors the state of the run: what a person settled while it was not running, and what a dead process
    /// did not get to.
    pub(crate) fn show(&mut self, plan: &Plan, state: &RunState, events: &[RecordedEvent]) {
        // Pending changes must be written first, or they would be reported twice.
        self.settle();
        for recorded in events {
            self.note(plan, &recorded.event, recorded.at_ms);
        }
        self.drop_known();
        self.news.stand(state);
        self.settle();
    }

    /// The same for a run that is not running: marks that somebody set meanwhile on open steps stay.
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
        // A file that cannot be read is not written either, and that is reported.
        if let Ok(FileText::Plan(now)) = self.read()
            && self.means_the_same(&now)
        {
            let draft = self.parse(&now).into_owned();
            self.news.spare(&draft, state);
        }
    }

    /// Mirrors the state of a plan that is not running.
    pub(crate) fn rest(&mut self, state: PlanState, at_ms: u64) {
        let (source, draft, beside) = (&self.approved, &self.approved_draft, &mut self.beside);
        self.news.rest(state, &clock::utc(at_ms), &mut |happening| {
            beside.extend(sidecar_edits(source, draft, happening));
        });
        self.drop_known();
        self.settle();
    }

    /// What [`Mirror::mend`] would change in the file. Writes nothing.
    pub(crate) fn behind_run(&mut self, run: &Run) -> Result<Option<Behind>, plan_file::Error> {
        for recorded in &run.events {
            self.note(&run.plan, &recorded.event, recorded.at_ms);
        }
        self.stand_beside_marks(&run.state);
        self.behind()
    }

    /// What [`Mirror::rest`] would change in the file. Writes nothing.
    pub(crate) fn behind_rest(&mut self, state: PlanState) -> Result<Option<Behind>, plan_file::Error> {
        self.news.rest(state, "", &mut |_| {});
        self.behind()
    }

    /// The marks and the state that are missing. `None` if the file is not a plan or its meaning changed.
    fn behind(&mut self) -> Result<Option<Behind>, plan_file::Error> {
        let mut changes = self.news.take(self.source.dialect());
        let FileText::Plan(now) = self.read()? else { return Ok(None) };
        if !self.means_the_same(&now) {
            return Ok(None);
        }
        let draft = self.parse(&now).into_owned();
        // A trace only shows how it came about.
        changes.retain(|change| !matches!(change, PlanEdit::Trace { .. }) && !is_made(&now, &draft, change));
        Ok(Some(Behind { changes, draft }))
    }

    /// Drops the lines that are already next to the plan: resuming a run repeats what was written before.
    fn drop_known(&mut self) {
        let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let folder = self.path.parent().unwrap_or(Path::new("")).to_owned();
        self.beside.retain(|beside| {
            let SidecarEdit::Append { path, line } = beside else { return true };
            let known = texts.entry(path.clone()).or_insert_with(|| {
                let text = plan_file::read_text(&folder.join(path), BESIDE_BYTES_MAX).unwrap_or_default();
                text.lines().map(str::to_owned).collect()
            });
            // Each line of the file matches one of ours: the same thing may happen twice in a second.
            let found = known.iter().position(|known| known == line);
            found.map(|place| known.swap_remove(place)).is_none()
        });
    }

    /// The delay before the next write; `None` if nothing is pending.
    pub(crate) fn due(&self) -> Option<Duration> {
        if self.news.is_empty() && self.beside.is_empty() {
            return None;
        }
        let wait = self.last.map(|(since, cost)| (cost * SHARE).saturating_sub(since.elapsed()));
        Some(wait.unwrap_or_default())
    }

    /// Writes all pending changes together.
    pub(crate) fn settle(&mut self) {
        let begin = Instant::now();
        let changes = self.news.take(self.source.dialect());
        if !changes.is_empty()
            && let Err(why) = self.change(&changes)
        {
            self.complain(format!("cannot mark progress in {}: {why}", self.path.display()));
        }
        for beside in std::mem::take(&mut self.beside) {
            if let Err(error) = plan_file::keep(&self.path, &beside) {
                self.complain(format!("cannot write the progress file of {}: {error}", self.path.display()));
            }
        }
        self.last = Some((Instant::now(), begin.elapsed()));
    }

    fn complain(&mut self, complaint: String) {
        if !self.complaints.contains(&complaint) {
            self.complaints.push(complaint);
        }
    }

    /// The plan is read in the dialect it was approved in, whatever it looks like now.
    fn read(&self) -> Result<FileText, plan_file::Error> {
        let reading = ReadOptions { bytes_max: self.bytes_max, dialect: Some(self.source.dialect()) };
        plan_file::read(&self.path, "plan", reading)
    }

    /// What the file says; the approved text is parsed only once.
    fn parse(&self, now: &Source) -> Cow<'_, Draft> {
        match now.text() == self.approved.text() {
            true => Cow::Borrowed(self.approved_draft.get_or_init(|| parse(&self.approved))),
            false => Cow::Owned(parse(now)),
        }
    }

    fn change(&mut self, changes: &[PlanEdit]) -> Result<(), String> {
        for _ in 0..TRIES {
            let now = match self.read().map_err(|error| error.to_string())? {
                FileText::Plan(source) => source,
                FileText::Unreadable(unreadable) => return Err(unreadable.diagnostic.message),
            };
            // If the plan's meaning changed, the same index may be another step.
            if !self.means_the_same(&now) {
                return Err("it was edited meanwhile".to_owned());
            }
            let news: Vec<PlanEdit> = {
                let draft = self.parse(&now);
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
        Err("it keeps changing".to_owned())
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
            Ok(FileText::Plan(source)) => source,
            Ok(FileText::Unreadable(_))
            | Err(plan_file::Error::Missing { .. } | plan_file::Error::NotAFile { .. }) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        if !self.means_the_same(&now) {
            return Ok(false);
        }
        self.source = now;
        // Metadata taken before the read is trusted only if the file has been quiet since.
        let is_quiet = |look: &Look| look.modified.elapsed().is_ok_and(|age| age > RESTLESS);
        self.look = look.filter(is_quiet);
        Ok(true)
    }
}

/// What goes into the files next to a plan.
fn sidecar_edits(source: &Source, draft: &OnceCell<Draft>, happening: &PlanEvent<'_>) -> Vec<SidecarEdit> {
    match source.dialect().has_sidecars() {
        true => source.dialect().beside(source, draft.get_or_init(|| parse(source)), happening),
        false => Vec::new(),
    }
}

/// The metadata of a file. A directory has none: its files can change without a sign.
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

/// The end of an agent's message.
fn tail(text: &str) -> &str {
    let text = text.trim_end();
    &text[text.ceil_char_boundary(text.len().saturating_sub(OUTPUT_BYTES_MAX))..]
}

/// Whether a plan already contains a change. Cheap: a plan may have thousands of marks.
fn is_made(source: &Source, draft: &Draft, change: &PlanEdit) -> bool {
    match change {
        PlanEdit::Mark { step, mark } => draft.steps.get(*step).is_some_and(|step| step.mark() == *mark),
        PlanEdit::Become { state } => match source.dialect().read_back(*state) {
            Some(state) => draft.state.is_some_and(|said| said.value == state),
            None => true,
        },
        PlanEdit::Trace { step, trace } => {
            draft.steps.get(*step).is_some_and(|step| trace.is_said_by(&step.trace.0))
        }
        PlanEdit::Set { .. }
        | PlanEdit::Note { .. }
        | PlanEdit::Rename { .. }
        | PlanEdit::Need { .. }
        | PlanEdit::Move { .. }
        | PlanEdit::Renumber
        | PlanEdit::Append { .. }
        | PlanEdit::Expand { .. } => false,
    }
}
