"""Familiarity of models with the papers: token probabilities of the goal files, and scores around a knowledge cut-off.

As in the LMR-BENCH paper, familiarity is the mean probability of the tokens of a goal file. Our files were written for
this benchmark, so this measures how familiar the code of a method is, not whether a model was trained on our files.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_evaluate.reports.scores import ModelScore, score_runs
from lmrbench_evaluate.reports.tally import Tally
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.levels import Level

from ..base.errors import ArgumentError, InfraError, InputError
from ..base.progress import Progress
from ..base.text import one_line
from ..base.text_table import Table
from ..chat.endpoint import Endpoint
from ..chat.server import address_and_key, server_name
from ..dataset.rows import DatasetRow, only_functions
from .bootstrap import mean_interval
from .result import Analysis

BEFORE, AFTER, UNKNOWN = "up to the cut-off", "after it", "only the year is known"
_ARXIV = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d\d)(0[1-9]|1[0-2])(?:\.\d{4,5}|\d{3})(?:v\d+)?")
_MONTH = re.compile(r"(19|20)\d\d-(0[1-9]|1[0-2])")


# --- probabilities ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Probabilities(Analysis):
    """The mean token probability of each goal file under a model."""

    model: str
    server: str
    by_instance: Mapping[str, tuple[float, int]]
    """Instance → mean probability and number of tokens."""
    title: str = "Familiarity: token probabilities of the goal files"

    @property
    def mean(self) -> tuple[float, tuple[float, float] | None]:
        """The mean over instances, with its 95 % bootstrap interval."""
        values = [value for value, _ in self.by_instance.values()]
        return sum(values) / len(values), mean_interval(values)

    def tables(self) -> list[tuple[str, Table]]:
        """One line per instance, and the mean."""
        mean, interval = self.mean
        rows = [[name, str(tokens), f"{value:.3f}", ""] for name, (value, tokens) in self.by_instance.items()]
        last = ["mean", "", f"{mean:.3f}", f"{interval[0]:.3f} - {interval[1]:.3f}" if interval else "-"]
        return [(f"Goal files under {self.model}", (["instance", "tokens", "mean probability", "95 %"], [*rows, last]))]

    def notes(self) -> list[str]:
        """The meaning of the numbers."""
        return [
            "The mean is over instances, with the 95 % bootstrap interval. We wrote the goal files, so this measures "
            "how familiar the code of the methods is, not whether our files were in the training data."
        ]

    def records(self) -> list[dict[str, Any]]:
        """One row per instance."""
        return [
            {"model": self.model, "instance_id": name, "mean_probability": value, "tokens": tokens}
            for name, (value, tokens) in self.by_instance.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """All numbers."""
        mean, interval = self.mean
        return {"model": self.model, "server": self.server, "mean": mean, "ci95": interval, "rows": self.records()}


def measure_probabilities(
    endpoint: Endpoint, rows: Sequence[DatasetRow], progress: Progress | None = None
) -> Probabilities:
    """Measure the token probabilities of the goal files with the reference in place.

    Raises:
        InputError: the server rejects the request or gives no log-probabilities of a prompt, or a row is a method.
        InfraError: the server does not answer.
    """
    import openai

    only_functions(rows, "the measurement of familiarity")
    url, key = address_and_key(endpoint.base_url)
    server, values = server_name(url), dict[str, tuple[float, int]]()
    progress = progress or Progress()
    progress.start(len(rows))
    with openai.OpenAI(
        api_key=key or "none", base_url=url, max_retries=endpoint.retries, timeout=endpoint.timeout_s
    ) as client:
        for row in rows:
            text = row["golden_file"]
            try:
                # One more token, which is ignored: not every server accepts 0.
                reply = client.completions.create(
                    model=endpoint.model, prompt=text, max_tokens=1, echo=True, logprobs=1, temperature=0
                )
            except openai.APIStatusError as error:
                kind = InfraError if error.status_code == 429 or error.status_code >= 500 else InputError
                raise kind(f"the server {server} does not score texts: {one_line(str(error))[:300]}") from error
            except openai.OpenAIError as error:
                raise InfraError(f"no answer from {server}: {one_line(str(error))[:300]}") from error
            values[row["instance_id"]] = _mean_probability(reply, text, server)
            progress.step(row["instance_id"])
    return Probabilities(endpoint.model, server, values)


def _mean_probability(reply: Any, text: str, server: str) -> tuple[float, int]:
    """Return the mean probability of a prompt's tokens but the first, and their number."""
    choice = next(iter(getattr(reply, "choices", None) or ()), None)
    numbers = getattr(choice, "logprobs", None)
    tokens, values = getattr(numbers, "tokens", None), getattr(numbers, "token_logprobs", None)
    if (
        not tokens
        or not values
        or len(tokens) != len(values)
        or not str(getattr(choice, "text", "")).startswith(text[:20])
    ):
        raise InputError(
            f"the server {server} does not echo prompts with log-probabilities; use one that does, such as vLLM"
        )
    probabilities, end = [], 0
    for token, value in zip(tokens, values, strict=True):
        if end < len(text) and value is not None:  # later tokens are the model's own
            probabilities.append(math.exp(min(value, 0.0)))
        end += len(token)
    if not probabilities:
        raise InputError(f"the server {server} gives no log-probabilities of a prompt")
    return sum(probabilities) / len(probabilities), len(probabilities)


