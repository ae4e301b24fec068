"""Table 2, agreement and conflicts of a run; `docs/analyses.md` pins those of the original."""

import json
from pathlib import Path

import pytest

from lmrbench.analyse.answers import run_answers
from lmrbench.analyse.result import ALL, Analysis
from lmrbench.analyse.tables import BOTH, make_tables
from lmrbench_data.base.proportions import wilson
from lmrbench_evaluate.judge.opinion import BEST_FIRST, Category
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.reports.scores import score_runs
from support.runs import judgement, result, two_levels, write_run


def cells(made: Analysis) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Return group, rater and label → part and whole."""
    return {(row["group"], row["rater"], row["label"]): (row["part"], row["whole"]) for row in made.numbers["cells"]}


def confusion(made: Analysis) -> dict[tuple[str, str], int]:
    """Return the categories of people and judge → answers."""
    return {(row["people"], row["judge"]): row["answers"] for row in made.numbers["confusion"]}


@pytest.fixture
def judged_run(tmp_path: Path) -> Path:
    """Two models on three instances: one misses an instance, the other has a malformed and an ungraded answer."""
    rows = [
        two_levels("a-one", "passed", "passed"),
        two_levels("a-two", "passed", "failed"),
        two_levels("a-one", "failed", "passed", model="n"),
        result("a-two", "malformed", model="n", track="paper", core_status="malformed"),
        result("b-one", "infra_error", model="n", track="paper", core_status="infra_error"),
    ]
    for number, row in enumerate(rows):
        row["prediction_sha256"] = f"{number}"
    run = write_run(tmp_path / "run", rows)
    opinions = [("a-one", "CC", "0"), ("a-two", "LC", "1"), ("a-one", "LI", "2")]
    lines = [judgement(name, label, prediction_sha256=sha, track="paper") for name, label, sha in opinions]
    (run / "judgements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run


def annotation(annotator: str, instance: str, model: str, category: str) -> Annotation:
    return Annotation(annotator, instance, model, Category(category))


def test_tables_of_a_run_equal_the_report_and_majorities(judged_run: Path) -> None:
    people = [annotation(who, "a-one", "m", "CC") for who in ("ann", "bob")]
    people += [annotation("cid", "a-one", "m", "LI"), annotation("ann", "a-one", "n", "CC")]
    people += [annotation("ann", "a-two", "m", "CC"), annotation("bob", "a-two", "m", "LI")]
    people += [annotation("ann", "gone", "m", "CC")]
    made = make_tables(run_answers([judged_run], annotations=people))
    scores = {score.name: score.overall for score in score_runs([judged_run])}

    counted = cells(made)
    assert counted["m", "reproduced", "passed"] == (scores["m"].reproduced, scores["m"].total) == (2, 3)
    assert counted["m", "robust", "passed"] == (scores["m"].robust, 3) == (1, 3)
    # An answer that the machinery could not grade says nothing of the model, unlike in the report's share of all.
    assert counted["n", "reproduced", "passed"] == (0, scores["n"].graded) == (0, 2)
    for name, tally in scores.items():
        for label in BEST_FIRST:
            assert counted[name, "judge", label] == (tally.judged[label], tally.judge_base)
    assert counted["m", "people", "CC"] == (1, 1)  # split evenly on a-two
    assert counted[ALL, BOTH, "agreement"] == (1, 2)
    assert counted[ALL, BOTH, "conflict"] == (1, 2)
    assert confusion(made) == {("CC", "CC"): 1, ("CC", "LI"): 1}
    binary = {(pair["first"], pair["second"]): pair for pair in made.numbers["binary"] if pair["group"] == ALL}
    tested = binary["reproduced", "judge"]  # two pass, of which the judge finds one completely correct
    assert (tested["part"], tested["whole"], tested["kappa"]) == (2, 3, pytest.approx(0.4))
    notes = "\n".join(made.notes)
    for words in ("1 answer could not be graded", "split evenly on 1 answer", "1 label of answers that these runs"):
        assert words in notes


def test_samples_of_one_instance_do_not_narrow_an_interval(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [result("a-one", "passed", sample=sample) for sample in range(40)])
    made = make_tables(run_answers([run]))
    [cell] = [cell for cell in made.numbers["cells"] if (cell["rater"], cell["label"]) == ("reproduced", "passed")]
    assert (cell["part"], cell["whole"]) == (40, 120)  # the two instances without an answer weigh the same
    assert (cell["low"], cell["high"]) == wilson(1, 3)
    assert ("m", "judge", "CC") not in cells(made)
