"""The look of the HTML report in a real browser: width, colours, print, size; ten models beside each other."""

import base64
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from selenium.webdriver.support.ui import WebDriverWait

from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.loader import dataset_sha256, row_sha256
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.reports.html import render_html
from lmrbench_evaluate.reports.report import make_report
from lmrbench_evaluate.runs.folder import RunFolder
from support.colours import RGB, SIGHTS, contrast, difference, least_difference
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


def ready(browser: "Chrome") -> None:
    WebDriverWait(browser, 30).until(
        lambda browser: browser.execute_script("return !!document.querySelector('details[open][data-ready]')")
    )


@pytest.mark.slow
def test_a_cell_opens_its_first_failing_sample_under_its_name(browser: "Chrome", page: Path) -> None:
    resize(browser, 1440)
    browser.get(page.as_uri())
    assert browser.title.startswith(MODELS[0])
    assert "standard" not in "".join(item.text for item in browser.find_elements("css selector", "main th"))
    assert "3 November 2026, 09:12 UTC" in browser.find_element("css selector", "header").text
    order = [item.get_attribute("id") for item in browser.find_elements("css selector", "main h2")]
    assert order[:2] == ["table-1", "instances"]
    assert len(browser.find_elements("css selector", "#matrix-1 ~ .scroll tbody td")) == 100
    cell = browser.find_element("css selector", "a[href^='#answer-1-9-']")
    assert cell.get_attribute("href").endswith("-0")
    browser.execute_script("arguments[0].click()", browser.find_element("css selector", "a[href^='#answer-1-3-']"))
    ready(browser)
    sample = browser.find_element("css selector", "#answer-1-3 .sample:not([hidden])")
    assert sample.get_attribute("data-outcome") == "failed"
    browser.execute_script("arguments[0].querySelector('.source').click()", sample)
    assert "def case_" in sample.find_element("css selector", ".below pre").text
    assert "(seed=0)" in sample.find_element("css selector", ".below .notes").text
    assert "The mean is over the wrong axis." in browser.find_element("css selector", "#answer-1-9").get_attribute(
        "textContent"
    )
    assert MODELS[3] in sample.find_element("css selector", "pre.wrap").get_attribute("textContent"), "raw completion"
    browser.execute_script("scrollBy(0, 200)")
    box = browser.find_element("css selector", "details[open] > summary").rect
    top = browser.execute_script("return document.querySelector('details[open] > summary').getBoundingClientRect().top")
    assert 0 <= top < 5, "the name stays in view"
    assert box["height"] > 0
    skip = browser.find_element("css selector", ".skip")
    browser.execute_script("arguments[0].click()", skip)
    assert browser.switch_to.active_element.get_attribute("id") == "main"
    assert [entry["message"] for entry in browser.get_log("browser")] == []


@pytest.mark.parametrize("width", [1440, 768, 390])
def test_no_page_is_wider_than_its_screen(width: int, browser: "Chrome", page: Path) -> None:
    resize(browser, width)
    browser.get(page.as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.execute_script("document.querySelector('a[href^=\"#answer-1-9-\"]').click()")
    ready(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_colours_are_told_apart_by_everyone(browser: "Chrome", page: Path) -> None:
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
        outcomes = [backs[f".legend .{name}"] for name in ("robust", "reproduced", "failed")]
        for sight in SIGHTS:
            assert least_difference(outcomes, sight) >= 30, (scheme, sight)
        strong, weak = colour(browser, ".bar.ranks i"), colour(browser, ".bar:not(.ranks) i")
        panel, page_colour = colour(browser, "figure"), colour(browser, "body")
        assert contrast(strong, panel) > contrast(weak, panel) >= 3, scheme
        assert contrast(weak, colour(browser, ".bar")) >= 3, scheme
        assert contrast(colour(browser, ".bar b"), page_colour) >= 3, "the whisker on its outline"
        assert min(contrast(page_colour, bar) for bar in (strong, weak)) >= 3, "the outline on the bars"


def test_the_old_green_and_red_would_fail() -> None:
    old = (222, 242, 229), (251, 228, 228)
    assert difference(*old) > 10 > 2 > difference(*old, "deuteranopia")


@pytest.mark.slow
def test_print_is_a_light_sheet_with_everything_on_it(browser: "Chrome", page: Path) -> None:
    pymupdf = pytest.importorskip("pymupdf")
    resize(browser, 1440, "dark")
    browser.get(page.as_uri())
    browser.execute_script("document.querySelector('a[href^=\"#answer-1-9-\"]').click()")
    ready(browser)
    made = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True, "printBackground": False})
    sheets = list(pymupdf.open(stream=base64.b64decode(made["data"])))
    pixels = sheets[0].get_pixmap()
    assert pixels.pixel(5, 5) == (255, 255, 255)
    assert any(
        pixels.pixel(x, y) == (23, 63, 120) for x in range(0, pixels.width, 3) for y in range(pixels.height)
    ) or any(
        drawing["fill"] and [round(255 * part) for part in drawing["fill"]] == [23, 63, 120]
        for sheet in sheets
        for drawing in sheet.get_drawings()
    ), "bars are printed"
    for sheet in sheets:
        for x0, _, x1, _, word, *_ in sheet.get_text("words"):
            assert sheet.rect.x0 <= x0 < x1 <= sheet.rect.x1, word
    text = "".join(sheet.get_text() for sheet in sheets)
    assert not set(text) & set("\u2195\u2191\u2193"), "no arrows of sorting"
    flat = re.sub(r"\s", "", text)
    for expected in (*NAMES, *MODELS, "long" * 60):
        assert expected in flat
    # High rows break every table.
    browser.execute_script("document.head.insertAdjacentHTML('beforeend', '<style>.grid td { height: 5cm }</style>')")
    high = browser.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    grid = [sheet.get_text() for sheet in pymupdf.open(stream=base64.b64decode(high["data"]))]
    grid = [text for text in grid if sum(name in re.sub(r"\s", "", text) for name in NAMES) and "3/3" in text]
    assert len(grid) > 1
    assert all("maker-9/" in re.sub(r"\s", "", text) for text in grid), "heads are repeated"


def test_the_page_is_small_and_paints(browser: "Chrome", page: Path) -> None:
    browser.get(page.as_uri())
    samples = len(MODELS) * len(NAMES) * 3
    style = sum(map(len, re.findall(r"<(?:style|script)>.*?</", page.read_text(), re.S)))
    assert (page.stat().st_size - style) / samples < 2_500_000 / 840, "ten models, 28 instances, three samples: 2.5 MB"
    script = "return performance.getEntriesByType('paint').map((entry) => entry.name)"
    WebDriverWait(browser, 30).until(lambda browser: "first-contentful-paint" in browser.execute_script(script))
