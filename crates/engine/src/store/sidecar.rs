//! Files that some dialects keep next to a plan: append-only files and files of a few keys. Nothing an agent
//! puts there may redirect planwright, which can write where agents cannot.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use planwright_core::dialect::SidecarEdit;
use planwright_core::dialect::frontmatter;

use super::plan_file::{Error, read_text};
use super::write_lock::Turn;
use super::{file, plan_write};

const KEYS_BYTES_MAX: u64 = 1 << 20;

/// Writes what belongs next to the plan at `plan`.
pub fn keep(plan: &Path, beside: &SidecarEdit) -> Result<(), Error> {
    match beside {
        SidecarEdit::Append { path, line } => append(&place(plan, path)?, line),
        SidecarEdit::Set { path, values } => set(&place(plan, path)?, values),
    }
}

/// Appends a whole line to a file, creating it if needed. Safe for concurrent callers.
pub fn append(path: &Path, line: &str) -> Result<(), Error> {
    let write_error = |source| Error::Write { path: path.to_owned(), source };
    let add = || -> io::Result<()> {
        // Held so that an unfinished line is completed only once.
        let _turn = Turn::at(path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
            .open(path)?;
        let mut last = [b'\n'];
        if file.seek(SeekFrom::End(0))? > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        let start = if last == *b"\n" { "" } else { "\n" };
        // One write: others who append without our lock cannot split our line.
        file.write_all(format!("{start}{}\n", line.replace(['\n', '\r'], " ")).as_bytes())?;
        file.sync_all()
    };
    add().map_err(write_error)
}

fn set(path: &Path, values: &[(String, String)]) -> Result<(), Error> {
    let old = match read_text(path, KEYS_BYTES_MAX) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        read => Some(read.map_err(|source| Error::Read { path: path.to_owned(), source })?),
    };
    let mut new = old.clone().unwrap_or_default();
    for (key, value) in values {
        let unclear = || io::Error::other(format!("cannot set `{key}` there"));
        new = frontmatter::set_in_yaml(&new, key, value)
            .ok_or_else(|| Error::Write { path: path.to_owned(), source: unclear() })?;
    }
    match old {
        Some(old) if old == new => Ok(()),
        Some(old) => plan_write::replace(path, &old, &new),
        None => file::create(path, &new),
    }
}

/// The real path of a file next to a plan, without any link on the way. The plan itself may be a link, or not
/// exist yet.
pub(super) fn place(plan: &Path, beside: &str) -> Result<PathBuf, Error> {
    let astray = || Error::Astray { path: PathBuf::from(beside) };
    let read_error = |source| super::plan_file::read_error(plan, source);
    let mut folder = match plan.canonicalize() {
        Ok(plan) => plan.parent().ok_or_else(astray)?.to_owned(),
        Err(_) => match plan.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => folder.canonicalize().map_err(read_error)?,
            None => Path::new(".").canonicalize().map_err(read_error)?,
        },
    };
    let mut parts: Vec<Component<'_>> = Path::new(beside).components().collect();
    let Some(Component::Normal(file)) = parts.pop() else { return Err(astray()) };
    for (index, part) in parts.into_iter().enumerate() {
        match part {
            Component::ParentDir if index == 0 => folder = folder.parent().ok_or_else(astray)?.to_owned(),
            Component::Normal(name) => folder.push(name),
            Component::ParentDir | Component::Prefix(_) | Component::RootDir | Component::CurDir => {
                return Err(astray());
            }
        }
    }
    let write_error = |source| Error::Write { path: folder.clone(), source };
    std::fs::create_dir_all(&folder).map_err(write_error)?;
    let is_straight = folder.canonicalize().is_ok_and(|real| real == folder);
    let path = folder.join(file);
    // A link leads elsewhere, and opening a pipe would block.
    let is_sound = path.symlink_metadata().map_or_else(|_| true, |data| data.is_file());
    match is_straight && is_sound {
        true => Ok(path),
        false => Err(Error::Astray { path }),
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "these tests play those who write without asking us")]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    fn plan(name: &str) -> (Scratch, PathBuf) {
        let scratch = Scratch::new(name);
        let folder = scratch.path().join("plans");
        std::fs::create_dir(&folder).expect("a folder");
        let plan = folder.join("PLAN.md");
        std::fs::write(&plan, "# T\n").expect("written");
        (scratch, plan)
    }

    // D-03: lines are whole, whoever else writes at the same time, and what is there is never replaced.
    #[test]
    fn a_hundred_writers_leave_a_hundred_whole_lines() {
        let (_scratch, plan) = plan("beside-crowd");
        let path = plan.with_file_name("progress.md");
        std::fs::write(&path, "the first line, not ended").expect("written");
        let line = |writer: usize| format!("{writer} {}", "x".repeat(5000));
        std::thread::scope(|scope| {
            for writer in 0..100 {
                let (path, line) = (&path, line(writer));
                scope.spawn(move || append(path, &line).expect("appended"));
            }
        });
        let text = std::fs::read_to_string(&path).expect("read");
        let mut lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines.len(), lines.remove(0)), (101, "the first line, not ended"));
        assert!(text.ends_with('\n'));
        let mut wanted: Vec<String> = (0..100).map(line).collect();
        wanted.sort();
        lines.sort_unstable();
        assert_eq!(lines, wanted);
    }

    // B-07: keys are set and everything else in the file stays.
    #[test]
    fn keys_are_set_in_a_file_that_may_not_be_there() {
        let (_scratch, plan) = plan("beside-keys");
        let set = |value: &str| SidecarEdit::Set {
            path: "../current-task.yaml".to_owned(),
            values: vec![("planId".to_owned(), value.to_owned())],
        };
        let path = plan.parent().and_then(Path::parent).expect("a folder").join("current-task.yaml");
        keep(&plan, &set("p-1")).expect("made");
        std::fs::write(&path, "# mine\nplanId: p-1 # now\nother: 1\n").expect("written");
        keep(&plan, &set("p-2")).expect("set");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "# mine\nplanId: p-2 # now\nother: 1\n");
    }

    // what an agent lays next to a plan does not lead planwright to files that the agent can't write.
    #[test]
    fn nothing_leads_the_harness_elsewhere() {
        let (scratch, plan) = plan("beside-astray");
        let prey = scratch.path().join("prey");
        std::fs::create_dir(&prey).expect("a folder");
        std::fs::write(prey.join("file"), "mine\n").expect("written");
        let append =
            |path: &str| keep(&plan, &SidecarEdit::Append { path: path.to_owned(), line: "x".to_owned() });
        std::os::unix::fs::symlink(prey.join("file"), plan.with_file_name("progress.md")).expect("a link");
        std::os::unix::fs::symlink(&prey, plan.with_file_name("sessions")).expect("a link");
        for path in [
            "progress.md",
            "sessions/file",
            "../prey/../prey/file",
            "../../file",
            "/tmp/planwright-x",
            "",
            "a/..",
        ] {
            assert!(matches!(append(path), Err(Error::Astray { .. })), "{path}");
        }
        // A pipe that nobody reads from would hold planwright up for ever.
        let pipe = std::process::Command::new("mkfifo").arg(plan.with_file_name("pipe")).status();
        assert!(pipe.is_ok_and(|status| status.success()));
        assert!(matches!(append("pipe"), Err(Error::Astray { .. })));
        assert_eq!(std::fs::read_to_string(prey.join("file")).expect("read"), "mine\n");
        append("sound.md").expect("a plain file is written");
    }
}
