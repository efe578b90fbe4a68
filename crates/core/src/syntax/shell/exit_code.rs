//! Computes the possible exit codes of a script. Knows the rules of `-e`, `-u` and `pipefail`; errs towards "can fail",
//! and never calls a code fixed that bash could change.

mod explain;

use std::collections::BTreeSet;
use std::rc::Rc;

use super::ExitOutcome;
use super::arguments;
use super::arguments::ShellInput;
use super::tree;
use super::tree::{CommandKind, Condition, ListLink, ShellCommand, Way, statements};
use super::word::{Hazard, Word};

/// The possible exit codes of a script.
pub(super) fn judge(script: &str, tree: &ShellCommand, functions: &BTreeSet<String>) -> ExitOutcome {
    let judge = Judge { functions, mode: Mode::Strict };
    let strict = judge.script(tree);
    if let Some(code) = strict.code() {
        let (span, why) = explain::explain(script, tree, &judge, &strict);
        return ExitOutcome::Fixed { code, span, why };
    }
    let judge = Judge { functions, mode: Mode::Plain };
    let plain = judge.script(tree);
    if plain.code() == Some(0) {
        let (span, why) = explain::explain(script, tree, &judge, &plain);
        return ExitOutcome::Masked { span, why };
    }
    ExitOutcome::Open
}

/// The assumptions of the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// `bash -euo pipefail`, without further assumptions.
    Strict,
    /// `sh`, assuming that filters and writing to a file don't fail.
    Plain,
}

/// A set of exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Codes {
    zero: bool,
    other: Others,
}

/// The codes other than 0 in a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Others {
    None,
    One(u8),
    Many,
}

impl Codes {
    const NONE: Self = Self { zero: false, other: Others::None };
    const ZERO: Self = Self { zero: true, other: Others::None };
    const FAILURE: Self = Self { zero: false, other: Others::Many };
    const ANY: Self = Self { zero: true, other: Others::Many };

    const fn exactly(code: u8) -> Self {
        match code {
            0 => Self::ZERO,
            _ => Self { zero: false, other: Others::One(code) },
        }
    }

    fn or(self, with: Self) -> Self {
        let other = match (self.other, with.other) {
            (Others::None, other) | (other, Others::None) => other,
            (Others::One(one), Others::One(another)) if one == another => Others::One(one),
            (Others::One(_) | Others::Many, Others::One(_) | Others::Many) => Others::Many,
        };
        Self { zero: self.zero || with.zero, other }
    }

    const fn successes(self) -> Self {
        Self { zero: self.zero, other: Others::None }
    }

    const fn failures(self) -> Self {
        Self { zero: false, other: self.other }
    }

    fn can_fail(self) -> bool {
        self.other != Others::None
    }

    fn is_empty(self) -> bool {
        self == Self::NONE
    }

    fn inverted(self) -> Self {
        let failure = if self.zero { Self::exactly(1) } else { Self::NONE };
        Self { zero: self.can_fail(), ..failure }
    }

    fn only(self) -> Option<u8> {
        match (self.zero, self.other) {
            (true, Others::None) => Some(0),
            (false, Others::One(code)) => Some(code),
            (true, Others::One(_) | Others::Many) | (false, Others::None | Others::Many) => None,
        }
    }
}

/// The possible results of a command.
#[derive(Debug, Clone, Copy)]
struct Flow {
    /// The codes with which it can end the whole shell.
    ends: Codes,
    /// The codes with which it can hand over to the next command.
    leaves: Codes,
}

impl Flow {
    const fn leaving(leaves: Codes) -> Self {
        Self { ends: Codes::NONE, leaves }
    }

    /// Anything, including the end of the shell.
    const WILD: Self = Self { ends: Codes::ANY, leaves: Codes::ANY };

    fn codes(self) -> Codes {
        self.ends.or(self.leaves)
    }
}

/// Whether a failure at this place ends the script under `-e`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Check {
    Fatal,
    Exempt,
}

