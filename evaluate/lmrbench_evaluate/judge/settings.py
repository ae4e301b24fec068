"""Settings of the judge."""

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench_data.base.settings import setting
from lmrbench_data.chat.endpoint import RequestSettings

if TYPE_CHECKING:
    from .cache import Cache


@dataclass(frozen=True, kw_only=True)
class JudgeSettings(RequestSettings):
    """Settings of judging a run."""

    run: Path = setting(help="Run folder of `lmrbench evaluate`.", argument=True)
    votes: int = setting(1, "Judgements per answer; the majority decides.", min=1, max=99)
    dataset: str | None = setting(None, "New location of the dataset, if it has moved since the evaluation.")
    no_cache: bool = setting(False, "Ignore cached replies from other runs.")

    @functools.cached_property
    def cache(self) -> "Cache":
        """The judgements of other runs; with `no_cache`, an empty cache that keeps nothing."""
        from .cache import Cache

        return Cache(None) if self.no_cache else Cache.of_user()
