"""The look of the HTML report in a real browser: width, colours, print, size; ten models beside each other."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lmrbench_evaluate.reports.html import render_html
from lmrbench_evaluate.reports.report import make_report
from support.browser import LOW_CONTRAST
from support.runs import judgement, two_levels, write_run

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


@pytest.mark.nightly
@pytest.mark.slow
def test_page_fits_screens_and_its_text_has_contrast(browser: "Chrome", page: Path) -> None:
    for width in (1440, 390):
        resize(browser, width)
        browser.get(page.as_uri())
        browser.execute_script("document.querySelector('a[href^=\"#answer-1-9-\"]').click()")
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        high = "return [...document.querySelectorAll(arguments[0])].map((item) => item.getBoundingClientRect().height)"
        labels, rows = (browser.execute_script(high, f".multiples .row{of}") for of in (" .label", ""))
        assert len(labels) == 10
        assert all(label + 8 <= row for label, row in zip(labels, rows, strict=True)), "names do not touch"
        assert max(browser.execute_script(high, ".grid th[scope=row]")) < 60, "an id takes two lines at most"
    for scheme in ("light", "dark"):
        resize(browser, 1440, scheme)
        browser.get(page.as_uri())
        browser.execute_script(
            "document.querySelector('.legend').innerHTML += '<span class=\"chip reproduced\">x</span>'"
        )
        seen, low = browser.execute_script(LOW_CONTRAST)
        assert (seen > 100, low) == (True, []), scheme
    assert [entry["message"] for entry in browser.get_log("browser")] == []
