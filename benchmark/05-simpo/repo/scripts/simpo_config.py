"""Settings of SimPO: the objective, and how long and how fast a stage trains."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SimPOConfig:
    """Settings of the objective.

    Attributes:
        beta: beta of the paper, positive.
        gamma_beta_ratio: gamma of the paper divided by `beta`, at least 0. The defaults of 2.0 and 0.25 mean a gamma of
            0.5.
        label_smoothing: assumed probability, in [0, 0.5], that a pair is labelled the wrong way round. The sigmoid loss
            becomes the cross-entropy of the probability in Eq. 5 with the soft label 1 - label_smoothing.
        loss_type: "sigmoid", the paper's loss, or "hinge". The latter puts the hinge loss of support vector machines,
            with its usual margin of 1, in place of the negative log-likelihood; the argument of the sigmoid in Eq. 5 is
            that of the hinge, and there is no smoothing. The trainer checks the name whenever it computes a loss.
        sft_weight: weight of the supervised term on the preferred responses, at least 0; 0 leaves the term out.
        label_pad_token_id: label of the positions that are no part of a response (prompt and padding).
    """

    beta: float = 2.0
    gamma_beta_ratio: float = 0.25
    label_smoothing: float = 0.0
    loss_type: str = "sigmoid"
    sft_weight: float = 0.0
    label_pad_token_id: int = -100

    def __post_init__(self) -> None:
        if self.beta <= 0:
            raise ValueError(f"beta must be positive, not {self.beta}")
        if self.gamma_beta_ratio < 0:
            raise ValueError(f"gamma_beta_ratio must not be negative, as {self.gamma_beta_ratio} is")
        if not 0 <= self.label_smoothing <= 0.5:
            raise ValueError(f"label_smoothing must be in [0, 0.5], not {self.label_smoothing}")
        if self.sft_weight < 0:
            raise ValueError(f"sft_weight must not be negative, as {self.sft_weight} is")


@dataclass(frozen=True)
class ScheduleConfig:
    """How one stage of training runs."""

    epochs: int
    learning_rate: float
    report_every: int  # epochs between two printed evaluations
