"""Merge runs that share the work on one dataset, each on its own instances, into one run folder.

Results are copied unchanged, so each answer counts exactly once and nothing is evaluated again.
"""

import itertools
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError, InputError

from .folder import BENCHMARK, LOGS, RunFolder
from .writer import IDENTITY, RunWriter

#: The facts in which parts must agree; fresh seeds are drawn at random in each run.
_EQUAL = (*IDENTITY, "fresh_seeds")
#: The facts that a merged run takes from its first part.
_FIRST = (
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
    """Write a run folder with the predictions, results and logs of all parts; repeat to resume.

    Judgements stay behind: judge the merged run.

    Args:
        parts: run folders of the same dataset, harness and sandbox, on different instances.
        out: a new folder, or one that an earlier call has written.
        replace: whether answers of `out` that the parts lack or change are replaced.

    Raises:
        InputError: a part is not a run folder or damaged, parts differ, or two are on the same
            instance.
        ArgumentError: `out` holds something else, or other answers.
    """
    if out.resolve() in {path.resolve() for path in parts}:
        raise ArgumentError("out", f"{out}: is one of the runs to be merged; choose another name")
    folders = [RunFolder(path) for path in parts]
    facts = [folder.facts for folder in folders]
    _check_settings(parts, facts)
    _check_instances(parts, facts)
    with RunWriter.open(out, _merge_identity(facts)) as writer:
        _merge_files(folders, writer, replace)
        writer.update(**_merge_ends(facts))
    return writer.folder


def _merge_files(folders: Sequence[RunFolder], writer: RunWriter, replace: bool) -> None:
    answers = itertools.chain.from_iterable(folder.require_predictions() for folder in folders)
    keys = writer.take_predictions(answers, replace)
    writer.update(complete=False)
    for folder in folders:
        for row in folder.rows():
            writer.add_result(row)
        if (folder.path / LOGS).is_dir():
            shutil.copytree(folder.path / LOGS, writer.folder.path / LOGS, dirs_exist_ok=True)
    if writer.pending(keys):
        names = ", ".join(str(folder.path) for folder in folders if _lacks_results(folder))
        _log.warning("not complete: %s; re-run, or evaluate into the merged folder", names)
    else:
        writer.update(complete=True)


def _check_settings(parts: Sequence[Path], facts: Sequence[dict[str, Any]]) -> None:
    for path, part in zip(parts, facts, strict=True):
        for name in _EQUAL:
            if part.get(name) != facts[0].get(name):
                raise InputError(
                    f"{path} and {parts[0]} differ in {name};"
                    " only runs with equal settings can be merged"
                )


def _check_instances(parts: Sequence[Path], facts: Sequence[dict[str, Any]]) -> None:
    """Check that no instance is in two parts, because only one of two results can count."""
    owners: dict[str, Path] = {}
    for path, part in zip(parts, facts, strict=True):
        for name in sorted(part["scope"].keys() & owners.keys()):
            raise InputError(
                f"{path}: instance {name} is in {owners[name]}, too; name each run once"
            )
        owners |= dict.fromkeys(part["scope"], path)


def _merge_identity(facts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the facts that the merged run begins with."""
    identity = {name: facts[0][name] for name in _FIRST if name in facts[0]}
    for name in ("scope", "difficulties", "images"):
        identity[name] = {}
        for part in facts:
            identity[name] |= part.get(name, {})
    return identity


def _merge_ends(facts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the facts that the merged run ends with."""
    bad_rows: dict[str, None] = {}  # an ordered set
    for part in facts:
        bad_rows |= dict.fromkeys(part.get("bad_rows", ()))
    ends = [part["finished_at"] for part in facts if "finished_at" in part]
    return {
        "bad_rows": list(bad_rows),
        "started_at": min(part["started_at"] for part in facts),
        "finished_at": max(ends, default=None),
        "merged": [part["run_id"] for part in facts],
    }


def _lacks_results(folder: RunFolder) -> bool:
    """Return whether a run lacks results, even if it was complete before it was damaged."""
    answers = sum(1 for _ in folder.predictions)
    results = sum(1 for _ in folder.rows())
    # A run whose instances have no answer ends with an error and lacks nothing.
    return answers > 0 and (results < answers or not folder.facts.get("complete"))
