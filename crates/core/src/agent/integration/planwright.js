// Tells a session of opencode which plan of planwright is active, and again when the session is compacted.
// Written by `planwright init --agents opencode`; `planwright hook` decides what is said.
import { spawn } from "node:child_process";

const WAIT_MS = 10_000;

// What planwright says to an event; nothing where it fails: a session never breaks because of it.
function ask(event, sessionID, directory) {
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
    child.stdin.end(JSON.stringify({ session_id: sessionID, source: "startup" }));
  });
}

export const Planwright = async ({ directory }) => {
  const briefs = new Map();
  return {
    event: async ({ event }) => {
      // What was done meanwhile changes what is to be said.
      if (event.type === "session.compacted" || event.type === "session.deleted") briefs.clear();
    },
    "experimental.chat.system.transform": async (input, output) => {
      const session = input?.sessionID ?? "";
      if (!briefs.has(session)) briefs.set(session, await ask("session-start", session, directory));
      if (briefs.get(session)) output.system.push(briefs.get(session));
    },
    "experimental.session.compacting": async (input, output) => {
      const brief = await ask("pre-compact", input?.sessionID ?? "", directory);
      if (brief) output.context.push(brief);
    },
  };
};
