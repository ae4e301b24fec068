"""Draw the pictures of reports and of the leaderboard, from invented answers of invented models, in Chromium.

    PYTHONPATH=tests python docs/screenshots.py

writes docs/images/report*.png, docs/images/space*.png, and docs/images/readers.png from the attempts of real readers.
"""

import json
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pymupdf
from matplotlib import pyplot
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from counts import read_attempts
from lmrbench_data.dataset.load import load_rows
from lmrbench_data.loader import FUNCTION, dataset_sha256
from lmrbench_data.tasks.experiments import HARD, ROWS, SILENT
from lmrbench_data.tasks.task_folders import load_tasks
from lmrbench_evaluate.hub.record import Entry
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.reports.annotations import Annotation
from lmrbench_evaluate.reports.report import make_report
from lmrbench_evaluate.runs.folder import RunFolder
from support.hub_server import Hub
from support.runs import judgement, result, write_run
from support.space_app import make_entry, make_record, record_files, served_space

IMAGES = Path(__file__).with_name("images")
#: Model → its share of right answers and the dollars of one answer.
MODELS = {"maker-1/model-a": (0.75, 0.07), "maker-2/model-b-mini": (0.55, 0.02), "maker-3/model-c-70b": (0.35, 0.005)}
#: Model → its share of right answers and the dollars of a run, on the leaderboard.
CONTENDERS = {
    "maker-1/model-a-codex": (0.95, 8.05),
    "maker-2/model-b-large": (0.92, 9.66),
    "maker-3/model-c-pro": (0.90, 6.26),
    "maker-4/model-d-coder-480b-instruct": (0.85, 1.92),
    "maker-5/model-e-v3.2": (0.82, 0.62),
    "maker-6/model-f-instruct": (0.80, 0.98),
    "maker-7/model-g-17b-128e": (0.70, 0.40),
    "maker-1/model-h-120b": (0.60, 0.18),
    "maker-8/model-i-medium": (0.50, 0.55),
    "maker-4/model-j-8b": (0.20, 0.05),
}
DIFFERENCES = [
    "output[0]: got 0.502, expected 0.704 (relative error 0.29, tolerance 1e-4), 3 of 3 values differ",
    "output['loss']: got 1.49, expected 0.936 (relative error 0.59, tolerance 1e-4), 6 of 6 values differ",
    "output[1]: got 0.183, expected 0.487 (relative error 0.62, tolerance 1e-4), 2 of 2 values differ",
]
REPO = "org/lmr-bench-results"


def write_answers(folder: Path) -> Path:
    """Write a run of the models with five samples of each row."""
    draw, rows = random.Random(7), load_rows("embedded", FUNCTION)
    results: list[dict[str, Any]] = []
    predictions, judgements = [], []
    for row in rows:
        ease = draw.uniform(-0.25, 0.25)
        for model, (skill, cost) in MODELS.items():
            for sample in range(5):
                place = draw.random() - ease
                core = "passed" if place < skill else draw.choice(["failed"] * 4 + ["error", "timeout"])
                contract = "passed" if core == "passed" and place < 0.85 * skill else "failed"
                text = row.get("golden_file", "") + "\n" * sample
                if core != "passed":
                    text = "    return 2 * ".join(text.rsplit("    return ", 1))
                metadata = {
                    "cost_usd": cost * draw.uniform(0.8, 1.2),
                    "usage": {"prompt_tokens": draw.randint(2500, 4000), "completion_tokens": draw.randint(900, 4000)},
                    "duration_s": draw.uniform(10, 60),
                }
                item = Prediction(row["instance_id"], model, "goal_file", text, sample, "standard", "paper", metadata)
                predictions.append(item)
                cases = [
                    {
                        "name": case["name"],
                        "seed": seed,
                        "core": case["core"],
                        "status": core if case["core"] else contract,
                        "detail": "" if core == "passed" and case["core"] else DIFFERENCES[number % 3],
                    }
                    for number, case in enumerate(row["tests"]["cases"])
                    for seed in range(3)
                ]
                status = contract if core == "passed" else core
                changes: dict[str, Any] = {"setting": "standard", "track": "paper", "sample": sample, "cases": cases}
                changes |= {"core_status": core, "prediction_sha256": item.sha256}
                results.append(result(row["instance_id"], status, model=model, **changes))
                category = "CC" if status == "passed" else "LC" if core == "passed" or draw.random() < 0.3 else "LI"
                said = "The mean is over the wrong axis." if category == "LI" else "It follows the paper's equation."
                judgements.append(
                    judgement(
                        row["instance_id"],
                        category,
                        text=said,
                        judge_model="judge-x",
                        track="paper",
                        prediction_sha256=item.sha256,
                    )
                )
    scope = {row["instance_id"]: row["category"] for row in rows}
    facts = {"dataset_sha256": dataset_sha256(rows), "benchmark_version": "0.1.0", "config": FUNCTION, "scope": scope}
    run = write_run(folder / "three", results, **facts, started_at="2026-11-03T09:12:44+00:00")
    RunFolder(run).predictions.write(predictions)
    (run / "judgements.jsonl").write_text("".join(json.dumps(row) + "\n" for row in judgements), encoding="utf-8")
    return run


