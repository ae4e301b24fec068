# Adds the losses of a batch.
import torch


def optimize(model, objective, batches, peak):
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    for step, batch in enumerate(batches, start=1):
        optimizer.param_groups[0]["lr"] = learning_rate(step, len(batches), peak)
        loss = objective(batch).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
