//! Our reading of shell scripts against bash itself. Rulings rest on a parser that is not bash: here bash runs, or reads, what chance
//! makes of its grammar, and whatever was judged to only look must do nothing else.
//!
//! Plain runs take the same scripts every time. `PLANWRIGHT_BASH_SECONDS=N` draws new ones for N seconds.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "these tests stand outside of the program: they start bash"
)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use planwright_core::syntax::shell;
use planwright_engine::system::process::check_bash;

/// The seed of plain runs, and how many scripts they try: some seconds' worth.
const SEED: u64 = 20_261_118;
const RUN_MAX: usize = 250;
const READ_MAX: usize = 240;
/// How many scripts are asked about together.
const TOGETHER: usize = 12;
/// How long bash may take over one script. An endless loop is one that does nothing else.
const DEADLINE: Duration = Duration::from_secs(2);
/// A program that nobody may call, and a file that nobody may make.
const EVIL: &str = "evil";
/// What may be called beside [`shell::lookers`]: with some words only.
const OTHERS: &[&str] = &["[", "git", "nice", "sed", "timeout", "time", "xargs"];

/// A small generator: the same numbers for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % count
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const NAMES: &[&str] = &[
    "cat", "ls", "grep", "echo", "echo", "head", "test", "[", "true", "false", ":", "printf", "pwd", "cd",
    "wc", "sort", "find", "git", "rg", "command", "type", "seq", "xargs", "time", "read", "set", "sed",
    "uniq", "date", "evil", "eval", "exec", "source", ".", "trap", "export", "alias", "builtin", "let",
    "declare", "unset", "mapfile", "shopt", "tee",
];
const PLAIN: &[&str] = &[
    "a",
    "b.txt",
    "-n",
    "-e",
    "x=1",
    "a=b",
    "status",
    "log",
    "-v",
    "--",
    "-",
    "1,2p",
    "evil",
    "-exec",
    "*",
    "*.x",
    "?",
    "[ab]",
    "~",
    "a#b",
    "#c",
    "{a,b}",
    "{1..3}",
    "!",
    "=",
    "-f",
    "]",
    "in",
    "do",
    "é",
    "a\\ b",
    "\\$x",
    "\\\"",
    "@(a|b)",
    "!(a)",
    "+(a)",
    "x[0]",
    "%s",
    "-o",
    "1",
    "{",
    "}",
    "[[",
    "]]",
    "if",
    "then",
    "case",
    "x+=1",
    "a[$(evil)]=1",
];
const SIGNS: &[&str] = &[
    "\"", "'", "`", "\\", "$", "(", ")", "{", "}", "<", ">", "|", "&", ";", "#", "\n", " ", "!", "=", "[",
    "]", "*", "?", "~", "$(", "${", "$((", "<(", "<<", "<<<", ";;", "$'", "$\"", "\\\n", "\r", "\t", "evil",
    " evil ", ">evil", "@", ":", "%", "^",
];

/// A script that follows the grammar, for the most part.
fn script(chance: &mut Chance, depth: usize) -> String {
    let mut text = command(chance, depth);
    for _ in 0..chance.below(3) {
        text.push_str(
            chance.one_of(&[
                "; ", "\n", " && ", " || ", " | ", " & ", " |& ", ";", "\n\n", " # c\n", " \\\n; ",
            ]),
        );
        text.push_str(&command(chance, depth));
    }
    text
}

fn command(chance: &mut Chance, depth: usize) -> String {
    if depth == 0 || chance.below(3) > 0 {
        return simple(chance, depth);
    }
    let inner = |chance: &mut Chance| script(chance, depth - 1);
    let text = match chance.below(16) {
        0 => format!("if {}; then {}; else {}; fi", inner(chance), inner(chance), inner(chance)),
        1 => format!("while false {}; do {}; done", word(chance, depth - 1), inner(chance)),
        2 => format!("until true; do {}; done", inner(chance)),
        3 => format!("for x in {}; do {}; done", word(chance, depth - 1), inner(chance)),
        4 => format!("for x; do {}; done", inner(chance)),
        5 => format!(
            "case {} in {}) {};; *) {} ;; esac",
            word(chance, depth - 1),
            word(chance, 0),
            inner(chance),
            inner(chance)
        ),
        6 => format!("{{ {}; }}", inner(chance)),
        7 => format!("({})", inner(chance)),
        8 => format!("! {}", inner(chance)),
        9 => format!("[[ {} == {} ]]", word(chance, depth - 1), word(chance, depth - 1)),
        10 => format!("[[ -f {} && -n {} ]]", word(chance, depth - 1), word(chance, depth - 1)),
        11 => format!("(( {} ))", sum(chance, depth - 1)),
        12 => format!("for ((i = 0; i < {}; i++)); do {}; done", chance.below(3), inner(chance)),
        13 => format!("time {}", inner(chance)),
        14 => format!("f() {{ {}; }}; f", inner(chance)),
        _ => format!("coproc {}", simple(chance, depth - 1)),
    };
    text + &redirect(chance, depth - 1)
}

