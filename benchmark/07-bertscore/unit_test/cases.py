"""Labelled inputs for bertscore-greedy-cosine-idf.

Most cases use float64, where honest reorderings of the arithmetic agree to many digits and mistakes do not. Wherever a
score is 0, infinite or a jump away from it, vectors lie along the axes and all numbers are exact in binary.
"""

from typing import NamedTuple

import torch
from bert_score.corpus import make_corpus
from bert_score.score import BERTScorer
from bert_score.tokenizer import WordPieceTokenizer
from bert_score_goal import greedy_cos_idf
from lmrbench_cases import compare
from torch import Tensor


class Batch(NamedTuple):
    """Arguments of the function in their order."""

    ref_embedding: Tensor
    ref_masks: Tensor
    ref_idf: Tensor
    hyp_embedding: Tensor
    hyp_masks: Tensor
    hyp_idf: Tensor

    def score(self) -> Tensor:
        """Call on copies, which are the callee's to keep."""
        return greedy_cos_idf(*(argument.clone() for argument in self))


def random_batch(
    seed: int,
    size: int,
    ref_length: int,
    hyp_length: int,
    width: int = 6,
    shift: float = 0.6,
    dtype: torch.dtype = torch.float64,
) -> Batch:
    """Unpadded batch; vectors of unequal norms about a common direction, which `shift` sets, and uneven weights."""
    generator = torch.Generator().manual_seed(1000 * seed + 97 * ref_length + hyp_length)

    def vectors(length: int) -> Tensor:
        directions = torch.randn(size, length, width, generator=generator, dtype=torch.float64) + shift
        norms = 0.2 + 4 * torch.rand(size, length, 1, generator=generator, dtype=torch.float64)
        return (directions * norms).to(dtype)

    def weights(length: int) -> Tensor:
        return (4 * torch.rand(size, length, generator=generator, dtype=torch.float64) ** 2 + 0.05).to(dtype)

    return Batch(
        vectors(ref_length),
        torch.ones(size, ref_length, dtype=torch.long),
        weights(ref_length),
        vectors(hyp_length),
        torch.ones(size, hyp_length, dtype=torch.long),
        weights(hyp_length),
    )


def pad(batch: Batch, ref_lengths: list[int], hyp_lengths: list[int]) -> Batch:
    """Turn all positions from these lengths on into padding: constant vectors, mask 0, weight 0."""
    sides = []
    for (embedding, masks, idf), lengths in ((batch[:3], ref_lengths), (batch[3:], hyp_lengths)):
        real = torch.arange(masks.shape[1]) < torch.tensor(lengths).unsqueeze(1)
        sides += [embedding.masked_fill(~real.unsqueeze(2), 2.0), masks * real, idf * real]
    return Batch(*sides)


def axes_batch(ref: list[tuple[int, int, float]], hyp: list[tuple[int, int, float]]) -> Batch:
    """One pair of unpadded texts; each token is (axis, sign, weight), and a vector of length 4 along its axis of eight.

    Axis -1 gives a zero vector.
    """
    sides = []
    for tokens in (ref, hyp):
        embedding = torch.zeros(1, len(tokens), 8, dtype=torch.float64)
        for position, (axis, sign, _) in enumerate(tokens):
            if axis >= 0:
                embedding[0, position, axis] = 4.0 * sign
        weights = torch.tensor([[weight for _, _, weight in tokens]], dtype=torch.float64)
        sides += [embedding, torch.ones(1, len(tokens)), weights]
    return Batch(*sides)


