# As short as it goes.
import math

import torch


class RMSProp:
    @torch.no_grad()
    def step(self, rate):
        for p, v in self.squares.items():
            if p.grad is None:
                continue
            v.copy_(0.99 * v + 0.01 * p.grad**2)
            p -= rate * p.grad / (v.sqrt() + 1e-8)


def rate_at(step, peak, total_steps):
    w = math.ceil(total_steps / 10)
    if step <= w:
        return peak * step / w
    return peak * (total_steps + 1 - step) / (total_steps + 1 - w)
