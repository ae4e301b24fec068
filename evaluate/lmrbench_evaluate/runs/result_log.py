"""results.jsonl of a run folder: one row per verdict, written at once.

A row counts for the prediction with its key and hash; of several rows (an infra error that was
tried again) the last one counts. Rows of predictions that the run no longer has stay: predictions
from a wrong file must not cost the results of the right ones.
"""

from typing import Any

from lmrbench_data.base.jsonl import Ledger, parse_row, wrong_key
from lmrbench_data.dataset.result_rows import CaseRow, ChoiceRow, PartRow

from ..predictions.prediction import AnswerKey
from ..verdict.verdict import Status

#: The keys of each row, and the type of each.
_ROW: dict[str, Any] = {
    **dict.fromkeys(("instance_id", "model_name_or_path", "setting", "track"), str),
    **dict.fromkeys(("prediction_sha256", "status", "core_status", "detail"), str),
    "sample": int,
    "cases": list,
}
#: Keys of rows of methods; rows of single functions lack them.
METHOD_KEYS = ("functions", "experiments")
#: The keys of the items of each list in a row.
_LISTS: dict[str, dict[str, Any]] = {
    "cases": CaseRow.__annotations__,
    "choices": ChoiceRow.__annotations__,
    **dict.fromkeys(METHOD_KEYS, PartRow.__annotations__),
}


class ResultLog(Ledger):
    """An open results.jsonl; use `ResultLog.open` as a context manager."""

    FIX = "move the file away to evaluate again"

    def __init__(self) -> None:
        super().__init__()
        self.statuses: dict[AnswerKey, Status] = {}
        """The status of each result that counts."""

    def count(self, row: dict[str, Any]) -> None:
        """Note the status of a row."""
        self.statuses[AnswerKey.of(row)] = Status(row["status"])

    @classmethod
    def parse(cls, line: bytes) -> dict[str, Any] | None:
        """Read a line; None if it is not a result."""
        row = parse_row(line, _ROW)
        if row is None or not {row["status"], row["core_status"]} <= set(Status):
            return None
        if row["status"] == Status.PASSED and row["core_status"] != Status.PASSED:
            return None  # the core cases are among all cases
        for name, keys in _LISTS.items():
            items = row.get(name, [])
            if not isinstance(items, list) or any(wrong_key(item, keys) for item in items):
                return None
        return row
