//! A place where one agent works for planwright: a project, a home that holds nothing but what the agent needs, a model of its
//! own, and a look at every process that is alive in it. Judges nothing.

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::agent::Agent;
use super::install::Installed;
use super::model::Model;

const PROGRAM: &str = env!("CARGO_BIN_EXE_planwright");
/// Where the tools of a machine are. What else a developer has on the PATH is none of the suite's business.
const TOOLS: &str = "/usr/local/bin:/usr/bin:/bin";
/// Far more than any case takes on a busy machine.
const DEADLINE: Duration = Duration::from_mins(4);
/// The plan of a bench.
pub(crate) const PLAN: &str = "plans/it.md";

pub(crate) struct Bench {
    folder: PathBuf,
    pub(crate) agent: &'static Agent,
    pub(crate) model: Model,
}

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) said: String,
    pub(crate) stdout: String,
}

impl Ran {
    /// Fails unless it ended with this code and said all of this.
    #[track_caller]
    pub(crate) fn expect(&self, code: i32, said: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{}", self.said);
        for words in said {
            assert!(self.said.contains(words), "`{words}` was not said: {}", self.said);
        }
        self
    }

    /// The data of its envelope.
    #[track_caller]
    pub(crate) fn data(&self) -> Value {
        let envelope: Value =
            serde_json::from_str(&self.stdout).unwrap_or_else(|_| panic!("no envelope: {}", self.said));
        envelope["data"].clone()
    }
}

/// A step: its id, more fields (a line each), what the agent is told, and its contract.
pub(crate) type Step<'a> = (&'a str, &'a str, &'a str, &'a str);

impl Bench {
    /// A bench for this agent.
    pub(crate) fn of(installed: &Installed) -> Self {
        let bench = Self::without_program(installed.agent);
        symlink(&installed.program, bench.program(installed.agent.name)).expect("a link to the agent");
        symlink(installed.node.join("node"), bench.program("node")).expect("a link to Node");
        bench
    }

    /// A bench where the agent is configured and its program is missing.
    pub(crate) fn without_program(agent: &'static Agent) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Not in the folder for temporary files, where codex refuses to have its home.
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-{}-{count}", std::process::id()));
        for inside in ["project/plans", "home", "tmp", "bin"] {
            fs::create_dir_all(folder.join(inside)).expect("a scratch folder");
        }
        let folder = folder.canonicalize().expect("the scratch folder is there");
        let bench = Self { folder, agent, model: Model::start() };
        symlink(PROGRAM, bench.program("planwright")).expect("a link to the program");
        for (inside, text) in (agent.files)(&bench.model.url()) {
            bench.write_at(&bench.folder.join("home").join(inside), &text);
        }
        bench.write("planwright.toml", &format!("[roles]\ncoder = \"{}\"\n", agent.name));
        bench.write("README.md", "A place to work in.\n");
        let commit =
            "git init -q && git add . && git -c user.name=ada -c user.email=ada@example.org commit -qm begin";
        bench.bash(commit).expect(0, &[]);
        bench
    }

