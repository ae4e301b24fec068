"""Write the original's results as run folders and annotations, which reports read like our own.

A run says that it is imported and never official. Its dataset has an identity of its own, so that no table holds it
beside a run on our tasks. A run whose answers were rebuilt has them, for judges and analyses. The original has one
level: an answer that passes is both reproduced and robust.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_evaluate.judge.judgement_log import FILE, JudgementLog, VoteKey
from lmrbench_evaluate.judge.parse import Opinion
from lmrbench_evaluate.judge.question_log import Judge, QuestionOutcome
from lmrbench_evaluate.predictions.prediction import UNSTATED, Prediction
from lmrbench_evaluate.runs.folder import FACTS, PREDICTIONS, RESULTS
from lmrbench_evaluate.runs.provenance import IMPORTED
from lmrbench_evaluate.verdict.verdict import Status

from ..base.version import __version__
from ..dataset.rows import ResultRow
from .catalogue import Function
from .humans import HumanLabel
from .judgements import PublishedJudgement
from .published_results import Evaluation, Key
from .unit_tests import RULE, UnitTest

#: Name of the imported runs' dataset and of the source of their verdicts.
SOURCE = "lmr-bench-original"
#: The judge of imported runs. The files do not name the model, and the wording of its prompt is not available.
JUDGE = Judge(f"{SOURCE}-judge", "original")
_NO_TEST = UnitTest(Status.INFRA_ERROR, "the original published no unit-test result of this answer")


def run_files(
    evaluation: Evaluation,
    functions: Mapping[Key, Function],
    answers: Mapping[Key, Prediction],
    *,
    dataset: Mapping[str, str],
    version: str,
    commit: str,
) -> dict[str, bytes]:
    """The files of a run folder by name.

    Args:
        functions: all for which the import has or should have results; the same for all of its runs.
        answers: those that were rebuilt and can be judged.
        dataset: `dataset`, `dataset_sha256` and `recordings_sha256` of the rows that they answer; empty if there are
            none.
        version: of the dataset, as reports show it.
        commit: of the clone; empty if it is not known.
    """
    facts = {
        "run_id": f"{SOURCE}-{evaluation.setting}-{evaluation.model}",
        **(dataset or {"dataset": SOURCE, "dataset_sha256": _identity(functions.values()), "recordings_sha256": ""}),
        "benchmark_version": version,
        "harness_version": __version__,
        "sandbox": SOURCE,
        "official_sandbox": False,
        "timeout_scale": 1.0,
        "fresh_seed_count": 0,
        "scope": {function.instance_id: function.category for function in functions.values()},
        "started_at": "",
        IMPORTED: {"source": SOURCE, "commit": commit, "verdicts": RULE},
        "complete": all(key in evaluation.tests for key in evaluation.answers),
    }
    hashes = {key: _answer_sha256(evaluation, functions[key], answers.get(key)) for key in evaluation.answers}
    rows = [_row(evaluation, key, functions[key], hashes[key], facts) for key in evaluation.answers]
    files = {FACTS: json.dumps(facts, indent=2).encode() + b"\n", RESULTS: _lines(rows)}
    if evaluation.judged:
        files[FILE] = _judgements(evaluation, functions, hashes)
    if answers:
        files[PREDICTIONS] = _lines(answers[key].as_row() for key in evaluation.answers if key in answers)
    return files


def with_other_judges(path: Path, own: bytes) -> bytes:
    """The original's judgements and, after them, those that others have made of the run since it was imported.

    Args:
        path: the existing file of judgements, if any.
    """
    if not path.is_file():
        return own
    others = []
    for line in path.read_bytes().splitlines(keepends=True):
        try:
            model = json.loads(line)["judge_model"]
        except (ValueError, LookupError, TypeError, RecursionError):
            continue  # cut short
        if model != JUDGE.model:
            others.append(line)
    return own + b"".join(others)


def annotation_lines(labels: Sequence[tuple[HumanLabel, Function]]) -> bytes:
    """People's labels as `lmrbench report --labels` reads them."""
    return _lines(
        {
            "annotator": label.annotator,
            "instance_id": function.instance_id,
            "model_name_or_path": label.model,
            "setting": label.setting,
            "track": UNSTATED,
            "category": str(label.category),
            "comment": label.comment,
        }
        for label, function in labels
    )


def _identity(functions: Iterable[Function]) -> str:
    """Return the identity of the original's tasks: a hash of their names, unlike any hash of our own rows."""
    names = sorted(function.instance_id for function in functions)
    return hashlib.sha256("\n".join([SOURCE, *names]).encode()).hexdigest()


def _answer_sha256(evaluation: Evaluation, function: Function, answer: Prediction | None) -> str:
    """The hash of an answer; for an answer that could not be rebuilt, a unique substitute."""
    if answer is not None:
        return answer.sha256
    names = SOURCE, evaluation.setting, evaluation.model, function.instance_id
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def _row(evaluation: Evaluation, key: Key, function: Function, sha256: str, facts: dict[str, Any]) -> ResultRow:
    test = evaluation.tests.get(key, _NO_TEST)
    return {
        "run_id": facts["run_id"],
        "instance_id": function.instance_id,
        "category": function.category,
        "model_name_or_path": evaluation.model,
        "setting": evaluation.setting,
        "track": UNSTATED,
        "sample": 0,
        "prediction_sha256": sha256,
        "status": str(test.status),
        "core_status": str(test.status),
        "detail": test.detail,
        "cases": [],
        "duration_s": 0.0,
        "sandbox": facts["sandbox"],
        "image_id": "",
        "dataset": facts["dataset"],
        "dataset_sha256": facts["dataset_sha256"],
        "recordings_sha256": facts["recordings_sha256"],
        "harness_version": facts["harness_version"],
        "started_at": facts["started_at"],
    }


def _judgements(evaluation: Evaluation, functions: Mapping[Key, Function], hashes: Mapping[Key, str]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with JudgementLog.open(Path(folder) / FILE) as file:
            for key, judged in sorted(evaluation.judged.items()):
                answer = functions[key].instance_id, hashes[key], UNSTATED
                file.append(VoteKey(answer, JUDGE, 0), _vote(judged))
        return (Path(folder) / FILE).read_bytes()


def _vote(judged: PublishedJudgement | str) -> QuestionOutcome[Opinion]:
    """The vote of the original's judge, whose cost is not known."""
    if isinstance(judged, str):
        return QuestionOutcome(error=judged, counted=False, asked_at="")
    return QuestionOutcome(Opinion(judged.category, "", "", judged.rationale), counted=False, asked_at="")


def _lines(rows: Iterable[Any]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode("ascii")
