"""The Python API: evaluate, judge and report without writing a file by hand; the command line calls the same functions.

import lmrbench_data as lmr

run = lmr.evaluate([{"instance_id": "dpo-preference-loss", "model_name_or_path": "me", "function": answer}])
run.to_pandas()
"""

import hashlib
import json
import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .chat.client import Endpoint
from .errors import InputError
from .evaluate.judge.cache import Cache
from .evaluate.judge.run import judge as judge_run
from .evaluate.judge.settings import JudgeSettings, JudgeSummary
from .evaluate.judge.store import answer_id, read_judgements
from .evaluate.prediction_files import WORDS, BadRow, Source, check_source, raw_rows
from .evaluate.reports.annotations import read_annotations
from .evaluate.reports.report import Report, make_report
from .evaluate.reports.scores import ModelScore, score_runs
from .evaluate.runs.evaluate import RunSettings, RunSummary
from .evaluate.runs.evaluate import evaluate as evaluate_predictions
from .evaluate.runs.folder import read_facts, read_results
from .evaluate.sandbox import open_sandbox
from .loader import load_rows
from .progress import Progress
from .rows import ResultRow

if TYPE_CHECKING:
    import pandas as pd

#: So many bad rows are named; all are in run.json.
MAX_NAMED = 20
_log = logging.getLogger(__name__)


@dataclass
class Run:
    """A run folder: the results of some predictions, with the judgements on them if there are any."""

    path: Path
    summary: RunSummary | None = None
    """What `evaluate` did just now; None for a run that was only opened."""
    judging: JudgeSummary | None = None
    """What `judge` did just now."""

    @property
    def facts(self) -> dict[str, Any]:
        """run.json: dataset, sandbox, limits, versions, times.

        Raises:
            InputError: it is missing or damaged.
        """
        return read_facts(self.path)

    @property
    def complete(self) -> bool:
        """Whether every prediction has a verdict that is not an infra error."""
        return bool(self.facts.get("complete"))

    def results(self) -> list[ResultRow]:
        """The verdict on each prediction.

        Raises:
            InputError: the folder is damaged.
        """
        return list(read_results(self.path))

    def scores(self, judge_model: str | None = None) -> list[ModelScore]:
        """Accuracy and judge's shares of each model and setting, recomputed from the rows.

        Args:
            judge_model: whose judgements count; by default the model that judged last.
        """
        return score_runs([self.path], judge_model)

    def to_pandas(self, judge_model: str | None = None) -> "pd.DataFrame":
        """One row for each prediction, its verdict, and in column `judge` the category (None if not judged)."""
        import pandas as pd

        judgements = read_judgements(self.path, judge_model)
        records = []
        for row in self.results():
            judgement = judgements.get(answer_id(row))
            category = judgement.category if judgement else None
            records.append({**row, "judge": str(category) if category else None})
        columns = [*ResultRow.__annotations__, "judge"]
        return pd.DataFrame.from_records(records, columns=columns)

    def report(self, judge_model: str | None = None) -> Report:
        """The report of this run alone."""
        return make_report([self.path], judge_model=judge_model)

    def _repr_markdown_(self) -> str:
        """How a notebook shows it."""
        return self.report().to_markdown()


def open_run(path: str | Path) -> Run:
    """A run folder that is there.

    Raises:
        InputError: not a run folder, or a damaged one.
    """
    read_facts(Path(path))
    return Run(Path(path))


