"""Tables of experiments: read them from a run, and prove that they single out the true options.

A table that another combination of options reproduces would be a wrong statement about the choices that its paper
leaves open. The same holds for a table that an unlisted option reproduces. *Outsiders* stand for such options: the
function of a choice with its result doubled, squared, negated or reversed. Hard and silent rows have more proofs
(`solver.py`); a change of the last bit must not move the table of a silent row.
"""

import itertools
import math
import operator
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.text import plural
from lmrbench_data.loader import File
from lmrbench_data.tasks.choices import with_options
from lmrbench_data.tasks.experiments import EASY, HARD, MARGIN, ROUNDING, SILENT, Tables, table_cases
from lmrbench_data.tasks.task import Instance, Task

from ..sandbox.base import Limits, Sandbox
from ..verdict.decode import Frame, StreamError, decode, read_frames
from ..verdict.evaluator import in_batches, run_batch
from .solver import Cells, Combination, exchanges, first_runs, hard_errors

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
            table = {str(row): {str(name): float(cell) for name, cell in cells["dict"]} for row, cells in rows}
        except (LookupError, TypeError, ValueError):
            raise InputError(f"{place} must return row label -> column -> number") from None
        if not all(math.isfinite(cell) for cells in table.values() for cell in cells.values()):
            raise InputError(f"{place}: a cell is not finite")
        tables[frame.case] = table
    return tables


def largest_gap(one: Tables, other: Tables) -> float:
    """Return the largest difference of two cells; infinite if the tables have other rows or columns."""
    cells, others = _cells(one), _cells(other)
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


@dataclass(frozen=True)
class _Run:
    """A repository whose tables are made."""

    kind: str
    """`truth`, `combinations`, `outsiders` or `last bit`."""
    name: str
    files: Mapping[str, File]
    chosen: Combination = ()
    """Empty for an outsider and a changed last bit."""


class _Open:
    """The open choices of an instance."""

    def __init__(self, task: Task, instance: Instance) -> None:
        by_name = {choice.name: choice for choice in task.choices}
        self.task, self.choices = task, [by_name[name] for name in instance.open]
        self.sizes = [len(choice.options) for choice in self.choices]
        self.truth = tuple(choice.options.index(instance.option_of(choice)) for choice in self.choices)

    def run(self, kind: str, chosen: Combination) -> _Run:
        """Return the run of a combination, named by the options that are not true."""
        options = {choice.name: choice.options[k] for choice, k in zip(self.choices, chosen, strict=True)}
        pairs = zip(options.items(), chosen, self.truth, strict=True)
        name = ", ".join(f"{name}={option}" for (name, option), k, true in pairs if k != true) or "true options"
        repo = with_options(self.task.repo, self.task.choices, options)
        paths = sorted({choice.file for choice in self.choices})
        return _Run(kind, name, {path: repo[path] for path in paths}, chosen)

    def others(self, instance: Instance) -> list[Combination]:
        """Return the combinations that are not true, the nearest ones first; a sample if there are too many."""
        every = itertools.product(*map(range, self.sizes))
        others = [chosen for chosen in sorted(every, key=self._distance) if chosen != self.truth]
        most = MAX_COMBINATIONS[instance.difficulty]
        if len(others) <= most:
            return others
        near = exchanges(self.sizes, self.truth)
        if instance.difficulty != EASY:  # the solver starts with these
            near += [chosen for chosen in first_runs(self.sizes) if chosen in others and chosen not in near]
        rest = [chosen for chosen in others if chosen not in near]
        return near + random.Random(instance.instance_id).sample(rest, most - len(near))

    def _distance(self, chosen: Combination) -> int:
        return sum(map(operator.ne, chosen, self.truth))


def count_runs(task: Task, instance: Instance) -> int:
    """Return how often `table_errors` runs the experiments."""
    return 1 + len(_planned(task, instance))


