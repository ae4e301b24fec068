"""Read the prices of tokens by model from a YAML file that the user keeps."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import ArgumentError, InputError
from ..base.strict_yaml import read_yaml

#: US dollars per million tokens; a higher price is a mistake.
_MAX_PRICE = 1e6
_KEYS = ("input_per_mtok", "output_per_mtok")


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    input_per_mtok: float
    output_per_mtok: float

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        """US dollars."""
        return (input_tokens * self.input_per_mtok + output_tokens * self.output_per_mtok) / 1_000_000


def chosen_price(prices: Path | None, model: str, max_cost: float | None) -> Price | None:
    """Return the price of a model, if the user gives one.

    Raises:
        InputError: the cost limit is not an amount or lacks prices, or the prices lack this model.
    """
    if max_cost is not None and not 0 <= max_cost < math.inf:
        raise ArgumentError("max_cost", f"{max_cost} is not a number of US dollars")
    if max_cost is not None and prices is None:
        raise ArgumentError("max_cost", "needs prices: a YAML file with the prices of each model")
    return read_price(prices, model) if prices else None


def read_price(path: Path, model: str) -> Price:
    """Read the price of a model.

    Raises:
        InputError: there is no such file, a price is malformed, or this model has none.
    """
    if not path.is_file():
        raise ArgumentError("prices", f"{path}: no such file; it maps a model to {', '.join(_KEYS)} (US dollars)")
    table = {str(name): _price(path, name, value) for name, value in read_yaml(path).items()}
    if model not in table:
        raise InputError(f"{path}: no price for {model!r}; it has {', '.join(sorted(table)) or 'none'}")
    return table[model]


def _price(path: Path, name: Any, value: Any) -> Price:
    if not isinstance(value, dict) or value.keys() != set(_KEYS):
        raise InputError(f"{path}: {name}: needs {' and '.join(_KEYS)}, in US dollars, and nothing else")
    for key, number in value.items():
        if isinstance(number, bool) or not isinstance(number, int | float) or not (0 <= number <= _MAX_PRICE):
            raise InputError(f"{path}: {name}: {key} must be a number of US dollars, not {str(number)[:50]!r}")
    return Price(**value)
