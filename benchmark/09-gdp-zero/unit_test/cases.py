"""Labelled inputs for gdp-zero-puct-selection.

Actions of random nodes are clear: the best score is ahead of the second by much more than rounding. Ties are between
actions with the same numbers, so that they are exact in whatever order a score is computed.
"""

import copy
import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from core.game import SYSTEM_ACTS
from core.helpers import DialogSession
from core.mcts import OpenLoopMCTS
from core.players import DialogPlanner
from lmrbench_cases import compare, outcome
from runners.gdpzero import make_game
from utils.utils import default_configs

NODE = "greeting__emotion appeal"
EXACT_TO_ROUNDING = {"rtol": 1e-12, "atol": 1e-13}


def search_with(
    moves: Sequence[int],
    counts: Sequence[int],
    values: Sequence[float],
    prior: Sequence[float],
    *,
    visits: int | None = None,
    cpuct: float = 1.0,
) -> OpenLoopMCTS:
    """A search with one node; counts and values in the order of `moves`, the prior by action id."""
    mcts = OpenLoopMCTS(None, None, default_configs(cpuct=cpuct))
    add_node(mcts, NODE, moves, counts, values, prior, visits)
    return mcts


def add_node(
    mcts: OpenLoopMCTS,
    node: str,
    moves: Sequence[int],
    counts: Sequence[int],
    values: Sequence[float],
    prior: Sequence[float],
    visits: int | None = None,
) -> None:
    mcts.valid_moves[node] = [int(move) for move in moves]
    mcts.Nsa[node] = {int(move): int(count) for move, count in zip(moves, counts, strict=True)}
    mcts.Q[node] = {int(move): float(value) for move, value in zip(moves, values, strict=True)}
    mcts.P[node] = np.array(prior, dtype=np.float64)
    mcts.Ns[node] = int(sum(counts)) if visits is None else visits


def random_node(rng: np.random.Generator, size: int, listed: int | None = None) -> dict[str, Any]:
    """Moves in any order, counts, values in [-1, 1], a prior that is 0 for actions that are not listed."""
    moves = rng.permutation(size)[:listed]
    prior = np.zeros(size)
    prior[moves] = rng.dirichlet(np.ones(len(moves)))
    counts = rng.integers(0, 12, size=len(moves))
    return {"moves": moves, "counts": counts, "values": rng.uniform(-1, 1, size=len(moves)), "prior": prior}


@compare(**EXACT_TO_ROUNDING)
def case_random_nodes(seed):
    """Consistent nodes of 3 to 13 actions, some or all of them listed, under several constants."""
    rng = np.random.default_rng([1, seed])
    results = []
    for size in range(3, 14):
        for cpuct in (0.5, 1.0, 5.0):
            node = random_node(rng, size, listed=int(rng.integers(2, size + 1)))
            results.append(search_with(**node, cpuct=cpuct).find_best_action(NODE))
    return results


@compare(**EXACT_TO_ROUNDING)
def case_fresh_node(seed):
    """No visits yet: the prior decides between equal values, and between no others."""
    rng = np.random.default_rng([2, seed])
    results = {}
    for value in (0.0, 0.25, 0.5, -1.0):
        for cpuct in (0.5, 1.0, 5.0):
            node = random_node(rng, 8, listed=6) | {"counts": [0] * 6, "values": [value] * 6}
            results[f"{value}, {cpuct}"] = search_with(**node, cpuct=cpuct).find_best_action(NODE)
    prior = [0.0, 0.9, 0.05, 0.05]
    results["other values"] = search_with([1, 2, 3], [0] * 3, [0.25, 0.26, 0.25], prior).find_best_action(NODE)
    results["slightly other values"] = search_with([2, 1, 3], [0] * 3, [2e-4, 1.5e-4, 0], prior).find_best_action(NODE)
    return results


@compare(**EXACT_TO_ROUNDING)
def case_ties(seed):
    """The first of the list wins among equals, whatever its id; all equal, some equal, equal at a fresh node."""
    rng = np.random.default_rng([3, seed])
    results = []
    for _ in range(6):
        moves = rng.permutation(7)
        prior = np.full(7, 1 / 7)
        results.append(search_with(moves, [3] * 7, [0.5] * 7, prior).find_best_action(NODE))
        results.append(search_with(moves, [0] * 7, [0.25] * 7, prior).find_best_action(NODE))
        results.append(search_with(moves, [0, 4, 1, 1, 4, 1, 9], [0.1] * 7, prior, cpuct=2.0).find_best_action(NODE))
        results.append(search_with(moves, [5] * 7, [0.1, 0.3, 0.2, 0.3, 0.3, 0, 0], prior).find_best_action(NODE))
    results.append(search_with([6, 2], [1, 7], [0.5, 0.5], prior, cpuct=0.0).find_best_action(NODE))
    return results


