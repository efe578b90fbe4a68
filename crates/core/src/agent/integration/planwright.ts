// Tells a session of pi which plan of planwright is active, and again after the session was compacted; holds it back a few times where
// the contract of its step fails and the user wants that. Written by `planwright init --agents pi`; `planwright hook` decides.
import { spawn } from "node:child_process";

const BRIEF_MS = 10_000;
const CONTRACT_MS = 300_000;

// What planwright says to an event; nothing where it fails: a session never breaks because of it.
function ask(event: string, about: object, ctx: any, wait: number): Promise<string> {
  return new Promise((resolve) => {
    let said = "";
    const child = spawn("planwright", ["hook", event], {
      cwd: ctx?.cwd ?? process.cwd(),
      stdio: ["pipe", "pipe", "ignore"],
      timeout: wait,
    });
    child.on("error", () => resolve(""));
    child.stdout.on("data", (chunk) => (said += chunk));
    child.on("close", (code) => resolve(code === 0 ? said.trim() : ""));
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ session_id: ctx?.sessionManager?.getSessionId?.() ?? "", ...about }));
  });
}

export default function (pi: any) {
  // Why the plan is to be told with the next prompt; nothing: it was told.
  let due: string | undefined = "startup";
  let isHeld = false;
  pi.on("session_start", async () => {
    due = "startup";
  });
  pi.on("session_compact", async () => {
    due = "compact";
  });
  pi.on("before_agent_start", async (_event: any, ctx: any) => {
    isHeld = false;
    if (!due) return;
    const brief = await ask("session-start", { source: due }, ctx, BRIEF_MS);
    due = undefined;
    if (brief) return { message: { customType: "planwright", content: brief, display: false } };
  });
  pi.on("agent_before_settle", async (event: any, ctx: any) => {
    const said = await ask("stop", { stop_hook_active: isHeld }, ctx, CONTRACT_MS);
    if (!said.includes('"block"')) return;
    isHeld = true;
    const content = JSON.parse(said).reason;
    const entry = { type: "custom_message", customType: "planwright", content, display: true };
    return { entries: [...(event.entries ?? []), entry], continue: true };
  });
}
