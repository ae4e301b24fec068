"""When to stop asking a model: its server keeps failing, nothing that it says can be read, the money is spent."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from ...chat.prices import Price
from .client import Reply
from .settings import JudgeSummary
from .store import Spent

#: So many answers in a row that a server failed on mean that it will not come back by itself.
GIVE_UP_AFTER = 3
#: So many answers in a row that nobody could read, each asked for several times, mean that none will come.
USELESS_AFTER = 10
_UNCOUNTED = "the judge's server does not say how many tokens it used, so max_cost cannot be kept"
_WITHOUT_LIMIT = "without a limit, the others are asked for"


class Limits:
    """What one pass over a run's answers may use; the reason to stop goes into its summary.

    Args:
        max_cost: in US dollars, of all that the folder's rows by this model took; None sets no limit.
        spent: what those took, kept up to date by whoever writes the rows.
        noun: what is asked for, one and many.
    """

    def __init__(
        self,
        summary: JudgeSummary,
        max_cost: float | None,
        price: Price | None,
        spent: Spent,
        noun: tuple[str, str] = ("judgement", "judgements"),
    ) -> None:
        self.noun, self.nouns = noun
        self.summary, self.max_cost, self.price, self.spent = summary, max_cost, price, spent
        self._failures = self._useless = 0
        self._usage_is_known = asyncio.Event()
        self._first = asyncio.Lock()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Within it a question may be asked: one at a time until it is known that costs can be counted."""
        if self.max_cost is None or self._usage_is_known.is_set():
            yield
            return
        await self._first.acquire()
        if self._usage_is_known.is_set():
            self._first.release()
            yield
            return
        try:
            yield
        finally:
            self._first.release()

    def reached(self) -> bool:
        """Whether nothing more is to be asked."""
        if not self.summary.stopped and self.max_cost is not None:
            spent = self.spent.cost(self.price)
            if spent is None:
                self._stop(_UNCOUNTED, _WITHOUT_LIMIT)
            elif spent >= self.max_cost:
                self._stop(
                    f"{spent:.4f} USD are spent on this run's {self.nouns}, of {self.max_cost:g} allowed",
                    "a higher limit asks for those that are missing",
                )
        return bool(self.summary.stopped)

    def learn(self, asked: Reply[Any]) -> None:
        """Take in how a question went."""
        if asked.counted and any(asked.tokens):
            self._usage_is_known.set()
        self._failures = 0 if asked.reached else self._failures + 1
        self._useless = 0 if asked.opinion else self._useless + asked.reached
        if self._failures >= GIVE_UP_AFTER:
            self._stop(f"the judge's server {self.summary.judge.server} keeps failing ({asked.error})")
        if self._useless >= USELESS_AFTER:
            self._stop(f"{self._useless} questions in a row brought no {self.noun} ({asked.error})")
        if self.max_cost is not None and not asked.counted:
            self._stop(_UNCOUNTED, _WITHOUT_LIMIT)

    def _stop(self, reason: str, hint: str = "") -> None:
        if not self.summary.stopped:
            self.summary.stopped, self.summary.hint = reason, hint or self.summary.hint
