"""The original's answers: rebuilt from edits, checked against what was shown, judged, compared and evaluated."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmrbench_data.analyse.judged_answers import rows_of_import
from lmrbench_data.analyse.repositories import measure_tree, task_repositories
from lmrbench_data.analyse.structure import MEASURES
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.loader import read_archive
from lmrbench_data.original import facts
from lmrbench_data.original.importer import ImportSummary
from lmrbench_data.original.interfaces import signature
from lmrbench_data.original.replay import Rebuilt, read_listing, replay
from lmrbench_evaluate.runs.evaluation import evaluate
from lmrbench_evaluate.runs.folder import RunFolder
from lmrbench_evaluate.runs.settings import RunSettings
from lmrbench_evaluate.sandbox.base import Sandbox
from support import original_clone
from support.openai_server import Server, opinion
from support.original_clone import GOLDEN, MASKED, Clone, Tool, implementation, judge_text
from support.original_import import imported, lmrbench, messages

#: As the agent's machine has it.
GOAL = "/workspace/benchmark/01-DPO/numbers/numbers_of.py"
LOOP = "    # to be written\n    pass\n"
RIGHT = "    return [value * factor for value in values]\n"


def rebuilt(tool: Tool, masked: str | None = MASKED) -> Rebuilt:
    events = [{"id": number, **event} for number, event in enumerate(tool.events)]
    return replay(events, lambda path: path == PurePosixPath(GOAL), masked, "numbers_of.py")


# --- replay -----------------------------------------------------------------------------------------------------------

words = st.sampled_from(["pass", "x", "    return x", "", "def f(x):", "\ty = 1", "x\n\nx", "y = 2\n"])
steps = st.one_of(
    st.tuples(st.just("str_replace"), words, words),
    st.tuples(st.just("insert"), st.integers(-1, 20), words),
    st.tuples(st.just("undo_edit"), st.none(), st.none()),
    st.tuples(st.just("create"), words, st.none()),
    st.tuples(st.just("view"), st.integers(1, 6), st.one_of(st.none(), st.integers(6, 20))),
    st.tuples(st.just("clip"), st.integers(0, 200), st.none()),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(steps, max_size=12), st.booleans())
def test_edits_are_replayed_and_all_listings_agree(session: list[tuple[str, Any, Any]], told: bool) -> None:
    """Whatever the agent does with the tool, refused edits and clipped views among it."""
    tool = Tool({GOAL: MASKED, "/workspace/other/numbers_of.py": "x\n"})
    done = 0
    for command, first, second in session:
        if command == "str_replace" and first:
            done += tool.edit("str_replace", GOAL, told=told, old_str=first, new_str=second)
        elif command == "insert":
            done += tool.edit("insert", GOAL, told=told, insert_line=first, new_str=second)
        elif command == "undo_edit":
            done += tool.edit("undo_edit", GOAL, told=told)
        elif command == "create":
            done += tool.edit("create", GOAL, file_text=first)
        elif command == "view":
            tool.view(GOAL, first, second)
        elif command == "clip":
            tool.view(GOAL, clip=first)
    tool.edit("insert", "/workspace/other/numbers_of.py", insert_line=0, new_str="not of the goal file")
    found = rebuilt(tool)
    assert found.text == tool.files[GOAL]
    assert (found.edits, found.differing, found.doubts) == (done, 0, [])


def test_a_listing_that_differs_is_noticed_and_a_whole_view_settles_it() -> None:
    tool = Tool({GOAL: MASKED})
    tool.edit("str_replace", GOAL, old_str=LOOP, new_str=RIGHT)
    tool.files[GOAL] = tool.files[GOAL].replace("value * factor", "factor * value")  # by something that left no event
    tool.view(GOAL, 4, 8)
    found = rebuilt(tool)
    assert (found.differing, found.doubts) == (1, ["a listing differs from the rebuilt file"])
    tool.view(GOAL, clip=60)
    assert rebuilt(tool).doubts
    tool.view(GOAL)
    found = rebuilt(tool)
    assert (found.text, found.doubts) == (tool.files[GOAL], [])
    tool.files[GOAL] = tool.files[GOAL].rpartition("def total")[0].rstrip() + "\n"
    tool.view(GOAL)  # all lines that are left are the same
    assert rebuilt(tool).text == tool.files[GOAL]


@pytest.mark.parametrize(
    "command",
    [
        "sed -i 's/pass/return []/' numbers_of.py",
        "cat > numbers/numbers_of.py << 'EOF'\nx = 1\nEOF",
        "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: numbers_of.py\nEOF",
        "git checkout -- numbers_of.py",
        "python -c \"open('numbers_of.py', 'w').write('')\"",
        "bash -lc 'rm numbers_of.py'",
    ],
)
def test_a_command_that_may_have_changed_the_file_makes_it_uncertain(command: str) -> None:
    tool = Tool({GOAL: MASKED})
    tool.run(command)
    [doubt] = rebuilt(tool).doubts
    assert doubt.startswith("a command may have changed it")
    tool.view(GOAL)
    assert rebuilt(tool).doubts == []


@pytest.mark.parametrize(
    ("cell", "is_doubtful"),
    [
        ("open('numbers_of.py').read()", False),
        ("open('numbers_of.py', 'w').write('')", True),
        ("!cat numbers_of.py", False),
        ("!sed -i s/a/b/ numbers_of.py", True),
        ("%%bash\necho x > numbers_of.py", True),
        ("import os; os.system('rm numbers_of.py')", True),
    ],
)
def test_a_cell_that_may_have_changed_the_file_makes_it_uncertain(cell: str, is_doubtful: bool) -> None:
    tool = Tool({GOAL: MASKED})
    tool.act("run_ipython", {"code": cell}, "run_ipython", "")
    assert bool(rebuilt(tool).doubts) == is_doubtful


def test_commands_that_only_look_leave_it_certain() -> None:
    tool = Tool({GOAL: MASKED})
    for command in ("cat numbers_of.py", "python numbers_of.py > log.txt", "grep -n pass numbers_of.py"):
        tool.run(command)
    shown = "".join(f"{n:6}\t{line}\n" for n, line in enumerate(MASKED.split("\n"), start=1))
    tool.run(f"cat -n {GOAL}", shown)
    found = rebuilt(tool)
    assert (found.doubts, found.listings, found.text) == ([], 1, MASKED)


def test_edits_whose_answer_is_an_error_or_missing_did_not_happen() -> None:
    tool = Tool({GOAL: MASKED})
    args = {"path": GOAL, "command": "str_replace", "old_str": LOOP, "new_str": RIGHT}
    tool.act("edit", args, "error", "Missing required argument")
    tool.act("edit", args, "edit", "The file has been edited.", success=False)
    tool.events.append({"source": "agent", "action": "edit", "args": args})  # the session ends here
    found = rebuilt(tool)
    assert (found.text, found.edits, found.refused) == (MASKED, 0, 2)
    tool = Tool({GOAL: MASKED})
    tool.act("edit", {**args, "old_str": "not there"}, "edit", "The file has been edited.")
    assert rebuilt(tool).doubts == ["a str_replace cannot be replayed"]


def test_a_file_that_the_clone_lacks_is_known_from_its_first_whole_view() -> None:
    tool = Tool({GOAL: MASKED})
    tool.view(GOAL, 1, 4)
    tool.edit("str_replace", GOAL, told=False, old_str=LOOP, new_str=RIGHT)
    assert rebuilt(tool, None).text is None
    tool = Tool({GOAL: MASKED})
    tool.view(GOAL)
    tool.edit("str_replace", GOAL, old_str=LOOP, new_str=RIGHT)
    found = rebuilt(tool, None)
    assert (found.text, found.start, found.doubts) == (tool.files[GOAL], MASKED, [])


def test_the_tools_two_freedoms_are_taken() -> None:
    """A version of it strips blanks around a string that it does not find, another expands tabs."""
    tabbed = MASKED.replace("    ", "\t")
    for masked, old in ((MASKED, f"\n\n{LOOP}\n  "), (tabbed, LOOP.replace("    ", " " * 8))):
        tool = Tool({GOAL: masked})
        args = {"path": GOAL, "command": "str_replace", "old_str": old, "new_str": "return 1"}
        tool.act("edit", args, "edit", "The file has been edited.")
        found = rebuilt(tool, masked)
        assert found.doubts == []
        assert found.text
        assert "return 1" in found.text
        assert "to be written" not in found.text


def test_listings_are_read_as_far_as_they_go() -> None:
    listing = read_listing("Here's the result:\n     1\ta\n     2\t\n     3\tlong li<response clipped>\nmore\n")
    assert listing.lines == [(1, "a"), (2, ""), (3, "long li")]
    assert not listing.is_whole
    assert read_listing("     1\ta\n     2\tb\n").is_whole
    assert not read_listing("     2\tb\n     3\tb\n").is_whole
    assert read_listing("nothing").lines == []


# --- import -----------------------------------------------------------------------------------------------------------

MODELS = ("gpt4o", "gpt4.1", "o4mini")


def own_goal() -> tuple[str, str, str]:
    """Masked goal file, golden file and masked body of an instance of ours that needs no torch."""
    [row] = [row for row in load_rows() if row["instance_id"] == "step-length-prompt-construction"]
    masked = read_archive(row["repo_archive"])[row["goal_file"]].data.decode()
    return masked, row["golden_file"], "    raise NotImplementedError\n"


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    """Two tasks and three models: one replays to the reference, one is wrong, one did nothing."""
    clone = Clone(tmp_path / "clone")
    clone.task("01-DPO")
    masked, golden, body = own_goal()
    item = implementation(goal_file="steps/run.py", goal_function="get_sentence", golden_file="golden_files/run.py")
    clone.task("08-StepLength", [item])
    clone.write("benchmark/08-StepLength/numbers/steps/run.py", masked)
    clone.write("benchmark/08-StepLength/numbers/golden_files/run.py", golden)
    solved = golden[golden.index("    Raises:\n        ValueError: `args_method`") :]
    solved = (
        solved[solved.index('    """\n') + len('    """\n') : solved.index("\n\n\ndef create_demonstrations")] + "\n"
    )
    for model, lines in {"gpt4o": RIGHT, "gpt4.1": RIGHT.replace("*", "+"), "o4mini": LOOP}.items():
        tool = Tool({GOAL: MASKED}, "scale")
        tool.view(GOAL)
        tool.edit("str_replace", GOAL, old_str="not in it", new_str="x")
        if model != "o4mini":
            tool.edit("str_replace", GOAL, old_str=LOOP, new_str=lines)
        clone.session(model, "1-DPO", tool.events)
        place = "/workspace/numbers/steps/run.py"
        tool = Tool({place: masked}, "get_sentence")
        if model == "gpt4o":
            tool.edit("str_replace", place, old_str=body, new_str=solved)
            tool.edit("insert", place, insert_line=0, new_str="import re")
        if model == "gpt4.1":
            tool.edit("str_replace", place, old_str=body, new_str="    return x\n")
            tool.run("sed -i 's/x/y/' steps/run.py")
        if model != "o4mini":
            clone.session(model, "8-StepLength", tool.events)
        else:
            clone.session(model, "0f0f-1234567890abcdef", tool.events)  # aborted, or another one
        passed = "PASS" if model == "gpt4o" else "FAIL (found 1 failure lines)"
        lines_of = [f"1-DPO/unit_test_1.log: {passed}", f"8-StepLength/unit_test_1.log: {passed}"]
        clone.unit_tests("openhands_agent", model, lines_of)
        for folder in ("1-DPO", "8-StepLength"):
            category = "CC" if model == "gpt4o" else "LI"
            clone.judgement("openhands_agent", model, folder, "numbers", 0, judge_text(category, "json"))
            score = {"gpt4o": 3, "gpt4.1": 1, "o4mini": 1}[model]
            clone.label("kaiyu", "kaiyu", "openhands_agent", model, int(folder.partition("-")[0]), 0, score)
    clone.judgement("no_agent", "gpt4o", "1-DPO", "numbers", 0, judge_text("CC", "json"))
    clone.save_people()
    return clone


def answers_of(summary: ImportSummary) -> dict[tuple[str, str], dict[str, str]]:
    with (summary.out / "answers.csv").open() as file:
        return {(row["model"], row["instance_id"]): row for row in csv.DictReader(file)}


DPO, STEP = "dpo-preference-loss", "step-length-prompt-construction"


def test_each_answer_says_how_it_was_rebuilt(clone: Clone) -> None:
    summary = imported(clone)
    found = answers_of(summary)
    assert {key: row["recovery"] for key, row in found.items()} == {
        ("gpt4o", DPO): "replayed",
        ("gpt4.1", DPO): "replayed",
        ("o4mini", DPO): "unimplemented",
        ("gpt4o", STEP): "replayed",
        ("gpt4.1", STEP): "partial",
        ("o4mini", STEP): "not recovered",
    }
    assert summary.answers == {"replayed": 3, "unimplemented": 1, "partial": 1, "not recovered": 1}
    assert found["gpt4.1", STEP]["why"].startswith("a command may have changed it (sed -i")
    assert found["o4mini", STEP]["why"] == "no session of this paper has its name"
    row = found["gpt4o", DPO]
    assert (row["edits"], row["refused"], row["listings"], row["differing"]) == ("1", "1", "2", "0")
    run = summary.out / "runs/openhands_agent-gpt4o"
    predictions = [json.loads(line) for line in (run / "predictions.jsonl").read_text().splitlines()]
    assert predictions[0]["goal_file"] == MASKED.replace(LOOP, RIGHT)
    assert predictions[0]["metadata"]["recovery"] == "replayed"
    # What was not rebuilt keeps its verdict.
    assert {row["instance_id"] for row in RunFolder(summary.out / "runs/openhands_agent-o4mini").rows()} == {DPO, STEP}
    rows = {row["instance_id"]: row for row in load_rows(str(summary.out / "dataset"))}
    assert set(read_archive(rows[DPO]["repo_archive"])) == {"README.md", "helpers/units.py", "numbers_of.py"}
    assert rows[DPO]["golden_file"] == GOLDEN


def test_answers_with_our_interface_are_evaluated_by_our_tests(clone: Clone, local_sandbox: Sandbox) -> None:
    summary = imported(clone)
    assert summary.evaluable == 2
    with (summary.out / "interfaces.csv").open() as file:
        same = {row["instance_id"]: row["same"] for row in csv.DictReader(file)}
    assert same == {DPO: "False", STEP: "True"}
    assert [task.is_evaluable for task in summary.tasks] == [False, True]
    statuses = {}
    for name in ("references", "evaluable"):
        run = summary.out.parent / name
        evaluate(str(summary.out / f"{name}.jsonl"), RunSettings(out=run), load_rows(), local_sandbox)
        statuses |= {row["model_name_or_path"]: row["core_status"] for row in RunFolder(run).rows()}
    assert statuses == {"lmr-bench-original-reference": "passed", "gpt4o": "passed", "gpt4.1": "failed"}


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("def f(a: int, b=1): ...", "def f(a, b=None) -> str: ...", True),
        ("def f(a, b): ...", "def f(b, a): ...", False),
        ("def f(a, b=1): ...", "def f(a, b): ...", False),
        ("def f(a, *, b): ...", "def f(a, b): ...", False),
        ("def f(a, *b, **c): ...", "def f(a, *b, **c): ...", True),
        ("def f(a, /, b): ...", "def f(a, b): ...", False),
        ("def f(a): ...", "def g(a): ...", False),
    ],
)
def test_interfaces_agree_in_name_and_parameters(one: str, other: str, same: bool) -> None:
    assert (signature(one, one[4]) == signature(other, other[4])) == same


# --- what works on the answers ----------------------------------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        running.judge = lambda request: opinion("CC" if "value * factor" in request.user else "LC")
        yield running


def run(*arguments: object, env: dict[str, str] | None = None) -> Any:
    done = lmrbench(*map(str, arguments))
    assert done.returncode == 0, done.stderr
    return done


def test_judge_calibration_errors_and_dependencies_work_on_imported_answers(
    clone: Clone, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    out = imported(clone).out
    runs = sorted(str(path) for path in (out / "runs").glob("openhands*"))
    people = out / "annotations.jsonl"
    by_original = json.loads(run("calibrate", "labels", people, *runs, "--json").stdout)
    assert (by_original["answers"], by_original["agreement"]["as_expected"]["part"]) == (5, 5)
    for name in runs:
        run("judge", name, "-m", "judge-1", "--base-url", server.base_url)
    assert len(server.requests) == 5
    calibration = json.loads(run("calibrate", "labels", people, *runs, "--json").stdout)
    assert (calibration["judge_model"], calibration["answers"]) == ("judge-1", 5)

    found = json.loads(run("analyse", "dependencies", *runs, "--json").stdout)
    assert len(found["answers"]) + sum(found["left_out"].values()) == 6
    run("analyse", "familiarity", "cutoff", *runs, "--cutoff", "2024-06")
    run("analyse", "structure", *runs)
    shown = run("show", runs[0], DPO).stdout
    assert "value + factor" in shown  # the change of gpt4.1

    # The import again keeps what the judge was paid for.
    before = {name: (Path(name) / "judgements.jsonl").read_bytes() for name in runs}
    imported(clone)
    assert {name: (Path(name) / "judgements.jsonl").read_bytes() for name in runs} == before


@pytest.mark.parametrize(
    "command",
    [
        ("judge", "RUN", "-m", "x"),
        ("analyse", "errors", "RUN", "-m", "x"),
        ("calibrate", "labels", "PEOPLE", "RUN"),
        ("analyse", "dependencies", "BARE"),
        ("analyse", "structure", "BARE"),
        ("analyse", "familiarity", "cutoff", "BARE", "--cutoff", "2024-06"),
    ],
)
def test_an_imported_run_without_answers_or_tasks_is_one_line(
    command: tuple[str, ...], clone: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    out = imported(clone).out
    bare = Clone(clone.root.parent / "b" / "clone")
    bare.judgement("no_agent", "gpt4o", "1-DPO", "numbers", 0, judge_text("CC", "json"))
    places = {"RUN": out / "runs/no_agent-gpt4o", "PEOPLE": out / "annotations.jsonl"}
    places["BARE"] = imported(bare).out / "runs/no_agent-gpt4o"
    done = lmrbench(*(str(places.get(word, word)) for word in command))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "an imported run whose" in done.stderr
    assert "not known" in done.stderr


def test_rows_of_an_import_cannot_be_evaluated(clone: Clone) -> None:
    out = imported(clone).out
    done = lmrbench("evaluate", "gold", "--dataset", str(out / "dataset"), "--out", str(out.parent / "run"))
    assert done.returncode == 1
    assert "has no test cases: its answers can be judged, but not evaluated" in done.stderr


def test_a_task_whose_files_are_missing_costs_its_answers_and_says_so(clone: Clone) -> None:
    (clone.root / "benchmark/01-DPO/numbers/golden_files/numbers_of_golden.py").unlink()
    (clone.root / "benchmark/08-StepLength/numbers/steps/run.py").unlink()
    summary = imported(clone)
    assert "its golden file is not there: answers to it cannot be judged" in messages(summary, "01-DPO")
    assert "goal file 'steps/run.py' is not there" in messages(summary, "08-StepLength")
    found = answers_of(summary)
    assert found["gpt4o", DPO]["recovery"] == "replayed"
    assert found["gpt4o", DPO]["judgeable"] == "False"
    assert found["gpt4o", STEP]["recovery"] == "not recovered"
    assert not (summary.out / "dataset").exists()


def test_the_structure_of_a_clone_is_measured(tmp_path: Path) -> None:
    """All four measures, of the repositories as models were shown them; a task without one is named."""
    clone = original_clone.write_facts(tmp_path / "clone", facts.labels(), [])
    for label in facts.labels()[:28]:
        if label.paper == 19 or label.function_index:
            continue
        count = sum(item.paper == label.paper for item in facts.labels()[:28])
        folder = clone.task(f"{label.paper:02d}-P{label.paper}", [implementation() for _ in range(count)])
        for number in range(label.paper % 7):
            clone.write(f"benchmark/{folder.name}/numbers/{'deep/' * number}part{number}.py", "x = 1\n")
    out = imported(clone).out
    found = json.loads(run("analyse", "structure", out, "--solved-by", "people", "--json").stdout)
    assert set(found["measures"]) == set(MEASURES)
    assert (found["answers"], found["papers"]) == (162, 22)
    notes = " ".join(found["notes"])
    assert "The repository is unknown for" in notes
    assert "measured" not in notes
    measured = dict(task_repositories(rows_of_import(out)))
    row = measured[DPO]
    assert row.tree == measure_tree(["README.md", "numbers_of.py", "helpers/units.py", "part0.py"])
    assert row.goal_length == 5
