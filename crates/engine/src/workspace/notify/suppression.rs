//! Whether somebody is still needed. A call for a person who has come already is noise: a plan that is approved in the act that
//! proposed it, an ask that was answered while the hook was away.

use planwright_core::approval::status::{Said, Standing};
use planwright_core::run::event::Event;
use planwright_core::workspace::notification::Occasion;

use crate::store::journal::{Error, Store};
use crate::workspace::feed::{Fact, What};

/// Whether what a notice calls for has been seen to since.
pub(super) fn is_settled(store: &Store, fact: &Fact) -> Result<bool, Error> {
    match (&fact.what, fact.notice.occasion) {
        (_, None | Some(Occasion::Done | Occasion::Failed)) => Ok(false),
        (What::Event(run, asked), Some(Occasion::NeedsYou)) => {
            let later = store.events(*run, fact.notice.seq)?;
            Ok(later.iter().any(|recorded| settles(&recorded.event, asked)))
        }
        (What::Entry(plan, _), Some(Occasion::NeedsYou)) => {
            Ok(has_moved(&store.ledger(plan)?, fact.notice.seq))
        }
    }
}

/// Whether an event says that an ask waits no longer.
fn settles(event: &Event, asked: &Event) -> bool {
    if let (Event::AskAnswered { ask, .. }, Event::AskOpened { ask: open, .. }) = (event, asked) {
        return ask == open;
    }
    matches!(event, Event::RunFinished { .. })
}

/// Whether the plan has moved on from where the entry with this number brought it.
fn has_moved(ledger: &[Said], seq: u64) -> bool {
    let until = ledger.iter().take_while(|said| said.seq <= seq).count();
    let state = |ledger| Standing::of(ledger).map(|standing| (standing.state(None), standing.since_ms));
    match (state(&ledger[..until]), state(ledger)) {
        (Ok(then), Ok(now)) => then != now,
        // A ledger that can't be folded is for somebody to look at.
        (Err(_), _) | (_, Err(_)) => false,
    }
}
