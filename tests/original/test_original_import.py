"""Importing the original release: every dialect, every fault, and all facts that we bundle, there and back."""

import csv
import json
import random
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lmrbench_data import api
from lmrbench_data.base.errors import ArgumentError, InputError
from lmrbench_data.base.progress import Progress
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.original import facts
from lmrbench_data.original.importer import ImportSummary, import_original
from lmrbench_evaluate.reports.annotations import read_annotations
from lmrbench_evaluate.runs.evaluation import evaluate
from lmrbench_evaluate.runs.provenance import unofficial_reason
from lmrbench_evaluate.runs.settings import RunSettings
from lmrbench_evaluate.sandbox.base import Sandbox
from support import original_clone
from support.original_clone import AGENTS, POINTER, Clone, implementation, unit_test_line
from support.original_import import imported, lmrbench, messages


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "clone")


def bundled(name: str) -> str:
    return files("lmrbench_data.original").joinpath(name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ImportSummary]:
    """All 168 labels and 66 sessions, written as a clone and imported."""
    root = tmp_path_factory.mktemp("full")
    clone = original_clone.write_facts(root / "clone", facts.labels(), facts.sessions())
    session = facts.sessions()[0]
    other = original_clone.events_of({"edit": 500}, f"the task of paper {session.paper}")
    clone.session(session.model, "0f0f-1234567890abcdef", other)
    clone.session(session.model, "1f1f-1234567890abcdef", original_clone.events_of({"run": 1}, "something else"))
    for mirror in ("outputs", "outputs_renamed"):
        clone.session("", f"{session.paper}-P", other, f"{mirror}/{session.model}")
    clone.write(f"results/logs/OpenHands/{session.model}/save_trajectory", "[]")
    return root / "out", import_original(root / "clone", root / "out")


def test_all_labels_come_back_as_they_went(full: tuple[Path, ImportSummary]) -> None:
    out, summary = full
    assert (out / "labels.csv").read_text() == bundled("labels.csv")
    assert (out / "actions.csv").read_text() == bundled("actions.csv")
    assert facts.labels(out) == facts.labels()
    assert facts.sessions(out) == facts.sessions()
    assert len(summary.tasks) == 28
    assert summary.labels == 168
    assert summary.sessions == 66


def test_reports_count_what_the_facts_say(full: tuple[Path, ImportSummary]) -> None:
    out, summary = full
    assert len(summary.runs) == 6
    for name in summary.runs:
        [score] = api.open_run(out / name).scores()
        mine = [item for item in facts.labels() if (item.setting, item.model) == (score.setting, score.model)]
        tested = [item.passed for item in mine if item.passed is not None]
        assert score.overall.graded == len(tested)
        assert score.overall.robust == score.overall.reproduced == sum(tested)
        assert score.complete == (len(tested) == 28)
        for category in ("CC", "LC", "LI"):
            assert score.overall.judged[category] == sum(item.judge == category for item in mine)
        frame = api.open_run(out / name).to_pandas()
        by_id = {item.instance_id: item for item in mine}
        assert len(frame) == 28
        for row in frame.to_dict("records"):
            assert row["judge"] == by_id[row["instance_id"]].judge
            assert row["robust"] == bool(by_id[row["instance_id"]].passed)


def test_the_report_compares_people_and_judge(full: tuple[Path, ImportSummary]) -> None:
    out, summary = full
    report = api.report(*(out / name for name in summary.runs), labels=out / "annotations.jsonl")
    assert report.agreement is not None
    assert not report.agreement.unknown
    assert sum(report.agreement.confusion.values()) == 168
    same = sum(item.judge == item.human for item in facts.labels())
    assert sum(count for (a, b), count in report.agreement.confusion.items() if a == b) == same
    conflicts = sum({item.judge, item.human} == {"CC", "LI"} for item in facts.labels())
    each = [pair for pair in report.agreement.pairs if pair.first in report.agreement.annotators]
    assert sum(pair.conflicts for pair in each if pair.second == "judge") == conflicts
    text = report.to_markdown()
    assert "imported, not official" in text
    assert "cannot be compared with runs on LMR-Bench" in text
    assert "0.0 % (0/28)" not in text  # of two models no test was published: that is no failure
    assert "nothing graded" in text


