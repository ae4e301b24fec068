"""The toy dataset and a scripted judge behind a server, which a test may replace by its own."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.tasks.manifest import load_benchmark
from support.judging import Judging, verdict
from support.openai_server import Server


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory, toy_row: dict[str, Any]) -> Path:
    folder = tmp_path_factory.mktemp("judge") / "toy"
    write_dataset([toy_row], folder, load_benchmark())
    return folder


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        running.judge = verdict
        yield running


@pytest.fixture
def judging(tmp_path: Path, dataset: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Judging:
    return Judging(tmp_path, dataset, server, monkeypatch)
