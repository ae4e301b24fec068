"""Labelled inputs for emoji-decryption-mean-cosine.

Where vectors have to be known, `with_vectors` puts a table in place of `embed_text`; elsewhere the repository's own
helper embeds the values.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import embeddings
import numpy as np
import Tabular
from config import TabularConfig
from lmrbench_cases import compare, outcome
from obfuscation import SymbolTable
from recovery import attackers
from Tabular import attack, compute_mean_cosine_similarity, describe_pairs, load_rows

#: Values that have little in common, from one character to a sentence.
VALUES = [
    "retail sales",
    "retail trade",
    "never married",
    "x",
    "a small farm near the river, run by two sisters",
    "doctorate",
    "self-employed: no staff",
    "Straße 7",
    "married",
    "MARRIED",
]


def level(value: str, feature: str = "occupation") -> str:
    """A feature level as the default configuration writes it."""
    return f"Feature: {feature}, Value: {value}"


def rotated(seed: int) -> list[str]:
    """`VALUES`, beginning elsewhere for each seed."""
    start = seed % len(VALUES)
    return VALUES[start:] + VALUES[:start]


def replace_helper(helper: Callable[..., np.ndarray]) -> None:
    """Put another `embed_text` wherever a solution may look for it."""
    embeddings.embed_text = Tabular.embed_text = helper


def with_vectors(*pairs: tuple[Iterable[float], Iterable[float]]) -> float:
    """The result for pairs of values whose vectors are these; all of one size."""
    table: dict[str, np.ndarray] = {}
    enc_dec_pairs = {}
    for number, vectors in enumerate(pairs):
        names = f"o{number}", f"r{number}"
        table |= {name: np.array(vector, dtype=np.float32) for name, vector in zip(names, vectors, strict=True)}
        enc_dec_pairs[level(names[0])] = level(names[1])
    replace_helper(lambda text, dim=100: table[text])
    dim = len(next(iter(table.values())))
    return compute_mean_cosine_similarity(enc_dec_pairs, TabularConfig(embedding_dim=dim))


def random_pairs(seed: int, count: int) -> dict[str, str]:
    """Pairs of values from `VALUES` with distinct keys; a third of the values is recovered exactly."""
    rng = np.random.default_rng([14, seed, count])
    pairs = {}
    for number in range(count):
        original, guess = rng.choice(len(VALUES), size=2)
        key = f"{VALUES[original]} {number}"
        pairs[level(key)] = level(key if rng.random() < 1 / 3 else f"{VALUES[guess]} {number % 7}")
    return pairs


@compare(rtol=1e-9, atol=1e-12)
def case_known_vectors(seed):
    """Three pairs with angles of every kind; random vectors in several sizes, one number a vector included."""
    rng = np.random.default_rng([1, seed])
    results = {"three pairs": with_vectors(([3, 4], [4, 3]), ([1, 0], [1, 1]), ([2, 1], [-1, -3]))}
    for size in (1, 2, 5, 200):
        results[f"{size} numbers"] = with_vectors(*rng.normal(size=(6, 2, size)))
    return results


@compare(rtol=1e-9, atol=1e-12)
def case_right_and_opposite_angles(seed):
    """Cosines of 1, 0 and -1, alone and together; negative ones count as they are."""
    rng = np.random.default_rng([2, seed])
    u = rng.integers(1, 9, size=3).astype(float)
    right = [u[1], -u[0], 0.0]
    return {
        "same": with_vectors((u, u)),
        "parallel": with_vectors((u, 4 * u)),
        "right": with_vectors((u, right)),
        "opposite": with_vectors((u, -u)),
        "all": with_vectors((u, u), (u, right), (u, -u), (right, -u), (right, -2 * np.array(right))),
        "mostly opposite": with_vectors((u, -u), (right, u), (u, [-u[0], -u[1], u[2]])),
    }


@compare(rtol=1e-9, atol=1e-12)
def case_unequal_lengths(seed):
    """Every pair has the same weight, however long its vectors are."""
    rng = np.random.default_rng([3, seed])
    vectors = rng.normal(size=(5, 2, 8))
    scales = np.array([1e-3, 1.0, 30.0, 1e3, 1e4])
    return {
        "as drawn": with_vectors(*vectors),
        "originals scaled": with_vectors(*zip(scales[:, None] * vectors[:, 0], vectors[:, 1], strict=True)),
        "both scaled": with_vectors(*(scales[:, None, None] * vectors)),
    }


@compare(rtol=1e-6, atol=1e-12)
def case_tiny_and_huge_vectors(seed):
    """Lengths from 1e-10 to 1e10 leave the cosine as it is."""
    rng = np.random.default_rng([4, seed])
    u, v = rng.normal(size=(2, 6))
    return {
        f"{first:g}, {second:g}": with_vectors((first * u, second * v), (u, v + u))
        for first, second in ((1e-10, 1e-10), (1e-10, 1.0), (1e-10, 1e10), (1e10, 1e10), (1e-5, 1e-6))
    }


@compare(rtol=1e-9, atol=1e-12)
def case_double_precision(seed):
    """Dot products that float32 gets wrong: large terms cancel, and what is left has few digits."""
    rng = np.random.default_rng([5, seed])
    pairs = []
    for _ in range(4):
        big, small = float(rng.integers(4096, 8192)), float(rng.integers(1, 9))
        pairs.append(([big, small, big], [big, small, -big]))
    return {"cancelling": with_vectors(*pairs), "many": with_vectors(*rng.normal(size=(300, 2, 50)))}


@compare(rtol=1e-9, atol=1e-12)
def case_zero_vectors(seed):
    """An empty value has no direction: its pair counts as 0, and it does count."""
    rng = np.random.default_rng([6, seed])
    u, v, zero = *rng.normal(size=(2, 4)), np.zeros(4)
    return {
        "original": with_vectors((zero, u), (u, v)),
        "recovered": with_vectors((u, u), (v, zero), (u, u)),
        "both": with_vectors((zero, zero), (u, u)),
        "alone": with_vectors((zero, zero)),
    }


@compare(rtol=1e-9, atol=1e-12)
def case_empty_values(seed):
    """The repository's own vector of an empty value; a blank is not empty."""
    other = rotated(seed)[0]
    return {
        "recovered nothing": compute_mean_cosine_similarity({level(other): level(""), level("farm"): level("farm")}),
        "empty original": compute_mean_cosine_similarity({level(""): level(other)}),
        "both empty": compute_mean_cosine_similarity({level(""): level("", "family")}),
        "blank": compute_mean_cosine_similarity({level(" "): level(" ")}),
        "more blanks": compute_mean_cosine_similarity({level("  "): level("   "), level(other): level(other)}),
    }


