//! Knows how common programs parse their arguments: which run another program, which read files. Returns nothing when
//! uncertain: a missed file is harmless, a wrong one is a false diagnostic.

use super::FileRole;
use super::word::{Text, Word};

/// A program or builtin that runs the command in its arguments.
#[derive(Debug)]
struct Wrapper {
    name: &'static str,
    /// Letters of the short options that take an argument.
    valued: &'static str,
    /// Long options that take their argument as the next word.
    valued_long: &'static [&'static str],
    /// Operands before the command.
    operands: usize,
    /// Options that make it run nothing.
    idle: &'static str,
}

const WRAPPERS: [Wrapper; 14] = [
    wrapper("builtin", "", &[], 0, ""),
    wrapper("command", "", &[], 0, "vV"),
    wrapper("doas", "Cu", &[], 0, ""),
    wrapper("env", "uC", &["--unset", "--chdir"], 0, "S"),
    wrapper("exec", "a", &[], 0, ""),
    wrapper("ionice", "cnp", &["--class", "--classdata"], 0, "pPu"),
    wrapper("nice", "n", &["--adjustment"], 0, ""),
    wrapper("nohup", "", &[], 0, ""),
    wrapper("setsid", "", &[], 0, ""),
    wrapper("stdbuf", "ioe", &["--input", "--output", "--error"], 0, ""),
    wrapper("sudo", "CDghpRrTtUu", &["--user", "--group", "--host", "--prompt", "--chdir"], 0, "elvVK"),
    wrapper("time", "fo", &["--format", "--output"], 0, ""),
    wrapper("timeout", "ks", &["--kill-after", "--signal"], 1, ""),
    wrapper(
        "xargs",
        "aEdILnPs",
        &["--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars"],
        0,
        "",
    ),
];

const fn wrapper(
    name: &'static str,
    valued: &'static str,
    valued_long: &'static [&'static str],
    operands: usize,
    idle: &'static str,
) -> Wrapper {
    Wrapper { name, valued, valued_long, operands, idle }
}

/// Where the wrapped command starts; `None` if there is none, or it is unknown.
pub(super) fn wrapped(words: &[Word]) -> Option<usize> {
    let name = words.first()?.literal()?;
    let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name)?;
    let mut operands = wrapper.operands;
    let mut at = 1;
    let mut is_past_options = false;
    while let Some(word) = words.get(at) {
        match word.literal() {
            Some("--") if !is_past_options => is_past_options = true,
            Some(option) if !is_past_options && option.len() > 1 && option.starts_with('-') => {
                if !option.starts_with("--") && option.contains(|letter| wrapper.idle.contains(letter)) {
                    return None;
                }
                at += usize::from(takes_next(option, wrapper.valued, wrapper.valued_long));
            }
            Some("-") if name == "env" => {}
            Some(assignment) if matches!(name, "env" | "sudo" | "doas") && assignment.contains('=') => {}
            Some(_) | None if operands > 0 => {
                operands -= 1;
                is_past_options = true;
            }
            Some(_) => return Some(at),
            // `env "PATH=$x" make` sets a variable; any other unknown word may be the command or an option.
            None if word.raw.trim_start_matches('"').contains('=') => {}
            None => return None,
        }
        at += 1;
    }
    None
}

/// Whether an option takes the next word as its argument.
fn takes_next(option: &str, valued: &str, valued_long: &[&str]) -> bool {
    if option.starts_with("--") {
        return valued_long.contains(&option);
    }
    let mut letters = option.chars().skip(1);
    letters.find(|letter| valued.contains(*letter)).is_some() && letters.next().is_none()
}

/// What a shell was given to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ShellInput<'w> {
    /// A script as a word, with the letters of the options that are set.
    Text(&'w Word, String),
    /// A script in a file.
    File(&'w Word, FileRole),
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.span == other.span && self.raw == other.raw
    }
}

impl Eq for Word {}

/// Reads the arguments of `sh` or `bash`.
pub(super) fn shell_input(words: &[Word]) -> Option<ShellInput<'_>> {
    if !matches!(words.first()?.literal()?, "sh" | "bash" | "dash" | "ksh" | "zsh") {
        return None;
    }
    let mut set = String::new();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        let Some(option) = word.literal() else { break };
        if option == "--" || option == "-" {
            at += 1;
            break;
        }
        if !option.starts_with(['-', '+']) {
            break;
        }
        if option.starts_with("--") {
            at += usize::from(matches!(option, "--rcfile" | "--init-file"));
        } else {
            let names = option.bytes().filter(|byte| matches!(byte, b'o' | b'O')).count();
            if let Some(letters) = option.strip_prefix('-') {
                set.push_str(letters);
                for name in words.iter().skip(at + 1).take(names).filter_map(Word::literal) {
                    set.push_str(match name {
                        "errexit" => "e",
                        "pipefail" => "P",
                        _ => "",
                    });
                }
            }
            at += names;
        }
        at += 1;
    }
    let word = words.get(at)?;
    if set.contains('c') {
        return Some(ShellInput::Text(word, set));
    }
    let role = if set.contains('n') { FileRole::Read } else { FileRole::Run };
    (!set.contains('s')).then_some(ShellInput::File(word, role))
}

