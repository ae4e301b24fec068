"""Costs of requests to models: prices, the amounts that rows record, the cost limit of a call."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..base.errors import LMRBenchError
from ..base.settings import Settings, option
from ..base.text import plural
from .refusals import get

MAX_AMOUNT = 1e12  # larger numbers of tokens or dollars are mistakes


class Tokens(NamedTuple):
    """Numbers of tokens of one request."""

    question: int
    answer: int
    """Reasoning included."""
    cached: int = 0
    """Tokens of the question that the server had in a cache."""
    written: int = 0
    """Tokens of the question that it put into a cache, which some servers bill as dearer."""


class CostLimitError(LMRBenchError):
    """A request that must not be sent; the message says why."""


class Price(Settings):
    """US dollars per million tokens.

    Without a price, cached tokens count in full, and those that are put into a cache twice: no
    server asks for more.
    """

    input_per_mtok: float = option(ge=0, le=1e6)
    output_per_mtok: float = option(ge=0, le=1e6)
    cached_input_per_mtok: float | None = option(None, ge=0, le=1e6)
    cache_write_per_mtok: float | None = option(None, ge=0, le=1e6)

    def cost(self, tokens: Tokens) -> float:
        """Return the US dollars that a question and its answer cost."""
        cost = tokens.question * self.input_per_mtok + tokens.answer * self.output_per_mtok
        if self.cached_input_per_mtok is not None:
            cost -= tokens.cached * (self.input_per_mtok - self.cached_input_per_mtok)
        write = self.cache_write_per_mtok
        if write is None:
            write = 2 * self.input_per_mtok
        cost += tokens.written * (write - self.input_per_mtok)
        return cost / 1_000_000


@dataclass
class Spent:
    """The tokens and costs that rows record."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unknown: int = 0
    """Rows whose cost is unknown."""

    def count(self, facts: Mapping[str, Any]) -> None:
        """Count the `input_tokens`, `output_tokens` and `cost_usd` of a row, if it has them."""
        tokens = read_tokens(facts, "input_tokens", "output_tokens") or Tokens(0, 0)
        cost = facts.get("cost_usd")
        self.input_tokens += tokens.question
        self.output_tokens += tokens.answer
        if isinstance(cost, int | float) and 0 <= cost < MAX_AMOUNT:
            self.cost_usd += cost
        else:
            self.unknown += 1


@dataclass
class Budget:
    """The limit of a call's costs, if any, and the US dollars spent, also in earlier calls.

    A request starts as long as anything is left, so the requests in flight can exceed the limit.
    Several threads may use it.
    """

    limit: float | None = None
    price: Price | None = None
    spent: float = 0.0
    unknown: int = 0
    """Requests of unknown cost, including those that gave no answer but may be billed."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def why(self) -> str:
        """The reason why no further request is allowed; empty if one is."""
        if self.limit is None:
            return ""
        if self.unknown:
            count = plural(self.unknown, "request")
            return f"cost unknown: {count} without cost, so the cost limit cannot be kept"
        if self.spent >= self.limit:
            return f"cost limit reached: ${self.spent:.4f} of ${self.limit:g}"
        return ""

    def add(self, tokens: Tokens | None) -> float | None:
        """Count a request, whose tokens may be unknown; return its cost, if known."""
        cost = self.price.cost(tokens) if self.price and tokens else None
        with self._lock:
            self.spent += cost or 0.0
            if tokens is None:
                self.unknown += 1
        return cost


def read_tokens(
    facts: Any, question: str = "prompt_tokens", answer: str = "completion_tokens"
) -> Tokens | None:
    """Read the numbers of tokens, by default from a server's `usage`; None if there are none.

    Some servers count reasoning beside the completion, or leave the completion out: then the
    total tells.
    """
    sent = read_amount(facts, question)
    received = read_amount(facts, answer)
    total = read_amount(facts, "total_tokens")
    if sent is None or (received is None and (total is None or total < sent)):
        return None
    cached = read_amount(facts, "prompt_tokens_details", "cached_tokens")
    if cached is None:
        cached = read_amount(facts, "prompt_cache_hit_tokens") or 0
    received = max(received or 0, (total or 0) - sent)
    return Tokens(sent, received, min(cached, sent))


def read_amount(facts: Any, *path: str) -> int | None:
    """Return the number of tokens at a path; None for anything else."""
    value = get(facts, *path)
    return value if type(value) is int and 0 <= value < MAX_AMOUNT else None
