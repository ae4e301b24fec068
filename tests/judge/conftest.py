"""The toy dataset and a scripted judge behind a server, which a test may replace by its own."""

from pathlib import Path

import pytest

from support.judging import Judging, verdict
from support.openai_server import Server


@pytest.fixture
def server(model_server: Server) -> Server:
    model_server.judge = verdict
    return model_server


@pytest.fixture
def judging(tmp_path: Path, toy_dataset: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> Judging:
    return Judging(tmp_path, toy_dataset, server, monkeypatch)
