"""Take an agent's answer, as a patch, and its records from its box. Nothing in the box can end a run.

The daemon's tar is read member by member. Files of the repository stay in memory until they are compared; records go to
a folder that nothing else is kept in, so that they cannot take the place of the harness's.
"""

import contextlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lmrbench_evaluate.rebuild.patch import MAX_PATCH_BYTES

from ...base.errors import InfraError, LoadError
from ...base.text import one_line
from ...loader import File, check_path
from ..changes import MAX_CHANGED_BYTES, Changes, TooMuchError
from ..workspace import REPO
from .box import FILE, FOLDER, LINK, Box, Leftover

#: A folder of the workspace in which an agent may leave records of its own.
OWN_RECORDS = "trajectory"
#: Limit of all records of one agent.
MAX_RECORD_BYTES = 64 * 2**20
_GONE = "the repository is gone"
_log = logging.getLogger(__name__)


@dataclass
class Taken:
    """The answer that an agent left in its box."""

    patch: str = ""
    problem: str = ""
    """The reason for a missing patch of an agent that ran."""
    left_out: list[str] = field(default_factory=list)
    """Files that are not part of the answer, each with the reason."""


def take_leftovers(box: Box, before: Mapping[str, File], records: Path) -> Taken:
    """Take the answer and the records of an agent that is done.

    Args:
        before: the files of the masked repository.
        records: folder for the agent's own records; made if there are any.

    Raises:
        InfraError: the engine fails, or git is missing. As long as the engine knows the container, unreadable content
            in it is the agent's doing.
    """
    changes, taken = Changes(before), Taken(problem=_GONE)
    keeper, beside = _Records(records, taken), _Beside()
    try:
        with contextlib.closing(box.leftovers()) as found:
            for item in found:
                top, _, name = item.name.partition("/")
                if item.name == REPO:
                    taken.problem = "" if item.kind == FOLDER else _GONE
                elif top == REPO:
                    _add(changes, name, item, beside)
                elif top == OWN_RECORDS and item.kind != FOLDER:
                    keeper.keep(name, item)
                else:
                    beside.keep(item)
    except (OverflowError, TooMuchError) as error:
        taken.problem = one_line(error)
    except Exception as error:
        if not box.is_there():
            raise InfraError(f"copying out of the container: {one_line(error)}") from error
        _log.warning("what an agent left cannot be read", exc_info=True)
        taken.problem = f"what the agent left cannot be read ({one_line(error)[:200]})"
    if not taken.problem:
        taken.patch = changes.patch()
    taken.left_out = [*changes.left_out, *taken.left_out]
    return taken


def _add(changes: Changes, name: str, item: Leftover, beside: "_Beside") -> None:
    if item.kind == FILE:
        changes.add_file(name, item.size, item.executable, item.read)
    elif item.kind == FOLDER:
        changes.add_folder(name)
    elif item.kind == LINK:
        top, _, first = item.target.partition("/")
        data = changes.content(first) if top == REPO else beside.contents.get(item.target)
        if data is None:
            changes.add_other(name, "another name of a file that was not taken")
        else:
            changes.add_file(name, len(data), item.executable, lambda: data)
    else:
        changes.add_other(name, item.kind)


class _Beside:
    """Files beside the repository: after `cp -al repo backup` the tar holds the content under the first name only."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}
        self._bytes = 0

    def keep(self, item: Leftover) -> None:
        """Remember a small file."""
        if item.kind == FILE and item.size <= MAX_PATCH_BYTES and self._bytes + item.size <= MAX_CHANGED_BYTES:
            self.contents[item.name] = item.read()
            self._bytes += item.size


class _Records:
    """Writes records of any name below one folder."""

    def __init__(self, folder: Path, taken: Taken) -> None:
        self._folder, self._taken, self._bytes, self._left_out = folder, taken, 0, 0

    def keep(self, name: str, item: Leftover) -> None:
        """Write a record, or note why not."""
        if item.kind != FILE:
            return self._leave_out(item, "not a regular file")
        if self._bytes + item.size > MAX_RECORD_BYTES:
            return self._leave_out(item, f"more than {MAX_RECORD_BYTES >> 20} MB of records")
        try:
            path = self._folder / check_path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(item.read())
        except (LoadError, UnicodeError):
            return self._leave_out(item, "an unsafe name")
        except OSError as error:
            return self._leave_out(item, str(error.strerror))
        self._bytes += item.size

    def _leave_out(self, item: Leftover, why: str) -> None:
        """Name the first records that are left out; a longer list tells nothing more."""
        self._left_out += 1
        if self._left_out <= 5:
            self._taken.left_out.append(f"{one_line(item.name)[:100]} ({why})")
