//! What agents are given to read: files of the project, and topics, which are texts that plans refer to by
//! name. A topic is a page of the project or the output of the configured command; a missing one is reported,
//! never invented.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Component, Path};
use std::time::Duration;

use planwright_core::agent::prompt::PromptExcerpt;

use crate::system::process;
use crate::system::process::{How, ProcessJob, Stop};
use crate::workspace::facts;

/// Time limit of the command for one topic.
const COMMAND_SECONDS: u64 = 30;
/// How much of a command's error output is passed on.
const COMPLAINT_BYTES_MAX: usize = 200;

/// The beginning of a file.
pub(crate) fn excerpt(path: &Path, bytes_max: u64) -> Result<PromptExcerpt, String> {
    let said = |error: io::Error| error.to_string();
    // The user did not name this file: opening a pipe in its place would block forever.
    let length = path.metadata().map_err(said)?.len();
    if !path.is_file() {
        return Err("not a regular file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(bytes_max).read_to_end(&mut bytes)).map_err(said)?;
    // The cut may split a character: its rest is dropped.
    let whole = match std::str::from_utf8(&bytes) {
        Err(error) if error.error_len().is_none() && length > bytes_max => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    };
    bytes.truncate(whole);
    let text = String::from_utf8(bytes).map_err(|_| "not valid UTF-8".to_owned())?;
    Ok(PromptExcerpt { bytes_cut: length.saturating_sub(text.len() as u64), text })
}

/// The text of a topic. The tag names the process of the command.
pub(crate) fn text(
    (root, bytes_max): (&Path, u64),
    command: &[String],
    name: &str,
    tag: &str,
) -> Result<PromptExcerpt, String> {
    let is_name =
        Path::new(name).components().eq([Component::Normal(name.as_ref())]) && !name.starts_with('-');
    if !is_name {
        return Err("invalid topic name: no slashes, no leading dash".to_owned());
    }
    let page = root.join(facts::TOPICS).join(format!("{name}.md"));
    let (Some(program), false) = (command.first(), page.exists()) else {
        return excerpt(&page, bytes_max);
    };
    let argv = command.iter().cloned().chain([name.to_owned()]).collect();
    let job = ProcessJob {
        argv,
        folder: root.to_owned(),
        env: process::environment(),
        input: Vec::new(),
        deadline: Duration::from_secs(COMMAND_SECONDS),
        output_bytes_max: usize::try_from(bytes_max).unwrap_or(usize::MAX),
        tag: tag.to_owned(),
    };
    let ended = process::run(&job, &Stop::new()).map_err(|error| error.to_string())?;
    match ended.how {
        How::Exited(0) => Ok(PromptExcerpt { text: ended.stdout.text(), bytes_cut: 0 }),
        How::Exited(code) => {
            let said = ended.stderr.tail(COMPLAINT_BYTES_MAX);
            let said = said.lines().last().map(|line| format!(": {line}")).unwrap_or_default();
            Err(format!("`{program}` exited with {code}{said}"))
        }
        How::Signalled(signal) => Err(format!("`{program}` was killed by signal {signal}")),
        How::TimedOut => Err(format!("`{program}` timed out after {COMMAND_SECONDS} s")),
        How::Stopped => Err("interrupted".to_owned()),
        How::NotStarted(why) => Err(format!("cannot start `{program}`: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "lays out files to read")]
    fn a_cut_through_a_character_leaves_the_text_before_it() {
        let path = std::env::temp_dir().join(format!("planwright-excerpt-{}", std::process::id()));
        std::fs::write(&path, "aéé").expect("written");
        let cut = |bytes| excerpt(&path, bytes).map(|excerpt| (excerpt.text, excerpt.bytes_cut));
        assert_eq!(cut(5), Ok(("aéé".to_owned(), 0)));
        assert_eq!(cut(4), Ok(("aé".to_owned(), 2)));
        assert_eq!(cut(2), Ok(("a".to_owned(), 4)));
        std::fs::write(&path, b"a\xff").expect("written");
        assert!(cut(9).is_err_and(|why| why.contains("UTF-8")));
        assert!(excerpt(Path::new("/dev/null"), 9).is_err(), "no regular file");
        std::fs::remove_file(&path).expect("removed");
    }
}