# --- the cut-off ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CutoffScores(Analysis):
    """Scores on papers before and after the knowledge cut-off of each model."""

    parts: Sequence[tuple[ModelScore, str, str, Tally]]
    """Score, cut-off, side of the cut-off, and the counts of the instances there."""
    published: Mapping[str, str]
    """Instance → publication of its paper."""
    title: str = "Before and after the cut-off"

    def tables(self) -> list[tuple[str, Table]]:
        """One line for each model and side of its cut-off."""
        rows = []
        for score, cutoff, side, tally in self.parts:
            shares = [text for share in map(tally.share, Level) for text in (share.fraction, share.bounds)]
            rows.append([score.name, score.track, cutoff, side, str(tally.instances), *shares])
        header = ["model", "track", "cut-off", "paper came out", "instances", "reproduced", "95 %", "robust", "95 %"]
        return [(self.title, (header, rows))]

    def notes(self) -> list[str]:
        """Reasons for caution."""
        return [
            "A paper from the month of the cut-off counts as published before it. The parts are small: mind the "
            "intervals.",
            "Our code is newer than any cut-off; a model may know the paper and the original's repository.",
        ]

    def records(self) -> list[dict[str, Any]]:
        """One row for each model, side and level."""
        return [
            {
                "run": score.run,
                "model_name_or_path": score.model,
                "setting": score.setting,
                "track": score.track,
                "cutoff": cutoff,
                "side": side,
                "instances": tally.instances,
                "level": str(level),
                **{name: getattr(tally.share(level), name) for name in ("part", "whole")},
            }
            for score, cutoff, side, tally in self.parts
            for level in Level
        ]

    def to_dict(self) -> dict[str, Any]:
        """All numbers, and the dates."""
        return {"published": dict(self.published), "scores": self.records()}


def split_by_cutoff(runs: Sequence[Path], cutoffs: Sequence[str], dataset: str | None = None) -> CutoffScores:
    """Score runs on papers before and after the cut-off of each model.

    Args:
        cutoffs: `YYYY-MM` for all models, `MODEL=YYYY-MM` for one.

    Raises:
        InputError: no run folder, another dataset, or malformed cut-offs.
    """
    scores, dates = score_runs(runs), dict[str, str]()
    for run in map(RunFolder, runs):
        scope = run.facts["scope"]
        dates |= {name: published(row) for name, row in run.dataset_rows(dataset).items() if name in scope}
    months = read_cutoffs(cutoffs, [score.model for score in scores])
    parts = []
    for score in scores:
        sides = {name: Tally() for name in (BEFORE, AFTER, UNKNOWN)}
        for instance, tally in score.instances.items():
            sides[cutoff_side(dates[instance], months[score.model])].add(tally)
        parts += [(score, months[score.model], side, tally) for side, tally in sides.items() if tally.total]
    return CutoffScores(parts, dates)


def published(row: DatasetRow) -> str:
    """Return when a row's paper appeared first: `YYYY-MM` by its arXiv id, else `YYYY`."""
    if match := _ARXIV.fullmatch(row["arxiv_id"] or ""):
        return f"{'19' if int(match[1]) > 90 else '20'}{match[1]}-{match[2]}"
    return str(row["year"])


def cutoff_side(date: str, cutoff: str) -> str:
    """Compare the date of a paper with a cut-off; papers of that month count as before it."""
    if len(date) == 4 and date == cutoff[:4]:
        return UNKNOWN
    return BEFORE if date <= cutoff else AFTER


def read_cutoffs(texts: Sequence[str], models: Sequence[str]) -> dict[str, str]:
    """Read the cut-offs by model, from `YYYY-MM` for all models and `MODEL=YYYY-MM` for one."""
    named: dict[str, str] = {}
    for text in texts:
        model, _, month = text.rpartition("=")
        if not _MONTH.fullmatch(month):
            raise ArgumentError("cutoff", f"{text!r} is not a valid month; give one such as 2024-06, or MODEL=2024-06")
        if model and model not in models:
            raise ArgumentError("cutoff", f"no answers of {model!r}; the runs have {', '.join(sorted(set(models)))}")
        named[model] = month
    if missing := sorted(model for model in models if model not in named and "" not in named):
        raise ArgumentError("cutoff", f"missing for {', '.join(missing)}; give MODEL=YYYY-MM, or YYYY-MM for all")
    return {model: named.get(model) or named[""] for model in models}
