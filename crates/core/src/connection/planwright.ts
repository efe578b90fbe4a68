// Tells a session of pi which plan of planwright is active, and again after the session was compacted.
// Written by `planwright init --agents pi`; `planwright hook` decides what is said.
import { spawn } from "node:child_process";

const WAIT_MS = 10_000;

// What planwright says to an event; nothing where it fails: a session never breaks because of it.
function ask(event: string, source: string, directory: string): Promise<string> {
  return new Promise((resolve) => {
    let said = "";
    const child = spawn("planwright", ["hook", event], {
      cwd: directory,
      stdio: ["pipe", "pipe", "ignore"],
      timeout: WAIT_MS,
    });
    child.on("error", () => resolve(""));
    child.stdout.on("data", (chunk) => (said += chunk));
    child.on("close", (code) => resolve(code === 0 ? said.trim() : ""));
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify({ session_id: "pi", source }));
  });
}

export default function (pi: any) {
  // Why the plan is to be told with the next prompt; nothing: it was told.
  let due: string | undefined = "startup";
  pi.on("session_start", async () => {
    due = "startup";
  });
  pi.on("session_compact", async () => {
    due = "compact";
  });
  pi.on("before_agent_start", async (_event: any, ctx: any) => {
    if (!due) return;
    const brief = await ask("session-start", due, ctx?.cwd ?? process.cwd());
    due = undefined;
    if (brief) return { message: { customType: "planwright", content: brief, display: false } };
  });
}
