"""`lmrbench calibrate`: a judge beside people and beside variants, over real HTTP; its statistics by definition."""

import csv
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from lmrbench_evaluate.reports.association import MIN_CLUSTERS, cohen, partial_gamma
from lmrbench_evaluate.reports.report import make_report
from lmrbench_evaluate.sandbox import Sandbox
from support.command_line import in_process
from support.judging import SUBTLE, WRONG, Judging, candidate, verdict
from support.openai_server import Reply, Server, completion, opinion
from support.toy import TOY_ANSWER, recorded_rows

# --- variants -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_judge_on_variants(judging: Judging, server: Server, toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    """This judge sees one fault of five; everything else is right to it."""
    recorded_rows(toy_benchmark, local_sandbox)
    judging.evaluate(TOY_ANSWER)
    assert judging.judge().returncode == 0
    server.requests.clear()
    ask = ("calibrate", "variants", "-m", "judge-1", "--benchmark", str(toy_benchmark), "--run", "run")
    ask += ("--workers", "1")

    # The server goes away after four questions (the run paid for a fifth): the part is shown, not kept.
    server.judge = lambda request: verdict(request) if len(server.requests) <= 4 else Reply(500, {})
    begun = in_process(*ask, "--retries", "0", "--json")
    assert begun.returncode == 3
    assert "keeps failing" in begun.stderr
    assert (json.loads(begun.stdout)["answers"], json.loads(begun.stdout)["left_out"]) == (5, {"no judgement": 5})
    assert not (judging.run / "calibrations.json").exists()
    server.judge = verdict
    server.requests.clear()
    done = in_process(*ask, "--json")
    assert (done.returncode, len(server.requests)) == (0, 5), done.stderr
    found = json.loads(done.stdout)
    kinds = {
        name: (group["expected"], group["given"]["CC"]["part"], *list(group["as_expected"].values())[:2])
        for name, group in found["groups"].items()
    }
    assert kinds == {
        "valid": (["CC"], 2, 2, 2),
        "plain": (["CC or LC"], 2, 2, 2),
        "careless": (["CC or LC"], 1, 1, 1),
        "wrong": (["LC or LI"], 4, 1, 5),
    }
    shares = ("binary_agreement", "specificity", "sensitivity", "false_logic")
    # Of plain and careless variants CC and LC are both right, so they count in none of the first three.
    assert [(found[name]["part"], found[name]["whole"]) for name in shares] == [(3, 7), (2, 2), (1, 5), (0, 5)]
    cells = {(expected, said): cell for expected, row in found["confusion"].items() for said, cell in row.items()}
    for cell in (*cells.values(), found["sensitivity"]):
        low, high = proportion_confint(cell["part"], cell["whole"], method="wilson")
        assert cell["ci95"] == pytest.approx([low, high], abs=1e-9)
    assert {key: (cell["part"], cell["whole"]) for key, cell in cells.items()} == {
        ("CC", "CC"): (2, 2),
        ("CC", "not CC"): (0, 2),
        ("not CC", "CC"): (4, 5),
        ("not CC", "not CC"): (1, 5),
    }
    truth, said = [True] * 2 + [False] * 5, [True] * 6 + [False]
    assert found["kappa"]["binary"] == {"value": pytest.approx(cohen_kappa_score(truth, said)), "ci95": None}
    assert "categories" not in found["kappa"], "a wrong variant may be LC or LI"
    assert all("CONTRACT" not in request.user for request in server.requests)

    shown = in_process(*ask)
    assert len(server.requests) == 5, "everything was there"
    for text in ("Expected against given", "toy-scale", "CC or not CC", "votes: 0 asked now", "gamma", "CC or LC"):
        assert text in shown.stdout
    assert "sensitivity: not called CC, of answers with a fault" in shown.stdout
    assert "20.0 % (1/5)" in shown.stdout

    # A judge that finds the method wrong where only a detail is: plain and careless variants may be LC, not LI.
    server.judge = lambda request: opinion("LC" if "[0]" in candidate(request.user) else "LI")
    elsewhere = (*ask[:6], "--out", "strict", "--no-cache", "--json")
    strict = json.loads(in_process(*elsewhere).stdout)
    as_expected = {name: group["as_expected"]["part"] for name, group in strict["groups"].items()}
    assert as_expected == {"valid": 0, "plain": 1, "careless": 0, "wrong": 5}
    assert [strict[name]["part"] for name in shares] == [5, 0, 5, 4]
    server.judge = verdict

    # In the contract track its contract is shown, and a careless variant is not right any more.
    contract = in_process(*ask, "--track", "contract", "--json")
    assert "===== BEGIN CONTRACT =====" in server.requests[-1].user
    groups = json.loads(contract.stdout)["groups"]
    assert {name: group["as_expected"]["part"] for name, group in groups.items()} == {
        "valid": 2,
        "careless": 0,
        "wrong": 1,
    }
    less = in_process(*ask, "--each", "1", "--out", "less", "--json")
    assert json.loads(less.stdout)["answers"] == 4

    # Reports show it beside the scores of this judge, and of no other.
    for form in ("text", "md"):
        report = in_process("report", "run", "--format", form).stdout
        assert report.index("Judge") < report.index("Calibration of the judge") < report.index("By category")
        assert "variants, contract track" in report
    assert (judging.run / "report.md").read_text().count("variants, paper track") == 1
    assert [item["source"] for item in make_report([judging.run]).to_dict()["calibrations"]] == [
        "variants, contract track",
        "variants, paper track",
    ]
    assert "variants, paper track" in make_report([judging.run]).to_html()
    in_process("judge", "run", "--model", "judge-2")
    assert "Calibration of the judge" not in in_process("report", "run").stdout
    assert "Calibration of the judge" in in_process("report", "run", "--judge-model", "judge-1").stdout

    stored = judging.run / "calibrations.json"
    for damage in ("[]]", '[{"rated": []}]', stored.read_text().replace('"wrong"', "5", 1)):
        stored.write_text(damage)
        bad = in_process("report", "run")
        assert (bad.returncode, bad.stderr.count("\n")) == (1, 1)
        assert "calibrations.json: damaged" in bad.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--track", "open"), "--track: 'open' is unknown"), (("-i", "nope"), "nope"), (("--run", "none"), "no run.json")],
)
def test_mistakes(options: tuple[str, ...], said: str, judging: Judging, toy_benchmark: Path) -> None:
    ask = ("calibrate", "variants", "-m", "judge-1", "--benchmark", str(toy_benchmark))
    done = in_process(*ask, *options)
    assert (done.returncode, done.stderr.count("\n"), judging.server.requests) == (1, 1, [])
    assert said in done.stderr


