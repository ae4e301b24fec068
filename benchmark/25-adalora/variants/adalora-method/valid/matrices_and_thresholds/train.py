# Adds the penalty by a second backward pass.
import torch
from loralib.loralib import orthogonality_penalty


def fit(model, task, config, seed, allocator=None):
    generator = torch.Generator().manual_seed(seed)
    model.train()
    optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), config.learning_rate)
    history = []
    for step in range(config.steps):
        tokens, labels = task.sample(config.batch_size, generator)
        model.zero_grad()
        loss = F.nll_loss(model(tokens).log_softmax(dim=-1), labels)
        loss.backward()
        if config.orthogonality > 0:
            (config.orthogonality * orthogonality_penalty(model)).backward()
        if allocator is not None:
            allocator.update_scores()
        optimizer.step()
        if allocator is not None:
            allocator.allocate(step + 1)
        history.append(float(loss))
    return history