def label(run: Path) -> list[Annotation]:
    """Return the labels of two people who mostly agree with the judge."""
    draw, rows = random.Random(3), [json.loads(line) for line in (run / "judgements.jsonl").open(encoding="utf-8")]
    items = list(RunFolder(run).predictions)
    labels = []
    for item, row in list(zip(items, rows, strict=True))[::7]:
        for person in ("ada", "ben"):
            category = row["category"] if draw.random() < 0.8 else draw.choice(["CC", "LC", "LI"])
            place = "standard", "paper", item.sample, "The mean is over the wrong axis."
            labels.append(Annotation(person, item.instance_id, item.model, category, *place))
    return labels


def contender(model: str, scope: dict[str, str], track: str, skill: float, dollars: float) -> Entry:
    """Return a model's line of the leaderboard."""
    draw = random.Random(f"{model} {track}")
    outcomes = ["robust" if draw.random() < 0.9 else "reproduced" for _ in range(round(skill * len(scope)))]
    outcomes += ["failed"] * (len(scope) - len(outcomes))
    draw.shuffle(outcomes)
    entry = make_entry(model, outcomes, instances=scope, track=track, cost=dollars)
    judged = {"CC": outcomes.count("robust"), "LC": outcomes.count("reproduced"), "LI": outcomes.count("failed")}
    overall = entry.overall.model_copy(update={"claimed_judged": judged})
    return entry.model_copy(update={"overall": overall, "judges": ["judge-x"]})


