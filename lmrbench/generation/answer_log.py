"""The file of predictions that sampling and agents append to, and the summary of a call."""

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
from lmrbench_evaluate.predictions.prediction import AnswerKey, too_large
from lmrbench_evaluate.runs.folder import PREDICTIONS, RunFolder


@dataclass
class AnswerSummary(JobSummary):
    """The outcome of asking for answers; `cost_usd` is None only if there is no price."""

    input_tokens: int = 0
    output_tokens: int = 0
    unknown_costs: int = 0
    """Rows of the file whose cost is unknown, and requests of this call that may be billed but gave no answer."""

    def close(self, budget: Budget) -> None:
        """Note the amount spent as well."""
        super().close(budget)
        self.cost_usd = None if budget.price is None else budget.spent

    @property
    def cost(self) -> str:
        """The amount spent, for a table."""
        if self.cost_usd is None or (self.unknown_costs and not self.cost_usd):
            return "unknown"
        unknown = (
            f", and {plural(self.unknown_costs, 'request')} of unknown cost"
            if self.unknown_costs
            else ""
        )
        return f"{self.cost_usd:.4f} USD{unknown}"


def model_name(name: str, argument: str = "name") -> str:
    """Return the name of a model as rows record it; ArgumentError if it is not valid."""
    try:
        return clean_name(name)
    except ValueError as error:
        raise ArgumentError(argument, f"{name!r} {error}") from None


class AnswerLog(Ledger):
    """An open file of predictions; use `AnswerLog.open` as a context manager."""

    KEYS: ClassVar = {"instance_id": str, "model_name_or_path": str}
    FIX = "remove that line, or use another file"

    def __init__(self) -> None:
        super().__init__()
        self.keys: dict[AnswerKey, dict[str, Any]] = {}
        """The rows of the file, with their metadata."""
        self.spent: defaultdict[str, Spent] = defaultdict(Spent)
        """The tokens and costs that rows record, by model."""
        self._requests: dict[tuple[str, ...], dict[str, Any]] = {}
        """The settings that the first row of each model, setting and track records."""

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[Self]:
        """Create or resume a file, as every ledger; ArgumentError if it belongs to a run."""
        if path.name == PREDICTIONS and RunFolder(path.parent).exists:
            raise ArgumentError(
                "out", f"{path.parent}: holds the run of an evaluation; choose another place"
            )
        with super().open(path) as log:
            yield log

    def budget(self, settings: JobSettings, name: str) -> Budget:
        """Return the budget of this file for a model of this name; the costs of all its rows count."""
        spent = sum(spent.cost_usd for spent in self.spent.values())
        return Budget(settings.max_cost, settings.price(), spent, self.spent[name].unknown)

    @property
    def unknown_costs(self) -> int:
        """The number of rows whose cost is unknown."""
        return sum(spent.unknown for spent in self.spent.values())

    def check_request(self, names: tuple[str, str, str], request: Mapping[str, Any]) -> None:
        """Check that the answers of this model, setting and track were asked for with the same settings.

        Raises:
            ArgumentError: they were not; the message names the settings that differ.
        """
        earlier = {"body": {}, **self._requests.get(_base(*names), request)}
        pairs = [(key, value, request.get(key)) for key, value in earlier.items()]
        if changes := [
            f"{key} was {before}, is {now}" for key, before, now in pairs if before != now
        ]:
            raise ArgumentError(
                "out",
                f"{self.path} holds answers of {names[0]!r} for other settings ({'; '.join(changes)}); "
                "repeat those settings, or choose another file",
            )

    def replace(self, rows: Sequence[dict[str, Any]]) -> None:
        """Replace rows with the same keys, all or none; the log is closed afterwards."""
        keys = {AnswerKey.of(row).row for row in rows}
        self.rewrite(
            [*(row for row in self.read(self.path) if AnswerKey.of(row).row not in keys), *rows]
        )

    def write(self, row: dict[str, Any]) -> None:
        """Append a row; a reply above the limit of answers becomes a problem: nobody could read or evaluate it."""
        if problem := too_large("function", row.get("function", "")):
            row = {**row, "function": "", "problem": problem}
        super().write(row)

    def count(self, row: dict[str, Any]) -> None:
        """Note the key and the costs of a row."""
        metadata = row["metadata"] if isinstance(row.get("metadata"), dict) else {}
        key = AnswerKey.of(row).row
        self.keys[key] = metadata
        self.spent[row["model_name_or_path"]].count(metadata)
        if isinstance(request := metadata.get("request"), dict):
            self._requests.setdefault(_base(*key[1:4]), request)


def _base(model: str, setting: str, track: str) -> tuple[str, str, str]:
    """Return the names of answers that are compared: those of one setting, whatever form of the paper it names."""
    return model, setting.partition(",")[0], track
