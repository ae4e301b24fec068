"""Offline obfuscation: every feature level is replaced by a short sequence of emojis.

In the paper a language model writes the sequences. Here they are drawn from a seeded generator, which keeps what
matters downstream: a level is always written the same way, and two levels never look alike.
"""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from config import TabularConfig

#: What sequences are drawn from.
SYMBOLS = "🌊🌋🌙🌵🍄🍋🎈🎲🎻🏔🐙🐝🐢🐫👒💡💧📌📎🔑🔔🔥🕯🗿🚂🚪🛶🛠🧊🧩🧭🧵🪁🪐🪵🪶"


class Level(NamedTuple):
    """One categorical feature with one of its values."""

    feature: str
    value: str

    def describe(self, config: TabularConfig) -> str:
        """The level as prompts name it."""
        return f"{config.name_prefix}{self.feature}{config.value_separator}{self.value}"


class SymbolTable(Mapping[Level, str]):
    """Reusable mapping from feature levels to emoji sequences.

    A level costs one call of the obfuscator however many rows have it, and rows stay comparable with each other.
    """

    def __init__(self, levels: Iterable[Level], config: TabularConfig) -> None:
        rng = random.Random(config.seed)
        self._symbols: dict[Level, str] = {}
        used: set[str] = set()
        for level in dict.fromkeys(levels):
            sequence = "".join(rng.choices(SYMBOLS, k=config.symbols_per_level))
            while sequence in used:
                sequence = "".join(rng.choices(SYMBOLS, k=config.symbols_per_level))
            used.add(sequence)
            self._symbols[level] = sequence

    def __getitem__(self, level: Level) -> str:
        return self._symbols[level]

    def __iter__(self) -> Iterator[Level]:
        return iter(self._symbols)

    def __len__(self) -> int:
        return len(self._symbols)

    def obfuscate_row(self, row: Sequence[Level]) -> tuple[str, ...]:
        """The row as it leaves the user's machine."""
        return tuple(self[level] for level in row)
