"""The answers that analyses count, with the verdicts of tests, judge and people: the original's, or those of runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lmrbench_evaluate.judge.category import BEST_FIRST
from lmrbench_evaluate.predictions.prediction import PredictionKey
from lmrbench_evaluate.predictions.sources import BadRow
from lmrbench_evaluate.reports.agreement import majorities, match_labels
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.reports.report import make_report
from lmrbench_evaluate.reports.score_tables import column
from lmrbench_evaluate.reports.scored_answer import NOT_JUDGED
from lmrbench_evaluate.reports.scores import ModelScore
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.levels import Level, reaches
from lmrbench_evaluate.verdict.verdict import Status

from ..base.text import counted
from ..dataset.rows import DatasetRow
from ..original import facts

#: The measure of the original's tests, which have one level.
UNIT_TESTS = "unit tests"
#: Raters beside the measures of the tests.
JUDGE, PEOPLE = "judge", "people"
#: The judge's label of an answer that cannot be judged (missing, malformed, too long): not a category, but the answer
#: counts in the judge's shares.
NOTHING = "nothing to judge"


@dataclass(frozen=True)
class RatedAnswer:
    """One answer and its verdicts."""

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
    """False for an answer that the run lacks."""

    def label(self, rater: str) -> str | None:
        """Return what a measure of the tests (`passed`, `failed`), the judge or people say; None without a verdict."""
        if rater in (JUDGE, PEOPLE):
            return self.judge if rater == JUDGE else self.people
        return {True: "passed", False: "failed", None: None}[self.passed[rater]]


@dataclass(frozen=True)
class Answers:
    """All answers of one analysis."""

    source: str
    measures: tuple[str, ...]
    """Measures of the tests, the leading one first."""
    rows: Sequence[RatedAnswer]
    is_original: bool = False
    notes: Sequence[str] = ()
    """Remarks on the source of the answers."""

    @property
    def groups(self) -> dict[str, list[RatedAnswer]]:
        """The answers by group, in order."""
        found: dict[str, list[RatedAnswer]] = {}
        for row in self.rows:
            found.setdefault(row.group, []).append(row)
        return found


def original_answers() -> Answers:
    """The 168 answers of the original's evaluation (labels.csv): 28 tasks, 3 models, 2 settings."""
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
        for label in facts.labels()
    ]
    return Answers("the original's data (labels.csv)", (UNIT_TESTS,), rows, is_original=True)


def run_answers(
    runs: Sequence[str | Path],
    judge_model: str | None = None,
    annotations: Sequence[Annotation] = (),
    bad: Sequence[BadRow] = (),
) -> Answers:
    """The answers of run folders; an instance without an answer counts as one that passed nothing.

    Args:
        judge_model: the judge whose judgements count (default: the last one).
        annotations: people's labels.
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
    rows = list(RunFolder(Path(runs[0])).dataset_rows(dataset).values())
    for run in runs[1:]:
        RunFolder(Path(run)).dataset_rows(rows=rows)
    return rows


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
