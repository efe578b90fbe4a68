//! Settings from all sources: precedence, refusals, and what an approval of commands covers.

use std::path::PathBuf;

use super::*;

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

/// A directory of its own, with a file of the project and one of the user.
struct Desk {
    folder: PathBuf,
    sources: Sources,
}

impl Desk {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("planwright-config-{name}-{}", std::process::id()));
        std::fs::remove_dir_all(&folder).ok();
        std::fs::create_dir_all(&folder).expect("a scratch folder");
        let sources = Sources {
            project: Some(folder.join(FILE)),
            user: Some(folder.join("config.toml")),
            ..Sources::default()
        };
        Self { folder, sources }
    }

    #[expect(clippy::disallowed_methods, reason = "plays a person who writes settings")]
    fn write(&self, file: &str, text: &str) {
        std::fs::write(self.folder.join(file), text).expect("written");
    }

    fn jobs(&self) -> (u64, Origin) {
        let settings = Settings::read(&self.sources).expect("settings");
        let entry = settings.entry(&strings(&["run", "jobs"])).expect("a setting");
        let Some(SettingValue::Number(jobs)) = entry.value else { panic!("{entry:?}") };
        assert_eq!(settings.config().run.jobs as u64, jobs, "what is shown is what holds");
        (jobs, entry.origin)
    }

    fn faults(&self) -> Vec<String> {
        let error = Settings::read(&self.sources).expect_err("a fault");
        error.faults().iter().map(ToString::to_string).collect()
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // What stays is a scratch directory.
        std::fs::remove_dir_all(&self.folder).ok();
    }
}

#[test]
fn each_source_beats_the_next() {
    let mut desk = Desk::new("precedence");
    assert_eq!(desk.jobs(), (1, Origin::Default));
    desk.write("config.toml", "[run]\njobs = 2\n");
    assert_eq!(desk.jobs(), (2, Origin::User));
    desk.write(FILE, "run.jobs = 3\n");
    assert_eq!(desk.jobs(), (3, Origin::Project));
    desk.sources.environment = vec![("PLANWRIGHT_RUN_JOBS".to_owned(), "4".to_owned())];
    assert_eq!(desk.jobs(), (4, Origin::Environment));
    desk.sources.flags = strings(&["run.jobs=5"]);
    assert_eq!(desk.jobs(), (5, Origin::Flag));
    // The other way round: what is taken away gives way to the next.
    desk.sources.flags.clear();
    desk.sources.environment[0].1.clear();
    assert_eq!(desk.jobs(), (3, Origin::Project));
}

#[test]
fn roles_and_agents_of_user_and_project_are_joined_and_the_project_wins() {
    let desk = Desk::new("joined");
    desk.write("config.toml", "[roles]\ncoder = 'a'\nreviewer = 'b'\n[agents.a]\ncommand = ['mine']\n");
    desk.write(
        FILE,
        "[roles]\ncoder = 'c'\n[agents.c]\ncommand = ['ours', '-x']\n[agents.a]\ncommand = ['ours']\n",
    );
    let config = Settings::read(&desk.sources).expect("settings").config();
    assert_eq!((config.agent_of("coder"), config.agent_of("reviewer")), ("c", "b"));
    assert_eq!(config.agents["a"].command, ["ours"]);
    assert_eq!(config.agents["c"].command, ["ours", "-x"]);
}

#[test]
fn what_is_unknown_is_refused_with_its_line_and_what_was_meant() {
    let desk = Desk::new("unknown");
    let cases = [
        ("[run]\n\njbos = 2\n", "line 3: unknown setting `run.jbos`; did you mean `run.jobs`?"),
        ("jobs = 2\n", "line 1: unknown setting `jobs`; did you mean `run.jobs`?"),
        ("[rnu]\n", "line 1: unknown setting `rnu`; did you mean `run`?"),
        (
            "[agents.a]\ncomand = ['x']\n",
            "line 2: unknown setting `agents.a.comand`; did you mean `agents.a.command`?",
        ),
        ("[rolls]\ncoder = 'x'\n", "line 1: unknown setting `rolls`; did you mean `roles`?"),
        ("colour = true\n", "line 1: unknown setting `colour`"),
        ("[run]\nretries = 2\n", "line 2: unknown setting `run.retries`; did you mean `limits.retries`?"),
        ("[rols]\nx = 2\n", "line 1: unknown setting `rols`; did you mean `roles`?"),
        ("[run.jobs]\nx = 1\n", "line 1: `run.jobs` must be a whole number from 1 to 256, not `x = 1`"),
        ("run = 1\n", "line 1: `run` is a section, not a setting"),
    ];
    for (text, expected) in cases {
        desk.write(FILE, text);
        assert_eq!(desk.faults(), [expected], "{text:?}");
    }
    desk.write(FILE, "a = 1\nb = 2\n[run]\njobs = 0\n");
    assert_eq!(desk.faults().len(), 3, "all at once");
}

#[test]
fn a_value_of_another_type_or_out_of_its_bounds_is_refused() {
    let desk = Desk::new("types");
    let cases = [
        ("[run]\njobs = 0\n", "`run.jobs` must be a whole number from 1 to 256, not 0"),
        ("[run]\njobs = -1\n", "`run.jobs` must be a whole number from 1 to 256, not `-1`"),
        ("[run]\njobs = 1.5\n", "not `1.5`"),
        ("[run]\njobs = '2'\n", "not `2`"),
        ("[run]\nwarn_percent = 101\n", "from 1 to 100, not 101"),
        ("[roles]\ncoder = 1\n", "`roles.coder` must be a single-line string, not 1"),
        ("[roles]\ncoder = ''\n", "not nothing"),
        ("[agents.a]\ncommand = 'x'\n", "must be a list of words"),
        ("[agents.a]\ncommand = []\n", "must be a list of words"),
        ("[agents.a]\ncommand = ['x', 1]\n", "must be a list of words"),
        ("[agents.a]\ncommand = ['shell']\n", "must be a list of words"),
        ("[agents.shell]\ncommand = ['x']\n", "cannot set `agents.shell.command`: `shell` is built in"),
        ("[roles]\nhuman = 'x'\n", "cannot set `roles.human`"),
        ("[agents.a]\nlike = 'claud'\n", "`agents.a.like` must be a known agent (claude, codex, "),
        ("[agents.a]\nlike = 'claud'\n", "not `claud`; did you mean `claude`?"),
        ("[agents.a]\nlike = ['claude']\n", "must be a known agent"),
    ];
    for (text, expected) in cases {
        desk.write(FILE, text);
        let faults = desk.faults();
        assert!(faults.len() == 1 && faults[0].contains(expected), "{text:?}: {faults:?}");
    }
}

// Agents can write the file of the project: a hook in it would have their command run outside their attempt.
#[test]
fn hooks_are_taken_from_the_user_and_never_from_the_project() {
    let mut desk = Desk::new("hooks");
    let cases = [
        ("[hooks]\ndone = ['x']\n", "line 2: cannot set `hooks.done` for a project"),
        ("hooks.needs_you = ['x']\n", "line 1: cannot set `hooks.needs_you`"),
        ("[hooks.webhook]\nurl = 'https://x'\n", "line 2: cannot set `hooks.webhook.url`"),
        ("[hooks]\nwebhook = { secret_file = '/x' }\n", "cannot set `hooks.webhook.secret_file`"),
        ("[hooks]\nseconds = 2\n", "line 2: cannot set `hooks.seconds`"),
    ];
    let file = desk.folder.join("config.toml").display().to_string();
    for (text, expected) in cases {
        desk.write(FILE, text);
        let faults = desk.faults();
        assert!(faults.len() == 1 && faults[0].contains(expected) && faults[0].contains(&file), "{faults:?}");
        assert!(matches!(
            set(&desk.folder.join(FILE), "hooks.done", "['x']"),
            Err(ConfigEditError::Personal { .. })
        ));
        // The twin: the same text in the file of the user is taken.
        desk.write(FILE, "");
        desk.write("config.toml", text);
        let config = Settings::read(&desk.sources).expect("settings").config();
        assert_ne!(config.hooks, Config::default().hooks, "{text}");
        desk.write("config.toml", "");
    }
    desk.sources.flags = strings(&["hooks.failed=['x', 'y']"]);
    desk.sources.environment = vec![("PLANWRIGHT_HOOKS_WEBHOOK_URL".to_owned(), "https://x".to_owned())];
    let hooks = Settings::read(&desk.sources).expect("settings").config().hooks;
    assert_eq!(hooks.commands[&Trigger::Failed], ["x", "y"]);
    assert_eq!(hooks.webhook_url.as_deref(), Some("https://x"));
}

