"""Run the user's own command as an agent: inside the box, with its own files and access to the model's relay."""

import hashlib
import shlex
from pathlib import Path

from lmrbench_data.base.archive import read_tree, tar_bytes
from lmrbench_data.base.errors import ArgumentError

from ..answer_log import model_name
from ..workspace import REPO
from .base import TIME_LIMIT, Agent, Job
from .box import AGENT
from .endpoints import URL

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
            raise ArgumentError(
                "agent",
                "is empty; use mini-swe-agent, openhands, or a command, for example 'python a.py'",
            )
        self._files = {}
        if files is not None:
            if not files.is_dir():
                raise ArgumentError("agent_files", f"{files}: no such folder")
            if (
                sum(path.stat().st_size for path in files.rglob("*") if path.is_file())
                > _MAX_FILES_BYTES
            ):
                raise ArgumentError(
                    "agent_files", f"{files}: more than {_MAX_FILES_BYTES >> 20} MB"
                )
            self._files = read_tree(files)
        self.files_sha256 = (
            hashlib.sha256(tar_bytes(self._files)).hexdigest()[:16] if self._files else ""
        )
        for word in words:
            # The box has no files of this machine; a word that names one outside the workspace is a mistake.
            path = Path(word)
            if (
                word not in self._files
                and path.is_file()
                and not path.is_absolute()
                and path.parts[0] != REPO
            ):
                raise ArgumentError(
                    "agent_files",
                    f"{word!r} of the command is not in the container; name its folder here, and in the command its "
                    "path below that folder",
                )
        self._words = [f"{AGENT}/{word}" if word in self._files else word for word in words]
        own = [word for word in words if word in self._files]
        self.name = model_name(Path((own or words)[0]).stem, "agent")

    def work(self, job: Job) -> str:
        """Run the command to its end; its output becomes output.log."""
        job.box.put(AGENT, self._files, owner=0)
        environment = {
            "OPENAI_BASE_URL": URL,
            "OPENAI_API_KEY": "none-needed",
            "LMRBENCH_MODEL": job.relay.model,
            "PYTHONUNBUFFERED": "1",
        }
        name = shlex.join(self._words)
        status = job.execute(name, self._words, output_bytes=_LOG_BYTES, environment=environment)
        return TIME_LIMIT if status is None else f"exit {status}"
