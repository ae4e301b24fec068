"""The look of the HTML report in a real browser: width, colours, print, size; ten models beside each other."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lmrbench_evaluate.reports.html import render_html
from lmrbench_evaluate.reports.report import make_report
from support.runs import two_levels, write_run

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

MODELS = [f"maker-{number}/a-model-with-a-name-{number}b-instruct" for number in range(10)]
NAMES = [f"toy-instance-number-{number}" for number in range(6)]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on ten models with three samples each, of every colour of outcome."""
    folder, rows = tmp_path_factory.mktemp("look"), []
    for number, model in enumerate(MODELS):
        for index, name in enumerate(NAMES):
            for sample in range(3):
                status = "passed" if (index + sample) * 2 >= number else "failed"
                status = "timeout" if number == 9 and index == 0 else status
                rows.append(two_levels(name, status, status, model=model, setting="standard", sample=sample))
    path = folder / "report.html"
    run = write_run(folder / "run", rows, scope=dict.fromkeys(NAMES, "Evaluation Metrics"))
    path.write_text(render_html(make_report([run])), encoding="utf-8")
    return path


def resize(browser: "Chrome", width: int, scheme: str = "light") -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def luminance(browser: "Chrome", selector: str, name: str = "backgroundColor") -> float:
    """The relative luminance of a colour (WCAG 2)."""
    script = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    parts = [float(part) / 255 for part in re.findall(r"[\d.]+", browser.execute_script(script, selector, name))[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


@pytest.mark.nightly
@pytest.mark.slow
def test_page_fits_screens_and_its_text_has_contrast(browser: "Chrome", page: Path) -> None:
    for width in (1440, 390):
        resize(browser, width)
        browser.get(page.as_uri())
        browser.execute_script("document.querySelector('a[href^=\"#answer-1-9-\"]').click()")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    for scheme in ("light", "dark"):
        resize(browser, 1440, scheme)
        browser.get(page.as_uri())
        chips = [f".legend .{name}" for name in ("robust", "failed", "timeout")]
        browser.execute_script(
            "document.querySelector('.legend').innerHTML += '<span class=\"chip reproduced\">x</span>'"
        )
        backs = {name: luminance(browser, name) for name in [*chips, ".legend .reproduced"]}
        for name, back in backs.items():
            assert contrast(luminance(browser, name, "color"), back) >= 4.5, (scheme, name)
        assert contrast(luminance(browser, ".facts", "color"), luminance(browser, "body")) >= 4.5, scheme
        strong, weak = luminance(browser, ".bar.ranks i"), luminance(browser, ".bar:not(.ranks) i")
        panel = luminance(browser, "figure")
        assert contrast(strong, panel) > contrast(weak, panel) >= 3, scheme
    assert [entry["message"] for entry in browser.get_log("browser")] == []
