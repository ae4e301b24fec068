"""The reading pipeline: collect hidden states, fit a reader on contrast pairs, score other pairs."""

from collections.abc import Sequence

import numpy as np
import torch

from repe.data import PairData
from repe.model import CausalLM, Tokenizer
from repe.rep_readers import RepReader


@torch.no_grad()
def get_hidden_states(
    model: CausalLM, tokenizer: Tokenizer, prompts: Sequence[str], hidden_layers: Sequence[int], batch_size: int = 64
) -> dict[int, np.ndarray]:
    """Representations of prompts.

    Args:
        prompts: texts; they run through the model in batches of `batch_size`.
        hidden_layers: numbers of hidden states as in `Output.hidden_states`.

    Returns:
        (len(prompts), width) array a layer, in the order of the prompts and in the dtype of the model.
    """
    parts: dict[int, list[np.ndarray]] = {layer: [] for layer in hidden_layers}
    for start in range(0, len(prompts), batch_size):
        hidden_states = model(tokenizer(list(prompts[start : start + batch_size]))).hidden_states
        for layer in hidden_layers:
            parts[layer].append(hidden_states[layer][:, -1].numpy())
    return {layer: np.concatenate(arrays) for layer, arrays in parts.items()}


def pair_differences(states: np.ndarray) -> np.ndarray:
    """Rows of H of the paper, which readers of differences are fitted on.

    Args:
        states: (2m, d) representations; the rows 2k and 2k + 1 are a pair, and never equal.

    Returns:
        (m, d), in the dtype of `states`.
    """
    differences = states[::2] - states[1::2]
    return differences / np.linalg.norm(differences, axis=1, keepdims=True)


class RepReadingPipeline:
    """Fits readers to one model.

    Args:
        hidden_layers: which hidden states to read, usually negative indices.
    """

    def __init__(self, model: CausalLM, tokenizer: Tokenizer, hidden_layers: Sequence[int]) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.hidden_layers = list(hidden_layers)

    def get_directions(self, reader: RepReader, data: PairData) -> RepReader:
        """Fit directions and signs of a reader to pairs; return the reader."""
        states = get_hidden_states(self.model, self.tokenizer, data.prompts, self.hidden_layers)
        training = states
        if reader.on_differences:
            training = {layer: pair_differences(array) for layer, array in states.items()}
        directions = reader.get_rep_directions(
            self.model, self.tokenizer, training, self.hidden_layers, train_choices=data.labels
        )
        reader.directions = {layer: rows.astype(np.float32) for layer, rows in directions.items()}
        reader.direction_signs = reader.get_signs(states, data.labels, self.hidden_layers)
        return reader

    def accuracy(self, reader: RepReader, data: PairData) -> dict[int, float]:
        """Share of pairs whose item with label 1 has the higher score, a layer; a tie counts one half."""
        states = get_hidden_states(self.model, self.tokenizer, data.prompts, self.hidden_layers)
        labels = np.array(data.labels)
        result = {}
        for layer, scores in reader.transform(states, self.hidden_layers).items():
            pairs = scores.reshape(-1, 2)
            gap = pairs[labels == 1] - pairs[labels == 0]
            result[layer] = float(np.mean((gap > 0) + 0.5 * (gap == 0)))
        return result
