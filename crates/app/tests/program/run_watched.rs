//! `run` at a terminal: what a person is shown before they approve, the block that is drawn over, and what is left of it.
#![expect(
    clippy::disallowed_types,
    reason = "these tests stand outside of the program: they are the terminal that it runs at"
)]

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};

use nix::pty::{Winsize, openpty};

use crate::follow::wait_until;
use crate::test_env::{Place, end};

/// Lines and columns of the terminal.
const SIZE: (u16, u16) = (8, 60);

/// A program at a terminal.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    bytes: Receiver<Vec<u8>>,
    said: String,
}

impl Terminal {
    fn open(place: &Place, words: &[&str], term: &str) -> Self {
        let mut command = place.planwright(words);
        command.env("TERM", term).env("LANG", "C.UTF-8");
        Self::started(&mut command)
    }

    pub(crate) fn started(command: &mut Command) -> Self {
        let (ws_row, ws_col) = SIZE;
        let size = Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).expect("a terminal");
        let stream = || Stdio::from(pty.slave.try_clone().expect("the terminal"));
        let child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().expect("it starts");
        // The command keeps its ends of the terminal until it is dropped.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        drop(pty.slave);
        let mut screen = File::from(pty.master.try_clone().expect("the terminal"));
        let (sender, bytes) = mpsc::channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            // A terminal that nobody has open any more can't be read.
            while let Ok(count @ 1..) = screen.read(&mut chunk) {
                if sender.send(chunk[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keyboard: File::from(pty.master), bytes, said: String::new() }
    }

    /// Everything that was printed so far.
    fn said(&mut self) -> &str {
        while let Ok(bytes) = self.bytes.try_recv() {
            // A glyph may be cut in two; what is asked for is ASCII.
            self.said.push_str(&String::from_utf8_lossy(&bytes));
        }
        &self.said
    }

    #[track_caller]
    pub(crate) fn wait_for(&mut self, words: &str) {
        wait_until(words, || self.said().contains(words));
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("a keyboard");
        self.said.clear();
    }

    /// Waits for the end; returns the exit code and everything that was printed since something was typed.
    #[track_caller]
    pub(crate) fn end(mut self) -> (i32, String) {
        let code = end(&mut self.child);
        while let Ok(bytes) = self.bytes.recv() {
            self.said.push_str(&String::from_utf8_lossy(&bytes));
        }
        (code, self.said.clone())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that ended by itself can't be killed, and need not be.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What a terminal of this size shows in the end, with everything that it scrolled away. Knows what planwright uses.
#[track_caller]
fn shown(said: &str) -> Vec<String> {
    let (mut lines, mut row, mut column): (Vec<Vec<char>>, usize, usize) = (vec![Vec::new()], 0, 0);
    let mut rest = said.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\r' => column = 0,
            '\n' => {
                row += 1;
                if row == lines.len() {
                    lines.push(Vec::new());
                }
            }
            '\u{1b}' => {
                assert_eq!(rest.next(), Some('['), "only one kind of sequence is used");
                let mut number = String::new();
                let letter = loop {
                    match rest.next().expect("a sequence ends") {
                        digit if digit.is_ascii_digit() || digit == ';' => number.push(digit),
                        letter => break letter,
                    }
                };
                match letter {
                    'A' => {
                        let up: usize = number.parse().expect("so many lines up");
                        assert!(up < usize::from(SIZE.0), "{up} lines up leave a terminal of {SIZE:?}");
                        row -= up;
                    }
                    'J' => {
                        lines.truncate(row + 1);
                        lines[row].truncate(column);
                    }
                    'K' => lines[row].truncate(column),
                    'm' => {}
                    other => panic!("a terminal need not know `{other}`"),
                }
            }
            character => {
                let line = &mut lines[row];
                line.resize(line.len().max(column + 1), ' ');
                line[column] = character;
                column += 1;
            }
        }
    }
    lines.into_iter().map(|line| line.into_iter().collect::<String>().trim_end().to_owned()).collect()
}

const GO: &str = "until [ -e go ]; do sleep 0.01; done; ";

/// A plan with more steps than the terminal has lines, of which the second fails once.
fn long_plan() -> Place {
    let script = format!("{GO}touch s1.out");
    let retry = "if [ -s \"$PLANWRIGHT_FEEDBACK\" ]; then touch s2.out; fi";
    let ids: Vec<String> = (3..=12).map(|step| format!("s{step}")).collect();
    let contracts: Vec<String> = (1..=12).map(|step| format!("test -e s{step}.out")).collect();
    let scripts: Vec<String> = ids.iter().map(|id| format!("touch {id}.out")).collect();
    let failing = format!("{} || {{ echo 'not there'; exit 1; }}", contracts[1]);
    let mut steps = vec![
        ("s1", "**touches:**\n- s1.out", script.as_str(), contracts[0].as_str()),
        ("s2", "**on_fail:** retry(1), then escalate", retry, failing.as_str()),
    ];
    for (index, id) in ids.iter().enumerate() {
        steps.push((id, "", &scripts[index], &contracts[index + 2]));
    }
    Place::with_plan(&steps)
}

// P-21, A-22: at a terminal a block is drawn over; facts stay above it, once; the block is gone at the end.
#[test]
fn at_a_terminal_a_block_is_redrawn_and_facts_stay_above_it() {
    let place = long_plan();
    let mut terminal = Terminal::open(&place, &["run", "it"], "xterm");
    terminal.wait_for("[d]etails  [?]");
    terminal.type_in("y");
    // The spinner turns while nothing happens.
    for frame in ["◐", "◓", "◑", "◒"] {
        terminal.wait_for(frame);
    }
    terminal.wait_for("shell, attempt 1 of 1");
    terminal.wait_for("more; 0 of 12 done");
    place.write("go", "");
    let (code, said) = terminal.end();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("run 1   0:0"), "a header with the time: {said}");
    assert!(!said.contains("\u{1b}[?25l"), "the cursor is never hidden, so nothing can forget to show it");
    let shown = shown(&said);
    let text = shown.join("\n");
    for line in &shown {
        let is_ours = !line.contains("can reach planwright");
        assert!(!is_ours || line.chars().count() < usize::from(SIZE.1), "`{line}` is too long: {text}");
    }
    for step in 1..=12 {
        let lines = shown.iter().filter(|line| line.starts_with(&format!("✓ {step} s{step}   ")));
        assert_eq!(lines.count(), 1, "step {step}: {text}");
    }
    for (words, count) in [("not there", 1), ("retrying", 1), ("run 1", 0), ("◐", 0), ("○", 0), ("more;", 0)]
    {
        assert_eq!(text.matches(words).count(), count, "`{words}`: {text}");
    }
    assert!(text.contains("done  it   12 of 12 steps passed, 1 after a retry"), "{text}");
}

