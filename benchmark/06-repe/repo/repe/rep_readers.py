"""Readers: each finds directions in every layer along which a concept varies, and scores hidden states by them."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from sklearn.decomposition import PCA
from torch import Tensor, nn

Layers = Sequence[Hashable]
States = Mapping[Hashable, np.ndarray]
Directions = dict[Hashable, np.ndarray]


def recenter(x: np.ndarray | Tensor, mean: np.ndarray | Tensor | None = None) -> Tensor:
    """Subtract a mean from each row.

    Args:
        x: (n, d) array or tensor of any floating-point type.
        mean: (d,) or (1, d); the mean of the rows of `x` if None.

    Returns:
        (n, d) float32 tensor that shares no memory with `x`.
    """
    rows = torch.as_tensor(x).float()
    shift = rows.mean(dim=0, keepdim=True) if mean is None else torch.as_tensor(mean).float()
    return rows - shift


def project_onto_direction(states: np.ndarray | Tensor, direction: np.ndarray | Tensor) -> np.ndarray:
    """How far each row lies along a direction, as a score takes it: (n, d) and (d,) to (n,) float32."""
    rows, axis = torch.as_tensor(states).float(), torch.as_tensor(direction).float()
    return (rows @ axis / axis.norm()).numpy()


class RepReader(ABC):
    """Base of all readers.

    Attributes:
        n_components: number of directions a layer.
        on_differences: whether the reader is fitted on differences of pairs instead of single hidden states.
        directions: (n_components, d) array a layer, once fitted.
        direction_signs: (n_components,) array of +1 and -1 a layer, once fitted: multiplied by them, directions point
            to the items with label 1.
        H_train_means: (1, d) mean a layer, of the rows that the reader was fitted on; without an entry for a layer
            if the reader stores no mean.
    """

    on_differences = False

    def __init__(self, n_components: int | float | None = 1) -> None:
        self.n_components = n_components
        self.directions: Directions = {}
        self.direction_signs: Directions = {}
        self.H_train_means: Directions = {}

    @abstractmethod
    def get_rep_directions(
        self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
    ) -> Directions:
        """Directions of each layer, (n_components, d) each; the pipeline passes the labels as `train_choices`."""

    def get_signs(
        self, hidden_states: States, train_choices: Sequence[Sequence[int]], hidden_layers: Layers
    ) -> Directions:
        """Choose the sign of each direction from labels, by the rule of the paper.

        Args:
            hidden_states: (2m, d) a layer, the rows 2k and 2k + 1 being a pair; not differences.
            train_choices: m pairs of labels.
            hidden_layers: keys of the layers.

        Returns:
            (n_components,) a layer, each entry +1 or -1.
        """
        labels = np.array(train_choices)
        signs: Directions = {}
        for layer in hidden_layers:
            found = []
            for direction in self.directions[layer]:
                pairs = project_onto_direction(hidden_states[layer], direction).reshape(-1, 2)
                gap = pairs[labels == 1] - pairs[labels == 0]
                found.append(1 if np.sum(gap > 0) >= np.sum(gap < 0) else -1)
            signs[layer] = np.array(found)
        return signs

    def transform(self, hidden_states: States, hidden_layers: Layers, component: int = 0) -> dict[Hashable, np.ndarray]:
        """Scores of hidden states on one direction of each layer.

        Args:
            hidden_states: (n, d) a layer; not differences.
            hidden_layers: keys of the layers to score; `hidden_states` may have more.
            component: which direction of a layer, counted from 0.

        Returns:
            (n,) float32 a layer.
        """
        scores = {}
        for layer in hidden_layers:
            states = hidden_states[layer]
            if layer in self.H_train_means:
                states = recenter(states, mean=self.H_train_means[layer])
            along = project_onto_direction(states, self.directions[layer][component])
            scores[layer] = along * np.float32(self.direction_signs[layer][component])
        return scores


class PCARepReader(RepReader):
    """The reader of the paper: fitted on the differences of pairs, without labels but for the signs."""

    on_differences = True

    def get_rep_directions(
        self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
    ) -> Directions:
        """Directions of each layer; also fills `H_train_means`.

        Args:
            model: not used.
            tokenizer: not used.
            hidden_states: (n, d) floating-point array a layer; for this reader the rows are differences of pairs.
            hidden_layers: keys of the layers to fit, in this order; `hidden_states` may have more.
            kwargs: not used.

        Returns:
            (n_components, d) float32 array for each of `hidden_layers`.
        """
        directions: Directions = {}
        for layer in hidden_layers:
            states = hidden_states[layer]
            self.H_train_means[layer] = states.mean(0, keepdims=True)
            pca = PCA(n_components=self.n_components).fit(recenter(states).numpy())
            # A share of the variance, or None, is resolved on the first layer and holds for the others.
            self.n_components = pca.n_components_
            directions[layer] = pca.components_
        return directions


class ClusterMeanRepReader(RepReader):
    """Mean of the items with label 1 minus the mean of those with label 0: one direction a layer, supervised."""

    def get_rep_directions(
        self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
    ) -> Directions:
        """One row a layer; needs `train_choices`."""
        labels = np.concatenate(kwargs["train_choices"])
        return {
            layer: np.stack([hidden_states[layer][labels == 1].mean(0) - hidden_states[layer][labels == 0].mean(0)])
            for layer in hidden_layers
        }


class RandomRepReader(RepReader):
    """Random directions, as a baseline."""

    def __init__(self, n_components: int = 1, seed: int = 0) -> None:
        super().__init__(n_components)
        self.rng = np.random.default_rng(seed)

    def get_rep_directions(
        self, model: nn.Module, tokenizer: Any, hidden_states: States, hidden_layers: Layers, **kwargs: Any
    ) -> Directions:
        """Gaussian rows."""
        return {
            layer: self.rng.normal(size=(self.n_components, hidden_states[layer].shape[1])).astype(np.float32)
            for layer in hidden_layers
        }