def test_imported_runs_stand_apart(
    full: tuple[Path, ImportSummary], tmp_path: Path, toy_row: DatasetRow, local_sandbox: Sandbox
) -> None:
    out, summary = full
    ours = tmp_path / "ours"
    evaluate("gold", RunSettings(out=ours), [toy_row], local_sandbox)
    with pytest.raises(InputError, match="different datasets"):
        api.report(out / summary.runs[0], ours)
    with pytest.raises(ArgumentError, match="cannot be mixed"):
        evaluate("gold", RunSettings(out=out / summary.runs[0]), [toy_row], local_sandbox)
    assert "imported" in unofficial_reason(api.open_run(out / summary.runs[0]).facts)
    assert (
        unofficial_reason(api.open_run(ours).facts)
        == "it ran in the local sandbox, which does not isolate; evaluate in docker"
    )


def test_sessions_without_a_name_are_told_by_their_task_and_not_counted(full: tuple[Path, ImportSummary]) -> None:
    out, summary = full
    index = [json.loads(line) for line in (out / "trajectories/index.jsonl").read_text().splitlines()]
    session = facts.sessions()[0]
    extra = {row["session"]: row for row in index if not row["counted"]}
    assert extra["0f0f-1234567890abcdef"]["paper"] == session.paper
    assert extra["1f1f-1234567890abcdef"]["paper"] is None
    assert summary.sessions_not_counted == len(extra) == 2
    assert "its task is not known" in messages(summary, "1f1f")
    named = next(row for row in index if row["counted"] and row["model"] == session.model)
    events = [json.loads(line) for line in (out / named["file"]).read_text().splitlines()]
    assert [event["id"] for event in events] == list(range(len(events)))
    assert len(events) == named["events"]


def test_the_same_import_again_changes_nothing(full: tuple[Path, ImportSummary]) -> None:
    out, _ = full
    note = out / "runs" / "note.txt"
    note.write_text("mine")
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.rglob("*") if path.is_file()}
    import_original(out.parent / "clone", out)
    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in out.rglob("*") if path.is_file()}
    del before[out / "import.json"], after[out / "import.json"]
    assert before == after


