"""Open-loop Monte-Carlo tree search over dialogue acts."""

import math
from collections.abc import Sequence

import numpy as np
from utils.utils import dotdict

from core.game import SYSTEM_ACTS, PersuasionGame
from core.helpers import KEY_SEPARATOR, DialogSession
from core.players import DialogPlanner
from core.realizations import realization_limit, wording_score

#: Stands in for the visits of a node that was opened but never left, so that the prior has a say from the start.
FRESH_VISITS = 1e-8


def upper_bound(value: float, prior: float, visits: int, edge_visits: int, cpuct: float) -> float:
    """Upper confidence bound of an action.

    Args:
        value: value of the edge.
        prior: prior probability of the action.
        visits: visits of the node; where they are 0, `FRESH_VISITS` takes their place.
        edge_visits: visits of the edge.
        cpuct: constant of exploration, at least 0.
    """
    if visits == 0:
        visits = FRESH_VISITS
    exploration = prior * math.sqrt(visits) / (1 + edge_visits)
    return float(value + cpuct * exploration)


def edge_values(value: float, length: int) -> list[float]:
    """What the edges of a path receive when the value of the state at its end is backed up.

    Args:
        value: value of the last state.
        length: number of edges, from 0.

    Returns:
        As many values as there are edges, that of the root's edge first.
    """
    return [value] * length


def action_weights(visits: np.ndarray, values: np.ndarray) -> np.ndarray:
    """How strongly the search speaks for each action of a node; the one of the largest weight is taken.

    Args:
        visits: visits of the edges, int array (n,); not all are 0.
        values: values of the edges, float array (n,), each in [-1, 1].

    Returns:
        Float array (n,), not negative. Only the proportions count.
    """
    return visits.astype(np.float64)


class MCTS:
    """Statistics of a search tree and what is read off them.

    Attributes:
        valid_moves: node -> ids of the actions that are allowed there, in the order in which they are considered.
        Ns: node -> visits of the node; the one that opens it does not count.
        Nsa: node -> allowed action -> visits of that edge.
        Q: node -> allowed action -> value of that edge; `configs.Q_0` before its first visit.
        P: node -> float array (actions,), prior probabilities of all actions; 0 for those that are not allowed.
    """

    def __init__(self, game: PersuasionGame, player: DialogPlanner, configs: dotdict) -> None:
        self.game = game
        self.player = player
        self.configs = configs
        self.valid_moves: dict[str, list[int]] = {}
        self.Ns: dict[str, int] = {}
        self.Nsa: dict[str, dict[int, int]] = {}
        self.Q: dict[str, dict[int, float]] = {}
        self.P: dict[str, np.ndarray] = {}

    def _init_node(self, state: DialogSession) -> float:
        """Open a node for `state`, which has none: fill in all five attributes, in ascending order of actions.

        If the prior leaves nothing for the allowed actions, it is uniform over them.

        Returns:
            The planner's value of the state.
        """
        node = state.sys_act_key()
        allowed = self.player.get_valid_moves(state)
        prior, value = self.player.predict(state)
        prior = prior * allowed
        if prior.sum() == 0:
            prior = allowed.astype(np.float64)
        self.valid_moves[node] = np.flatnonzero(allowed).tolist()
        self.Ns[node] = 0
        self.Nsa[node] = dict.fromkeys(self.valid_moves[node], 0)
        self.Q[node] = dict.fromkeys(self.valid_moves[node], self.configs.Q_0)
        self.P[node] = prior / prior.sum()
        return value

    def _update(self, node: str, action: int, value: float) -> None:
        """Back up one visit of an edge that received `value`: change `Ns`, `Nsa` and `Q`."""
        visits = self.Nsa[node][action]
        self.Q[node][action] += (value - self.Q[node][action]) / (visits + 1)
        self.Nsa[node][action] = visits + 1
        self.Ns[node] += 1

    def get_action_prob(self, state: DialogSession) -> np.ndarray:
        """Share of each action in the weights of a state's edges, float array (actions,).

        Before the first visit it is uniform over the allowed actions.
        """
        node = state.sys_act_key()
        moves = self.valid_moves[node]
        visits = np.array([self.Nsa[node][action] for action in moves])
        values = np.array([self.Q[node][action] for action in moves])
        shares = np.zeros(self.game.get_action_size())
        shares[moves] = action_weights(visits, values) if visits.any() else 1.0
        return shares / shares.sum()


