"""Runs on a real Ray cluster: nodes and drivers are killed in the middle, and no answer is lost or counted twice."""

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import lmrbench as lmr
from lmrbench_data.base.errors import ArgumentError, InfraError, InputError
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.runs import ray_engine
from lmrbench_evaluate.runs.ray_engine import RayEngine
from lmrbench_evaluate.sandbox.local import LocalSandbox
from support.command_line import PROGRAM
from support.sandboxes import processes_with, until
from support.toy import IN_CI, json_lines

#: On a busy machine, the start of a node takes several tries.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
#: The child stands for the tested code: its mark finds it among all processes.
ANSWER = """
import subprocess, sys, time

def scale(values, factor):
    subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)", "{mark}"])
    time.sleep(0.1)
    return [value * factor for value in values]
"""
#: Variable of the environment of a node with another image.
ODD = "LMRBENCH_TEST_ODD_NODE"
#: Small: nodes of the tests share one machine.
STORE = {"object_store_memory": 80_000_000}


class OtherImage(LocalSandbox):
    """A sandbox whose image differs on the odd node."""

    name = "other_image"

    def prepare(self, tag: str) -> str:
        return "sha256:odd" if ODD in os.environ else "sha256:even"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of processes whose head has one CPU; tests add nodes. Required in CI."""
    if importlib.util.find_spec("ray") is None:
        (pytest.fail if IN_CI else pytest.skip)("the extra `ray` is needed")
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # socket paths must be short
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("RAY_raylet_start_wait_time_s", "200")  # on a busy machine
        patch.setenv("PYTHONPATH", os.pathsep.join(map(str, (ROOT, ROOT / "evaluate", ROOT / "tests"))))
        from ray.cluster_utils import Cluster

        made = Cluster()
        # Ray notes the head's address there; if it cannot, the cluster has an extra node.
        Path(tempfile.gettempdir(), "ray").mkdir(exist_ok=True)
        begin(made, include_dashboard=False, temp_dir=folder)
        try:
            yield made
        finally:
            made.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


def begin(cluster: Any, tries: int = 4, **options: Any) -> Any:
    """Start a node of one CPU, trying again: Ray gives its processes a few seconds, too few on a busy machine."""
    for _ in range(tries - 1):
        before = cluster.list_all_nodes()
        try:
            return cluster.add_node(num_cpus=1, **options, **STORE)
        except Exception:  # the node may be running nevertheless
            for node in cluster.list_all_nodes():
                if node not in before:
                    cluster.remove_node(node, allow_graceful=False)
    return cluster.add_node(num_cpus=1, **options, **STORE)


@pytest.fixture
def add_node(cluster: Any) -> Iterator[Callable[..., Any]]:
    """Add a node with this name and environment; it leaves after the test."""
    added = []

    def add(name: str, **environment: str) -> Any:
        added.append(begin(cluster, node_name=name, env_vars=environment))
        return added[-1]

    yield add
    for node in added:
        cluster.remove_node(node, allow_graceful=False)


def raylet(node: Any) -> int:
    """Return the process that a node consists of."""
    return int(node.all_processes["raylet"][0].process.pid)


class Driver:
    """A user's working folder, and the command in it."""

    def __init__(self, folder: Path, row: DatasetRow, address: str) -> None:
        self.folder, self.results = folder, folder / "out" / "results.jsonl"
        self.mark = uuid.uuid4().hex
        self.on_ray = ("--engine", "ray", "--ray-address", address)
        write_dataset([row], folder / "lmr-bench", load_benchmark())

    def write(self, count: int) -> None:
        answer = ANSWER.format(mark=self.mark)
        rows = [{**names(number), "function": f"{answer}# {number}\n"} for number in range(count)]
        (self.folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def start(self, *options: str, before: Sequence[str] = ()) -> subprocess.Popen[bytes]:
        command = [*before, *PROGRAM, "evaluate", "answers.jsonl", "--dataset", "lmr-bench", "--out", "out"]
        command += ["--sandbox", "local", *options]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.folder, start_new_session=True, **pipes)

    def wait_for_rows(self, count: int) -> None:
        assert until(lambda: self.results.exists() and self.results.read_bytes().count(b"\n") >= count, 120)

    def rows(self) -> list[dict[str, Any]]:
        return json_lines(self.results)


