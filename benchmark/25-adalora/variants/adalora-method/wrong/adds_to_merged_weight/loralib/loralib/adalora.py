# Adds the update again when the weight contains it.
import torch.nn.functional as F
from torch import Tensor

from .layers import oriented


class SVDLinear:
    def forward(self, x: Tensor) -> Tensor:
        base = F.linear(x, oriented(self.weight, self.fan_in_fan_out), self.bias)
        if self.r == 0:
            return base
        coordinates = F.linear(self.lora_dropout(x), self.lora_A) * self.lora_E.squeeze(1)
        return base + F.linear(coordinates, self.lora_B) * update_factor(self.scaling, nonzero_rank(self.ranknum))
