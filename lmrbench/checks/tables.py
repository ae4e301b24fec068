"""Tables of experiments: read them from a run, and prove that they single out the true options.

A table that another combination of options reproduces would be a wrong statement about the choices that its paper
leaves open. The same holds for a table that an unlisted option reproduces. *Outsiders* stand for such options: the
function of a choice with its result doubled, squared, negated or reversed. Hard and silent rows have more proofs
(`solver.py`); a change of the last bit must not move the table of a silent row.
"""

import functools
import itertools
import math
import operator
import random
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.text import plural
from lmrbench_data.loader import File
from lmrbench_data.tasks.choices import with_options
from lmrbench_data.tasks.experiments import (
    EASY,
    HARD,
    MARGIN,
    ROUNDING,
    SILENT,
    Tables,
    table_cases,
)
from lmrbench_data.tasks.task import Instance, Task
from lmrbench_evaluate.rebuild.workspace import imported_by, workspace_tar
from lmrbench_evaluate.sandbox.base import Limits, Sandbox
from lmrbench_evaluate.sandbox.exclusive_retry import run_with_exclusive_retry
from lmrbench_evaluate.verdict.decode import Frame, StreamError, decode, read_frames

from .solver import Cells, Combination, Proof, exchanges, first_runs, hard_errors

#: Difficulty → largest number of combinations to try; if there are more, a random sample of this size is tried.
MAX_COMBINATIONS = {EASY: 200, HARD: 300, SILENT: 1000}
#: Number of runs of the true options that must agree bit for bit.
REPEATED = 3
#: How an outsider changes the result of a choice's function → expression of the result `v`.
OUTSIDERS = {"doubled": "_map(v, lambda x: 2 * x)", "squared": "_map(v, lambda x: x * x)"} | {
    "negated": "_map(v, lambda x: -x)",
    "reversed": "_reverse(v)",
}
#: How the result of a choice's function changes in its last bit, and the name of the change.
LAST_BIT = {"last bit": "_map(v, _last_bit, False)"}
_WRAPPER = '''

def _map(v, change, invert=True):
    """Change each number; invert truth values."""
    if isinstance(v, bool):
        return v != invert
    if isinstance(v, dict):
        return {key: _map(item, change, invert) for key, item in v.items()}
    if isinstance(v, (list, tuple)):
        return type(v)(_map(item, change, invert) for item in v)
    if "bool" in str(getattr(v, "dtype", "")):
        return v ^ invert
    return change(v)


def _last_bit(v):
    """Change the last bit of floats."""
    kind = str(getattr(v, "dtype", type(v)))
    return v * (1 + 2.0 ** (-23 if "32" in kind else -52)) if "float" in kind else v


def _reverse(v):
    """Reverse the outermost axis; add one to a number."""
    if isinstance(v, dict):
        return dict(zip(v, reversed(list(v.values()))))
    if isinstance(v, (list, tuple)):
        return type(v)(reversed(v))
    if getattr(v, "ndim", 0):
        return v.flip(0) if hasattr(v, "flip") else v[::-1].copy()
    return not v if isinstance(v, bool) else v + 1


def _outsider(function):
    def changed(*arguments, **options):
        v = function(*arguments, **options)
        return {expression}

    return changed


{name} = _outsider({name})
'''


def read_tables(frames: Sequence[Frame], where: str) -> Tables:
    """Return the tables that the cases of `table_cases` sent.

    Raises:
        InputError: one is not an object of rows with finite numbers.
    """
    tables: dict[str, dict[str, dict[str, float]]] = {}
    for frame in frames:
        if frame.kind != "output":
            continue
        place = f"{where}: table_{frame.case}"
        try:  # a decoded dictionary is {"dict": [(key, item), ...]}
            rows = decode(frame.payload)["dict"]
            table = {
                str(row): {str(name): float(cell) for name, cell in cells["dict"]}
                for row, cells in rows
            }
        except (LookupError, TypeError, ValueError):
            raise InputError(f"{place} must return row label -> column -> number") from None
        if not all(math.isfinite(cell) for cells in table.values() for cell in cells.values()):
            raise InputError(f"{place}: a cell is not finite")
        tables[frame.case] = table
    return tables


def largest_gap(one: Tables, other: Tables | None) -> float:
    """Return the largest difference of two cells; infinite if the tables have other rows or columns, or are missing."""
    cells, others = _cells(one), _cells(other or {})
    if cells.keys() != others.keys():
        return math.inf
    return max((abs(cells[place] - others[place]) for place in cells), default=0.0)


def _cells(tables: Tables) -> dict[tuple[str, str, str], float]:
    return {
        (name, row, column): cell
        for name, table in tables.items()
        for row, cells in table.items()
        for column, cell in cells.items()
    }


