"""The answers that analyses count: what tests, a judge and people say of each, in the original's data or in runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import ArgumentError
from ..evaluate.judge.category import BEST_FIRST
from ..evaluate.levels import Level, reaches
from ..evaluate.prediction_files import BadRow
from ..evaluate.predictions import PredictionKey
from ..evaluate.reports.agreement import majorities, match_labels
from ..evaluate.reports.annotations import Annotation
from ..evaluate.reports.report import make_report
from ..evaluate.reports.scores import NOT_JUDGED, ModelScore
from ..evaluate.reports.stats import wilson
from ..evaluate.reports.tables import column
from ..evaluate.runs.results import read_facts
from ..evaluate.verdict import Status
from ..loader import dataset_sha256, load_rows
from ..original import facts
from ..rows import DatasetRow
from ..text import counted

#: The record of an import of the original: a folder that has it is one.
IMPORT = "import.json"
#: The measure of the original's tests, which have one level.
UNIT_TESTS = "unit tests"
#: What the judge "says" of an answer that holds nothing to judge (missing, malformed, too long): no category, yet the
#: answer counts in the judge's shares.
NOTHING = "nothing to judge"


@dataclass(frozen=True)
class RatedAnswer:
    """One answer, and what each rater says of it."""

    group: str
    """Its row in tables: the model, with setting, track and run where there are several."""
    model: str
    setting: str
    instance_id: str
    paper: str
    """Number of the paper in the original's data; empty in runs."""
    sample: int
    passed: Mapping[str, bool | None]
    """By measure; None if there is no result."""
    judge: str | None
    """A category or `NOTHING`; None if the judge was not asked, or gave no answer."""
    people: str | None
    """The category that most people gave; None if there is none."""
    is_there: bool = True
    """False of one that an instance of the run's scope lacks."""


@dataclass(frozen=True)
class Answers:
    """All answers of one analysis."""

    source: str
    measures: tuple[str, ...]
    """Of the tests, the leading one first."""
    rows: Sequence[RatedAnswer]
    is_original: bool = False
    notes: Sequence[str] = ()
    """What a reader has to know of where they come from."""

    @property
    def groups(self) -> dict[str, list[RatedAnswer]]:
        """The answers by group, in order."""
        found: dict[str, list[RatedAnswer]] = {}
        for row in self.rows:
            found.setdefault(row.group, []).append(row)
        return found


@dataclass(frozen=True)
class Proportion:
    """A part of a whole. Samples of one instance are not independent: the interval rests on the instances."""

    part: int
    whole: int
    instances: int = field(repr=False)

    @classmethod
    def of(cls, hits: Iterable[tuple[str, bool]]) -> "Proportion":
        """Count hits, each with the instance that it belongs to."""
        every = list(hits)
        return cls(sum(hit for _, hit in every), len(every), len({name for name, _ in every}))

    @property
    def share(self) -> float | None:
        """From 0 to 1; None of nothing."""
        return self.part / self.whole if self.whole else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's, 95 %."""
        return wilson(self.share * self.instances if self.share is not None else 0, self.instances)


def original_answers(folder: Path | None = None) -> Answers:
    """The 168 answers of the original's evaluation (labels.csv): 28 tasks, 3 models, 2 settings.

    Args:
        folder: of an import of the original, whose answers are read instead.

    Raises:
        InputError: the folder has none, or its file is damaged.
    """
    rows = [
        RatedAnswer(
            f"{label.model}, {label.setting}",
            label.model,
            label.setting,
            label.instance_id,
            str(label.paper),
            0,
            {UNIT_TESTS: label.passed},
            label.judge,
            label.human,
        )
        for label in facts.labels(folder)
    ]
    return Answers(source_of("the original's data", "labels.csv", folder), (UNIT_TESTS,), rows, is_original=True)


def source_of(what: str, name: str, folder: Path | None) -> str:
    """How the original's data is called: the facts in the package, or those of an import."""
    return f"{what} ({folder / name if folder else name})"


def run_answers(
    runs: Sequence[str | Path],
    judge_model: str | None = None,
    annotations: Sequence[Annotation] = (),
    bad: Sequence[BadRow] = (),
) -> Answers:
    """The answers of run folders; an instance without an answer counts as one that passed nothing.

    Args:
        judge_model: whose judgements count, if a run was judged by several; the last one by default.
        annotations: what people said.
        bad: rows of their file that could not be read.

    Raises:
        InputError: no run folder, a damaged one, or runs on different datasets.
    """
    report = make_report([Path(run) for run in runs], judge_model=judge_model)
    scores = report.scores
    keys: list[PredictionKey] = [
        (instance, *score.key, answer.sample)
        for score in scores
        for instance, answers in score.answers.items()
        for answer in answers
    ]
    matched = match_labels(annotations, dict.fromkeys(keys))
    people, split = majorities(matched.labels)
    rows = [row for score in scores for row in _rows(score, column(score, scores), people)]
    unknown = len(matched.unknown)
    about = {
        "Incomplete: {} could not be graded (infra error); the same `lmrbench evaluate` tries again.": sum(
            None in row.passed.values() for row in rows
        ),
        "People are split evenly on {}, left out of what they say.": len(split),
    }
    notes = [text.format(counted(number, "answer")) for text, number in about.items() if number]
    if unknown:
        notes.append(f"{counted(unknown, 'label')} of answers that these runs do not have: left out.")
    if matched.ambiguous:
        notes.append(f"{counted(matched.ambiguous, 'label')} that may mean several answers: left out.")
    if bad:
        notes.append(f"{counted(len(bad), 'row')} of labels could not be read: left out.")
    return Answers(", ".join(map(str, runs)), tuple(map(str, Level)), rows, notes=notes)


def rows_of_runs(runs: Sequence[str | Path], dataset: str | None = None) -> list[DatasetRow]:
    """The rows that some runs were evaluated on.

    Args:
        dataset: where they are now, if they have moved.

    Raises:
        InputError: no run folder, or the dataset has changed since.
        LoadError: there is no such dataset.
    """
    every = [read_facts(Path(run)) for run in runs]
    spec = dataset or every[0]["dataset"]
    rows = load_rows(spec)
    for run, of_run in zip(runs, every, strict=True):
        if dataset_sha256(rows) != of_run["dataset_sha256"]:
            raise ArgumentError(
                "dataset", f"{run} was evaluated on other rows than {spec!r} has; name the one it was on"
            )
    return list(rows)


def _rows(score: ModelScore, group: str, people: Mapping[PredictionKey, str]) -> Iterable[RatedAnswer]:
    for instance in sorted(score.scope):
        answers = score.answers.get(instance, [])
        for answer in answers:
            infra = answer.status == Status.INFRA_ERROR
            passed = {str(level): None if infra else reaches(answer.outcome, level) for level in Level}
            judged = answer.judged or ""
            empty = judged.startswith(NOT_JUDGED) or (answer.status == Status.MALFORMED and not judged)
            judge = judged if judged in BEST_FIRST else NOTHING if empty else None
            label = people.get((instance, *score.key, answer.sample))
            names = score.model, score.setting, instance, ""
            yield RatedAnswer(group, *names, answer.sample, passed, judge, label and str(label))
        for sample in range(len(answers), score.samples):  # every instance weighs the same, as in the report
            none = dict.fromkeys(map(str, Level), False)
            yield RatedAnswer(
                group, score.model, score.setting, instance, "", sample, none, NOTHING, None, is_there=False
            )
