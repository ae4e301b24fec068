"""Labelled inputs for gdp-zero-method: each masked function, and two experiments that search and play.

Numbers are generic: no two priors, values or bounds are alike, so that no rounding decides what is selected.
"""

import random

import numpy as np
from core.game import SYSTEM_ACTS, USER_ACTS
from core.helpers import DialogSession
from core.mcts import OpenLoopMCTS, action_weights, edge_values, upper_bound
from core.players import DialogPlanner, prior_policy, state_value
from core.realizations import realization_limit, wording_score
from lmrbench_cases import compare, experiment, goal
from runners.gdpzero import make_game, plan
from utils.utils import default_configs

NODE = "greeting__emotion appeal"


def numbers(array) -> list[float]:
    return [float(number) for number in array]


@goal("prior_policy")
@compare(rtol=1e-9, atol=1e-12)
def case_prior(seed):
    """Few answers and many, whole and weighted; acts that nobody named."""
    rng = np.random.default_rng([21, seed])
    counts = [rng.integers(0, 6, size=size).astype(np.float64) for size in (3, 8, 13)]
    counts += [rng.exponential(2.0, size=8) * (rng.random(8) < 0.6) for _ in range(4)]
    counts += [np.eye(8)[seed % 8] * 15, np.zeros(5 + seed % 8)]
    return [numbers(prior_policy(count)) for count in counts]


@goal("state_value")
@compare(rtol=1e-9, atol=1e-12)
def case_value(seed):
    """Answers of every kind, of one kind, and none."""
    rng = np.random.default_rng([22, seed])
    counts = [rng.integers(0, 9, size=5).astype(np.float64) + np.eye(5)[seed % 5] for _ in range(4)]
    counts += [rng.exponential(1.0, size=5) * scale for scale in (0.2, 1.0, 30.0)]
    counts += [row * rng.uniform(0.5, 4) for row in np.eye(5)]
    return [float(state_value(count)) for count in counts] + [float(state_value(np.zeros(5)))]


@goal("upper_bound")
@compare(rtol=1e-9, atol=1e-12)
def case_bound(seed):
    """Edges of busy and of fresh nodes, under several constants."""
    rng = np.random.default_rng([23, seed])
    bounds = []
    for visits in (0, 0, 1, 2, 5, 17, 60, 400):
        for cpuct in (0.0, 0.3, 1.0, 4.5):
            value, prior = float(rng.uniform(-1, 1)), float(rng.uniform(0.01, 1))
            edge_visits = int(rng.integers(0, visits + 1))
            bounds.append(float(upper_bound(value, prior, visits, edge_visits, cpuct)))
    return bounds


def search_with(rng: np.random.Generator, size: int, listed: int, cpuct: float) -> OpenLoopMCTS:
    """A search that has one node, with generic statistics."""
    mcts = OpenLoopMCTS(None, None, default_configs(cpuct=cpuct))
    moves = np.sort(rng.permutation(size)[:listed]).tolist()
    mcts.valid_moves[NODE] = moves
    mcts.Nsa[NODE] = {move: int(rng.integers(0, 12)) for move in moves}
    mcts.Ns[NODE] = sum(mcts.Nsa[NODE].values())
    mcts.Q[NODE] = {move: float(rng.uniform(-1, 1)) for move in moves}
    mcts.P[NODE] = np.zeros(size)
    mcts.P[NODE][moves] = rng.dirichlet(np.ones(listed))
    return mcts


def selected(mcts: OpenLoopMCTS) -> tuple[int, float]:
    action, bound = mcts.find_best_action(NODE)
    return int(action), float(bound)


@goal("OpenLoopMCTS.find_best_action")
@compare(rtol=1e-9, atol=1e-12)
def case_greedy_selection(seed):
    """Without exploration; an action's id is not its position in the list. Last, a node that allows nothing."""
    rng = np.random.default_rng([24, seed])
    searches = [search_with(rng, size, max(2, size - 3), 0.0) for size in range(3, 14)]
    searches[-1].valid_moves[NODE] = []
    return [selected(mcts) for mcts in searches]


@goal("OpenLoopMCTS.find_best_action", "upper_bound")
@compare(rtol=1e-9, atol=1e-12)
def case_selection(seed):
    """With exploration, weak to strong."""
    rng = np.random.default_rng([25, seed])
    return [selected(search_with(rng, size, size - 2, cpuct)) for size in range(4, 14) for cpuct in (0.4, 1.0, 6.0)]


def dialog(*turns: tuple[str, str], said: str = "...") -> DialogSession:
    state = DialogSession()
    for act, reply in turns:
        state.add(DialogSession.SYS, act, said)
        state.add(DialogSession.USR, reply, said)
    return state


