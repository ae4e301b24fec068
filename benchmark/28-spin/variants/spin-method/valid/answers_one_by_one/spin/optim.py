# In-place operations; the learning rate as the smaller of two lines.
import torch


class RMSProp:
    @torch.no_grad()
    def step(self, rate):
        for parameter, squares in self.squares.items():
            if parameter.grad is not None:
                squares.mul_(0.99).addcmul_(parameter.grad, parameter.grad, value=1 - 0.99)
                parameter.addcdiv_(parameter.grad, squares.sqrt().add_(1e-8), value=-rate)


def rate_at(step, peak, total_steps):
    warmup = (total_steps + 9) // 10
    return peak * min(step / warmup, (total_steps + 1 - step) / (total_steps + 1 - warmup))
