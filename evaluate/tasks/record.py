"""Record the expected outputs of a task: run its reference in the sandbox, keep what the cases return.

Recordings are cached by the content of everything that they depend on, so a rebuild with nothing changed runs nothing.
"""

import gzip
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...archive import gzip_bytes
from ...build import Recorded
from ...environments import load_environments
from ...errors import InputError
from ...paths import cache_folder
from ...tasks import Implementation, Task
from ..compare import ATOL, CHECKERS, RTOL
from ..decode import Frame, StreamError, decode, read_frames, read_json, write_frame
from ..sandbox import Ended, Limits, Sandbox, Say
from ..workspace import runner_sha256, workspace_tar


@dataclass
class Recorder:
    """Records references in one sandbox; hand it to `lmrbench_data.build.build_rows`.

    Attributes:
        sandbox: where references run.
        say: receives progress of image builds.
        cache: folder of recordings; None records everything anew and keeps nothing.
    """

    sandbox: Sandbox
    say: Say
    cache: Path | None = None

    def __call__(self, task: Task, implementation: Implementation) -> Recorded:
        """The recording of one instance, from the cache if nothing it depends on has changed.

        Raises:
            InputError: the reference raised, timed out or returned something that cannot be recorded.
        """
        where = f"{task.folder / implementation.tests.file}: {implementation.instance_id}"
        tag = load_environments(task.folder.parent)[task.environment].tag
        image = self.sandbox.prepare(tag, self.say)
        # An image is named by its tag, which is the hash of what it is built from; other machines have other digests.
        place = tag if self.sandbox.official else image
        tests = implementation.tests
        workspace = workspace_tar(
            task.repo, task.cases(implementation), runs=None, seeds=tests.seeds, limit_s=tests.timeout_s
        )
        key = hashlib.sha256(b"\0".join([workspace, runner_sha256().encode(), place.encode()])).hexdigest()
        stored = self.cache / f"{key}.bin" if self.cache else None
        frames = _read_stored(stored) if stored else []
        if frames:
            return _recorded(frames, tests.seeds, where)
        frames = self._run(image, workspace, implementation, where)
        recorded = _recorded(frames, tests.seeds, where)
        if stored:
            _write_atomically(stored, _pack(frames))
        return recorded

    def _run(self, image: str, workspace: bytes, implementation: Implementation, where: str) -> list[Frame]:
        tests = implementation.tests
        outcome = self.sandbox.run(image, workspace, Limits(tests.timeout_s, tests.memory_mb))
        if outcome.ended is not Ended.EXITED:
            limits = "raise tests.timeout_s or tests.memory_mb"
            raise InputError(f"{where}: the reference ended with {outcome.ended}; {limits}")
        try:
            frames = list(read_frames(outcome.stdout))
        except StreamError as error:
            raise InputError(f"{where}: the reference wrote into the runner's stream ({error})") from error
        for frame in frames:
            if frame.kind not in ("raised", "died"):
                continue
            place = f"case_{frame.case} seed {frame.seed}" if frame.case else "importing the cases"
            facts = read_json(frame.payload)
            said = f"raised {facts.get('type')}: {facts.get('message')}"
            what = said if frame.kind == "raised" else f"ended its process ({facts})"
            raise InputError(f"{where}: {place}: the reference {' '.join(what.split())[:500]}")
        return frames


def default_recorder(sandbox: Sandbox, say: Say) -> Recorder:
    """A recorder that caches in the user's cache folder."""
    return Recorder(sandbox, say, cache_folder() / "expected")


def record_seeds(
    row: Mapping[str, Any],
    golden_repo: Mapping[str, Any],
    sandbox: Sandbox,
    image: str,
    seeds: Sequence[int],
    *,
    timeout_scale: float = 1.0,
    threads: int = 1,
) -> list[Frame]:
    """Outputs of a row's golden file on these seeds: others than the published ones for `--fresh-seeds`.

    Args:
        timeout_scale: multiplies the row's time limit, which also grows with the number of seeds.
        threads: of numerical libraries.

    Raises:
        InputError: the golden file did not return an output for each case and seed.
    """
    cases = [case["name"] for case in row["tests"]["cases"]]
    runs = [(case, seed) for case in cases for seed in seeds]
    limit = row["tests"]["timeout_s"] * timeout_scale * max(1.0, len(seeds) / len(row["tests"]["seeds"]))
    workspace = workspace_tar(golden_repo, row_cases(row), runs=runs, limit_s=limit, threads=threads)
    outcome = sandbox.run(image, workspace, Limits(limit, row["tests"]["memory_mb"]))
    try:
        frames = list(read_frames(outcome.stdout))
    except StreamError:
        frames = []
    if [(frame.case, frame.seed) for frame in frames] != runs or any(frame.kind != "output" for frame in frames):
        where = f"{row['instance_id']}: the golden file"
        how = f"its sandbox ended with {outcome.ended} after {outcome.duration_s:.0f} s"
        raise InputError(f"{where} does not return on every one of the seeds {list(seeds)}: {how}; mend the task")
    return frames


def row_cases(row: Mapping[str, Any]) -> bytes:
    """The source of a row's cases."""
    from ...loader import read_archive

    return read_archive(row["tests_archive"])["cases.py"].data


def read_expected(row: Mapping[str, Any]) -> list[Frame]:
    """The recorded outputs of a row, in the order in which the cases run."""
    return list(read_frames(gzip.decompress(row["expected"])))


def _pack(frames: Sequence[Frame]) -> bytes:
    return gzip_bytes(b"".join(map(write_frame, frames)))


def _read_stored(path: Path) -> list[Frame]:
    """A recording of the cache; a damaged one counts as none."""
    try:
        return list(read_frames(gzip.decompress(path.read_bytes())))
    except (OSError, EOFError, zlib.error, StreamError):
        return []


def _recorded(frames: Sequence[Frame], seeds: Sequence[int], where: str) -> Recorded:
    if not frames or frames[0].kind != "listing":
        raise InputError(f"{where}: the cases could not be listed")
    cases = [_comparison(declared, where) for declared in json.loads(frames[0].payload)]
    if not cases:
        raise InputError(f"{where}: no case_<name>(seed) function; see CONTRIBUTING.md")
    outputs = frames[1:]
    expected = [(case["name"], seed) for case in cases for seed in seeds]
    if [(frame.case, frame.seed) for frame in outputs if frame.kind == "output"] != expected:
        raise InputError(f"{where}: the reference did not return once for each case and seed; see what it does")
    for frame in outputs:
        try:
            decode(frame.payload)  # what is published can be read back
        except StreamError as error:
            raise InputError(f"{where}: case_{frame.case} seed {frame.seed}: cannot be recorded: {error}") from error
    return Recorded(cases=cases, expected=_pack(outputs))


def _comparison(declared: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A case's comparison with its defaults spelled out, as the row publishes it."""
    checker = declared.get("checker")
    if checker is not None and checker not in CHECKERS:
        raise InputError(f"{where}: case_{declared['name']}: unknown checker {checker!r}; known: {', '.join(CHECKERS)}")
    exact = bool(declared.get("exact"))
    return {
        "name": declared["name"],
        "rtol": 0.0 if exact else float(declared.get("rtol", RTOL)),
        "atol": 0.0 if exact else float(declared.get("atol", ATOL)),
        "exact": exact,
        "unordered": bool(declared.get("unordered")),
        "sign_invariant": bool(declared.get("sign_invariant")),
        "checker": checker or "",
    }


def _write_atomically(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    os.replace(file.name, path)