def test_what_is_gone_from_the_clone_goes_from_the_import(tmp_path: Path) -> None:
    clone = Clone(tmp_path / "clone")
    for model in ("gpt4o", "o4mini"):
        clone.unit_tests("openhands_agent", model, ["1-DPO/unit_test_1.log: PASS"])
    import_original(clone.root, tmp_path / "out")
    (clone.root / "results/unit_test_evaluation/OpenHands/o4mini/results.txt").unlink()
    import_original(clone.root, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out/runs").iterdir()] == ["openhands_agent-gpt4o"]


class Interrupted(Progress):
    """Somebody presses Ctrl-C at the first step."""

    def step(self, label: str = "") -> None:
        raise KeyboardInterrupt


def test_an_import_that_was_stopped_is_done_again(clone: Clone) -> None:
    original_clone.write_facts(clone.root, facts.labels()[:1], facts.sessions()[:1])
    with pytest.raises(KeyboardInterrupt):
        import_original(clone.root, clone.root.parent / "out", Interrupted())
    assert imported(clone).labels == 1


CATEGORIES = st.sampled_from(["CC", "LC", "LI"])


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_labels_come_back(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    root = tmp_path_factory.mktemp("random")
    labels = []
    for setting, model in data.draw(
        st.sets(st.tuples(st.sampled_from(list(AGENTS)), st.sampled_from(["m-1", "m_2"])), min_size=1)
    ):
        tested = data.draw(st.booleans())
        people = {"kaiyu": "CC LC LI", "ziming": "CC LC LI"}
        for known in facts.labels()[:28]:
            passed = data.draw(st.booleans()) if tested else None
            judge, human = data.draw(CATEGORIES), data.draw(CATEGORIES)
            who = data.draw(st.sampled_from(list(people)))
            labels.append(
                facts.Label(
                    setting, model, known.paper, known.function_index, known.instance_id, passed, judge, human, who
                )
            )
    labels.sort(key=lambda item: (item.setting, item.model, item.paper, item.function_index))
    # A scale of which nobody used the end cannot be told from the other one; this person used all of it.
    for category, label in zip(
        ("LI", "LC", "CC"), [item for item in labels if item.annotator == "ziming"], strict=False
    ):
        object.__setattr__(label, "human", category)
    original_clone.write_facts(root / "clone", labels, [])
    import_original(root / "clone", root / "out")
    with (root / "out/labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    found = [(row["instance_id"], row["unit_test"], row["judge"], row["human"], row["annotator"]) for row in rows]
    said = {True: "pass", False: "fail", None: ""}
    assert found == [(i.instance_id, said[i.passed], i.judge, i.human, i.annotator) for i in labels]


# --- unit tests ---


def statuses(summary: ImportSummary, run: str) -> dict[str, str]:
    return {row["instance_id"]: row["status"] for row in api.open_run(summary.out / run).results()}


def test_each_line_of_a_results_file(clone: Clone) -> None:
    clone.unit_tests(
        "openhands_agent",
        "claude3.7",
        [
            "1-DPO/unit_test_1.log: PASS",
            "2-HITs/unit_test_1.log: PASS fail_count: 0",
            "3-DoLa/unit_test.log: PASS (fail_count=0)",
            "4-CD/unit_test_1.log: FAIL (found 3 failure lines)",
            "5-SimPO/unit_test_1.log: FAIL (found 0 failure lines)",
            "/x/y/claude3.7/6-RepE/repo/unit_test/logs is not a directory",
            "15-EmpathyBias/unit_test_2.log: PASS",
            "16-KnowProb/unit_test.log: PASS",
            "16-KnowProb/unit_test_9.log: PASS",
            "99-Other/unit_test_1.log: PASS",
            "7-bertscore/unit_test_1.log: PASS fail_count: 2",
            "8-StepLength/unit_test_1.log: PASS",
            "8-StepLength/unit_test.log: FAIL (found 1 failure lines)",
        ],
    )
    summary = imported(clone)
    assert statuses(summary, "runs/openhands_agent-claude3.7") == {
        "dpo-preference-loss": "passed",
        "hit-hyperbolic-triplet-loss": "passed",
        "dola-greedy-decode": "passed",
        "concept-depth-layer-probing": "failed",
        by_paper(5): "error",
        by_paper(6): "error",
        by_paper(15, 1): "passed",
    }
    told = messages(summary)
    assert "unit_test.log may be of any of 5 functions; left out" in told
    assert "unit_test_9.log is about a function that the paper does not have (5)" in told
    assert "'99-Other' is not a known paper" in told
    assert "cannot be read: '7-bertscore/unit_test_1.log: PASS fail_count: 2'" in told
    assert "08-StepLength: lines" in told
    assert "contradict each other" in told
    assert "12 lines, where 28 functions are expected" in told
    assert "16-KnowProb: no line for function 3" in told


def by_paper(paper: int, index: int = 0) -> str:
    return next(i.instance_id for i in facts.labels() if (i.paper, i.function_index) == (paper, index))


def test_a_task_without_any_results_is_told_once(clone: Clone) -> None:
    clone.task("01-DPO")
    clone.task("27-Lion")
    for model in ("a", "b"):
        clone.unit_tests("no_agent", model, ["1-DPO/unit_test_1.log: PASS"])
    summary = imported(clone)
    assert messages(summary) == "27-Lion: no results of function 0 were published"
    assert {task.task: task.unit_tests for task in summary.tasks} == {"01-DPO": 2, "27-Lion": 0}
    assert api.report(*(summary.out / name for name in summary.runs)).scores[0].overall.total == 1


def test_totals_that_are_not_those_of_the_lines_are_told(clone: Clone) -> None:
    clone.unit_tests("no_agent", "m", ["1-DPO/unit_test_1.log: PASS"], {"Passed files": 19})
    assert "Passed files 19, lines say 1" in messages(imported(clone))


@pytest.mark.parametrize("content", [POINTER, b"\xff\xfe\x00", "", "something else\n"])
def test_a_results_file_that_is_none_is_told(clone: Clone, content: str | bytes) -> None:
    clone.write("results/unit_test_evaluation/OpenHands/m/results.txt", content)
    summary = imported(clone)
    assert summary.runs == []
    assert "m (openhands_agent)" in messages(summary)


def test_no_model_has_a_name_that_leads_out_of_the_folder(clone: Clone) -> None:
    for model in ("x\uff0f..\uff0f..\uff0fout", "a b", "a\uff0fb", "a+b"):  # what Unicode takes for a slash among them
        clone.unit_tests("no_agent", model, ["1-DPO/unit_test_1.log: PASS"])
    summary = imported(clone)
    assert sorted(path.name for path in clone.root.parent.iterdir()) == ["clone", "out"]
    assert {api.open_run(summary.out / name).results()[0]["model_name_or_path"] for name in summary.runs} == {
        "x/../../out", "a b", "a/b", "a+b"
    }  # fmt: skip


# --- the judge ---


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"category": "3", "rationale": [',
        '{"category": "4", "rationale": []}',
        '{"rationale": ["3"]}',
        "It is right.\n\nCategory 3",
        '```json\n{"category": "1"}\n```\n```json\n{"category": "3"}\n```',
        POINTER,
    ],
)
def test_a_judgement_that_cannot_be_read_has_no_category(clone: Clone, text: str) -> None:
    clone.judgement("no_agent", "m", "1-DPO", "repo", 0, text)
    clone.judgement("no_agent", "m", "2-HITs", "repo", 0, original_clone.judge_text("LC", "prose"))
    summary = imported(clone)
    [score] = api.open_run(summary.out / summary.runs[0]).scores()
    assert score.overall.judged == {"judge_error": 1, "LC": 1}
    assert "it counts as a judge error" in messages(summary, "01-DPO")


def test_show_prints_what_the_judge_wrote(clone: Clone) -> None:
    clone.judgement("no_agent", "m", "1-DPO", "my_repo_2", 0, original_clone.judge_text("LI", "prose"))
    clone.unit_tests("no_agent", "m", ["1-DPO/unit_test_1.log: FAIL (found 2 failure lines)"])
    summary = imported(clone)
    done = lmrbench("show", str(summary.out / summary.runs[0]), "dpo-preference-loss")
    assert done.returncode == 0, done.stderr
    assert "the log says Failed 2 times" in done.stdout
    assert "LI: Incorrect logic" in done.stdout
    assert "The loop in 2 and 3 differs." in done.stdout
    assert "Imported: these verdicts come from elsewhere" in done.stdout


# --- people ---


def test_a_scale_is_shifted_only_if_it_starts_at_zero(clone: Clone) -> None:
    for score, paper in ((0, 1), (1, 2), (2, 3)):
        clone.label("ziming", "ziming", "no_agent", "m", paper, 0, score)
    for score, paper in ((1, 1), (2, 2), (3, 3)):
        clone.label("shuo", "Shuo", "no_agent", "m", paper, 0, score)
    clone.label("mixed", "mixed", "no_agent", "m", 1, 0, 0)
    clone.label("mixed", "mixed", "no_agent", "m", 2, 0, 3)
    clone.save_people()
    clone.json("results/human_evaluation/.ipynb_checkpoints/ziming-checkpoint.json", [])
    summary = imported(clone)
    rows = [json.loads(line) for line in (summary.out / "annotations.jsonl").read_text().splitlines()]
    found = {(row["annotator"], row["instance_id"]): row["category"] for row in rows}
    names = "dpo-preference-loss", "hit-hyperbolic-triplet-loss", "dola-greedy-decode"
    assert found == {
        (who, name): c for who in ("shuo", "ziming") for name, c in zip(names, ("LI", "LC", "CC"), strict=True)
    }
    assert "labels from 0 to 3: not a scale of three" in messages(summary)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"human_judge_result": 7}, "beyond 3"),
        ({"human_judge_result": True}, "human_judge_result is not a whole number"),
        ({"agent_type": "swarm"}, "agent_type is none of"),
        ({"annotator": ""}, "annotator is not a text"),
        ({"paper_index": 17}, "a label of paper 17"),
        ({"comment": 3}, "comment is not a text"),
    ],
)
def test_a_record_that_is_wrong_is_left_out(clone: Clone, change: dict[str, object], said: str) -> None:
    clone.label("kaiyu", "kaiyu", "no_agent", "m", 1, 0, 2)
    clone.label("kaiyu", "kaiyu", "no_agent", "m", 2, 0, 3)
    clone.people["kaiyu"][1] |= change
    clone.people["kaiyu"] += [{**clone.people["kaiyu"][0], "human_judge_result": 2}]
    clone.save_people()
    summary = imported(clone)
    assert summary.labels == 1
    assert said in messages(summary)
    assert "it counts once" in messages(summary)


