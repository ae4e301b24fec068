"""Labelled inputs for moverscore-method: each function that is written, and the scores of texts with all of them.

Small constants that keep divisors off zero change nothing here: weights are of order one, and tolerances far above.
"""

import math
import string

import numpy as np
import torch
from corpus import make_corpus
from emd import transport_cost
from idf import idf_of_unseen, idf_table, inverse_frequency
from lmrbench_cases import compare, experiment, goal
from movescore import (
    cost_matrix,
    mover_score,
    ngram_vectors,
    ngram_weights,
    pool_layers,
    power_mean,
    similarity,
    text_distance,
    word_mover_score,
)
from preprocess import LayeredTokens, collate, is_counted
from scipy.stats import pearsonr
from torch import Tensor

from evaluate import MoverScorer, load_pairs

FEW = "[CLS] [SEP] [UNK] the ##s ... .. '' — a##b 10 u.s. # b## – s !?".split()


def uniform(seed: int, *shape: int) -> Tensor:
    """Numbers from 0 to 1."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def normal(seed: int, *shape: int) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def units(vectors: Tensor) -> Tensor:
    """Vectors of length 1 in each row, for results that are defined up to a factor."""
    return vectors / vectors.norm(dim=1, keepdim=True)


# --- words and weights ------------------------------------------------------------------------------------------------


@goal("is_counted")
@compare(exact=True)
def case_tokens_that_count(seed):
    """Punctuation marks, pieces, special tokens and words, in an order that the seed decides."""
    rng = np.random.default_rng(seed)
    pieces = [
        "".join(rng.choice([*"ab.-", "##"], size=size)) for size in rng.integers(2, 5, size=40)
    ]  # no single mark, some with the sign of a continuation
    tokens = rng.permutation([*FEW, *string.punctuation, *pieces])
    return [bool(is_counted(str(token))) for token in tokens]


@goal("inverse_frequency")
@compare(rtol=1e-9, atol=1e-12)
def case_inverse_frequency(seed):
    """Tokens of few, many, all and no documents."""
    return [
        float(inverse_frequency(documents, containing))
        for documents in (3 + seed % 9, 20 + seed % 9, 1000 + 7 * (seed % 9))
        for containing in (0, 1, 2, documents // 2, documents - 1, documents)
    ]


# --- vectors ----------------------------------------------------------------------------------------------------------


@goal("power_mean")
@compare(rtol=1e-9, atol=1e-12)
def case_power_mean(seed):
    """The exponents of the paper on numbers of both signs, others on positive ones; one layer or several."""
    results = {}
    for number, shape in enumerate(((5, 3, 4), (2, 6), (1, 2, 3), (7, 2, 2, 3))):
        layers = normal(50 * seed + number, *shape)
        results[f"{shape}"] = [power_mean(layers, exponent) for exponent in (1.0, math.inf, -math.inf)]
        results[f"{shape}, positive"] = [power_mean(layers.abs() + 0.1, p) for p in (2.0, 3, -1.0, 0.5 + seed % 4)]
    return results


@goal("pool_layers")
@compare(rtol=1e-6, atol=1e-8)
def case_pool_layers(seed):
    """Layers of unequal norms: more than are pooled, as many, and fewer."""
    results = {}
    for layers, *shape in ((13, 2, 3, 4), (7, 1, 4, 3), (5, 3, 2, 5), (3, 2, 2, 4), (1, 1, 2, 3)):
        vectors = normal(100 * seed + layers, layers, *shape) + 0.4
        results[f"{layers}"] = pool_layers(vectors * normal(100 * seed + 50 + layers, layers, *shape[:-1], 1).exp())
    return results


@goal("ngram_weights")
@compare(rtol=1e-6, atol=1e-9)
def case_ngram_weights(seed):
    """All lengths of n-grams; normalised here, since a factor is left open."""
    results = {}
    for words in (1, 3, 6):
        weights = 3 * uniform(10 * seed + words, words) + 0.05
        for n in range(1, words + 1):
            found = ngram_weights(weights, n)
            results[f"{words}, {n}"] = found / found.sum()
    return results


@goal("ngram_vectors")
@compare(rtol=0, atol=2e-4)
def case_ngram_vectors(seed):
    """Directions for all lengths of n-grams, with uneven weights, some of them zero inside of an n-gram."""
    results = {}
    for words in (2, 4, 7):
        vectors, weights = normal(10 * seed + words, words, 5), 3 * uniform(10 * seed + words, words) + 0.1
        for n in range(1, words + 1):
            results[f"{words}, {n}"] = units(ngram_vectors(vectors, weights, n))
    weights = torch.tensor([0.0, 1.0 + seed % 9, 0.5, 0.0, 2.0], dtype=torch.float64)
    results["zero weights"] = units(ngram_vectors(normal(seed, 5, 4), weights, 2))
    return results


# --- distances --------------------------------------------------------------------------------------------------------


@goal("cost_matrix")
@compare(rtol=0, atol=2e-4)
def case_cost_matrix(seed):
    """Vectors of several lengths, equal and opposite ones; then one without any length."""
    vectors = normal(seed, 6, 4) * (0.5 + 2 * uniform(seed, 6, 1))
    wide = 3 * normal(seed + 10, 3, 12) + 1
    costs = [cost_matrix(vectors), cost_matrix(wide), cost_matrix(torch.cat([vectors[:2], -vectors[:2], 2 * vectors]))]
    with_zero = cost_matrix(torch.cat([vectors[:3], torch.zeros(1, 4, dtype=torch.float64)]))
    return [costs, with_zero[:3, :3], bool(torch.isfinite(with_zero).all())]


@goal("transport_cost")
@compare(rtol=1e-5, atol=1e-6)
def case_transport(seed):
    """Equal totals, uneven masses: more sources, more targets, one of a kind; costs of both magnitudes; nothing."""
    rng = np.random.default_rng(seed)
    results = []
    for sources, targets in ((1, 1), (1, 4), (5, 1), (3, 3), (6, 4), (4, 9)):
        supply, demand = rng.uniform(0.1, 2, size=sources), rng.uniform(0.1, 2, size=targets)
        cost = rng.uniform(0, 4, size=(sources, targets)) ** 2
        for total in (1.0, 1.0 + seed % 9):
            results.append(float(transport_cost(total * supply / supply.sum(), total * demand / demand.sum(), cost)))
    places = rng.uniform(0, 1, size=(2, 5))
    costs = (places[0][:, None] - places[1]) ** 2
    results.append(float(transport_cost(np.full(5, 0.2), np.full(5, 0.2), costs)))
    return results


@goal("text_distance")
@compare(rtol=0, atol=2e-4)
def case_text_distance(seed):
    """Texts of unequal lengths and weights; the larger of two texts; the same n-grams with other weights."""
    results = []
    for ref_size, hyp_size in ((1, 1), (3, 5), (6, 2), (4, 4)):
        ref = normal(20 * seed + ref_size, ref_size, 4), 4 * uniform(20 * seed + ref_size, ref_size) + 0.5
        hyp = normal(90 * seed + hyp_size, hyp_size, 4), 2 * uniform(90 * seed + hyp_size, hyp_size) + 0.5
        results += [float(text_distance(*ref, *hyp)), float(text_distance(*hyp, *ref))]
        results.append(float(text_distance(ref[0], 7 * ref[1], ref[0], ref[1].flip(0))))
    return results


@goal("similarity")
@compare(rtol=1e-9, atol=1e-12)
def case_similarity(seed):
    """Distances from nothing to the largest that there is."""
    return [float(similarity(distance)) for distance in (0.0, 0.1 + 0.2 * (seed % 5), 1.0, 1.3 + 0.1 * (seed % 5), 4.0)]


# --- scores -----------------------------------------------------------------------------------------------------------


def side(seed: int, tokens: list[list[str]], layers: int = 7, width: int = 4) -> list:
    """One side of a batch: layers that differ in direction and norm, uneven weights, and padding that means nothing."""
    size, length = len(tokens), max(map(len, tokens)) + 1
    vectors = normal(seed, 1, size, length, width) + 0.6 * normal(seed + 1, layers, size, length, width) + 0.2
    embedding = vectors * normal(seed + 2, layers, size, length, 1).exp()
    return [embedding, 3 * uniform(seed + 3, size, length) ** 2 + 0.1, tokens]


REFERENCES = [
    ["[CLS]", "the", ",", "##s", "train", "was", "[SEP]"],
    ["#", "late", "##ing", "...", '"', "again"],
    ["a", "b", "c", "d", "e"],
    ["one"],
]
CANDIDATES = [
    ["[CLS]", "tram", "##s", ".", "u.s.", "[SEP]"],
    ["--", "$", "10", "%", "was", "so"],
    ["?", "e", "f", "!"],
    ["two", "three", "four"],
]


@goal("mover_score")
@compare(rtol=0, atol=3e-4)
def case_ngrams(seed):
    """n-grams of several lengths and whole texts; tokens left out in between; texts shorter than an n-gram."""
    ref, hyp = side(100 * seed, REFERENCES), side(100 * seed + 50, CANDIDATES)
    results = {f"{n}": mover_score(*ref, *hyp, n=n) for n in (1, 2, 3, 6)}
    results["whole"] = mover_score(*ref, *hyp)
    return {name: list(map(float, scores)) for name, scores in results.items()}


@goal("mover_score")
@compare(rtol=0, atol=3e-4)
def case_order(seed):
    """The same words in another order, for n-grams and for whole texts."""
    words = [["a", "b", "c", "d", "e"], ["f", "g", "h"]]
    embedding, idf, _ = side(100 * seed + 20, words, layers=5)
    order = [3, 0, 4, 1, 2, 5]
    moved = [embedding[:, :, order], idf[:, order]]
    return [list(map(float, mover_score(embedding, idf, words[:1], *moved, words[:1], n=n))) for n in (1, 2, 4, None)]


@goal("word_mover_score")
@compare(rtol=0, atol=3e-4)
def case_words(seed):
    """Single words: texts of unequal lengths, more layers than are pooled; opposite vectors; the same text twice."""
    ref, hyp = side(100 * seed + 7, REFERENCES, layers=12), side(100 * seed + 57, CANDIDATES, layers=12)
    opposite = [-ref[0], ref[1], ref[2]]
    results = [word_mover_score(*ref, *other) for other in (hyp, opposite, ref)]
    return [list(map(float, scores)) for scores in results]


class WindowEncoder:
    """Nine layers without training: a vector for each piece, and more of its neighbours in each layer."""

    def __init__(self, seed: int, pieces: list[str], width: int = 12) -> None:
        self.ids = {piece: index for index, piece in enumerate(pieces)}
        self.table = normal(seed, len(pieces), width) + 0.3
        self.mixing = [0.4 * normal(seed + 1 + layer, width, width) for layer in range(8)]

    def encode(self, tokens: list[str]) -> Tensor:
        layers = [self.table[[self.ids[token] for token in tokens]]]
        for mixing in self.mixing:
            padded = torch.nn.functional.pad(layers[-1], (0, 0, 1, 1))
            layers.append(layers[-1] + (padded[:-2] + 0.5 * padded[2:]) @ mixing)
        return torch.stack(layers)


def make_scorer(seed: int) -> tuple[MoverScorer, list[str], list[str], list[float]]:
    """A scorer on a small corpus, and some of the bundled pairs with their ratings."""
    scorer = MoverScorer(make_corpus(96 + 24 * (seed % 3), seed))
    scorer.encoder = WindowEncoder(seed, scorer.tokenizer.pieces)
    pairs = load_pairs()[5 * (seed % 3) : 5 * (seed % 3) + 24]
    return scorer, pairs["candidate"].tolist(), pairs["reference"].tolist(), pairs["score"].tolist()


@goal("word_mover_score")
@compare(rtol=0, atol=2e-3)
def case_batch_in_single_precision(seed):
    """float32, as the repository makes batches, padding and special tokens of weight 0 included."""
    scorer, candidates, references, _ = make_scorer(seed)
    return list(map(float, scorer.score(candidates[:6], references[:6])))


@experiment
@compare(rtol=0, atol=5e-5)
def case_scores_of_pairs(seed):
    """In float64: weights, scores on words, n-grams and whole texts, and their correlation with ratings."""
    torch.set_default_dtype(torch.float64)
    scorer, candidates, references, ratings = make_scorer(seed)
    known, unseen = idf_table(scorer.texts), idf_of_unseen(scorer.texts)

    def batch(texts: list[str]) -> LayeredTokens:
        return collate(texts, scorer.tokenizer.tokenize, scorer.encoder, known, unseen)

    ref, hyp = batch(references), batch(candidates)
    arguments = (ref.embedding, ref.idf, ref.tokens, hyp.embedding, hyp.idf, hyp.tokens)
    scores = {"words": scorer.score(candidates, references), "equal": scorer.score(candidates, references, idf=False)}
    scores |= {f"{n}": mover_score(*arguments, n=n) for n in (2, 3, None)}
    scores = {name: list(map(float, found)) for name, found in scores.items()}
    return {
        "weights": [float(known[token]) for token in sorted(known)] + [float(unseen)],
        "scores": scores,
        "correlations": {name: float(pearsonr(found, ratings)[0]) for name, found in scores.items()},
    }
