"""Results of fresh readers: language-model agents that answered once, and whose answers were evaluated afterwards.

`readers.yaml` and `choice_readers.yaml` of a benchmark are written by hand; no other module adds their numbers up.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..base.strict_yaml import check, read_yaml
from ..loader import COUNTERFACTUAL, FUNCTION, METHOD, UNDERSPECIFIED
from .experiments import HARD
from .guessing import SettledChoice, by_truth, chance, corrected, reciting
from .task import Altered, Instance, Task, Underspecified

_SHELL = {False: "without a shell", True: "with a shell"}


class ChoiceAttempt(NamedTuple):
    """An attempt at an altered paper."""

    instance: Altered
    reader: str
    reproduced: bool
    choices: Sequence[SettledChoice]
    otherwise: Sequence[str]
    """What it implements in place of each option that it missed."""


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
    choices: list[SettledChoice] = field(default_factory=list)

    @property
    def settled(self) -> str:
        """The choices that were settled, beside the shares that need no paper."""
        settled, every = sum(choice.is_settled for choice in self.choices), len(self.choices)
        guessed, beyond = f"chance {chance(self.choices):.0%}", corrected(self.choices)
        note = "" if beyond is None else f"; corrected {beyond:.2f}"
        text = f"{settled} of {every} ({settled / every:.0%}; {guessed}, reciting {reciting(self.choices):.0%}{note})"
        return text.replace("%", " %")

    @property
    def split(self) -> str:
        """The choices that were settled, by whether the published option is the true one; empty if it never is."""
        groups = by_truth(self.choices)
        published, others = (f"{settled} of {every}" for settled, every in (groups[True], groups[False]))
        return f"{published} where the published option is true, {others} where it is not" if groups[True][1] else ""

    def add(self, instance: str, reproduced: int, attempts: int = 1) -> None:
        """Count attempts at an instance, and how many of them reproduced it."""
        self.tried.add(instance)
        if reproduced:
            self.solved.add(instance)
        self.attempts += attempts
        self.reproduced += reproduced


def recited(tasks: Sequence[Task]) -> Total:
    """Return the open choices of all rows as an answer settles them that copies the published options."""
    total = Total(UNDERSPECIFIED, "none: the published options", 0)
    for task in tasks:
        for item in task.underspecified:
            for choice in (choice for choice in task.choices if choice.name in item.open):
                is_published = item.option_of(choice) == choice.published
                total.choices.append(SettledChoice(is_published, len(choice.options), is_published))
    return total


def configuration_totals(tasks: Sequence[Task]) -> list[Total]:
    """Return one total for each configuration and kind of reader that has attempts; hard rows have their own."""
    totals: dict[tuple[str, str], Total] = {}
    readers = read_readers(tasks[0].folder.parent)
    for config in (FUNCTION, METHOD):
        instances = [item.instance_id for item in _instances(tasks, config)]
        for reader in ("with the paper", "without the paper"):
            totals[config, reader] = Total(config, reader, len(instances))
        for instance in instances:
            if facts := readers.get(instance):
                totals[config, "with the paper"].add(instance, facts["reproduced"], facts["attempts"])
                totals[config, "without the paper"].add(instance, int(facts["without_paper"]))
    for config in (COUNTERFACTUAL, UNDERSPECIFIED):
        for item, reader in itertools.product(_instances(tasks, config), _SHELL.values()):
            kind = reader + _hard_rows(item)
            totals.setdefault((config, kind), Total(config, kind, 0)).rows += 1
    for attempt in choice_attempts(tasks):
        total = totals[attempt.instance.config, attempt.reader + _hard_rows(attempt.instance)]
        total.add(attempt.instance.instance_id, int(attempt.reproduced))
        total.choices += attempt.choices
    return [total for total in totals.values() if total.attempts]


def _hard_rows(item: Instance) -> str:
    return ", hard rows" if isinstance(item, Underspecified) and item.difficulty == HARD else ""


def choice_attempts(tasks: Sequence[Task]) -> Iterator[ChoiceAttempt]:
    """Yield the attempts at altered papers in order of configurations and instances."""
    attempts = read_readers(tasks[0].folder.parent, "choice_readers")
    for config in (COUNTERFACTUAL, UNDERSPECIFIED):
        for task in tasks:
            for item in task.instances_of(config):
                for facts in attempts.get(item.instance_id, ()):
                    yield _attempt(task, item, facts)


def _attempt(task: Task, item: Any, facts: Mapping[str, Any]) -> ChoiceAttempt:
    named = {choice.name: choice for choice in task.choices}
    choices, otherwise = [], []
    for choice in map(named.__getitem__, item.open if isinstance(item, Underspecified) else item.chosen):
        option, true = facts["choices"].get(choice.name, ""), item.option_of(choice)
        choices.append(SettledChoice(option == true, len(choice.options), true == choice.published))
        if option != true:
            note = " (published)" if option == choice.published else ""
            otherwise.append(f"{choice.name}: {option or 'none of the options'}{note}")
    return ChoiceAttempt(item, _SHELL[facts["shell"]], facts["reproduced"], choices, otherwise)


def _instances(tasks: Sequence[Task], config: str) -> list[Instance]:
    return [item for task in tasks for item in task.instances_of(config)]


def read_readers(benchmark: Path, name: str = "readers") -> dict[str, Any]:
    """Read a file of readers, by default those of functions and methods, by instance; none if it is missing."""
    path = benchmark / f"{name}.yaml"
    content: dict[str, Any] = read_yaml(path) if path.is_file() else {}
    check(content, f"{name}.schema.json", path)
    return content
