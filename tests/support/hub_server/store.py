"""The state of a Hub: users, repositories with commits, refs and pull requests. No HTTP."""

import datetime
import hashlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field

Files = Mapping[str, bytes]


class RefusedError(Exception):
    """A request that gets an error status.

    Attributes:
        status: status of the response.
        code: the header `X-Error-Code`, which tells clients what is missing.
    """

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True)
class User:
    """The owner and rights of a token."""

    name: str
    role: str = "write"
    """The role of the token: read or write."""
    orgs: tuple[str, ...] = ()
    """Organisations whose repositories this user may write."""
    expired: bool = False


@dataclass(frozen=True)
class Commit:
    """A state of a repository."""

    sha: str
    files: Files
    parent: str | None
    title: str
    author: str
    date: str


@dataclass
class PullRequest:
    """A pull request, with its commits under `refs/pr/<num>`."""

    num: int
    title: str
    description: str
    author: str
    created: str
    status: str = "open"
    comments: list[tuple[str, str]] = field(default_factory=list)
    """(author, text)"""


@dataclass
class Repo:
    """A repository and its content."""

    kind: str
    name: str
    commits: dict[str, Commit] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    """Branches (`main`), tags (`tags/v1`) and pull requests (`refs/pr/1`) → commit."""
    pull_requests: dict[int, PullRequest] = field(default_factory=dict)

    def resolve(self, revision: str) -> Commit:
        """Return the commit of a branch, tag, pull request or hash."""
        for ref in (revision, f"tags/{revision}"):
            if ref in self.refs:
                return self.commits[self.refs[ref]]
        if revision in self.commits:
            return self.commits[revision]
        raise RefusedError(404, "Revision Not Found", "RevisionNotFound")


class Store:
    """The whole state. Each public method is one step: call it under a lock."""

    def __init__(self) -> None:
        self.repos: dict[tuple[str, str], Repo] = {}
        self.users: dict[str, User] = {}
        self._count = itertools.count()

    def user(self, token: str | None) -> User | None:
        """Return the owner of a token; None without a token.

        Raises:
            RefusedError: 401 for an invalid or expired token.
        """
        if token is None:
            return None
        user = self.users.get(token)
        if user is None or user.expired:
            raise RefusedError(401, "Invalid credentials in Authorization header")
        return user

    def repo(self, kind: str, name: str) -> Repo:
        """Return an existing repository."""
        repo = self.repos.get((kind, name))
        if repo is None:
            raise RefusedError(404, "Repository not found", "RepoNotFound")
        return repo

    def create(self, kind: str, name: str, user: User | None) -> Repo:
        """Create a repository with one empty commit, as the Hub does."""
        self.check_may_write(name, user)
        if (kind, name) in self.repos:
            raise RefusedError(409, "You already created this repo")
        self.repos[kind, name] = Repo(kind, name)
        self.add_commit(kind, name, {".gitattributes": b""}, "main", "initial commit", "")
        return self.repos[kind, name]

    def check_may_write(self, name: str, user: User | None) -> None:
        """Refuse users without a write token for the repository's namespace."""
        if user is None:
            raise RefusedError(401, "Invalid username or password.")
        if user.role != "write" or name.split("/")[0] not in (user.name, *user.orgs):
            raise RefusedError(403, "You don't have the rights to write to this repository")

    def add_commit(self, kind: str, name: str, files: Files, ref: str, title: str, author: str) -> Commit:
        """Add a commit with exactly these files and move `ref` to it."""
        repo = self.repos.setdefault((kind, name), Repo(kind, name))
        parent = repo.refs.get(ref) or repo.refs.get("main")
        seed = repr((kind, name, parent, sorted(files), next(self._count)))
        commit = Commit(hashlib.sha1(seed.encode()).hexdigest(), dict(files), parent, title, author, now())
        repo.commits[commit.sha] = commit
        repo.refs[ref] = commit.sha
        return commit

    def change(
        self,
        repo: Repo,
        revision: str,
        changes: Mapping[str, bytes | None],
        title: str,
        user: User,
        *,
        description: str = "",
        parent: str | None = None,
        create_pr: bool = False,
    ) -> tuple[Commit, PullRequest | None]:
        """Commit additions and deletions (None), directly or as a pull request.

        Raises:
            RefusedError: 412 if `parent` is no longer the head; 403 without the right.
        """
        head = repo.resolve(revision)
        if user.role != "write":
            raise RefusedError(403, "This token has no write role")
        own = [item for item in repo.pull_requests.values() if revision == f"refs/pr/{item.num}"]
        if not create_pr and not (own and own[0].author == user.name):
            self.check_may_write(repo.name, user)
        if parent is not None and parent != head.sha:
            raise RefusedError(412, "A commit has happened since. Please refresh and try again.")
        files = {**head.files, **{name: content for name, content in changes.items() if content is not None}}
        for name, content in changes.items():
            if content is None:
                files = {path: data for path, data in files.items() if path != name and not path.startswith(f"{name}/")}
        pull_request = None
        if create_pr:
            number = len(repo.pull_requests) + 1
            pull_request = PullRequest(number, title, description, user.name, now())
            repo.pull_requests[number] = pull_request
            revision = f"refs/pr/{number}"
            repo.refs[revision] = head.sha
        return self.add_commit(repo.kind, repo.name, files, revision, title, user.name), pull_request

    def tag(self, repo: Repo, revision: str, name: str, user: User | None) -> None:
        """Tag a commit; a tag never moves."""
        self.check_may_write(repo.name, user)
        if f"tags/{name}" in repo.refs:
            raise RefusedError(409, "Tag reference exists already")
        repo.refs[f"tags/{name}"] = repo.resolve(revision).sha


def now() -> str:
    """Return the time as the Hub writes it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
