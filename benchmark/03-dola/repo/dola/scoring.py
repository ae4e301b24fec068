"""Multiple choice: how probable decoding by contrast finds given answers to a question."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from dola.decoding import dola_greedy_decode
from dola.filters import ForceTokens
from dola.model import EarlyExitLM

#: Takes the place of scores of -inf before scores are normalised, so that answers with implausible tokens compare.
IMPLAUSIBLE_SCORE = -1000.0


@dataclass(frozen=True)
class Question:
    """A question and given answers to it, all LongTensors (length,); there is at least one answer of each kind."""

    prompt: Tensor
    true_answers: Sequence[Tensor]
    false_answers: Sequence[Tensor]


@torch.no_grad()
def answer_log_probs(
    model: EarlyExitLM,
    prompt: Tensor,
    answer: Tensor,
    mature_layer: int,
    base_layer: int | None = None,
    candidate_premature_layers: Sequence[int] | None = None,
    relative_top: float = 0.1,
) -> Tensor:
    """Log of the contrasted probability of each token of an answer, given the prompt and the answer's tokens before it.

    Scores of -inf count as `IMPLAUSIBLE_SCORE`. An end token in the answer is a token like any other.

    Args:
        model: the model.
        prompt: LongTensor (length,).
        answer: LongTensor (answer length,), at least one token.
        mature_layer, base_layer, candidate_premature_layers, relative_top: as in `dola_greedy_decode`.

    Returns:
        (answer length,), in the dtype of the model's logits.
    """
    forced = ForceTokens(answer.tolist())
    dola_greedy_decode(
        model,
        prompt[None],
        mature_layer,
        base_layer,
        candidate_premature_layers,
        relative_top,
        logits_processor=forced,
        max_length=len(prompt) + len(answer),
        eos_token_id=(),
    )
    scores = torch.cat(forced.seen)
    scores = scores.masked_fill(scores.isneginf(), IMPLAUSIBLE_SCORE)
    return torch.log_softmax(scores, 1)[torch.arange(len(answer)), answer]


def answer_score(log_probs: Tensor) -> Tensor:
    """The score s of an answer: a scalar, from the log-probabilities (answer length,) of its tokens."""
    return log_probs.sum()


def quality(true_scores: Tensor, false_scores: Tensor) -> Tensor:
    """The quality c of the scores of one question's answers.

    Args:
        true_scores: (number of true answers,).
        false_scores: (number of false answers,).

    Returns:
        A scalar between 0 and 1, the larger the better. Finite where all scores are.
    """
    log_total = torch.cat([true_scores, false_scores]).logsumexp(0)
    return (true_scores.logsumexp(0) - log_total).exp()


def question_quality(
    model: EarlyExitLM,
    question: Question,
    mature_layer: int,
    base_layer: int | None = None,
    candidate_premature_layers: Sequence[int] | None = None,
    relative_top: float = 0.1,
) -> Tensor:
    """Score all answers to a question; the quality of these scores, a scalar."""
    settings = (mature_layer, base_layer, candidate_premature_layers, relative_top)
    true_scores, false_scores = (
        torch.stack([answer_score(answer_log_probs(model, question.prompt, answer, *settings)) for answer in answers])
        for answers in (question.true_answers, question.false_answers)
    )
    return quality(true_scores, false_scores)
