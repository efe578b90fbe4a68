//! Agents as they really talk: what the programs printed against a scripted model, and what is read out of it.

use planwright_core::agent::account::{Account, Tokens};
use planwright_core::agent::profile;
use planwright_core::agent::profile::{AgentFailure, FieldPaths, PROFILES, Transcript, TranscriptReader};

fn recorded(name: &str) -> &'static str {
    match name {
        "claude-ok" => include_str!("agents/claude-ok.jsonl"),
        "claude-429" => include_str!("agents/claude-429.jsonl"),
        "claude-500" => include_str!("agents/claude-500.jsonl"),
        "claude-401" => include_str!("agents/claude-401.jsonl"),
        "codex-ok" => include_str!("agents/codex-ok.jsonl"),
        "codex-429" => include_str!("agents/codex-429.jsonl"),
        "codex-500" => include_str!("agents/codex-500.jsonl"),
        "codex-401" => include_str!("agents/codex-401.jsonl"),
        "pi-ok" => include_str!("agents/pi-ok.jsonl"),
        "pi-429" => include_str!("agents/pi-429.jsonl"),
        "pi-500" => include_str!("agents/pi-500.jsonl"),
        "pi-401" => include_str!("agents/pi-401.jsonl"),
        "gemini-ok" => include_str!("agents/gemini-ok.jsonl"),
        "gemini-401" => include_str!("agents/gemini-401.jsonl"),
        "qwen-ok" => include_str!("agents/qwen-ok.jsonl"),
        "qwen-401" => include_str!("agents/qwen-401.jsonl"),
        "copilot-ok" => include_str!("agents/copilot-ok.jsonl"),
        "copilot-500" => include_str!("agents/copilot-500.jsonl"),
        "copilot-401" => include_str!("agents/copilot-401.jsonl"),
        "opencode-ok" => include_str!("agents/opencode-ok.jsonl"),
        "opencode-401" => include_str!("agents/opencode-401.jsonl"),
        other => panic!("nothing is recorded of {other}"),
    }
}

fn heard(name: &str) -> Transcript {
    let (agent, _) = name.split_once('-').expect("agent and case");
    let mut listener = profile::profile(agent).expect("a profile").listener();
    listener.hear(recorded(name).as_bytes());
    listener.finish()
}

fn word(trouble: Option<&AgentFailure>) -> &'static str {
    match trouble {
        None => "none",
        Some(AgentFailure::RateLimited { .. }) => "limited",
        Some(AgentFailure::Infrastructure { .. }) => "infrastructure",
        Some(AgentFailure::SignedOut { .. }) => "signed out",
        Some(AgentFailure::Refused { .. }) => "refused",
    }
}

// P-08: what each agent printed while it wrote a file, ran a command and said `all done`: three requests of 1000 tokens, 200 of
// them remembered, and 50 given back.
#[test]
fn tokens_price_session_and_last_message_are_read_from_every_agent() {
    let cases = [
        ("claude-ok", Some(15_120), 3600),
        ("codex-ok", None, 3000),
        ("pi-ok", Some(9_630), 3000),
        ("gemini-ok", None, 3000),
        ("qwen-ok", None, 3000),
        ("opencode-ok", Some(9_450), 3000),
    ];
    for (name, micro_dollars, input) in cases {
        let heard = heard(name);
        assert_eq!(heard.said, "all done", "{name}");
        assert_eq!(heard.tokens, Some(Tokens { input, cached: 600, output: 150 }), "{name}");
        assert_eq!(heard.micro_dollars, micro_dollars, "{name}");
        assert!(heard.session.is_some_and(|session| session.len() > 10), "{name}");
        assert_eq!(heard.trouble, None, "{name}");
    }
}

#[test]
fn copilot_leaves_its_tokens_in_a_file() {
    let mut all = heard("copilot-ok");
    assert_eq!((all.said.as_str(), all.tokens), ("all done", None));
    let (name, read) = profile::profile("copilot").and_then(|profile| profile.leaves).expect("a file");
    assert_eq!(name, "usage.json");
    read(include_str!("agents/copilot-usage.json"), &mut all);
    assert_eq!(all.tokens, Some(Tokens { input: 3000, cached: 600, output: 150 }));
}

// P-14
#[test]
fn what_keeps_an_agent_from_working_is_told_apart_from_work_that_failed() {
    let cases = [
        ("claude-429", "limited"),
        ("claude-500", "infrastructure"),
        ("claude-401", "signed out"),
        ("codex-429", "limited"),
        ("codex-500", "infrastructure"),
        ("codex-401", "signed out"),
        ("pi-429", "limited"),
        ("pi-500", "infrastructure"),
        ("pi-401", "signed out"),
        // It does not tell the status.
        ("gemini-401", "infrastructure"),
        ("qwen-401", "signed out"),
        ("copilot-500", "infrastructure"),
        ("copilot-401", "signed out"),
        ("opencode-401", "signed out"),
    ];
    for (name, expected) in cases {
        assert_eq!(word(heard(name).trouble.as_ref()), expected, "{name}");
    }
}

#[test]
fn a_listener_hears_the_same_however_the_output_arrives() {
    for name in ["claude-ok", "codex-429", "pi-ok", "gemini-ok"] {
        let (agent, _) = name.split_once('-').expect("agent and case");
        let text = recorded(name).replace('\n', "\r\n");
        for length in [1, 7, 4096] {
            let mut listener = profile::profile(agent).expect("a profile").listener();
            text.as_bytes().chunks(length).for_each(|piece| listener.hear(piece));
            assert_eq!(listener.finish(), heard(name), "{name} in pieces of {length}");
        }
    }
}

