# Computes the map from Kullback-Leibler divergences instead of entropies.
import math

import torch


@torch.no_grad()
def divergence_table(model, input_ids, layers):
    last = model.config.layers
    by_layer, _ = model(input_ids, early_exit_layers=sorted({*layers, last}))
    final = by_layer[last][0, :-1].log_softmax(dim=-1)
    rows = []
    for layer in layers:
        early = by_layer[layer][0, :-1].log_softmax(dim=-1)
        mixture = torch.logaddexp(final, early) - math.log(2)
        parts = [(side.exp() * (side - mixture)).sum(dim=-1) for side in (final, early)]
        rows.append((parts[0] + parts[1]) / 2)
    return torch.stack(rows)
