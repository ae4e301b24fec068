"""Grade a repository inside a container of another harness, and write the verdict as rewards.

    main() with the arguments TESTS REPO LOGS

TESTS is the exported folder `tests/`, REPO the repository that an agent has changed, LOGS the
folder for `reward.json` and `verdict.json`. The path to the verdict is that of `lmrbench
evaluate`; only the sandbox differs. If this process is root, tested code runs as another user,
which can read neither TESTS nor this process and cannot write to LOGS. It still shares the
container.
"""

import base64
import contextlib
import gzip
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from lmrbench_data.base.archive import gzip_bytes
from lmrbench_data.base.configurations import configuration_of
from lmrbench_data.base.errors import InfraError, LMRBenchError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.text import one_line
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import read_archive
from lmrbench_evaluate.rebuild.workspace import libraries_of
from lmrbench_evaluate.runner.walls import NOBODY
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.local import LocalSandbox
from lmrbench_evaluate.verdict.choices import PUBLISHED, STATED, counted_choices
from lmrbench_evaluate.verdict.evaluator import evaluate_repository, result_columns
from lmrbench_evaluate.verdict.verdict import Cause, Status, Verdict

from ..generation.answer_patch import TooMuchError, read_folder

ROW = "row.json.gz"
REWARDS = "reward.json"
VERDICT = "verdict.json"
#: Exit status of a failure of the machinery; no reward is written then.
_INFRA = 3

#: The columns that `evaluate_repository` reads; a row has those of its configuration. No verdict
#: needs the reference, which stays outside.
COLUMNS = (
    "instance_id",
    "repo_archive",
    "paper_text",
    "goal_file",
    "goal_function",
    "goals",
    "choices",
    "cpu_budget_s",
    "tests",
    "tests_archive",
    "expected",
    "docker_image",
    "row_sha256",
)
#: One more column: the libraries to load, which the reference's text decides.
_LIBRARIES = "libraries"
_BYTES = "base64"


def main() -> None:
    """Grade one repository; without a verdict, print one line and exit with status 3."""
    tests, repo, logs = map(Path, sys.argv[1:4])
    try:
        for name in (REWARDS, "reward.txt"):  # not ours, if there is no verdict
            (logs / name).unlink(missing_ok=True)
        row = read_row((tests / ROW).read_bytes())
        verdict = _grade(row, tests, repo, logs)
    except (LMRBenchError, OSError) as error:
        print(f"error: {one_line(error)}", file=sys.stderr)
        raise SystemExit(_INFRA) from None
    print(f"{row['instance_id']}: {verdict.reason(core=True) or 'reproduced'}")


def _grade(row: DatasetRow, tests: Path, repo: Path, logs: Path) -> Verdict:
    """Grade the repository and write the files; InfraError if there is no verdict."""
    # Nothing else in a container runs as `nobody`.
    user = NOBODY if os.geteuid() == 0 else None
    with _closed(tests), _closed(logs):
        with LocalSandbox(user=user) as sandbox:
            verdict = grade_folder(row, repo, sandbox)
        if verdict.status is Status.INFRA_ERROR:
            raise InfraError(verdict.detail)
        facts = json.dumps(verdict_facts(row, verdict), indent=1)
        write_atomically(logs / VERDICT, facts + "\n")
        write_atomically(logs / REWARDS, json.dumps(rewards(row, verdict)) + "\n")
    return verdict


def grade_folder(row: DatasetRow, folder: Path, sandbox: Sandbox) -> Verdict:
    """Return the verdict on a repository on disk; all that an agent left there is its answer.

    Args:
        row: from `read_row`.
    """
    modules = cast(Mapping[str, Any], row)[_LIBRARIES]
    try:
        left = read_folder(read_archive(row["repo_archive"]), folder)
    except TooMuchError as error:
        return Verdict.without_cases(Cause.NOT_APPLICABLE, str(error))
    return evaluate_repository(row, left.files, sandbox, row["docker_image"], modules)


def rewards(row: DatasetRow, verdict: Verdict) -> dict[str, float]:
    """Return the rewards: numbers, with the same names in all rows of a configuration.

    `reward` is 1 if the method is reproduced, else 0. `core_cases` is the share of core cases that
    passed. `robust` exists for single functions. `stated` and `published` are shares of the
    choices that say something: those that implement the option that the row's paper states or
    shows, and those that implement the published one instead.
    """
    numbers = {
        "reward": float(verdict.core_status is Status.PASSED),
        "core_cases": verdict.core_share,
    }
    configuration = configuration_of(row)
    if configuration.has_contract:
        numbers["robust"] = float(verdict.status is Status.PASSED)
    if configuration.is_altered:
        numbers |= _shares_of_choices(verdict)
    return numbers


def _shares_of_choices(verdict: Verdict) -> dict[str, float]:
    facts = {"choices": verdict.choices, "searches_table": verdict.searches_table}
    readings = [choice["reading"] for choice in counted_choices(facts)]
    total = max(1, len(readings))
    return {reading: readings.count(reading) / total for reading in (STATED, PUBLISHED)}


def verdict_facts(row: DatasetRow, verdict: Verdict) -> dict[str, Any]:
    """Return the whole verdict, with the keys of a row of results.jsonl."""
    names = {"instance_id": row["instance_id"], "row_sha256": row["row_sha256"]}
    return {**names, **result_columns(verdict, row), "log": verdict.log}


@contextlib.contextmanager
def _closed(folder: Path) -> Iterator[None]:
    """Keep other users out of a folder for a while; that of another owner stays unchanged."""
    mode = folder.stat().st_mode & 0o7777
    with contextlib.suppress(PermissionError):
        folder.chmod(0o700)
    try:
        yield
    finally:
        with contextlib.suppress(PermissionError):
            folder.chmod(mode)


def row_bytes(row: DatasetRow) -> bytes:
    """Return the columns that a verdict needs as gzipped JSON, for a container without Arrow."""
    columns: dict[str, Any] = {name: value for name, value in row.items() if name in COLUMNS}
    columns[_LIBRARIES] = libraries_of(row)
    text = json.dumps(columns, default=_encode, sort_keys=True)
    return gzip_bytes(text.encode("ascii"))


def _encode(value: bytes) -> dict[str, str]:
    return {_BYTES: base64.b64encode(value).decode("ascii")}


def read_row(data: bytes) -> DatasetRow:
    """Return a row from a file that this package wrote."""
    return cast(DatasetRow, json.loads(gzip.decompress(data), object_hook=_decode))


def _decode(value: dict[str, Any]) -> Any:
    return base64.b64decode(value[_BYTES]) if value.keys() == {_BYTES} else value
