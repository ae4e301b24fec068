"""Short experiments whose results the paper reports."""

import numpy as np
import pandas as pd
from analysis.analysis_after_processing import get_delta, get_interval, pair_intensity, standardise
from analysis.blocks import group_matrix
from analysis.process_exp_results import parse_intensity
from const import GROUP_MAPPINGS, PROMPTS, REFUSAL
from predict_emotion import predict_category


def raw_matrix(category: str, variation: str, model_id: str) -> np.ndarray:
    """M^0 of an offline model, without files."""
    answers = predict_category(category, variation, model_id, seed=4)
    top = PROMPTS[variation].top
    answers["intensity"] = [parse_intensity(answer, top) for answer in answers["answer"]]
    grouped = answers.groupby(["perceiver", "experiencer"], sort=False)["intensity"]
    found: dict[tuple[str, str], pd.Series] = {pair: values.reset_index(drop=True) for pair, values in grouped}
    names = GROUP_MAPPINGS[category]
    of_names = {(a, b): found[a, b] for a in names for b in names}
    excluded = {k for values in of_names.values() for k in np.flatnonzero(values == REFUSAL).tolist()}
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
