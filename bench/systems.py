"""The ways to carry out the same steps that are compared, each with how it is made ready, started and measured.

Every system runs the same two commands for a step, `bash -euo pipefail -c TASK` and `bash -euo pipefail -c CONTRACT`, in the
same folder with the same environment. What they do besides that is what is measured.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
DBOS_VERSION = "3.3.0"
PLAN_BYTES_MAX = 64 << 20


@dataclass(frozen=True)
class Work:
    """What is to be done: so many steps, each with this task and this contract."""

    steps: int
    task: str
    contract: str


class System:
    """A way to carry out work in a folder of its own. Started a second time it goes on where it was."""

    name: str
    note: str

    def prepare(self, work: Work, folder: Path, env: dict[str, str]) -> list[str]:
        """Makes the folder ready and returns the command line that does the work."""
        raise NotImplementedError

    def record(self, folder: Path) -> list[Path]:
        """Where the record of what was done lies."""
        raise NotImplementedError


class Bare(System):
    name = "bare"
    note = "the commands alone, started as cheaply as it goes, nothing recorded"

    def prepare(self, work, folder, env):
        return [sys.executable, "-I", "-S", str(HERE / "bare.py"), str(work.steps), work.task, work.contract]

    def record(self, folder):
        return []


class Loop(System):
    name = "loop"
    note = "a bash loop with a line and an fdatasync for each step"

    def prepare(self, work, folder, env):
        return ["bash", str(HERE / "loop"), str(work.steps), work.task, work.contract, str(folder / "log")]

    def record(self, folder):
        return [folder / "log"]


class Make(System):
    name = "make"
    note = "a target and a stamp file for each step, nothing synced"

    def prepare(self, work, folder, env):
        names = [f"stamp/{step}" for step in range(1, work.steps + 1)]
        rules = [f"{name}:\n\t@{work.task}\n\t@{work.contract} && : >$@\n" for name in names]
        head = f"SHELL := bash\n.SHELLFLAGS := -euo pipefail -c\nall: {' '.join(names)}\n"
        (folder / "stamp").mkdir()
        (folder / "Makefile").write_text(head + "".join(rules))
        return ["make", "--no-print-directory", "all"]

    def record(self, folder):
        return [folder / "stamp"]


class Dbos(System):
    name = "dbos"
    note = f"DBOS {DBOS_VERSION} (Python) on SQLite, a step function for each step"

    def __init__(self, python: Path):
        self.python = python

    def prepare(self, work, folder, env):
        script, database = str(HERE / "dbos_steps.py"), str(folder / "dbos.sqlite")
        return [str(self.python), script, str(work.steps), work.task, work.contract, database]

    def record(self, folder):
        return sorted(folder.glob("dbos.sqlite*"))


class Planwright(System):
    name = "planwright"
    note = "planwright run: intent, agent, contract, verdict, mark"

    def __init__(self, program: Path):
        self.program = program

    def prepare(self, work, folder, env):
        (folder / "planwright.toml").write_text(f"[limits]\nplan_bytes = {PLAN_BYTES_MAX}\n")
        (folder / "plans").mkdir()
        (folder / "plans" / "bench.md").write_text(plan(work))
        dry = subprocess.run(
            [self.program, "run", "bench", "--dry-run", "--json"],
            cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
        )
        digest = json.loads(dry.stdout)["data"]["digest"]
        return [str(self.program), "run", "bench", "--rev", digest]

    def record(self, folder):
        return [folder / "state"]


def plan(work: Work) -> str:
    """The work as a plan in the native dialect."""
    head = "---\ntype: plan\nstatus: draft\nowner: bench\n---\n\n# Bench\n\n**Context:** A benchmark.\n\n## Steps\n"
    steps = (
        f"\n### {step}. Step {step}\n\n**id:** s{step}\n**target:** shell\n**touches:**\n- seen\n\n"
        f"**task:**\n```sh\n{work.task}\n```\n\n**contract:**\n```shell\n{work.contract}\n```\n"
        f"exit_code == 0\n**on_fail:** escalate\n"
        for step in range(1, work.steps + 1)
    )
    return head + "".join(steps)


def record_bytes(paths: list[Path]) -> int:
    """How much the record takes on the disk."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*"))]
    return sum(os.lstat(file).st_size for file in files if file.is_file() or file.is_symlink())
