# Believes `merged` in evaluation mode only, as training mode undoes the merging.
import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    y = F.linear(x, oriented(self.weight, self.fan_in_fan_out), self.bias)
    if self.r > 0 and (self.training or not self.merged):
        update = self.lora_dropout(x) @ (self.lora_B @ (self.lora_E * self.lora_A)).T
        y = y + update * self.scaling / (self.ranknum + 1e-5)
    return y
