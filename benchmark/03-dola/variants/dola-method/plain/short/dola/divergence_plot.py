# Written from the paper: terse tensor code.
import torch


@torch.no_grad()
def divergence_table(model, input_ids, layers):
    n = model.config.layers
    logits, _ = model(input_ids, early_exit_layers=[*layers, n])
    q = {j: z[0, :-1].softmax(-1) for j, z in logits.items()}
    h = lambda p: -torch.xlogy(p, p).sum(-1)  # noqa: E731
    return torch.stack([h((q[n] + q[j]) / 2) - (h(q[n]) + h(q[j])) / 2 for j in layers])