/// State set by earlier commands.
#[derive(Debug, Clone)]
struct State {
    options: Options,
    /// Variables that are certainly set. Shared, because every branch starts with a copy.
    assigned: Rc<BTreeSet<String>>,
    last: Codes,
    /// The command that disabled error checking.
    loosened: Option<&'static str>,
    /// Whether something was set that this module doesn't track.
    is_unsure: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Options {
    errexit: bool,
    nounset: bool,
    pipefail: bool,
}

/// The result of a whole script.
#[derive(Debug)]
struct Verdict {
    codes: Codes,
    /// The statement that decides the code, counted from 0.
    decisive: usize,
    loosened: Option<&'static str>,
    is_unsure: bool,
}

impl Verdict {
    fn code(&self) -> Option<u8> {
        if self.is_unsure { None } else { self.codes.only() }
    }
}

/// A body that runs any number of times.
struct Loop<'c> {
    /// What comes before it.
    asked: Flow,
    /// Whether the body can run at all.
    is_reached: bool,
    /// Whether it waits for something: then it fails by never ending.
    is_wait: bool,
    body: &'c ShellCommand,
}

struct Judge<'f> {
    functions: &'f BTreeSet<String>,
    mode: Mode,
}

impl Judge<'_> {
    fn script(&self, tree: &ShellCommand) -> Verdict {
        let is_strict = self.mode == Mode::Strict;
        let options = Options { errexit: is_strict, nounset: is_strict, pipefail: is_strict };
        let mut state =
            State { options, assigned: Rc::default(), last: Codes::ZERO, loosened: None, is_unsure: false };
        let mut ends = Codes::NONE;
        let mut trap: Option<(usize, ShellCommand, Options)> = None;
        let mut before_trap = Codes::NONE;
        let mut decisive = 0;
        for (at, statement) in statements(tree).iter().enumerate() {
            decisive = at;
            if let Some(body) = exit_trap(statement) {
                before_trap = before_trap.or(ends);
                ends = Codes::NONE;
                trap = Some((at, body, state.options));
                continue;
            }
            let flow = self.flow(statement, &mut state, Check::Fatal);
            ends = ends.or(flow.ends);
            state.last = flow.leaves;
            if flow.leaves.is_empty() {
                break;
            }
        }
        let mut codes = ends.or(state.last);
        if let Some((at, body, options)) = trap {
            let flow = self.trapped(&body, options, &mut state);
            if flow.leaves.is_empty() {
                decisive = at;
                codes = flow.ends;
            }
            codes = codes.or(flow.ends).or(before_trap);
        }
        Verdict { codes, decisive, loosened: state.loosened, is_unsure: state.is_unsure }
    }

    /// The effect of an exit trap that was set under `options` and may run at any later point.
    fn trapped(&self, body: &ShellCommand, options: Options, state: &mut State) -> Flow {
        // The trap sees the exit code of whatever ended the script.
        let mut inner = State { options, last: Codes::ANY, ..state.clone() };
        let mut flow = self.flow(body, &mut inner, Check::Fatal);
        if state.options != options || state.loosened.is_some() {
            let options = Options { errexit: !options.errexit, ..options };
            flow = flow.or(self.flow(
                body,
                &mut State { options, last: Codes::ANY, ..state.clone() },
                Check::Fatal,
            ));
        }
        state.is_unsure |= inner.is_unsure;
        flow
    }

    fn flow(&self, command: &ShellCommand, state: &mut State, check: Check) -> Flow {
        let mut flow = match &command.kind {
            CommandKind::Simple { assignments, words } => {
                self.simple(assignments, words, state, command.depth)
            }
            CommandKind::Pipeline(commands) => self.pipeline(commands, state, check),
            CommandKind::Sequence(commands) => return self.sequence(commands, state, check),
            CommandKind::Chain { first, rest } => return self.chain(first, rest, state, check),
            CommandKind::Not(inner) => {
                let flow = self.flow(inner, state, Check::Exempt);
                return Flow { leaves: flow.leaves.inverted(), ..flow };
            }
            CommandKind::If { condition, then, otherwise } => {
                let asked = self.flow(condition, state, Check::Exempt);
                self.choose(asked, then, otherwise.as_deref(), (state, check))
            }
            CommandKind::While { condition, body } => {
                let asked = self.flow(condition, state, Check::Exempt);
                let is_read = simple_words(condition).first().and_then(Word::literal) == Some("read");
                let is_wait = asked.leaves.zero && !is_read;
                self.repeat(&Loop { asked, is_reached: asked.leaves.zero, is_wait, body }, state, check)
            }
            CommandKind::Until { condition, body } => {
                let asked = self.flow(condition, state, Check::Exempt);
                let is_reached = asked.leaves.can_fail();
                self.repeat(&Loop { asked, is_reached, is_wait: is_reached, body }, state, check)
            }
            CommandKind::For { words, body, is_arithmetic } => {
                let asked = Flow { ends: hazards(words, state), leaves: Codes::ZERO };
                self.repeat(&Loop { asked, is_reached: true, is_wait: *is_arithmetic, body }, state, check)
            }
            CommandKind::Case { words, arms } => {
                state.last = Codes::ANY;
                let asked = Flow { ends: hazards(words, state), leaves: Codes::ZERO };
                arms.iter().fold(asked, |flow, arm| flow.or(self.perhaps(arm, state, check)))
            }
            // In `( ! { a; b; } )` bash loses the exemption that `!` grants.
            CommandKind::Subshell(body) if matches!(&body.kind, CommandKind::Not(inner) if simple_words(inner).is_empty()) => {
                Flow::leaving(Codes::ANY)
            }
            CommandKind::Subshell(body) => Flow::leaving(self.apart(body, state, check)),
            CommandKind::Group(body) => self.flow(body, state, check),
            CommandKind::Background(_) => return Flow::leaving(Codes::ZERO),
            CommandKind::Function { .. } | CommandKind::Nothing => Flow::leaving(Codes::ZERO),
            CommandKind::Select { .. } | CommandKind::Coprocess(_) => Flow::WILD,
            CommandKind::Condition(condition) => {
                Flow { ends: condition_hazards(condition, state), leaves: Codes::ANY }
            }
            CommandKind::Arithmetic(_) if self.mode == Mode::Strict => {
                Flow { ends: Codes::FAILURE, leaves: Codes::ANY }
            }
            CommandKind::Arithmetic(_) => Flow::leaving(Codes::ANY),
        };
        let is_fatal = state.options.errexit && check == Check::Fatal;
        if self.can_miss_file(command) {
            let fatal = if is_fatal { Codes::FAILURE } else { Codes::NONE };
            flow = flow.or(Flow { ends: fatal, leaves: Codes::FAILURE });
        }
        for redirect in &command.redirects {
            flow.ends = flow.ends.or(hazards(std::slice::from_ref(&redirect.target), state));
        }
        if is_checked(&command.kind) && is_fatal {
            flow = Flow { ends: flow.ends.or(flow.leaves.failures()), leaves: flow.leaves.successes() };
        }
        flow
    }

    fn sequence(&self, commands: &[ShellCommand], state: &mut State, check: Check) -> Flow {
        let mut flow = Flow::leaving(Codes::ZERO);
        for command in commands {
            let next = self.flow(command, state, check);
            flow = Flow { ends: flow.ends.or(next.ends), leaves: next.leaves };
            state.last = next.leaves;
            if next.leaves.is_empty() {
                break;
            }
        }
        flow
    }

    fn chain(
        &self,
        first: &ShellCommand,
        rest: &[(ListLink, ShellCommand)],
        state: &mut State,
        check: Check,
    ) -> Flow {
        let mut flow = self.flow(first, state, Check::Exempt);
        for (at, (link, command)) in rest.iter().enumerate() {
            let check = if at + 1 == rest.len() { check } else { Check::Exempt };
            let (kept, is_reached) = match link {
                ListLink::And => (flow.leaves.failures(), flow.leaves.zero),
                ListLink::Or => (flow.leaves.successes(), flow.leaves.can_fail()),
            };
            if !is_reached {
                continue;
            }
            state.last = flow.leaves;
            let next = self.perhaps(command, state, check);
            flow = Flow { ends: flow.ends.or(next.ends), leaves: kept.or(next.leaves) };
        }
        flow
    }

    fn pipeline(&self, commands: &[ShellCommand], state: &mut State, check: Check) -> Flow {
        let mut result = Codes::NONE;
        for (at, command) in commands.iter().enumerate().rev() {
            let is_last = at + 1 == commands.len();
            let mut codes = self.apart(command, state, check);
            if is_last && self.mode == Mode::Plain && is_filter(command) {
                codes = Codes::ZERO;
            }
            // A writer can be killed when the reader of its pipe exits.
            if !is_last && !is_silent(command) {
                codes = codes.or(Codes::FAILURE);
            }
            if is_last {
                result = codes;
            } else {
                result = result.failures().or(codes);
            }
            if !state.options.pipefail || !codes.zero {
                break;
            }
        }
        Flow::leaving(result)
    }

    fn choose(
        &self,
        asked: Flow,
        then: &ShellCommand,
        otherwise: Option<&ShellCommand>,
        at: (&mut State, Check),
    ) -> Flow {
        let (state, check) = at;
        let mut flow = Flow { ends: asked.ends, leaves: Codes::NONE };
        if asked.leaves.zero {
            state.last = Codes::ZERO;
            flow = flow.or(self.perhaps(then, state, check));
        }
        if asked.leaves.can_fail() {
            state.last = asked.leaves.failures();
            let otherwise = otherwise.map(|command| self.perhaps(command, state, check));
            flow = flow.or(otherwise.unwrap_or(Flow::leaving(Codes::ZERO)));
        }
        flow
    }

    fn repeat(&self, this: &Loop<'_>, state: &mut State, check: Check) -> Flow {
        let leaves = if this.asked.leaves.is_empty() { Codes::NONE } else { Codes::ZERO };
        let mut flow = Flow { leaves, ..this.asked };
        if this.is_reached {
            state.last = Codes::ANY;
            flow = flow.or(self.perhaps(this.body, state, check));
        }
        if this.is_wait {
            flow.ends = flow.ends.or(Codes::FAILURE);
        }
        flow
    }

    /// A command that may not run: its settings cannot be relied on.
    fn perhaps(&self, command: &ShellCommand, state: &mut State, check: Check) -> Flow {
        let mut inner = state.clone();
        let flow = self.flow(command, &mut inner, check);
        state.is_unsure |= inner.is_unsure || inner.options != state.options;
        flow
    }

    /// A command in a subprocess: its settings and its `exit` end with it.
    fn apart(&self, command: &ShellCommand, state: &mut State, check: Check) -> Codes {
        let mut inner = state.clone();
        let flow = self.flow(command, &mut inner, check);
        state.is_unsure |= inner.is_unsure;
        flow.codes()
    }

    /// Whether a redirection can fail because its file doesn't exist.
    fn can_miss_file(&self, command: &ShellCommand) -> bool {
        command.redirects.iter().any(|redirect| {
            let is_device = redirect.target.literal().is_some_and(|target| target.starts_with("/dev/"));
            match redirect.way {
                Way::From => !is_device,
                Way::Into => !is_device && self.mode == Mode::Strict,
                Way::Inner => false,
            }
        })
    }

    fn simple(&self, assignments: &[Word], words: &[Word], state: &mut State, depth: usize) -> Flow {
        let hazards = hazards(words, state).or(hazards(assignments, state));
        let flow = match words.first() {
            None => Flow::leaving(self.assign(assignments, state)),
            Some(first) => match first.literal() {
                Some(name) if self.functions.contains(name) => Flow::WILD,
                Some(name) => self.call(name, words, state, depth),
                // A variable can hold `exit 0`, though it seldom does.
                None if self.mode == Mode::Strict => Flow::WILD,
                None => Flow::leaving(Codes::ANY),
            },
        };
        Flow { ends: flow.ends.or(hazards), ..flow }
    }

    /// The status of assignments is that of the last command run for them.
    fn assign(&self, assignments: &[Word], state: &mut State) -> Codes {
        let mut codes = Codes::ZERO;
        for word in assignments {
            let name = word.raw.split(['=', '+', '[']).next().unwrap_or_default();
            if matches!(name, "UID" | "EUID" | "PPID" | "BASHOPTS" | "BASH_VERSINFO" | "SHELLOPTS") {
                return Codes::FAILURE;
            }
            for substitution in &word.substitutions {
                // Bash takes `-e` off inside of a substitution.
                let mut inner =
                    State { options: Options { errexit: false, ..state.options }, ..state.clone() };
                codes = self.flow(substitution, &mut inner, Check::Fatal).codes();
            }
            Rc::make_mut(&mut state.assigned).insert(name.to_owned());
        }
        codes
    }

    fn call(&self, name: &str, words: &[Word], state: &mut State, depth: usize) -> Flow {
        match name {
            "true" | "/bin/true" | "/usr/bin/true" | ":" | "echo" | "break" | "continue" => {
                Flow::leaving(Codes::ZERO)
            }
            // A wrapper around a constant is the constant.
            "command" | "builtin" | "env" | "nohup" | "nice"
                if matches!(words.get(1).and_then(Word::literal), Some("true" | "echo")) =>
            {
                Flow::leaving(Codes::ZERO)
            }
            "false" => Flow::leaving(Codes::exactly(1)),
            "wait" if words.len() == 1 => Flow::leaving(Codes::ZERO),
            "printf" if is_plain_format(words) || (self.mode == Mode::Plain && words.len() > 1) => {
                Flow::leaving(Codes::ZERO)
            }
            "exit" => Flow { ends: exit_code(words, state.last), leaves: Codes::NONE },
            "set" => set(words, state),
            "shopt" => {
                state.is_unsure = true;
                Flow::leaving(Codes::ANY)
            }
            "trap" => {
                let is_harmless =
                    |word: &Word| matches!(word.literal(), Some("INT" | "TERM" | "HUP" | "PIPE"));
                state.is_unsure |= !words.iter().skip(2).all(is_harmless);
                Flow::leaving(Codes::ZERO)
            }
            "command" if matches!(words.get(1).and_then(Word::literal), Some("-v" | "-V")) => {
                Flow::leaving(Codes::ANY)
            }
            "." | "builtin" | "command" | "eval" | "exec" | "return" | "source" => Flow::WILD,
            "sh" | "bash" => self.shell(words, depth),
            _ => Flow::leaving(Codes::ANY),
        }
    }

    fn shell(&self, words: &[Word], depth: usize) -> Flow {
        if let Some(ShellInput::Text(word, set)) = arguments::shell_input(words)
            && let Some(inner) = word.literal().and_then(|text| tree::read_within(text, word.span, depth))
        {
            let options = Options {
                errexit: set.contains('e'),
                nounset: set.contains('u'),
                pipefail: set.contains('P'),
            };
            let mut state = State {
                options,
                assigned: Rc::default(),
                last: Codes::ZERO,
                loosened: None,
                is_unsure: false,
            };
            let flow = self.flow(&inner, &mut state, Check::Fatal);
            if !state.is_unsure {
                return Flow::leaving(flow.codes());
            }
        }
        Flow::leaving(Codes::ANY)
    }
}

