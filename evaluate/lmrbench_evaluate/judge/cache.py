"""Opinions already paid for, kept across runs in the user's cache folder by the content of the question."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.paths import cache_folder
from lmrbench_data.chat.client import Message

from .question_log import Judge


@dataclass(frozen=True)
class Cache:
    """A folder of opinions, never of failures to get one; without a folder nothing is read or kept."""

    folder: Path | None

    @classmethod
    def of_user(cls) -> "Cache":
        """Return the cache in the user's cache folder."""
        return cls(cache_folder() / "judgements")

    def read(self, key: str) -> Any:
        """Return the JSON value under a key; None if there is none that can be read."""
        if self.folder is None:
            return None
        try:
            return json.loads(self._path(self.folder, key).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None

    def write(self, key: str, value: Mapping[str, Any]) -> None:
        """Keep a value; its file is whole or missing."""
        if self.folder is not None:
            write_atomically(self._path(self.folder, key), json.dumps(value))

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.json"


def cache_key(judge: Judge, temperature: float | None, messages: Sequence[Message], vote: int) -> str:
    """Return the identity of a question: two servers may call different models by one name."""
    content = json.dumps([*judge, temperature, list(messages), vote])
    return hashlib.sha256(content.encode("ascii")).hexdigest()
