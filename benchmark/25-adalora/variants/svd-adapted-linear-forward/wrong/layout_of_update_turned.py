# Transposes the update together with the weight when fan_in_fan_out is set.
import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    weight = oriented(self.weight, self.fan_in_fan_out)
    y = F.linear(x, weight, self.bias)
    if self.r > 0 and not self.merged:
        delta = oriented(self.lora_B @ (self.lora_E * self.lora_A), self.fan_in_fan_out)
        update = F.linear(self.lora_dropout(x), delta)
        y = y + update * self.scaling / (self.ranknum + 1e-5)
    return y
