"""Calibrate a judge on the benchmark's own variants, whose right categories are known.

`dataset check` proves the behaviour of each kind of variant, so no human labels are needed. Only
the judgements are stored; every number is computed from them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from lmrbench_data.base.configurations import CARELESS, PLAIN, VALID, WRONG
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.proportions import CONTRACT, PAPER, Share, kappa
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.task import Task
from lmrbench_evaluate.judge.asking import JudgeSummary
from lmrbench_evaluate.judge.judgement_log import Judge, Judgement, read_judgements
from lmrbench_evaluate.judge.judging import judge_predictions
from lmrbench_evaluate.judge.opinion import BEST_FIRST
from lmrbench_evaluate.predictions.prediction import AnswerKey, Prediction
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

    @classmethod
    def of(
        cls,
        judge: Judge,
        variants: Sequence[Prediction],
        judgements: Mapping[AnswerKey, Judgement],
    ) -> Self:
        """Count the judgements of variants of one track."""
        track = variants[0].track
        judged: dict[str, Counter[str]] = {kind: Counter() for kind in EXPECTED[track]}
        calibration = cls(judge, track, judged, Counter())
        for variant in variants:
            calibration.count(_kind(variant), judgements.get(variant.key.question))
        return calibration

    def count(self, kind: str, judgement: Judgement | None) -> None:
        """Count the judgement of a variant."""
        if judgement and judgement.category:
            self.judged[kind][judgement.category] += 1
        else:
            reason = judgement.not_judged if judgement else ""
            self.left_out[reason or "no judgement"] += 1

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
        faulty = self.measures["sensitivity"]
        correct = self.measures["specificity"]
        truth = [False] * faulty.whole + [True] * correct.whole
        answers = [False] * faulty.part + [True] * (faulty.whole - faulty.part)
        answers += [False] * (correct.whole - correct.part) + [True] * correct.part
        return kappa(truth, answers)

    def tables(self) -> list[tuple[str, Table]]:
        """Return the titles and tables for the terminal."""
        judged = [f"judge: {name}" for name in BEST_FIRST]
        header = ["variants", "expected", *judged, "as expected", "95%"]
        kinds = [self._row(kind) for kind in self.judged]
        return [
            ("Measures", (["measure", "value", "95%"], self._measure_rows())),
            ("By kind of variant", (header, kinds)),
        ]

    def _measure_rows(self) -> list[list[str]]:
        agreement = "-" if self.kappa is None else f"{self.kappa:.2f}"
        rows = [[name, share.fraction, share.bounds] for name, share in self.measures.items()]
        return [*rows, ["Cohen's kappa, CC / not CC", agreement, "-"]]

    def _row(self, kind: str) -> list[str]:
        right = EXPECTED[self.track][kind]
        counts = [str(self.judged[kind][name]) for name in BEST_FIRST]
        share = self._share({kind: right})
        return [kind, " or ".join(right), *counts, share.fraction, share.bounds]

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
    variants: list[Prediction] = []
    for task in tasks:
        for item in task.implementations:
            for kind in EXPECTED[track]:
                paths = _spread(task.variants(item, kind), each)
                variants += [_prediction(item.instance_id, track, path) for path in paths]
    if not variants:
        raise ArgumentError("benchmark", "these tasks have no variants; see CONTRIBUTING.md")
    return variants


def _spread(paths: Sequence[Path], most: int | None) -> Sequence[Path]:
    if most is None:
        return paths
    return paths[:: max(1, len(paths) // most)][:most]


def _prediction(instance: str, track: str, path: Path) -> Prediction:
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
    return Calibration.of(summary.judge, variants, judgements), summary


def _write_predictions(path: Path, variants: Sequence[Prediction]) -> None:
    folder = RunFolder(path)
    if folder.exists or any(_kind(item) not in EXPECTED[PAPER] for item in folder.predictions):
        problem = "holds answers that are not variants; choose another folder"
        raise ArgumentError("run", f"{path}: {problem}")
    path.mkdir(parents=True, exist_ok=True)
    folder.predictions.write(variants)


def _kind(variant: Prediction) -> str:
    return variant.model.partition("/")[0]