class FixedPlanner(DialogPlanner):
    """Gives a prior and a value that the acts and replies so far decide; nothing is counted."""

    def __init__(self, seed: int, off: tuple[int, ...] = ()) -> None:
        super().__init__(SYSTEM_ACTS)
        self.seed = seed
        self.off = list(off)

    def predict(self, state: DialogSession) -> tuple[np.ndarray, float]:
        rng = random.Random(f"{self.seed} {state.sys_act_key()} {state.acts(DialogSession.USR)}")
        prior = np.array([rng.uniform(0.05, 1.0) for _ in SYSTEM_ACTS])
        prior[self.off] = 0.0
        return prior / prior.sum(), rng.uniform(-1, 1)


@goal("MCTS._init_node")
@compare(rtol=1e-9, atol=1e-12)
def case_expansion(seed):
    """Nodes with one, six and seven allowed actions; one at which the prior leaves nothing."""
    states = [dialog(), dialog(("greeting", "neutral"))]
    states.append(dialog(("greeting", "neutral"), (SYSTEM_ACTS[2 + seed % 3], "positive reaction")))
    opened = []
    for q_0, off in ((0.25, ()), (-0.4, (2, 6)), (0.0, tuple(range(1, 8)))):
        mcts = OpenLoopMCTS(make_game(seed), FixedPlanner(seed, off), default_configs(Q_0=q_0))
        values = [float(mcts._init_node(state)) for state in states]
        moves = {node: [int(move) for move in listed] for node, listed in mcts.valid_moves.items()}
        visits = {node: int(count) for node, count in mcts.Ns.items()}
        edges = {node: {int(move): int(count) for move, count in row.items()} for node, row in mcts.Nsa.items()}
        q = {node: {int(move): float(value) for move, value in row.items()} for node, row in mcts.Q.items()}
        opened.append([values, moves, visits, edges, q, {node: numbers(prior) for node, prior in mcts.P.items()}])
    return opened


@goal("MCTS._update")
@compare(rtol=1e-9, atol=1e-12)
def case_update(seed):
    """Statistics after each of many visits, of fresh edges and of others."""
    rng = np.random.default_rng([26, seed])
    history = []
    for q_0 in (0.25, -0.5):
        mcts = search_with(rng, 6, 4, 1.0)
        fresh, *visited = mcts.valid_moves[NODE]
        mcts.Nsa[NODE][fresh], mcts.Q[NODE][fresh] = 0, q_0
        mcts.Ns[NODE] = sum(mcts.Nsa[NODE].values())
        for action in (fresh, visited[0], fresh, fresh, visited[1], visited[0], fresh):
            mcts._update(NODE, action, float(rng.uniform(-1, 1)))
            history.append([int(mcts.Ns[NODE]), int(mcts.Nsa[NODE][action]), float(mcts.Q[NODE][action])])
        history.append(numbers(mcts.Q[NODE].values()))
    return history


@goal("edge_values")
@compare(rtol=1e-9, atol=1e-12)
def case_edge_values(seed):
    """Paths of no edge to seven, with values of either sign."""
    rng = np.random.default_rng([27, seed])
    return [numbers(edge_values(float(rng.uniform(-1, 1)), length)) for length in range(8)]


@goal("realization_limit")
@compare(exact=True)
def case_limit(seed):
    """Visits from none to many, for small and large constants."""
    rng = np.random.default_rng([28, seed])
    visits = [0, 1, 2, 3, 8, *rng.integers(4, 200, size=5).tolist()]
    return [[int(realization_limit(count, constant)) for count in visits] for constant in (1, 3, 4 + seed % 9, 20)]


@goal("wording_score")
@compare(rtol=1e-9, atol=1e-12)
def case_wording_score(seed):
    """One value, several, many."""
    rng = np.random.default_rng([29, seed])
    return [float(wording_score(rng.uniform(-1, 1, size=size).tolist())) for size in (1, 2, 3, 5, 9, 40)]


@goal("wording_score")
@compare(exact=True)
def case_best_wording(seed):
    """The wording that is taken, where a lucky one and a frequent one compete with the best."""
    chosen = []
    for number in range(12):
        rng = np.random.default_rng([30, seed, number])
        mcts = OpenLoopMCTS(None, None, default_configs())
        values = {f"wording {index}": rng.normal(0.1 * index, 0.4, size=9 - index).tolist() for index in range(7)}
        mcts.realization_values["greeting__personal story"] = values
        chosen.append(mcts.get_best_realization(dialog(("greeting", "neutral")), 2))
    return chosen


@goal("action_weights")
@compare(rtol=1e-9, atol=1e-12)
def case_weights(seed):
    """Proportions of the weights."""
    rng = np.random.default_rng([31, seed])
    shares = []
    for size in (2, 4, 7, 12):
        weights = action_weights(rng.integers(0, 15, size=size) + np.eye(size, dtype=int)[1], rng.uniform(-1, 1, size))
        shares.append(numbers(np.asarray(weights) / np.sum(weights)))
    return shares


