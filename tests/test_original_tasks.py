"""The original's tasks: what becomes a row and what is told, and answers judged by the scripts' own logs."""

import json
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest
from original_clone import GOLDEN, MASKED, POINTER, SCRIPT, Clone, implementation

from lmrbench_data import api
from lmrbench_data.errors import ArgumentError, InputError
from lmrbench_data.evaluate.runs.evaluate import RunSettings, RunSummary, evaluate
from lmrbench_data.evaluate.runs.standing import why_unofficial
from lmrbench_data.evaluate.sandbox.base import Sandbox
from lmrbench_data.evaluate.sandbox.docker import DockerSandbox
from lmrbench_data.evaluate.sandbox.local import LocalSandbox
from lmrbench_data.evaluate.script import log_verdict, script_limits, script_workspace
from lmrbench_data.loader import load_rows, read_archive
from lmrbench_data.original.importer import ImportSummary, import_original
from lmrbench_data.rows import DatasetRow

RIGHT = "def scale(values, factor):\n    return [factor * value for value in values]\n"
WRONG = "def scale(values, factor):\n    return [factor + value for value in values]\n"
#: Writes what the test would write: the rule believes it, which is why no such run is official.
FORGED = "def scale(values, factor):\n    return type('Any', (), {'__eq__': lambda *_: True})()\n"


class Anywhere(LocalSandbox):
    """The local sandbox for any image: these scripts need Python alone."""

    def prepare(self, tag: str) -> str:
        return f"local stand-in for {tag}"


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path / "clone")


def imported(clone: Clone) -> ImportSummary:
    return import_original(clone.root, clone.root.parent / "out")


def told(summary: ImportSummary, subject: str) -> str:
    return "\n".join(item.message for item in summary.problems if item.subject == subject)


def rows_of(summary: ImportSummary) -> list[DatasetRow]:
    return load_rows(str(summary.out / "dataset"))


# --- rows ---


def test_a_task_becomes_a_row_that_our_loader_reads(clone: Clone) -> None:
    clone.task("01-Sums")
    summary = imported(clone)
    [row] = rows_of(summary)
    assert row["test_protocol"] == "script"
    assert row["goal_function"] == "scale"
    assert row["instance_id"] == "dpo-preference-loss"  # the first of the papers that we know, whatever its name here
    assert row["golden_file"] == GOLDEN
    assert sorted(read_archive(row["repo_archive"])) == ["README.md", "numbers_of.py"]  # no answer, no test
    assert sorted(read_archive(row["tests_archive"])) == ["script", "tests/unit_test/unit_test_1.py"]  # no old log
    assert row["context_files"] == ["README.md"]
    assert told(summary, "01-Sums") == ""
    context = {path.relative_to(summary.out / "images").as_posix() for path in (summary.out / "images").rglob("*.*")}
    assert context == {"original-01-sums/numbers/README.md", "original-01-sums/numbers/numbers_of.py"}
    card = (summary.out / "dataset/README.md").read_text()
    assert "Tested code can write the log" in card
    assert "no score on" in card


def test_importing_twice_gives_the_same_dataset(clone: Clone) -> None:
    clone.task("01-Sums")
    clone.task("02-Means")
    summary = imported(clone)
    before = {path: path.read_bytes() for path in summary.out.rglob("*") if path.is_file()}
    shutil.rmtree(clone.root / "benchmark/02-Means")
    assert imported(clone).rows == 1
    assert not (summary.out / "images/original-02-means").exists()
    clone.task("02-Means")
    imported(clone)
    assert {path: path.read_bytes() for path in summary.out.rglob("*") if path.is_file()} == before


def test_a_paper_with_several_functions_has_a_row_for_each(clone: Clone) -> None:
    items = [
        implementation(),
        implementation(goal_function="add", class_name="Numbers", unit_test_file="unit_test/unit_test_2.py"),
    ]
    folder = clone.task("41-Both", items)
    more = "\n\nclass Numbers:\n    def add(self, value):\n        {body}\n"
    (folder / "numbers/numbers_of.py").write_text(MASKED + more.format(body="pass"))
    (folder / "numbers/golden_files/numbers_of_golden.py").write_text(GOLDEN + more.format(body="return value + 1"))
    script = SCRIPT.replace("scale", "add").replace("{log}", "unit_test_1.log")
    clone.write("benchmark/41-Both/numbers/unit_test/unit_test_2.py", script)
    summary = imported(clone)
    assert [row["goal_function"] for row in rows_of(summary)] == ["scale", "Numbers.add"]
    assert [row["instance_id"] for row in rows_of(summary)] == ["41-both-1", "41-both-2"]
    assert "functions 0 and 1 write the same log unit_test_1.log" in told(summary, "41-Both")


