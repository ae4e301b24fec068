"""Obfuscation by a generating model: what is demanded of a candidate, and which candidates are used."""

from collections.abc import Collection, Sequence

import numpy as np
from config import GenerationConfig
from generation import sample_sequence, sequence_log_probability
from obfuscation import Level
from symbol_model import SymbolModel


def alignment(level: Level, sequence: Sequence[int], model: SymbolModel) -> float:
    """Semantic alignment of a feature level with a sequence of one or more symbols; `model.resemblance` compares."""
    resemblance = model.resemblance(level.value)
    return float(np.mean(resemblance[list(sequence)]))


def leakage(log_probabilities: np.ndarray, index: int) -> float:
    """How much a sequence of symbols tells about the level that it was drawn for.

    Args:
        log_probabilities: (L,), log P(y | x) of the sequence for each level of one feature.
        index: which of the levels the sequence was drawn for.
    """
    return float(log_probabilities[index] - np.min(log_probabilities))


def obfuscate_level(
    level: Level,
    domain: Sequence[Level],
    model: SymbolModel,
    config: GenerationConfig,
    rng: np.random.Generator,
    taken: Collection[tuple[int, ...]] = (),
) -> tuple[int, ...]:
    """Choose the symbols that stand for one feature level, among candidates.

    Args:
        level: what to obfuscate. `Level.describe` writes it as the model is given it.
        domain: all levels of the same feature, `level` among them.
        model: writes the symbols.
        config: how candidates are drawn, and what is demanded of them.
        rng: draws the candidates, by `sample_sequence`.
        taken: sequences that stand for other levels.

    Returns:
        The ids of the symbols that stand for the level.
    """
    texts = [other.describe(config) for other in domain]
    own = domain.index(level)
    rejected = []
    while len(rejected) < config.max_attempts:
        sequence = sample_sequence(model, texts[own], config, rng)
        if sequence in taken:
            continue
        log_probabilities = [sequence_log_probability(model, text, sequence, config) for text in texts]
        leak = leakage(np.array(log_probabilities), own)
        if leak <= config.epsilon and alignment(level, sequence, model) >= config.min_alignment:
            return sequence
        rejected.append((leak, sequence))
    return min(rejected, key=lambda candidate: candidate[0])[1]


def obfuscate_rows(
    rows: Sequence[Sequence[Level]],
    model: SymbolModel,
    config: GenerationConfig,
    rng: np.random.Generator,
    reusable: bool,
) -> list[list[tuple[int, ...]]]:
    """Obfuscate all rows of a table by `obfuscate_level`, row by row and from left to right.

    Args:
        rows: the levels of each row; those in one column have one feature.
        model: writes the symbols.
        config: how they are drawn, and what is demanded of them.
        rng: draws the candidates.
        reusable: which of the two modes of the paper.

    Returns:
        The sequence of each level of each row.
    """
    domains = [list(dict.fromkeys(column)) for column in zip(*rows, strict=True)]
    table: dict[Level, tuple[int, ...]] = {}
    hidden = []
    for row in rows:
        sequences = []
        for level, domain in zip(row, domains, strict=True):
            if reusable and level in table:
                sequence = table[level]
            else:
                taken = set(table.values()) if reusable else ()
                sequence = obfuscate_level(level, domain, model, config, rng, taken)
                table[level] = sequence
            sequences.append(sequence)
        hidden.append(sequences)
    return hidden
