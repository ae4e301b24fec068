"""Merge runs that share the work on one dataset, each on instances of its own, into one run folder.

Results are copied unchanged, so each answer counts exactly once and nothing is evaluated again.
"""

import itertools
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

from lmrbench_data.base.errors import ArgumentError, InputError

from .folder import BENCHMARK, LOGS, RunFolder
from .writer import IDENTITY, RunWriter

#: The facts in which parts must agree; fresh seeds are drawn at random in each run.
_EQUAL = tuple(name for name in (*IDENTITY, "fresh_seeds") if name != "scope")
#: The facts that a merged run has from its first part.
_KEPT = (
    *_EQUAL,
    "dataset",
    BENCHMARK,
    "benchmark_version",
    "official_sandbox",
    "limits",
    "predictions",
)
_log = logging.getLogger(__name__)


def merge_runs(parts: Sequence[Path], out: Path, *, replace: bool = False) -> RunFolder:
    """Write a run folder with the predictions, results and logs of all parts; repeat the call to resume.

    Judgements stay behind: judge the merged run.

    Args:
        parts: run folders of the same dataset, harness and sandbox, on different instances.
        out: a new folder, or one that an earlier call has written.
        replace: whether answers of `out` that the parts lack or change are replaced.

    Raises:
        InputError: a part is not a run folder or damaged, parts differ, or two are on the same instance.
        ArgumentError: `out` holds something else, or other answers.
    """
    folders = [RunFolder(path) for path in parts]
    if out.resolve() in {path.resolve() for path in parts}:
        raise ArgumentError("out", f"{out}: is one of the runs to be merged; choose another name")
    facts, owner = [folder.facts for folder in folders], dict[str, Path]()
    for path, part in zip(parts, facts, strict=True):
        for name in _EQUAL:
            if part.get(name) != facts[0].get(name):
                raise InputError(
                    f"{path} and {parts[0]} differ in {name}; only runs with equal settings can be merged"
                )
        if twice := sorted(owner.keys() & part["scope"].keys()):  # which result would count?
            raise InputError(
                f"{path}: instance {twice[0]} is in {owner[twice[0]]}, too; name each run once"
            )
        owner |= dict.fromkeys(part["scope"], path)
    identity = {name: facts[0][name] for name in _KEPT if name in facts[0]}
    for key in ("scope", "difficulties", "images"):
        identity[key] = {name: value for part in facts for name, value in part.get(key, {}).items()}
    with RunWriter.open(out, identity) as writer:
        answers = itertools.chain.from_iterable(folder.require_predictions() for folder in folders)
        keys = writer.take_predictions(answers, replace)
        writer.update(complete=False)
        for folder in folders:
            for row in folder.rows():
                writer.add_result(row)
            if (folder.path / LOGS).is_dir():
                shutil.copytree(folder.path / LOGS, out / LOGS, dirs_exist_ok=True)
        is_open = bool(writer.pending(keys))
        if is_open:
            open_parts = ", ".join(str(folder.path) for folder in folders if _is_open(folder))
            _log.warning("not complete: %s; re-run, or evaluate into the merged folder", open_parts)
        writer.update(
            complete=not is_open,
            bad_rows=list(dict.fromkeys(row for part in facts for row in part.get("bad_rows", ()))),
            started_at=min(part["started_at"] for part in facts),
            finished_at=max(
                (part["finished_at"] for part in facts if "finished_at" in part), default=None
            ),
            merged=[part["run_id"] for part in facts],
        )
    return writer.folder


def _is_open(folder: RunFolder) -> bool:
    """Return whether a run lacks results, even if it was complete before its files were damaged."""
    count = sum(1 for _ in folder.predictions)
    # A run whose instances have no answer ends with an error and lacks nothing.
    return count > 0 and not (
        folder.facts.get("complete") and sum(1 for _ in folder.rows()) == count
    )
