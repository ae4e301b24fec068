"""Summarise runs: recompute every total from the result rows, lay models side by side, write Markdown and JSON.

Two rates are always given: of all instances in the run's scope (an unanswered one counts as not passed), and of those
that could be graded. A run with infra errors is called incomplete.
"""

import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmrbench_data.evaluate.run_folder import read_facts, read_results
from lmrbench_data.evaluate.stats import wilson
from lmrbench_data.evaluate.verdict import Status

#: In the instance table: one mark for each status, and one for an instance without prediction.
MARKS = {
    Status.PASSED: "pass",
    Status.FAILED: "fail",
    Status.ERROR: "error",
    Status.TIMEOUT: "time",
    Status.OOM: "oom",
    Status.MALFORMED: "malf",
    Status.INFRA_ERROR: "INFRA",
}
MISSING = "missing"
#: Rows of the table of failures in Markdown.
MAX_REASONS = 100


@dataclass
class Tally:
    """Counts over prediction rows; every instance counts as many as the one with most, `missing` ones among them."""

    counts: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> int:
        """All rows, missing ones included."""
        return self.counts.total()

    @property
    def passed(self) -> int:
        """Rows whose every case passed."""
        return self.counts[Status.PASSED]

    @property
    def graded(self) -> int:
        """Rows that the machinery could grade."""
        return self.total - self.counts[MISSING] - self.counts[Status.INFRA_ERROR]

    def as_dict(self) -> dict[str, Any]:
        """For report.json."""
        low, high = wilson(self.passed, self.total)
        return {
            "total": self.total,
            "passed": self.passed,
            "graded": self.graded,
            "accuracy": _share(self.passed, self.total),
            "accuracy_ci95": [round(low, 4), round(high, 4)],
            "accuracy_of_graded": _share(self.passed, self.graded),
            "statuses": {name: self.counts[name] for name in (*map(str, Status), MISSING) if self.counts[name]},
        }


@dataclass
class ModelScore:
    """One model in one setting of one run."""

    run: str
    model: str
    setting: str
    overall: Tally
    categories: dict[str, Tally]
    instances: dict[str, Tally]
    incomplete: bool

    @property
    def name(self) -> str:
        """The model, with its setting if it has one."""
        return f"{self.model} ({self.setting})" if self.setting else self.model


def score_runs(paths: Sequence[Path]) -> list[ModelScore]:
    """The scores of all models of several run folders, which are named so that they can be told apart.

    Raises:
        InputError: no run folder, or a damaged one.
    """
    names = Counter(path.resolve().name for path in paths)
    return [
        score
        for path in paths
        for score in score_run(path, path.resolve().name if names[path.resolve().name] == 1 else str(path))
    ]


def score_run(path: Path, name: str = "") -> list[ModelScore]:
    """The scores of a run folder's models, from its rows.

    Args:
        name: what the run is called; the folder's name if empty.

    Raises:
        InputError: no run folder, or a damaged one.
    """
    facts = read_facts(path)
    scope: dict[str, str] = facts["scope"]
    instances: dict[tuple[str, str], dict[str, Tally]] = {}
    for row in read_results(path):
        if row["instance_id"] in scope:
            by_instance = instances.setdefault((row["model_name_or_path"], row["setting"]), {})
            by_instance.setdefault(row["instance_id"], Tally()).counts[row["status"]] += 1
    scores = []
    for (model, setting), found in sorted(instances.items()):
        samples = max(tally.total for tally in found.values())
        every = {instance_id: found.get(instance_id, Tally()) for instance_id in sorted(scope)}
        overall, categories = Tally(), {category: Tally() for category in scope.values()}
        for instance_id, tally in every.items():
            # Every instance weighs the same, however many of its samples are there.
            if missing := samples - tally.total:
                tally.counts[MISSING] = missing
            categories[scope[instance_id]].counts.update(tally.counts)
            overall.counts.update(tally.counts)
        incomplete = not facts.get("complete") or bool(overall.counts[Status.INFRA_ERROR])
        run = name or path.resolve().name
        scores.append(ModelScore(run, model, setting, overall, categories, every, incomplete))
    return scores


