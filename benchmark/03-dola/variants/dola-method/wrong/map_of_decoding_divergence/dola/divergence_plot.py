# Draws the divergence that decoding uses instead of that of the figure.
import torch

from dola.decoding import divergence


@torch.no_grad()
def divergence_table(model, input_ids, layers):
    last = model.config.layers
    by_layer, _ = model(input_ids, early_exit_layers=[*layers, last])
    return torch.stack([divergence(by_layer[last][0, :-1], by_layer[layer][0, :-1]) for layer in layers])
