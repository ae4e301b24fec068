"""Write the numbers that texts state: the rows of the benchmark, and what fresh readers came to.

    python docs/counts.py

Fresh readers are language-model agents whose answers were evaluated afterwards. `readers.yaml` (functions and methods)
and `choice_readers.yaml` (altered papers) in `benchmark/` are written by hand; nothing else adds up their numbers.
"""

import itertools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_data.base.strict_yaml import read_yaml
from lmrbench_data.loader import CONFIGS, FUNCTION, METHOD, UNDERSPECIFIED
from lmrbench_data.tasks.experiments import ROWS
from lmrbench_data.tasks.guessing import SettledChoice, by_truth, chance, corrected, reciting
from lmrbench_data.tasks.task import Instance, Task
from lmrbench_data.tasks.task_folders import load_tasks

ROOT = Path(__file__).resolve().parents[1]
PAGE = Path("docs", "reader-attempts.md")
#: Texts with numbers of rows or the table of totals.
README = Path("README.md")
NUMBERED = (README, Path("cards", "dataset_card.md"), Path("docs", "comparison.md"), Path("docs", "reader-results.md"))
_TOTALS = r"(?m)^\| configuration \| reader .*\n(?:\|.*\n)*"
_TOP = """\
# Every attempt of a fresh reader

`python docs/counts.py` writes this page from `benchmark/readers.yaml` and `benchmark/choice_readers.yaml`. [How the
readers worked](reader-results.md#how-the-readers-worked) says what they had.
"""
_NOTES = {
    FUNCTION: "The numbers are those of the first evaluation; the note says what was changed afterwards.",
    METHOD: "Readers wrote each method in one attempt, without running code.",
}


class Attempt(NamedTuple):
    """An attempt of a reader at an instance."""

    instance: Instance
    reader: str
    is_reproduced: bool
    choices: Sequence[SettledChoice] = ()
    otherwise: str = ""
    """The option that it implements in place of each one that it missed."""
    cpu_s: float | None = None
    """Its part of the budget, where somebody counted."""


def read_attempts(tasks: Sequence[Task]) -> list[Attempt]:
    """Return all attempts in order of configurations and instances."""
    plain, altered = _read("readers"), _read("choice_readers")
    attempts = []
    for config, task in itertools.product(CONFIGS, tasks):
        for item in task.instances_of(config):
            if facts := plain.pop(item.instance_id, None):
                for number in range(facts["attempts"]):
                    attempts.append(Attempt(item, "with the paper", number < facts["reproduced"]))
                attempts.append(Attempt(item, "without the paper", facts["without_paper"]))
            attempts += [_altered(task, item, facts) for facts in altered.pop(item.instance_id, ())]
    assert not plain, f"unknown instances: {', '.join(plain)}"
    assert not altered, f"unknown instances: {', '.join(altered)}"
    return attempts


def _read(name: str) -> dict[str, Any]:
    return read_yaml(ROOT / "benchmark" / f"{name}.yaml")


def _altered(task: Task, item: Instance, facts: Mapping[str, Any]) -> Attempt:
    choices, otherwise = [], []
    for choice in (choice for choice in task.choices if choice.name in (item.open or item.chosen)):
        option, true = facts["choices"].get(choice.name, ""), item.option_of(choice)
        choices.append(SettledChoice(option == true, len(choice.options), true == choice.published))
        if option != true:
            note = " (published)" if option == choice.published else ""
            otherwise.append(f"{choice.name}: {option or 'none of the options'}{note}")
    reader = "with a shell" if facts["shell"] else "without a shell"
    if facts.get("told_where"):
        reader += ", told where"
    return Attempt(item, reader, facts["reproduced"], choices, ", ".join(otherwise), facts.get("cpu_s"))


def open_choices(tasks: Sequence[Task]) -> list[SettledChoice]:
    """Return the open choices of all rows as an answer settles them that copies the published options."""
    choices = []
    for task in tasks:
        for item, choice in itertools.product(task.underspecified, task.choices):
            if choice.name in item.open:
                is_published = item.option_of(choice) == choice.published
                choices.append(SettledChoice(is_published, len(choice.options), is_published))
    return choices


# --- totals -----------------------------------------------------------------------------------------------------------