def evaluate(
    predictions: Source,
    out: str | Path | None = None,
    *,
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
            dataset on the Hub, `org/name[@revision]`; or the words `gold` and `masked`.
        out: run folder; by default `runs/<name of the file>-<hash of its place>`, `runs/gold`, `runs/masked`, and
            `runs/memory-<hash>` for rows in memory.
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
    if not isinstance(predictions, str | Path):
        predictions = [row for _, row in raw_rows(predictions)]
    folder = Path(out) if out is not None else _default_folder(predictions)
    settings = RunSettings(folder, dataset, instances, categories, workers, timeout_scale, fresh_seeds)
    with open_sandbox(sandbox) as place:
        summary = evaluate_predictions(predictions, settings, load_rows(dataset), place, progress)
    _log_bad_rows(summary.bad_rows, f"{folder}/run.json")
    run = Run(folder, summary)
    write_report(run)
    return run


def write_report(run: Run) -> None:
    """Write report.md and report.json of a run into its folder."""
    made = run.report()
    made.save(run.path / "report.md")
    made.save(run.path / "report.json")


def _default_folder(predictions: Source) -> Path:
    if isinstance(predictions, str | Path):
        source = Path(predictions)
        if str(source) in WORDS:
            return Path("runs") / source
        # The same file goes on in its folder; another one of that name has its own.
        place = str(source.resolve()) if source.is_file() else str(predictions)
        name = re.sub(r"[^\w.-]", "-", re.sub(r"(\.(jsonl|json|parquet))?(\.gz)?$", "", source.name))
        return Path("runs") / f"{name}-{hashlib.sha256(os.fsencode(place)).hexdigest()[:8]}"
    content = json.dumps(predictions, sort_keys=True, default=str).encode()
    return Path("runs") / f"memory-{hashlib.sha256(content).hexdigest()[:12]}"


def _log_bad_rows(bad: Sequence[BadRow], where: str = "") -> None:
    for row in bad[:MAX_NAMED]:
        _log.warning("bad row: %s", row)
    if len(bad) > MAX_NAMED:
        _log.warning("%d more bad rows%s", len(bad) - MAX_NAMED, where and f"; see {where}")


def judge(
    run: Run | str | Path,
    model: str,
    *,
    base_url: str | None = None,
    votes: int = 1,
    workers: int = 4,
    prices: str | Path | None = None,
    max_cost: float | None = None,
    requests_per_minute: float | None = None,
    retries: int = 5,
    timeout_s: float = 300.0,
    max_tokens: int | None = None,
    instances: Sequence[str] = (),
    dataset: str | None = None,
    use_cache: bool = True,
    progress: Progress | None = None,
) -> Run:
    """Have a language model judge the answers of a run: completely correct, subtle errors, or wrong logic.

    Judgements are added to the run folder one by one; the same call again asks only for those that are missing. Works
    inside a notebook's event loop.

    Args:
        model: the judge, as its server calls it.
        base_url: an OpenAI-compatible server; OPENAI_BASE_URL or OpenAI's own by default. The key is OPENAI_API_KEY.
        votes: judgements of each answer; most votes win.
        workers: questions at a time.
        prices: YAML file, model -> {input_per_mtok, output_per_mtok}, in US dollars.
        max_cost: stop when the run's judgements have cost this much, in US dollars; needs `prices`.
        requests_per_minute: limit on requests started.
        retries, timeout_s: of each request; seconds.
        max_tokens: limit of one answer of the judge.
        instances: only these.
        dataset: where the run's dataset is now, if it has moved.
        use_cache: take judgements that an earlier run has paid for.
        progress: told of each vote.

    Raises:
        InputError: no run, another dataset, or a key or model that the server does not know.
        InfraError: the account has no credit left.
    """
    run = run if isinstance(run, Run) else open_run(run)
    endpoint = Endpoint(model, base_url, retries, timeout_s, max_tokens, requests_per_minute)
    settings = JudgeSettings(
        run.path,
        endpoint,
        votes,
        workers,
        Path(prices) if prices is not None else None,
        max_cost,
        dataset,
        instances,
        Cache.of_user() if use_cache else Cache(None),
    )
    judged = Run(run.path, run.summary, judge_run(settings, progress))
    write_report(judged)
    return judged


def report(*runs: Run | str | Path, judge_model: str | None = None, human: str | Path | None = None) -> Report:
    """Compare runs: accuracy with intervals by model, category and instance; McNemar's test for each two models.

    Args:
        judge_model: whose judgements count; by default the model that judged last.
        human: people's labels (.csv, .jsonl), to be compared with the judge.

    Raises:
        InputError: no run folder, or a damaged one; a file of labels that cannot be read.
    """
    if not runs:
        raise InputError("report: give one run or more")
    paths = [run.path if isinstance(run, Run) else Path(run) for run in runs]
    annotations, bad = read_annotations(Path(human)) if human is not None else (None, [])
    _log_bad_rows(bad)
    return make_report(paths, judge_model=judge_model, annotations=annotations, bad_annotations=bad)
