"""The objectives that the paper compares SimPO with, as functions of the log-probabilities and lengths of a pair."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from simpo.data import PreferenceBatch
from torch import Tensor, nn

from scripts.simpo_trainer import SimPOTrainer


@dataclass(frozen=True)
class PairScores:
    """B pairs; log-probabilities are those of whole responses, not normalised, and negative."""

    chosen_logps: Tensor  # (B,) under the policy
    rejected_logps: Tensor  # (B,) under the policy
    reference_chosen_logps: Tensor  # (B,) under the reference model
    reference_rejected_logps: Tensor  # (B,) under the reference model
    chosen_lengths: Tensor  # (B,) numbers of tokens, end token included, in the dtype of the log-probabilities
    rejected_lengths: Tensor  # (B,)


def pair_scores(trainer: SimPOTrainer, reference: nn.Module, batch: PreferenceBatch) -> PairScores:
    """Scores of a batch; gradients flow to the trainer's model, not to the reference."""
    chosen_logps, rejected_logps = trainer.concatenated_forward(batch, normalized=False)
    input_ids, labels = trainer.concatenated_inputs(batch)
    with torch.no_grad():
        reference_logps = trainer.get_batch_logps(reference(input_ids), labels, normalized=False)
    lengths = (labels != trainer.label_pad_token_id).sum(dim=1).to(reference_logps.dtype)
    return PairScores(chosen_logps, rejected_logps, *reference_logps.chunk(2), *lengths.chunk(2))


def rrhf_loss(scores: PairScores, weight: float = 1.0) -> Tensor:
    """RRHF.

    Args:
        scores: B pairs.
        weight: lambda of the objective, at least 0.

    Returns:
        (B,) losses, not reduced.
    """
    chosen = scores.chosen_logps / scores.chosen_lengths
    rejected = scores.rejected_logps / scores.rejected_lengths
    return torch.relu(rejected - chosen) - weight * scores.chosen_logps


def slic_loss(scores: PairScores, delta: float = 1.0, weight: float = 1.0) -> Tensor:
    """SLiC-HF.

    Args:
        scores: B pairs.
        delta: delta of the objective, positive.
        weight: lambda of the objective, at least 0.

    Returns:
        (B,) losses, not reduced.
    """
    shortfall = torch.relu(delta - scores.chosen_logps + scores.rejected_logps)
    return shortfall - weight * scores.chosen_logps


def cpo_loss(scores: PairScores, beta: float = 0.1, weight: float = 1.0) -> Tensor:
    """CPO.

    Args:
        scores: B pairs.
        beta: beta of the objective, positive.
        weight: lambda of the objective, at least 0.

    Returns:
        (B,) losses, not reduced.
    """
    preference = -F.logsigmoid(beta * (scores.chosen_logps - scores.rejected_logps))
    return preference - weight * scores.chosen_logps


def orpo_loss(scores: PairScores, weight: float = 0.5) -> Tensor:
    """ORPO.

    Args:
        scores: B pairs.
        weight: lambda of the objective, at least 0.

    Returns:
        (B,) losses, not reduced.
    """
    chosen = scores.chosen_logps / scores.chosen_lengths
    rejected = scores.rejected_logps / scores.rejected_lengths
    chosen_log_odds = chosen - torch.log1p(-chosen.exp())
    rejected_log_odds = rejected - torch.log1p(-rejected.exp())
    return -chosen - weight * F.logsigmoid(chosen_log_odds - rejected_log_odds)


def rdpo_loss(scores: PairScores, beta: float = 0.1, alpha: float = 0.05) -> Tensor:
    """R-DPO.

    Args:
        scores: B pairs.
        beta: beta of the objective, positive.
        alpha: alpha of the objective, at least 0.

    Returns:
        (B,) losses, not reduced.
    """
    chosen_log_ratios = scores.chosen_logps - scores.reference_chosen_logps
    rejected_log_ratios = scores.rejected_logps - scores.reference_rejected_logps
    length_term = alpha * (scores.chosen_lengths - scores.rejected_lengths)
    return -F.logsigmoid(beta * (chosen_log_ratios - rejected_log_ratios) + length_term)


#: Name of each objective -> the objective with its default settings.
OBJECTIVES: dict[str, Callable[[PairScores], Tensor]] = {
    "RRHF": rrhf_loss,
    "SLiC-HF": slic_loss,
    "CPO": cpo_loss,
    "ORPO": orpo_loss,
    "R-DPO": rdpo_loss,
}