/// A program that reads the files in its arguments.
#[derive(Debug)]
struct Reader {
    names: &'static [&'static str],
    valued: &'static str,
    valued_long: &'static [&'static str],
    /// What precedes the files.
    lead: Lead,
    /// Operands that can be files.
    files_max: usize,
}

/// The operand before the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    None,
    /// A pattern or program, unless one of these options provides it.
    Pattern(&'static [&'static str]),
}

const READERS: [Reader; 12] = [
    Reader {
        names: &["cat", "md5sum", "nl", "sha1sum", "sha256sum", "sha512sum", "tac"],
        valued: "",
        valued_long: &[],
        lead: Lead::None,
        files_max: usize::MAX,
    },
    Reader {
        names: &["head", "tail"],
        valued: "ncs",
        valued_long: &["--lines", "--bytes", "--pid", "--sleep-interval"],
        lead: Lead::None,
        files_max: usize::MAX,
    },
    Reader { names: &["wc"], valued: "", valued_long: &[], lead: Lead::None, files_max: usize::MAX },
    Reader {
        names: &["diff"],
        valued: "CDFILSUWxX",
        valued_long: &[
            "--exclude",
            "--label",
            "--context",
            "--unified",
            "--ignore-matching-lines",
            "--width",
        ],
        lead: Lead::None,
        files_max: 2,
    },
    Reader {
        names: &["cmp"],
        valued: "in",
        valued_long: &["--bytes", "--ignore-initial"],
        lead: Lead::None,
        files_max: 2,
    },
    Reader {
        names: &["sort"],
        valued: "kotST",
        valued_long: &["--key", "--output", "--field-separator", "--buffer-size", "--temporary-directory"],
        lead: Lead::None,
        files_max: usize::MAX,
    },
    Reader {
        names: &["cut"],
        valued: "bcdf",
        valued_long: &["--bytes", "--characters", "--delimiter", "--fields", "--output-delimiter"],
        lead: Lead::None,
        files_max: usize::MAX,
    },
    Reader {
        names: &["grep", "egrep", "fgrep", "zgrep"],
        valued: "ABCDdefm",
        valued_long: &[
            "--regexp",
            "--file",
            "--max-count",
            "--after-context",
            "--before-context",
            "--context",
            "--include",
            "--exclude",
            "--exclude-dir",
            "--exclude-from",
            "--label",
            "--directories",
            "--devices",
            "--binary-files",
        ],
        lead: Lead::Pattern(&["e", "f", "--regexp", "--file"]),
        files_max: usize::MAX,
    },
    Reader {
        names: &["rg"],
        valued: "ABCEMTdefgjmrt",
        valued_long: &[
            "--regexp",
            "--file",
            "--glob",
            "--iglob",
            "--type",
            "--type-not",
            "--max-count",
            "--replace",
        ],
        lead: Lead::Pattern(&["e", "f", "--regexp", "--file", "--files"]),
        files_max: usize::MAX,
    },
    Reader {
        names: &["sed"],
        valued: "efl",
        valued_long: &["--expression", "--file", "--line-length"],
        lead: Lead::Pattern(&["e", "f", "--expression", "--file"]),
        files_max: usize::MAX,
    },
    Reader {
        names: &["awk", "gawk", "mawk"],
        valued: "Ffv",
        valued_long: &["--assign", "--field-separator", "--file"],
        lead: Lead::Pattern(&["f", "--file"]),
        files_max: usize::MAX,
    },
    Reader {
        names: &["jq"],
        valued: "L",
        valued_long: &["--indent", "--tab", "--seq"],
        lead: Lead::Pattern(&[]),
        files_max: usize::MAX,
    },
];

/// The words among the arguments that name files, and what is done with them.
pub(super) fn files(words: &[Word]) -> Vec<(&Word, FileRole)> {
    let Some(name) = words.first().and_then(Word::literal) else { return Vec::new() };
    match name {
        "source" | "." => words.get(1).map(|word| (word, FileRole::Read)).into_iter().collect(),
        "python" | "python3" | "node" | "perl" | "ruby" | "php" => {
            program_file(name, words).into_iter().collect()
        }
        _ => match READERS.iter().find(|reader| reader.names.contains(&name)) {
            Some(reader) => read_files(name, reader, words),
            None => Vec::new(),
        },
    }
}

