//! The scope of attempts: what `hook` answers, what an attempt is held to, and what is flagged when it strays all the same.

use serde_json::{Value, json};

use crate::hook::USER;
use crate::sample::runnable;
use crate::test_env::{Place, Ran};

/// A scope in a file outside of the project.
fn with_scope(scope: &Value) -> Place {
    let place = Place::empty();
    let root = place.project().to_string_lossy().into_owned();
    let mut scope = scope.clone();
    scope["root"] = root.into();
    place.write("../home/scope.json", scope.to_string());
    place
}

/// Asks the hook about a call, in the shape of claude.
fn ask(place: &Place, tool: &str, input: &Value) -> Ran {
    let call = json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "cwd": place.project()});
    ask_with(place, &call.to_string())
}

fn ask_with(place: &Place, input: &str) -> Ran {
    place.write("../home/call.json", input);
    place.bash("PLANWRIGHT_SCOPE=\"$HOME/scope.json\" planwright hook <\"$HOME/call.json\"")
}

// C-16, C-25, C-35: exit 0 lets it happen, exit 2 with a reason on stderr does not.
#[test]
fn the_hook_denies_what_is_out_of_scope_and_says_why() {
    let place = with_scope(&json!({"mode": "block", "touches": ["src/**"], "sealed": ["tests/x"]}));
    let passed = ask(&place, "Write", &json!({"file_path": "src/a.rs"}));
    assert_eq!((passed.code, passed.said().as_str()), (0, ""));
    let denied = ask(&place, "Write", &json!({"file_path": "docs/a.md"}));
    assert_eq!(denied.stderr, "`docs/a.md` is outside this step's scope: src/**\n");
    assert_eq!((denied.code, denied.stdout.as_str()), (2, ""));
    ask(&place, "Edit", &json!({"file_path": "tests/x"})).expect(2, &["is sealed"]);
    let tools = with_scope(&json!({"mode": "block", "tools": ["odoo-toolbox"]}));
    let words = "Tool Bash is not available in plan scope. Only [odoo-toolbox] are available.";
    ask(&tools, "Bash", &json!({"command": "ls"})).expect(2, &[words]);
    let plan = with_scope(&json!({"mode": "plan"}));
    ask(&plan, "Write", &json!({"file_path": "a"})).expect(2, &["Tool Write is not available in plan scope"]);
    ask(&plan, "Bash", &json!({"command": "ls; rm a"})).expect(2, &["`rm` is not a known read-only command"]);
    ask(&plan, "Bash", &json!({"command": "git log | head"})).expect(0, &[]);
    let copilot = json!({"toolName": "create", "toolArgs": "{\"path\":\"a\"}", "cwd": plan.project()});
    ask_with(&plan, &copilot.to_string()).expect(2, &["Tool create is not available"]);
}

// C-16: a link is what it leads to.
#[test]
fn a_link_is_no_way_around_the_scope() {
    let place = with_scope(&json!({"mode": "block", "touches": ["src/**"]}));
    place
        .write("docs/real.md", "a")
        .write("src/b", "b")
        .link("../docs", "src/way")
        .link("../docs/real.md", "src/file");
    for path in ["src/way/a.md", "src/file"] {
        ask(&place, "Write", &json!({"file_path": path})).expect(2, &["is outside"]);
    }
    ask(&place, "Write", &json!({"file_path": "src/b"})).expect(0, &[]);
}

// C-16, C-17: what can't be read is denied where a scope holds, and noted where it only notes.
#[test]
fn a_question_that_cannot_be_read_is_a_no() {
    let place = with_scope(&json!({"mode": "block"}));
    for rubbish in ["", "no JSON", "{}", "[]", "{\"tool_name\": 7}"] {
        ask_with(&place, rubbish).expect(2, &["cannot parse the call"]);
    }
    for scope in ["", "{}", "{\"mode\":\"none\"}"] {
        place.write("../home/scope.json", scope);
        ask(&place, "Read", &json!({})).expect(2, &["cannot read the scope of this attempt"]);
    }
    place.bash("rm \"$HOME/scope.json\"");
    ask(&place, "Read", &json!({})).expect(2, &["cannot read the scope of this attempt"]);
    let noting = with_scope(&json!({"mode": "log"}));
    ask_with(&noting, "no JSON").expect(0, &[]);
    assert!(noting.read("../home/scope.log").contains("cannot parse the call"));
}