    /// A program of this bench.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join("bin").join(name)
    }

    /// Puts a script in the place of a program, which goes by another name from then on.
    pub(crate) fn wrap(&self, name: &str, to: &str, script: &str) {
        fs::rename(self.program(name), self.program(to)).expect("the program was there");
        self.write_at(&self.program(name), script);
        fs::set_permissions(self.program(name), fs::Permissions::from_mode(0o755)).expect("a mode");
    }

    /// A path of the project.
    pub(crate) fn path(&self, inside: &str) -> PathBuf {
        self.folder.join("project").join(inside)
    }

    fn write_at(&self, path: &Path, text: &str) {
        assert!(path.starts_with(&self.folder), "a bench writes nowhere else");
        fs::create_dir_all(path.parent().expect("a file has a folder")).expect("folders");
        fs::write(path, text).expect("written");
    }

    /// Writes a file of the project.
    pub(crate) fn write(&self, inside: &str, text: &str) {
        self.write_at(&self.path(inside), text);
    }

    /// A file of the project.
    #[track_caller]
    pub(crate) fn read(&self, inside: &str) -> String {
        fs::read_to_string(self.path(inside)).unwrap_or_else(|error| panic!("{inside}: {error}"))
    }

    /// Whether the project has this file.
    pub(crate) fn has(&self, inside: &str) -> bool {
        self.path(inside).exists()
    }

    /// Writes the plan. A failure is escalated where the fields don't say otherwise.
    pub(crate) fn plan(&self, steps: &[Step<'_>]) {
        let mut text =
            "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Carry it out\n\n**Context:** Because.\n\
             **Budget:** $9, 900 minutes\n\n## Steps\n"
                .to_owned();
        for (index, (id, fields, task, contract)) in steps.iter().enumerate() {
            let on_fail = if fields.contains("on_fail") { "" } else { "**on_fail:** escalate\n" };
            text.push_str(&format!(
                "\n### {}. Do {id}\n\n**id:** {id}\n**target:** coder\n{on_fail}{fields}\n\n**task:**\n{task}\n\n\
                 **contract:**\n```shell\n{contract}\n```\nexit_code == 0\n",
                index + 1
            ));
        }
        self.write(PLAN, &text);
    }

    /// A command in this place and in no other environment.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.path(""))
            .env_clear()
            .env("PATH", format!("{}:{TOOLS}", self.folder.join("bin").display()))
            .env("HOME", self.folder.join("home"))
            .env("XDG_STATE_HOME", self.folder.join("home/state"))
            .env("TMPDIR", self.folder.join("tmp"))
            // An agent that does not say when it can be had again is asked soon.
            .env("PLANWRIGHT_RUN_PARK_SECONDS", "5")
            .env("LANG", "C.UTF-8")
            .envs((self.agent.variables)(&self.model.url()))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program with these words.
    #[track_caller]
    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        end(self.command(PROGRAM).args(words).spawn().expect("the program starts"))
    }

    /// Runs the agent itself with these words and this prompt.
    #[track_caller]
    pub(crate) fn run_agent(&self, words: &[String], prompt: &str) -> Ran {
        let mut command = self.command(self.program(self.agent.name));
        let mut child = command.args(words).stdin(Stdio::piped()).spawn().expect("the agent starts");
        let stdin = child.stdin.take().expect("a pipe");
        // An agent that does not want its prompt says why.
        (&stdin).write_all(prompt.as_bytes()).ok();
        drop(stdin);
        end(child)
    }

    #[track_caller]
    pub(crate) fn bash(&self, script: &str) -> Ran {
        end(self.command("bash").args(["-c", script]).spawn().expect("bash starts"))
    }

    /// The digest of the plan as it is now.
    #[track_caller]
    pub(crate) fn digest(&self) -> String {
        let data = self.run(&["run", "it", "--dry-run", "--json"]).data();
        data["digest"].as_str().expect("a digest").to_owned()
    }

    /// Approves the plan as it is now and carries it out as far as it goes.
    #[track_caller]
    pub(crate) fn approve_and_run(&self) -> Ran {
        self.run(&["run", "it", "--rev", &self.digest()])
    }

    /// Starts the same, and does not wait for it.
    #[track_caller]
    pub(crate) fn start(&self) -> Running {
        let digest = self.digest();
        let mut command = self.command(PROGRAM);
        command.args(["run", "it", "--rev", &digest]).stdout(Stdio::null()).stderr(Stdio::null());
        Running(command.spawn().expect("the program starts"))
    }

    /// The events of the run, each with its time.
    #[track_caller]
    pub(crate) fn events(&self) -> Vec<Value> {
        let ran = self.run(&["log", "it", "--json"]);
        if ran.code == 1 {
            return Vec::new();
        }
        let data = ran.data();
        let entries = data["events"].as_array().expect("events").iter();
        let timed = entries.map(|entry| {
            let mut event = entry["event"].clone();
            event["at_ms"] = entry["at_ms"].clone();
            event
        });
        timed.collect()
    }

    /// The events in short, from the first attempt on: `fix attempt.started 1`, `fix contract.finished 1 passed`.
    #[track_caller]
    pub(crate) fn facts(&self) -> Vec<String> {
        let word = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Object(fields) => fields.keys().next().cloned(),
            Value::Null | Value::Bool(_) | Value::Array(_) => None,
        };
        let fact = |event: &Value| {
            let verdict = &event["receipt"]["verdict"];
            let end = if event["end"].get("parked").is_some() { "parked".into() } else { Value::Null };
            let parts =
                [&event["step"], &event["event"], &event["attempt"], verdict, &event["outcome"], &end];
            parts.into_iter().filter_map(word).collect::<Vec<_>>().join(" ")
        };
        self.events().iter().skip(1).map(fact).collect()
    }

    /// The end of an attempt.
    #[track_caller]
    pub(crate) fn finished(&self, attempt: u32) -> Value {
        let events = self.events();
        let is_it = |event: &&Value| event["event"] == "attempt.finished" && event["attempt"] == attempt;
        events
            .iter()
            .find(is_it)
            .unwrap_or_else(|| panic!("attempt {attempt} did not end: {events:#?}"))
            .clone()
    }

    /// Waits until something is so.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, mut is_so: impl FnMut() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(
                begin.elapsed() < DEADLINE,
                "waited in vain: {what}; {:?}; {:#?}",
                self.facts(),
                self.model.heard().iter().map(|heard| &heard.answer).collect::<Vec<_>>()
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What is alive in this place: every process whose environment names it, with its command line.
    pub(crate) fn alive(&self) -> Vec<String> {
        let own = self.folder.display().to_string();
        let processes = fs::read_dir("/proc").expect("processes can be listed").flatten();
        let names = processes.filter_map(|entry| {
            // A process that is gone meanwhile, or is only waiting to be forgotten, has no environment.
            let environment = fs::read(entry.path().join("environ")).ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let pid = entry.file_name().to_string_lossy().parse::<u32>().ok()?;
            let is_own = String::from_utf8_lossy(&environment).contains(&own);
            is_own.then(|| format!("{pid} {}", String::from_utf8_lossy(&line).replace('\0', " ")))
        });
        names.collect()
    }

    /// Fails if anything is alive here, now that nothing should be.
    #[track_caller]
    pub(crate) fn nothing_is_alive(&self) {
        // Hooks of the agents and our own supervisors may be on their last instructions.
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(10) && !self.alive().is_empty() {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.alive(), Vec::<String>::new());
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        for process in self.alive() {
            let pid = process.split(' ').next().and_then(|pid| pid.parse().ok());
            // It may be gone already.
            pid.map(|pid| {
                nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), nix::sys::signal::SIGKILL).ok()
            });
        }
        if !std::thread::panicking() {
            // What stays is a scratch folder.
            fs::remove_dir_all(&self.folder).ok();
        }
    }
}

