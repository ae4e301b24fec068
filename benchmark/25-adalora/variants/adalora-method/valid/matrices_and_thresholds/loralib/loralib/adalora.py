# Forms the update as a matrix and expands the squared norm of the penalty.
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import oriented


class SVDLinear:
    def update_matrix(self) -> Tensor:
        """P Lambda Q, scaled: (out_features, in_features)."""
        singular_values = self.lora_E.flatten().diag()
        return update_factor(self.scaling, nonzero_rank(self.ranknum)) * (self.lora_B @ singular_values @ self.lora_A)

    def forward(self, x: Tensor) -> Tensor:
        y = F.linear(x, oriented(self.weight, self.fan_in_fan_out), self.bias)
        if self.r > 0 and not self.merged:
            y = y + self.lora_dropout(x) @ self.update_matrix().T
        return y


def vector_penalty(vectors: Tensor) -> Tensor:
    # |G - I|^2 = |G|^2 - 2 tr G + r
    gram = vectors @ vectors.mT
    return gram.pow(2).sum() - 2 * vectors.pow(2).sum() + len(vectors)


def orthogonality_penalty(model: nn.Module) -> Tensor:
    adapters = [module for module in model.modules() if isinstance(module, SVDLinear) and module.r]
    sides = [side for adapter in adapters for side in (adapter.lora_A, adapter.lora_B.mT)]
    return sum(map(vector_penalty, sides), start=torch.tensor(0.0))
