"""Sum cost, tokens and time of answers, as stated in the `metadata` of predictions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lmrbench_data.chat.budget import MAX_AMOUNT

from ..verdict.levels import Level, reaches


class Number(NamedTuple):
    """A number that answers may state."""

    names: tuple[str, ...]
    """Its names in `metadata`; the first with a valid number counts."""
    title: str
    form: str

    def show(self, value: float | None) -> str:
        """Print a value without its unit; a dash for None."""
        return "-" if value is None else self.form.format(value)


NAMES = {
    "cost_usd": Number(("cost_usd", "cost"), "US dollars", "{:.4f}"),
    "input_tokens": Number(("input_tokens", "prompt_tokens"), "tokens in", "{:,.0f}"),
    "output_tokens": Number(("output_tokens", "completion_tokens"), "tokens out", "{:,.0f}"),
    "duration_s": Number(("duration_s", "latency_s"), "seconds", "{:,.1f}"),
    "cpu_s": Number(("cpu_s",), "CPU seconds", "{:,.1f}"),
}


@dataclass
class Spending:
    """Sums over answers, and the numbers of answers and of successes that state each number."""

    sums: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    successes: Counter[tuple[str, Level]] = field(default_factory=Counter)
    """(number, level) → answers that state the number and reached the level."""
    cut: int = 0
    """Answers whose reply was cut at the token limit."""

    def add(self, amounts: Mapping[str, float], outcome: str, *, cut: bool) -> None:
        """Add one answer with its outcome."""
        self.cut += cut
        for name, number in amounts.items():
            self.sums[name] += number  # type: ignore[assignment]
            self.answers[name] += 1
            self.successes.update((name, level) for level in Level if reaches(outcome, level))

    def mean(self, name: str) -> float | None:
        """Return the mean of a number over answers; None if no answer states it."""
        return self.sums[name] / self.answers[name] if self.answers[name] else None

    def per_success(self, name: str, level: Level) -> float | None:
        """Return the sum of a number over all answers, divided by those that reached the level.

        With several samples it is that of an average pass over the instances. It is None without a
        success.
        """
        successes = self.successes[name, level]
        return self.sums[name] / successes if successes else None

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for report.json."""
        return {name: self._number_dict(name) for name in NAMES if self.answers[name]}

    def _number_dict(self, name: str) -> dict[str, Any]:
        per = {f"per_{level}": self.per_success(name, level) for level in Level}
        rounded = {key: None if value is None else round(value, 6) for key, value in per.items()}
        return {"sum": round(self.sums[name], 6), "answers": self.answers[name], **rounded}


def read_numbers(metadata: Any) -> dict[str, float]:
    """Read the numbers of one answer by `NAMES`; they may be under `usage`, as in replies."""
    if not isinstance(metadata, Mapping):
        return {}
    usage = metadata.get("usage")
    places: list[Mapping[str, Any]] = (
        [metadata, usage] if isinstance(usage, Mapping) else [metadata]
    )
    stated = {name: _first_amount(places, number) for name, number in NAMES.items()}
    return {name: amount for name, amount in stated.items() if amount is not None}


def _first_amount(places: Sequence[Mapping[str, Any]], number: Number) -> float | None:
    for place in places:
        for name in number.names:
            if _is_amount(place.get(name)):
                return float(place[name])
    return None


def in_words(amounts: Mapping[str, float]) -> str:
    """Print the numbers of one answer on a line; empty without any."""
    shown = [name for name in NAMES if name in amounts]
    return " · ".join(f"{NAMES[name].show(amounts[name])} {NAMES[name].title}" for name in shown)


def _is_amount(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < MAX_AMOUNT
