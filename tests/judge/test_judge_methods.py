"""The judge on methods: one question and one judgement over all masked functions."""

import json
import re
from pathlib import Path

import pytest

from lmrbench_data.dataset.rows import DatasetRow, golden_files_of
from lmrbench_data.loader import METHOD
from lmrbench_evaluate.judge import material, question
from lmrbench_evaluate.judge.judging import judge
from lmrbench_evaluate.judge.material import MAX_REST, NotJudgedError
from lmrbench_evaluate.judge.question import ON_FUNCTION, build_question, prompt_of
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.runs.settings import JudgeSettings
from support.openai_server import Request, Server, opinion
from support.toy_method import METHOD_ANSWER, evaluated_method, method_reply

FUNCTIONS = list(METHOD_ANSWER)


def ask(row: DatasetRow, form: str, content: str) -> question.Question:
    return build_question(row, Prediction("toy-method", "m", form, content, track="paper"))


def blocks(user: str, label: str) -> dict[str, str]:
    """Return function or file → text of the blocks with a label."""
    found = re.findall(
        rf"^===== BEGIN {label} (\S+)(?: \w{{16}})? =====\n(.*?)\n===== END {label} \1", user, re.S | re.M
    )
    return dict(found)


def test_question_shows_each_function_beside_the_reference(method_row: DatasetRow) -> None:
    answer = METHOD_ANSWER | {"window.py::Window.mean": "def mean(self, values):\n    return self.total(values) / 7\n"}
    asked = ask(method_row, "function", method_reply(answer))
    system, user = (message["content"] for message in asked.messages)
    assert system.startswith(ON_FUNCTION.template.read_text().partition("# user")[0].removeprefix("# system").strip())
    assert set(FUNCTIONS) == blocks(user, "CANDIDATE FUNCTION").keys() == blocks(user, "REFERENCE FUNCTION").keys()
    assert "/ 7" in blocks(user, "CANDIDATE FUNCTION")["window.py::Window.mean"]
    assert "_count" in blocks(user, "REFERENCE FUNCTION")["window.py::Window.mean"]
    given = user.partition("\nwindow.py:\n\n")[2].partition("=====")[0]
    assert "The mean of the paper" in given
    assert "def _count" not in given
    assert "\n+    def _count" in blocks(user, "WHAT ELSE THE REFERENCE CHANGES IN ITS FILE")["window.py"]
    changes = blocks(user, "WHAT ELSE THE CANDIDATE CHANGES IN ITS FILE")
    assert changes["window.py"] == "@@ -0,0 +1,2 @@\n+import math\n+"
    assert "\nhelpers.py:\n\n" in user.partition("REFERENCE FUNCTION")[0]
    assert not asked.identical
    assert ask(method_row, "files", json.dumps(golden_files_of(method_row))).identical


def test_functions_together_have_the_limits_of_one(method_row: DatasetRow, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(material, "MAX_FUNCTION", 10_000)
    line = "    values = [value + 1.0 for value in values]\n"
    half = line * (10_000 // len(line) // 2 + 1)
    long = {name: source.replace("    return", f"{half}    return") for name, source in METHOD_ANSWER.items()}
    one = FUNCTIONS[0]
    asked = ask(method_row, "function", method_reply(METHOD_ANSWER | {one: long[one]}))
    assert len(asked.messages[-1]["content"]) > 5_000
    with pytest.raises(NotJudgedError, match="functions are together longer than"):
        ask(method_row, "function", method_reply(long))
    helper = "".join(f"def more_{number}(values):\n    return values\n\n\n" for number in range(600))
    files = {path: f"{helper}\n{text}\n\n{helper}" for path, text in golden_files_of(method_row).items()}
    assert len(ask(method_row, "files", json.dumps(files)).messages[-1]["content"]) < MAX_REST + 20_000


def test_run_is_judged_with_one_vote_over_all_functions(
    tmp_path: Path, toy_row: DatasetRow, method_row: DatasetRow, server: Server
) -> None:
    def verdict(request: Request) -> str:
        return opinion("LI" if "NotImplementedError" in str(blocks(request.user, "CANDIDATE FUNCTION")) else "CC")

    part = {name: source for name, source in METHOD_ANSWER.items() if name != "window.py::weigh"}
    answers = {"whole": METHOD_ANSWER, "part": part, "none": "Sorry."}
    run = evaluated_method(tmp_path, toy_row, method_row, answers)
    server.judge = verdict
    settings = JudgeSettings(run=run.path, model="judge-1", base_url=server.base_url)
    done = judge(settings)
    assert (done.asked, len(done.malformed), done.judge.prompt_version) == (2, 1, prompt_of(METHOD).version)
    judged = run.to_pandas().dropna(subset="judge").set_index("model_name_or_path")["judge"]
    assert judged.to_dict() == {"whole": "CC", "part": "LI"}
    rows = [json.loads(line) for line in (run.path / "judgements.jsonl").read_text().splitlines()]
    assert {row["prompt_version"] for row in rows} == {prompt_of(METHOD).version}
    assert judge(settings).kept == 2
