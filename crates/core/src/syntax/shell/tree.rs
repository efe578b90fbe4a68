//! The commands of a script as a tree with byte spans. The only module that uses the parser crate, whose spans count
//! characters and whose words hide some of what they run; never judges what it parses.

use rable::{ListItem, ListOperator, Node, NodeKind};

use super::word::{Hazard, Text, Unquoter, Word};
use super::{ShellFault, limits};
use crate::syntax::source::Span;

/// The nesting limit for scripts in scripts, such as `bash -c` or substitutions.
const DEPTH_MAX: usize = 10;

/// One command, simple or compound.
#[derive(Debug, Clone)]
pub(super) struct ShellCommand {
    pub(super) kind: CommandKind,
    pub(super) span: Span,
    pub(super) redirects: Vec<Redirect>,
    /// The nesting depth.
    pub(super) depth: usize,
}

/// The forms of a command.
#[derive(Debug, Clone)]
pub(super) enum CommandKind {
    /// `a=1 b c`
    Simple { assignments: Vec<Word>, words: Vec<Word> },
    /// `a | b`
    Pipeline(Vec<ShellCommand>),
    /// `a; b`, also over several lines
    Sequence(Vec<ShellCommand>),
    /// `a &`
    Background(Box<ShellCommand>),
    /// `a && b || c`
    Chain { first: Box<ShellCommand>, rest: Vec<(ListLink, ShellCommand)> },
    /// `! a`
    Not(Box<ShellCommand>),
    /// `if a; then b; else c; fi`
    If { condition: Box<ShellCommand>, then: Box<ShellCommand>, otherwise: Option<Box<ShellCommand>> },
    /// `while a; do b; done`
    While { condition: Box<ShellCommand>, body: Box<ShellCommand> },
    /// `until a; do b; done`
    Until { condition: Box<ShellCommand>, body: Box<ShellCommand> },
    /// `for a in b; do c; done`; the words of `for ((;;))` represent its expressions
    For { words: Vec<Word>, body: Box<ShellCommand>, is_arithmetic: bool },
    /// `select a in b; do c; done`
    Select { words: Vec<Word>, body: Box<ShellCommand> },
    /// `case a in b) c;; esac`
    Case { words: Vec<Word>, arms: Vec<ShellCommand> },
    /// `a() { b; }`
    Function { name: String, body: Box<ShellCommand> },
    /// `( a )`
    Subshell(Box<ShellCommand>),
    /// `{ a; }`, and `time a`
    Group(Box<ShellCommand>),
    /// `coproc a`
    Coprocess(Box<ShellCommand>),
    /// `[[ a ]]`
    Condition(Condition),
    /// `(( a ))`
    Arithmetic(Word),
    /// No command at all
    Nothing,
}

/// How a command is joined to the previous one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListLink {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// The inside of `[[ ]]`.
#[derive(Debug, Clone)]
pub(super) enum Condition {
    /// `-f a`
    Unary {
        operator: String,
        operand: Word,
    },
    /// `a -nt b`
    Binary {
        operator: String,
        left: Word,
        right: Word,
    },
    /// `a && b`
    And(Box<Condition>, Box<Condition>),
    /// `a || b`
    Or(Box<Condition>, Box<Condition>),
    /// `! a`
    Not(Box<Condition>),
    Opaque,
}

#[derive(Debug, Clone)]
pub(super) struct Redirect {
    pub(super) way: Way,
    pub(super) target: Word,
}

/// Where a redirection leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// Out of a file.
    From,
    Into,
    /// From text in the script, or to an open descriptor.
    Inner,
}

/// Reads a whole script.
pub(super) fn read(script: &str) -> Result<ShellCommand, ShellFault> {
    let nodes = parse(script)?;
    let offsets = script.char_indices().map(|(at, _)| at).chain(std::iter::once(script.len())).collect();
    let reader = Reader { text: script, place: Place::Script(offsets), depth: 0 };
    Ok(reader.sequence(&nodes, Span::new(0, script.len())))
}

/// The commands that a script consists of.
pub(super) fn statements(tree: &ShellCommand) -> &[ShellCommand] {
    if let CommandKind::Sequence(commands) = &tree.kind { commands } else { std::slice::from_ref(tree) }
}

