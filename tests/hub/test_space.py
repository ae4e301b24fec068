"""The leaderboard Space, alone in a folder, against a loopback Hub, in a real browser; and the maintainers' workflow.

Only verified rows are ranked; a damaged run is left out and named; nothing that a submitter wrote runs.
"""

import hashlib
import io
import json
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from huggingface_hub import SpaceCardData
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from lmrbench_data.base.shares import wilson
from lmrbench_evaluate.hub.maintainer.publication import published_schema
from lmrbench_evaluate.reports.stats import holm, mcnemar
from support.hub_server import Hub
from support.lying_parquet import index_out_of_range
from support.space_app import PATIENCE_S, ROOT, SPACE, served_space

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

REPO = "org/lmr-bench-results"
#: Two categories; no verified run answers `beta-two`.
INSTANCES = {"alpha-one": "Data Augmentation", "alpha-two": "Data Augmentation", "beta-one": "Evaluation Metrics"}
SCOPE_SIZE = 4

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]


# --- what lies in the dataset -----------------------------------------------------------------------------------------


def run_rows(
    run_id: str, model: str, statuses: list[str], *, instances: Mapping[str, str] = INSTANCES, **facts: Any
) -> list[dict[str, Any]]:
    """One row per instance, in the order of `instances` (name to category)."""
    shared = {
        "run_id": run_id,
        "model_name_or_path": model,
        "setting": "standard",
        "track": "paper",
        "sample": 0,
        "detail": "",
        "memorised": False,
        "core_memorised": False,
        "cases": [{"name": "c", "seed": 0, "core": True, "status": "passed", "detail": ""}],
        "duration_s": 1.0,
        "sandbox": "docker",
        "dataset": "embedded",
        "config": "function",
        "dataset_sha256": "d" * 64,
        "benchmark_version": "1.0.0",
        "started_at": "2026-01-01T00:00:00+00:00",
        "submitted_by": "bob",
        "scope_size": SCOPE_SIZE,
        "choices_counted": 0,
        "choices_stated": 0,
        "choices_chance": 0.0,
        **facts,
    }
    answers = zip(instances.items(), statuses, strict=False)
    return [
        {
            **shared,
            "instance_id": name,
            "category": kind,
            "paper_title": f"Paper of {name}",
            "paper_url": f"https://example.org/{name}",
            "prediction_sha256": hashlib.sha256(f"{run_id} {model} {name}".encode()).hexdigest(),
            # `reproduced`: core cases pass and another fails.
            "status": "failed" if status == "reproduced" else status,
            "core_status": "passed" if status == "reproduced" else status,
        }
        for (name, kind), status in answers
    ]


def parquet(rows: list[dict[str, Any]], columns: pa.Schema | None = None) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows, schema=columns or published_schema()), sink)
    return sink.getvalue()


def run_files(
    rows: list[dict[str, Any]], verified_at: str | None = "2026-02-01T00:00:00+00:00", **record: Any
) -> dict[str, bytes]:
    """A run as it lies in the dataset, with its record if it is verified."""
    run_id, content = rows[0]["run_id"], parquet(rows)
    files = {
        f"data/{run_id}.parquet": content,
        f"runs/{run_id}/run.json": json.dumps({"run_id": run_id}).encode(),
        f"runs/{run_id}/predictions.jsonl": b"{}\n",
        f"runs/{run_id}/logs.tar.gz": f"logs of {run_id}".encode(),
    }
    if verified_at:
        facts = {"run_id": run_id, "parquet_sha256": hashlib.sha256(content).hexdigest(), "verified_at": verified_at}
        facts |= {"verified_by": "ann", "rows": len(rows), "agreed": len(rows), **record}
        files[f"verified/{run_id}.json"] = json.dumps(facts).encode()
    return files


# --- the app and the page ---------------------------------------------------------------------------------------------


