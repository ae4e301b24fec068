"""Cases that a trivial answer passes are found in the recording; what only looks like one is not."""

import json
import subprocess
from pathlib import Path

import pytest

from lmrbench_evaluate.checks.trivial import weaknesses
from lmrbench_evaluate.sandbox.base import Sandbox
from support import warm_cli
from support.toy import recorded_rows
from support.toy_check import LMRBENCH, TASK, check, edit

#: Cases on top of the toy's own, which are sound; the seeds are 0 and 1.
CASES = """

from lmrbench_cases import compare


def noise(seed, *shape):
    import numpy as np

    return np.random.default_rng([90, seed]).normal(size=shape)


@core
@compare(atol=0.02)
def case_tolerance_wider_than_the_values(seed):
    return {"names": ["a", "b"], "values": (0.001 * noise(seed, 4)).tolist()}


@core
@compare(atol=0.02)
def case_almost_uniform(seed):
    return [scale([1.0 + 0.001 * x for x in noise(seed + row, 3)], seed + row + 2.0) for row in range(3)]


@core
def case_equal_items(seed):
    value = scale([seed + 1.0], 3.0)[0]
    return [value, value * (1 + 2e-5)]


@core
@compare(atol=0.5)
def case_seeds_that_agree(seed):
    return {"far": [[100.0, 200.0, 350.0], [500.0, 100.0, 50.0]], "near": seed / 9}


@core
@compare(atol=0.6)
def case_rows_in_any_order_within_the_tolerance(seed):
    return 30.0 * noise(seed, 1, 3) + 0.1 * noise(seed + 5, 4, 1)


@core
@compare(sign_invariant=True)
def case_sign_is_free(seed):
    return noise(seed, 2, 5)


@core
@compare(unordered=True)
def case_order_is_free(seed):
    return noise(seed, 5).tolist()


@core
@compare(unordered=True)
def case_order_of_pairs_is_free(seed):
    return [(name, float(noise(seed + number))) for number, name in enumerate("abc")]


@core
@compare(unordered=True, atol=0.1)
def case_order_of_items_is_free_but_not_theirs(seed):
    return [[x, x + 0.05] for x in noise(seed, 4).tolist()]


@core
def case_symmetric_by_nature(seed):
    rows = noise(seed, 3, 4)
    return rows @ rows.T


@core
def case_palindrome(seed):
    import numpy as np

    half = noise(seed, 4)
    return np.concatenate([half, half[::-1] * (1 + 1e-9)])


@core
def case_one_number_and_words(seed):
    return {"loss": float(noise(seed)), "words": ["a", "b", "ab"], "ids": [seed, 7, 9], "none": None, "yes": True}


def case_contract_with_one_bit(seed):
    return {"positive": noise(seed, 2) > 0, "empty": noise(seed, 0), "near": 1.0 + 1e-9 * seed}
"""
#: Case → trivial answers that have to be among those found; cases that are not here are sound.
FOUND = {
    "tolerance_wider_than_the_values": {"seeds 0 and 1 agree", "floats all 0", "floats replaced by their overall mean"},
    "almost_uniform": {"floats replaced by the mean of each array", "floats reversed along axis -1"},
    "equal_items": {"floats replaced by the mean of each array", "floats rolled along axis -1"},
    "seeds_that_agree": {"seeds 0 and 1 agree"},
    "order_of_items_is_free_but_not_theirs": {"floats reversed along axis -1"},
    "rows_in_any_order_within_the_tolerance": {"floats reversed along axis -2", "floats sorted along axis -2"},
}


def command(folder: Path, verb: str, *options: str) -> subprocess.CompletedProcess[str]:
    line = [LMRBENCH, "dataset", verb, "--benchmark", str(folder), "--sandbox", "local", *options]
    return warm_cli.run(line, capture_output=True, text=True, timeout=120)


def test_each_weak_case_is_found_and_no_sound_one(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    path = toy_benchmark / TASK / "unit_test" / "cases.py"
    path.write_text(path.read_text() + CASES)
    [row] = recorded_rows(toy_benchmark, local_sandbox)
    found = {weak.case: set(weak.passing) for weak in weaknesses(row) if weak.core}
    assert found.keys() == FOUND.keys()
    for case, passing in FOUND.items():
        assert passing <= found[case], case
    assert "items reversed" not in found["almost_uniform"], "its rows differ by more than the tolerance"


def test_a_core_case_that_a_constant_passes_is_a_fault_of_the_task(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    wide = "@core\ndef case_random", "@core\n@compare(atol=5.0)\ndef case_random"
    edit(toy_benchmark, "unit_test/cases.py", "import core", "import compare, core")
    edit(toy_benchmark, "unit_test/cases.py", *wide)
    faults = check(toy_benchmark, local_sandbox)
    assert faults["trivial answers"].startswith("core cases must refuse them: random_values (seeds 0 and 1 agree, ")
    assert "floats all 0" in faults["trivial answers"]


def test_a_contract_case_that_a_constant_passes_is_counted(toy_benchmark: Path) -> None:
    """A weaker finding: it is told, and the task is sound."""
    weak = "\n\ndef case_weak(seed):\n    return {'values': scale([1e-9 * seed, 2e-9], 3.0)}\n"
    path = toy_benchmark / TASK / "unit_test" / "cases.py"
    path.write_text(path.read_text() + weak)
    assert command(toy_benchmark, "record").returncode == 0
    done = command(toy_benchmark, "check", "--quick", "--json")
    assert done.returncode == 0, done.stderr
    [row] = [row for row in json.loads(done.stdout) if row["where"] == "trivial answers"]
    assert row["severity"] == "note"
    assert row["message"].startswith("no core case passes them, 1 of 3 contract cases do: weak (seeds 0 and 1 agree, ")


@pytest.mark.parametrize("fresh", [True, False])
def test_a_quick_look_says_what_it_left_out_and_proves_nothing(fresh: bool, toy_benchmark: Path) -> None:
    """A second look runs again, because the first records nothing; its trials end as in a whole check."""
    if not fresh:
        code = "# Not wrong.\ndef scale(v, f):\n    return [f * x for x in v]\n"
        (toy_benchmark / TASK / "variants/toy-scale/wrong/a_first.py").write_text(code)

    assert command(toy_benchmark, "record").returncode == 0
    looks = [command(toy_benchmark, "check", "--quick", "--json") for _ in range(2)]
    for look in looks:
        assert look.returncode == (0 if fresh else 1), look.stderr
        rows = {row["where"]: row for row in json.loads(look.stdout)}
        first = "absolute" if fresh else "a_first"
        tried = {"careless/in_place.py", "plain/comprehension.py", "valid/loop.py", f"wrong/{first}.py"}
        assert rows.keys() == {"golden", "masked", "seeds", "trivial answers", "not tried"} | tried
        assert rows["not tried"]["message"].startswith("valid/map.py, plain/first_and_rest.py, wrong/a")
        assert "quick check, not a proof" in look.stderr
        assert ("[1/1] toy-scale: no error found, nothing proved, 6 of 6" in look.stderr) is fresh
    assert not (toy_benchmark / "proved.json").exists()
