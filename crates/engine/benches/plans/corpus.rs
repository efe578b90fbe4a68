//! Plans such as people and models write them, made by number: the same number is the same plan.

use std::fmt::Write as _;
use std::path::PathBuf;

const VERBS: [&str; 7] = ["Extract", "Rewrite", "Measure", "Document", "Harden", "Migrate", "Review"];
const THINGS: [&str; 11] = [
    "session store",
    "login form",
    "retry loop",
    "audit log",
    "token cache",
    "upload path",
    "search index",
    "error page",
    "rate limiter",
    "mail queue",
    "export job",
];
const REASONS: [&str; 5] = [
    "Users are logged out after two minutes although the setting says thirty.",
    "The nightly run takes four hours and nobody knows which part of it.",
    "Two copies of the same rule drifted apart; support answers both ways.",
    "The upstream library drops the old call with its next release.",
    "An audit asked who may change this and we could not say.",
];

/// A plan of about 4 KB.
pub(crate) fn plan(number: usize) -> String {
    plan_of(number, 5 + number % 3)
}

/// A plan with this many steps.
pub(crate) fn plan_of(number: usize, steps: usize) -> String {
    let thing = THINGS[number % THINGS.len()];
    let reason = REASONS[number % REASONS.len()];
    let mut text = format!(
        "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Plan: repair the {thing} ({number})\n\n**Context:** {reason} The \
         numbers of last week are in `docs/report-{number}.md`.\n**Budget:** max {} tokens, ${}.50, {} minutes wall clock\n\
         **Priority:** {}\n\n---\n\n",
        200_000 + steps * 10_000,
        10 + steps,
        60 + 10 * steps,
        ["high", "normal", "low"][number % 3],
    );
    for place in 1..=steps {
        step(&mut text, number, place);
    }
    text.push_str("## Notes\n\n- drafted after the review of last Monday\n");
    text
}

fn step(text: &mut String, number: usize, place: usize) {
    let seed = number + place;
    let (verb, thing) = (VERBS[seed % VERBS.len()], THINGS[(seed * 3) % THINGS.len()]);
    let (module, before) = (format!("src/part_{place}"), place - 1);
    let mark = if place == 1 && number.is_multiple_of(4) { "✅ " } else { "" };
    // Writing to a string can't fail.
    let _ = write!(
        text,
        "### {place}. {mark}{verb} the {thing}\n\n**id:** step-{place}\n**target:** {}\n",
        ["coder", "reviewer", "claude"][seed % 3]
    );
    match place % 4 {
        1 => {}
        2 => text.push_str("**subscriptions:**\n- topic:conventions\n"),
        3 => drop(write!(
            text,
            "**needs:** step-{before}\n**touches:** {module}/**, tests/part_{place}_*.py\n"
        )),
        _ => drop(write!(
            text,
            "**reads:**\n- file:{module_before}/report.md\n",
            module_before = format_args!("src/part_{before}")
        )),
    }
    let _ = write!(
        text,
        "**task:**\nRead `docs/report-{number}.md` and {} the {thing} in `{module}/main.py`. Keep the *public* names; \
         nothing outside of `{module}/` may change.\n\n- write what you found to `{module}/report.md`, one line for each case\n\
         - if a case can't be repaired, say **why**, and link the [ticket](https://example.org/t/{number}-{place})\n\n\
         Stop when the suite is green.\n\n",
        verb.to_lowercase(),
    );
    contract(text, seed, &module, place);
    let _ = write!(
        text,
        "**on_fail:** {}\n\n",
        ["retry(2), then escalate", "escalate", "retry(1), then abort"][seed % 3]
    );
}

fn contract(text: &mut String, seed: usize, module: &str, place: usize) {
    let command = match seed % 4 {
        0 => format!("test -s {module}/report.md"),
        1 => format!("python3 -m pytest tests/part_{place}_test.py -q && grep -q '^case' {module}/report.md"),
        2 => format!(
            "set -e\nfor file in {module}/*.py; do\n    python3 -m py_compile \"$file\"\ndone\n\
             [ \"$(grep -c TODO {module}/main.py)\" -eq 0 ]"
        ),
        _ => format!(
            "if git diff --quiet HEAD -- {module}; then\n    exit 1\nfi\nmake -C {module} check >/dev/null"
        ),
    };
    let _ = write!(text, "**contract:**\n```shell\n{command}\n```\nexit_code == 0\n\n");
}

/// A project with plans in it, which goes away with its owner.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// Writes every plan to a file, a hundred to a folder.
    #[expect(clippy::disallowed_methods, reason = "a corpus is laid out, no plan of anybody is changed")]
    pub(crate) fn with(texts: &[String]) -> Self {
        let root =
            std::env::temp_dir().join(format!("planwright-bench-{}-{}", std::process::id(), texts.len()));
        for (number, text) in texts.iter().enumerate() {
            let folder = root.join(format!("plans-{:03}", number / 100));
            std::fs::create_dir_all(&folder).expect("a folder can be made");
            std::fs::write(folder.join(format!("plan-{number:05}.md")), text).expect("a file can be written");
        }
        std::fs::create_dir_all(root.join("docs")).expect("a folder can be made");
        std::fs::write(root.join("planwright.toml"), "").expect("a file can be written");
        Self(root)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays behind lies in the folder for temporary files; nothing depends on its going.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
