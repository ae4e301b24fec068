"""Read what a run folder holds: the facts of run.json, the rows of results.jsonl that count, and where logs are."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.jsonl import Line, parse_row, read_log, wrong_key
from lmrbench_data.base.names import PLAIN, child_path
from lmrbench_data.dataset.rows import ResultRow

from ..predictions.prediction import UNSTATED, PredictionFile, PredictionKey
from ..verdict.verdict import Status
from .eligibility import is_imported

#: What run.json and each row of results.jsonl always have, and what that is.
_FACTS: dict[str, Any] = {
    "run_id": str,
    "dataset": str,
    "dataset_sha256": str,
    "benchmark_version": str,
    "harness_version": str,
    "sandbox": str,
    "official_sandbox": bool,
    "timeout_scale": (int, float),
    "fresh_seed_count": int,
    "scope": dict,
    "started_at": str,
}
_FIRST_ROW: dict[str, Any] = {
    "instance_id": str,
    "model_name_or_path": str,
    "setting": str,
    "sample": int,
    "prediction_sha256": str,
    "status": str,
    "detail": str,
    "cases": list,
}
_ROW: dict[str, Any] = {**_FIRST_ROW, "track": str, "core_status": str}
_CASE = {"name": str, "seed": int, "core": bool, "status": str, "detail": str}

Key = tuple[str, str, str, str, int, str]


def read_facts(path: Path) -> dict[str, Any]:
    """run.json of a run folder.

    Raises:
        InputError: missing or damaged.
    """
    stored = path / "run.json"
    try:
        facts = json.loads(stored.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"{path}: no run.json ({error.strerror}); give a folder that `lmrbench evaluate` has written"
        ) from error
    except (ValueError, RecursionError):
        facts = None
    wrong = wrong_key(facts, _FACTS)
    if wrong is None and not all(isinstance(category, str) for category in facts["scope"].values()):
        wrong = "scope"
    if wrong is not None:
        raise InputError(f"{stored}: damaged ({wrong}); move the folder away and evaluate again")
    return dict(facts)


def read_results(path: Path) -> Iterator[ResultRow]:
    """The rows of a run folder's results.jsonl that count, one for each prediction, in the order of the predictions.

    Of several rows on one prediction the last counts. Rows of predictions that are not (or no longer) in
    predictions.jsonl do not count. Without that file, and in an imported run, some of whose answers may not be known,
    all rows count, in the order in which they were written.

    Raises:
        InputError: no run folder there, or a damaged file.
    """
    are_known = not is_imported(read_facts(path))
    predictions, results = PredictionFile(path / "predictions.jsonl"), path / "results.jsonl"
    # A dict, because it keeps the order.
    is_whole = are_known and predictions.path.exists()
    wanted = dict.fromkeys((*item.key, item.sha256) for item in predictions) if is_whole else None
    last: dict[PredictionKey, int] = {}
    for line in result_lines(results):
        key = row_key(line.row)
        if wanted is None or key in wanted:
            last[key[:5]] = line.start
    if not last:
        return
    starts = sorted(last.values()) if wanted is None else [last[key[:5]] for key in wanted if key[:5] in last]
    with results.open("rb") as file:
        for start in starts:
            file.seek(start)
            row = _parse(file.readline())
            if row is None:
                raise InputError(f"{results}: changed while it was read; try again")
            yield cast(ResultRow, row)


def predictions_of(path: Path) -> PredictionFile:
    """The predictions that a folder keeps.

    Raises:
        InputError: it keeps none.
    """
    file = PredictionFile(path / "predictions.jsonl")
    if not file.path.is_file():
        if (path / "run.json").is_file() and is_imported(read_facts(path)):
            raise InputError(f"{path}: an imported run whose answers are not known: only its results were published")
        raise InputError(f"{path}: no predictions.jsonl; evaluate again to have it")
    return file


def row_key(row: Mapping[str, Any]) -> Key:
    """Which prediction a result row is about: its instance, model, setting, track, sample and hash."""
    names = row["instance_id"], row["model_name_or_path"], row["setting"], row["track"]
    return *names, row["sample"], row["prediction_sha256"]


def result_lines(path: Path) -> Iterator[Line]:
    """The rows of a results.jsonl in order, whether they count or not.

    Raises:
        InputError: a row before the last is malformed.
    """
    return read_log(path, _parse, "move the file away to evaluate again")


def _parse(line: bytes) -> dict[str, Any] | None:
    """A result row, None for anything else."""
    row = parse_row(line, _FIRST_ROW)
    if row is None or not all(isinstance(case, dict) for case in row["cases"]):
        return None
    # Rows of before there were levels and tracks: then every case counted.
    row = {"track": UNSTATED, "core_status": row["status"], **row}
    row["cases"] = [{"core": True, **case} for case in row["cases"]]
    if wrong_key(row, _ROW) is not None or any(wrong_key(case, _CASE) is not None for case in row["cases"]):
        return None
    if row["status"] == Status.PASSED and row["core_status"] != Status.PASSED:
        return None  # the core cases are some of all
    return row if {row["status"], row["core_status"]} <= set(Status) else None


def log_path(run: Path, instance_id: str, prediction_sha256: str) -> Path:
    """Where a run folder keeps what the code of an answer printed; there is no file if it printed nothing.

    Names that lead elsewhere, from rows or results of a stranger, are replaced by their hash.
    """
    return child_path(child_path(run / "logs", _plain(instance_id)), _plain(prediction_sha256)[:16], ".log")


def _plain(name: str) -> str:
    return name if PLAIN.fullmatch(name) else hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
