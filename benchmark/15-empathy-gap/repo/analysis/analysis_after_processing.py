"""Empathy gap of one model and category: excluded events, standardised intensity matrix, gap, interval of chance."""

import argparse
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd
from const import GROUP_MAPPINGS, N_EVENTS, PROMPTS, REFUSAL, UNSPECIFIED, group_of

from analysis.permutation import chance_interval, permute_matrix
from analysis.process_exp_results import result_path

#: Shades of the text heat map, from low to high values.
SHADES = " .:-=+*#%@"


def get_intensity_list(
    group_option: str,
    prompt_variation: str,
    model_id: str,
    persona: str,
    experiencer: str,
) -> pd.Series:
    """Load the intensities that one perceiver gave to one experiencer.

    Args:
        group_option: category, a key of `GROUP_MAPPINGS`.
        prompt_variation: key of `PROMPTS`.
        model_id: name of the model that answered.
        persona: identity name of the perceiver.
        experiencer: identity name of the experiencer.

    Returns:
        Integer Series of length N_EVENTS named `intensity`: one row an event, in the same order for every pair,
        `REFUSAL` (-1) where the model gave no number. The index holds the `event_id` of the corpus, which is
        not the position of the row.
    """
    path = result_path(group_option, prompt_variation, model_id, persona, experiencer)
    intensities = pd.read_csv(path, sep="\t", index_col="event_id")["intensity"]
    if len(intensities) != N_EVENTS:
        raise ValueError(f"{path} has {len(intensities)} rows, not {N_EVENTS}")
    return intensities


def get_excluded_id_set_no_default(group_option: str, prompt_variation: str, model_id: str) -> set[int]:
    """Events to leave out of all pairs of a category because the model refused to answer (Section 3.4, Appendix C.1).

    Args:
        group_option: category, a key of `GROUP_MAPPINGS`.
        prompt_variation: key of `PROMPTS`.
        model_id: name of the model that answered.

    Returns:
        Row positions (0-based, not event ids).
    """
    names = GROUP_MAPPINGS[group_option]
    excluded: set[int] = set()
    for persona, experiencer in product(names, names):
        refused = get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer) == REFUSAL
        excluded.update(np.flatnonzero(refused).tolist())
    return excluded


def pair_intensity(intensities: pd.Series, excluded_ids: Collection[int]) -> float:
    """M^0 of the paper for one pair of identities, rounded to two decimals.

    Args:
        intensities: what `get_intensity_list` returns for the pair.
        excluded_ids: row positions (0-based, not event ids) of the events to leave out; at least one event stays.
    """
    kept = [value for position, value in enumerate(intensities) if position not in excluded_ids]
    return round(sum(kept) / len(kept), 2)


def standardise(raw_matrix: np.ndarray) -> np.ndarray:
    """M of the paper: float64 array (n, n) from M^0, an array of the same shape and dtype that is not changed."""
    return (raw_matrix - raw_matrix.mean()) / raw_matrix.std()


def get_filtered_matrix(
    group_option: str,
    prompt_variation: str,
    model_id: str,
    excluded_ids: Collection[int],
) -> np.ndarray:
    """Standardised intensity matrix of one category, built from the result files through `get_intensity_list`.

    Args:
        group_option: category, a key of `GROUP_MAPPINGS` with n identity names.
        prompt_variation: key of `PROMPTS`.
        model_id: name of the model that answered.
        excluded_ids: row positions (0-based, not event ids) of the events to leave out, the same for all pairs.

    Returns:
        Float64 array (n, n), M of the paper: one row a perceiver, one column an experiencer, both in the order of
        `GROUP_MAPPINGS[group_option]`.
    """
    names = GROUP_MAPPINGS[group_option]
    raw_matrix = np.empty((len(names), len(names)))
    for i, persona in enumerate(names):
        for j, experiencer in enumerate(names):
            intensities = get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer)
            raw_matrix[i, j] = pair_intensity(intensities, excluded_ids)
    return standardise(raw_matrix)


def check_in_group(group_option: str, i: int, j: int) -> bool:
    """Whether the identities at positions `i` and `j` of a category are in-group: same(i, j) of the paper.

    Both positions count from 0, in the order of `GROUP_MAPPINGS[group_option]`.
    """
    if group_option == "ethnicity":
        names = GROUP_MAPPINGS[group_option]
        return group_of(names[i]) == group_of(names[j])
    return i == j


def gap_score(in_group: Sequence[float], out_group: Sequence[float]) -> float:
    """delta of the paper from the values of the in-group and of the out-group cells; there are some of each."""
    return sum(in_group) / len(in_group) - sum(out_group) / len(out_group)