#[test]
fn the_environment_sets_single_values_and_a_slip_is_said() {
    let mut desk = Desk::new("environment");
    let mut set = |name: &str, value: &str| {
        desk.sources.environment = vec![(name.to_owned(), value.to_owned())];
        Settings::read(&desk.sources).map_err(|error| error.faults()[0].message.clone())
    };
    assert_eq!(set("PLANWRIGHT_LIMITS_PLAN_BYTES", "77").expect("set").config().limits.plan_bytes, 77);
    let slip = set("PLANWRIGHT_RUN_JOSB", "2").expect_err("a slip");
    assert!(slip.ends_with("did you mean `PLANWRIGHT_RUN_JOBS`?"), "{slip}");
    let wrong = set("PLANWRIGHT_RUN_JOBS", "many").expect_err("no number");
    assert!(wrong.starts_with("PLANWRIGHT_RUN_JOBS: `run.jobs` must be a whole number"), "{wrong}");
    set("PLANWRIGHT_TOPICS_COMMAND", "x").expect_err("a list is for a file");
    set("PLANWRIGHT_TAG", "x").expect("no setting of ours");
}

#[test]
fn the_defaults_are_those_of_the_parts_that_use_them() {
    let config = Config::default();
    assert_eq!(config.run_limits(), schedule::ScheduleLimits::default());
    assert_eq!(config.limits.retries, planwright_core::verify::VerifyLimits::default().retries_max);
    for setting in SETTINGS {
        if let (SettingKind::Number { default, min, max }, Some(SettingValue::Number(shown))) =
            (setting.kind, setting.default())
        {
            assert!((min..=max).contains(&default) && shown == default, "{}", setting.name);
        }
    }
}

fn plan(targets: &[&str]) -> Plan {
    let mut text = "---\ntype: plan\nstatus: draft\nowner: ada\n---\n\n# Plan\n".to_owned();
    for (place, target) in targets.iter().enumerate() {
        let number = place + 1;
        text.push_str(&format!(
            "\n### {number}. Step {number}\n\n**target:** {target}\n**reads:** topic:auth\n\n**task:**\nDo it.\n\n\
             **contract:**\n```shell\ntest -e {number}\n```\n"
        ));
    }
    crate::store::plan_count::trusted(&planwright_core::syntax::source::Source::new("plan", text))
        .expect("a sound plan")
}

fn config(flags: &[&str]) -> Config {
    Settings::read(&Sources { flags: strings(flags), ..Sources::default() }).expect("settings").config()
}

#[test]
fn a_changed_command_line_changes_what_was_approved() {
    let plan = plan(&["coder", "shell", "reviewer", "human", "tester"]);
    let base =
        ["roles.coder=claude", "agents.claude.command=[\"claude\", \"--print\"]", "roles.reviewer=human"];
    let agents = config(&base).agents_of(&plan);
    let expected = [("coder", &["claude", "--print"][..]), ("reviewer", &["human"]), ("tester", &[])];
    assert_eq!(
        agents,
        expected.iter().map(|(target, words)| ((*target).to_owned(), strings(words))).collect()
    );
    let commands = |more: &[&str]| config(&[&base, more].concat()).commands_of(&plan, Authority::Advisory);
    assert_eq!(
        commands(&["agents.other.command=[\"x\"]", "run.jobs=9"]),
        commands(&[]),
        "what the plan does not use"
    );
    let changes: [&[&str]; 5] = [
        &["agents.claude.command=[\"claude\", \"--print\", \"--evil\"]"],
        &["agents.claude.command=[\"claude --print\"]"],
        &["roles.reviewer=shell"],
        &["agents.tester.command=[\"x\"]"],
        &["topics.command=[\"x\"]"],
    ];
    for change in changes {
        assert_ne!(commands(change), commands(&[]), "{change:?}");
    }
}

#[test]
fn the_page_holds_every_setting_and_no_other() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/settings.md"));
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
    let expected: Vec<String> = SETTINGS
        .iter()
        .map(|setting| {
            let (kind, default) = match setting.kind {
                SettingKind::Number { default, min, max } => (format!("{min} to {max}"), default.to_string()),
                SettingKind::Text => ("a string".to_owned(), String::new()),
                SettingKind::Agent => ("a known agent".to_owned(), String::new()),
                SettingKind::Words => ("a list of words".to_owned(), String::new()),
                SettingKind::Choice { default, of } => (of.join(" or "), default.to_owned()),
                SettingKind::List => ("a list of strings".to_owned(), String::new()),
            };
            let variable = setting.variable().map(|name| format!("`{name}`")).unwrap_or_default();
            let row = [format!("`{}`", setting.name), kind, default, variable, setting.meaning.to_owned()];
            format!("| {} |", row.join(" | ")).replace("  |", " |")
        })
        .collect();
    assert_eq!(rows, expected, "\n{}\n", expected.join("\n"));
}
