# Adds the triplets one by one, and scales the input of the update in place of its output.
import torch.nn.functional as F
from torch import Tensor

from .layers import oriented


class SVDLinear:
    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight.T if self.fan_in_fan_out else self.weight
        output = F.linear(x, weight, self.bias)
        if self.merged or not self.r:
            return output
        scaled = self.lora_dropout(x) * update_factor(self.scaling, nonzero_rank(self.ranknum))
        for value, right, left in zip(self.lora_E, self.lora_A, self.lora_B.T, strict=True):
            output = output + (scaled @ right).unsqueeze(-1) * (value * left)
        return output


def vector_penalty(vectors: Tensor) -> Tensor:
    on_diagonal = (vectors.square().sum(dim=1) - 1).square().sum()
    inner = [(vectors[i] * vectors[j]).sum() for i in range(len(vectors)) for j in range(i)]
    return on_diagonal + 2 * sum(product**2 for product in inner)
