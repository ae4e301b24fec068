"""Calibrate a judge on the benchmark's own variants, whose right categories are known.

`dataset check` proves the behaviour of each kind of variant, so no labels by people are needed. Nothing is stored but
the judgements; every number is computed from them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lmrbench_data.base.configurations import CARELESS, PLAIN, VALID, WRONG
from lmrbench_data.base.errors import ArgumentError
from lmrbench_data.base.jobs import Progress
from lmrbench_data.base.proportions import CONTRACT, PAPER, Share, cross_table, kappa
from lmrbench_data.base.text_table import Table
from lmrbench_data.dataset.rows import DatasetRow, check_instances
from lmrbench_data.tasks.task import Task
from lmrbench_evaluate.judge.asking import JudgeSummary
from lmrbench_evaluate.judge.judgement_log import BY_MODEL, Judge, read_judgements
from lmrbench_evaluate.judge.judging import judge_predictions
from lmrbench_evaluate.judge.opinion import BEST_FIRST
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.runs.settings import JudgeSettings

from .static import read_variant

#: Track → kind → the categories that are right for its variants, the best first. Plain and careless ones implement the
#: method, with faults such as the logarithm of an underflowing value or a change in place, for which LC exists. Each
#: careless one breaks the contract; plain ones may or may not break it.
EXPECTED: dict[str, dict[str, tuple[str, ...]]] = {
    PAPER: {VALID: ("CC",), PLAIN: ("CC", "LC"), CARELESS: ("CC", "LC"), WRONG: ("LC", "LI")},
    CONTRACT: {VALID: ("CC",), CARELESS: ("LC", "LI"), WRONG: ("LC", "LI")},
}


class Rated(NamedTuple):
    """The judge's category of a variant."""

    kind: str
    expected: tuple[str, ...]
    category: str

    @property
    def is_expected(self) -> bool:
        """Whether the judge gave a right category."""
        return self.category in self.expected


@dataclass(frozen=True)
class Calibration:
    """The judge's categories of variants next to the right ones."""

    judge: Judge
    track: str
    rated: Sequence[Rated]
    left_out: Mapping[str, int]
    """Reason → number of variants that were left out."""

    @property
    def measures(self) -> dict[str, Share]:
        """The shares by name; sensitivity and specificity leave out kinds that may be CC or LC."""
        faulty = [item for item in self.rated if "CC" not in item.expected]
        correct = [item for item in self.rated if item.expected == ("CC",)]
        right_logic = [item for item in self.rated if "LI" not in item.expected]
        return {
            "as expected": Share.of(item.is_expected for item in self.rated),
            "sensitivity": Share.of(item.category != "CC" for item in faulty),
            "specificity": Share.of(item.category == "CC" for item in correct),
            "false LI": Share.of(item.category == "LI" for item in right_logic),
        }

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa of CC / not CC, where only one of the two is right."""
        decided = [
            item for item in self.rated if item.expected == ("CC",) or "CC" not in item.expected
        ]
        return kappa(
            cross_table(
                ["CC" in i.expected for i in decided], [i.category == "CC" for i in decided]
            )
        )

    @property
    def _by_kind(self) -> dict[str, list[Rated]]:
        kinds = {
            kind: [item for item in self.rated if item.kind == kind]
            for kind in EXPECTED[self.track]
        }
        return {kind: items for kind, items in kinds.items() if items}

    def tables(self) -> list[tuple[str, Table]]:
        """Return the titles and tables for the terminal."""
        measures = [[name, share.fraction, share.bounds] for name, share in self.measures.items()]
        measures.append(
            ["Cohen's kappa, CC / not CC", "-" if self.kappa is None else f"{self.kappa:.2f}", "-"]
        )
        kinds = []
        for kind, items in self._by_kind.items():
            counts, share = (
                Counter(item.category for item in items),
                Share.of(item.is_expected for item in items),
            )
            cells = [str(counts[name]) for name in BEST_FIRST]
            kinds.append(
                [kind, " or ".join(items[0].expected), *cells, share.fraction, share.bounds]
            )
        header = [
            "variants",
            "expected",
            *(f"judge: {name}" for name in BEST_FIRST),
            "as expected",
            "95%",
        ]
        return [
            ("Measures", (["measure", "value", "95%"], measures)),
            ("By kind of variant", (header, kinds)),
        ]

    def as_dict(self) -> dict[str, Any]:
        """Return all numbers, for JSON."""
        return {
            "judge_model": self.judge.model,
            "prompt_version": self.judge.prompt_version,
            "base_url": self.judge.server,
            "track": self.track,
            "answers": len(self.rated),
            "left_out": dict(self.left_out),
            **{name.replace(" ", "_"): share.as_dict() for name, share in self.measures.items()},
            "kappa": self.kappa,
            "kinds": {
                kind: {
                    "expected": items[0].expected,
                    "judge": Counter(item.category for item in items),
                }
                for kind, items in self._by_kind.items()
            },
        }


def find_variants(
    tasks: Sequence[Task], track: str, instances: Sequence[str] = (), each: int | None = None
) -> list[Prediction]:
    """Return the variants of tasks as answers of models named KIND/NAME.

    Args:
        each: the maximum number of each kind and instance, spread over all of them.
    """
    if track not in EXPECTED:
        raise ArgumentError("track", f"must be {' or '.join(EXPECTED)}, not {track!r}")
    check_instances(
        instances, {item.instance_id for task in tasks for item in task.implementations}
    )
    variants = []
    for task in tasks:
        for item in task.implementations:
            for kind in EXPECTED[track] if not instances or item.instance_id in instances else ():
                paths = task.variants(item, kind)
                for path in paths[:: max(1, len(paths) // each) if each else 1][:each]:
                    if text := read_variant(path):
                        name = f"{kind}/{path.stem}"
                        variants.append(
                            Prediction(item.instance_id, name, "function", text, track=track)
                        )
    if not variants:
        fix = "the installed package has none: in a clone of the repository, add --benchmark benchmark"
        raise ArgumentError("benchmark", f"there are no variants of these tasks; {fix}")
    return variants


def calibrate(
    settings: JudgeSettings,
    variants: Sequence[Prediction],
    rows: Sequence[DatasetRow],
    progress: Progress | None = None,
) -> tuple[Calibration, JudgeSummary]:
    """Let a judge judge variants of one track in the folder `settings.run`; the same call again resumes."""
    folder = RunFolder(settings.run)
    if folder.exists or any(
        item.model.partition("/")[0] not in EXPECTED[PAPER] for item in folder.predictions
    ):
        raise ArgumentError(
            "run", f"{settings.run}: holds answers that are not variants; choose another folder"
        )
    settings.run.mkdir(parents=True, exist_ok=True)
    folder.predictions.write(variants)
    summary = judge_predictions(settings, {row["instance_id"]: row for row in rows}, progress)
    judgements = read_judgements(settings.run, summary.judge)
    rated, left_out, track = [], Counter[str](), variants[0].track
    for variant in variants:
        judgement, kind = judgements.get(variant.key.question), variant.model.partition("/")[0]
        if judgement is None or judgement.category is None:
            left_out[(judgement and judgement.not_judged) or "no judgement"] += 1
        elif judgement.by != BY_MODEL:
            left_out["the reference's own code: the judge was not asked"] += 1
        else:
            rated.append(Rated(kind, EXPECTED[track][kind], str(judgement.category)))
    return Calibration(summary.judge, track, rated, left_out), summary
