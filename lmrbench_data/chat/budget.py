"""Costs of requests to models: the user's prices, the amounts that rows record, and the cost limit of a call."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..base.errors import ArgumentError, InputError
from ..base.settings import Settings, option
from ..base.strict_yaml import read_yaml
from ..base.text import counted

#: Larger numbers of tokens, dollars or seconds are mistakes.
MAX_AMOUNT = 1e12

Tokens = tuple[int, int]
"""Tokens of a question and of its answer."""


class CostLimit(Exception):
    """A request that must not be sent: the limit is reached, or cannot be kept."""


class Price(Settings):
    """US dollars per million tokens."""

    input_per_mtok: float = option(ge=0, le=1e6)
    output_per_mtok: float = option(ge=0, le=1e6)

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """US dollars."""
        return (input_tokens * self.input_per_mtok + output_tokens * self.output_per_mtok) / 1_000_000


def read_price(prices: Path | None, model: str, max_cost: float | None) -> Price | None:
    """Return the price of a model from the user's YAML file; None without a file.

    Raises:
        InputError: a cost limit without prices, or prices without a valid one for this model.
    """
    if prices is None:
        if max_cost is not None:
            raise ArgumentError("max_cost", "needs prices: a YAML file with the prices of each model")
        return None
    needed = ", ".join(Price.model_fields)
    if not prices.is_file():
        raise ArgumentError("prices", f"{prices}: no such file; it maps a model to {needed} (US dollars)")
    table = {str(name): value for name, value in read_yaml(prices).items()}
    if model not in table:
        raise InputError(f"{prices}: no price for {model!r}; it has {', '.join(sorted(table)) or 'none'}")
    try:
        return Price(**table[model])
    except (ArgumentError, TypeError) as error:
        raise InputError(f"{prices}: {model} needs {needed}, in US dollars: {error}") from None


@dataclass
class Spent:
    """The tokens and costs that the rows of a file record for one model."""

    input_tokens: int = 0
    output_tokens: int = 0
    known_cost: float = 0.0
    unpriced: Tokens = (0, 0)
    """Tokens of rows that were written without a price."""
    unpriced_rows: int = 0
    uncounted: int = 0
    """Rows with unknown tokens."""

    def count(self, facts: Mapping[str, Any]) -> None:
        """Count a row by its `input_tokens`, `output_tokens`, `cost_usd` and `counted`, as far as it has them."""
        tokens, cost = read_tokens(facts.get("input_tokens"), facts.get("output_tokens")), facts.get("cost_usd")
        self.input_tokens += tokens[0] if tokens else 0
        self.output_tokens += tokens[1] if tokens else 0
        if cost is not None and is_amount(cost):
            self.known_cost += cost
        elif tokens and cost is None and facts.get("counted", True):
            self.unpriced = self.unpriced[0] + tokens[0], self.unpriced[1] + tokens[1]
            self.unpriced_rows += 1
        else:
            self.uncounted += 1

    def known(self, price: Price | None) -> float:
        """Return the US dollars that are known, at `price` for rows without a cost of their own."""
        return self.known_cost + (price.cost(*self.unpriced) if price else 0.0)

    def unknown_rows(self, price: Price | None) -> int:
        """Return the number of rows whose cost is unknown."""
        return self.uncounted + (0 if price else self.unpriced_rows)

    def cost(self, price: Price | None) -> float | None:
        """Return US dollars; None if the cost of a row is unknown."""
        return None if self.unknown_rows(price) else self.known(price)


@dataclass
class Budget:
    """The limit of a call's costs and the amount spent; safe to use from several threads.

    A request starts as long as anything is left, so the requests in flight can exceed the limit.
    """

    limit: float | None = None
    """US dollars, those of earlier calls included; None sets no limit."""
    price: Price | None = None
    spent: float = 0.0
    uncounted: int = 0
    """Answers whose tokens the server did not report, those of earlier calls included."""
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def after(cls, limit: float | None, price: Price | None, spent: Spent) -> "Budget":
        """Return the budget of a file whose rows have spent this much."""
        return cls(limit, price, spent.known(price), spent.uncounted)

    @property
    def cost_usd(self) -> float | None:
        """US dollars; None if a price or a count is missing."""
        return None if self.price is None or self.uncounted else self.spent

    @property
    def why(self) -> str:
        """The reason why no further request is allowed; empty if one is."""
        if self.limit is None:
            return ""
        if self.uncounted:
            answers = counted(self.uncounted, "answer")
            return f"cost unknown: {answers} without usage, so the cost limit cannot be kept"
        return "" if self.spent < self.limit else f"cost limit reached: ${self.spent:.4f} of ${self.limit:g}"

    @property
    def hint(self) -> str:
        """Advice on getting the remaining results once the budget is spent."""
        return "run again without a cost limit to resume" if self.uncounted else "raise the cost limit to resume"

    def check(self) -> None:
        """Check that a request may start.

        Raises:
            CostLimit: nothing is left.
        """
        if why := self.why:
            raise CostLimit(why)

    def add(self, tokens: Tokens | None) -> None:
        """Count an answer; its tokens are None if the server does not report them."""
        with self._lock:
            self.uncounted += tokens is None
            self.spent += self.cost(tokens) or 0.0

    def cost(self, tokens: Tokens | None) -> float | None:
        """Return the US dollars of an answer; None if the price or the tokens are unknown."""
        return self.price.cost(*tokens) if self.price and tokens else None


def read_usage(usage: Any) -> Tokens | None:
    """Read the tokens of a question and its answer from a server's `usage`; None if it has none."""
    return read_tokens(usage.get("prompt_tokens"), usage.get("completion_tokens")) if isinstance(usage, dict) else None


def read_tokens(question: Any, answer: Any) -> Tokens | None:
    """Check that two values are numbers of tokens; return them, or None."""
    is_count = all(type(number) is int and is_amount(number) for number in (question, answer))
    return (question, answer) if is_count else None


def is_amount(value: Any) -> bool:
    """Return whether a value is a plausible number of tokens, dollars or seconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_AMOUNT
