"""The HTML report in a real browser: filters, keyboard, themes; nothing that a model wrote runs."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pymupdf
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.loader import dataset_sha256
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.reports.answer_diff import diff_answer, split_source
from lmrbench_evaluate.reports.html import render_html
from lmrbench_evaluate.reports.html.markup import prose
from lmrbench_evaluate.reports.report import make_report
from lmrbench_evaluate.runs.folder import RunFolder
from support.browser import LOW_CONTRAST
from support.command_line import Done, in_process
from support.runs import judgement, result, two_levels, write_run
from support.toy import TOY_ANSWER, WRONG, stamped

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

#: If any of this runs, it changes the title.
ATTACK = "document.title='owned'"
HOSTILE = [
    f"<script>{ATTACK}</script>",
    f"</script><script>{ATTACK}</script>",
    f"<img src=x onerror={ATTACK}>",
    f"</style><svg onload={ATTACK}>",
    f'"><a href=javascript:{ATTACK}>x</a>',
    "{{ 7 * 7 }}{% raw %}",
    "$\\frac{1}{0}$ _hidden ]]>",
    "\x1b[31mred\u202eleft\ud800",
]


@pytest.fixture
def page(tmp_path: Path, toy_row: dict[str, Any]) -> Callable[[list[dict[str, Any]]], str]:
    """Make a report on a dataset of three instances; the address of its page."""
    rows = []
    categories = {"toy-one": "Evaluation Metrics", "toy-two": "Data Augmentation", "toy-three": "Data Augmentation"}
    for name, category in categories.items():
        about = f"About {name}. {HOSTILE[0]} " * 5
        rows.append(stamped(toy_row, instance_id=name, category=category, instruction=about))
    write_dataset(rows, tmp_path / "lmr-bench", load_benchmark())
    rows = load_rows(tmp_path / "lmr-bench")
    facts = {
        "dataset": str(tmp_path / "lmr-bench"),
        "dataset_sha256": dataset_sha256(rows),
        "scope": {str(row["instance_id"]): str(row["category"]) for row in rows},
    }

    def make(answers: list[dict[str, Any]]) -> str:
        """Each answer: instance, model, status, code; optional judge category, detail, log."""
        run, results, predictions = tmp_path / "run", [], []
        run.mkdir()
        with (run / "judgements.jsonl").open("w") as judgements:
            for answer in answers:
                code, instance, detail = answer["code"], answer["instance"], answer.get("detail", "output[0]: got 1")
                named = {name: answer[name] for name in ("sample", "metadata") if name in answer}
                prediction = Prediction(instance, answer["model"], "function", code, **named)
                case = {"name": "random_values", "seed": 0, "core": True, "status": answer["status"], "detail": detail}
                row = result(instance, answer["status"], model=answer["model"], cases=[case], detail=detail)
                results.append({**row, "sample": prediction.sample, "prediction_sha256": prediction.sha256})
                predictions.append(prediction)
                if answer.get("log"):
                    log = run / "logs" / instance / f"{prediction.sha256[:16]}.log"
                    log.parent.mkdir(parents=True, exist_ok=True)
                    log.write_text(answer["log"])
                if answer.get("judge"):
                    sha, text = prediction.sha256, answer["said"]
                    vote = judgement(instance, answer["judge"], text=text, prediction_sha256=sha)
                    judgements.write(json.dumps(vote) + "\n")
        RunFolder(run).predictions.write(predictions)
        write_run(run, results, **facts)
        path = tmp_path / "report.html"
        path.write_text(render_html(make_report([run])), encoding="utf-8")
        return path.as_uri()

    return make


def answer(instance: str, model: str, status: str, code: str = WRONG, **more: Any) -> dict[str, Any]:
    return {"instance": f"toy-{instance}", "model": model, "status": status, "code": code, **more}


ANSWERS = [
    answer("one", "good", "passed", TOY_ANSWER, judge="CC", said="It is right."),
    answer("two", "good", "passed", TOY_ANSWER),
    answer("one", "bad", "failed", judge="LI", said="It adds."),
    answer("two", "bad", "malformed", "no code", log="a line of the log"),
    answer("one", "many", "passed", TOY_ANSWER, metadata={"cost_usd": 0.125}),
    answer("one", "many", "failed", sample=1),
    answer("one", "many", "failed", sample=2),
    answer("two", "many", "failed", metadata={"finish_reason": "length"}),
]


def shown(browser: "Chrome", selector: str) -> list[str]:
    return [element.text for element in browser.find_elements(By.CSS_SELECTOR, selector) if element.is_displayed()]


def follow(browser: "Chrome", text: str) -> None:
    """Click a link, even below a sticky head."""
    browser.execute_script("arguments[0].click()", browser.find_element(By.LINK_TEXT, text))


def complaints(browser: "Chrome") -> list[str]:
    return [entry["message"] for entry in browser.get_log("browser")]


def requests(browser: "Chrome") -> set[str]:
    """The requested addresses, without the page's own."""
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = {event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"}
    return {url for url in urls if not url.startswith(("data:", "file:"))}


@pytest.mark.slow
def test_reader_filters_sorts_and_opens_answers(browser: "Chrome", page: Callable[..., str]) -> None:
    browser.get(page(ANSWERS))
    names = ["toy-one", "toy-three", "toy-two"]
    assert shown(browser, "table.grid tbody th") == names
    assert [text.split()[0] for text in shown(browser, "details.instance > summary")] == names
    grid = ["robust CC", "failed LI", "1/3", "missing", "missing", "missing", "robust", "malformed", "0/1, 2 missing"]
    assert sorted(shown(browser, "table.grid td")) == sorted(grid)
    assert shown(browser, "section.answer") == [], "closed at first"

    def choose(field: str, text: str) -> list[str]:
        Select(browser.find_element(By.ID, f"filter-{field}")).select_by_visible_text(text)
        return shown(browser, "table.grid tbody th")

    body = browser.find_element(By.TAG_NAME, "body")
    body.send_keys("/")
    browser.switch_to.active_element.send_keys("two")
    assert shown(browser, "#count") == ["1 of 3 instances"]
    browser.find_element(By.ID, "reset").click()
    assert choose("category", "Data Augmentation") == ["toy-three", "toy-two"]
    browser.find_element(By.ID, "reset").click()
    assert choose("status", "judged LI") == ["toy-one"]
    address = browser.current_url
    browser.get("about:blank")
    browser.get(address)
    assert shown(browser, "table.grid tbody th") == ["toy-one"], "filters are in the address"
    browser.find_element(By.ID, "reset").click()

    follow(browser, "failed LI")
    text = "\n".join(shown(browser, "details.instance[open] .body"))
    for expected in ("About toy-one.", "output[0]: got 1", "It adds."):
        assert expected in text
    assert "    return [value + factor for value in values]" in shown(browser, ".diff .add")
    assert "    return scaled" in shown(browser, ".diff .del")
    assert browser.switch_to.active_element.text == "bad"
    follow(browser, "1/3")
    assert shown(browser, ".samples a") == ["sample 0: robust CC", "samples 1, 2: failed LI"], (
        "equal samples are one answer"
    )
    assert shown(browser, ".samples a[aria-current]") == ["sample 0: robust CC"]
    follow(browser, "sample 0: robust CC")
    assert shown(browser, "section.answer .verdict small") == ["0.1250 US dollars"]

    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert shown(browser, "details.instance[open]") == []
    assert complaints(browser) == []
    assert requests(browser) == set()

    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        seen, low = browser.execute_script(LOW_CONTRAST)
        assert (seen > 50, low) == (True, []), scheme
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    )
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    table = browser.find_element(By.CSS_SELECTOR, ".plots .scroll")
    edges = []
    for place in (0, 9999):
        browser.execute_script("arguments[0].scrollLeft = arguments[1]", table, place)
        image = pymupdf.Pixmap(table.screenshot_as_png)
        edges.append(image.pixel(image.width - 2, image.height - 8))
    assert edges[0] != edges[1] == (255, 255, 255), "a shade says that the table goes on, until its end"


