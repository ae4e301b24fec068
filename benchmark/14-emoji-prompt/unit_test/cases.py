"""Labelled inputs for emoji-decryption-mean-cosine.

Where vectors have to be known, `with_vectors` puts a table in place of `embed_text`; elsewhere the repository's own
helper embeds the values.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import embeddings
import numpy as np
import Tabular
from config import TabularConfig
from lmrbench_cases import compare, core, outcome
from obfuscation import Level, SymbolTable
from recovery import attackers
from Tabular import attack, compute_mean_cosine_similarity, describe_pairs, load_rows

#: Values are made of these, so that two seeds hardly ever share one and yet have words in common.
KINDS = ["retail", "private", "never idle", "self-employed, no", "married,", "a farm", "federal", "part-time", "former"]
THINGS = ["sales", "trade", "doctorate", "staff", "household", "school", "service", "work", "relatives", "machines"]


def level(value: str, feature: str = "occupation", config: TabularConfig | None = None) -> str:
    return Level(feature, value).describe(config or TabularConfig())


def shuffled(seed: int) -> list[str]:
    """Seven different values."""
    values = [f"{kind} {thing}" for kind in KINDS for thing in THINGS]
    return np.random.default_rng([14, seed]).choice(values, 7, replace=False).tolist()


def replace_helper(helper: Callable[..., np.ndarray]) -> None:
    """Put another `embed_text` wherever a solution may look for it."""
    embeddings.embed_text = Tabular.embed_text = helper


def with_vectors(*pairs: tuple[Iterable[float], Iterable[float]]) -> float:
    """The result for pairs of values whose vectors are these; all of one size."""
    table: dict[str, np.ndarray] = {}
    enc_dec_pairs = {}
    for number, vectors in enumerate(pairs):
        names = f"original {number}", f"recovered {number}"
        table |= {name: np.array(vector, dtype=np.float32) for name, vector in zip(names, vectors, strict=True)}
        enc_dec_pairs[level(names[0])] = level(names[1])
    replace_helper(lambda text, dim=100: table[text])
    dim = len(next(iter(table.values())))
    return compute_mean_cosine_similarity(enc_dec_pairs, TabularConfig(embedding_dim=dim))


@core
@compare(rtol=1e-4, atol=1e-5)
def case_census_attacks(seed):
    """The levels of the bundled table, recovered by the simulated attackers."""
    config = TabularConfig(seed=seed)
    rows, _ = load_rows(Path("data/census_small.csv"))
    table = SymbolTable((item for row in rows for item in row), config)
    return {
        name: compute_mean_cosine_similarity(describe_pairs(attack(table, attacker), config), config)
        for name, attacker in attackers(table, config).items()
    }


@core
@compare(rtol=1e-4, atol=1e-5)
def case_known_vectors(seed):
    """Angles of every kind between vectors of unequal lengths; some means are negative."""
    rng = np.random.default_rng([1, seed])
    vectors = rng.normal(size=(5, 2, 8))
    u, v = vectors[0]
    scales = np.array([0.2, 1.0, 3.0, 30.0, 100.0])[:, None, None]
    return {
        "random": with_vectors(*vectors),
        "scaled": with_vectors(*(scales * vectors)),
        "opposite": with_vectors((u, -3 * u), (v, 2 * v), (u, -u)),
        "one pair": with_vectors((u, v)),
    }


@core
@compare(rtol=1e-4, atol=1e-5)
def case_only_values_count(seed):
    """Long equal feature names next to different values, and unlike names next to equal ones."""
    name = "how the person earned a living in the year of the census"
    first, second, third, *_ = shuffled(seed)
    return {
        "same names": compute_mean_cosine_similarity({level(first, name): level(second, name)}),
        "other names": compute_mean_cosine_similarity({level(first, name): level(second, "job")}),
        "both": compute_mean_cosine_similarity(
            {level(first, name): level(second, "job"), level(second): level(second, name), level(third): level(first)}
        ),
    }


@core
@compare(rtol=1e-4, atol=1e-5)
def case_every_level_counts(seed):
    """One value under two features, and one guess for several levels."""
    first, second, third, *_ = shuffled(seed)
    return {
        "same guess": compute_mean_cosine_similarity({level(value): level(first) for value in (first, second, third)}),
        "same value": compute_mean_cosine_similarity(
            {level(first, "job"): level(second), level(first, "trade"): level(second), level(third): level(third)}
        ),
    }


@core
@compare(rtol=1e-4, atol=1e-5)
def case_configuration(seed):
    """The configuration says how levels are written and how large the vectors are."""
    values = shuffled(seed)
    results = {}
    for separator, size in ((", Value: ", 64), (" = ", 200), ("; Wert: ", 512)):
        config = TabularConfig(name_prefix="", value_separator=separator, embedding_dim=size)
        texts = [level(value, config=config) for value in values]
        pairs = dict(zip(texts, texts[1:] + texts[:1], strict=True))
        results[separator] = compute_mean_cosine_similarity(pairs, config)
    return results


@compare(rtol=1e-9, atol=1e-12)
def case_double_precision(seed):
    """Dot products that float32 gets wrong: large terms cancel, and what is left has few digits."""
    rng = np.random.default_rng([2, seed])
    pairs = []
    for _ in range(4):
        big, small = float(rng.integers(4096, 8192)), float(rng.integers(1, 9))
        pairs.append(([big, small, big], [big, small, -big]))
    return {"cancelling": with_vectors(*pairs), "many": with_vectors(*rng.normal(size=(100, 2, 50)))}


@compare(rtol=1e-6, atol=1e-12)
def case_short_vectors(seed):
    """Short vectors have their ordinary cosine, which an epsilon would shrink."""
    vectors = np.random.default_rng([3, seed]).normal(size=(2, 2, 6))
    scales = (1e-5, 1e-6), (1e-7, 1.0)
    return [with_vectors((a * u, b * v), (u, v)) for (a, b), (u, v) in zip(scales, vectors, strict=True)]


@compare(rtol=1e-9, atol=1e-12)
def case_empty_values(seed):
    """An empty value has the zero vector: its pair counts as 0, and it does count."""
    first, second, *_ = shuffled(seed)
    rest = {level(first): level(second), level(second): level(second)}
    return {
        "recovered": compute_mean_cosine_similarity(rest | {level("x"): level("")}),
        "original": compute_mean_cosine_similarity(rest | {level(""): level(second)}),
        "both": compute_mean_cosine_similarity(rest | {level(""): level("", "family")}),
    }


@compare(rtol=1e-9, atol=1e-12)
def case_values_as_they_are(seed):
    """Case and outer blanks count; what follows a further separator does not."""
    first, second, *_ = shuffled(seed)
    return {
        "case": compute_mean_cosine_similarity({level(first.title()): level(first)}),
        "blanks": compute_mean_cosine_similarity({level(f" {first} "): level(f"{first}  ")}),
        "separator": compute_mean_cosine_similarity(
            {level(f"{first}, Value: {second}"): level(f"{first}, Value: never, Value: again"), level("x"): level("x")}
        ),
    }


@compare(rtol=1e-4, atol=1e-5)
def case_errors(seed):
    """No pairs; a level without the separator, in any place; two sound pairs."""
    first, second, *_ = shuffled(seed)
    attempts = {
        "original": {f"Feature: {first}": level(second)},
        "recovered": {level(first): f"I take it for {second}."},
        "last pair": {level(first): level(second), level("z"): f"Feature: job, value: {first}"},
        "none": {level(first): level(second), level("z"): level(first)},
    }
    results = {name: outcome(compute_mean_cosine_similarity, p, errors=IndexError) for name, p in attempts.items()}
    return results | {"no pairs": outcome(compute_mean_cosine_similarity, {}, errors=ValueError)}


@compare(rtol=1e-4, atol=1e-5)
def case_arguments_unchanged(seed):
    """The pairs and the helper's arrays, which it hands out more than once, stay as they are."""
    rng = np.random.default_rng([4, seed])
    vectors = {text: rng.normal(size=5).astype(np.float32) for text in ("a", "b", "c")}
    replace_helper(lambda text, dim=100: vectors[text])
    pairs = {level("a"): level("b"), level("b"): level("a"), level("c"): level("a")}
    results = [compute_mean_cosine_similarity(pairs, TabularConfig(embedding_dim=5)) for _ in range(2)]
    return {"results": results, "pairs": list(pairs.items()), "vectors": vectors}
