"""A command of the user's as an agent: it runs inside the box, with its own files, and reaches the model's relay."""

import shlex
from pathlib import Path

from ...errors import ArgumentError
from ...names import clean_name
from .base import OUTPUT, TIME_LIMIT, Agent, Job
from .box import AGENT
from .doors import inner_door

_LOG_BYTES = 16 * 2**20
_MAX_FILES_BYTES = 32 * 2**20


class CommandAgent(Agent):
    """A command such as `python my_agent.py`; words that name one of its files stand for it in the box."""

    def __init__(self, command: str, files: Path | None) -> None:
        """Read what there is to run.

        Raises:
            ArgumentError: no command, or no such folder.
        """
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise ArgumentError("agent", f"{command!r} is no command ({error})") from None
        if not words:
            raise ArgumentError("agent", "is empty; give mini-swe-agent, openhands, or a command such as 'python a.py'")
        if files is not None and not files.is_dir():
            raise ArgumentError("agent_files", f"{files}: no such folder")
        found = sorted(path for path in files.rglob("*") if path.is_file()) if files else []
        self._files = {path.relative_to(files).as_posix(): path for path in found} if files else {}
        if sum(path.stat().st_size for path in found) > _MAX_FILES_BYTES:
            raise ArgumentError("agent_files", f"{files}: more than {_MAX_FILES_BYTES >> 20} MB")
        self._words = [f"{AGENT}/{word}" if word in self._files else word for word in words]
        own = [word for word in words if word in self._files]
        try:
            self.name = clean_name(Path((own or words)[0]).stem)
        except ValueError as error:
            raise ArgumentError("agent", f"{command!r} {error}") from None

    def work(self, job: Job) -> str:
        """Run the command to its end; what it prints becomes output.log."""
        job.box.put(AGENT, self._files, owner=0)
        with inner_door(job.relay, job.box, job.deadline) as url:
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
