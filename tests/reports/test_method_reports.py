"""Reports on methods: the functions and experiments of each answer, in every form of a report."""

import json
from collections.abc import Mapping

import pytest

import lmrbench as lmr
from lmrbench.analyse.errors.ask import ask_why
from lmrbench.analyse.structure import task_measures
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.proportions import Share
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_evaluate.runs.settings import JudgeSettings
from support.command_line import in_process
from support.runs import result, write_run
from support.toy_method import METHOD_ANSWER, evaluated_method

SIZE = {"window.py::Window.mean": "def mean(self, values):\n    return self.total(values) / self.size\n"}
ANSWERS: dict[str, Mapping[str, str] | str] = {"right": METHOD_ANSWER, "size": METHOD_ANSWER | SIZE, "none": "Sorry."}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, toy_row: DatasetRow, method_row: DatasetRow) -> lmr.Run:
    return evaluated_method(tmp_path_factory.mktemp("methods"), toy_row, method_row, ANSWERS)


def test_results_and_frames_have_the_share_of_functions(run: lmr.Run) -> None:
    rows = {row["model_name_or_path"]: row for row in run.results()}
    assert {part["name"]: part["status"] for part in rows["size"]["functions"]} == {
        "weigh": "passed",
        "Window.total": "passed",
        "Window.mean": "failed",
    }
    assert rows["size"]["experiments"] == [{"name": "series", "status": "passed"}]
    assert rows["none"]["experiments"] == [{"name": "series", "status": "malformed"}]
    assert run.to_pandas()["functions_passed"].tolist() == [1.0, pytest.approx(2 / 3), 0.0]


def test_a_report_has_a_table_of_functions_and_one_level(run: lmr.Run) -> None:
    report = run.report()
    text = report.to_markdown()
    assert "## Functions of methods" in text
    # Three functions of one method are one unit of the interval.
    bounds = Share(2, 3, 1).bounds
    assert f"| size | 66.7% (2/3) | {bounds} | 100.0% (1/1) | {Share(1, 1).bounds} |" in text
    assert "robust" not in text
    assert "| toy-method | reproduced | malformed | failed |" in text
    scores = {score["model_name_or_path"]: score for score in json.loads(json.dumps(report.to_dict()))["scores"]}
    assert (scores["size"]["functions"]["count"], scores["size"]["functions"]["share"]) == (2, 0.6667)
    assert (scores["right"]["overall"]["robust"]["count"], scores["none"]["experiments"]["count"]) == (1, 0)
    single = write_run(run.path.parent / "single", [result("a-one", "passed")])
    assert "Functions of methods" not in lmr.report(single).to_markdown()
    assert "functions" not in lmr.report(single).to_dict()["scores"][0]


def test_show_and_the_page_list_functions_and_differences(run: lmr.Run) -> None:
    shown = in_process("show", str(run.path), "toy-method", "--model", "size").stdout
    assert "2 of 3 passed" in shown
    assert "1 of 1 passed" in shown
    assert all(f"{name}, from the reference to the answer" in shown for name in METHOD_ANSWER)
    assert "-         return self.total(values) / self._count(values)\n" in shown
    assert "## Verdict: reproduced" in in_process("show", str(run.path), "toy-method", "--model", "right").stdout
    told = in_process("show", str(run.path), "toy-method", "--model", "size", "--json").stdout
    assert len(json.loads(told)["functions"]) == 3
    page = run.report().to_html()
    assert "4 functions</small>" in page
    assert "<h5>Functions (2 of 3 passed)</h5>" in page
    assert "<li><code>Window.mean</code>: failed</li>" in page


def test_tools_for_single_functions_refuse_methods_in_one_line(run: lmr.Run, method_row: DatasetRow) -> None:
    settings = JudgeSettings(run=run.path, model="m", base_url="http://localhost:1")
    tools = {
        "the analysis of structure": lambda: list(task_measures([method_row])),
        "the diagnosis of errors": lambda: ask_why(settings),
    }
    for name, tool in tools.items():
        with pytest.raises(InputError, match=f"^toy-method: a method; {name} needs instances with one goal function"):
            tool()
