import torch


def forward(self, x):
    if self.fan_in_fan_out:
        y = x @ self.weight
    else:
        y = x @ self.weight.t()
    if self.bias is not None:
        y = y + self.bias
    if self.r == 0 or self.merged:
        return y
    dropped = self.lora_dropout(x)
    update = torch.zeros_like(y)
    for k in range(self.r):
        update = update + self.lora_E[k] * (dropped @ self.lora_A[k]).unsqueeze(-1) * self.lora_B[:, k]
    return y + update * self.scaling / self.ranknum.item()
