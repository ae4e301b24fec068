# Keeps the weight frozen although it trains for r = 0.
import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    weight = oriented(self.weight.detach(), self.fan_in_fan_out)
    y = F.linear(x, weight, self.bias)
    if self.r > 0 and not self.merged:
        update = F.linear(self.lora_dropout(x), self.lora_E * self.lora_A)
        update = F.linear(update, self.lora_B)
        y = y + update * self.scaling / (self.ranknum + 1e-5)
    return y
