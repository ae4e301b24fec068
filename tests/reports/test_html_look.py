"""The look of the HTML report in a real browser: width, colours, print, size; ten models beside each other."""

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.loader import dataset_sha256, row_sha256
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.reports.html import render_html
from lmrbench_evaluate.reports.report import make_report
from lmrbench_evaluate.runs.folder import RunFolder
from support.colours import RGB, SIGHTS, contrast, least_difference
from support.runs import result, write_run

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

MODELS = [f"maker-{number}/a-model-with-a-name-{number}b-instruct" for number in range(10)]
NAMES = [f"toy-instance-number-{number}" for number in range(6)]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, toy_row: dict[str, Any]) -> Path:
    """A report on ten models with three samples each, of every colour of outcome."""
    folder = tmp_path_factory.mktemp("look")
    rows = [{**toy_row, "instance_id": name} for name in NAMES]
    write_dataset([{**row, "row_sha256": row_sha256(row)} for row in rows], folder / "data", load_benchmark())
    rows = load_rows(folder / "data")
    case = str(toy_row["tests"]["cases"][0]["name"])
    results, predictions = [], []
    for number, model in enumerate(MODELS):
        for index, name in enumerate(NAMES):
            for sample in range(3):
                good = (index + sample) * 2 >= number
                text = f"def scale(values, factor):\n    return [v {'*' if good else '+'} factor for v in values]"
                text += f"  # {model} {sample} {'long ' * 60}\n"
                item = Prediction(name, model, "function", text, sample=sample, setting="standard", track="paper")
                status = "passed" if good else "timeout" if number == 9 and index == 0 else "failed"
                cases = [{"name": case, "seed": 0, "core": True, "status": status, "detail": "output[0]: got 1"}]
                row = result(name, status, model=model, cases=cases, setting="standard", track="paper", sample=sample)
                results.append({**row, "core_status": status, "prediction_sha256": item.sha256})
                predictions.append(item)
    RunFolder(folder / "run").path.mkdir()
    RunFolder(folder / "run").predictions.write(predictions)
    scope = {str(row["instance_id"]): str(row["category"]) for row in rows}
    facts = {"dataset": str(folder / "data"), "dataset_sha256": dataset_sha256(rows), "scope": scope}
    write_run(folder / "run", results, **facts, started_at="2026-11-03T09:12:44+00:00")
    label = Annotation("ada", NAMES[0], MODELS[9], "", "", 1, "LI", "The mean is over the wrong axis.")
    path = folder / "report.html"
    path.write_text(render_html(make_report([folder / "run"], annotations=[label])), encoding="utf-8")
    return path


def resize(browser: "Chrome", width: int, scheme: str = "light") -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def colour(browser: "Chrome", selector: str, name: str = "backgroundColor") -> RGB:
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    red, green, blue = (
        float(part) for part in re.findall(r"[\d.]+", browser.execute_script(script, selector, name))[:3]
    )
    return red, green, blue


@pytest.mark.nightly
@pytest.mark.slow
def test_page_fits_screens_and_colours_stay_distinct(browser: "Chrome", page: Path) -> None:
    for width in (1440, 390):
        resize(browser, width)
        browser.get(page.as_uri())
        browser.execute_script("document.querySelector('a[href^=\"#answer-1-9-\"]').click()")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.title.startswith(MODELS[0])
    assert len(browser.find_elements("css selector", "#matrix-1 ~ .scroll tbody td")) == 100
    assert "3 November 2026, 09:12 UTC" in browser.find_element("css selector", "header").text
    text = browser.find_element("css selector", "#answer-1-9").get_attribute("textContent")
    assert "The mean is over the wrong axis." in str(text)
    assert "def case_" in str(browser.find_element("css selector", "#instance-1").get_attribute("textContent"))
    for scheme in ("light", "dark"):
        resize(browser, 1440, scheme)
        browser.get(page.as_uri())
        chips = [f".legend .{name}" for name in ("robust", "failed", "timeout")]
        browser.execute_script(
            "document.querySelector('.legend').innerHTML += '<span class=\"chip reproduced\">x</span>'"
        )
        backs = {name: colour(browser, name) for name in [*chips, ".legend .reproduced"]}
        for name, back in backs.items():
            assert contrast(colour(browser, name, "color"), back) >= 4.5, (scheme, name)
        assert contrast(colour(browser, ".facts", "color"), colour(browser, "body")) >= 4.5, scheme
        outcomes = [backs[f".legend .{name}"] for name in ("robust", "reproduced", "failed")]
        for sight in SIGHTS:
            assert least_difference(outcomes, sight) >= 30, (scheme, sight)
        strong, weak = colour(browser, ".bar.ranks i"), colour(browser, ".bar:not(.ranks) i")
        panel = colour(browser, "figure")
        assert contrast(strong, panel) > contrast(weak, panel) >= 3, scheme
    assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.mark.nightly
@pytest.mark.slow
def test_print_is_a_light_sheet_with_everything_on_it(browser: "Chrome", page: Path) -> None:
    pymupdf = pytest.importorskip("pymupdf")
    resize(browser, 1440, "dark")
    browser.get(page.as_uri())
    browser.execute_script("document.querySelector('a[href^=\"#answer-1-9-\"]').click()")
    made = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": False})
    sheets = list(pymupdf.open(stream=base64.b64decode(made["data"])))
    pixels = sheets[0].get_pixmap()
    assert pixels.pixel(5, 5) == (255, 255, 255)
    for sheet in sheets:
        for x0, _, x1, _, word, *_ in sheet.get_text("words"):
            assert sheet.rect.x0 <= x0 < x1 <= sheet.rect.x1, word
    text = "".join(sheet.get_text() for sheet in sheets)
    assert not set(text) & set("\u2195\u2191\u2193"), "no arrows of sorting"
    flat = re.sub(r"\s", "", text)
    for expected in (*NAMES, *MODELS, "long" * 60):
        assert expected in flat