/// The script that an interpreter was given: its first operand, if every option before it is known.
fn program_file<'w>(name: &str, words: &'w [Word]) -> Option<(&'w Word, FileRole)> {
    let flags: &[&str] = match name {
        "python" | "python3" => {
            &["-B", "-E", "-I", "-O", "-OO", "-P", "-s", "-S", "-u", "-v", "-b", "-bb", "-q"]
        }
        "node" => &["--test", "--check", "-c"],
        _ => &[],
    };
    let word = words.iter().skip(1).find(|word| !word.literal().is_some_and(|text| flags.contains(&text)))?;
    let is_file = word.literal().is_some_and(|text| !text.starts_with('-'));
    is_file.then_some((word, FileRole::Run))
}

fn read_files<'w>(name: &str, reader: &Reader, words: &'w [Word]) -> Vec<(&'w Word, FileRole)> {
    let mut needs_pattern = reader.lead != Lead::None;
    let mut operands: Vec<&Word> = Vec::new();
    let mut is_past_options = false;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        at += 1;
        let text = match &word.text {
            Text::Literal(text) => text.as_str(),
            // A word that can expand to none or several may contain the pattern.
            Text::Loose if reader.lead != Lead::None && operands.is_empty() => return Vec::new(),
            Text::One | Text::Loose => {
                operands.push(word);
                continue;
            }
        };
        if text == "--" && !is_past_options {
            is_past_options = true;
        } else if is_past_options || !text.starts_with('-') || text == "-" {
            operands.push(word);
        } else {
            if name == "sed" && (text.starts_with("-i") || text.starts_with("--in-place")) {
                return Vec::new();
            }
            match (name, text) {
                ("jq", "--arg" | "--argjson" | "--slurpfile" | "--rawfile") => at += 2,
                ("jq", "--args" | "--jsonargs") => return Vec::new(),
                _ => at += usize::from(takes_next(text, reader.valued, reader.valued_long)),
            }
            needs_pattern &= !brings_pattern(text, reader);
        }
    }
    let files = operands.into_iter().skip(usize::from(needs_pattern)).take(reader.files_max);
    // `awk` takes `name=value` among its files.
    files
        .filter(|word| !(name.ends_with("awk") && word.raw.contains('=')))
        .map(|word| (word, FileRole::Read))
        .collect()
}

fn brings_pattern(option: &str, reader: &Reader) -> bool {
    let Lead::Pattern(bringers) = reader.lead else { return false };
    if option.starts_with("--") {
        let name = option.split('=').next().unwrap_or(option);
        return bringers.contains(&name);
    }
    // The first letter with an argument ends the cluster: in `-me`, `e` is the count.
    let letter = option.chars().skip(1).find(|letter| reader.valued.contains(*letter));
    letter.is_some_and(|letter| bringers.iter().any(|bringer| bringer.chars().eq([letter])))
}

/// The file operands of `test` or `[`, each with whether its test is not negated.
pub(super) fn tested(words: &[Word]) -> Tested<'_> {
    let end = if words.first().and_then(Word::literal) == Some("[") {
        words.len().saturating_sub(1)
    } else {
        words.len()
    };
    let mut found = Tested { files: Vec::new(), is_all: true };
    let terms = words
        .get(1..end)
        .unwrap_or_default()
        .split(|word| matches!(word.literal(), Some("-a" | "-o" | "(" | ")")));
    if words.iter().any(|word| matches!(word.literal(), Some("-o" | "(" | ")"))) {
        found.is_all = false;
    }
    for term in terms {
        match term {
            [operator, file] if operator.literal().is_some_and(is_file_test) => {
                found.is_all &= operator.literal().is_some_and(is_presence_test);
                found.files.push(file);
            }
            [left, operator, right] if matches!(operator.literal(), Some("-nt" | "-ot" | "-ef")) => {
                found.is_all = false;
                found.files.extend([left, right]);
            }
            _ => found.is_all = false,
        }
    }
    found
}

/// The file tests of `test` or `[`.
#[derive(Debug)]
pub(super) struct Tested<'w> {
    /// The tested files.
    pub(super) files: Vec<&'w Word>,
    /// Whether it only tests that all of them exist.
    pub(super) is_all: bool,
}

/// Whether `operator` tests one file.
pub(super) fn is_file_test(operator: &str) -> bool {
    let mut letters = operator.strip_prefix('-').unwrap_or_default().chars();
    letters.next().is_some_and(|letter| "abcdefghkprsuwxGLNOS".contains(letter)) && letters.next().is_none()
}

/// Whether `operator` is true for any existing regular file.
pub(super) fn is_presence_test(operator: &str) -> bool {
    matches!(operator, "-e" | "-f" | "-d" | "-s" | "-r" | "-x")
}
