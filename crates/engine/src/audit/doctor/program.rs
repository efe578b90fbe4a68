//! Checks the programs that planwright starts, and the repository of the project.

use std::path::Path;
use std::time::Duration;

use super::{DoctorFinding, DoctorLevel};
use crate::git::base;
use crate::system::process;
use crate::system::process::{How, ProcessJob, Stop};
use crate::system::program;

const VERSION_SECONDS: u64 = 10;
/// The first git that merges without a working copy (`merge-tree --write-tree`).
const GIT_MIN: [u32; 2] = [2, 38];

pub(super) fn programs() -> Vec<DoctorFinding> {
    let mut there = Vec::new();
    let mut findings = Vec::new();
    for (name, without) in
        [("git", "worktrees, parallel steps and merges need it"), ("bash", "contracts cannot run without it")]
    {
        match version(name) {
            Ok(version) => {
                if name == "git" && is_older(&version, GIT_MIN) {
                    let [major, minor] = GIT_MIN;
                    findings.push(DoctorFinding::new(
                        DoctorLevel::Warn,
                        format!("git {version} is too old: parallel steps and `planwright merge` need {major}.{minor}"),
                    ));
                }
                there.push(format!("{name} {version}"));
            }
            Err(why) => {
                let level = if name == "bash" { DoctorLevel::Error } else { DoctorLevel::Warn };
                findings.push(DoctorFinding::new(level, format!("{name}: {why}; {without}")));
            }
        }
    }
    if !there.is_empty() {
        findings.insert(0, DoctorFinding::ok(there.join(", ")));
    }
    findings
}

/// A program's version: the first number it prints.
pub(super) fn version(program: &str) -> Result<String, String> {
    if !program::has_program(program) {
        return Err("not on the PATH".to_owned());
    }
    let job = ProcessJob {
        argv: vec![program.to_owned(), "--version".to_owned()],
        // Not in the project, where files may be an agent's.
        folder: "/".into(),
        env: process::environment(),
        input: Vec::new(),
        deadline: Duration::from_secs(VERSION_SECONDS),
        output_bytes_max: 4096,
        tag: format!("doctor/{}/{program}", std::process::id()),
    };
    let ended = process::run(&job, &Stop::new()).map_err(|error| error.to_string())?;
    let text = ended.stdout.text();
    let number = text.split_whitespace().find(|word| word.starts_with(|sign: char| sign.is_ascii_digit()));
    match (ended.how, number) {
        (How::Exited(0), Some(word)) => {
            let number: String =
                word.chars().take_while(|sign| sign.is_ascii_digit() || *sign == '.').collect();
            Ok(number.trim_end_matches('.').to_owned())
        }
        (How::Exited(_) | How::Signalled(_) | How::TimedOut | How::Stopped | How::NotStarted(_), _) => {
            Err("version unknown".to_owned())
        }
    }
}

/// Whether a version is older than another. An unreadable one is not older than anything.
fn is_older(version: &str, than: [u32; 2]) -> bool {
    let mut numbers = version.split('.').map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => [major, minor] < than,
        (_, _) => false,
    }
}

/// Whether the repository can be read as far as the work needs it. Not all of it: `git fsck` takes minutes.
pub(super) fn repository(root: &Path) -> Vec<DoctorFinding> {
    if !program::has_program("git") {
        return Vec::new();
    }
    let unsound = |what: String| vec![DoctorFinding::warn(format!("repository: {what}"), "git fsck")];
    // If the repository cannot be determined, that is reported with the records.
    let Ok(Some(repository)) = base::repository(root) else { return Vec::new() };
    let ask = |words: &[&str]| repository.ask(words).map_err(|error| error.to_string());
    let head = match ask(&["rev-parse", "--quiet", "--verify", "HEAD"]) {
        Ok(answer) if answer.code == Some(0) => answer.text(),
        // A repository without a commit is fine; something that git does not accept as a repository is not.
        Ok(_) => match ask(&["rev-parse", "--git-dir"]) {
            Ok(answer) if answer.code == Some(0) => return Vec::new(),
            Ok(answer) => return unsound(answer.stderr.lines().next().unwrap_or_default().to_owned()),
            Err(why) => return unsound(why),
        },
        Err(why) => return unsound(why),
    };
    match ask(&["cat-file", "-e", &format!("{head}^{{tree}}")]) {
        Ok(answer) if answer.code == Some(0) => Vec::new(),
        Ok(_) => unsound(format!("cannot read commit {head} (HEAD)")),
        Err(why) => unsound(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        for (version, is) in [
            ("2.37.9", true),
            ("2.9", true),
            ("1.99", true),
            ("2.38", false),
            ("2.38.1", false),
            ("2.100", false),
            ("3.0", false),
            ("strange", false),
        ] {
            assert_eq!(is_older(version, GIT_MIN), is, "{version}");
        }
    }
}
