"""Where PDFs are kept, under which name, and the hash that each had when it first came."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..base.errors import InputError
from ..base.files import write_atomically
from ..base.names import child_path
from ..base.paths import cache_folder
from ..base.times import now

#: Of one PDF; the largest of the benchmark's papers has about 20 MB.
MAX_BYTES = 100 * 1024 * 1024


@dataclass(frozen=True)
class Stored:
    """What is known of a PDF that is there."""

    sha256: str
    bytes: int
    source: str
    """Its address, or `added by hand`."""
    stored_at: str


class PaperStore:
    """PDFs in a folder: `<key>.pdf` with `<key>.json` beside it."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or cache_folder() / "papers"

    def path(self, key: str, suffix: str = ".pdf") -> Path:
        """Where the PDF of a paper is, or would be.

        Args:
            suffix: `.json` for what is known of it, `.part` for a download that is not complete.

        Raises:
            ValueError: the key might lead elsewhere.
        """
        return child_path(self.folder, key, suffix)

    def facts(self, key: str) -> Stored | None:
        """What is known of a PDF that is there; None if there is none.

        Raises:
            InputError: it changed since it was stored.
        """
        try:
            stored = Stored(**json.loads(self.path(key, ".json").read_text(encoding="utf-8")))
            data = self.path(key).read_bytes()
        except (OSError, ValueError, TypeError, RecursionError):
            return None
        if hashlib.sha256(data).hexdigest() != stored.sha256:
            raise InputError(f"{self.path(key)}: changed since it was stored; remove it, and fetch or add it again")
        return stored

    def put(self, key: str, data: bytes, source: str, *, replace: bool = False) -> Stored:
        """Store a PDF that was looked at.

        Args:
            replace: take it although another one was stored before.

        Raises:
            InputError: it is not the PDF that was stored before.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        known = self.known_sha256(key)
        if known not in (None, sha256) and not replace:
            raise InputError(f"{source}: is not the PDF that was stored for {key} before (sha256 {str(known)[:12]}…)")
        stored = Stored(sha256, len(data), source, now())
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path(key), data)
        write_atomically(self.path(key, ".json"), json.dumps(asdict(stored)) + "\n")
        return stored

    def known_sha256(self, key: str) -> str | None:
        """The hash of the PDF that was stored first, also if the file is gone; None if there never was one."""
        try:
            found: Any = json.loads(self.path(key, ".json").read_text(encoding="utf-8"))["sha256"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        return found if isinstance(found, str) else None


def paper_key(row: Mapping[str, Any]) -> str:
    """The name of a row's paper: its arXiv id if the PDF is arXiv's. Instances of one paper share it.

    The name of any other PDF depends on its whole address, so that no dataset can put its own PDF in the place of
    another paper's.
    """
    arxiv, url = str(row["arxiv_id"]), str(row["paper_url"])
    if arxiv and pdf_url(row) == _arxiv_url(arxiv):
        return arxiv.replace("/", "-")
    words = re.sub(r"[^A-Za-z0-9]+", "-", url.rpartition("/")[2].removesuffix(".pdf")).strip("-")[:60]
    return f"{words or 'paper'}-{hashlib.sha256(url.encode()).hexdigest()[:12]}"


def pdf_url(row: Mapping[str, Any]) -> str:
    """Where a row's PDF is, in a version that does not change.

    Proceedings and OpenReview give an address of the PDF itself. Of arXiv's versions it is the first.
    """
    url, arxiv = str(row["paper_url"]), str(row["arxiv_id"])
    return url if url.endswith(".pdf") or "/pdf?" in url or not arxiv else _arxiv_url(arxiv)


def _arxiv_url(arxiv_id: str) -> str:
    return f"https://arxiv.org/pdf/{arxiv_id}v1"
