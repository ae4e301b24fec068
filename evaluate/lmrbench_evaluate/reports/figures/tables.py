"""The tables of a paper: scores, paired differences and categories, each as LaTeX and as CSV."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from lmrbench_data.base.shares import Share
from lmrbench_data.base.text_table import csv_cell

from ..paired import ALPHA, Pair
from ..report_data import ReportData
from ..score_tables import column, levels
from ..scores import ModelScore
from ..tally import Tally, share_dict
from .latex import escape, p_value, render_tabular, signed

#: With more characters in the names of models than this, the heads of their columns stand upright.
_UPRIGHT = 40
#: With more pairs than this, differences are a matrix.
_MOST_PAIRS = 6
_CI = r"95\,\% CI"


class PaperTable(NamedTuple):
    """One table in both forms."""

    tex: str
    csv: str


def scores_table(report: ReportData) -> PaperTable | str:
    """Make the table of each model's levels with their 95 % intervals."""
    scores = report.scores
    shown = levels(scores)
    names = [_names(score, scores) for score in scores]
    header = [*names[0], *(cell for level in shown for cell in (str(level).capitalize(), _CI))]
    rows = []
    for score, named in zip(scores, names, strict=True):
        cells = list(map(escape, named.values()))
        for level in shown:
            cells += _latex_share(score.overall.share(level)) if score.overall.graded else ["--", "--"]
        rows.append(cells)
    about = [*_about(scores), "Shares of instances in %, with Wilson's 95 % intervals."]
    latex = render_tabular(about, "l" * len(names[0]) + "rl" * len(shown), header, rows)
    return PaperTable(latex, _csv(record for score in scores for record in _records(score, score.overall)))


def differences_table(report: ReportData) -> PaperTable | str:
    """Make the table of the differences between models, paired by instance; a matrix for many models."""
    if not report.pairs:
        return "fewer than two models to compare" if len(report.scores) < 2 else "more models than are compared"
    ranking = {score.headline for score in report.scores} & set(levels(report.scores))
    pairs = [pair for pair in report.pairs if pair.level in ranking]
    said = f"Differences of {' and '.join(sorted(ranking))} in percentage points, paired by instance."
    many = len(pairs) > _MOST_PAIRS and len(ranking) == 1
    header, rows, more = _matrix(pairs) if many else _pair_rows(pairs, len(ranking) > 1)
    align = "".join("l" if head in ("Level", "First", "Second", "Model") else "r" for head in header)
    latex = render_tabular([*_about(report.scores), said, *more], align, header, rows)
    return PaperTable(latex, _csv(_flat({**asdict(pair), "instances": pair.instances}) for pair in report.pairs))


def _pair_rows(pairs: Sequence[Pair], has_levels: bool) -> tuple[list[str], list[list[str]], list[str]]:
    """Return header, rows and comments of a table with a row for each pair."""
    rows = [
        [
            *([str(pair.level)] if has_levels else []),
            *map(escape, (pair.first, pair.second)),
            *(signed(100 * pair.difference), "[${}$, ${}$]".format(*(round(100 * end) for end in pair.interval))),
            *(p_value(pair.p), p_value(pair.p_holm), str(pair.instances)),
        ]
        for pair in pairs
    ]
    header = [*(["Level"] if has_levels else []), "First", "Second", "Difference", _CI, "$p$", "$p$ (Holm)", "$n$"]
    return header, rows, []


def _matrix(pairs: Sequence[Pair]) -> tuple[list[str], list[list[str]], list[str]]:
    """Return header, rows and comments of a table with a row and a column for each model."""
    names = list(dict.fromkeys(name for pair in pairs for name in (pair.first, pair.second)))
    found = {(pair.first, pair.second): pair for pair in pairs}
    rows = [
        [f"{number}~{escape(name)}", *(_difference(found.get((name, other))) for other in names[1:])]
        for number, name in enumerate(names[:-1], 1)
    ]
    rows.append([f"{len(names)}~{escape(names[-1])}", *[""] * (len(names) - 1)])
    header = ["Model", *map(str, range(2, len(names) + 1))]
    starred = f"p (Holm) below {ALPHA}, and an interval without 0"
    return header, rows, [f"Row minus column. Starred: {starred}."]


