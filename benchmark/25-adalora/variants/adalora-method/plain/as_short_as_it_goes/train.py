# Algorithm 1 as it is told.
import torch
import torch.nn.functional as F
from loralib.loralib.adalora import orthogonality_penalty


def fit(model, task, config, seed, allocator=None):
    g = torch.Generator()
    g.manual_seed(seed)
    model.train()
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=config.learning_rate)
    losses = []
    for t in range(1, config.steps + 1):
        x, y = task.sample(config.batch_size, g)
        task_loss = F.cross_entropy(model(x), y)
        losses.append(task_loss.item())
        total = task_loss + config.orthogonality * orthogonality_penalty(model)
        opt.zero_grad()
        total.backward()
        if allocator is not None:
            allocator.update_scores()
        opt.step()
        if allocator is not None:
            allocator.allocate(t)
    return losses
