//! Who wrote a plan last, and the lock that serializes writers. Both are outside the workspace, where no
//! agent can hold the one or forge the other.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::state_dir;
use crate::system::clock;
use crate::system::user::user;

const RECORD_BYTES_MAX: u64 = 4096;

/// The right to write one plan, while it lives.
pub(super) struct Turn {
    file: File,
    path: PathBuf,
}

impl Turn {
    /// Waits for the right to write the plan at `path`.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let folder = state_dir::folder().map_err(io::Error::other)?.join("locks");
        // The first edit may come before the first run: everything created here is private.
        state_dir::create(&folder).map_err(io::Error::other)?;
        let name = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
        let path = folder.join(&name[..32]);
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path)?;
        file.lock()?;
        Ok(Self { file, path })
    }

    /// Where to record what is about to be done to a plan of several files, so that a crash can be recovered
    /// from.
    pub(super) fn intent(&self) -> PathBuf {
        self.path.with_extension("intent")
    }

    /// Records that this process wrote `text`.
    #[expect(clippy::disallowed_methods, reason = "a lock is not a plan file")]
    pub(super) fn sign(&mut self, text: &str) -> io::Result<()> {
        let program = std::env::args().take(2).collect::<Vec<_>>();
        let command = program.get(1).map_or("planwright", String::as_str);
        let record = format!(
            "{}\n{} (planwright {command}, process {}) at {}\n",
            blake3::hash(text.as_bytes()).to_hex(),
            user(),
            std::process::id(),
            clock::local(clock::now())
        );
        self.file.rewind()?;
        self.file.set_len(0)?;
        self.file.write_all(record.as_bytes())
    }

    pub(super) fn author(&mut self, text: &str) -> String {
        let mut record = String::new();
        // An unreadable record names nobody.
        let read =
            self.file.rewind().and_then(|()| (&self.file).take(RECORD_BYTES_MAX).read_to_string(&mut record));
        let mut lines = record.lines();
        let is_theirs = read.is_ok() && lines.next() == Some(blake3::hash(text.as_bytes()).to_hex().as_str());
        match lines.next().filter(|_| is_theirs) {
            Some(author) => author.to_owned(),
            None => "something other than planwright".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use super::super::plan_file::append;
    use super::*;
    use crate::scratch::Scratch;

    /// Says to another process which part it plays, and where.
    const PART: &str = "WRITER_TEST_PART";
    const FOLDER: &str = "WRITER_TEST_FOLDER";
    /// What document D allows for.
    const RECOVERED: Duration = Duration::from_secs(10);

    fn play(part: &str, scratch: &Scratch) -> Child {
        let mut command = Command::new(std::env::current_exe().expect("this binary"));
        let test = "store::write_lock::tests::a_writer_that_is_killed_holds_nobody_up";
        command.args(["--exact", test, "--nocapture", "--test-threads=1"]);
        command
            .env(PART, part)
            .env(FOLDER, scratch.path())
            .env("XDG_STATE_HOME", scratch.path().join("state"));
        command.stdout(Stdio::piped()).spawn().expect("started")
    }

    fn take_part(part: &str, plan: &Path) {
        match part {
            "hold" => {
                let _turn = Turn::at(plan).expect("a turn");
                println!("\nheld");
                loop {
                    std::thread::park();
                }
            }
            _ => append(plan, "the next writer").expect("written"),
        }
    }

    /// Whether somebody holds the one lock that there is.
    fn is_held(scratch: &Scratch) -> bool {
        let locks = scratch.path().join("state/planwright/locks");
        let lock = locks.read_dir().expect("locks").next().expect("a lock").expect("an entry").path();
        File::options().write(true).open(lock).expect("a lock").try_lock().is_err()
    }

    // D-22: the lock is outside the directory that is synced, and ends with its holder: no heartbeat, and nothing to take over.
    #[test]
    fn a_writer_that_is_killed_holds_nobody_up() {
        if let (Ok(part), Some(folder)) = (std::env::var(PART), std::env::var_os(FOLDER)) {
            return take_part(&part, &Path::new(&folder).join("vault/progress-foo.md"));
        }
        let scratch = Scratch::new("writer-killed");
        let vault = scratch.path().join("vault");
        std::fs::create_dir(&vault).expect("a folder");
        let mut holder = play("hold", &scratch);
        let said = BufReader::new(holder.stdout.take().expect("a pipe"));
        assert!(said.lines().map_while(Result::ok).any(|line| line == "held"));
        assert!(is_held(&scratch), "as long as it lives");
        assert_eq!(
            vault.read_dir().expect("a list").count(),
            0,
            "nothing of the lock lies in the folder that is synced"
        );
        let mut writer = play("write", &scratch);
        // SIGKILL: the holder has no chance to let go.
        holder.kill().expect("killed");
        holder.wait().expect("gone");
        let begin = Instant::now();
        let ended = loop {
            if let Some(status) = writer.try_wait().expect("a child") {
                break Some(status);
            }
            if begin.elapsed() > RECOVERED {
                writer.kill().expect("killed");
                break None;
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        assert!(ended.is_some_and(|status| status.success()), "{ended:?}");
        assert_eq!(
            std::fs::read_to_string(vault.join("progress-foo.md")).expect("read"),
            "the next writer\n"
        );
        assert!(!is_held(&scratch));
    }
}
