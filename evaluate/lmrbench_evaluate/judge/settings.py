"""Settings of the judge."""

import functools
from pathlib import Path
from typing import TYPE_CHECKING

from lmrbench_data.base.settings import option
from lmrbench_data.chat.endpoint import RequestSettings

if TYPE_CHECKING:
    from .cache import Cache


class JudgeSettings(RequestSettings):
    """Settings of judging a run."""

    run: Path = option(help="Run folder of `lmrbench evaluate`.", argument=True)
    votes: int = option(1, "Judgements per answer; the majority decides.", ge=1, le=99)
    dataset: str | None = option(None, "New location of the dataset, if it has moved since the evaluation.")
    no_cache: bool = option(False, "Ignore cached replies from other runs.")

    @functools.cached_property
    def cache(self) -> "Cache":
        """The judgements of other runs; with `no_cache`, an empty cache that keeps nothing."""
        from .cache import Cache

        return Cache(None) if self.no_cache else Cache.of_user()
