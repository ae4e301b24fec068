"""Papers before and after a model's knowledge cut-off, and how it scores on each part.

The date of a paper is that of its first arXiv version, which the arXiv id names, else its year. Rows have no date of
the original repository; it is assumed to be the paper's.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench_evaluate.reports.familiarity import CutoffSide, tallies_by_side
from lmrbench_evaluate.reports.scores import ModelScore, score_runs
from lmrbench_evaluate.reports.tally import Tally
from lmrbench_evaluate.runs.folder import RunFolder

from ...base.errors import ArgumentError
from ...dataset.rows import DatasetRow

_ARXIV = re.compile(r"(\d\d)(0[1-9]|1[0-2])\.\d{4,5}(v\d+)?")
_OLD_ARXIV = re.compile(r"[a-z-]+(?:\.[A-Z]{2})?/(\d\d)(0[1-9]|1[0-2])\d{3}(v\d+)?")
_MONTH = re.compile(r"(19|20)\d\d-(0[1-9]|1[0-2])")


def published(row: DatasetRow) -> str:
    """Return the first publication of a row's paper: `YYYY-MM`, or `YYYY` if the month is not known."""
    if found := _ARXIV.fullmatch(row["arxiv_id"] or ""):
        return f"20{found[1]}-{found[2]}"
    if found := _OLD_ARXIV.fullmatch(row["arxiv_id"] or ""):
        return f"{'19' if int(found[1]) > 90 else '20'}{found[1]}-{found[2]}"
    return str(row["year"])


def read_cutoffs(texts: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """Cut-offs by model, from `YYYY-MM` for all models and `MODEL=YYYY-MM` for one.

    Raises:
        ArgumentError: not a valid month, or a model without answers.
    """
    common, special = "", {}
    for text in texts:
        model, _, month = text.rpartition("=")
        if not _MONTH.fullmatch(month):
            raise ArgumentError("cutoff", f"{text!r} is not a valid month; give one such as 2024-06, or MODEL=2024-06")
        if model and model not in models:
            raise ArgumentError("cutoff", f"no answers of {model!r}; the runs have {', '.join(sorted(set(models)))}")
        if model:
            special[model] = month
        else:
            common = month
    found = {model: special.get(model, common) for model in models}
    if missing := sorted(model for model, month in found.items() if not month):
        raise ArgumentError("cutoff", f"missing for {', '.join(missing)}; give MODEL=YYYY-MM, or YYYY-MM for all")
    return found


@dataclass(frozen=True)
class Split:
    """One model's scores on the parts of the instances."""

    score: ModelScore
    cutoff: str
    parts: Mapping[CutoffSide, Tally]


def split_scores(
    runs: Sequence[Path], cutoffs: Sequence[str], dataset: str | None = None
) -> tuple[list[Split], dict[str, str]]:
    """Scores before and after each model's cut-off, and when the papers of the runs' instances came out.

    Raises:
        InputError: no run folder, another dataset, or cut-offs that do not fit.
    """
    scores = score_runs(runs)
    dates: dict[str, str] = {}
    for run in map(RunFolder, runs):
        scope = run.facts["scope"]
        dates |= {name: published(row) for name, row in run.dataset_rows(dataset).items() if name in scope}
    months = read_cutoffs(cutoffs, [score.model for score in scores])
    return [
        Split(score, months[score.model], tallies_by_side(score, months[score.model], dates)) for score in scores
    ], dates
