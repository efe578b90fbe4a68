//! What `planwright help` prints: the first screen, all commands by group, topics, and the examples of every command. A
//! command that is in none of these lists fails a test.

use std::fmt::Write as _;

/// The first screen, as `planwright`, `-h` and `--help` print it.
pub(crate) const SCREEN: &str = include_str!("help/screen.txt");

/// Help pages that group their options, which clap can't.
const PAGES: &[(&str, &str)] =
    &[("run", include_str!("help/run.txt")), ("review", include_str!("help/review.txt"))];

/// Commands for people, by group, as `help --all` lists them.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    (
        "Everyday",
        &[
            "verify", "review", "approve", "reject", "run", "status", "answer", "log", "stop", "cancel",
            "merge", "audit",
        ],
    ),
    (
        "Plans",
        &[
            "new", "draft", "import", "propose", "list", "show", "edit", "undo", "revise", "comment",
            "discover", "shelve", "unshelve", "fmt", "convert", "export", "archive", "delete",
        ],
    ),
    ("Runs", &["quick", "rollback"]),
    ("Trust", &["policy", "stats", "explain"]),
    ("Agents", &["tools", "arbiter"]),
    ("Setup", &["demo", "init", "use", "worktree", "config", "doctor"]),
    ("Shell", &["completions", "help"]),
];

/// Hidden commands for agents and their scripts, as `help agents` lists them.
pub(crate) const FOR_AGENTS: &[&str] = &[
    "mcp",
    "hook",
    "session",
    "prompt",
    "should-plan",
    "worker",
    "list-plans",
    "resolve-active-plan",
    "queue-status",
];

/// Hidden commands for other tools, and names that are kept for scripts.
#[cfg(test)]
const FOR_TOOLS: &[&str] = &["merge-driver", "acp", "schema", "man", "queue", "simulate"];

/// Topics of `help`, with what they are about.
pub(crate) const TOPICS: &[(&str, &str)] = &[
    ("topics", "List help topics"),
    ("options", "Options of every command"),
    ("agents", "Commands for agents and scripts"),
    ("exit-codes", "Exit codes and what they mean"),
];

