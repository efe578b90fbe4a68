//! Plans that the tests write: sound ones of any size, and one whose author means harm.

use std::fmt::Write as _;

/// A plan without a fault, with steps `s1`, `s2` and so on.
pub(crate) fn sound(title: &str, steps: usize) -> String {
    let mut text = format!(
        "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# {title}\n\n**Context:** Because.\n\
         **Budget:** max 900M tokens, $90000, 900000 minutes\n\n## Steps\n"
    );
    for step in 1..=steps {
        write!(
            text,
            "\n### {step}. Write part {step}\n\n**id:** s{step}\n**target:** shell\n\n**task:**\nWrite part {step}.\n\n\
             **contract:**\n```shell\ntest -s part-{step}.txt\n```\nexit_code == 0\n**on_fail:** escalate\n"
        )
        .expect("writing to a string cannot fail");
    }
    text
}

/// A name of a file that clears the screen, rings the bell and turns the text around.
pub(crate) const HOSTILE_NAME: &str = "e\u{1b}[2Jv\u{7}i\u{202e}l.md";

/// A plan that does the same in every field.
pub(crate) fn hostile() -> String {
    let evil = "x\u{1b}[2Jy\u{7}\u{202e}z\u{9b}31m";
    format!(
        "---\ntype: plan\nstatus: draft\nowner: {evil}\n{evil}: 1\n---\n\n# {evil}\n\n**Context:** {evil}\n\
         **Budget:** {evil}\n**Priority:** {evil}\n**{evil}:** 1\n\n## Steps\n\n### 1. {evil} \u{2705}\n\n**id:** {evil}\n\
         **target:** {evil}\n**reads:**\n- file:{evil}\n- topic:{evil}\n- {evil}\n**needs:** {evil}\n**touches:**\n\
         - {evil}/**\n**tools:** {evil}\n**env:** A={evil}\n**network:** {evil}\n**timeout:** {evil}\n\
         **accept:**\n- {evil}\n**{evil}:** 2\n\n**task:**\n{evil}\n\n**contract:**\n```shell\n{evil} | (\n```\n\
         exit_code == {evil}\n**on_fail:** {evil}\n\n### 2. {evil}\n\n## Notes\n\n- {evil}\n"
    )
}

/// A step that can be carried out: its id, more fields (a line each), its script and its contract.
pub(crate) type Sketch<'a> = (&'a str, &'a str, &'a str, &'a str);

/// A plan of such steps. The target is `shell` and a failure is escalated, where the fields don't say otherwise.
pub(crate) fn runnable(steps: &[Sketch<'_>]) -> String {
    let mut text =
        "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Carry it out\n\n**Context:** Because.\n\
         **Budget:** $1, 900 minutes\n\n## Steps\n"
            .to_owned();
    for (index, (id, fields, script, contract)) in steps.iter().enumerate() {
        let field = |name: &str, usual: &str| {
            let is_said = fields.contains(&format!("**{name}:**"));
            if is_said { String::new() } else { format!("**{name}:** {usual}\n") }
        };
        let contract = match *contract {
            "manual" => "**contract:** manual\n".to_owned(),
            command => format!("**contract:**\n```shell\n{command}\n```\nexit_code == 0\n"),
        };
        let (target, on_fail) = (field("target", "shell"), field("on_fail", "escalate"));
        let fields = if fields.is_empty() { String::new() } else { format!("{fields}\n") };
        write!(
            text,
            "\n### {}. Do {id}\n\n**id:** {id}\n{target}{on_fail}{fields}\n**task:**\n```sh\n{script}\n```\n\n{contract}",
            index + 1
        )
        .expect("writing to a string cannot fail");
    }
    text
}
