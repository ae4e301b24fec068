"""Labelled inputs for emoji-prompt-method: each masked function, and two experiments that obfuscate a table.

Logits are generic, so that no rounding decides which symbol is drawn or which candidate leaks least.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from config import GenerationConfig, TabularConfig
from generation import next_symbol_distribution, sample_sequence, sequence_log_probability
from generative import alignment, leakage, obfuscate_level, obfuscate_rows
from lmrbench_cases import compare, experiment, goal
from metrics import token_f1
from obfuscation import Level
from recovery import likelihood_attacker
from symbol_model import SymbolModel
from Tabular import compute_mean_cosine_similarity, describe_pairs, load_rows

WORDS = ("rented", "flat", "shared", "house", "owned", "room", "with", "garden", "old", "Flat")


def plain(sequence: Sequence[int]) -> list[int]:
    return [int(symbol) for symbol in sequence]


def levels(seed: int, feature: str, count: int) -> list[Level]:
    """Different levels of one feature."""
    rng = np.random.default_rng([31, seed, len(feature)])
    values: dict[str, None] = {}
    while len(values) < count:
        values[" ".join(rng.choice(WORDS, 3).tolist())] = None
    return [Level(feature, value) for value in values]


# --- generation -------------------------------------------------------------------------------------------------------


@goal("next_symbol_distribution")
@compare(rtol=1e-7, atol=1e-12)
def case_distribution(seed):
    """Logits inside the range and far outside of it; cold and hot."""
    rng = np.random.default_rng([32, seed])
    results = []
    for size, scale in ((4, 0.5), (9, 2.0), (36, 4.0), (5, 300.0)):
        for temperature, clip in ((1.0, 2.0), (0.4, 1.5 + seed % 5), (3.0, 6.0)):
            config = GenerationConfig(temperature=temperature, clip=clip)
            results.append(np.asarray(next_symbol_distribution(scale * rng.normal(size=size), config)))
    return results


class TableModel(SymbolModel):
    """In place of the model: logits that text and prefix decide, none of them beyond the range that is clipped."""

    def __init__(self, seed: int, size: int = 7) -> None:
        super().__init__()
        self.seed, self.size = seed, size
        self.known: dict[tuple, np.ndarray] = {}

    def next_logits(self, text: str, prefix: Sequence[int]) -> np.ndarray:
        key = (text, *plain(prefix))
        if key not in self.known:
            rng = np.random.default_rng([33, self.seed, len(prefix), *text.encode(), *plain(prefix)])
            self.known[key] = rng.uniform(-1.9, 1.9, size=self.size)
        return self.known[key].copy()


@goal("sequence_log_probability")
@compare(rtol=1e-7, atol=1e-10)
def case_log_probability(seed):
    """No symbol, one, several, and one twice."""
    model, results = TableModel(seed), []
    for config in (GenerationConfig(), GenerationConfig(temperature=0.5), GenerationConfig(symbols_per_level=5)):
        for sequence in ((), (3,), (1, 4), (5, 5, 0), (2, 6, 2, 1, seed % 7)):
            results += [float(sequence_log_probability(model, text, sequence, config)) for text in ("a", "b c")]
    return results


@goal("sample_sequence")
@compare(rtol=1e-7, atol=1e-10)
def case_samples(seed):
    """Sequences of one symbol to six, and what the generator draws next."""
    results = []
    for length in (1, 2, 3, 6):
        rng, config = np.random.default_rng([34, seed]), GenerationConfig(symbols_per_level=length, temperature=0.8)
        drawn = [sample_sequence(TableModel(seed), f"text {number}", config, rng) for number in range(12)]
        results += [[plain(sequence) for sequence in drawn], float(rng.random())]
    return results


# --- constraints ------------------------------------------------------------------------------------------------------


@goal("alignment")
@compare(rtol=1e-7, atol=1e-10)
def case_alignment(seed):
    """Sequences of one symbol and more, some with the same symbol twice."""
    model, rng, results = SymbolModel(), np.random.default_rng([35, seed]), []
    for level in levels(seed, "dwelling", 6):
        for length in (1, 2, 4):
            sequence = rng.integers(0, len(model.symbols), size=length).tolist()
            results.append(float(alignment(level, tuple(sequence), model)))
        results.append(float(alignment(level, (sequence[0], sequence[0], sequence[1]), model)))
    return results


@goal("leakage")
@compare(rtol=1e-7, atol=1e-10)
def case_leakage(seed):
    """Each level of features of one level and more; the own one may be the most or the least likely."""
    rng, results = np.random.default_rng([36, seed]), [float(leakage(np.array([-2.0 - seed % 9]), 0))]
    for size in (2, 3, 7):
        logs = -10 * rng.random(size)
        results += [float(leakage(logs.copy(), index)) for index in range(size)]
    return results


class Resembling(TableModel):
    """The same with a resemblance that does not follow the logits."""

    def resemblance(self, text: str) -> np.ndarray:
        return np.random.default_rng([37, self.seed, *text.encode()]).uniform(-1, 1, size=self.size)


def used(seed: int, config: GenerationConfig, taken: bool, count: int = 5) -> list:
    """The sequences of some levels of one feature, their leakage, and what the generator draws afterwards."""
    model, domain = Resembling(seed), levels(seed, "home", count)
    rng, symbols, results = np.random.default_rng([38, seed]), [], []
    for number in range(3 * count):
        level = domain[number % count]
        others = set(symbols) if taken else ()
        sequence = tuple(plain(obfuscate_level(level, list(domain), model, config, rng, others)))
        symbols.append(sequence)
        results.append([plain(sequence), float(rng.random())])
    return results


@goal("obfuscate_level")
@compare(rtol=1e-7, atol=1e-10)
def case_choice(seed):
    """Demands that most candidates meet, few, or none; each of the two alone."""
    return {
        "both": used(seed, GenerationConfig(epsilon=1.5, min_alignment=0.1), False),
        "privacy": used(seed, GenerationConfig(epsilon=0.4, min_alignment=-2.0, max_attempts=8), False),
        "alignment": used(seed, GenerationConfig(epsilon=50.0, min_alignment=0.45), False),
        "none": used(seed, GenerationConfig(epsilon=1.0, min_alignment=2.0, max_attempts=6), False),
        "other level": used(seed, GenerationConfig(epsilon=0.05, min_alignment=0.0, max_attempts=4), False, 3),
    }


@goal("obfuscate_level")
@compare(rtol=1e-7, atol=1e-10)
def case_taken(seed):
    """Short sequences, many of which stand for other levels already."""
    return [
        used(seed, GenerationConfig(symbols_per_level=2, epsilon=2.0, min_alignment=-0.2, max_attempts=attempts), True)
        for attempts in (1, 3, 12)
    ]


@goal("obfuscate_rows")
@compare(rtol=1e-7, atol=1e-10)
def case_tables(seed):
    """A table in which levels recur, in both modes; all candidates are accepted."""
    config = GenerationConfig(symbols_per_level=1, epsilon=90.0, min_alignment=-2.0)
    rng, results = np.random.default_rng([39, seed]), {}
    columns = [levels(seed, "home", 2), levels(seed, "dwelling", 3)]
    rows = [[column[rng.integers(len(column))] for column in columns] for _ in range(9)]
    for reusable in (True, False):
        generator = np.random.default_rng([40, seed])
        hidden = obfuscate_rows([list(row) for row in rows], Resembling(seed), config, generator, reusable)
        results[f"{reusable}"] = [[plain(sequence) for sequence in row] for row in hidden], float(generator.random())
    return results


@goal("obfuscate_rows")
@compare(rtol=1e-7, atol=1e-10)
def case_privacy_in_tables(seed):
    """Which levels each one is hidden among: those of its feature."""
    config = GenerationConfig(symbols_per_level=2, epsilon=1.2, min_alignment=-2.0, max_attempts=30)
    rng, results = np.random.default_rng([41, seed]), {}
    columns = [levels(seed, "home", 3), levels(seed, "dwelling", 5)]
    rows = [[column[number % len(column)] for column in columns] for number in range(6)]
    for reusable in (True, False):
        model, generator = Resembling(seed), np.random.default_rng([42, seed, int(rng.integers(9))])
        hidden = obfuscate_rows(rows, model, config, generator, reusable)
        results[f"{reusable}"] = [[plain(sequence) for sequence in row] for row in hidden], float(generator.random())
    return results


# --- measures ---------------------------------------------------------------------------------------------------------


@goal("token_f1")
@compare(rtol=1e-7, atol=1e-10)
def case_overlap(seed):
    """Values with words in common and without, words that recur, and values of different lengths."""
    rng = np.random.default_rng([43, seed])
    results = [float(token_f1("a a b", "a b b c")), float(token_f1("flat", "house"))]
    for size in (1, 2, 3, 5, 8):
        for other in (1, 2, 4, 7):
            left, right = (" ".join(rng.choice(WORDS, count).tolist()) for count in (size, other))
            results.append(float(token_f1(left, right)))
    return results


@goal("compute_mean_cosine_similarity")
@compare(rtol=1e-4, atol=1e-5)
def case_similarity(seed):
    """Recovered levels of the same feature and of another; some values and guesses recur."""
    results = []
    for dim in (200, 64 + seed % 9):
        config = TabularConfig(embedding_dim=dim)
        originals = levels(seed, "home", 7) + [Level("dwelling", level.value) for level in levels(seed, "home", 3)]
        guesses = levels(seed + 10, "home", 5) + originals[4:6] + levels(seed, "dwelling", 2) + originals[:1]
        pairs = describe_pairs(dict(zip(originals, guesses, strict=True)), config)
        results.append(float(compute_mean_cosine_similarity(pairs, config)))
        first = dict(list(pairs.items())[:3])
        results.append(float(compute_mean_cosine_similarity(first, config)))
    return results


# --- experiments ------------------------------------------------------------------------------------------------------


def measured(rows: list, hidden: list, model: SymbolModel, config: GenerationConfig) -> dict:
    """What the sequences of a table are worth to its owner and to an attacker."""
    numbers, recovered = [], {}
    for column in range(len(rows[0])):
        domain = list(dict.fromkeys(row[column] for row in rows))
        attacker = likelihood_attacker(domain, model, config)
        for row, sequences in zip(rows, hidden, strict=True):
            level, sequence = row[column], tuple(plain(sequences[column]))
            logs = [float(sequence_log_probability(model, x.describe(config), sequence, config)) for x in domain]
            own = domain.index(level)
            numbers.append([logs[own], float(leakage(np.array(logs), own)), float(alignment(level, sequence, model))])
            recovered[level] = attacker(model.text(sequence))
    overlaps = [float(token_f1(level.value, guess.value)) for level, guess in recovered.items()]
    similarity = float(compute_mean_cosine_similarity(describe_pairs(recovered, config), config))
    return {"numbers": np.array(numbers), "overlap": sum(overlaps) / len(overlaps), "similarity": similarity}


@experiment
@compare(rtol=1e-5, atol=1e-6)
def case_reusable_table(seed):
    """The bundled table under strict and loose demands: probabilities, leakage, alignment, and the attack."""
    rows, _ = load_rows(Path("data/census_small.csv"))
    rows, results = [list(row) for row in rows[20 * (seed % 3) : 20 * (seed % 3) + 20]], {}
    for epsilon, tau, temperature in ((6.0, -1.0, 0.6), (1.0, 0.02, 1.0), (0.4, 0.1, 1.5)):
        config = GenerationConfig(epsilon=epsilon, min_alignment=tau, temperature=temperature, max_attempts=12)
        model = SymbolModel(sharpness=8.0, seed=seed)
        hidden = obfuscate_rows(rows, model, config, np.random.default_rng([44, seed]), True)
        results[f"{epsilon}"] = measured(rows, hidden, model, config)
    return results


@experiment
@compare(rtol=1e-5, atol=1e-6)
def case_non_reusable_table(seed):
    """The same with sequences that are drawn anew, longer ones among them."""
    rows, _ = load_rows(Path("data/census_small.csv"))
    rows, results = [list(row) for row in rows[15 * (seed % 3) + 5 : 15 * (seed % 3) + 17]], {}
    for length, clip in ((2, 1.0), (4, 2.5)):
        config = GenerationConfig(symbols_per_level=length, clip=clip, epsilon=1.2, min_alignment=0.05, max_attempts=8)
        model = SymbolModel(sharpness=7.0, seed=seed + 1)
        hidden = obfuscate_rows(rows, model, config, np.random.default_rng([45, seed]), False)
        results[f"{length}"] = measured(rows, hidden, model, config)
    return results