@compare(rtol=1e-9, atol=1e-12)
def case_values_of_all_kinds(seed):
    """Case, blanks and punctuation reach the vectors; many pairs, one pair, and pairs in another order."""
    pairs = random_pairs(seed, 40)
    items = list(pairs.items())
    return {
        "many": compute_mean_cosine_similarity(pairs),
        "reversed": compute_mean_cosine_similarity(dict(reversed(items))),
        "single": [compute_mean_cosine_similarity({original: recovered}) for original, recovered in items[:6]],
        "case": compute_mean_cosine_similarity({level("Never Married"): level("never married")}),
        "blanks": compute_mean_cosine_similarity({level(" sales "): level("sales"), level("farm"): level("farm  ")}),
        "letters": compute_mean_cosine_similarity({level("école 日本"): level("ecole 日本")}),
        "lines": compute_mean_cosine_similarity({level("sales\nand"): level("sales and")}),
    }


@compare(rtol=1e-9, atol=1e-12)
def case_identical_values(seed):
    """1 if all values are recovered, whatever the features are called."""
    values = rotated(seed)
    return {
        "all": compute_mean_cosine_similarity({level(value): level(value) for value in values}),
        "wrong features": compute_mean_cosine_similarity(
            {level(value): level(value, f"feature {number}") for number, value in enumerate(values)}
        ),
        "no feature": compute_mean_cosine_similarity({level(value): f", Value: {value}" for value in values}),
    }


@compare(rtol=1e-9, atol=1e-12)
def case_only_values_count(seed):
    """Long equal feature names next to different values, and unlike names next to equal ones."""
    name = "how the person earned a living in the year of the census"
    first, second, third, *_ = rotated(seed)
    return {
        "same names": compute_mean_cosine_similarity({level(first, name): level(second, name)}),
        "other names": compute_mean_cosine_similarity({level(first, name): level(second, "job")}),
        "both": compute_mean_cosine_similarity(
            {level(first, name): level(second, "job"), level(second): level(second, name), level(third): level(first)}
        ),
    }


@compare(rtol=1e-9, atol=1e-12)
def case_repeated_guesses(seed):
    """Several levels recovered as the same value each count, and so does one value under two features."""
    first, second, third, *_ = rotated(seed)
    return {
        "same guess": compute_mean_cosine_similarity({level(value): level(first) for value in (first, second, third)}),
        "same value": compute_mean_cosine_similarity(
            {level(first, "job"): level(second), level(first, "trade"): level(second), level(third): level(third)}
        ),
    }


@compare(rtol=1e-9, atol=1e-12)
def case_separator_inside(seed):
    """The value ends where the separator comes a second time; parts of the separator do not matter."""
    tail = rotated(seed)[0]
    return {
        "second separator": compute_mean_cosine_similarity({level(f"farm, Value: {tail}"): level("farm")}),
        "third separator": compute_mean_cosine_similarity({level("farm, Value: , Value: x"): level(f"farm {tail}")}),
        "nothing between": compute_mean_cosine_similarity({level(f", Value: {tail}"): level(tail)}),
        "commas and colons": compute_mean_cosine_similarity(
            {level(f"sales, retail: {tail}, other"): level(f"sales, Value:{tail}"), level("a: b"): level("a, b")}
        ),
        "comma in the name": compute_mean_cosine_similarity({level("farm", "job, trade: main"): level("farm", "a: b")}),
        "other case": compute_mean_cosine_similarity({level(f"farm, value: {tail}"): level(f"farm, value: {tail}")}),
        "name with value": compute_mean_cosine_similarity({level(tail, "Value: "): level("farm", ", Value")}),
    }


