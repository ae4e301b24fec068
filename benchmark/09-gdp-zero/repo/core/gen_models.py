"""Offline stand-in for the language model that words an act: a table of utterances."""

import json
from functools import cache
from pathlib import Path

import numpy as np

UTTERANCES = Path(__file__).parents[1] / "data" / "utterances.json"


@cache
def load_utterances() -> dict[str, dict[str, list[str]]]:
    """Role -> act -> ways to say it."""
    return json.loads(UTTERANCES.read_text(encoding="utf-8"))


class TableGenerator:
    """Words acts by drawing from the table."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def utter(self, role: str, act: str) -> str:
        """An utterance of `role` with this act."""
        choices = load_utterances()[role][act]
        return choices[int(self.rng.integers(len(choices)))]
