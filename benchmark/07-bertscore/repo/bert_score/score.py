"""Scores lists of candidates against lists of references: encode, weigh, pad, batch."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from bert_score_goal import greedy_cos_idf
from torch import Tensor

from bert_score.encoder import Encoder
from bert_score.idf import TokenWeights, idf_weights, uniform_weights
from bert_score.tokenizer import WordPieceTokenizer

#: Every number of a padding vector. Not 0: the direction of a padding vector must exist, although it never matters.
PADDING_VALUE = 2.0


@dataclass(frozen=True)
class PaddedTokens:
    """One side of a batch of B pairs, padded to its longest sentence of L tokens.

    Attributes:
        embedding: (B, L, d) token vectors, float32; PADDING_VALUE on padding.
        masks: (B, L) int64, 1 for tokens and 0 for padding.
        weights: (B, L) float32 token weights, 0 on padding.
    """

    embedding: Tensor
    masks: Tensor
    weights: Tensor


class BERTScorer:
    """BERTScore on top of any tokenizer and encoder.

    Attributes:
        tokenizer: cuts texts into word pieces, between `[CLS]` and `[SEP]`.
        encoder: gives one contextual vector a piece.
    """

    def __init__(self, tokenizer: WordPieceTokenizer, encoder: Encoder) -> None:
        self.tokenizer = tokenizer
        self.encoder = encoder

    def score(self, cands: Sequence[str], refs: Sequence[str], idf: bool = False, batch_size: int = 16) -> Tensor:
        """F1 of each candidate against the reference at the same place.

        Args:
            cands: N candidate texts.
            refs: N reference texts.
            idf: use the importance weights of the paper instead of equal ones; `refs` are the references of the test
                set.
            batch_size: pairs scored at a time; scores do not depend on it.

        Returns:
            (N,) scores, in the order of the arguments.

        Raises:
            ValueError: there are more candidates than references, or fewer.
        """
        if len(cands) != len(refs):
            raise ValueError(f"{len(cands)} candidates, but {len(refs)} references")
        special_ids = self.tokenizer.special_ids
        if idf:
            weights = idf_weights([self.tokenizer.encode(text) for text in refs], special_ids)
        else:
            weights = uniform_weights(special_ids)

        scores = torch.zeros(len(cands))
        for places in batches_of_similar_length(cands, refs, batch_size):
            ref = self.pad([refs[place] for place in places], weights)
            hyp = self.pad([cands[place] for place in places], weights)
            scores[places] = greedy_cos_idf(
                ref.embedding, ref.masks, ref.weights, hyp.embedding, hyp.masks, hyp.weights
            )
        return scores

    def pad(self, texts: Sequence[str], weights: TokenWeights) -> PaddedTokens:
        """Encode texts and put them into one batch, padded on the right."""
        ids = [self.tokenizer.encode(text) for text in texts]
        vectors = [self.encoder.encode(sequence) for sequence in ids]
        token_weights = [torch.tensor([weights(token) for token in sequence]) for sequence in ids]
        ones = [torch.ones(len(sequence), dtype=torch.long) for sequence in ids]
        pad_sequence = torch.nn.utils.rnn.pad_sequence
        return PaddedTokens(
            pad_sequence(vectors, batch_first=True, padding_value=PADDING_VALUE),
            pad_sequence(ones, batch_first=True),
            pad_sequence(token_weights, batch_first=True),
        )


def batches_of_similar_length(cands: Sequence[str], refs: Sequence[str], batch_size: int) -> Iterator[list[int]]:
    """Places of the pairs in batches, longest first, so that little is padded."""
    places = sorted(range(len(cands)), key=lambda place: -len(cands[place]) - len(refs[place]))
    for start in range(0, len(places), batch_size):
        yield places[start : start + batch_size]
