# Each step in names of its own.
import math

import torch


class RMSProp:
    @torch.no_grad()
    def step(self, rate):
        for parameter in self.squares:
            if parameter.grad is None:
                continue
            gradient = parameter.grad.detach()
            new_squares = 0.99 * self.squares[parameter] + 0.01 * gradient * gradient
            self.squares[parameter] = new_squares
            denominator = torch.sqrt(new_squares) + 1e-8
            parameter.data = parameter.data - rate * gradient / denominator


def rate_at(step, peak, total_steps):
    warmup_steps = int(math.ceil(total_steps / 10))
    if step <= warmup_steps:
        fraction = step / warmup_steps
    else:
        remaining = total_steps + 1 - step
        fraction = remaining / (total_steps + 1 - warmup_steps)
    return fraction * peak
