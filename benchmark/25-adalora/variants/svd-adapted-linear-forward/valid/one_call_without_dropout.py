import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    weight = oriented(self.weight, self.fan_in_fan_out)
    if self.r == 0 or self.merged:
        return F.linear(x, weight, self.bias)
    delta = self.lora_B @ (self.lora_E * self.lora_A) * (self.scaling / (self.ranknum + 1e-5))
    if isinstance(self.lora_dropout, torch.nn.Identity):
        return F.linear(x, weight + delta, self.bias)
    return F.linear(x, weight, self.bias) + F.linear(self.lora_dropout(x), delta)
