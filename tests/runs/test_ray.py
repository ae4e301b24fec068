"""Runs on a real Ray cluster: nodes and drivers are killed in the middle, and no answer is lost or counted twice."""

import contextlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lmrbench_data as lmr
from lmrbench_data.base.errors import ArgumentError, InfraError, InputError
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.runs import ray_cluster, ray_engine
from lmrbench_evaluate.runs.evaluation import RunSummary, evaluate
from lmrbench_evaluate.runs.ray_engine import RayEngine
from lmrbench_evaluate.runs.settings import RunSettings
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.sandbox.docker import PROCESS_LABEL, RUN_LABEL
from lmrbench_evaluate.sandbox.docker_client import connect
from support.command_line import PROGRAM
from support.ray_places import ODD
from support.toy import IN_CI

#: On a busy machine, the start of a node takes several tries.
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).resolve().parents[2]
ANSWER = (
    "import time\n\ndef scale(values, factor):\n    time.sleep({})\n    return [value * factor for value in values]\n"
)
#: Small: nodes of the tests share one machine.
STORE = {"object_store_memory": 80_000_000}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A cluster of processes whose head has one CPU; tests add nodes. Required in CI."""
    if importlib.util.find_spec("ray") is None:
        (pytest.fail if IN_CI else pytest.skip)("the extra `ray` is needed")
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")  # socket paths must be short
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
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


@pytest.fixture
def connected(cluster: Any) -> Iterator[None]:
    """This process is a driver; engines use its connection."""
    disconnect = ray_cluster.connect(cluster.address)
    yield
    disconnect()


def raylet(node: Any) -> int:
    """Return the process that a node consists of."""
    return int(node.all_processes["raylet"][0].process.pid)


class Driver:
    """A user's working folder, and the command in it."""

    def __init__(self, folder: Path, row: DatasetRow, address: str) -> None:
        self.folder, self.results = folder, folder / "run" / "results.jsonl"
        self.on_ray = ("--engine", "ray", "--ray-address", address)
        write_dataset([row], folder / "lmr-bench", load_benchmark())

    def write(self, count: int) -> None:
        rows = [{**names(number), "function": f"{ANSWER.format(0.1)}# {number}\n"} for number in range(count)]
        (self.folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        command = [*PROGRAM, "evaluate", "answers.jsonl", "--dataset", "lmr-bench", "--out", "run"]
        command += ["--sandbox", "local", *options]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.folder, start_new_session=True, **pipes)

    def wait_for_rows(self, count: int) -> None:
        assert until(lambda: self.results.exists() and self.results.read_bytes().count(b"\n") >= count)

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.results.read_text().splitlines()]


@pytest.fixture
def driver(cluster: Any, tmp_path: Path, toy_row: DatasetRow) -> Driver:
    return Driver(tmp_path, toy_row, cluster.address)


def names(number: int) -> dict[str, Any]:
    return {"instance_id": "toy-scale", "model_name_or_path": "m", "track": "paper", "sample": number}


def until(condition: Callable[[], bool], seconds: float = 120) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_killed_driver_and_a_lost_node_cost_no_answer(driver: Driver, add_node: Callable[..., Any]) -> None:
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

    second = driver.start(*options)
    driver.wait_for_rows(finished.count(b"\n") + 4)
    os.kill(raylet(lost), signal.SIGKILL)
    stdout, stderr = second.communicate(timeout=200)
    assert second.returncode == 0, stderr
    assert driver.results.read_bytes().startswith(finished)
    assert sorted(row["sample"] for row in driver.rows()) == list(range(24))
    assert {row["status"] for row in driver.rows()} == {"passed"}
    facts = json.loads((driver.folder / "run" / "run.json").read_text())
    [seed] = facts["fresh_seeds"]
    assert all(seed in {case["seed"] for case in row["cases"]} for row in driver.rows())
    assert facts["engine"]["name"] == "ray"
    assert facts["engine"]["nodes"] == facts["engine"]["cores"] == 2
    assert json.loads(stdout)["scores"][0]["overall"]["robust"]["count"] == 24


def test_an_interrupted_run_leaves_no_process_and_resumes_on_threads(driver: Driver) -> None:
    driver.write(12)
    process = driver.start(*driver.on_ray)
    driver.wait_for_rows(2)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert b"re-run the command to resume" in stderr
    assert b"Traceback" not in stderr
    assert until(lambda: not runners_of(driver)), "tested code still runs"
    kept = driver.results.read_bytes()
    again = driver.start()
    _, stderr = again.communicate(timeout=120)
    assert again.returncode == 0, stderr
    assert driver.results.read_bytes().startswith(kept)
    assert Counter(row["sample"] for row in driver.rows()) == dict.fromkeys(range(12), 1)