// P-03: nothing is drawn over where somebody wants plain lines, or the terminal can't.
#[test]
fn nothing_is_redrawn_where_that_is_not_wanted() {
    for (words, term) in [
        (&["run", "it", "--plain"][..], "xterm"),
        (&["run", "it"], "dumb"),
        (&["run", "it", "--quiet"], "xterm"),
    ] {
        let place = Place::with_plan(&[("a", "", "sleep 0.3; touch a.out", "test -e a.out")]);
        let mut terminal = Terminal::open(&place, words, term);
        terminal.wait_for("[d]etails  [?]");
        terminal.type_in("y");
        let (code, said) = terminal.end();
        assert_eq!(code, 0, "{said}");
        for sequence in ["A", "J", "K"] {
            assert!(!said.contains(&format!("[{sequence}")) && !said.contains("[1A"), "{words:?}: {said:?}");
        }
        assert!(said.contains(" 1 a   "), "{said}");
    }
}

// what is approved is shown before, in full where one asks for it; whatever is no yes is a no.
#[test]
fn a_person_approves_what_they_have_seen_and_anything_but_yes_is_no() {
    let place = Place::with_plan(&[("a", "**target:** coder", "Write it\nwell.", "test -s out\ntrue")]);
    place.write("planwright.toml", "[agents.coder]\ncommand = [\"bash\", \"-c\", \"cat >out\"]\n");
    for answer in ["n", "\n", "q", "\u{1b}", "\u{4}"] {
        let mut terminal = Terminal::open(&place, &["run", "it"], "xterm");
        terminal.wait_for("coder runs: bash -c 'cat >out'");
        terminal.wait_for("[d]etails  [?]");
        terminal.type_in(answer);
        let (code, said) = terminal.end();
        assert!(
            code == 3 && said.contains("is not approved; nothing was started"),
            "{answer:?}: {code} {said}"
        );
    }
    assert_eq!(place.events().len(), 0);
    let mut terminal = Terminal::open(&place, &["run", "it"], "xterm");
    terminal.wait_for("[d]etails  [?]");
    terminal.type_in("d");
    for words in
        ["Write it", "    well.", "    test -s out", "    true", "on_fail: escalate", "[d]etails  [?]"]
    {
        terminal.wait_for(words);
    }
    terminal.type_in("y");
    assert_eq!(terminal.end().0, 0);
    assert_eq!(place.events()[0]["approved_at"], "terminal");
}

