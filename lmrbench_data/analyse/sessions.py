"""Agents' sessions as counts of their actions, with their outcome: the original's, or those of runs."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_evaluate.predictions.prediction import UNSTATED, PredictionKey
from lmrbench_evaluate.predictions.sources import raw_rows
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.levels import Level, outcome, reaches
from lmrbench_evaluate.verdict.verdict import Status

from ..base.errors import ArgumentError, InputError
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
    labels = facts.labels().query("setting == 'openhands_agent' and unit_test != ''")
    passed = (labels["unit_test"] == "pass").groupby([labels["model"], labels["paper"]]).all().rename("passed")
    frame = facts.sessions().join(passed, on=["model", "paper"])
    frame["message"] += frame["think"]
    frame["run"] += frame["run_ipython"]
    frame[EXCLUDED] = frame["browse"] + frame["browse_interactive"]
    frame["session"] = frame["paper"].astype(str)
    note = "A session works on all functions of its paper, and has passed if the unit tests of all of them passed."
    source = "the original's sessions of OpenHands (actions.csv)"
    return Sessions(source, "unit tests", frame[["model", "session", "passed", *KINDS, EXCLUDED]], [note])


def run_sessions(
    paths: Sequence[str | Path], trajectories: Sequence[str | Path] = (), level: Level = Level.REPRODUCED
) -> Sessions:
    """The sessions of agents that some folders hold or were evaluated from.

    Args:
        paths: run folders of `lmrbench evaluate`, or folders of `lmrbench agent run` (then without outcomes).
        trajectories: where the sessions of run folders are, if the agents' folders have moved.
        level: the level that a session must reach to pass.

    Raises:
        InputError: a folder is neither, or no session is found.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    skipped: Counter[str] = Counter()
    for path in map(Path, paths):
        run = RunFolder(path)
        answers: Iterable[tuple[PredictionKey, bool | None, Sequence[Path]]]
        if not run.exists and (path / TRAJECTORIES).is_dir():
            answers = [(key, None, [path]) for key in _keys(path)]
        else:
            answers = _answers(run, [Path(place) for place in trajectories], level)
        for key, passed, folders in answers:
            place = _place(key, folders)
            actions = count_actions(place) if place else None
            if actions is None:
                skipped["its trajectory is in no known format" if place else "no trajectory"] += 1
            elif not actions.total() - actions[EXCLUDED]:
                skipped["its trajectory has no action"] += 1
            else:
                instance, model, setting, _, sample = key
                name = f"{model}, {setting.removeprefix(AGENT)}"
                counts = {kind: actions[kind] for kind in (*KINDS, EXCLUDED)}
                rows.append({"model": name, "session": f"{instance}-{sample}", "passed": passed, **counts})
    where = ", ".join(map(str, paths))
    if not rows:
        why = "; ".join(f"{counted(number, 'answer')}: {reason}" for reason, number in skipped.items())
        raise InputError(
            f"{where}: no session of an agent found ({why or 'no answer has a setting that begins with `agent:`'}); "
            "see `lmrbench agent run`"
        )
    notes = [f"Left out: {counted(number, 'answer')} ({reason})." for reason, number in sorted(skipped.items())]
    return Sessions(where, str(level), pd.DataFrame(rows), notes)


def _answers(
    run: RunFolder, trajectories: Sequence[Path], level: Level
) -> Iterator[tuple[PredictionKey, bool | None, list[Path]]]:
    """Yield the agents' answers of a run: key, outcome, and the agents' folders that have it."""
    if missing := [folder for folder in trajectories if not (folder / TRAJECTORIES).is_dir()]:
        raise ArgumentError(
            "trajectories", f"{missing[0]}: has no folder {TRAJECTORIES!r}; name one of an agent's runs"
        )
    source = run.facts.get("predictions")
    folders = [*trajectories, *([Path(source).parent] if isinstance(source, str) else []), run.path]
    keys = {folder: set(_keys(folder)) for folder in folders if (folder / TRAJECTORIES).is_dir()}
    for row in run.rows():
        if row["setting"].startswith(AGENT):
            key = row["instance_id"], row["model_name_or_path"], row["setting"], row["track"], row["sample"]
            reached = reaches(outcome(row["status"], row["core_status"]), level)
            passed = None if row["status"] == Status.INFRA_ERROR else reached
            yield key, passed, [folder for folder in keys if key in keys[folder]]


def _keys(folder: Path) -> Iterator[PredictionKey]:
    """The rows that an agent's folder holds."""
    path = folder / PREDICTIONS
    if not path.is_file():
        raise InputError(f"{folder}: has {TRAJECTORIES}, but no {PREDICTIONS} that says whose they are")
    for _, row in raw_rows(str(path)):
        if isinstance(row, Mapping) and isinstance(row.get("instance_id"), str):
            names = row["instance_id"], str(row.get("model_name_or_path", "")), str(row.get("setting", ""))
            sample = row.get("sample", 0)
            yield *names, str(row.get("track") or UNSTATED), sample if isinstance(sample, int) else 0


def _place(key: PredictionKey, folders: Sequence[Path]) -> Path | None:
    """Return the folder of a session; a stranger's run may contain any name of an instance."""
    name = f"{key[0]}-{key[-1]}"
    if "/" in name or name.startswith("."):
        return None
    return next((place for folder in folders if (place := folder / TRAJECTORIES / name).is_dir()), None)
