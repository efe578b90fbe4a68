//! Collects what an agent's output reveals, line by line. Accepts lines of any length and content; ignores
//! whatever isn't a message of the agent.

use serde_json::Value;

use super::account::{Account, Tokens};
use super::profile::{AgentFailure, Profile, SAID_BYTES_MAX};

/// The longest line that is parsed. Longer ones contain whole files and nothing that is counted here.
const LINE_BYTES_MAX: usize = 1 << 20;
/// How much of the last message is kept while an agent works.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// What an agent's output has revealed so far.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transcript {
    pub session: Option<String>,
    pub model: Option<String>,
    /// `None` until the agent reports some.
    pub tokens: Option<Tokens>,
    /// In millionths of a dollar; `None` until the agent reports some.
    pub micro_dollars: Option<u64>,
    pub said: String,
    /// Why it could not work, if it says so.
    pub trouble: Option<AgentFailure>,
}

impl Transcript {
    pub(super) fn name_session(&mut self, session: &Value) {
        if let Some(session) = session.as_str().filter(|session| !session.is_empty() && session.len() <= 200)
        {
            self.session = Some(session.to_owned());
        }
    }

    pub(super) fn name_model(&mut self, model: &Value) {
        if let Some(model) = model.as_str().filter(|model| !model.is_empty() && model.len() <= 200) {
            self.model = Some(model.to_owned());
        }
    }

    /// Replaces the last message.
    pub(super) fn say(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.said.clear();
            self.add_to_said(text);
        }
    }

    /// Extends the last message.
    pub(super) fn add_to_said(&mut self, text: &str) {
        self.said.push_str(text);
        if self.said.len() > TEXT_BYTES_MAX {
            let start = self.said.ceil_char_boundary(self.said.len() - TEXT_BYTES_MAX);
            self.said.drain(..start);
        }
    }

    pub(super) fn add_tokens(&mut self, more: Tokens) {
        let sum = self.tokens.get_or_insert_default();
        sum.input = sum.input.saturating_add(more.input);
        sum.cached = sum.cached.saturating_add(more.cached);
        sum.output = sum.output.saturating_add(more.output);
    }

    pub(super) fn add_dollars(&mut self, dollars: &Value) {
        if let Some(more) = micro(dollars) {
            self.micro_dollars = Some(self.micro_dollars.unwrap_or(0).saturating_add(more));
        }
    }

    /// The part that goes into the journal.
    pub fn account(&self) -> Account {
        let start = self.said.ceil_char_boundary(self.said.len().saturating_sub(SAID_BYTES_MAX));
        let declined = match &self.trouble {
            Some(AgentFailure::Refused { why }) => Some(AgentFailure::shortened(why)),
            Some(
                AgentFailure::RateLimited { .. }
                | AgentFailure::Infrastructure { .. }
                | AgentFailure::SignedOut { .. },
            )
            | None => None,
        };
        Account {
            session: self.session.clone(),
            model: self.model.clone(),
            tokens: self.tokens,
            said: self.said[start..].to_owned(),
            declined,
            ..Account::default()
        }
    }
}

pub(super) fn micro(dollars: &Value) -> Option<u64> {
    let dollars = dollars.as_f64().filter(|dollars| dollars.is_finite() && *dollars >= 0.0)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "negative values are excluded above, and large ones saturate"
    )]
    Some((dollars * 1e6).round() as u64)
}

/// Zero if the value isn't a count.
pub(super) fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

/// `None` if the line isn't JSON.
pub(super) fn json(line: &str) -> Option<Value> {
    line.starts_with('{').then(|| serde_json::from_str(line).ok()).flatten()
}

/// Where an agent without a profile reports things, as JSON pointers (`/usage/output_tokens`) into its output
/// lines. The last value counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FieldPaths {
    /// Summed up.
    pub tokens: Vec<String>,
    pub dollars: Option<String>,
    pub session: Option<String>,
    pub said: Option<String>,
}

impl FieldPaths {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn read(&self, line: &str, heard: &mut Transcript) {
        let Some(message) = json(line) else { return };
        let at = |place: &Option<String>| place.as_ref().and_then(|place| message.pointer(place));
        let counts: Vec<u64> =
            self.tokens.iter().filter_map(|place| message.pointer(place)?.as_u64()).collect();
        if !counts.is_empty() {
            let input = counts.iter().fold(0, |sum: u64, more| sum.saturating_add(*more));
            heard.tokens = Some(Tokens { input, cached: 0, output: 0 });
        }
        heard.micro_dollars = at(&self.dollars).and_then(micro).or(heard.micro_dollars);
        if let Some(session) = at(&self.session) {
            heard.name_session(session);
        }
        if let Some(text) = at(&self.said).and_then(Value::as_str) {
            heard.say(text);
        }
    }
}

/// Reads one line.
type Reader = Box<dyn Fn(&str, &mut Transcript) + Send>;

/// Reads an agent's output as it arrives.
pub struct TranscriptReader {
    heard: Transcript,
    read: Reader,
    line: Vec<u8>,
    /// Whether the current line is too long to parse.
    is_too_long: bool,
}

impl TranscriptReader {
    pub(super) fn new(read: impl Fn(&str, &mut Transcript) + Send + 'static) -> Self {
        Self { heard: Transcript::default(), read: Box::new(read), line: Vec::new(), is_too_long: false }
    }

    /// Reads by the agent's profile; without one, by the configured pointers; without those, the whole output
    /// is its message.
    pub fn of(profile: Option<&'static Profile>, places: &FieldPaths) -> Self {
        match profile {
            Some(profile) => profile.listener(),
            None if places.is_empty() => Self::of_unknown(),
            None => Self::by_places(places.clone()),
        }
    }

    /// For an agent without a profile: its whole output is its message.
    pub fn of_unknown() -> Self {
        Self::new(|line, heard| heard.add_to_said(&format!("{line}\n")))
    }

    /// For an agent that prints JSON, read by the pointers in the settings.
    pub fn by_places(places: FieldPaths) -> Self {
        Self::new(move |line, heard| places.read(line, heard))
    }

    pub fn hear(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            self.take(&rest[..end]);
            self.end_line();
            rest = &rest[end + 1..];
        }
        self.take(rest);
    }

    fn take(&mut self, bytes: &[u8]) {
        self.is_too_long |= self.line.len() + bytes.len() > LINE_BYTES_MAX;
        if !self.is_too_long {
            self.line.extend_from_slice(bytes);
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !std::mem::take(&mut self.is_too_long) {
            (self.read)(String::from_utf8_lossy(&line).trim_end_matches('\r'), &mut self.heard);
        }
    }

    /// What was read, including a last line without a newline.
    pub fn finish(mut self) -> Transcript {
        if !self.line.is_empty() {
            self.end_line();
        }
        self.heard
    }
}
