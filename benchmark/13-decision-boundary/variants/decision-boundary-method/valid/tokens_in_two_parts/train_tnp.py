# Cross-entropy of torch, and ranges in a table.
import torch
import torch.nn.functional as F

NAMES = {"linear": "class_sep", "circle": "factor", "moon": "noise_moon"}
RANGES = {
    ("linear", True): (1.5, 2.0),
    ("linear", False): (1.0, 1.4),
    ("circle", True): (0.1, 0.4),
    ("circle", False): (0.5, 0.9),
    ("moon", True): (0.05, 0.1),
    ("moon", False): (0.1, 0.2),
}


def task_options(data_type, training, rng):
    return {NAMES[data_type]: float(rng.uniform(*RANGES[data_type, bool(training)]))}


def query_loss(logits, labels):
    return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="sum") / len(logits)


def fit(model, config, rng):
    parameters = list(model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=config.learning_rate)
    model.train()
    history = []
    while len(history) < config.steps:
        x, y = sample_batch(config, rng)
        x = x.to(parameters[0].dtype)
        size = int(rng.integers(config.min_context, config.max_context + 1))
        context_x, query_x = x.split([size, x.size(1) - size], dim=1)
        context_y, query_y = y.split([size, y.size(1) - size], dim=1)
        loss = query_loss(model(context_x, context_y, query_x), query_y)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.detach().item())
    return history
