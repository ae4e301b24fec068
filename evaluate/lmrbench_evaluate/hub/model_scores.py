"""Give a model repository its scores: one value per track and level, as the record of a verified run states them.

The Hub shows them on the model's page, under the tasks that `cards/eval.yaml` registers. They leave out the judge's
categories: these are the submitter's claims, which nobody repeats.
"""

from typing import TYPE_CHECKING

import yaml

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.hub_client import hub_errors
from lmrbench_data.base.near import did_you_mean
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.rows import TRACKS
from lmrbench_data.loader import FUNCTION

from ..verdict.levels import Level
from .layout import read_records, record_path
from .record import Entry, Record

if TYPE_CHECKING:
    from huggingface_hub import HfApi


def task_id(config: str, track: str, level: Level) -> str | None:
    """Return the task of `cards/eval.yaml` for a level of a track; None if it registers none.

    Methods have one track, and their levels are the same.
    """
    if config == FUNCTION:
        return f"{track}_{level}"
    return f"{config}_{level}" if (track, level) == ("paper", Level.REPRODUCED) else None


def model_results(record: Record, model: str | None, dataset: str, revision: str, source_url: str) -> str:
    """Make the content of the file in `.eval_results`: for each track both rates of its best setting.

    Args:
        model: the model; may be left out if the run has one only.
        dataset, revision: the benchmark on the Hub.
        source_url: the address of the record.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    models = sorted({entry.model for entry in record.entries})
    if model not in models and not (model is None and len(models) == 1):
        unknown = f"{model!r} is unknown{did_you_mean(model, models, within=True)}; " if model else ""
        raise ArgumentError("model", f"{unknown}one of this run's models is needed: {', '.join(map(one_line, models))}")

    def rank(entry: Entry) -> tuple[float, float]:
        return entry.overall.rate(entry.level), sum(entry.overall.rate(level) for level in Level)

    results = []
    for track in TRACKS:
        entries = [item for item in record.entries if (item.model, item.track) == (model or models[0], track)]
        best = max(entries, key=rank, default=None)
        for level in Level if best else ():
            if best and (task := task_id(record.config, track, level)):
                result = EvalResultEntry(
                    dataset_id=dataset,
                    task_id=task,
                    value=round(100 * best.overall.rate(level), 2),
                    dataset_revision=revision,
                    source_url=source_url,
                    notes=f"setting: {one_line(best.setting)}" if best.setting else None,
                )
                results.append(result)
    return yaml.safe_dump(eval_result_entries_to_yaml(results), sort_keys=False, allow_unicode=True)


def verified_run(api: "HfApi", repo_id: str, run_id: str, user: str) -> tuple[Record, str]:
    """Return the record of this user's verified run, and its address."""
    record = read_records(api, repo_id).get(run_id)
    if record is None:
        fix = f"submit it to {repo_id} first and wait until a maintainer has verified it"
        raise InputError(f"{repo_id}: run {run_id} is not verified; {fix}")
    if record.submitted_by != user:
        raise InputError(f"{repo_id}: run {run_id} was submitted by {one_line(record.submitted_by)}, not {user}")
    with hub_errors(repo_id):
        commits = api.list_repo_commits(repo_id, repo_type="dataset")
    sha = next((item.commit_id for item in commits if f" {run_id} [PR {record.pull_request} " in item.title), "main")
    return record, f"{api.endpoint}/datasets/{repo_id}/blob/{sha}/{record_path(run_id)}"
