# Another style: einsum for the update, a norm for the penalty.
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .layers import oriented


class SVDLinear:
    def forward(self, x: Tensor) -> Tensor:
        result = F.linear(x, oriented(self.weight, self.fan_in_fan_out), self.bias)
        if self.r > 0 and not self.merged:
            dropped = self.lora_dropout(x)
            hidden = torch.einsum("...i,ki,k->...k", dropped, self.lora_A, self.lora_E.squeeze(-1))
            delta = torch.einsum("...k,ok->...o", hidden, self.lora_B)
            result = result + update_factor(self.scaling, nonzero_rank(self.ranknum)) * delta
        return result


def update_factor(alpha: float, rank: Tensor) -> Tensor:
    return rank.reciprocal() * alpha


def vector_penalty(vectors: Tensor) -> Tensor:
    r = vectors.size(0)
    difference = torch.matmul(vectors, vectors.t()) - torch.eye(r, device=vectors.device, dtype=vectors.dtype)
    return (difference * difference).sum()


def orthogonality_penalty(model: nn.Module) -> Tensor:
    terms = []
    for module in model.modules():
        if isinstance(module, SVDLinear) and module.r > 0:
            terms.append(vector_penalty(module.lora_B.t()) + vector_penalty(module.lora_A))
    if not terms:
        return torch.zeros(())
    return torch.stack(terms).sum()
