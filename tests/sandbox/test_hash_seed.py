"""Hashes of text, and so the order of sets, are the same in every run of every sandbox."""

import subprocess
import sys
from typing import Any

import pytest

from lmrbench_evaluate.verdict.verdict import Status
from support.toy import attempt_in

#: Every run and case has its own process; what an answer starts has the same hashes, too.
ANSWER = """import subprocess, sys

def scale(values, factor):
    print(hash("text"), flush=True)
    subprocess.run([sys.executable, "-c", "print(hash('text'))"])
    return [value * factor for value in values]
"""
SANDBOXES = [
    "local",
    pytest.param("bwrap", marks=pytest.mark.bwrap),
    pytest.param("docker", marks=pytest.mark.docker),
    pytest.param("docker_shared", marks=pytest.mark.docker),
]


@pytest.mark.parametrize("name", SANDBOXES)
def test_hashes_are_those_of_seed_0(name: str, toy_row: Any, request: pytest.FixtureRequest) -> None:
    """Verdicts on answers that iterate over sets hung on chance."""
    verdict = attempt_in(request.getfixturevalue(f"{name}_sandbox"), toy_row)(ANSWER)
    assert verdict.status is Status.PASSED
    code = [sys.executable, "-c", "print(hash('text'))"]
    expected = subprocess.run(code, env={"PYTHONHASHSEED": "0"}, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert {line for line in verdict.log.splitlines() if not line.startswith("---")} == {expected.strip()}
