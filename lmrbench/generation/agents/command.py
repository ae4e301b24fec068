"""Run the user's own command as an agent: inside the box, with its files, beside the relay."""

import hashlib
import os
import shlex
from pathlib import Path

from lmrbench_data.base.archive import read_tree, tar_bytes
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.loader import File

from ..answer_log import model_name
from ..workspace import REPO
from .base import TIME_LIMIT, Agent, Job
from .box import AGENT
from .endpoints import URL

_LOG_BYTES = 16 * 2**20
_MAX_FILES_BYTES = 32 * 2**20


class CommandAgent(Agent):
    """A command such as `python my_agent.py`; its files are copied into the box."""

    def __init__(self, command: str, files: Path | None) -> None:
        """Read the command and its files.

        Raises:
            ArgumentError: no command, no such folder, too much in it, or a file of the command is
                not in it.
        """
        words = _split(command)
        self._files = _read_files(files) if files else {}
        self.files_sha256 = ""
        if self._files:
            self.files_sha256 = hashlib.sha256(tar_bytes(self._files)).hexdigest()[:16]
        self._words = [self._place(word) for word in words]
        named = next((word for word in words if word in self._files), words[0])
        self.name = model_name(Path(named).stem, "agent")

    def _place(self, word: str) -> str:
        """Return a word of the command as the box knows it."""
        if word in self._files:
            return f"{AGENT}/{word}"
        path = Path(word)
        if path.is_absolute() or path.parts[:1] == (REPO,):
            return word
        # The box has no files of this machine; a word that names one is a mistake.
        if os.path.isfile(word):  # false for a word that is too long for a path
            fix = "name its folder here, and in the command its path below that folder"
            problem = f"{word!r} of the command is not in the container; {fix}"
            raise ArgumentError("agent_files", problem)
        return word

    def work(self, job: Job) -> str:
        """Run the command to its end; its output becomes output.log."""
        job.box.put(AGENT, self._files, owner=0)
        environment = {
            "OPENAI_BASE_URL": URL,
            "OPENAI_API_KEY": "none-needed",
            "ANTHROPIC_BASE_URL": URL.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "none-needed",
            "LMRBENCH_MODEL": job.relay.model,
            "PYTHONUNBUFFERED": "1",
        }
        name = shlex.join(self._words)
        status = job.execute(name, self._words, output_bytes=_LOG_BYTES, environment=environment)
        return TIME_LIMIT if status is None else f"exit {status}"


def _split(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ArgumentError("agent", f"{command!r} is not a command ({error})") from None
    if not words:
        example = "use codex, mini-swe-agent, or a command, for example 'python a.py'"
        raise ArgumentError("agent", f"is empty; {example}")
    return words


def _read_files(folder: Path) -> dict[str, File]:
    if not folder.is_dir():
        raise ArgumentError("agent_files", f"{folder}: no such folder")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    if size > _MAX_FILES_BYTES:
        problem = f"more than {_MAX_FILES_BYTES >> 20} MB; keep only what the command needs"
        raise ArgumentError("agent_files", f"{folder}: {problem}")
    return read_tree(folder)
