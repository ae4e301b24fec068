# Adds the update although the weight contains it already.
import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    weight = oriented(self.weight, self.fan_in_fan_out)
    y = F.linear(x, weight, self.bias)
    if self.r > 0:
        update = F.linear(self.lora_dropout(x), self.lora_E * self.lora_A)
        update = F.linear(update, self.lora_B)
        y = y + update * self.scaling / (self.ranknum + 1e-5)
    return y
