"""The tables of an error analysis, and its numbers as JSON."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from ...base.shares import Share
from ...base.text import counted
from ...base.text_table import Table
from ..bootstrap import Kappa
from .classes import ErrorClass
from .diagnosis_log import as_rows
from .error_analysis import ErrorAnalysis, Labelled

#: Characters of a quote in the table of answers.
MAX_QUOTE = 60


def tables(found: ErrorAnalysis) -> Iterator[tuple[str, Table]]:
    """Return the titles and tables that are not empty."""
    if found.classified:
        yield "Why answers fail", _classes(found)
        yield "By model (primary class)", _models(found)
        yield "By answer", _answers(found)
    if found.compared:
        yield "Model beside people", _agreement(found)


def notes(found: ErrorAnalysis) -> Iterator[str]:
    """Explanations that a reader of the tables needs."""
    whole = len(found.answers)
    yield (
        f"{whole:,} of {counted(sum(found.answered.values()), 'answer')} failed (by core cases in the paper track, by "
        f"all cases elsewhere), {len(found.classified)} of them classified; shares refer to these."
    )
    if found.left_out:
        yield "Without a class: " + ", ".join(f"{n} ({reason})" for reason, n in sorted(found.left_out.items())) + "."
    if found.classified:
        yield "Primary shares sum to 100 %; an answer may show several classes, so the others need not. Wilson's 95 %."
    if found.asked:
        there, of = found.quotes
        yield (
            f"Asked: {found.asked.model} (prompt {found.asked.prompt_version}). {there} of {counted(of, 'quote')} "
            "found in what it was shown; the others are marked with a question mark."
        )
    if found.unknown:
        yield f"{counted(found.unknown, 'label')} of answers that this run does not have, or that did not fail."
    if found.ambiguous:
        yield f"{counted(found.ambiguous, 'label')} left out: no setting or track, and the model answered in several."


def as_dict(found: ErrorAnalysis) -> dict[str, Any]:
    """All numbers, and each answer with its evidence."""
    kappas = {"primary": found.kappa(), **{str(error): found.kappa(error) for error in ErrorClass}}
    return {
        "model": found.asked.model if found.asked else None,
        "prompt_version": found.asked.prompt_version if found.asked else None,
        "answers": sum(found.answered.values()),
        "failed": len(found.answers),
        "classified": len(found.classified),
        "without_class": dict(found.left_out),
        "classes": {
            str(error): {"primary": found.primary(error).as_dict(), "shown": found.shown(error).as_dict()}
            for error in ErrorClass
        },
        "quotes": dict(zip(("found", "all"), found.quotes, strict=True)),
        "agreement": {
            "answers": len(found.compared),
            "same_primary": found.agreement.as_dict(),
            "kappa": {name: {"value": kappa.value, "ci95": kappa.interval} for name, kappa in kappas.items()},
        }
        if found.compared
        else None,
        "by_answer": [_answer_dict(item) for item in found.answers],
    }


def _answer_dict(item: Labelled) -> dict[str, Any]:
    instance, model, setting, track, sample = item.key
    diagnosed = item.model.diagnosis if item.model else None
    return {
        "instance_id": instance,
        "model_name_or_path": model,
        "setting": setting,
        "track": track,
        "sample": sample,
        "primary": str(item.classes.primary) if item.classes else None,
        "classes": sorted(item.classes.all) if item.classes else [],
        "by": item.by,
        "reason": item.reason,
        "errors": as_rows(diagnosed) if diagnosed else [],
    }


def _classes(found: ErrorAnalysis) -> Table:
    rows = [[str(error), *_share(found.primary(error)), *_share(found.shown(error))] for error in ErrorClass]
    return ["class", "primary", "95 %", "shown", "95 %"], rows


def _models(found: ErrorAnalysis) -> Table:
    counts: dict[tuple[str, str, str], Counter[str]] = {}
    for item in found.answers:
        of_model = counts.setdefault(item.key[1:4], Counter())
        of_model["failed"] += 1
        of_model[str(item.classes.primary) if item.classes else "no class"] += 1
    columns = ["failed", *map(str, ErrorClass), "no class"]
    rows = [
        [f"{model} ({', '.join(filter(None, (setting, track)))})", *(str(of_model[name]) for name in columns)]
        for (model, setting, track), of_model in sorted(counts.items())
    ]
    return ["model", *columns], rows


def _answers(found: ErrorAnalysis) -> Table:
    rows = []
    for item in sorted(found.classified):
        assert item.classes
        others = ", ".join(sorted(item.classes.all - {item.classes.primary}))
        sample = f" #{item.key[4]}" if item.key[4] else ""
        rows.append([item.instance, item.key[1] + sample, item.classes.primary, others, item.by, _quote(item)])
    header = ["instance", "model", "primary", "also", "by", "evidence of the model"]
    filled = [number for number in range(len(header)) if any(row[number] for row in rows)]
    return [header[number] for number in filled], [[row[number] for number in filled] for row in rows]


def _quote(item: Labelled) -> str:
    """The model's quote for the class that counts, if it gave one."""
    diagnosed = item.model.diagnosis if item.model else None
    if diagnosed is None or item.classes is None:
        return ""
    for evidence in diagnosed.evidence:
        if evidence.error is item.classes.primary:
            text = evidence.quote if len(evidence.quote) <= MAX_QUOTE else evidence.quote[: MAX_QUOTE - 1] + "…"
            return text if evidence.found else f"? {text}"
    return ""


def _agreement(found: ErrorAnalysis) -> Table:
    rows = [
        ["same primary class", *_share(found.agreement)],
        ["Cohen's kappa, primary class", *_kappa(found.kappa())],
        *([f"Cohen's kappa, shows {error}", *_kappa(found.kappa(error))] for error in ErrorClass),
    ]
    return ["measure", "value", "95 %"], rows


def _share(share: Share) -> list[str]:
    return [share.fraction, share.bounds]


def _kappa(kappa: Kappa) -> list[str]:
    interval = f"{kappa.interval[0]:.2f} - {kappa.interval[1]:.2f}" if kappa.interval else "-"
    return ["-" if kappa.value is None else f"{kappa.value:.2f}", interval]
