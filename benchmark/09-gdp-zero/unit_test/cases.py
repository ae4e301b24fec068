"""Labelled inputs for gdp-zero-puct-selection.

Actions of random nodes are clear: the best bound is ahead of the second by much more than rounding. Ties are between
actions with the same numbers, so that they are exact in whatever order a bound is computed.
"""

import copy
import random
from collections.abc import Sequence

import numpy as np
from core.game import SYSTEM_ACTS
from core.helpers import DialogSession
from core.mcts import OpenLoopMCTS
from core.players import DialogPlanner
from lmrbench_cases import compare, core, outcome
from runners.gdpzero import make_game
from utils.utils import default_configs

NODE = "greeting__emotion appeal"


def search_with(
    moves: Sequence[int],
    counts: Sequence[int],
    values: Sequence[float],
    prior: Sequence[float],
    visits: int | None = None,
    cpuct: float = 1.0,
) -> OpenLoopMCTS:
    """A search with one node; counts and values in the order of `moves`, the prior by action id."""
    mcts = OpenLoopMCTS(None, None, default_configs(cpuct=cpuct))
    mcts.valid_moves[NODE] = [int(move) for move in moves]
    mcts.Nsa[NODE] = {int(move): int(count) for move, count in zip(moves, counts, strict=True)}
    mcts.Q[NODE] = {int(move): float(value) for move, value in zip(moves, values, strict=True)}
    mcts.P[NODE] = np.array(prior, dtype=np.float64)
    mcts.Ns[NODE] = int(sum(counts)) if visits is None else visits
    return mcts


def random_node(rng: np.random.Generator, size: int, listed: int) -> dict:
    """Visited node: ids of moves in ascending order, values in [-1, 1], a prior that is 0 where nothing is listed."""
    moves = np.sort(rng.permutation(size)[:listed])
    prior = np.zeros(size)
    prior[moves] = rng.dirichlet(np.ones(listed))
    counts = rng.integers(0, 12, size=listed) + np.eye(listed, dtype=int)[0]
    return {"moves": moves, "counts": counts, "values": rng.uniform(-1, 1, size=listed), "prior": prior}


def selected(*arguments, **options) -> tuple[int, float]:
    action, bound = search_with(*arguments, **options).find_best_action(NODE)
    return int(action), float(bound)


@core
@compare(rtol=1e-6, atol=1e-9)
def case_all_actions_listed(seed):
    """Nodes of 3 to 13 actions, under several constants."""
    rng = np.random.default_rng([1, seed])
    return [selected(**random_node(rng, size, size), cpuct=c) for size in range(3, 14) for c in (0.5, 1.0, 5.0)]


@core
@compare(rtol=1e-6, atol=1e-9)
def case_some_actions_listed(seed):
    """A part of the actions is allowed, so that an id is not a position; all values may be negative."""
    rng = np.random.default_rng([2, seed])
    results = []
    for size in range(4, 14):
        node = random_node(rng, size, listed=int(rng.integers(2, size)))
        results.append(selected(**node))
        results.append(selected(**node | {"values": node["values"] / 4 - 0.75}, cpuct=0.3))
    return results


