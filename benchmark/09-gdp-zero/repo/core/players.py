"""The two sides: a planner with prior and value from annotated dialogues, and a simulated user."""

import json
from collections import Counter
from pathlib import Path

import numpy as np

from core.helpers import USER_ACTS, DialogSession

DIALOGS = Path(__file__).parents[1] / "data" / "dialogs.json"


def prior_policy(counts: np.ndarray) -> np.ndarray:
    """Prior probabilities of the acts, by the answers of the prompted policy.

    Args:
        counts: how often each act was named, non-negative float array (actions,); answers may carry weights, so that
            these need not be whole numbers. All of them may be 0.

    Returns:
        Float array (actions,) that sums to 1.
    """
    smoothed = counts + 1.0
    return smoothed / smoothed.sum()


def state_value(counts: np.ndarray) -> float:
    """Value of a dialogue that goes on, by the answers of the prompted user.

    Args:
        counts: how often each user act was answered, non-negative float array (user acts,) in the order of
            `core.helpers.USER_ACTS`, weighted or not.

    Returns:
        A number in [-1, 1]; 0 if there are no answers.
    """
    scores = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    total = counts.sum()
    if total == 0:
        return 0.0
    return float(counts @ scores / total)


class DialogPlanner:
    """Policy prior and state value; annotated dialogues answer in place of a prompted language model.

    Args:
        system_acts: the acts; an action is a position in this list.
        path: dialogues, each with `turns`: pairs of system act and user act.
    """

    def __init__(self, system_acts: list[str], path: Path = DIALOGS) -> None:
        self.system_acts = system_acts
        self._followed: Counter[tuple[str, str]] = Counter()
        self._ended: Counter[tuple[str, str]] = Counter()
        for dialog in json.loads(path.read_text(encoding="utf-8")):
            reply, (*_, (_, ending)) = "", dialog["turns"]
            for act, following_reply in dialog["turns"]:
                self._followed[reply, act] += 1
                reply = following_reply
                self._ended[reply, ending] += 1

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
        return prior_policy(self.count_acts(state)), state_value(self.count_replies(state))

    def count_acts(self, state: DialogSession) -> np.ndarray:
        """How often the prompted policy names each system act as the next one, float array (actions,).

        Here: the acts that followed the user's last one in the annotated dialogues.
        """
        reply = state.last_act(DialogSession.USR)
        return np.array([self._followed[reply, act] for act in self.system_acts], dtype=np.float64)

    def count_replies(self, state: DialogSession) -> np.ndarray:
        """How often the prompted user, asked for a donation now, answers with each user act, float array (user acts,).

        Here: the user's final acts in the annotated dialogues, once for each time that the last act occurs in them.
        """
        reply = state.last_act(DialogSession.USR)
        return np.array([self._ended[reply, act] for act in USER_ACTS], dtype=np.float64)


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