impl Flow {
    fn or(self, with: Self) -> Self {
        Self { ends: self.ends.or(with.ends), leaves: self.leaves.or(with.leaves) }
    }
}

/// Whether `-e` applies to a command as a whole. For conditionals, loops and groups it applies to each command inside.
fn is_checked(kind: &CommandKind) -> bool {
    match kind {
        CommandKind::If { .. }
        | CommandKind::While { .. }
        | CommandKind::Until { .. }
        | CommandKind::For { .. }
        | CommandKind::Case { .. }
        | CommandKind::Group(_) => false,
        CommandKind::Simple { .. }
        | CommandKind::Pipeline(_)
        | CommandKind::Sequence(_)
        | CommandKind::Background(_)
        | CommandKind::Chain { .. }
        | CommandKind::Not(_)
        | CommandKind::Select { .. }
        | CommandKind::Function { .. }
        | CommandKind::Subshell(_)
        | CommandKind::Coprocess(_)
        | CommandKind::Condition(_)
        | CommandKind::Arithmetic(_)
        | CommandKind::Nothing => true,
    }
}

/// The codes with which the expansion of some words can end the shell.
fn hazards(words: &[Word], state: &State) -> Codes {
    let is_real = |hazard: &Hazard| match hazard {
        Hazard::Variable(name) => state.options.nounset && !state.assigned.contains(name),
        Hazard::Expansion => true,
    };
    let is_any = words.iter().flat_map(|word| &word.hazards).any(is_real);
    if is_any { Codes::FAILURE } else { Codes::NONE }
}