/// What follows the options of a command: exit codes where they matter, and examples.
const EXAMPLES: &[(&str, &str)] = &[
    (
        "verify",
        "Exit: 0 no errors, 1 errors (help exit-codes)
Examples:
  planwright verify                     Check the plan in use, or all plans
  planwright verify login --red         Run contracts before the work
  planwright verify --deny warnings     In CI: warnings fail, too",
    ),
    (
        "approve",
        "Exit: 0 approved, 3 needs a person, 4 the plan changed (help exit-codes)
Examples:
  planwright approve login --rev 73cdf916          Approve this digest
  planwright approve login --rev 73cdf916 --run    Approve, then run",
    ),
    (
        "reject",
        "Examples:
  planwright reject login -m \"Test the timeout, too\"    Tell the planner why",
    ),
    (
        "status",
        "Exit: 0 always; with --next, 3 if something needs you
Examples:
  planwright status                What needs you, runs, what is next
  planwright status --inbox        Questions with their answers
  planwright status --queue        What can start and what blocks it
  planwright status --since 24h    A summary for a standup",
    ),
    (
        "answer",
        "Exit: 0 answered, 3 no answer passed (lists the choices)
Examples:
  planwright answer login/2 --retry --hint \"see the log\"    Try again
  planwright answer login/2 --take-over                     You fixed it
  planwright answer login/2 --skip -m \"not needed\"          Skip it",
    ),
    (
        "log",
        "Examples:
  planwright log login                   Events of the newest run
  planwright log login/2@1 --contract    Output of a contract
  planwright log login --versions        Versions, runs and merges
  planwright log --all -f                Follow all plans",
    ),
    (
        "stop",
        "Examples:
  planwright stop login          Finish running attempts, then pause
  planwright stop login --now    End them; they do not count",
    ),
    (
        "cancel",
        "Examples:
  planwright cancel login -m \"no longer needed\"    End it for good",
    ),
    (
        "merge",
        "Exit: 0 merged, 1 a plan was evicted (help exit-codes)
Examples:
  planwright merge login       Merge one plan; contracts run again
  planwright merge --dry-run   Show order and conflicts",
    ),
    (
        "audit",
        "Exit: 0 the record holds, 1 it does not (help exit-codes)
Examples:
  planwright audit                  Verify the record of all plans
  planwright audit login --rerun    Run its contracts again",
    ),
    (
        "new",
        "Examples:
  planwright new login --title \"Fix the login\"    An empty plan to fill in
  planwright new login-2 --from login             A copy of a plan
  planwright new --templates                      List templates",
    ),
    (
        "draft",
        "Examples:
  planwright draft \"Fix the login timeout\"    Ask the planner
  planwright draft --from-issue issue.md      Start from an issue",
    ),
    (
        "import",
        "Examples:
  planwright import TODO.md --name cleanup    From a task list
  planwright import .tasks --from taskmaster  From another tool",
    ),
    (
        "propose",
        "Examples:
  planwright propose login                     Ask for approval
  planwright propose - --name login <plan.md   From standard input",
    ),
    (
        "list",
        "Examples:
  planwright list                   All plans
  planwright list --status draft    By status
  planwright list --shelved         Shelved plans",
    ),
    (
        "show",
        "Examples:
  planwright show login                  The plan
  planwright show login/2                One step
  planwright show login --graph          The dependency graph
  planwright show login/2 --work-item    A queued attempt",
    ),
    (
        "edit",
        "Examples:
  planwright edit login --rename 2=greeter    Change a step id
  planwright edit login --need 3=greeter      Add a dependency
  planwright edit login --set owner=ada       Set a frontmatter key",
    ),
    (
        "undo",
        "Examples:
  planwright undo login             Undo your last decision about a plan
  planwright undo plans/login.md    Restore a deleted plan",
    ),
    (
        "demo",
        "Examples:
  planwright demo && cd hello-planwright    Create it and look around",
    ),
    (
        "init",
        "Examples:
  planwright init                    Create settings and a plan directory
  planwright init --agents claude    Connect an agent as well",
    ),
    (
        "use",
        "Examples:
  planwright use            Show the plan of this worktree
  planwright use login      Use .harness/PLAN-login.md
  planwright use --clear    Use no named plan",
    ),
    (
        "worktree",
        "Examples:
  planwright worktree add login               Create a worktree for a plan
  cd \"$(planwright worktree path login)\"      Enter it
  planwright worktree prune                   Remove unused worktrees",
    ),
    (
        "config",
        "Examples:
  planwright config                         All settings and their origin
  planwright config set run.jobs 4          Change a project setting
  planwright config set roles.coder claude --user",
    ),
    (
        "doctor",
        "Exit: 0 no problems, 1 problems found
Examples:
  planwright doctor          Find problems
  planwright doctor --fix    Fix what is safe",
    ),
    (
        "help",
        "Examples:
  planwright help run           One command
  planwright help --all         All commands by group
  planwright help exit-codes    A topic",
    ),
    (
        "quick",
        "Exit: as in run (help exit-codes)
Examples:
  planwright quick \"Fix the typo\" --contract \"sh test.sh\"    One task",
    ),
    (
        "rollback",
        "Examples:
  planwright rollback login 2    Restore files to before step 2",
    ),
    (
        "revise",
        "Examples:
  planwright revise login -m \"new scope\"      Back to draft
  planwright revise login/2 --planner         Replan after a failure
  planwright revise login --copy              Write the version yourself",
    ),
    (
        "comment",
        "Examples:
  planwright comment login                          List comments
  planwright comment login/2 -m \"why sleep?\"        Comment on a step
  planwright comment login --answer 1 -m \"fixed\"    Answer comment 1",
    ),
    (
        "discover",
        "Examples:
  planwright discover \"Update the docs\" --plan login --step 2
  planwright discover login --list
  planwright discover login --add 1",
    ),
    (
        "shelve",
        "Examples:
  planwright shelve login    Move it to queued-plans/",
    ),
    (
        "unshelve",
        "Examples:
  planwright list --shelved    List shelved plans
  planwright unshelve login    Move one back",
    ),
    (
        "fmt",
        "Exit: 0 formatted, 1 not formatted (with --check)
Examples:
  planwright fmt            Format all plans
  planwright fmt --check    In CI",
    ),
    (
        "convert",
        "Examples:
  planwright convert login --to record              A new plan file
  planwright convert login --to named --output -    Print it",
    ),
    (
        "export",
        "Examples:
  planwright export login --to html -o login.html    A report
  planwright export --receipts                       The record",
    ),
    (
        "archive",
        "Examples:
  planwright archive login               One finished plan
  planwright archive --older-than 30d    All old ones",
    ),
    (
        "delete",
        "Examples:
  planwright delete login                    Asks for the name again
  planwright delete login --confirm login    Without a terminal
  planwright undo plans/login.md             Restore it",
    ),
    (
        "policy",
        "Examples:
  planwright policy                        Who may approve here
  planwright policy check policy.toml      Check a file
  planwright policy install policy.toml    Use it in this repository",
    ),
    (
        "stats",
        "Examples:
  planwright stats --since 7d    The last week
  planwright stats --cost        Costs and a forecast",
    ),
    (
        "explain",
        "Examples:
  planwright explain           List all rules
  planwright explain PW0203    Explain one",
    ),
    (
        "tools",
        "Examples:
  planwright tools              Tools that plans can use
  planwright tools --refused    Refused calls",
    ),
    (
        "arbiter",
        "Examples:
  planwright arbiter login    Next agent and action, with the reason",
    ),
    (
        "completions",
        "Examples:
  planwright completions bash >>~/.bash_completion",
    ),
];

