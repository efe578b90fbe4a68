//! The question before a tool call, answered by the scope of the attempt; in a person's session, by the
//! guarded tools. What cannot be determined is refused where a scope was given, and allowed where none was.

use std::path::Path;

use planwright_core::agent::permission;
use planwright_core::agent::permission::{
    Decision, PathPlace, PermissionMode, Permissions, RefusedCall, ToolCall,
};
use serde_json::Value;

use super::HookReply;
use crate::run::permission::{guard_file, guard_of, note, of_process, real};
use crate::store::state_dir;
use crate::system::clock;
use crate::system::process;
use crate::workspace::project::Project;

/// Whether a tool may be called.
pub(super) fn answer(input: Result<Value, String>, folder: &Path, complaints: &mut Vec<String>) -> HookReply {
    let call = input.and_then(|input| ToolCall::read(&input));
    match of_process() {
        Some(Ok((scope, notes))) => {
            let ruling = match &call {
                Ok(call) => permission::ruling(&scope, &followed(call.clone(), &scope, folder)),
                Err(why) => permission::ruling_of_rubbish(scope.mode, why),
            };
            settle(ruling, call.as_ref().ok(), &notes, complaints)
        }
        Some(Err(error)) => HookReply::Refuse(format!(
            "cannot read the scope of this attempt ({error}), so nothing is allowed"
        )),
        None => match call {
            Ok(call) => guarded(&call, folder, complaints),
            Err(_) => HookReply::Pass,
        },
    }
}

/// Answers for a session without a plan.
fn guarded(call: &ToolCall, folder: &Path, complaints: &mut Vec<String>) -> HookReply {
    // Everything that planwright started has a plan.
    if process::job_above().is_some() {
        return HookReply::Pass;
    }
    let project = match Project::find_with(folder, &[]) {
        Ok(project) => project,
        Err(error) => {
            complaints.push(format!("tools are not guarded: {error}"));
            return HookReply::Pass;
        }
    };
    let (guard, fault) = guard_of(&project);
    complaints
        .extend(fault.map(|error| format!("{}: {error}", crate::workspace::project::PROPOSAL_SETTINGS)));
    let ruling = guard.ruling(call);
    if ruling == Decision::Allowed {
        return HookReply::Pass;
    }
    let notes = state_dir::of_project(&project.root)
        .and_then(|states| state_dir::create(&states).map(|()| guard_file(&states)));
    match notes {
        Ok(notes) => settle(ruling, Some(call), &notes, complaints),
        Err(error) => {
            complaints.push(error.to_string());
            reply(ruling)
        }
    }
}

/// Logs a call out of scope, and answers.
fn settle(
    ruling: Decision,
    call: Option<&ToolCall>,
    notes: &Path,
    complaints: &mut Vec<String>,
) -> HookReply {
    let (mode, why) = match &ruling {
        Decision::Allowed => return HookReply::Pass,
        Decision::Noted(why) => (PermissionMode::Log, why),
        Decision::Denied(why) => (PermissionMode::Block, why),
    };
    let tool = call.map(|call| call.tool.clone()).unwrap_or_default();
    let refused = RefusedCall {
        at_ms: clock::now(),
        tool,
        why: why.clone(),
        is_blocked: mode == PermissionMode::Block,
    };
    if let Err(error) = note(notes, &refused) {
        complaints.push(format!("cannot record this: {error}"));
    }
    reply(ruling)
}

fn reply(ruling: Decision) -> HookReply {
    match ruling {
        Decision::Allowed | Decision::Noted(_) => HookReply::Pass,
        Decision::Denied(why) => HookReply::Refuse(why),
    }
}

/// The call with links resolved: a path means its target, and keeps its name if that is in the workspace.
pub(crate) fn followed(call: ToolCall, scope: &Permissions, folder: &Path) -> ToolCall {
    let folder = match call.folder.as_str() {
        "" => real(folder),
        said => real(Path::new(said)),
    };
    let folder = folder.to_string_lossy().into_owned();
    let mut paths = Vec::new();
    for path in &call.paths {
        let place = PathPlace::of(&scope.root, &folder, path);
        let whole = match &place {
            PathPlace::Inside(inner) => Path::new(&scope.root).join(inner),
            PathPlace::Outside(whole) => whole.into(),
        };
        paths.push(real(&whole).to_string_lossy().into_owned());
        if matches!(place, PathPlace::Inside(_)) {
            paths.push(whole.to_string_lossy().into_owned());
        }
    }
    ToolCall { folder, paths, ..call }
}
