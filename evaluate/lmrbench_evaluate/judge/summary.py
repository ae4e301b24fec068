"""Summarise the judgements of a run by model: recomputed from judgements.jsonl and predictions.jsonl, never stored."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..predictions.prediction import AnswerKey
from ..runs.folder import RunFolder
from .asking import MALFORMED, JudgeSummary
from .judgement_log import BY_MODEL, read_judgements
from .opinion import Category

UNJUDGED = "unjudged"


@dataclass
class ModelSummary:
    """The judgements on one model's answers in one setting and track."""

    model: str
    setting: str
    track: str
    counts: Counter[str] = field(default_factory=Counter)
    """By category, `unjudged` (no vote yet) and `malformed` (nothing to judge)."""
    not_judged: Counter[str] = field(default_factory=Counter)
    """Answers that cannot be shown to any judge, by reason."""
    agreements: list[float] = field(default_factory=list)
    """For each answer that the judge was asked about: the share of votes for the category that won."""

    @property
    def agreement(self) -> float | None:
        """Mean share of votes for the winner; None if nothing was judged."""
        return sum(self.agreements) / len(self.agreements) if self.agreements else None

    def as_dict(self) -> dict[str, Any]:
        """Convert the counts for JSON."""
        judged = {str(category): self.counts[category] for category in reversed(Category)}
        return {
            "model_name_or_path": self.model,
            "setting": self.setting,
            "track": self.track,
            **judged,
            UNJUDGED: self.counts[UNJUDGED],
            MALFORMED: self.counts[MALFORMED],
            "not_judged": dict(self.not_judged),
            "agreement": None if self.agreement is None else round(self.agreement, 4),
        }


def summarise(run: Path, summary: JudgeSummary, instances: Sequence[str] = ()) -> list[ModelSummary]:
    """Count each model's judgements by the judge that has just been asked.

    Args:
        instances: only these, if any.

    Raises:
        InputError: a damaged file.
    """
    judgements = read_judgements(run, summary.judge)
    # A pass that ended early has not reached all of them.
    malformed = {AnswerKey.of(row).question for row in RunFolder(run).rows() if row["status"] == MALFORMED}
    malformed |= summary.malformed
    models: dict[tuple[str, str, str], ModelSummary] = {}
    for prediction in RunFolder(run).predictions:
        if instances and prediction.instance_id not in instances:
            continue
        name = prediction.model, prediction.setting, prediction.track
        model = models.setdefault(name, ModelSummary(*name))
        answer = prediction.key.question
        judgement = judgements.get(answer)
        if judgement is None and answer in malformed:
            model.counts[MALFORMED] += 1
        elif judgement is not None and judgement.not_judged:
            model.not_judged[judgement.not_judged] += 1
        elif judgement is None or judgement.category is None:
            model.counts[UNJUDGED] += 1
        else:
            model.counts[judgement.category] += 1
            if judgement.by == BY_MODEL:
                model.agreements.append(judgement.agreement)
    return [models[name] for name in sorted(models)]


def table(models: Sequence[ModelSummary], votes: int) -> tuple[list[str], list[list[str]]]:
    """Return header and rows: one line per model; if there are several votes, their agreement."""
    columns = [*(str(category) for category in reversed(Category)), UNJUDGED, MALFORMED]
    reasons = sorted({reason for model in models for reason in model.not_judged})
    more = [f"not judged: {reason}" for reason in reasons]
    header = ["model", *columns, *more, *(["agreement"] if votes > 1 else [])]
    rows = []
    for model in models:
        agreement = "-" if model.agreement is None else f"{100 * model.agreement:.1f} %"
        counts = [*(model.counts[name] for name in columns), *(model.not_judged[reason] for reason in reasons)]
        name = f"{model.model} ({', '.join(filter(None, (model.setting, model.track)))})"
        rows.append([name, *map(str, counts), *([agreement] if votes > 1 else [])])
    return header, rows


def as_dict(models: Sequence[ModelSummary], summary: JudgeSummary) -> dict[str, Any]:
    """Convert the summary for JSON."""
    return {
        "judge_model": summary.judge.model,
        "prompt_version": summary.judge.prompt_version,
        "base_url": summary.judge.server,
        "models": [model.as_dict() for model in models],
        "votes": {
            "kept": summary.kept,
            "identical": summary.identical,
            "asked": summary.asked,
            "failed": summary.errors,
        },
        "input_tokens": summary.spent.input_tokens,
        "output_tokens": summary.spent.output_tokens,
        "cost_usd": None if summary.cost_usd is None else round(summary.cost_usd, 6),
        "complete": summary.complete,
        "stopped": summary.stopped,
        "first_error": summary.first_error,
    }
