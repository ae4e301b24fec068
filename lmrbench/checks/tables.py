"""Tables of experiments: read them from a run, and prove that they single out the true options.

A table that another combination of options reproduces would be a wrong statement about the choices
that its paper leaves open. The same holds for a table that an unlisted option reproduces.
*Outsiders* stand for such options: the function of a choice with its result doubled, squared,
negated or reversed. Hard and silent rows have more proofs (`solver.py`); a change of the last bit
must not move the table of a silent row.
"""

import functools
import math
import operator
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from lmrbench_evaluate.rebuild.workspace import libraries_in, workspace_tar
from lmrbench_evaluate.sandbox.base import Limits, Sandbox
from lmrbench_evaluate.sandbox.exclusive_retry import run_with_exclusive_retry
from lmrbench_evaluate.verdict.decode import Frame, StreamError, decode, read_frames

from .solver import (
    Cells,
    Combination,
    HardRow,
    Proof,
    all_combinations,
    exchanges,
    first_runs,
)

#: Difficulty → largest number of combinations to try; of more, a random sample is tried.
MAX_COMBINATIONS = {EASY: 200, HARD: 300, SILENT: 1000}
#: Number of runs of the true options that must agree bit for bit.
REPEATED = 3
#: Kinds of runs: the true options, other options, and changed functions.
TRUTH, COMBINATIONS, OUTSIDERS, LAST_BIT = "truth", "combinations", "outsiders", "last bit"
#: Kind → how it changes the result of a choice's function → expression of the result `v`.
CHANGES = {
    OUTSIDERS: {
        "doubled": "_map(v, lambda x: 2 * x)",
        "squared": "_map(v, lambda x: x * x)",
        "negated": "_map(v, lambda x: -x)",
        "reversed": "_reverse(v)",
    },
    LAST_BIT: {"last bit": "_map(v, _last_bit, False)"},
}
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


def read_tables(frames: Iterable[Frame], where: str) -> Tables:
    """Return the tables that the cases of `table_cases` sent.

    Raises:
        InputError: one is not an object of rows with finite numbers.
    """
    tables = {}
    for frame in frames:
        if frame.kind == "output":
            place = f"{where}: table_{frame.case}"
            tables[frame.case] = _read_table(frame.payload, place)
    return tables


def _read_table(payload: bytes, place: str) -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    try:  # a decoded dictionary is {"dict": [(key, item), ...]}
        for row, cells in decode(payload)["dict"]:
            table[str(row)] = {str(column): float(cell) for column, cell in cells["dict"]}
    except (LookupError, TypeError, ValueError):
        raise InputError(f"{place} must return row label -> column -> number") from None
    for cells in table.values():
        if not all(map(math.isfinite, cells.values())):
            raise InputError(f"{place}: a cell is not finite")
    return table


def largest_gap(one: Tables, other: Tables | None) -> float:
    """Return the largest difference of two cells.

    It is infinite if the tables have other rows or columns, or are missing.
    """
    cells = _cells(one)
    others = _cells(other or {})
    if cells.keys() != others.keys():
        return math.inf
    return max((abs(cells[place] - others[place]) for place in cells), default=0.0)


def _cells(tables: Tables) -> dict[tuple[str, str, str], float]:
    """Return the cells by table, row and column, always in the same order."""
    cells = {}
    for name, table in sorted(tables.items()):
        for row, columns in sorted(table.items()):
            for column, cell in sorted(columns.items()):
                cells[name, row, column] = cell
    return cells


class _Run(NamedTuple):
    """A repository whose tables are made, and the tables."""

    kind: str
    name: str
    files: Mapping[str, File]
    chosen: Combination = ()
    """Empty for an outsider and a changed last bit."""
    tables: Tables | None = None
    """None before the run, and if it raised or ran out of time."""
    cpu_s: float = 0.0
    """CPU seconds of the run; 0 if unknown."""


#: Runs the experiments and yields each run with its tables.
_Make = Callable[[Sequence[_Run]], Iterable[_Run]]


