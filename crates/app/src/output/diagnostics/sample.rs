//! The file and the diagnostics that the tests of all formats show.

use planwright_engine::api::{CheckedFile, Diagnostic, Edit, Label, Severity, Source, Span};
use serde_json::Value;

use super::RuleDoc;

pub(super) const RULES: &[RuleDoc<'static>] = &[
    RuleDoc { code: "PW0203", name: "unmade-file", summary: "a step reads a file that nothing makes" },
    RuleDoc { code: "PW0307", name: "green-contract", summary: "a contract passes before any work" },
];

const TEXT: &str = "---
type: plan
---
# Größe ✅

### 1. fix
**target:** shell
**reads:**
- file:docs/✅-größe.md

```bash
true
```

### 2. document
```bash
test -s docs/✅-größe.md
```
";

/// A source and its diagnostics.
pub(super) struct Sample {
    pub(super) source: Source,
    pub(super) diagnostics: Vec<Diagnostic>,
}

impl Sample {
    /// The sample with these line endings.
    pub(super) fn new(line_ending: &str) -> Self {
        let source = Source::new("plans/größe 1.md", TEXT.replace('\n', line_ending));
        let text = source.text();
        let find = |needle: &str| {
            let start = text.find(needle).expect("the sample holds it");
            Span::new(start, start + needle.len())
        };
        let read = find("docs/✅-größe.md");
        let made = text.rfind("docs/").expect("the sample holds it");
        let made = Span::new(made, made + read.len());
        let after_target = source.next_line(find("**target:**").start);
        let unmade = complaint("PW0203", "unmade-file", Severity::Error, read)
            .label("file not found")
            .also(made, "step 2 `document` seems to create it")
            .fix(
                "make step 1 need step 2",
                vec![Edit::insert(after_target, format!("**needs:** document{line_ending}"))],
            );
        let green = complaint("PW0307", "green-contract", Severity::Warning, find("true"))
            .note("run on main@4f1c8aa, exit 0 in 0.01 s")
            .help("add a check that fails until the work is done");
        let unmade =
            Diagnostic { message: "step 1 `fix` reads a file that no earlier step creates".into(), ..unmade };
        let green =
            Diagnostic { message: "the contract of step 1 `fix` passes before any work".into(), ..green };
        Self { source, diagnostics: vec![unmade, green] }
    }

    pub(super) fn checked(&self) -> CheckedFile<'_> {
        CheckedFile { source: &self.source, diagnostics: &self.diagnostics }
    }
}

/// A diagnostic about `span` that says "message".
pub(super) fn complaint(
    code: &'static str,
    rule: &'static str,
    severity: Severity,
    span: Span,
) -> Diagnostic {
    Diagnostic {
        code,
        rule,
        severity,
        message: "message".into(),
        primary: Label { span, text: String::new() },
        secondary: Vec::new(),
        notes: Vec::new(),
        help: None,
        fix: None,
    }
}

/// Returns JSON with every object and array that fits on one line put there, which is easier to read than either usual layout.
pub(super) fn folded(value: &Value, indent: usize) -> String {
    let whole = value.to_string();
    let pad = " ".repeat(indent + 2);
    let (open, close, parts): (_, _, Vec<String>) = match value {
        _ if whole.len() + indent <= 110 => return whole,
        Value::Array(items) => ('[', ']', items.iter().map(|item| folded(item, indent + 2)).collect()),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, field)| format!("\"{key}\":{}", folded(field, indent + 2)));
            ('{', '}', fields.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return whole,
    };
    format!("{open}\n{pad}{}\n{}{close}", parts.join(&format!(",\n{pad}")), " ".repeat(indent))
}
