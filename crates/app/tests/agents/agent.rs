//! The agents of the suite: where each comes from, and what makes it talk to the scripted model. How it is started is not said
//! here: that is what planwright's own profiles are for.

use serde_json::json;

/// The model that is asked for where the name is free.
pub(crate) const MODEL: &str = "scripted-model";
/// Long enough that an agent which hides its key in what it prints hides nothing else.
const KEY: &str = "sk-scripted-0123456789";

pub(crate) struct Agent {
    /// Its name, which is that of its program, too.
    pub(crate) name: &'static str,
    /// Where it is installed from.
    pub(crate) source: Source,
    /// The version that is installed.
    pub(crate) version: &'static str,
    /// Whether the suite runs it where nobody chose.
    pub(crate) is_usual: bool,
    /// What it says about its use.
    pub(crate) tells: Tells,
    /// What it does when its model can't be had.
    pub(crate) outage: InOutage,
    /// The variables that it needs, for a model at this address.
    pub(crate) variables: fn(&str) -> Vec<(&'static str, String)>,
    /// The files that it needs below its home.
    pub(crate) files: fn(&str) -> Vec<(&'static str, String)>,
}

/// Where a program is installed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// A package of npm.
    Npm(&'static str),
    /// A package of Python.
    Python(&'static str),
}

/// What an agent says about its use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tells {
    TokensAndMoney,
    Tokens,
    /// Nothing that can be read.
    Nothing,
}

/// What an agent does when its model can't be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InOutage {
    /// It ends, and says when a limit ends, in the words of its provider.
    EndsWithReset,
    Ends,
    /// It tries for minutes, and says nothing; the time that a step may take ends it.
    KeepsTrying,
}

/// All of them. The versions are those that were tried.
pub(crate) const AGENTS: &[Agent] = &[
    Agent {
        name: "claude",
        source: Source::Npm("@anthropic-ai/claude-code"),
        version: "2.1.325",
        is_usual: true,
        tells: Tells::TokensAndMoney,
        outage: InOutage::EndsWithReset,
        variables: |url| {
            vec![
                ("ANTHROPIC_BASE_URL", url.to_owned()),
                ("ANTHROPIC_API_KEY", KEY.to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ("DISABLE_AUTOUPDATER", "1".to_owned()),
                // Otherwise it hides tools of servers until the model looks for them, which a script does not.
                ("ENABLE_TOOL_SEARCH", "false".to_owned()),
                // Otherwise it refuses to work unasked for root, who runs the tests in containers.
                ("IS_SANDBOX", "1".to_owned()),
            ]
        },
        files: |_| Vec::new(),
    },
    Agent {
        name: "codex",
        source: Source::Npm("@openai/codex"),
        version: "0.166.0",
        is_usual: true,
        tells: Tells::Tokens,
        outage: InOutage::Ends,
        variables: |_| vec![("SCRIPTED_KEY", KEY.to_owned())],
        files: |url| {
            let text = format!(
                "model = \"{MODEL}\"\nmodel_provider = \"scripted\"\n\n\
                 [sandbox_workspace_write]\nexclude_slash_tmp = true\n\n[model_providers.scripted]\n\
                 name = \"scripted\"\nbase_url = \"{url}/v1\"\nenv_key = \"SCRIPTED_KEY\"\nwire_api = \"responses\"\n\
                 request_max_retries = 0\nstream_max_retries = 0\n"
            );
            vec![(".codex/config.toml", text)]
        },
    },
    Agent {
        name: "pi",
        source: Source::Npm("@earendil-works/pi-coding-agent"),
        version: "0.87.1",
        is_usual: true,
        tells: Tells::TokensAndMoney,
        outage: InOutage::EndsWithReset,
        variables: |_| vec![("PI_OFFLINE", "1".to_owned()), ("PI_TELEMETRY", "0".to_owned())],
        files: |url| {
            let cost = json!({"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 0});
            let model = json!({
                "id": MODEL, "name": MODEL, "reasoning": false, "input": ["text"], "contextWindow": 100_000,
                "maxTokens": 8000, "cost": cost,
            });
            let provider = json!({
                "baseUrl": format!("{url}/v1"), "api": "openai-completions", "apiKey": KEY, "models": [model],
            });
            let settings = json!({
                "defaultProvider": "scripted", "defaultModel": MODEL, "retry": {"enabled": false},
            });
            vec![
                (".pi/agent/models.json", json!({"providers": {"scripted": provider}}).to_string()),
                (".pi/agent/settings.json", settings.to_string()),
            ]
        },
    },
    Agent {
        name: "gemini",
        source: Source::Npm("@google/gemini-cli"),
        version: "0.61.0",
        is_usual: false,
        tells: Tells::Tokens,
        outage: InOutage::KeepsTrying,
        variables: |url| {
            vec![
                ("GEMINI_API_KEY", KEY.to_owned()),
                ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
                ("GEMINI_MODEL", "gemini-2.5-flash".to_owned()),
            ]
        },
        files: |_| {
            let settings = json!({
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false},
            });
            vec![(".gemini/settings.json", settings.to_string())]
        },
    },
    Agent {
        name: "qwen",
        source: Source::Npm("@qwen-code/qwen-code"),
        version: "0.24.4",
        is_usual: false,
        tells: Tells::Tokens,
        outage: InOutage::KeepsTrying,
        variables: |url| {
            vec![
                ("OPENAI_API_KEY", KEY.to_owned()),
                ("OPENAI_BASE_URL", format!("{url}/v1")),
                ("OPENAI_MODEL", MODEL.to_owned()),
            ]
        },
        files: |_| {
            let settings = json!({"security": {"auth": {"selectedType": "openai"}}});
            vec![(".qwen/settings.json", settings.to_string())]
        },
    },
    Agent {
        name: "opencode",
        source: Source::Npm("opencode-ai"),
        version: "1.18.33",
        is_usual: false,
        tells: Tells::TokensAndMoney,
        outage: InOutage::KeepsTrying,
        variables: |_| {
            vec![
                ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
            ]
        },
        files: |url| {
            let model = json!({
                "name": MODEL, "limit": {"context": 100_000, "output": 8000}, "cost": {"input": 3, "output": 15},
            });
            let provider = json!({
                "npm": "@ai-sdk/openai-compatible", "name": "scripted",
                "options": {"baseURL": format!("{url}/v1"), "apiKey": KEY}, "models": {MODEL: model},
            });
            let name = format!("scripted/{MODEL}");
            let config = json!({
                "autoupdate": false, "share": "disabled", "provider": {"scripted": provider},
                "model": name, "small_model": name,
            });
            vec![(".config/opencode/opencode.json", config.to_string())]
        },
    },
    Agent {
        name: "copilot",
        source: Source::Npm("@github/copilot"),
        version: "1.0.102",
        is_usual: false,
        tells: Tells::Nothing,
        outage: InOutage::Ends,
        variables: |url| {
            vec![
                ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
                ("COPILOT_PROVIDER_API_KEY", KEY.to_owned()),
                ("COPILOT_MODEL", MODEL.to_owned()),
                ("COPILOT_OFFLINE", "true".to_owned()),
            ]
        },
        files: |_| Vec::new(),
    },
    Agent {
        name: "aider",
        source: Source::Python("aider-chat"),
        version: "0.86.2",
        is_usual: false,
        tells: Tells::Nothing,
        outage: InOutage::Ends,
        variables: |url| {
            vec![
                ("OPENAI_API_KEY", KEY.to_owned()),
                ("OPENAI_API_BASE", format!("{url}/v1")),
                ("AIDER_MODEL", format!("openai/{MODEL}")),
                ("AIDER_ANALYTICS", "false".to_owned()),
            ]
        },
        files: |_| Vec::new(),
    },
];
