"""Task folders for Harbor: what each side sees, and the verdict that their verifier gives in a container."""

import io
import json
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from lmrbench.export.harbor import harbor_task
from lmrbench.export.verifier import grade_folder, read_row, rewards, row_bytes
from lmrbench.generation.workspace import workspace_files
from lmrbench_data.base.archive import tar_bytes
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File, gunzip, read_archive, write_files
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.predictions.prediction import own_answer
from lmrbench_evaluate.rebuild.workspace import rebuild
from lmrbench_evaluate.sandbox.base import Sandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_prediction
from lmrbench_evaluate.verdict.verdict import Verdict
from support.command_line import Done, in_process
from support.toy import TOY_ANSWER


def grade(row: DatasetRow, folder: Path, sandbox: Sandbox) -> Verdict:
    """Return the verdict of the verifier, which gets the row as it is exported."""
    return grade_folder(read_row(row_bytes(row)), folder, sandbox)


def below(files: Mapping[str, File], folder: str) -> dict[str, File]:
    return {name.removeprefix(f"{folder}/"): file for name, file in files.items() if name.startswith(f"{folder}/")}


@pytest.mark.parametrize("fixture", ["toy_row", "method_row", "counterfactual_row"])
def test_an_agent_sees_the_workspace_and_the_answer_is_in_the_solution_alone(
    fixture: str, request: pytest.FixtureRequest
) -> None:
    row: DatasetRow = request.getfixturevalue(fixture)
    files = harbor_task(row, network="none")
    assert below(files, "environment/workspace") == workspace_files(row)
    assert files["instruction.md"].data.endswith(workspace_files(row)["TASK.md"].data)
    golden = below(files, "solution/files")
    masked = read_archive(row["repo_archive"])
    hidden = {line for name, file in golden.items() for line in file.data.splitlines() if line not in masked[name].data}
    assert hidden
    for name, file in files.items():
        data = gunzip(file.data) if name.endswith(".gz") else file.data
        assert name.startswith("solution/") or not any(line in data.splitlines() for line in hidden), name
    seen = b"".join(file.data for file in below(files, "environment").values())
    assert b"case_" not in seen
    exported = read_row(files["tests/row.json.gz"].data)
    assert exported["expected"] == row["expected"]
    assert not exported.keys() & {"golden_file", "golden_files"}
    task = tomllib.loads(files["task.toml"].data.decode())
    assert {task[part]["network_mode"] for part in ("environment", "agent", "verifier")} == {"no-network"}
    assert task["environment"]["memory_mb"] > row["tests"]["memory_mb"]
    assert task["verifier"]["timeout_sec"] > row["tests"]["timeout_s"]
    assert task["metadata"]["paper_title"] == row["paper_title"]


def test_budget_is_stated_and_the_harness_of_the_verifier_holds_no_task(toy_row: DatasetRow) -> None:
    files = harbor_task({**toy_row, "cpu_budget_s": 20})
    assert tomllib.loads(files["task.toml"].data.decode())["metadata"]["cpu_budget_s"] == 20
    harness = zipfile.ZipFile(io.BytesIO(files["tests/harness.zip"].data))
    assert {name.partition("/")[0] for name in harness.namelist()} == {"lmrbench", "lmrbench_data", "lmrbench_evaluate"}
    assert all(name.endswith(".py") and "benchmark" not in name for name in harness.namelist())


