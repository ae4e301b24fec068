"""Submit and verify with the real clients over HTTP and real containers: nothing is doubled, nobody is believed."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from lmrbench_data.dataset.result_rows import ResultRow
from support.hub_server import Fault, Hub
from support.hub_world import RESULTS, World, published_rows
from support.runs import judgement

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]


def test_a_run_is_submitted_once_and_nothing_is_sent_in_a_dry_run(world: World) -> None:
    hub = world.hub
    done = world.submit("--to", "org/absent", "--dry-run")
    assert "no such dataset, or this token may not see it; a maintainer creates it" in done.stderr
    done = world.submit("--to", RESULTS, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "dataset org/lmr-bench@v0.1.0, 3 rows" in done.stdout
    assert hub.repo(RESULTS).pull_requests == {}

    done = world.submit("--to", RESULTS)
    assert done.returncode == 0, done.stderr
    assert f"opened: {hub.endpoint}/datasets/{RESULTS}/discussions/1" in done.stderr
    again = world.submit("--to", RESULTS)
    assert (again.returncode, "already open" in again.stderr) == (0, True)
    assert list(hub.repo(RESULTS).pull_requests) == [1]


def test_a_published_run_closes_its_pull_request_and_is_not_published_again(world: World) -> None:
    """Its rows and record are those of the verification."""
    hub = world.hub
    for done in (world.submit("--to", RESULTS), world.verify(1)):
        assert done.returncode == 0, done.stdout + done.stderr
    assert "3 of 3 verdicts equal the submitted ones" in done.stdout
    item = hub.repo(RESULTS).pull_requests[1]
    assert item.status == "closed"
    assert item.title.startswith("bad, good on LMR-Bench 0.1.0: ")
    assert "# LMR-Bench results\n" in hub.files(RESULTS)["README.md"].decode()
    assert f"/datasets/{RESULTS}/blob/main/verified/" in item.comments[0][1]
    assert "exists already" in world.submit("--to", RESULTS).stderr
    done = world.verify(1)
    assert (done.returncode, "already verified and published" in done.stderr) == (0, True)
    assert len(item.comments) == 1

    rows = published_rows(hub)
    assert {(row["track"], row["paper_title"]) for row in rows} == {("paper", "A Toy")}
    assert all({case["seed"] for case in row["cases"]} > {0, 1} for row in rows), "secret seeds were tested too"
    found = {(row["model_name_or_path"], row["sample"]): row["status"] for row in rows}
    assert found == {("good", 0): "passed", ("bad", 0): "failed", ("good", 1): "failed"}
    assert ResultRow.__annotations__.keys() <= rows[0].keys(), "a row is published whole"
    assert all(row["cpu_s"] > 0 for row in rows)
    run_id = rows[0]["run_id"]
    record = json.loads(hub.files(RESULTS)[f"verified/{run_id}.json"])
    assert (record["verified_by"], record["submitted_by"], record["agreed"]) == ("ann", "bob", 3)
    assert {case["seed"] for row in rows for case in row["cases"]} - {0, 1} == set(record["fresh_seeds"])
    assert (record["pull_request"], record["memorised"], record["differing"]) == (1, [], [])
    rates = {entry["model"]: entry["overall"] for entry in record["entries"]}
    assert [(rates[model]["reproduced"], rates[model]["total"]) for model in ("good", "bad")] == [(1, 2), (0, 1)]
    assert record["tasks"]["toy-scale"]["paper"] == "A Toy"
    assert not list((world.folder / "lmrbench-cache" / "verify").iterdir()), "known seeds are not used again"
    code = f"from datasets import load_dataset; print(len(load_dataset({RESULTS!r}, split='test')))"
    environment = {**os.environ, **hub.environment(world.folder / "fresh-cache"), "HF_HUB_OFFLINE": "0"}
    loaded = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert loaded.stdout.strip() == "3", loaded.stderr


#: Changes to a run folder, and why it is then refused.
REFUSED_RUNS: list[tuple[dict[str, Any], str]] = [
    ({"complete": False}, "it is not complete; run the same `lmrbench evaluate` again"),
    ({"sandbox": "local", "official_sandbox": False}, "evaluate in docker"),
    ({"timeout_scale": 2.0}, "its time limits were scaled by 2.0; evaluate with `timeout_scale` 1"),
    ({"dataset_sha256": "0" * 64}, "no tag has the dataset of this run (000000000000)"),
    ({"predictions": "gold"}, "not a model"),
    ({"scope": {}}, "it covers 0 of 1 instance; evaluate on all of them"),
]


def test_runs_that_cannot_be_published_are_refused(world: World) -> None:
    stored = world.folder / "runs" / "models" / "run.json"
    before = stored.read_text()
    for changes, reason in REFUSED_RUNS:
        stored.write_text(json.dumps({**json.loads(before), **changes}))
        done = world.submit("--to", RESULTS)
        assert (done.returncode, reason in done.stderr, done.stderr.count("\n")) == (1, True, 1), done.stderr
    stored.write_text(before)
    assert world.hub.repo(RESULTS).pull_requests == {}


def test_every_run_id_is_one_that_verify_accepts(world: World) -> None:
    stored = world.folder / "runs" / "models" / "run.json"
    before = stored.read_text()
    for name, run_id in {"x-" + "y" * 99: "y" * 99, "_run": "run", "été": "t-", "-": "run"}.items():
        stored.write_text(json.dumps({**json.loads(before), "run_id": name}))
        done = world.submit("--to", RESULTS, "--dry-run")
        assert f"run {run_id} of bob" in done.stdout, done.stderr
    stored.write_text(before)


def test_a_retry_never_submits_twice(world: World) -> None:
    for kind, code, said in (
        ("drop", 3, "the Hub does not answer"),
        (429, 3, "too many requests; try again later"),
        (409, 1, "the repository has changed in the meantime"),
        ("lose", 3, "the Hub does not answer"),
        ("", 0, "already open"),
    ):
        world.hub.faults = [Fault(r"POST .*/commit/main\?create_pr", kind)]
        done = world.submit("--to", RESULTS)
        assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert list(world.hub.repo(RESULTS).pull_requests) == [1]
    judgements = world.folder / "runs" / "models" / "judgements.jsonl"
    judgements.write_bytes(b"")
    done = world.submit("--to", RESULTS)
    judgements.unlink()
    assert "PR 1 has an older state of the same files; close it first" in done.stderr


def test_tokens_without_the_rights_are_refused_before_any_work(world: World) -> None:
    for token, reason in (("old", "token is missing or expired"), ("reader", "`write` role")):
        for option in ("--dry-run", "--yes"):
            done = world.submit("--to", RESULTS, option, token=token)
            assert (done.returncode, reason in done.stderr) == (1, True), done.stderr
    assert world.submit("--to", RESULTS).returncode == 0
    world.hub.requests = []
    done = world.verify(1, token="bob")
    assert (done.returncode, "needs the `write` role" in done.stderr, done.stdout) == (1, True, "")
    assert not [line for line in world.hub.requests if "/resolve/" in line], "nothing was fetched"


def test_faults_while_a_run_is_published(world: World) -> None:
    """Whatever is lost, the same command completes the publication, and every row and record is there once."""
    assert world.submit("--to", RESULTS).returncode == 0
    world.hub.faults = [Fault("POST .*/commit/main", "lose"), Fault("GET .*/commits/main", 403)]
    assert [world.verify(1).returncode for _ in range(3)] == [1, 3, 0]
    item = world.hub.repo(RESULTS).pull_requests[1]
    assert (item.status, len(item.comments)) == ("closed", 1)
    assert len(published_rows(world.hub)) == 3
    titles = [commit.title for commit in world.hub.repo(RESULTS).commits.values()]
    assert sum(title.startswith("Verified") for title in titles) == 1


def change_pull_request(hub: Hub, **files: bytes | None) -> None:
    """Commit to the pull request as a submitter might."""
    now = {name: data for name, data in hub.files(RESULTS, "refs/pr/1").items() if files.get(name, b"") is not None}
    hub.commit(RESULTS, {**now, **{name: data for name, data in files.items() if data is not None}}, "refs/pr/1")


def test_submitted_verdicts_and_judges_are_not_believed(world: World) -> None:
    """The verifier's own verdicts are published; forged judgements stay claims."""
    assert world.submit("--to", RESULTS).returncode == 0
    files = world.hub.files(RESULTS, "refs/pr/1")
    [name] = [name for name in files if name.endswith("/results.jsonl")]
    rows = [json.loads(line) for line in files[name].splitlines()]
    passed = [{**row, "status": "passed", "core_status": "passed"} for row in rows if not row["sample"]]
    forged = b"".join(json.dumps(row).encode() + b"\n" for row in passed)
    vote = judgement("toy-scale", "CC", judge_model="<b>judge</b>\u202e")
    keys = [{key: row[key] for key in ("instance_id", "prediction_sha256", "track")} for row in rows]
    judged = b"".join(json.dumps({**vote, **key}).encode() + b"\n" for key in keys)
    change_pull_request(world.hub, **{name: forged, name.replace("results", "judgements"): judged})
    done = world.verify(1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "differs: sample 0 of 'bad' (paper) for toy-scale: submitted passed, is failed" in done.stdout
    assert "sample 1 of 'good' (paper) for toy-scale: not among the submitted results" in done.stdout
    assert "1 of 3 verdicts equal the submitted ones" in done.stdout
    [record] = [json.loads(data) for name, data in world.hub.files(RESULTS).items() if name.startswith("verified/")]
    rates = {entry["model"]: entry["overall"] for entry in record["entries"]}
    assert (rates["bad"]["reproduced"], rates["bad"]["claimed_judged"]) == (0, {"CC": 1})
    assert "\u202e" not in str(record)
    assert "submitted passed, is failed" in record["differing"][0]
    assert "1 of 3 verdicts equal" in world.hub.repo(RESULTS).pull_requests[1].comments[0][1]


def test_predictions_that_cannot_be_published_are_refused(world: World) -> None:
    assert world.submit("--to", RESULTS).returncode == 0
    files = world.hub.files(RESULTS, "refs/pr/1")
    [name] = [name for name in files if name.endswith("/predictions.jsonl")]
    row = json.loads(files[name].splitlines()[0])
    rows = [{**row, "track": None}, {**row, "instance_id": "un/known"}]
    change_pull_request(world.hub, **{name: b"".join(json.dumps(row).encode() + b"\n" for row in rows)})
    done = world.verify(1)
    assert (done.returncode, done.stderr.splitlines()[-1].count("cannot be published: ")) == (1, 1), done.stderr
    assert "prediction predictions.jsonl:2: unknown instance 'un/known'" in done.stderr
    assert "1 of 1 row without a track" in done.stderr
    assert world.hub.repo(RESULTS).pull_requests[1].status == "open"


def hostile(run_id: str) -> Iterator[tuple[dict[str, bytes | None], str]]:
    """Files of a pull request, and why it is refused."""
    yield {f"verified/{run_id}.json": b"{}"}, f"adds verified/{run_id}.json, which does not belong to run"
    yield {"README.md": b"<script>"}, "adds README.md"
    yield {".gitattributes": b"changed"}, "changes or deletes .gitattributes"
    yield {"data/other.parquet": b""}, "adds data/other.parquet, which does not belong to run"
    yield {"runs/other/run.json": b"{}"}, "adds 2 files runs/<run id>/run.json"
    yield {f"runs/{run_id}/run.json": None}, "adds 0 files runs/<run id>/run.json"
    yield {f"runs/{run_id}/run.json": None, "runs/<img src=x>/run.json": b"{}"}, "with a plain name"
    yield {f"runs/{run_id}/run.json": b"[" * 50_000}, "run.json: not the facts of a run"
    other = json.dumps({"run_id": "other", "dataset_sha256": "0"}).encode()
    yield {f"runs/{run_id}/run.json": other}, f"run.json: refers to a different run than {run_id}"
    yield {f"runs/{run_id}/run.json": b" " * (2**20 + 1)}, "run.json is larger than 1 MiB"
    yield {f"runs/{run_id}/predictions.jsonl": None}, "lacks runs/"


def test_hostile_submissions_are_refused_before_anything_runs(world: World) -> None:
    assert world.submit("--to", RESULTS).returncode == 0
    hub = world.hub
    clean = hub.files(RESULTS, "refs/pr/1")
    [run_id] = {name.split("/")[1] for name in clean if name.startswith("runs/")}
    for files, reason in hostile(run_id):
        hub.commit(RESULTS, clean, "refs/pr/1")
        change_pull_request(hub, **files)
        done = world.verify(1)
        assert (done.returncode, done.stdout) == (1, ""), reason
        assert reason in done.stderr
        assert done.stderr.count("\n") == 1
