//! A place to run the program in: a project, a home and a search path that hold only what a test put there.
//! Judges nothing; every run ends within a deadline.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "these tests stand outside of the program: they make its files and start it"
)]

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Far more than any run takes on a busy machine; what runs longer hangs.
pub(crate) const DEADLINE: Duration = Duration::from_mins(3);
/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_planwright");
/// What is on the search path beside the program. A contract that calls anything else calls a program that is missing.
const TOOLS: &[&str] = &[
    "bash", "cat", "chmod", "cp", "cut", "dd", "echo", "git", "grep", "head", "ls", "mkdir", "mkfifo", "mv",
    "printf", "rm", "sed", "seq", "sh", "sleep", "sort", "tail", "test", "touch", "true", "wc",
];
/// Nobody, who owns nothing.
const NOBODY: &str = "65534";

/// A folder with a project in it, removed at the end.
pub(crate) struct Place {
    folder: PathBuf,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn said(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }

    /// Fails unless the run ended with this code and said all of this.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, said: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{self:#?}");
        for words in said {
            assert!(self.said().contains(words), "`{words}` was not said: {self:#?}");
        }
        assert!(!self.said().contains("panicked"), "{self:#?}");
        self
    }
}

impl Place {
    pub(crate) fn empty() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("planwright-program-{}-{count}", std::process::id()));
        for inside in ["project/.git/objects", "project/.git/refs", "home", "bin"] {
            fs::create_dir_all(folder.join(inside)).expect("a scratch folder");
        }
        // The least that git takes for a repository, with nothing in it.
        fs::write(folder.join("project/.git/HEAD"), "ref: refs/heads/main\n").expect("written");
        let folder = folder.canonicalize().expect("the scratch folder is there");
        let bin = folder.join("bin");
        symlink(PROGRAM, bin.join("planwright")).expect("a link to the program");
        symlink(env!("CARGO_BIN_EXE_agentctl"), bin.join("agentctl")).expect("a link to the other program");
        for tool in TOOLS {
            let here =
                ["/usr/bin", "/bin", "/usr/local/bin"].iter().map(|folder| Path::new(folder).join(tool));
            let found = here.clone().find(|path| path.exists()).unwrap_or_else(|| panic!("no `{tool}` here"));
            symlink(found, bin.join(tool)).expect("a link to a tool");
        }
        Self { folder }
    }

    /// A copy of the example project.
    pub(crate) fn harbor() -> Self {
        let place = Self::empty();
        place.lay(&repository().join("examples/harbor"), "");
        place
    }

    /// Copies a folder into the project.
    pub(crate) fn lay(&self, from: &Path, to: &str) {
        copy(from, &self.path(to));
    }

    /// The folder of the project.
    pub(crate) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// A path in the project.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.project().join(inside)
    }

    /// Writes a file of the project, with its folders.
    #[track_caller]
    pub(crate) fn write(&self, inside: &str, bytes: impl AsRef<[u8]>) -> &Self {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders");
        fs::write(path, bytes).expect("written");
        self
    }

    /// The bytes of a file of the project, as text.
    #[track_caller]
    pub(crate) fn read(&self, inside: &str) -> String {
        fs::read_to_string(self.path(inside)).expect("a file that can be read")
    }

    /// The bytes of a file of the project.
    #[track_caller]
    pub(crate) fn bytes(&self, inside: &str) -> Vec<u8> {
        fs::read(self.path(inside)).expect("a file that can be read")
    }

    /// Sets who may do what with a path of the project.
    pub(crate) fn permit(&self, inside: &str, mode: u32) -> &Self {
        fs::set_permissions(self.path(inside), fs::Permissions::from_mode(mode)).expect("a mode");
        self
    }

    /// A link in the project.
    pub(crate) fn link(&self, to: &str, inside: &str) -> &Self {
        symlink(to, self.path(inside)).expect("a link");
        self
    }

    /// Puts a script in the place of a tool.
    pub(crate) fn replace_tool(&self, tool: &str, script: &str) {
        let path = self.folder.join("bin").join(tool);
        fs::remove_file(&path).expect("the tool was there");
        fs::write(&path, script).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// What is typed, in this place and in no other environment.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", self.folder.join("bin"))
            .env("HOME", self.folder.join("home"))
            .env("XDG_STATE_HOME", self.folder.join("home/state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// The program with these words.
    pub(crate) fn planwright(&self, words: &[&str]) -> Command {
        let mut command = self.command(PROGRAM);
        command.args(words);
        command
    }

    /// Runs the program with these words.
    #[track_caller]
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        run(&mut self.planwright(words), b"")
    }

    /// Runs the program with these words and this on its standard input.
    #[track_caller]
    pub(crate) fn run_with(&self, words: &[&str], input: impl AsRef<[u8]>) -> Ran {
        run(self.planwright(words).stdin(Stdio::piped()), input.as_ref())
    }

    /// Runs a script in which `planwright` is the program.
    #[track_caller]
    pub(crate) fn bash(&self, script: &str) -> Ran {
        run(self.command("bash").env("LANG", "C.UTF-8").args(["-c", script]), b"")
    }

    /// Runs the program as somebody who may not read everything. `None`, with a message, where that can't be done here.
    #[track_caller]
    pub(crate) fn run_unprivileged(&self, words: &[&str]) -> Option<Ran> {
        if fs::metadata(&self.folder).expect("the folder is there").uid() != 0 {
            return Some(self.run(words));
        }
        let setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].into_iter().find(|path| Path::new(path).exists());
        let Some(setpriv) = setpriv else {
            eprintln!("NOT TRIED: this needs `setpriv`, or a user who is not root");
            assert!(std::env::var("CI").as_deref() != Ok("true"), "CI must try everything");
            return None;
        };
        // The target folder may be closed to others; this copy is not.
        let program = self.folder.join("planwright");
        if !program.exists() {
            fs::hard_link(PROGRAM, &program)
                .or_else(|_| fs::copy(PROGRAM, &program).map(drop))
                .expect("a copy");
        }
        for folder in [self.folder.clone(), self.folder.join("home")] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o777)).expect("a mode");
        }
        let mut command = self.command(setpriv);
        command.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--"]).arg(program).args(words);
        Some(run(&mut command, b""))
    }

    /// The text with the folders of this place replaced by names.
    pub(crate) fn without_folders(&self, text: &str) -> String {
        let project = self.project().display().to_string();
        text.replace(&project, "[PROJECT]").replace(&self.folder.display().to_string(), "[FOLDER]")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What a test closed is opened again, so that it can be removed; what stays is a scratch folder.
        open_folders(&self.folder);
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// Runs a command to its end with this input.
#[track_caller]
pub(crate) fn run(command: &mut Command, input: &[u8]) -> Ran {
    let mut child = command.spawn().expect("the program starts");
    let stdin = child.stdin.take();
    let (stdout, stderr) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    std::thread::scope(|scope| {
        if let Some(mut stdin) = stdin {
            // A program that does not want all of its input may close it early.
            scope.spawn(move || stdin.write_all(input).ok());
        }
        let out = scope.spawn(|| text(stdout));
        let err = scope.spawn(|| text(stderr));
        let code = end(&mut child);
        Ran { code, stdout: out.join().expect("no panic"), stderr: err.join().expect("no panic") }
    })
}

/// Waits for the end of a process and returns its code, 128 and the number of the signal where there is none.
#[track_caller]
pub(crate) fn end(child: &mut Child) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        }
        if begin.elapsed() > DEADLINE {
            child.kill().expect("a child can be killed");
            panic!("the program did not end within {DEADLINE:?}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn text(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("a pipe can be read");
    String::from_utf8(bytes).expect("only text is printed")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.file_type().expect("a kind").is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).expect("copied")),
        }
    }
}

fn open_folders(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).ok();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            open_folders(&entry.path());
        }
    }
}
