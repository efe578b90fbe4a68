//! What an agent's files must contain so that its sessions know about plans: hooks, the MCP server, the
//! skill. One list of pieces per agent. A piece never removes anything; it adds what is missing or says why
//! it can't.

mod table;

pub use crate::syntax::json::edit::{JsonEditError, Spot};
pub use table::CONNECTIONS;

use crate::syntax::json::edit::{insert, pretty};

/// The skill that teaches agents to write plans.
pub const SKILL: &str = include_str!("../../skill/SKILL.md");

/// Identifies a text that any version of planwright wrote.
const OURS: &str = "planwright";

#[derive(Debug, PartialEq, Eq)]
pub struct Integration {
    pub agent: &'static str,
    pub pieces: &'static [ConfigEdit],
    /// What the user has to do in addition; may be empty.
    pub note: &'static str,
}

/// The required content of one file.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigEdit {
    /// Relative to the project root. `~/` marks the user's own file, which planwright never writes.
    pub file: &'static str,
    pub wanted: Expected,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Expected {
    /// These values, in a JSON file that may contain others.
    Json(&'static [ConfigEntry]),
    /// This table, in a TOML file that may contain others.
    Table {
        /// Such as `[mcp_servers.planwright]`.
        head: &'static str,
        /// The lines below the head.
        lines: &'static str,
    },
    Text(&'static str),
}

/// One value in a JSON file.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The keys that lead to it.
    pub path: &'static [&'static str],
    /// Whether the path ends at its key or at the list that contains it.
    pub spot: Spot,
    pub json: &'static str,
}

pub fn named(agent: &str) -> Option<&'static Integration> {
    CONNECTIONS.iter().find(|connection| connection.agent == agent)
}

impl ConfigEdit {
    /// Whether the user has to write it, because the file isn't the project's.
    pub fn is_by_hand(&self) -> bool {
        self.file.starts_with("~/")
    }

    /// The file's text with the missing parts added; `None` if nothing is missing.
    pub fn applied(&self, old: Option<&str>) -> Result<Option<String>, JsonEditError> {
        match &self.wanted {
            Expected::Json(entries) => {
                let mut text = old.unwrap_or_default().to_owned();
                for entry in *entries {
                    if let Some(new) = insert(&text, entry.path, (entry.json, entry.spot))? {
                        text = new;
                    }
                }
                Ok((Some(text.as_str()) != old).then_some(text))
            }
            Expected::Table { head, lines } => {
                let old = old.unwrap_or_default();
                if old.lines().any(|line| line.trim() == *head) {
                    return Ok(None);
                }
                let gap = match old {
                    "" => "",
                    _ if old.ends_with('\n') => "\n",
                    _ => "\n\n",
                };
                Ok(Some(format!("{old}{gap}{head}\n{lines}")))
            }
            Expected::Text(text) => match old {
                Some(old) if old == *text => Ok(None),
                // Update an older text of ours; leave a text that doesn't mention planwright alone.
                Some(old) if !old.contains(OURS) => Err(JsonEditError::Foreign),
                Some(_) | None => Ok(Some((*text).to_owned())),
            },
        }
    }

    /// The text for a user to add by hand.
    pub fn by_hand(&self) -> String {
        match &self.wanted {
            Expected::Json(entries) => {
                entries.iter().map(|entry| pretty(entry.path, (entry.json, entry.spot))).collect()
            }
            Expected::Table { head, lines } => format!("{head}\n{lines}"),
            Expected::Text(text) => (*text).to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // P-10: every agent has all of it, the second time there is nothing to do, and nothing of the user's is lost.
    #[test]
    fn every_piece_fits_a_new_file_and_its_own_result() {
        for connection in CONNECTIONS {
            assert!(!connection.pieces.is_empty(), "{}", connection.agent);
            for piece in connection.pieces {
                let made =
                    piece.applied(None).expect("an empty file takes everything").expect("it was missing");
                assert_eq!(piece.applied(Some(&made)), Ok(None), "{}: {}", connection.agent, piece.file);
                assert!(!piece.by_hand().is_empty());
            }
        }
    }

    #[test]
    fn what_a_file_says_besides_stays() {
        for piece in CONNECTIONS.iter().flat_map(|connection| connection.pieces) {
            match &piece.wanted {
                Expected::Json(_) => {
                    let old = "{\n    \"mine\": [1, 2],\n    \"hooks\": {\n        \"Mine\": []\n    }\n}\n";
                    let new = piece.applied(Some(old)).expect("sound").expect("something was missing");
                    assert!(
                        new.starts_with("{\n    \"mine\": [1, 2],\n    \"hooks\": {\n        \"Mine\": []"),
                        "{new}"
                    );
                    assert!(piece.applied(Some("{\n  // mine\n}")).is_err(), "{}", piece.file);
                    assert!(piece.applied(Some("{\"mine\":")).is_err(), "{}", piece.file);
                }
                Expected::Table { .. } => {
                    let new = piece.applied(Some("model = \"x\"")).expect("fits").expect("it was missing");
                    assert!(new.starts_with("model = \"x\"\n\n["), "{new}");
                }
                Expected::Text(text) => {
                    let older = format!("{text}\nand what an older planwright said\n");
                    assert_eq!(piece.applied(Some(&older)), Ok(Some((*text).to_owned())), "{}", piece.file);
                    assert_eq!(
                        piece.applied(Some("# My own skill\n")),
                        Err(JsonEditError::Foreign),
                        "{}",
                        piece.file
                    );
                }
            }
        }
    }

    // C-29, C-33: the skill says when to plan and which model a step suits, and is short enough for every agent.
    #[test]
    fn the_skill_is_one_that_agents_take() {
        let (head, body) = SKILL.trim_start_matches("---\n").split_once("\n---\n").expect("a frontmatter");
        let description =
            head.lines().find_map(|line| line.strip_prefix("description: ")).expect("a description");
        assert!(head.lines().any(|line| line == "name: plan"));
        assert!(description.len() <= 1024, "{} characters", description.len());
        assert!(!description.contains(": "), "it would be read as a map");
        assert!(body.lines().count() < 500);
        for words in ["Should this be a plan?", "Which model for which step", "can't mark a step done"] {
            assert!(body.contains(words), "{words}");
        }
    }
}
