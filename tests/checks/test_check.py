"""`dataset check`: a sound task comes out clean, and each way in which a task can be unsound is found."""

import json
import platform
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from lmrbench.checks import repetitions
from lmrbench.checks.check import check_tasks
from lmrbench.checks.record import record_tasks
from lmrbench.checks.repository import repository_errors
from lmrbench.checks.static import ReferenceLines, static_problems
from lmrbench.checks.trials import Finding, Must, Trial
from lmrbench_data.base.errors import InfraError, InputError
from lmrbench_data.tasks.task_folders import load_tasks, read_tasks
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.local import LocalSandbox
from lmrbench_evaluate.verdict.expected import read_expected
from lmrbench_evaluate.verdict.verdict import CaseResult, Status, Verdict
from support import warm_cli
from support.toy import TOY_ANSWER, attempt_in, recorded_rows
from support.toy_check import LMRBENCH, TASK, check, edit

WRONG = f"{TASK}/variants/toy-scale/wrong"
VALID = f"{TASK}/variants/toy-scale/valid"
PLAIN, CARELESS = (f"{TASK}/variants/toy-scale/{kind}" for kind in ("plain", "careless"))
BODY = "scaled = [value * factor + OFFSET for value in values]"


def command(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Record, then check, as a maintainer does."""
    for verb in ("record", "check"):
        line = [LMRBENCH, "dataset", verb, "--benchmark", str(folder), "--sandbox", "local"]
        options = ("--again", *more) if verb == "check" else ()
        done = warm_cli.run([*line, *options])
    return done


def test_sound_task_has_no_errors(toy_benchmark: Path) -> None:
    done = command(toy_benchmark, "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert {row["severity"] for row in rows} == {"note"}
    assert {row["where"]: row["status"] for row in rows} == {
        "golden": "passed",
        "golden, fresh seeds": "",
        "golden, repeated": "",
        "golden, two threads": "",
        **(dict.fromkeys(("golden, with AVX2", "golden, without AVX"), "") if platform.machine() == "x86_64" else {}),
        "masked": "error",
        "seeds": "",
        "trivial answers": "",
        "demo": "",
        "smoke tests": "",
        "careless/in_place.py": "failed",
        "plain/comprehension.py": "passed",
        "plain/first_and_rest.py": "error",
        "valid/loop.py": "passed",
        "valid/map.py": "passed",
        "wrong/absolute.py": "failed",
        "wrong/adds.py": "failed",
        "wrong/reversed_order.py": "failed",
        "wrong/rounded.py": "failed",
        "wrong/tuple_instead_of_list.py": "failed",
    }
    assert {row["core_status"] for row in rows if row["where"].startswith(("plain/", "careless/"))} == {"passed"}
    [seeds] = [row for row in rows if row["where"] == "seeds"]
    assert seeds["message"] == "1 of 3 cases vary with the seed; constant: empty, input_unchanged"


def test_docker_recording_replaces_a_local_one(toy_benchmark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not the other way round. The sandbox is a local one under another name: the name that it gives decides."""

    def record(name: str) -> tuple[str, str]:
        monkeypatch.setattr(LocalSandbox, "name", name)
        with LocalSandbox() as sandbox:
            [done] = record_tasks(load_tasks(benchmark=toy_benchmark), sandbox)
        facts = json.loads((toy_benchmark / TASK / "recorded" / "toy-scale.json").read_text())
        return done.state, facts["sandbox"]

    assert record("local") == ("recorded", "local")
    assert record("local") == ("up to date", "local")
    assert record("docker") == ("recorded", "docker")
    assert record("local") == ("up to date", "docker")


#: file of a variant → its source, and the finding of the check
BAD_VARIANTS: dict[str, tuple[str | bytes, str]] = {
    f"{WRONG}/loses_nothing.py": (
        "# Not wrong at all.\ndef scale(v, f):\n    return [f * x for x in v]\n",
        "passed: must fail a core case, but passes; the cases do not notice it",
    ),
    f"{WRONG}/typo.py": (
        "# A typo.\ndef scale(v, f:\n    return v\n",
        "malformed: cannot be applied, so it proves nothing: syntax error in line 2",
    ),
    f"{WRONG}/broken.py": (
        "# Uses a name that is not there.\ndef scale(v, f):\n    return np.asarray(v) * f\n",
        "error: is broken code, not a misread method: case_random_values seed 0: NameError",
    ),
    f"{WRONG}/silent.py": ("def scale(v, f):\n    return v\n", "the mistake is not named"),
    f"{WRONG}/latin.py": (b"# caf\xe9\ndef scale(v, f): return v\n", "not UTF-8"),
    f"{WRONG}/fails_on_nothing.py": (
        "# Fails on an empty list, which the paper does not mention.\n"
        "def scale(v, f):\n    return [f * v[0]] + [f * x for x in v[1:]]\n",
        "error: must fail a core case, but only other cases notice it: case_empty seed 0: IndexError",
    ),
    f"{PLAIN}/divides.py": (
        "def scale(v, f):\n    return [x / f for x in v]\n",
        "failed: must pass every core case: case_random_values seed 0: output[0]: got",
    ),
    f"{CARELESS}/careful.py": (
        "# Not careless at all.\ndef scale(v, f):\n    return [f * x for x in v]\n",
        "passed: must pass every core case and fail another, but passes; the cases do not notice it",
    ),
    f"{VALID}/off_by_one.py": (
        "def scale(v, f):\n    return [f * x + 1 for x in v]\n",
        "failed: must pass: case_random_values seed 0: output[0]: got",
    ),
    f"{VALID}/other.py": ("def scales(v, f):\n    return v\n", "malformed: must pass: no definition of 'scale'"),
}


def test_each_bad_variant_is_reported_with_its_reason(toy_benchmark: Path) -> None:
    for name, (source, _) in BAD_VARIANTS.items():
        (toy_benchmark / name).write_bytes(source if isinstance(source, bytes) else source.encode())
    done = command(toy_benchmark)
    assert done.returncode == 1, done.stderr
    errors = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    lines = [line for line in errors if "toy-scale: variants/" not in line]  # those are found by reading alone
    assert len(lines) == len(BAD_VARIANTS), done.stdout
    for name, (_, message) in BAD_VARIANTS.items():
        where = "/".join(Path(name).parts[-2:])
        assert any(line.startswith(f"error: toy-scale: {where}: {message}") for line in lines), lines


def test_wrong_variant_that_only_raises_proves_nothing() -> None:
    def finding(*statuses: Status) -> Finding:
        cases = [CaseResult(f"c{number}", 0, status, "ValueError: no") for number, status in enumerate(statuses)]
        trial = Trial("toy", "wrong/x.py", Prediction("toy", "check", "function", "x"), Must.FAIL_CORE)
        return trial.judge(Verdict(max(statuses), cases, "", 0.0))

    assert "raises where it must return a wrong value, so it proves nothing" in finding(Status.ERROR).message
    assert finding(Status.PASSED, Status.ERROR).is_error
    assert not finding(Status.FAILED, Status.ERROR).is_error


def faults(folder: Path, instance: str = "toy-scale") -> dict[str, str]:
    """Return the static problems of an instance of the toy benchmark by place."""
    [task] = load_tasks([instance], folder)
    found = static_problems(task, task.implementations[0], ReferenceLines.of(read_tasks(folder)[0].values()))
    return {problem.where: problem.message for problem in found}


def test_first_line_of_a_function_without_docstring_is_secret(toy_benchmark: Path) -> None:
    edit(toy_benchmark, "repo/scale.py", '    """Each of `values` times `factor`, in order."""\n', "")
    edit(toy_benchmark, "repo/README.md", "# Toy", f"# Toy\n\n{BODY}")
    assert faults(toy_benchmark).keys() == {"repo/README.md"}


def add_sibling(folder: Path) -> None:
    """A second goal function in the file of the first."""
    second = (
        "\n\ndef double(values: list[float]) -> list[float]:\n    return [value + value + OFFSET for value in values]\n"
    )
    with (folder / TASK / "repo" / "scale.py").open("a") as file:
        file.write(second)
    cases = "from scale import double\n\ndef case_random(seed):\n    return double([seed + 0.5])\n"
    (folder / TASK / "unit_test" / "cases_double.py").write_text(cases)
    path = folder / TASK / "task.yaml"
    task = yaml.safe_load(path.read_text())
    tests = {**task["implementations"][0]["tests"], "file": "unit_test/cases_double.py"}
    own = {"instance_id": "toy-double", "goal_function": "double", "tests": tests}
    task["implementations"].append({**task["implementations"][0], **own})
    path.write_text(yaml.safe_dump(task))


def test_sibling_is_masked_unless_it_is_shown(toy_benchmark: Path) -> None:
    add_sibling(toy_benchmark)
    edit(toy_benchmark, "repo/README.md", "# Toy", f"# Toy\n\n`{BODY}`")
    message = f"shows a line of the reference of toy-scale; remove it: {BODY}"
    assert faults(toy_benchmark, "toy-double")["repo/README.md"] == message

    def masked(sibling: str = "") -> str:
        """Mask the repository for the second instance."""
        path = toy_benchmark / TASK / "task.yaml"
        facts = yaml.safe_load(path.read_text())
        facts["implementations"][1]["shown_siblings"] = {sibling: "double calls it"} if sibling else {}
        path.write_text(yaml.safe_dump(facts))
        [task] = load_tasks(["toy-double"], toy_benchmark)
        return task.masked_repo(task.implementations[0])["scale.py"].data.decode()

    assert masked().count("raise NotImplementedError") == 2
    assert BODY in masked("toy-scale")
    assert "repo/README.md" not in faults(toy_benchmark, "toy-double")
    with pytest.raises(InputError, match="shown_siblings: 'toy-double' is not another instance of this paper"):
        masked("toy-double")


def test_cases_without_levels_are_core_and_constant_ones_run_once(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    cases = toy_benchmark / TASK / "unit_test" / "cases.py"
    cases.write_text(cases.read_text().replace("@core\n", ""))
    [row] = recorded_rows(toy_benchmark, local_sandbox)
    assert {case["name"]: (case["core"], case["varies"]) for case in row["tests"]["cases"]} == {
        "random_values": (True, True),
        "empty": (True, False),
        "input_unchanged": (True, False),
    }
    runs = [(frame.case, frame.seed) for frame in read_expected(row)]
    assert runs == [("random_values", 0), ("random_values", 1), ("empty", 0), ("input_unchanged", 0)]


def test_core_cases_run_first(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    """An answer that hangs on an empty list has reproduced the method, but not met the contract."""
    path = toy_benchmark / TASK / "unit_test" / "cases.py"
    head, random_case, *others = path.read_text().split("\n\n\n")
    path.write_text("\n\n\n".join([head, *others, random_case]) + "\n")
    [row] = recorded_rows(toy_benchmark, local_sandbox)
    answer = TOY_ANSWER.replace("    return", "    while not values:\n        pass\n    return")
    verdict = attempt_in(local_sandbox, row)(answer, "function", timeout_s=1)
    assert (verdict.status, verdict.core_status) == (Status.TIMEOUT, Status.PASSED)


_COMPARE = "from lmrbench_cases import compare\n@compare(checker='mood')\n"
#: a line of the reference, or all cases → the message
UNRECORDABLE = {
    "raise ValueError(f'broken\\n{factor}')": "case_random_values seed 0: the reference raised ValueError: broken 3.0",
    "return (value for value in values)": "case_random_values seed 0: the reference raised UnsupportedOutput",
    "import time; time.sleep(60)": "the reference ended with time_limit; raise tests.timeout_s or tests.memory_mb",
    "def case_x(seed): return scale(seed)": "case_x seed 0: the reference raised TypeError",
    "import not_there": "importing the cases: the reference raised ModuleNotFoundError: No module named 'not_there'",
    f"{_COMPARE}def case_x(seed): return scale([], 1)": "case_x: unknown checker 'mood'; known: total_variation",
    "return bytes(1 << 24)": "the reference ended its process: returned more than 16777216 bytes",
    **{
        f"from lmrbench_cases import compare; compare({tolerance})": f"@compare({shown}): not a finite number >= 0; "
        for tolerance, shown in {
            "atol=float('inf')": "atol=inf",
            "rtol=float('nan')": "rtol=nan",
            "rtol='1e-3'": "rtol='1e-3'",
            "rtol=-1": "rtol=-1",
            "atol=True": "atol=True",
        }.items()
    },
}


@pytest.mark.parametrize("code", UNRECORDABLE)
def test_reference_or_case_that_fails_is_reported(code: str, toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    if "case_x" in code or "not_there" in code or "lmrbench_cases" in code:
        (toy_benchmark / TASK / "unit_test" / "cases.py").write_text(f"from scale import scale\n{code}\n")
    else:
        edit(toy_benchmark, "repo/scale.py", BODY, code)
    if "sleep" in code:
        edit(toy_benchmark, "task.yaml", "timeout_s: 20", "timeout_s: 1")
    with pytest.raises(InputError) as caught:
        check(toy_benchmark, local_sandbox)
    assert "unit_test/cases.py: toy-scale: " in str(caught.value)
    assert UNRECORDABLE[code] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_reference_that_does_not_repeat_itself_is_reported(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    edit(toy_benchmark, "repo/scale.py", "+ OFFSET", "+ int.from_bytes(__import__('os').urandom(4), 'big')")
    found = check(toy_benchmark, local_sandbox)
    # Such a large number leaves little or nothing of the inputs.
    assert {"golden", "golden, repeated"} <= found.keys()
    assert "must pass: case_random_values seed 0: output[0]: got" in found["golden"]
    assert "two runs of the reference differ: case_random_values seed " in found["golden, repeated"]


_INDEX = "def case_index(seed):\n    return scale([seed], [1.0, 2.0, 3.0][seed])\n\n\n"
#: what is wrong → (file, text, its replacement; the only finding, words in its message)
UNSOUND = {
    "a_constant_core_case": (
        ("unit_test/cases.py", "def case_empty", "@core\ndef case_empty"),
        ("seeds", ["core cases must vary with the seed: empty"]),
    ),
    "a_reference_that_depends_on_threads": (
        ("repo/scale.py", "+ OFFSET", "+ int(__import__('os').environ['OMP_NUM_THREADS'])"),
        ("golden, two threads", ["give the case a tolerance of 20 times that"]),
    ),
    "a_case_that_fails_on_seeds_of_a_run": (
        ("unit_test/cases.py", "def case_empty", f"{_INDEX}def case_empty"),
        ("golden, fresh seeds", ["does not return from case_index on seed ", "list index out of range; fix the task"]),
    ),
}


@pytest.mark.parametrize("name", UNSOUND)
def test_unsound_task_is_reported(name: str, toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    change, (place, words) = UNSOUND[name]
    edit(toy_benchmark, *change)
    [(found, message)] = check(toy_benchmark, local_sandbox).items()
    assert found == place
    assert all(part in message for part in words), message


@pytest.mark.parametrize(
    ("information", "where"),
    [
        ("Features\t: fp asimd sve\n", set()),
        ("flags\t\t: fpu sse4_1 sse4_2 avx\n", {"golden, without AVX"}),
        ("flags\t\t: sse4_2 avx avx2\n", {"golden, with AVX2", "golden, without AVX"}),
    ],
)
def test_older_processors_are_tried_where_the_machine_can_stand_in_for_them(
    information: str,
    where: set[str],
    toy_benchmark: Path,
    local_sandbox: Sandbox,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    capability = "__import__('os').environ.get('ATEN_CPU_CAPABILITY')"
    edit(toy_benchmark, "repo/scale.py", "+ OFFSET", f"+ ({capability} in ('avx2', 'default')) * 2e-5")
    monkeypatch.setattr(repetitions, "CPU_INFORMATION", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text(information)
    found = check(toy_benchmark, local_sandbox)
    assert found.keys() == where
    assert all("give the case a tolerance of 20 times that" in message for message in found.values())


def add_copy(folder: Path) -> None:
    """A second task with the instance toy-copy."""
    copy = shutil.copytree(folder / TASK, folder / "91-copy")
    (copy / "variants" / "toy-scale").rename(copy / "variants" / "toy-copy")
    (copy / "task.yaml").write_text((copy / "task.yaml").read_text().replace("toy-scale", "toy-copy"))


def test_broken_task_does_not_hide_others(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    add_copy(toy_benchmark)
    list(record_tasks(load_tasks(benchmark=toy_benchmark), local_sandbox))
    edit(toy_benchmark, "repo/scale.py", BODY, "raise RuntimeError")
    findings = list(check_tasks(load_tasks(benchmark=toy_benchmark), local_sandbox))
    [stale] = [item for item in findings if item.subject == "toy-scale"]
    assert (stale.where, stale.is_error) == ("recording", True)
    assert f"or else run `lmrbench dataset record 90-toy --benchmark {toy_benchmark}`" in stale.message
    assert [item.where for item in findings if item.subject == "toy-copy" and not item.is_error] != []


@pytest.mark.slow
def test_stopped_check_resumes_with_unproved_instances(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    """A finished check is recorded at once, and holds until the content of the row or a variant changes."""
    add_copy(toy_benchmark)
    list(record_tasks(load_tasks(benchmark=toy_benchmark), local_sandbox))
    results: dict[str, str] = {}

    def run_check(*, stop: bool = False) -> dict[str, str]:
        results.clear()
        tasks, options = load_tasks(benchmark=toy_benchmark), {"resume": True, "record": True, "workers": 1}
        for _ in check_tasks(tasks, local_sandbox, finished=results.__setitem__, **options):
            if results and stop:
                break
        return dict(results)

    first = run_check(stop=True)
    assert [*first] == ["toy-scale"]
    assert first["toy-scale"].startswith("ok, ")
    edit(toy_benchmark, "../benchmark.yaml", "version: ", "version: 9")
    resumed = run_check()
    assert resumed["toy-scale"] == "ok, checked before", "a new number of the version changes nothing"
    assert resumed["toy-copy"].endswith("as expected")
    edit(toy_benchmark, "variants/toy-scale/valid/loop.py", "factor * value", "value * factor")
    again = run_check()
    assert again["toy-scale"].endswith("as expected")
    assert again["toy-copy"] == "ok, checked before"


_LOOP = "    for factor in"
#: what is wrong → (file, text, its replacement; the finding that is not ok, its message)
BROKEN_REPOSITORIES = {
    "demo_fails": (
        ("repo/scale.py", _LOOP, f"    raise ValueError('no data')\n{_LOOP}"),
        ("demo", "`python scale.py` ends with status 1: "),
    ),
    "demo_that_shows_nothing": (
        ("repo/scale.py", "print(scale", "(scale"),
        ("demo", "prints 0 lines; print 3 or more"),
    ),
    "demo_that_hangs": (
        ("repo/scale.py", _LOOP, f"    import time; time.sleep(60)\n{_LOOP}"),
        ("demo", "takes more than 1 s"),
    ),
    "smoke_test_fails": (
        ("repo/tests/test_smoke.py", "3.0)), 2)", "3.0)), 7)"),
        ("smoke tests", "AssertionError: 2 != 7"),
    ),
    "no_smoke_test": (("repo/tests/test_smoke.py", "TestCase", "TestResult"), ("smoke tests", "finds no test")),
}


@pytest.mark.parametrize("name", BROKEN_REPOSITORIES)
def test_broken_repository_is_reported(
    name: str, toy_benchmark: Path, local_sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lmrbench.checks.repository.LIMIT_S", 1 if name == "demo_that_hangs" else 60)
    change, (where, message) = BROKEN_REPOSITORIES[name]
    edit(toy_benchmark, *change)
    [task] = load_tasks(benchmark=toy_benchmark)
    [(found, error)] = [item for item in repository_errors(task, local_sandbox, "").items() if item[1]]
    assert found == where
    assert message in error
    assert "\n" not in error


@pytest.mark.slow
def test_instance_of_a_broken_repository_is_not_proved(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    """The row is the same with either demo: only an instance that was checked whole is recorded as checked."""
    edit(toy_benchmark, "paper.md", "a factor", "a factor, and the demo is broken")
    edit(toy_benchmark, "task.yaml", "python scale.py", "python gone.py")
    list(record_tasks(load_tasks(benchmark=toy_benchmark), local_sandbox))
    told: dict[str, str] = {}
    for _ in range(2):
        tasks = load_tasks(benchmark=toy_benchmark)
        found = list(check_tasks(tasks, local_sandbox, resume=True, record=True, finished=told.__setitem__))
        assert [item.where for item in found if item.is_error] == ["demo"], "it is checked again, too"
        assert told["toy-scale"].startswith("error, ")


def test_closed_sandbox_is_an_infra_error(toy_benchmark: Path) -> None:
    tasks = load_tasks(benchmark=toy_benchmark)
    sandbox = LocalSandbox()
    list(record_tasks(tasks, sandbox))
    sandbox.close()
    for work in (check_tasks(tasks, sandbox), record_tasks(tasks, sandbox, force=True)):
        with pytest.raises(InfraError):
            list(work)
