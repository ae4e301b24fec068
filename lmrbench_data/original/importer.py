"""Import a clone of the original repository: results, labels, sessions and answers, and their problems."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lmrbench_evaluate.judge.judgement_log import FILE as JUDGEMENTS

from ..base.errors import ArgumentError
from ..base.problems import Problem
from ..base.progress import Progress
from ..base.version import __version__
from ..dataset.build import FILES, write_dataset
from ..dataset.rows import DatasetRow
from ..loader import dataset_sha256, recordings_sha256
from ..tasks.manifest import Benchmark
from .answer_files import judgeable_answers, write_answers
from .answers import AGENT, Recovered, recover_answers
from .catalogue import Catalogue, read_catalogue
from .clone import Clone, clone_error, clone_warning, open_clone
from .goals import read_goals
from .humans import HumanLabel
from .import_folder import ImportFolder, csv_bytes
from .interfaces import Interface, compare_interfaces
from .judgements import PublishedJudgement
from .openhands import Trajectory, identify, read_events, read_session, session_folders
from .published_results import Results, read_results
from .run_folders import SOURCE, annotation_lines, run_files, with_other_judges
from .task_rows import build_rows, own_rows


@dataclass(frozen=True)
class TaskSummary:
    """Counts of one imported task."""

    task: str
    function_index: int
    instance_id: str
    unit_tests: int
    judgements: int
    labels: int
    sessions: int
    answers: int
    """Answers that were rebuilt."""
    is_evaluable: bool
    """True if the published reference has the interface of ours."""
    problems: int
    """Problems of its paper's folder."""


@dataclass(frozen=True)
class ImportSummary:
    """The result of an import."""

    out: Path
    commit: str
    runs: list[str]
    labels: int
    sessions: int
    sessions_not_counted: int
    answers: dict[str, int]
    """`Recovery` → number of answers."""
    evaluable: int
    """Rebuilt answers that our tests can evaluate."""
    tasks: list[TaskSummary] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """For import.json."""
        return {**asdict(self), "out": str(self.out)}


def import_original(source: str | Path, out: str | Path, progress: Progress | None = None) -> ImportSummary:
    """Import a clone into a folder. Repeating the call writes the same files and removes files that it no longer makes.

    Args:
        source: folder of the clone.
        out: folder that is written.
        progress: counts the sessions.

    Raises:
        InputError: not a clone.
        ArgumentError: `out` holds other files than an earlier import's, or is inside the clone.
    """
    progress = progress or Progress()
    out = Path(out)
    clone = open_clone(Path(source))
    if out.resolve().is_relative_to(clone.root.resolve()):
        raise ArgumentError("out", f"{out}: is inside the clone; give a folder outside it")
    folder = ImportFolder(out)
    problems: list[Problem] = []
    catalogue = read_catalogue(clone, problems)
    version = f"0.0.0+{clone.commit[:12]}" if clone.commit else "0.0.0"
    results = read_results(clone, catalogue, problems)
    progress.start(len(session_folders(clone)))
    trajectories = _read_sessions(clone, catalogue, problems, progress)
    goals = read_goals(clone, catalogue, problems)
    rows = build_rows(clone, goals, version, problems)
    dataset = _write_rows(folder, rows, version)

    runs: list[str] = []
    keys = catalogue.expected.union(*(evaluation.answers for evaluation in results.evaluations))
    functions = {key: catalogue.functions[key] for key in sorted(keys)}
    models = [item.model for item in results.evaluations if item.setting == AGENT and item.judged]
    recovered = recover_answers(clone, trajectories, goals, list(functions.values()), models)
    judgeable = judgeable_answers(recovered, {row["instance_id"] for row in rows})
    interfaces = compare_interfaces(goals, own_rows())
    evaluable = write_answers(folder, recovered, goals, interfaces, judgeable)
    for evaluation in results.evaluations:
        name = f"runs/{evaluation.setting}-{re.sub(r'[^a-zA-Z0-9._-]', '-', evaluation.model)}"
        name += f"-{len(runs)}" * (name in runs)
        runs.append(name)
        of_run = judgeable.get(evaluation.model, {}) if evaluation.setting == AGENT else {}
        files = run_files(evaluation, functions, of_run, dataset=dataset, version=version, commit=clone.commit)
        for file, content in files.items():
            mine = with_other_judges(out / name / file, content) if file == JUDGEMENTS else content
            folder.write(f"{name}/{file}", mine)
    if results.labels:
        folder.write("annotations.jsonl", annotation_lines(results.labels))
    if table := _label_rows(results, problems):
        folder.write("labels.csv", csv_bytes(table))
    _write_sessions(folder, clone, trajectories)
    problems = sorted(set(problems))
    summary = ImportSummary(
        out,
        clone.commit,
        runs,
        len(results.labels),
        sum(trajectory.counted for trajectory in trajectories),
        sum(not trajectory.counted for trajectory in trajectories),
        dict(Counter(str(item.recovery) for item in recovered)),
        evaluable,
        _tasks(catalogue, results, trajectories, recovered, interfaces, problems),
        problems,
    )
    record = summary.as_dict()
    del record["out"]  # the folder may move
    folder.close({"source": SOURCE, "harness_version": __version__, **record})
    return summary


