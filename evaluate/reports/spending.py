"""What answers took, as far as the `metadata` of predictions says: US dollars, tokens, seconds; what a success cost."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..levels import Level, reaches
from ..predictions import PredictionFile, PredictionKey

#: What is read, and the names that it goes by; the first that holds a number counts.
NAMES = {
    "cost_usd": ("cost_usd", "cost"),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "duration_s": ("duration_s", "latency_s"),
}
#: A larger number than any answer took was not meant.
MAX = 1e12


@dataclass
class Spending:
    """Sums over answers, how many of them name each number, and how many of these are a success."""

    sums: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    successes: Counter[tuple[str, Level]] = field(default_factory=Counter)
    """By number and level: answers that name the number and reached the level."""

    def add(self, found: Mapping[str, float], outcome: str) -> None:
        """Count one answer, with what became of it."""
        for name, number in found.items():
            self.sums[name] += number  # type: ignore[assignment]
            self.answers[name] += 1
            self.successes.update((name, level) for level in Level if reaches(outcome, level))

    def mean(self, name: str) -> float | None:
        """Of one answer; None if none names it."""
        return self.sums[name] / self.answers[name] if self.answers[name] else None

    def per_success(self, name: str, level: Level) -> float | None:
        """For one instance at a level: the sum of all answers that name it by those of them that reached the level.

        With several samples it is that of an average pass over the instances. None if there is no success.
        """
        successes = self.successes[name, level]
        return self.sums[name] / successes if successes else None

    def as_dict(self) -> dict[str, Any]:
        """For report.json."""
        return {name: self._number_dict(name) for name in NAMES if self.answers[name]}

    def _number_dict(self, name: str) -> dict[str, Any]:
        per = {f"per_{level}": self.per_success(name, level) for level in Level}
        rounded = {key: None if value is None else round(value, 6) for key, value in per.items()}
        return {"sum": round(self.sums[name], 6), "answers": self.answers[name], **rounded}


def read_numbers(metadata: Any) -> dict[str, float]:
    """What one answer took, of the names in `NAMES`; they may stand under `usage`, as model servers have it."""
    if not isinstance(metadata, Mapping):
        return {}
    usage = metadata.get("usage")
    places = [metadata, usage] if isinstance(usage, Mapping) else [metadata]
    found = {}
    for name, aliases in NAMES.items():
        values = (place.get(alias) for place in places for alias in aliases)
        number = next((value for value in values if _is_amount(value)), None)
        if number is not None:
            found[name] = float(number)
    return found


def in_words(found: Mapping[str, float]) -> str:
    """What one answer took, on a line; empty if nothing is known."""
    forms = {
        "cost_usd": "{:.4f} US dollars",
        "input_tokens": "{:,.0f} tokens in",
        "output_tokens": "{:,.0f} tokens out",
        "duration_s": "{:,.1f} s",
    }
    return " · ".join(forms[name].format(found[name]) for name in NAMES if name in found)


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX


def read_spending(run: Path) -> dict[PredictionKey, dict[str, float]]:
    """What each answer of a run took; those that say nothing are not there.

    Raises:
        InputError: predictions.jsonl is damaged.
    """
    file = PredictionFile(run / "predictions.jsonl")
    if not file.path.is_file():
        return {}
    return {item.key: found for item in file if (found := read_numbers(item.metadata))}
