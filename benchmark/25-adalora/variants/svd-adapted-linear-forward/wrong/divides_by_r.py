# Divides by the rank that the layer was made with, as the paper's alpha / r.
import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    weight = oriented(self.weight, self.fan_in_fan_out)
    y = F.linear(x, weight, self.bias)
    if self.r > 0 and not self.merged:
        update = F.linear(self.lora_dropout(x), self.lora_E * self.lora_A)
        update = F.linear(update, self.lora_B)
        y = y + update * self.scaling / self.r
    return y
