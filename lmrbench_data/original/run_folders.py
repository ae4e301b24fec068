"""Write the original's results as run folders and annotations, which reports read like our own.

A run says that it is imported and never official. Its dataset has an identity of its own, so that no table holds it
beside a run on our tasks. The original has one level: what passes is both reproduced and robust.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..evaluate.judge.parse import Opinion
from ..evaluate.judge.store import FILE, Judge, JudgementFile, Vote, VoteKey
from ..evaluate.predictions import UNSTATED
from ..evaluate.runs.standing import IMPORTED
from ..evaluate.verdict import Status
from ..rows import ResultRow
from ..version import __version__
from .catalogue import Function
from .humans import HumanLabel
from .judgements import Judgement
from .results import Evaluation, Key
from .unit_tests import RULE, UnitTest

#: What the dataset of imported runs is called, and who reached their verdicts.
SOURCE = "lmr-bench-original"
#: The judge of imported runs. The files do not say which model it was, nor is the wording of its prompt at hand.
JUDGE = Judge(f"{SOURCE}-judge", "original")
_NO_TEST = UnitTest(Status.INFRA_ERROR, "the original published no unit-test result of this answer")


def run_files(
    evaluation: Evaluation, functions: Mapping[Key, Function], *, version: str, commit: str
) -> dict[str, bytes]:
    """The files of a run folder by name.

    Args:
        functions: all that the import has results of, or should have; the same for all of its runs.
        version: of the dataset, as reports show it.
        commit: of the clone; empty if it is not known.
    """
    facts = {
        "run_id": f"{SOURCE}-{evaluation.setting}-{evaluation.model}",
        "dataset": SOURCE,
        "dataset_sha256": _identity(functions.values()),
        "recordings_sha256": "",
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
    rows = [_row(evaluation, key, functions[key], facts) for key in evaluation.answers]
    files = {"run.json": json.dumps(facts, indent=2).encode() + b"\n", "results.jsonl": _lines(rows)}
    if evaluation.judged:
        files[FILE] = _judgements(evaluation, functions)
    return files


def annotation_lines(labels: Sequence[tuple[HumanLabel, Function]]) -> bytes:
    """People's labels as `lmrbench report --human` reads them."""
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
    """Identity of the original's tasks: their names. Other than any hash of rows, which are ours."""
    names = sorted(function.instance_id for function in functions)
    return hashlib.sha256("\n".join([SOURCE, *names]).encode()).hexdigest()


def _answer_sha256(evaluation: Evaluation, function: Function) -> str:
    """Stands for the hash of an answer that was not published: each has its own."""
    names = SOURCE, evaluation.setting, evaluation.model, function.instance_id
    return hashlib.sha256("\n".join(names).encode()).hexdigest()


def _row(evaluation: Evaluation, key: Key, function: Function, facts: dict[str, Any]) -> ResultRow:
    test = evaluation.tests.get(key, _NO_TEST)
    return {
        "run_id": facts["run_id"],
        "instance_id": function.instance_id,
        "category": function.category,
        "model_name_or_path": evaluation.model,
        "setting": evaluation.setting,
        "track": UNSTATED,
        "sample": 0,
        "prediction_sha256": _answer_sha256(evaluation, function),
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


def _judgements(evaluation: Evaluation, functions: Mapping[Key, Function]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with JudgementFile.open(Path(folder)) as file:
            for key, judged in sorted(evaluation.judged.items()):
                function = functions[key]
                answer = function.instance_id, _answer_sha256(evaluation, function), UNSTATED
                file.append(VoteKey(answer, JUDGE, 0), _vote(judged))
        return (Path(folder) / FILE).read_bytes()


def _vote(judged: Judgement | str) -> Vote:
    """What the original's judge said; what it took is not known."""
    if isinstance(judged, str):
        return Vote(error=judged, counted=False, judged_at="")
    return Vote(Opinion(judged.category, "", "", judged.rationale), counted=False, judged_at="")


def _lines(rows: Iterable[Any]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode("ascii")
