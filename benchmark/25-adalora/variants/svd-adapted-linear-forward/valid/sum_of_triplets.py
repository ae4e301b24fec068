from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    y = x @ oriented(self.weight, self.fan_in_fan_out).transpose(0, 1)
    if not self.merged and self.r > 0:
        dropped = self.lora_dropout(x)
        for right, value, left in zip(self.lora_A, self.lora_E, self.lora_B.unbind(1), strict=True):
            coordinate = (dropped * right).sum(-1, keepdim=True)
            y = y + self.scaling * value * coordinate * left / (self.ranknum + 1e-5)
    return y if self.bias is None else y + self.bias
