"""A plan as a DBOS workflow on SQLite: one step function for each step, which runs the same two commands.

    python dbos_steps.py STEPS TASK CONTRACT DATABASE

Started again it goes on where the database ends. Everything but the log level is as DBOS ships it.
"""

import subprocess
import sys

from dbos import DBOS, SetWorkflowID

steps, task, contract, database = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
DBOS(config={"name": "bench", "system_database_url": f"sqlite:///{database}", "log_level": "ERROR"})


@DBOS.step()
def do(step: int) -> str:
    for command in (task, contract):
        subprocess.run(["bash", "-euo", "pipefail", "-c", command], check=True)
    return f"{step} passed"


@DBOS.workflow()
def plan(count: int) -> int:
    for step in range(1, count + 1):
        do(step)
    return count


DBOS.launch()
with SetWorkflowID("plan"):
    handle = DBOS.start_workflow(plan, steps)
assert handle.get_result() == steps
DBOS.destroy()
