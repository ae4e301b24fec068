import torch
import torch.nn.functional as F


def forward(self, x):
    weight = self.weight.T if self.fan_in_fan_out else self.weight
    out = F.linear(x, weight, self.bias)
    if self.r > 0 and not self.merged:
        delta = self.lora_B @ torch.diag(self.lora_E.squeeze(-1)) @ self.lora_A
        out = out + (self.scaling / self.ranknum) * (self.lora_dropout(x) @ delta.T)
    return out