// C-15: both modes, and the pointer to the proposal.
#[test]
fn guarded_tools_need_a_plan_in_sessions_of_people() {
    let place = Place::empty();
    let call = |tool: &str| json!({"tool_name": tool, "tool_input": {}}).to_string();
    let asked = |tool: &str| place.run_with(&["hook", "pre-tool"], call(tool));
    asked("gmail_send").expect(0, &[]);
    place.write("planwright.toml", "[guard]\ntools = [\"gmail_send\"]\n");
    asked("gmail_send").expect(2, &["Tool gmail_send is guarded", "plan_propose", "planwright propose"]);
    asked("gmail_search").expect(0, &[]);
    // The hook may be started anywhere: where the session stands, the agent says.
    let elsewhere = json!({"toolName": "gw-gmail_send", "toolArgs": "{}", "cwd": place.project()});
    place.write("../home/call.json", elsewhere.to_string());
    place.bash("cd / && planwright hook pre-tool <\"$HOME/call.json\"").expect(2, &["gmail_send is guarded"]);
    place.write("planwright.toml", "[guard]\ntools = [\"gmail_send\"]\nmode = \"log\"\n");
    asked("gmail_send").expect(0, &[]);
    place.write("planwright.toml", "").write(".pi/plans.json", "{\"guardedTools\": [\"odoo_create\"]}");
    asked("odoo_create").expect(2, &["Tool odoo_create is guarded"]);
    let report = place.run(&["tools", "--refused"]);
    report.expect(
        0,
        &["session", "blocked gmail_send", "would have blocked gmail_send", "blocked odoo_create"],
    );
}

