"""Tables of a probe: references beside their controls, instance by instance."""

from collections.abc import Sequence
from typing import Any

from lmrbench_evaluate.reports.association import Mean, mean_by_cluster
from lmrbench_evaluate.verdict.levels import Level

from ...base.text_table import Table
from ...chat.logprobs import CHAT, ECHO, TEXT
from .dates import Split
from .probe import CONTINUATION, SCORE, ProbeSummary
from .texts import CONTROLS, REFERENCE

#: The information that each kind of server gives.
WAYS = {
    ECHO: "the server echoes prompts with log-probabilities, so every text is scored",
    CHAT: "the server gives log-probabilities only of the model's own words: references cannot be scored, but their "
    "verbatim continuation is seen, and how sure the model is of it",
    TEXT: "the server gives no log-probabilities: only the verbatim continuation of references is seen",
}
_MEASURES = ("mean_logprob", "mean_probability", "min_k")


def differences(summary: ProbeSummary, measure: str, kind: str) -> Mean:
    """The reference's measure minus the mean of its controls', over instances.

    Args:
        measure: `mean_logprob`, `mean_probability` or `min_k`.
        kind: of controls.
    """
    by_instance: dict[str, dict[str, list[float]]] = {}
    for row in summary.rows:
        if row["what"] == SCORE and row[measure] is not None:
            by_instance.setdefault(row["instance_id"], {}).setdefault(row["kind"], []).append(row[measure])
    found = {
        instance: _mean(kinds[REFERENCE]) - _mean(kinds[kind])
        for instance, kinds in by_instance.items()
        if REFERENCE in kinds and kind in kinds
    }
    return mean_by_cluster(list(found.values()), list(found))


def measured(summary: ProbeSummary, measure: str, kind: str) -> Mean:
    """The mean of a measure over the texts of a kind, by instance."""
    rows = [row for row in summary.rows if row["kind"] == kind and row[measure] is not None]
    return mean_by_cluster([row[measure] for row in rows], [row["instance_id"] for row in rows])


def continuation(summary: ProbeSummary) -> tuple[Mean, Mean]:
    """Return the longest verbatim run of the reference in continuations, and its excess over that of the variants."""
    rows = [row for row in summary.rows if row["what"] == CONTINUATION]
    runs = mean_by_cluster([row["run"] for row in rows], [row["instance_id"] for row in rows])
    beside = [row for row in rows if row["control_run"] is not None]
    more = [row["run"] - row["control_run"] for row in beside]
    return runs, mean_by_cluster(more, [row["instance_id"] for row in beside])


def probe_tables(summary: ProbeSummary) -> list[tuple[str, Table]]:
    """Return the titles and tables that are not empty."""
    made: list[tuple[str, Table]] = []
    kinds = [kind for kind in (REFERENCE, *CONTROLS) if any(row["kind"] == kind for row in summary.rows)]
    if REFERENCE in kinds:
        scored = [[kind, *(_cell(measured(summary, measure, kind)) for measure in _MEASURES)] for kind in kinds]
        header = ["text", "mean log-probability", "mean probability", "min-20 %"]
        made.append(("Probability per token", (header, scored)))
        beside = [
            [f"minus {kind}", *(_cell(differences(summary, measure, kind)) for measure in _MEASURES)]
            for kind in kinds[1:]
        ]
        made.append(("The reference minus its controls", (["reference", *header[1:]], beside)))
    runs, more = continuation(summary)
    rows = [
        ["longest verbatim run of the reference", _cell(runs)],
        ["the same, minus that of the variants", _cell(more)],
        ["probability of its own words", _cell(measured(summary, "mean_probability", CONTINUATION))],
    ]
    if runs.items:
        made.append(
            ("What the model writes after the prefix", (["measure", "mean"], [row for row in rows if row[1] != "-"]))
        )
    return made


def probe_dict(summary: ProbeSummary) -> dict[str, Any]:
    """All numbers, fit for JSON, with the rows."""
    kinds = (REFERENCE, *CONTROLS, CONTINUATION)
    runs, more = continuation(summary)
    return {
        "model": summary.model,
        "base_url": summary.server,
        "way": summary.way,
        "measures": {
            kind: {measure: measured(summary, measure, kind)._asdict() for measure in _MEASURES} for kind in kinds
        },
        "differences": {
            kind: {measure: differences(summary, measure, kind)._asdict() for measure in _MEASURES} for kind in CONTROLS
        },
        "verbatim_run": runs._asdict(),
        "verbatim_run_less_variants": more._asdict(),
        "asked": summary.asked,
        "kept": summary.kept,
        "errors": summary.errors,
        "complete": summary.complete,
        "rows": [{key: value for key, value in row.items() if key != "text"} for row in summary.rows],
    }


def probe_line(summary: ProbeSummary) -> str:
    """The sentence in a report beside scores."""
    runs, more = continuation(summary)
    parts = []
    for kind in CONTROLS[:1]:
        if (found := differences(summary, "mean_logprob", kind)).value is not None:
            parts.append(f"references are {_cell(found)} more likely per token (log) than our other correct code")
    if runs.value is not None:
        parts.append(f"its longest verbatim run of a reference is {_cell(runs)} of it")
    if more.value is not None:
        parts.append(f"{_cell(more)} more than of other correct code")
    return f"Familiarity of {summary.model} ({summary.way}): {'; '.join(parts) or 'nothing could be measured'}."


def split_table(splits: Sequence[Split]) -> Table:
    """One line for each model and part."""
    rows = []
    for item in splits:
        for part, tally in item.parts.items():
            if tally.total:
                shares = [tally.share(level) for level in Level]
                cells = [text for share in shares for text in (share.fraction, share.bounds)]
                score = item.score
                rows.append([score.name, score.track, item.cutoff, str(part), str(tally.instances), *cells])
    header = ["model", "track", "cut-off", "paper came out", "instances", "reproduced", "95 %", "robust", "95 %"]
    return header, rows


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _cell(mean: Mean) -> str:
    if mean.value is None:
        return "-"
    interval = f" ({mean.interval[0]:.3f} to {mean.interval[1]:.3f})" if mean.interval else ""
    return f"{mean.value:.3f}{interval}"
