"""Give a model repository its scores: one value for each track and level, computed from the rows of a verified run.

The Hub shows them on the model's page, under the tasks that `cards/eval.yaml` registers. The judge's categories are not
among them: they are what a submitter says, and nobody repeats them.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import yaml

from ...errors import ArgumentError, InputError
from ...hub import Committed, additions, commit_once, hub_errors
from ...text import one_line
from ...untrusted import UnreadableError, read_parquet_rows
from ..predictions import TRACKS
from ..verdict import Status
from .claim import fetch
from .publication import record_path
from .published import PublishedDataset
from .records import read_records
from .submission import MAX_ROWS, MAX_TABLE_BYTES, MAX_TEXT_BYTES

if TYPE_CHECKING:
    from huggingface_hub import HfApi

#: How the title of the pull request begins.
TITLE = "LMR-Bench results"
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
        rows: of a run, as `verify` has published them.
        model: which model of the run; may be left out if there is one.

    Raises:
        ArgumentError: the run has no such model, or several and none was named.
    """
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


def verified_rows(api: "HfApi", repo_id: str, run_id: str, user: str) -> tuple[list[dict[str, Any]], str]:
    """The published rows of a verified run of this user, and the address of its record.

    Raises:
        InputError: the run is not verified, is another submitter's, or its rows are not those of the record.
        LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    with hub_errors(repo_id):
        sha = str(api.dataset_info(repo_id, revision="main").sha)
    record = read_records(api, repo_id, sha).get(run_id)
    if record is None:
        fix = f"submit it with --to {repo_id} alone, and call this again once it is"
        raise InputError(f"{repo_id}: run {run_id} is not verified, and scores are those of verified runs; {fix}")
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


def submit_to_model(api: "HfApi", repo_id: str, content: str) -> Committed:
    """Open the pull request that gives a model repository its results, or find the one that was opened before.

    Raises:
        InputError: a pull request of this user that gives it others is open; or see `lmrbench_data.hub.hub_errors`.
        LostAnswer: see `lmrbench_data.hub.hub_errors`.
    """
    # What is in it, not where it was read: the results dataset has a new commit every now and then.
    values = [{**entry, "source": None} for entry in yaml.safe_load(content)]
    digest = hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()
    title = f"{TITLE} [{digest[:16]}]"
    with hub_errors(repo_id):
        user = api.whoami()["name"]
        opened = api.get_repo_discussions(
            repo_id, repo_type="model", discussion_type="pull_request", discussion_status="open", author=user
        )
        for item in opened:
            if item.title.startswith(f"{TITLE} [") and item.title != title:
                raise InputError(
                    f"{repo_id}: PR {item.num} has other scores for the same file; close or merge it first"
                )
    return commit_once(
        api,
        repo_id,
        lambda: additions({EVAL_RESULTS: content.encode()}),
        title=title,
        description="Opened by `lmrbench submit --model-repo`: scores of a run that a maintainer has repeated.",
        create_pr=True,
        repo_type="model",
    )