@compare(**EXACT_TO_ROUNDING)
def case_part_of_the_actions(seed):
    """Actions that are not listed never win, even with the largest prior; ids are not positions in the list."""
    rng = np.random.default_rng([4, seed])
    results = []
    for listed in (1, 2, 3, 5):
        node = random_node(rng, 9, listed=listed)
        outside = np.setdiff1d(np.arange(9), node["moves"])
        node["prior"][outside] = rng.uniform(1, 50, size=len(outside))
        results.append(search_with(**node).find_best_action(NODE))
        node["counts"] = np.zeros(listed, dtype=int)
        results.append(search_with(**node).find_best_action(NODE))
    results.append(search_with([8], [2], [-0.5], np.arange(9) / 36).find_best_action(NODE))
    return results


@compare(**EXACT_TO_ROUNDING)
def case_edges_of_unlisted_actions(seed):
    """Counts and values may know more actions than are listed, in another order."""
    rng = np.random.default_rng([5, seed])
    mcts = search_with(**random_node(rng, 8))
    mcts.Q[NODE][int(mcts.valid_moves[NODE][0])] = 40.0
    results = [mcts.find_best_action(NODE)]
    mcts.valid_moves[NODE] = mcts.valid_moves[NODE][1:5]
    results.append(mcts.find_best_action(NODE))
    mcts.valid_moves[NODE].reverse()
    return [*results, mcts.find_best_action(NODE)]


@compare(**EXACT_TO_ROUNDING)
def case_stored_visits(seed):
    """The node's own counter decides, above or below the sum over its edges, and 0 although edges were followed."""
    rng = np.random.default_rng([6, seed])
    node = random_node(rng, 6)
    results = {}
    for visits in (0, 1, 2, 7, 50, 400, 10**6):
        results[f"{visits}"] = search_with(**node, visits=visits).find_best_action(NODE)
        results[f"{visits}, no edge"] = search_with(**node | {"counts": [0] * 6}, visits=visits).find_best_action(NODE)
    return results