class _Run(NamedTuple):
    """A repository whose tables are made, and the tables."""

    kind: str
    """`truth`, `combinations`, `outsiders` or `last bit`."""
    name: str
    files: Mapping[str, File]
    chosen: Combination = ()
    """Empty for an outsider and a changed last bit."""
    tables: Tables | None = None
    """None before the run, and if it raised or ran out of time."""
    cpu_s: float = 0.0
    """CPU seconds of the run; 0 if unknown."""


class _Open:
    """The open choices of an instance, and the runs that prove its tables."""

    def __init__(self, task: Task, instance: Instance) -> None:
        by_name = {choice.name: choice for choice in task.choices}
        self.task, self.instance, self.choices = (
            task,
            instance,
            [by_name[name] for name in instance.open],
        )
        self.sizes = [len(choice.options) for choice in self.choices]
        self.truth = tuple(
            choice.options.index(instance.option_of(choice)) for choice in self.choices
        )

    def planned(self) -> list[_Run]:
        """Return the runs of the true options, of the other combinations and of changed functions."""
        runs = [self.run("truth", self.truth)] * REPEATED
        runs += [self.run("combinations", chosen) for chosen in self._others()]
        runs += self._changed("outsiders", OUTSIDERS, runs[0].files)
        if self.instance.difficulty == SILENT:
            runs += self._changed("last bit", LAST_BIT, runs[0].files)
        return runs

    def run(self, kind: str, chosen: Combination) -> _Run:
        """Return the run of a combination, named by the options that are not true."""
        options = {
            choice.name: choice.options[k] for choice, k in zip(self.choices, chosen, strict=True)
        }
        pairs = zip(options.items(), chosen, self.truth, strict=True)
        name = (
            ", ".join(f"{name}={option}" for (name, option), k, true in pairs if k != true)
            or "true options"
        )
        repo = with_options(self.task.repo, self.task.choices, options)
        paths = sorted({choice.file for choice in self.choices})
        return _Run(kind, name, {path: repo[path] for path in paths}, chosen)

    def _others(self) -> list[Combination]:
        """Return the combinations that are not true, the nearest ones first; a sample if there are too many."""
        every = itertools.product(*map(range, self.sizes))
        others = [chosen for chosen in sorted(every, key=self._distance) if chosen != self.truth]
        most = MAX_COMBINATIONS[self.instance.difficulty]
        if len(others) <= most:
            return others
        near = exchanges(self.sizes, self.truth)
        if self.instance.difficulty != EASY:  # the solver starts with these
            near += [
                chosen
                for chosen in first_runs(self.sizes)
                if chosen in others and chosen not in near
            ]
        rest = [chosen for chosen in others if chosen not in near]
        return near + random.Random(self.instance.instance_id).sample(rest, most - len(near))

    def _distance(self, chosen: Combination) -> int:
        return sum(map(operator.ne, chosen, self.truth))

    def _changed(
        self, kind: str, changes: Mapping[str, str], files: Mapping[str, File]
    ) -> Iterator[_Run]:
        """Yield the runs in which the function of a choice returns another result."""
        for choice in self.choices:
            for how, expression in changes.items():
                wrapper = _WRAPPER.replace("{name}", choice.functions[0]).replace(
                    "{expression}", expression
                )
                text = files[choice.file].data + wrapper.encode()
                if (name := f"{choice.name} {how}") not in self.instance.equal_outsiders:
                    yield _Run(
                        kind, name, {**files, choice.file: files[choice.file]._replace(data=text)}
                    )


def count_runs(task: Task, instance: Instance) -> int:
    """Return how often `table_errors` runs the experiments."""
    return 1 + len(_Open(task, instance).planned())


