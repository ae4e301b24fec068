"""The Hub's HTTP API over a `Store`, as far as `huggingface_hub` and `datasets` use it."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml

from support.hub_server.store import Commit, Files, PullRequest, RefusedError, Repo, Store, User


@dataclass
class Answer:
    """A response."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    """A request whose path is split from the query, with the revision unquoted."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    endpoint: str

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.target).query).items()}

    @property
    def token(self) -> str | None:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token if scheme == "Bearer" else None

    def json(self) -> Any:
        return json.loads(self.body)


Route = Callable[["Api", Request, User | None, re.Match[str]], Answer]
ROUTES: list[tuple[str, re.Pattern[str], Route]] = []
_REPO = r"/api/(?P<kind>models|datasets|spaces)/(?P<name>[^/]+/[^/]+)"


def route(method: str, pattern: str) -> Callable[[Route], Route]:
    """Register a handler; GET handlers answer HEAD as well."""

    def register(function: Route) -> Route:
        ROUTES.append((method, re.compile(pattern), function))
        return function

    return register


class Api:
    """Handles requests; not thread-safe."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def answer(self, request: Request) -> Answer:
        """Return the response to a request.

        Raises:
            RefusedError: the request is refused.
        """
        user = self.store.user(request.token)
        for method, pattern, function in ROUTES:
            # A revision may contain a quoted slash, which only the raw path distinguishes.
            if method == request.method.replace("HEAD", "GET") and (match := pattern.fullmatch(request.path)):
                return function(self, request, user, match)
        raise RefusedError(404, f"no such address: {request.method} {request.path}", "NotFound")

    def repo(self, match: re.Match[str]) -> Repo:
        return self.store.repo(match["kind"], match["name"])


def _json(value: Any, status: int = 200, **headers: str) -> Answer:
    return Answer(json.dumps(value).encode(), status, {"Content-Type": "application/json", **headers})


# --- reading ----------------------------------------------------------------------------------------------------------


@route("GET", r"/api/whoami-v2")
def whoami(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    if user is None:
        raise RefusedError(401, "Invalid username or password.")
    token = {"accessToken": {"displayName": "test", "role": user.role}}
    return _json({"type": "user", "name": user.name, "orgs": [{"name": name} for name in user.orgs], "auth": token})


@route("GET", _REPO + r"(?:/revision/(?P<revision>[^?]+))?")
def repo_info(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    repo = api.repo(match)
    commit = repo.resolve(unquote(match["revision"] or "main"))
    facts = {"id": repo.name, "sha": commit.sha, "private": False, "gated": False, "tags": [], "downloads": 0}
    # Older and newer clients use different names for the same field.
    facts |= {"lastModified": commit.date, "createdAt": commit.date, "modelId": repo.name, "author": "org"}
    return _json({**facts, "siblings": [{"rfilename": name} for name in sorted(commit.files)]})


@route("GET", _REPO + r"/tree/(?P<revision>refs%2Fpr%2F\d+|refs/pr/\d+|[^/]+)(?:/(?P<folder>.*))?")
def tree(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    recursive = request.query.get("recursive", "").lower() in ("1", "true")
    files = api.repo(match).resolve(unquote(match["revision"])).files
    return _json(_tree(files, unquote(match["folder"] or ""), recursive))


@route("GET", _REPO + r"/refs")
def refs(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    found: dict[str, list[dict[str, str]]] = {"branches": [], "tags": [], "converts": [], "pullRequests": []}
    for ref, sha in api.repo(match).refs.items():
        if ref.startswith("refs/pr/"):
            found["pullRequests"].append({"name": ref, "ref": ref, "targetCommit": sha})
        elif ref.startswith("tags/"):
            found["tags"].append({"name": ref.removeprefix("tags/"), "ref": f"refs/{ref}", "targetCommit": sha})
        else:
            found["branches"].append({"name": ref, "ref": f"refs/heads/{ref}", "targetCommit": sha})
    return _json(found)


@route("GET", _REPO + r"/commits/(?P<revision>.+)")
def commits(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    repo = api.repo(match)
    commit: Commit | None = repo.resolve(unquote(match["revision"]))
    listed = []
    while commit is not None:
        entry = {"id": commit.sha, "title": commit.title, "message": "", "date": commit.date}
        listed.append({**entry, "authors": [{"user": commit.author}]})
        commit = repo.commits.get(commit.parent or "")
    return _json(listed)


@route(
    "GET",
    r"(?:/(?P<kind>datasets|spaces))?/(?P<name>[^/]+/[^/]+)/resolve/"
    r"(?P<revision>refs%2Fpr%2F\d+|refs/pr/\d+|[^/]+)/(?P<path>.+)",
)
def resolve(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    commit = api.store.repo(match["kind"] or "models", match["name"]).resolve(unquote(match["revision"]))
    path = unquote(match["path"])
    headers = {"X-Repo-Commit": commit.sha}
    if path not in commit.files:
        raise RefusedError(404, "Entry not found", "EntryNotFound")
    content = commit.files[path]
    return Answer(content, headers={**headers, "ETag": f'"{git_oid(content)}"'})


# --- writing ----------------------------------------------------------------------------------------------------------


@route("POST", r"/api/repos/create")
def create_repo(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    asked = request.json()
    kind = f"{asked.get('type', 'model')}s"
    name = f"{asked.get('organization') or (user.name if user else '')}/{asked['name']}"
    url = f"{request.endpoint}/{kind}/{name}".replace("/models/", "/")
    api.store.create(kind, name, user)
    return _json({"url": url, "name": name})


@route("POST", r"/api/validate-yaml")
def validate_yaml(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    _, header, _ = request.json()["content"].split("---\n", 2)
    yaml.safe_load(header)
    return _json({"errors": [], "warnings": []})


@route("POST", _REPO + r"/preupload/(?P<revision>.+)")
def preupload(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    files = api.repo(match).resolve(unquote(match["revision"])).files
    modes = []
    for item in request.json()["files"]:
        old = files.get(item["path"])
        oid = None if old is None else git_oid(old)
        modes.append({"path": item["path"], "uploadMode": "regular", "shouldIgnore": False, "oid": oid})
    return _json({"files": modes})


@route("POST", _REPO + r"/commit/(?P<revision>.+)")
def commit(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    assert user
    header: dict[str, Any] = {}
    changes: dict[str, bytes | None] = {}
    for line in request.body.splitlines():
        entry = json.loads(line)
        key, value = entry["key"], entry["value"]
        if key == "header":
            header = value
        elif key == "file":
            changes[value["path"]] = base64.b64decode(value["content"])
        else:
            changes[value["path"].rstrip("/")] = None
    made, pull_request = api.store.change(
        api.repo(match),
        unquote(match["revision"]),
        changes,
        header["summary"],
        user,
        description=header.get("description", ""),
        parent=header.get("parentCommit"),
        create_pr=request.query.get("create_pr") == "1",
    )
    place = f"{request.endpoint}/{match['kind']}/{match['name']}".replace("/models/", "/")
    answer = {"success": True, "commitOid": made.sha, "commitUrl": f"{place}/commit/{made.sha}", "hookOutput": ""}
    if pull_request:
        answer["pullRequestUrl"] = f"{place}/discussions/{pull_request.num}"
    return _json(answer)


@route("POST", _REPO + r"/tag/(?P<revision>.+)")
def create_tag(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    api.store.tag(api.repo(match), unquote(match["revision"]), request.json()["tag"], user)
    return _json({})


# --- pull requests ----------------------------------------------------------------------------------------------------


@route("GET", _REPO + r"/discussions")
def discussions(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    repo, query = api.repo(match), request.query
    found = [
        _discussion(repo, item)
        for item in reversed(repo.pull_requests.values())
        if query.get("author", item.author) == item.author
        and query.get("status", "all") in ("all", "open" if item.status == "open" else "closed")
    ]
    return _json({"discussions": found, "count": len(found), "start": 0})


@route("GET", _REPO + r"/discussions/(?P<num>\d+)")
def discussion(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    repo = api.repo(match)
    item = _pull_request(repo, match)
    texts = [(item.author, item.description), *item.comments]
    events = [
        {
            "id": f"{number:024x}",
            "type": "comment",
            "createdAt": item.created,
            "author": {"name": author},
            "data": {"edited": False, "hidden": False, "latest": {"raw": text}},
        }
        for number, (author, text) in enumerate(texts)
        if text
    ]
    changes = {"base": "refs/heads/main", "mergeCommitId": None}
    details = {"changes": changes, "filesWithConflicts": [], "events": events, "diff": ""}
    return _json({**_discussion(repo, item), **details})


@route("POST", _REPO + r"/discussions/(?P<num>\d+)/status")
def act(api: Api, request: Request, user: User | None, match: re.Match[str]) -> Answer:
    assert user
    repo = api.repo(match)
    item = _pull_request(repo, match)
    body = request.json()
    if user.name != item.author:
        api.store.check_may_write(repo.name, user)
    item.status = body["status"]
    if text := body.get("comment"):
        item.comments.append((user.name, text))
    event = {"id": "0" * 24, "type": "status-change", "createdAt": item.created, "author": {"name": user.name}}
    return _json({"newStatus": {**event, "data": {"status": item.status}}})


def _pull_request(repo: Repo, match: re.Match[str]) -> PullRequest:
    return repo.pull_requests[int(match["num"])]


def _discussion(repo: Repo, item: PullRequest) -> dict[str, Any]:
    facts = {"num": item.num, "title": item.title, "status": item.status, "createdAt": item.created}
    about = {"isPullRequest": True, "author": {"name": item.author}}
    return {**facts, **about, "repo": {"name": repo.name, "type": repo.kind.removesuffix("s")}}


def git_oid(content: bytes) -> str:
    """Return git's hash of a file."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def _tree(files: Files, folder: str, recursive: bool) -> list[dict[str, Any]]:
    """Yield the entries below a folder: files and their folders."""
    prefix = f"{folder}/" if folder else ""
    inside = {name: content for name, content in files.items() if name.startswith(prefix)}
    parents = {str(parent) for name in inside for parent in PurePosixPath(name).parents} - {".", folder}
    parents = {name for name in parents if name.startswith(prefix)}
    entries: list[dict[str, Any]] = [
        {"type": "directory", "path": name, "oid": git_oid(name.encode()), "size": 0} for name in sorted(parents)
    ]
    entries += [
        {"type": "file", "path": name, "oid": git_oid(content), "size": len(content)}
        for name, content in inside.items()
    ]
    return [entry for entry in entries if recursive or "/" not in str(entry["path"]).removeprefix(prefix)]
