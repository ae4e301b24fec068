"""`lmrbench analyse familiarity`: token probabilities of the goal files, and scores by cut-off date."""

from pathlib import Path
from typing import Annotated

import typer

from ...chat.endpoint import Endpoint
from ..options import DatasetSpec, MovedDataset, options
from ..output import Json, progress_bar
from .show import Out, check_names, present

app = typer.Typer(no_args_is_help=True, help="Measure how familiar a model is with the papers.")


@app.command()
def cutoff(
    runs: Annotated[list[Path], typer.Argument(help="Run folders of `lmrbench evaluate`.", metavar="RUN...")],
    cutoffs: Annotated[
        list[str], typer.Option("--cutoff", help="YYYY-MM for all models, MODEL=YYYY-MM for one (repeatable).")
    ],
    dataset: MovedDataset = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Score runs on papers before and after a cut-off date.

    The date of a paper is the month of its first arXiv version, else its year.

    Example: lmrbench analyse familiarity cutoff runs/mine --cutoff 2024-06
    """
    from ...analyse.familiarity import split_by_cutoff

    check_names(out)
    present(split_by_cutoff(runs, cutoffs, dataset), as_json, out)


@app.command()
@options(Endpoint, without=("max_tokens", "requests_per_minute"))
def probability(settings: Endpoint, dataset: DatasetSpec = "embedded", out: Out = None, as_json: Json = False) -> None:
    """Measure the mean token probability of each goal file.

    The measure is that of the LMR-BENCH paper. It needs a server whose completions echo prompts with log-probabilities,
    such as vLLM.

    Example: lmrbench analyse familiarity probability --model Qwen/Qwen3-8B --base-url http://localhost:8000/v1
    """
    from ...analyse.familiarity import measure_probabilities
    from ...dataset.load import load_rows

    check_names(out)
    with progress_bar("scoring", shown=not as_json) as progress:
        result = measure_probabilities(settings, load_rows(dataset), progress)
    present(result, as_json, out)
