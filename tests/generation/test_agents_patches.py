"""Patches as coding agents make them, with real git, where pytest has run in the repository: the answer counts."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.source import MalformedAnswerError
from lmrbench_data.loader import File, unpack
from lmrbench_evaluate.predictions.prediction import MAX_PATCH_BYTES, Prediction
from lmrbench_evaluate.rebuild.patch import apply_patch
from lmrbench_evaluate.rebuild.workspace import rebuild
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Status
from support.toy import TOY_ANSWER

#: How SWE-agent, mini-swe-agent (both versions) and people write their patch.
SUBMIT = {
    "everything staged": "git add -A && git diff --cached",
    "through a file": "git add -A && git diff --cached > model.patch && cat model.patch",
    "the files named": "git diff -- scale.py > patch.txt && cat patch.txt",
    "binary": "git add -A && git -c core.fileMode=false diff --cached --binary",
    "no prefix": "git add -A && git diff --cached --no-prefix",
    "mnemonic prefix": "git add -A && git -c diff.mnemonicPrefix=true diff --cached",
    "whole indexes, modes, renames": (
        "git mv README.md 'READ ME.md' && touch empty.txt && chmod +x helpers.py && git add -A"
        " && git diff --cached --full-index -M"
    ),
    "text of Windows": "git add -A && git diff --cached | awk '{printf \"%s\\r\\n\", $0}'",
    "no final newline": 'git add -A && printf %s "$(git diff --cached)"',
}


@pytest.fixture(scope="session")
def agents_folder(tmp_path_factory: pytest.TempPathFactory, toy_row: dict[str, Any]) -> Path:
    """A workspace in which an agent has solved the task and tested its answer, with everything that this leaves."""
    folder = unpack(toy_row, tmp_path_factory.mktemp("agent") / "repo")
    _shell(folder, "git init -q && git add -A && git -c user.name=a -c user.email=a@b.org commit -qm start")
    source = (folder / "scale.py").read_text()
    (folder / "scale.py").write_text(source + "\n\n" + TOY_ANSWER.replace("def scale", "def _answer"))
    (folder / "scale.py").write_text((folder / "scale.py").read_text().replace("raise NotImplementedError", _CALL))
    (folder / "test_smoke.py").write_text("import scale\n\n\ndef test_it():\n    assert scale.scale([1], 2) == [2]\n")
    _shell(folder, f"{sys.executable} -m pytest -q test_smoke.py && {sys.executable} -m compileall -q .")
    assert list(folder.rglob("*.pyc"))
    assert (folder / ".pytest_cache").is_dir()
    (folder / "plot.png").write_bytes(bytes(range(256)))
    return folder


_CALL = "return _answer(values, factor)"


def _shell(folder: Path, command: str) -> str:
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


@pytest.mark.parametrize("name", SUBMIT)
def test_the_patch_of_an_agent_that_ran_the_tests_is_evaluated(
    name: str, agents_folder: Path, toy_row: dict[str, Any], local_sandbox: Sandbox, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(agents_folder, tmp_path / "repo"))
    patch = _shell(folder, SUBMIT[name])
    row: Any = toy_row
    prediction = Prediction("toy-scale", "agent", "model_patch", patch)
    files = rebuild(row, prediction)
    assert files["scale.py"].data == (folder / "scale.py").read_bytes()
    assert not [path for path in files if path.endswith((".pyc", ".png")) or "cache" in path]
    verdict = evaluate_prediction(row, prediction, local_sandbox, local_sandbox.prepare(row["docker_image"]))
    assert verdict.status is Status.PASSED, verdict.reason()
    if name != "the files named":
        assert "left out of the patch as by-products of running code: " in verdict.detail
        assert "__pycache__/scale.cpython" in verdict.detail


def _section(path: str, body: str) -> str:
    return f"diff --git a/{path} b/{path}\nindex 1111111..2222222 100644\n{body}"


def _binary(path: str) -> str:
    return _section(path, f"Binary files a/{path} and b/{path} differ\n")


@pytest.mark.parametrize(
    ("patch", "reason"),
    [
        ("", "the patch is empty"),
        (" \n", "the patch is empty"),
        (_binary("__pycache__/scale.cpython-311.pyc"), "the patch is empty .left out.*: __pycache__/scale.cpython"),
        (_binary("scale.py"), "the patch changes the binary file 'scale.py'"),
        (_binary("helper_tables.py"), "the patch changes the binary file"),
        (_binary("fast/scale.so"), "the patch changes the binary file 'fast/scale.so'"),
        (_binary("README.md"), "the patch changes the binary file 'README.md'"),
        ("Binary files a/scale.py and b/scale.py differ\n", "the patch does not apply"),
        (_section("big.txt", "x" * MAX_PATCH_BYTES), f"the patch is larger than {MAX_PATCH_BYTES} bytes"),
    ],
)
def test_nothing_and_binary_files_that_tests_reach_are_malformed(
    patch: str, reason: str, toy_row: dict[str, Any]
) -> None:
    row: Any = toy_row
    with pytest.raises(MalformedAnswerError, match=reason):
        rebuild(row, Prediction("toy-scale", "agent", "model_patch", patch))


def test_paths_without_prefix_never_reach_a_file_of_the_same_name_elsewhere() -> None:
    files = {"x.py": File(b"a\n"), "src/x.py": File(b"a\n"), "a/x.py": File(b"a\n")}
    hunk = "@@ -1 +1 @@\n-a\n+b\n"
    for header, changed in {
        "diff --git src/x.py src/x.py\n--- src/x.py\n+++ src/x.py\n": "src/x.py",
        "diff --git x.py x.py\n--- x.py\n+++ x.py\n": "x.py",
        "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n": "x.py",
        "diff --git a/src/x.py b/src/x.py\n--- a/src/x.py\n+++ b/src/x.py\n": "src/x.py",
        "--- a/src/x.py\n+++ b/src/x.py\n": "src/x.py",
        "--- x.py\n+++ x.py\n": "x.py",
        "--- x.py.orig\n+++ x.py\n": "x.py",
    }.items():
        after = apply_patch(files, header + hunk, [])
        assert {name for name in files if after[name] != files[name]} == {changed}, header


SOURCE = "a = 1\ndef f(x):\n    return x\n\n\n\nlast = 1\n"
#: As git prints it, with three blank lines of context at the end.
PATCH = """diff --git a/m.py b/m.py
--- a/m.py
+++ b/m.py
@@ -1,6 +1,6 @@
 a = 1
 def f(x):
