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
#[path = "program/binding.rs"]
mod binding;
#[path = "program/client.rs"]
mod client;
mod clients;
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
#[path = "program/crowd.rs"]
mod crowd;
#[path = "program/desk.rs"]
mod desk;
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
#[path = "../../core/tests/extent.rs"]
mod extent;
#[path = "program/figures.rs"]
mod figures;
#[path = "program/follow.rs"]
mod follow;
#[path = "program/forged.rs"]
mod forged;
#[path = "program/found.rs"]
mod found;
#[path = "program/graphs.rs"]
mod graphs;
#[path = "program/hook.rs"]
mod hook;
#[path = "program/hostile.rs"]
mod hostile;
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
#[path = "program/place.rs"]
mod place;
#[path = "program/planner.rs"]
mod planner;
#[path = "program/planning.rs"]
mod planning;
#[path = "program/policy.rs"]
mod policy;
#[path = "program/protocol.rs"]
mod protocol;
#[path = "program/red.rs"]
mod red;
#[path = "program/rerun.rs"]
mod rerun;
#[path = "program/review.rs"]
mod review;
#[path = "program/run.rs"]
mod run;
#[path = "program/run_left.rs"]
mod run_left;
#[path = "program/run_part.rs"]
mod run_part;
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
#[path = "program/standing.rs"]
mod standing;
#[path = "program/stop.rs"]
mod stop;
#[path = "program/terminal.rs"]
mod terminal;
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