/// Parses a script inside a word at `span`; empty if that fails.
pub(super) fn read_within(text: &str, span: Span, depth: usize) -> Option<ShellCommand> {
    if depth >= DEPTH_MAX {
        return None;
    }
    let nodes = parse(text).ok()?;
    Some(Reader { text, place: Place::Within(span), depth: depth + 1 }.sequence(&nodes, span))
}

fn parse(text: &str) -> Result<Vec<Node>, ShellFault> {
    limits::measure(text)?;
    // Bash starts without extended globs, but a script may turn them on.
    rable::parse(text, false).or_else(|error| rable::parse(text, true).map_err(|_| error)).map_err(|error| {
        let start = text.char_indices().nth(error.pos()).map_or(text.len(), |(at, _)| at);
        let end = text[start..].chars().next().map_or(start, |character| start + character.len_utf8());
        ShellFault { span: Span::new(start, end), message: error.message().to_owned() }
    })
}

#[derive(Debug, Clone)]
enum Place {
    /// The text is the script itself, with the byte offset of each character.
    Script(Vec<usize>),
    /// The text is inside a word, whose span is used for all of it.
    Within(Span),
}

struct Reader<'t> {
    text: &'t str,
    place: Place,
    depth: usize,
}

impl Reader<'_> {
    fn span(&self, span: &rable::Span) -> Span {
        match &self.place {
            Place::Script(offsets) => {
                let byte = |at: usize| offsets.get(at).copied().unwrap_or(self.text.len());
                Span::new(byte(span.start), byte(span.end).max(byte(span.start)))
            }
            Place::Within(span) => *span,
        }
    }

    /// The span of `raw` at the end of `whole`: the parser gives no spans to targets and operands.
    fn tail(&self, whole: &rable::Span, raw: &str) -> Span {
        let whole = self.span(whole);
        match (&self.place, whole.end.checked_sub(raw.len())) {
            (Place::Script(_), Some(start)) if self.text.get(start..whole.end) == Some(raw) => {
                Span::new(start, whole.end)
            }
            (Place::Script(_) | Place::Within(_), _) => whole,
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum is the parser's, and most variants are not commands"
    )]
    fn command(&self, node: &Node) -> ShellCommand {
        let boxed = |node: &Node| Box::new(self.command(node));
        let mut redirects: &[Node] = &[];
        let kind = match &node.kind {
            NodeKind::Command { assignments, words, redirects: own } => {
                redirects = own;
                let (assignments, words) = (self.words(assignments, node), self.words(words, node));
                CommandKind::Simple { assignments, words }
            }
            NodeKind::Pipeline { commands, .. } => {
                CommandKind::Pipeline(commands.iter().map(|command| self.command(command)).collect())
            }
            NodeKind::List { .. } => return self.sequence(std::slice::from_ref(node), self.span(&node.span)),
            NodeKind::Function { name, body } => {
                CommandKind::Function { name: name.clone(), body: boxed(body) }
            }
            NodeKind::Subshell { body, redirects: own } => {
                redirects = own;
                CommandKind::Subshell(boxed(body))
            }
            NodeKind::BraceGroup { body, redirects: own } => {
                redirects = own;
                CommandKind::Group(boxed(body))
            }
            NodeKind::Time { pipeline, .. } => CommandKind::Group(boxed(pipeline)),
            NodeKind::Negation { pipeline } => CommandKind::Not(boxed(pipeline)),
            NodeKind::Coproc { command, .. } => CommandKind::Coprocess(boxed(command)),
            NodeKind::ConditionalExpr { body, redirects: own } => {
                redirects = own;
                CommandKind::Condition(self.condition(body))
            }
            NodeKind::ArithmeticCommand { raw_content, redirects: own, .. } => {
                redirects = own;
                CommandKind::Arithmetic(self.expanded(raw_content, self.span(&node.span)))
            }
            _ => match self.compound(node) {
                Some((kind, own)) => {
                    redirects = own;
                    kind
                }
                None => CommandKind::Nothing,
            },
        };
        let redirects = redirects.iter().filter_map(|redirect| self.redirect(redirect)).collect();
        ShellCommand { kind, span: self.span(&node.span), redirects, depth: self.depth }
    }

    /// A choice or a loop, and its redirections.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum is the parser's, and most variants are not commands"
    )]
    fn compound<'n>(&self, node: &'n Node) -> Option<(CommandKind, &'n [Node])> {
        let boxed = |node: &Node| Box::new(self.command(node));
        let compound = match &node.kind {
            NodeKind::If { condition, then_body, else_body, redirects } => {
                let otherwise = else_body.as_deref().map(boxed);
                (
                    CommandKind::If { condition: boxed(condition), then: boxed(then_body), otherwise },
                    redirects,
                )
            }
            NodeKind::While { condition, body, redirects } => {
                (CommandKind::While { condition: boxed(condition), body: boxed(body) }, redirects)
            }
            NodeKind::Until { condition, body, redirects } => {
                (CommandKind::Until { condition: boxed(condition), body: boxed(body) }, redirects)
            }
            NodeKind::For { words, body, redirects, .. } => {
                let words = self.words(words.as_deref().unwrap_or_default(), node);
                (CommandKind::For { words, body: boxed(body), is_arithmetic: false }, redirects)
            }
            NodeKind::ForArith { init, cond, incr, body, redirects } => {
                let words = [init, cond, incr].map(|text| self.expanded(text, self.span(&node.span))).into();
                (CommandKind::For { words, body: boxed(body), is_arithmetic: true }, redirects)
            }
            NodeKind::Select { words, body, redirects, .. } => {
                let words = self.words(words.as_deref().unwrap_or_default(), node);
                (CommandKind::Select { words, body: boxed(body) }, redirects)
            }
            NodeKind::Case { word, patterns, redirects } => {
                let mut words = vec![self.word(word, &node.span)];
                words.extend(patterns.iter().flat_map(|arm| self.words(&arm.patterns, node)));
                let arms = patterns.iter().map(|arm| match &arm.body {
                    Some(body) => self.command(body),
                    None => self.nothing(&node.span),
                });
                (CommandKind::Case { words, arms: arms.collect() }, redirects)
            }
            _ => return None,
        };
        Some((compound.0, compound.1))
    }

    fn nothing(&self, span: &rable::Span) -> ShellCommand {
        ShellCommand {
            kind: CommandKind::Nothing,
            span: self.span(span),
            redirects: Vec::new(),
            depth: self.depth,
        }
    }

    /// Reads the words of the command `of`, to which some words owe their span.
    fn words(&self, nodes: &[Node], of: &Node) -> Vec<Word> {
        nodes.iter().map(|node| self.word(node, &of.span)).collect()
    }

    /// Joins nodes, and lists among them, into one flat sequence.
    fn sequence(&self, nodes: &[Node], span: Span) -> ShellCommand {
        let mut commands = Vec::new();
        for node in nodes {
            self.flatten(node, &mut commands);
        }
        if commands.len() == 1
            && let Some(command) = commands.pop()
        {
            return command;
        }
        ShellCommand { kind: CommandKind::Sequence(commands), span, redirects: Vec::new(), depth: self.depth }
    }

    /// Lists nest to the left and can be thousands of levels deep, so the left spine is walked in a loop.
    fn flatten(&self, node: &Node, commands: &mut Vec<ShellCommand>) {
        let mut spine = vec![];
        let mut left = node;
        while let NodeKind::List { items } = &left.kind {
            match items.as_slice() {
                [] => return,
                [first, rest @ ..] => {
                    spine.push((first.operator, rest));
                    left = &first.command;
                }
            }
        }
        let mut current = vec![self.command(left)];
        for (operator, rest) in spine.into_iter().rev() {
            self.extend(&mut current, operator, rest);
        }
        commands.append(&mut current);
    }

    /// Joins the rest of a list to the commands on its left; `operator` applies to the last of them.
    fn extend(&self, current: &mut Vec<ShellCommand>, operator: Option<ListOperator>, rest: &[ListItem]) {
        let mut operator = operator;
        if operator == Some(ListOperator::Background) {
            self.send_back(current);
        }
        for item in rest {
            match operator {
                Some(ListOperator::And) => self.link(current, ListLink::And, &item.command),
                Some(ListOperator::Or) => self.link(current, ListLink::Or, &item.command),
                Some(ListOperator::Semi | ListOperator::Background) | None => {
                    self.flatten(&item.command, current);
                }
            }
            operator = item.operator;
            if operator == Some(ListOperator::Background) {
                self.send_back(current);
            }
        }
    }

    fn send_back(&self, current: &mut Vec<ShellCommand>) {
        let Some(last) = current.pop() else { return };
        // The parser keeps no span for the operator, but it is the next one in the text.
        let end = match &self.place {
            Place::Script(_) => {
                self.text[last.span.end..].find('&').map_or(last.span.end, |at| last.span.end + at + 1)
            }
            Place::Within(span) => span.end,
        };
        let span = Span::new(last.span.start, end);
        current.push(ShellCommand {
            kind: CommandKind::Background(Box::new(last)),
            span,
            redirects: Vec::new(),
            depth: self.depth,
        });
    }

    fn link(&self, current: &mut Vec<ShellCommand>, link: ListLink, node: &Node) {
        let Some(mut last) = current.pop() else { return };
        let next = self.command(node);
        let span = Span::new(last.span.start, next.span.end.max(last.span.end));
        if let CommandKind::Chain { rest, .. } = &mut last.kind {
            rest.push((link, next));
            last.span = span;
            current.push(last);
            return;
        }
        let kind = CommandKind::Chain { first: Box::new(last), rest: vec![(link, next)] };
        current.push(ShellCommand { kind, span, redirects: Vec::new(), depth: self.depth });
    }

    fn redirect(&self, node: &Node) -> Option<Redirect> {
        if let NodeKind::HereDoc { content, quoted, .. } = &node.kind {
            let text = if *quoted { "" } else { content.as_str() };
            return Some(Redirect { way: Way::Inner, target: self.expanded(text, self.span(&node.span)) });
        }
        let NodeKind::Redirect { op, target, .. } = &node.kind else { return None };
        let target = self.word(target, &node.span);
        let is_descriptor = target.raw.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let way = match op.as_str() {
            "<" | "<>" => Way::From,
            ">" | ">>" | ">|" | "&>" | "&>>" => Way::Into,
            ">&" if !is_descriptor => Way::Into,
            _ => Way::Inner,
        };
        Some(Redirect { way, target })
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum is the parser's, and most variants are not conditions"
    )]
    fn condition(&self, node: &Node) -> Condition {
        let boxed = |node: &Node| Box::new(self.condition(node));
        match &node.kind {
            NodeKind::UnaryTest { op, operand } => {
                Condition::Unary { operator: op.clone(), operand: self.word(operand, &node.span) }
            }
            NodeKind::BinaryTest { op, left, right } => {
                let whole = self.span(&node.span);
                let left = Word { span: whole, ..self.word(left, &node.span) };
                Condition::Binary { operator: op.clone(), left, right: self.word(right, &node.span) }
            }
            NodeKind::CondAnd { left, right } => Condition::And(boxed(left), boxed(right)),
            NodeKind::CondOr { left, right } => Condition::Or(boxed(left), boxed(right)),
            NodeKind::CondNot { operand } => Condition::Not(boxed(operand)),
            NodeKind::CondParen { inner } => self.condition(inner),
            _ => Condition::Opaque,
        }
    }

    /// Reads a word, or a term of `[[ ]]`, at the end of `around`.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum is the parser's, and most variants are not words"
    )]
    fn word(&self, node: &Node, around: &rable::Span) -> Word {
        let (value, parts) = match &node.kind {
            NodeKind::Word { value, parts, .. } => (value, parts.as_slice()),
            NodeKind::CondTerm { value, .. } => return self.term(value, self.tail(around, value)),
            _ => return Word::unknown(self.span(around)),
        };
        let span = if node.span.is_empty() { self.tail(around, value) } else { self.span(&node.span) };
        self.assemble(value, parts, span)
    }

    fn assemble(&self, value: &str, parts: &[Node], span: Span) -> Word {
        let mut word = Word { raw: value.to_owned(), ..Word::unknown(span) };
        let mut unquoter = Unquoter::new();
        for part in parts {
            self.part(part, &mut word, &mut unquoter);
        }
        let hides_commands =
            parts.iter().any(|part| matches!(part.kind, NodeKind::ArithmeticExpansion { .. }));
        if hides_commands && runs_something(&value.replace("$((", "((")) {
            // The parser drops the text of arithmetic that runs commands, so the whole word is parsed again.
            word.substitutions = self.expanded(value, span).substitutions;
        }
        word.text = unquoter.finish();
        word
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum is the parser's, and most variants are not parts of a word"
    )]
    fn part(&self, part: &Node, word: &mut Word, unquoter: &mut Unquoter) {
        match &part.kind {
            NodeKind::WordLiteral { value } => {
                unquoter.push_raw(value);
                // Below the second level of substitution, the parser leaves the rest as text.
                let inner =
                    ["$(", "<(", ">("].iter().find_map(|open| value.strip_prefix(open)?.strip_suffix(')'));
                word.substitutions.extend(inner.and_then(|text| read_within(text, word.span, self.depth)));
            }
            NodeKind::AnsiCQuote { decoded, .. } => unquoter.push_decoded(decoded),
            NodeKind::CommandSubstitution { command, .. } | NodeKind::ProcessSubstitution { command, .. } => {
                unquoter.push_expansion();
                let reader = Reader { text: "", place: Place::Within(word.span), depth: self.depth };
                word.substitutions.push(reader.command(command));
            }
            NodeKind::ParamExpansion { param, op, arg } | NodeKind::ParamIndirect { param, op, arg } => {
                unquoter.push_expansion();
                if param.starts_with('@') || param.contains("[@]") {
                    unquoter.push_loose();
                }
                let op = op.as_deref().unwrap_or_default();
                if op.ends_with('?') {
                    word.hazards.push(Hazard::Expansion);
                } else if !matches!(op, "-" | ":-" | "+" | ":+" | "=" | ":=") && can_be_unset(param) {
                    word.hazards.push(Hazard::Variable(param.clone()));
                }
                for text in
                    [Some(param), arg.as_ref()].into_iter().flatten().filter(|text| runs_something(text))
                {
                    word.substitutions.append(&mut self.expanded(text, word.span).substitutions);
                }
            }
            NodeKind::ParamLength { param } => {
                unquoter.push_expansion();
                word.hazards.extend(can_be_unset(param).then(|| Hazard::Variable(param.clone())));
            }
            NodeKind::ArithmeticExpansion { .. } => {
                unquoter.push_expansion();
                word.hazards.push(Hazard::Expansion);
            }
            _ => unquoter.push_loose(),
        }
    }

    /// Reads a term of `[[ ]]`, which the parser keeps as text.
    fn term(&self, value: &str, span: Span) -> Word {
        let nodes = parse(&format!(": {value}")).unwrap_or_default();
        if let [Node { kind: NodeKind::Command { words, .. }, .. }] = nodes.as_slice()
            && let [_, Node { kind: NodeKind::Word { value, parts, .. }, .. }] = words.as_slice()
        {
            return self.assemble(value, parts, span);
        }
        Word { raw: value.to_owned(), ..Word::unknown(span) }
    }

    /// Reads text in which only expansions count, such as arithmetic or a here-document.
    fn expanded(&self, text: &str, span: Span) -> Word {
        let mut word = Word { raw: text.to_owned(), ..Word::unknown(span) };
        if !text.contains(['$', '`']) {
            word.text = Text::One;
            return word;
        }
        if self.depth < DEPTH_MAX
            && let Ok(nodes) = parse(&format!(": \"{}\"", without_quotes(text)))
            && let [Node { kind: NodeKind::Command { words, .. }, .. }] = nodes.as_slice()
            && let [_, Node { kind: NodeKind::Word { parts, .. }, .. }] = words.as_slice()
        {
            let reader = Reader { text: "", place: Place::Within(span), depth: self.depth + 1 };
            let mut unquoter = Unquoter::new();
            for part in parts {
                reader.part(part, &mut word, &mut unquoter);
            }
        }
        word
    }
}

impl Word {
    fn unknown(span: Span) -> Self {
        Self { span, text: Text::Loose, raw: String::new(), substitutions: Vec::new(), hazards: Vec::new() }
    }
}

fn runs_something(text: &str) -> bool {
    text.contains("$(") || text.contains('`')
}

fn can_be_unset(parameter: &str) -> bool {
    parameter.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_') && parameter != "0"
}

/// The text with the double quotes outside of its substitutions removed, and its arithmetic laid open.
fn without_quotes(text: &str) -> String {
    let mut depth = 0_usize;
    let mut is_escaped = false;
    let mut result = String::with_capacity(text.len());
    for character in text.replace("$((", "((").chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '"' if depth == 0 && !is_escaped => continue,
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
        result.push(character);
    }
    if is_escaped {
        result.pop();
    }
    result
}
