"""Settings of requests to a model: model, server, retries, limits and costs."""

from pathlib import Path
from typing import Annotated

from ..base.settings import Settings, option
from .budget import Price, read_price

Model = Annotated[str, option(..., "Model name, as its server knows it.", "--model", "-m")]
BaseUrl = Annotated[str | None, option(..., "OpenAI-compatible server (default: OPENAI_BASE_URL, else OpenAI).")]
Instances = Annotated[tuple[str, ...], option(..., "Instances to include (default: all).", "--instance", "-i")]
_RETRIES = "Retries per request on connection errors, 408, 409, 429, 5xx and answers without a completion."
_MAX_COST = "Cost limit in US dollars, with what earlier runs spent on the same output; needs --prices."


class Endpoint(Settings):
    """A model at a server, and the limits of each request."""

    model: Model
    base_url: BaseUrl = None
    retries: int = option(5, _RETRIES, ge=0, le=100)
    timeout_s: float = option(300.0, "Seconds per request.", "--timeout", ge=0.1)
    max_tokens: int | None = option(None, "Token limit of one reply, reasoning included (default: the server's).", ge=1)


class JobSettings(Settings):
    """Settings of many jobs that ask a model and cost money."""

    model: Model
    workers: int = option(4, "Parallel requests.", "--workers", "-w", ge=1, le=256)
    prices: Path | None = option(
        None, "YAML file that maps each model to input_per_mtok and output_per_mtok, in US dollars."
    )
    max_cost: float | None = option(None, _MAX_COST, ge=0)
    instances: Instances = ()

    def price(self) -> Price | None:
        """The price of the model; None if it is unknown."""
        return read_price(self.prices, self.model, self.max_cost)


class RequestSettings(JobSettings, Endpoint):
    """Settings of jobs that are requests to one endpoint."""
