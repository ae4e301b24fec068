"""familiarity.json of a run folder: what is known of how familiar its models are with the papers, and a line about it.

Cut-offs and dates are kept, never scores: these are computed from the rows anew.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from ...errors import InputError
from ...files import write_atomically
from .scores import ModelScore, Tally

FILE = "familiarity.json"
#: Keys of the file, and of what: cut-offs by model, dates by instance, summaries by model.
_KEYS = ("cutoffs", "published", "probes", "canaries")


class Part(StrEnum):
    """Where a paper stands beside a cut-off."""

    BEFORE = "up to the cut-off"
    AFTER = "after it"
    UNKNOWN = "only the year is known"


def part(published: str, cutoff: str) -> Part:
    """Where a paper stands.

    Args:
        published: `YYYY-MM`, or `YYYY`.
        cutoff: `YYYY-MM`; what came out in that month may have been read.
    """
    if len(published) == 4 and published == cutoff[:4]:
        return Part.UNKNOWN
    return Part.BEFORE if published <= cutoff else Part.AFTER


def parts_of(score: ModelScore, cutoff: str, published: Mapping[str, str]) -> dict[Part, Tally]:
    """A model's counts on the parts of its instances; those without a date are left out."""
    parts = {name: Tally() for name in Part}
    for instance, tally in score.instances.items():
        if instance in published:
            parts[part(published[instance], cutoff)].add(tally)
    return parts


def read_familiarity(run: Path) -> dict[str, dict[str, Any]]:
    """What a run folder keeps; every key is there.

    Raises:
        InputError: damaged.
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
    """Add to what a run folder keeps, in place of what was there under the same names.

    Args:
        found: by key of the file.
    """
    kept = read_familiarity(run)
    for key, values in found.items():
        kept[key] |= values
    write_atomically(run / FILE, json.dumps(kept, indent=1) + "\n")


def familiarity_lines(scores: Sequence[ModelScore]) -> list[str]:
    """What reports say beside scores: one line for each model of which something is known."""
    return list(_lines(scores))


def _lines(scores: Sequence[ModelScore]) -> Iterator[str]:
    said: set[str] = set()
    for score in scores:
        kept = read_familiarity(score.path)
        if cutoff := kept["cutoffs"].get(score.model):
            parts = parts_of(score, cutoff, kept["published"])
            told = "; ".join(f"{name} {_reached(score, tally)}" for name, tally in parts.items() if tally.total)
            who = f"{score.name}, track {score.track}"
            yield f"{who}, {score.headline} beside its knowledge cut-off {cutoff}: {told}."
        for key in ("probes", "canaries"):
            for item in kept[key].values():
                if item["line"] not in said:
                    said.add(item["line"])
                    yield item["line"]


def _reached(score: ModelScore, tally: Tally) -> str:
    reached = tally.reached(score.headline)
    low, high = tally.interval(score.headline)
    share = f"{100 * reached / tally.total:.0f} % of {tally.instances}"
    return f"{share} ({100 * low:.0f} - {100 * high:.0f})"
