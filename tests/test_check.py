"""`dataset check`: a sound task comes out clean, and each way in which a task can be unsound is found."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from lmrbench_data.errors import InfraError, InputError
from lmrbench_data.evaluate.check import Finding, check_tasks
from lmrbench_data.evaluate.record import Recorder
from lmrbench_data.evaluate.sandbox import Sandbox
from lmrbench_data.evaluate.sandbox.local import LocalSandbox
from lmrbench_data.tasks import load_tasks

TASK = "90-toy"
WRONG = f"{TASK}/variants/toy-scale/wrong"
VALID = f"{TASK}/variants/toy-scale/valid"
BODY = "scaled = [value * factor + OFFSET for value in values]"
LMRBENCH = str(Path(sys.executable).with_name("lmrbench"))


@pytest.fixture
def check(toy_benchmark: Path, local_sandbox: Sandbox) -> Callable[[], list[Finding]]:
    """Check the toy benchmark as it is now."""

    def run() -> list[Finding]:
        tasks = load_tasks(benchmark=toy_benchmark)
        return list(check_tasks(tasks, Recorder(local_sandbox, print), local_sandbox, print))

    return run


def bad(findings: Sequence[Finding]) -> dict[str, str]:
    return {finding.name: finding.message for finding in findings if not finding.ok}


def test_a_sound_task_is_all_ok(check: Callable[[], list[Finding]]) -> None:
    findings = check()
    assert bad(findings) == {}
    assert {finding.name: finding.status for finding in findings} == {
        "golden": "passed",
        "golden, run 2": "passed",
        "golden, run 3": "passed",
        "masked": "error",
        "valid/loop.py": "passed",
        "valid/map.py": "passed",
        "wrong/absolute.py": "failed",
        "wrong/adds.py": "failed",
        "wrong/reversed_order.py": "failed",
        "wrong/rounded.py": "failed",
        "wrong/tuple_instead_of_list.py": "failed",
    }


def write(name: str, text: str | bytes) -> Callable[[Path], None]:
    def edit(folder: Path) -> None:
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return edit


def append(name: str, text: str) -> Callable[[Path], None]:
    return lambda folder: write(name, (folder / name).read_text() + text)(folder)


def reference(body: str) -> Callable[[Path], None]:
    """Replace the line of the reference that computes."""

    def edit(folder: Path) -> None:
        path = folder / TASK / "repo" / "scale.py"
        assert BODY in path.read_text()
        path.write_text(path.read_text().replace(BODY, body))

    return edit


#: edit of the benchmark → the findings that are not ok: name → part of the message
UNSOUND: dict[str, tuple[Callable[[Path], None], dict[str, str]]] = {
    "a_wrong_variant_that_passes": (
        write(f"{WRONG}/loses_nothing.py", "# Not wrong at all.\ndef scale(v, f):\n    return [f * x for x in v]\n"),
        {"wrong/loses_nothing.py": "passes, but must not"},
    ),
    "a_valid_variant_that_fails": (
        write(f"{VALID}/off_by_one.py", "def scale(v, f):\n    return [f * x + 1 for x in v]\n"),
        {"valid/off_by_one.py": "must pass: case_random_values seed 0"},
    ),
    "a_valid_variant_that_raises": (
        write(f"{VALID}/raises.py", "def scale(v, f):\n    raise ValueError('on every input')\n"),
        {"valid/raises.py": "must pass: case_random_values seed 0: ValueError: on every input"},
    ),
    "a_valid_variant_for_something_else": (
        write(f"{VALID}/other.py", "def scales(v, f):\n    return v\n"),
        {"valid/other.py": "must pass: no definition of 'scale'"},
    ),
    "a_malformed_wrong_variant": (
        write(f"{WRONG}/typo.py", "# A typo.\ndef scale(v, f:\n    return v\n"),
        {"wrong/typo.py": "cannot be applied, so it proves nothing: syntax error"},
    ),
    "a_wrong_variant_that_is_broken_code": (
        write(f"{WRONG}/name.py", "# Uses a name that is not there.\ndef scale(v, f):\n    return np.asarray(v) * f\n"),
        {"wrong/name.py": "is broken code"},
    ),
    "a_wrong_variant_without_its_reason": (
        write(f"{WRONG}/silent.py", "def scale(v, f):\n    return v\n"),
        {"wrong/silent.py": "the first line must say what is wrong"},
    ),
    "a_variant_that_is_no_text": (
        write(f"{WRONG}/latin.py", b"# caf\xe9\ndef scale(v, f): return v\n"),
        {"wrong/latin.py": "not UTF-8"},
    ),
    "too_few_wrong_variants": (
        lambda folder: (folder / WRONG / "adds.py").unlink(),
        {"wrong": "4 wrong variants, at least 5 are needed"},
    ),
    "too_few_valid_variants": (
        lambda folder: (folder / VALID / "map.py").unlink(),
        {"valid": "1 valid variants, at least 2 are needed"},
    ),
    "a_line_of_the_reference_in_the_readme": (
        append(f"{TASK}/repo/README.md", f"\nIn short: `{BODY}`\n"),
        {"repo/README.md": f"shows a line of the reference: {BODY}"},
    ),
    "a_line_of_the_reference_in_another_file": (
        append(f"{TASK}/repo/helpers.py", f"\n\ndef twin(values, factor):\n\t{BODY}\n    \n"),
        {"repo/helpers.py": "shows a line of the reference"},
    ),
    "a_line_of_the_reference_in_the_same_file": (
        append(f"{TASK}/repo/scale.py", f"# {BODY}\n"),
        {"repo/scale.py": "shows a line of the reference"},
    ),
    "a_line_of_the_reference_in_the_paper": (
        append(f"{TASK}/paper.md", f"\n    {BODY}\n"),
        {"paper.md": "shows a line of the reference"},
    ),
    "a_line_of_the_reference_in_the_instruction": (
        lambda folder: (
            append(f"{TASK}/task.yaml", "")(folder)
            or (folder / TASK / "task.yaml").write_text(
                (folder / TASK / "task.yaml").read_text().replace("empty\n      list gives", f"empty {BODY} gives")
            )
            and None
        ),
        {"instruction": "shows a line of the reference"},
    ),
    "a_reference_that_raises": (
        reference("raise RuntimeError(f'broken {factor}')"),
        {"golden": "case_random_values seed 0: the reference raised RuntimeError: broken 3.0"},
    ),
    "a_reference_that_cannot_be_imported": (
        append(f"{TASK}/repo/helpers.py", "import not_there\n"),
        {"golden": "importing the cases: the reference raised ModuleNotFoundError"},
    ),
    "a_reference_that_ends_the_process": (
        reference("import os; os._exit(0)"),
        {"golden": "case_random_values seed 0: the reference raised died"},
    ),
    "a_reference_that_returns_what_cannot_be_recorded": (
        reference("return (value for value in values)"),
        {"golden": "UnsupportedOutput"},
    ),
    "cases_without_a_case": (write(f"{TASK}/unit_test/cases.py", "import scale\n"), {"golden": "no case_<name>(seed)"}),
    "a_case_with_an_unknown_checker": (
        append(
            f"{TASK}/unit_test/cases.py",
            "\nfrom lmrbench_cases import compare\n\n\n@compare(checker='mood')\ndef case_x(seed):\n    return scale([], 1)\n",
        ),
        {"golden": "case_x: unknown checker 'mood'; known: total_variation"},
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_an_unsound_task_is_reported(name: str, toy_benchmark: Path, check: Callable[[], list[Finding]]) -> None:
    edit, expected = UNSOUND[name]
    edit(toy_benchmark)
    found = bad(check())
    assert found.keys() == expected.keys(), found
    for probe, part in expected.items():
        assert part in found[probe]
        assert "\n" not in found[probe]


@pytest.mark.parametrize(
    "noise",
    [
        "scaled = [value * factor + int.from_bytes(__import__('os').urandom(2), 'big') for value in values]",
        "scaled = [value * factor + __import__('time').time() for value in values]",
        "scaled = [value * factor + hash('text') for value in values]",
    ],
    ids=["urandom", "clock", "hash_seed"],
)
def test_a_reference_that_does_not_repeat_itself_is_reported(
    noise: str, toy_benchmark: Path, check: Callable[[], list[Finding]]
) -> None:
    reference(noise)(toy_benchmark)
    found = bad(check())
    assert "the reference does not repeat its own recorded outputs" in found["golden"]
    assert {"golden", "golden, run 2", "golden, run 3"} <= found.keys()


def test_one_broken_task_does_not_hide_the_findings_of_others(
    toy_benchmark: Path, check: Callable[[], list[Finding]]
) -> None:
    reference("raise RuntimeError")(toy_benchmark)
    for path in (toy_benchmark / TASK).rglob("*"):
        if path.is_file():
            copy = toy_benchmark / "91-copy" / str(path.relative_to(toy_benchmark / TASK)).replace("toy-scale", "copy")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text().replace("toy-scale", "copy").replace("raise RuntimeError", BODY))
    findings = check()
    assert {finding.instance_id for finding in findings if not finding.ok} == {"toy-scale"}
    assert len([finding for finding in findings if finding.instance_id == "copy" and finding.ok]) == 11


def test_a_machinery_that_fails_says_nothing_about_the_task(toy_benchmark: Path) -> None:
    sandbox = LocalSandbox(print)
    sandbox.close()
    with pytest.raises(InfraError):
        list(check_tasks(load_tasks(benchmark=toy_benchmark), Recorder(sandbox, print), sandbox, print))


def test_the_command_prints_what_is_bad_and_its_exit_status_says_so(toy_benchmark: Path) -> None:
    command = [LMRBENCH, "dataset", "check", "--benchmark", str(toy_benchmark), "--sandbox", "local"]
    good = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert good.returncode == 0, good.stderr
    assert "BAD" not in good.stdout
    write(f"{WRONG}/adds.py", "# Right after all.\ndef scale(v, f):\n    return [f * x for x in v]\n")(toy_benchmark)
    failed = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert failed.returncode == 1
    assert "BAD toy-scale  wrong/adds.py  passed  passes, but must not" in failed.stdout
    rows = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=120).stdout)
    assert [row["probe"] for row in rows if not row["ok"]] == ["wrong/adds.py"]


def test_a_reference_beyond_its_limits_names_what_to_raise(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    reference("import time; time.sleep(60)")(toy_benchmark)
    path = toy_benchmark / TASK / "task.yaml"
    path.write_text(path.read_text().replace("timeout_s: 20", "timeout_s: 2"))
    [task] = load_tasks(benchmark=toy_benchmark)
    with pytest.raises(InputError, match="the reference ended with time_limit; raise tests.timeout_s"):
        Recorder(local_sandbox, print)(task, task.implementations[0])
