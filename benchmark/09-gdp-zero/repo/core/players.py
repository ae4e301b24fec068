"""The two sides: a planner with prior and value from annotated dialogues, and a simulated user."""

import json
from collections import Counter
from pathlib import Path

import numpy as np

from core.helpers import DialogSession

DIALOGS = Path(__file__).parents[1] / "data" / "dialogs.json"


class DialogPlanner:
    """Policy prior and state value; counts in annotated dialogues take the place of a prompted language model.

    Args:
        system_acts: the acts; an action is a position in this list.
        path: dialogues, each with `turns` (pairs of system act and user act) and whether the user `donated`.
        smoothing: added to every count.
    """

    def __init__(self, system_acts: list[str], path: Path = DIALOGS, smoothing: float = 1.0) -> None:
        self.system_acts = system_acts
        self.smoothing = smoothing
        self._followed: Counter[tuple[str, str]] = Counter()
        self._outcomes: dict[str, list[float]] = {}
        for dialog in json.loads(path.read_text(encoding="utf-8")):
            reply = ""
            for act, following_reply in dialog["turns"]:
                self._followed[reply, act] += 1
                reply = following_reply
                self._outcomes.setdefault(reply, []).append(1.0 if dialog["donated"] else -1.0)

    def get_valid_moves(self, state: DialogSession) -> np.ndarray:
        """Which acts are allowed: int array (actions,) of zeros and ones.

        One greets at the start and only there, and does not repeat the act of the turn before.
        """
        allowed = np.ones(len(self.system_acts), dtype=np.int64)
        if len(state) == 0:
            allowed[1:] = 0
        else:
            allowed[0] = 0
            allowed[self.system_acts.index(state.last_act(DialogSession.SYS))] = 0
        return allowed

    def predict(self, state: DialogSession) -> tuple[np.ndarray, float]:
        """Prior over all acts given the user's last one, float array (actions,) that sums to 1; value in [-1, 1]."""
        reply = state.last_act(DialogSession.USR)
        counts = np.array([self._followed[reply, act] for act in self.system_acts]) + self.smoothing
        outcomes = self._outcomes.get(reply, [])
        return counts / counts.sum(), sum(outcomes) / (len(outcomes) + self.smoothing)


class UserSimulator:
    """A user who warms up to some kinds of appeal, tires of repetition, and donates only when asked.

    Args:
        rng: source of the user's whims.
        gains: how much the first use of each act raises the user's willingness.
        start: willingness at the start; the user donates with probability sigmoid(willingness) when asked.
    """

    def __init__(self, rng: np.random.Generator, gains: dict[str, float], start: float = -2.5) -> None:
        self.rng = rng
        self.gains = gains
        self.start = start

    def willingness(self, state: DialogSession) -> float:
        """Start, plus the gain of every act on its first use, minus 0.6 for each repetition."""
        acts = Counter(state.acts(DialogSession.SYS))
        gained = sum(self.gains.get(act, 0.0) for act in acts)
        return self.start + gained - 0.6 * sum(count - 1 for count in acts.values())

    def react(self, state: DialogSession) -> str:
        """The user's act after the system's latest one."""
        warmth = 1 / (1 + np.exp(-self.willingness(state)))
        draw = self.rng.random()
        if state.last_act(DialogSession.SYS) == "proposition of donation":
            return "donate" if draw < warmth else "no donation"
        if draw < 0.3:
            return "neutral"
        return "positive reaction" if draw < 0.3 + 0.7 * warmth else "negative reaction"