@compare(exact=True)
def case_embedded_texts(seed):
    """Which texts are embedded, and in which size, whatever the order and number of the calls."""
    rng = np.random.default_rng([7, seed])
    seen = set()

    def recording(text: str, dim: int = 100) -> np.ndarray:
        seen.add((text, dim))
        return np.ones(dim, dtype=np.float32)

    replace_helper(recording)
    pairs = {
        level(" Retail, sales: A "): level("retail\tsales", "a, b"),
        level("x, Value: y", "Value: "): level("", "Feature: "),
        level("Ünïcode 🎈"): level("Feature: z"),
    }
    size = int(rng.integers(2, 50))
    result = compute_mean_cosine_similarity(pairs, TabularConfig(embedding_dim=size))
    default = compute_mean_cosine_similarity({level("default"): level("size")})
    return {"seen": seen, "results": [round(result, 9), round(default, 9)]}


@compare(rtol=1e-9, atol=1e-12)
def case_other_sizes(seed):
    """The configuration says how large the vectors are."""
    pairs = random_pairs(seed, 12)
    return {
        f"{size} numbers": compute_mean_cosine_similarity(pairs, TabularConfig(embedding_dim=size))
        for size in (1, 3, 16, 100, 512)
    }


@compare(rtol=1e-9, atol=1e-12)
def case_other_separators(seed):
    """The configuration says how levels are written; its default stands in some values then."""
    results = {}
    for separator in (": ", "=", " | ", "; Wert: ", ".", "\\s"):
        config = TabularConfig(name_prefix="", value_separator=separator)
        values = [*rotated(seed)[:2], "sales, Value; retail", "two words"]
        texts = [f"job{separator}{value}" for value in values]
        texts.append(f"job, Value, trade{separator}never{separator}married")
        pairs = dict(zip(texts, texts[1:] + texts[:1], strict=True))
        results[separator] = compute_mean_cosine_similarity(pairs, config)
    return results


@compare(rtol=1e-9, atol=1e-12)
def case_census_attacks(seed):
    """The levels of the bundled table, recovered by the simulated attackers."""
    config = TabularConfig(seed=seed, symbols_per_level=4)
    rows, _ = load_rows(Path("data/census_small.csv"))
    table = SymbolTable((item for row in rows for item in row), config)
    return {
        name: compute_mean_cosine_similarity(describe_pairs(attack(table, attacker), config), config)
        for name, attacker in attackers(table, config).items()
    }


@compare(exact=True)
def case_errors(seed):
    """No pairs; a level without the separator, in any place."""
    good = {level(rotated(seed)[0]): level("farm"), level("x"): level("y")}
    attempts = {
        "original": {"Feature: job": level("farm")},
        "recovered": {level("farm"): "I cannot say."},
        "empty guess": {level("farm"): ""},
        "last pair": {**good, level("z"): "Feature: job, Value:farm"},
        "other case": {level("farm"): "feature: job, value: farm"},
        "first pair": {"farm": "farm", **good},
    }
    results = {
        name: outcome(compute_mean_cosine_similarity, pairs, errors=IndexError) for name, pairs in attempts.items()
    }
    results["no pairs"] = outcome(compute_mean_cosine_similarity, {}, errors=ValueError)
    config = TabularConfig(value_separator="=")
    results["other separator"] = outcome(compute_mean_cosine_similarity, good, config, errors=IndexError)
    return results


@compare(rtol=1e-9, atol=1e-12)
def case_nothing_else_changes(seed):
    """Pairs, vectors of the helper, generators and files stay as they are; a second call says the same."""
    rng = np.random.default_rng([8, seed])
    vectors = {text: rng.normal(size=5).astype(np.float32) for text in ("a", "b", "c")}
    replace_helper(lambda text, dim=100: vectors[text])
    config = TabularConfig(embedding_dim=5)
    pairs = {level("a"): level("b"), level("b"): level("a"), level("c"): level("a")}
    files = {(folder, *names) for folder, _, names in os.walk(".")}
    state = np.random.get_state()[1].copy()
    results = [compute_mean_cosine_similarity(pairs, config) for _ in range(2)]
    return {
        "results": results,
        "pairs": list(pairs.items()),
        "vectors": vectors,
        "generator_untouched": bool((np.random.get_state()[1] == state).all()),
        "files_untouched": files == {(folder, *names) for folder, _, names in os.walk(".")},
    }
