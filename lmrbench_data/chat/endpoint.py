"""Settings of requests to a model: model, server, retries, limits and costs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pydantic

from ..base.errors import ArgumentError, InputError
from ..base.settings import Settings, option
from ..base.strict_yaml import read_yaml
from .budget import Price
from .refusals import LIMITS

BaseUrl = Annotated[
    str | None, option(..., "OpenAI-compatible server (default: OPENAI_BASE_URL, else OpenAI).")
]
Instances = Annotated[
    tuple[str, ...], option(..., "Instances to include (default: all).", "--instance", "-i")
]
_BODY = (
    "More parameters of each request, such as reasoning_effort='\"high\"' or top_p=0.9 "
    "(default: none)."
)
#: Parameters that the harness sets, or that an agent's requests bring.
_OWN = """
model messages input system instructions stream store n temperature response_format
tools tool_choice max_output_tokens
""".split()
_OWN += LIMITS
_RETRIES = (
    "Retries per request on connection errors, 408, 409, 429, 5xx and answers without a completion."
)
_MAX_COST = (
    "Cost limit in US dollars, with what earlier runs spent on the same output; needs --prices."
)
_PRICES = (
    "YAML file that maps each model to input_per_mtok, output_per_mtok and (optional) "
    "cached_input_per_mtok and cache_write_per_mtok."
)
_WRITE_PRICES = "write a YAML file that maps each model to input_per_mtok and output_per_mtok"


def _read_body(value: Any) -> dict[str, Any]:
    """Read the parameters that a user adds to each request: a mapping, or texts KEY=JSON."""
    body = dict(value) if isinstance(value, Mapping) else _read_texts(value)
    for name, parameter in body.items():
        if name in _OWN:
            raise ArgumentError("body", f"the harness sets {name} itself; leave it out")
        try:
            json.dumps(parameter, allow_nan=False)
        except (ValueError, TypeError, RecursionError):
            raise _not_json(name) from None
    return body


def _read_texts(texts: Any) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for text in texts if isinstance(texts, list | tuple) else [texts]:
        name, parameter = _read_text(str(text))
        if name in body:
            raise ArgumentError("body", f"{name} is named twice; name it once")
        body[name] = parameter
    return body


def _read_text(text: str) -> tuple[str, Any]:
    name, _, parameter = text.partition("=")
    if not name:
        problem = f"{text!r} names no parameter; write KEY=JSON, such as top_p=0.9"
        raise ArgumentError("body", problem)
    try:
        return name, json.loads(parameter)
    except (ValueError, RecursionError):
        raise _not_json(name) from None


def _not_json(name: str) -> ArgumentError:
    problem = f"{name} is not KEY=JSON, such as top_p=0.9 or {name}='\"high\"'"
    return ArgumentError("body", problem)


Body = Annotated[
    dict[str, Any],
    pydantic.BeforeValidator(_read_body),
    option(..., _BODY, "--body", metavar="KEY=JSON"),
]


class ModelSettings(Settings):
    """A model at a server, and what each request has."""

    model: str = option(..., "Model name, as its server knows it.", "--model", "-m")
    base_url: BaseUrl = None
    max_tokens: int | None = option(
        None, "Token limit of one reply, reasoning included (default: none).", ge=1
    )
    body: Body = pydantic.Field(default_factory=dict)


class Endpoint(ModelSettings):
    """A model at a server, and the limits of each request."""

    retries: int = option(5, _RETRIES, ge=0, le=100)
    timeout_s: float = option(300.0, "Seconds per request.", "--timeout", ge=0.1)


class JobSettings(ModelSettings):
    """Settings of many jobs that ask a model and cost money."""

    workers: int = option(4, "Parallel requests.", "--workers", "-w", ge=1, le=256)
    prices: Path | None = option(None, _PRICES)
    max_cost: float | None = option(None, _MAX_COST, ge=0)
    instances: Instances = ()

    def price(self) -> Price | None:
        """Return the price of the model; None without a file.

        Raises:
            InputError: the file lacks the model or has a wrong price for it, or there is a cost
                limit but no file.
        """
        if self.prices is not None:
            return _read_price(self.prices, self.model)
        if self.max_cost is not None:
            problem = "needs prices: a YAML file with the prices of each model"
            raise ArgumentError("max_cost", problem)
        return None


def _read_price(path: Path, model: str) -> Price:
    prices = read_yaml(path, _WRITE_PRICES)
    price = prices.get(model)
    if not isinstance(price, dict):
        lacks = f"no input_per_mtok and output_per_mtok (US dollars) for {model!r}"
        known = ", ".join(sorted(prices)) or "none"
        raise InputError(f"{path}: {lacks}; it has {known}")
    try:
        return Price.of(**price)
    except ArgumentError as error:
        raise InputError(f"{path}: {model}: {error}") from None


class RequestSettings(JobSettings, Endpoint):
    """Settings of jobs that are requests to one endpoint."""
