"""Judge the answers of a run: plan the votes, ask in parallel, resume a stopped pass.

Only a judgement counts: an answer that could not be judged stays unjudged, is tried again by the
same command, and is never a category.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.suggestions import did_you_mean
from lmrbench_data.dataset.rows import DatasetRow, config_of

from ..predictions.prediction import AnswerKey
from ..runs.folder import RunFolder
from ..runs.settings import JudgeSettings
from .asking import Asking, JudgeSummary, Vote
from .judgement_log import FILE, JudgementLog
from .question import build_question, prompt_of


def judge(
    settings: JudgeSettings,
    progress: Progress | None = None,
    rows: Sequence[DatasetRow] | None = None,
) -> JudgeSummary:
    """Judge the predictions of a run folder and fill its judgements.jsonl.

    Args:
        progress: receives each vote; the label is a category, `judge_error`, `not_judged` or
            `malformed`.
        rows: the rows of the run's dataset, if loaded already.

    Raises:
        InputError: no run, another dataset, prices without the model, or a key or model that the
            server does not know.
        InfraError: nothing answers at the address, or the account of the judge has no credit left.
        KeyboardInterrupt: judgements so far are kept.
    """
    return judge_predictions(settings, rows_of_run(settings, rows), progress)


def judge_predictions(
    settings: JudgeSettings, rows: Mapping[str, DatasetRow], progress: Progress | None = None
) -> JudgeSummary:
    """Judge the predictions of a folder, evaluated or not, as `judge`; rows are by instance id."""
    settings.price()
    configs = {config_of(row) for row in rows.values()}
    if len(configs) != 1:
        raise InputError(f"{settings.run}: methods and single functions are judged apart")
    votes = list(_votes(settings, rows))
    if not votes:
        raise InputError(
            f"{settings.run}: holds no answer to the chosen instances, so there is nothing to judge"
        )
    with JudgementLog.open(settings.run / FILE) as log:
        return Asking(settings, prompt_of(*configs), votes, log, progress).run()


def _votes(settings: JudgeSettings, rows: Mapping[str, DatasetRow]) -> Iterator[Vote]:
    """Yield the votes on all answers, each answer once."""
    seen: set[AnswerKey] = set()
    for prediction in RunFolder(settings.run).require_predictions():
        answer = prediction.key.question
        if answer in seen or (
            settings.instances and prediction.instance_id not in settings.instances
        ):
            continue
        seen.add(answer)
        build = functools.partial(build_question, rows[prediction.instance_id], prediction)
        yield from (Vote(answer, number, build) for number in range(settings.votes))


def rows_of_run(
    settings: JudgeSettings, rows: Sequence[DatasetRow] | None = None
) -> dict[str, DatasetRow]:
    """Return the rows of a run's dataset by instance; checks predictions and chosen instances."""
    run = RunFolder(settings.run)
    scope = run.facts["scope"]
    run.require_predictions()
    by_id = run.dataset_rows(settings.dataset, rows)
    if unknown := [name for name in settings.instances if name not in scope]:
        raise ArgumentError(
            "instances", f"{unknown[0]!r} is not in this run{did_you_mean(unknown[0], scope)}"
        )
    return by_id
