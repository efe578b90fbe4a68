//! A power cut: a file system of its own in a file, shut down without its journal being written, and mounted again. What
//! anybody could have seen before is there after. Needs root and a loop device; says so where they are missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::point::Order;
use crate::scenario::{FILE, Play, commands, finish, not_tried, run_words};
use crate::story::{Disturbance, Story};
use crate::sweep::census;

/// How large the file system is.
const DISK_BYTES: u64 = 24 << 20;
/// How long a file system may be busy with what was just killed.
const PATIENCE: Duration = Duration::from_secs(20);
/// Tells ext4 to stop at once: `EXT4_IOC_SHUTDOWN`, without writing its journal (2).
const CUT: &str =
    "open(my $d, '<', $ARGV[0]) or die $!; my $how = pack('L', 2); ioctl($d, 0x8004587d, $how) or die $!";

/// When the power is cut.
#[derive(Debug, Clone, Copy)]
enum When {
    /// After so many commands of the scenario.
    After(usize),
    /// In the first of them, once its journal has so many events.
    Within(usize),
}

/// The moments that are tried.
const MOMENTS: &[When] = &[
    When::After(1),
    When::After(2),
    When::After(3),
    When::After(4),
    When::Within(1),
    When::Within(4),
    When::Within(9),
    When::Within(14),
];

/// A file system in a file.
struct Disk {
    image: PathBuf,
    folder: PathBuf,
}

impl Disk {
    /// Makes and mounts one, or says why that can't be done here.
    fn new(name: &str) -> Result<Self, String> {
        let base = std::env::temp_dir().join(format!("planwright-power-{}-{name}", std::process::id()));
        let disk = Self { image: base.join("image"), folder: base.join("mounted") };
        fs::create_dir_all(&disk.folder).map_err(|error| error.to_string())?;
        let image = fs::File::create(&disk.image).map_err(|error| error.to_string())?;
        image.set_len(DISK_BYTES).map_err(|error| error.to_string())?;
        tool("mkfs.ext4", &["-q", "-F"], &[&disk.image])?;
        disk.mount()?;
        Ok(disk)
    }

    fn mount(&self) -> Result<(), String> {
        tool("mount", &["-o", "loop"], &[&self.image, &self.folder])
    }

    fn unmount(&self) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            let done = tool("umount", &[], &[&self.folder]);
            if done.is_ok() || begin.elapsed() > PATIENCE {
                return done;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Cuts the power, and turns it on again.
    fn cut(&self) -> Result<(), String> {
        tool("perl", &["-e", CUT], &[&self.folder])?;
        self.unmount()?;
        self.mount()
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What can't be taken down stays as a scratch folder.
        self.unmount().ok();
        fs::remove_dir_all(self.image.parent().unwrap_or(&self.image)).ok();
    }
}

fn tool(program: &str, options: &[&str], paths: &[&Path]) -> Result<(), String> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    let ran = Command::new(program).args(options).args(paths).env("PATH", path).stdin(Stdio::null()).output();
    match ran {
        Ok(Output { status, .. }) if status.success() => Ok(()),
        Ok(Output { status, stderr, .. }) => {
            Err(format!("{program}: {status}: {}", String::from_utf8_lossy(&stderr).trim()))
        }
        Err(error) => Err(format!("{program}: {error}")),
    }
}

/// Whether power can be cut here.
fn probe() -> Result<(), String> {
    let disk = Disk::new("probe")?;
    disk.cut()
}

/// Plays some commands, cuts the power, and says what of that was lost: events that everybody could read, or marks.
fn lose(order: &Order, played: usize, disk: &Disk) -> Result<(Play, Vec<String>), String> {
    let play = Play::below(&disk.folder);
    // The project is older than the run.
    tool("sync", &[], &[])?;
    for (words, code) in commands().iter().take(played) {
        let ran = finish(&mut play.traced(order, &[], words));
        if ran.code != Some(*code) {
            return Err(format!("{words:?} ended badly: {ran:#?}"));
        }
    }
    let file = play.project().join(FILE);
    let (before, text) = (play.events()?, fs::read_to_string(&file).unwrap_or_default());
    disk.cut()?;
    let after = play.events().unwrap_or_default();
    let mut lost: Vec<String> = missing(&before, &after);
    if fs::read_to_string(&file).unwrap_or_default() != text {
        lost.push("the marks in the plan file".to_owned());
    }
    Ok((play, lost))
}

/// Cuts the power in the middle of a run, once its journal has this many events.
fn lose_within(events: usize, disk: &Disk) -> Result<(Play, Vec<String>), String> {
    let play = Play::below(&disk.folder);
    tool("sync", &[], &[])?;
    let mut run = play.planwright(&run_words()).spawn().map_err(|error| error.to_string())?;
    let begin = Instant::now();
    let mut before = Vec::new();
    while before.len() < events && begin.elapsed() < PATIENCE {
        before = play.events().unwrap_or_default();
    }
    tool("perl", &["-e", CUT], &[&disk.folder])?;
    run.kill().and_then(|()| run.wait()).map_err(|error| error.to_string())?;
    disk.unmount()?;
    disk.mount()?;
    let after = play.events().unwrap_or_default();
    Ok((play, missing(&before, &after)))
}

fn missing(before: &[Value], after: &[Value]) -> Vec<String> {
    let gone = before.iter().enumerate().filter(|(place, event)| after.get(*place) != Some(event));
    gone.map(|(_, event)| event.to_string()).collect()
}

fn trial(story: &Story, when: When) -> Result<(), String> {
    let disk = Disk::new("trial")?;
    let (play, lost) = match when {
        When::After(played) => lose(&Order::Watch, played, &disk)?,
        When::Within(events) => lose_within(events, &disk)?,
    };
    if !lost.is_empty() {
        return Err(format!("a power cut {when:?} lost {lost:#?}"));
    }
    play.converge()?;
    story.compare(&play, Disturbance::PowerCut).map(drop)
}

// M-04: what was acknowledged survives a power cut; a program that does not sync loses it.
pub(crate) fn an_acknowledged_event_survives_a_power_cut() {
    if let Err(why) = probe() {
        not_tried(&format!("power cuts, a file system can't be shut down here: {why}"));
        return;
    }
    let (_, story) = census();
    for &when in MOMENTS {
        trial(&story, when).expect("nothing is lost");
    }
    let disk = Disk::new("twin").expect("another one");
    let skip = Order::Skip(vec!["fsync", "fdatasync"]);
    let (_, lost) = lose(&skip, 1, &disk).expect("without syncs it works as long as there is power");
    assert!(!lost.is_empty(), "a program that never syncs is not caught");
    println!("power cuts: {} survived; without syncs one loses {} things", MOMENTS.len(), lost.len());
}