-    return x
+    return x + 1
"""
PATCH += " \n" * 3
MISSING = "line counts and missing context"
#: What a terminal or an editor made of it → what is ignored.
DAMAGED = {
    "blank context stripped": (f"{PATCH.rstrip()}\n", MISSING),
    "carriage returns": (PATCH.replace("\n", "\r\n"), "carriage returns"),
    "a terminal's recording": (PATCH.replace("\n", "\r\r\n"), "carriage returns"),
    "both": (PATCH.rstrip().replace("\n", "\r\n"), f"carriage returns, {MISSING}"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_what_git_refuses_is_ignored_and_named(name: str) -> None:
    patch, ignored = DAMAGED[name]
    notes: list[str] = []
    after = apply_patch({"m.py": File(SOURCE.encode())}, patch, notes)
    assert after["m.py"].data.decode() == SOURCE.replace("return x", "return x + 1")
    assert notes == [f"ignored in the patch: {ignored}"]


def test_patch_that_git_accepts_keeps_its_colours_and_carriage_returns() -> None:
    notes: list[str] = []
    answer = PATCH.replace("return x + 1", "return '\x1b[31m'\r").replace("-    return x", "-    return x\r")
    after = apply_patch({"m.py": File(SOURCE.replace("return x", "return x\r").encode())}, answer, notes)
    assert after["m.py"].data.decode() == SOURCE.replace("return x", "return '\x1b[31m'\r")
    assert notes == []


def test_patch_without_the_carriage_returns_of_a_file_is_applied() -> None:
    """Shells and JSON tools lose them. Other files of the patch have none; a file it leaves alone keeps its bytes."""
    crlf, mixed = SOURCE.replace("\n", "\r\n").encode(), b"\x00a\r\nb\n"
    files = {"m.py": File(crlf), "n.py": File(SOURCE.encode(), executable=True), "data": File(mixed)}
    changed = {name: files[name]._replace(data=files[name].data.replace(b"x\r\n", b"x + 1\r\n")) for name in files}
    changed["n.py"] = File(SOURCE.replace("return x", "return x + 1").encode(), executable=True)
    both = PATCH + PATCH.replace("m.py", "n.py")
    for patch in (both, both.replace(":\n", ":\r\n")):
        notes: list[str] = []
        assert apply_patch(files, patch, notes) == changed
        assert notes == ["ignored in the patch: carriage returns"]
    with pytest.raises(MalformedAnswerError, match="does not apply: error: patch failed"):
        apply_patch(files, PATCH.replace("a = 1", "b = 1"), [])
