"""Dependency recall: of the names that a reference takes from elsewhere, the share that an answer also uses.

SciReplicate-Bench reports this measure, for names of the same file, of other files and of libraries. It shows whether
an answer used the existing code, not whether it is right: another right answer may do without some of these names.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lmrbench_evaluate.predictions.prediction import Prediction, PredictionKey
from lmrbench_evaluate.rebuild.workspace import rebuild
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.reports.association import Mean, mean_by_cluster
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.levels import Level, outcome, reaches
from lmrbench_evaluate.verdict.verdict import Status

from ..base.progress import Progress
from ..base.source import MalformedAnswerError, SourceError
from ..dataset.rows import DatasetRow, ResultRow
from ..dataset.single_functions import only_functions
from ..loader import File, read_archive
from .errors.classes import ErrorClass
from .errors.error_analysis import analyse_errors
from .used_names import Kind, Name, used_names

REPRODUCED, NOT_REPRODUCED = "reproduced", "not reproduced"
#: Groups of failed answers whose error class is known.
RETRIEVAL, OTHER = f"shows {ErrorClass.CROSS_FILE_RETRIEVAL}", "fails for other reasons"


class Recalled(NamedTuple):
    """An answer beside the reference."""

    run: str
    key: PredictionKey
    category: str
    reproduced: bool
    names: frozenset[Name]
    """Names that the reference uses."""
    used: frozenset[Name]
    """Names among them that the answer uses."""
    error: str = ""
    """`RETRIEVAL` or `OTHER`; empty if the reason is unknown or the answer passed."""

    @property
    def instance(self) -> str:
        """The instance id."""
        return self.key[0]

    @property
    def outcome(self) -> str:
        """`REPRODUCED` or `NOT_REPRODUCED`."""
        return REPRODUCED if self.reproduced else NOT_REPRODUCED

    @property
    def model(self) -> str:
        """The model, with its setting if it has one, and its track."""
        return f"{self.key[1]} ({', '.join(filter(None, self.key[2:4]))})"

    def recall(self, kind: Kind | None = None) -> float | None:
        """The share that the answer uses; None if the reference uses no name of this kind."""
        wanted = {name for name in self.names if kind in (None, name.kind)}
        return len(self.used & wanted) / len(wanted) if wanted else None


@dataclass
class DependencyRecall:
    """The recall of all answers of some runs."""

    answers: list[Recalled] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    """Answers without a recall, by reason."""

    def mean(self, answers: Iterable[Recalled], kind: Kind | None = None) -> Mean:
        """The mean over answers, with the percentile bootstrap over instances."""
        found = [(item, item.recall(kind)) for item in answers]
        values = [(value, item.instance) for item, value in found if value is not None]
        return mean_by_cluster([value for value, _ in values], [instance for _, instance in values])

    def by(self, key: str) -> dict[str, list[Recalled]]:
        """The answers by `outcome`, `model`, `category`, `error` or `instance`."""
        found: dict[str, list[Recalled]] = {}
        for item in self.answers:
            if name := getattr(item, key):
                found.setdefault(name, []).append(item)
        return dict(sorted(found.items()))

    def missed(self) -> list[tuple[str, Name, int, int]]:
        """Return (instance, name, answers that do not use it, answers), the most missed first."""
        found = []
        for instance, answers in self.by("instance").items():
            for name in sorted(answers[0].names):
                count = sum(name not in item.used for item in answers)
                found.append((instance, name, count, len(answers)))
        return sorted((item for item in found if item[2]), key=lambda item: (-item[2] / item[3], -item[2], item[0]))


def dependency_recall(
    runs: Sequence[Path],
    dataset: str | None = None,
    progress: Progress | None = None,
    annotations: Sequence[Annotation] = (),
) -> DependencyRecall:
    """The dependency recall of the answers of runs. No code is executed.

    Args:
        dataset: where the runs' dataset is now, if it has moved.
        progress: counts the answers, labelled `compared` or `left out`.
        annotations: people's error classes, which come before those of a model (`analyse_errors`).

    Raises:
        InputError: no run folder, a damaged one, or another dataset.
    """
    result, shown = DependencyRecall(), progress or Progress()
    work: list[tuple[Path, ResultRow, Prediction]] = []
    rows: dict[str, DatasetRow] = {}
    for run in runs:
        folder = RunFolder(run)
        rows |= folder.dataset_rows(dataset)
        only_functions(rows.values(), "dependency recall")
        predictions = {(*item.key, item.sha256): item for item in folder.predictions}
        for row in folder.rows():
            prediction = predictions.get((*_key(row), row["prediction_sha256"]))
            if prediction is None:
                result.left_out["its prediction is not there"] += 1
            else:
                work.append((run, row, prediction))
    shown.start(len(work))
    names: dict[tuple[str, str], frozenset[Name] | str] = {}
    why = {run: _why(run, annotations) for run in runs}
    for run, row, prediction in work:
        reached = outcome(row["status"], row["core_status"])
        dataset_row = rows[prediction.instance_id]
        wanted = _of_reference(dataset_row, names)
        found = _of_answer(dataset_row, prediction, names)
        if reached == Status.INFRA_ERROR:
            found = "infra error"
        elif not wanted:
            found = "the reference takes no name from elsewhere"
        if isinstance(found, str):
            result.left_out[found] += 1
            shown.step("left out")
            continue
        is_reproduced = reaches(reached, Level.REPRODUCED)
        error = "" if is_reproduced else why[run].get(prediction.key, "")
        result.answers.append(
            Recalled(str(run), prediction.key, row["category"], is_reproduced, wanted, wanted & found, error)
        )
        shown.step("compared")
    return result


def reference_names(row: DatasetRow) -> frozenset[Name]:
    """The names that the reference of an instance takes from elsewhere."""
    given = read_archive(row["repo_archive"])
    golden = {**given, row["goal_file"]: File(row["golden_file"].encode("utf-8"))}
    return used_names(golden, given, row["goal_file"], row["goal_function"])


def answer_names(row: DatasetRow, prediction: Prediction) -> frozenset[Name]:
    """The names that an answer takes from elsewhere.

    Raises:
        MalformedAnswerError: it cannot be applied.
        SourceError: its names cannot be resolved.
    """
    given = read_archive(row["repo_archive"])
    return used_names(rebuild(row, prediction), given, row["goal_file"], row["goal_function"])


def _of_reference(row: DatasetRow, known: dict[tuple[str, str], frozenset[Name] | str]) -> frozenset[Name]:
    key = row["instance_id"], ""
    if key not in known:
        known[key] = reference_names(row)
    found = known[key]
    assert not isinstance(found, str)
    return found


def _of_answer(
    row: DatasetRow, prediction: Prediction, known: dict[tuple[str, str], frozenset[Name] | str]
) -> frozenset[Name] | str:
    """Return the names of an answer, or why it has none; equal answers are parsed once."""
    key = row["instance_id"], prediction.sha256
    if key not in known:
        try:
            known[key] = answer_names(row, prediction)
        except MalformedAnswerError:
            known[key] = "malformed"
        except SourceError:
            known[key] = "cannot be taken apart"
    return known[key]


def _why(run: Path, annotations: Sequence[Annotation]) -> dict[PredictionKey, str]:
    """`RETRIEVAL` or `OTHER` for each failed answer whose error class is known."""
    answers = analyse_errors(run, annotations).classified
    retrieval = {item.key for item in answers if item.classes and ErrorClass.CROSS_FILE_RETRIEVAL in item.classes.all}
    return {item.key: RETRIEVAL if item.key in retrieval else OTHER for item in answers}


def _key(row: ResultRow) -> PredictionKey:
    return row["instance_id"], row["model_name_or_path"], row["setting"], row["track"], row["sample"]


def tables(found: DependencyRecall) -> list[tuple[str, tuple[list[str], list[list[str]]]]]:
    """Return the titles and tables that are not empty."""
    titles = {
        "outcome": "Dependency recall by outcome",
        "model": "By model",
        "category": "By category",
        "error": "Failed answers by error class",
    }
    made = []
    for key, title in titles.items():
        groups = found.by(key)
        rows = [[name, str(len(answers)), *_cells(found, answers)] for name, answers in groups.items()]
        if rows:
            made.append((title, ([key, "answers", "all names", *Kind], rows)))
    missed = [[where, name.name, str(name.kind), f"{count}/{of}"] for where, name, count, of in found.missed()[:20]]
    if missed:
        made.append(
            ("Names of the reference that answers do not use", (["instance", "name", "from", "without it"], missed))
        )
    return made


def _cells(found: DependencyRecall, answers: Sequence[Recalled]) -> list[str]:
    return [_cell(found.mean(answers, kind), len(answers)) for kind in (None, *Kind)]


def _cell(mean: Mean, answers: int) -> str:
    if mean.value is None:
        return "-"
    interval = f" ({mean.interval[0]:.2f} - {mean.interval[1]:.2f})" if mean.interval else ""
    return f"{mean.value:.2f}{interval}" + ("" if mean.items == answers else f", n={mean.items}")


def as_dict(found: DependencyRecall) -> dict[str, Any]:
    """All numbers, and each answer."""
    groups = {
        key: {
            name: {str(kind or "all"): found.mean(answers, kind)._asdict() for kind in (None, *Kind)}
            for name, answers in found.by(key).items()
        }
        for key in ("outcome", "model", "category", "error")
    }
    return {
        **groups,
        "left_out": dict(found.left_out),
        "missed": [
            {"instance_id": where, "name": name.name, "from": str(name.kind), "without": count, "answers": of}
            for where, name, count, of in found.missed()
        ],
        "answers": [
            {
                "run": item.run,
                **dict(zip(("instance_id", "model_name_or_path", "setting", "track", "sample"), item.key, strict=True)),
                "outcome": item.outcome,
                "recall": {str(kind or "all"): item.recall(kind) for kind in (None, *Kind)},
                "missed": sorted(name.name for name in item.names - item.used),
            }
            for item in found.answers
        ],
    }
