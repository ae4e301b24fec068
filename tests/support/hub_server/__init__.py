"""A loopback Hub: serves repositories from memory to the real clients, with faults on demand.

Run the client in a separate process with `Hub.environment`: HF_ENDPOINT is read when huggingface_hub is imported.
`store.py` holds the state, `api.py` the HTTP API.
"""

import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.hub_server.api import Answer, Api, Request
from support.hub_server.store import Files, RefusedError, Repo, Store, User
from support.loopback import LoopbackHandler, LoopbackServer

__all__ = ["Fault", "Files", "Hub", "User"]


@dataclass
class Fault:
    """A fault in matching requests.

    Attributes:
        pattern: searched in `METHOD /path?query`.
        kind: `drop` closes the connection before the request takes effect, `lose` after; a number is a status to return
            without effect; a callable acts as another user first, and may return one of the others or raise a refusal.
        times: number of requests; later ones succeed.
    """

    pattern: str
    kind: str | int | Callable[[], Any]
    times: int = 1


class Hub(LoopbackServer):
    """The repositories and the server.

    Attributes:
        store: the state.
        requests: `METHOD /path?query` of every request.
        faults: the faults, tried in order.
    """

    def __init__(self) -> None:
        super().__init__(_handler(self))
        self.store = Store()
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        self._api = Api(self.store)
        self._lock = threading.Lock()

    def environment(self, cache: Path, token: str | None = None) -> dict[str, str]:
        """Return an environment in which a client talks only to this server, with its own cache."""
        return {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(cache),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_UPDATE_DOWNLOAD_COUNTS": "0",
            "NO_PROXY": "127.0.0.1,localhost",
            **({"HF_TOKEN": token} if token else {}),
        }

    def add_user(self, token: str, name: str, *orgs: str, role: str = "write", expired: bool = False) -> None:
        """Accept a token."""
        self.store.users[token] = User(name, role, orgs, expired)

    def commit(self, repo: str, files: Files, *refs: str) -> str:
        """Commit exactly these files to a repository, creating it if necessary.

        `refs` then point to the commit, even if they pointed elsewhere: `main` and `refs/pr/N`; other names are tags.
        """
        with self._lock:
            named = [ref if ref == "main" or ref.startswith("refs/") else f"tags/{ref}" for ref in refs]
            made = self.store.add_commit("datasets", repo, files, named[0] if named else "main", "commit", "somebody")
            self.store.repos["datasets", repo].refs.update(dict.fromkeys(named, made.sha))
        return made.sha

    def repo(self, name: str) -> Repo:
        """Return a repository."""
        return self.store.repos["datasets", name]

    def files(self, name: str, revision: str = "main") -> Files:
        """Return the files of a revision."""
        return self.repo(name).resolve(revision).files

    def handle(self, request: Request) -> Answer | None:
        """Return the response, or None to close the connection."""
        line = f"{request.method} {request.target}"
        with self._lock:
            self.requests.append(line)
            fault = next((item for item in self.faults if item.times and re.search(item.pattern, line)), None)
            if fault:
                fault.times -= 1
        kind = fault.kind if fault else None
        try:
            kind = kind() if callable(kind) else kind
            if kind == "drop":
                return None
            if isinstance(kind, int):
                content = json.dumps({"error": f"injected {kind}"}).encode()
                return Answer(content, kind, {"Content-Type": "application/json"})
            with self._lock:
                answer = self._api.answer(request)
        except RefusedError as error:
            headers = {"X-Error-Code": error.code} if error.code else {}
            content = json.dumps({"error": str(error)}).encode()
            answer = Answer(
                content, error.status, {"Content-Type": "application/json", "X-Error-Message": str(error), **headers}
            )
        return None if kind == "lose" else answer


def _handler(hub: Hub) -> type[LoopbackHandler]:
    class Handler(LoopbackHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            answer = hub.handle(Request(self.command, self.path, headers, self.content(), hub.endpoint))
            if answer is None:
                self.close_connection = True
                return
            self.respond(answer.status, answer.headers, answer.body)

        do_HEAD = do_POST = do_PUT = do_GET

    return Handler
