"""Sequences of symbols that a model generates for a text, and their probabilities."""

from collections.abc import Sequence

import numpy as np
from config import GenerationConfig
from symbol_model import SymbolModel


def next_symbol_distribution(logits: np.ndarray, config: GenerationConfig) -> np.ndarray:
    """Probabilities (V,), float64, with which the next symbol is drawn, from the model's logits (V,)."""
    scores = np.clip(logits, -config.clip, config.clip) / config.temperature
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def sequence_log_probability(model: SymbolModel, text: str, sequence: Sequence[int], config: GenerationConfig) -> float:
    """Natural logarithm of the paper's P(y | x).

    Args:
        model: writes the symbols.
        text: x, as the model is given it.
        sequence: y, ids of symbols; any number of them.
        config: how symbols are drawn.
    """
    total = 0.0
    for position, symbol in enumerate(sequence):
        distribution = next_symbol_distribution(model.next_logits(text, sequence[:position]), config)
        total += float(np.log(distribution[symbol]))
    return total


def sample_sequence(
    model: SymbolModel, text: str, config: GenerationConfig, rng: np.random.Generator
) -> tuple[int, ...]:
    """Draw `config.symbols_per_level` symbols for a text.

    Args:
        model: writes the symbols.
        text: x, as the model is given it.
        config: how many symbols are drawn, and how.
        rng: draws each symbol, in one call of `rng.choice(V, p=...)`.

    Returns:
        The ids of the symbols, as plain integers.
    """
    sequence: tuple[int, ...] = ()
    for _ in range(config.symbols_per_level):
        distribution = next_symbol_distribution(model.next_logits(text, sequence), config)
        sequence += (int(rng.choice(len(distribution), p=distribution)),)
    return sequence
