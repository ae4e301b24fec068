"""The file of predictions that sampling and agents append to, and the summary of a call."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from lmrbench_evaluate.predictions.prediction import UNSTATED, PredictionKey

from ..base.errors import ArgumentError
from ..base.jsonl import Ledger
from ..base.names import clean_name
from ..base.text import counted
from ..chat.budget import Budget, Spent
from ..chat.jobs import JobSummary
from ..chat.prices import Price

_COSTS = ("input_tokens", "output_tokens", "cost_usd")


@dataclass
class AnswerSummary(JobSummary):
    """The outcome of asking for answers; `cost_usd` is None only if there is no price."""

    input_tokens: int = 0
    output_tokens: int = 0
    unknown_costs: int = 0
    """Rows of the file whose cost is unknown."""

    def close(self, budget: Budget) -> None:
        """Note the amount spent as well."""
        super().close(budget)
        self.cost_usd = None if budget.price is None else budget.spent + budget.lost

    @property
    def cost(self) -> str:
        """The amount spent, for a table."""
        if self.cost_usd is None:
            return "unknown"
        known = f"{'at most ' if self.lost_usd else ''}{self.cost_usd:.4f} USD"
        return f"{known}, and {counted(self.unknown_costs, 'row')} of unknown cost" if self.unknown_costs else known


def model_name(name: str, model: str) -> str:
    """Return the model name to record: the name that the user gives, else the one that the server knows.

    Raises:
        ArgumentError: it is not a valid name.
    """
    try:
        return clean_name(name or model)
    except ValueError as error:
        raise ArgumentError("name", f"{name or model!r} {error}") from None


class AnswerLog(Ledger):
    """An open file of predictions; use `AnswerLog.open` as a context manager."""

    KEYS: ClassVar = {"instance_id": str, "model_name_or_path": str}
    FIX = "remove that line, or give another file"

    def __init__(self) -> None:
        super().__init__()
        self.keys: set[PredictionKey] = set()
        """The rows of the file."""
        self.taken: list[tuple[PredictionKey, dict[str, Any]]] = []
        """The tokens and costs that each row records."""

    def budget(self, limit: float | None, price: Price | None, name: str) -> Budget:
        """Return the budget of this file; the costs of its rows count.

        Args:
            limit: US dollars.
            price: of the model that is asked.
            name: its name in the rows.
        """
        own = self.spent(lambda key: key[1] == name)
        others = self.spent(lambda key: key[1] != name).known_cost
        return Budget(limit, price, (own.cost(price) or own.known_cost) + others, own.uncounted)

    def spent(self, wanted: Callable[[PredictionKey], bool]) -> Spent:
        """Return the tokens and costs of some of the rows."""
        spent = Spent()
        for key, facts in self.taken:
            if wanted(key):
                spent.count_facts(facts)
        return spent

    def unknown(self, name: str, price: Price | None) -> int:
        """Return the number of rows whose costs are unknown.

        Args:
            name, price: of the model whose rows that price holds for.
        """
        own, others = self.spent(lambda key: key[1] == name), self.spent(lambda key: key[1] != name)
        return own.uncounted + others.uncounted + others.unpriced_rows + (0 if price else own.unpriced_rows)

    def replace(self, rows: Sequence[dict[str, Any]]) -> None:
        """Replace rows with the same keys, all or none; the log is closed afterwards."""
        keys = set(map(row_key, rows))
        self.rewrite([*(row for row in self.read(self.path) if row_key(row) not in keys), *rows])

    def count(self, row: dict[str, Any]) -> None:
        """Note the key and the costs of a row."""
        key = row_key(row)
        self.keys.add(key)
        metadata = row.get("metadata")
        facts = metadata if isinstance(metadata, dict) else {}
        self.taken.append((key, {name: facts[name] for name in _COSTS if name in facts}))


def row_key(row: Mapping[str, Any]) -> PredictionKey:
    """Identity of a row of a file."""
    names = row["instance_id"], row["model_name_or_path"], row.get("setting") or "", row.get("track") or UNSTATED
    return (*names, row.get("sample") or 0)
