"""A loopback Hub: serves dataset repositories from memory with the requests that the real clients make for reading.

Run the client in a process of its own with `Hub.environment`: HF_ENDPOINT is read when huggingface_hub is imported.
"""

import hashlib
import json
import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlsplit

Files = Mapping[str, bytes]


class NotThere(Exception):
    """A 404, with the code from which clients tell what is missing."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Hub:
    """The repositories and the server; use as a context manager.

    Attributes:
        commits: repository → commit → files.
        refs: repository → branch or tag → commit.
        requests: what was asked for, for tests that look at it.
        drops: connections are closed without an answer while this is set.
    """

    def __init__(self) -> None:
        self.commits: dict[str, dict[str, Files]] = {}
        self.refs: dict[str, dict[str, str]] = {}
        self.requests: list[str] = []
        self.drops = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """From now on connections are refused."""
        self._server.shutdown()
        self._server.server_close()

    def environment(self, cache: Path) -> dict[str, str]:
        """What a client process needs in its environment to talk to this server only, with a cache of its own."""
        return {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(cache),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
            "HF_UPDATE_DOWNLOAD_COUNTS": "0",
            "NO_PROXY": "127.0.0.1",
        }

    def commit(self, repo: str, files: Files, *refs: str) -> str:
        """Add a commit; `refs` (branches, tags) point to it from now on, also those that pointed elsewhere."""
        sha = hashlib.sha1(repr((repo, sorted(files.items()), len(self.commits))).encode()).hexdigest()
        self.commits.setdefault(repo, {})[sha] = dict(files)
        for ref in refs:
            self.refs.setdefault(repo, {})[ref] = sha
        return sha

    def files(self, repo: str, revision: str) -> tuple[str, Files]:
        """(commit, files) of a revision."""
        if repo not in self.commits:
            raise NotThere("RepoNotFound")
        sha = self.refs[repo].get(revision, revision)
        if sha not in self.commits[repo]:
            raise NotThere("RevisionNotFound")
        return sha, self.commits[repo][sha]

    def answer(self, method: str, target: str, body: bytes) -> tuple[dict[str, str], bytes]:
        """(headers, content) of a request."""
        url = urlsplit(target)
        path = unquote(url.path)
        if match := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/(refs/pr/\d+|[^/]+)/(.+)", path):
            repo, revision, name = match.groups()
            sha, files = self.files(repo, revision)
            headers = {"X-Repo-Commit": sha, "Content-Type": "application/octet-stream"}
            if name not in files:
                raise NotThere("EntryNotFound")
            return {**headers, "ETag": f'"{_oid(files[name])}"'}, files[name]
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)(?:/revision/(.+))?", path):
            repo, revision = match[1], match[2] or "main"
            sha, files = self.files(repo, revision)
            facts: dict[str, Any] = {"id": repo, "sha": sha, "private": False, "gated": False, "tags": []}
            return _json({**facts, "siblings": [{"rfilename": name} for name in sorted(files)]})
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/(refs/pr/\d+|[^/]+)/?(.*)", path):
            recursive = parse_qs(url.query).get("recursive", [""])[0].lower() in ("1", "true")
            return _json(_tree(self.files(match[1], match[2])[1], match[3], recursive))
        if match := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/paths-info/(.+)", path):
            asked = json.loads(body) if body.startswith(b"{") else parse_qs(body.decode())
            entries = _tree(self.files(match[1], match[2])[1], "", recursive=True)
            return _json([entry for entry in entries if entry["path"] in asked["paths"]])
        raise NotThere("NotFound")


def _oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _json(value: Any) -> tuple[dict[str, str], bytes]:
    return {"Content-Type": "application/json"}, json.dumps(value).encode()


def _tree(files: Files, folder: str, recursive: bool) -> list[dict[str, Any]]:
    """Entries below a folder: files, and folders with them."""
    prefix = f"{folder}/" if folder else ""
    inside = {name: content for name, content in files.items() if name.startswith(prefix)}
    if folder and not inside:
        raise NotThere("EntryNotFound")
    parents = {str(parent) for name in inside for parent in Path(name).parents} - {".", folder}
    parents = {name for name in parents if name.startswith(prefix)}
    entries = [{"type": "directory", "path": name, "oid": _oid(name.encode()), "size": 0} for name in sorted(parents)]
    entries += [
        {"type": "file", "path": name, "oid": _oid(content), "size": len(content)} for name, content in inside.items()
    ]
    return [entry for entry in entries if recursive or "/" not in str(entry["path"]).removeprefix(prefix)]


def _handler(hub: Hub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            hub.requests.append(f"{self.command} {self.path}")
            if hub.drops:
                self.close_connection = True
                return
            try:
                headers, content = hub.answer(self.command, self.path, body)
                status = 200
            except NotThere as error:
                headers, content = _json({"error": error.code})
                status, headers["X-Error-Code"] = 404, error.code
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_HEAD = do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr: tests read that of the clients."""

    return Handler