@compare(**EXACT_TO_ROUNDING)
def case_exploration_and_exploitation(seed):
    """From greedy (c = 0) to all exploration; a prior of 0; negative values; a rarely tried action that catches up."""
    rng = np.random.default_rng([7, seed])
    node = random_node(rng, 10, listed=7)
    results = {f"c = {c}": search_with(**node, cpuct=c).find_best_action(NODE) for c in (0, 0.0, 0.01, 1, 2.5, 1e4)}
    negative = node | {"values": rng.uniform(-1, -0.5, size=7)}
    results["negative"] = search_with(**negative, cpuct=0.1).find_best_action(NODE)
    results["no prior"] = search_with([0, 1, 2], [0, 5, 9], [0.1, -0.2, 0.3], [0, 1, 0]).find_best_action(NODE)
    for visits in (4, 100, 2500):
        counts = [visits, 1, visits // 2]
        results[f"catching up, {visits}"] = search_with(
            [4, 2, 0], counts, [0.6, 0.0, 0.4], [0.2, 0, 0.1, 0, 0.7], cpuct=0.5
        ).find_best_action(NODE)
    return results


@compare(**EXACT_TO_ROUNDING)
def case_nothing_to_choose(seed):
    """An empty list; scores that are not numbers, or infinite."""
    nan, inf, prior = math.nan, math.inf, np.full(4, 0.25)
    order = np.random.default_rng([8, seed]).permutation(4)
    all_values = {
        "nan first": [nan, 0.1, 0.3, 0.2],
        "nan last": [0.1, 0.3, 0.2, nan],
        "one number": [nan, nan, -7.0, nan],
        "all nan": [nan] * 4,
        "all minus infinity": [-inf] * 4,
        "nan and minus infinity": [nan, -inf, -inf, nan],
        "minus infinity": [-inf, -3.0, -inf, -2.0],
        "infinity": [0.5, inf, nan, inf],
    }
    results = {}
    for name, values in all_values.items():
        results[name] = search_with(order, [1] * 4, values, prior).find_best_action(NODE)
    results["empty"] = search_with([], [], [], prior).find_best_action(NODE)
    results["empty, visited"] = search_with([], [], [], prior, visits=5).find_best_action(NODE)
    results["prior nan"] = search_with([1, 0, 3], [0, 2, 1], [0.9, 0.1, 0.2], [0.2, nan, 0.3, 0.5]).find_best_action(
        NODE
    )
    return results


@compare(exact=True)
def case_unknown_node(seed):
    """A node that was never opened, next to one that was."""
    mcts = search_with(**random_node(np.random.default_rng([9, seed]), 4))
    empty = OpenLoopMCTS(None, None, default_configs())
    return [
        outcome(mcts.find_best_action, "greeting", errors=KeyError),
        outcome(mcts.find_best_action, "", errors=KeyError),
        outcome(empty.find_best_action, NODE, errors=KeyError),
        sorted(mcts.Ns),
        sorted(empty.P),
    ]


@compare(**EXACT_TO_ROUNDING)
def case_several_nodes_and_constants(seed):
    """Each node has its own numbers, and the constant is the one of the moment."""
    rng = np.random.default_rng([10, seed])
    mcts = OpenLoopMCTS(None, None, default_configs())
    nodes = ["", "greeting", "greeting__other", "greeting__other__other", "other"]
    for node in nodes:
        add_node(mcts, node, **random_node(rng, 8, listed=int(rng.integers(1, 9))))
    results = {}
    for cpuct in (1.0, 0.3, 4, 1.0):
        mcts.configs.cpuct = cpuct
        results |= {f"{node}, {cpuct}": mcts.find_best_action(node) for node in nodes}
    return results


@compare(exact=True)
def case_reads_only(seed):
    """Tree, options and generators are the same afterwards, and a second call says the same."""
    mcts = search_with(**random_node(np.random.default_rng([11, seed]), 9, listed=6), visits=seed)
    names = ("valid_moves", "Ns", "Nsa", "Q", "P", "configs", "realizations", "realization_values")
    before = {name: copy.deepcopy(getattr(mcts, name)) for name in names}

    def states() -> tuple[Any, ...]:
        return random.getstate(), np.random.get_state()[1].tolist(), copy.deepcopy(mcts.rng.bit_generator.state)

    generators = states()
    results = [mcts.find_best_action(NODE) for _ in range(3)]
    return {
        "same_answers": results[0] == results[1] == results[2],
        "action": results[0][0],
        "tree": {name: getattr(mcts, name) for name in names},
        "order_of_edges": [list(mcts.Nsa[NODE]), list(mcts.Q[NODE])],
        "same_keys": all(list(before[name]) == list(getattr(mcts, name)) for name in names),
        "same_generators": generators == states(),
        "attributes": sorted(vars(mcts)),
    }


@compare(**EXACT_TO_ROUNDING)
def case_opened_by_the_planner(seed):
    """Nodes as the repository opens them, from annotated dialogues, before and after some visits."""
    mcts = OpenLoopMCTS(make_game(seed), DialogPlanner(SYSTEM_ACTS), default_configs(Q_0=(0.0, 0.25, 0.5)[seed % 3]))
    results = []
    for reply, act in (("neutral", 0), ("positive reaction", 3), ("no donation", 6), ("negative reaction", 5)):
        state = DialogSession()
        state.add(DialogSession.SYS, SYSTEM_ACTS[act], "...")
        state.add(DialogSession.USR, reply, "...")
        mcts._init_node(state)
        node = state.sys_act_key()
        prior = mcts.P[node] * (1 + np.arange(8) / 100)  # no two alike
        mcts.P[node] = prior / prior.sum()
        for value in (None, -0.4, 0.1, 0.9):
            action, bound = mcts.find_best_action(node)
            results.append((action, bound))
            if value is not None:
                mcts._update(node, action, value)
        results.append(mcts.find_best_action(node))
    return results


class RandomPlanner(DialogPlanner):
    """Priors and values that depend on the acts so far and have nothing in common, so that no scores come close."""

    def __init__(self, seed: int) -> None:
        super().__init__(SYSTEM_ACTS)
        self.seed = seed

    def predict(self, state: DialogSession) -> tuple[np.ndarray, float]:
        rng = random.Random(f"{self.seed} {state.sys_act_key()}")
        prior = np.array([rng.uniform(0.05, 1.0) for _ in SYSTEM_ACTS])
        return prior / prior.sum(), rng.uniform(-1, 1)


@compare(rtol=1e-9, atol=1e-12)
def case_whole_search(seed):
    """Visits and values at the root and below after 60 simulations of a seeded game."""
    results = {}
    for cpuct, q_0 in ((1.0, 0.25), (3.0, 0.0)):
        mcts = OpenLoopMCTS(make_game(seed), RandomPlanner(seed), default_configs(cpuct=cpuct, Q_0=q_0), seed)
        state = mcts.game.get_next_state(DialogSession(), 0)
        values = [mcts.search(state) for _ in range(60)]
        results[f"{cpuct}, {q_0}"] = {"values": values, "visits": mcts.Nsa, "Q": mcts.Q["greeting"], "N": mcts.Ns}
    return results
