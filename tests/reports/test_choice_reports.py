"""Reports on altered papers: which choices an answer read, recited or settled, in every form of a report."""

import csv
import io
import json
import re
from pathlib import Path

import lmrbench as lmr
from lmrbench_data.base.proportions import Share
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import golden_files_of
from lmrbench_data.loader import COUNTERFACTUAL, UNDERSPECIFIED
from lmrbench_data.tasks.guessing import SettledChoice, corrected
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.reports.tally import ScoredAnswer
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.choices import counted_choices
from support.command_line import in_process
from support.toy import recorded_rows, stamped
from support.toy_choices import add_toy_choices

#: model → what it puts in place of the first row's code
EDITS = {
    "reader": ("", ""),
    "reciter": ("1 / (1 + 3 * value**2)", "2.718281828459045**-value"),
    "talker": None,
}


def evaluated(
    config: str,
    benchmark: Path,
    sandbox: Sandbox,
    edits: dict[str, tuple[str, str] | None],
    hard: tuple[str, str] | None = None,
) -> lmr.Run:
    """Evaluate an answer of each model to the toy's first row of a configuration.

    Args:
        hard: what every model puts in place of the code of that row's hard twin; no such row without it.
    """
    rows = recorded_rows(add_toy_choices(benchmark), sandbox, config)[:1]
    if hard:
        rows.append(stamped(rows[0], instance_id="toy-underspecified-2", difficulty="hard"))
    folder = benchmark.parent
    write_dataset(rows, folder / "data", load_benchmark(benchmark))
    files = golden_files_of(rows[0])
    answers = []
    for model, own in edits.items():
        for row, edit in zip(rows, (own, hard), strict=False):
            text = files["window.py"].replace(*edit) if edit else "Sorry."
            answer = {"instance_id": row["instance_id"], "model_name_or_path": model, "track": "paper"}
            answers.append({**answer, "files": {**files, "window.py": text}, "metadata": {"cpu_s": 5}})
    return lmr.evaluate(answers, folder / "run", dataset=str(folder / "data"), config=config, sandbox="local")


