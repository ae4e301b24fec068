"""Write the scores of a run as the Hub's evaluation results, one YAML file for each model.

The owner of a model's repository, or anyone with a pull request, puts the file into its folder
`.eval_results/`; the Hub shows the scores on the model's page and on the benchmark's leaderboard.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.dataset.hub_tasks import HUB_TASKS, HubTask
from lmrbench_data.dataset.load import load_rows

from ..reports.scores import ModelScore, score_runs
from ..runs.folder import RunFolder
from .submit import Published, find_published, run_faults

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry, HfApi


def write_eval_results(
    api: "HfApi", runs: Sequence[Path], dataset: str, folder: Path
) -> list[Path]:
    """Write the results of each model of these runs into a folder; return the files.

    Args:
        dataset: the published dataset, `org/name`.

    Raises:
        InputError: a run is not complete or not official, or its dataset is not published.
    """
    by_model: dict[str, list[EvalResultEntry]] = {}
    for run in runs:
        run_folder = RunFolder(run)
        facts = run_folder.facts
        published = find_published(api, dataset, facts["dataset_sha256"])
        rows = load_rows(f"{dataset}@{published.sha}", published.config)
        faults = list(run_faults(facts, list(run_folder.rows()), len(rows)))
        if faults:
            raise InputError(f"{run}: has no results for the Hub: {'; '.join(faults)}")
        for score in score_runs([run]):
            entries = by_model.setdefault(score.model, [])
            entries.extend(_entries(score, facts, dataset, published))
    return [_write(folder, model, entries) for model, entries in sorted(by_model.items())]


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
    """Return the score on the rows of a task; None if the run has none."""
    if task.difficulty in ("", score.difficulty):
        return score
    for part in score.by_difficulty:
        if part.part == task.difficulty:
            return part
    return None


def _notes(score: ModelScore, facts: Mapping[str, Any]) -> str:
    """Describe how the answers came about."""
    agent = score.setting.removeprefix("agent:")
    how = f"with tools (agent {agent})" if agent != score.setting else "no tools"
    if agent == score.setting and score.setting:
        how += f" ({score.setting})"
    samples = "1 sample" if score.samples == 1 else f"mean of {score.samples} samples"
    return f"{how}; {score.track} track; {samples}; harness {facts['harness_version']}"


def _write(folder: Path, model: str, entries: "list[EvalResultEntry]") -> Path:
    from huggingface_hub import eval_result_entries_to_yaml

    name = "".join(char if char.isalnum() or char in "._-" else "-" for char in model)
    path = folder / f"{name.lstrip('._-') or 'model'}.yaml"
    text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False)
    write_atomically(path, text)
    return path