/// A run that is under way. It is killed when the test is over.
pub(crate) struct Running(Child);

impl Running {
    /// Kills it in the way that nothing can prepare for.
    pub(crate) fn kill(&mut self) {
        self.0.kill().expect("a child can be killed");
        self.0.wait().expect("a child can be waited for");
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn end(&mut self) {
        let begin = Instant::now();
        while self.0.try_wait().expect("a child can be waited for").is_none() {
            assert!(begin.elapsed() < DEADLINE, "the run did not end within {DEADLINE:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // One that ended by itself can't be killed, and need not be.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Waits for the end of a process and takes what it said.
#[track_caller]
fn end(mut child: Child) -> Ran {
    let (stdout, stderr) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let out = std::thread::spawn(|| text(stdout));
    let err = std::thread::spawn(|| text(stderr));
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if begin.elapsed() > DEADLINE {
            child.kill().expect("a child can be killed");
            let said = [out.join(), err.join()].map(|text| text.expect("no panic"));
            panic!("the program did not end within {DEADLINE:?}: {}", said.concat());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
    let stdout = out.join().expect("no panic");
    Ran { code, said: format!("{stdout}{}", err.join().expect("no panic")), stdout }
}

fn text(mut stream: impl Read) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("a pipe can be read");
    String::from_utf8_lossy(&bytes).into_owned()
}