def table_errors(
    task: Task,
    instance: Instance,
    recorded: Tables,
    sandbox: Sandbox,
    image: str,
    *,
    finished: Callable[[], None] = lambda: None,
    every: bool = True,
) -> Iterator[tuple[str, str, str]]:
    """Make the tables of all combinations and outsiders; yield (name of the check, error or "", note).

    Args:
        recorded: tables that the paper reports.
        finished: called after each run of the experiments.
        every: also run the rest after a run that proves the tables ambiguous.
    """
    runs = _planned(task, instance)
    made: list[Tables | None] = []
    for run, (tables, _) in zip(runs, _make(task, instance, runs, sandbox, image), strict=True):
        made.append(tables)
        finished()
        if not every and run.kind in ("combinations", "outsiders") and _is_blind(recorded, tables):
            break
    repeated, others = made[:REPEATED], list(zip(runs, made, strict=False))[REPEATED:]
    yield "tables, repeated", _repeated_error(repeated, recorded), f"the same bits in {REPEATED} runs"
    [(threaded, cpu_s)] = _make(task, instance, runs[:1], sandbox, image, threads=2)
    finished()
    drift = math.inf if threaded is None else largest_gap(recorded, threaded)
    drifted = "" if drift <= ROUNDING else f"on two threads a cell differs by {drift:.1g}"
    yield "tables, two threads", drifted, "within the rounding"
    for kind in ("combinations", "outsiders"):
        own = [(run, tables) for run, tables in others if run.kind == kind]
        blind = [run.name for run, tables in own if _is_blind(recorded, tables)]
        crashed = [run.name for run, tables in own if tables is None and kind == "combinations"]
        error = ""
        if blind:
            error = f"{', '.join(blind[:3])} ({len(blind)} of {len(own)}): no cell differs by more than {MARGIN:g}"
        elif crashed:
            error = f"{crashed[0]} makes no table; every combination of options has to run"
        least = min((largest_gap(recorded, tables) for _, tables in own if tables is not None), default=math.inf)
        yield f"tables, {kind}", error, f"{plural(len(own), kind[:-1])} told apart, the nearest by {least:.2g}"
    if moved := [tables for run, tables in others if run.kind == "last bit"]:
        worst = max(math.inf if tables is None else largest_gap(recorded, tables) for tables in moved)
        error = f"a cell moves by {worst:.1g}; choose experiments that are not chaotic" if worst > ROUNDING else ""
        yield (
            "tables, last bit",
            error,
            f"{plural(len(moved), 'function')} changed, cells move by {worst:.1g} or less",
        )
    if instance.difficulty != EASY and len(made) == len(runs):
        opened = _Open(task, instance)
        known = dict(zip((run.chosen for run in runs), made, strict=True))

        def cells(combinations: Collection[Combination]) -> dict[Combination, Cells]:
            new = [opened.run("combinations", chosen) for chosen in combinations if chosen not in known]
            for run, (tables, _) in zip(new, _make(task, instance, new, sandbox, image), strict=True):
                known[run.chosen] = tables
            if lacking := [chosen for chosen in combinations if known[chosen] is None]:
                raise InputError(f"{opened.run('', lacking[0]).name} makes no table")
            return {
                chosen: [cell for _, cell in sorted(_cells(known[chosen] or {}).items())] for chosen in combinations
            }

        budget_s = instance.cpu_budget_s
        yield from hard_errors(
            opened.sizes, opened.truth, cells, seed=instance.instance_id, cpu_s=cpu_s, budget_s=budget_s
        )


def _planned(task: Task, instance: Instance) -> list[_Run]:
    """Return the runs of the true options, of the other combinations and of outsiders."""
    opened = _Open(task, instance)
    runs = [opened.run("truth", opened.truth)] * REPEATED
    runs += [opened.run("combinations", chosen) for chosen in opened.others(instance)]
    runs += _changed(opened, runs[0].files, "outsiders", OUTSIDERS, instance.equal_outsiders)
    if instance.difficulty == SILENT:
        runs += _changed(opened, runs[0].files, "last bit", LAST_BIT)
    return runs


def _is_blind(recorded: Tables, tables: Tables | None) -> bool:
    """Return whether no cell tells other options from the true ones."""
    return tables is not None and largest_gap(recorded, tables) <= MARGIN


def _changed(
    opened: _Open, files: Mapping[str, File], kind: str, changes: Mapping[str, str], equal: Collection[str] = ()
) -> Iterator[_Run]:
    """Yield the runs in which the function of a choice returns another result."""
    for choice in opened.choices:
        for how, expression in changes.items():
            wrapper = _WRAPPER.replace("{name}", choice.functions[0]).replace("{expression}", expression)
            text = files[choice.file].data + wrapper.encode()
            name = f"{choice.name} {how}"
            if name not in equal:
                yield _Run(kind, name, {**files, choice.file: files[choice.file]._replace(data=text)})


def _make(
    task: Task, instance: Instance, runs: Sequence[_Run], sandbox: Sandbox, image: str, *, threads: int = 1
) -> Iterator[tuple[Tables | None, float]]:
    """Yield the tables of each run, None for one that raised or ran out of time, and its CPU seconds (0 if unknown)."""
    for batch in in_batches(runs):
        outcome, streams = run_batch(
            task.golden_repo(instance),
            table_cases(instance.tables),
            [run.files for run in batch],
            [(name, 0) for name in instance.tables],
            Limits(instance.tests.timeout_s, instance.tests.memory_mb),
            sandbox,
            image,
            threads=threads,
        )
        for stream in streams:
            try:
                tables = read_tables(list(read_frames(stream)), instance.instance_id)
            except (InputError, StreamError):
                tables = {}
            yield tables if tables.keys() == {*instance.tables} else None, (outcome.cpu_s or 0.0) / len(batch)


def _repeated_error(made: Sequence[Tables | None], recorded: Tables) -> str:
    if any(tables is None for tables in made):
        return "the true options make no table within the limits"
    if any(tables != made[0] for tables in made):
        return "runs of the true options differ; remove what depends on the process"
    drift = largest_gap(recorded, made[0] or {})
    return "" if drift <= ROUNDING else f"a cell differs from the recorded one by {drift:.1g}; record again"
