"""The file of predictions that sampling and agents append to, and the summary of a call."""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.jsonl import Ledger
from lmrbench_data.base.names import clean_name
from lmrbench_data.base.text import plural
from lmrbench_data.chat.budget import Budget, Spent
from lmrbench_data.chat.endpoint import JobSettings
from lmrbench_data.chat.jobs import JobSummary
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_evaluate.predictions.prediction import AnswerKey, too_large
from lmrbench_evaluate.runs.folder import PREDICTIONS, RunFolder

Names = tuple[str, str, str]
"""The model, setting and track of answers."""
Missing = tuple[DatasetRow, AnswerKey]
"""An answer that a file lacks."""


@dataclass
class AnswerSummary(JobSummary):
    """The outcome of asking for answers; `cost_usd` is None only if there is no price."""

    input_tokens: int = 0
    output_tokens: int = 0
    unknown_costs: int = 0
    """Rows of the file whose cost is unknown, and requests of this call that may be billed but
    gave no answer."""

    def count(self, row: Mapping[str, Any]) -> None:
        """Count the tokens of a row that is written."""
        self.input_tokens += row["metadata"]["input_tokens"] or 0
        self.output_tokens += row["metadata"]["output_tokens"] or 0

    def close(self, budget: Budget) -> None:
        """Note the amount spent as well."""
        super().close(budget)
        self.cost_usd = None if budget.price is None else budget.spent

    @property
    def cost(self) -> str:
        """The amount spent, for a table."""
        if self.cost_usd is None or (self.unknown_costs and not self.cost_usd):
            return "unknown"
        cost = f"{self.cost_usd:.4f} USD"
        if self.unknown_costs:
            cost += f", and {plural(self.unknown_costs, 'request')} of unknown cost"
        return cost


def model_name(name: str, argument: str = "name") -> str:
    """Return the name of a model as rows record it; ArgumentError if it is not valid."""
    try:
        return clean_name(name)
    except ValueError as error:
        raise ArgumentError(argument, f"{name!r} {error}") from None


class AnswerLog(Ledger):
    """An open file of predictions; use `AnswerLog.open` as a context manager."""

    KEYS: ClassVar = {
        "instance_id": str,
        "model_name_or_path": str,
        "setting": str | None,
        "track": str | None,
        "sample": int | None,
    }
    FIX = "remove that line, or use another file"

    def __init__(self) -> None:
        super().__init__()
        self.keys: dict[AnswerKey, dict[str, Any]] = {}
        """The rows of the file, with their metadata."""
        self.spent: defaultdict[str, Spent] = defaultdict(Spent)
        """The tokens and costs that rows record, by model."""
        self._requests: dict[Names, dict[str, Any]] = {}
        """The settings that the first row of each model, setting and track records."""

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Self]:
        """Create or resume a file, as every ledger; ArgumentError if it belongs to a run."""
        if path.name == PREDICTIONS and RunFolder(path.parent).exists:
            problem = f"{path.parent}: holds the run of an evaluation; choose another place"
            raise ArgumentError("out", problem)
        with super().open(path) as log:
            yield log

    def budget(self, settings: JobSettings, name: str) -> Budget:
        """Return the budget for a model of this name; the costs of all rows count."""
        cost_usd = sum(spent.cost_usd for spent in self.spent.values())
        return Budget(settings.max_cost, settings.price(), cost_usd, self.spent[name].unknown)

    @property
    def unknown_costs(self) -> int:
        """The number of rows whose cost is unknown."""
        return sum(spent.unknown for spent in self.spent.values())

    def missing(self, rows: Sequence[DatasetRow], samples: int, names: Names) -> list[Missing]:
        """Return the answers that the file lacks: the first samples of all instances first."""
        missing = []
        for sample, row in itertools.product(range(samples), rows):
            key = AnswerKey(row["instance_id"], *names, sample)
            if key not in self.keys:
                missing.append((row, key))
        return missing

    def check_request(self, names: Names, request: Mapping[str, Any]) -> None:
        """Check that earlier answers of this model, setting and track had the same settings.

        Raises:
            ArgumentError: they had others; the message names those that differ.
        """
        earlier = self._requests.get(_base(names))
        if earlier is None:
            return
        changes = []
        # Files of earlier versions record no body: none was sent.
        for name, before in {"body": {}, **earlier}.items():
            now = request.get(name)
            if before != now:
                changes.append(f"{name} was {before}, is {now}")
        if changes:
            where = f"{self.path} holds answers of {names[0]!r} for other settings"
            fix = "repeat those settings, or choose another file"
            raise ArgumentError("out", f"{where} ({'; '.join(changes)}); {fix}")

    def replace(self, rows: Sequence[dict[str, Any]]) -> None:
        """Replace rows with the same keys, all or none; the log is closed afterwards."""
        replaced = {AnswerKey.of(row).row for row in rows}
        kept = [row for row in self.read(self.path) if AnswerKey.of(row).row not in replaced]
        self.rewrite([*kept, *rows])

    def write(self, row: dict[str, Any]) -> None:
        """Append a row; a reply that is too large to be evaluated becomes a problem."""
        problem = too_large("function", row.get("function", ""))
        if problem:
            row = {**row, "function": "", "problem": problem}
        super().write(row)

    def count(self, row: dict[str, Any]) -> None:
        """Note the key and the costs of a row."""
        metadata = row.get("metadata")
        if not isinstance(metadata, dict):
            metadata = {}
        key = AnswerKey.of(row).row
        self.keys[key] = metadata
        self.spent[key.model].count(metadata)
        request = metadata.get("request")
        if isinstance(request, dict):
            self._requests.setdefault(_base(names_of(key)), request)


def names_of(key: AnswerKey) -> Names:
    """Return the model, setting and track of an answer."""
    return key.model, key.setting, key.track


def _base(names: Names) -> Names:
    """Return the names of answers whose settings must agree, in any form of the paper."""
    model, setting, track = names
    return model, setting.partition(",")[0], track
