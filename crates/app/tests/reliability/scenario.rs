//! The scenario that every sweep plays: a plan of six steps with a retry, two steps at once and two questions, from the
//! approval to the end. Each play has a folder of its own. Runs the program and the tracer; judges nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::point::Order;
use crate::tracer::TRACE;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_planwright");
/// The plan, where it lies in the project.
pub(crate) const FILE: &str = "plans/it.md";
/// Far more than any command takes on a busy machine; what runs longer hangs.
const DEADLINE: Duration = Duration::from_mins(2);
/// More than any play needs: one command for each question, one for each kill, and some to spare.
const ROUNDS_MAX: usize = 12;
/// What a person says to the step that is stuck; its agent needs it.
const HINT: &str = "the word is sesame";

/// The steps that an agent does: id, fields, script and contract. Every script adds a line to a file of its own, so that
/// work that was done twice shows.
const STEPS: &[[&str; 4]] = &[
    ["base", "**on_fail:** escalate", "echo base >>base.log", "test -s base.log"],
    ["left", "**on_fail:** escalate\n**needs:** base", "echo left >>left.log", "test -s left.log"],
    ["right", "**on_fail:** escalate\n**needs:** base", "echo right >>right.log", "test -s right.log"],
    [
        "mend",
        "**on_fail:** retry(1), then escalate\n**needs:** left, right",
        "echo mend >>mend.log\n\
         if grep -q 'mend.out is missing' \"$PLANWRIGHT_FEEDBACK\"; then echo mended >mend.out; fi",
        "test -s mend.out || { echo 'mend.out is missing' >&2; exit 7; }",
    ],
    [
        "stuck",
        "**on_fail:** escalate\n**needs:** mend",
        "echo stuck >>stuck.log\n\
         if grep -q 'the word is sesame' \"$PLANWRIGHT_FEEDBACK\"; then echo sesame >stuck.out; fi",
        "grep -qx sesame stuck.out",
    ],
];

/// The ids of the steps that an agent does.
pub(crate) fn agent_steps() -> impl Iterator<Item = &'static str> {
    STEPS.iter().map(|[id, ..]| *id)
}

/// Where the agent of a step writes that it did its work.
fn log_name(step: &str) -> String {
    format!("{step}.log")
}

/// The plan. The sixth step is a person's.
pub(crate) fn plan() -> String {
    let mut text =
        "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Carry it out\n\n**Context:** Because.\n\
                    **Budget:** $1, 900 minutes\n\n## Steps\n"
            .to_owned();
    for (index, [id, fields, script, contract]) in STEPS.iter().enumerate() {
        text.push_str(&format!(
            "\n### {}. Do {id}\n\n**id:** {id}\n**target:** shell\n{fields}\n**touches:**\n- {id}.*\n\n**task:**\n```sh\n\
             {script}\n```\n\n**contract:**\n```shell\n{contract}\n```\nexit_code == 0\n",
            index + 1
        ));
    }
    text + "\n### 6. Do sign\n\n**id:** sign\n**target:** human\n**on_fail:** escalate\n**needs:** mend\n**touches:**\n\
            - sign.*\n\n**task:**\nLook at it.\n\n**contract:** manual\n"
}

/// The commands of an uninterrupted play, with the exit code of each.
pub(crate) fn commands() -> [(Vec<&'static str>, i32); 4] {
    [
        (run_words(), 3),
        (vec!["answer", "it/stuck", "--retry", "--hint", HINT], 0),
        (vec!["answer", "it/sign", "--confirm"], 0),
        (run_words(), 0),
    ]
}

/// Approves the plan, if nobody has, and carries it out as far as it goes.
pub(crate) fn run_words() -> Vec<&'static str> {
    static DIGEST: OnceLock<String> = OnceLock::new();
    let digest = DIGEST.get_or_init(|| {
        let play = Play::new();
        let ran = play.run(&["run", "it", "--dry-run", "--json"]);
        let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
        envelope["data"]["digest"].as_str().unwrap_or_else(|| panic!("{ran:#?}")).to_owned()
    });
    vec!["run", "it", "--jobs", "2", "--rev", digest]
}

