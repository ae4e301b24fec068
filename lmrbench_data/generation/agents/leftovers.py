"""Take an agent's answer, as a patch, and its records from its box. Nothing in the box can end a run.

The daemon's tar is read member by member. Records go to a folder that nothing else is kept in, so that they cannot take
the place of the harness's.
"""

import contextlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from lmrbench_evaluate.rebuild.patch import MAX_PATCH_BYTES

from ...base.errors import InfraError, LoadError
from ...base.text import one_line
from ...loader import File, check_path
from ..answer_patch import FILE, FOLDER, LINK, MAX_CHANGED_BYTES, Answer, Entry, TooMuchError, answer_of, read_left
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
    lost_records: list[str] = []
    try:
        with contextlib.closing(box.leftovers()) as entries:
            left = read_left(before, _repository(entries, records, lost_records))
    except (OverflowError, TooMuchError) as error:
        answer = Answer(problem=one_line(error))
    except Exception as error:
        if not box.is_there():
            raise InfraError(f"copying out of the container: {one_line(error)}") from error
        _log.warning("what an agent left cannot be read", exc_info=True)
        answer = Answer(problem=f"what the agent left cannot be read ({one_line(error)[:200]})")
    else:
        answer = answer_of(before, left)
    return answer._replace(left_out=(*answer.left_out, *lost_records[:_MAX_NAMED]))


def _repository(entries: Iterable[Entry], records: Path, lost_records: list[str]) -> Iterator[Entry]:
    """Yield the entries of the repository, and keep those of the records.

    The tar holds a file with several names under the first one only, which may be outside the repository.

    Raises:
        TooMuchError: the repository is gone.
    """
    contents: dict[str, bytes] = {}
    size = record_size = 0
    has_repository = False
    for entry in entries:
        top, _, name = entry.name.partition("/")
        if entry.kind == LINK:
            entry = _resolved(entry, contents.get(entry.target))
        elif entry.kind == FILE and entry.size <= MAX_PATCH_BYTES and size + entry.size <= MAX_CHANGED_BYTES:
            contents[entry.name] = entry.read()
            entry = _resolved(entry, contents[entry.name])
            size += entry.size
        if entry.name == REPO:
            has_repository = entry.kind == FOLDER
        elif top == REPO:
            yield entry._replace(name=name)
        elif top == OWN_RECORDS and entry.kind != FOLDER:
            record_size += entry.size
            if reason := _keep_record(records, name, entry, record_size):
                lost_records.append(f"{one_line(entry.name)[:100]} ({reason})")
    if not has_repository:
        raise TooMuchError("the repository is gone")


def _resolved(entry: Entry, data: bytes | None) -> Entry:
    """Return a file whose content has been read."""
    if data is None:
        return entry._replace(kind="another name of a file that was not taken")
    return entry._replace(kind=FILE, size=len(data), read=lambda: data)


def _keep_record(folder: Path, name: str, entry: Entry, size: int) -> str:
    """Write a record of any name below a folder; return why not."""
    if entry.kind != FILE:
        return "not a regular file"
    if size > MAX_RECORD_BYTES:
        return f"more than {MAX_RECORD_BYTES >> 20} MB of records"
    try:
        path = folder / check_path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.read())
    except (LoadError, UnicodeError):
        return "an unsafe name"
    except OSError as error:
        return str(error.strerror)
    return ""
