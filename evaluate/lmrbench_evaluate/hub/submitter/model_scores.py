"""Give a model repository its scores: one value per track and level, computed from the rows of a verified run.

The Hub shows them on the model's page, under the tasks that `cards/eval.yaml` registers. They leave out the judge's
categories: these are the submitter's claims, which nobody repeats.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.hub_client import Committed, additions, commit_once
from lmrbench_data.base.hub_session import hub_errors
from lmrbench_data.base.limited_reader import UnreadableError, read_parquet_rows
from lmrbench_data.base.near import did_you_mean
from lmrbench_data.base.ranking import REPRODUCED, ROBUST, ranking_key
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.rows import TRACKS
from lmrbench_data.loader import FUNCTION

from ...verdict.verdict import Status
from ..layout import fetch, record_path
from ..records import read_records
from ..submitted_rows import MAX_ROWS, MAX_TABLE_BYTES, MAX_TEXT_BYTES
from .published_dataset import PublishedDataset

if TYPE_CHECKING:
    from huggingface_hub import HfApi

#: Level → the column that holds its verdict.
LEVELS = {REPRODUCED: "core_status", ROBUST: "status"}


def task_id(config: str, track: str, level: str) -> str | None:
    """Return the task of `cards/eval.yaml` for a level of a track; None if it registers none.

    Methods have one track, and their levels are the same.
    """
    if config == FUNCTION:
        return f"{track}_{level}"
    return f"{config}_{level}" if (track, level) == ("paper", REPRODUCED) else None


def model_results(
    rows: Sequence[Mapping[str, Any]], model: str | None, dataset: PublishedDataset, source_url: str | None
) -> str:
    """Make the content of the file in `.eval_results`: for each track both rates of its best setting.

    Args:
        rows: the rows of a run, as published by `verify`.
        model: the model; may be left out if the run has one only.

    Raises:
        ArgumentError: the run has no such model, or several and `model` is None.
    """
    from huggingface_hub import EvalResultEntry, eval_result_entries_to_yaml

    models = sorted({str(row["model_name_or_path"]) for row in rows})
    if model not in models and not (model is None and len(models) == 1):
        unknown = f"{model!r} is unknown{did_you_mean(model, models, within=True)}; " if model else ""
        raise ArgumentError("model", f"{unknown}one of this run's models is needed: {', '.join(map(one_line, models))}")
    chosen = [row for row in rows if row["model_name_or_path"] == (model or models[0])]
    entries = [
        EvalResultEntry(
            dataset_id=dataset.repo_id,
            task_id=task,
            value=round(100 * share, 2),
            dataset_revision=dataset.sha,
            source_url=source_url,
            notes=f"setting: {one_line(setting)}" if setting else None,
        )
        for track, setting, rates in _best(chosen)
        for level, share in rates.items()
        if (task := task_id(dataset.config, track, level))
    ]
    return yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)


def _best(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, dict[str, float]]]:
    """Yield (track, setting, rate of each level) for the best setting of each track."""
    for track in TRACKS:
        by_setting: dict[str, list[Mapping[str, Any]]] = {}
        for row in rows:
            if row["track"] == track:
                by_setting.setdefault(row["setting"] or "", []).append(row)
        found = {setting: rates(group) for setting, group in sorted(by_setting.items())}
        if found:
            best = min(found, key=lambda setting: ranking_key(track, **found[setting]))
            yield track, best, found[best]


def rates(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return level → share of all instances of the benchmark that reached it, for one model, setting and track.

    An unanswered instance has not reached it. Every instance counts as many samples as the one with the most.
    """
    samples = max(Counter(row["instance_id"] for row in rows).values())
    total = samples * rows[0]["scope_size"]
    return {level: sum(row[name] == Status.PASSED for row in rows) / total for level, name in LEVELS.items()}


def verified_rows(api: "HfApi", repo_id: str, run_id: str, user: str) -> tuple[list[dict[str, Any]], str]:
    """Return the published rows of this user's verified run, and the address of its record.

    Raises:
        InputError: the run is not verified, belongs to another submitter, or its rows do not match the record.
        LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    with hub_errors(repo_id):
        sha = str(api.dataset_info(repo_id, revision="main").sha)
    record = read_records(api, repo_id, sha).get(run_id)
    if record is None:
        fix = f"submit it to {repo_id} first and wait until a maintainer has verified it"
        raise InputError(f"{repo_id}: run {run_id} is not verified; {fix}")
    if record.get("submitted_by") != user:
        raise InputError(f"{repo_id}: run {run_id} was submitted by {one_line(record.get('submitted_by'))}, not {user}")
    name = f"data/{run_id}.parquet"
    path = fetch(api, repo_id, name, sha)
    if hashlib.sha256(path.read_bytes()).hexdigest() != record.get("parquet_sha256"):
        raise InputError(f"{repo_id}: {name} is not the file that was verified; tell a maintainer")
    columns = ("instance_id", "model_name_or_path", "setting", "track", "status", "core_status")
    types = {**dict.fromkeys(columns, "string"), "scope_size": "int64"}
    try:
        rows = read_parquet_rows(path, types, MAX_ROWS, MAX_TABLE_BYTES, MAX_TEXT_BYTES)
    except UnreadableError as error:
        raise InputError(f"{repo_id}: {name}: {error}") from error
    return rows, f"{api.endpoint}/datasets/{repo_id}/blob/{sha}/{record_path(run_id)}"


def submit_to_model(api: "HfApi", repo_id: str, content: str, benchmark: str) -> Committed:
    """Open the pull request that gives a model repository its results, or return the open one.

    Args:
        content: content of the file in `.eval_results`.
        benchmark: name of the benchmark, for the title and, in lower case, for the file.

    Raises:
        InputError: this user has an open pull request with other scores; or see
            `lmrbench_data.base.hub_session.hub_errors`.
        LostAnswerError: see `lmrbench_data.base.hub_session.hub_errors`.
    """
    # The values without their source: the results dataset gets new commits all the time.
    values = [{**entry, "source": None} for entry in yaml.safe_load(content)]
    digest = hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()
    start = f"{benchmark} results ["
    title = f"{start}{digest[:16]}]"
    with hub_errors(repo_id):
        user = api.whoami()["name"]
        opened = api.get_repo_discussions(
            repo_id, repo_type="model", discussion_type="pull_request", discussion_status="open", author=user
        )
        for item in opened:
            if item.title.startswith(start) and item.title != title:
                raise InputError(
                    f"{repo_id}: PR {item.num} has other scores for the same file; close or merge it first"
                )
    return commit_once(
        api,
        repo_id,
        lambda: additions({f".eval_results/{benchmark.lower()}.yaml": content.encode()}),
        title=title,
        description="Opened by `lmrbench submit --model-repo`: scores of a run that a maintainer has repeated.",
        create_pr=True,
        repo_type="model",
    )
