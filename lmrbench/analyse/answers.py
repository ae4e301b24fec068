"""The answers that analyses count, with the verdicts of tests, judge and people.

They are the original's, or those of runs.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmrbench_data.base.text import plural
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_evaluate.judge.opinion import BEST_FIRST
from lmrbench_evaluate.predictions.prediction import AnswerKey
from lmrbench_evaluate.predictions.sources import BadRow
from lmrbench_evaluate.reports.agreement import majorities, match_labels
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.reports.report import make_report
from lmrbench_evaluate.reports.score_tables import column
from lmrbench_evaluate.reports.scores import ModelScore, answers_by_key
from lmrbench_evaluate.reports.tally import NOT_JUDGED, ScoredAnswer
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.levels import MISSING, Level, reaches
from lmrbench_evaluate.verdict.verdict import Status

from ..original import facts

if TYPE_CHECKING:
    import pandas as pd

#: The measure of the original's tests, which have one level.
UNIT_TESTS = "unit tests"
#: Raters beside the measures of the tests.
JUDGE, PEOPLE = "judge", "people"
#: The judge's label of an answer that cannot be judged (missing, malformed, too long): not a
#: category, but the answer counts in the judge's shares.
NOTHING = "nothing to judge"


@dataclass(frozen=True)
class Answers:
    """All answers of one analysis."""

    source: str
    measures: tuple[str, ...]
    """Measures of the tests, the leading one first."""
    frame: "pd.DataFrame"
    """One row for each answer: group (its row in tables: the model, with setting, track and run
    where there are several), instance_id, paper (only in the original's data, its number), is_there
    (False for an answer that the run lacks), and the label of each rater: `passed` or `failed` by
    the measures, a category or `NOTHING` by the judge, the category that most people gave; none
    without a verdict."""
    is_original: bool = False
    notes: Sequence[str] = ()
    """Remarks on the source of the answers."""


def original_answers() -> Answers:
    """Return the 168 answers of the original (labels.csv): 28 tasks, 3 models, 2 settings."""
    frame = facts.labels().rename(columns={"unit_test": UNIT_TESTS, "human": PEOPLE})
    frame["group"] = frame["model"] + ", " + frame["setting"]
    frame[UNIT_TESTS] = frame[UNIT_TESTS].map({"pass": "passed", "fail": "failed"})
    frame = frame.assign(paper=frame["paper"].astype(str), is_there=True)
    return Answers("the original's data (labels.csv)", (UNIT_TESTS,), frame, is_original=True)


def run_answers(
    runs: Sequence[str | Path],
    judge_model: str | None = None,
    annotations: Sequence[Annotation] = (),
    bad: Sequence[BadRow] = (),
) -> Answers:
    """Return the answers of run folders; an instance without an answer has passed nothing.

    Args:
        bad: rows of the file of annotations that could not be read.
    """
    scores = make_report([Path(run) for run in runs], judge_model=judge_model).scores
    matched = match_labels(annotations, answers_by_key(scores))
    people, split = majorities(matched.labels)
    frame = _frame(scores, people)
    ungraded = int((frame["outcome"] == Status.INFRA_ERROR).sum())
    remarks = [
        _remark(
            ungraded,
            "answer",
            "Incomplete: {} could not be graded (infra error); `lmrbench evaluate` tries again.",
        ),
        _remark(len(split), "answer", "People are split evenly on {}, left out of what they say."),
        _remark(
            len(matched.unknown), "label", "{} of answers that these runs do not have: left out."
        ),
        _remark(matched.ambiguous, "label", "{} that may mean several answers: left out."),
        _remark(len(bad), "row", "{} of labels could not be read: left out."),
    ]
    notes = [remark for remark in remarks if remark]
    return Answers(", ".join(map(str, runs)), tuple(map(str, Level)), frame, notes=notes)


def _frame(scores: Sequence[ModelScore], people: Mapping[AnswerKey, str]) -> "pd.DataFrame":
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for score in scores:
        rows += _rows(score, column(score, scores), people)
    frame = pd.DataFrame(rows)
    for level in Level:
        labels = [_test_label(outcome, level) for outcome in frame["outcome"]]
        frame[str(level)] = labels
    return frame


def _test_label(outcome: str, level: Level) -> str | None:
    if outcome == Status.INFRA_ERROR:
        return None
    return "passed" if reaches(outcome, level) else "failed"


def _remark(number: int, noun: str, text: str) -> str:
    return text.format(plural(number, noun)) if number else ""


def rows_of_runs(runs: Sequence[str | Path], dataset: str | None = None) -> list[DatasetRow]:
    """Return the rows that some runs were evaluated on.

    Args:
        dataset: the place of the dataset, if it has moved.
    """
    rows = list(RunFolder(Path(runs[0])).dataset_rows(dataset).values())
    for run in runs[1:]:
        RunFolder(Path(run)).dataset_rows(rows=rows)
    return rows


def _rows(
    score: ModelScore, group: str, people: Mapping[AnswerKey, str]
) -> Iterator[dict[str, Any]]:
    """Yield the answers of a model, and a row for each that is missing.

    Every instance weighs the same, as in the report.
    """
    for instance in sorted(score.scope):
        missing = {
            "group": group,
            "instance_id": instance,
            "is_there": False,
            "outcome": MISSING,
            JUDGE: NOTHING,
            PEOPLE: None,
        }
        answers = score.answers.get(instance, [])
        for answer in answers:
            label = people.get(AnswerKey(instance, *score.key, answer.sample))
            row = {"outcome": answer.outcome, JUDGE: _judge_label(answer), PEOPLE: label}
            yield {**missing, "is_there": True, **row}
        for _ in range(len(answers), score.samples):
            yield missing


def _judge_label(answer: ScoredAnswer) -> str | None:
    if answer.judged is None:
        return NOTHING if answer.status == Status.MALFORMED else None
    if answer.judged.startswith(NOT_JUDGED):
        return NOTHING
    return answer.judged if answer.judged in BEST_FIRST else None