def runners_of(driver: Driver) -> list[int]:
    """Return the processes of local sandboxes below the cluster's workers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if b"LMRBENCH_LOCAL_SANDBOX=" in path.read_bytes() and parent_name(path.parent).startswith("ray::"):
                found.append(int(path.parent.name))
    return found


def parent_name(process: Path) -> str:
    parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
    return Path(f"/proc/{parent}/cmdline").read_text().split("\0")[0]


@pytest.mark.usefixtures("connected")
def test_a_node_that_differs_or_fails_costs_no_answer_and_a_cluster_without_nodes_no_hang(
    add_node: Callable[..., Any], tmp_path: Path, toy_row: DatasetRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that differs is named in one line; answers leave a node that fails, and fail if there is no other."""
    odd = add_node("odd", **{ODD: str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/none"})
    with pytest.raises(InfraError, match=r"^node odd \(.*\): .*Docker"):
        RayEngine(None, "auto", None)
    with RayEngine(None, "support.ray_places:OtherImage", None) as engine:
        with pytest.raises(InputError, match=r"^node .*: images .*'sha256:.*; give all nodes the same") as found:
            engine.prepare(["lmrbench/toy:1"])
        assert "\n" not in str(found.value)
    with monkeypatch.context() as patch:
        patch.setattr(ray_cluster, "__version__", "9.9")
        with pytest.raises(InputError, match=r"^node .*: it has lmrbench-data .*; install 9\.9 there$"):
            RayEngine(None, "support.ray_places:OtherImage", None)

    monkeypatch.setattr(ray_engine, "WATCH_S", 0.2)
    monkeypatch.setattr(ray_engine, "PATIENCE_S", 2.0)

    def run(sandbox: str, count: int) -> RunSummary:
        answers = [{**names(number), "function": f"{ANSWER.format(0)}# {number}\n"} for number in range(count)]
        engine = RayEngine(None, f"support.ray_places:{sandbox}", None)
        return evaluate(answers, RunSettings(out=tmp_path / sandbox), [toy_row], engine)

    assert run("FailsOnOdd", 6).infra_errors == 0
    assert (tmp_path / "failed").exists()

    def lose_the_node() -> None:
        until((tmp_path / "hangs").exists)
        os.kill(raylet(odd), signal.SIGKILL)

    killer = threading.Thread(target=lose_the_node)
    killer.start()
    summary = run("HangsOnOdd", 1)
    killer.join()
    assert summary.infra_errors == 1
    [row] = lmr.open_run(tmp_path / "HangsOnOdd").results()
    # The last word is the node's or the driver's, whichever is heard first.
    assert row["detail"] in ("no node of the Ray cluster is left for it", "the engine is gone")


@pytest.mark.docker
@pytest.mark.usefixtures("connected")
def test_a_killed_node_leaves_no_container(
    add_node: Callable[..., Any], tmp_path: Path, toy_row: DatasetRow, docker_sandbox: Sandbox
) -> None:
    docker_sandbox.prepare(toy_row["docker_image"])
    node, api, seen = add_node("lost"), connect(), list[str]()

    def lose_the_node() -> None:
        """Kill a node as a power failure would, once it has a container."""

        def workers() -> list[tuple[int, str]]:
            containers = api.containers(filters={"label": RUN_LABEL})
            labels = [(int(item["Labels"][PROCESS_LABEL]), item["Labels"][RUN_LABEL]) for item in containers]
            return [(process, run) for process, run in labels if is_below(process, raylet(node))]

        until(lambda: bool(workers()))
        [(worker, run), *_] = workers()
        seen.append(run)
        for process in (raylet(node), worker):
            os.kill(process, signal.SIGKILL)

    killer = threading.Thread(target=lose_the_node)
    killer.start()
    answers = [{**names(number), "function": f"{ANSWER.format(1)}# {number}\n"} for number in range(4)]
    with RayEngine(None, "auto", None) as engine:
        summary = evaluate(answers, RunSettings(out=tmp_path / "run"), [toy_row], engine)
    killer.join()
    assert (summary.jobs, summary.infra_errors) == (4, 0)
    assert {row["status"] for row in lmr.open_run(tmp_path / "run").results()} == {"passed"}
    [run] = seen
    assert until(lambda: not api.containers(all=True, filters={"label": f"{RUN_LABEL}={run}"})), "a container is left"


def is_below(process: int, parent: int) -> bool:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1]) == parent
    return False


def test_an_address_without_a_cluster_is_one_line() -> None:
    with pytest.raises(InfraError, match=r"^no Ray cluster at 127\.0\.0\.1:1 \(.*Connection refused\)$"):
        lmr.evaluate("gold", engine="ray", ray_address="127.0.0.1:1")
    with pytest.raises(ArgumentError, match="needs the engine ray"):
        lmr.evaluate("gold", ray_address="127.0.0.1:1")
