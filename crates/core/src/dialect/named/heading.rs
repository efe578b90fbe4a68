//! Parses the heading of a task: number or name, marks and title, in the styles that people use.

use super::status;
use crate::plan::draft::{Mark, StepNumber};
use crate::syntax::markdown::Cursor;
use crate::syntax::source::{Source, Span, Spanned};

/// A parsed heading.
#[derive(Debug, Clone)]
pub(super) struct HeadingRead {
    pub(super) kind: HeadingKind,
    /// The number or name before the title, as needs mention it: `3`, `1.2`, `WP-01`.
    pub(super) label: Spanned<String>,
    /// The number, if the label is a countable one.
    pub(super) number: Option<StepNumber>,
    /// Every mark with its surrounding blanks, so that deleting the span removes the mark cleanly.
    pub(super) marks: Vec<Spanned<Mark>>,
    pub(super) title: Spanned<String>,
}

/// How certain it is that a heading is a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadingKind {
    /// `Task 3: …`: certain.
    Task,
    /// `WP-01: …`: a name for a task, or for a list of them.
    Named,
    /// `Step 3: …`: certain, unless it is part of a task.
    Step,
    /// `3. …`
    Number,
    /// `1.2 …`: may be a section or a task.
    Dotted,
    /// `Phase 2: …`: contains tasks, or is one.
    Phase,
    /// None of these.
    Plain,
}

/// Words before a number that say what it counts.
const COUNTED: &[(&str, HeadingKind)] = &[
    ("task", HeadingKind::Task),
    ("todo", HeadingKind::Task),
    ("ticket", HeadingKind::Task),
    ("user story", HeadingKind::Task),
    ("story", HeadingKind::Task),
    ("work package", HeadingKind::Task),
    ("work item", HeadingKind::Task),
    ("action item", HeadingKind::Task),
    ("action", HeadingKind::Task),
    ("deliverable", HeadingKind::Task),
    ("change", HeadingKind::Task),
    ("fix", HeadingKind::Task),
    ("issue", HeadingKind::Task),
    ("任务", HeadingKind::Task),
    ("タスク", HeadingKind::Task),
    ("작업", HeadingKind::Task),
    ("tarea", HeadingKind::Task),
    ("tâche", HeadingKind::Task),
    ("aufgabe", HeadingKind::Task),
    ("задача", HeadingKind::Task),
    ("subtask", HeadingKind::Step),
    ("sub-task", HeadingKind::Step),
    ("step", HeadingKind::Step),
    ("步骤", HeadingKind::Step),
    ("ステップ", HeadingKind::Step),
    ("paso", HeadingKind::Step),
    ("étape", HeadingKind::Step),
    ("schritt", HeadingKind::Step),
    ("шаг", HeadingKind::Step),
    ("bước", HeadingKind::Step),
    ("phase", HeadingKind::Phase),
    ("milestone", HeadingKind::Phase),
    ("stage", HeadingKind::Phase),
    ("sprint", HeadingKind::Phase),
    ("iteration", HeadingKind::Phase),
    ("week", HeadingKind::Phase),
    ("day", HeadingKind::Phase),
    ("part", HeadingKind::Phase),
    ("wave", HeadingKind::Phase),
    ("batch", HeadingKind::Phase),
    ("epic", HeadingKind::Phase),
    ("priority", HeadingKind::Phase),
    ("workstream", HeadingKind::Phase),
    ("阶段", HeadingKind::Phase),
    ("フェーズ", HeadingKind::Phase),
    ("단계", HeadingKind::Phase),
    ("fase", HeadingKind::Phase),
    ("etapa", HeadingKind::Phase),
    ("этап", HeadingKind::Phase),
    ("giai đoạn", HeadingKind::Phase),
];

/// Separators between a number and a title.
const SIGNS: &[char] = &['.', ')', ':', '：', '-', '–', '—', '·', '|', '、'];

/// Characters that may surround a mark word after a title.
const FRAMES: &[(&str, &str)] = &[("(", ")"), ("[", "]"), ("**", "**"), ("— ", ""), ("– ", "")];

/// Words after a title that are a mark if set off: `(done)`, `— done`. Others are part of the title.
const MARKING: &[&str] =
    &["done", "complete", "completed", "in progress", "wip", "failed", "skipped", "cancelled", "deferred"];

