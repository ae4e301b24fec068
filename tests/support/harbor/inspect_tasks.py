"""Run a folder of Harbor's tasks in Inspect, with the reference and without an answer; print the rewards as JSON."""

import json
import sys

from inspect_ai import eval
from inspect_ai.solver import solver
from inspect_harbor import harbor, oracle


@solver
def idle():
    async def solve(state, generate):
        return state

    return solve


found = {}
for name, agent in (("oracle", oracle()), ("nop", idle())):
    [log] = eval(harbor(path=sys.argv[1]), solver=agent, model="mockllm/model", log_dir=sys.argv[2], display="none")
    found[name] = {
        str(sample.id): score.metadata["reward_dict"]
        for sample in log.samples or ()
        for score in (sample.scores or {}).values()
    }
print(json.dumps(found))