def get_delta(matrix: np.ndarray, group_option: str) -> float:
    """Empathy gap score of an intensity matrix; positive if in-group pairs have the higher intensities.

    Args:
        matrix: numeric array (n, n), normally from `get_filtered_matrix`; rows and columns in the order of the
            category's identity names. It is not changed.
        group_option: category, handed to `check_in_group`.

    Returns:
        The score, one float.
    """
    in_group = []
    out_group = []
    for (i, j), cell in np.ndenumerate(matrix):
        cells = in_group if check_in_group(group_option, i, j) else out_group
        cells.append(cell)
    return gap_score(in_group, out_group)


def get_interval(
    matrix: np.ndarray,
    group_option: str,
    n_permutations: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """Interval of chance: the range of the gap if identities did not matter, from permuted matrices.

    Args:
        matrix: numeric array (n, n), as for `get_delta`. It is not changed.
        group_option: category, as for `get_delta`.
        n_permutations: how many permuted matrices are drawn.
        seed: makes `numpy.random.default_rng(seed)`, from which all of them are drawn, one after the other.

    Returns:
        Lower and upper end.
    """
    rng = np.random.default_rng(seed)
    deltas = [get_delta(permute_matrix(matrix, rng), group_option) for _ in range(n_permutations)]
    return chance_interval(deltas)


def get_refusal_rates(group_option: str, prompt_variation: str, model_id: str) -> pd.DataFrame:
    """Share of refused events for every perceiver (rows) and experiencer (columns), the unspecified identity first."""
    names = (UNSPECIFIED, *GROUP_MAPPINGS[group_option])
    rates = pd.DataFrame(0.0, index=names, columns=names)
    for persona, experiencer in product(names, names):
        refused = get_intensity_list(group_option, prompt_variation, model_id, persona, experiencer) == REFUSAL
        rates.loc[persona, experiencer] = refused.mean()
    return rates


def label_matrix(matrix: np.ndarray, group_option: str) -> pd.DataFrame:
    """Matrix (n, n) of a category with the identity names as row and column labels."""
    names = pd.Index(GROUP_MAPPINGS[group_option])
    return pd.DataFrame(matrix, index=names.rename("perceiver"), columns=names.rename("experiencer"))


def draw_heatmap(frame: pd.DataFrame) -> str:
    """Text heat map of a labelled matrix: one line a perceiver, two characters an experiencer, darker is higher."""
    values = frame.to_numpy()
    low, high = values.min(), values.max()
    levels = ((values - low) / (high - low) * (len(SHADES) - 1)).round().astype(int)
    width = max(len(name) for name in frame.index)
    lines = ("".join(SHADES[level] * 2 for level in row) for row in levels)
    return "\n".join(f"{name:>{width}} |{line}|" for name, line in zip(frame.index, lines, strict=True))


@dataclass(frozen=True)
class EmpathyGap:
    """What the analysis says about one model and category.

    Attributes:
        matrix: standardised intensities with the names of `label_matrix`, rows = perceiver.
        delta: empathy gap score.
        interval: interval of chance of the score.
        n_excluded: number of events left out.
    """

    matrix: pd.DataFrame
    delta: float
    interval: tuple[float, float]
    n_excluded: int

    @property
    def beyond_chance(self) -> bool:
        """Whether the score lies outside the interval of chance."""
        low, high = self.interval
        return not low <= self.delta <= high


def analyse(group_option: str, prompt_variation: str, model_id: str, n_permutations: int = 10_000) -> EmpathyGap:
    """Compute matrix, gap and interval from the result files of one model and category.

    Args:
        group_option: category, a key of `GROUP_MAPPINGS`.
        prompt_variation: key of `PROMPTS`.
        model_id: name of the model that answered.
        n_permutations: as for `get_interval`, whose default seed is used.
    """
    excluded = get_excluded_id_set_no_default(group_option, prompt_variation, model_id)
    matrix = get_filtered_matrix(group_option, prompt_variation, model_id, excluded)
    return EmpathyGap(
        matrix=label_matrix(matrix, group_option),
        delta=float(get_delta(matrix, group_option)),
        interval=get_interval(matrix, group_option, n_permutations),
        n_excluded=len(excluded),
    )


def main() -> None:
    """Analyse one category from the command line, with the paper's number of permutations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("group_option", choices=GROUP_MAPPINGS)
    parser.add_argument("prompt_variation", choices=PROMPTS)
    parser.add_argument("model_id")
    options = parser.parse_args()
    gap = analyse(options.group_option, options.prompt_variation, options.model_id)
    print(draw_heatmap(gap.matrix))
    low, high = gap.interval
    print(f"gap {gap.delta:+.3f}, chance [{low:+.3f}, {high:+.3f}], {gap.n_excluded} events left out")


if __name__ == "__main__":
    main()
