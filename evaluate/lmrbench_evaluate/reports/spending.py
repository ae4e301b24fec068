"""Sum cost, tokens and time of answers from the `metadata` of predictions, and the cost of a success."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..predictions.prediction import AnswerKey
from ..runs.folder import RunFolder
from ..verdict.levels import Level, reaches

#: Number → its names in `metadata`; the first name with a valid number counts.
NAMES = {
    "cost_usd": ("cost_usd", "cost"),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "duration_s": ("duration_s", "latency_s"),
    "cpu_s": ("cpu_s",),
}
#: Numbers whose means over reproduced answers alone are shown.
OF_SUCCESS = ("cost_usd", "cpu_s")
#: Larger numbers are ignored as mistakes.
MAX = 1e12


@dataclass
class Spending:
    """Sums over answers, the number of answers that state each number, and the successes among them."""

    sums: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    successes: Counter[tuple[str, Level]] = field(default_factory=Counter)
    """(number, level) → answers that state the number and reached the level."""
    cut: int = 0
    """Answers whose reply was cut at the token limit."""
    reproduced: Counter[str] = field(default_factory=Counter)
    """Sums over the answers that reproduced."""

    def add(self, amounts: Mapping[str, float], outcome: str) -> None:
        """Add one answer with its outcome."""
        for name, number in amounts.items():
            self.sums[name] += number  # type: ignore[assignment]
            self.answers[name] += 1
            self.successes.update((name, level) for level in Level if reaches(outcome, level))
            if reaches(outcome, Level.REPRODUCED):
                self.reproduced[name] += number  # type: ignore[assignment]

    def mean(self, name: str) -> float | None:
        """Return the mean of a number over answers; None if no answer states it."""
        return self.sums[name] / self.answers[name] if self.answers[name] else None

    def per_success(self, name: str, level: Level) -> float | None:
        """Return a number per success: its sum over all answers divided by the answers that reached the level.

        With several samples it is that of an average pass over the instances. None without a success.
        """
        successes = self.successes[name, level]
        return self.sums[name] / successes if successes else None

    def of_success(self, name: str) -> float | None:
        """Return the mean of a number over the answers that reproduced; None without any."""
        successes = self.successes[name, Level.REPRODUCED]
        return self.reproduced[name] / successes if successes else None

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for report.json."""
        return {name: self._number_dict(name) for name in NAMES if self.answers[name]}

    def _number_dict(self, name: str) -> dict[str, Any]:
        per = {f"per_{level}": self.per_success(name, level) for level in Level}
        if name in OF_SUCCESS:
            per["of_reproduced"] = self.of_success(name)
        rounded = {key: None if value is None else round(value, 6) for key, value in per.items()}
        return {"sum": round(self.sums[name], 6), "answers": self.answers[name], **rounded}


def read_numbers(metadata: Any) -> dict[str, float]:
    """Read the numbers of one answer by `NAMES`; they may be nested under `usage`, as in replies of servers."""
    if not isinstance(metadata, Mapping):
        return {}
    usage = metadata.get("usage")
    places = [metadata, usage] if isinstance(usage, Mapping) else [metadata]
    amounts = {}
    for name, aliases in NAMES.items():
        values = (place.get(alias) for place in places for alias in aliases)
        number = next((value for value in values if _is_amount(value)), None)
        if number is not None:
            amounts[name] = float(number)
    return amounts


def was_cut(metadata: Any) -> bool:
    """Return whether the server cut the reply of an answer at the token limit."""
    return isinstance(metadata, Mapping) and metadata.get("finish_reason") == "length"


def in_words(amounts: Mapping[str, float]) -> str:
    """Print the numbers of one answer on a line; empty without any."""
    forms = {
        "cost_usd": "{:.4f} US dollars",
        "input_tokens": "{:,.0f} tokens in",
        "output_tokens": "{:,.0f} tokens out",
        "duration_s": "{:,.1f} s",
        "cpu_s": "{:,.1f} CPU s",
    }
    return " · ".join(forms[name].format(amounts[name]) for name in NAMES if name in amounts)


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX


def read_spending(run: RunFolder) -> dict[AnswerKey, dict[str, float]]:
    """Read the numbers of each answer of a run; answers without any are left out."""
    return {item.key.row: amounts for item in run.predictions if (amounts := read_numbers(item.metadata))}
