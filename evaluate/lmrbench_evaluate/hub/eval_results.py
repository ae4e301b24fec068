"""Write the scores of a run as the Hub's evaluation results, one YAML file for each model.

The owner of a model's repository, or anyone with a pull request, puts the file into its folder
`.eval_results/`; the Hub shows the scores on the model's page and on the benchmark's leaderboard.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.names import plain_name
from lmrbench_data.dataset.hub_tasks import HUB_TASKS, HubTask

from ..predictions.prediction import AGENT_PREFIX
from ..reports.data import ReportData
from ..reports.scores import ModelScore
from .submit import Published, publishable

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry, HfApi


def write_eval_results(api: "HfApi", report: ReportData, dataset: str, folder: Path) -> list[Path]:
    """Write the results of each model of a report into a folder; return the files.

    Args:
        dataset: name of the published dataset, `org/name`.

    Raises:
        InputError: a run is not complete or not official, or its dataset is not published.
    """
    from huggingface_hub import eval_result_entries_to_yaml

    by_model = _results(api, report, dataset)
    paths = _paths(by_model, folder)
    for model, path in paths.items():
        entries = eval_result_entries_to_yaml(by_model[model])
        write_atomically(path, yaml.safe_dump(entries, sort_keys=False))
    return list(paths.values())


def _results(api: "HfApi", report: ReportData, dataset: str) -> dict[str, list["EvalResultEntry"]]:
    """Return model → its results."""
    by_model: defaultdict[str, list[EvalResultEntry]] = defaultdict(list)
    for run, facts in zip(report.paths, report.runs, strict=True):
        published = publishable(api, run, dataset, "has no results for the Hub")
        for score in report.scores:
            if score.path == run:
                by_model[score.model] += _entries(score, facts, dataset, published)
    return by_model


def _paths(models: Iterable[str], folder: Path) -> dict[str, Path]:
    """Return a file for each model, even if several models have the same plain name."""
    paths: dict[str, Path] = {}
    for model in sorted(models):
        path = folder / f"{plain_name(model, 'model')}.yaml"
        while path in paths.values():
            path = path.with_stem(f"{path.stem}-{len(paths)}")
        paths[model] = path
    return paths


def _entries(
    score: ModelScore, facts: Mapping[str, Any], dataset: str, published: Published
) -> Iterator["EvalResultEntry"]:
    """Yield the results of one model in one setting and track."""
    from huggingface_hub import EvalResultEntry
    from huggingface_hub.constants import ENDPOINT

    for task in HUB_TASKS:
        if (task.config, task.track) != (published.config, score.track):
            continue
        part = _part(score, task)
        if part is None:
            continue
        share = part.overall.share(part.headline)
        yield EvalResultEntry(
            dataset_id=dataset,
            task_id=task.id,
            value=round(100 * share.part / share.whole, 2),
            dataset_revision=published.sha,
            date=str(facts["finished_at"])[:10],
            source_url=f"{ENDPOINT}/datasets/{dataset}",
            source_name=f"LMR-Bench {facts['benchmark_version']}",
            notes=_notes(score, facts),
        )


def _part(score: ModelScore, task: HubTask) -> ModelScore | None:
    """Return the score on the rows of a task; None if the run has no such rows."""
    if task.difficulty in ("", score.difficulty):
        return score
    for part in score.by_difficulty:
        if part.part == task.difficulty:
            return part
    return None


def _notes(score: ModelScore, facts: Mapping[str, Any]) -> str:
    """Describe how the answers came about."""
    if score.setting.startswith(AGENT_PREFIX):
        how = f"with tools (agent {score.setting.removeprefix(AGENT_PREFIX)})"
    else:
        how = f"no tools ({score.setting})" if score.setting else "no tools"
    samples = "1 sample" if score.samples == 1 else f"mean of {score.samples} samples"
    return f"{how}; {score.track} track; {samples}; harness {facts['harness_version']}"
