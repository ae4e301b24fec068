"""Import a clone of the original repository: its results, labels, sessions and tasks, and what is wrong with them."""

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..errors import ArgumentError
from ..progress import Progress
from ..version import __version__
from .catalogue import Catalogue, read_catalogue
from .clone import Clone, Problem, open_clone
from .humans import HumanLabel
from .judgements import Judgement
from .output import ImportFolder
from .results import Results, read_results
from .run_folders import SOURCE, annotation_lines, run_files
from .sessions import Trajectory, identify, read_events, read_session, session_folders
from .tasks import ImportedTasks, import_tasks, write_tasks

#: The setting of OpenHands sessions.
_AGENT = "openhands_agent"


@dataclass(frozen=True)
class TaskSummary:
    """What was imported of one task."""

    task: str
    function_index: int
    instance_id: str
    in_dataset: bool
    unit_tests: int
    judgements: int
    labels: int
    sessions: int
    problems: int
    """Of its paper's folder."""


@dataclass(frozen=True)
class ImportSummary:
    """What an import came to."""

    out: Path
    commit: str
    runs: list[str]
    labels: int
    sessions: int
    sessions_not_counted: int
    rows: int
    """Of the dataset."""
    tasks: list[TaskSummary] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For import.json."""
        return {**asdict(self), "out": str(self.out)}


def import_original(source: str | Path, out: str | Path, progress: Progress | None = None) -> ImportSummary:
    """Import a clone into a folder. The same call again writes the same files, and removes what is no longer there.

    Args:
        source: folder of the clone.
        out: folder that is written.
        progress: told of each session and each task.

    Raises:
        InputError: no clone is there.
        ArgumentError: `out` holds something else than an earlier import, or lies inside the clone.
    """
    progress = progress or Progress()
    out = Path(out)
    clone = open_clone(Path(source))
    if out.resolve().is_relative_to(clone.root.resolve()):
        raise ArgumentError("out", f"{out}: lies inside the clone; give a folder outside it")
    folder = ImportFolder(out)
    problems: list[Problem] = []
    catalogue = read_catalogue(clone, problems)
    version = f"0.0.0+{clone.commit[:12]}" if clone.commit else "0.0.0"
    results = read_results(clone, catalogue, problems)
    progress.start(len(session_folders(clone)) + len(catalogue.infos))
    trajectories = _read_sessions(clone, catalogue, problems, progress)
    imported = import_tasks(clone, catalogue, version, problems, progress)

    runs: list[str] = []
    keys = catalogue.expected.union(*(evaluation.answers for evaluation in results.evaluations))
    functions = {key: catalogue.functions[key] for key in sorted(keys)}
    for evaluation in results.evaluations:
        name = f"runs/{evaluation.setting}-{re.sub(r'[^a-zA-Z0-9._-]', '-', evaluation.model)}"
        name += f"-{len(runs)}" * (name in runs)
        runs.append(name)
        for file, content in run_files(evaluation, functions, version=version, commit=clone.commit).items():
            folder.write(f"{name}/{file}", content)
    if results.labels:
        folder.write("annotations.jsonl", annotation_lines(results.labels))
    if rows := _label_rows(results, problems):
        folder.write("labels.csv", _csv(rows))
    _write_sessions(folder, trajectories)
    write_tasks(folder, imported, version)
    problems = sorted(set(problems))
    summary = ImportSummary(
        out,
        clone.commit,
        runs,
        len(results.labels),
        sum(trajectory.counted for trajectory in trajectories),
        sum(not trajectory.counted for trajectory in trajectories),
        len(imported.rows),
        _tasks(catalogue, results, trajectories, imported, problems),
        problems,
    )
    record = summary.as_dict()
    del record["out"]  # the folder may move
    folder.close({"source": SOURCE, "harness_version": __version__, **record})
    return summary


def _read_sessions(clone: Clone, catalogue: Catalogue, problems: list[Problem], progress: Progress) -> list[Trajectory]:
    """The sessions of all models, un-named ones told by their task; one of each model and paper counts."""
    found: list[tuple[Trajectory, str]] = []
    for model, path in session_folders(clone):
        trajectory, task = read_session(clone, model, path, problems)
        if trajectory.events:
            found.append((trajectory, task))
        progress.step(model)
    given: dict[str, set[int]] = {}
    for trajectory, task in found:
        if trajectory.paper is not None and task:
            given.setdefault(task, set()).add(trajectory.paper)
    named = {task: min(papers) for task, papers in given.items() if len(papers) == 1}
    kept: list[Trajectory] = []
    counted: set[tuple[str, int]] = set()
    for trajectory, task in found:
        subject, where = f"{trajectory.model} session {trajectory.session}", clone.place(trajectory.folder)
        if not trajectory.counted:
            paper = identify(task, named, catalogue.infos)
            trajectory = trajectory._replace(paper=paper)
            about = "its task is not known" if paper is None else f"its task is that of paper {paper}"
            problems.append(Problem(subject, where, f"not named after a task ({about}): kept, and not counted"))
        elif (trajectory.model, trajectory.paper or 0) in counted:
            problems.append(Problem(subject, where, "a second session of this paper: kept, and not counted"))
            trajectory = trajectory._replace(counted=False)
        else:
            counted.add((trajectory.model, trajectory.paper or 0))
        kept.append(trajectory)
    return sorted(kept, key=lambda item: (item.model, item.paper or 0, not item.counted, item.session))


def _write_sessions(folder: ImportFolder, trajectories: Sequence[Trajectory]) -> None:
    """The events of each session, an index of them, and the actions of those that count."""
    index = []
    for trajectory in trajectories:
        name = f"trajectories/{trajectory.model}/{trajectory.session}.jsonl"
        events = "".join(f"{json.dumps(event)}\n" for event in read_events(trajectory))
        folder.write(name, events.encode("ascii"))
        index.append(
            {
                "model": trajectory.model,
                "setting": _AGENT,
                "session": trajectory.session,
                "paper": trajectory.paper,
                "counted": trajectory.counted,
                "events": len(trajectory.events),
                "actions": dict(trajectory.actions),
                "file": name,
            }
        )
    if index:
        folder.write("trajectories/index.jsonl", "".join(f"{json.dumps(row)}\n" for row in index).encode("ascii"))
    rows = [
        {"model": trajectory.model, "paper": trajectory.paper, **trajectory.actions}
        for trajectory in trajectories
        if trajectory.counted
    ]
    if rows:
        folder.write("actions.csv", _csv(rows))


def _label_rows(results: Results, problems: list[Problem]) -> list[dict[str, object]]:
    """The answers that judge and people labelled, in the columns of `facts.Label`."""
    evaluations = {(item.setting, item.model): item for item in results.evaluations}
    by_answer: dict[tuple[str, str, int, int], list[tuple[HumanLabel, str]]] = {}
    for label, function in results.labels:
        by_answer.setdefault(label[1:5], []).append((label, function.instance_id))
    rows: list[dict[str, object]] = []
    for (setting, model, paper, index), several in by_answer.items():
        label, instance_id = several[0]
        evaluation = evaluations.get((setting, model))
        judged = evaluation.judged.get((paper, index)) if evaluation else None
        if len({other.category for other, _ in several}) > 1:
            message = "people disagree on this answer: annotations.jsonl has them all, labels.csv none"
            problems.append(Problem(f"{model} ({setting})", instance_id, message))
        elif isinstance(judged, Judgement):
            test = evaluation.tests.get((paper, index)) if evaluation else None
            rows.append(
                {
                    "setting": setting,
                    "model": model,
                    "paper": paper,
                    "function_index": index,
                    "instance_id": instance_id,
                    "unit_test": "" if test is None else "pass" if test.status == "passed" else "fail",
                    "judge": judged.category,
                    "human": label.category,
                    "annotator": label.annotator,
                }
            )
    return rows


def _csv(rows: Sequence[Mapping[str, object]]) -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode("utf-8")


def _tasks(
    catalogue: Catalogue,
    results: Results,
    trajectories: Sequence[Trajectory],
    imported: ImportedTasks,
    problems: Sequence[Problem],
) -> list[TaskSummary]:
    in_dataset = {row["instance_id"] for row in imported.rows}
    found = []
    for key, function in sorted(catalogue.functions.items()):
        labels = sum(other == function for _, other in results.labels)
        tests = sum(key in evaluation.tests for evaluation in results.evaluations)
        judgements = sum(isinstance(item.judged.get(key), Judgement) for item in results.evaluations)
        described = any(info.paper == function.paper for info in catalogue.infos)
        if described or key in catalogue.expected or tests or judgements or labels:
            sessions = sum(item.counted and item.paper == function.paper for item in trajectories)
            told = sum(problem.subject == function.subject for problem in problems)
            there = function.instance_id in in_dataset
            counts = tests, judgements, labels, sessions, told
            found.append(TaskSummary(function.subject, function.index, function.instance_id, there, *counts))
    return found