fn simple(chance: &mut Chance, depth: usize) -> String {
    let mut text = String::new();
    if chance.below(8) == 0 {
        let _ = write!(text, "{}={} ", chance.one_of(&["x", "y", "a[0]", "PATH", "x+"]), word(chance, depth));
    }
    text.push_str(if chance.below(12) == 0 { "$x" } else { chance.one_of(NAMES) });
    for _ in 0..chance.below(4) {
        text.push_str(chance.one_of(&[" ", " ", " ", "  ", "\t", " \\\n"]));
        text.push_str(&word(chance, depth));
    }
    text + &redirect(chance, depth)
}

fn redirect(chance: &mut Chance, depth: usize) -> String {
    match chance.below(24) {
        0 => " >/dev/null".to_owned(),
        1 => " 2>&1".to_owned(),
        2 => {
            format!(" {}{}", chance.one_of(&[">", ">>", "&>", ">|", "<>", "2>", ">&", "{fd}>", "&>>"]), EVIL)
        }
        3 => format!(" <{}", word(chance, depth)),
        4 => format!(" <<<{}", word(chance, depth)),
        5 => format!(" <<E\n{}\nE\n", script(chance, 0)),
        6 => format!(" <<-'E'\n\t{}\n\tE\n", script(chance, 0)),
        7 => format!(" <<\"E F\"\n{}\nE F\n", word(chance, depth)),
        _ => String::new(),
    }
}

fn word(chance: &mut Chance, depth: usize) -> String {
    if depth == 0 || chance.below(2) == 0 {
        return chance.one_of(PLAIN).to_owned();
    }
    let inner = |chance: &mut Chance| script(chance, depth - 1);
    match chance.below(18) {
        0 => format!("\"{}\"", word(chance, depth - 1)),
        1 => format!("'{}'", chance.one_of(PLAIN)),
        2 => format!("$({})", inner(chance)),
        3 => format!("\"$({})\"", inner(chance)),
        4 => format!("`{}`", inner(chance).replace('`', "")),
        5 => format!("<({})", inner(chance)),
        6 => format!("$(( {} ))", sum(chance, depth - 1)),
        7 => format!("${{x:-{}}}", word(chance, depth - 1)),
        8 => format!(
            "\"${{x{}{}}}\"",
            chance.one_of(&[":-", "#", "%", "/", ":", "^", "@", ":=", ":?"]),
            word(chance, depth - 1)
        ),
        9 => format!("${{x[{}]}}", word(chance, depth - 1)),
        10 => format!("$'{}'", chance.one_of(&["a\\nb", "\\'", "a'\"b", "\\x3e", "$(evil)"])),
        11 => format!("$\"{}\"", word(chance, depth - 1)),
        12 => "\"$x\"".to_owned(),
        13 => format!("{}{}", word(chance, depth - 1), word(chance, depth - 1)),
        14 => format!("a\\\n{}", word(chance, depth - 1)),
        15 => format!("{{a,{}}}", word(chance, depth - 1)),
        16 => format!("$[ {} ]", sum(chance, 0)),
        _ => "${!x}".to_owned(),
    }
}

fn sum(chance: &mut Chance, depth: usize) -> String {
    let first = match chance.below(4) {
        0 if depth > 0 => word(chance, depth - 1),
        1 => "x".to_owned(),
        _ => chance.below(9).to_string(),
    };
    format!("{first} {} {}", chance.one_of(&["+", "-", "<", "<<", ">", "=", "?", "&&", ","]), chance.below(9))
}

/// The same script with some signs of it lost, doubled or added: where readers differ are the edges of the grammar.
fn bent(text: &str, chance: &mut Chance) -> String {
    let mut signs: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..chance.below(4) {
        let at = chance.below(signs.len() + 1);
        match chance.below(3) {
            0 if at < signs.len() => drop(signs.remove(at)),
            1 if at < signs.len() => signs.insert(at, signs[at].clone()),
            _ => signs.insert(at, chance.one_of(SIGNS).to_owned()),
        }
    }
    signs.concat()
}

/// Scripts without end: what the grammar gives, and half of them bent.
fn scripts(seed: u64) -> impl Iterator<Item = String> {
    let mut chance = Chance(seed);
    std::iter::from_fn(move || {
        let text = script(&mut chance, 2);
        Some(if chance.below(2) == 0 { bent(&text, &mut chance) } else { text })
    })
    // No argument can hold a zero byte; whoever runs a command can't be handed one.
    .filter(|text| !text.contains('\0'))
}

