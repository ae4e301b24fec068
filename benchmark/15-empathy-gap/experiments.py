"""Short experiments whose results the paper reports."""

from collections.abc import Iterable
from functools import cache

import numpy as np
import pandas as pd
from analysis.analysis_after_processing import get_delta, get_interval, pair_intensity, standardise
from analysis.blocks import group_matrix
from analysis.process_exp_results import parse_intensity
from const import GROUP_MAPPINGS, N_EVENTS, PROMPTS, REFUSAL
from predict_emotion import predict_category


@cache
def intensities(category: str, variation: str, model_id: str, seed: int) -> dict[tuple[str, str], pd.Series]:
    """Intensities of each pair of names by an offline model, without files."""
    answers = predict_category(category, variation, model_id, seed)
    top = PROMPTS[variation].top
    answers["intensity"] = [parse_intensity(answer, top) for answer in answers["answer"]]
    grouped = answers.groupby(["perceiver", "experiencer"], sort=False)["intensity"]
    found: dict[tuple[str, str], pd.Series] = {pair: values.reset_index(drop=True) for pair, values in grouped}
    names = GROUP_MAPPINGS[category]
    return {(a, b): found[a, b] for a in names for b in names}


def raw_matrix(category: str, variation: str, model_id: str, seed: int = 4, left_out: Iterable[int] = ()) -> np.ndarray:
    """M^0 of an offline model on the events that it never refused, without those at the positions `left_out`."""
    of_names, names = intensities(category, variation, model_id, seed), GROUP_MAPPINGS[category]
    refused = {k for values in of_names.values() for k in np.flatnonzero(values == REFUSAL).tolist()}
    excluded = refused.union(left_out)
    return np.array([[pair_intensity(of_names[a, b], excluded) for b in names] for a in names])


def table_noise() -> dict[str, dict[str, float]]:
    """Gap, place of the gap in the interval of chance, and contrast of blocks, with noise on the matrix."""
    table = {}
    for category, variation, model_id, permutations in (
        ("ethnicity", "origin", "toy-8b", 60),
        ("religion", "10-scale", "toy-8b", 300),
        ("religion", "persona-1", "toy-fair", 300),
    ):
        clean = standardise(raw_matrix(category, variation, model_id))
        noise = np.random.default_rng(11).normal(size=clean.shape)
        for level in (0.3, 0.9):
            matrix = clean + level * noise
            gap = get_delta(matrix, category)
            low, high = get_interval(matrix, category, permutations, seed=7)
            blocks = group_matrix(matrix, category).to_numpy()
            table[f"{model_id}, {category}, noise {level}"] = {
                "gap": gap,
                "place": (gap - low) / (high - low),
                "peak": matrix.max(),
                "first block": (blocks[0, 0] - blocks[0, 1]) / (1 + abs(gap)),
                "last block": (blocks[-1, -1] - blocks[0, -1]) / (1 + abs(gap)),
            }
    return table


def table_outcome() -> dict[str, dict[str, float]]:
    """How far groups stand out: blocks of a group with itself above the interval of chance, sum of the four ethnicities.

    The model is toy-8b. A row is a wording of the question; a column takes every second event, from the first or the
    second one on.
    """
    halves = {"1st, 3rd, ... event": range(1, N_EVENTS, 2), "2nd, 4th, ... event": range(0, N_EVENTS, 2)}
    table: dict[str, dict[str, float]] = {}
    for variation in PROMPTS:
        table[variation] = {}
        for half, left_out in halves.items():
            matrix = standardise(raw_matrix("ethnicity", variation, "toy-8b", 18, left_out))
            _, high = get_interval(matrix, "ethnicity", 300)
            own = group_matrix(matrix, "ethnicity").to_numpy().diagonal()
            table[variation][half] = float((own - high).sum())
    return table
