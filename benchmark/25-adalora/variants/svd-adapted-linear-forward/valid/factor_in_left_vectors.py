import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    base = F.linear(x, oriented(self.weight, self.fan_in_fan_out), self.bias)
    if self.merged or not self.r:
        return base
    factor = self.lora_E.mT * self.scaling / (self.ranknum + 1e-5)
    return base + self.lora_dropout(x) @ self.lora_A.mT @ (self.lora_B * factor).mT
