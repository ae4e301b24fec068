"""Labelled inputs for bertscore-method: each function that is written, and a study of systems with all of them.

Wherever a text is padded, every token has a counterpart of positive cosine in the other text.
"""

import torch
from bert_score.corpus import make_corpus
from bert_score.encoder import OneLayer
from bert_score.idf import idf_weights
from bert_score.layers import choose_layer, layer_quality
from bert_score.references import score_references
from bert_score.rescale import random_pair_baseline, rescale
from bert_score.score import PADDING_VALUE, BERTScorer
from bert_score.systems import draw_hybrids, draw_subsets, hybrid_scores, segment_agreement, select_systems
from bert_score.tokenizer import WordPieceTokenizer
from bert_score.toy_systems import Outputs, Slotted, make_slotted, make_systems
from bert_score_goal import combine, greedy_cos_idf, side_score, similarity_matrix, token_matches
from lmrbench_cases import compare, experiment, goal
from torch import Tensor


def normal(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Standard normal numbers, the same for each dtype up to rounding."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def uniform(seed: int, *shape: int) -> Tensor:
    """Numbers from 0 to 1."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def masks(lengths: list[int], longest: int) -> Tensor:
    """Ones for tokens, zeros for padding."""
    return (torch.arange(longest) < torch.tensor(lengths).unsqueeze(1)).long()


# --- the score of a batch ---------------------------------------------------------------------------------------------


@goal("similarity_matrix")
@compare(rtol=1e-4, atol=1e-6)
def case_similarities(seed):
    """Vectors of unequal norms in all directions; both dtypes."""
    results = []
    for size, ref_length, hyp_length, width in ((1, 3, 5, 2), (3, 6, 4, 7), (2, 1, 1, 5)):
        for dtype in (torch.float64, torch.float32):
            ref, hyp = (
                normal(seed + k, size, length, width, dtype=dtype) * (0.1 + 5 * uniform(seed + k, size, length, 1))
                for k, length in ((10, ref_length), (20, hyp_length))
            )
            results.append(similarity_matrix(ref.to(dtype), hyp.to(dtype)))
    return results


@goal("token_matches")
@compare(rtol=1e-6, atol=1e-8)
def case_matches(seed):
    """Similarities of both signs without padding, positive ones with padding; tokens that share a best counterpart."""
    results = []
    for size, ref_length, hyp_length in ((2, 4, 3), (1, 1, 6), (3, 5, 5)):
        similarity = 2 * uniform(100 * seed + ref_length, size, hyp_length, ref_length) - 1
        ones = torch.ones(size, ref_length).long(), torch.ones(size, hyp_length).long()
        results.append([matches.clone() for matches in token_matches(similarity, *ones)])
    similarity = 0.05 + 0.9 * uniform(seed, 4, 6, 5)
    similarity[:, :, 1] = similarity[:, :, 1].sqrt()
    ref_masks, hyp_masks = masks([5, 2, 1, 4], 5), masks([6, 6, 3, 1], 6)
    similarity.masked_fill_((hyp_masks.unsqueeze(2) * ref_masks.unsqueeze(1)) == 0, 0.99)
    hyp_matches, ref_matches = token_matches(similarity, ref_masks, hyp_masks)
    results.append([hyp_matches.masked_fill(hyp_masks == 0, 0.0), ref_matches.masked_fill(ref_masks == 0, 0.0)])
    return results


@goal("side_score")
@compare(rtol=1e-6, atol=1e-8)
def case_side(seed):
    """Uneven and equal weights, tokens without any, padding."""
    results = []
    for size, length in ((3, 5), (1, 1), (4, 9)):
        matches = 2 * uniform(10 * seed + length, size, length) - 0.5
        weights = 4 * uniform(10 * seed + length + 5, size, length) ** 2 + 0.01
        results += [side_score(matches, weights), side_score(matches, torch.full_like(weights, 0.7))]
        if length > 1:
            results.append(side_score(matches, weights * (torch.arange(length) % 2 == 1)))
    return results


@goal("combine")
@compare(rtol=1e-6, atol=1e-8)
def case_combine(seed):
    """Precision above and below recall, and far from it."""
    precision, recall = uniform(seed, 12) + 0.01, uniform(seed + 10, 12) + 0.01
    return [combine(precision, recall), combine(0.1 * precision, recall), combine(recall, recall)]


@goal("greedy_cos_idf")
@compare(rtol=1e-4, atol=1e-6)
def case_batch(seed):
    """Texts of unequal lengths with padding that would match well, and with weights that differ between the sides."""
    size, ref_length, hyp_length, width = 4, 7, 5, 6
    sides = []
    for number, (length, lengths) in enumerate(((ref_length, [7, 3, 1, 5]), (hyp_length, [2, 5, 4, 5]))):
        real = masks(lengths, length)
        vectors = (normal(10 * seed + number, size, length, width) + 1.5) * (0.2 + uniform(seed, size, length, 1))
        weights = (4 * uniform(10 * seed + number + 5, size, length) ** 2 + 0.05) * real
        sides += [vectors.masked_fill((real == 0).unsqueeze(2), PADDING_VALUE), real, weights]
    ones = [sides[1].double(), sides[4].double()]
    return [
        greedy_cos_idf(*sides),
        greedy_cos_idf(*sides[:2], ones[0], *sides[3:5], ones[1]),
        greedy_cos_idf(*(part.float() if part.is_floating_point() else part for part in sides)),
    ]


# --- weights, rescaling, references, layers ---------------------------------------------------------------------------


@goal("idf_weights")
@compare(rtol=1e-9, atol=1e-12)
def case_weights(seed):
    """Tokens of some, all and no documents, repeated ones, special ones."""
    generator = torch.Generator().manual_seed(seed)
    results = []
    for documents in (1, 5, 40 + seed % 9):
        lengths = torch.randint(1, 9, (documents,), generator=generator).tolist()
        texts = [[2, *torch.randint(4, 14 + seed % 9, (n,), generator=generator).tolist(), 4, 3] for n in lengths]
        weights = idf_weights(texts, frozenset({0, 1, 2, 3}))
        results.append([float(weights(token)) for token in range(20)])
    return results


@goal("rescale")
@compare(rtol=1e-9, atol=1e-12)
def case_rescale(seed):
    """Scores above and below several baselines."""
    scores = 2 * uniform(seed, 9) - 1
    return [rescale(scores, baseline) for baseline in (0.0, 0.3 + 0.1 * (seed % 5), 0.9, -0.4)]


class WindowEncoder:
    """Layers without training: a vector for each piece, and in each layer more of its neighbours."""

    def __init__(self, seed: int, vocabulary_size: int, layers: int = 4, width: int = 16) -> None:
        self.table = normal(seed, vocabulary_size, width) + 0.8
        self.mixing = [0.3 * normal(seed + 1 + layer, width, width) for layer in range(layers)]

    def encode_layers(self, ids: list[int]) -> list[Tensor]:
        vectors, layers = self.table[list(ids)], []
        for mixing in self.mixing:
            padded = torch.nn.functional.pad(vectors, (0, 0, 1, 1))
            vectors = vectors + 0.3 * (padded[:-2] + 0.5 * padded[2:]) @ mixing
            layers.append(vectors.to(torch.get_default_dtype()))
        return layers


def make_scorers(seed: int, layers: int = 4) -> list[BERTScorer]:
    """A scorer for each layer of an encoder."""
    tokenizer = WordPieceTokenizer(make_corpus(150, seed))
    encoder = WindowEncoder(seed, len(tokenizer), layers)
    return [BERTScorer(tokenizer, OneLayer(encoder, layer)) for layer in range(layers)]


@goal("BERTScorer.score")
@compare(rtol=1e-4, atol=1e-5)
def case_lists(seed):
    """Texts of unequal lengths in batches of several sizes; words that only candidates have, and common ones."""
    (scorer,) = make_scorers(seed, layers=1)
    texts = make_corpus(40, seed=seed + 50)
    cands, refs = texts[:15], [*texts[26:40], texts[14]]
    results = {f"{size}": scorer.score(cands, refs, idf=True, batch_size=size) for size in (1, 4, 40)}
    return results | {"equal weights": scorer.score(cands, refs), "others": scorer.score(refs, cands, idf=True)}


@goal("score_references")
@compare(rtol=1e-4, atol=1e-5)
def case_references(seed):
    """One reference or several, in numbers that differ; equal weights and those of rarity."""
    (scorer,) = make_scorers(seed, layers=1)
    texts = make_corpus(20, seed=seed + 30)[::-1]
    refs = [texts[:1], texts[1:4], [texts[4], *texts[9:12]], texts[5:7], [texts[7], texts[7], texts[13]]]
    cands = [texts[14], texts[2], texts[15], texts[16], texts[13]]
    return [score_references(scorer, cands, refs, idf=idf) for idf in (False, True)]


@goal("layer_quality")
@compare(rtol=1e-6, atol=1e-9)
def case_layer_quality(seed):
    """One set or several of unequal sizes; scores that agree, disagree and are turned round."""
    results = []
    for sizes in ((9,), (5, 30), (6, 12, 80)):
        ratings = [normal(100 * seed + size, size) for size in sizes]
        signs = [1.0, -1.0, 0.2]
        noise = [normal(100 * seed + size + 1, size) for size in sizes]
        scores = [3 + sign * part + other for sign, part, other in zip(signs, ratings, noise, strict=False)]
        results.append(float(layer_quality(scores, ratings)))
    return results


# --- systems ----------------------------------------------------------------------------------------------------------


@goal("segment_agreement")
@compare(rtol=1e-9, atol=1e-12)
def case_agreement(seed):
    """Few and many systems; ratings of a few degrees, so that many are equal, and others."""
    results = []
    for systems, segments in ((2, 30), (4, 11), (7, 5)):
        ratings = normal(10 * seed + systems, systems, segments)
        scores = ratings + 1.2 * normal(10 * seed + systems + 3, systems, segments) + normal(seed, 1, segments)
        results += [segment_agreement(scores, ratings), segment_agreement(scores, ratings.round())]
    return [float(value) for value in results]


@goal("select_systems")
@compare(rtol=1e-9, atol=1e-12)
def case_selection(seed):
    """Metrics of several strengths, subsets of several sizes."""
    results = []
    for noise, size in ((0.3, 2), (0.6, 5), (1.5, 9), (-0.5, 4)):
        human = normal(10 * seed + size, 30)
        metric = human * (1 if noise > 0 else -1) + abs(noise) * normal(10 * seed + size + 20, 30)
        found = select_systems(metric, human, draw_subsets(30, size, 25, seed))
        results.append([float(found.hits), float(found.reciprocal_rank), float(found.difference)])
    return results


def score_outputs(scorer: BERTScorer, outputs: Outputs, references: list[Slotted]) -> Tensor:
    """Scores (S, N) of the outputs of all systems, with weights."""
    cands = [text for row in outputs.candidates for text in row]
    scores = scorer.score(cands, list(map(str, references)) * len(outputs.candidates), idf=True)
    return scores.view(len(outputs.candidates), -1)


@experiment
@compare(rtol=1e-6, atol=1e-9)
def case_study(seed):
    """In float64: quality of layers, scores by the chosen one, rescaled and with references, and selected systems."""
    torch.set_default_dtype(torch.float64)
    scorers = make_scorers(seed)
    rates = (0.05, 0.2, 0.35, 0.5)
    sets = [make_slotted(size, 10 * seed + size) for size in (8, 20, 16)]
    outputs = [make_systems(references, rates, seed + number) for number, references in enumerate(sets)]
    flat = [part.ratings.flatten() for part in outputs]
    scores = [
        [score_outputs(scorer, *pair).flatten() for pair in zip(outputs[:2], sets[:2], strict=True)]
        for scorer in scorers
    ]
    scorer = scorers[choose_layer(scores, flat[:2])]

    found = score_outputs(scorer, outputs[2], sets[2])
    texts = list(map(str, sets[2]))
    refs = [[text, other] for text, other in zip(texts, texts[5:] + texts[:5], strict=True)]
    several = [score_references(scorer, row, refs, idf=True) for row in outputs[2].candidates]
    unlike = [score_references(scorer, row, [pair[1:] for pair in refs]) for row in outputs[2].candidates]
    hybrids = draw_hybrids(len(rates), len(texts), 60, seed)
    metric, human = hybrid_scores(found, hybrids), hybrid_scores(outputs[2].ratings, hybrids)
    selection = select_systems(metric, human, draw_subsets(60, 12, 40, seed))
    return {
        "quality": [float(layer_quality(layer, flat[:2])) for layer in scores],
        "scores": found,
        "rescaled": rescale(found, random_pair_baseline(scorer, texts, idf=True, pairs=40, seed=seed)),
        "references": several,
        "unlike": unlike,
        "agreement": float(segment_agreement(found, outputs[2].ratings)),
        "hybrids": [metric, human],
        "selection": [float(selection.hits), float(selection.reciprocal_rank), float(selection.difference)],
    }