FAULTS: dict[str, tuple[dict[str, Any], dict[str, str | None], str]] = {
    # changes of the implementation, changes of files (None: removed), what is told
    "no script": (
        {"unit_test_file": "unit_test/x.py"},
        {"unit_test/unit_test_1.py": None},
        "test file 'unit_test/x.py' is not there",
    ),
    "no golden": (
        {},
        {"golden_files/numbers_of_golden.py": None},
        "golden file 'golden_files/numbers_of_golden.py' is not there",
    ),
    "no goal": ({"goal_file": "other.py"}, {}, "goal file 'other.py' is not there"),
    "outside": ({"goal_file": "../../../../etc/passwd"}, {}, "goal file '../../../../etc/passwd' is not there"),
    "wrong name": ({"goal_function": "scaled"}, {}, "no function 'scaled' in it (is 'scale' meant?)"),
    "no name": ({"goal_function": None}, {}, "no goal_function"),
    "no instruction": ({"instruction": " "}, {}, "no instruction"),
    "not masked": ({}, {"numbers_of.py": GOLDEN}, "not masked"),
    "golden is a pointer": ({}, {"golden_files/numbers_of_golden.py": POINTER}, "cannot be read"),
    "test of the answer": (
        {},
        {"unit_test/unit_test_1.py": "import golden_files\n"},
        "loads the golden file, which never goes",
    ),
    "not Python": ({}, {"golden_files/numbers_of_golden.py": "def scale(:\n"}, "syntax error"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_tested_is_left_out_and_told(clone: Clone, fault: str) -> None:
    change, files, said = FAULTS[fault]
    clone.task("01-Sums", [implementation(**change)])
    clone.task("02-Means")
    for name, content in files.items():
        path = clone.root / "benchmark/01-Sums/numbers" / name
        path.unlink() if content is None else path.write_text(content)
    summary = imported(clone)
    assert [row["instance_id"] for row in rows_of(summary)] == ["hit-hyperbolic-triplet-loss"]
    assert said in told(summary, "01-Sums")
    assert "left out of the dataset" in told(summary, "01-Sums")
    [task] = [task for task in summary.tasks if task.task == "01-Sums"]
    assert not task.in_dataset
    record = json.loads((summary.out / "import.json").read_text())
    assert any(said in item["message"] for item in record["problems"])


WEAK: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "wrong unit_test_file": ({"unit_test_file": "unit_test/unit_test.py"}, {}, "unit_test/unit_test_1.py is used"),
    "another function": ({}, {"unit_test/unit_test_1.py": "from numbers_of import total\n"}, "never names scale"),
    "pointers": (
        {},
        {"unit_test/tensors/a.pt": POINTER, "data.bin": POINTER},
        "only Git-LFS pointers are there: unit_test/tensors/a.pt",
    ),
    "a copy": (
        {},
        {"old/numbers.py": GOLDEN.replace("numbers", "digits")},
        "the answer stands in old/numbers.py as well",
    ),
    "cuda": ({}, {"unit_test/unit_test_1.py": "scale([], 1).to('cuda')\n"}, "a sandbox has no GPU"),
    "unknown context": ({"retrieval_context": ["nowhere.py"]}, {}, "names no file of the repository: nowhere.py"),
    "body taken out whole": (
        {},
        {"numbers_of.py": "def scale(values, factor):\n"},
        "only a whole file or a patch can be an answer",
    ),
    "wrong index": ({"index": 7}, {}, "implementation 1 says index 7"),
}


@pytest.mark.parametrize("weakness", WEAK)
def test_what_is_weak_stays_and_is_told(clone: Clone, weakness: str) -> None:
    change, files, said = WEAK[weakness]
    clone.task("01-Sums", [implementation(**change)])
    for name, content in files.items():
        clone.write(f"benchmark/01-Sums/numbers/{name}", content)
    summary = imported(clone)
    assert len(rows_of(summary)) == 1
    assert said in told(summary, "01-Sums")


def test_either_spelling_of_the_context_is_read(clone: Clone) -> None:
    item = implementation(retrieval_content=["numbers/README.md"])
    del item["retrieval_context"]
    clone.task("01-Sums", [item])
    [row] = rows_of(imported(clone))
    assert row["context_files"] == ["README.md"]


def test_whole_folders_that_are_broken_are_told(clone: Clone) -> None:
    clone.task("01-Sums")
    shutil.rmtree(clone.task("19-NSA") / "numbers")
    (clone.root / "benchmark/19-NSA/numbers").mkdir()  # a submodule that nobody fetched
    clone.task("20-CAD", repo_folder_name="../../..")
    clone.task("22-Token", repo_folder_name="elsewhere")
    clone.task("23-Sim").joinpath("info.json").write_text("{")
    clone.task("25-Ada", [])
    clone.task("28-SPIN").joinpath("info.json").write_text(POINTER)
    clone.task("30-ERGO").joinpath("Dockerfile").unlink()
    (clone.task("31-Syn") / "numbers/secret").symlink_to("/etc/passwd")
    summary = imported(clone)
    assert "is empty (a submodule that was not fetched?); left out of the dataset, 1 task" in told(summary, "19-NSA")
    assert "not a plain path" in told(summary, "20-CAD")
    assert "no repository 'elsewhere'" in told(summary, "22-Token")
    assert "not JSON" in told(summary, "23-Sim")
    assert "no list of implementations" in told(summary, "25-Ada")
    assert "Git-LFS pointer" in told(summary, "28-SPIN")
    assert "no Dockerfile" in told(summary, "30-ERGO")
    assert "links and special files are left out: secret" in told(summary, "31-Syn")
    assert len(rows_of(summary)) == 3
    with pytest.raises(InputError, match="no image to run its script in"):
        run(summary, [], Anywhere(), instances=["adaptive-focal-loss-forward"])


# --- scripts ---


def run(
    summary: ImportSummary, answers: list[str] | str, sandbox: Sandbox, name: str = "run", **settings: Any
) -> RunSummary:
    predictions: Any = answers
    if isinstance(answers, list):
        predictions = [
            {"instance_id": "dpo-preference-loss", "model_name_or_path": f"m{i}", "function": answer}
            for i, answer in enumerate(answers)
        ]
    dataset = str(summary.out / "dataset")
    chosen = RunSettings(summary.out.parent / name, dataset, **settings)
    return evaluate(predictions, chosen, rows_of(summary), sandbox)


def results(summary: ImportSummary, name: str = "run") -> list[tuple[str, str]]:
    """In the order of models: workers finish in any."""
    found = sorted(api.open_run(summary.out.parent / name).results(), key=lambda row: row["model_name_or_path"])
    return [(row["status"], row["detail"]) for row in found]


def test_a_log_counts_by_its_words() -> None:
    verdicts = {
        "Test case Passed\nTest case Passed": "equal",
        "Test case Passed\nTest case Failed": "different",
        "Failed": "different",
        "Starting": "raised",
        "": "raised",
        "Surpassed, Failedly, PASSED": "raised",
    }
    assert {text: log_verdict(text)[0] for text in verdicts} == verdicts


@pytest.mark.slow
def test_answers_are_judged_by_the_script(clone: Clone) -> None:
    clone.task("01-Sums")
    summary = imported(clone)
    broken = "def scale(values, factor):\n    raise ValueError('no')\n"
    slow = "def scale(values, factor):\n    import time\n    time.sleep(60)\n"
    # A file where the test needs a folder is no way to break the machinery.
    patch = textwrap.dedent(
        """\
        --- /dev/null
        +++ b/unit_test
        @@ -0,0 +1 @@
        +x
        """
    )
    rows: list[dict[str, Any]] = [
        {"instance_id": "dpo-preference-loss", "model_name_or_path": f"m{i}", "function": answer}
        for i, answer in enumerate((RIGHT, WRONG, broken, slow, "no code", FORGED))
    ]
    rows.append({"instance_id": "dpo-preference-loss", "model_name_or_path": "patch", "model_patch": patch})
    settings = RunSettings(clone.root.parent / "run", str(summary.out / "dataset"), timeout_scale=0.008)
    with Anywhere() as sandbox:
        evaluate(rows, settings, rows_of(summary), sandbox)
    found = [row["status"] for row in api.open_run(clone.root.parent / "run").results()]
    by_model = {row["model_name_or_path"]: row for row in api.open_run(clone.root.parent / "run").results()}
    statuses = [by_model[f"m{i}"]["status"] for i in range(6)]
    assert statuses == ["passed", "failed", "error", "timeout", "malformed", "passed"]
    assert by_model["patch"]["status"] == "failed"  # the function is as masked as before
    assert "infra_error" not in found
    assert "the log says Failed 1 time" in by_model["m1"]["cases"][0]["detail"]
    assert "ValueError: no" in by_model["m2"]["cases"][0]["detail"]
    facts = api.open_run(clone.root.parent / "run").facts
    assert "read from logs" in why_unofficial({**facts, "official_sandbox": True})
    text = api.report(clone.root.parent / "run").to_markdown()
    assert "which tested code can write: they are not official" in text


def test_a_golden_file_of_the_same_name_is_not_taken_for_the_goal_file(clone: Clone) -> None:
    folder = clone.task("01-Sums", [implementation(golden_file="golden_files/numbers_of.py")])
    (folder / "numbers/golden_files/numbers_of_golden.py").rename(folder / "numbers/golden_files/numbers_of.py")
    summary = imported(clone)
    [row] = rows_of(summary)
    assert row["golden_file"] == GOLDEN
    assert read_archive(row["repo_archive"])["numbers_of.py"].data.decode() == MASKED


def test_an_answer_changes_no_test_and_finds_no_golden_file(clone: Clone) -> None:
    clone.task("01-Sums")
    summary = imported(clone)
    [row] = rows_of(summary)
    patch = "--- /dev/null\n+++ b/unit_test/unit_test_1.py\n@@ -0,0 +1 @@\n+print('Passed')\n"
    answer = {"instance_id": row["instance_id"], "model_name_or_path": "m", "model_patch": patch}
    with Anywhere() as sandbox:
        evaluate([answer], RunSettings(clone.root.parent / "run", str(summary.out / "dataset")), [row], sandbox)
    assert [status for status, _ in results(summary)] == ["failed"]
    packed = script_workspace(row, read_archive(row["repo_archive"]), script_limits(row, 1.0))
    assert b"result.append(value * factor)" in row["golden_file"].encode()
    assert b"result.append(value * factor)" not in packed


def test_a_script_that_the_golden_file_does_not_pass_grades_nobody(clone: Clone) -> None:
    clone.task("01-Sums")
    clone.write("benchmark/01-Sums/numbers/unit_test/data.pt", POINTER)
    script = (
        SCRIPT.replace("{log}", "unit_test_1.log") + "import pickle\npickle.load(open('unit_test/data.pt', 'rb'))\n"
    )
    clone.write("benchmark/01-Sums/numbers/unit_test/unit_test_1.py", "import no_such_library\n" + script)
    summary = imported(clone)
    with Anywhere() as sandbox:
        done = run(summary, [RIGHT, WRONG], sandbox)
        run(summary, "gold", sandbox, "gold")
    assert done.infra_errors == 2
    reason = (
        "its test script does not pass the golden file here: the log ends before any verdict, which counts as failed"
    )
    assert results(summary) == [("infra_error", reason)] * 2
    assert [status for status, _ in results(summary, "gold")] == ["error"]


def test_a_script_that_only_prints_has_its_output_for_a_log(clone: Clone) -> None:
    clone.task("01-Sums")
    script = "from numbers_of import scale\nprint('Passed' if scale([1], 2) == [2] else 'Failed')\n"
    clone.write("benchmark/01-Sums/numbers/unit_test/unit_test_1.py", script)
    summary = imported(clone)
    with Anywhere() as sandbox:
        run(summary, [RIGHT, WRONG], sandbox)
    assert [status for status, _ in results(summary)] == ["passed", "failed"]


def test_fresh_seeds_are_not_for_scripts(clone: Clone) -> None:
    clone.task("01-Sums")
    with pytest.raises(ArgumentError, match="which has no seeds"):
        run(imported(clone), "gold", Anywhere(), fresh_seeds=1)


@pytest.mark.docker
def test_scripts_run_in_the_image_of_their_dockerfile(clone: Clone, docker_sandbox: DockerSandbox) -> None:
    """For real: the hardened container, built from the imported context."""
    from lmrbench_data.environments import load_environments
    from lmrbench_data.errors import InfraError
    from lmrbench_data.evaluate.sandbox.docker import connect

    base = load_environments()["torch-cpu"].tag
    docker_sandbox.prepare(base)
    folder = clone.task("01-Sums")
    (folder / "Dockerfile").write_text(f"FROM {base}\nCOPY . /original\n")
    # What the image holds is what a model may see, and the container has no network.
    look = (
        "import os, socket\nassert not [f for f in os.listdir('/original/numbers') if 'golden' in f or 'unit' in f]\n"
    )
    net = "try:\n    socket.create_connection(('1.1.1.1', 53), 1)\n    print('Failed')\nexcept OSError:\n    pass\n"
    path = folder / "numbers/unit_test/unit_test_1.py"
    path.write_text(look + net + path.read_text())
    summary = imported(clone)
    [row] = rows_of(summary)
    with pytest.raises(InfraError, match=f"docker build -t {row['docker_image']} images/original-01-sums"):
        docker_sandbox.prepare(row["docker_image"])
    api_client = connect()
    list(api_client.build(path=str(summary.out / "images/original-01-sums"), tag=row["docker_image"], rm=True))
    try:
        run(summary, [RIGHT, WRONG], docker_sandbox)
    finally:
        api_client.remove_image(row["docker_image"], force=True)
    assert [status for status, _ in results(summary)] == ["passed", "failed"]
    facts = api.open_run(clone.root.parent / "run").facts
    assert facts["sandbox"] == "docker"
    assert facts["official_sandbox"] is False
