# One backward pass for each layer, and the loss by a root of a masked sum.
import random

import torch


def representation_loss(current, target, mask):
    squares = (current - target).square().sum(dim=-1)
    return squares.masked_fill(~mask, 0.0).sum(dim=1).sqrt().mean()


def adapt(model, frozen, tokenizer, data, config, reading_vectors=None):
    rng = random.Random(config.seed)
    optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=config.learning_rate)
    history = []
    for _ in range(config.steps):
        batch = rng.sample(data, config.batch_size)
        mask = response_mask(tokenizer, [item.response for item in batch])
        optimizer.zero_grad()
        total = 0.0
        for layer in config.target_layers:

            def states(network, texts, layer=layer, length=mask.shape[1]):
                return last_states(network, tokenizer, texts, [layer], length)[layer]

            base = [item.base for item in batch]
            target = target_states(
                states(frozen, base),
                states(frozen, [item.positive for item in batch]),
                states(frozen, [item.negative for item in batch]),
                None if reading_vectors is None else reading_vectors[layer],
                config.alpha,
                config.beta,
            ).detach()
            loss = representation_loss(states(model, base), target, mask)
            loss.backward()
            total += float(loss.detach())
        optimizer.step()
        history.append(total)
    return history