class Leaderboard:
    """The running app, the Hub that it reads, and a browser that looks at it."""

    def __init__(self, hub: Hub, address: str, browser: "Chrome") -> None:
        self.hub, self.address, self.browser = hub, address, browser

    def publish(self, *parts: dict[str, bytes]) -> str:
        """Make the dataset consist of exactly these files."""
        files = {"README.md": b"# Results\n"}
        for part in parts:
            files |= part
        return self.hub.commit(REPO, files, "main")

    def open(self) -> None:
        self.browser.get(self.address)
        self.until(lambda: self.find("#board"), "the page shows nothing")

    def reload(self, sha: str) -> None:
        """Press the button until the page shows this commit (a press right after another one is ignored)."""

        def shown() -> bool:
            if sha[:12] in self.text("#state"):
                return True
            self.find("#reload")[0].click()
            time.sleep(2.5)
            return False

        self.until(shown, f"{sha[:12]} is never shown")

    def show(self, *parts: dict[str, bytes]) -> None:
        sha = self.publish(*parts)
        self.open()
        self.reload(sha)

    def choose(self, menu: str, choice: str) -> None:
        """Pick from a menu as a user does, and wait until the page has followed."""
        before = self.html()
        self.find(f"#{menu} input")[0].click()

        def picked() -> bool:
            options = [item for item in self.find("li[role=option]") if item.get_attribute("aria-label") == choice]
            options[0].click()
            return True

        self.until(picked, f"{menu} does not offer {choice}")
        self.until(lambda: self.value(menu) == choice and self.html() != before, f"{menu}: the page does not follow")

    def value(self, menu: str) -> str:
        return str(self.find(f"#{menu} input")[0].get_property("value"))

    def find(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements(By.CSS_SELECTOR, selector))

    def html(self) -> str:
        return str(self.browser.execute_script("return document.querySelector('#board').innerHTML"))

    def text(self, selector: str = "#board") -> str:
        script = "return [...document.querySelectorAll(arguments[0])].map(item => item.innerText).join('\\n')"
        return str(self.browser.execute_script(script, selector))

    def table(self, selector: str) -> list[list[str]]:
        """The body of a table, each cell's lines joined; read at once, because the page may be drawn anew any time."""
        return self.rows(f"{selector} tbody tr")

    def rows(self, selector: str) -> list[list[str]]:
        """The cells of the rows of any table, each cell's lines joined."""
        script = """return [...document.querySelectorAll(arguments[0])].map(
            row => [...row.cells].map(cell => cell.textContent.split(/\\s+/).join(' ').trim()))"""
        return list(self.browser.execute_script(script, selector))

    def ranking(self, track: str = "paper") -> list[list[str]]:
        """Rank, model, both rates in the order of the columns, and the small print; read at once."""
        rows = f"#ranking-{track} tbody:not([hidden]) tr.latest"
        script = """return [...document.querySelectorAll(arguments[0])].map(row =>
            [".rank b", ".name", ".score b", ".number", "small"].flatMap(part => part === "small" ?
                [...row.querySelectorAll(part)] : [row.querySelector(part)]
            ).map(item => item.textContent.split(/\\s+/).join(" ").trim()))"""
        return list(self.browser.execute_script(script, rows))

    def models(self, track: str = "paper") -> list[str]:
        """The names in the order of the ranking."""
        return [row[1] for row in self.ranking(track)]

    def until(self, condition: Any, otherwise: str) -> Any:
        from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException

        def holds(_: Any) -> Any:
            try:
                return condition()
            except IndexError:
                return None

        ignored = (NoSuchElementException, StaleElementReferenceException)
        return WebDriverWait(self.browser, PATIENCE_S, 0.2, ignored).until(holds, otherwise)


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        hub.commit(REPO, {".gitattributes": b"*.parquet filter=lfs\n"}, "main")
        yield hub


