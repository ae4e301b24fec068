"""Time limits on a busy machine: right answers stay right, and no answer gains by sleeping."""

import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lmrbench_data.base.errors import OverloadError
from lmrbench_data.base.jobs import GIVE_UP_AFTER
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_evaluate.runs.evaluation import evaluate
from lmrbench_evaluate.runs.settings import RunSettings
from lmrbench_evaluate.sandbox import meter
from lmrbench_evaluate.sandbox.base import Ended, Limits, Outcome, Sandbox
from lmrbench_evaluate.sandbox.docker import DockerSandbox
from lmrbench_evaluate.sandbox.docker_client import RUN_LABEL, connect
from lmrbench_evaluate.sandbox.exclusive_retry import run_with_exclusive_retry
from lmrbench_evaluate.sandbox.local import LocalSandbox
from lmrbench_evaluate.verdict.verdict import Cause, Status, Verdict
from support.sandboxes import harness, until, workspace_of
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
    """Containers get about a quarter of a processor: another one, with more weight, burns the rest."""
    cores = os.cpu_count() or 1
    burn = f"import os\nfor _ in range({cores - 1}): os.fork() or exec('while True: pass')\nwhile True: pass"
    api = connect()
    host = api.create_host_config(cpu_shares=3 * 1024 * cores, init=False)
    labels = {RUN_LABEL: docker_sandbox.run_id}  # removed with the sandbox if this process is killed
    docker_sandbox.prepare(toy_row["docker_image"])
    burner = api.create_container(toy_row["docker_image"], ["python", "-c", burn], host_config=host, labels=labels)[
        "Id"
    ]
    try:
        api.start(burner)
        yield
    finally:
        api.remove_container(burner, force=True)


@pytest.mark.docker
@pytest.mark.timeout(180)
def test_answer_on_a_busy_machine_passes_or_has_no_verdict(
    starved: None, try_in_docker: Callable[..., Verdict], monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = try_in_docker(burning(0.08), timeout_s=1)
    assert verdict.status is Status.PASSED, verdict.reason()
    assert verdict.cpu_s is not None
    assert 0.3 <= verdict.cpu_s < 1 < verdict.duration_s
    monkeypatch.setattr(meter, "WALL_LEAST_S", 2.0)
    monkeypatch.setattr(meter, "WALL_FACTOR", 1.0)
    verdict = try_in_docker(burning(0.5), timeout_s=2)
    assert (verdict.status, verdict.cause) == (Status.INFRA_ERROR, Cause.OVERLOAD), verdict.reason()
    assert "the machine is overloaded" in verdict.detail


#: body of the goal function → whether it uses CPU time
ENDLESS = {
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
    "import time; time.sleep(1e6)": False,
    # Never idle for long, and never busy for long.
    """import time
    while True:
        time.sleep(0.3)
        until = time.process_time() + 0.2
        while time.process_time() < until: pass""": True,
}


@pytest.mark.timeout(180)
@pytest.mark.parametrize("body", ENDLESS)
def test_endless_answer_is_a_timeout(body: str, try_behind_wall: Callable[..., Verdict]) -> None:
    """On an idle machine an endless run is a timeout long before it could be an overload."""
    verdict = try_behind_wall(f"def scale(values, factor):\n    {body}\n", timeout_s=1)
    assert verdict.status is Status.TIMEOUT, verdict.reason()
    assert verdict.cpu_s is not None
    assert (verdict.cpu_s > 0.3) is ENDLESS[body]
    assert verdict.duration_s < meter.wall_limit(1)


def test_cpu_time_of_all_processes_of_a_local_answer_counts(local_sandbox: Sandbox) -> None:
    body = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"
    outcome = local_sandbox.run("", workspace_of(body), Limits(2, 256))
    assert outcome.ended == "time_limit"
    assert outcome.cpu_s is not None
    assert outcome.cpu_s >= 2


def test_time_while_the_harness_is_stopped_does_not_count() -> None:
    """As after Ctrl-Z, or on a machine that had no time for the harness: the answer has long returned by then."""
    with harness("local", "import time; time.sleep(0.8)", time_s=2) as (process, _):
        time.sleep(0.4)
        process.send_signal(signal.SIGSTOP)
        time.sleep(3)
        process.send_signal(signal.SIGCONT)
        assert process.stdout
        assert process.stdout.readline() == b"exited\n"
        assert process.wait(20) == 0


def test_killed_harness_leaves_no_sleeping_answer(tmp_path: Path) -> None:
    """Nothing waits for a wall-clock limit: the runner notices that its output is not read."""
    noted = tmp_path / "process"
    body = f"import os, time; open({str(noted)!r}, 'w').write(str(os.getpid())); time.sleep(300)"
    with harness("local", body) as (process, _):
        assert until(lambda: noted.is_file() and bool(noted.read_text()))
        process.kill()
    assert until(lambda: not Path(f"/proc/{noted.read_text()}").exists())


# --- a run ----------------------------------------------------------------------------------------------------------


class Overloaded(LocalSandbox):
    """A machine that has no time for an answer the first few times."""

    def __init__(self, tries: int) -> None:
        super().__init__()
        self._tries, self._seen, self._counting, self._now = tries, Counter[bytes](), threading.Lock(), 0
        self.beside: list[int] = []
        """The number of parallel runs during each run that got its time."""

    def run(self, image: str, workspace: bytes, limits: Limits, modules: Sequence[str] = ()) -> Outcome:
        with self._counting:
            self._seen[workspace] += 1
            self._now += 1
        try:
            time.sleep(0.1)
            if self._seen[workspace] <= self._tries:
                raise OverloadError("the machine is overloaded")
            self.beside.append(self._now - 1)
            return Outcome(b"", "", Ended.EXITED, 0.1)
        finally:
            with self._counting:
                self._now -= 1


def test_run_on_an_overloaded_machine_is_retried_alone() -> None:
    sandbox = Overloaded(tries=1)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: run_with_exclusive_retry(sandbox, "", bytes([number]), Limits(1, 256)), range(4)))
    assert sandbox.beside == [0] * 4


def test_overloaded_machine_stops_the_run(toy_row: DatasetRow, tmp_path: Path) -> None:
    same = {"instance_id": "toy-scale", "model_name_or_path": "m"}
    answers = [
        {**same, "sample": number, "goal_file": f"{TOY_ANSWER}# {number}\n"} for number in range(GIVE_UP_AFTER + 1)
    ]
    summary = evaluate(answers, RunSettings(out=tmp_path / "run", workers=4), [toy_row], Overloaded(tries=99))
    assert "overloaded" in summary.stopped  # the next answer would fare no better
    rows = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert {row["status"] for row in rows} == {"infra_error"}
    assert json.loads((tmp_path / "run" / "run.json").read_text())["complete"] is False