#[test]
fn rubbish_is_passed_over_and_a_line_without_end_is_taken() {
    for profile in PROFILES {
        let mut listener = profile.listener();
        listener.hear(b"{\"type\":\n\xff\xfe[1]\n{}\nnull\n");
        listener.hear(&vec![b'x'; 3 << 20]);
        listener.hear(b"\n");
        let heard = listener.finish();
        assert_eq!((heard.session, heard.tokens, heard.trouble), (None, None, None), "{}", profile.name);
    }
    let mut listener = profile::profile("codex").expect("a profile").listener();
    listener.hear(br#"{"type":"thread.started","thread_id":"t-1"}"#);
    assert_eq!(listener.finish().session.as_deref(), Some("t-1"));
}

#[test]
fn aider_says_its_tokens_in_a_sentence() {
    let mut listener = profile::profile("aider").expect("a profile").listener();
    listener.hear(b"I changed it.\nTokens: 2.4k sent, 9 received. Cost: $0.0012 message, $0.0012 session.\n");
    let heard = listener.finish();
    assert_eq!(heard.tokens, Some(Tokens { input: 2400, cached: 0, output: 9 }));
    assert_eq!((heard.micro_dollars, heard.said.as_str()), (Some(1200), "I changed it.\n"));
}

// P-14: the class of the fault tells, whatever words the provider has for it.
#[test]
fn aider_names_the_class_of_a_fault() {
    let cases = [
        ("litellm.RateLimitError: AnthropicException - slow down", "limited"),
        ("litellm.AuthenticationError: AnthropicException - x-api-key is missing", "signed out"),
        ("litellm.InternalServerError: AnthropicException - it broke", "infrastructure"),
        ("litellm.APIConnectionError: OllamaException - all attempts failed", "infrastructure"),
        ("litellm.ServiceUnavailableError: VertexException - come back", "infrastructure"),
        ("litellm.Timeout: APITimeoutError - Request timed out.", "infrastructure"),
        ("litellm.BadRequestError: the model `x` does not exist", "none"),
    ];
    for (line, expected) in cases {
        let mut listener = profile::profile("aider").expect("a profile").listener();
        listener.hear(format!("{line}\nRetrying in 0.2 seconds...\n").as_bytes());
        assert_eq!(word(listener.finish().trouble.as_ref()), expected, "{line}");
    }
}

// What a model would not do is kept with the attempt; journals without it are read as before.
#[test]
fn a_refusal_goes_into_the_account() {
    let mut listener = profile::profile("claude").expect("a profile").listener();
    listener.hear(br#"{"type":"result","subtype":"success","is_error":false,"stop_reason":"refusal","result":"I will not."}"#);
    let account = listener.finish().account();
    assert_eq!(account.declined.as_deref(), Some("I will not."));
    assert_eq!(heard("claude-ok").account().declined, None);
    assert_eq!(serde_json::from_str::<Account>("{}").expect("an old account"), Account::default());
}

// The bridge is ours; what has to be there, and whose settings count, is the agent behind it.
#[test]
fn an_agent_behind_the_bridge_is_known() {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<String>>();
    let names = |make: profile::AgentIdentity| {
        [make.reader, make.own].map(|profile| profile.map(|profile| profile.name))
    };
    let bridged = words("planwright acp -- /opt/opencode acp");
    assert_eq!(profile::program(&bridged), Some("/opt/opencode"));
    assert_eq!(names(profile::AgentIdentity::of(&bridged, None)), [Some("acp"), Some("opencode")]);
    assert_eq!(
        names(profile::AgentIdentity::of(&words("planwright acp -- x"), Some("pi"))),
        [Some("acp"), Some("pi")]
    );
    assert_eq!(names(profile::AgentIdentity::of(&words("pi -p"), None)), [Some("pi"), Some("pi")]);
    let other = words("planwright acp -- claude-agent-acp");
    assert_eq!(names(profile::AgentIdentity::of(&other, None)), [Some("acp"), Some("claude")]);
    assert_eq!(profile::program(&words("planwright acp --")), Some("planwright"));
}

#[test]
fn an_agent_of_the_user_is_read_by_the_places_that_they_name() {
    let place = |text: &str| Some(text.to_owned());
    let places = FieldPaths {
        tokens: vec!["/usage/in".to_owned(), "/usage/out".to_owned()],
        dollars: place("/cost"),
        session: place("/id"),
        said: place("/answer"),
    };
    let mut listener = TranscriptReader::by_places(places);
    listener.hear(b"{\"id\":\"s1\",\"usage\":{\"in\":1,\"out\":2}}\nnot json\n");
    listener.hear(b"{\"answer\":\"yes\",\"usage\":{\"in\":10,\"out\":20},\"cost\":0.5}\n");
    let heard = listener.finish();
    assert_eq!(heard.tokens.map(Tokens::total), Some(30));
    assert_eq!((heard.micro_dollars, heard.session.as_deref()), (Some(500_000), Some("s1")));
    assert_eq!(heard.said, "yes");
}

#[test]
fn every_profile_is_whole() {
    for profile in PROFILES {
        assert_eq!(profile.command.first(), Some(&profile.program), "{}", profile.name);
        assert!(!profile.credentials.is_empty() && !profile.sign_in.is_empty(), "{}", profile.name);
        assert!(
            profile.resume.is_empty() || profile.resume.iter().any(|word| word.contains(profile::SESSION)),
            "{}",
            profile.name
        );
        let command: Vec<String> = profile.command.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(profile::profile_of(&command).map(|found| found.name), Some(profile.name));
        assert_eq!(profile::profile(profile.name).map(|found| found.program), Some(profile.program));
    }
    assert_eq!(
        profile::profile("claude").and_then(|profile| profile.resume_words("s")),
        Some(vec!["--resume".to_owned(), "s".to_owned()])
    );
}
