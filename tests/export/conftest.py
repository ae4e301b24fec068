"""Toy rows of all configurations."""

from pathlib import Path

import pytest

from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_evaluate.sandbox.base import Sandbox
from support.toy import recorded_rows, write_toy_benchmark
from support.toy_choices import add_toy_choices


@pytest.fixture(scope="session")
def altered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return add_toy_choices(write_toy_benchmark(tmp_path_factory.mktemp("choices") / "benchmark"))


@pytest.fixture(scope="session")
def counterfactual_row(altered: Path, local_sandbox: Sandbox) -> DatasetRow:
    """A row whose paper states other options than the published ones in both of its choices."""
    return recorded_rows(altered, local_sandbox, "counterfactual")[0]


@pytest.fixture(scope="session")
def underspecified_row(altered: Path, local_sandbox: Sandbox) -> DatasetRow:
    """A row whose paper leaves both choices open and reports a table."""
    return recorded_rows(altered, local_sandbox, "underspecified")[0]
