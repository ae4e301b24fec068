"""The cost limit of all requests to models: reserve a place before each request and settle it afterwards.

One rule holds for answers, judgements, diagnoses, probes and agents: a request starts if the limit covers the amount
spent plus the most that it and all requests in flight can cost. A single request starts as long as anything is left.
Thus the limit can be exceeded by at most the cost of one request, however many run in parallel.
"""

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..base.text import counted as number_of
from .prices import Price

#: Assumed tokens of an answer without `max_tokens`: more than today's models write.
MOST_OUTPUT_TOKENS = 131_072
#: Larger numbers of tokens, dollars or seconds are mistakes.
MAX_AMOUNT = 1e12
ASK_WITHOUT = "run again without a cost limit to resume"
ASK_HIGHER = "raise the cost limit to resume"
_POLL_S = 0.05

Tokens = tuple[int, int]
"""Tokens of a question and of its answer."""


class CostLimit(Exception):
    """A request that must not be sent: the limit is reached, or cannot be kept."""


@dataclass
class Spent:
    """The tokens and costs that the rows of a file record."""

    input_tokens: int = 0
    output_tokens: int = 0
    known_cost: float = 0.0
    unpriced: Tokens = (0, 0)
    """Tokens of rows that were written without a price."""
    unpriced_rows: int = 0
    uncounted: int = 0
    """Rows with unknown tokens."""

    def count(self, tokens: Tokens, cost_usd: Any, *, counted: bool = True) -> None:
        """Count one row.

        Args:
            cost_usd: the row's cost; None if it was written without a price.
            counted: whether the server reported its tokens.
        """
        known = read_tokens(*tokens)
        tokens, counted = known or (0, 0), counted and (known is not None or is_amount(cost_usd))
        self.input_tokens += tokens[0]
        self.output_tokens += tokens[1]
        if is_amount(cost_usd) and counted:
            self.known_cost += cost_usd
        elif counted and cost_usd is None:
            self.unpriced = self.unpriced[0] + tokens[0], self.unpriced[1] + tokens[1]
            self.unpriced_rows += 1
        else:
            self.uncounted += 1

    def count_facts(self, facts: Mapping[str, Any]) -> None:
        """Count a row that has `input_tokens`, `output_tokens` and `cost_usd`, or lacks some of them."""
        tokens, cost = read_tokens(facts.get("input_tokens"), facts.get("output_tokens")), facts.get("cost_usd")
        self.count(tokens or (0, 0), cost, counted=tokens is not None or is_amount(cost))

    def cost(self, price: Price | None) -> float | None:
        """Return US dollars, at `price` for rows without a cost of their own; None if unknown."""
        if self.uncounted or (any(self.unpriced) and price is None):
            return None
        return self.known_cost + (price.cost(*self.unpriced) if price else 0.0)


@dataclass(eq=False)
class Place:
    """A reserved part of the budget: the most that a request can cost."""

    tokens: Tokens
    usd: float | None
    """None if the price is not known."""