@core
@compare(rtol=1e-6, atol=1e-9)
def case_exploration_and_exploitation(seed):
    """From greedy to all exploration; a value that was good for long against an action that is rarely tried."""
    rng = np.random.default_rng([3, seed])
    node = random_node(rng, 10, listed=7)
    results = [selected(**node, cpuct=c) for c in (0.0, 0.01, 0.1, 1.0, 2.5, 100.0)]
    values, prior = rng.uniform(-0.2, 0.2, size=3) + [0.6, 0.0, 0.4], rng.dirichlet(np.ones(3))
    results += [selected(range(3), [visits, 1, visits // 2], values, prior, cpuct=0.5) for visits in (4, 100, 2500)]
    return results


@core
@compare(rtol=1e-6, atol=1e-9)
def case_fresh_node(seed):
    """A node that was opened and never left: the prior decides between equal values."""
    rng = np.random.default_rng([4, seed])
    fresh = [random_node(rng, 8, listed=6) | {"counts": [0] * 6, "values": [value] * 6} for value in (0.0, 0.25, 0.5)]
    return [selected(**node, cpuct=c) for node in fresh for c in (0.5, 1.0, 5.0)]


@core
@compare(rtol=1e-6, atol=1e-9)
def case_opened_by_the_planner(seed):
    """Nodes as the repository opens and updates them, with no two priors alike."""
    mcts = OpenLoopMCTS(make_game(seed), DialogPlanner(SYSTEM_ACTS), default_configs(Q_0=(0.0, 0.25, 0.5)[seed % 3]))
    results = []
    for reply, act in (("neutral", 1), ("positive reaction", 3), ("no donation", 6), ("negative reaction", 5)):
        state = DialogSession()
        state.add(DialogSession.SYS, SYSTEM_ACTS[act], "...")
        state.add(DialogSession.USR, reply, "...")
        mcts._init_node(state)
        node = state.sys_act_key()
        prior = mcts.P[node] * (1 + np.random.default_rng([5, seed, act]).permutation(8) / 50)
        mcts.P[node] = prior / prior.sum()
        for value in (-0.4, 0.1, 0.9, 0.3):
            action, bound = mcts.find_best_action(node)
            results.append((int(action), float(bound)))
            mcts._update(node, action, value)
    return results


class RandomPlanner(DialogPlanner):
    """Priors and values that depend on the acts so far and have nothing in common, so that no bounds come close."""

    def __init__(self, seed: int) -> None:
        super().__init__(SYSTEM_ACTS)
        self.seed = seed

    def predict(self, state: DialogSession) -> tuple[np.ndarray, float]:
        rng = random.Random(f"{self.seed} {state.sys_act_key()}")
        prior = np.array([rng.uniform(0.05, 1.0) for _ in SYSTEM_ACTS])
        return prior / prior.sum(), rng.uniform(-1, 1)


@core
@compare(rtol=1e-6, atol=1e-9)
def case_whole_search(seed):
    """Visits and values after 60 simulations of a seeded game."""
    results = []
    for cpuct, q_0 in ((1.0, 0.25), (3.0, 0.0)):
        mcts = OpenLoopMCTS(make_game(seed), RandomPlanner(seed), default_configs(cpuct=cpuct, Q_0=q_0), seed)
        state = mcts.game.get_next_state(DialogSession(), 0)
        values = [mcts.search(state) for _ in range(60)]
        results.append({"values": values, "visits": mcts.Nsa, "Q": mcts.Q["greeting"], "N": mcts.Ns})
    return results


@compare(rtol=1e-12, atol=1e-13)
def case_double_precision(seed):
    """Bounds to the last digits, also where few visits make a stand-in for none of them show."""
    rng = np.random.default_rng([7, seed])
    return [selected(**random_node(rng, 6, 5), cpuct=c) for c in (0.3, 1.0, 400.0)]


@compare(rtol=1e-12, atol=1e-13)
def case_ties(seed):
    """The first of the list wins among equals, whatever its id; visited, fresh and greedy."""
    rng = np.random.default_rng([8, seed])
    prior, results = np.full(7, 1 / 7), []
    for _ in range(4):
        moves = rng.permutation(7)
        results.append(selected(moves, [3] * 7, [0.5] * 7, prior))
        results.append(selected(moves, [0] * 7, [0.25] * 7, prior))
        results.append(selected(moves, [5] * 7, [0.1, 0.3, 0.2, 0.3, 0.3, 0, 0], prior))
        results.append(selected(moves[:2], [1, 7], [0.5, 0.5], prior, cpuct=0.0))
    return results


@compare(rtol=1e-12, atol=1e-13)
def case_inconsistent_nodes(seed):
    """The node's own counter counts; unlisted actions never win, even if they have a prior, edges and values."""
    node = random_node(np.random.default_rng([9, seed]), 8, listed=8)
    results = [selected(**node, visits=visits) for visits in (0, 1, 7, 50, 400)]
    mcts = search_with(**node)
    mcts.valid_moves[NODE] = mcts.valid_moves[NODE][5:2:-1]
    return [*results, mcts.find_best_action(NODE)]


@compare(rtol=1e-12, atol=1e-13)
def case_nothing_to_choose(seed):
    """An empty list; a node that was never opened."""
    mcts = search_with([], [], [], np.full(4, 0.25), visits=seed)
    full = search_with(**random_node(np.random.default_rng([10, seed]), 5, 4))
    return [
        mcts.find_best_action(NODE),
        outcome(mcts.find_best_action, "greeting", errors=KeyError),
        full.find_best_action(NODE),
        sorted(mcts.Ns),
    ]


@compare(exact=True)
def case_reads_only(seed):
    """Tree, options and generators are the same afterwards; the constant is the one of the moment."""
    mcts = search_with(**random_node(np.random.default_rng([11, seed]), 9, listed=6))
    before = copy.deepcopy(vars(mcts))
    generators = random.getstate(), np.random.get_state()[1].tolist(), mcts.rng.bit_generator.state
    actions = []
    for cpuct in (1.0, 50.0, 1.0):
        mcts.configs.cpuct = cpuct
        actions.append(mcts.find_best_action(NODE)[0])
    after = random.getstate(), np.random.get_state()[1].tolist(), mcts.rng.bit_generator.state
    tree = {name: getattr(mcts, name) for name in ("valid_moves", "Ns", "Nsa", "Q", "P", "realizations")}
    return actions, tree, generators == after, sorted(before) == sorted(vars(mcts))
