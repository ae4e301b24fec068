"""One run's Parquet file, reduced to what the leaderboard shows.

It is read in a child process and checked for its shape only: the right columns, sane sizes, one row per prediction.
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from base.limited_reader import Reader, UnreadableError
from base.ranking import RANKED_BY

VERSION = re.compile(r"\d{1,6}\.\d{1,6}\.\d{1,6}")
CONFIG = re.compile(r"[a-z]{1,40}")
STATUSES = ("passed", "failed", "error", "timeout", "oom", "malformed", "infra_error")
#: The judge's categories: completely correct, logic correct with subtle errors, incorrect logic.
JUDGED = ("CC", "LC", "LI")

MAX_ROWS = 50_000
MAX_TABLE_BYTES = 256 * 1024 * 1024
MAX_TEXT_BYTES = 1000
MAX_INSTANCES = 1_000
MAX_ENTRIES = 100
MAX_SAMPLES = 1_000
MAX_CHOICES = 100

_TEXT, _NUMBER = "string", "int64"
#: Columns that are read, with their Arrow types; the large ones, `cases` and `detail`, are not.
COLUMNS = {
    **dict.fromkeys(("run_id", "instance_id", "category", "paper_title", "paper_url"), _TEXT),
    **dict.fromkeys(("model_name_or_path", "setting", "track"), _TEXT),
    "sample": _NUMBER,
    **dict.fromkeys(("prediction_sha256", "status", "core_status", "first_failure"), _TEXT),
    **dict.fromkeys(("memorised", "core_memorised"), "bool"),
    **dict.fromkeys(("claimed_judge_category", "claimed_judge_model"), _TEXT),
    "claimed_cost_usd": "double",
    **dict.fromkeys(("choices_counted", "choices_stated"), _NUMBER),
    "choices_chance": "double",
    **dict.fromkeys(("dataset", "config", "dataset_sha256", "benchmark_version", "submitted_by"), _TEXT),
    "scope_size": _NUMBER,
}
_MAY_BE_NULL = {"setting", "first_failure", "claimed_judge_category", "claimed_judge_model", "claimed_cost_usd"}
_ONE_VALUE = ("run_id", "dataset", "config", "dataset_sha256", "benchmark_version", "submitted_by", "scope_size")


class Damaged(Exception):
    """A run cannot be shown; the message gives the reason and repeats no text of the file."""


class Paper(NamedTuple):
    """The paper of an instance; the address is http(s) or empty."""

    title: str = ""
    url: str = ""


@dataclass(frozen=True)
class Instance:
    """The results of one model on one instance.

    Attributes:
        statuses: number of samples by status; `passed` is robust.
        core: the same for the core cases alone; `passed` is reproduced.
        judged: number of samples by the category of the submitter's judge: a claim, which nobody has repeated.
        costs: US dollars, for the samples that state a cost: a claim as well.
        memorised: number of samples that passed on the published seeds only, at either level.
        choices: for each sample, its altered and open choices, those as the paper has them, and what guessing gets.
        first_failure: the case that decided the first sample that is not robust, with its difference; or empty.
    """

    category: str
    paper: Paper
    statuses: Counter[str] = field(default_factory=Counter)
    core: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    costs: list[float] = field(default_factory=list)
    memorised: int = 0
    choices: list[tuple[int, int, float]] = field(default_factory=list)
    first_failure: str = ""


@dataclass(frozen=True)
class SubmittedModel:
    """One model in one setting and track of a run.

    Attributes:
        samples: number of samples of the instance that has the most; every instance counts as many.
        instances: instance id → outcome, answered instances only.
        fingerprint: equal for equal predictions, whatever their names.
    """

    model: str
    setting: str
    track: str
    samples: int
    instances: dict[str, Instance]
    judges: tuple[str, ...]
    fingerprint: str = ""


@dataclass(frozen=True)
class SubmittedRun:
    """A run whose file could be read.

    Attributes:
        config: configuration of the dataset, such as `function` or `method`.
        scope_size: number of instances that the run was evaluated on, answered or not.
    """

    run_id: str
    version: str
    dataset: str
    config: str
    dataset_sha256: str
    submitted_by: str
    scope_size: int
    entries: tuple[SubmittedModel, ...]


def read_run(path: Path, run_id: str, reader: Reader) -> SubmittedRun:
    """Read `data/<run_id>.parquet`.

    Raises:
        Damaged: the file is not a valid run.
    """
    try:
        limits = {"max_rows": MAX_ROWS, "max_bytes": MAX_TABLE_BYTES, "max_text": MAX_TEXT_BYTES}
        found = list(reader.parquet_rows(path, COLUMNS, **limits))
    except UnreadableError as error:
        raise Damaged(str(error)) from error
    if not found:
        raise Damaged("no rows")
    for name in COLUMNS:
        values = {row[name] for row in found}
        if name not in _MAY_BE_NULL and None in values:
            raise Damaged(f"{name} is missing in a row")
        if name in _ONE_VALUE and len(values) != 1:
            raise Damaged(f"{name} is not the same in all rows")
    shared = {name: found[0][name] for name in _ONE_VALUE}
    if shared["run_id"] != run_id:
        raise Damaged("its rows name another run")
    if not CONFIG.fullmatch(shared["config"]):
        raise Damaged("config is not a plain name")
    if not VERSION.fullmatch(shared["benchmark_version"]):
        raise Damaged("benchmark_version is not of the form 1.2.3")
    rows: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in found:
        rows.setdefault((row["model_name_or_path"], row["setting"] or "", row["track"]), []).append(row)
    if len(rows) > MAX_ENTRIES:
        raise Damaged(f"more than {MAX_ENTRIES} models, settings and tracks")
    entries = tuple(_entry(*key, group, shared["scope_size"]) for key, group in sorted(rows.items()))
    return SubmittedRun(
        run_id,
        shared["benchmark_version"],
        shared["dataset"],
        shared["config"],
        shared["dataset_sha256"],
        shared["submitted_by"],
        shared["scope_size"],
        entries,
    )


def _entry(model: str, setting: str, track: str, rows: Sequence[dict[str, Any]], scope_size: int) -> SubmittedModel:
    if track not in RANKED_BY:
        raise Damaged("unknown track")
    instances: dict[str, Instance] = {}
    seen = set()
    for row in rows:
        name, judged = row["instance_id"], row["claimed_judge_category"]
        status, core = row["status"], row["core_status"]
        if not {status, core} <= set(STATUSES) or judged not in (None, *JUDGED):
            raise Damaged("unknown status or judge category")
        if status == "passed" != core:
            raise Damaged("an answer is robust but not reproduced")
        if (name, row["sample"]) in seen:
            raise Damaged("a row occurs twice")
        seen.add((name, row["sample"]))
        url = row["paper_url"] if row["paper_url"].startswith(("https://", "http://")) else ""
        instance = instances.setdefault(name, Instance(row["category"], Paper(row["paper_title"], url)))
        if instance.category != row["category"]:
            raise Damaged("an instance has two categories")
        if (row["memorised"] and status == "passed") or (row["core_memorised"] and core == "passed"):
            raise Damaged("a memorised answer counts as passed")
        if row["memorised"] or row["core_memorised"]:
            instances[name] = instance = replace(instance, memorised=instance.memorised + 1)
        if status != "passed" and row["first_failure"] and not instance.first_failure:
            instances[name] = instance = replace(instance, first_failure=row["first_failure"])
        instance.statuses[status] += 1
        instance.core[core] += 1
        if (cost := row["claimed_cost_usd"]) is not None and math.isfinite(cost) and cost >= 0:
            instance.costs.append(cost)
        if judged:
            instance.judged[judged] += 1
        choices = row["choices_counted"], row["choices_stated"], row["choices_chance"]
        if not 0 <= choices[1] <= choices[0] <= MAX_CHOICES or not 0 <= choices[2] <= choices[0]:
            raise Damaged("the numbers of choices do not fit")
        instance.choices.append(choices)
    samples = max(instance.statuses.total() for instance in instances.values())
    if not len(instances) <= scope_size <= MAX_INSTANCES or samples > MAX_SAMPLES:
        raise Damaged("scope_size does not fit the rows")
    judges = sorted({row["claimed_judge_model"] or "" for row in rows if row["claimed_judge_category"]} - {""})
    answers = sorted(f"{row['instance_id']}\n{row['prediction_sha256']}" for row in rows)
    fingerprint = hashlib.sha256("\n".join(answers).encode("utf-8", "surrogatepass")).hexdigest()
    return SubmittedModel(model, setting, track, samples, instances, tuple(judges), fingerprint)