def table_errors(
    task: Task,
    instance: Instance,
    recorded: Tables,
    sandbox: Sandbox,
    image: str,
    *,
    finished: Callable[[], None] = lambda: None,
    every: bool = True,
) -> Iterator[Proof]:
    """Make the tables of all combinations and outsiders; yield what they prove.

    Args:
        recorded: tables that the paper reports.
        finished: called after each run of the experiments.
        every: also run the rest after a run that proves the tables ambiguous.
    """
    make = functools.partial(_make, task, instance, sandbox, image)
    opened = _Open(task, instance)
    planned = opened.planned()
    made: dict[str, list[_Run]] = {"truth": [], "combinations": [], "outsiders": [], "last bit": []}
    for run in make(planned):
        made[run.kind].append(run)
        finished()
        is_ambiguous = (
            run.kind in ("combinations", "outsiders")
            and largest_gap(recorded, run.tables) <= MARGIN
        )
        if is_ambiguous and not every:
            break
    yield _repeated(made["truth"], recorded)
    [threaded] = make(planned[:1], threads=2)
    finished()
    drift = largest_gap(recorded, threaded.tables)
    error = f"on two threads a cell differs by {drift:.1g}" if drift > ROUNDING else ""
    yield "tables, two threads", error, "within the rounding"
    yield _told_apart("combinations", made["combinations"], recorded, all_must_run=True)
    yield _told_apart("outsiders", made["outsiders"], recorded)
    if moved := made["last bit"]:
        worst = max(largest_gap(recorded, run.tables) for run in moved)
        error = (
            f"a cell moves by {worst:.1g}; choose experiments that are not chaotic"
            if worst > ROUNDING
            else ""
        )
        yield (
            "tables, last bit",
            error,
            f"{plural(len(moved), 'function')} changed, cells move by {worst:.1g} or less",
        )
    if instance.difficulty != EASY and sum(map(len, made.values())) == len(planned):
        known = {run.chosen: run.tables for run in (*made["truth"], *made["combinations"])}
        solver_run = functools.partial(_cells_of, opened, known, make)
        budget = {"cpu_s": threaded.cpu_s, "budget_s": instance.cpu_budget_s}
        yield from hard_errors(
            opened.sizes, opened.truth, solver_run, seed=instance.instance_id, **budget
        )


def _repeated(runs: Sequence[_Run], recorded: Tables) -> Proof:
    """Prove that the true options give the recorded tables, with the same bits in each run."""
    error = ""
    if any(run.tables is None for run in runs):
        error = "the true options make no table within the limits"
    elif any(run.tables != runs[0].tables for run in runs):
        error = "runs of the true options differ; remove what depends on the process"
    elif (drift := largest_gap(recorded, runs[0].tables)) > ROUNDING:
        error = f"a cell differs from the recorded one by {drift:.1g}; record again"
    return "tables, repeated", error, f"the same bits in {REPEATED} runs"


def _told_apart(
    kind: str, runs: Sequence[_Run], recorded: Tables, all_must_run: bool = False
) -> Proof:
    """Prove that the tables distinguish the true options from others."""
    gaps = {run.name: largest_gap(recorded, run.tables) for run in runs}
    blind = [name for name, gap in gaps.items() if gap <= MARGIN]
    crashed = [run.name for run in runs if run.tables is None]
    error = ""
    if blind:
        error = f"{', '.join(blind[:3])} ({len(blind)} of {len(runs)}): no cell differs by more than {MARGIN:g}"
    elif crashed and all_must_run:
        error = f"{crashed[0]} makes no table; every combination of options has to run"
    nearest = min(gaps.values(), default=math.inf)
    return (
        f"tables, {kind}",
        error,
        f"{plural(len(runs), kind[:-1])} told apart, the nearest by {nearest:.2g}",
    )


def _cells_of(
    opened: _Open,
    known: dict[Combination, Tables | None],
    make: Callable[[Sequence[_Run]], Iterable[_Run]],
    combinations: Collection[Combination],
) -> dict[Combination, Cells]:
    """Return the cells of combinations for the solver; run those that are not known yet, and add them.

    Raises:
        InputError: one makes no table.
    """
    for run in make(
        [opened.run("combinations", chosen) for chosen in combinations if chosen not in known]
    ):
        known[run.chosen] = run.tables
    cells: dict[Combination, Cells] = {}
    for chosen in combinations:
        if not (tables := known[chosen]):
            raise InputError(f"{opened.run('', chosen).name} makes no table")
        cells[chosen] = [cell for _, cell in sorted(_cells(tables).items())]
    return cells


def _make(
    task: Task,
    instance: Instance,
    sandbox: Sandbox,
    image: str,
    runs: Sequence[_Run],
    threads: int = 1,
) -> Iterator[_Run]:
    """Yield each run with its tables."""
    repo, cases = task.golden_repo(instance), table_cases(instance.tables)
    tests, modules = instance.tests, imported_by(repo, cases)
    limits = Limits(tests.timeout_s, tests.memory_mb)
    for run in runs:
        workspace = workspace_tar(
            {**repo, **run.files},
            cases,
            runs=[(name, 0) for name in instance.tables],
            limit_s=limits.time_s,
            threads=threads,
        )
        outcome = run_with_exclusive_retry(
            sandbox, image, workspace, limits, modules if threads == 1 else ()
        )
        try:
            tables = read_tables(list(read_frames(outcome.stdout)), instance.instance_id)
        except (InputError, StreamError):
            tables = {}
        is_complete = tables.keys() == {*instance.tables}
        yield run._replace(tables=tables if is_complete else None, cpu_s=outcome.cpu_s or 0.0)
