//! The marks and the status in a plan file: a mirror of the journal, set after the verdict is durable. Never the truth, never
//! written over somebody's edit; what can't be set is only said.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use planwright_core::change::Change;
use planwright_core::dialect;
use planwright_core::draft::{Draft, Mark};
use planwright_core::event::{Answer, Event, Outcome};
use planwright_core::plan::Plan;
use planwright_core::run::{RunState, Status};
use planwright_core::source::{self, Source};

use crate::store::{self, Text};

/// The status of a plan that its author has to work on.
const DRAFT: &str = "draft";
/// How often a mark is tried again when somebody edits the plan at the same time.
const TRIES: usize = 5;
/// Of the time, at most one part in so many goes into the mirror: a long plan with short steps is not read for each of them.
const SHARE: u32 = 20;
/// A file that changed so short ago may change again without a sign: clocks of file systems are coarse.
const RESTLESS: Duration = Duration::from_millis(100);

/// The mirror of one run.
pub(crate) struct Mirror {
    /// The plan file.
    path: PathBuf,
    bytes_max: usize,
    /// A text of it that means what was approved: the last such one that was seen or written.
    text: String,
    /// What the file looked like when it was last found to mean what was approved.
    look: Option<Look>,
    marks: BTreeMap<usize, Option<Mark>>,
    status: Option<&'static str>,
    last: Option<(Instant, Duration)>,
    /// What went wrong; nothing is lost by it.
    pub(crate) complaints: Vec<String>,
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
    /// A mirror in the file `path`, for a plan that was approved as `text`.
    pub(crate) fn new(path: &Path, text: &str, bytes_max: usize) -> Self {
        Self {
            path: path.to_owned(),
            bytes_max,
            text: text.to_owned(),
            look: None,
            marks: BTreeMap::new(),
            status: None,
            last: None,
            complaints: Vec::new(),
        }
    }

    /// Notes what follows from an event; [`Mirror::settle`] writes it.
    pub(crate) fn note(&mut self, plan: &Plan, event: &Event) {
        match event {
            Event::ContractFinished { step, receipt, .. } => {
                if let Some(place) = plan.steps.iter().position(|known| known.id == *step) {
                    self.marks.insert(place, receipt.verdict.is_passed().then_some(Mark::Done));
                }
            }
            // One that was sent back to its author is a draft again, however its run is called.
            Event::RunFinished { .. } if self.status == Some(DRAFT) => {}
            Event::RunFinished { outcome, .. } => self.status = Some(outcome_word(*outcome)),
            Event::AskAnswered { answer: Answer::Revise { .. }, .. } => self.status = Some(DRAFT),
            Event::RunStarted { .. }
            | Event::AgentsApproved { .. }
            | Event::AttemptStarted { .. }
            | Event::AttemptFinished { .. }
            | Event::AskOpened { .. }
            | Event::AskAnswered { .. }
            | Event::BudgetWarned { .. }
            | Event::RunStopped { .. }
            | Event::RunResumed { .. } => {}
        }
    }

    /// Mirrors where the run stands: what a person settled while nobody drove it, and what a driver that died had no time
    /// for.
    pub(crate) fn show(&mut self, state: &RunState) {
        let passed =
            state.steps.iter().enumerate().filter(|(_, step)| matches!(step.status, Status::Passed { .. }));
        self.marks.extend(passed.map(|(step, _)| (step, Some(Mark::Done))));
        self.status = Some(match state.outcome() {
            Some(_) if state.is_revised => DRAFT,
            outcome => outcome.map_or("in-progress", outcome_word),
        });
        self.settle();
    }

    /// How long until the mirror may be set again; `None` when there is nothing to set.
    pub(crate) fn due(&self) -> Option<Duration> {
        if self.marks.is_empty() && self.status.is_none() {
            return None;
        }
        let wait = self.last.map(|(since, cost)| (cost * SHARE).saturating_sub(since.elapsed()));
        Some(wait.unwrap_or_default())
    }

