//! A full disk: the state folder, the project, the standard output. A run stops with an error, nothing is half written, and
//! when there is space again it comes to the same end. The small disks are in memory, in a namespace of their own.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::scenario::{Play, Ran, finish, not_tried, run_words};
use crate::story::{Disturbance, Story};
use crate::sweep::census;

/// The argument that makes this program the one that fills disks, inside its namespace.
pub(crate) const FILL: &str = "__fill";
/// How large the small disks are, in KiB: too small for anything, for the database, for the marks, nearly enough.
const SIZES: &[u32] = &[8, 24, 48, 72, 96, 128, 192, 256];
const ROOM: u32 = 64 << 10;

/// What lies on the small disk.
const PARTS: &[&str] = &["state", "project"];

// M-04: disk full pauses, never corrupts, and converges when space returns.
pub(crate) fn a_full_disk_stops_a_run_and_space_lets_it_go_on() {
    let own = std::env::current_exe().expect("this program has a path");
    let probe = Command::new("unshare").args(["-rm", "true"]).output();
    if !probe.as_ref().is_ok_and(|probe| probe.status.success()) {
        not_tried(&format!("full disks, no namespace can be made here: {probe:?}"));
        return;
    }
    let mut filling = Command::new("unshare");
    filling.arg("-rm").arg(own).arg(FILL).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finish(&mut filling);
    print!("{}", ran.stdout);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

/// Fills disks: all sizes for both parts.
pub(crate) fn main() -> ExitCode {
    let (_, story) = census();
    let base = std::env::temp_dir().join(format!("planwright-full-{}", std::process::id()));
    let mut stopped = 0;
    for part in PARTS {
        for &size in SIZES {
            let play = Play::below(&base);
            let ran = fill(&play, &story, part, size)
                .unwrap_or_else(|fault| panic!("{part} on a disk of {size} KiB: {fault}"));
            stopped += usize::from(ran.code != Some(3));
            release(&play.folder.join(part));
            fs::remove_dir_all(&play.folder).ok();
        }
    }
    fs::remove_dir_all(&base).ok();
    let tried = PARTS.len() * SIZES.len();
    println!(
        "full disks: {tried} sizes, {stopped} stopped the run, all came to the same end with more space"
    );
    ExitCode::SUCCESS
}

fn release(folder: &Path) {
    let ended = Command::new("umount").arg("-l").arg(folder).status();
    assert!(ended.is_ok_and(|ended| ended.success()), "cannot let go of {}", folder.display());
}

fn mount(folder: &Path, options: &str) {
    let ended = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(folder).status();
    assert!(ended.is_ok_and(|ended| ended.success()), "cannot mount {}", folder.display());
}

fn fill(play: &Play, story: &Story, part: &str, size: u32) -> Result<Ran, String> {
    let folder = play.folder.join(part);
    let kept: Option<PathBuf> = (part == "project").then(|| play.folder.join("project-before"));
    if let Some(kept) = &kept {
        fs::rename(&folder, kept).expect("moved");
    }
    fs::create_dir_all(&folder).expect("a folder");
    mount(&folder, &format!("size={size}k"));
    if let Some(kept) = &kept {
        // A plan has to be there before there is anything to run.
        fs::create_dir_all(folder.join("plans")).expect("a folder");
        fs::create_dir_all(folder.join(".git/objects")).expect("a folder");
        fs::copy(kept.join(crate::scenario::FILE), folder.join(crate::scenario::FILE)).expect("copied");
    }
    let words = run_words();
    let ran = play.run(&words);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    if said.contains("panicked") || !matches!(ran.code, Some(3 | 5)) {
        return Err(format!("it ended badly: {ran:#?}"));
    }
    if ran.code == Some(5) && !ran.stderr.contains("error") {
        return Err(format!("it failed and did not say why: {ran:#?}"));
    }
    mount(&folder, &format!("remount,size={ROOM}k"));
    // Marks are no part of the digest, so a plan that is whole still has the one that was approved.
    let digest = play.data(&["run", "it", "--dry-run", "--json"])?["digest"].clone();
    if !words.contains(&digest.as_str().unwrap_or_default()) {
        return Err(format!("the plan file is not what it was: {digest}"));
    }
    play.converge()?;
    let disturbance = if part == "state" { Disturbance::Error } else { Disturbance::NoSpace };
    story.compare(play, disturbance).map_err(|fault| format!("{fault}\nafter {ran:#?}"))?;
    Ok(ran)
}

// M-04: nobody can be told anything, and nothing panics for it.
pub(crate) fn output_that_cannot_be_written_is_no_reason_to_panic() {
    let (_, story) = census();
    let full = || File::options().write(true).open("/dev/full").expect("a device that is always full");
    // Who can't read the answer is told so by the code; who can't read the talk misses nothing else.
    for (is_stdout, code) in [(true, 5), (false, 3)] {
        let play = Play::new();
        let words = run_words();
        let mut command = play.planwright(&words);
        if is_stdout {
            command.stdout(full())
        } else {
            command.stderr(full())
        };
        let ran = finish(&mut command);
        assert_eq!(ran.code, Some(code), "{ran:#?}");
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains("panicked"), "{ran:#?}");
        play.converge().and_then(|()| story.compare(&play, Disturbance::Kills(0))).expect("the same end");
    }
}