# --- sessions ---


def test_broken_sessions_are_told(clone: Clone) -> None:
    events = original_clone.events_of({"edit": 2, "finish": 1}, "a task")
    folder = clone.session("gpt4o", "1-DPO", events)
    (folder / "events/4.json").unlink()
    (folder / "events/3.json").write_text("{")
    clone.session("gpt4o", "2-HITs", [])
    (clone.root / "results/logs/OpenHands/gpt4o/file_store/sessions/3-DoLa").mkdir()
    clone.session("gpt4o", "01-DPO", events)
    summary = imported(clone)
    told = messages(summary)
    assert "events are missing (4): counts are too low" in told
    assert "not JSON" in told
    assert "a second session of this paper: kept, and not counted" in told
    assert "3-DoLa: no event that can be read" in told
    assert summary.sessions == 1


def test_a_session_is_told_by_the_instructions_of_info_json(clone: Clone) -> None:
    clone.task("01-Sums")
    clone.task("02-Means", [implementation(instruction="Write the mean of a list, and nothing else at all.")])
    clone.session(
        "o4mini",
        "ab-0123456789abcdef",
        original_clone.events_of({}, "1. Write the mean of a list, and\nnothing else at all."),
    )
    clone.session("o4mini", "cd-0123456789abcdef", original_clone.events_of({}, "Fill in scale in numbers_of.py"))
    summary = imported(clone)
    assert "its task is that of paper 2" in messages(summary, "ab-")
    assert "its task is not known" in messages(summary, "cd-")  # both papers have such a function


