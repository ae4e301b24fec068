# Collects the states of the target from the model with adapters.
import random

import torch


def adapt(model, frozen, tokenizer, data, config, reading_vectors=None):
    rng = random.Random(config.seed)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=config.learning_rate)
    losses = []
    for _ in range(config.steps):
        batch = rng.sample(data, config.batch_size)
        mask = response_mask(tokenizer, [item.response for item in batch])
        versions = [[getattr(item, name) for item in batch] for name in ("base", "positive", "negative")]
        with torch.no_grad():
            before = [last_states(model, tokenizer, t, config.target_layers, mask.size(1)) for t in versions]
        current = last_states(model, tokenizer, versions[0], config.target_layers, mask.size(1))
        loss = torch.zeros(())
        for layer in config.target_layers:
            vector = reading_vectors[layer] if reading_vectors else None
            target = target_states(*(states[layer] for states in before), vector, config.alpha, config.beta)
            loss = loss + representation_loss(current[layer], target, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