class Budget:
    """The limit of a call's costs and the amount spent; safe to use from several threads.

    Args:
        limit: US dollars, those of earlier calls included; None sets no limit.
        price: None if unknown.
        spent: US dollars of earlier calls.
        uncounted: answers of earlier calls with unknown costs.
        lost: the most that unanswered requests of earlier calls can have cost, in US dollars.
    """

    def __init__(
        self,
        limit: float | None = None,
        price: Price | None = None,
        spent: float = 0.0,
        uncounted: int = 0,
        lost: float = 0.0,
    ) -> None:
        self.limit, self.price = limit, price
        self.spent, self.uncounted, self.lost = spent, uncounted, lost
        self._uncounted_before = uncounted
        self._lock = threading.Lock()
        self._open: set[Place] = set()
        self._usage_seen = False

    @classmethod
    def after(cls, limit: float | None, price: Price | None, spent: Spent) -> "Budget":
        """Return the budget of a file whose rows have spent this much."""
        return cls(limit, price, spent.cost(price) or spent.known_cost, spent.uncounted)

    @property
    def cost_usd(self) -> float | None:
        """US dollars; with `lost` an upper bound; None if a price or a count is missing."""
        return None if self.price is None or self.uncounted else self.spent + self.lost

    @property
    def why(self) -> str:
        """The reason why no further request is allowed; empty if one is."""
        if self.limit is None:
            return ""
        if self.uncounted:
            earlier = f"{number_of(self._uncounted_before, 'earlier answer')} without usage"
            who = earlier if self._uncounted_before else "the server sends no usage"
            return f"cost unknown: {who}, so the cost limit cannot be kept"
        total = self.spent + self.lost
        if total < self.limit:
            return ""
        said = f"cost limit reached: ${total:.4f} of ${self.limit:g}"
        if not self.lost:
            return said
        return f"{said}; ${self.lost:.4f} of it is an upper bound for requests without an answer"

    @property
    def hint(self) -> str:
        """Advice on getting the remaining results once the budget is spent."""
        return ASK_WITHOUT if self.uncounted else ASK_HIGHER

    def reserve(self, request_bytes: int, max_tokens: int | None) -> Place | None:
        """Reserve a place for a request; return None if another request has to end first.

        Args:
            request_bytes: size of its body, an upper bound of its tokens.
            max_tokens: limit of its answer; None for no limit.

        Raises:
            CostLimit: nothing is left.
        """
        tokens = request_bytes, max_tokens or MOST_OUTPUT_TOKENS
        place = Place(tokens, self.price.cost(*tokens) if self.price else None)
        with self._lock:
            if self.limit is not None:
                if why := self.why:
                    raise CostLimit(why)
                needed = self.spent + self.lost + sum(other.usd or 0.0 for other in (*self._open, place))
                # One at a time until the server has shown that it reports usage.
                if self._open and not (self._usage_seen and needed <= self.limit):
                    return None
            self._open.add(place)
        return place

    async def turn(self, request_bytes: int, max_tokens: int | None) -> Place:
        """Wait for a place.

        Raises:
            CostLimit: nothing is left.
        """
        while (place := self.reserve(request_bytes, max_tokens)) is None:
            await asyncio.sleep(_POLL_S)
        return place

    def wait(self, request_bytes: int, max_tokens: int | None, pause: Callable[[float], bool]) -> Place | None:
        """Wait for a place on a thread.

        Args:
            pause: waits for the seconds given; returns True to stop waiting.

        Returns:
            The place, or None if `pause` returned True.

        Raises:
            CostLimit: nothing is left.
        """
        while (place := self.reserve(request_bytes, max_tokens)) is None:
            if pause(_POLL_S):
                return None
        return place

    def settle(self, place: Place, tokens: Tokens | None) -> float | None:
        """Count an answer and return its cost.

        Args:
            tokens: None if the server does not report them.

        Returns:
            US dollars; None if unknown.
        """
        with self._lock:
            self._open.discard(place)
            if tokens is None:
                self.uncounted += 1
                return None
            self._usage_seen = True
            if self.price is None:
                return None
            cost = self.price.cost(*tokens)
            self.spent += cost
            return cost

    def release(self, place: Place) -> None:
        """Give back the place of a request that cost nothing."""
        with self._lock:
            self._open.discard(place)

    def lose(self, place: Place) -> None:
        """Count a request without an answer at the most that it can have cost."""
        with self._lock:
            self._open.discard(place)
            self.lost += place.usd or 0.0


def read_usage(usage: Any) -> Tokens | None:
    """Read the tokens of a question and its answer from a server's `usage`; None if it has none."""
    if not isinstance(usage, dict):
        return None
    return read_tokens(usage.get("prompt_tokens"), usage.get("completion_tokens"))


def read_tokens(question: Any, answer: Any) -> Tokens | None:
    """Check that two values are numbers of tokens; return them, or None."""
    if type(question) is not int or type(answer) is not int or not (is_amount(question) and is_amount(answer)):
        return None
    return question, answer


def is_amount(value: Any) -> bool:
    """Return whether a value is a plausible number of tokens, dollars or seconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_AMOUNT
