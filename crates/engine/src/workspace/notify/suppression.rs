//! Whether a person is still needed. Calling one who has already acted is noise: a plan approved as it was
//! proposed, a question answered while the hook was running.

use planwright_core::approval::status::{ApprovalStatus, RecordedEntry};
use planwright_core::run::event::{AskEvent, Event, RunEvent};
use planwright_core::workspace::notification::Trigger;

use crate::store::journal::{Error, Store};
use crate::workspace::feed::{FeedItem, FeedSubject};

/// Whether somebody has already acted on a notice.
pub(super) fn is_settled(store: &Store, fact: &FeedItem) -> Result<bool, Error> {
    match (&fact.what, fact.notice.occasion) {
        (_, None | Some(Trigger::Done | Trigger::Failed)) => Ok(false),
        (FeedSubject::Event(run, asked), Some(Trigger::NeedsYou)) => {
            let later = store.events(*run, fact.notice.seq)?;
            Ok(later.iter().any(|recorded| settles(&recorded.event, asked)))
        }
        (FeedSubject::Entry(plan, _), Some(Trigger::NeedsYou)) => {
            Ok(has_moved(&store.ledger(plan)?, fact.notice.seq))
        }
    }
}

/// Whether an event settles a question.
fn settles(event: &Event, asked: &Event) -> bool {
    match event {
        Event::Ask { ask, event: AskEvent::Answered { .. } } => {
            matches!(asked, Event::Ask { ask: open, .. } if open == ask)
        }
        Event::Run(RunEvent::Finished { .. }) => true,
        Event::Run(_) | Event::Step { .. } | Event::Ask { .. } => false,
    }
}

/// Whether the plan has moved on since the entry with this number.
fn has_moved(ledger: &[RecordedEntry], seq: u64) -> bool {
    let until = ledger.iter().take_while(|said| said.seq <= seq).count();
    let state = |ledger| ApprovalStatus::of(ledger).map(|standing| (standing.state(None), standing.since_ms));
    match (state(&ledger[..until]), state(ledger)) {
        (Ok(then), Ok(now)) => then != now,
        // A ledger that cannot be folded needs attention.
        (Err(_), _) | (_, Err(_)) => false,
    }
}
