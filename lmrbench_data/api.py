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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .chat.client import Endpoint
from .errors import InputError
from .evaluate.columns import check_columns
from .evaluate.judge.cache import Cache
from .evaluate.judge.run import judge as judge_run
from .evaluate.judge.settings import JudgeSettings, JudgeSummary
from .evaluate.judge.store import answer_id, read_judgements
from .evaluate.levels import Level, outcome, reaches
from .evaluate.prediction_files import WORDS, BadRow, Source, check_source, raw_rows
from .evaluate.reports.annotations import read_annotations
from .evaluate.reports.report import Report, make_report
from .evaluate.reports.scores import ModelScore, score_runs
from .evaluate.runs.evaluate import RunSettings, RunSummary
from .evaluate.runs.evaluate import evaluate as evaluate_predictions
from .evaluate.runs.folder import read_facts, read_results
from .evaluate.sandbox import open_sandbox
from .evaluate.standard_input import WORD as STANDARD_INPUT
from .evaluate.standard_input import Piped, kept_input
from .generate.sampling import SamplingSettings, SamplingSummary, sample
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
        """Reproduced, robust and the judge's shares of each model, setting and track, recomputed from the rows.

        Args:
            judge_model: whose judgements count; by default the model that judged last.
        """
        return score_runs([self.path], judge_model)

    def to_pandas(self, judge_model: str | None = None) -> "pd.DataFrame":
        """One row for each prediction: its verdict, whether it is `reproduced` and `robust`, and `judge`'s category.

        The category is None if the answer was not judged.
        """
        import pandas as pd

        judgements = read_judgements(self.path, judge_model)
        records = []
        for row in self.results():
            judgement = judgements.get(answer_id(row))
            category = judgement.category if judgement else None
            reached = outcome(row["status"], row["core_status"])
            levels = {str(level): reaches(reached, level) for level in Level}
            records.append({**row, **levels, "judge": str(category) if category else None})
        columns = [*ResultRow.__annotations__, *map(str, Level), "judge"]
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
    _log_bad_rows(summary.bad_rows, f"{folder}/run.json")
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


def write_report(run: Run) -> None:
    """Write report.md and report.json of a run into its folder."""
    made = run.report()
    made.save(run.path / "report.md")
    made.save(run.path / "report.json")


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


def _log_bad_rows(bad: Sequence[BadRow], where: str = "") -> None:
    for row in bad[:MAX_NAMED]:
        _log.warning("bad row: %s", row)
    if len(bad) > MAX_NAMED:
        _log.warning("%d more bad rows%s", len(bad) - MAX_NAMED, where and f"; see {where}")


def generate(
    model: str,
    out: str | Path,
    *,
    setting: str = "standard",
    track: str = "paper",
    paper: str = "text",
    paper_pages: str = "",
    samples: int = 1,
    name: str = "",
    base_url: str | None = None,
    temperature: float | None = None,
    workers: int = 4,
    prices: str | Path | None = None,
    max_cost: float | None = None,
    requests_per_minute: float | None = None,
    retries: int = 5,
    timeout_s: float = 600.0,
    max_tokens: int | None = None,
    max_prompt_tokens: int | None = None,
    instances: Sequence[str] = (),
    dataset: str = "embedded",
    progress: Progress | None = None,
) -> SamplingSummary:
    """Ask a model for answers, and write each as a row of predictions to `out` at once.

    The same call again asks only for those that are missing. Works inside a notebook's event loop.

    Args:
        model: as its server calls it.
        setting: what it is shown: `standard`, `paper-only`, `paper+goal-file`, `full-repo`.
        track: `paper`, or `contract`: then it is shown the contract, too.
        paper: its form: `text` (our summary), `pdf-json`, `pdf-markdown` (of a PDF in the cache) or `none`.
        paper_pages: of the PDF, such as `1-9`; all by default.
        samples: answers for each instance.
        name: of the model in the rows; by default `model`.
        base_url: an OpenAI-compatible server; OPENAI_BASE_URL or OpenAI's own by default. The key is OPENAI_API_KEY.
        temperature: the server's own by default.
        workers: requests at a time.
        prices: YAML file, model -> {input_per_mtok, output_per_mtok}, in US dollars.
        max_cost: stop when the answers of the file have cost this much, in US dollars; needs `prices`.
        requests_per_minute: limit on requests started.
        retries, timeout_s: of each request; seconds.
        max_tokens: limit of one answer, its reasoning included.
        max_prompt_tokens: cut longer prompts, by the rule of `generate/prompt.py`.
        instances: only these.
        dataset: `embedded`, a folder, or `org/name[@revision]`.
        progress: told of each answer.

    Raises:
        InputError: a choice that does not exist, or a key or model that the server does not know.
        InfraError: the account has no credit left.
    """
    settings = SamplingSettings(
        Path(out),
        Endpoint(model, base_url, retries, timeout_s, max_tokens, requests_per_minute),
        name,
        setting,
        track,
        paper,
        paper_pages,
        samples,
        temperature,
        workers,
        Path(prices) if prices is not None else None,
        max_cost,
        max_prompt_tokens,
        instances,
    )
    return sample(settings, load_rows(dataset), progress)


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
    """Compare runs: reproduced and robust by model, category and instance; McNemar's test for each two models.

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
