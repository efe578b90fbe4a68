//! Real clients of the MCP server call every tool of every role: the Python package `mcp`, and the inspector's command line. Each is
//! installed once, below the target folder; where its registry can't be reached the test says so and is skipped.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stderr,
    reason = "these tests stand outside of the program: they make its files and start it"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use planwright_core::agent::profile::PROFILES;
use serde_json::{Value, json};

use crate::sweep::is_whole;

const PROGRAM: &str = env!("CARGO_BIN_EXE_planwright");
const PACKAGE: &str = "mcp==2.3.0";
const INSPECTOR: &str = "@modelcontextprotocol/inspector@2.12.0";
/// How many tools of a role the inspector calls by default: each call starts it anew.
const CALLS: usize = 3;
/// A plan that has one fault, and the words that mend it.
const FAULT: (&str, &str) = ("test -s (", "test -s greeting.txt");

fn plan() -> String {
    "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Greet\n\n**Context:** Because.\n**Budget:** $1\n\n## Steps\n\n\
     ### 1. Greet\n\n**id:** greet\n**target:** shell\n**touches:**\n- greeting.txt\n\n**task:**\necho hello >greeting.txt\n\n\
     **contract:**\n```shell\ntest -s greeting.txt\n```\nexit_code == 0\n**on_fail:** escalate\n"
        .to_owned()
}

/// A project with a plan, an attempt to report from, and a home of its own.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("planwright-clients-{}-{count}", std::process::id()));
        for inside in ["project/plans", "project/.git/objects", "project/.git/refs", "home"] {
            fs::create_dir_all(folder.join(inside)).expect("a scratch folder");
        }
        fs::write(folder.join("project/.git/HEAD"), "ref: refs/heads/main\n").expect("written");
        fs::write(folder.join("project/plans/greet.md"), plan()).expect("written");
        let brief = json!({
            "step": "greet", "title": "Greet", "attempt": 1, "task": "Greet.", "accept": [], "touches": null, "sealed": [],
            "tools": [], "contract": "test -s greeting.txt", "expect": 0, "setup": null, "env": [],
            "contract_timeout_seconds": null,
        });
        fs::write(folder.join("step"), brief.to_string()).expect("written");
        Self(folder)
    }

    /// A program in this place, with the usual search path, on which clients find what they are made of.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.0.join("project"))
            .env("HOME", self.0.join("home"))
            .env("XDG_STATE_HOME", self.0.join("home/state"))
            .env("PLANWRIGHT_STEP", self.0.join("step"))
            .env("PLANWRIGHT_REPORT", self.0.join("report"));
        for name in PROFILES.iter().flat_map(|profile| profile.signs).chain(&["AI_AGENT"]) {
            command.env_remove(name);
        }
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What stays is a scratch folder.
        fs::remove_dir_all(&self.0).ok();
    }
}

/// A call, whether it must come back as an error, and what it must say.
type Case = (&'static str, Value, bool, &'static str);

/// Every tool of every role.
fn cases(role: &str) -> Vec<Case> {
    let broken = plan().replace(FAULT.1, FAULT.0).replace("# Greet", "# New");
    let mended = plan().replace("# Greet", "# New");
    match role {
        "planner" => vec![
            ("plan_format", json!({}), false, "contract"),
            ("plan_verify", json!({"plan": broken}), true, "PW0301"),
            ("plan_propose", json!({"plan": broken}), true, "nothing was proposed"),
            ("plan_propose", json!({"plan": mended}), false, "pending review"),
            ("plan_list", json!({}), false, "plans/new.md"),
            ("plan_get", json!({"id": "new"}), false, "proposed"),
            ("plan_simulate", json!({"id": "new"}), false, "waves"),
            ("plan_feedback", json!({"id": "new"}), false, "rejections"),
            ("plan_approve", json!({"id": "new"}), true, "planwright approve plans/new.md --rev"),
            (
                "plan_reject",
                json!({"id": "new", "feedback": "no"}),
                true,
                "planwright reject plans/new.md -m no",
            ),
        ],
        "executor" => vec![
            ("step_get", json!({}), false, "Greet."),
            ("step_check", json!({}), false, "fails now (exit 1)"),
            ("step_note", json!({"text": "slow"}), false, "noted"),
            ("step_ask", json!({"question": "why?"}), false, "Question recorded"),
            ("step_finish", json!({"summary": "done"}), false, "finishes nothing"),
        ],
        _ => vec![
            ("inbox_list", json!({}), false, "reviews"),
            ("ask_answer", json!({"id": "greet", "answer": "confirm"}), true, "has not been run"),
            ("run_start", json!({"id": "greet"}), true, "planwright review plans/greet.md"),
            ("run_stop", json!({"id": "greet"}), true, "has not been run"),
            ("plan_stats", json!({}), false, "first_try"),
            ("plan_list", json!({}), false, "plans/greet.md"),
            ("plan_get", json!({"id": "greet"}), false, "Because."),
        ],
    }
}

const ROLES: [&str; 3] = ["planner", "executor", "human"];

