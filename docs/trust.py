"""Write the tables of docs/trust.md: answers with a known verdict, mutants, and the rows that are proved.

    python docs/trust.py [--mutants]

With `--mutants`, the mutants of every reference are evaluated first (about an hour of CPU time) and their numbers are
stored in `benchmark/mutants.yaml`.
"""

import re
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import yaml

from lmrbench.checks.proved import unproved
from lmrbench.checks.trials import make_trials
from lmrbench_data.base.proportions import wilson
from lmrbench_data.base.strict_yaml import read_yaml
from lmrbench_data.loader import CONFIGS
from lmrbench_data.tasks.task import Instance, Task
from lmrbench_data.tasks.task_folders import load_tasks

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "trust.md"
MUTANTS = ROOT / "benchmark" / "mutants.yaml"
#: Kind of answer → what it is, and whether its core cases have to pass.
KINDS = {
    "golden": ("the reference", True),
    "valid": ("other right implementations", True),
    "plain": ("right implementations that ignore the contract", True),
    "careless": ("the same with a common mistake at the edges", True),
    "wrong": ("implementations with one mistake", False),
    "masked": ("no answer", False),
    "option": ("another option of a choice", False),
}


def known_answers(tasks: Sequence[Task], open_rows: Collection[str]) -> list[list[str]]:
    """Return a line for each configuration and kind: answers, wrong verdicts, and the interval of their rate.

    Only answers to proved rows count: a proof says that each of them got the verdict that its kind requires.
    """
    lines = []
    for config in CONFIGS:
        counts: Counter[str] = Counter()
        for task in tasks:
            for item in task.instances_of(config):
                if item.instance_id not in open_rows:
                    counts.update(trial.name.partition("/")[0] for trial in make_trials(task, item))
        for kind, (description, is_right) in KINDS.items():
            if number := counts[kind]:
                error = "refused" if is_right else "accepted"
                at_most = f"{100 * wilson(0, number)[1]:.1f}%"
                lines.append([f"`{config}`", f"{kind}: {description}", str(number), f"0 {error}", at_most])
    return lines


def proved_rows(tasks: Sequence[Task], open_rows: Collection[str]) -> list[list[str]]:
    """Return a line for each task: proved rows of each configuration, of all."""
    lines = []
    for task in tasks:
        cells = []
        for config in CONFIGS:
            rows = [item.instance_id for item in task.instances_of(config)]
            cells.append(f"{sum(row not in open_rows for row in rows)} of {len(rows)}" if rows else "-")
        lines.append([f"`{task.folder.name}`", *cells])
    return lines


def mutant_lines() -> list[list[str]]:
    """Return a line for each instance whose mutants were evaluated."""
    lines = []
    for name, facts in sorted(_measured().items()):
        different = facts["mutants"] - facts["equivalent"]
        rate = f"{100 * facts['noticed'] / different:.1f}%" if different else "-"
        lines.append([f"`{name}`", *(str(facts[key]) for key in ("mutants", "equivalent", "noticed")), rate])
    return lines


def _measured() -> dict[str, Any]:
    """Return instance id → numbers of its mutants, as far as they were measured."""
    return read_yaml(MUTANTS) if MUTANTS.exists() else {}


def measure_mutants(tasks: Sequence[Task]) -> None:
    """Evaluate the mutants of all references of functions and methods, and store their numbers."""
    sys.path.append(str(ROOT / "tests"))
    from lmrbench_evaluate.sandbox import open_sandbox
    from mutants import errors, mutants_of

    measured = _measured()
    with open_sandbox("auto") as sandbox:
        for task, item in _references(tasks):
            if item.instance_id in measured:
                continue
            number = len(mutants_of(task, item))
            missed = [line for line in errors(task, item, sandbox) if line.startswith("not noticed")]
            different = number - len(item.equivalent_mutants)
            measured[item.instance_id] = {
                "mutants": number,
                "equivalent": len(item.equivalent_mutants),
                "noticed": different - len(missed),
            }
            MUTANTS.write_text(yaml.safe_dump(measured), encoding="utf-8")
            print(item.instance_id, measured[item.instance_id], *missed, sep="\n  ", flush=True)


def _references(tasks: Sequence[Task]) -> list[tuple[Task, Instance]]:
    return [(task, item) for config in CONFIGS[:2] for task in tasks for item in task.instances_of(config)]


def page(tasks: Sequence[Task], text: str) -> str:
    """Return the page with current tables, each of which follows its header."""
    open_rows = unproved(tasks)
    tables = {
        ("configuration", "answers", "number", "wrong verdicts", "rate at most"): known_answers(tasks, open_rows),
        ("instance", "mutants", "equivalent", "noticed", "rate"): mutant_lines(),
        ("task", *CONFIGS): proved_rows(tasks, open_rows),
    }
    for header, lines in tables.items():
        first = f"| {' | '.join(header)} |\n"
        rows = "".join(f"| {' | '.join(line)} |\n" for line in lines)
        table = first + "|---" * len(header) + "|\n" + rows
        pattern = re.escape(first) + r"(?:\|.*\n)*"
        text = re.sub(pattern, table.replace("\\", r"\\"), text)
    return text


if __name__ == "__main__":
    every = load_tasks()
    if "--mutants" in sys.argv[1:]:
        measure_mutants(every)
    PAGE.write_text(page(every, PAGE.read_text(encoding="utf-8")), encoding="utf-8")
