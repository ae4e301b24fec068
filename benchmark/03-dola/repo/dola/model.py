"""A tiny decoder-only transformer whose every layer can be read through the language-model head.

Layers are counted from 0: layer 0 is the output of the embeddings, layer j the output of the j-th block. The last layer
N passes through the final norm before the head. The layers before it go through the same head without that norm.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

#: Keys and values (batch, heads, length, width / heads) of each block.
Cache = tuple[tuple[Tensor, Tensor], ...]


@dataclass(frozen=True)
class LMConfig:
    """Sizes of the transformer."""

    vocab_size: int
    width: int = 32
    layers: int = 6
    heads: int = 4
    max_positions: int = 32


@dataclass
class GenerationConfig:
    """What a model does in generation unless the caller says otherwise."""

    pad_token_id: int | None = None
    eos_token_id: int | Sequence[int] | None = None
    output_scores: bool = False
    return_dict_in_generate: bool = False


@dataclass(frozen=True)
class LMOutput:
    """Ordinary result of a forward pass: final logits (batch, length, vocab), and the cache if it was asked for."""

    logits: Tensor
    past_key_values: Cache | None = None


class Block(nn.Module):
    """Pre-norm transformer block: causal self-attention, then a feed-forward layer."""

    def __init__(self, config: LMConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.attention_norm = nn.LayerNorm(config.width)
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.attention_output = nn.Linear(config.width, config.width)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(config.width),
            nn.Linear(config.width, 4 * config.width),
            nn.GELU(),
            nn.Linear(4 * config.width, config.width),
        )

    def forward(
        self, hidden: Tensor, visible: Tensor, past: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Map hidden states (batch, length, width) to the same shape; also return all keys and values so far.

        Args:
            hidden: states of the new positions.
            visible: bool (batch, 1, length, past + length), what each new position may attend to.
            past: keys and values of the positions before, each (batch, heads, past, width / heads).
        """
        projected = self.query_key_value(self.attention_norm(hidden))
        # (batch, length, 3 * width) -> three tensors (batch, heads, length, width / heads)
        query, key, value = projected.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if past is not None:
            key, value = torch.cat([past[0], key], dim=2), torch.cat([past[1], value], dim=2)
        attended = F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        hidden = hidden + self.attention_output(attended.transpose(1, 2).flatten(2))
        return hidden + self.feed_forward(hidden), (key, value)


class EarlyExitLM(nn.Module):
    """Causal language model over token ids; prompts of unequal length are padded on the left and masked."""

    def __init__(self, config: LMConfig, generation_config: GenerationConfig | None = None) -> None:
        super().__init__()
        self.config = config
        self.generation_config = generation_config or GenerationConfig()
        self.token_embedding = nn.Embedding(config.vocab_size, config.width)
        self.position_embedding = nn.Embedding(config.max_positions, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.final_norm = nn.LayerNorm(config.width)
        self.head = nn.Linear(config.width, config.vocab_size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Cache | None = None,
        use_cache: bool = False,
        early_exit_layers: Sequence[int] | None = None,
    ) -> LMOutput | tuple[dict[int, Tensor], LMOutput]:
        """Run the model on new positions.

        Args:
            input_ids: LongTensor (batch, length), the ids that are not in the cache yet.
            attention_mask: LongTensor (batch, past + length), 0 on padding; None if there is none.
            past_key_values: cache of the positions before.
            use_cache: whether to return the cache.
            early_exit_layers: layers to read through the head, the last one included if it is wanted.

        Returns:
            The output, or with `early_exit_layers` a pair: {layer: logits (batch, length, vocab)} and the output.
        """
        batch, length = input_ids.shape
        past = 0 if past_key_values is None else past_key_values[0][0].shape[2]
        if attention_mask is None:
            attention_mask = input_ids.new_ones(batch, past + length)
        places = torch.arange(past + length, device=input_ids.device)
        own = places == places[past:, None]
        # A padded position sees itself, since attention to nothing at all is undefined.
        visible = (places <= places[past:, None]) & (attention_mask.bool()[:, None, None, :] | own)
        positions = (attention_mask.cumsum(dim=-1) - 1).clamp(min=0)[:, past:]

        hidden = self.token_embedding(input_ids) + self.position_embedding(positions)
        states, cache = [hidden], []
        for index, block in enumerate(self.blocks):
            hidden, keys_and_values = block(hidden, visible, past_key_values[index] if past_key_values else None)
            states.append(hidden)
            cache.append(keys_and_values)
        states[-1] = self.final_norm(hidden)

        output = LMOutput(self.head(states[-1]), tuple(cache) if use_cache else None)
        if early_exit_layers is None:
            return output
        return {layer: self.head(states[layer]) for layer in early_exit_layers}, output

    def prepare_inputs_for_generation(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: Cache | None = None,
        use_cache: bool = True,
    ) -> dict[str, Any]:
        """Keyword arguments of the forward pass that predicts the token after `input_ids` (batch, length so far).

        With a cache, only the last id is left to run.
        """
        return {
            "input_ids": input_ids if past_key_values is None else input_ids[:, -1:],
            "attention_mask": attention_mask,
            "past_key_values": past_key_values,
            "use_cache": use_cache,
        }

    def update_model_kwargs_for_generation(self, outputs: LMOutput, model_kwargs: dict[str, Any]) -> dict[str, Any]:
        """The `model_kwargs` of the next step: with the new cache, and the mask one column of ones longer."""
        updated = {**model_kwargs, "past_key_values": outputs.past_key_values}
        mask = updated.get("attention_mask")
        if mask is not None:
            updated["attention_mask"] = F.pad(mask, (0, 1), value=1)
        return updated