@pytest.mark.slow
def test_text_of_models_never_becomes_markup(browser: "Chrome", page: Callable[..., str]) -> None:
    code = WRONG.replace("return", "# {}\n    return")
    answers = [
        answer("one", text, "failed", code.replace("{}", text), detail=text, judge="LI", said=text, log=text)
        for text in HOSTILE[:-1]
    ]
    answers.append(answer("two", "m", "failed", detail=HOSTILE[-1]))
    browser.get(page(answers))
    for summary in browser.find_elements(By.CSS_SELECTOR, "details.instance > summary"):
        summary.click()
    assert browser.title == "LMR-Bench report", "not owned"
    assert len(browser.find_elements(By.TAG_NAME, "script")) == 1
    assert browser.find_elements(By.CSS_SELECTOR, "img, iframe, a[href^='javascript']") == []
    headings, added, why = (shown(browser, where) for where in ("section.answer h4", ".diff .add", ".why td"))
    points = shown(browser, ".rationale li")
    for text in HOSTILE[:-1]:
        assert text in headings
        assert any(text in line for line in added), text
        assert any(text in cell for cell in why), text
        point = text if "$" not in text else "_hidden ]]>"  # the rest of it is a formula
        assert any(point in shown_point for shown_point in points), text
    assert browser.find_elements(By.CSS_SELECTOR, ".rationale math mfrac")
    assert "\ufffd[31mred\ufffdleft\ufffd" in why
    assert complaints(browser) == []
    assert requests(browser) == set()


