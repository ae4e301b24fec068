"""calibrations.json of a run folder: the rated answers behind each calibration, never its numbers."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.jsonl import wrong_key

from ..judge.category import BEST_FIRST
from ..judge.judgement_log import judges
from ..judge.question_log import Judge
from .calibration import OR, Calibration, Rated, judge_dict

FILE = "calibrations.json"
_KEYS: dict[str, Any] = {
    "judge_model": str,
    "prompt_version": str,
    "base_url": str,
    "source": str,
    "measured_at": str,
    "left_out": dict,
    "rated": list,
}


def keep(calibration: Calibration, run: Path) -> None:
    """Save a calibration in a folder, in place of an older one of the same judge on the same source.

    Raises:
        InputError: the folder's calibrations are damaged.
    """
    same = calibration.judge, calibration.source
    found = [item for item in read_calibrations(run) if (item.judge, item.source) != same] + [calibration]
    entries = [
        {
            **judge_dict(item.judge),
            "source": item.source,
            "measured_at": item.measured_at,
            "left_out": dict(item.left_out),
            "rated": [asdict(rated) for rated in item.rated],
        }
        for item in found
    ]
    write_atomically(run / FILE, json.dumps(entries, indent=1) + "\n")


def read_calibrations(run: Path) -> list[Calibration]:
    """Return the calibrations in a folder, of all judges.

    Raises:
        InputError: the file is damaged.
    """
    path = run / FILE
    if not path.is_file():
        return []
    try:
        return [_read(entry) for entry in json.loads(path.read_text(encoding="utf-8"))]
    except (ValueError, TypeError, RecursionError):
        raise InputError(f"{path}: damaged; remove it and calibrate again") from None


def calibrations_of(runs: Sequence[Path], model: str | None = None) -> list[Calibration]:
    """Return the calibrations of the judges that `judge_of` names, the newest of each judge and source."""
    newest: dict[tuple[Judge, str], Calibration] = {}
    for run in runs:
        judge = judge_of(run, model)
        for item in (item for item in read_calibrations(run) if item.judge == judge):
            known = newest.setdefault((item.judge, item.source), item)
            newest[item.judge, item.source] = max(known, item, key=lambda one: one.measured_at)
    return sorted(newest.values(), key=lambda item: (item.judge, item.source))


def judge_of(run: Path, model: str | None = None) -> Judge | None:
    """Return the judge that a report shows for a run: the last one, or the last one of that model."""
    return next((judge for judge in reversed(judges(run)) if model in (None, judge.model)), None)


def _read(entry: Any) -> Calibration:
    if wrong_key(entry, _KEYS) or not all(type(count) is int for count in entry["left_out"].values()):
        raise ValueError
    rated = [Rated(**item) for item in entry["rated"]]
    for item in rated:
        texts, numbers = (item.instance_id, item.group), (item.length, item.similarity)
        if not all(isinstance(text, str) for text in texts) or not all(math.isfinite(number) for number in numbers):
            raise ValueError
        if not set(item.expected.split(OR)) <= set(BEST_FIRST) or item.given not in BEST_FIRST:
            raise ValueError
    judge = Judge(entry["judge_model"], entry["prompt_version"], entry["base_url"])
    return Calibration(judge, entry["source"], entry["measured_at"], entry["left_out"], rated)
