"""Labelled inputs for bertscore-greedy-cosine-idf.

Core cases have clear matches: every token has a real counterpart of positive cosine, or no text is padded.
"""

from typing import NamedTuple

import torch
from bert_score.corpus import make_corpus
from bert_score.score import PADDING_VALUE, BERTScorer
from bert_score.tokenizer import WordPieceTokenizer
from bert_score_goal import greedy_cos_idf
from lmrbench_cases import compare, core
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
    """Turn all positions from these lengths on into padding, as the repository does."""
    sides = []
    for (embedding, masks, idf), lengths in ((batch[:3], ref_lengths), (batch[3:], hyp_lengths)):
        real = torch.arange(masks.shape[1]) < torch.tensor(lengths).unsqueeze(1)
        sides += [embedding.masked_fill(~real.unsqueeze(2), PADDING_VALUE), masks * real, idf * real]
    return Batch(*sides)


class TableEncoder:
    """One random vector a token, whatever surrounds it."""

    def __init__(self, seed: int, vocabulary_size: int) -> None:
        self.table = torch.randn(vocabulary_size, 16, generator=torch.Generator().manual_seed(seed)) + 0.5

    def encode(self, ids: list[int]) -> Tensor:
        return self.table[ids]


@core
@compare(rtol=1e-4, atol=1e-5)
def case_unpadded_batches(seed):
    """More reference than candidate tokens, and the other way round; a single pair; both dtypes."""
    sizes = [(3, 5, 4), (1, 4, 4), (2, 3, 24), (2, 24, 3), (5, 1, 3)]
    scores = {f"B, K, J = {size}": random_batch(seed, *size).score() for size in sizes}
    return scores | {"float32": random_batch(seed, 6, 9, 7, dtype=torch.float32).score()}


@core
@compare(rtol=1e-4, atol=1e-5)
def case_padded_batches(seed):
    """Texts of unequal lengths, padded on the right with vectors that would match well."""
    scores = {}
    for dtype in (torch.float32, torch.float64):
        batch = random_batch(seed, 6, 9, 7, shift=2.0, dtype=dtype)
        scores[str(dtype)] = pad(batch, [9, 4, 5, 1, 7, 2], [7, 7, 1, 3, 2, 5]).score()
    return scores


@core
@compare(rtol=1e-4, atol=1e-5)
def case_weights(seed):
    """Uniform, steep and rescaled weights, and steep ones of one side only."""
    batch = random_batch(seed, 3, 6, 8, shift=0.4)
    ref_steep, hyp_steep = (0.3 ** torch.arange(length, dtype=torch.float64).repeat(3, 1) for length in (6, 8))
    ref_ones, hyp_ones = torch.ones_like(batch.ref_idf), torch.ones_like(batch.hyp_idf)
    pairs = {
        "uniform": (ref_ones, hyp_ones),
        "steep references": (ref_steep, hyp_ones),
        "steep candidates": (ref_ones, hyp_steep.flip(1)),
        "rescaled": (10 * batch.ref_idf, 0.1 * batch.hyp_idf),
        "as they are": (batch.ref_idf, batch.hyp_idf),
    }
    return {name: batch._replace(ref_idf=ref, hyp_idf=hyp).score() for name, (ref, hyp) in pairs.items()}


@core
@compare(rtol=1e-4, atol=1e-5)
def case_tokens_without_weight(seed):
    """First and last tokens weigh nothing, as special ones do, yet are the best match of others."""
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


@core
@compare(rtol=1e-4, atol=1e-5)
def case_near_and_far(seed):
    """Repeated and reordered tokens score 1; several tokens share a best match; texts that are unlike score below 0."""
    batch = random_batch(seed, 2, 5, 4, shift=3.0)
    order = [3, 0, 4, 1, 2, 0, 0]
    repeated = Batch(*batch[:3], batch.ref_embedding[:, order], torch.ones(2, 7).long(), batch.ref_idf[:, order])
    shared = batch.hyp_embedding.clone()
    shared[:, 1:3] = batch.ref_embedding[:, :1] * torch.tensor([[[2.0], [0.5]]])
    return {
        "repeated": repeated.score(),
        "shared": batch._replace(hyp_embedding=shared).score(),
        "opposite": batch._replace(hyp_embedding=-batch.hyp_embedding).score(),
    }


