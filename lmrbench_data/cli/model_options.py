"""Options of all commands that ask a model."""

from pathlib import Path
from typing import Annotated

import typer

Model = Annotated[str, typer.Option("--model", "-m", help="The model, as its server calls it.")]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", help="OpenAI-compatible server; OPENAI_BASE_URL, else OpenAI.")
]
Prices = Annotated[
    Path | None, typer.Option("--prices", help="YAML: model -> {input_per_mtok, output_per_mtok} in US dollars.")
]
Rpm = Annotated[float | None, typer.Option("--rpm", min=0.1, help="Limit on requests started in a minute.")]
Retries = Annotated[
    int, typer.Option("--retries", min=0, max=100, help="For each request that meets a busy or broken server.")
]
Timeout = Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds for one request.")]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", min=1, help="Limit of an answer, its reasoning included.")
]
Instances = Annotated[list[str] | None, typer.Option("--instance", "-i", help="Only these (repeatable).")]
Questions = Annotated[int, typer.Option("--workers", "-w", min=1, max=256, help="Questions at a time.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not use what other runs have paid for.")]
