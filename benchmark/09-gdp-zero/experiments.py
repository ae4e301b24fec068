"""Tables of a small replication: searches from several dialogues, under several settings."""

import random

import numpy as np
from core.game import SYSTEM_ACTS
from core.helpers import USER_ACTS, DialogSession
from core.mcts import OpenLoopMCTS
from core.players import DialogPlanner
from runners.gdpzero import make_game
from utils.utils import default_configs

#: Row -> options of the search, and number of simulations.
SETTINGS = {
    "c_p 1, k 3, 15 simulations": ({"cpuct": 1.0, "realizations": 3}, 15),
    "c_p 1, k 3, 60 simulations": ({"cpuct": 1.0, "realizations": 3}, 60),
    "c_p 3, k 1, 40 simulations": ({"cpuct": 3.0, "realizations": 1}, 40),
    "c_p 3, k 6, 40 simulations": ({"cpuct": 3.0, "realizations": 6, "Q_0": 0.0}, 40),
    "c_p 8, k 2, 60 simulations": ({"cpuct": 8.0, "realizations": 2, "Q_0": 0.5}, 60),
}
#: Replies to the greeting, from which the searches start.
REPLIES = ("neutral", "positive reaction", "negative reaction")


class WeighingPlanner(DialogPlanner):
    """A planner whose answers carry weights, which the acts so far and the last reply decide."""

    def _weights(self, kind: str, state: DialogSession, size: int) -> np.ndarray:
        rng = random.Random(f"{kind} {state.sys_act_key()} {state.last_act(DialogSession.USR)}")
        return np.array([rng.uniform(0.2, 4) for _ in range(size)])

    def count_acts(self, state: DialogSession) -> np.ndarray:
        return self._weights("acts", state, len(SYSTEM_ACTS)) ** 2 + super().count_acts(state)

    def count_replies(self, state: DialogSession) -> np.ndarray:
        return self._weights("replies", state, len(USER_ACTS)) + super().count_replies(state)


def table_search() -> dict[str, dict[str, float]]:
    """Outcomes of searches from three dialogues, relative to the column's mean.

    Columns: the entropy of the shares; prior and success, (1 + Q) / 2, that the shares lead one to expect; and the best
    bound of the root, relative to the mean of the expected success.
    """
    planner = WeighingPlanner(SYSTEM_ACTS)
    table = {}
    for name, (options, simulations) in SETTINGS.items():
        cells = dict.fromkeys(("entropy", "prior", "success", "bound"), 0.0)
        for number, reply in enumerate(REPLIES):
            root = DialogSession()
            root.add(DialogSession.SYS, "greeting", "Hello.")
            root.add(DialogSession.USR, reply, "Hello.")
            mcts = OpenLoopMCTS(make_game([17, number]), planner, default_configs(**options), number)
            for _ in range(simulations + 1):
                mcts.search(root)
            node = root.sys_act_key()
            moves = mcts.valid_moves[node]
            shares = mcts.get_action_prob(root)[moves]
            values = np.array([mcts.Q[node][action] for action in moves])
            cells["entropy"] -= float(np.log(shares[shares > 0]) @ shares[shares > 0])
            cells["prior"] += float(shares @ mcts.P[node][moves])
            cells["success"] += float(shares @ (1 + values)) / 2
            cells["bound"] += mcts.find_best_action(node)[1]
        table[name] = cells
    rows = list(table.values())
    means = {column: sum(row[column] for row in rows) / len(rows) for column in rows[0]}
    means["bound"] = means["success"]
    return {name: {column: value / means[column] for column, value in row.items()} for name, row in table.items()}