def test_exports_are_reproducible_and_go_into_new_or_empty_folders(
    toy_row: DatasetRow, method_row: DatasetRow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_dataset([toy_row, method_row], tmp_path / "toy", load_benchmark())

    def export(out: str, *options: str) -> Done:
        return in_process("export", "harbor", out, "--dataset", "toy", "--json", *options)

    def content(folder: str) -> dict[str, tuple[bytes, int]]:
        paths = (path for path in (tmp_path / folder).rglob("*") if path.is_file())
        return {str(path.relative_to(tmp_path / folder)): (path.read_bytes(), path.stat().st_mode) for path in paths}

    first = json.loads(export("one").stdout)
    assert first["instances"] == ["toy-method", "toy-scale"]
    assert export("two").returncode == 0
    assert content("one") == content("two")
    functions, methods = json.loads((tmp_path / "one/registry.json").read_text())
    assert (functions["name"], functions["tasks"]) == ("function", [{"name": "toy-scale", "path": "toy-scale"}])
    assert (methods["name"], [item["path"] for item in methods["tasks"]]) == ("method", ["toy-method"])
    assert export("three", "--instance", "toy-scale", "--network", "public").returncode == 0
    assert "Do not use the network." in (tmp_path / "three/toy-scale/instruction.md").read_text()
    before = content("one")
    refused = export("one")
    assert (refused.returncode, refused.stderr) == (
        1,
        "error: one: is not an empty folder; name a new one, or remove it\n",
    )
    assert content("one") == before
    (tmp_path / "empty").mkdir()
    contract = export("empty", "--track", "contract")
    assert (contract.returncode, len(contract.stderr.splitlines())) == (1, 1)
    monkeypatch.chdir(tmp_path / "empty")
    assert in_process("export", "harbor", ".", "--dataset", "../toy", "--config", "function").returncode == 0
    assert sorted(path.name for path in Path().iterdir()) == ["registry.json", "toy-scale"]
    monkeypatch.chdir(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "one", "three", "toy", "two"]


@pytest.mark.parametrize("fixture", ["toy_row", "method_row", "counterfactual_row", "underspecified_row"])
@pytest.mark.parametrize("word", ["gold", "masked"])
def test_the_verifier_gives_the_verdict_of_an_evaluation(
    fixture: str, word: str, request: pytest.FixtureRequest, tmp_path: Path, local_sandbox: Sandbox
) -> None:
    row: DatasetRow = request.getfixturevalue(fixture)
    official = evaluate_prediction(row, own_answer(row, word), local_sandbox, "")
    write_files(rebuild(row, own_answer(row, word)), tmp_path / "repo")
    found = grade(row, tmp_path / "repo", local_sandbox)
    assert (found.status, found.cases, found.choices) == (official.status, official.cases, official.choices)
    assert rewards(row, found)["reward"] == float(word == "gold")


def test_rewards_tell_what_was_read_from_what_was_recited(
    counterfactual_row: DatasetRow, tmp_path: Path, local_sandbox: Sandbox
) -> None:
    write_files(rebuild(counterfactual_row, own_answer(counterfactual_row, "gold")), tmp_path)
    window = tmp_path / "window.py"
    stated = "return self.total(values) / self.size\n"
    assert stated in window.read_text()
    window.write_text(window.read_text().replace(stated, "return self.total(values) / len(values[-self.size :])\n"))
    assert rewards(counterfactual_row, grade(counterfactual_row, tmp_path, local_sandbox)) == {
        "reward": 0,
        "core_cases": pytest.approx(0.5),
        "stated": 0.5,
        "published": 0.5,
    }


def test_malformed_answer_or_none_gets_no_reward_and_no_error(
    toy_row: DatasetRow, counterfactual_row: DatasetRow, tmp_path: Path, local_sandbox: Sandbox
) -> None:
    write_files(read_archive(toy_row["repo_archive"]), tmp_path)
    for text in ("", "def scale(:\n", TOY_ANSWER * 2):
        (tmp_path / "scale.py").write_text(text)
        verdict = grade(toy_row, tmp_path, local_sandbox)
        assert verdict.status == "malformed"
        assert rewards(toy_row, verdict) == {"reward": 0, "core_cases": 0, "robust": 0}
    verdict = grade(counterfactual_row, tmp_path / "gone", local_sandbox)
    assert verdict.status == "malformed"
    assert rewards(counterfactual_row, verdict) == {"reward": 0, "core_cases": 0, "stated": 0, "published": 0}


# --- in a container ---------------------------------------------------------------------------------------------------


class Box:
    """A container of the environment's image with a task folder in it, as Harbor arranges it."""

    def __init__(self, container: Any) -> None:
        self._container = container

    def put(self, files: Mapping[str, File], folder: str) -> None:
        self.run(f"mkdir -p {folder}")
        assert self._container.put_archive(folder, tar_bytes(files))

    def run(self, command: str) -> str:
        status, output = self._container.exec_run(["sh", "-c", command], workdir="/")
        assert status == 0, output.decode()
        return output.decode()

    def rewards(self) -> dict[str, float]:
        self.run("rm -f /logs/verifier/reward.json")
        self.run("/tests/test.sh")
        data, _ = self._container.get_archive("/logs/verifier/reward.json")
        with tarfile.open(fileobj=io.BytesIO(b"".join(data))) as tar:
            member = tar.extractfile("reward.json")
            assert member is not None
            found: dict[str, float] = json.loads(member.read())
            return found


@pytest.fixture
def box(toy_row: DatasetRow, docker_sandbox: Sandbox) -> Iterator[Box]:
    import docker

    image = toy_row["docker_image"]
    docker_sandbox.prepare(image)
    files = harbor_task(toy_row)
    client = docker.from_env()
    container = client.containers.run(image, ["sleep", "300"], detach=True, network_mode="none", init=True)
    try:
        box = Box(container)
        box.put(below(files, "environment/workspace"), "/app")
        box.put(below(files, "tests"), "/tests")
        box.put(below(files, "solution"), "/solution")
        yield box
    finally:
        container.remove(force=True)
        client.close()


@pytest.mark.docker
def test_the_reference_gets_a_reward_in_the_container_and_the_masked_repository_none(box: Box) -> None:
    assert box.rewards() == {"reward": 0, "core_cases": 0, "robust": 0}
    box.run("/solution/solve.sh")
    assert box.rewards() == {"reward": 1, "core_cases": 1, "robust": 1}


HOSTILE = """
import glob, os, subprocess, sys
for path in ("/tests/row.json.gz", "/tests/harness.zip", *glob.glob("/tmp/tmp.*"), *glob.glob("/proc/[0-9]*/mem")):
    try:
        open(path, "rb").read(1)
        print("READ", path)
    except OSError:
        pass
for path in ("/logs/verifier/reward.json", "/logs/verifier/reward.txt", "/tests/test.sh"):
    try:
        open(path, "w").write('{"reward": 1}')
        print("WROTE", path)
    except OSError:
        pass
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(200)"], start_new_session=True)

def scale(values, factor):
    return []
"""


@pytest.mark.docker
def test_an_answer_in_the_container_can_neither_read_the_tests_nor_write_its_reward(box: Box) -> None:
    box.run("mkdir -p /logs/verifier && chmod 777 /logs/verifier")  # as Harbor does
    box.put({"scale.py": File(HOSTILE.encode())}, "/app/repo")
    assert box.rewards() == {"reward": 0, "core_cases": 0, "robust": 0}
    log = json.loads(box.run("cat /logs/verifier/verdict.json"))["log"]
    assert "READ" not in log
    assert "WROTE" not in log
    assert box.run("ls /logs/verifier").split() == ["reward.json", "verdict.json"]
    assert "sleep(200)" not in box.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '"), "nothing outlives its run"


#: Forks without end, so that whoever kills one process after the other comes too late for the next.
RUNNERS = """
import os, subprocess, sys
CODE = '''
import os, time
end = time.time() + 20
while time.time() < end:
    try:
        if os.fork():
            os._exit(0)
    except OSError:
        pass
    try:
        os.rename("/logs/verifier/reward.json", "/logs/verifier/reward.old")
        open("/logs/verifier/reward.json", "w").write('{"reward": 1}')
        os._exit(0)
    except OSError:
        pass
'''
for _ in range(12):
    subprocess.Popen([sys.executable, "-I", "-S", "-c", CODE], start_new_session=True)

def scale(values, factor):
    return []
"""


@pytest.mark.docker
@pytest.mark.nightly
def test_processes_that_fork_faster_than_they_are_killed_do_not_outlive_their_run(box: Box) -> None:
    """One of ten such answers wrote its own reward once the verifier had opened the folder again."""
    box.run("mkdir -p /logs/verifier && chmod 777 /logs/verifier")
    box.put({"scale.py": File(RUNNERS.encode())}, "/app/repo")
    for _ in range(3):
        assert box.rewards() == {"reward": 0, "core_cases": 0, "robust": 0}
        assert "rename" not in box.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' '")
        assert "reward.old" not in box.run("sleep 0.5; ls /logs/verifier")