# --- people -------------------------------------------------------------------------------------------------------


def write_labels(path: Path, labels: dict[str, str]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("annotator", "instance", "model", "category"))
        for annotator, given in labels.items():
            writer.writerows(
                (annotator, "toy-scale", model, label) for model, label in zip("abcdefgh", given.split(), strict=True)
            )


def test_a_judge_beside_people(judging: Judging, server: Server, toy_row: dict[str, Any]) -> None:
    """This judge takes every long answer for a right one, and the length bias shows it."""
    longer = [
        WRONG.replace("    return", f"    {'more = len(values)' + '; more += 1' * size}\n    return") for size in (5, 9)
    ]
    answers = [
        TOY_ANSWER,
        WRONG,
        *longer,
        SUBTLE,
        SUBTLE.replace("or None", "or ()"),
        ("goal_file", toy_row["golden_file"]),
    ]
    judging.evaluate(*answers)
    server.judge = lambda request: opinion("CC") if "more" in candidate(request.user) else verdict(request)
    assert judging.judge().returncode == 0
    # model:                        a  b  c  d  e  f  g  h
    write_labels(judging.folder / "labels.csv", {"ann": "CC LI LI LI LC LC CC LI", "bob": "CC LI LI LI LC CC CC LI"})
    done = in_process("calibrate", "labels", "labels.csv", "run", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["left_out"] == {
        "labels for answers that these runs do not have": 2,
        "people are split evenly": 1,
        "the reference's own code: the judge was not asked": 1,
    }
    by_group = {name: group["given"] for name, group in found["groups"].items()}
    assert {name: {said: share["part"] for said, share in given.items()} for name, given in by_group.items()} == {
        "CC": {"CC": 1, "LC": 0, "LI": 0},
        "LC": {"CC": 0, "LC": 1, "LI": 0},
        "LI": {"CC": 2, "LC": 0, "LI": 1},
    }
    people, judge = ["CC", "LI", "LI", "LI", "LC"], ["CC", "LI", "CC", "CC", "LC"]
    assert found["kappa"]["categories"]["value"] == pytest.approx(cohen_kappa_score(people, judge))
    assert (found["agreement"]["as_expected"]["part"], found["binary_agreement"]["part"]) == (3, 3)
    assert found["bias"]["length"]["value"] == 1.0
    assert found["bias"]["length"]["pairs"] == 2, "only answers that people put into one category are compared"
    assert found["bias"]["similarity"]["value"] == -1.0
    assert "people" in (judging.run / "report.md").read_text().split("Calibration of the judge")[1]

    assert "judged by judge-1" in in_process("calibrate", "labels", "labels.csv", "run", "--judge-model", "x").stderr
    in_process("evaluate", "predictions.jsonl", *judging.place[:-1], "other")
    in_process("judge", "other", "--model", "judge-2")
    mixed = in_process("calibrate", "labels", "labels.csv", "run", "other")
    assert (mixed.returncode, mixed.stderr.count("\n")) == (1, 1)
    assert "different judges" in mixed.stderr


def test_lost_votes_are_said_in_every_report(judging: Judging, server: Server) -> None:
    judging.evaluate(TOY_ANSWER)
    server.script = [Reply(body=completion(opinion())), Reply(400, {"error": {"message": "context_length_exceeded"}})]
    assert judging.judge("--votes", "2", "--workers", "1").returncode == 3
    report, said = make_report([judging.run]), "1 category rests on fewer votes than the judge was asked for"
    for text in (report.to_markdown(), report.to_html(), in_process("report", "run").stdout):
        assert said in " ".join(text.split())
    assert report.to_dict()["scores"][0]["overall"]["judge"]["votes_lost"] == 1


# --- statistics ---------------------------------------------------------------------------------------------------

LABELS = st.sampled_from(["CC", "LC", "LI"])


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(LABELS, LABELS, st.sampled_from("abcdefg")), min_size=2, max_size=40))
def test_kappa_is_that_of_scikit_learn(rows: list[tuple[str, str, str]]) -> None:
    first, second, clusters = map(list, zip(*rows, strict=True))
    found = cohen(first, second, clusters)
    if len({*first, *second}) < 2:
        assert found == (None, None)
        return
    assert found.value == pytest.approx(cohen_kappa_score(first, second))
    assert (found.interval is None) == (len(set(clusters)) < MIN_CLUSTERS)
    if found.interval:
        assert -1 <= found.interval[0] <= found.interval[1] <= 1


