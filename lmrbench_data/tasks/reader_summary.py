"""The results of fresh readers as one table: for the documentation, README and the dataset card.

`configuration_totals` counts; `summary_table` writes Markdown. No other module adds these numbers up.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..loader import COUNTERFACTUAL, FUNCTION, METHOD, UNDERSPECIFIED
from .choice_section import stated_options
from .readers import read_choice_readers, read_readers
from .task import Task

_PERCENT = "\N{NO-BREAK SPACE}%"


@dataclass
class Total:
    """Attempts of one kind of reader at one configuration."""

    config: str
    reader: str
    rows: int
    """Rows of the configuration, tried or not."""
    tried: set[str] = field(default_factory=set)
    solved: set[str] = field(default_factory=set)
    """Rows that at least one attempt reproduced."""
    attempts: int = 0
    reproduced: int = 0
    settled: int = 0
    choices: int = 0
    chance: float = 0.0
    """Choices that guessing settles: one over the number of options, summed over the choices."""

    def add(self, instance: str, reproduced: int, attempts: int = 1) -> None:
        """Count attempts at an instance, and how many of them reproduced it."""
        self.tried.add(instance)
        if reproduced:
            self.solved.add(instance)
        self.attempts += attempts
        self.reproduced += reproduced


def configuration_totals(tasks: Sequence[Task]) -> list[Total]:
    """Return one total for each configuration and kind of reader that has attempts.

    Raises:
        InputError: a file of readers is malformed.
    """
    found = [*_of_paper(tasks), *_of_choices(tasks)]
    return [total for total in found if total.attempts]


def summary_table(tasks: Sequence[Task]) -> str:
    """Return the totals as a Markdown table; empty if no readers are recorded.

    Raises:
        InputError: a file of readers is malformed.
    """
    lines = [
        "| configuration | reader | rows tried | rows reproduced | attempts reproduced | choices as stated |",
        "|---|---|---|---|---|---|",
    ]
    totals = configuration_totals(tasks)
    lines += [f"| {' | '.join(_cells(total))} |" for total in totals]
    return "\n".join(lines) if totals else ""


def _cells(total: Total) -> Iterator[str]:
    yield f"`{total.config}`"
    yield total.reader
    yield f"{len(total.tried)} of {total.rows}"
    yield f"{len(total.solved)} of {len(total.tried)}"
    yield f"{total.reproduced} of {total.attempts}"
    if total.choices:
        share, chance = (100 * part / total.choices for part in (total.settled, total.chance))
        yield f"{total.settled} of {total.choices} ({share:.0f}{_PERCENT}, chance {chance:.0f}{_PERCENT})"
    else:
        yield "-"


def _of_paper(tasks: Sequence[Task]) -> Iterator[Total]:
    """Yield the readers of functions and methods, with the paper and without it."""
    readers = read_readers(tasks[0].folder.parent)
    for config in (FUNCTION, METHOD):
        known = _instances(tasks, config)
        with_paper = Total(config, "with the paper", len(known))
        without = Total(config, "without the paper", len(known))
        for instance in known:
            if facts := readers.get(instance):
                with_paper.add(instance, facts["reproduced"], facts["attempts"])
                without.add(instance, int(facts["without_paper"]))
        yield from (with_paper, without)


def _of_choices(tasks: Sequence[Task]) -> Iterator[Total]:
    """Yield the readers of altered papers, without a shell and with one."""
    attempts = read_choice_readers(tasks[0].folder.parent)
    for config in (COUNTERFACTUAL, UNDERSPECIFIED):
        known = _instances(tasks, config)
        for shell, reader in ((False, "without a shell"), (True, "with a shell")):
            total = Total(config, reader, len(known))
            for instance, (task, item) in known.items():
                options = {choice.name: len(choice.options) for choice in task.choices}
                for facts in attempts.get(instance, ()):
                    if facts["shell"] is shell:
                        stated = stated_options(task, item)
                        total.add(instance, int(facts["reproduced"]))
                        total.settled += sum(facts["choices"].get(name) == option for name, option in stated.items())
                        total.choices += len(stated)
                        total.chance += sum(1 / options[name] for name in stated)
            yield total


def _instances(tasks: Sequence[Task], config: str) -> dict[str, tuple[Task, Any]]:
    return {item.instance_id: (task, item) for task in tasks for item in task.instances_of(config)}