fn condition_hazards(condition: &Condition, state: &State) -> Codes {
    match condition {
        Condition::Unary { operand, .. } => hazards(std::slice::from_ref(operand), state),
        Condition::Binary { left, right, .. } => {
            hazards(std::slice::from_ref(left), state).or(hazards(std::slice::from_ref(right), state))
        }
        Condition::And(left, right) | Condition::Or(left, right) => {
            condition_hazards(left, state).or(condition_hazards(right, state))
        }
        Condition::Not(inner) => condition_hazards(inner, state),
        Condition::Opaque => Codes::FAILURE,
    }
}

fn set(words: &[Word], state: &mut State) -> Flow {
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some(text) = word.literal() else { return Flow::leaving(Codes::ANY) };
        if text == "--" || text == "-" || !text.starts_with(['-', '+']) {
            break;
        }
        let is_on = text.starts_with('-');
        for letter in text.chars().skip(1) {
            let name = match letter {
                'o' => {
                    at += 1;
                    words.get(at).and_then(Word::literal).unwrap_or_default()
                }
                'e' => "errexit",
                'u' => "nounset",
                'x' | 'v' | 'f' | 'a' | 'b' | 'm' | 'h' | 'B' | 'C' | 'E' | 'T' | 'H' | 'P' => "other",
                _ => return Flow::leaving(Codes::ANY),
            };
            match name {
                "errexit" => state.options.errexit = is_on,
                "nounset" => state.options.nounset = is_on,
                "pipefail" => state.options.pipefail = is_on,
                "other" | "xtrace" | "verbose" | "noglob" | "noclobber" | "allexport" | "errtrace" => {}
                _ => {
                    state.is_unsure = true;
                    return Flow::leaving(Codes::ANY);
                }
            }
            match (is_on, name) {
                (false, "errexit") => state.loosened = Some("set +e"),
                (false, "pipefail") => state.loosened = state.loosened.or(Some("set +o pipefail")),
                _ => {}
            }
        }
        at += 1;
    }
    Flow::leaving(Codes::ZERO)
}