/// Parses the text of a heading, or of a list item that is a task.
pub(super) fn read(source: &Source, span: Span) -> HeadingRead {
    let mut rest = Cursor { text: source.slice(span), at: span.start };
    let mut marks = Vec::new();
    rest.leading_marks(&mut marks);
    let (kind, label, number) = rest.label();
    rest.leading_marks(&mut marks);
    rest.trailing_marks(&mut marks);
    let title = Spanned::new(rest.text.to_owned(), Span::new(rest.at, rest.at + rest.text.len()));
    HeadingRead { kind, label, number, marks, title }
}

impl Cursor<'_> {
    fn leading_marks(&mut self, marks: &mut Vec<Spanned<Mark>>) {
        while let Some((length, mark)) = status::leading_box(self.text).or(status::leading_sign(self.text)) {
            let blanks = self.text[length..].len() - self.text[length..].trim_start().len();
            let span = self.skip(length + blanks);
            marks.extend(mark.map(|mark| Spanned::new(mark, span)));
        }
    }

    fn trailing_marks(&mut self, marks: &mut Vec<Spanned<Mark>>) {
        while let Some((kept, mark)) = trailing_sign(self.text).or_else(|| trailing_word(self.text)) {
            let span = Span::new(self.at + kept, self.at + self.text.len());
            self.text = &self.text[..kept];
            marks.extend(mark.map(|mark| Spanned::new(mark, span)));
        }
    }

    /// Consumes the number or name before the title.
    fn label(&mut self) -> (HeadingKind, Spanned<String>, Option<StepNumber>) {
        let read = self.counted().or_else(|| self.named()).or_else(|| self.numbered());
        match read {
            Some((kind, label)) => {
                let number = counting(&label.value);
                (kind, label, number)
            }
            None => (HeadingKind::Plain, Spanned::new(String::new(), Span::at(self.at)), None),
        }
    }

    /// `Task 3: `, `Phase 2 — `, `第2阶段：`.
    fn counted(&mut self) -> Option<(HeadingKind, Spanned<String>)> {
        let begins = self.text.strip_prefix('第').unwrap_or(self.text);
        let ordinal = self.text.len() - begins.len();
        let (word, kind) = COUNTED.iter().find_map(|&(word, kind)| {
            let start = begins.get(..word.len())?;
            (start.to_lowercase() == word).then_some((word, kind))
        })?;
        let behind = &begins[word.len()..];
        let bare = behind.trim_start_matches([' ', '\t', '#', '-', '_']);
        let length = label_length(bare);
        let is_set_off = behind.len() > bare.len() || !word.is_ascii();
        if length == 0 || !is_set_off || !ends_label(&bare[length..]) {
            return None;
        }
        self.skip(ordinal + word.len() + behind.len() - bare.len());
        let label = Spanned::new(self.text[..length].to_owned(), Span::new(self.at, self.at + length));
        self.skip(length);
        self.skip_signs();
        Some((kind, label))
    }

    /// `WP-01: `, `PR-001 — `, `T3: `.
    fn named(&mut self) -> Option<(HeadingKind, Spanned<String>)> {
        let letters = self.text.bytes().take_while(u8::is_ascii_uppercase).count();
        let behind = &self.text[letters..];
        let dash = usize::from(behind.starts_with('-'));
        let digits = behind[dash..].bytes().take_while(u8::is_ascii_digit).count();
        let more = behind[dash + digits..]
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-'))
            .count();
        let length = letters + dash + digits + more;
        let length = self.text[..length].trim_end_matches(['.', '-']).len();
        let is_name = (1..=6).contains(&letters)
            && digits > 0
            && (dash == 1 || (letters == 1 && self.text.starts_with('T')));
        let is_set_off = self.text[length..].trim_start().starts_with(SIGNS);
        if !is_name || !is_set_off {
            return None;
        }
        let label = Spanned::new(self.text[..length].to_owned(), Span::new(self.at, self.at + length));
        self.skip(length);
        self.skip_signs();
        Some((HeadingKind::Named, label))
    }

    /// `3. `, `3) `, `#3 `, `1.2 `, `3–N. `.
    fn numbered(&mut self) -> Option<(HeadingKind, Spanned<String>)> {
        let hash = usize::from(self.text.starts_with('#'));
        let bare = &self.text[hash..];
        let length = label_length(bare);
        let label = &bare[..length];
        let is_dotted = label.contains('.');
        let is_counted = label.starts_with(|first: char| first.is_ascii_digit() || first == 'N');
        let sign = bare[length..].trim_start().chars().next();
        let is_set_off = match sign {
            Some('.' | ')' | ':' | '：' | '、') | None => true,
            Some('-' | '–' | '—' | '·' | '|') => bare[length..].starts_with([' ', '\t']),
            Some(_) => (is_dotted || hash > 0) && bare[length..].starts_with([' ', '\t']),
        };
        if length == 0 || !is_counted || !is_set_off {
            return None;
        }
        self.skip(hash);
        let label = Spanned::new(label.to_owned(), Span::new(self.at, self.at + length));
        self.skip(length);
        self.skip_signs();
        Some((if is_dotted { HeadingKind::Dotted } else { HeadingKind::Number }, label))
    }

    /// Skips the separator between number and title.
    fn skip_signs(&mut self) {
        self.skip_blanks();
        if let Some(sign) = self.text.chars().next().filter(|sign| SIGNS.contains(sign)) {
            self.skip(sign.len_utf8());
            self.skip_blanks();
        }
    }
}

