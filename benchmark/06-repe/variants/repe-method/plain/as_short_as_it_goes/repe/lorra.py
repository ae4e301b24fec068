# Algorithm 1, without helpers.
import random

import torch


def target_states(base, positive, negative, reading_vector, alpha, beta):
    target = base + alpha * (positive - negative)
    if reading_vector is not None:
        target = target + beta * reading_vector
    return target


def representation_loss(current, target, mask):
    diff = (current - target) * mask[..., None]
    return torch.linalg.norm(diff.reshape(len(diff), -1), dim=1).mean()


def adapt(model, frozen, tokenizer, data, config, reading_vectors=None):
    rng = random.Random(config.seed)
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=config.learning_rate)
    losses = []
    for _ in range(config.steps):
        batch = rng.sample(data, config.batch_size)
        mask = response_mask(tokenizer, [b.response for b in batch])
        T = mask.shape[1]
        with torch.no_grad():
            base = last_states(frozen, tokenizer, [b.base for b in batch], config.target_layers, T)
            pos = last_states(frozen, tokenizer, [b.positive for b in batch], config.target_layers, T)
            neg = last_states(frozen, tokenizer, [b.negative for b in batch], config.target_layers, T)
        cur = last_states(model, tokenizer, [b.base for b in batch], config.target_layers, T)
        loss = 0
        for layer in config.target_layers:
            v = reading_vectors[layer] if reading_vectors is not None else None
            loss = loss + representation_loss(
                cur[layer], target_states(base[layer], pos[layer], neg[layer], v, config.alpha, config.beta), mask
            )
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses
