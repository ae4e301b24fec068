"""Progress of long work on stderr: a bar with the time left in a terminal, a line from time to time elsewhere."""

import contextlib
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ..base.progress import Progress
from .output import say

#: Seconds between two lines about a long job without a terminal.
LOG_EVERY_S = 30.0


@contextlib.contextmanager
def progress_bar(description: str, *, shown: bool = True) -> Iterator[Progress]:
    """Show progress on stderr: a bar with counts by label in a terminal, a line from time to time elsewhere."""
    if not (shown and sys.stderr.isatty()):
        yield _Lines(description)
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress
    from rich.text import Text

    class TimeLeft(ProgressColumn):
        """The estimate of `time_left`, which counts down between two steps."""

        def render(self, task: Any) -> Text:
            return Text(task.fields["left"](), style="progress.remaining", no_wrap=True)

    terminal = Console(stderr=True, no_color=bool(os.environ.get("NO_COLOR")))
    bar = BarColumn(bar_width=max(10, min(40, terminal.width - 60)))
    columns = (TextColumn("{task.description}"), bar, MofNCompleteColumn(), TimeElapsedColumn(), TimeLeft())
    counts = TextColumn("{task.fields[counts]}", markup=False)
    shown_bar = _Bar()
    with RichProgress(*columns, counts, console=terminal) as bars:
        shown_bar.show(bars, bars.add_task(description, total=None, counts="", left=shown_bar.left))
        yield shown_bar


class _Bar(Progress):
    """One bar of the terminal."""

    def __init__(self) -> None:
        self._labels: Counter[str] = Counter()
        self._total = 0
        self._started = self._stepped = time.monotonic()

    def show(self, bars: Any, task: Any) -> None:
        """Draw this task of these bars."""
        self._bars, self._task = bars, task

    def start(self, total: int) -> None:
        self._total = total
        self._started = self._stepped = time.monotonic()
        self._bars.update(self._task, total=total)

    def step(self, label: str = "") -> None:
        self._labels[label] += 1
        self._stepped = time.monotonic()
        self._bars.update(self._task, advance=1, counts=_counts(self._labels))

    def left(self) -> str:
        """Say how much time is left; nothing before the first step and after the last."""
        done = self._labels.total()
        if not 0 < done < self._total:
            return ""
        at_step = time_left(self._stepped - self._started, done, self._total)
        # A step may take longer than the whole rest was expected to take.
        left = max(at_step - (time.monotonic() - self._stepped), at_step / 2)
        return f"about {_minutes(left)} left"


class _Lines(Progress):
    """A line every `LOG_EVERY_S` seconds with the progress and an estimate of the rest."""

    def __init__(self, description: str) -> None:
        self._description = description
        self._labels: Counter[str] = Counter()
        self._total = 0
        self._started = self._said = time.monotonic()

    def start(self, total: int) -> None:
        self._total = total
        self._started = self._said = time.monotonic()

    def step(self, label: str = "") -> None:
        self._labels[label] += 1
        now, done = time.monotonic(), self._labels.total()
        if now - self._said < LOG_EVERY_S or done >= self._total:
            return
        self._said = now
        left = time_left(now - self._started, done, self._total)
        counts = _counts(self._labels)
        say(f"{self._description}: {done} of {self._total}{counts and f' ({counts})'}, about {_minutes(left)} left")


def time_left(taken_s: float, done: int, total: int) -> float:
    """Estimate the seconds that the remaining steps take, if they take as long as those before them."""
    return taken_s / done * (total - done)


def _counts(labels: Counter[str]) -> str:
    """Count the labels in words; empty if there are many, such as names of instances."""
    counts = {label: count for label, count in labels.items() if label}
    return " ".join(f"{label} {count}" for label, count in counts.items()) if len(counts) <= 8 else ""


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
