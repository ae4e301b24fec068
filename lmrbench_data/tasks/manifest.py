"""`benchmark.yaml`: the facts that all rows of a benchmark share."""

import dataclasses
import re
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import InputError
from ..base.paths import benchmark_folder
from ..base.strict_yaml import read_yaml

#: Name and title of this project's benchmark.
LMR_BENCH, LMR_BENCH_TITLE = "lmr-bench", "LMR-Bench"


@dataclass(frozen=True)
class Benchmark:
    """The content of `benchmark.yaml`."""

    name: str
    title: str
    version: str
    canary: str
    date: str
    """Date of this version, YYYY-MM-DD."""

    @property
    def is_lmr_bench(self) -> bool:
        """Whether it is this project's benchmark, with known authors and sources."""
        return self.name == LMR_BENCH


def load_benchmark(folder: Path | None = None) -> Benchmark:
    """Read `benchmark.yaml`.

    Raises:
        InputError: missing or malformed.
    """
    path = (folder or benchmark_folder()) / "benchmark.yaml"
    data = read_yaml(path)
    keys = [item.name for item in dataclasses.fields(Benchmark)]
    if data.keys() != set(keys) or not all(isinstance(value, str) for value in data.values()):
        raise InputError(f"{path}: needs {', '.join(keys)}, each text, and nothing else")
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", data["name"]):
        raise InputError(f"{path}: name {data['name']!r} is not of the form my-bench, which names a folder")
    if not re.fullmatch(r"\d+\.\d+\.\d+", data["version"]):
        raise InputError(f"{path}: version {data['version']!r} is not of the form 1.2.3")
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", data["date"]):
        raise InputError(f"{path}: date {data['date']!r} is not of the form 2026-01-31; put it in quotes")
    return Benchmark(**data)
