"""Rebuild a repository from a dataset row and a prediction, and pack it with the cases and the runner for the sandbox.

The workspace holds the masked repository with the answer applied, the cases and the runner. It never holds the golden
file, the expected outputs or the variants: a sandbox cannot leak files that it does not have.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from lmrbench_data.base.archive import tar_bytes
from lmrbench_data.base.child_calls import call_on_answer
from lmrbench_data.base.source import MalformedAnswerError, SourceError, python_text
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File, read_archive

from ..predictions.prediction import Prediction
from ..runner import runner_files
from ..sandbox.meter import wall_limit
from .answer import check_goal_file, splice_function
from .extract import MAX_ANSWER_BYTES
from .patch import apply_patch


def rebuild(row: DatasetRow, prediction: Prediction) -> dict[str, File]:
    """Return the files of the repository with the prediction applied; a child process parses the model's code.

    Raises:
        MalformedAnswerError: it cannot be applied, or leaves no goal function that can be parsed.
        InfraError: this machine cannot do it now.
    """
    masked = read_archive(row["repo_archive"])
    files, goal = dict(masked), row["goal_file"]
    if prediction.problem:
        raise MalformedAnswerError(prediction.problem)
    try:
        size = len(prediction.content.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise MalformedAnswerError(f"{prediction.form} is not valid Unicode: {error.reason}") from error
    if prediction.form == "model_patch":
        files = apply_patch(files, prediction.content)
    elif size > MAX_ANSWER_BYTES:
        raise MalformedAnswerError(f"{prediction.form} is larger than {MAX_ANSWER_BYTES} bytes")
    elif prediction.form == "function":
        masked_file = files[goal].data.decode("utf-8")
        new = call_on_answer(splice_function, masked_file, row["goal_function"], prediction.content)
        files[goal] = files[goal]._replace(data=new.encode("utf-8"))
    else:
        files[goal] = files[goal]._replace(data=prediction.content.encode("utf-8"))
    if goal not in files:
        raise MalformedAnswerError(f"the answer removes the goal file {goal}")
    changed = [name for name in files if name.endswith(".py") and files[name] != masked.get(name)]
    sources = {name: _source(name, files[name]) for name in sorted({goal, *changed})}
    if prediction.form != "function":  # a spliced file has been checked already
        call_on_answer(check_goal_file, goal, sources[goal], row["goal_function"])
    return files


def _source(name: str, file: File) -> str:
    """Return the text of a Python file that an answer changes."""
    try:
        return python_text(file.data)
    except SourceError as error:
        raise MalformedAnswerError(f"{name}: {error}") from None


def workspace_tar(
    repo: Mapping[str, File],
    cases: bytes,
    *,
    runs: Sequence[tuple[str, int]] | None,
    seeds: Sequence[int] = (),
    limit_s: float,
    answers: Sequence[Mapping[str, File]] = (),
    threads: int = 1,
) -> bytes:
    """Return the tar that the sandbox receives on stdin.

    Args:
        repo: files of the rebuilt repository.
        cases: source code of the cases.
        runs: (case, seed) in running order; None lists all cases and runs each with each of `seeds`.
        limit_s: CPU seconds of the run. The runner has somewhat higher limits of its own, in case the harness is gone.
        answers: files to try one set after the other in place of the repository's, each within an equal share of the
            time (`evaluator.evaluate_batch`); every set has the same paths.
        threads: threads of numerical libraries; more than one only to see whether a task depends on their number.
    """
    # The harness is always first, however rarely a busy machine lets it check.
    ends = {"limit_s": int(limit_s) + 10, "wall_s": int(10 * wall_limit(limit_s))}
    plan: dict[str, Any] = {"runs": runs, "seeds": list(seeds), **ends, "threads": threads}
    extra = {f"answers/{i}/{name}": file for i, files in enumerate(answers) for name, file in files.items()}
    if answers:
        plan["answers"] = [(str(i), limit_s / len(answers)) for i in range(len(answers))]
    harness = {f"harness/{name}": File(content) for name, content in runner_files().items()}
    files = {f"repo/{name}": file for name, file in repo.items()}
    return tar_bytes(
        {
            **files,
            **extra,
            **harness,
            "harness/plan.json": File(json.dumps(plan).encode("ascii")),
            "tests/cases.py": File(cases),
        }
    )