// who leaves from the keyboard finds the terminal as it was: no block, and the last line is what to type next.
#[test]
fn who_leaves_finds_the_terminal_as_it_was() {
    let script = format!("echo now >working; {GO}touch a.out");
    let place = Place::with_plan(&[("a", "", &script, "test -e a.out")]);
    let mut terminal = Terminal::open(&place, &["run", "it"], "xterm");
    terminal.wait_for("[d]etails  [?]");
    terminal.type_in("y");
    place.wait_for_file("working");
    terminal.wait_for("attempt 1 of 1");
    // A terminal echoes Ctrl-C: the cursor is no longer at the start of a line.
    terminal.keyboard.write_all(b"\x03").expect("a keyboard");
    terminal.wait_for("^C");
    place.bash(&format!("kill -INT {}", terminal.child.id())).expect(0, &[]);
    let (code, said) = terminal.end();
    assert_eq!(code, 130, "{said}");
    let shown = shown(&said);
    let text = shown.join("\n");
    assert!(shown.iter().any(|line| line.starts_with("pausing: ")), "a line of its own: {text}");
    assert!(text.contains("pausing: ending 1 attempt; nothing is lost") && !text.contains("run 1"), "{text}");
    assert_eq!(
        shown.iter().rev().find(|line| !line.is_empty()).map(String::as_str),
        Some("next: planwright run it")
    );
}

// Finding 23: six seconds of work were shown as 1.3 s, because only the contract was timed.
#[test]
fn the_time_of_a_step_is_from_its_dispatch_to_its_verdict() {
    let place = Place::with_plan(&[("a", "", "sleep 1.5; touch a", "test -e a")]);
    let ran = place.approve_and_run();
    let line =
        ran.expect(0, &["ok 1 a"]).stdout.lines().find(|line| line.contains("ok 1 a")).expect("a line");
    let time: f64 = line.split_whitespace().rev().nth(1).and_then(|time| time.parse().ok()).expect("a time");
    assert!(time >= 1.5, "{line}");
    let log = place.run(&["log", "it", "--json"]);
    let log: serde_json::Value = serde_json::from_str(&log.stdout).expect("an envelope");
    let events = log["data"]["events"].as_array().expect("events");
    let times: Vec<_> = events.iter().filter_map(|event| event.get("times")).collect();
    let of = |name: &str| times[0][name].as_u64().expect("a time");
    assert_eq!(times.len(), 1, "{times:?}");
    assert!(of("agent_ms") >= 1500 && of("contract_ms") < of("agent_ms"), "{times:?}");
    assert_eq!(of("total_ms"), of("agent_ms") + of("contract_ms") + of("waiting_ms"));
    place.run(&["log", "it"]).expect(0, &["(agent 1.", "contract 0.", "waiting 0."]);
}

// Finding 23: "attempt 2 of 1" was said after an attempt that did not count, because it was interrupted.
#[test]
fn an_attempt_that_did_not_count_is_made_up_for_in_the_count() {
    let place =
        Place::with_plan(&[("a", "", "[ -e tried ] || { touch tried; kill -9 $PPID; }", "test -e never")]);
    let ran = place.approve_and_run();
    assert!(!ran.expect(3, &["attempt 2 of 2"]).said().contains("attempt 2 of 1"), "{ran:#?}");
}