def test_a_counterfactual_is_read_or_recited(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    run = evaluated(COUNTERFACTUAL, toy_benchmark, local_sandbox, EDITS)
    frame = run.to_pandas().set_index("model_name_or_path")
    assert dict(frame["choices_read"]) == {"reader": 1.0, "reciter": 0.5, "talker": 0.0}
    assert frame["choices_settled"].isna().all()
    report = run.report()
    text = report.to_markdown()
    assert "reciter: read 50.0%, recited 50.0%, neither 0.0% of the altered choices." in text
    # An answer that cannot be read implements none of the options.
    assert "talker: read 0.0%, recited 0.0%, neither 100.0% of the altered choices." in text
    assert f"| reader | 100.0% (2/2) | {Share(2, 2, 1).bounds} |" in text
    shown = in_process("show", str(run.path), "toy-counterfactual-1", "--model", "reciter").stdout
    assert "1 of 2 as in the paper or its tables" in shown
    assert "exponential (published)" in shown
    assert "<li><code>weights</code>: exponential (published)</li>" in report.to_html()


def test_open_choices_are_settled_and_corrected_for_chance(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    edits = {"settler": ("", ""), "guesser": ("** 0.5", "** 1"), "talker": None}
    run = evaluated(UNDERSPECIFIED, toy_benchmark, local_sandbox, edits)
    frame = run.to_pandas().set_index("model_name_or_path")
    assert dict(frame["choices_settled"]) == {"settler": 1.0, "guesser": 0.5, "talker": 0.0}
    report = run.report()
    text = report.to_markdown()
    assert "guesser: settled 50.0% of the open choices of easy rows; guessing settles 33.3%, reciting the" in text
    shares = "33.3% | 50.0% | 0.00 | 100.0% (1/1) | 0.0% (0/1)"
    assert f"| guesser | 50.0% (1/2) | {Share(1, 2, 1).bounds} | {shares} |" in text
    settled = {score["model_name_or_path"]: score["settled"] for score in report.to_dict()["scores"]}
    assert (settled["settler"]["corrected"], settled["talker"]["corrected"]) == (1.0, -1.0)
    assert corrected([]) is corrected([SettledChoice(True, 3, True)]) is None, "nothing is left to settle"
    assert "recited" not in text
    assert "searches_table" not in text
    assert "## Open choices, easy rows" in text
    assert "by_difficulty" not in report.to_dict()["scores"][0], "one difficulty splits nothing"


def test_easy_and_hard_rows_have_lines_of_their_own(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    edits: dict[str, tuple[str, str] | None] = {"settler": ("", "")}
    run = evaluated(UNDERSPECIFIED, toy_benchmark, local_sandbox, edits, hard=("** 0.5", "** 1"))
    assert dict(run.to_pandas().set_index("difficulty")["choices_settled"]) == {"easy": 1.0, "hard": 0.5}
    report = run.report()
    text = report.to_markdown()
    for name, rate, settled in (
        ("settler", "50.0% (1/2)", "75.0% (3/4)"),
        ("settler, easy", "100.0% (1/1)", "100.0% (2/2)"),
        ("settler, hard", "0.0% (0/1)", "50.0% (1/2)"),
    ):
        assert f"| {name} | paper | {rate} |" in text
        assert f"| {name} | {settled} |" in text
        assert f"| {name} | 5.0 |" in text
    [score] = report.to_dict()["scores"]
    assert {name: part["settled"]["count"] for name, part in score["by_difficulty"].items()} == {"easy": 2, "hard": 1}
    answers = csv.DictReader(io.StringIO(report.to_csv()))
    cells = [(row["difficulty"], row["reproduced"], row["cpu_s"]) for row in answers]
    assert cells == [("easy", "1", "5.0"), ("hard", "0", "5.0")]
    page = report.to_html()
    assert '<div class="who">settler, hard</div>' in page
    assert "4 functions, hard</small>" in page
    run.report().save_figures(toy_benchmark.parent / "figures")
    assert "settler, hard" in (toy_benchmark.parent / "figures" / "scores.svg").read_text()
    facts = run.path / "run.json"
    silent = dict.fromkeys(run.facts["difficulties"], "silent")
    facts.write_text(json.dumps({**run.facts, "difficulties": silent}))
    assert "of the open choices of silent departures; guessing settles" in run.report().to_markdown()


def test_answer_that_can_search_the_tables_settles_nothing(toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    """Numbers of the tables mark it, whatever their scale; the test workspace lacks the experiments."""
    [row] = recorded_rows(add_toy_choices(toy_benchmark), local_sandbox, UNDERSPECIFIED)
    numbers = re.findall(r"\d\.\d{4}", row["paper_text"].partition("## Reported results")[2])
    assert len(numbers) == 3
    copied = {
        "honest": f"# {numbers[0]} {numbers[1]}\n",
        "searcher": f"TABLE = {[float(number) for number in numbers]}\n",
        "percent": "".join(f"# {float(number):.2%}\n" for number in numbers),
        "names": "".join(f"x{number.replace('.', '')} = 1\n" for number in numbers),
        "joined": f"TEXT = '{''.join(numbers).replace('.', '')}'\n",
        "importer": "import experiments\n",
    }
    edits: dict[str, tuple[str, str] | None] = {
        name: ("def weigh", f"{text}def weigh") for name, text in copied.items()
    }
    run = evaluated(UNDERSPECIFIED, toy_benchmark, local_sandbox, edits)
    searching = ["searcher", "percent", "names", "joined"]
    rows = {row["model_name_or_path"]: row for row in run.results()}
    assert [name for name, row in rows.items() if row["searches_table"]] == searching
    for key in ("status", "core_status"):
        assert [name for name, row in rows.items() if row[key] != "passed"] == [*searching, "importer"]
    assert all(case["status"] == "passed" for name in searching for case in rows[name]["cases"])
    assert rows["names"]["detail"] == "holds numbers of the paper's tables"
    frame = run.to_pandas().set_index("model_name_or_path")
    assert dict(frame["choices_settled"]) == {"honest": 1.0, "importer": 0.0, **dict.fromkeys(searching, 0.0)}
    assert [name for name, right in frame["reproduced"].items() if right] == ["honest"]
    text = run.report().to_markdown()
    assert "4 answers hold numbers of the paper's tables" in text
    assert "searcher: settled 0.0% of the open choices" in text


def test_choices_of_a_memorised_answer_do_not_count() -> None:
    choice = {"option": "a", "reading": "stated", "options": 3, "published": False}
    choices = [
        {**choice, "name": "one", "altered": True, "open": False},
        {**choice, "name": "two", "altered": False, "open": True},
    ]
    row = {"choices": choices, "sample": 0, "status": "failed", "core_status": "failed", "prediction_sha256": ""}
    assert [choice["reading"] for choice in counted_choices(row)] == ["stated", "stated"]
    for key in ("memorised", "core_memorised"):
        memorised = ScoredAnswer.of({**row, key: True}, None)
        assert memorised.readings == ("none",)
        assert memorised.settled == ((False, 3, False),)
