"""The cache of PDFs: their file names, and their hashes at the first download."""

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

#: Maximum size of a PDF; the largest of the benchmark's papers has about 20 MB.
MAX_BYTES = 100 * 1024 * 1024


@dataclass(frozen=True)
class Stored:
    """Facts of a stored PDF."""

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
        """Return the path of a paper's PDF, which may not exist.

        Args:
            suffix: `.json` for its facts.

        Raises:
            ValueError: the key might leave the folder.
        """
        return child_path(self.folder, key, suffix)

    def facts(self, key: str) -> Stored | None:
        """Read the facts of a stored PDF; None if it is missing.

        Raises:
            InputError: it has changed since it was stored.
        """
        stored, path = self._first(key), self.path(key)
        if not stored or not path.is_file():
            return None
        if hashlib.sha256(path.read_bytes()).hexdigest() != stored.sha256:
            raise InputError(f"{path}: changed since it was stored; remove it, and fetch or add it again")
        return stored

    def put(self, key: str, data: bytes, source: str, *, replace: bool = False) -> Stored:
        """Store a PDF.

        Args:
            replace: replace a different PDF.

        Raises:
            InputError: a different PDF was stored before.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        first = self._first(key)
        if first and first.sha256 != sha256 and not replace:
            raise InputError(f"{source}: differs from the PDF stored for {key} before (sha256 {first.sha256[:12]}…)")
        stored = Stored(sha256, len(data), source, now())
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.path(key), data)
        write_atomically(self.path(key, ".json"), json.dumps(asdict(stored)) + "\n")
        return stored

    def _first(self, key: str) -> Stored | None:
        """Return the facts of the PDF stored first, even if the file is gone; None if there was none."""
        try:
            return Stored(**json.loads(self.path(key, ".json").read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, RecursionError):
            return None


def paper_key(row: Mapping[str, Any]) -> str:
    """Return the cache key of a row's paper, which instances of one paper share: the arXiv id for arXiv's PDF.

    Other keys depend on the whole address, so that no dataset can replace another paper's PDF.
    """
    arxiv, url = str(row["arxiv_id"]), str(row["paper_url"])
    if arxiv and pdf_url(row) == _arxiv_url(arxiv):
        return arxiv.replace("/", "-")
    words = re.sub(r"[^A-Za-z0-9]+", "-", url.rpartition("/")[2].removesuffix(".pdf")).strip("-")[:60]
    return f"{words or 'paper'}-{hashlib.sha256(url.encode()).hexdigest()[:12]}"


def pdf_url(row: Mapping[str, Any]) -> str:
    """Return the address of a row's PDF: the one in the row, or arXiv's first version, which never changes."""
    url, arxiv = str(row["paper_url"]), str(row["arxiv_id"])
    return url if url.endswith(".pdf") or "/pdf?" in url or not arxiv else _arxiv_url(arxiv)


def _arxiv_url(arxiv_id: str) -> str:
    return f"https://arxiv.org/pdf/{arxiv_id}v1"
