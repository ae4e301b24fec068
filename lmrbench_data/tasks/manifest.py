"""`benchmark.yaml`: the facts that all rows of a benchmark share."""

from dataclasses import dataclass
from pathlib import Path

from ..base.paths import benchmark_folder
from ..base.strict_yaml import check, read_yaml

#: Name and title of this project's benchmark.
LMR_BENCH = "lmr-bench"
LMR_BENCH_TITLE = "LMR-Bench"


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
    """Read `benchmark.yaml`."""
    path = (folder or benchmark_folder()) / "benchmark.yaml"
    data = read_yaml(path)
    check(data, "benchmark.schema.json", path)
    return Benchmark(**data)
