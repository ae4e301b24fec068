# Scores with parameters that the step has changed already.
import torch
import torch.nn.functional as F
from loralib.loralib import orthogonality_penalty


def fit(model, task, config, seed, allocator=None):
    generator = torch.Generator().manual_seed(seed)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=config.learning_rate)
    model.train()
    losses = []
    for step in range(1, config.steps + 1):
        tokens, labels = task.sample(config.batch_size, generator)
        loss = F.cross_entropy(model(tokens), labels)
        losses.append(loss.item())
        optimizer.zero_grad()
        if config.orthogonality:
            loss = loss + config.orthogonality * orthogonality_penalty(model)
        loss.backward()
        optimizer.step()
        if allocator:
            allocator.update_scores()
            allocator.allocate(step)
    return losses
