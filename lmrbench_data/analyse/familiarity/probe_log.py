"""probes.jsonl of a folder: append-only, one row for each score or continuation, with its cost."""

from typing import Any, ClassVar

from ...base.jsonl import Ledger
from ...chat.budget import Spent

FILE = "probes.jsonl"
_NUMBER = int, float, type(None)


class ProbeLog(Ledger):
    """An open probes.jsonl; use `ProbeLog.open` as a context manager."""

    KEYS: ClassVar = {
        **dict.fromkeys(("what", "instance_id", "model", "base_url", "way", "kind", "name", "text_sha256"), str),
        "tokens": int,
        **dict.fromkeys(("mean_logprob", "mean_probability", "min_k", "run", "control_run"), _NUMBER),
    }
    FIX = "remove that line"

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[dict[str, Any]] = []

    def count(self, row: dict[str, Any]) -> None:
        """Keep a row."""
        self.rows.append(row)

    def spent(self, model: str) -> Spent:
        """Return the tokens and costs of a model's rows; rows of earlier versions do not record them."""
        spent = Spent()
        for row in (row for row in self.rows if row["model"] == model):
            spent.count_facts(row)
        return spent
