"""`lmrbench calibrate variants` over real HTTP: a judge on answers whose right categories are known."""

import json
from pathlib import Path

import pytest

from lmrbench_evaluate.sandbox import Sandbox
from support.command_line import in_process
from support.judging import Judging, verdict
from support.openai_server import Reply, Server
from support.toy import recorded_rows


@pytest.mark.slow
def test_judge_is_measured_on_variants(
    judging: Judging, server: Server, toy_benchmark: Path, local_sandbox: Sandbox
) -> None:
    """The judge sees one fault of five."""
    from statsmodels.stats.proportion import proportion_confint  # slow to import

    recorded_rows(toy_benchmark, local_sandbox)
    ask = ("calibrate", "variants", "-m", "judge-1", "--benchmark", str(toy_benchmark), "--workers", "1")

    # The server goes away after four questions; the same command resumes.
    server.judge = lambda request: verdict(request) if len(server.requests) <= 4 else Reply(500, {})
    begun = in_process(*ask, "--retries", "0", "--json")
    assert begun.returncode == 3
    assert (json.loads(begun.stdout)["answers"], json.loads(begun.stdout)["left_out"]) == (4, {"no judgement": 6})
    server.judge = verdict
    server.requests.clear()
    done = in_process(*ask, "--json")
    assert (done.returncode, len(server.requests)) == (0, 6), done.stderr
    numbers = json.loads(done.stdout)
    assert numbers["kinds"] == {
        "valid": {"expected": ["CC"], "judge": {"CC": 2}},
        "plain": {"expected": ["CC", "LC"], "judge": {"CC": 2}},
        "careless": {"expected": ["CC", "LC"], "judge": {"CC": 1}},
        "wrong": {"expected": ["LC", "LI"], "judge": {"CC": 4, "LI": 1}},
    }
    assert (numbers["as_expected"]["part"], numbers["as_expected"]["whole"]) == (6, 10)
    low, high = proportion_confint(6, 10, method="wilson")
    assert numbers["as_expected"]["ci95"] == pytest.approx([low, high], abs=1e-9)
    # A judge cannot tell a variant from an answer: neither kind nor name nor first line, which says what is wrong.
    for word in ("reversed_order", "tuple_instead_of_list", "careless", "Changes the input", "variant", "CONTRACT"):
        assert not any(word in request.user for request in server.requests)

    shown = in_process(*ask).stdout
    assert len(server.requests) == 6, "everything was kept"
    for text in (
        "as expected: 60.0% (6/10)",
        "20.0% (1/5)",
        "CC or LC",
        "questions: 0 asked now",
        "runs/calibration-judge-1-paper",
    ):
        assert text in shown

    # In the contract track the judge sees the contract, and a careless variant is wrong.
    contract = json.loads(in_process(*ask, "--track", "contract", "--json").stdout)
    assert "===== BEGIN CONTRACT =====" in server.requests[-1].user
    assert {name: kind["judge"] for name, kind in contract["kinds"].items()} == {
        "valid": {"CC": 2},
        "careless": {"CC": 1},
        "wrong": {"CC": 4, "LI": 1},
    }
    assert contract["as_expected"]["part"] == 3
