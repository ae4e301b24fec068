import torch
import torch.nn.functional as F


def task_options(data_type, training, rng):
    if data_type == "linear":
        return {"class_sep": rng.uniform(1.5, 2) if training else rng.uniform(1, 1.4)}
    if data_type == "circle":
        return {"factor": rng.uniform(0.1, 0.4) if training else rng.uniform(0.5, 0.9)}
    return {"noise_moon": rng.uniform(0.05, 0.1) if training else rng.uniform(0.1, 0.2)}


def query_loss(logits, labels):
    return F.cross_entropy(logits.transpose(1, 2), labels, reduction="none").sum(1).mean()


def fit(model, config, rng):
    opt = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    model.train()
    losses = []
    for _ in range(config.steps):
        x, y = sample_batch(config, rng)
        x = x.to(next(model.parameters()).dtype)
        m = rng.integers(config.min_context, config.max_context + 1)
        loss = query_loss(model(x[:, :m], y[:, :m], x[:, m:]), y[:, m:])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses
