# Never draws the largest context: the upper end of the range is left out.
import torch


def fit(model, config, rng):
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    dtype = next(model.parameters()).dtype
    model.train()
    losses = []
    for _ in range(config.steps):
        x, y = sample_batch(config, rng)
        m = int(rng.integers(config.min_context, max(config.max_context, config.min_context + 1)))
        x = x.to(dtype)
        loss = query_loss(model(x[:, :m], y[:, :m], x[:, m:]), y[:, m:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