fn exit_code(words: &[Word], last: Codes) -> Codes {
    match words {
        [_] => last,
        [_, word] if matches!(word.raw.as_str(), "$?" | "\"$?\"") => last,
        [_, word] => match word.literal().map(str::parse::<i64>) {
            Some(Ok(code)) => Codes::exactly(code.to_le_bytes()[0]),
            Some(Err(_)) | None => Codes::ANY,
        },
        _ => Codes::ANY,
    }
}

/// Whether `printf` has a format that takes any argument.
fn is_plain_format(words: &[Word]) -> bool {
    let Some(format) = words.get(1).and_then(Word::literal) else { return false };
    let mut pieces = format.split('%');
    !format.starts_with('-') && pieces.next().is_some() && pieces.all(|piece| piece.starts_with('s'))
}

/// The body of `trap 'body' EXIT`.
fn exit_trap(command: &ShellCommand) -> Option<ShellCommand> {
    let CommandKind::Simple { words, .. } = &command.kind else { return None };
    match words.as_slice() {
        [name, body, signal]
            if name.literal() == Some("trap") && matches!(signal.literal(), Some("EXIT" | "0")) =>
        {
            tree::read_within(body.literal().filter(|text| *text != "-")?, body.span, command.depth)
        }
        _ => None,
    }
}