class _Open:
    """The open choices of an instance, and the runs that prove its tables."""

    def __init__(self, task: Task, instance: Instance) -> None:
        by_name = {choice.name: choice for choice in task.choices}
        self._repo = task.repo
        self.instance = instance
        self.choices = [by_name[name] for name in instance.open]
        self.sizes = [len(choice.options) for choice in self.choices]
        self.truth = tuple(
            choice.options.index(instance.option_of(choice)) for choice in self.choices
        )

    def planned(self) -> list[_Run]:
        """Return the runs of the true options, of other combinations and of changed functions."""
        truth = self.run(TRUTH, self.truth)
        runs = [truth] * REPEATED
        runs += [self.run(COMBINATIONS, chosen) for chosen in self._others()]
        runs += self._changed(OUTSIDERS, truth.files)
        if self.instance.difficulty == SILENT:
            runs += self._changed(LAST_BIT, truth.files)
        return runs

    def run(self, kind: str, chosen: Combination) -> _Run:
        """Return the run of a combination, named by the options that are not true."""
        options = {}
        others = []
        for choice, number, true in zip(self.choices, chosen, self.truth, strict=True):
            options[choice.name] = choice.options[number]
            if number != true:
                others.append(f"{choice.name}={choice.options[number]}")
        repo = with_options(self._repo, self.choices, options)
        files = {choice.file: repo[choice.file] for choice in self.choices}
        return _Run(kind, ", ".join(others) or "true options", files, chosen)

    def _others(self) -> list[Combination]:
        """Return the combinations that are not true, the nearest first; a sample of many."""
        others = all_combinations(self.sizes)
        others.remove(self.truth)
        others.sort(key=lambda chosen: sum(map(operator.ne, chosen, self.truth)))
        most = MAX_COMBINATIONS[self.instance.difficulty]
        if len(others) <= most:
            return others
        near = self._near()
        rest = [chosen for chosen in others if chosen not in near]
        numbers = random.Random(self.instance.instance_id)
        return near + numbers.sample(rest, most - len(near))

    def _near(self) -> list[Combination]:
        """Return the combinations that every sample has: the neighbours, and the solver's first."""
        near = exchanges(self.sizes, self.truth)
        if self.instance.difficulty != EASY:
            first = first_runs(self.sizes)
            near += [chosen for chosen in first if chosen != self.truth and chosen not in near]
        return near

    def _changed(self, kind: str, files: Mapping[str, File]) -> Iterator[_Run]:
        """Yield the runs in which the function of a choice returns another result."""
        for choice in self.choices:
            for change, expression in CHANGES[kind].items():
                name = f"{choice.name} {change}"
                if name not in self.instance.equal_outsiders:
                    wrapper = _WRAPPER.replace("{name}", choice.functions[0])
                    file = files[choice.file]
                    code = wrapper.replace("{expression}", expression).encode()
                    changed = file._replace(data=file.data + code)
                    yield _Run(kind, name, {**files, choice.file: changed})


def table_errors(
    task: Task,
    instance: Instance,
    recorded: Tables,
    sandbox: Sandbox,
    image: str,
    *,
    every: bool = True,
) -> Iterator[Proof]:
    """Make the tables of all combinations and outsiders; yield what they prove.

    Args:
        recorded: tables that the paper reports.
        every: also run the rest after a run that proves the tables ambiguous.
    """
    make = functools.partial(_make, task, instance, sandbox, image)
    opened = _Open(task, instance)
    planned = opened.planned()
    truth = planned[:1]
    runs: dict[str, list[_Run]] = defaultdict(list)
    for run in make(planned):
        runs[run.kind].append(run)
        if not every and _is_ambiguous(run, recorded):
            break
    [threaded] = make(truth, threads=2)
    yield from _prove(runs, threaded, recorded)
    is_hard = instance.difficulty != EASY
    if is_hard:
        hard_row = _hard_row(opened, runs, make, threaded.cpu_s)
        yield from hard_row.prove()


def _prove(runs: Mapping[str, Sequence[_Run]], threaded: _Run, recorded: Tables) -> Iterator[Proof]:
    yield _repeated(runs[TRUTH], recorded)
    yield _threaded(threaded, recorded)
    yield _told_apart(COMBINATIONS, runs[COMBINATIONS], recorded, all_must_run=True)
    yield _told_apart(OUTSIDERS, runs[OUTSIDERS], recorded)
    if runs[LAST_BIT]:
        yield _unmoved(runs[LAST_BIT], recorded)


def _hard_row(opened: _Open, runs: Mapping[str, list[_Run]], make: _Make, cpu_s: float) -> HardRow:
    known = {run.chosen: run for run in runs[TRUTH] + runs[COMBINATIONS]}
    return HardRow(
        opened.sizes,
        opened.truth,
        functools.partial(_cells_of, opened, known, make),
        seed=opened.instance.instance_id,
        cpu_s=cpu_s,
        budget_s=opened.instance.cpu_budget_s,
    )


