//! Whether a person is still needed. Calling one who has already acted is noise: a plan approved as it was
//! proposed, a question answered while the hook was running.

use planwright_core::approval::status::{Said, Standing};
use planwright_core::run::event::Event;
use planwright_core::workspace::notification::Occasion;

use crate::store::journal::{Error, Store};
use crate::workspace::feed::{Fact, What};

/// Whether somebody has already acted on a notice.
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

/// Whether an event settles a question.
fn settles(event: &Event, asked: &Event) -> bool {
    if let (Event::AskAnswered { ask, .. }, Event::AskOpened { ask: open, .. }) = (event, asked) {
        return ask == open;
    }
    matches!(event, Event::RunFinished { .. })
}

/// Whether the plan has moved on since the entry with this number.
fn has_moved(ledger: &[Said], seq: u64) -> bool {
    let until = ledger.iter().take_while(|said| said.seq <= seq).count();
    let state = |ledger| Standing::of(ledger).map(|standing| (standing.state(None), standing.since_ms));
    match (state(&ledger[..until]), state(ledger)) {
        (Ok(then), Ok(now)) => then != now,
        // A ledger that cannot be folded needs attention.
        (Err(_), _) | (_, Err(_)) => false,
    }
}
