"""The leaderboard Space, alone in a folder, against a loopback Hub, in a browser; and the maintainers' workflow."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
import yaml
from huggingface_hub import SpaceCardData
from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import lmrbench as lmr
from lmrbench_evaluate.hub.record import Record
from support.browser import LOW_CONTRAST
from support.command_line import in_process
from support.hub_server import Fault, Hub
from support.space_app import PATIENCE_S, ROOT, SPACE, make_entry, make_record, record_files, served_space
from support.toy import TOY_ANSWER

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

REPO = "org/lmr-bench-results"

pytestmark = [pytest.mark.timeout(900), pytest.mark.slow]


class Leaderboard:
    """The running app, the Hub that it reads, and a browser that shows it."""

    def __init__(self, hub: Hub, address: str, browser: "Chrome") -> None:
        self.hub, self.address, self.browser = hub, address, browser

    def show(self, *records: Record) -> None:
        """Publish exactly these records and wait until the page shows them."""
        sha = self.hub.commit(REPO, record_files(*records), "main")
        self.go()
        self.reload(lambda: sha[:12] in self.text("#state"))

    def reload(self, condition: Callable[[], Any]) -> None:
        """Press the button until a condition holds (a press right after another one is ignored)."""

        def holds() -> bool:
            if condition():
                return True
            self.find("#reload")[0].click()
            return False

        self.until(holds, 1.0)

    def go(self, place: str = "") -> None:
        self.browser.get("about:blank")
        self.browser.get(f"{self.address}/{place}")
        self.until(lambda: self.find("#board"))

    def choose(self, menu: str, choice: str) -> None:
        """Pick from a menu as a user does, and wait until the page has followed."""
        self.find(f"#{menu} input")[0].click()

        def pick() -> bool:
            options = [item for item in self.find("li[role=option]") if item.get_attribute("aria-label") == choice]
            options[0].click()
            return True

        self.until(pick)
        chosen = f"{menu}={choice}"
        self.until(lambda: chosen in str(self.find("#board")[0].get_attribute("data-address")))
        assert self.value(menu) == choice

    def value(self, menu: str) -> str:
        return str(self.find(f"#{menu} input")[0].get_property("value"))

    def find(self, selector: str) -> list[Any]:
        return list(self.browser.find_elements(By.CSS_SELECTOR, selector))

    def text(self, selector: str) -> str:
        script = "return [...document.querySelectorAll(arguments[0])].map(item => item.innerText).join('\\n')"
        return str(self.browser.execute_script(script, selector))

    def models(self, track: str = "paper") -> list[str]:
        """The names in the order of the ranking."""
        return self.text(f"#ranking-{track} tbody:not([hidden]) tr.latest .name").splitlines()

    def until(self, condition: Callable[[], Any], poll_s: float = 0.1) -> None:
        def holds(_: Any) -> Any:
            try:
                return condition()
            except IndexError:
                return None

        ignored = (NoSuchElementException, StaleElementReferenceException)
        WebDriverWait(self.browser, PATIENCE_S, poll_s, ignored).until(holds)


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        hub.commit(REPO, {"README.md": b"# Results\n"}, "main")
        yield hub


@pytest.fixture(scope="module")
def address(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served_space(hub, REPO, tmp_path_factory.mktemp("space")) as address:
        yield address


@pytest.fixture
def board(hub: Hub, address: str, browser: "Chrome") -> Leaderboard:
    return Leaderboard(hub, address, browser)


#: Twelve instances in three categories.
MANY = {f"task-number-{number}": f"A Category & Its Long Name {number % 3}" for number in range(12)}
#: Model → instances reproduced and dollars for all: ties at both ends, names of the lengths that models have.
CONTENDERS = {
    "maker-1/model-a-codex": (12, 8.0),
    "maker-2/model-b-large": (12, 9.4),
    "maker-3/model-c-pro-preview": (12, 6.1),
    "maker-4/model-d-coder-480b-a35b-instruct": (10, 1.9),
    "maker-7/model-g-17b-128e": (6, 0.41),
    "maker-1/model-h-120b": (5, 0.18),
    "maker-4/model-j-4b": (0, 0.04),
}


def contenders() -> list[Record]:
    """Return a run of each contender, and more settings and configurations of the first three."""
    records = []
    for number, (model, (count, dollars)) in enumerate(CONTENDERS.items()):
        outcomes = ["robust"] * count + ["failed"] * (12 - count)
        entry = make_entry(model, outcomes, instances=MANY, cost=dollars, fingerprint=model)
        records.append(make_record(f"2026-run-of-model-{number:02d}", entry, instances=MANY))
        if number < 3:
            agent = make_entry(model, outcomes[::-1], instances=MANY, setting="agent")
            records.append(make_record(f"agent-{number}", agent, instances=MANY))
            records.append(make_record(f"method-{number}", agent, instances=MANY, config="method"))
    return records


def test_models_are_searched_sorted_filtered_and_opened(board: Leaderboard) -> None:
    """A new run appears on reload; nothing is loaded from elsewhere, and no text of a submitter runs."""
    board.show()
    assert "No verified runs yet" in board.text("#empty")
    evil = make_entry("<img src=x onerror=document.title='owned'>", [], instances=MANY, cost=1.0)
    contract = make_entry("model-x", ["robust"], instances=MANY, track="contract")
    board.show(*contenders(), make_record("evil", evil, contract, instances=MANY, verified_at="2026-03-01"))
    assert board.models() == [*CONTENDERS, evil.model]
    board.find("#ranking-paper [data-sort=cost]")[0].click()
    assert board.models()[0] == "maker-4/model-j-4b"
    board.find("#search")[0].send_keys("PRO-PRE")
    assert board.models() == ["maker-3/model-c-pro-preview"]
    board.choose("config", "method")
    assert board.models() == ["maker-3/model-c-pro-preview"], "the search stays"
    board.go("#" + urlsplit(board.browser.current_url).fragment)
    assert (board.value("config"), board.value("setting")) == ("method", "agent")
    assert board.models() == ["maker-3/model-c-pro-preview"], "the address keeps filters and search"

    board.go()
    cell = board.find("#grid-paper td.failed[data-model='maker-1/model-h-120b'] a")[0]
    board.browser.execute_script("arguments[0].click()", cell)
    board.until(lambda: board.find("#outcomes-paper tr.chosen"))
    task = board.text("#panel-paper .page")
    assert f"case_of_{task}, seed 1: got 0.786" in board.text("#outcomes-paper tr.chosen .case")
    assert len(board.find("#outcomes-paper tbody tr:not([hidden])")) == len(CONTENDERS) + 1
    board.find("#outcomes-paper tr.chosen .model a")[0].click()
    board.until(lambda: board.text("#panel-paper .page") == "maker-1/model-h-120b")
    board.browser.back()
    board.until(lambda: board.text("#panel-paper .page") == task)
    board.find("#tab-contract")[0].click()
    board.until(lambda: board.find("#panel-contract")[0].is_displayed())
    assert board.browser.title != "owned"
    events = [json.loads(entry["message"])["message"] for entry in board.browser.get_log("performance")]
    asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    assert {urlsplit(url).hostname for url in asked if url.startswith(("http", "ws"))} == {"127.0.0.1"}

    damaged = {"verified/damaged.json": b"[" * 60_000, "verified/a*.json": b"{}", "verified/big.json": b" " * 2**25}
    damaged["verified/big.json"] += b" "
    sha = board.hub.commit(REPO, record_files(*contenders()) | damaged, "main")
    board.go()
    board.reload(lambda: sha[:12] in board.text("#state"))
    skipped = board.text("#skipped")
    assert "verified/damaged.json: not a record of a verification (not JSON)" in skipped
    assert "verified/a*.json: not a plain run id" in skipped
    assert "verified/big.json: too large" in skipped
    board.hub.faults = [Fault("", "drop", times=10**6)]
    board.reload(lambda: "does not answer" in board.text("#board .note"))
    board.hub.faults = []
    assert board.models() == [*CONTENDERS], "the last state stays"


@pytest.mark.nightly
def test_a_full_board_fits_each_screen_in_light_and_dark(board: Leaderboard) -> None:
    board.show(*contenders())
    for theme in ("light", "dark"):
        board.go(f"?__theme={theme}")
        for width in (1440, 768, 390):
            screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            board.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            assert board.browser.execute_script("return document.documentElement.scrollWidth") <= width
            # On a phone a place is one line, and its details are folded away until it is opened.
            if width < 600:
                assert max(place.rect["height"] for place in board.find("#ranking-paper .place")) < 110
                assert not any(cell.is_displayed() for cell in board.find("#ranking-paper .latest .run"))
                board.browser.execute_script("for (const one of document.querySelectorAll('.more')) one.click()")
            seen, low = board.browser.execute_script(LOW_CONTRAST)
            assert (seen > 300, low) == (True, []), (theme, width)
            # A place is a row on a wide screen and a card on others; no cell is a few letters wide.
            assert board.find("#ranking-paper thead")[0].is_displayed() == (width > 1000)
            assert all(cell.rect["width"] > 150 for cell in board.find("#ranking-paper .latest .run"))
            edges = [board.find(f"#{name}")[0].rect for name in ("intro", "board", "about")]
            assert len({round(edge["x"]) for edge in edges}) == 1
            assert len({round(edge["x"] + edge["width"]) for edge in edges}) == 1
    board.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_group_sees_its_own_runs_without_a_dataset(
    evaluate: Callable[..., lmr.Run], hub: Hub, tmp_path: Path, browser: "Chrome"
) -> None:
    row = {"instance_id": "toy-scale", "goal_file": TOY_ANSWER, "model_name_or_path": "our-model", "track": "paper"}
    evaluate([row], tmp_path / "runs" / "ours")
    evaluate([{**row, "track": "unstated"}], tmp_path / "runs" / "trackless")
    (tmp_path / "runs" / "notes").mkdir()
    done = in_process("space", "board", "--from", "runs")
    assert done.returncode == 0, done.stderr
    assert "runs/trackless: 1 of 1 row without a track" in done.stderr
    assert "1 run to show" in done.stdout
    [path] = (tmp_path / "board" / "local").iterdir()
    with served_space(hub, REPO, tmp_path, [Record.model_validate_json(path.read_bytes())]) as address:
        board = Leaderboard(hub, address, browser)
        board.go()
        board.until(lambda: "our-model" in board.text("#ranking-paper"))
        assert "Local runs, which nobody has verified" in board.text("#state")
        assert not board.find("#ranking-paper .run a")


def test_a_run_with_an_odd_id_has_a_plain_one_on_the_board(evaluate: Callable[..., lmr.Run], tmp_path: Path) -> None:
    row = {"instance_id": "toy-scale", "goal_file": TOY_ANSWER, "model_name_or_path": "our-model", "track": "paper"}
    run = evaluate([row], tmp_path / "runs" / "été")
    stored = run.path / "run.json"
    for number, run_id in enumerate(("été-1", "../../outside-1")):
        stored.write_text(json.dumps({**json.loads(stored.read_text()), "run_id": run_id}))
        done = in_process("space", tmp_path / f"board-{number}", "--from", run.path)
        assert done.returncode == 0, done.stderr
    names = [path.name for path in tmp_path.glob("board-*/local/*")]
    assert sorted(names) == ["outside-1.json", "t--1.json"]


def test_without_a_run_to_show_there_is_no_board(tmp_path: Path) -> None:
    done = in_process("space", tmp_path / "board", "--from", tmp_path)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, "error: --from: no run can be shown")
    assert not (tmp_path / "board").exists()


def test_card_of_the_space_is_valid() -> None:
    header = yaml.safe_load((SPACE / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    card = SpaceCardData(**header)
    assert (card.sdk, card.app_file, header["python_version"]) == ("gradio", "app.py", "3.12")
    floors = dict(re.findall(r"^([\w-]+)>=([\d.]+)$", (SPACE / "requirements.txt").read_text(), re.MULTILINE))
    assert header["sdk_version"].startswith(floors["gradio"])


# --- the maintainers' workflow ----------------------------------------------------------------------------------------


def test_the_workflow_is_valid_and_has_few_rights() -> None:
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
    assert [" ".join(call.split()[1:3]) for call in calls[:2]] == ["dataset check", "dataset push"]
    assert calls[2].startswith("lmrbench verify ")
