# Reads the layout off the shape of the weight, which says nothing if the layer is square.
import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    weight = self.weight if self.weight.shape[1] == x.shape[-1] else self.weight.T
    y = F.linear(x, weight, self.bias)
    if self.r > 0 and not self.merged:
        update = F.linear(self.lora_dropout(x), self.lora_E * self.lora_A)
        update = F.linear(update, self.lora_B)
        y = y + update * self.scaling / (self.ranknum + 1e-5)
    return y
