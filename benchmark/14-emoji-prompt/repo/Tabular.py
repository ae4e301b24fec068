"""Tabular data: obfuscate feature levels, classify obfuscated rows, measure how well the levels can be recovered."""

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path

import numpy as np
from config import DEFAULT_CONFIG, TabularConfig
from embeddings import embed_text
from obfuscation import Level, SymbolTable
from recovery import Attacker

#: Additive smoothing of the row classifier.
SMOOTHING = 1.0


def load_rows(path: Path) -> tuple[list[tuple[Level, ...]], list[str]]:
    """Read a table whose last column is the label.

    Returns:
        The rows, one lower-case feature level a column, and their labels.
    """
    with path.open(encoding="utf-8", newline="") as file:
        header, *records = csv.reader(file)
    rows = [
        tuple(Level(name, value.lower()) for name, value in zip(header[:-1], record[:-1], strict=True))
        for record in records
    ]
    return rows, [record[-1] for record in records]


def classify_rows(rows: Sequence[Sequence[str]], labels: Sequence[str]) -> list[str]:
    """Predict each row's label from all other rows: naive Bayes on the tokens, in place of a prompted model.

    Args:
        rows: tokens of each row, plain or obfuscated; only their equality matters.
        labels: one label a row, of which at least two differ.

    Returns:
        One predicted label a row.
    """
    classes = sorted(set(labels))
    sizes = Counter(labels)
    counts = {label: Counter[tuple[int, str]]() for label in classes}
    for row, label in zip(rows, labels, strict=True):
        counts[label].update(enumerate(row))
    predictions = []
    for row, truth in zip(rows, labels, strict=True):
        scores = {}
        for label in classes:
            own = int(label == truth)  # what the row itself added to the counts
            size = sizes[label] - own + SMOOTHING
            evidence = (log((counts[label][token] - own + SMOOTHING) / size) for token in enumerate(row))
            scores[label] = log(size) + sum(evidence)
        predictions.append(max(classes, key=scores.__getitem__))
    return predictions


def attack(table: SymbolTable, attacker: Attacker) -> dict[Level, Level]:
    """Let an attacker recover every level of a symbol table: original level -> recovered level."""
    return {level: attacker(symbols) for level, symbols in table.items()}


def describe_pairs(recovered: Mapping[Level, Level], config: TabularConfig = DEFAULT_CONFIG) -> dict[str, str]:
    """The outcome of an attack in words: both levels as `Level.describe` writes them."""
    return {level.describe(config): guess.describe(config) for level, guess in recovered.items()}


def compute_mean_cosine_similarity(enc_dec_pairs: Mapping[str, str], config: TabularConfig = DEFAULT_CONFIG) -> float:
    """Semantic similarity of original and recovered values, averaged over feature levels.

    Args:
        enc_dec_pairs: original level -> recovered level, both written as `Level.describe` does.
        config: how levels are written, and the size of the vectors.

    Returns:
        A float, close to 1 if the attacker recovered the values.
    """
    if not enc_dec_pairs:
        raise ValueError("no pairs to compare")
    total = 0.0
    for levels in enc_dec_pairs.items():
        vectors = [embed_text(level.split(config.value_separator)[1], config.embedding_dim) for level in levels]
        u, v = np.stack(vectors).astype(np.float64)
        norms = np.linalg.norm(u) * np.linalg.norm(v)
        if norms != 0:
            total += float(u @ v / norms)
    return total / len(enc_dec_pairs)
