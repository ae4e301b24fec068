"""Low-rank representation adaptation (LoRRA): train low-rank adapters on the hidden states of a frozen model."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from repe.data import Contrast
from repe.model import CausalLM, Tokenizer


@dataclass(frozen=True)
class LorraConfig:
    """How adapters are trained."""

    target_layers: tuple[int, ...]  # numbers of hidden states, as in `Output.hidden_states`
    alpha: float  # as in the paper
    beta: float = 0.0  # as in the paper; without reading vectors, it has no effect
    steps: int = 40
    batch_size: int = 16
    learning_rate: float = 3e-3
    seed: int = 0  # of the batches


class LoRALinear(nn.Module):
    """A frozen linear layer and a trainable update of low rank, which is zero at first."""

    def __init__(self, base: nn.Linear, rank: int) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        weight = base.weight
        self.down = nn.Parameter(torch.randn(rank, base.in_features, dtype=weight.dtype) / base.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank, dtype=weight.dtype))

    def forward(self, x: Tensor) -> Tensor:
        """(..., in_features) to (..., out_features)."""
        return self.base(x) + x @ self.down.T @ self.up.T


def add_adapters(model: CausalLM, layers: Sequence[int], rank: int = 4, seed: int = 0) -> None:
    """Freeze a model and adapt the attention of some of its layers, given by index from 0, in place."""
    torch.manual_seed(seed)
    model.requires_grad_(False)
    for index in layers:
        layer = model.layers[index]
        layer.qkv, layer.mix = LoRALinear(layer.qkv, rank), LoRALinear(layer.mix, rank)


def response_mask(tokenizer: Tokenizer, responses: Sequence[str]) -> Tensor:
    """(B, T) bool for texts that end with these responses: true at the tokens of a response.

    T is the number of tokens in the longest response, and position -1 is the last token of a text.
    """
    lengths = torch.tensor([len(tokenizer.encode(response)) for response in responses])
    return torch.arange(-int(lengths.max()), 0) >= -lengths[:, None]


def last_states(
    model: CausalLM, tokenizer: Tokenizer, texts: Sequence[str], layers: Sequence[int], length: int
) -> dict[int, Tensor]:
    """Hidden states at the last `length` positions of each text, (B, length, width) a layer; with gradients."""
    hidden_states = model(tokenizer(list(texts))).hidden_states
    return {layer: hidden_states[layer][:, -length:] for layer in layers}


def target_states(
    base: Tensor, positive: Tensor, negative: Tensor, reading_vector: Tensor | None, alpha: float, beta: float
) -> Tensor:
    """r^t of the paper for one layer, from hidden states of the frozen model.

    Args:
        base, positive, negative: (B, T, width), one for each version of the texts.
        reading_vector: (width,), or None if there is none.
        alpha, beta: as in `LorraConfig`.

    Returns:
        (B, T, width).
    """
    target = base + alpha * (positive - negative)
    return target if reading_vector is None else target + beta * reading_vector


def representation_loss(current: Tensor, target: Tensor, mask: Tensor) -> Tensor:
    """The loss of one layer.

    Args:
        current: (B, T, width), r^p of the paper.
        target: (B, T, width), r^t.
        mask: (B, T) bool, as from `response_mask`.

    Returns:
        A scalar, differentiable.
    """
    distances = (mask.unsqueeze(-1) * (current - target)).flatten(1).norm(dim=1)
    return distances.mean()


def adapt(
    model: CausalLM,
    frozen: CausalLM,
    tokenizer: Tokenizer,
    data: Sequence[Contrast],
    config: LorraConfig,
    reading_vectors: Mapping[int, Tensor] | None = None,
) -> list[float]:
    """Train the parameters of a model that require gradients, by the algorithm of the paper.

    Each step draws one batch, `rng.sample(data, config.batch_size)`, from one `random.Random(config.seed)` for all
    steps. The optimiser is Adam at a constant learning rate, with torch's defaults for all else.

    Args:
        model: M^LoRA of the paper: a model with adapters.
        frozen: M of the paper: the same model without adapters. It stays as it is.
        data: texts to draw from.
        reading_vectors: (width,) in the dtype of the model, for each of `config.target_layers`.

    Returns:
        The loss of each step, before the parameters change.
    """
    rng = random.Random(config.seed)
    trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trainable, lr=config.learning_rate)
    losses = []
    for _ in range(config.steps):
        batch = rng.sample(data, config.batch_size)
        mask = response_mask(tokenizer, [item.response for item in batch])
        versions = {name: [getattr(item, name) for item in batch] for name in ("base", "positive", "negative")}
        with torch.no_grad():
            before = {
                name: last_states(frozen, tokenizer, texts, config.target_layers, mask.size(1))
                for name, texts in versions.items()
            }
        current = last_states(model, tokenizer, versions["base"], config.target_layers, mask.size(1))
        loss = torch.zeros(())
        for layer in config.target_layers:
            states = [before[name][layer] for name in ("base", "positive", "negative")]
            vector = reading_vectors[layer] if reading_vectors else None
            target = target_states(*states, vector, config.alpha, config.beta)
            loss = loss + representation_loss(current[layer], target, mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
