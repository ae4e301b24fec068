"""People and the judge: annotations are read with a place for each fault, and agreement is what its definitions say."""

import csv
import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.proportions import kappa
from lmrbench_evaluate.judge.opinion import BEST_FIRST, Category
from lmrbench_evaluate.reports.agreement import measure_agreement
from lmrbench_evaluate.reports.annotations import Annotation, read_annotations
from lmrbench_evaluate.reports.scores import ModelScore
from lmrbench_evaluate.reports.tally import ScoredAnswer
from support.runs import command, judgement, result, write_run

ANSWERS = [f"task-{number}" for number in range(6)]
labels = st.dictionaries(st.sampled_from(ANSWERS), st.sampled_from(BEST_FIRST))


def score(judged: dict[str, str]) -> ModelScore:
    """A run in which every instance has an answer of model m, and the judge has judged some."""
    answers = {name: [ScoredAnswer(0, "passed", "passed", "x", judged.get(name))] for name in ANSWERS}
    return ModelScore("run", Path("run"), "m", "", "unstated", dict.fromkeys(ANSWERS, "Alpha"), answers, True)


def notes(annotator: str, given: dict[str, str]) -> list[Annotation]:
    return [Annotation(annotator, name, "m", Category(label)) for name, label in given.items()]


@given(labels, labels, labels)
def test_agreement_is_what_its_definitions_say(a: dict[str, str], b: dict[str, str], judge: dict[str, str]) -> None:
    found = measure_agreement([*notes("ann", a), *notes("bob", b)], [score(judge)])
    raters = {name: given for name, given in (("ann", a), ("bob", b)) if given}
    assert found.annotators == list(raters)
    raters["judge"] = judge
    for pair in found.pairs:
        if "people" in pair.first:
            continue
        both = raters[pair.first].keys() & raters[pair.second].keys()
        pairs = [(raters[pair.first][name], raters[pair.second][name]) for name in both]
        binary = [(x == "CC", y == "CC") for x, y in pairs]
        assert len(pair.labels) == len(pairs)
        assert pair.agreement.value == (pytest.approx(sum(x == y for x, y in pairs) / len(pairs)) if pairs else None)
        for rated, found_kappa in ((pairs, pair.kappa), (binary, pair.binary.kappa)):
            assert found_kappa == kappa([x for x, _ in rated], [y for _, y in rated])
        assert pair.conflicts.part == sum({x, y} == {"CC", "LI"} for x, y in pairs)
    if a and b:
        split = {name for name in a.keys() & b.keys() if a[name] != b[name]}
        assert found.without_majority == len(split)
        people = {name: label for name, label in {**a, **b}.items() if name not in split}
        assert found.confusion == Counter((people[name], judge[name]) for name in people.keys() & judge.keys())


def test_annotations_are_read_with_a_place_for_each_fault(tmp_path: Path) -> None:
    good = {"annotator": "ann", "instance": "a-one", "model": "m", "category": "CC"}
    rows: list[tuple[Any, str]] = [
        (good, ""),
        (good, "duplicate of"),
        ({**good, "annotator": "bob", "category": " li ", "comment": "sign", "sample": "3"}, ""),
        ({**good, "annotator": ""}, "annotator: Field required"),
        ({**good, "category": "fine"}, "category: Input should be 'LI', 'LC' or 'CC'"),
        ({**good, "sample": -1}, "sample: Input should be greater than or equal to 0"),
        ({**good, "model": 3}, "model: Input should be a valid string"),
        ([], "not an object"),
        ({**good, "annotator": "cy", "comment": 3}, "comment: Input should be a valid string"),
        ({**good, "track": "papers"}, "track: Input should be '', 'paper', 'contract' or 'unstated'"),
    ]
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row, _ in rows) + "{\n")
    found, bad = read_annotations(path)
    assert [(item.annotator, item.category, item.sample) for item in found] == [("ann", "CC", 0), ("bob", "LI", 3)]
    expected = [(number, reason) for number, (_, reason) in enumerate(rows, start=1) if reason]
    for item, (number, reason) in zip(bad, [*expected, (len(rows) + 1, "not JSON")], strict=True):
        assert item.place == f"{path}:{number}"
        assert reason in item.reason

    table = tmp_path / "labels.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["\ufeffAnnotator", "Instance", "model", "category", "comment"])
        writer.writerow(["ann", "a-one", "m", "lc", 'two\nlines, "quoted"'])
        writer.writerow(["bob", "a-one", "m", "cc", "", "one too many"])
    [item], [fault] = read_annotations(table)
    assert (item.category, item.comment) == ("LC", 'two\nlines, "quoted"')
    assert "more cells" in fault.reason


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("labels.xlsx", b"", r"must be a \.csv or \.jsonl"),
        ("labels.csv", b"annotator\n\xff\n", "not UTF-8"),
        ("labels.csv", b'annotator,model\n"open', "not CSV"),
    ],
)
def test_files_that_are_no_annotations(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=reason):
        read_annotations(tmp_path / name)


