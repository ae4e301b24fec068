"""`lmr.Scorer`: answers in, scores out, in order, from any thread; failures of the machinery have no reward."""

import asyncio
import contextlib
import copy
import gzip
import hashlib
import os
import pickle
import select
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docker.errors
import pandas as pd
import pytest

import lmrbench as lmr
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow, golden_files_of
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.sandbox.base import Sandbox
from support.toy import TOY_ANSWER, WRONG, containers_of, recorded_rows, stamped
from support.toy_choices import add_toy_choices

BROKEN = "def scale(values, factor):\n    raise ValueError('no idea')\n"


def row(answer: Any, **more: Any) -> dict[str, Any]:
    return {"instance_id": "toy-scale", "goal_file": answer, **more}


@pytest.fixture(scope="module")
def dataset(toy_dataset: Path) -> str:
    return str(toy_dataset)


@pytest.fixture(scope="module")
def scorer(dataset: str) -> Iterator[lmr.Scorer]:
    with lmr.Scorer(dataset=dataset, isolation="container", sandbox="local") as scorer:
        yield scorer


def test_scores_come_in_the_order_of_the_rows(scorer: lmr.Scorer) -> None:
    scores = scorer.score([row(WRONG), row(TOY_ANSWER), row(BROKEN), row("def scale(:"), row(WRONG)])
    assert [score.status for score in scores] == ["failed", "passed", "error", "malformed", "failed"]
    assert [score.reproduced for score in scores] == [False, True, False, False, False]
    assert [score.reward for score in scores] == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert "ValueError: no idea" in scores[2].reason
    assert scores[4] is scores[0]  # equal answers run once
    assert scorer.score([]) == []


def test_threads_and_event_loops_share_a_scorer(scorer: lmr.Scorer) -> None:
    answers = [TOY_ANSWER, WRONG, BROKEN]
    found: dict[int, list[str]] = {}

    def work(number: int) -> None:
        rows = [row(answer + f"\n# {number}\n") for answer in answers]
        if number % 2:
            found[number] = [score.status for score in scorer.score(rows)]
        else:
            found[number] = [score.status for score in asyncio.run(scorer.ascore(rows))]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: ["passed", "failed", "error"] for number in range(4)}


def test_mistakes_of_the_caller_are_one_line_errors(scorer: lmr.Scorer, dataset: str) -> None:
    with pytest.raises(lmr.InputError, match=r"row 1: unknown instance 'toy-scal' \(did you mean"):
        scorer.score([row(WRONG), {"instance_id": "toy-scal", "goal_file": ""}])
    for options, message in (
        ({"seeds": [7]}, "seeds: toy-scale has no seed 7; it has"),
        ({"isolation": "none"}, "isolation: 'none' is unknown; one of: shared, container"),
        ({"sandbox": None}, "sandbox: should be a valid string, not None"),
        ({"workers": 0}, "workers: should be greater than or equal to 1, not 0"),
        ({"timeout_scale": float("nan")}, "timeout_scale: should be a finite number, not nan"),
        ({"seeds": 0}, "seeds: should be a valid tuple, not 0"),
        ({"instances": ["tox"]}, "tox"),
        ({"instances": "toy-scale"}, "instances: should be a valid tuple, not 'toy-scale'"),
    ):
        with pytest.raises(lmr.InputError, match=message):
            lmr.Scorer(dataset=dataset, **options)  # type: ignore[arg-type]
    for rows, message in (
        ([row(TOY_ANSWER), None], "row 1: a row must be a JSON object"),
        (["answer"], "row 0: a row must be a JSON object"),
        ([row(None)], r"row 0: .* exactly one of function, .* has .* goal_file \(NoneType\)"),
        ([row([{"role": "assistant", "content": TOY_ANSWER}])], r"goal_file \(list\)"),
        ([{"instance_id": "toy-scale", "files": {"toy.py": [{"content": TOY_ANSWER}]}}], r"files \(dict\)"),
        ([row(TOY_ANSWER, function=TOY_ANSWER)], r"goal_file \(str\), function \(str\)"),
        (row(TOY_ANSWER), "rows: must be a list of prediction rows, not {'goal_file'"),
        (None, "rows: must be a list of prediction rows, not None"),
        ([{"instance_id": "toy-scale", 1: TOY_ANSWER}], r"row 0: .* it has instance_id \(str\), 1 \(str\)"),
        ([{"instance_id": "dpo-method"}], "unknown instance 'dpo-method'"),
    ):
        with pytest.raises(lmr.InputError, match=message):
            scorer.score(rows)  # type: ignore[arg-type]