def test_the_interval_of_kappa_knows_what_belongs_together() -> None:
    """Ten copies of an answer are not ten answers; for independent ones the analytic interval agrees."""
    import numpy as np
    from statsmodels.stats.inter_rater import cohens_kappa

    random = np.random.default_rng(1)
    truth = random.choice(["CC", "LC", "LI"], 300)
    said = np.where(random.random(300) < 0.7, truth, random.choice(["CC", "LC", "LI"], 300))
    alone = cohen(list(truth), list(said), [str(number) for number in range(300)])
    table = [[int(((truth == a) & (said == b)).sum()) for b in ("CC", "LC", "LI")] for a in ("CC", "LC", "LI")]
    analytic = cohens_kappa(np.array(table))
    assert alone.interval == pytest.approx((analytic.kappa_low, analytic.kappa_upp), abs=0.02)
    copied = cohen(list(truth[:30]) * 10, list(said[:30]) * 10, [str(number) for number in range(30)] * 10)
    once = cohen(list(truth[:30]), list(said[:30]), [str(number) for number in range(30)])
    assert copied.value == pytest.approx(once.value)
    assert copied.interval == pytest.approx(once.interval, abs=0.02)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.sampled_from("ab")), max_size=14))
def test_gamma_counts_pairs(rows: list[tuple[int, int, str]]) -> None:
    signs = [(a[0] - b[0]) * (a[1] - b[1]) for a, b in itertools.combinations(rows, 2) if a[2] == b[2] and a[0] != b[0]]
    plus, minus = sum(sign > 0 for sign in signs), sum(sign < 0 for sign in signs)
    found = partial_gamma(*([row[place] for row in rows] for place in range(3)))  # type: ignore[misc]
    if not plus + minus:
        assert found == (None, None, 0)
        return
    assert (found.value, found.pairs) == (pytest.approx((plus - minus) / (plus + minus)), plus + minus)
    assert found.p is not None
    assert 0 < found.p <= 1


def test_p_of_gamma_is_that_of_all_permutations() -> None:
    first, second = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0, 0, 1, 0, 2, 2]

    def agreeing(order: tuple[int, ...]) -> int:
        pairs = itertools.combinations(zip(first, order, strict=True), 2)
        return sum((a[1] < b[1]) - (a[1] > b[1]) for a, b in pairs)

    every = [abs(agreeing(order)) for order in itertools.permutations(second)]
    exact = sum(value >= agreeing(tuple(second)) for value in every) / len(every)
    assert partial_gamma(first, second, ["a"] * 6).p == pytest.approx(exact, abs=0.02)


def test_requests_look_alike(judging: Judging, server: Server, toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    """A judge cannot tell a variant from an answer: neither kind nor name nor first line, which says what is wrong."""
    recorded_rows(toy_benchmark, local_sandbox)
    in_process("calibrate", "variants", "-m", "judge-1", "--benchmark", str(toy_benchmark))
    assert len(server.requests) == 10
    for word in ("reversed_order", "tuple_instead_of_list", "careless", "Changes the input", "variant"):
        assert not any(word in request.user for request in server.requests)
