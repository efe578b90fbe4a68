//! Whether an agent is at this terminal, and what only a person may do.

use planwright_engine::core::agent::profile::PROFILES;
use planwright_engine::system::process;

use crate::output::{Exit, Failure};

/// Variables that agents of any make set in the shells that they use.
const AGENT_VARIABLES: &[&str] = &["AI_AGENT"];

/// By what an agent at this terminal is known.
pub(crate) struct AgentSign {
    /// What the agent is called.
    pub(crate) agent: String,
    /// What gives it away.
    pub(crate) sign: String,
    /// What a person does who is taken for one.
    way_out: Option<&'static str>,
}

/// Whether an agent is at this terminal. Whatever planwright itself has started is known for certain; of others a variable
/// tells, which stops mistakes, not attacks.
pub(crate) fn agent_sign() -> Option<AgentSign> {
    let own = PROFILES.iter().flat_map(|profile| profile.signs.iter().map(|sign| (*sign, profile.name)));
    let mut all = own.chain(AGENT_VARIABLES.iter().map(|sign| (*sign, "an agent")));
    let set = all.find(|(sign, _)| std::env::var_os(sign).is_some());
    let known =
        set.map(|(sign, agent)| AgentSign { agent: agent.to_owned(), sign: sign.to_owned(), way_out: None });
    known.or_else(|| {
        let sign = process::job_above()?;
        let agent = "an attempt".to_owned();
        Some(AgentSign { agent, sign: sign.to_string(), way_out: sign.way_out() })
    })
}

/// Refuses to take an agent's word.
pub(crate) fn refuse_agents(verb: &str) -> Result<(), Failure> {
    match agent_sign() {
        Some(AgentSign { sign, way_out, .. }) => {
            let message = format!("only a person may {verb}; this terminal belongs to an agent ({sign})");
            let mut failure = Failure::new(Exit::Person, message);
            // A cause: the help that a command has of its own is still to come.
            failure.causes.extend(way_out.map(str::to_owned));
            Err(failure)
        }
        None => Ok(()),
    }
}
