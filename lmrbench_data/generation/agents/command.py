"""Run the user's own command as an agent: inside the box, with its own files and access to the model's relay."""

import shlex
from pathlib import Path

from ...base.errors import ArgumentError
from ...base.names import clean_name
from ...loader import File
from ..workspace import REPO
from .base import OUTPUT, TIME_LIMIT, Agent, Job
from .box import AGENT
from .endpoints import box_endpoint

_LOG_BYTES = 16 * 2**20
_MAX_FILES_BYTES = 32 * 2**20


class CommandAgent(Agent):
    """A command such as `python my_agent.py`; words that name one of its files stand for it in the box."""

    def __init__(self, command: str, files: Path | None) -> None:
        """Read the command and its files.

        Raises:
            ArgumentError: no command, no such folder, too much in it, or a file of the command is not in it.
        """
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise ArgumentError("agent", f"{command!r} is not a command ({error})") from None
        if not words:
            raise ArgumentError("agent", "is empty; give mini-swe-agent, openhands, or a command such as 'python a.py'")
        self._files = _read_files(files) if files is not None else {}
        for word in words:
            # The box has no files of this machine; a word that names one outside the workspace is a mistake.
            path = Path(word)
            if word not in self._files and path.is_file() and not path.is_absolute() and path.parts[0] != REPO:
                raise ArgumentError(
                    "agent_files",
                    f"{word!r} of the command is not in the container; name its folder here, and in the command its "
                    "path below that folder",
                )
        self._words = [f"{AGENT}/{word}" if word in self._files else word for word in words]
        own = [word for word in words if word in self._files]
        try:
            self.name = clean_name(Path((own or words)[0]).stem)
        except ValueError as error:
            raise ArgumentError("agent", f"{command!r} {error}") from None

    def work(self, job: Job) -> str:
        """Run the command to its end; its output becomes output.log."""
        job.box.put(AGENT, self._files, owner=0)
        with box_endpoint(job.relay, job.box, job.deadline) as url:
            environment = {
                "OPENAI_BASE_URL": url,
                "OPENAI_API_KEY": "none-needed",
                "LMRBENCH_MODEL": job.relay.model,
                "PYTHONUNBUFFERED": "1",
            }
            done = job.box.execute(self._words, time_s=job.rest(), output_bytes=_LOG_BYTES, environment=environment)
        (job.trajectory / OUTPUT).write_bytes(done.output)
        if done.status is None:
            return TIME_LIMIT
        job.check_start(shlex.join(self._words), done.status, done.output)
        return f"exit {done.status}"


def _read_files(folder: Path) -> dict[str, File]:
    if not folder.is_dir():
        raise ArgumentError("agent_files", f"{folder}: no such folder")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    if sum(path.stat().st_size for path in paths) > _MAX_FILES_BYTES:
        raise ArgumentError("agent_files", f"{folder}: more than {_MAX_FILES_BYTES >> 20} MB")
    try:
        return {
            path.relative_to(folder).as_posix(): File(path.read_bytes(), bool(path.stat().st_mode & 0o100))
            for path in paths
        }
    except OSError as error:
        raise ArgumentError("agent_files", f"{error.filename}: cannot be read ({error.strerror})") from error
