"""Take an agent's answer, as a patch, and its records from its box. Nothing in the box can end a run.

Records go to a folder that nothing else is kept in, so that they cannot take the place of the harness's.
"""

import logging
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ...base.errors import InfraError
from ...base.text import one_line
from ...loader import File
from ..answer_patch import Answer, TooMuchError, answer_of, is_passed_over, read_folder
from ..workspace import REPO
from .box import Box

#: A folder of the workspace in which an agent may leave records of its own.
OWN_RECORDS = "trajectory"
#: Limit of all records of one agent, and of the records that are named if they are left out.
MAX_RECORD_BYTES, _MAX_NAMED = 64 * 2**20, 5
_log = logging.getLogger(__name__)


def take_leftovers(box: Box, before: Mapping[str, File], records: Path) -> Answer:
    """Take the answer and the records of an agent that is done.

    Args:
        before: the files of the masked repository.
        records: folder for the agent's own records; made if there are any.

    Raises:
        InfraError: the engine fails, or git is missing. As long as the engine knows the container, unreadable content
            in it is the agent's doing.
    """
    lost: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="lmrbench-left-") as place:
        work = Path(place)
        try:
            lost = box.copy_out(work)
            answer = answer_of(before, read_folder(before, work / REPO, _below(REPO, lost)))
        except (OverflowError, TooMuchError) as error:
            answer = Answer(problem=one_line(error))
        except Exception as error:
            if not box.is_there():
                raise InfraError(f"copying out of the container: {one_line(error)}") from error
            _log.warning("what an agent left cannot be read", exc_info=True)
            answer = Answer(problem=f"what the agent left cannot be read ({one_line(error)[:200]})")
        lost_records = _below(OWN_RECORDS, lost) | _keep_records(work / OWN_RECORDS, records)
    lines = [f"{OWN_RECORDS}/{one_line(name)[:100]} ({why})" for name, why in lost_records.items()]
    return answer._replace(left_out=(*answer.left_out, *lines[:_MAX_NAMED]))


def _below(folder: str, names: Mapping[str, str]) -> dict[str, str]:
    """Return the entries below a folder of the workspace, without its name and without caches."""
    inner = {name.removeprefix(f"{folder}/"): why for name, why in names.items() if name.startswith(f"{folder}/")}
    return {name: why for name, why in inner.items() if not is_passed_over(name)}


def _keep_records(source: Path, folder: Path) -> dict[str, str]:
    """Move records into a folder; return those that do not fit, with the reason."""
    lost = {}
    size = 0
    for path in sorted(path for path in source.rglob("*") if path.is_file()):
        name = str(path.relative_to(source))
        size += path.stat().st_size
        if size > MAX_RECORD_BYTES:
            lost[name] = f"more than {MAX_RECORD_BYTES >> 20} MB of records"
            continue
        try:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, folder / name)
        except OSError as error:
            lost[name] = str(error.strerror)
    return lost
