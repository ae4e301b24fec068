"""Settings of requests to a model: model, server, retries, limits and costs."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import pydantic

from ..base.errors import ArgumentError
from ..base.settings import Settings, option
from .budget import Price, read_price
from .refusals import LIMITS

Model = Annotated[str, option(..., "Model name, as its server knows it.", "--model", "-m")]
BaseUrl = Annotated[str | None, option(..., "OpenAI-compatible server (default: OPENAI_BASE_URL, else OpenAI).")]
Instances = Annotated[tuple[str, ...], option(..., "Instances to include (default: all).", "--instance", "-i")]
_BODY = "More parameters of each request, such as reasoning_effort='\"high\"' or top_p=0.9 (default: none)."
#: Parameters that the harness sets, or that an agent's requests bring.
_OWN = ("model", "messages", "stream", "n", "temperature", "response_format", "tools", "tool_choice", *LIMITS)
_RETRIES = "Retries per request on connection errors, 408, 409, 429, 5xx and answers without a completion."
_MAX_COST = "Cost limit in US dollars, with what earlier runs spent on the same output; needs --prices."


def read_body(value: Any) -> dict[str, Any]:
    """Read the parameters that a user adds to each request: a mapping, or texts of the form KEY=JSON.

    Raises:
        ArgumentError: a text has another form, or the harness sets this parameter itself.
    """
    body: dict[str, Any] = {}
    texts = value if isinstance(value, list | tuple) else [value]
    items: Iterable[Any] = value.items() if isinstance(value, Mapping) else [str(text).split("=", 1) for text in texts]
    for key, *content in items:
        try:
            [item] = content
            body[key] = item if isinstance(value, Mapping) else json.loads(item)
            json.dumps(body, allow_nan=False)
        except (ValueError, TypeError, RecursionError):
            raise ArgumentError("body", f"{key} is not KEY=JSON, such as top_p=0.9 or {key}='\"high\"'") from None
        if key in _OWN:
            raise ArgumentError("body", f"the harness sets {key} itself")
    return body


Body = Annotated[dict[str, Any], pydantic.BeforeValidator(read_body), option(..., _BODY, "--body", metavar="KEY=JSON")]


class Endpoint(Settings):
    """A model at a server, and the limits of each request."""

    model: Model
    base_url: BaseUrl = None
    retries: int = option(5, _RETRIES, ge=0, le=100)
    timeout_s: float = option(300.0, "Seconds per request.", "--timeout", ge=0.1)
    max_tokens: int | None = option(None, "Token limit of one reply, reasoning included (default: the server's).", ge=1)
    body: Body = pydantic.Field(default_factory=dict)


class JobSettings(Settings):
    """Settings of many jobs that ask a model and cost money."""

    model: Model
    workers: int = option(4, "Parallel requests.", "--workers", "-w", ge=1, le=256)
    prices: Path | None = option(
        None, "YAML file that maps each model to input_per_mtok, output_per_mtok and (optional) cached_input_per_mtok."
    )
    max_cost: float | None = option(None, _MAX_COST, ge=0)
    instances: Instances = ()

    def price(self) -> Price | None:
        """The price of the model; None if it is unknown."""
        return read_price(self.prices, self.model, self.max_cost)


class RequestSettings(JobSettings, Endpoint):
    """Settings of jobs that are requests to one endpoint."""
