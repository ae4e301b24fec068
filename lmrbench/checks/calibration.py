"""Calibrate a judge on the benchmark's own variants, whose right categories are known.

`dataset check` proves the behaviour of each kind of variant, so no human labels are needed. Only
the judgements are stored; every number is computed from them.
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmrbench_data.base.configurations import CARELESS, PLAIN, VALID, WRONG
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.proportions import CONTRACT, PAPER, Share, kappa
from lmrbench_data.base.text_table import Table
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.task import Task
from lmrbench_evaluate.judge.asking import JudgeSummary
from lmrbench_evaluate.judge.judgement_log import Judge, read_judgements
from lmrbench_evaluate.judge.judging import judge_predictions
from lmrbench_evaluate.judge.opinion import BEST_FIRST
from lmrbench_evaluate.predictions.prediction import Prediction
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

    @property
    def measures(self) -> dict[str, Share]:
        """The shares by name; sensitivity and specificity leave out kinds that may be CC or LC."""
        expected = EXPECTED[self.track]
        faulty = [kind for kind in expected if "CC" not in expected[kind]]
        right_logic = [kind for kind in expected if "LI" not in expected[kind]]
        return {
            "as expected": self._share(expected),
            "sensitivity": self._share(dict.fromkeys(faulty, ("LC", "LI"))),
            "specificity": self._share({VALID: ("CC",)}),
            "false LI": self._share(dict.fromkeys(right_logic, ("LI",))),
        }

    def _share(self, categories: Mapping[str, Sequence[str]]) -> Share:
        """Return the share of variants in these categories, given for some kinds of variants."""
        hits = judged = 0
        for kind, names in categories.items():
            counts = self.judged[kind]
            hits += sum(counts[name] for name in names)
            judged += counts.total()
        return Share(hits, judged)

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of CC / not CC, where only one of the two is right."""
        faulty, correct = self.measures["sensitivity"], self.measures["specificity"]
        missed = [faulty.part, faulty.whole - faulty.part]
        return kappa([missed, [correct.whole - correct.part, correct.part]])

    def tables(self) -> list[tuple[str, Table]]:
        """Return the titles and tables for the terminal."""
        agreement = "-" if self.kappa is None else f"{self.kappa:.2f}"
        measures = [[name, share.fraction, share.bounds] for name, share in self.measures.items()]
        measures.append(["Cohen's kappa, CC / not CC", agreement, "-"])
        judged = [f"judge: {name}" for name in BEST_FIRST]
        kinds = []
        for kind, right in EXPECTED[self.track].items():
            counts = [str(self.judged[kind][name]) for name in BEST_FIRST]
            share = self._share({kind: right})
            kinds.append([kind, " or ".join(right), *counts, share.fraction, share.bounds])
        return [
            ("Measures", (["measure", "value", "95%"], measures)),
            (
                "By kind of variant",
                (["variants", "expected", *judged, "as expected", "95%"], kinds),
            ),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for JSON."""
        numbers = {name.replace(" ", "_"): share.as_dict() for name, share in self.measures.items()}
        expected = EXPECTED[self.track]
        return {
            "judge_model": self.judge.model,
            "prompt_version": self.judge.prompt_version,
            "base_url": self.judge.server,
            "track": self.track,
            "answers": self.measures["as expected"].whole,
            "left_out": dict(self.left_out),
            **numbers,
            "kappa": self.kappa,
            "kinds": {
                kind: {"expected": expected[kind], "judge": counts}
                for kind, counts in self.judged.items()
            },
        }


def find_variants(tasks: Sequence[Task], track: str, each: int | None = None) -> list[Prediction]:
    """Return the variants of tasks as answers of models named KIND/NAME.

    Args:
        each: the maximum number of each kind and instance, spread over all of them.
    """
    if track not in EXPECTED:
        raise ArgumentError("track", f"must be {' or '.join(EXPECTED)}, not {track!r}")
    variants = []
    for task in tasks:
        for item, kind in itertools.product(task.implementations, EXPECTED[track]):
            paths = task.variants(item, kind)
            step = max(1, len(paths) // each) if each else 1
            for path in paths[::step][:each]:
                text, model = path.read_text(encoding="utf-8"), f"{kind}/{path.stem}"
                variants.append(Prediction(item.instance_id, model, "function", text, track=track))
    if not variants:
        raise ArgumentError("benchmark", "these tasks have no variants; see CONTRIBUTING.md")
    return variants


def calibrate(
    settings: JudgeSettings,
    variants: Sequence[Prediction],
    rows: Sequence[DatasetRow],
    progress: Progress | None = None,
) -> tuple[Calibration, JudgeSummary]:
    """Let a judge judge variants of one track in `settings.run`; the same call again resumes."""
    folder = RunFolder(settings.run)
    if folder.exists or any(_kind(item) not in EXPECTED[PAPER] for item in folder.predictions):
        problem = "holds answers that are not variants; choose another folder"
        raise ArgumentError("run", f"{settings.run}: {problem}")
    settings.run.mkdir(parents=True, exist_ok=True)
    folder.predictions.write(variants)
    summary = judge_predictions(settings, {row["instance_id"]: row for row in rows}, progress)
    judgements = read_judgements(settings.run, summary.judge)
    track = variants[0].track
    judged = {kind: Counter[str]() for kind in EXPECTED[track]}
    calibration = Calibration(summary.judge, track, judged, Counter())
    for variant in variants:
        judgement = judgements.get(variant.key.question)
        if judgement and judgement.category:
            calibration.judged[_kind(variant)][str(judgement.category)] += 1
        else:
            calibration.left_out[(judgement and judgement.not_judged) or "no judgement"] += 1
    return calibration, summary


def _kind(variant: Prediction) -> str:
    return variant.model.partition("/")[0]