def test_tables_and_generators_are_read_as_lists_are(dataset: str) -> None:
    names = (name for name in ["toy-scale"])
    options: Any = {"instances": names, "workers": "2"}  # converted, as all settings are
    with lmr.Scorer(dataset=dataset, isolation="container", sandbox="local", **options) as scorer:
        [score] = scorer.score(pd.DataFrame([row(TOY_ANSWER)]))
        assert score.reproduced
        assert scorer.score(item for item in [row(TOY_ANSWER)]) == [score]


def test_answers_of_an_interrupted_call_do_not_run(dataset: str, tmp_path: Path) -> None:
    """The next call waited for all of them."""
    log = tmp_path / "runs"

    def logging(number: int) -> str:
        return f"open({str(log)!r}, 'a').write('{number} ')\nimport time\ntime.sleep(0.3)\n{TOY_ANSWER}"

    with lmr.Scorer(dataset=dataset, isolation="container", sandbox="local", workers=1, seeds=[0]) as scorer:
        timer = threading.Timer(0.5, signal.raise_signal, [signal.SIGINT])
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            scorer.score([row(logging(number)) for number in range(100)])
        [score] = scorer.score([row(TOY_ANSWER)])
        assert score.reproduced
        assert "99 " not in log.read_text()


def test_seeds_run_fewer_cases(dataset: str, tmp_path: Path) -> None:
    counter = tmp_path / "calls"

    first, rest = TOY_ANSWER.split("\n", 1)
    counting = f"{first}\n    open({str(counter)!r}, 'a').write('x')\n{rest}"

    def calls(**options: Any) -> int:
        counter.write_text("")
        with lmr.Scorer(dataset=dataset, isolation="container", sandbox="local", **options) as scorer:
            [score] = scorer.score([row(counting)])
        assert score.reproduced
        return len(counter.read_text())

    assert calls(seeds=[0]) == calls(seeds=[1]) < calls()


@pytest.mark.parametrize("config", ["counterfactual", "underspecified"])
def test_some_of_the_seeds_read_choices(config: str, toy_benchmark: Path, local_sandbox: Sandbox) -> None:
    """Every choice read "", because the outputs of all recorded seeds were demanded."""
    rows = recorded_rows(add_toy_choices(toy_benchmark), local_sandbox, config)[:1]
    folder = str(toy_benchmark.parent / "data")
    write_dataset(rows, Path(folder), load_benchmark(toy_benchmark))
    answer = {"instance_id": rows[0]["instance_id"], "files": golden_files_of(rows[0])}
    for seed in (0, 1):
        with lmr.Scorer(dataset=folder, config=config, sandbox="local", isolation="container", seeds=[seed]) as scorer:
            [score] = scorer.score([answer])
        assert score.choices == {choice["name"]: choice["stated"] for choice in rows[0]["choices"]}


def test_a_closed_scorer_says_so(dataset: str) -> None:
    with lmr.Scorer(dataset=dataset, isolation="container", sandbox="local") as scorer:
        pass
    with pytest.raises(lmr.InfraError, match="the scorer was closed"):
        scorer.score([row(WRONG)])


@pytest.mark.docker
def test_many_answers_lose_nothing_when_their_containers_are_killed(dataset: str) -> None:
    """Containers die while they are used; every answer still has its own score, and none is scored twice."""
    from lmrbench_evaluate.sandbox.docker_client import connect

    answers = [(TOY_ANSWER, WRONG, BROKEN)[number % 3] + f"\n# {number}\n" for number in range(30)]
    with lmr.Scorer(dataset=dataset, workers=3) as scorer:
        stop, killed = threading.Event(), list[str]()

        def kill() -> None:
            while not stop.wait(0.3) and len(killed) < 8:
                for container in containers_of(scorer._sandbox.run_id)[:1]:  # type: ignore[attr-defined]
                    with contextlib.suppress(docker.errors.APIError):  # it was being removed
                        connect().kill(container)
                        killed.append(container)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            scores = scorer.score([row(answer) for answer in answers])
        finally:
            stop.set()
            killer.join()
        assert killed
        assert {score.status for score in scores} <= {"passed", "failed", "error", "infra_error"}
        for number, score in enumerate(scores):
            if score.status == "infra_error":  # killed on each of its tries
                assert score.reward is None
            else:
                assert score.status == ("passed", "failed", "error")[number % 3]
        again = scorer.score([row(answer) for answer in answers])
    assert [score.status for score in again] == ["passed", "failed", "error"] * 10


