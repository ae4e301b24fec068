# Plain loop.
import math

import torch


def learning_rate(step, total_steps, peak):
    w = math.ceil(0.1 * total_steps)
    if step <= w:
        return peak * step / w
    return peak / 2 * (1 + math.cos(math.pi * (step - w) / (total_steps - w)))


def optimize(model, objective, batches, peak):
    opt = torch.optim.Adam(model.parameters(), lr=peak)
    out = []
    for t, batch in enumerate(batches):
        for g in opt.param_groups:
            g["lr"] = learning_rate(t + 1, len(batches), peak)
        loss = objective(batch).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        out.append(loss.item())
    return out
