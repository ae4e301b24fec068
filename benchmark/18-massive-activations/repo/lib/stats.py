"""What is reported about the magnitudes of a layer."""

import os
import pickle
from dataclasses import dataclass

import numpy as np

#: Limits of the paper's definition: of a magnitude, and of its ratio to the median.
MASSIVE_MAGNITUDE = 100.0
MASSIVE_RATIO = 1000.0


@dataclass(frozen=True)
class LayerSummary:
    """Magnitudes of one hidden state.

    Attributes:
        top: the largest magnitudes, in falling order.
        places: (token, channel) of each of them.
        median: the median of all magnitudes.
        massive: number of massive activations.
    """

    top: tuple[float, ...]
    places: tuple[tuple[int, int], ...]
    median: float
    massive: int


def read_magnitudes(savedir: str, layer_id: int) -> np.ndarray:
    """Load what experiment 1 saved for a layer (counted from 1): (1, N, C) float64."""
    with open(os.path.join(savedir, f"feat_abs_layer_{layer_id}.pkl"), "rb") as file:
        return pickle.load(file)


def massive_mask(magnitudes: np.ndarray) -> np.ndarray:
    """Which activations of a hidden state are massive: magnitudes (N, C) to (N, C) bool."""
    return (magnitudes > MASSIVE_MAGNITUDE) & (magnitudes > MASSIVE_RATIO * np.median(magnitudes))


def summarise(magnitudes: np.ndarray, count: int = 3) -> LayerSummary:
    """Summarise magnitudes (1, N, C) by their `count` largest values and their median."""
    flat = magnitudes[0].ravel()
    order = np.argsort(-flat, kind="stable")[:count]
    median = float(np.median(flat))
    return LayerSummary(
        top=tuple(flat[order].tolist()),
        places=tuple(divmod(int(i), magnitudes.shape[-1]) for i in order),
        median=median,
        massive=int(massive_mask(magnitudes[0]).sum()),
    )


def token_name(token: int, registers: int) -> str:
    """Name of the token at a position of the sequence CLS, registers, patches; registers and patches count from 1."""
    if token == 0:
        return "CLS"
    return f"register {token}" if token <= registers else f"patch {token - registers}"
