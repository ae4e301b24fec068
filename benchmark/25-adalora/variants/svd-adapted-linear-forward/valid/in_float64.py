from torch import Tensor


def forward(self, x: Tensor) -> Tensor:
    y = x.double() @ oriented(self.weight, self.fan_in_fan_out).double().T
    if self.bias is not None:
        y = y + self.bias.double()
    if self.r > 0 and not self.merged:
        coordinates = self.lora_dropout(x).double() @ self.lora_A.double().T
        update = coordinates * self.lora_E.double().flatten() @ self.lora_B.double().T
        y = y + update * self.scaling / (self.ranknum.double() + 1e-5)
    return y.to(x.dtype)