class TableEncoder:
    """One random vector a token, whatever surrounds it."""

    def __init__(self, seed: int, vocabulary_size: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        self.table = torch.randn(vocabulary_size, 16, generator=generator)

    def encode(self, ids: list[int]) -> Tensor:
        return self.table[ids]


def stack(batches: list[Batch]) -> Batch:
    return Batch(*(torch.cat(arguments) for arguments in zip(*batches, strict=True)))


@compare(rtol=1e-9, atol=1e-12)
def case_unpadded_batches(seed):
    """More reference than candidate tokens, and the other way round; a batch of one, and one of none."""
    sizes = [(3, 5, 4), (1, 4, 4), (4, 4, 4), (2, 3, 24), (2, 24, 3), (5, 1, 3), (0, 4, 3)]
    return {f"B, K, J = {size}": random_batch(seed, *size).score() for size in sizes}


@compare(rtol=1e-4, atol=1e-6)
def case_float32(seed):
    batch = random_batch(seed, 6, 9, 7, dtype=torch.float32)
    return {"unpadded": batch.score(), "padded": pad(batch, [9, 4, 5, 1, 7, 2], [7, 7, 1, 3, 2, 5]).score()}


@compare(rtol=1e-9, atol=1e-12)
def case_padded_beside_single(seed):
    """All cosines are positive, so that padding does not matter: a padded batch, then its texts one by one."""
    ref_lengths, hyp_lengths = [7, 3, 5, 1], [2, 6, 4, 5]
    batch = pad(random_batch(seed, 4, 7, 6, shift=5.0), ref_lengths, hyp_lengths)
    single = [
        Batch(
            *(argument[i : i + 1, :ref_length] for argument in batch[:3]),
            *(argument[i : i + 1, :hyp_length] for argument in batch[3:]),
        ).score()
        for i, (ref_length, hyp_length) in enumerate(zip(ref_lengths, hyp_lengths, strict=True))
    ]
    return {"padded": batch.score(), "single": single}


@compare(rtol=1e-9, atol=1e-12)
def case_mixed_signs_with_padding(seed):
    """No common direction, so that cosines have either sign and a padding zero is often the maximum."""
    batch = random_batch(seed, 6, 6, 5, width=3, shift=0.0)
    return pad(batch, [6, 2, 5, 1, 4, 3], [3, 5, 2, 4, 1, 5]).score()


@compare(rtol=1e-9, atol=1e-12)
def case_negative_similarities(seed):
    """Every cosine is negative: without padding, with padding on either side, and on both."""
    batch = random_batch(seed, 2, 4, 4, shift=5.0)
    batch = batch._replace(hyp_embedding=-batch.hyp_embedding)
    lengths = {"none": (4, 4), "references": (3, 4), "candidates": (4, 3), "both": (2, 3)}
    scores = {name: pad(batch, [ref] * 2, [hyp] * 2).score() for name, (ref, hyp) in lengths.items()}
    scores["opposite single tokens"] = axes_batch([(2, 1, 0.5)], [(2, -1, 4.0)]).score()
    return scores


@compare(rtol=1e-9, atol=1e-12)
def case_padding_anywhere(seed):
    """Padding in front, in the middle and in every second place, with vectors that would match best."""
    batch = random_batch(seed, 4, 6, 7)
    ref_rows, hyp_rows = ["011111", "101011", "000110", "101010"], ["0011011", "1111110", "0010000", "0101010"]
    ref_masks, hyp_masks = (torch.tensor([[int(m) for m in row] for row in rows]) for rows in (ref_rows, hyp_rows))
    ref_embedding, hyp_embedding = batch.ref_embedding.clone(), batch.hyp_embedding.clone()
    ref_embedding[ref_masks == 0] = hyp_embedding[:, 2].repeat_interleave((ref_masks == 0).sum(1), dim=0)
    hyp_embedding[hyp_masks == 0] = ref_embedding[:, 4].repeat_interleave((hyp_masks == 0).sum(1), dim=0)
    return Batch(
        ref_embedding, ref_masks, batch.ref_idf * ref_masks, hyp_embedding, hyp_masks, batch.hyp_idf * hyp_masks
    ).score()


@compare(rtol=1e-9, atol=1e-12)
def case_weights_on_padding(seed):
    """Weights are taken as they come: those on padding count in the sums, for a match of 0."""
    scores = {}
    for shift in (1.5, 0.0):
        batch = random_batch(seed, 3, 6, 5, shift=shift)
        padded = pad(batch, [4, 6, 2], [5, 2, 3])
        scores[f"both, {shift}"] = padded._replace(ref_idf=batch.ref_idf, hyp_idf=batch.hyp_idf).score()
        scores[f"references, {shift}"] = padded._replace(ref_idf=batch.ref_idf).score()
        scores[f"candidates, {shift}"] = padded._replace(hyp_idf=batch.hyp_idf).score()
    return scores


@compare(rtol=1e-9, atol=1e-12)
def case_weights(seed):
    """Uniform, steep and rescaled weights, and steep ones of one side only."""
    batch = random_batch(seed, 3, 6, 8, shift=0.2)
    ref_steep, hyp_steep = (0.3 ** torch.arange(length, dtype=torch.float64).expand(3, -1) for length in (6, 8))
    ref_ones, hyp_ones = torch.ones_like(batch.ref_idf), torch.ones_like(batch.hyp_idf)
    pairs = {
        "uniform": (ref_ones, hyp_ones),
        "steep": (ref_steep, hyp_steep),
        "steep references": (ref_steep, hyp_ones),
        "steep candidates": (ref_ones, hyp_steep.flip(1)),
        "rescaled": (10 * batch.ref_idf, 1e-3 * batch.hyp_idf),
        "as they are": (batch.ref_idf, batch.hyp_idf),
    }
    return {name: batch._replace(ref_idf=ref, hyp_idf=hyp).score() for name, (ref, hyp) in pairs.items()}


@compare(rtol=1e-9, atol=1e-12)
def case_tokens_without_weight(seed):
    """First and last tokens weigh nothing, yet are the best match of others."""
    batch = random_batch(seed, 2, 5, 6)
    ref_embedding, hyp_embedding = batch.ref_embedding.clone(), batch.hyp_embedding.clone()
    ref_embedding[:, 0] = 0.25 * hyp_embedding[:, 2]
    hyp_embedding[:, -1] = 3.0 * ref_embedding[:, 3]
    ref_idf, hyp_idf = batch.ref_idf.clone(), batch.hyp_idf.clone()
    ref_idf[:, [0, -1]] = 0
    hyp_idf[:, [0, -1]] = 0
    return batch._replace(
        ref_embedding=ref_embedding, ref_idf=ref_idf, hyp_embedding=hyp_embedding, hyp_idf=hyp_idf
    ).score()


@compare(rtol=1e-9, atol=1e-12)
def case_equal_texts(seed):
    """Score 1: the same text, its tokens in another order, a single token, tokens that are repeated."""
    batch = random_batch(seed, 2, 5, 5, shift=0.0)
    same = batch._replace(hyp_embedding=batch.ref_embedding, hyp_idf=batch.ref_idf)
    order = torch.randperm(5, generator=torch.Generator().manual_seed(seed))
    one = random_batch(seed, 3, 1, 1)
    return {
        "same": same.score(),
        "other order": same._replace(
            hyp_embedding=batch.ref_embedding[:, order], hyp_idf=batch.ref_idf[:, order]
        ).score(),
        "one token": one._replace(hyp_embedding=7.0 * one.ref_embedding).score(),
        "repeated": same._replace(
            hyp_embedding=batch.ref_embedding[:, [0, 1, 2, 3, 4, 0, 0, 3]],
            hyp_masks=torch.ones(2, 8),
            hyp_idf=torch.ones(2, 8, dtype=torch.float64),
        ).score(),
    }


@compare(rtol=1e-9, atol=1e-12)
def case_greedy_matches_collide(seed):
    """Two tokens have the same best match, which an assignment would have to share out; J and K differ."""
    batch = axes_batch(
        [(0, 1, 1.0), (1, 1, 2.0), (1, 1, 3.0), (2, 1, 0.5)],
        [(0, 1, 2.0), (0, 1, 1.0), (1, 1, 5.0), (3, 1, 1.0), (0, 1, 0.25)],
    )
    noise = 0.3 * random_batch(seed, 1, 4, 5, width=8, shift=0.0).ref_embedding
    return [batch.score(), batch._replace(ref_embedding=batch.ref_embedding + noise).score()]


@compare(rtol=1e-9, atol=1e-12)
def case_undefined_scores(seed):
    """0 in place of NaN: orthogonal texts, weights that are all 0, zero vectors; other rows of the batch stay."""
    undefined = {
        "orthogonal": axes_batch([(0, 1, 1.0), (1, 1, 2.0)], [(2, 1, 1.0), (3, -1, 1.0)]),
        "no reference weights": axes_batch([(0, 1, 0.0), (1, 1, 0.0)], [(0, 1, 1.0), (1, 1, 2.0)]),
        "no candidate weights": axes_batch([(0, 1, 1.0), (1, 1, 0.5)], [(0, 1, 0.0), (1, 1, 0.0)]),
        "no weights": axes_batch([(0, 1, 0.0), (1, 1, 0.0)], [(0, 1, 0.0), (1, 1, 0.0)]),
        "zero vector": axes_batch([(0, 1, 1.0), (1, 1, 1.0)], [(0, 1, 1.0), (-1, 1, 1.0)]),
        "zero vector without weight": axes_batch([(-1, 1, 0.0), (1, 1, 1.0)], [(0, 1, 1.0), (1, 1, 2.0)]),
    }
    good = axes_batch([(0, 1, 1.0), (1, 1, 3.0)], [(0, 1, 1.0), (2, 1, 1.0)])
    rows = list(undefined.values())
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(2 * len(rows), generator=generator).tolist()
    mixed = [*rows, *[good] * len(rows)]
    return {
        "single": {name: batch.score() for name, batch in undefined.items()},
        "mixed": stack([mixed[place] for place in order]).score(),
    }


@compare(rtol=1e-9, atol=1e-12)
def case_empty_texts(seed):
    """A text without real tokens on either side or on both; the other rows keep their scores."""
    return pad(random_batch(seed, 5, 4, 3), [0, 4, 0, 2, 4], [3, 0, 0, 2, 3]).score()


@compare(rtol=1e-9, atol=1e-12)
def case_infinite_scores(seed):
    """P = 1 and R = -1, or the reverse: minus infinity, which is not NaN; then P = 1 and R = -0.75, which gives -6."""
    weight = float(seed + 1)
    low_recall = axes_batch([(0, 1, 0.0), (0, -1, weight)], [(0, 1, 2.0)])
    low_precision = axes_batch([(3, -1, weight)], [(3, -1, 0.0), (3, 1, 0.5)])
    finite = axes_batch([(0, 1, 0.0), (0, -1, 3.0), (1, 1, 1.0), (0, -1, 0.0)], [(0, 1, 3.0), (0, 1, 0.0)])
    return {name: b.score() for name, b in {"recall": low_recall, "precision": low_precision, "finite": finite}.items()}


@compare(rtol=1e-9, atol=1e-12)
def case_scores_beyond_the_unit_interval(seed):
    """P and R of opposite signs: the quotient is large and negative, and nothing clips it."""
    recall_weight = 0.5 + 0.1 * seed
    return axes_batch([(0, 1, 1.0), (0, -1, 1.0 + recall_weight)], [(0, 1, 1.0)]).score()


@compare(rtol=1e-4, atol=1e-6)
def case_vector_norms(seed):
    """Norms from 1e-6 to 1e6, in both dtypes; the scores are those of vectors of norm 1."""
    scores = {}
    for dtype in (torch.float32, torch.float64):
        batch = random_batch(seed, 3, 5, 4, dtype=dtype)
        ref_scale = torch.logspace(-6, 6, 5, dtype=dtype).unsqueeze(1)
        hyp_scale = torch.logspace(6, -6, 4, dtype=dtype).unsqueeze(1)
        directions = [b / b.norm(dim=-1, keepdim=True) for b in (batch.ref_embedding, batch.hyp_embedding)]
        for name, (ref, hyp) in {"unit": (1, 1), "scaled": (ref_scale, hyp_scale), "short": (1e-6, 1e-6)}.items():
            scaled = batch._replace(ref_embedding=directions[0] * ref, hyp_embedding=directions[1] * hyp)
            scores[f"{dtype}, {name}"] = scaled.score()
    return scores


@compare(rtol=1e-5, atol=1e-7)
def case_dtypes(seed):
    """Masks of every kind, different on the two sides, and float32 weights: the embeddings' dtype decides."""
    scores = {}
    for dtype in (torch.float32, torch.float64):
        batch = pad(random_batch(seed, 3, 5, 4, shift=1.0, dtype=dtype), [5, 2, 4], [1, 4, 3])
        for ref_kind, hyp_kind in (
            (torch.bool, torch.bool),
            (torch.int64, torch.bool),
            (torch.uint8, torch.int32),
            (torch.float32, torch.uint8),
            (torch.float64, torch.float32),
            (torch.float32, torch.float64),
        ):
            masked = batch._replace(ref_masks=batch.ref_masks.to(ref_kind), hyp_masks=batch.hyp_masks.to(hyp_kind))
            scores[f"{dtype}, {ref_kind}, {hyp_kind}"] = masked.score()
        scores[f"{dtype}, float32 weights"] = batch._replace(
            ref_idf=batch.ref_idf.float(), hyp_idf=batch.hyp_idf.float()
        ).score()
    return scores


@compare(rtol=1e-9, atol=1e-12)
def case_arguments_unchanged(seed):
    """Arguments by keyword, twice over; they come back as they were."""
    batch = pad(random_batch(seed, 3, 5, 4), [5, 3, 2], [4, 1, 3])
    arguments = batch._asdict()
    scores = [greedy_cos_idf(**dict(reversed(arguments.items()))) for _ in range(2)]
    return {"scores": scores, "arguments": {name: argument.clone() for name, argument in arguments.items()}}


@compare(rtol=1e-9, atol=1e-12)
def case_non_contiguous(seed):
    """Views: transposed embeddings, every second pair of a batch, weights and masks that are expanded or sliced."""
    batch = random_batch(seed, 4, 6, 5)
    transposed = [argument.transpose(0, 1).contiguous().transpose(0, 1) for argument in batch]
    swapped = batch.ref_embedding.transpose(1, 2).contiguous().transpose(1, 2)
    ones, weights = torch.ones(1, 1), batch.ref_idf[:1]
    return {
        "transposed": greedy_cos_idf(*transposed),
        "every second": greedy_cos_idf(*(argument[::2] for argument in batch)),
        "expanded": greedy_cos_idf(
            swapped, ones.expand(4, 6), weights.expand(4, 6), batch.hyp_embedding, ones.expand(4, 5), batch.hyp_idf
        ),
        "sliced": greedy_cos_idf(*batch[:3], *(argument[:, 1::2] for argument in batch[3:])),
    }


@compare(rtol=1e-4, atol=1e-6)
def case_scorer(seed):
    """The whole path from text to score: special tokens, padding and idf weights of the repository."""
    refs, cands = make_corpus(12, seed=seed + 10), make_corpus(12, seed=seed + 20)[::-1]
    tokenizer = WordPieceTokenizer(refs)
    scorer = BERTScorer(tokenizer, TableEncoder(seed, len(tokenizer)))
    return {
        "plain": scorer.score(cands, refs),
        "idf": scorer.score(cands, refs, idf=True, batch_size=5),
        "same": scorer.score(refs, refs, idf=True),
    }
