"""Agents' sessions as counts of their actions, with their outcome: the original's, or those of runs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_evaluate.predictions.prediction import UNSTATED, AnswerKey
from lmrbench_evaluate.predictions.sources import raw_rows
from lmrbench_evaluate.runs.folder import FACTS, RunFolder
from lmrbench_evaluate.verdict.levels import Level, outcome, reaches
from lmrbench_evaluate.verdict.verdict import Status

from ..base.errors import InputError
from ..base.text import counted
from ..generation.agents.agent_runs import PREDICTIONS, TRAJECTORIES
from ..original import facts
from .trajectories import EXCLUDED, KINDS, count_actions

if TYPE_CHECKING:
    import pandas as pd

#: Prefix of the settings of agents' rows.
AGENT = "agent:"


@dataclass(frozen=True)
class Sessions:
    """The sessions of one analysis."""

    source: str
    outcome: str
    """The criterion for `passed`."""
    frame: "pd.DataFrame"
    """One row for each session: model (in runs with the agent's name), session (instance and sample; in the original
    the paper, all of whose functions it works on), passed (True, False or None) and the number of actions by kind."""
    notes: Sequence[str] = ()


def original_sessions() -> Sessions:
    """The 66 named sessions of OpenHands that the original published (actions.csv)."""
    frame = facts.sessions()
    frame["session"] = frame["paper"].astype(str)
    note = "A session works on all functions of its paper, and has passed if the unit tests of all of them passed."
    source = "the original's sessions of OpenHands (actions.csv)"
    return Sessions(source, "unit tests", frame[["model", "session", "passed", *KINDS, EXCLUDED]], [note])


def has_sessions(folder: Path) -> bool:
    """Whether a folder was written by `lmrbench agent run`."""
    return (folder / TRAJECTORIES).is_dir()


def run_sessions(paths: Sequence[str | Path], level: Level = Level.REPRODUCED) -> Sessions:
    """The sessions of agents that some folders hold or were evaluated from.

    Args:
        paths: run folders of `lmrbench evaluate`, which have the outcomes, and folders of `lmrbench agent run`, which
            have the trajectories. One finds the other, unless it was moved: then name both.
        level: the level that a session must reach to pass.

    Raises:
        InputError: a folder is neither, or no session is found.
    """
    import pandas as pd

    named = [Path(path).resolve() for path in paths]
    agents = [path for path in named if has_sessions(path)]
    runs = [RunFolder(path) for path in named if path not in agents or RunFolder(path).exists]
    runs += [run for path in agents for run in _runs_beside(path)]
    outcomes = {key: passed for run in runs for key, passed in _outcomes(run, level)}
    folders = dict.fromkeys([*agents, *(place for run in runs if has_sessions(place := _source(run)))])
    trajectories = {key: folder for folder in folders for key in _keys(folder) if folder in agents or key in outcomes}
    rows: list[dict[str, Any]] = []
    skipped: Counter[str] = Counter()
    for key in dict.fromkeys([*trajectories, *outcomes]):
        record = _place(key, trajectories.get(key))
        actions = count_actions(record) if record else None
        if actions is None:
            skipped["its trajectory is in no known format" if record else "no trajectory"] += 1
        elif not actions.total() - actions[EXCLUDED]:
            skipped["its trajectory has no action"] += 1
        else:
            names = {
                "model": f"{key.model}, {key.setting.removeprefix(AGENT)}",
                "session": f"{key.instance_id}-{key.sample}",
            }
            counts = {kind: actions[kind] for kind in (*KINDS, EXCLUDED)}
            rows.append({**names, "passed": outcomes.get(key), **counts})
    where = ", ".join(map(str, paths))
    if not rows:
        why = "; ".join(f"{counted(number, 'answer')}: {reason}" for reason, number in skipped.items())
        raise InputError(
            f"{where}: no session of an agent found ({why or 'no answer has a setting that begins with `agent:`'}); "
            "name the folder of `lmrbench agent run` as well"
        )
    notes = [f"Left out: {counted(number, 'answer')} ({reason})." for reason, number in sorted(skipped.items())]
    return Sessions(where, str(level), pd.DataFrame(rows), notes)


def _source(run: RunFolder) -> Path:
    """Return the folder of the predictions that a run has evaluated."""
    return Path(str(run.facts.get("predictions"))).resolve().parent


def _runs_beside(folder: Path) -> Iterator[RunFolder]:
    """Yield the runs in the folder above that have evaluated these sessions."""
    for path in sorted(folder.parent.glob(f"*/{FACTS}")):
        run = RunFolder(path.parent)
        try:
            if _source(run) == folder:
                yield run
        except InputError:  # a damaged run that nobody has named
            continue


def _outcomes(run: RunFolder, level: Level) -> Iterator[tuple[AnswerKey, bool | None]]:
    """Yield the agents' answers of a run and whether they reach a level; None if they could not be graded."""
    for row in run.rows():
        if row["setting"].startswith(AGENT):
            key = AnswerKey.of(row).row
            reached = reaches(outcome(row["status"], row["core_status"]), level)
            yield key, None if row["status"] == Status.INFRA_ERROR else reached


def _keys(folder: Path) -> Iterator[AnswerKey]:
    """The rows that an agent's folder holds."""
    path = folder / PREDICTIONS
    if not path.is_file():
        raise InputError(f"{folder}: has {TRAJECTORIES}, but no {PREDICTIONS} that says whose they are")
    for _, row in raw_rows(str(path)):
        if isinstance(row, Mapping) and isinstance(row.get("instance_id"), str):
            names = row["instance_id"], str(row.get("model_name_or_path", "")), str(row.get("setting", ""))
            sample = row.get("sample", 0)
            yield AnswerKey(*names, str(row.get("track") or UNSTATED), sample if isinstance(sample, int) else 0)


def _place(key: AnswerKey, folder: Path | None) -> Path | None:
    """Return the folder of a session; a stranger's run may contain any name of an instance."""
    name = f"{key.instance_id}-{key.sample}"
    if folder is None or "/" in name or name.startswith("."):
        return None
    place = folder / TRAJECTORIES / name
    return place if place.is_dir() else None
