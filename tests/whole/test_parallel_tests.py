"""The processes of a parallel test run report to the main one whatever happens in them."""

import subprocess
import sys
from pathlib import Path

TESTS = """
import logging, pytest, warnings

def test_fails():
    logging.warning("a record with \\udcff")
    warnings.warn("a warning with \\udcff")
    assert not "text", "a message with \\udcff"

def test_passes():
    pass
"""


def test_a_failure_that_is_not_valid_unicode_is_reported_and_the_others_run(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text((Path(__file__).parents[1] / "conftest.py").read_text())
    (tmp_path / "test_it.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", "-o", "pythonpath="]
    environment = {"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run([*command, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, env=environment)
    assert "FAILED test_it.py::test_fails - AssertionError: a message with \\udcff" in done.stdout
    assert "a record with \\udcff" in done.stdout
    assert "1 failed, 1 passed, 1 warning" in done.stdout, done.stdout + done.stderr
