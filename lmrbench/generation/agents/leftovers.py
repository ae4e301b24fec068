"""Take an agent's answer, as a patch, and its records from its box. Nothing there can end a run.

Records go to a folder that holds nothing else, so they cannot replace those of the harness.
"""

import contextlib
import logging
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from lmrbench_data.base.errors import InfraError
from lmrbench_data.base.text import one_line
from lmrbench_data.loader import File
from lmrbench_evaluate.rebuild.patch import is_cache

from ..answer_patch import Answer, read_answer
from ..workspace import REPO
from .box import Box

#: A folder of the workspace in which an agent may leave its own records.
OWN_RECORDS = "trajectory"
#: Limit of all records of one agent.
MAX_RECORD_BYTES = 64 * 2**20
_log = logging.getLogger(__name__)


def take_leftovers(box: Box, before: Mapping[str, File], records: Path) -> Answer:
    """Take the answer and the records of an agent that is done.

    Args:
        before: the files of the masked repository.
        records: folder for the agent's own records; made if there are any.

    Raises:
        InfraError: the engine fails, or git is missing. As long as the engine knows the container,
            unreadable content in it is the agent's doing.
    """
    with tempfile.TemporaryDirectory(prefix="lmrbench-left-") as place:
        answer = _answer(box, before, Path(place))
        _keep_records(Path(place, OWN_RECORDS), records)
    return answer


def _answer(box: Box, before: Mapping[str, File], work: Path) -> Answer:
    """Copy the work folder out of the box, and compare its repository."""
    try:
        lost = box.copy_out(work)
        return read_answer(before, work / REPO, _in_repo(lost))
    except OverflowError as error:
        return Answer(problem=one_line(error))
    except Exception as error:
        if not box.is_there():
            raise InfraError(f"copying out of the container: {one_line(error)}") from error
        _log.warning("what an agent left cannot be read", exc_info=True)
        return Answer(problem=f"what the agent left cannot be read ({one_line(error)[:200]})")


def _in_repo(lost: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of the repository, by their names in it, without caches."""
    inside = {}
    for path, reason in lost.items():
        folder, _, name = path.partition("/")
        if folder == REPO and name and not is_cache(name):
            inside[name] = reason
    return inside


def _keep_records(source: Path, folder: Path) -> None:
    """Move records into a folder, as far as they fit."""
    size = 0
    for path in sorted(source.rglob("*")):
        if not path.is_file():
            continue
        size += path.stat().st_size
        target = folder / path.relative_to(source)
        if size <= MAX_RECORD_BYTES:
            with contextlib.suppress(OSError):  # a name that this machine does not allow
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.move(path, target)
