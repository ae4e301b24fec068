"""The documentation names every key, status and public name that a user meets; `make docs` checks its links."""

import re
from pathlib import Path

import pytest

import lmrbench_data as lmr
from lmrbench_data.evaluate.verdict import Status
from lmrbench_data.rows import PredictionRow, ResultRow

ROOT = Path(__file__).resolve().parents[1]
NAMED = {
    "docs/predictions.md": PredictionRow.__annotations__,
    "docs/results.md": ResultRow.__annotations__,
    "README.md": [str(status) for status in Status],
}


@pytest.mark.parametrize("page", NAMED)
def test_a_page_names_all_that_it_is_about(page: str) -> None:
    rows = [line.split("|")[1] for line in (ROOT / page).read_text(encoding="utf-8").splitlines() if "|" in line]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert set(NAMED[page]) <= named


def test_the_api_page_has_every_public_name() -> None:
    page = (ROOT / "docs" / "python-api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^::: [\w.]+\.(\w+)$", page, re.M))
    assert set(lmr.__all__) - {"__version__"} <= shown


def test_the_citation_names_the_version_of_the_package() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", citation, re.M) == re.findall(r'^version = "(\S+)"$', project, re.M)
