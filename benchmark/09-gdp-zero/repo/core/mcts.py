"""Open-loop Monte-Carlo tree search over dialogue acts."""

import math
from collections.abc import Sequence

import numpy as np
from utils.utils import dotdict

from core.game import SYSTEM_ACTS, PersuasionGame
from core.helpers import KEY_SEPARATOR, DialogSession
from core.players import DialogPlanner

#: Stands in for the visits of a node that was opened but never left, so that the prior has a say from the start.
FRESH_VISITS = 1e-8


class MCTS:
    """Statistics of a search tree and what is read off them.

    Attributes:
        valid_moves: node -> ids of the actions that are allowed there, in the order in which they are considered.
        Ns: node -> visits of the node; the one that opens it does not count.
        Nsa: node -> allowed action -> visits of that edge.
        Q: node -> allowed action -> mean value of the visits of that edge; `configs.Q_0` before the first.
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
        """Open a node for `state`; return the planner's value of it."""
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
        """Back up the value of one visit of an edge."""
        visits = self.Nsa[node][action]
        self.Q[node][action] += (value - self.Q[node][action]) / (visits + 1)
        self.Nsa[node][action] = visits + 1
        self.Ns[node] += 1

    def get_action_prob(self, state: DialogSession) -> np.ndarray:
        """Share of each action in the visits of a state's edges, float array (actions,); uniform before the first."""
        node = state.sys_act_key()
        shares = np.zeros(self.game.get_action_size())
        for action, visits in self.Nsa[node].items():
            shares[action] = visits
        if shares.sum() == 0:
            shares[self.valid_moves[node]] = 1.0
        return shares / shares.sum()


class OpenLoopMCTS(MCTS):
    """Nodes are sequences of system acts; what is said below an act differs from visit to visit.

    Attributes:
        realizations: node -> dialogues that led there, at most `configs.max_realizations` of them.
        realization_values: node -> the system's last utterance -> values that were backed up through it.
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
        visits = self.Ns[hashable_state]
        if visits == 0:
            visits = FRESH_VISITS
        best_action, best_uct = -1, -math.inf
        for action in self.valid_moves[hashable_state]:
            prior = self.P[hashable_state][action]
            explored = 1 + self.Nsa[hashable_state][action]
            uct = self.Q[hashable_state][action] + self.configs.cpuct * prior * math.sqrt(visits) / explored
            if uct > best_uct:
                best_action, best_uct = action, uct
        return best_action, best_uct

    def search(self, state: DialogSession) -> float:
        """Run one simulation from a state: select down to an unopened node, open it, back its value up.

        Returns:
            The value of the simulation.
        """
        if ended := self.game.get_dialog_ended(state):
            return ended
        node = state.sys_act_key()
        if node not in self.P:
            return self._init_node(state)
        action, _ = self.find_best_action(node)
        following = self._sample_transition(state, action)
        value = self.search(following)
        self._update(node, action, value)
        *_, said, _ = following.history
        values = self.realization_values.setdefault(following.sys_act_key(), {})
        values.setdefault(said.utterance, []).append(value)
        return value

    def _sample_transition(self, state: DialogSession, action: int) -> DialogSession:
        """A dialogue that continues with this act: a new one until there are enough, then one of those."""
        kept = self.realizations.setdefault(self._child_key(state, action), [])
        if len(kept) < self.configs.max_realizations:
            kept.append(self.game.get_next_state(state, action))
            return kept[-1]
        return kept[int(self.rng.integers(len(kept)))]

    def _child_key(self, state: DialogSession, action: int) -> str:
        """Key of the node that an action leads to."""
        return KEY_SEPARATOR.join([*state.acts(DialogSession.SYS), SYSTEM_ACTS[action]])

    def get_best_realization(self, state: DialogSession, action: int) -> str:
        """The utterance of the system for this act whose mean value was highest in the search.

        Raises:
            KeyError: the act was not tried from this state.
        """
        values = self.realization_values[self._child_key(state, action)]
        return max(values, key=lambda said: sum(values[said]) / len(values[said]))
