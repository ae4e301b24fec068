"""Judgements already paid for, kept across runs in the user's cache folder by the content of what was asked."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...chat.client import Message
from ...files import write_atomically
from ...paths import cache_folder
from .category import Category
from .parse import Opinion
from .store import Judge


@dataclass(frozen=True)
class Cache:
    """A folder of judgements, never of failures to get one; without a folder nothing is read or kept."""

    folder: Path | None

    @classmethod
    def of_user(cls) -> "Cache":
        """That in the user's cache folder."""
        return cls(cache_folder() / "judgements")

    def get(self, key: str) -> tuple[Opinion, str] | None:
        """The opinion and when it was given; None if there is none that can be read."""
        stored = self.read(key)
        try:
            points = tuple(str(point) for point in stored["rationale"])
            texts = str(stored["algorithm"]), str(stored["implementation"])
            return Opinion(Category(stored["category"]), *texts, points), str(stored["judged_at"])
        except (ValueError, LookupError, TypeError):
            return None

    def put(self, key: str, opinion: Opinion, judged_at: str) -> None:
        """Keep an opinion."""
        self.write(key, {**asdict(opinion), "judged_at": judged_at})

    def read(self, key: str) -> Any:
        """What is kept under a key; None if nothing is that can be read."""
        if self.folder is None:
            return None
        try:
            return json.loads(self._path(self.folder, key).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, key: str, value: Mapping[str, Any]) -> None:
        """Keep what JSON can hold; a file is whole or not there."""
        if self.folder is not None:
            write_atomically(self._path(self.folder, key), json.dumps(value))

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.json"


def cache_key(judge: Judge, temperature: float, messages: Sequence[Message], vote: int) -> str:
    """Identity of a question: two servers may call different models by one name."""
    content = json.dumps([*judge, temperature, list(messages), vote])
    return hashlib.sha256(content.encode("ascii")).hexdigest()
