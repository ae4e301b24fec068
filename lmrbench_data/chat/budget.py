"""Costs of requests to models: prices, the amounts that rows record, and the cost limit of a call."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..base.settings import Settings, option
from ..base.text import plural

MAX_AMOUNT = 1e12  # larger numbers of tokens or dollars are mistakes


class Tokens(NamedTuple):
    """Numbers of tokens: of a question, of its answer with reasoning, and of what a cache knew of the question."""

    question: int
    answer: int
    cached: int = 0


class CostLimitError(Exception):
    """A request that must not be sent; the message says why."""


class Price(Settings):
    """US dollars per million tokens; those in a cache count in full unless they have a price: an upper bound."""

    input_per_mtok: float = option(ge=0, le=1e6)
    output_per_mtok: float = option(ge=0, le=1e6)
    cached_input_per_mtok: float | None = option(None, ge=0, le=1e6)

    def cost(self, tokens: Tokens) -> float:
        """Return the US dollars that a question and its answer cost."""
        cached = (
            self.input_per_mtok
            if self.cached_input_per_mtok is None
            else self.cached_input_per_mtok
        )
        fresh = tokens.question - tokens.cached
        return (
            fresh * self.input_per_mtok
            + tokens.cached * cached
            + tokens.answer * self.output_per_mtok
        ) / 1_000_000


@dataclass
class Spent:
    """The tokens and costs that rows record; those of some are unknown, or were when they were written."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    unknown: int = 0

    def count(self, facts: Mapping[str, Any]) -> None:
        """Count a row by its `input_tokens`, `output_tokens` and `cost_usd`, as far as it has them."""
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
    """The limit of a call's costs, if any, and the US dollars spent, also in earlier calls; several threads may use it.

    A request starts as long as anything is left, so the requests in flight can exceed the limit.
    """

    limit: float | None = None
    price: Price | None = None
    spent: float = 0.0
    unknown: int = (
        0  # requests of unknown cost, those included that gave no answer but may be billed
    )
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def why(self) -> str:
        """The reason why no further request is allowed; empty if one is."""
        if self.limit is None:
            return ""
        if self.unknown:
            return f"cost unknown: {plural(self.unknown, 'request')} without cost, so the cost limit cannot be kept"
        return (
            ""
            if self.spent < self.limit
            else f"cost limit reached: ${self.spent:.4f} of ${self.limit:g}"
        )

    def add(self, tokens: Tokens | None) -> float | None:
        """Count a request, whose tokens are None if the server does not report them; return its cost, if known."""
        cost = self.price.cost(tokens) if self.price and tokens else None
        with self._lock:
            self.spent += cost or 0.0
            if tokens is None:
                self.unknown += 1
        return cost


def read_tokens(
    facts: Any, question: str = "prompt_tokens", answer: str = "completion_tokens"
) -> Tokens | None:
    """Read the tokens of a question and its answer, by default from a server's `usage`; None if there are none.

    Some servers count reasoning beside the completion, or leave the completion out: then the total tells.
    """
    if not isinstance(facts, dict):
        return None
    details = facts.get("prompt_tokens_details")
    cached = (
        details.get("cached_tokens")
        if isinstance(details, dict)
        else facts.get("prompt_cache_hit_tokens")
    )
    sent = _amount(facts.get(question))
    received = _amount(facts.get(answer))
    total = _amount(facts.get("total_tokens"))
    if sent is None or (received is None and (total is None or total < sent)):
        return None
    return Tokens(sent, max(received or 0, (total or 0) - sent), min(_amount(cached) or 0, sent))


def _amount(value: Any) -> int | None:
    """Return a number of tokens; None for anything else."""
    return value if type(value) is int and 0 <= value < MAX_AMOUNT else None
