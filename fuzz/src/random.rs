//! Lets chance choose the inputs: for machines that can't build the driver that follows coverage.
//!
//! `random TARGET SECONDS CURRENT CORPUS` runs a target on inputs made from those in the folder CORPUS. Each is written to
//! the file CURRENT before it is tried, so whatever ends the process, its cause is there. `random TARGET FILE` tries one.

use std::fs::File;
use std::io::{Error, Seek as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use planwright_fuzz::TARGETS;
use planwright_fuzz::chance::Chance;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let target = |name: &str| TARGETS.iter().find(|(known, _)| *known == name).map(|&(_, run)| run);
    match *words.as_slice() {
        [name, file] => match (target(name), std::fs::read(file)) {
            (Some(run), Ok(input)) => {
                run(&input);
                ExitCode::SUCCESS
            }
            (None, _) => refuse(&format!("there is no target {name}")),
            (_, Err(error)) => refuse(&format!("cannot read {file}: {error}")),
        },
        [name, seconds, current, corpus] => match (target(name), seconds.parse()) {
            (Some(run), Ok(seconds)) => match search(run, seconds, Path::new(current), Path::new(corpus)) {
                Ok(count) => {
                    eprintln!("{count} inputs");
                    ExitCode::SUCCESS
                }
                Err(error) => refuse(&format!("cannot use {current} and {corpus}: {error}")),
            },
            (None, _) => refuse(&format!("there is no target {name}")),
            (_, Err(error)) => refuse(&format!("{seconds} is no number of seconds: {error}")),
        },
        _ => refuse("usage: random TARGET FILE | random TARGET SECONDS CURRENT CORPUS"),
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::from(2)
}

/// Tries every input of the corpus, then changed ones until the time is over.
fn search(run: fn(&[u8]), seconds: u64, current: &Path, corpus: &Path) -> Result<usize, Error> {
    let mut seeds = vec![Vec::new()];
    for entry in corpus.read_dir()? {
        seeds.push(std::fs::read(entry?.path())?);
    }
    let mut file = File::create(current)?;
    let begin = Instant::now();
    let limit = Duration::from_secs(seconds);
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let mut chance = Chance::new(since.as_secs() ^ u64::from(since.subsec_nanos()));
    let mut count = 0;
    while count < seeds.len() || begin.elapsed() < limit {
        let input = match seeds.get(count) {
            Some(seed) => seed.clone(),
            None => chance.mutant(&seeds),
        };
        // Opened once: some file systems wait for the disk when a file that was truncated is closed.
        file.rewind()?;
        file.write_all(&input)?;
        file.set_len(input.len() as u64)?;
        run(&input);
        count += 1;
    }
    Ok(count)
}
