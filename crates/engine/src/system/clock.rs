//! Local time for people. `SQLite` already knows the time zone; a library for that alone would bring a dozen
//! dependencies. Local time never orders or decides anything.

use std::time::{SystemTime, UNIX_EPOCH};

use rusqlite::Connection;

/// In milliseconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Local wall-clock time of a time in milliseconds since 1970: `2026-01-31 14:34:55`.
pub fn local(at_ms: u64) -> String {
    let seconds = (at_ms / 1000).cast_signed();
    ask("SELECT strftime('%Y-%m-%d %H:%M:%S', ?1, 'unixepoch', 'localtime')", seconds).unwrap_or_default()
}

/// RFC 3339 of a time in milliseconds since 1970: `2026-01-31T13:34:55Z`.
pub fn utc(at_ms: u64) -> String {
    let seconds = (at_ms / 1000).cast_signed();
    ask("SELECT strftime('%Y-%m-%dT%H:%M:%SZ', ?1, 'unixepoch')", seconds).unwrap_or_default()
}

pub fn utc_now() -> String {
    utc(now())
}

/// Parses a time as people write it: `14:30` and `14:30:05` mean today, `2026-01-31 14:30` is local, and `Z`
/// or an offset at the end counts. Returns milliseconds since 1970.
pub fn read(text: &str, now_ms: u64) -> Option<u64> {
    let text = text.trim();
    let is_time_only = !text.contains('-') && text.contains(':');
    let today = local(now_ms);
    let whole = if is_time_only { format!("{} {text}", today.split_once(' ')?.0) } else { text.to_owned() };
    let has_offset = whole.ends_with(['Z', 'z'])
        || whole.len() > 16 && whole.as_bytes()[whole.len() - 6..].iter().any(|&byte| b"+-".contains(&byte));
    // `SQLite` accepts more as a date: a bare number, `now`.
    let is_date = whole.as_bytes().get(4) == Some(&b'-') && whole.as_bytes()[0].is_ascii_digit();
    let query = match has_offset {
        true => "SELECT strftime('%s', ?1)",
        false => "SELECT strftime('%s', ?1, 'utc')",
    };
    let seconds: u64 = ask(query, whole).filter(|_| is_date)?.parse().ok()?;
    seconds.checked_mul(1000)
}

thread_local! {
    // Printing a long journal asks for the time of every line.
    static DATABASE: Option<Connection> = Connection::open_in_memory().ok();
}

fn ask(query: &str, value: impl rusqlite::ToSql) -> Option<String> {
    DATABASE.with(|database| {
        let mut query = database.as_ref()?.prepare_cached(query).ok()?;
        query.query_row([value], |row| row.get::<_, Option<String>>(0)).ok().flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: u64 = 1_767_268_800_000;

    #[test]
    fn what_is_shown_can_be_read_again() {
        let shown = local(NOON);
        assert_eq!((shown.len(), &shown[..5]), (19, "2026-"), "{shown}");
        assert_eq!(read(&shown, 0), Some(NOON));
        let (_, time) = shown.split_once(' ').expect("a date and a time");
        assert_eq!(read(time, NOON), Some(NOON), "a time alone is of today");
        assert_eq!(read(&time[..5], NOON), Some(NOON));
    }

    #[test]
    fn a_time_is_written_as_machines_read_it() {
        assert_eq!(utc(NOON), "2026-01-01T12:00:00Z");
        assert_eq!(read(&utc(NOON + 999), 0), Some(NOON));
    }

    #[test]
    fn a_time_with_an_offset_is_the_same_everywhere() {
        for text in ["2026-01-01T12:00:00Z", "2026-01-01 12:00Z", "2026-01-01T14:00:00+02:00"] {
            assert_eq!(read(text, 0), Some(NOON), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_not_read() {
        for text in ["", "now", "12", "yesterday", "25:00", "2026-13-01", "14:30 or so", "---------", "10-12"]
        {
            assert_eq!(read(text, NOON), None, "{text}");
        }
    }
}
