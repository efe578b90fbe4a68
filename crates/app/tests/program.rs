//! The program from the outside: what is typed, what is printed, how it ends and what lies on the disk afterwards.
//! Every test has its own project, home and search path, so that nothing of this machine shows through.

#[path = "program/acp.rs"]
mod acp;
#[path = "program/arbiter.rs"]
mod arbiter;
#[path = "program/ask.rs"]
mod ask;
#[path = "program/audit.rs"]
mod audit;
#[path = "program/bad_input.rs"]
mod bad_input;
#[path = "program/baseline.rs"]
mod baseline;
#[path = "program/binding.rs"]
mod binding;
#[path = "program/client.rs"]
mod client;
mod clients;
#[path = "program/closing.rs"]
mod closing;
#[path = "program/concurrency.rs"]
mod concurrency;
#[path = "program/connect.rs"]
mod connect;
#[path = "program/convert.rs"]
mod convert;
#[path = "program/coordination.rs"]
mod coordination;
#[path = "program/cost.rs"]
mod cost;
#[path = "program/crash.rs"]
mod crash;
#[path = "program/dialects.rs"]
mod dialects;
#[path = "program/doctor.rs"]
mod doctor;
#[path = "program/doctor_mends.rs"]
mod doctor_mends;
#[path = "program/earlier.rs"]
mod earlier;
#[path = "program/envelope.rs"]
mod envelope;
#[path = "program/follow.rs"]
mod follow;
#[path = "program/forged.rs"]
mod forged;
#[path = "program/graphs.rs"]
mod graphs;
#[path = "program/hook.rs"]
mod hook;
#[path = "program/hostile.rs"]
mod hostile;
#[path = "program/identity.rs"]
mod identity;
#[path = "program/listen.rs"]
mod listen;
#[path = "program/mcp.rs"]
mod mcp;
#[path = "program/mcp_executor.rs"]
mod mcp_executor;
#[path = "program/mcp_human.rs"]
mod mcp_human;
#[path = "program/merge_driver.rs"]
mod merge_driver;
#[path = "program/merging.rs"]
mod merging;
#[path = "program/opinion.rs"]
mod opinion;
#[path = "program/parallel.rs"]
mod parallel;
#[path = "program/planner.rs"]
mod planner;
#[path = "program/planning.rs"]
mod planning;
#[path = "program/planning_session.rs"]
mod planning_session;
#[path = "program/policy.rs"]
mod policy;
#[path = "program/protocol.rs"]
mod protocol;
#[path = "program/proven.rs"]
mod proven;
#[path = "program/rerun.rs"]
mod rerun;
#[path = "program/review.rs"]
mod review;
#[path = "program/reviewer.rs"]
mod reviewer;
#[path = "program/run.rs"]
mod run;
#[path = "program/run_left.rs"]
mod run_left;
#[path = "program/run_part.rs"]
mod run_part;
#[path = "program/run_status.rs"]
mod run_status;
#[path = "program/run_watched.rs"]
mod run_watched;
#[path = "program/sample.rs"]
mod sample;
#[path = "program/scope.rs"]
mod scope;
#[path = "program/session.rs"]
mod session;
#[path = "program/settings.rs"]
mod settings;
#[path = "program/starters.rs"]
mod starters;
#[path = "program/stats.rs"]
mod stats;
#[path = "program/stop.rs"]
mod stop;
#[path = "../../core/tests/sweep.rs"]
mod sweep;
#[path = "program/terminal.rs"]
mod terminal;
#[path = "program/test_env.rs"]
mod test_env;
#[path = "program/transcript.rs"]
mod transcript;
#[path = "program/unreadable.rs"]
mod unreadable;
#[path = "program/verify.rs"]
mod verify;
#[path = "program/watch.rs"]
mod watch;
#[path = "program/webhook.rs"]
mod webhook;
#[path = "program/workers.rs"]
mod workers;
#[path = "program/worktree.rs"]
mod worktree;
