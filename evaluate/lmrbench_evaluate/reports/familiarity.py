"""familiarity.json of a run folder: how familiar its models are with the papers, and one line per model for reports.

It holds cut-offs and dates, never scores: these are computed from the rows.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import write_atomically

from .scores import ModelScore
from .tally import Tally

FILE = "familiarity.json"
#: Keys of the file: cut-offs by model, dates by instance, summaries by model.
_KEYS = ("cutoffs", "published", "probes", "canaries")


class CutoffSide(StrEnum):
    """The date of a paper relative to a cut-off."""

    BEFORE = "up to the cut-off"
    AFTER = "after it"
    UNKNOWN = "only the year is known"


def cutoff_side(published: str, cutoff: str) -> CutoffSide:
    """Compare the date of a paper with a cut-off.

    Args:
        published: `YYYY-MM`, or `YYYY`.
        cutoff: `YYYY-MM`; papers of that month count as before it.
    """
    if len(published) == 4 and published == cutoff[:4]:
        return CutoffSide.UNKNOWN
    return CutoffSide.BEFORE if published <= cutoff else CutoffSide.AFTER


def tallies_by_side(score: ModelScore, cutoff: str, published: Mapping[str, str]) -> dict[CutoffSide, Tally]:
    """Count a model's rows by the side of the cut-off; instances without a date are left out."""
    parts = {name: Tally() for name in CutoffSide}
    for instance, tally in score.instances.items():
        if instance in published:
            parts[cutoff_side(published[instance], cutoff)].add(tally)
    return parts


def read_familiarity(run: Path) -> dict[str, dict[str, Any]]:
    """Read familiarity.json of a run folder; the result has every key.

    Raises:
        InputError: the file is damaged.
    """
    path = run / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        found = {}
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or not all(isinstance(found.get(key, {}), dict) for key in _KEYS):
        raise InputError(f"{path}: damaged; remove it and run `lmrbench analyse familiarity` again")
    kept = {key: found.get(key, {}) for key in _KEYS}
    texts = {**kept["cutoffs"], **kept["published"]}.values()
    lines = (item.get("line") if isinstance(item, dict) else None for key in _KEYS[2:] for item in kept[key].values())
    if not all(isinstance(text, str) for text in (*texts, *lines)):
        raise InputError(f"{path}: damaged; remove it and run `lmrbench analyse familiarity` again")
    return kept


def keep_familiarity(run: Path, **found: Mapping[str, Any]) -> None:
    """Update familiarity.json of a run folder.

    Args:
        found: key of the file → new entries, which replace those with the same names.
    """
    kept = read_familiarity(run)
    for key, values in found.items():
        kept[key] |= values
    write_atomically(run / FILE, json.dumps(kept, indent=1) + "\n")


def familiarity_lines(scores: Sequence[ModelScore]) -> list[str]:
    """Return one line for each model with an entry."""
    return list(_lines(scores))


def _lines(scores: Sequence[ModelScore]) -> Iterator[str]:
    said: set[str] = set()
    for score in scores:
        kept = read_familiarity(score.path)
        if cutoff := kept["cutoffs"].get(score.model):
            parts = tallies_by_side(score, cutoff, kept["published"])
            told = "; ".join(f"{name} {_reached(score, tally)}" for name, tally in parts.items() if tally.total)
            who = f"{score.name}, track {score.track}"
            yield f"{who}, {score.headline} beside its knowledge cut-off {cutoff}: {told}."
        for key in ("probes", "canaries"):
            for item in kept[key].values():
                if item["line"] not in said:
                    said.add(item["line"])
                    yield item["line"]


def _reached(score: ModelScore, tally: Tally) -> str:
    share = tally.share(score.headline)
    return f"{100 * share.part / share.whole:.0f} % of {share.units} ({share.bounds})"
