"""Time limits on a busy machine: right answers stay right, and no answer gains by sleeping."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import OverloadError
from lmrbench_data.base.jobs import GIVE_UP_AFTER
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File
from lmrbench_evaluate.predictions.prediction import Prediction
from lmrbench_evaluate.rebuild.workspace import workspace_tar
from lmrbench_evaluate.runs.evaluation import RunSummary, evaluate
from lmrbench_evaluate.runs.settings import RunSettings
from lmrbench_evaluate.sandbox import meter
from lmrbench_evaluate.sandbox.base import Limits, Outcome, Sandbox
from lmrbench_evaluate.sandbox.docker import RUN_LABEL, DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import connect
from lmrbench_evaluate.sandbox.local import LocalSandbox
from lmrbench_evaluate.verdict.evaluator import evaluate_batch
from lmrbench_evaluate.verdict.verdict import Cause, Status, Verdict
from support.toy import TOY_ANSWER


def burning(seconds: float) -> str:
    """Return a right answer each of whose four calls needs this many seconds of CPU time."""
    return f"""
import time
def scale(values, factor):
    until = time.process_time() + {seconds}
    while time.process_time() < until: pass
    return [value * factor for value in values]
"""


@pytest.fixture
def starved(docker_sandbox: DockerSandbox, toy_row: DatasetRow) -> Iterator[None]:
    """Containers get about a tenth of a processor: another one, with more weight, burns the rest."""
    cores = os.cpu_count() or 1
    burn = f"import os\nfor _ in range({cores - 1}): os.fork() or exec('while True: pass')\nwhile True: pass"
    api = connect()
    host = api.create_host_config(cpu_shares=9 * 1024 * cores, init=False)
    labels = {RUN_LABEL: docker_sandbox.run_id}  # removed with the sandbox if this process is killed
    image = docker_sandbox.prepare(toy_row["docker_image"])
    burner = api.create_container(image, ["python", "-c", burn], host_config=host, labels=labels)["Id"]
    try:
        api.start(burner)
        yield
    finally:
        api.remove_container(burner, force=True)


@pytest.mark.docker
@pytest.mark.timeout(180)
def test_an_answer_that_waits_for_the_machine_passes(starved: None, try_in_docker: Callable[..., Verdict]) -> None:
    verdict = try_in_docker(burning(0.2), timeout_s=3)
    assert verdict.status is Status.PASSED, verdict.reason()
    assert verdict.cpu_s is not None
    assert 0.8 <= verdict.cpu_s < 3 < verdict.duration_s


@pytest.mark.docker
@pytest.mark.timeout(180)
def test_an_answer_on_an_overloaded_machine_has_no_verdict(
    starved: None, try_in_docker: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(meter, "WALL_LEAST_S", 5.0)
    monkeypatch.setattr(meter, "WALL_FACTOR", 1.0)
    verdict = try_in_docker(burning(0.6), timeout_s=3)
    assert (verdict.status, verdict.cause) == (Status.INFRA_ERROR, Cause.OVERLOAD), verdict.reason()
    assert "the machine is overloaded" in verdict.detail


#: body of the goal function → whether it uses CPU time
ENDLESS = {
    "import time; time.sleep(1e6)": False,
    "import threading; threading.Lock().acquire() and threading.Event().wait()": False,
    "while True: pass": True,
    # Each lives too short for a limit of its own, and nobody waits for it.
    """import os, time
    while True:
        if os.fork() == 0:
            os.fork() and os._exit(0)
            os.setsid()
            while time.process_time() < 0.1: pass
            os._exit(0)
        os.wait()
        time.sleep(0.1)""": True,
    # Never idle for long, and never busy for long.
    """import time
    while True:
        time.sleep(0.3)
        until = time.process_time() + 0.1
        while time.process_time() < until: pass""": True,
}


@pytest.mark.timeout(180)
@pytest.mark.parametrize("body", ENDLESS)
def test_no_answer_waits_forever(body: str, try_behind_wall: Callable[..., Verdict]) -> None:
    """On an idle machine an endless run is a timeout long before it could be an overload."""
    verdict = try_behind_wall(f"def scale(values, factor):\n    {body}\n", timeout_s=2)
    assert verdict.status is Status.TIMEOUT, verdict.reason()
    assert verdict.cpu_s is not None
    assert (verdict.cpu_s > 0.3) is ENDLESS[body]
    assert verdict.duration_s < meter.wall_limit(2)


def test_a_local_answer_cannot_spread_its_time_over_processes(local_sandbox: Sandbox) -> None:
    body = "import os\n    for _ in range(3): os.fork()\n    while True: pass"
    outcome = local_sandbox.run("", _workspace(body), Limits(2, 256))
    assert outcome.ended == "time_limit"
    assert outcome.cpu_s is not None
    assert outcome.cpu_s >= 2


STOPPED = """
import sys
from lmrbench_evaluate.sandbox.base import Limits
from lmrbench_evaluate.sandbox.local import LocalSandbox