@goal("OpenLoopMCTS._sample_transition")
@compare(exact=True)
def case_transition(seed):
    """Dialogues that follow two different ones of the same node; then what is kept."""
    results = []
    for constant in (1, 2, 4):
        mcts = OpenLoopMCTS(make_game(seed), FixedPlanner(seed), default_configs(realizations=constant), seed + 40)
        parents = [dialog(("greeting", "neutral")), dialog(("greeting", "negative reaction"), said="Well.")]
        mcts._init_node(parents[0])
        mcts.Nsa["greeting"] = dict.fromkeys(mcts.valid_moves["greeting"], 50)
        for step in range(16):
            action = (3, 5, 3, 6)[step % 4]
            following = mcts._sample_transition(parents[step % 3 == 1], action)
            results.append(str(following))
        results.append({node: [str(state) for state in kept] for node, kept in mcts.realizations.items()})
        results.append([str(parent) for parent in parents])
    return results


@goal("OpenLoopMCTS.search")
@compare(rtol=1e-9, atol=1e-12)
def case_search(seed):
    """Simulation after simulation without exploration: what each returns, opens and visits; dialogues that end."""
    results = []
    for q_0, max_turns in ((0.9, 3), (0.2, 6)):
        game = make_game(seed)
        game.max_turns = max_turns
        mcts = OpenLoopMCTS(game, FixedPlanner(seed), default_configs(cpuct=0.0, Q_0=q_0, realizations=2), seed)
        root = dialog(("greeting", "neutral"))
        for _ in range(24):
            value = float(mcts.search(root))
            results.append([value, list(mcts.Ns), sum(mcts.Ns.values()), numbers(mcts.Q["greeting"].values())])
        results.append({node: {said: numbers(row) for said, row in kept.items()}
                        for node, kept in mcts.realization_values.items()})  # fmt: skip
        ended = dialog(("greeting", "neutral"), ("proposition of donation", "donate"))
        results.append([float(mcts.search(ended)), len(mcts.Ns), str(root)])
    return results


class WeighingPlanner(DialogPlanner):
    """Answers with weights that the acts so far and the last reply decide, so that no two numbers are alike."""

    def __init__(self, seed: int) -> None:
        super().__init__(SYSTEM_ACTS)
        self.seed = seed

    def answers(self, kind: str, state: DialogSession, size: int) -> np.ndarray:
        rng = random.Random(f"{self.seed} {kind} {state.sys_act_key()} {state.last_act(DialogSession.USR)}")
        return np.array([rng.uniform(0, 5) * (rng.random() < 0.7) for _ in range(size)])

    def count_acts(self, state: DialogSession) -> np.ndarray:
        return self.answers("acts", state, len(SYSTEM_ACTS)) + super().count_acts(state) / 7

    def count_replies(self, state: DialogSession) -> np.ndarray:
        return self.answers("replies", state, len(USER_ACTS)) + super().count_replies(state) / 9


@experiment
@compare(rtol=1e-8, atol=1e-11)
def case_tree(seed):
    """The tree after 80 simulations under several options: values, visits, priors, shares, scores of wordings."""
    results = []
    for options in (
        {},
        {"cpuct": 3.0, "Q_0": 0.0, "realizations": 2},
        {"cpuct": 0.5, "Q_0": 0.5, "realizations": 5},
        {"cpuct": 1.5, "Q_0": -0.2, "realizations": 1},
    ):
        mcts = OpenLoopMCTS(make_game(seed), WeighingPlanner(seed), default_configs(**options), seed)
        root = dialog(("greeting", "neutral"))
        values = [float(mcts.search(root)) for _ in range(81)]
        scores = {
            node: {said: float(wording_score(row)) for said, row in kept.items()}
            for node, kept in mcts.realization_values.items()
        }
        results.append(
            {
                "values": values,
                "visits": {node: int(count) for node, count in mcts.Ns.items()},
                "Q": {node: {int(move): float(q) for move, q in row.items()} for node, row in mcts.Q.items()},
                "P": {node: numbers(prior) for node, prior in mcts.P.items()},
                "shares": numbers(mcts.get_action_prob(root)),
                "scores": scores,
                "replies": {
                    node: [s.acts(DialogSession.USR) for s in kept] for node, kept in mcts.realizations.items()
                },
            }
        )
    return results


@experiment
@compare(rtol=1e-8, atol=1e-11)
def case_dialogs(seed):
    """Dialogues that are planned turn by turn: acts, replies and shares."""
    results = []
    for number in range(5):
        game, planner = make_game([seed, number]), WeighingPlanner(10 * seed + number)
        configs = default_configs(num_MCTS_sims=20 + 6 * number, cpuct=1.0 + 0.4 * number, realizations=2 + number % 3)
        state = game.init_dialog()
        while not game.get_dialog_ended(state):
            action, shares, _ = plan(state, planner, configs, (seed, number, len(state)))
            results.append([SYSTEM_ACTS[action], *numbers(shares)])
            state = game.get_next_state(state, action)
        results.append(state.acts(DialogSession.USR))
    return results
