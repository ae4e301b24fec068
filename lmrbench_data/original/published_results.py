"""Collect the original's results: unit tests and judgements of each setting and model, and people's labels."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..base.names import clean_name
from ..base.problems import Problem
from .catalogue import Catalogue, Function
from .clone import SETTINGS, Clone, UnreadableFile, clone_error, clone_warning
from .humans import HumanLabel, read_human_labels
from .judgements import FILE, PublishedJudgement, read_judgement
from .unit_tests import UnitTest, read_unit_tests

Key = tuple[int, int]
"""Paper and function index."""


@dataclass
class Evaluation:
    """The published results of one model in one setting."""

    setting: str
    model: str
    tests: dict[Key, UnitTest] = field(default_factory=dict)
    judged: dict[Key, PublishedJudgement | str] = field(default_factory=dict)
    """A text gives the reason why a file of the judge has no judgement."""

    @property
    def name(self) -> str:
        """Its name in messages: model and setting."""
        return f"{self.model} ({self.setting})"

    @property
    def answers(self) -> list[Key]:
        """All functions with a result of tests or judge."""
        return sorted(self.tests.keys() | self.judged.keys())


@dataclass
class Results:
    """The contents of `results/` without sessions."""

    evaluations: list[Evaluation] = field(default_factory=list)
    labels: list[tuple[HumanLabel, Function]] = field(default_factory=list)
    """Sorted by setting, model, paper, function and person."""


def read_results(clone: Clone, catalogue: Catalogue, problems: list[Problem]) -> Results:
    """The results of a clone; empty if it has none."""
    if clone.results is None:
        return Results()
    found: dict[tuple[str, str], Evaluation] = {}
    for setting, model, folder in _folders(clone, "unit_test_evaluation", problems):
        evaluation = found.setdefault((setting, model), Evaluation(setting, model))
        _read_tests(clone, folder / "results.txt", evaluation, catalogue, problems)
    for setting, model, folder in _folders(clone, "llm_as_a_judge_evaluation", problems):
        evaluation = found.setdefault((setting, model), Evaluation(setting, model))
        _read_judgements(clone, folder, evaluation, catalogue, problems)
    evaluations = [evaluation for _, evaluation in sorted(found.items()) if evaluation.answers]
    for evaluation in evaluations:
        if not evaluation.tests:
            message = "no unit-test results were published: its answers cannot be graded"
            problems.append(clone_warning(evaluation.name, "results/unit_test_evaluation", message))
    published = {key for evaluation in evaluations for key in evaluation.answers}
    for info in catalogue.infos if published else ():
        for index in range(len(info.implementations)):
            if (info.paper, index) not in published | catalogue.expected:
                message = f"no results of function {index} were published"
                problems.append(clone_warning(info.subject, clone.place(info.folder), message))
    labels = _read_labels(clone, catalogue, problems)
    labelled = {label[1:5] for label, _ in labels}
    for evaluation in evaluations if (clone.results / "human_evaluation").is_dir() else ():
        without = [key for key in evaluation.judged if (evaluation.setting, evaluation.model, *key) not in labelled]
        if without:
            message = f"{len(without)} of {len(evaluation.judged)} answers that the judge saw have no label of a person"
            problems.append(clone_warning(evaluation.name, "results/human_evaluation", message))
    return Results(evaluations, labels)


def _folders(clone: Clone, kind: str, problems: list[Problem]) -> Iterator[tuple[str, str, Path]]:
    """Yield (setting, model, folder) of one kind of results."""
    assert clone.results is not None
    for folder in sorted((clone.results / kind).glob("*/*")):
        if not folder.is_dir() or folder.name.startswith("."):
            continue
        setting = SETTINGS.get(folder.parent.name)
        try:
            model = clean_name(folder.name)
        except ValueError as error:
            problems.append(clone_error("", clone.place(folder), f"the model's name {error}; left out"))
            continue
        if setting is None:
            problems.append(clone_error("", clone.place(folder), f"unknown agent {folder.parent.name!r}; left out"))
        else:
            yield setting, model, folder


def _read_tests(
    clone: Clone, path: Path, evaluation: Evaluation, catalogue: Catalogue, problems: list[Problem]
) -> None:
    try:
        tests = read_unit_tests(clone.read_text(path), catalogue)
    except UnreadableFile as error:
        problems.append(clone_error(evaluation.name, clone.place(path), str(error)))
        return
    evaluation.tests = tests.verdicts
    for subject, message in tests.problems:
        problems.append(clone_error(subject or evaluation.name, clone.place(path), message))


def _read_judgements(
    clone: Clone, folder: Path, evaluation: Evaluation, catalogue: Catalogue, problems: list[Problem]
) -> None:
    for path in sorted(folder.glob("*_analysis.txt")):
        name = FILE.fullmatch(path.name)
        key = (int(name[1]), int(name[3])) if name else (0, 0)
        if name is None or key not in catalogue.functions:
            problems.append(clone_error(evaluation.name, clone.place(path), "about an unknown function; left out"))
            continue
        subject = catalogue.functions[key].subject
        if key in evaluation.judged:
            problems.append(clone_error(subject, clone.place(path), "a second judgement of the same answer; left out"))
            continue
        try:
            evaluation.judged[key] = read_judgement(clone.read_text(path))
        except UnreadableFile as error:
            evaluation.judged[key] = str(error)
            problems.append(clone_warning(subject, clone.place(path), f"{error}; it counts as a judge error"))
    for key in sorted(catalogue.expected - evaluation.judged.keys()):
        message = f"no judgement of function {key[1]}"
        problems.append(clone_warning(catalogue.functions[key].subject, clone.place(folder), message))


def _read_labels(clone: Clone, catalogue: Catalogue, problems: list[Problem]) -> list[tuple[HumanLabel, Function]]:
    assert clone.results is not None
    found: list[tuple[HumanLabel, Function]] = []
    for path in sorted((clone.results / "human_evaluation").glob("*.json")):
        try:
            read = read_human_labels(clone.read_json(path))
        except UnreadableFile as error:
            problems.append(clone_error("", clone.place(path), str(error)))
            continue
        problems += [clone_error("", clone.place(path), message) for message in read.problems]
        if read.shifted:
            message = f"its scale starts at 0: {len(read.labels)} labels are shifted by one"
            problems.append(clone_warning("", clone.place(path), message))
        for label in read.labels:
            function = catalogue.functions.get((label.paper, label.function_index))
            if function is None:
                what = f"paper {label.paper}, function {label.function_index}"
                problems.append(clone_error("", clone.place(path), f"a label of {what}, which is not known; left out"))
            else:
                found.append((label, function))
    order = {label[:5]: number for number, (label, _) in enumerate(found)}
    if len(order) < len(found):
        message = "two files hold labels of one person for one answer; the last file counts"
        problems.append(clone_warning("", "results/human_evaluation", message))
        found = [found[number] for number in sorted(order.values())]
    return sorted(found, key=lambda item: (*item[0][1:5], item[0].annotator))