def _read_sessions(clone: Clone, catalogue: Catalogue, problems: list[Problem], progress: Progress) -> list[Trajectory]:
    """The sessions of all models; unnamed ones are identified by their task. One of each model and paper counts."""
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
            problems.append(clone_warning(subject, where, f"not named after a task ({about}): kept, and not counted"))
        elif (trajectory.model, trajectory.paper or 0) in counted:
            problems.append(clone_warning(subject, where, "a second session of this paper: kept, and not counted"))
            trajectory = trajectory._replace(counted=False)
        else:
            counted.add((trajectory.model, trajectory.paper or 0))
        kept.append(trajectory)
    return sorted(kept, key=lambda item: (item.model, item.paper or 0, not item.counted, item.session))


def _write_sessions(folder: ImportFolder, clone: Clone, trajectories: Sequence[Trajectory]) -> None:
    """Write the events of each session, an index of them, and the actions of those that count."""
    index = []
    for trajectory in trajectories:
        name = f"trajectories/{trajectory.model}/{trajectory.session}.jsonl"
        events = "".join(f"{json.dumps(event)}\n" for event in read_events(clone, trajectory))
        folder.write(name, events.encode("ascii"))
        index.append(
            {
                "model": trajectory.model,
                "setting": AGENT,
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
        folder.write("actions.csv", csv_bytes(rows))


def _write_rows(folder: ImportFolder, rows: Sequence[DatasetRow], version: str) -> dict[str, str]:
    """Write the dataset for judging; return its facts for run.json."""
    if not rows:
        return {}
    place = folder.path / "dataset"
    benchmark = Benchmark(SOURCE, "LMR-Bench, the original release (imported)", version, "", "")
    write_dataset(rows, place, benchmark, imported_card="original_card.md")
    for name in FILES:
        if (place / name).is_file():
            folder.note(f"dataset/{name}")
    identity = {"dataset_sha256": dataset_sha256(rows), "recordings_sha256": recordings_sha256(rows)}
    return {"dataset": str(place), **identity}


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
            problems.append(clone_error(f"{model} ({setting})", instance_id, message))
        elif isinstance(judged, PublishedJudgement):
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


def _tasks(
    catalogue: Catalogue,
    results: Results,
    trajectories: Sequence[Trajectory],
    recovered: Sequence[Recovered],
    interfaces: Sequence[Interface],
    problems: Sequence[Problem],
) -> list[TaskSummary]:
    same = {item.instance_id for item in interfaces if item.is_same}
    found = []
    for key, function in sorted(catalogue.functions.items()):
        labels = sum(other == function for _, other in results.labels)
        tests = sum(key in evaluation.tests for evaluation in results.evaluations)
        judgements = sum(isinstance(item.judged.get(key), PublishedJudgement) for item in results.evaluations)
        described = any(info.paper == function.paper for info in catalogue.infos)
        if described or key in catalogue.expected or tests or judgements or labels:
            sessions = sum(item.counted and item.paper == function.paper for item in trajectories)
            told = sum(problem.subject == function.subject for problem in problems)
            answers = sum(item.function == function and item.text is not None for item in recovered)
            names = function.subject, function.index, function.instance_id
            counts = tests, judgements, labels, sessions, answers
            found.append(TaskSummary(*names, *counts, function.instance_id in same, told))
    return found