class Browser:
    """Chromium that takes pictures of pages."""

    def __init__(self) -> None:
        options = ChromeOptions()
        options.binary_location = str(shutil.which("chromium"))
        for flag in ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars"):
            options.add_argument(f"--{flag}")
        self.chrome = Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))

    def open(self, address: str, width: int, height: int, theme: str = "light") -> None:
        """Load a page on a screen of this size."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": theme}]
        self.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.chrome.get("about:blank")
        self.chrome.get(address)

    def run(self, script: str) -> Any:
        """Run a script in the page."""
        return self.chrome.execute_script(script)

    def save(self, name: str) -> None:
        """Save what the screen shows."""
        time.sleep(0.5)
        self.chrome.save_screenshot(str(IMAGES / name))


def draw_report(browser: Browser, folder: Path) -> None:
    """Take the pictures of a report: its head, the grid, one answer, and its figures."""
    run = write_answers(folder / "run")
    report = make_report([run], annotations=label(run))
    page = report.save(folder / "report.html").as_uri()
    show = 'document.querySelector("#row-instance-2 td:nth-child(3) a").click()'
    for name, size in (("report", (1400, 1500)), ("report-phone", (420, 1500))):
        browser.open(page, *size)
        browser.save(f"{name}.png")
    browser.open(page, 1400, 1500)
    browser.run("document.getElementById('instances').scrollIntoView()")
    browser.save("report-grid.png")
    for name, size in (("report-answer-dark", (1400, 1250)), ("report-phone-dark", (420, 1500))):
        browser.open(page, *size, "dark")
        browser.run(show)
        browser.run("document.activeElement.scrollIntoView(); scrollBy(0, -140)")
        browser.save(f"{name}.png")
    report.save_figures(folder / "figures")
    sheet = pymupdf.open().new_page(width=504, height=205)
    for number, name in enumerate(("scores", "pass-at-k")):
        figure: Any = pymupdf.open(folder / "figures" / f"{name}.pdf")
        height = 252 * figure[0].rect.height / figure[0].rect.width
        sheet.show_pdf_page(pymupdf.Rect(252 * number, 0, 252 * (number + 1), height), figure)
    sheet.get_pixmap(dpi=150).save(IMAGES / "report-figures.png")


def draw_readers(_browser: Browser, _folder: Path) -> None:
    """Draw the share of attempts that reproduced within a number of CPU seconds, where somebody counted."""
    attempts = [item for item in read_attempts(load_tasks()) if item.cpu_s and item.reader == "with a shell"]
    most = max(item.cpu_s or 0 for item in attempts)
    pyplot.style.use({"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False})
    figure, axes = pyplot.subplots(figsize=(3.3, 2.2), layout="constrained")
    axes.set(xlim=(0, most), ylim=(0, 100), xlabel="budget per answer (CPU seconds)", ylabel="% reproduced within it")
    for difficulty, marker, colour in ((HARD, "o", "#0072b2"), (SILENT, "s", "#d55e00")):
        group = [item for item in attempts if item.instance.difficulty == difficulty]
        spent = sorted(item.cpu_s for item in group if item.is_reproduced)
        heights = [100 * number / len(group) for number in range(len(spent) + 1)]
        look: Any = {
            "marker": marker,
            "color": colour,
            "markevery": slice(1, len(spent) + 1),
            "label": ROWS[difficulty],
        }
        axes.plot([0, *spent, most], [*heights, heights[-1]], drawstyle="steps-post", ms=4, clip_on=False, **look)
    figure.legend(loc="outside lower center", ncols=2)
    figure.savefig(IMAGES / "readers.png", dpi=250)


def draw_space(browser: Browser, folder: Path) -> None:
    """Take the pictures of the leaderboard."""
    scope = {row["instance_id"]: row["category"] for row in load_rows("embedded", FUNCTION)}
    papers = {row["instance_id"]: row["paper_title"] for row in load_rows("embedded", FUNCTION)}
    tasks = {name: {"category": scope[name], "paper": paper, "url": ""} for name, paper in papers.items()}
    records = []
    for number, (model, (skill, dollars)) in enumerate(CONTENDERS.items()):
        entries = [contender(model, scope, track, skill, dollars) for track in ("paper", "contract")]
        facts = {"verified_at": f"2026-06-{number + 10}T00:00:00+00:00", "submitted_by": ("ann", "bob")[number % 2]}
        run_id = f"2026-06-{number + 10}-{model.partition('/')[2]}-standard"
        records.append(make_record(run_id, *entries, tasks=tasks, benchmark_version="0.1.0", **facts))
    with Hub() as hub:
        hub.commit(REPO, record_files(*records), "main")
        with served_space(hub, REPO, folder) as address:
            for name, size, theme, script in (
                ("space-desktop", (1440, 1130), "light", ""),
                ("space-phone", (390, 1100), "light", ""),
                ("space-phone-dark", (390, 1100), "dark", "document.querySelector('.ranking').scrollIntoView()"),
                ("space-desktop-dark", (1440, 1210), "dark", "document.querySelector('.plot').scrollIntoView()"),
                ("space-task", (1440, 1030), "light", "document.querySelector('#grid-paper td.failed a').click()"),
            ):
                browser.open(f"{address}/?__theme={theme}", *size, theme)
                while not browser.run("return document.querySelector('.ranking tbody tr')"):
                    time.sleep(0.5)
                time.sleep(3)  # until the menus are filled
                browser.run(script)
                browser.save(f"{name}.png")


def main() -> None:
    """Take all pictures, or those of `report`, `readers` or `space` alone."""
    browser = Browser()
    with tempfile.TemporaryDirectory() as folder:
        for name, draw in (("report", draw_report), ("readers", draw_readers), ("space", draw_space)):
            if name in (sys.argv[1:] or ["report", "readers", "space"]):
                (Path(folder) / name).mkdir()
                draw(browser, Path(folder) / name)
    browser.chrome.quit()


if __name__ == "__main__":
    main()