def summary_table(scores: Sequence[ModelScore]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the summary: accuracy, interval, both rates, statuses."""
    shown = [status for status in Status if status is not Status.PASSED and _any(scores, status)]
    missing = [MISSING] if any(score.overall.counts[MISSING] for score in scores) else []
    several = len({score.run for score in scores}) > 1
    header = [*(["run"] if several else []), "model", "passed", "accuracy", "95 % interval", "of graded"]
    rows = []
    for score in scores:
        tally = score.overall
        low, high = wilson(tally.passed, tally.total)
        rows.append(
            [
                *([score.run] if several else []),
                score.name + (" [incomplete]" if score.incomplete else ""),
                f"{tally.passed}/{tally.total}",
                percent(tally.passed, tally.total),
                f"{100 * low:.1f} - {100 * high:.1f}",
                percent(tally.passed, tally.graded),
                *(str(tally.counts[status]) for status in shown),
                *(str(tally.counts[name]) for name in missing),
            ]
        )
    return [*header, *map(str, shown), *missing], rows


def category_table(scores: Sequence[ModelScore]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: accuracy by category, one column a model."""
    names = sorted({name for score in scores for name in score.categories})
    header = ["category", *(_column(score, scores) for score in scores)]
    rows = [[name, *(_cell(score.categories.get(name)) for score in scores)] for name in names]
    return header, rows


def instance_table(scores: Sequence[ModelScore]) -> tuple[list[str], list[list[str]]]:
    """Header and rows: the verdict on each instance, one column a model."""
    names = sorted({name for score in scores for name in score.instances})
    header = ["instance", *(_column(score, scores) for score in scores)]
    return header, [[name, *(_mark(score.instances.get(name)) for score in scores)] for name in names]


def render_markdown(paths: Sequence[Path]) -> str:
    """The report of one or more runs as Markdown."""
    scores = score_runs(paths)
    lines = ["# LMR-Bench report", ""]
    for path in paths:
        facts = read_facts(path)
        official = "" if facts["official_sandbox"] else " (no isolation: not for a leaderboard)"
        seeds = f", {facts['fresh_seed_count']} fresh seeds" if facts["fresh_seed_count"] else ""
        lines.append(
            f"- run {_escape(facts['run_id'])}: dataset {_escape(facts['dataset'])} version "
            f"{_escape(facts['benchmark_version'])} ({_escape(facts['dataset_sha256'][:12])}), "
            f"sandbox {_escape(facts['sandbox'])}{official}{seeds}, harness {_escape(facts['harness_version'])}, "
            f"{_escape(facts['started_at'])}" + ("" if facts.get("complete") else ", **incomplete**")
        )
        if bad := facts.get("bad_rows"):
            lines.append(f"  - {len(bad)} prediction rows could not be evaluated; see `bad_rows` in run.json")
    for title, table in (
        ("Unit-test accuracy", summary_table(scores)),
        ("By category", category_table(scores)),
        ("By instance", instance_table(scores)),
    ):
        lines += ["", f"## {title}", "", *_markdown_table(*table)]
    reasons = (reason for path in paths for reason in failures(path))
    if shown := list(itertools.islice(reasons, MAX_REASONS)):
        lines += ["", "## What did not pass", "", *_markdown_table(["instance", "model", "status", "why"], shown)]
        if more := sum(1 for _ in reasons):
            lines += ["", f"{more} more are in results.jsonl."]
    lines += [
        "",
        "Accuracy is the share of all instances in the scope whose every case passed; an instance without prediction "
        "counts as not passed. *Of graded* leaves out missing predictions and infra errors. Intervals are Wilson's.",
    ]
    return "\n".join(lines) + "\n"


def failures(path: Path) -> Iterator[list[str]]:
    """For each result that did not pass: instance, model, status and the first thing that went wrong."""
    for row in read_results(path):
        if row["status"] == Status.PASSED:
            continue
        case = next((case for case in row["cases"] if case["status"] == row["status"]), None)
        reason = f"{case['name']}, seed {case['seed']}: {case['detail']}" if case else row["detail"]
        yield [row["instance_id"], row["model_name_or_path"], row["status"], reason.partition("\n")[0][:200]]


def report_dict(paths: Sequence[Path]) -> dict[str, Any]:
    """The same numbers for machines."""
    return {
        "runs": [read_facts(path) for path in paths],
        "scores": [
            {
                "run": score.run,
                "model_name_or_path": score.model,
                "setting": score.setting,
                "complete": not score.incomplete,
                "overall": score.overall.as_dict(),
                "categories": {name: tally.as_dict() for name, tally in sorted(score.categories.items())},
                "instances": {name: dict(tally.counts) for name, tally in score.instances.items()},
            }
            for score in score_runs(paths)
        ],
    }


def percent(part: int, whole: int) -> str:
    """A share for people; a dash where there is none."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 4) if whole else None


def _any(scores: Iterable[ModelScore], status: Status) -> bool:
    return any(score.overall.counts[status] for score in scores)


def _column(score: ModelScore, scores: Sequence[ModelScore]) -> str:
    clash = sum(other.name == score.name for other in scores) > 1
    return f"{score.run}: {score.name}" if clash else score.name


def _cell(tally: Tally | None) -> str:
    return f"{tally.passed}/{tally.total}" if tally else "-"


def _mark(tally: Tally | None) -> str:
    if tally is None:
        return "-"
    if tally.total > 1:
        return f"{tally.passed}/{tally.total}"
    name = next(iter(tally.counts))
    return MISSING if name == MISSING else MARKS[Status(name)]


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    table = [f"| {' | '.join(map(_escape, cells))} |" for cells in (header, *rows)]
    return [table[0], "|" + "---|" * len(header), *table[1:]]


def _escape(text: str) -> str:
    """One line of plain text. Names and messages are whatever a model says: they must not become markup."""
    line = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in " ".join(text.split()))
    return re.sub(r"([\\`*_\[\]|<>~&$])", r"\\\1", line)