/// Whether the program can be traced here, or why not.
pub(crate) fn probe() -> Result<(), String> {
    let play = Play::new();
    let ran = finish(&mut play.traced(&Order::Watch, &[], &["--version"]));
    match (ran.code, play.log().contains("driver")) {
        (Some(0), true) => Ok(()),
        _ => Err(format!("{ran:?}")),
    }
}

/// Says what this machine can't try. Fails where everybody relies on its having been tried.
pub(crate) fn not_tried(what: &str) {
    println!("NOT TRIED: {what}");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "CI must try everything: {what}");
}

/// How a command ended.
#[derive(Debug, Clone)]
pub(crate) struct Ran {
    /// Its exit code, or 128 and the number of the signal; `None`: it did not end in time.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A folder with a project and a state folder; both are removed at the end.
pub(crate) struct Play {
    pub(crate) folder: PathBuf,
    is_kept: bool,
}

impl Play {
    /// A place in memory where that is possible: a kill loses nothing that was written, whether it is on a disk or not.
    pub(crate) fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let mut play = Self::below(&base);
        play.is_kept = false;
        play
    }

    /// A place in this folder, which somebody else removes.
    pub(crate) fn below(base: &Path) -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = base.join(format!("planwright-reliability-{}-{count}", std::process::id()));
        fs::create_dir_all(folder.join("project/plans")).expect("a scratch folder");
        fs::create_dir_all(folder.join("project/.git/objects")).expect("a scratch folder");
        let folder = folder.canonicalize().expect("the scratch folder is there");
        fs::write(folder.join("project").join(FILE), plan()).expect("written");
        Self { folder, is_kept: true }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// The program with these words, in this place and in no other environment.
    pub(crate) fn planwright(&self, words: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(words);
        self.settle(&mut command);
        command
    }

    /// The same under the tracer, which writes to [`Play::log`] what it saw.
    pub(crate) fn traced(&self, order: &Order, marks: &[String], words: &[&str]) -> Command {
        let own = std::env::current_exe().expect("this program has a path");
        let mut command = Command::new(own);
        command.arg(TRACE).arg(order.to_string()).arg(self.log_path()).arg(marks.join("\n")).arg(PROGRAM);
        command.args(words);
        self.settle(&mut command);
        command
    }

    fn settle(&self, command: &mut Command) {
        command
            .current_dir(self.project())
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &self.folder)
            .env("XDG_STATE_HOME", self.folder.join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
    }

    pub(crate) fn run(&self, words: &[&str]) -> Ran {
        finish(&mut self.planwright(words))
    }

    fn log_path(&self) -> PathBuf {
        self.folder.join("trace.log")
    }