def test_missing_dataset_is_reported(tmp_path: Path, page: Callable[..., str]) -> None:
    page(ANSWERS)
    path = tmp_path / "run" / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "dataset": str(tmp_path / "elsewhere")}))
    report = make_report([tmp_path / "run"])
    text = render_html(report)
    assert "the dataset cannot be loaded" in text
    assert "output[0]: got 1" in text
    assert "About toy-one" not in text
    report.runs[0].update(complete=False)
    assert "is incomplete: its numbers are not final" in render_html(report)


def test_marks_mean_the_same_in_both_tracks_and_chips_name_models_in_one_order(tmp_path: Path) -> None:
    rows = []
    for track in ("paper", "contract"):
        for name, pairs in {"a-one": ["passed failed", "passed passed"], "a-two": ["malformed malformed"] * 2}.items():
            for sample, pair in enumerate(pairs):
                rows.append(two_levels(name, *pair.split(), track=track, sample=sample))
    rows.append(two_levels("a-one", "failed", "failed", track="contract", model="n"))
    run = write_run(tmp_path / "run", rows, run_id="x" * 90, scope={"a-one": "Alpha", "a-two": "Alpha"})
    votes = [judgement("a-one", "CC", track=track) for track in ("paper", "contract")]
    (run / "judgements.jsonl").write_text("".join(json.dumps(vote) + "\n" for vote in votes))
    html = render_html(make_report([run]))
    header = html.partition("<main")[0]
    assert f"<li>run <code>{'x' * 90}</code> of" in header
    chart = html.partition('<h2 id="categories">')[2].partition("<h2")[0]
    bars = re.findall(r'm, (paper|contract).*?<i style="width:([\d.]+)%"></i><u style="left:([\d.]+)%">', chart, re.S)
    assert bars == [("paper", "50.0", "25.0"), ("contract", "25.0", "50.0")], "the bar ranks, the line is the other"
    assert 'class="none" title="none 50%"' in html, "two malformed of four answers"
    chips = [re.findall(r"<b>(.*?)</b>", part) for part in re.findall(r'<span class="chips">.*?</summary>', html, re.S)]
    assert chips == [["m, paper", "m, contract", "n, contract"]] * 2
    assert "--part-robust:50%;--part-reproduced:100%;--part-wrong:100%" in html
    assert "Core only: reproduced, not robust." in html


def test_prose_keeps_markdown_and_formulas_only() -> None:
    text = prose("A *mean* of `x`:\n\n- $\\frac{1}{n}$\n\n$$\n\\sum_{i} x_i\n$$\n\nIt costs $5 and $6.")
    for expected in ("<em>mean</em>", "<code>x</code>", "<li>", "<mfrac>", 'display="block"', "It costs $5 and $6."):
        assert expected in text
    hostile = ["\\text{<img src=x onerror=alert(1)>}", "\\href{javascript:alert(1)}{x}", "\\class{warning}{x}"]
    hostile += ["\\style{background:url(http://example.org)}{x}", "</math><script>alert(1)</script>", "{" * 900]
    for source in hostile:
        made = prose(f"${source}$ [link](http://example.org) ![image](http://example.org/x.png) <b onclick=x>bold</b>")
        assert not re.search(r"<(?!/?(p|span|math|m\w+|code|em|strong)\b)", made), made
        assert not re.search(r"<[^>]*(href|style|onerror|onclick|src|class=\"warning)", made), made


