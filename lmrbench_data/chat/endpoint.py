"""Settings of requests to a model: model, server, retries, limits and costs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..base.settings import Settings, nested, setting
from .prices import Price, chosen_price


@dataclass(frozen=True)
class Endpoint(Settings):
    """A model at a server, and the limits of each request."""

    model: str = setting(help="Model name, as its server knows it.", flags=("--model", "-m"))
    base_url: str | None = setting(None, "OpenAI-compatible server (default: OPENAI_BASE_URL, else OpenAI).")
    retries: int = setting(
        5,
        "Retries per request on connection errors, 408, 409, 429, 5xx and answers without a completion.",
        min=0,
        max=100,
    )
    timeout_s: float = setting(300.0, "Seconds per request.", flags=("--timeout",), min=0.1)
    max_tokens: int | None = setting(
        None, "Token limit of one reply, reasoning included (default: the server's).", min=1
    )
    requests_per_minute: float | None = setting(
        None, "Requests started per minute, excluding retries (default: no limit).", flags=("--rpm",), min=0.1
    )


@dataclass(frozen=True, kw_only=True)
class JobSettings(Settings):
    """Settings of many jobs that cost money."""

    workers: int = setting(4, "Parallel requests.", flags=("--workers", "-w"), min=1, max=256)
    prices: Path | None = setting(
        None, "YAML file that maps each model to input_per_mtok and output_per_mtok, in US dollars."
    )
    max_cost: float | None = setting(
        None,
        "Cost limit in US dollars, including what earlier runs spent on the same output; needs `prices`. It "
        "can be exceeded by at most the cost of one request: near the limit, requests are sent one at a time.",
        min=0,
    )
    instances: Sequence[str] = setting((), "Instances to include (default: all).", flags=("--instance", "-i"))


@dataclass(frozen=True, kw_only=True)
class RequestSettings(JobSettings):
    """Settings of jobs that are requests to one endpoint."""

    endpoint: Endpoint = nested()

    def price(self) -> Price | None:
        """The price of the model; None if it is unknown.

        Raises:
            InputError: a cost limit without prices, or prices without this model.
        """
        return chosen_price(self.prices, self.endpoint.model, self.max_cost)