print("running", flush=True)
print(LocalSandbox().run("", sys.stdin.buffer.read(), Limits(2, 256)).ended, flush=True)
"""


def test_time_while_the_harness_is_stopped_does_not_count() -> None:
    """As after Ctrl-Z, or on a machine that had no time for the harness: the answer has long returned by then."""
    harness = subprocess.Popen([sys.executable, "-c", STOPPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert harness.stdin is not None
    assert harness.stdout is not None
    with contextlib.closing(harness.stdout):
        harness.stdin.write(_workspace("import time; time.sleep(0.8)"))
        harness.stdin.close()
        assert harness.stdout.readline() == b"running\n"
        time.sleep(0.4)
        harness.send_signal(signal.SIGSTOP)
        time.sleep(3)
        harness.send_signal(signal.SIGCONT)
        assert harness.stdout.readline() == b"exited\n"
        assert harness.wait(20) == 0


def test_a_killed_harness_leaves_no_sleeper(tmp_path: Path) -> None:
    """Nothing waits for a wall-clock limit: the runner notices that its output is not read."""
    harness = subprocess.Popen([sys.executable, "-c", STOPPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    noted = tmp_path / "process"
    assert harness.stdin is not None
    assert harness.stdout is not None
    with contextlib.closing(harness.stdout):
        body = f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(300)"
        harness.stdin.write(_workspace(body))
        harness.stdin.close()
        assert _until(lambda: noted.is_file() and bool(noted.read_text()))
        harness.kill()
        harness.wait()
    assert _until(lambda: not Path(f"/proc/{noted.read_text()}").exists())


def _until(condition: Callable[[], bool], seconds: float = 60) -> bool:
    stop = time.monotonic() + seconds
    while not condition() and time.monotonic() < stop:
        time.sleep(0.05)
    return condition()


def _workspace(body: str) -> bytes:
    """A workspace whose one case runs `body`."""
    return workspace_tar(
        {"empty.py": File(b"")}, f"def case_only(seed):\n    {body}\n".encode(), runs=[("only", 0)], limit_s=60
    )


@pytest.mark.timeout(120)
def test_a_sleeping_answer_takes_no_time_from_others_of_its_batch(toy_row: DatasetRow, local_sandbox: Sandbox) -> None:
    row: Any = {**toy_row, "tests": {**toy_row["tests"], "timeout_s": 2}}
    bodies = ["import time; time.sleep(60)", "while True: pass", "return [value * factor for value in values]"]
    answers = [Prediction("toy-scale", "m", "function", f"def scale(values, factor):\n    {body}\n") for body in bodies]
    verdicts = evaluate_batch(row, answers, local_sandbox, "", seeds=[0, 1])
    assert [verdict.status for verdict in verdicts] == [Status.TIMEOUT, Status.TIMEOUT, Status.PASSED]


# --- a run ----------------------------------------------------------------------------------------------------------


class Overloaded(LocalSandbox):
    """A machine that has no time for a run unless it runs alone, or never."""

    def __init__(self, tries: int) -> None:
        super().__init__()
        self._tries = tries
        self._seen: dict[bytes, int] = {}
        self._beside_now = 0
        self._counting = threading.Lock()
        self.beside: list[int] = []
        """The number of parallel runs during each retry."""

    def run(self, image: str, workspace: bytes, limits: Limits) -> Outcome:
        with self._counting:
            self._beside_now += 1
            self._seen[workspace] = self._seen.get(workspace, 0) + 1
            tried = self._seen[workspace]
        try:
            if tried <= self._tries:
                time.sleep(0.2)
                raise OverloadError("the machine is overloaded")
            outcome = super().run(image, workspace, limits)
            self.beside.append(self._beside_now - 1)
            return outcome
        finally:
            with self._counting:
                self._beside_now -= 1


def _run(
    folder: Path, row: DatasetRow, sandbox: Sandbox, samples: int = 4
) -> tuple[RunSummary, list[dict[str, Any]], dict[str, Any]]:
    answers = [
        {
            "instance_id": "toy-scale",
            "model_name_or_path": "m",
            "sample": sample,
            "track": "paper",
            "goal_file": f"{TOY_ANSWER}# {sample}\n",
        }
        for sample in range(samples)
    ]
    with sandbox:
        summary = evaluate(answers, RunSettings(out=folder, workers=4), [row], sandbox)
    rows = [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]
    return summary, rows, json.loads((folder / "run.json").read_text())


def test_a_run_on_an_overloaded_machine_is_retried_alone(toy_row: DatasetRow, tmp_path: Path) -> None:
    sandbox = Overloaded(tries=1)
    summary, rows, _ = _run(tmp_path / "run", toy_row, sandbox)
    assert [row["status"] for row in rows] == ["passed"] * 4
    assert sandbox.beside == [0] * 4
    assert summary.infra_errors == 0


def test_a_run_stops_after_answers_without_time(toy_row: DatasetRow, tmp_path: Path) -> None:
    summary, rows, facts = _run(tmp_path / "run", toy_row, Overloaded(tries=99), samples=GIVE_UP_AFTER + 1)
    assert {row["status"] for row in rows} == {"infra_error"}
    assert "overloaded" in summary.stopped  # the next answer would fare no better
    assert facts["complete"] is False


def test_rows_keep_both_times(toy_row: DatasetRow, tmp_path: Path) -> None:
    _, rows, _ = _run(tmp_path / "run", toy_row, LocalSandbox())
    assert all(0 < row["cpu_s"] < row["duration_s"] + 1 for row in rows)
