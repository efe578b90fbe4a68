//! Asks bash about the syntax of commands. Never runs one: bash only parses them, in a clean environment.

use std::collections::{BTreeSet, HashMap};
use std::process::{Command, Stdio};
use std::time::Duration;

use planwright_core::syntax::shell;
use planwright_core::verify::BashFault;

use super::Error;
use super::exchange::Exchange;
use crate::system::program::Tool;

/// Time limit of a syntax check. It takes milliseconds; a parser that hangs is stopped.
const SYNTAX_DEADLINE: Duration = Duration::from_secs(10);
const OUTPUT_BYTES_MAX: usize = 1 << 20;
/// The file that bash checks. It numbers the lines of a file, but not those of standard input.
const SCRIPT: &str = "/dev/stdin";

/// Asks `bash -n` about commands. Every command gets an entry; an empty list means that bash accepts it.
///
/// One process checks all commands that our own parser accepts, joined by boundaries: starting bash for each
/// would cost seconds on a long plan. A fault is attributed to the command whose lines contain it, and the
/// rest is checked again without it. Commands that could run into the next one are checked one by one.
pub fn check_bash(commands: &BTreeSet<String>) -> Result<HashMap<String, Vec<BashFault>>, Error> {
    let mut answers: HashMap<String, Vec<BashFault>> = HashMap::new();
    let (doubtful, mut together): (Vec<&String>, Vec<&String>) =
        commands.iter().partition(|command| may_run_on(command));
    for command in doubtful {
        answers.insert(command.clone(), reasons(command)?);
    }
    while !together.is_empty() {
        let Some((bad, _)) = faults(&together)?.into_iter().next() else { break };
        let command = together.remove(bad);
        let reasons = reasons(command)?;
        let is_neighbour = reasons.is_empty();
        answers.insert(command.clone(), reasons);
        if is_neighbour {
            // The fault is not where it was reported: one command ran into the next. Only checking each alone
            // tells which.
            for command in together.drain(..) {
                answers.insert(command.clone(), self::reasons(command)?);
            }
        }
    }
    for command in together {
        answers.insert(command.clone(), Vec::new());
    }
    Ok(answers)
}

/// Whether the command might not end where its text does: our parser refuses it, or it has a here-document,
/// whose end could be found in a neighbor.
fn may_run_on(command: &str) -> bool {
    command.contains("<<") || shell::analyse(command).fault.is_some()
}

/// Every fault that bash finds in one command.
fn reasons(command: &String) -> Result<Vec<BashFault>, Error> {
    Ok(faults(&[command])?.into_iter().map(|(_, fault)| fault).collect())
}

/// Bash's faults in the commands, each with the index of its command.
fn faults(commands: &[&String]) -> Result<Vec<(usize, BashFault)>, Error> {
    let mut script = String::new();
    let mut starts = Vec::with_capacity(commands.len());
    let mut line = 1;
    for command in commands {
        starts.push(line);
        line += command.lines().count() + usize::from(command.ends_with('\n')) + 2;
        script.push_str(command);
        script.push_str("\n: boundary\n\n");
    }
    if commands.len() == 1 {
        script.truncate(commands[0].len());
    }
    let mut bash = Command::new(Tool::Bash.path(&[]));
    // Without extglob, a script that turns it on is refused. Nothing of the caller's environment can change
    // the answer.
    bash.args(["-O", "extglob", "-n", SCRIPT])
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", crate::system::program::search_path());
    let (said, is_content) = stderr_of(&mut bash, "bash", script.as_bytes())?;
    let faults = said.lines().filter_map(|message| {
        let (line, text) = message.strip_prefix(SCRIPT)?.strip_prefix(": line ")?.split_once(": ")?;
        let line: usize = line.parse().ok()?;
        // The second line of a message repeats the text of the script.
        if text.starts_with('`') {
            return None;
        }
        let place = starts.partition_point(|&start| start <= line).max(1) - 1;
        Some((place, BashFault { line: line - starts[place] + 1, message: text.to_owned() }))
    });
    let mut faults: Vec<(usize, BashFault)> = faults.collect();
    // A bash that died or gave up silently has not accepted anything.
    if faults.is_empty() && !is_content {
        faults.push((0, BashFault { line: 1, message: "bash could not read it to the end".to_owned() }));
    }
    Ok(faults)
}

/// Runs a command with `input` and returns its stderr, up to a limit, and whether it exited with 0.
fn stderr_of(command: &mut Command, program: &str, input: &[u8]) -> Result<(String, bool), Error> {
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let (stdout_bytes_max, stderr_bytes_max) = (0, OUTPUT_BYTES_MAX);
    let exchange = Exchange { program, input, stdout_bytes_max, stderr_bytes_max, deadline: SYNTAX_DEADLINE };
    let said = exchange.with(command)?;
    Ok((String::from_utf8_lossy(&said.stderr).into_owned(), said.status.success()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(commands: &[&str]) -> Vec<(String, Vec<BashFault>)> {
        let set = commands.iter().map(|&command| command.to_owned()).collect();
        let mut answers: Vec<_> = check_bash(&set).expect("bash is here").into_iter().collect();
        answers.sort_by(|one, other| one.0.cmp(&other.0));
        answers
    }

    // the syntax of every contract is checked by bash itself.
    #[test]
    fn every_command_is_answered_and_faults_are_put_down_to_the_right_one() {
        let good = ["test -f x", "a | b\nc", "case x in y) ;; esac", "cat <<E\nx\nE", "[[ a =~ ^(b|c)$ ]]"];
        let bad = ["uv run && (", "if true; then", "echo \"open", "x >\n", "[[ -f x ]", "cat <<E\nnever"];
        let all: Vec<&str> = good.iter().chain(&bad).copied().collect();
        for (command, faults) in ask(&all) {
            assert_eq!(faults.is_empty(), good.contains(&command.as_str()), "{command:?}: {faults:?}");
        }
    }

    #[test]
    fn the_line_of_a_fault_is_counted_inside_its_command() {
        let answers = ask(&["ls\nls\necho )", "true\ntrue\ntrue\ntrue"]);
        assert_eq!(answers[0].1[0].line, 3, "{answers:?}");
    }

    #[test]
    fn a_bash_that_dies_has_not_said_yes() {
        let deep = "$(".repeat(50_000);
        let answers = ask(&[&deep, "true"]);
        assert_eq!(answers.iter().map(|(_, faults)| faults.is_empty()).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn nothing_of_a_command_is_run() {
        let file = std::env::temp_dir().join(format!("planwright-noexec-{}", std::process::id()));
        let command = format!("touch {}; $(touch {})", file.display(), file.display());
        assert!(ask(&[&command])[0].1.is_empty());
        assert!(!file.exists(), "bash -n must not run anything");
    }
}