def totals_table(tasks: Sequence[Task], *, is_short: bool = False) -> str:
    """Return one line for each configuration and kind of reader; rows that are not easy have their own.

    Args:
        is_short: leave out the choices.
    """
    groups: dict[tuple[str, str, str], list[Attempt]] = {}
    for attempt in read_attempts(tasks):
        kind = attempt.instance.config, attempt.instance.difficulty, attempt.reader
        groups.setdefault(kind, []).append(attempt)
    lines = []
    for (config, difficulty, reader), attempts in groups.items():
        every = [item for task in tasks for item in task.instances_of(config) if item.difficulty == difficulty]
        tried = {attempt.instance.instance_id for attempt in attempts}
        solved = {attempt.instance.instance_id for attempt in attempts if attempt.is_reproduced}
        lines.append(
            (
                f"`{config}`",
                reader + (f", {ROWS[difficulty]}" if difficulty not in ("", "easy") else ""),
                f"{len(tried)} of {len(every)}",
                f"{len(solved)} of {len(tried)}",
                f"{sum(attempt.is_reproduced for attempt in attempts)} of {len(attempts)}",
                *_settled([choice for attempt in attempts for choice in attempt.choices]),
            )
        )
    header = "configuration", "reader", "rows tried", "rows reproduced", "attempts reproduced"
    if is_short:
        return _table(header, [line[: len(header)] for line in lines])
    recited = _settled(open_choices(tasks))
    lines.append((f"`{UNDERSPECIFIED}`", "none: the published options", "-", "-", "-", *recited))
    return _table((*header, "choices as stated", "published option true / not"), lines)


def _settled(choices: Sequence[SettledChoice]) -> tuple[str, str]:
    """Return the settled choices beside the shares that need no paper, and their split by the true option."""
    if not choices:
        return "-", "-"
    shares = f"chance {chance(choices):.0%}, reciting {reciting(choices):.0%}"
    beyond, groups = corrected(choices), by_truth(choices)
    settled = sum(choice.is_settled for choice in choices)
    text = f"{settled} of {len(choices)} ({settled / len(choices):.0%}; {shares}; corrected {beyond:.2f})"
    split = " / ".join("{} of {}".format(*groups[truth]) for truth in (True, False))
    return text, split if groups[True][1] else "-"


# --- the page ---------------------------------------------------------------------------------------------------------


def attempts_page(tasks: Sequence[Task]) -> str:
    """Return the text of docs/reader-attempts.md."""
    plain, parts = _read("readers"), [_TOP]
    for config, attempts in itertools.groupby(read_attempts(tasks), lambda attempt: attempt.instance.config):
        parts.append(f"## {config.capitalize()}\n")
        if config in _NOTES:
            names = sorted({attempt.instance.instance_id for attempt in attempts})
            rows = [_plain_line(name, plain[name]) for name in names]
            parts += [
                f"{_NOTES[config]}\n",
                _table(("instance", "reproduced", "robust", "without paper", "note"), rows),
            ]
        else:
            header = "instance", "reader", "CPU budget", "reproduced", "as stated", "otherwise"
            parts.append(_table(header, [_altered_line(attempt) for attempt in attempts]))
    return "\n".join(parts)


def _plain_line(name: str, facts: Mapping[str, Any]) -> tuple[str, ...]:
    counts = (f"{facts[level]}/{facts['attempts']}" for level in ("reproduced", "robust"))
    return f"`{name}`", *counts, "reproduced" if facts["without_paper"] else "not reproduced", facts["note"] or "-"


def _altered_line(attempt: Attempt) -> tuple[str, ...]:
    item, settled = attempt.instance, sum(choice.is_settled for choice in attempt.choices)
    used = f"{attempt.cpu_s} of " if attempt.cpu_s else ""
    budget = f"{used}{item.cpu_budget_s} s, {item.difficulty}" if item.cpu_budget_s else "-"
    stated = f"{settled}/{len(attempt.choices)}"
    is_reproduced = "yes" if attempt.is_reproduced else "no"
    return f"`{item.instance_id}`", attempt.reader, budget, is_reproduced, stated, attempt.otherwise or "-"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


# --- all texts --------------------------------------------------------------------------------------------------------


def texts(tasks: Sequence[Task]) -> dict[Path, str]:
    """Return the texts with current numbers, by their paths in the project."""
    rows = {config: sum(len(task.instances_of(config)) for task in tasks) for config in CONFIGS}
    papers = f"instances from {len(tasks)} papers"
    categories = f"{len({item.category for task in tasks for item in task.implementations})} categories"
    *most, last = map(str, rows.values())
    current = {
        r"\d+ instances from \d+ papers in \d+ categories": f"{rows[FUNCTION]} {papers} in {categories}",
        r"\d+(, \d+)* and \d+ instances from \d+ papers": f"{', '.join(most)} and {last} {papers}",
        **{rf"(?m)^(\| .*`{name}`.* \|) \d+ \|": rf"\1 {count} |" for name, count in rows.items()},
    }
    written = {PAGE: attempts_page(tasks)}
    for path in NUMBERED:
        written[path] = (ROOT / path).read_text(encoding="utf-8")
        totals = totals_table(tasks, is_short=path == README)
        for pattern, text in {**current, _TOTALS: totals}.items():
            written[path] = re.sub(pattern, text, written[path])
    return written


if __name__ == "__main__":
    for path, text in texts(load_tasks()).items():
        (ROOT / path).write_text(text, encoding="utf-8")
