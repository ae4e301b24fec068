"""Linear layer with an update in the form of a singular value decomposition, and the penalty on its vectors."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import LoRALayer, oriented

INITIAL_STD = 0.02


def nonzero_rank(ranknum: Tensor) -> Tensor:
    """(1,), r in the paper's scaling of the update, from a layer's `ranknum`; a small number keeps it off zero."""
    return ranknum + 1e-5


def update_factor(alpha: float, rank: Tensor) -> Tensor:
    """Factor by which the update's share of a layer's output is scaled.

    Args:
        alpha: alpha of the paper; a layer passes its `scaling`.
        rank: (1,), r of the paper, positive; a layer passes `nonzero_rank` of its `ranknum`.

    Returns:
        (1,), in the dtype of `rank`.
    """
    return alpha / rank


class SVDLinear(nn.Linear, LoRALayer):
    """Linear layer with a frozen weight W0 and a trainable update P Lambda Q of rank r.

    With r = 0 it is a plain linear layer with a trainable weight: `lora_A`, `lora_E`, `lora_B`, `ranknum` and `scaling`
    do not exist.

    Args:
        in_features, out_features: sizes of input and output.
        r: number of triplets (singular value, left and right singular vector).
        lora_alpha: alpha of the paper; see `scaling`.
        lora_dropout: probability of the dropout on the adapter's input.
        fan_in_fan_out: store the weight as (in_features, out_features).
        merge_weights: add the update to the weight in evaluation mode.
        **linear_options: passed to `nn.Linear`, for example `bias=False`.

    Attributes:
        weight: W0, (out_features, in_features), or transposed if `fan_in_fan_out`; frozen.
        bias: (out_features,), trainable, or None.
        lora_A: (r, in_features), Q: its rows are the right singular vectors.
        lora_E: (r, 1), the diagonal of Lambda.
        lora_B: (out_features, r), P: its columns are the left singular vectors.
        ranknum: (1,), r in the paper's scaling of the update: `r` at first, and not trainable. It is a parameter so
            that checkpoints carry it.
        scaling: alpha of the paper: `lora_alpha`, or r if `lora_alpha` is not positive.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        r: int = 0,
        lora_alpha: float = 1,
        lora_dropout: float = 0.0,
        fan_in_fan_out: bool = False,
        merge_weights: bool = True,
        **linear_options: Any,
    ) -> None:
        nn.Linear.__init__(self, in_features, out_features, **linear_options)
        LoRALayer.__init__(self, r, lora_alpha, lora_dropout, merge_weights)
        self.fan_in_fan_out = fan_in_fan_out
        self.weight.data = oriented(self.weight.data, fan_in_fan_out)
        self.register_buffer("_unmerged_weight", None, persistent=False)
        if r > 0:
            self.lora_A = nn.Parameter(self.weight.new_empty(r, in_features))
            self.lora_E = nn.Parameter(self.weight.new_empty(r, 1))
            self.lora_B = nn.Parameter(self.weight.new_empty(out_features, r))
            self.ranknum = nn.Parameter(self.weight.new_full((1,), r), requires_grad=False)
            self.scaling = lora_alpha if lora_alpha > 0 else r
            self.weight.requires_grad_(False)
            self.reset_adapter()

    def reset_adapter(self) -> None:
        """Draw both factors from a normal distribution and set Lambda to zero, so that the update starts at zero."""
        nn.init.normal_(self.lora_A, std=INITIAL_STD)
        nn.init.zeros_(self.lora_E)
        nn.init.normal_(self.lora_B, std=INITIAL_STD)

    def train(self, mode: bool = True) -> "SVDLinear":
        """Set the mode; `eval()` of this layer or of a module around it arrives here as `train(False)`.

        With `merge_weights`, evaluation mode adds the update to the weight, and training mode takes it out again.
        """
        super().train(mode)
        if self.merge_weights and self.r > 0 and self.merged == mode:
            if mode:
                self._unmerge()
            else:
                self._merge()
        return self

    @torch.no_grad()
    def _merge(self) -> None:
        """Replace the weight by the one that the layer acts with.

        It is read off the outputs for the unit vectors, so that `forward` alone defines the update.
        """
        origin = self.weight.new_zeros(1, self.in_features)
        unit_vectors = torch.eye(self.in_features, dtype=self.weight.dtype, device=self.weight.device)
        merged_weight = (self.forward(unit_vectors) - self.forward(origin)).T
        self._unmerged_weight, self.weight.data = self.weight.data, oriented(merged_weight, self.fan_in_fan_out)
        self.merged = True

    def _unmerge(self) -> None:
        """Put the weight back that was there before merging."""
        self.weight.data, self._unmerged_weight = self._unmerged_weight, None
        self.merged = False

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer, adapter included.

        Args:
            x: (..., in_features).

        Returns:
            (..., out_features).
        """
        base = F.linear(x, oriented(self.weight, self.fan_in_fan_out), self.bias)
        if self.r == 0 or self.merged:
            return base
        coordinates = F.linear(self.lora_dropout(x), self.lora_A) * self.lora_E.squeeze(1)
        update = F.linear(coordinates, self.lora_B)
        return base + update * update_factor(self.scaling, nonzero_rank(self.ranknum))


def vector_penalty(vectors: Tensor) -> Tensor:
    """Share of R that the vectors of one side of an update have: those of P, or those of Q.

    Args:
        vectors: (r, d), one vector in each row, in any floating-point dtype.

    Returns:
        A scalar of the same dtype, differentiable.
    """
    gram = vectors @ vectors.T
    identity = torch.eye(len(vectors), dtype=vectors.dtype, device=vectors.device)
    return (gram - identity).square().sum()


def orthogonality_penalty(model: nn.Module) -> Tensor:
    """R of the paper, summed over all adapters in a model: a scalar, differentiable.

    Layers with r = 0 have no adapter. Without any adapter the result is a tensor that holds zero.
    """
    penalty = torch.zeros(())
    for module in model.modules():
        if isinstance(module, SVDLinear) and module.r > 0:
            penalty = penalty + vector_penalty(module.lora_B.T) + vector_penalty(module.lora_A)
    return penalty
