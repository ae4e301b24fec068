"""Offline attackers: what a curious server might make of obfuscated feature levels.

Every attacker sees the emoji sequence of a level and says which level it takes it for. It knows which features and
values exist, as a model with world knowledge does. The attackers differ in how much the emojis tell them.
"""

import random
from collections.abc import Callable, Sequence

from config import GenerationConfig, TabularConfig
from generation import sequence_log_probability
from obfuscation import Level, SymbolTable
from symbol_model import SymbolModel

#: Emoji sequence in, guessed level out.
Attacker = Callable[[str], Level]


def perfect_attacker(table: SymbolTable) -> Attacker:
    """Has the table: the upper end of the scale."""
    levels = {symbols: level for level, symbols in table.items()}
    return levels.__getitem__


def random_entity_attacker(table: SymbolTable, seed: int) -> Attacker:
    """Names any level of any feature: the baseline that a good obfuscation should not exceed by much."""
    rng, levels = random.Random(seed), list(table)
    return lambda symbols: rng.choice(levels)


def noisy_attacker(table: SymbolTable, seed: int, insight: float) -> Attacker:
    """Recognises the feature always and the value with probability `insight`; otherwise names another of its values."""
    rng, truth = random.Random(seed), perfect_attacker(table)

    def guess(symbols: str) -> Level:
        level = truth(symbols)
        others = [other for other in table if other.feature == level.feature and other != level]
        return rng.choice(others) if others and rng.random() >= insight else level

    return guess


def likelihood_attacker(levels: Sequence[Level], model: SymbolModel, config: GenerationConfig) -> Attacker:
    """Knows the model that wrote the symbols, and names the level from which it would most likely have written them."""

    def guess(symbols: str) -> Level:
        sequence = model.ids(symbols)
        scores = [sequence_log_probability(model, level.describe(config), sequence, config) for level in levels]
        return levels[scores.index(max(scores))]

    return guess


def attackers(table: SymbolTable, config: TabularConfig) -> dict[str, Attacker]:
    """All simulated attackers by name, from the weakest to the strongest."""
    return {
        "random entity": random_entity_attacker(table, config.seed),
        "insight 0.0": noisy_attacker(table, config.seed, 0.0),
        "insight 0.3": noisy_attacker(table, config.seed, 0.3),
        "insight 0.7": noisy_attacker(table, config.seed, 0.7),
        "perfect": perfect_attacker(table),
    }
