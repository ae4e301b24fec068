"""How far each layer still is from the last one, token by token: the heat map of Figure 2, as text.

The map has a divergence of its own, that of the figure, which need not be the one that decoding uses. It is printed in
nats times 100,000.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from dola.model import EarlyExitLM

#: Shades from small to large divergences, one a power of ten.
SHADES = " .:*#@"


def entropy(probabilities: Tensor) -> Tensor:
    """Entropy in nats over the last dimension; a probability of 0 adds nothing."""
    return torch.special.entr(probabilities).sum(dim=-1)


@torch.no_grad()
def divergence_table(model: EarlyExitLM, input_ids: Tensor, layers: Sequence[int]) -> Tensor:
    """Divergence of each layer from the last layer before each token of one text, as the figure defines it.

    Args:
        model: the model.
        input_ids: LongTensor (1, length), without padding.
        layers: layers to compare with the last one.

    Returns:
        Tensor (layers, length - 1); column t belongs to the prediction of token t + 1.
    """
    last = model.config.layers
    by_layer, _ = model(input_ids, early_exit_layers=[*layers, last])
    probabilities = {layer: logits[0, :-1].softmax(dim=-1) for layer, logits in by_layer.items()}
    final = probabilities[last]
    rows = [
        entropy(torch.stack([final, probabilities[layer]]).mean(dim=0))
        - torch.stack([entropy(final), entropy(probabilities[layer])]).mean(dim=0)
        for layer in layers
    ]
    return torch.stack(rows)


def format_table(table: Tensor, layers: Sequence[int], tokens: Sequence[str]) -> str:
    """Render a table (layers, tokens), the highest layer on top, with a shade beside each number."""
    width = max(9, *(len(token) + 2 for token in tokens))
    lines = ["layer" + "".join(f"{token:>{width}}" for token in tokens)]
    for layer, row in sorted(zip(layers, table.mul(1e5).round().long().tolist(), strict=True), reverse=True):
        cells = [f"{value} {SHADES[min(len(str(abs(value))), len(SHADES)) - 1]}" for value in row]
        lines.append(f"{layer:5d}" + "".join(f"{cell:>{width}}" for cell in cells))
    return "\n".join(lines)