/// Whether a label may end here; in `Phase 1s` it may not.
fn ends_label(behind: &str) -> bool {
    behind.is_empty()
        || behind.starts_with(|next: char| next.is_whitespace() || !next.is_alphanumeric())
        || !behind.is_ascii()
}

/// The step number.
fn counting(label: &str) -> Option<StepNumber> {
    match label.parse::<u32>() {
        Ok(number) => Some(StepNumber::Counted(number)),
        Err(_) if label.bytes().all(|byte| byte.is_ascii_digit()) => Some(StepNumber::Counted(u32::MAX)),
        Err(_) if label.contains('N') => Some(StepNumber::Template(label.to_owned())),
        Err(_) => None,
    }
}

/// The length of the leading number: `3`, `1.2`, `3a`, `3–N`, `N+1`, or a single letter.
fn label_length(text: &str) -> usize {
    let atom = |text: &str| {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let is_letter = digits == 0
            && text.starts_with(|first: char| first.is_ascii_uppercase())
            && !text[1..].starts_with(|next: char| next.is_alphanumeric() || next == '_');
        if is_letter { 1 } else { digits }
    };
    let mut length = atom(text);
    if length == 0 {
        return 0;
    }
    // `1.2.3`, and `3a`.
    while let Some(more) = text[length..].strip_prefix('.').map(atom).filter(|&more| more > 0) {
        length += 1 + more;
    }
    let letter = text[length..].bytes().take_while(u8::is_ascii_lowercase).count();
    if letter == 1 && text[..length].ends_with(|last: char| last.is_ascii_digit()) {
        length += 1;
    }
    let behind = &text[length..];
    let Some(sign) = behind.chars().next().filter(|sign| ['-', '–', '—', '+', '…'].contains(sign))
    else {
        return length;
    };
    match atom(&behind[sign.len_utf8()..]) {
        0 => length,
        more => length + sign.len_utf8() + more,
    }
}

/// A sign after the title, optionally with a status: `✅`, `🚧 IN PROGRESS`.
fn trailing_sign(text: &str) -> Option<(usize, Option<Mark>)> {
    let (at, mark) = status::last_sign(text)?;
    let length = status::leading_sign(&text[at..]).map_or(0, |(length, _)| length);
    let remark = text[at + length..].trim_matches([' ', '\t', ')', ']', '*', '(']);
    let is_status =
        status::leading_word(remark).is_some() || !remark.contains(char::is_lowercase) && remark.is_ascii();
    let kept = text[..at].trim_end_matches([' ', '\t', '-', '–', '—', '|', '(', '[', ':']).len();
    (kept > 0 && is_status).then_some((kept, mark))
}

/// A set-off word after the title: `(done)`, `[done]`, `— done`, or a box.
fn trailing_word(text: &str) -> Option<(usize, Option<Mark>)> {
    FRAMES.iter().find_map(|&(open, close)| {
        let at = text.strip_suffix(close)?.rfind(open)?;
        let inner = text[at + open.len()..text.len() - close.len()].trim();
        let kept = text[..at].trim_end().len();
        let claim = if open == "[" { status::leading_box(&text[at..]) } else { None };
        let is_word = MARKING.iter().any(|word| inner.eq_ignore_ascii_case(word));
        let word = status::leading_word(inner).filter(|_| is_word);
        let (_, mark) = claim.or(word)?;
        (kept > 0).then_some((kept, mark))
    })
}