class OpenLoopMCTS(MCTS):
    """Nodes are sequences of system acts; what is said below an act differs from visit to visit.

    Attributes:
        realizations: node -> dialogues that led there, in order of their making. The state from which a search
            starts is not among them.
        realization_values: node -> the system's last utterance in a dialogue that led there -> what the edge to the
            node received in the simulations that passed through it, in order.
    """

    def __init__(
        self, game: PersuasionGame, player: DialogPlanner, configs: dotdict, seed: int | Sequence[int] = 0
    ) -> None:
        super().__init__(game, player, configs)
        self.rng = np.random.default_rng(seed)
        self.realizations: dict[str, list[DialogSession]] = {}
        self.realization_values: dict[str, dict[str, list[float]]] = {}

    def find_best_action(self, hashable_state: str) -> tuple[int, float]:
        """Select the action to follow from a node.

        Args:
            hashable_state: key of a node that has been opened.

        Returns:
            The selected action and its upper confidence bound; -1 and minus infinity if there is none.

        Raises:
            KeyError: the node is unknown.
        """
        value, prior = self.Q[hashable_state], self.P[hashable_state]
        visits, edge_visits = self.Ns[hashable_state], self.Nsa[hashable_state]
        best_action, best_uct = -1, -math.inf
        for action in self.valid_moves[hashable_state]:
            uct = upper_bound(value[action], prior[action], visits, edge_visits[action], self.configs.cpuct)
            if uct > best_uct:
                best_action, best_uct = action, uct
        return best_action, best_uct

    def search(self, state: DialogSession) -> float:
        """Run one simulation from a state: select, expand, evaluate, back up.

        A simulation that starts from a node that has not been opened opens it and does nothing else; one that starts
        from a dialogue that has ended does nothing at all.

        Returns:
            The value of the last state, which is backed up.
        """
        path = []
        while not (value := self.game.get_dialog_ended(state)):
            node = state.sys_act_key()
            if node not in self.P:
                value = self._init_node(state)
                break
            action, _ = self.find_best_action(node)
            state = self._sample_transition(state, action)
            path.append((node, action, state))
        for (node, action, following), received in zip(path, edge_values(value, len(path)), strict=True):
            self._update(node, action, received)
            *_, said, _ = following.history
            values = self.realization_values.setdefault(following.sys_act_key(), {})
            values.setdefault(said.utterance, []).append(received)
        return value

    def _sample_transition(self, state: DialogSession, action: int) -> DialogSession:
        """Follow an edge from `state`, whose node has been opened.

        Returns:
            A dialogue of the node that the edge leads to: a new one, which the game makes from `state` and which the
            node then keeps as its last; or else number `self.rng.integers(n)` of the n that it keeps. Nothing else is
            drawn from `self.rng`.
        """
        kept = self.realizations.setdefault(self._child_key(state, action), [])
        visits = self.Nsa[state.sys_act_key()][action]
        if len(kept) < realization_limit(visits, self.configs.realizations):
            kept.append(self.game.get_next_state(state, action))
            return kept[-1]
        return kept[int(self.rng.integers(len(kept)))]

    def _child_key(self, state: DialogSession, action: int) -> str:
        """Key of the node that an action leads to."""
        return KEY_SEPARATOR.join([*state.acts(DialogSession.SYS), SYSTEM_ACTS[action]])

    def get_best_realization(self, state: DialogSession, action: int) -> str:
        """How to word this act: the utterance of the system with the largest score in the search.

        Raises:
            KeyError: the act was not tried from this state.
        """
        values = self.realization_values[self._child_key(state, action)]
        return max(values, key=lambda said: wording_score(values[said]))