fn names(role: &str) -> Vec<&'static str> {
    let mut names: Vec<&str> = cases(role).into_iter().map(|(tool, ..)| tool).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[track_caller]
fn printed(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        panic!("{error}: {out}{err}")
    })
}

/// Where clients are installed.
fn installed(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Whether a command of an installation worked; says why not.
fn works(what: &str, command: &mut Command) -> bool {
    let why = match command.output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned(),
        Err(error) => error.to_string(),
    };
    eprintln!("NOT TRIED: {what}: {why}");
    false
}

/// The interpreter of an environment that has the package; `None`, with a message, where it can't be installed.
fn python() -> Option<PathBuf> {
    let folder = installed("mcp-python");
    let python = folder.join("bin/python");
    let is_there = || {
        let check =
            format!("import importlib.metadata as m; assert 'mcp==' + m.version('mcp') == '{PACKAGE}'");
        Command::new(&python).args(["-c", &check]).output().is_ok_and(|output| output.status.success())
    };
    let made = is_there()
        || (works("no Python environment", Command::new("python3").args(["-m", "venv"]).arg(&folder))
            && works(
                &format!("{PACKAGE} can't be installed"),
                Command::new(&python).args(["-m", "pip", "install", "--quiet", PACKAGE]),
            ));
    made.then_some(python)
}

/// The inspector's command; `None`, with a message, where it can't be installed.
fn inspector() -> Option<PathBuf> {
    let folder = installed("mcp-inspector");
    let program = folder.join("node_modules/.bin/mcp-inspector");
    if program.exists() {
        return Some(program);
    }
    fs::create_dir_all(&folder).expect("a folder");
    let mut install = Command::new("npm");
    install.args(["install", "--no-audit", "--no-fund", "--silent", "--prefix"]).arg(&folder).arg(INSPECTOR);
    (works(&format!("{INSPECTOR} can't be installed"), &mut install) && program.exists()).then_some(program)
}

// C-10, C-11, E-20, P-09: the Python package `mcp` calls every tool of every role.
#[test]
fn the_python_package_calls_every_tool_of_every_role() {
    let Some(python) = python() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/tools.py");
    for role in ROLES {
        let place = Place::new();
        let cases = cases(role);
        let calls: Vec<Value> =
            cases.iter().map(|(tool, given, ..)| json!({"tool": tool, "arguments": given})).collect();
        let file = place.0.join("calls.json");
        fs::write(&file, Value::from(calls).to_string()).expect("written");
        let output = place.command(&python).arg(&script).args([PROGRAM, role]).arg(file).output();
        let said = printed(&output.expect("Python starts"));
        assert_eq!(said["server"], "planwright");
        let mut tools: Vec<&str> =
            said["tools"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
        tools.sort_unstable();
        assert_eq!(tools, names(role), "{role}");
        for ((tool, _, is_error, words), answer) in
            cases.iter().zip(said["answers"].as_array().expect("a list"))
        {
            assert_eq!(answer["is_error"], *is_error, "{role} {tool}: {answer}");
            assert!(
                answer["text"].as_str().is_some_and(|text| text.contains(words)),
                "{role} {tool}: {answer}"
            );
        }
    }
}

// C-11, E-20, P-09: the inspector's command line does the same, one server a call; by default it calls the first tools of a role.
#[test]
fn the_inspector_calls_the_tools_of_every_role() {
    let Some(inspector) = inspector() else { return };
    for role in ROLES {
        let place = Place::new();
        let call = |more: &[String]| {
            let mut command = place.command(&inspector);
            command.arg("--cli");
            for name in ["HOME", "XDG_STATE_HOME", "PLANWRIGHT_STEP", "PLANWRIGHT_REPORT"] {
                let value = command.get_envs().find(|(known, _)| *known == name).and_then(|(_, value)| value);
                let pair = format!("{name}={}", value.unwrap_or_default().to_string_lossy());
                command.args(["-e", &pair]);
            }
            command.args([PROGRAM, "mcp", "--role", role]).args(more);
            printed(&command.output().expect("the inspector starts"))
        };
        let listed = call(&["--method".to_owned(), "tools/list".to_owned()]);
        let tools = listed["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
        let mut tools: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
        tools.sort_unstable();
        assert_eq!(tools, names(role), "{role}");
        let cases = cases(role);
        let count = if is_whole() { cases.len() } else { CALLS };
        for (tool, given, is_error, words) in cases.into_iter().take(count) {
            let mut more: Vec<String> =
                ["--method", "tools/call", "--tool-name", tool].map(str::to_owned).to_vec();
            for (name, value) in given.as_object().expect("arguments") {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                more.extend(["--tool-arg".to_owned(), format!("{name}={value}")]);
            }
            let answer = call(&more);
            assert_eq!(answer["isError"] == json!(true), is_error, "{role} {tool}: {answer}");
            let text = answer["content"][0]["text"].as_str().unwrap_or_default();
            assert!(text.contains(words), "{role} {tool}: {answer}");
        }
    }
}
