//! Who may approve plans in a project: the policy in effect, a file that may become it, and its installation. Works where the
//! settings of the project can't be read.

use std::path::Path;

use planwright_core::approval::policy::{Automatic, Policy, Requirement, ToolLists, When};
use planwright_core::syntax::glob::Glob;
use schemars::JsonSchema;
use serde::Serialize;

use crate::api::caller::{Caller, Right};
use crate::api::error::Error;
use crate::api::path::shown;
use crate::api::workspace::OpenOptions;
use crate::config::policy;
use crate::config::policy::{InstalledPolicy, Loaded, PolicyPaths};
use crate::config::signature::Signers;
use crate::workspace::project;

/// The policy of the project that contains the current directory.
pub struct ProjectPolicy {
    paths: PolicyPaths,
    caller: Caller,
}

/// A policy.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PolicyView {
    /// The policy file; `None` if there is none, so a person decides by default.
    pub path: Option<String>,
    /// Names its exact text and that of its list of signers.
    pub digest: Option<String>,
    /// Where the policy of this repository is looked for first.
    pub repository_file: String,
    /// The user's policy file; `None` without a home directory.
    pub user_file: Option<String>,
    /// The rules by which a plan is approved without a person.
    pub auto: Vec<PolicyRuleView>,
    /// What every other plan needs.
    pub approval: RequirementView,
    /// What some plans need besides.
    pub when: Vec<WhenView>,
    /// The list of signers; `None` if there is none.
    pub signers: Option<String>,
    /// How many keys count.
    pub keys: usize,
    /// Whether another policy holds now than before.
    pub is_changed: bool,
    /// Where the policy before is kept, if it was replaced.
    pub backup: Option<String>,
    /// The texts before and after, where it was installed.
    #[serde(skip)]
    pub texts: Option<[String; 2]>,
}

/// A rule by which a plan is approved without a person.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PolicyRuleView {
    pub name: String,
    /// Its conditions, all of which must hold.
    pub conditions: Vec<String>,
}

/// What an approval needs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RequirementView {
    /// The people who may approve; `None`: anybody.
    pub from: Option<Vec<String>>,
    /// How many of them must; `None`: not set.
    pub needed: Option<u32>,
    /// Whether the one who proposed the plan may be one of them.
    pub planner_may_approve: Option<bool>,
    /// How long an approval holds.
    pub expires_seconds: Option<u64>,
    /// Whether only a signed approval counts.
    pub signed: Option<bool>,
}

/// What some plans need besides.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WhenView {
    pub name: String,
    /// What such a plan may do.
    pub conditions: Vec<String>,
    /// What it needs.
    pub approval: RequirementView,
}

impl ProjectPolicy {
    pub fn open(options: &OpenOptions) -> Result<Self, Error> {
        let paths = PolicyPaths::of(&project::root_of(Path::new("."))?)?;
        Ok(Self { paths, caller: options.caller.clone() })
    }

    /// The policy in effect.
    pub fn current(&self) -> Result<PolicyView, Error> {
        Ok(self.view(self.paths.load()?.as_ref()))
    }

    /// A policy file that is not in effect.
    pub fn check(&self, file: &Path) -> Result<PolicyView, Error> {
        Ok(self.view(Some(&policy::check(file)?)))
    }

    /// Installs a policy for the repository; it takes effect immediately.
    pub fn install(&self, file: &Path) -> Result<PolicyView, Error> {
        self.caller.may(Right::ChangePolicy)?;
        // The policy in effect until now: approvals under it lapse. An unreadable one had no effect.
        let before = self.paths.load().ok().flatten();
        let InstalledPolicy { old, backup, loaded, .. } = self.paths.install(file)?;
        Ok(PolicyView {
            is_changed: before.is_none_or(|before| before.digest != loaded.digest),
            backup: backup.as_deref().map(shown),
            texts: Some([old.unwrap_or_default(), loaded.text.clone()]),
            ..self.view(Some(&loaded))
        })
    }