def _difference(pair: Pair | None) -> str:
    if pair is None:
        return ""
    return signed(100 * pair.difference) + (r"\rlap{*}" if pair.distinguishable else "")


def categories_table(report: ReportData) -> PaperTable | str:
    """Make the table of the ranking level by category."""
    scores = report.scores
    sizes = Counter({instance: name for score in scores for instance, name in score.scope.items()}.values())
    names = [column(score, scores) for score in scores]
    upright = sum(map(len, names)) > _UPRIGHT
    heads = [rf"\rotatebox{{90}}{{{escape(name)}}}" if upright else escape(name) for name in names]
    rows = [
        [escape(category), str(size), *(_percent(score, category) for score in scores)]
        for category, size in sorted(sizes.items())
    ]
    said = f"Shares of instances in %: {' or '.join(sorted({score.headline for score in scores}))}."
    about = [*_about(scores), said, *([r"Needs \usepackage{graphicx}."] if upright else [])]
    records = (
        record
        for score in scores
        for name, tally in sorted(score.categories.items())
        for record in _records(score, tally, category=name)
    )
    latex = render_tabular(about, "lr" + "r" * len(scores), ["Category", "$n$", *heads], rows)
    return PaperTable(latex, _csv(records))


def _percent(score: ModelScore, category: str) -> str:
    tally = score.categories.get(category)
    return f"{100 * (tally.share(score.headline).value or 0):.1f}" if tally and tally.graded else "--"


#: Stem of the files → table, or the reason why there is none.
TABLES: dict[str, Callable[[ReportData], PaperTable | str]] = {
    "scores": scores_table,
    "differences": differences_table,
    "categories": categories_table,
}


def _names(score: ModelScore, scores: Sequence[ModelScore]) -> dict[str, str]:
    """Return the columns that identify a score: the model, and what distinguishes it from others."""
    told = [key for key in ("setting", "track") if len({getattr(other, key) for other in scores}) > 1]
    if len({other.key for other in scores}) < len(scores):
        told.append("run")
    names = {"Model": score.model + ("" if score.complete else " [incomplete]")}
    return names | {key.capitalize(): getattr(score, key) or "--" for key in told}


def _latex_share(share: Share) -> list[str]:
    low, high = share.interval
    return [f"{100 * (share.value or 0):.1f}", f"[{100 * low:.0f}, {100 * high:.0f}]"]


def _about(scores: Sequence[ModelScore]) -> list[str]:
    """Return comments on the requirements and the counts of a table."""
    sizes = sorted({len(score.scope) for score in scores})
    samples = sorted({score.samples for score in scores})
    instances, each = (" or ".join(map(str, numbers)) for numbers in (sizes, samples))
    return [r"Needs \usepackage{booktabs}.", f"{instances} instances; samples per instance: {each}."]


def _records(score: ModelScore, tally: Tally, **more: str) -> Iterator[dict[str, Any]]:
    """Yield a row of numbers for each level, rounded as in the report's JSON."""
    for level in levels([score]):
        found = share_dict(tally.share(level))
        low, high = found.pop("ci95")
        yield {
            **{key: getattr(score, key) for key in ("model", "setting", "track", "run", "complete")},
            **more,
            "level": str(level),
            "ranks": level is score.headline,
            "total": tally.total,
            **found,
            "ci95_low": low,
            "ci95_high": high,
        }


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record with two columns for an interval."""
    flat: dict[str, Any] = {}
    for key, value in record.items():
        flat |= dict(zip(("ci95_low", "ci95_high"), value, strict=True)) if isinstance(value, tuple) else {key: value}
    return flat


def _csv(records: Iterable[Mapping[str, Any]]) -> str:
    rows = list(records)
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: csv_cell(value) if isinstance(value, str) else value for key, value in row.items()})
    return out.getvalue()
