# Written from the paper: one equation after the other, in probabilities where possible.
import torch


def _entropy(p):
    return -(p * torch.log(p.clamp(min=1e-300))).sum(dim=-1)


@torch.no_grad()
def divergence_table(model, input_ids, layers):
    last = model.config.layers
    by_layer, _ = model(input_ids, early_exit_layers=list(layers) + [last])
    q_last = torch.softmax(by_layer[last][0, :-1], dim=-1)
    rows = []
    for layer in layers:
        q = torch.softmax(by_layer[layer][0, :-1], dim=-1)
        mixture = 0.5 * (q_last + q)
        rows.append(_entropy(mixture) - 0.5 * _entropy(q_last) - 0.5 * _entropy(q))
    return torch.stack(rows)
