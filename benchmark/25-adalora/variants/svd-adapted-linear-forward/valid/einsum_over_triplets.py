import torch
from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    weight = oriented(self.weight, self.fan_in_fan_out)
    y = torch.einsum("...i,oi->...o", x, weight)
    if self.bias is not None:
        y = y + self.bias
    if self.merged or self.r == 0:
        return y
    factor = self.scaling / (self.ranknum.item() + 1e-5)
    update = torch.einsum("...i,ki,k,ok->...o", self.lora_dropout(x), self.lora_A, self.lora_E.flatten(), self.lora_B)
    return y + factor * update
