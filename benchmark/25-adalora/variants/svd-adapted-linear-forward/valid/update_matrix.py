import torch
import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    weight = self.weight.T if self.fan_in_fan_out else self.weight
    y = F.linear(x, weight, self.bias)
    if self.r > 0 and not self.merged:
        delta = self.lora_B @ torch.diag(self.lora_E[:, 0]) @ self.lora_A
        y = y + F.linear(self.lora_dropout(x), delta) * self.scaling / (self.ranknum + 1e-5)
    return y