/// An agent like claude, as a script: it asks the hook that it was given before it writes a file, and writes another one unasked.
const AGENT: &str = r#"
while [ $# -gt 0 ]; do case $1 in --settings) settings=$2; shift;; esac; shift; done
hook=$(sed 's/.*"command":"\([^"]*\)".*/\1/' "$settings")
write() {
  printf '{"tool_name":"Write","tool_input":{"file_path":"%s"},"cwd":"%s"}' "$1" "$PWD" | bash -c "$hook" >>answers.txt 2>&1 && echo x >"$1"
}
mkdir -p src docs; cat >/dev/null
write src/a.txt; write docs/a.md; echo y >docs/unasked.md
"#;

/// Runs a plan of one step that such an agent does; says how it ended.
fn attempt(user: &str, fields: &str) -> (Place, Ran) {
    attempt_by(AGENT, user, fields)
}

fn attempt_by(agent: &str, user: &str, fields: &str) -> (Place, Ran) {
    let place = Place::empty();
    place.write("agent.sh", agent).write(USER, user).write(
        "planwright.toml",
        "[agents.scribe]\nlike = \"claude\"\ncommand = [\"bash\", \"agent.sh\"]\n[roles]\ncoder = \"scribe\"\n",
    );
    let fields = format!("**target:** coder\n{fields}");
    place.write("plans/it.md", runnable(&[("a", &fields, "Write it.", "test -e src/a.txt")]));
    let ran = place.run(&["run", "it", "--dry-run", "--json"]);
    let envelope: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran:#?}"));
    let digest = envelope["data"]["digest"].as_str().unwrap_or_else(|| panic!("{ran:#?}")).to_owned();
    let ran = place.run(&["run", "it", "--rev", &digest]);
    (place, ran)
}

/// The account of the only attempt.
fn account(place: &Place) -> Value {
    let log = place.run(&["log", "it", "--json"]);
    let log: Value = serde_json::from_str(&log.stdout).expect("an envelope");
    let events = log["data"]["events"].as_array().unwrap_or_else(|| panic!("{log:#}"));
    let finished = events.iter().find(|recorded| recorded["event"]["event"] == "attempt.finished");
    finished.expect("an attempt")["event"]["account"].clone()
}

// C-16: an agent can write over the file with its scope; its hook sees that, and lets nothing through any more.
#[test]
fn a_scope_that_the_agent_has_changed_lets_nothing_through() {
    let widened = AGENT.replace(
        "write src/a.txt;",
        "write src/a.txt; echo '{\"mode\":\"log\",\"root\":\"/\"}' >\"$PLANWRIGHT_SCOPE\"; write src/b.txt;",
    );
    let (place, _) = attempt_by(&widened, "", "**touches:** src/**, *.txt");
    assert!(place.has("src/a.txt") && !place.has("src/b.txt") && !place.has("docs/a.md"));
    place.bash("cat answers.txt").expect(0, &["it was changed"]);
}

// C-16: what is asked for is denied, and what is done unasked is flagged, shown, and told to listeners.
#[test]
fn an_attempt_is_held_to_its_scope_and_flagged_where_it_strays() {
    let (place, ran) = attempt("", "**touches:** src/**, answers.txt");
    ran.expect(
        0,
        &["changed files outside its scope: docs/unasked.md", "blocked Write: `docs/a.md` is outside"],
    );
    assert!(place.has("src/a.txt") && !place.has("docs/a.md") && place.has("docs/unasked.md"));
    let account = account(&place);
    assert_eq!(account["outside"], json!(["docs/unasked.md"]));
    assert_eq!(
        (account["refused"][0]["tool"].as_str(), account["refused"][0]["is_blocked"].as_bool()),
        (Some("Write"), Some(true))
    );
    place.run(&["log", "it"]).expect(0, &["outside its scope: docs/unasked.md", "1 call out of scope"]);
    place.run(&["tools", "--refused"]).expect(0, &["it/a@1", "blocked Write"]);
    let told = place.run(&["log", "--all", "--since", "1h", "--json"]);
    told.expect(0, &["\"also\":[\"scope.violated\"]"]);
}

// C-17: log-only mode.
#[test]
fn a_scope_that_only_notes_says_what_it_would_have_blocked() {
    let (place, ran) = attempt("[scope]\nmode = \"log\"\n", "**touches:** src/**, answers.txt");
    ran.expect(0, &["would have blocked Write: `docs/a.md` is outside"]);
    assert!(place.has("docs/a.md"), "nothing is stopped");
    assert_eq!(account(&place)["outside"], json!(["docs/a.md", "docs/unasked.md"]));
}

// C-16: where a plan says nothing, nothing is out of scope but what the harness itself keeps.
#[test]
fn a_step_that_declares_nothing_may_do_anything() {
    let (place, ran) = attempt("", "");
    ran.expect(0, &[]);
    assert!(!ran.said().contains("scope"), "{ran:#?}");
    assert_eq!(account(&place)["outside"], Value::Null);
    assert!(place.has("docs/a.md"));
}

// C-16: a violation can be made to count; the contract is not run then.
#[test]
fn a_violation_fails_the_attempt_where_the_user_says_so() {
    let (_, ran) = attempt("[scope]\nviolation = \"fail\"\n", "**touches:** src/**, answers.txt");
    ran.expect(3, &["the attempt changed files outside its scope: docs/unasked.md"]);
    let loose = Place::empty();
    loose.write("planwright.toml", "[scope]\nmode = \"log\"\n");
    loose.run(&["list"]).expect(2, &["cannot set `scope.mode` for a project", "could set its own limits"]);
}

// C-16: an attempt that strayed can't be made good by one that does nothing; a person can let it pass.
#[test]
fn a_violation_counts_until_a_person_has_seen_it() {
    let once = "cat >/dev/null; mkdir -p src docs; echo x >src/a.txt; test -e docs/z.md || echo y >docs/z.md";
    let fields = "**touches:** src/**\n**on_fail:** retry(1), then escalate";
    let (place, ran) = attempt_by(once, "[scope]\nviolation = \"fail\"\n", fields);
    // The next attempt could not pass whatever it does, so there is none before a person has answered.
    ran.expect(3, &["An attempt changed files outside its scope: docs/z.md."]);
    assert!(!ran.said().contains("attempt 2") && !ran.said().contains("retrying"), "{ran:#?}");
    place.run(&["answer", "it/a", "--retry"]).expect(0, &[]);
    place.run(&["run", "it"]).expect(0, &["1 of 1 step passed"]);
}

// C-16: nothing hides a change: not many others, no list of ignored files that the attempt wrote itself, no time set back; and
// a link is a file.
#[test]
fn no_change_outside_is_hidden() {
    let hiding = "cat >/dev/null; mkdir -p src docs target .git/info; for i in {1..220}; do echo x >src/$i.txt; done; echo x >src/a.txt\n\
                  echo '*' >docs/.gitignore; echo 'z.md' >.ignore; echo 'z.md' >.git/info/exclude; echo y >docs/z.md; cp -s /etc/passwd docs/link\n\
                  echo target >.gitignore; echo built >target/built\n\
                  cp -p agent.sh same; printf '####' | dd of=agent.sh conv=notrunc status=none; touch -r same agent.sh; rm same";
    let (place, ran) = attempt_by(hiding, "[scope]\nviolation = \"fail\"\n", "**touches:** src/**");
    ran.expect(3, &["hanged files outside its scope: .git/info/exclude, .gitignore"]);
    let expected = json!([
        ".git/info/exclude",
        ".gitignore",
        ".ignore",
        "agent.sh",
        "docs/.gitignore",
        "docs/link",
        "docs/z.md"
    ]);
    assert_eq!(account(&place)["outside"], expected);
}

// C-16: what runs in the user's own git is flagged whatever a step may touch, and what git does by itself is not.
#[test]
fn what_steers_git_is_flagged_and_commits_are_not() {
    let honest = "cat >/dev/null; mkdir -p src; echo x >src/a.txt; git init -q .; git checkout -q -b work\n\
                  git config user.name a; git config user.email a@b.c; git add src; git commit -qm a\n\
                  git branch next; git config branch.next.remote .; git config branch.next.merge refs/heads/work";
    let (place, ran) = attempt_by(honest, "", "**touches:** src/**");
    ran.expect(0, &["1 of 1 step passed"]);
    assert_eq!(account(&place)["outside"], Value::Null);
    let hostile = "cat >/dev/null; mkdir -p src vendor/.git; echo x >src/a.txt; git init -q .\n\
                   echo 'touch P' >.git/hooks/post-commit; git config core.fsmonitor ./x; echo x >vendor/.git/x.sh";
    let (place, _) = attempt_by(hostile, "", "**touches:** src/**, .git/**");
    assert_eq!(
        account(&place)["outside"],
        json!([".git/config", ".git/hooks/post-commit", "vendor/.git/x.sh"])
    );
}

// C-18, C-19, C-30: the inventory, and a plan that asks for a tool that is not in it.
#[test]
fn a_tool_that_is_not_there_is_named_before_anything_is_started() {
    let place = Place::empty();
    place.write(
        "planwright.toml",
        "[tools.odoo-toolbox]\noperations = [\"read\", \"write\"]\n[tools.go-easy]\noperations = []\n",
    );
    place.run(&["tools"]).expect(0, &["Available executor tools:\n- go-easy\n- odoo-toolbox: read, write\n"]);
    place.write("plans/it.md", runnable(&[("a", "**tools:** odoo-tools", "true", "test -e x")]));
    for verb in ["verify", "propose"] {
        place.run(&[verb, "it"]).expect(1, &["uses unknown tool `odoo-tools`"]);
    }
    place.run(&["verify", "it"]).expect(1, &["available: go-easy, odoo-toolbox"]);
    place.write("plans/it.md", runnable(&[("a", "**tools:** odoo-tolbox", "true", "test -e x")]));
    place.run(&["verify", "it"]).expect(1, &["did you mean `odoo-toolbox`?"]);
    place.write("plans/it.md", runnable(&[("a", "**tools:** odoo-toolbox", "true", "test -e x")]));
    place.run(&["verify", "it"]).expect(0, &[]);
}