/// Adds the screen, the pages and the examples to the grammar.
pub(super) fn dress(grammar: clap::Command) -> clap::Command {
    let grammar = grammar.override_help(headed(SCREEN));
    let grammar = PAGES.iter().fold(grammar, |grammar, (name, page)| {
        grammar.mut_subcommand(*name, |command| command.override_help(headed(page)))
    });
    EXAMPLES.iter().fold(grammar, |grammar, (name, text)| {
        grammar.mut_subcommand(*name, |command| command.after_help(headed(text)))
    })
}

/// The text with bold headings, where colors are shown.
fn headed(text: &str) -> String {
    let bold = anstyle::Style::new().bold();
    let mut headed = String::with_capacity(text.len());
    for line in text.trim_end().lines() {
        let heading =
            line.split_once(':').filter(|(word, _)| !word.contains(' ')).map(|(word, _)| word.len() + 1);
        match heading {
            Some(end) => {
                let (word, rest) = line.split_at(end);
                // Writing to a string can't fail.
                let _ = writeln!(headed, "{bold}{word}{bold:#}{rest}");
            }
            None => {
                headed.push_str(line);
                headed.push('\n');
            }
        }
    }
    headed
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn commands() -> Vec<clap::Command> {
        let mut grammar = crate::cli::grammar();
        // Global options reach the subcommands only once the whole is built.
        grammar.build();
        grammar.get_subcommands().cloned().collect()
    }

    #[test]
    fn every_command_is_in_help_or_hidden() {
        let shown: BTreeSet<&str> = GROUPS.iter().flat_map(|(_, names)| *names).copied().collect();
        let hidden: BTreeSet<&str> = FOR_AGENTS.iter().chain(FOR_TOOLS).copied().collect();
        for command in commands() {
            let name = command.get_name();
            assert_eq!(shown.contains(name), !command.is_hide_set(), "{name} and `help --all`");
            assert_eq!(hidden.contains(name), command.is_hide_set(), "{name} and the hidden lists");
        }
        assert_eq!(shown.len() + hidden.len(), commands().len(), "a list names a command that is gone");
    }

    #[test]
    fn the_screen_names_commands_that_exist_and_fits_80_columns() {
        let names: BTreeSet<String> =
            commands().iter().map(|command| command.get_name().to_owned()).collect();
        let mut on_screen = BTreeSet::new();
        for line in SCREEN.lines() {
            assert!(line.chars().count() <= 80, "{line}");
            let Some((words, summary)) = line.strip_prefix("  ").and_then(|line| line.split_once("  "))
            else {
                continue;
            };
            for word in words.split(", ").filter(|word| !word.is_empty() && !word.starts_with('-')) {
                assert!(names.contains(word), "{word}: {summary}");
                on_screen.insert(word);
            }
        }
        assert_eq!(on_screen.len(), 26, "{on_screen:?}");
    }

    #[test]
    fn summaries_are_short_and_every_visible_command_has_examples() {
        for command in commands() {
            let (name, about) = (command.get_name(), command.get_about().map(ToString::to_string));
            let about = about.unwrap_or_default();
            assert!(about.chars().count() <= 60 && !about.ends_with('.'), "{name}: {about}");
            assert!(!about.is_empty() && !about.contains(';'), "{name}: {about}");
            if command.is_hide_set() {
                continue;
            }
            let help = command.clone().render_long_help().to_string();
            let examples = help.split("Examples:\n").nth(1).unwrap_or_else(|| panic!("{name}\n{help}"));
            assert!(examples.contains(&format!("planwright {name}")), "{name}: {examples}");
        }
    }

    #[test]
    fn a_page_that_is_written_by_hand_names_every_option() {
        for (name, page) in PAGES {
            let command =
                commands().into_iter().find(|command| command.get_name() == *name).expect("a command");
            for option in command.get_arguments().filter(|option| !option.is_hide_set()) {
                let is_global = option.is_global_set() || option.get_id() == "help";
                if let Some(long) = option.get_long().filter(|_| !is_global) {
                    assert!(page.contains(&format!("--{long}")), "{name} --{long}");
                }
            }
        }
    }
}
