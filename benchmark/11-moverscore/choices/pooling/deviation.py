import torch


def pool_layers(embedding):
    layers = embedding[-POOLED_LAYERS:]
    units = layers / layers.square().sum(-1, keepdim=True).sqrt()
    mean = power_mean(units, 1.0)
    return torch.cat([mean, power_mean((units - mean).abs(), 2.0)], -1)
