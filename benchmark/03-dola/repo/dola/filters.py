"""Changes to next-token scores: the plausibility filter, and processors that a caller can add."""

import math
from collections.abc import Callable, Collection, Sequence

import torch
from torch import Tensor

#: Maps ids so far (batch, length) and next-token scores (batch, vocab) to new scores (batch, vocab).
LogitsProcessor = Callable[[Tensor, Tensor], Tensor]


def relative_top_filter(logits: Tensor, relative_top: float) -> Tensor:
    """Log-probabilities of the mature layer with all implausible tokens cut.

    Args:
        logits: (batch, vocab), not normalised.
        relative_top: alpha of the paper, above 0.

    Returns:
        Log-softmax of `logits`, -inf where a token is cut. The most probable token of a row is never cut.
    """
    log_probs = torch.log_softmax(logits, dim=-1)
    best = log_probs.amax(dim=-1, keepdim=True)
    threshold = torch.minimum(best + math.log(relative_top), best)
    return log_probs.masked_fill(log_probs < threshold, -math.inf)


class RepetitionPenalty:
    """Makes tokens less likely that the sequence, prompt included, already holds.

    Args:
        penalty: theta of the paper, above 0; 1 changes nothing.
    """

    def __init__(self, penalty: float) -> None:
        if penalty <= 0:
            raise ValueError(f"penalty must be above 0, not {penalty}")
        self.penalty = penalty

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Penalise scores (batch, vocab), given the ids so far (batch, length); neither argument is changed."""
        seen = scores.gather(-1, input_ids)
        seen = torch.where(seen < 0, seen * self.penalty, seen / self.penalty)
        return scores.scatter(-1, input_ids, seen)


class BanTokens:
    """Makes some tokens impossible."""

    def __init__(self, token_ids: Collection[int]) -> None:
        self.token_ids = sorted(token_ids)

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        scores = scores.clone()
        scores[:, self.token_ids] = -math.inf
        return scores


class ForceTokens:
    """Makes a batch of one continue with given tokens, one a step, and keeps the scores that it was called with.

    Attributes:
        seen: the scores (1, vocab) of each step so far.
    """

    def __init__(self, token_ids: Sequence[int]) -> None:
        self.token_ids = list(token_ids)
        self.seen: list[Tensor] = []

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        token = self.token_ids[len(self.seen)]
        self.seen.append(scores)
        forced = torch.full_like(scores, -math.inf)
        forced[:, token] = 0.0
        return forced


class LogitsProcessorList(list[LogitsProcessor]):
    """Processors in the order in which they are applied."""

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        for processor in self:
            scores = processor(input_ids, scores)
        return scores
