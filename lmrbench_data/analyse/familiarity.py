"""Familiarity of models with the papers: token probabilities of the goal files, and scores around a knowledge cut-off.

As in the LMR-BENCH paper, familiarity is the mean probability of the tokens of a goal file. Our files were written for
this benchmark, so this measures how familiar the code of a method is, not whether a model was trained on our files.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmrbench_evaluate.reports.scores import score_runs
from lmrbench_evaluate.reports.tally import Tally
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.verdict.levels import Level

from ..base.errors import ArgumentError, InfraError, InputError
from ..base.jobs import Progress
from ..base.text import one_line
from ..chat.endpoint import Endpoint
from ..chat.server import address_and_key, server_name
from ..dataset.rows import DatasetRow, only_functions
from .bootstrap import draw, interval
from .result import Analysis

BEFORE, AFTER, UNKNOWN = "up to the cut-off", "after it", "only the year is known"
_ARXIV = re.compile(r"(?:[a-z-]+(?:\.[A-Z]{2})?/)?(\d\d)(0[1-9]|1[0-2])(?:\.\d{4,5}|\d{3})(?:v\d+)?")
_MONTH = re.compile(r"(19|20)\d\d-(0[1-9]|1[0-2])")


# --- probabilities ----------------------------------------------------------------------------------------------------


def measure_probabilities(endpoint: Endpoint, rows: Sequence[DatasetRow], progress: Progress | None = None) -> Analysis:
    """Measure the mean token probability of each goal file with the reference in place."""
    import numpy as np
    import openai
    import pandas as pd

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
                kind = InfraError if error.status_code in (408, 429) or error.status_code >= 500 else InputError
                raise kind(f"the server {server} does not score texts: {one_line(str(error))[:300]}") from error
            except openai.OpenAIError as error:
                raise InfraError(f"no answer from {server}: {one_line(str(error))[:300]}") from error
            values[row["instance_id"]] = _mean_probability(reply, text, server)
            progress.step(row["instance_id"])
    names = "model", "instance_id", "mean_probability", "tokens"
    model = endpoint.model
    records = [dict(zip(names, (model, name, *both), strict=True)) for name, both in values.items()]
    means = [value for value, _ in values.values()]
    mean, weights = sum(means) / len(means), draw(len(means))
    bounds = None if weights is None else interval(weights @ np.asarray(means) / len(means))
    table = [[name, str(tokens), f"{value:.3f}", ""] for name, (value, tokens) in values.items()]
    table.append(["mean", "", f"{mean:.3f}", f"{bounds[0]:.3f} - {bounds[1]:.3f}" if bounds else "-"])
    note = (
        "The mean is over instances, with the 95% bootstrap interval. We wrote the goal files, so this measures "
        "how familiar the code of the methods is, not whether our files were in the training data."
    )
    return Analysis(
        "Familiarity: token probabilities of the goal files",
        [(f"Goal files under {model}", (["instance", "tokens", "mean probability", "95%"], table))],
        [note],
        pd.DataFrame(records),
        {"model": model, "server": server, "mean": mean, "ci95": bounds, "rows": records},
    )


def _mean_probability(reply: Any, text: str, server: str) -> tuple[float, int]:
    """Return the mean probability of a prompt's tokens but the first, and their number."""
    try:
        [choice, *_] = reply.choices
        scored = list(zip(choice.logprobs.tokens, choice.logprobs.token_logprobs, strict=True))
        is_echo = choice.text.startswith(text[:20])
    except (AttributeError, TypeError, ValueError):
        is_echo = False
    if not is_echo:
        raise InputError(
            f"the server {server} does not echo prompts with log-probabilities; use one that does, such as vLLM"
        )
    probabilities, end = [], 0
    for token, value in scored:
        if end < len(text) and value is not None:  # later tokens are the model's own
            probabilities.append(math.exp(min(value, 0.0)))
        end += len(token)
    if not probabilities:
        raise InputError(f"the server {server} gives no log-probabilities of a prompt")
    return sum(probabilities) / len(probabilities), len(probabilities)


# --- the cut-off ------------------------------------------------------------------------------------------------------


def split_by_cutoff(runs: Sequence[Path], cutoffs: Sequence[str], dataset: str | None = None) -> Analysis:
    """Score runs on papers before and after the cut-off of each model.

    Args:
        cutoffs: `YYYY-MM` for all models, `MODEL=YYYY-MM` for one.
    """
    import pandas as pd

    scores, dates = score_runs(runs), dict[str, str]()
    for run in map(RunFolder, runs):
        scope = run.facts["scope"]
        dates |= {name: published(row) for name, row in run.dataset_rows(dataset).items() if name in scope}
    months = read_cutoffs(cutoffs, [score.model for score in scores])
    rows, records = [], []
    for score in scores:
        cutoff = months[score.model]
        sides = {name: Tally() for name in (BEFORE, AFTER, UNKNOWN)}
        for instance, tally in score.instances.items():
            sides[cutoff_side(dates[instance], cutoff)].add(tally)
        for side, tally in sides.items():
            if not tally.total:
                continue
            shares = {level: tally.share(level) for level in Level}
            texts = [text for share in shares.values() for text in (share.fraction, share.bounds)]
            rows.append([score.name, score.track, cutoff, side, str(tally.instances), *texts])
            part = {"run": score.run, **score.names, "cutoff": cutoff, "side": side, "instances": tally.instances}
            counts = [(level, {"part": share.part, "whole": share.whole}) for level, share in shares.items()]
            records += [{**part, "level": str(level), **numbers} for level, numbers in counts]
    header = ["model", "track", "cut-off", "paper came out", "instances", "reproduced", "95%", "robust", "95%"]
    title = "Before and after the cut-off"
    notes = [
        "A paper from the month of the cut-off counts as published before it. The parts are small: mind the intervals.",
        "Our code is newer than any cut-off; a model may know the paper and the original's repository.",
    ]
    numbers = {"published": dates, "scores": records}
    return Analysis(title, [(title, (header, rows))], notes, pd.DataFrame(records), numbers)


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
            raise ArgumentError("cutoff", f"{text!r} is not a valid month, for example 2024-06 or MODEL=2024-06")
        if model and model not in models:
            raise ArgumentError("cutoff", f"no answers of {model!r}; the runs have {', '.join(sorted(set(models)))}")
        named[model] = month
    if missing := sorted(model for model in models if model not in named and "" not in named):
        raise ArgumentError("cutoff", f"missing for {', '.join(missing)}; add MODEL=YYYY-MM, or YYYY-MM for all")
    return {model: named.get(model) or named[""] for model in models}