@pytest.fixture
def driver(cluster: Any, tmp_path: Path, toy_row: DatasetRow) -> Driver:
    return Driver(tmp_path, toy_row, cluster.address)


def names(number: int) -> dict[str, Any]:
    return {"instance_id": "toy-scale", "model_name_or_path": "m", "track": "paper", "sample": number}


@pytest.mark.nightly
def test_killed_driver_and_lost_node_cost_no_answer(driver: Driver, add_node: Callable[..., Any]) -> None:
    """Finished rows stay as they were, the rest is evaluated once, on the node that is left; stdout is a report."""
    lost = add_node("lost")
    driver.write(24)
    options = (*driver.on_ray, "--fresh-seeds", "1", "--json")
    first = driver.start(*options)
    driver.wait_for_rows(3)
    first.kill()
    first.communicate()
    finished = driver.results.read_bytes()
    assert finished.count(b"\n") < 24

    # Below `uv run`, Ray would send the folder to the nodes, and refuse because it is too large.
    shutil.copy("/bin/sh", driver.folder / "uv")
    (driver.folder / "run").write_text('"$@"\n')
    (driver.folder / "pyproject.toml").touch()
    os.truncate(os.open(driver.folder / "large", os.O_CREAT | os.O_WRONLY), 700_000_000)
    second = driver.start(*options, before=("./uv", "run"))
    driver.wait_for_rows(finished.count(b"\n") + 4)
    os.kill(raylet(lost), signal.SIGKILL)
    stdout, stderr = second.communicate(timeout=200)
    assert second.returncode == 0, stderr
    assert driver.results.read_bytes().startswith(finished)
    assert sorted(row["sample"] for row in driver.rows()) == list(range(24))
    assert {row["status"] for row in driver.rows()} == {"passed"}
    facts = json.loads((driver.folder / "out" / "run.json").read_text())
    [seed] = facts["fresh_seeds"]
    assert all(seed in {case["seed"] for case in row["cases"]} for row in driver.rows())
    assert facts["engine"]["name"] == "ray"
    assert facts["engine"]["nodes"] == facts["engine"]["cores"] == 2
    assert json.loads(stdout)["scores"][0]["overall"]["robust"]["count"] == 24


def test_interrupted_run_leaves_no_process_and_resumes_on_threads(driver: Driver) -> None:
    driver.write(12)
    process = driver.start(*driver.on_ray)
    driver.wait_for_rows(2)
    assert until(lambda: processes_with(driver.mark))
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert b"re-run the command to resume" in stderr
    assert b"Traceback" not in stderr
    assert until(lambda: not processes_with(driver.mark)), "tested code still runs"
    kept = driver.results.read_bytes()
    again = driver.start()
    _, stderr = again.communicate(timeout=120)
    assert again.returncode == 0, stderr
    assert driver.results.read_bytes().startswith(kept)
    assert Counter(row["sample"] for row in driver.rows()) == dict.fromkeys(range(12), 1)


@pytest.mark.nightly
def test_a_node_with_another_image_or_version_is_named(
    cluster: Any, add_node: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_node("odd", **{ODD: "1"})
    with RayEngine(cluster.address, "runs.test_ray:OtherImage", None) as engine:
        with pytest.raises(InputError, match=r"^node .*: images .*'sha256:.*; give all nodes the same") as raised:
            engine.prepare(["lmrbench/toy:1"])
        assert "\n" not in str(raised.value)
    monkeypatch.setattr(ray_engine, "__version__", "9.9")
    with pytest.raises(InputError, match=r"^node .*: it has lmrbench .*; install 9\.9 there$"):
        RayEngine(cluster.address, "runs.test_ray:OtherImage", None)


def test_address_without_a_cluster_is_one_line() -> None:
    with pytest.raises(InfraError, match=r"^no Ray cluster at 127\.0\.0\.1:1 \(.*Connection refused\)$"):
        lmr.evaluate("gold", engine="ray", ray_address="127.0.0.1:1")
    with pytest.raises(ArgumentError, match="needs the engine ray"):
        lmr.evaluate("gold", ray_address="127.0.0.1:1")