@pytest.fixture(scope="module")
def address(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_space(hub, REPO, tmp_path_factory.mktemp("space")) as address:
        yield address


@pytest.fixture
def board(hub: Hub, address: str, browser: "Chrome") -> Leaderboard:
    return Leaderboard(hub, address, browser)


# --- tests ------------------------------------------------------------------------------------------------------------


#: Twelve instances in three categories, for the tests of what people see.
MANY = {f"task-number-{number}": f"A Category & Its Long Name {number % 3}" for number in range(12)}
#: Model → instances reproduced and dollars for all: ties at both ends, names of the lengths that models have.
CONTENDERS = {
    "openai/gpt-5.1-codex": (12, 8.0),
    "anthropic/claude-opus-4.5": (12, 9.4),
    "google/gemini-3-pro-preview": (12, 6.1),
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": (10, 1.9),
    "deepseek-ai/DeepSeek-V3.2": (9, 0.62),
    "moonshotai/Kimi-K2-Instruct": (8, 0.95),
    "meta-llama/Llama-4-Maverick-17B-128E": (6, 0.41),
    "openai/gpt-oss-120b": (5, 0.18),
    "Qwen/Qwen3-8B": (0, 0.05),
    "Qwen/Qwen3-4B": (0, 0.04),
}


def show_contenders(board: Leaderboard) -> None:
    files = []
    for number, (model, (count, dollars)) in enumerate(CONTENDERS.items()):
        statuses = ["passed"] * count + ["failed"] * (12 - count)
        facts = {"instances": MANY, "scope_size": 12, "claimed_cost_usd": dollars / 12}
        rows = run_rows(f"2026-run-of-model-{number:02d}", model, statuses, **facts)
        for row in rows[count:]:
            row["first_failure"] = f"case_of_{row['instance_id']}, seed 1: got 0.786, expected 0.785"
        files.append(run_files(rows, model_repos=[model]))
        if number < 3:
            agent = run_rows(f"agent-{number}", model, statuses[::-1], setting="agent", **facts)
            method = run_rows(f"method-{number}", model, statuses, config="method", setting="agent", **facts)
            files += [run_files(agent), run_files(method)]
    board.show(*files)


#: Elements with their own text whose contrast with the background is below 4.5, each with that contrast.
LOW_CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const paint = (colours) => {
  for (const colour of ["#fff", ...colours]) { canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); }
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
};
const found = [];
let seen = 0;
for (const item of document.querySelectorAll("main *, gradio-app *")) {
  if (![...item.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
  if (!item.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
  const behind = [];
  for (let place = item; place; place = place.parentElement) behind.unshift(getComputedStyle(place).backgroundColor);
  const [high, low] = [paint(behind), paint([...behind, getComputedStyle(item).color])].sort((x, y) => y - x);
  const ratio = (high + 0.05) / (low + 0.05);
  seen += 1;
  if (ratio < 4.5) found.push(`${item.className} ${item.textContent.trim().slice(0, 40)}: ${ratio.toFixed(2)}`);
}
return [seen, [...new Set(found)]];
"""
#: Boxes of the plot and of the names in it; and of the dots.
PLOT_BOXES = """
const box = (item) => { const r = item.getBoundingClientRect(); return [r.left, r.top, r.right, r.bottom]; };
const plot = document.querySelector("#panel-paper .plot");
return [box(plot), ...[".label:not([hidden])", ".dot"].map((part) => [...plot.querySelectorAll(part)].map(box))];
"""


def overlap(one: list[float], other: list[float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def assert_ranks_have_the_spread_that_paired_tests_leave(board: Leaderboard) -> None:
    counts = [count for count, _ in CONTENDERS.values()]
    pairs = list(combinations(range(len(counts)), 2))
    # Answers are right from the first instance on, so that one of two models is never ahead on both sides.
    p_values = holm([mcnemar(counts[one] - counts[other], 0) for one, other in pairs])
    apart = [pair for pair, p in zip(pairs, p_values, strict=True) if p < 0.05]
    assert apart, "the test sees some differences"
    expected = {
        model: f"{1 + sum(other == place for _, other in apart)}–{10 - sum(one == place for one, _ in apart)}"
        for place, model in enumerate(CONTENDERS)
    }
    script = """return [...document.querySelectorAll("#ranking-paper .latest")].map(
        row => [row.querySelector(".name").textContent.trim(), row.querySelector(".spread").textContent.trim()])"""
    assert dict(board.browser.execute_script(script)) == expected


def test_a_full_board_has_spreads_and_fits_each_screen_in_light_and_dark(board: Leaderboard) -> None:
    show_contenders(board)
    assert_ranks_have_the_spread_that_paired_tests_leave(board)
    for theme in ("light", "dark"):
        board.browser.get(f"{board.address}/?__theme={theme}")
        board.until(lambda: board.find("#board table"), "the page shows nothing")
        for width in (1440, 768, 390):
            screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            board.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            time.sleep(0.3)  # the chart follows the width in the next frame
            assert board.browser.execute_script("return document.documentElement.scrollWidth") <= width
            seen, low = board.browser.execute_script(LOW_CONTRAST)
            assert (seen > 300, low) == (True, []), (theme, width)
            # A place is a row on a wide screen and a card on others; no cell is a few letters wide.
            assert board.find("#ranking-paper thead")[0].is_displayed() == (width > 1000)
            assert all(cell.rect["width"] > 150 for cell in board.find("#ranking-paper .latest .run"))
            plot, labels, dots = board.browser.execute_script(PLOT_BOXES)
            assert len(labels) >= (5 if width > 600 else 2), "the names of the frontier"
            for label in labels:
                inside = plot[0] <= label[0] and plot[1] <= label[1] and label[2] <= plot[2] and label[3] <= plot[3]
                assert inside, "a name leaves the plot"
                assert not any(overlap(label, dot) for dot in dots)
            assert not any(overlap(*pair) for pair in combinations(labels, 2))
    hidden = board.find("#panel-paper .dot:not(.on-front)")[0]
    name = hidden.find_element(By.XPATH, "following-sibling::span")
    assert not name.is_displayed()
    board.browser.execute_script("arguments[0].focus()", hidden)
    assert name.is_displayed(), "the focus names a dot"
    board.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_addresses_keep_filters_and_open_models_tasks_and_failing_cases(board: Leaderboard) -> None:
    show_contenders(board)

    def address() -> str:
        return str(board.browser.execute_script("return location.hash"))

    def go(place: str) -> None:
        board.browser.get("about:blank")
        board.browser.get(f"{board.address}/{place}")
        board.until(lambda: board.find("#board table"), "the page shows nothing")

    board.choose("config", "method")
    board.find("#search")[0].send_keys("gemini")
    # `agent` is the only setting of this configuration, hence its first one.
    assert address() == "#config=method&q=gemini"
    go(address())
    assert (board.value("config"), board.value("setting"), board.models()) == (
        "method",
        "agent",
        ["google/gemini-3-pro-preview"],
    )
    go("#setting=agent&task=no-such-task")
    assert (board.value("setting"), board.value("config")) == ("agent", "function")
    assert "no such model or task" in board.text("#panel-paper .unknown")

    go("")
    cell = board.find("#grid-paper td.failed[data-model='openai/gpt-oss-120b'] a")[0]
    board.browser.execute_script("arguments[0].click()", cell)
    board.until(lambda: board.find("#outcomes-paper tr.chosen"), "the cell does not open the case")
    task = board.text("#panel-paper .page")
    assert f"case_of_{task}, seed 1: got 0.786" in board.text("#outcomes-paper tr.chosen .case")
    assert len(board.find("#outcomes-paper tbody tr:not([hidden])")) == len(CONTENDERS)
    go(address())
    assert board.text("#panel-paper .page") == task, "the page has an address"
    assert not board.find("#ranking-paper")[0].is_displayed()

    board.find("#outcomes-paper tr.chosen .model a")[0].click()
    board.until(lambda: board.text("#panel-paper .page") == "openai/gpt-oss-120b", "no page of the model")
    assert board.models() == ["openai/gpt-oss-120b"]
    assert len(board.find("#outcomes-paper tbody tr:not([hidden])")) == len(MANY)
    board.browser.back()
    board.until(lambda: board.text("#panel-paper .page") == task, "back does not go back")
    board.find("#panel-paper .crumbs a")[0].click()
    board.until(lambda: len(board.models()) == len(CONTENDERS), "no way to all models")
    header = [link.text for link in board.find("#intro a")]
    assert header == ["Paper", "Code", "Dataset", "Docs", "Submit"]


def test_an_empty_dataset_is_a_page_and_a_new_run_appears_on_reload(board: Leaderboard) -> None:
    board.show()
    assert "No verified runs yet" in board.text("#empty")
    assert not board.find("#ranking-paper")
    assert "cannot be used" not in board.text()

    sha = board.publish(run_files(run_rows("first", "model-a", ["passed"] * 3)))
    board.open()
    assert "No verified runs yet" in board.text("#empty"), "the page keeps its last reading for some minutes"
    board.reload(sha)
    assert board.models() == ["model-a"]


def test_verified_runs_are_ranked_and_filtered_and_others_are_only_named(board: Leaderboard) -> None:
    passed, failed = "passed", "failed"
    good = run_rows("run-good", "good", [passed, failed, passed])
    for row, judged in zip(good, ("CC", "LI", "CC"), strict=True):
        row |= {"claimed_judge_category": judged, "claimed_judge_model": "judge-1"}
    # Reproduces as much as `good`, but is less robust and was verified earlier.
    tied = run_rows("run-tied", "tied", [passed, "reproduced", "timeout"])
    # Claimed shares, and the earlier claim of a date, must not lift it over anything.
    claims = run_rows("run-claims", "claims", [passed, failed, "oom"], started_at="1999-01-01T00:00:00+00:00")
    for row in claims:
        row |= {"claimed_judge_category": "CC", "claimed_judge_model": "judge-2", "claimed_cost_usd": 0.0}
    agent = run_rows("run-agent", "good", [failed, failed, passed], setting="agent")
    # Samples: the mean over two of each instance, one of which is missing.
    agent += [{**row, "sample": 1, "status": passed, "core_status": passed} for row in agent[:2]]
    agent[0]["core_memorised"] = True
    # The latest verified run counts, though an earlier one is better.
    lucky = run_rows("run-lucky", "good", [passed] * 3)
    # The other track, which is ranked by what is robust.
    contract = run_rows("run-contract", "good", [passed, "reproduced", "reproduced"], track="contract")
    contract += run_rows("run-contract", "sturdy", [passed, passed, failed], track="contract")
    older = run_rows("run-older", "veteran", [passed] * 3, benchmark_version="0.9.10", scope_size=3)
    liar = run_rows("run-liar", "liar", [passed] * 3, benchmark_version="1.0.0", scope_size=3)
    future = run_rows("run-future", "liar", [passed] * 3, benchmark_version="99.0.0")
    swapped = run_files(run_rows("run-swapped", "swapped", [passed] * 3))
    swapped["data/run-swapped.parquet"] = parquet(run_rows("run-swapped", "swapped", [passed] * 3, submitted_by="eve"))
    board.show(
        run_files(good, "2026-02-03T00:00:00+00:00"),
        run_files(tied, "2026-02-01T00:00:00+00:00"),
        run_files(claims, "2026-02-02T00:00:00+00:00"),
        run_files(agent),
        run_files(lucky, "2026-02-01T00:00:00+00:00"),
        run_files(contract),
        run_files(older),
        run_files(liar, None),
        run_files(future, None),
        swapped,
    )
    ranking = board.ranking()
    assert [row[:4] for row in ranking] == [
        ["1", "good", "50.0", "50.0"],
        ["1", "tied", "50.0", "25.0"],
        ["3", "claims", "25.0", "25.0"],
    ], "equal scores share a rank, and the next one is not two but three"
    for row, share in zip(ranking, (0.5, 0.5, 0.25), strict=True):
        low, high = wilson(4 * share, 4)
        said = f"{100 * low:.1f} – {100 * high:.1f} · {4 * share:.0f}/4"
        assert said in row, "n is the instances, as in the harness's own reports"
        assert "1 unanswered" in row
    assert [row[:4] for row in board.ranking("contract")] == [
        ["1", "sturdy", "50.0", "50.0"],
        ["2", "good", "25.0", "75.0"],
    ]
    judged = [" ".join(text.split()) for text in board.text("#ranking-paper .latest .judge").splitlines()]
    assert judged[:2] == ["CC 66.7 · LC 0.0 · LI 33.3", "claimed, 3 of 4 by judge-1"]
    assert judged[-2:] == ["CC 100.0 · LC 0.0 · LI 0.0", "claimed, 3 of 4 by judge-2"]
    assert "liar" not in [*board.models(), *board.models("contract")]
    assert "run-liar: nobody has verified it" in board.text("#skipped")
    assert "verified/run-swapped.json: is for another content" in board.text("#skipped")
    [logs] = [link for link in board.find("#ranking-paper .latest a") if link.text == "logs"][:1]
    with urllib.request.urlopen(logs.get_attribute("href"), timeout=60) as answer:
        assert answer.read() == b"logs of run-good"

    # The earlier run of `good` is collapsed under the latest one.
    [unfold] = board.find("#ranking-paper .unfold")
    assert (unfold.text, board.find("#ranking-paper tr.other")[0].is_displayed()) == ("latest of 2 runs", False)
    unfold.click()
    folded = board.text("#ranking-paper tr.other")
    for said in ("not counted", "75.0", "run-lucky"):
        assert said in folded, said
    baselines = [row[1:4] for row in board.rows("#ranking-paper tfoot tr")]
    assert [(row[0].split()[0], row[1].split()[0], row[2]) for row in baselines] == [
        ("golden", "100.0", "100.0"),
        ("masked", "0.0", "0.0"),
    ]

    grid = {row[0].partition(" Paper")[0]: row[1:] for row in board.table("#grid-paper") if len(row) > 1}
    assert grid["alpha-two"] == ["fail", "core", "fail"]
    assert grid["beta-one"] == ["robust", "time", "oom"]
    papers = [link.get_attribute("href") for link in board.find("#panel-paper .task-facts a")]
    assert papers == [f"https://example.org/{name}" for name in INSTANCES]
    assert "No run has a row for 1 of the benchmark's instances" in board.text()

    board.choose("category", "Data Augmentation")
    assert [row[:4] for row in board.ranking()] == [
        ["1", "tied", "100.0", "50.0"],
        ["2", "claims", "50.0", "50.0"],
        ["2", "good", "50.0", "50.0"],
    ]
    shown = [row[0].partition(" Paper")[0] for row in board.table("#grid-paper") if len(row) > 1]
    assert shown == ["alpha-one", "alpha-two"]
    board.choose("setting", "agent")
    assert [row[:3] for row in board.ranking()] == [["1", "good", "50.0"]], "settings never share a ranking"
    board.choose("category", "All")
    agent_row = " ".join(board.ranking()[0])
    for said in ("37.5", "3 unanswered", "1 memorised"):
        assert said in agent_row, said
    board.choose("setting", "standard")

    assert board.value("version") == "1.0.0"
    board.choose("version", "0.9.10")
    assert board.models() == ["veteran"]


def test_models_are_searched_and_ordered_and_tracks_are_tabs(board: Leaderboard) -> None:
    runs = [
        ("run-a", "zeta/alpha", ["passed", "passed", "failed"], "2026-02-03", 9.0),
        ("run-b", "beta", ["passed", "passed", "reproduced"], "2026-02-01", 0.5),
        ("run-c", "gamma", ["passed", "failed", "failed"], "2026-02-02", None),
    ]
    files = []
    for run_id, model, statuses, day, cost in runs:
        rows = run_rows(run_id, model, statuses, dataset="org/lmr-bench@v1.0.0", claimed_cost_usd=cost and cost / 3)
        files.append(run_files(rows, f"{day}T00:00:00+00:00", model_repos=["zeta/alpha"]))
    # The same predictions under another name, verified later; and a second, worse run.
    copy = [{**row, "run_id": "run-copy", "model_name_or_path": "better-beta"} for row in run_rows(*runs[1][:3])]
    files += [run_files(copy, "2026-02-09T00:00:00+00:00"), run_files(run_rows("run-d", "gamma", ["failed"] * 3))]
    contract = run_rows("run-e", "delta", ["passed"] * 3, track="contract")
    board.show(*files, run_files(contract))
    assert board.models() == ["beta", "zeta/alpha", "gamma"]
    assert "better-beta" in board.find("#ranking-paper tr.copy")[0].get_attribute("textContent")

    [link] = board.find("#ranking-paper .hub a")
    assert link.get_attribute("href") == f"{board.hub.endpoint}/zeta/alpha", "only what the record calls a repository"
    task = board.find("#panel-paper .task-facts a:last-child")[0].get_attribute("href")
    assert task == f"{board.hub.endpoint}/datasets/org/lmr-bench/viewer/function/test?q=alpha-one"
    assert [dot.get_attribute("aria-label") for dot in board.find("#panel-paper .scatter .dot")] == [
        "1, beta: 75.0 %, $0.50",
        "2, zeta/alpha: 50.0 %, $9.00",
    ]
    assert board.table("#categories-paper") == [
        ["Data Augmentation", "100 2/2", "100 2/2", "50 1/2"],
        ["Evaluation Metrics", "100 1/1", "0 0/1", "0 0/1"],
    ], "ties have the same number, and nothing is moved"

    def by(column: str) -> list[str]:
        board.find(f"#ranking-paper [data-sort={column}]")[0].click()
        return board.models()

    assert by("name") == ["beta", "gamma", "zeta/alpha"]
    assert by("name") == ["zeta/alpha", "gamma", "beta"]
    assert by("cost") == ["beta", "zeta/alpha", "gamma"], "an unknown cost comes last"
    assert by("cost") == ["zeta/alpha", "beta", "gamma"]
    assert by("date") == ["zeta/alpha", "gamma", "beta"]
    board.find("#search")[0].send_keys("BETA")
    assert board.models() == ["beta"]
    drawn = board.find("#panel-paper .plot .dot:not([hidden]), #categories-paper thead [data-model]:not([hidden])")
    assert [item.get_attribute("data-model") for item in drawn] == ["beta", "beta"], "the charts follow the search"
    board.choose("category", "Data Augmentation")
    assert (board.models(), board.find("#search")[0].get_property("value")) == (["beta"], "BETA")
    board.find("#search")[0].send_keys(" of nobody")
    assert board.text("#panel-paper .nothing") == "No model matches."
    board.find("#tab-contract")[0].click()
    assert not board.find("#panel-paper")[0].is_displayed()
    board.browser.refresh()
    board.until(lambda: board.find("#panel-contract")[0].is_displayed(), "the address does not keep the tab")
    assert board.models("contract") == []
    board.browser.get("about:blank")

    # A phone: the order is a menu.
    screen = {"width": 420, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    board.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    board.open()
    board.find("#sort option[value=name]")[0].click()
    assert board.models() == ["beta", "gamma", "zeta/alpha"]
    board.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_damaged_runs_are_named_and_cost_nobody_else(board: Leaderboard) -> None:
    def raw(name: str, content: bytes) -> dict[str, bytes]:
        record = {"run_id": name, "parquet_sha256": hashlib.sha256(content).hexdigest(), "verified_by": "ann"}
        record["verified_at"] = "2026-02-01T00:00:00+00:00"
        return {f"data/{name}.parquet": content, f"verified/{name}.json": json.dumps(record).encode()}

    def rows(name: str) -> list[dict[str, Any]]:
        return run_rows(name, "evil", ["passed"] * 3)

    # A small file that is 40 GB as a table: a megabyte of text, once in the file and in 40,000 rows of it.
    many = pa.Table.from_pylist(rows("d-bomb")[:1] * 40_000, schema=published_schema())
    once = pa.DictionaryArray.from_arrays(pa.array([0] * 40_000, pa.int32()), pa.array(["x" * 1_000_000]))
    large = many.set_column(published_schema().get_field_index("setting"), "setting", once)
    bomb = io.BytesIO()
    pq.write_table(large, bomb, store_schema=False, dictionary_pagesize_limit=2**22)
    columns = published_schema()
    damaged = {
        "d-junk": b"PAR1 this is none",
        "d-columns": parquet(rows("d-columns"), columns.remove(columns.get_field_index("status"))),
        "d-types": parquet(
            [{**row, "sample": "0"} for row in rows("d-types")],
            pa.schema([field.with_type(pa.string()) if field.name == "sample" else field for field in columns]),
        ),
        "d-other": parquet(rows("another")),
        "d-twice": parquet(rows("d-twice") * 2),
        "d-status": parquet([{**row, "status": "<b>won</b>"} for row in rows("d-status")]),
        "d-scope": parquet([{**row, "scope_size": 1} for row in rows("d-scope")]),
        "d-version": parquet([{**row, "benchmark_version": "9" * 5000} for row in rows("d-version")]),
        "d-null": parquet([{**row, "model_name_or_path": None} for row in rows("d-null")]),
        "d-none": parquet([]),
        "d-memo": parquet([{**row, "memorised": True} for row in rows("d-memo")]),
        "d-core": parquet([{**row, "core_memorised": True} for row in rows("d-core")]),
        "d-level": parquet([{**row, "core_status": "failed"} for row in rows("d-level")]),
        "d-track": parquet([{**row, "track": "unstated"} for row in rows("d-track")]),
        "d-choices": parquet([{**row, "choices_stated": 1} for row in rows("d-choices")]),
        "d-chance": parquet([{**row, "choices_chance": float("nan")} for row in rows("d-chance")]),
        "d-index": index_out_of_range(rows("d-index")),
        "d-bomb": bomb.getvalue(),
    }
    fine = run_files(run_rows("run-fine", "fine", ["passed"] * 3))
    other = run_files(run_rows("run-other", "other", ["passed"] * 2))
    other["verified/run-other.json"] = b"[" * 60_000
    odd = {"data/.hidden.parquet": b"", "data/a b.parquet": b"", "verified/run-nowhere.json": b"{}", "data/x.txt": b""}
    board.show(*(raw(name, content) for name, content in damaged.items()), fine, other, odd)
    assert board.models() == ["fine"]
    note = board.text("#skipped")
    for name in damaged:
        assert f"{name}: " in note, f"{name} is not named"
    assert "d-columns: column status is missing" in note
    assert "d-bomb: setting is longer than 1000 bytes" in note
    assert "verified/run-other.json: not a record of a verification" in note
    assert "data/.hidden.parquet: not a plain run id" in note


ATTACK = "document.title='owned'"
HOSTILE = [
    f"<script>{ATTACK}</script>",
    f"<img src=x onerror={ATTACK}>",
    f'"><svg onload={ATTACK}>',
    f"' onmouseover='{ATTACK}' x='",
    f"</title></style><iframe srcdoc='<script>parent.{ATTACK}</script>'></iframe>",
    f"[x](javascript:{ATTACK}) ![x](http://evil.example/x.png)",
    f"{{{{ {ATTACK} }}}} ${{{ATTACK}}} {{% raw %}} <%= 7 %>",
    "$\\frac{1}{0}$ \x1b[31m left\u202eright\u200b",
    "m" * 400,
]


def test_nothing_that_a_submitter_wrote_runs(board: Leaderboard) -> None:
    rows = [
        {
            **row,
            "setting": setting,
            "claimed_judge_category": "CC",
            "claimed_judge_model": text,
            "submitted_by": HOSTILE[0],
            "paper_title": text,
            "paper_url": f"javascript:{ATTACK}",
            "dataset": f"org/{HOSTILE[1]}",
        }
        for text in HOSTILE
        for setting in ("standard", text)
        for row in run_rows("run-hostile", text, ["passed"] * 2)
    ]
    more = run_rows("run-names", "names", ["passed"] * 3, submitted_by=HOSTILE[1])
    for row, name, kind in zip(more, HOSTILE[1:4], HOSTILE[2:5], strict=True):
        row |= {"instance_id": name, "category": kind, "paper_url": "data:text/html,x"}
    board.show(run_files(rows), run_files(more, verified_by=HOSTILE[2]))
    names = board.models()
    assert len(names) == len(HOSTILE) + 1
    for text in HOSTILE[:6]:
        assert any(name == text or (name.endswith("…") and text.startswith(name[:-1])) for name in names), text
    assert any("left\ufffdright\ufffd" in name for name in names)
    assert not board.find(
        "#board script, #board img, #board svg:not(.lines), #board iframe, #board [onmouseover], #board [onload]"
    )
    # Links within the board are addresses of its pages.
    links = [link.get_attribute("href") for link in board.find("#board a:not([href^='#'])")]
    assert links
    assert {urlsplit(link).netloc for link in links} == {urlsplit(board.hub.endpoint).netloc}
    board.choose("setting", HOSTILE[1])
    assert len(board.models()) == 1
    board.choose("category", HOSTILE[3])
    assert "owned" not in board.browser.title


def test_the_page_loads_nothing_from_elsewhere(board: Leaderboard) -> None:
    board.show(run_files(run_rows("run-a", "a", ["passed"] * 3)))
    events = [json.loads(entry["message"])["message"] for entry in board.browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert any(url.startswith(board.address) for url in asked)
    assert {urlsplit(url).hostname for url in asked if url.startswith(("http", "ws"))} == {"127.0.0.1"}


def test_without_the_hub_the_last_state_stays_and_says_so(board: Leaderboard) -> None:
    board.show(run_files(run_rows("run-a", "steady", ["passed"] * 3)))
    board.hub.drops = True
    try:
        time.sleep(2.5)
        board.find("#reload")[0].click()
        board.until(lambda: "does not answer" in board.text("#board .note"), "the failure is not said")
        assert board.models() == ["steady"]
    finally:
        board.hub.drops = False
    board.reload(board.publish(run_files(run_rows("run-b", "back", ["passed"] * 3))))
    assert board.models() == ["back"]
    assert not board.find("#board .note")


def test_the_card_of_the_space_is_one() -> None:
    header = yaml.safe_load((SPACE / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    card = SpaceCardData(**header)
    assert (card.sdk, card.app_file, header["python_version"]) == ("gradio", "app.py", "3.12")
    assert len(header["short_description"]) <= 60, "the Hub refuses longer ones"
    floors = dict(re.findall(r"^([\w-]+)>=([\d.]+)$", (SPACE / "requirements.txt").read_text(), re.MULTILINE))
    assert header["sdk_version"].startswith(floors["gradio"])


# --- the maintainers' workflow ----------------------------------------------------------------------------------------


def test_the_workflow_is_valid_and_calls_the_command_line_as_it_is() -> None:
    import typer

    from lmrbench_data.cli import app

    path = ROOT / ".github" / "workflows" / "hub.yml"
    checker = Path(sys.executable).with_name("check-jsonschema")
    done = subprocess.run(
        [checker, "--builtin-schema", "vendor.github-workflows", path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow[True]["push"] == {"tags": ["v*.*.*"]}  # YAML 1.1 reads `on` as a boolean
    assert workflow["permissions"] == {}
    calls = []
    for job in workflow["jobs"].values():
        assert job["permissions"] == {"contents": "read"}
        assert "HF_TOKEN" not in job.get("env", {})
        for step in job["steps"]:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step.get("uses", "actions/none@v1"))
            assert "${{" not in step.get("run", ""), "user input reaches the shell only as a variable"
            calls += [line for line in step.get("run", "").splitlines() if line.startswith("lmrbench ")]
    command = typer.main.get_command(app)
    for call in calls:
        arguments = shlex.split(call.replace('"$PUBLISH"', "--publish").replace('"$PULL_REQUEST"', "7"))[1:]
        parse(command, arguments)
    assert [" ".join(call.split()[1:3]) for call in calls[:3]] == ["dataset check", "dataset build", "dataset push"]
    assert calls[3].startswith("lmrbench verify ")


def parse(command: Any, arguments: list[str]) -> None:
    """Take a command line apart as the program does, without running it."""
    context = command.make_context("lmrbench", list(arguments))
    while hasattr(command, "resolve_command"):
        name, command, arguments = command.resolve_command(
            context, [*context._protected_args, *context.args] if hasattr(context, "_protected_args") else context.args
        )
        context = command.make_context(name, list(arguments), parent=context)
