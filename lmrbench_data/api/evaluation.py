"""From predictions of any kind to a run: verdicts in a sandbox, and a report."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..evaluate.columns import check_columns
from ..evaluate.prediction_files import WORDS, Source, check_source, raw_rows
from ..evaluate.runs.evaluate import RunSettings
from ..evaluate.runs.evaluate import evaluate as evaluate_predictions
from ..evaluate.sandbox import open_sandbox
from ..evaluate.standard_input import WORD as STANDARD_INPUT
from ..evaluate.standard_input import Piped, kept_input
from ..loader import load_rows
from ..progress import Progress
from .run import Run, log_bad_rows, write_report


def evaluate(
    predictions: Source,
    out: str | Path | None = None,
    *,
    map: Mapping[str, str] | None = None,
    dataset: str = "embedded",
    instances: Sequence[str] = (),
    categories: Sequence[str] = (),
    workers: int = 2,
    sandbox: str = "auto",
    timeout_scale: float = 1.0,
    fresh_seeds: int = 0,
    progress: Progress | None = None,
) -> Run:
    """Evaluate predictions: rebuild each repository, run its tests in a sandbox, compare outside, write the results.

    The same call again resumes a run that was stopped.

    Args:
        predictions: an iterable of mappings, a DataFrame, a `datasets.Dataset`; a file (.jsonl, .json, .parquet); a
            folder that `save_to_disk` has written; a dataset on the Hub, `org/name[@revision]`; `-`, JSON lines on
            standard input; or the words `gold` and `masked`.
        out: run folder; by default `runs/<name of the file>-<hash of its place>`, `runs/gold`, `runs/masked`, and
            `runs/memory-<hash>` or `runs/stdin-<hash>` for rows in memory or on standard input.
        map: of predictions whose columns have other names, such as `{"completion": "function"}`: theirs → ours.
        dataset: `embedded`, a folder, or `org/name[@revision]`.
        instances, categories: only these; all by default.
        workers: how many sandboxes run at a time.
        sandbox: `auto`, `docker`, `local`, or the import path `package.module:name` of one of your own.
        timeout_scale: multiplies the time limits, for slow machines.
        fresh_seeds: number of unpublished seeds to test on as well.
        progress: told of each verdict.

    Raises:
        InputError: predictions, dataset or names are wrong, or `out` holds another run.
        InfraError: no sandbox, or no image.
    """
    check_source(predictions)
    columns = dict(map or {})
    check_columns(columns, predictions)
    with _readable(predictions) as source:
        folder = Path(out) if out is not None else _default_folder(source)
        settings = RunSettings(folder, dataset, instances, categories, workers, timeout_scale, fresh_seeds, columns)
        with open_sandbox(sandbox) as place:
            summary = evaluate_predictions(source, settings, load_rows(dataset), place, progress)
    log_bad_rows(summary.bad_rows, f"{folder}/run.json")
    run = Run(folder, summary)
    write_report(run)
    return run


@contextmanager
def _readable(predictions: Source) -> Iterator[Source]:
    """What can be read more than once: rows of an iterator and of a pipe are kept."""
    if isinstance(predictions, str) and predictions == STANDARD_INPUT:
        with kept_input() as piped:
            yield piped
    elif isinstance(predictions, str | Path | Piped):
        yield predictions
    else:
        yield [row for _, row in raw_rows(predictions)]


def _default_folder(predictions: Source) -> Path:
    if isinstance(predictions, Piped):  # the same rows go on in their folder
        return Path("runs") / f"stdin-{predictions.sha256[:12]}"
    if isinstance(predictions, str | Path):
        source = Path(predictions)
        if str(source) in WORDS:
            return Path("runs") / source
        # The same file goes on in its folder; another one of that name has its own.
        place = str(source.resolve()) if source.exists() else str(predictions)
        name = re.sub(r"[^\w.-]", "-", re.sub(r"(\.(jsonl|json|parquet))?(\.gz)?$", "", source.name))
        return Path("runs") / f"{name}-{hashlib.sha256(os.fsencode(place)).hexdigest()[:8]}"
    content = json.dumps(predictions, sort_keys=True, default=str).encode()
    return Path("runs") / f"memory-{hashlib.sha256(content).hexdigest()[:12]}"