    /// Writes what was noted, all of it at once.
    pub(crate) fn settle(&mut self) {
        let begin = Instant::now();
        let marks = std::mem::take(&mut self.marks);
        let changes: Vec<Change> = marks
            .into_iter()
            .map(|(step, mark)| Change::Mark { step, mark })
            .chain(
                self.status
                    .take()
                    .map(|status| Change::Set { key: "status".to_owned(), value: status.to_owned() }),
            )
            .collect();
        if changes.is_empty() {
            return;
        }
        if let Err(why) = self.change(&changes) {
            let complaint = format!("{} was not marked: {why}", self.path.display());
            if !self.complaints.contains(&complaint) {
                self.complaints.push(complaint);
            }
        }
        self.last = Some((Instant::now(), begin.elapsed()));
    }

    fn change(&mut self, changes: &[Change]) -> Result<(), String> {
        for _ in 0..TRIES {
            let text =
                match store::read(&self.path, "plan", self.bytes_max).map_err(|error| error.to_string())? {
                    Text::Plan(source) => source,
                    Text::Unreadable(unreadable) => return Err(unreadable.diagnostic.message),
                };
            // Where the plan says something else now, the same place may be another step.
            if !self.means_the_same(text.text()) {
                return Err("it was edited meanwhile".to_owned());
            }
            let dialect = text.dialect();
            let news: Vec<Change> = {
                let draft = (dialect.parse)(&text);
                changes.iter().filter(|change| !is_made(&draft, change)).cloned().collect()
            };
            if news.is_empty() {
                return Ok(());
            }
            let edits = dialect.patch_all(&text, &news).map_err(|refusal| refusal.to_string())?;
            let new = source::apply(text.text(), &edits);
            match store::replace(&self.path, text.text(), &new) {
                Ok(()) => {
                    self.text = new;
                    return Ok(());
                }
                Err(store::Error::Moved { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("somebody keeps editing it".to_owned())
    }

    fn means_the_same(&self, text: &str) -> bool {
        text == self.text || meaning(text) == meaning(&self.text)
    }

    /// Whether the plan file still means what was approved.
    pub(crate) fn is_current(&mut self) -> Result<bool, store::Error> {
        let look = look(&self.path);
        if look.is_some() && look == self.look {
            return Ok(true);
        }
        let text = match store::read(&self.path, "plan", self.bytes_max) {
            Ok(Text::Plan(source)) => source.text().to_owned(),
            Ok(Text::Unreadable(_)) | Err(store::Error::Missing { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        if !self.means_the_same(&text) {
            return Ok(false);
        }
        self.text = text;
        // What was looked at before the file was read is trusted only where the file has been quiet since.
        let is_quiet = |look: &Look| look.modified.elapsed().is_ok_and(|age| age > RESTLESS);
        self.look = look.filter(is_quiet);
        Ok(true)
    }
}

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

const fn outcome_word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed | Outcome::Cancelled => "failed",
    }
}

/// Whether a plan says already what a change would make it say. Cheap: a plan may have thousands of marks.
fn is_made(draft: &Draft, change: &Change) -> bool {
    match change {
        Change::Mark { step, mark } => draft.steps.get(*step).is_some_and(|step| step.mark() == *mark),
        Change::Set { key, value } => draft.frontmatter.value(key).is_some_and(|now| now.value == *value),
        Change::Note { .. }
        | Change::Rename { .. }
        | Change::Need { .. }
        | Change::Move { .. }
        | Change::Renumber
        | Change::Expand { .. } => false,
    }
}

/// What a plan says apart from what the harness writes into it.
pub(crate) fn meaning(text: &str) -> Draft {
    let source = Source::new("plan", text);
    let mut draft = source.draft();
    draft.frontmatter.entries.retain(|entry| entry.key.value != "status");
    draft.notes.clear();
    draft.steps.iter_mut().for_each(|step| step.marks.clear());
    draft
}
