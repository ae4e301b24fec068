"""The state of a dialogue."""

from collections.abc import Sequence
from typing import NamedTuple

#: Between the acts in the key of a dialogue.
KEY_SEPARATOR = "__"
#: Acts of the user, from the most to the least reluctant.
USER_ACTS = ["no donation", "negative reaction", "neutral", "positive reaction", "donate"]


class Turn(NamedTuple):
    """One utterance with its dialogue act."""

    role: str
    act: str
    utterance: str


class DialogSession:
    """A dialogue so far: turns of the system and of the user, in order."""

    SYS, USR = "Persuader", "Persuadee"

    def __init__(self, history: Sequence[Turn] = ()) -> None:
        self.history = list(history)

    def __len__(self) -> int:
        return len(self.history)

    def add(self, role: str, act: str, utterance: str) -> None:
        """Append a turn."""
        self.history.append(Turn(role, act, utterance))

    def copy(self) -> "DialogSession":
        """A dialogue that can go on independently."""
        return DialogSession(self.history)

    def acts(self, role: str) -> list[str]:
        """The acts of one side, in order."""
        return [turn.act for turn in self.history if turn.role == role]

    def last_act(self, role: str, default: str = "") -> str:
        """The latest act of one side."""
        return next((turn.act for turn in reversed(self.history) if turn.role == role), default)

    def sys_act_key(self) -> str:
        """What an open-loop search knows a dialogue by: the system's acts, whatever was said."""
        return KEY_SEPARATOR.join(self.acts(self.SYS))

    def __str__(self) -> str:
        return "\n".join(f"{turn.role} [{turn.act}]: {turn.utterance}" for turn in self.history)