def test_a_label_without_setting_belongs_to_the_only_answer_it_can_mean() -> None:
    """README's columns name no setting, and answers may have one."""

    def scored(model: str, setting: str, track: str = "unstated") -> ModelScore:
        return dataclasses.replace(score({"task-0": "CC", "task-1": "LI"}), model=model, setting=setting, track=track)

    def label(annotator: str, instance: str, model: str, category: str, *place: Any) -> Annotation:
        return Annotation(annotator, instance, model, Category(category), *(place or ("", "")))

    scores = [scored("one", "agent"), scored("two", "agent"), scored("two", "standard"), scored("three", "")]
    scores += [scored("three", "agent"), scored("four", "", "paper"), scored("four", "", "contract")]
    found = measure_agreement(
        [
            label("ann", "task-0", "one", "CC"),
            label("ann", "task-1", "one", "CC"),
            label("ann", "task-0", "two", "CC"),  # in two settings: nobody knows which
            label("ann", "task-0", "three", "CC"),  # the setting without a name is meant
            label("ann", "task-9", "one", "CC"),
            label("ann", "task-0", "nobody", "CC"),
            label("bob", "task-0", "two", "CC", "standard", ""),
            label("bob", "task-0", "one", "LI"),
            label("bob", "task-0", "one", "CC", "agent", ""),  # says more than the row above
            label("ann", "task-0", "four", "CC"),  # in two tracks: nobody knows which
            label("ann", "task-0", "four", "CC", "", "paper"),
            label("ann", "task-0", "four", "CC", "", "unstated"),
        ],
        scores,
    )
    assert (len(found.unknown), found.ambiguous) == (3, 2)
    by_pair = {(pair.first, pair.second): pair for pair in found.pairs}
    assert (len(by_pair["ann", "judge"].labels), by_pair["ann", "judge"].conflicts.part) == (4, 1)
    assert (len(by_pair["ann", "bob"].labels), by_pair["ann", "bob"].agreement.value) == (1, 1.0)


@pytest.mark.slow
def test_report_with_people_and_judge(tmp_path: Path) -> None:
    """Through the command line: tables, JSON, exit status for a bad row; a judge error is no category."""
    run = write_run(tmp_path / "run", [result(name, "passed") for name in ("a-one", "a-two", "b-one")])
    judged = [judgement("a-one", "CC"), judgement("a-one", None, vote=1), judgement("a-two", "LI")]
    lines = [json.dumps(row) + "\n" for row in (*judged, judgement("b-one", None))]
    (run / "judgements.jsonl").write_text("".join(lines))
    labels = tmp_path / "labels.csv"
    rows = ["ann,a-one,m,CC", "ann,a-two,m,CC", "ann,b-one,m,LC", "ann,b-one,other,LC"]
    rows += ["bob,a-one,m,CC", "bob,a-two,m,?"]
    labels.write_text("annotator,instance,model,category\n" + "\n".join(rows) + "\n")

    done = command(run, "--labels", labels, "--json")
    assert done.returncode == 1
    assert f"bad row: {labels}:7: category: Input should be 'LI', 'LC' or 'CC'" in done.stderr
    made = json.loads(done.stdout)
    [entry] = made["scores"]
    judged = entry["overall"]["judge"]
    assert (judged["shares"], judged["judge_error"], judged["votes_lost"]) == ({"CC": 0.5, "LC": 0.0, "LI": 0.5}, 1, 1)
    agreement = made["agreement"]
    assert (agreement["annotators"], agreement["without_majority"]) == (["ann", "bob"], 0)
    assert agreement["unknown"] == [["b-one", "other", "", "", 0]]
    by_pair = {(pair["first"], pair["second"]): pair for pair in agreement["pairs"]}
    assert (by_pair["ann", "judge"]["answers"], by_pair["ann", "judge"]["conflicts"]) == (2, 1)
    assert agreement["confusion"] == [{"people": "CC", "judge": c, "answers": 1} for c in ("CC", "LI")]
    command(run, "--labels", labels, "--out", tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text()
    assert "## Agreement" in text
    assert "| ann - judge | 2 | 50.0% |" in text
    assert "1 label is for answers that these runs do not have: b-one by other." in text
    assert "1 category rests on fewer votes than the judge was asked for" in text
