"""Calibrate a judge on the benchmark's own variants, whose right categories are known.

`dataset check` proves the behaviour of each kind of variant, so no human labels are needed. Only
the judgements are stored; every number is computed from them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmrbench_data.base.configurations import CARELESS, PLAIN, VALID, WRONG
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.proportions import CONTRACT, PAPER, Share
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.task import Task
from lmrbench_evaluate.judge.asking import JudgeSummary
from lmrbench_evaluate.judge.judgement_log import Judge, read_judgements
from lmrbench_evaluate.judge.judging import judge_predictions
from lmrbench_evaluate.judge.opinion import BEST_FIRST
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.reports.text_table import Table
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.runs.settings import JudgeSettings

#: Track → kind → the right categories of its variants, the best first. Plain and careless ones
#: implement the method with minor faults, for which LC exists. Each careless one breaks the
#: contract; plain ones may or may not break it.
EXPECTED: dict[str, dict[str, tuple[str, ...]]] = {
    PAPER: {VALID: ("CC",), PLAIN: ("CC", "LC"), CARELESS: ("CC", "LC"), WRONG: ("LC", "LI")},
    CONTRACT: {VALID: ("CC",), CARELESS: ("LC", "LI"), WRONG: ("LC", "LI")},
}


@dataclass(frozen=True)
class Calibration:
    """The judge's categories of variants next to the right ones."""

    judge: Judge
    track: str
    judged: Mapping[str, Counter[str]]
    """Kind of variant → number of variants in each category."""
    left_out: Counter[str]
    """Reason → number of variants that were left out."""

    def expected(self, *kinds: str) -> Share:
        """The share of the judged variants of some kinds that have an expected category."""
        hits = judged = 0
        for kind in kinds:
            counts = self.judged[kind]
            hits += sum(counts[name] for name in EXPECTED[self.track][kind])
            judged += counts.total()
        return Share(hits, judged)

    def table(self) -> Table:
        """Return a row for each kind of variant."""
        header = ["variants", "expected", *(f"judge: {name}" for name in BEST_FIRST)]
        rows = []
        for kind, counts in self.judged.items():
            right = " or ".join(EXPECTED[self.track][kind])
            share = self.expected(kind)
            numbers = [str(counts[name]) for name in BEST_FIRST]
            rows.append([kind, right, *numbers, share.fraction, share.bounds])
        return [*header, "as expected", "95%"], rows

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for JSON."""
        kinds = {}
        for kind, counts in self.judged.items():
            kinds[kind] = {"expected": EXPECTED[self.track][kind], "judge": counts}
        share = self.expected(*self.judged)
        return {
            "judge_model": self.judge.model,
            "prompt_version": self.judge.prompt_version,
            "base_url": self.judge.server,
            "track": self.track,
            "answers": share.whole,
            "left_out": dict(self.left_out),
            "as_expected": share.as_dict(),
            "kinds": kinds,
        }


def find_variants(tasks: Sequence[Task], track: str, each: int | None = None) -> list[Prediction]:
    """Return the variants of tasks as answers of models named KIND/NAME.

    Args:
        each: the maximum number of each kind and instance, spread over all of them.
    """
    variants: list[Prediction] = []
    for task in tasks:
        for item in task.implementations:
            for kind in EXPECTED[track]:
                paths = task.variants(item, kind)
                step = max(1, len(paths) // each) if each else 1
                for path in paths[::step][:each]:
                    variants.append(_variant(item.instance_id, track, path))
    if not variants:
        raise ArgumentError("benchmark", "these tasks have no variants; see CONTRIBUTING.md")
    return variants


def _variant(instance: str, track: str, path: Path) -> Prediction:
    text = path.read_text(encoding="utf-8")
    return Prediction(instance, f"{path.parent.name}/{path.stem}", "function", text, track=track)


def calibrate(
    settings: JudgeSettings,
    variants: Sequence[Prediction],
    rows: Sequence[DatasetRow],
    progress: Progress | None = None,
) -> tuple[Calibration, JudgeSummary]:
    """Let a judge judge variants of one track in `settings.run`; the same call again resumes."""
    _write_predictions(settings.run, variants)
    summary = judge_predictions(settings, {row["instance_id"]: row for row in rows}, progress)
    judgements = read_judgements(settings.run, summary.judge)
    track = variants[0].track
    judged: dict[str, Counter[str]] = {kind: Counter() for kind in EXPECTED[track]}
    left_out: Counter[str] = Counter()
    for variant in variants:
        judgement = judgements.get(variant.key.question)
        if judgement and judgement.category:
            judged[_kind(variant)][judgement.category] += 1
        else:
            left_out[(judgement and judgement.not_judged) or "no judgement"] += 1
    return Calibration(summary.judge, track, judged, left_out), summary


def _write_predictions(path: Path, variants: Sequence[Prediction]) -> None:
    folder = RunFolder(path)
    if folder.exists or any(_kind(item) not in EXPECTED[PAPER] for item in folder.predictions):
        problem = "holds answers that are not variants; choose another folder"
        raise ArgumentError("run", f"{path}: {problem}")
    path.mkdir(parents=True, exist_ok=True)
    folder.predictions.write(variants)


def _kind(variant: Prediction) -> str:
    return variant.model.partition("/")[0]
