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
    instance_id: str
    labels: Mapping[str, str | None]
    """Rater → label: `passed` or `failed` by a measure of the tests, a category or `NOTHING` by the judge, the category
    that most people gave. None without a verdict."""
    paper: str = ""
    """Number of the paper in the original's data."""
    is_there: bool = True
    """False for an answer that the run lacks."""


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
        groups: dict[str, list[RatedAnswer]] = {}
        for row in self.rows:
            groups.setdefault(row.group, []).append(row)
        return groups


def original_answers() -> Answers:
    """The 168 answers of the original's evaluation (labels.csv): 28 tasks, 3 models, 2 settings."""
    frame = facts.labels()
    frame["group"] = frame["model"] + ", " + frame["setting"]
    tests = map({"pass": "passed", "fail": "failed", "": None}.get, frame["unit_test"])
    columns = frame["group"], frame["instance_id"], frame["paper"], tests, frame["judge"], frame["human"]
    rows = [
        RatedAnswer(group, instance, {UNIT_TESTS: test, JUDGE: judge, PEOPLE: people}, str(paper))
        for group, instance, paper, test, judge, people in zip(*columns, strict=True)
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
    ungraded = sum(row.labels[Level.REPRODUCED] is None for row in rows)
    remarks = [
        (ungraded, "answer", "Incomplete: {} could not be graded (infra error); `lmrbench evaluate` tries again."),
        (len(split), "answer", "People are split evenly on {}, left out of what they say."),
        (len(matched.unknown), "label", "{} of answers that these runs do not have: left out."),
        (matched.ambiguous, "label", "{} that may mean several answers: left out."),
        (len(bad), "row", "{} of labels could not be read: left out."),
    ]
    notes = [text.format(counted(number, noun)) for number, noun, text in remarks if number]
    return Answers(", ".join(map(str, runs)), tuple(map(str, Level)), rows, notes=notes)


def rows_of_runs(runs: Sequence[str | Path], dataset: str | None = None) -> list[DatasetRow]:
    """The rows that some runs were evaluated on.

    Args:
        dataset: where they are now, if they have moved.
    """
    rows = list(RunFolder(Path(runs[0])).dataset_rows(dataset).values())
    for run in runs[1:]:
        RunFolder(Path(run)).dataset_rows(rows=rows)
    return rows


def _rows(score: ModelScore, group: str, people: Mapping[PredictionKey, str]) -> Iterable[RatedAnswer]:
    for instance in sorted(score.scope):
        answers = score.answers.get(instance, [])
        for answer in answers:
            labels: dict[str, str | None] = {
                str(level): "passed" if reaches(answer.outcome, level) else "failed" for level in Level
            }
            if answer.status == Status.INFRA_ERROR:
                labels = dict.fromkeys(labels)
            judged = answer.judged or ""
            empty = judged.startswith(NOT_JUDGED) or (answer.status == Status.MALFORMED and not judged)
            labels[JUDGE] = judged if judged in BEST_FIRST else NOTHING if empty else None
            labels[PEOPLE] = people.get((instance, *score.key, answer.sample))
            yield RatedAnswer(group, instance, labels)
        for _ in range(len(answers), score.samples):  # every instance weighs the same, as in the report
            labels = {**dict.fromkeys(map(str, Level), "failed"), JUDGE: NOTHING, PEOPLE: None}
            yield RatedAnswer(group, instance, labels, is_there=False)