    fn view(&self, loaded: Option<&Loaded>) -> PolicyView {
        let none = Policy::default();
        let policy = loaded.map_or(&none, |loaded| &loaded.policy);
        let signers = loaded.and_then(|loaded| loaded.signers.as_ref());
        let rule =
            |rule: &Automatic| PolicyRuleView { name: rule.name.clone(), conditions: conditions(rule) };
        let when = |when: &When| WhenView {
            name: when.name.clone(),
            conditions: possible(when),
            approval: requirement(policy, &when.demand),
        };
        PolicyView {
            path: loaded.map(|loaded| shown(&loaded.path)),
            digest: loaded.map(|loaded| loaded.digest.clone()),
            repository_file: shown(&self.paths.repository),
            user_file: self.paths.user.as_deref().map(shown),
            auto: policy.automatic.iter().map(rule).collect(),
            approval: requirement(policy, &policy.demand),
            when: policy.when.iter().map(when).collect(),
            signers: signers.map(|signers| shown(&signers.path)),
            keys: signers.map_or(0, Signers::len),
            is_changed: false,
            backup: None,
            texts: None,
        }
    }
}

fn requirement(policy: &Policy, demand: &Requirement) -> RequirementView {
    RequirementView {
        from: demand.from.as_ref().map(|from| policy.people_of(from).into_iter().collect()),
        needed: demand.needed,
        planner_may_approve: demand.planner_may_approve,
        expires_seconds: demand.expires_seconds,
        signed: demand.is_signed,
    }
}

/// The conditions of a rule, in words.
fn conditions(rule: &Automatic) -> Vec<String> {
    let listed = |what: &str, list: &Option<Vec<String>>| {
        list.as_ref().map(|list| format!("{what} {}", list.join(", ")))
    };
    let most = |amount: Option<u64>, unit: &str| amount.map(|amount| format!("at most {amount} {unit}"));
    let tools = match &rule.tools {
        Some(ToolLists::Any) => Some("uses any tool".to_owned()),
        Some(ToolLists::These(tools)) => Some(format!("uses only {}", tools.join(", "))),
        None => None,
    };
    let commands = rule.commands.as_ref().map(|commands| {
        let commands = commands.iter().map(|(target, words)| format!("{target} = {}", words.join(" ")));
        format!("agent commands {}", commands.collect::<Vec<_>>().join(", "))
    });
    let all = [
        rule.paths.as_ref().map(|paths| format!("touches only {}", patterns(paths))),
        tools,
        listed("run by", &rule.agents),
        commands,
        listed("proposed by", &rule.proposers),
        rule.micro_dollars.map(|amount| format!("at most {}", dollars(amount))),
        most(rule.tokens, "tokens"),
        most(rule.seconds, "seconds"),
        most(rule.steps_max.map(u64::from), "steps"),
        listed("in dialect", &rule.dialects),
        rule.is_red_required.then(|| "every contract fails before the work".to_owned()),
    ];
    all.into_iter().flatten().collect()
}

/// What a plan may do that needs more, in words.
fn possible(when: &When) -> Vec<String> {
    let all = [
        when.paths.as_ref().map(|paths| format!("may touch {}", patterns(paths))),
        when.tools.as_ref().map(|tools| format!("may use {}", tools.join(", "))),
        when.micro_dollars.map(|amount| format!("may cost {}", dollars(amount))),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    if all.is_empty() { vec!["every plan".to_owned()] } else { all }
}

fn patterns(globs: &[Glob]) -> String {
    globs.iter().map(Glob::pattern).collect::<Vec<_>>().join(", ")
}

fn dollars(micro: u64) -> String {
    let cents = micro / 10_000;
    match micro % 10_000 {
        0 => format!("${}.{:02}", cents / 100, cents % 100),
        _ => format!("${}.{:06}", micro / 1_000_000, micro % 1_000_000),
    }
}