@core
@compare(rtol=1e-3, atol=1e-4)
def case_scorer(seed):
    """The whole path from text to score: special tokens, padding and idf weights of the repository."""
    refs, cands = make_corpus(12, seed=seed + 10), make_corpus(12, seed=seed + 20)[::-1]
    tokenizer = WordPieceTokenizer(refs)
    scorer = BERTScorer(tokenizer, TableEncoder(seed, len(tokenizer)))
    return {"plain": scorer.score(cands, refs), "idf": scorer.score(cands, refs, idf=True, batch_size=5)}


@compare(rtol=1e-6, atol=1e-9)
def case_negative_similarities_with_padding(seed):
    """A padding zero is the best match of a token whose cosines are all negative; without padding there is none."""
    batch = random_batch(seed, 6, 6, 5, width=3, shift=0.0)
    opposite = random_batch(seed, 2, 4, 4, shift=3.0)
    opposite = opposite._replace(hyp_embedding=-opposite.hyp_embedding)
    return {
        "mixed": pad(batch, [6, 2, 5, 1, 4, 3], [3, 5, 2, 4, 1, 5]).score(),
        "padded references": pad(opposite, [3, 2], [4, 4]).score(),
        "padded candidates": pad(opposite, [4, 4], [3, 1]).score(),
    }


@compare(rtol=1e-4, atol=1e-5)
def case_masks(seed):
    """Masks say where padding is, also in front and in between, in any dtype; that of the embeddings stays."""
    batch = random_batch(seed, 4, 6, 7, shift=2.0, dtype=torch.float32)
    ref_rows, hyp_rows = ["011111", "101011", "000110", "101010"], ["0011011", "1111110", "0010000", "0101010"]
    ref_masks, hyp_masks = (torch.tensor([[int(m) for m in row] for row in rows]) for rows in (ref_rows, hyp_rows))
    batch = batch._replace(ref_idf=batch.ref_idf * ref_masks, hyp_idf=batch.hyp_idf * hyp_masks)
    long, flag, byte, wide = torch.long, torch.bool, torch.uint8, torch.float64
    kinds = [(long, long), (flag, flag), (byte, wide), (wide, byte)]
    return [batch._replace(ref_masks=ref_masks.to(ref), hyp_masks=hyp_masks.to(hyp)).score() for ref, hyp in kinds]


@compare(rtol=1e-6, atol=1e-9)
def case_undefined_scores(seed):
    """0 in place of NaN, in single rows of a batch: all weights 0, a text without tokens, orthogonal texts."""
    batch = pad(random_batch(seed, 5, 4, 3, shift=2.0), [4, 0, 4, 0, 2], [3, 3, 0, 0, 3])
    ref_idf, hyp_idf = batch.ref_idf.clone(), batch.hyp_idf.clone()
    ref_idf[4] = hyp_idf[2] = 0
    axes = 3.0 * torch.eye(6, dtype=torch.float64).expand(5, 6, 6)
    return {
        "empty": batch.score(),
        "no weights": batch._replace(ref_idf=ref_idf, hyp_idf=hyp_idf).score(),
        "orthogonal": batch._replace(ref_embedding=axes[:, :4], hyp_embedding=axes[:, 3:]).score(),
    }


@compare(rtol=1e-4, atol=1e-5)
def case_arguments_unchanged(seed):
    """Arguments by keyword, twice over; they come back as they were."""
    arguments = pad(random_batch(seed, 3, 5, 4, shift=2.0), [5, 3, 2], [4, 1, 3])._asdict()
    scores = [greedy_cos_idf(**dict(reversed(arguments.items()))) for _ in range(2)]
    return {"scores": scores, "arguments": arguments}
