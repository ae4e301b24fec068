"""Run folders: where a run without a name goes, and the files that a folder holds."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.files import is_too_long
from lmrbench_data.base.jsonl import parse_row, read_log, wrong_key
from lmrbench_data.base.names import PLAIN, child_path
from lmrbench_data.base.text import join_names
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.dataset.result_rows import ResultRow
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import FUNCTION, dataset_sha256
from lmrbench_data.tasks.manifest import LMR_BENCH, LMR_BENCH_TITLE

from ..predictions.prediction import AnswerKey, PredictionFile
from ..predictions.sources import WORDS, Source, first_columns, source_name
from .result_log import ResultLog

#: The folder of runs without a name.
RUNS = "runs"
FACTS = "run.json"
PREDICTIONS = "predictions.jsonl"
RESULTS = "results.jsonl"
LOGS = "logs"
#: Key of run.json: the name of the benchmark; empty if unknown.
BENCHMARK = "benchmark"
_CANARY = re.compile(r"([a-z0-9][a-z0-9._-]*) canary GUID ")
#: Largest number of names in a message.
MAX_NAMED = 8
#: The keys of run.json that are always there, and the type of each.
_FACTS: dict[str, Any] = {
    **dict.fromkeys(("run_id", "dataset", "config", "dataset_sha256", "benchmark_version"), str),
    **dict.fromkeys(("harness_version", "sandbox"), str),
    "official_sandbox": bool,
    "timeout_scale": (int, float),
    "fresh_seed_count": int,
    **dict.fromkeys(("scope", "difficulties"), dict),
    "started_at": str,
}


@dataclass
class RunFolder:
    """A run folder, read again at each call."""

    path: Path

    @property
    def exists(self) -> bool:
        """Whether the folder has a run, damaged or not."""
        return (self.path / FACTS).is_file()

    @property
    def facts(self) -> dict[str, Any]:
        """run.json: dataset, sandbox, limits, versions, times; InputError if it is damaged."""
        stored = self.path / FACTS
        try:
            facts = parse_row(stored.read_bytes(), {})
        except OSError as error:
            raise InputError(
                f"{self.path}: {self._content()};"
                " expected a folder that `lmrbench evaluate` has written"
            ) from error
        wrong = _wrong_fact(facts)
        if facts is None or wrong:
            raise InputError(
                f"{stored}: damaged ({wrong}); move the folder away and evaluate again"
            )
        return facts

    def _content(self) -> str:
        """Describe what exists in place of a run folder."""
        if is_too_long(self.path) or not self.path.exists():
            return f"no {FACTS}: no such folder"
        if self.path.is_dir():
            names = join_names(sorted(item.name for item in self.path.iterdir()), MAX_NAMED)
            return f"no {FACTS}; found {names or 'nothing'}"
        columns = ", ".join(first_columns(self.path))
        suffix = f" with the columns {columns}" if columns else ""
        return f"no {FACTS}: it is a file{suffix}"

    def rows(self) -> Iterator[ResultRow]:
        """Yield the result that counts for each prediction, in the order of the predictions.

        Without predictions.jsonl, the last row of each prediction counts, in the order of
        results.jsonl.

        Raises:
            InputError: not a run folder, or a damaged file.
        """
        results = self.path / RESULTS
        starts = self._starts(results)
        if not starts:
            return
        with results.open("rb") as file:
            for start in starts:
                file.seek(start)
                row = ResultLog.parse(file.readline())
                if row is None:
                    raise InputError(f"{results}: changed while it was read; try again")
                yield cast(ResultRow, row)

    def _starts(self, results: Path) -> list[int]:
        """Return the positions at which the results that count start, in the order of `rows`."""
        last: dict[AnswerKey, int] = {}
        has_predictions = self.predictions.path.exists()
        for line in read_log(results, ResultLog.parse, ResultLog.FIX):
            key = AnswerKey.of(line.row)
            last[key if has_predictions else key.row] = line.start
        if not has_predictions:
            return sorted(last.values())
        return [last[item.key] for item in self.predictions if item.key in last]

    def answers(self) -> Iterator[AnswerKey]:
        """Yield the answers of the run: of its predictions, or of its results without these."""
        if self.predictions.path.exists():
            yield from (item.key for item in self.predictions)
        else:
            yield from map(AnswerKey.of, self.rows())

    @property
    def predictions(self) -> PredictionFile:
        """The predictions of the run; none if the folder lacks them."""
        return PredictionFile(self.path / PREDICTIONS)

    def require_predictions(self) -> PredictionFile:
        """Return the predictions; InputError if the folder lacks them."""
        if not self.predictions.path.is_file():
            raise InputError(f"{self.path}: no {PREDICTIONS}; evaluate again to write it")
        return self.predictions

    def log_path(self, instance_id: str, prediction_sha256: str) -> Path:
        """Return the path of what an answer's code printed; there is no file if it printed nothing.

        Names that are not plain, in rows or results of a stranger, are replaced by their hash.
        """
        folder = child_path(self.path / LOGS, _plain(instance_id))
        return child_path(folder, _plain(prediction_sha256)[:16], ".log")

    def dataset_rows(
        self, dataset: str | None = None, rows: Sequence[DatasetRow] | None = None
    ) -> dict[str, DatasetRow]:
        """Return the rows of the run's dataset by instance id.

        Args:
            dataset: where the dataset is now, if it has moved.
            rows: the rows, if loaded already.

        Raises:
            InputError: not a run folder.
            ArgumentError: the dataset has changed since the run.
            LoadError: there is no such dataset.
        """
        facts = self.facts
        spec = dataset or facts["dataset"]
        rows = load_rows(spec, facts["config"]) if rows is None else rows
        if dataset_sha256(rows) != facts["dataset_sha256"]:
            raise ArgumentError(
                "dataset",
                f"{self.path} was evaluated on rows other than those of {spec!r};"
                " name the dataset of the run",
            )
        return {row["instance_id"]: row for row in rows}


def _wrong_fact(facts: Any) -> str | None:
    """Return the first fact that is missing or has another type; None if all are right."""
    wrong = wrong_key(facts, _FACTS)
    if wrong is not None:
        return wrong
    for name in ("scope", "difficulties"):
        if not all(isinstance(value, str) for value in facts[name].values()):
            return name
    return None


def _plain(name: str) -> str:
    if PLAIN.fullmatch(name):
        return name
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def default_run_folder(
    predictions: Source, config: str, instances: Sequence[str], categories: Sequence[str]
) -> Path:
    """Return the run folder for these predictions, this configuration and these instances."""
    name = source_name(predictions)
    place = _place_of(predictions)
    if place:
        name = re.sub(r"\.(jsonl|json|parquet)$", "", Path(name).name)
        name = re.sub(r"[^\w.-]", "-", name)
    if config != FUNCTION:
        name += f"-{config}"
    if place or instances or categories:
        chosen = json.dumps([place, sorted(set(instances)), sorted(set(categories))])
        name += f"-{hashlib.sha256(chosen.encode()).hexdigest()[:8]}"
    return Path(RUNS) / name


def _place_of(predictions: Source) -> str:
    """Return what tells predictions apart from others of the same name; empty for a word."""
    if not isinstance(predictions, str | Path):
        return repr(predictions)
    return "" if predictions in WORDS else str(Path(predictions).resolve())


def benchmark_of(canary: str) -> str:
    """Read the name of a benchmark from a canary that `dataset init` made; empty for any other."""
    match = _CANARY.match(canary)
    return match[1] if match else ""


def benchmark_title(canary: str) -> str:
    """Return the name of a benchmark for readers: LMR-Bench, or that of a private one."""
    name = benchmark_of(canary) or LMR_BENCH
    return LMR_BENCH_TITLE if name == LMR_BENCH else name
