"""Rebuild a repository from a dataset row and a prediction, and pack it with the cases and the runner for the sandbox.

What goes in: the masked repository with the answer applied, the cases, the runner. Never the golden file, the expected
outputs or the variants: a sandbox cannot leak what it does not have.
"""

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..archive import read_tree, tar_bytes
from ..errors import LMRBenchError
from ..loader import File, LoadError, read_archive, write_files
from ..rows import DatasetRow
from ..source import SourceError, find_function
from .answer import splice_function
from .extract import MAX_ANSWER_BYTES, MalformedAnswer
from .predictions import Prediction
from .runner import runner_files

MAX_REPO_BYTES = 64 * 1024 * 1024
MAX_PATCHED_FILES = 500
MAX_PATCHED_DEPTH = 32


def rebuild(row: DatasetRow, prediction: Prediction) -> dict[str, File]:
    """The files of the repository with the prediction applied.

    Raises:
        MalformedAnswer: it cannot be applied, or the goal function is not there (or not parsable) afterwards.
    """
    files = read_archive(row["repo_archive"])
    goal = row["goal_file"]
    try:
        if len(prediction.content.encode("utf-8")) > MAX_ANSWER_BYTES:
            raise MalformedAnswer(f"{prediction.form} is larger than {MAX_ANSWER_BYTES} bytes")
        if prediction.form == "function":
            masked = files[goal].data.decode("utf-8")
            new = splice_function(masked, row["goal_function"], prediction.content)
            files[goal] = files[goal]._replace(data=new.encode("utf-8"))
        elif prediction.form == "goal_file":
            files[goal] = files[goal]._replace(data=prediction.content.encode("utf-8"))
        else:
            files = apply_patch(files, prediction.content)
        if goal not in files:
            raise MalformedAnswer(f"the goal file {goal} is gone")
        find_function(files[goal].data.decode("utf-8"), row["goal_function"])
    except MalformedAnswer:
        raise
    except (SourceError, UnicodeError) as error:
        raise MalformedAnswer(f"{goal}: {error}") from error
    return files


def apply_patch(files: Mapping[str, File], patch: str) -> dict[str, File]:
    """Apply a unified diff with `git apply`, in a temporary folder that holds nothing but the repository.

    git refuses paths outside the folder and beyond symbolic links; links that a patch creates are refused here.

    Raises:
        MalformedAnswer: it does not apply, or creates something other than plain files of reasonable size.
    """
    # Compressed deltas of a few bytes can unfold to any size, and no answer to a task is a binary file.
    if re.search(r"^GIT binary patch$", patch, re.MULTILINE):
        raise MalformedAnswer("the patch holds binary files; only text can be patched")
    with tempfile.TemporaryDirectory(prefix="lmrbench-patch-") as name:
        folder = Path(name).resolve() / "repo"
        write_files(files, folder)
        # No repository, user configuration or hook of this machine takes part.
        env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "GIT_CEILING_DIRECTORIES": str(folder.parent),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "HOME": str(folder.parent),
            "LC_ALL": "C",
        }
        text = (patch if patch.endswith("\n") else patch + "\n").encode()
        try:
            _git_apply(text, folder, env)
        except MalformedAnswer as error:
            # Models miscount lines. Counted anew, though, `--- a/next_file` would read as a line that is removed.
            try:
                _git_apply(text, folder, env, "--recount")
            except MalformedAnswer:
                raise error from None
        if sum(path.lstat().st_size for path in folder.rglob("*")) > MAX_REPO_BYTES:
            raise MalformedAnswer(f"the patch makes the repository larger than {MAX_REPO_BYTES} bytes")
        try:
            return read_tree(folder)
        except (LMRBenchError, LoadError) as error:
            reason = str(error).replace(str(folder), "")
            raise MalformedAnswer(f"the patch leaves more than plain files: {reason}") from error


def _git_apply(patch: bytes, folder: Path, env: Mapping[str, str], *options: str) -> None:
    """Apply a patch as a whole or not at all."""
    _check_touched(_git(patch, folder, env, *options, "--numstat", "-z"))
    _git(patch, folder, env, *options)


def _git(patch: bytes, folder: Path, env: Mapping[str, str], *options: str) -> bytes:
    command = ["git", "apply", "--whitespace=nowarn", *options, "-"]
    try:
        done = subprocess.run(command, cwd=folder, env=env, input=patch, capture_output=True, timeout=60)
    except FileNotFoundError:
        raise LMRBenchError("predictions with model_patch need `git` on this machine's PATH") from None
    except subprocess.TimeoutExpired:
        raise MalformedAnswer("the patch took longer than 60 s to apply") from None
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git apply refused it"]
        raise MalformedAnswer(f"the patch does not apply: {reason[0][:300]}")
    return done.stdout


def _check_touched(numstat: bytes) -> None:
    """Refuse a patch before it touches the disk: too many files, or folders too deep to walk through."""
    names = [entry.split(b"\t", 2)[2].decode("utf-8", "replace") for entry in numstat.split(b"\0") if entry]
    if len(names) > MAX_PATCHED_FILES:
        raise MalformedAnswer(f"the patch touches {len(names)} files, more than {MAX_PATCHED_FILES}")
    if deep := next((name for name in names if name.count("/") > MAX_PATCHED_DEPTH), None):
        raise MalformedAnswer(f"the patch makes more than {MAX_PATCHED_DEPTH} nested folders ({deep[:60]}...)")


def workspace_tar(
    repo: Mapping[str, File],
    cases: bytes,
    *,
    runs: Sequence[tuple[str, int]] | None,
    seeds: Sequence[int] = (),
    limit_s: float,
    answers: Sequence[bytes] = (),
    goal_file: str = "",
    threads: int = 1,
) -> bytes:
    """The tar that the sandbox gets on stdin.

    Args:
        repo: files of the rebuilt repository.
        cases: source of the cases.
        runs: (case, seed) in the order in which they run; None lists all cases and runs each with each of `seeds`.
        limit_s: when the runner ends by itself, should the harness be gone by then.
        answers: goal files that are tried one after the other in place of `goal_file`, each within an equal share of
            the time (`evaluator.evaluate_batch`).
        threads: of numerical libraries; other than one only to see whether a task depends on it.
    """
    plan: dict[str, Any] = {"runs": runs, "seeds": list(seeds), "limit_s": int(limit_s) + 10, "threads": threads}
    # With `.py`: the runner loads the libraries that such files import before it starts a case.
    extra = {f"answers/{number}.py": File(content) for number, content in enumerate(answers)}
    if answers:
        plan |= {"goal_file": goal_file, "answers": [(str(i), limit_s / len(answers)) for i in range(len(answers))]}
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