    /// What the tracer saw last.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.log_path()).unwrap_or_default()
    }

    /// Goes on as a person would who knows of no kill: runs the plan, answers what is asked, until it is done.
    pub(crate) fn converge(&self) -> Result<(), String> {
        let mut last = None;
        for _ in 0..ROUNDS_MAX {
            let ran = self.run(&run_words());
            match ran.code {
                Some(0) => return Ok(()),
                Some(3) if self.answer_all()? => {}
                Some(3) => self.follow_hint(&ran)?,
                _ => return Err(format!("a plain run ended badly: {ran:#?}")),
            }
            last = Some(ran);
        }
        Err(format!("it did not come to an end in {ROUNDS_MAX} rounds: {last:#?}"))
    }

    /// Types what a run that is no longer proven says to type next.
    fn follow_hint(&self, ran: &Ran) -> Result<(), String> {
        let hint = ran.stderr.lines().find_map(|line| line.strip_prefix("next: planwright "));
        let Some(hint) = hint else {
            return Err(format!("a person is needed, but nothing is asked: {ran:#?}"));
        };
        let next = self.run(&hint.split(' ').collect::<Vec<_>>());
        match next.code {
            Some(0 | 3) => Ok(()),
            _ => Err(format!("`{hint}` ended badly: {next:#?}")),
        }
    }

    /// Answers every question that is open, by the journal. Whether there was one.
    fn answer_all(&self) -> Result<bool, String> {
        let events = self.events()?;
        let is_answered = |ask: &Value| {
            events.iter().any(|event| event["event"] == "ask.answered" && event["ask"] == ask["ask"])
        };
        let opened = events.iter().filter(|event| event["event"] == "ask.opened");
        let open: Vec<&Value> = opened.filter(|ask| !is_answered(ask)).collect();
        for &ask in &open {
            let step = ask["step"].as_str().unwrap_or_default();
            let address = format!("it/{step}");
            let words: &[&str] = match (step, ask["reason"].as_str()) {
                ("stuck", Some("attempts-spent")) => &["answer", &address, "--retry", "--hint", HINT],
                ("sign", _) => &["answer", &address, "--confirm"],
                _ => &["answer", &address, "--retry"],
            };
            let ran = self.run(words);
            if ran.code != Some(0) {
                return Err(format!("{words:?} ended badly: {ran:#?}"));
            }
        }
        Ok(!open.is_empty())
    }

    /// The data of an envelope.
    pub(crate) fn data(&self, words: &[&str]) -> Result<Value, String> {
        let ran = self.run(words);
        let envelope = serde_json::from_str::<Value>(&ran.stdout);
        match envelope {
            Ok(envelope) if ran.code == Some(0) => Ok(envelope["data"].clone()),
            _ => Err(format!("{words:?} ended badly: {ran:#?}")),
        }
    }

    pub(crate) fn events(&self) -> Result<Vec<Value>, String> {
        let log = self.data(&["log", "it", "--json"])?;
        let entries = log["events"].as_array().cloned().unwrap_or_default();
        for (place, entry) in entries.iter().enumerate() {
            if entry["seq"] != place + 1 {
                return Err(format!("event {} has the number {}", place + 1, entry["seq"]));
            }
        }
        Ok(entries.into_iter().map(|entry| entry["event"].clone()).collect())
    }

    /// Every file of the project with its text, but for the logs of the steps and the name of its record, which every
    /// place has for itself.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        collect(&self.project(), &self.project(), &mut files);
        agent_steps().for_each(|step| drop(files.remove(&log_name(step))));
        files.remove(".git/planwright-record");
        files
    }

    /// How often the agent of a step did its work.
    pub(crate) fn done(&self, step: &str) -> usize {
        let log = fs::read_to_string(self.project().join(log_name(step))).unwrap_or_default();
        log.lines().count()
    }

    /// Processes that work in this place, and that nobody should have left behind.
    pub(crate) fn alive(&self) -> Vec<String> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let is_here = |folder: &PathBuf| {
            fs::read_link(folder.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&self.folder))
        };
        let here = entries.map(|entry| entry.path()).filter(is_here);
        here.filter_map(|folder| fs::read(folder.join("cmdline")).ok())
            .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
            .collect()
    }
}

impl Drop for Play {
    fn drop(&mut self) {
        if !self.is_kept {
            // What stays is a scratch folder.
            fs::remove_dir_all(&self.folder).ok();
        }
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            files.insert(name, fs::read_to_string(&path).unwrap_or_default());
        }
    }
}

/// Runs a command to its end, or to the deadline.
pub(crate) fn finish(command: &mut Command) -> Ran {
    let mut child = command.spawn().expect("the program starts");
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let read = |stream: Option<Box<dyn Read + Send>>| {
        let mut bytes = Vec::new();
        // A stream that breaks off ends there.
        stream.map(|mut stream| stream.read_to_end(&mut bytes).ok());
        String::from_utf8_lossy(&bytes).into_owned()
    };
    std::thread::scope(|scope| {
        let out = scope.spawn(move || read(stdout.map(|stream| Box::new(stream) as Box<dyn Read + Send>)));
        let err = scope.spawn(move || read(stderr.map(|stream| Box::new(stream) as Box<dyn Read + Send>)));
        let code = end(&mut child);
        Ran { code, stdout: out.join().expect("no panic"), stderr: err.join().expect("no panic") }
    })
}

fn end(child: &mut Child) -> Option<i32> {
    use std::os::unix::process::ExitStatusExt;
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()));
        }
        if begin.elapsed() > DEADLINE {
            child.kill().expect("a child can be killed");
            child.wait().expect("a child can be waited for");
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
