"""The whole story in one test, with the network failing at each step: nothing is lost, nothing is doubled."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from support.hub_server import Fault, Hub
from support.hub_world import DATASET, RESULTS, World
from support.openai_server import Reply, Request, Server, opinion
from support.space_app import PATIENCE_S, served_space

if TYPE_CHECKING:
    from selenium.webdriver import Chrome


def judge(request: Request) -> str:
    """Multiplication is right, addition is wrong logic."""
    return opinion("LI" if "value + factor" in request.user else "CC")


@pytest.mark.docker
@pytest.mark.timeout(900)
def test_from_task_folder_to_leaderboard(tmp_path: Path, browser: "Chrome") -> None:
    with Hub() as hub, Server() as judges:
        world = World(tmp_path, hub)

        def insist(*arguments: str, token: str = "ann", tries: int = 3) -> str:
            """What a user does whose command meets a broken network: give it again."""
            for _ in range(tries):
                done = world.lmrbench(*arguments, token=token, OPENAI_API_KEY="k", OPENAI_BASE_URL=judges.base_url)
                if done.returncode == 0:
                    return done.stdout
                assert done.returncode in (1, 3), done.stderr
                assert len(done.stderr.strip().splitlines()[-1]) < 500
            raise AssertionError(done.stdout + done.stderr)

        hub.faults = [
            Fault("POST /api/repos/create", "lose"),
            Fault("POST .*/preupload/", 503),
            Fault("POST .*/commit/main", "lose"),
            Fault("POST .*/tag/", "drop"),
        ]
        world.publish(check=True)
        assert list(hub.repo(DATASET).refs) == ["main", "tags/v0.1.0"]
        assert len(hub.repo(DATASET).commits) == 2

        world.write_predictions()
        hub.faults = [Fault(f"GET /api/datasets/{DATASET}", "drop", times=1), Fault("GET /objects/", 500)]
        insist("evaluate", "predictions.jsonl", "--dataset", f"{DATASET}@v0.1.0", "--out", "runs/models")

        judges.judge = judge
        judges.script = [Reply(status=500), Reply(status=429, headers={"Retry-After": "1"}), Reply(body=b"{", cut=1)]
        insist("judge", "runs/models", "--model", "judge-1")
        insist("report", "runs/models", "--html", "report.html")
        assert "judge: LI" in (tmp_path / "report.html").read_text()

        hub.commit(RESULTS, {".gitattributes": b""}, "main")
        hub.faults = [
            Fault("GET /api/whoami-v2", "drop"),
            Fault("POST .*/objects/batch", 503),
            Fault("POST .*/commit/main", "lose"),
        ]
        insist("submit", "runs/models", "--to", RESULTS, "--dataset", DATASET, "--yes", token="bob")
        assert list(hub.repo(RESULTS).pull_requests) == [1]

        hub.faults = [
            Fault("GET .*/discussions/1", "drop"),
            Fault("GET .*/tree/", 500),
            Fault("POST .*/commit/main", "lose"),
            Fault("POST .*/discussions/1/status", "lose"),
        ]
        insist("verify", RESULTS, "1", "--dataset", f"{DATASET}@v0.1.0", "--yes", tries=5)
        files = hub.files(RESULTS)
        [data] = [name for name in files if name.startswith("data/")]
        [record] = [name for name in files if name.startswith("verified/")]
        rows = pq.read_table(io.BytesIO(files[data])).to_pylist()
        assert sorted((row["model_name_or_path"], row["status"], row["claimed_judge_category"]) for row in rows) == [
            ("bad", "failed", "LI"),
            ("good", "failed", "LI"),
            ("good", "passed", "CC"),
        ]
        assert json.loads(files[record])["agreed"] == 3
        item = hub.repo(RESULTS).pull_requests[1]
        assert (item.status, len(item.comments)) == ("closed", 1)
        assert [commit.title.split()[0] for commit in hub.repo(RESULTS).commits.values()].count("Verified") == 1
        assert all(fault.times == 0 for fault in hub.faults)

        (tmp_path / "space").mkdir()
        with served_space(hub, RESULTS, tmp_path / "space") as address:
            browser.get(address)
            rows = WebDriverWait(browser, PATIENCE_S).until(
                lambda chrome: chrome.find_elements(By.CSS_SELECTOR, "#board tbody tr")
            )
            ranked = [row.text for row in rows]
            assert [next(name for name in ("good", "bad") if name in text) for text in ranked[:2]] == ["good", "bad"]
            assert "50.0" in ranked[0]
