# Lets LambdaLR set the rate.
import math

import torch


def learning_rate(step, total_steps, peak):
    warmup = math.ceil(total_steps / 10)
    if step <= warmup:
        return peak * (step / warmup)
    return 0.5 * peak * (1.0 + math.cos((step - warmup) / (total_steps - warmup) * math.pi))


def optimize(model, objective, batches, peak):
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=(0.9, 0.999), eps=1e-8)
    total = len(batches)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda done: learning_rate(done + 1, total, peak) if done < total else 0.0
    )
    history = []
    for batch in batches:
        optimizer.zero_grad()
        loss = torch.mean(objective(batch))
        loss.backward()
        optimizer.step()
        scheduler.step()
        history.append(loss.item())
    return history
