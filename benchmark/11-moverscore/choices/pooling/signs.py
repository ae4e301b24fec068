import torch


def pool_layers(embedding):
    layers = embedding[-POOLED_LAYERS:]
    units = layers / layers.square().sum(-1, keepdim=True).sqrt()
    return torch.cat([power_mean(units.clamp(min=0), 2.0), power_mean((-units).clamp(min=0), 2.0)], -1)
