"""Give a model repository its scores: one value for each track and level, computed from the rows of a run.

The Hub shows them on the model's page, under the tasks that `cards/eval.yaml` registers. The judge's categories are not
among them: they are what a submitter says, and nobody repeats them.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import ArgumentError
from ...hub import Committed, additions, commit_once
from ...text import one_line
from ..predictions import TRACKS
from ..verdict import Status
from .published import PublishedDataset

if TYPE_CHECKING:
    from huggingface_hub import HfApi

EVAL_RESULTS = ".eval_results/lmr-bench.yaml"
#: What a level is called, and the column that holds its verdict.
LEVELS = {"reproduced": "core_status", "robust": "status"}
#: The level by which each track is ranked.
HEADLINE = {"paper": "reproduced", "contract": "robust"}


def task_id(track: str, level: str) -> str:
    """The task of `cards/eval.yaml` for a level of a track."""
    return f"{track}_{level}"


def model_results(
    rows: Sequence[Mapping[str, Any]], model: str | None, dataset: PublishedDataset, source_url: str | None
) -> str:
    """The content of `EVAL_RESULTS`: for each track both rates, of the setting that does best in it.

    Args:
        rows: of a run, as it is submitted or published.
        model: which model of the run; may be left out if there is one.

    Raises:
        ArgumentError: the run has no such model, or several and none was named.
    """
    import yaml
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    models = sorted({str(row["model_name_or_path"]) for row in rows})
    if model not in models and not (model is None and len(models) == 1):
        raise ArgumentError("model", f"one of this run's models is needed: {', '.join(map(one_line, models))}")
    chosen = [row for row in rows if row["model_name_or_path"] == (model or models[0])]
    entries = [
        EvalResultEntry(
            dataset_id=dataset.repo_id,
            task_id=task_id(track, level),
            value=round(100 * share, 2),
            dataset_revision=dataset.sha,
            source_url=source_url,
            notes=f"setting: {one_line(setting)}" if setting else None,
        )
        for track, setting, rates in _best(chosen)
        for level, share in rates.items()
    ]
    return yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)


def _best(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, dict[str, float]]]:
    """(track, setting, rate of each level) of the best setting of each track."""
    for track in TRACKS:
        by_setting: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            if row["track"] == track:
                by_setting.setdefault(row["setting"] or "", []).append(row)
        found = {setting: rates(group) for setting, group in sorted(by_setting.items())}
        if found:
            best = max(found, key=lambda setting: found[setting][HEADLINE[track]])
            yield track, best, found[best]


def rates(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Level → share of all instances of the benchmark that reached it, for one model, setting and track.

    An unanswered instance has not reached it, and every instance counts with as many samples as the one with most.
    """
    samples = max(Counter(row["instance_id"] for row in rows).values())
    total = samples * rows[0]["scope_size"]
    return {level: sum(row[name] == Status.PASSED for row in rows) / total for level, name in LEVELS.items()}


def submit_to_model(api: "HfApi", repo_id: str, content: str) -> Committed:
    """Open the pull request that gives a model repository its results.

    Raises:
        InputError, LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    digest = hashlib.sha256(content.encode()).hexdigest()
    return commit_once(
        api,
        repo_id,
        lambda: additions({EVAL_RESULTS: content.encode()}),
        title=f"LMR-Bench results [{digest[:16]}]",
        description="Opened by `lmrbench submit --model-repo`.",
        create_pr=True,
        repo_type="model",
    )
