"""The toy dataset and a scripted judge behind a server, which a test may replace by its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.judging import Judging, verdict
from support.openai_server import Server


@pytest.fixture(scope="session")
def dataset(toy_dataset: Path) -> Path:
    return toy_dataset


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        running.judge = verdict
        yield running


@pytest.fixture
def judging(tmp_path: Path, dataset: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Judging:
    return Judging(tmp_path, dataset, server, monkeypatch)