def test_difference_ignores_the_docstring(toy_row: Any) -> None:
    answer = (
        'import math\n\ndef scale(values, factor):\n    """Other words."""\n    return [v * factor for v in values]\n'
    )
    function, rest = diff_answer(toy_row, Prediction("toy-scale", "m", "function", answer))
    titles = ["scale, from the reference", "The rest of scale.py, from the masked file"]
    assert [function.title, rest.title] == titles
    changed = [line.text for part in (function, rest) for line in part.lines if line.kind in ("add", "del")]
    assert not [line for line in changed if '"""' in line]
    assert "    return [v * factor for v in values]" in changed
    assert "import math" in changed
    [same] = diff_answer(toy_row, Prediction("toy-scale", "m", "goal_file", toy_row["golden_file"]))
    assert [line.text for line in same.lines] == ["the same as the reference"]
    longer = Prediction("toy-scale", "m", "goal_file", toy_row["golden_file"] + "\nraise ValueError\n")
    assert [line.text for line in diff_answer(toy_row, longer)[0].lines] == [
        "no line differs here, but the files differ elsewhere"
    ]
    [row] = load_rows("embedded", "function", ["empathy-gap-delta"])
    [function], *_ = split_source(row["golden_file"], [row["goal_function"]])
    [alone] = diff_answer(row, Prediction("empathy-gap-delta", "m", "function", function))
    note = "no line differs here, but the files differ elsewhere"
    assert [line.text for line in alone.lines] == [note], "a masked helper was not deleted by the model"
    helped = Prediction("empathy-gap-delta", "m", "function", f"def help():\n    pass\n\n\n{function}")
    [_, rest] = diff_answer(row, helped)
    assert {line.kind for line in rest.lines if line.text.strip()} == {"same", "add"}
    odd = "    # one\u2028two\x85three\x0cfour\r\n"
    [part, *_] = diff_answer(
        toy_row, Prediction("toy-scale", "m", "function", answer.replace("    return", f"{odd}    return"))
    )
    assert odd.rstrip() in part.after
    [broken] = diff_answer(toy_row, Prediction("toy-scale", "m", "function", "no code"))
    assert broken.lines[0].text.startswith("cannot be applied: ")
    assert broken.lines[1].text == "no code"


@pytest.mark.slow
def test_show_explains_one_answer(tmp_path: Path, page: Callable[..., str]) -> None:
    page(ANSWERS)
    run = str(tmp_path / "run")

    def show(*arguments: str) -> Done:
        return in_process("show", run, *arguments)

    done = show("toy-one", "--model", "many", "--sample", "2")
    assert done.returncode == 0, done.stderr
    for expected in ("sample 1, 2", "## Verdict: failed (not reproduced)", "`random_values` (core, seed 0)", "got 1"):
        assert expected in done.stdout
    assert "+     return [value + factor for value in values]" in done.stdout
    judged = show("toy-one", "--model", "bad").stdout
    assert "## Judge: LI: Incorrect logic" in judged
    assert "It adds." in judged
    of_samples = show("toy-one", "--model", "many").stdout
    assert "took 0.1250 US dollars" in of_samples
    assert "## Samples: 1 of 3 reproduced\n\n- 0: robust" in of_samples
    assert "the reply was cut at the token limit; raise --max-tokens" in show("toy-two", "--model", "many").stdout
    report = make_report([tmp_path / "run"])
    assert [score.as_dict()["cut_at_token_limit"] for score in report.scores if score.model == "many"] == [1]
    assert "many: 1 answer was cut at the token limit; raise --max-tokens." in report.to_markdown()
    as_json = json.loads(show("toy-one", "--model", "many", "--json").stdout)
    assert [item["outcome"] for item in as_json["all_samples"]] == ["robust", "failed", "failed"]
    listed = show().stdout
    assert listed.index("toy-one") < listed.index("toy-two")
    assert re.search(r"toy-two +many +failed +random_values, seed 0: output\[0\]: got 1", listed)
    assert "good" not in listed
    rows = json.loads(show("--model", "bad", "--json").stdout)
    assert [(row["instance"], row["outcome"]) for row in rows] == [("toy-one", "failed"), ("toy-two", "malformed")]
    assert show("--model", "good").stdout == "every answer passed every case\n"
    for arguments, reason in (
        (["--model", "nobody"], "--model: choose one model, setting and track"),
        (["--sample", "1"], "--sample: belongs to an instance"),
        (["toy-one"], "--model: choose one model, setting and track; the answers of this run are: "),
        (["toy-on", "--model", "many"], "'toy-on' is not in the scope of this run (did you mean 'toy-one'?)"),
        (["toy-one", "--model", "many", "--sample", "7"], "--sample: 7 does not exist; the samples of this"),
    ):
        done = show(*arguments)
        assert (done.returncode, done.stdout) == (1, "")
        assert reason in done.stderr
        assert done.stderr.count("\n") == 1