fn simple_words(command: &ShellCommand) -> &[Word] {
    if let CommandKind::Simple { words, .. } = &command.kind { words } else { &[] }
}

/// Whether a command that reads a pipe practically always succeeds.
fn is_filter(command: &ShellCommand) -> bool {
    let words = simple_words(command);
    let says = |text: &str| words.iter().any(|word| word.raw.contains(text));
    match words.first().and_then(Word::literal).unwrap_or_default() {
        "tail" | "head" | "tee" | "cat" | "sort" | "wc" | "tr" | "cut" | "uniq" | "less" | "more" | "nl"
        | "tac" | "rev" | "fold" | "fmt" | "column" => true,
        "awk" | "gawk" | "mawk" => !says("exit"),
        "sed" => !words.iter().skip(1).any(|word| {
            let mut letters = word.raw.chars().peekable();
            std::iter::from_fn(|| letters.next().map(|letter| (letter, letters.peek().copied()))).any(
                |(letter, next)| {
                    matches!(letter, 'q' | 'Q')
                        && next.is_some_and(|next| next.is_ascii_digit() || next == ' ')
                },
            )
        }),
        _ => false,
    }
}

/// Whether a command writes nothing.
fn is_silent(command: &ShellCommand) -> bool {
    matches!(simple_words(command).first().and_then(Word::literal), Some("true" | ":" | "false" | "exit"))
}