def test_tables_of_an_import_that_were_changed_are_one_line(clone: Clone, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        facts.labels(tmp_path)
    (tmp_path / "actions.csv").write_text("model,paper,edit\ngpt4o,one,2\n")
    with pytest.raises(InputError, match="damaged"):
        facts.sessions(tmp_path)


# --- the command ---


def test_the_command_says_what_it_found(clone: Clone, tmp_path: Path) -> None:
    original_clone.write_facts(clone.root, facts.labels()[:56], random.Random(1).sample(facts.sessions(), 3))
    done = lmrbench("import", "lmr-bench-original", str(clone.root), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "2 runs in" in done.stdout
    assert "imported, not official" in done.stdout
    done = lmrbench("import", "lmr-bench-original", str(clone.root), "--out", str(tmp_path / "out"), "--json")
    assert json.loads(done.stdout)["labels"] == 56


def test_what_is_no_clone_and_no_place_is_one_line(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    done = lmrbench("import", "lmr-bench-original", str(tmp_path), "--out", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "neither results/ nor a task with info.json" in done.stderr
    (tmp_path / "results").mkdir()
    with pytest.raises(ArgumentError, match="is inside the clone"):
        import_original(tmp_path, tmp_path / "out")
    with pytest.raises(ArgumentError, match="not an earlier import"):
        import_original(tmp_path / "results" / "..", tmp_path_factory.getbasetemp())


def test_lines_of_results_are_written_in_all_dialects() -> None:
    lines = {
        unit_test_line("1-A", "unit_test_1.log", passed, dialect) for passed in (True, False) for dialect in range(12)
    }
    assert len(lines) == 7


BROKEN = (
    *(
        b"",
        b"\xff\xfe",
        b"null",
        b"{}",
        b"[]",
        b"[{}]",
        b'"text"',
        b"[" * 100_000,
        b'{"a": 1e999}',
        b"3",
        b"\x00" * 2000,
    ),
    POINTER.encode(),
    b'{"implementations": [{"goal_file": 3, "goal_function": [], "instruction": {}}], "repo_folder_name": "numbers"}',
    b'[{"annotator": "\\ud800", "agent_type": "no_agent", "model_name": "x", "paper_index": 1e9}]',
    b'{"id": "\\ud800", "source": "agent", "action": ["edit"]}',
    b'{"category": "3", "rationale": ["\\ud800", {}, null]}',
    b"1-DPO/unit_test_99999999999999999999.log: PASS",
    b"1-DPO/unit_test_1.log: FAIL (found " + b"9" * 5000,
    None,  # a folder where the file was
)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> ImportSummary:
    """A clone with a little of everything, beside its import."""
    root = tmp_path_factory.mktemp("small")
    clone = original_clone.write_facts(root / "clone", facts.labels()[:2], facts.sessions()[:1])
    clone.task("01-Sums")
    clone.task("02-Means")
    return import_original(clone.root, root / "out")


@settings(max_examples=40, deadline=None)
@given(data=st.data())
@pytest.mark.slow
def test_whatever_is_broken_in_a_clone_is_told_and_nothing_crashes(small: ImportSummary, data: st.DataObject) -> None:
    root = small.out.parent / "clone"
    paths = sorted(path for path in root.rglob("*") if path.is_file() and "event_cache" not in path.parts)
    path = data.draw(st.sampled_from([path for path in paths if path.parent.name != "events" or path.stem in "03"]))
    content, sound = data.draw(st.sampled_from(BROKEN)), path.read_bytes()
    path.unlink()
    try:
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
        after = import_original(root, small.out)
    finally:
        path.rmdir() if path.is_dir() else path.unlink()
        path.write_bytes(sound)
    for name in after.runs:
        api.open_run(after.out / name).to_pandas()
    if after.labels:
        assert not read_annotations(after.out / "annotations.jsonl")[1]
    if any(now < then for now, then in zip(counts(after), counts(small), strict=True)):
        assert set(after.problems) - set(small.problems)


def counts(summary: ImportSummary) -> tuple[int, ...]:
    """Return the number of imported items of each kind."""
    tests = sum(task.unit_tests for task in summary.tasks)
    return summary.labels, summary.sessions, tests, sum(task.judgements for task in summary.tasks)