/// Where the scripts of this run begin, and when it ends: `None` after a fixed number.
fn plan() -> (u64, Option<Instant>) {
    let seconds = std::env::var("PLANWRIGHT_BASH_SECONDS").ok().and_then(|text| text.parse().ok());
    let Some(seconds) = seconds else { return (SEED, None) };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let seed = u64::from(now.subsec_nanos()) ^ now.as_secs();
    eprintln!("bash: seed {seed}");
    (seed, Some(Instant::now() + Duration::from_secs(seconds)))
}

/// An empty folder, and the file beside it in which bash writes what it would have called.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("planwright-bash-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("work")).expect("a scratch folder");
        Self(folder)
    }

    /// What a script does when bash runs it where there is no program at all: the names that it calls, and the files that it makes.
    fn done(&self, script: &str) -> BTreeSet<String> {
        let trace = self.0.join("trace");
        let work = self.0.join("work");
        fs::write(&trace, "").expect("written");
        let mut bash = Command::new("/bin/bash");
        bash.args(["-c", script])
            .current_dir(&work)
            .env_clear()
            .env("PATH", self.0.join("nothing"))
            .env("HOME", &self.0)
            .env("TRACE", &trace)
            .env("BASH_FUNC_command_not_found_handle%%", "() { printf '%s\\n' \"$1\" >>\"$TRACE\"; }")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        let mut child = bash.spawn().expect("bash starts");
        let mut output = child.stdout.take().expect("a pipe");
        // The pipe is open as long as anything of the script is alive.
        let reader = std::thread::spawn(move || output.read_to_end(&mut Vec::new()));
        let end = Instant::now() + DEADLINE;
        while !reader.is_finished() && Instant::now() < end {
            std::thread::sleep(Duration::from_micros(300));
        }
        // What has ended can't be killed, and need not be.
        killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL).ok();
        child.wait().expect("bash ends");
        reader.join().expect("no panic").expect("read");
        let called = fs::read_to_string(&trace).expect("a trace");
        called.lines().map(str::to_owned).chain(made(&work)).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What stays is a scratch folder.
        fs::remove_dir_all(&self.0).ok();
    }
}

/// The files in a folder, which is empty afterwards.
fn made(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        names.push(format!("file {}", entry.file_name().to_string_lossy()));
        fs::remove_file(entry.path()).expect("removed");
    }
    names
}

// C-16, A-32: what a planner's shell may do is ruled by our reading. Whatever it lets through calls nothing but lookers and makes no
// file when bash runs it.
#[test]
fn what_is_judged_to_only_look_does_nothing_else_in_bash() {
    let place = Place::new("look");
    // The twin: bash is heard here, whichever way something is done.
    assert!(place.done("x=1; $(evil) 2>&1").contains(EVIL));
    assert!(place.done("echo >evil").contains("file evil"));
    let known: BTreeSet<&str> = shell::lookers().into_iter().chain(OTHERS.iter().copied()).collect();
    let (seed, end) = plan();
    let mut count = 0;
    for script in scripts(seed).filter(|script| shell::beyond_looking(script).is_none()) {
        if end.map_or(count >= RUN_MAX, |end| Instant::now() >= end) {
            break;
        }
        count += 1;
        let done = place.done(&script);
        let more: Vec<&String> = done.iter().filter(|name| !known.contains(name.as_str())).collect();
        assert!(
            more.is_empty(),
            "bash does {more:?} for a script that only looks to us:\n{script}\n{script:?}"
        );
    }
    eprintln!("bash: ran {count} scripts");
}

// What bash refuses is found whatever it is asked about together with, and what we can't read ourselves is never let through.
#[test]
fn scripts_that_are_asked_about_together_are_told_apart() {
    let (seed, end) = plan();
    let mut scripts = scripts(seed ^ 1);
    let (mut count, mut unread, mut lenient) = (0, 0, 0);
    while end.map_or(count < READ_MAX, |end| Instant::now() < end) {
        let group: BTreeSet<String> = scripts.by_ref().take(TOGETHER).collect();
        count += group.len();
        let together = check_bash(&group).expect("bash answers");
        for script in &group {
            let alone = check_bash(&BTreeSet::from([script.clone()])).expect("bash answers");
            let is_bad = !alone[script].is_empty();
            assert_eq!(
                !together[script].is_empty(),
                is_bad,
                "alone: {:?}\n{script}\n{script:?}",
                alone[script]
            );
            let is_read = shell::analyse(script).fault.is_none();
            unread += usize::from(!is_bad && !is_read);
            lenient += usize::from(is_bad && is_read);
            assert!(is_read || shell::beyond_looking(script).is_some(), "{script:?}");
        }
    }
    eprintln!("bash: read {count} scripts; {unread} are good and not read by us, {lenient} are bad and read");
}
