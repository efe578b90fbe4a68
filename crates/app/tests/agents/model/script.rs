//! The script that travels in a prompt: which step of it is next, and which of the agent's own tools carries it out.
//!
//! `%%[{"do":"write","path":"a","text":"b"}, {"do":"say","text":"done"}]%%` is a list of actions. An object has two of them:
//! `{"first": […], "then": […], "heard": "words"}` does `then` where the prompt tells what happened before, and only if these
//! words are in what it tells.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::wire::{Conversation, Reply, Tool, Turn};

/// The heading under which the next attempt is told what the last one came to.
pub(crate) const FEEDBACK: &str = "# What happened before";
const MARK: &str = "%%";
/// The names under which agents offer to write a file, and to run a command.
const WRITERS: [&str; 6] = ["Write", "write", "write_file", "create", "create_file", "apply_patch"];
const SHELLS: [&str; 7] =
    ["Bash", "bash", "shell", "exec_command", "shell_command", "run_shell_command", "local_shell"];

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
enum Script {
    Always(Vec<Action>),
    Twice {
        first: Vec<Action>,
        then: Vec<Action>,
        #[serde(default)]
        heard: String,
    },
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase", deny_unknown_fields)]
enum Action {
    /// Writes a file with the agent's own tool.
    Write {
        path: String,
        text: String,
    },
    /// Runs a command with the agent's own shell.
    Bash {
        command: String,
    },
    /// Calls a tool: its whole name, or the end of it where agents put the name of a server in front.
    Call {
        name: String,
        #[serde(default)]
        arguments: Map<String, Value>,
    },
    /// Ends the turn with these words.
    Say {
        text: String,
    },
    /// Ends the turn with these words, later.
    Sleep {
        seconds: u64,
        text: String,
    },
    Fail {
        status: u16,
        retry_after: Option<u64>,
    },
}

/// What is to be answered.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Decision {
    Reply { after_seconds: u64, reply: Reply },
    Fail { status: u16, retry_after: Option<u64> },
}

impl Decision {
    fn now(reply: Reply) -> Self {
        Self::Reply { after_seconds: 0, reply }
    }

    fn say(text: impl Into<String>) -> Self {
        Self::now(Reply::Text(text.into()))
    }
}

/// What the script in this conversation says to do next. The place in the script is the number of results since it was told.
pub(crate) fn decide(conversation: &Conversation) -> Decision {
    let turns = &conversation.turns;
    let found = turns.iter().enumerate().rev().find_map(|(place, turn)| match turn {
        Turn::Said(text) => cut(text).map(|(script, rest)| (place, script, rest)),
        Turn::Gave(_) => None,
    });
    // Agents ask for titles and summaries, too, without their tools.
    let Some((place, script, rest)) = found.filter(|_| !conversation.tools.is_empty()) else {
        return Decision::say("as you wish");
    };
    let actions = match serde_json::from_str::<Script>(script) {
        Err(error) => return Decision::say(format!("this script can't be read: {error}: {script}")),
        Ok(Script::Always(actions)) => actions,
        Ok(Script::Twice { first, then, heard }) => match rest.split_once(FEEDBACK) {
            None => first,
            Some((_, told)) if told.contains(&heard) => then,
            Some((_, told)) => return Decision::say(format!("nobody told me `{heard}`, only: {told}")),
        },
    };
    let results = turns[place..].iter().filter(|turn| matches!(turn, Turn::Gave(_))).count();
    match actions.into_iter().nth(results) {
        None => Decision::say("the script is over"),
        Some(action) => carry_out(action, &conversation.tools),
    }
}

/// The last script of a text, and what stands behind it.
fn cut(text: &str) -> Option<(&str, &str)> {
    let (before, rest) = text.rsplit_once(MARK)?;
    let (_, script) = before.rsplit_once(MARK)?;
    Some((script, rest))
}

fn carry_out(action: Action, tools: &[Tool]) -> Decision {
    let missing = |what: &str| {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        Decision::say(format!("no tool for {what} among {names:?}"))
    };
    match action {
        Action::Say { text } => Decision::say(text),
        Action::Sleep { seconds, text } => {
            Decision::Reply { after_seconds: seconds, reply: Reply::Text(text) }
        }
        Action::Fail { status, retry_after } => Decision::Fail { status, retry_after },
        Action::Call { name, arguments } => {
            let tool = tools.iter().find(|tool| tool.name == name).or_else(|| {
                tools.iter().find(|tool| {
                    tool.name.strip_suffix(&name).is_some_and(|front| front.ends_with(['_', '-', '.']))
                })
            });
            // A model may call what it was not offered; what becomes of that is the agent's business.
            let tool = tool.cloned().unwrap_or_else(|| Tool::named(&name));
            Decision::now(Reply::Call { tool, arguments: Value::Object(arguments) })
        }
        Action::Write { path, text } => match offered(tools, &WRITERS) {
            Some(tool) => Decision::now(writing(tool, &path, &text)),
            None => match offered(tools, &SHELLS) {
                Some(shell) => Decision::now(running(shell, &here_document(&path, &text))),
                None => missing("writing"),
            },
        },
        Action::Bash { command } => match offered(tools, &SHELLS) {
            Some(shell) => Decision::now(running(shell, &command)),
            None => missing("commands"),
        },
    }
}

fn offered<'a>(tools: &'a [Tool], names: &[&str]) -> Option<&'a Tool> {
    names.iter().find_map(|name| tools.iter().find(|tool| tool.name == *name))
}

fn here_document(path: &str, text: &str) -> String {
    format!("cat > '{path}' <<'END_OF_FILE'\n{}\nEND_OF_FILE", text.trim_end_matches('\n'))
}

fn writing(tool: &Tool, path: &str, text: &str) -> Reply {
    if tool.name == "apply_patch" {
        let lines: String = text.lines().map(|line| format!("+{line}\n")).collect();
        let patch = format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n");
        let arguments = if tool.takes_text { Value::String(patch) } else { json!({ "input": patch }) };
        return Reply::Call { tool: tool.clone(), arguments };
    }
    let key = |names: [&'static str; 4]| names.into_iter().find(|name| tool.takes(name)).unwrap_or(names[0]);
    let mut arguments = Map::new();
    let path_key = key(["file_path", "filePath", "path", "absolute_path"]);
    let text_key = key(["content", "file_text", "contents", "text"]);
    arguments.insert(path_key.to_owned(), path.into());
    arguments.insert(text_key.to_owned(), text.into());
    Reply::Call { tool: tool.clone(), arguments: tool.complete(arguments) }
}

fn running(tool: &Tool, command: &str) -> Reply {
    let mut arguments = Map::new();
    if tool.takes("cmd") {
        arguments.insert("cmd".to_owned(), command.into());
    } else if tool.parameters["properties"]["command"]["type"] == "array" {
        arguments.insert("command".to_owned(), json!(["bash", "-c", command]));
    } else {
        arguments.insert("command".to_owned(), command.into());
    }
    Reply::Call { tool: tool.clone(), arguments: tool.complete(arguments) }
}
