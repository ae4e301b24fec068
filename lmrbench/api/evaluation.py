"""Evaluate predictions of any kind."""

import contextlib
import reprlib
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.settings import keywords
from lmrbench_data.dataset.load import check_config, load_rows
from lmrbench_evaluate.predictions.sources import Source, check_source, raw_rows
from lmrbench_evaluate.runs.engine import Engine
from lmrbench_evaluate.runs.evaluation import evaluate as evaluate_predictions
from lmrbench_evaluate.runs.settings import EvaluationSettings, RunSettings
from lmrbench_evaluate.sandbox import KINDS, Kind, open_sandbox
from lmrbench_evaluate.sandbox.base import Sandbox

from .run import Run, log_bad_rows, write_report


@keywords(RunSettings)
def evaluate(
    predictions: Source,
    out: str | Path | None = None,
    *,
    sandbox: Kind | str | Sandbox | Engine = "auto",
    progress: Progress | None = None,
    **settings: Any,
) -> Run:
    """Evaluate predictions: rebuild repositories, run tests in a sandbox, write results.

    Repeat the call to resume. Rows keep the order of the predictions. Instances without a
    prediction count as not passed; choose `instances` to leave them out.

    Args:
        predictions: an iterable of mappings, a DataFrame, a `datasets.Dataset`; a file (.jsonl,
            .json, .parquet); a log of our Inspect task or a folder of logs; a dataset on the Hub,
            `org/name[@revision]`; or the words `gold` and `masked`.
        out: run folder (default: runs/NAME-HASH from the predictions and the chosen instances).
        sandbox: `auto`, `docker`, `bwrap`, `local`, or the import path `package.module:name` of
            your own; on Ray, `auto` is `docker`. An open `Sandbox` or engine is used and closed.
        progress: receives each verdict.
        settings: `instances`, `workers` and the other fields of `RunSettings`, as `lmrbench
            evaluate --help` describes them.

    Raises:
        InputError: arguments, predictions or dataset are wrong, or `out` holds another run, or
            answers that the predictions lack or change and `replace` is false.
        InfraError: no sandbox, no image, or no cluster.
    """
    chosen = RunSettings.of(**settings, out=out)
    source = _rereadable(predictions)
    with open_place(sandbox, chosen) as place:
        rows = load_rows(chosen.dataset, chosen.config)
        check_config(chosen.instances, rows, chosen.dataset)
        summary = evaluate_predictions(source, chosen, rows, place, progress)
    log_bad_rows(summary.bad_rows, f"{summary.path}/run.json")
    run = Run(summary.path, summary)
    write_report(run)
    return run


def _rereadable(predictions: Source) -> Source:
    """Return a source that can be read several times."""
    check_source(predictions)
    if isinstance(predictions, str | Path):
        return predictions
    return [row for _, row in raw_rows(predictions)]


def open_place(sandbox: str | Sandbox | Engine, settings: EvaluationSettings) -> Sandbox | Engine:
    """Return where answers run; use it as a context manager.

    Raises:
        InputError: this is no sandbox or an unknown one, or it does not have the isolation.
        InfraError: no sandbox, or no cluster.
    """
    if not isinstance(sandbox, str):
        _check_open(sandbox)
        return sandbox
    if settings.engine == "ray":
        from lmrbench_evaluate.runs.ray_engine import RayEngine

        return RayEngine(settings.ray_address, sandbox, settings.workers, settings.isolation)
    return open_sandbox(sandbox, isolation=settings.isolation)


def _check_open(sandbox: object) -> None:
    """Raise ArgumentError unless an object can be an open sandbox or engine."""
    if not isinstance(sandbox, contextlib.AbstractContextManager):
        kinds = ", ".join(KINDS)
        expected = f"{kinds}, an import path `package.module:name`, or an open Sandbox or engine"
        raise ArgumentError("sandbox", f"expected {expected}, not {reprlib.repr(sandbox)}")
