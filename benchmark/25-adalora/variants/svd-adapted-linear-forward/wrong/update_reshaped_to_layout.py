# Reshapes the update to the layout of the stored weight, which takes a transposition.
import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    weight = oriented(self.weight, self.fan_in_fan_out)
    y = F.linear(x, weight, self.bias)
    if self.r > 0 and not self.merged:
        delta = (self.lora_B @ (self.lora_E * self.lora_A)).reshape(self.weight.shape)
        update = F.linear(self.lora_dropout(x), oriented(delta, self.fan_in_fan_out))
        y = y + update * self.scaling / (self.ranknum + 1e-5)
    return y