def _in_fork(work: Callable[[], object]) -> str:
    """Return what `work` returns or raises in a forked worker; `no answer` if it hangs."""
    reader, writer = os.pipe()
    if not (child := os.fork()):
        try:
            answer = str(work())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writer, answer.encode())
        os._exit(0)
    os.close(writer)
    has_answered, _, _ = select.select([reader], [], [], 60)
    answer = os.read(reader, 65536).decode() if has_answered else "no answer"
    os.close(reader)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return answer


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize(
    ("sandbox", "isolation"),
    [
        ("local", "container"),
        pytest.param("docker", "shared", marks=pytest.mark.docker),
        pytest.param("bwrap", "shared", marks=pytest.mark.bwrap),
    ],
)
def test_a_forked_worker_is_told_to_make_its_own_scorer(dataset: str, sandbox: str, isolation: Any) -> None:
    """Calls waited for ever for threads that only the parent has, and `close` ended the parent's containers."""

    def make() -> lmr.Scorer:
        return lmr.Scorer(dataset=dataset, sandbox=sandbox, isolation=isolation, seeds=[0])

    def made_in_worker() -> str:
        with make() as scorer:
            return scorer.score([row(TOY_ANSWER)])[0].status

    with make() as scorer:
        assert scorer.score([row(TOY_ANSWER)])[0].reproduced
        message = f"InputError: process {os.getpid()} made this Scorer: it works only in the process that made it; make"
        for work in (lambda: scorer.score([row(WRONG)]), lambda: asyncio.run(scorer.ascore([row(WRONG)]))):
            answer = _in_fork(work)
            assert answer.startswith(message)
            assert "\n" not in answer
        assert _in_fork(scorer.close) == "None"
        assert _in_fork(made_in_worker) == "passed"
        assert scorer.score([row(TOY_ANSWER)])[0].reproduced


def test_pickling_says_to_make_a_scorer_in_each_worker(scorer: lmr.Scorer) -> None:
    for copies in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"cannot pickle a Scorer: .* make a Scorer in each worker process"):
            copies(scorer)
    error = pickle.loads(
        pickle.dumps(lmr.ArgumentError("seeds", "none"))
    )  # a pool hangs on an error that it cannot read
    assert (str(error), error.argument) == ("seeds: none", "seeds")


@pytest.mark.parametrize("column", ["repo_archive", "tests_archive"])
def test_a_damaged_row_gives_no_reward(toy_row: DatasetRow, tmp_path: Path, column: str) -> None:
    """An exception ended the whole batch."""
    data = gzip.compress(b"no archive")
    damaged = stamped(toy_row, **{column: data}, repo_sha256=hashlib.sha256(data).hexdigest())
    write_dataset([damaged], tmp_path / "damaged", load_benchmark())
    with lmr.Scorer(dataset=str(tmp_path / "damaged"), isolation="container", sandbox="local") as scorer:
        [score] = scorer.score([row(TOY_ANSWER)])
    assert (score.status, score.reward) == ("infra_error", None)
    assert score.reason.startswith("the dataset's row cannot be read: ")


def test_a_dataset_that_cannot_be_read_is_an_input_error(toy_row: DatasetRow, tmp_path: Path) -> None:
    data = b"no recording"
    recording = {**toy_row["recording"], "sha256": hashlib.sha256(data).hexdigest()}
    write_dataset([stamped(toy_row, expected=data, recording=recording)], tmp_path / "damaged", load_benchmark())
    for name, message in (("damaged", "^toy-scale: not a recording .* dataset again$"), ("missing", "no such folder")):
        with pytest.raises(lmr.InputError, match=message):
            lmr.Scorer(dataset=str(tmp_path / name), isolation="container", sandbox="local")