def _is_ambiguous(run: _Run, recorded: Tables) -> bool:
    """Return whether other options give the recorded tables."""
    is_other = run.kind in (COMBINATIONS, OUTSIDERS)
    return is_other and largest_gap(recorded, run.tables) <= MARGIN


def _repeated(runs: Sequence[_Run], recorded: Tables) -> Proof:
    """Prove that the true options give the recorded tables, with the same bits in each run."""
    drift = largest_gap(recorded, runs[0].tables)
    error = ""
    if any(run.tables is None for run in runs):
        error = "the true options make no table within the limits"
    elif any(run.tables != runs[0].tables for run in runs):
        error = "runs of the true options differ; remove what depends on the process"
    elif drift > ROUNDING:
        error = f"a cell differs from the recorded one by {drift:.1g}; record again"
    return Proof("tables, repeated", error, f"the same bits in {REPEATED} runs")


def _threaded(run: _Run, recorded: Tables) -> Proof:
    drift = largest_gap(recorded, run.tables)
    error = f"on two threads a cell differs by {drift:.1g}" if drift > ROUNDING else ""
    return Proof("tables, two threads", error, "within the rounding")


def _told_apart(
    kind: str, runs: Sequence[_Run], recorded: Tables, all_must_run: bool = False
) -> Proof:
    """Prove that the tables distinguish the true options from others."""
    gaps = {run.name: largest_gap(recorded, run.tables) for run in runs}
    ambiguous = [name for name, gap in gaps.items() if gap <= MARGIN]
    error = _crashed(runs) if all_must_run else ""
    if ambiguous:
        names = f"{', '.join(ambiguous[:3])} ({len(ambiguous)} of {len(runs)})"
        error = f"{names}: no cell differs by more than {MARGIN:g}"
    nearest = f"the nearest by {min(gaps.values(), default=math.inf):.2g}"
    note = f"{plural(len(runs), kind[:-1])} told apart, {nearest}"
    return Proof(f"tables, {kind}", error, note)


def _crashed(runs: Iterable[_Run]) -> str:
    for run in runs:
        if run.tables is None:
            return f"{run.name} makes no table; every combination of options has to run"
    return ""


def _unmoved(runs: Sequence[_Run], recorded: Tables) -> Proof:
    """Prove that a change of the last bit in any function moves no cell."""
    worst = max(largest_gap(recorded, run.tables) for run in runs)
    error = ""
    if worst > ROUNDING:
        error = f"a cell moves by {worst:.1g}; choose experiments that are not chaotic"
    note = f"{plural(len(runs), 'function')} changed, cells move by {worst:.1g} or less"
    return Proof("tables, last bit", error, note)


def _cells_of(
    opened: _Open, known: dict[Combination, _Run], make: _Make, chosen: Combination
) -> Cells:
    """Return the cells of a combination for the solver; run an unknown one, and add it.

    Raises:
        InputError: it makes no table.
    """
    if chosen not in known:
        [known[chosen]] = make([opened.run(COMBINATIONS, chosen)])
    run = known[chosen]
    if run.tables is None:
        raise InputError(f"{run.name} makes no table")
    return list(_cells(run.tables).values())


def _make(
    task: Task,
    instance: Instance,
    sandbox: Sandbox,
    image: str,
    runs: Iterable[_Run],
    threads: int = 1,
) -> Iterator[_Run]:
    """Yield each run with its tables."""
    repo = task.golden_repo(instance)
    cases = table_cases(instance.tables)
    tests = instance.tests
    limits = Limits(tests.timeout_s, tests.memory_mb)
    modules = libraries_in(repo, cases) if threads == 1 else ()
    for run in runs:
        files = {**repo, **run.files}
        workspace = _workspace(instance, files, cases, threads)
        outcome = run_with_exclusive_retry(sandbox, image, workspace, limits, modules)
        tables = _tables_of(instance, outcome.stdout)
        yield run._replace(tables=tables, cpu_s=outcome.cpu_s or 0.0)


def _workspace(instance: Instance, files: Mapping[str, File], cases: bytes, threads: int) -> bytes:
    runs = [(name, 0) for name in instance.tables]
    limit_s = instance.tests.timeout_s
    return workspace_tar(files, cases, runs=runs, limit_s=limit_s, threads=threads)


def _tables_of(instance: Instance, stdout: bytes) -> Tables | None:
    """Return the tables of a run; None if one is missing or malformed."""
    try:
        tables = read_tables(read_frames(stdout), instance.instance_id)
    except (InputError, StreamError):
        return None
    return tables if tables.keys() == set(instance.tables) else None
