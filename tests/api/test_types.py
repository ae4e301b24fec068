"""The public names, and the types of the functions: mypy refuses a misspelt option and an unknown choice."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import lmrbench as lmr
from lmrbench_data.loader import LMRBenchError

ROOT = Path(__file__).resolve().parents[2]
#: A line that is right, and lines with one mistake each and what mypy says about it.
RIGHT = 'lmr.evaluate("a.jsonl", "run", instances=["a"], workers=3, sandbox="package:name", config="method").results()'
WRONG = {
    'lmr.evaluate("a.jsonl", worker=3)': 'Unexpected keyword argument "worker" for "evaluate"',
    'lmr.generate("m", sample=3)': 'Unexpected keyword argument "sample" for "generate"',
    'lmr.run_agent("a", "m", "out", max_step=3)': 'Unexpected keyword argument "max_step" for "run_agent"',
    'lmr.judge("run", "m", vote=3)': 'Unexpected keyword argument "vote" for "judge"',
    "lmr.Scorer(worker=3)": 'Unexpected keyword argument "worker" for "Scorer"',
    'lmr.evaluate("a.jsonl", instances="a")': 'Argument "instances" to "evaluate" has incompatible type "str"',
    'lmr.evaluate("a.jsonl", config="methods")': 'Argument "config" to "evaluate" has incompatible type',
    'lmr.evaluate("a.jsonl", isolation="none")': 'Argument "isolation" to "evaluate" has incompatible type',
    'lmr.generate("m", track="papers")': 'Argument "track" to "generate" has incompatible type',
    'lmr.Scorer(isolation="none")': 'Argument "isolation" to "Scorer" has incompatible type',
    "lmr.evalute": 'Module has no attribute "evalute"',
    'lmr.open_run("run").rows()': '"Run" has no attribute "rows"',
    'lmr.generate("m").answers': '"SamplingSummary" has no attribute "answers"',
}


@pytest.mark.slow  # mypy reads the package
def test_mypy_refuses_what_a_function_does_not_take(tmp_path: Path) -> None:
    user = tmp_path / "user.py"
    user.write_text("\n".join(["import lmrbench as lmr", RIGHT, *WRONG]) + "\n")
    mypy = [sys.executable, "-m", "mypy", f"--config-file={ROOT / 'pyproject.toml'}", user]
    said = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True, timeout=280).stdout
    found = dict(re.findall(r"user\.py:(\d+): error: (.*)", said))
    for number, (line, message) in enumerate(WRONG.items(), start=3):
        assert found.pop(str(number), "").startswith(message), (line, said)
    assert found == {}


def test_the_stub_is_that_of_the_settings() -> None:
    stub = runpy.run_path(str(ROOT / "docs" / "stubs.py"))["stub"]()
    assert stub == Path(lmr.__file__).with_suffix(".pyi").read_text(), "run `make stubs`"


def test_public_names_are_what_is_exported() -> None:
    assert sorted(lmr.__all__) == sorted(lmr._HOMES)
    for name in lmr.__all__:
        item = getattr(lmr, name)
        if isinstance(item, type) and issubclass(item, BaseException):
            assert issubclass(item, LMRBenchError)
    public = {name for name in vars(lmr) if not name.startswith("_")}
    rooms = {path.stem for path in (ROOT / "lmrbench").iterdir()}
    assert public - rooms <= {*lmr.__all__, "TYPE_CHECKING", "Any", "importlib"}
