"""LMR-Bench as a task of Inspect: a real `inspect eval` against a model's server, scored by our verdict."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lmrbench as lmr
from lmrbench.generation.prompt import build_prompt
from lmrbench_data.base.errors import InputError
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.tasks.manifest import load_benchmark
from support.openai_server import Reply, Request, Server, completion
from support.toy import TOY_ANSWER, stamped

pytestmark = pytest.mark.agents


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        yield running


@pytest.fixture
def toy(toy_row: DatasetRow, tmp_path: Path) -> Path:
    """A dataset of five instances that are the toy task under other names."""
    rows = [stamped(toy_row, instance_id=f"toy-{name}", paper_title=f"Paper {name}") for name in "abcde"]
    write_dataset(rows, tmp_path / "toy", load_benchmark())
    return tmp_path / "toy"


def evaluate(server: Server, toy: Path, folder: Path, *options: str) -> tuple[Any, str]:
    """Run `inspect eval`; return (its log, its output)."""
    from inspect_ai.log import list_eval_logs, read_eval_log

    line = ["eval", "lmrbench/lmr_bench", "--model", "openai-api/my/m", "--model-base-url", server.base_url]
    done = inspect(folder, *line, "--log-dir", str(folder / "logs"), "-T", f"dataset={toy}", *options)
    logs = list_eval_logs(str(folder / "logs"))
    return (read_eval_log(logs[0]) if logs else None), done.stdout + done.stderr


def score_again(log: Any, toy: Path) -> Any:
    """Take the scores out of a log, and run `inspect score` as the docs say."""
    from inspect_ai.log import read_eval_log, write_eval_log

    samples = [item.model_copy(update={"scores": {}}) for item in log.samples]
    write_eval_log(log.model_copy(update={"results": None, "samples": samples}))
    done = inspect(toy, "score", log.location, "--overwrite")
    assert done.returncode == 0, done.stdout + done.stderr
    return read_eval_log(log.location)


def inspect(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command of Inspect in a folder."""
    line = [str(Path(sys.executable).with_name("inspect")), *words, "--display", "plain"]
    # Inspect knows only tasks of installed packages; with the checkout on the path, it would not see an installed one.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {"MY_API_KEY": "k"}
    return subprocess.run(line, cwd=folder, env=environment, capture_output=True, text=True, timeout=200)


def test_a_model_is_scored_by_our_verdict(server: Server, toy: Path, toy_row: DatasetRow, tmp_path: Path) -> None:
    """Right, right in the core cases only, refused, wrong, and cut: each level has its mean, each score says why."""
    careless = TOY_ANSWER.replace(":\n", ":\n    if not values:\n        raise ValueError\n", 1)

    def model(request: Request) -> str | Reply:
        if "Paper a" in request.user:
            return f"Here it is:\n```python\n{TOY_ANSWER}```"
        if "Paper e" in request.user:
            return Reply(body=completion(f"```python\n{TOY_ANSWER}", finish_reason="length"))
        if "Paper d" in request.user:
            return careless.replace("* factor", "+ factor")
        return careless if "Paper b" in request.user else "I cannot help with that."

    server.judge = model
    log, said = evaluate(server, toy, tmp_path, "-T", "sandbox=local", "-T", "track=contract")
    assert log is not None, said
    assert log.status == "success", said
    scores = {sample.id: sample.scores["verdict"] for sample in log.samples}
    assert scores["toy-a"].value == {"reproduced": 1.0, "robust": 1.0}
    assert scores["toy-c"].value == {"reproduced": 0.0, "robust": 0.0}
    assert scores["toy-c"].metadata["core_status"] == "malformed"
    assert scores["toy-a"].explanation == "every case passed"
    assert scores["toy-b"].explanation == "case_empty seed 0: ValueError"
    assert "'scale'" in scores["toy-c"].explanation
    assert "cut" in scores["toy-e"].explanation
    assert scores["toy-d"].explanation.startswith("case_random_values seed 0: ")  # a core case before the others
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    assert means == {
        level: pytest.approx(sum(score.value[level] for score in scores.values()) / 5)
        for level in ("reproduced", "robust")
    }
    row = {**toy_row, "paper_title": "Paper a"}
    asked = next(request for request in server.requests if "Paper a" in request.user)
    assert asked.user == build_prompt(row, track="contract", paper=row["paper_text"].strip()).messages[1]["content"]
    assert log.eval.task_args["track"] == "contract"
    assert "golden" not in log.samples[0].target
    again = score_again(log, toy)
    assert {sample.id: sample.scores["verdict"].value for sample in again.samples} == {
        name: score.value for name, score in scores.items()
    }


def test_failing_sandbox_is_an_error_of_the_sample(server: Server, toy: Path, tmp_path: Path) -> None:
    """The sample is an error, which `inspect eval-retry` repeats; it does not count as wrong."""
    server.judge = lambda request: TOY_ANSWER
    log, said = evaluate(server, toy, tmp_path, "-T", "sandbox=nowhere:sandbox", "--no-fail-on-error", "--limit", "1")
    assert log is not None, said
    assert [bool(sample.error) for sample in log.samples] == [True]
    assert not log.samples[0].scores


def test_unknown_setting_or_dataset_is_an_error_before_any_request(server: Server, toy: Path, tmp_path: Path) -> None:
    server.script = [Reply(body=completion("?"))]
    _, said = evaluate(server, toy, tmp_path, "-T", "setting=all")
    assert "setting: 'all' is unknown; one of: standard" in said
    assert "Traceback" not in said
    _, said = evaluate(server, toy, tmp_path, "-T", "dataset=org/name@[bold]")
    assert "[bold]" in said
    assert "Traceback" not in said
    assert not server.requests


def test_logs_are_read_as_predictions(server: Server, toy: Path, tmp_path: Path) -> None:
    """Some answers are too long, filtered or cut; the first are retried."""
    is_first = True

    def model(request: Request) -> str | Reply:
        if "Paper e" in request.user and is_first:
            text = "This model's maximum context length is 5 tokens."
            return Reply(400, {"error": {"message": text, "code": "context_length_exceeded"}})
        if "Paper d" in request.user:
            return Reply(body=completion("Not that.", finish_reason="content_filter"))
        return Reply(body=completion(TOY_ANSWER, finish_reason="length" if "Paper c" in request.user else "stop"))

    def verdicts(source: str) -> dict[tuple[str, int], str]:
        run = lmr.evaluate(source, tmp_path / Path(source).name / "run", dataset=str(toy), sandbox="local")
        assert all(row["model_name_or_path"] == "openai-api/my/m" for row in run.results())
        assert {(row["setting"], row["track"]) for row in run.results()} == {("standard, temperature 0.5", "contract")}
        return {(row["instance_id"], row["sample"]): row["status"] for row in run.results()}

    server.judge = model
    options = ("-T", "sandbox=local", "-T", "track=contract", "-T", "instances=toy-c,toy-d,toy-e", "--epochs", "2")
    log, said = evaluate(server, toy, tmp_path, *options, "--temperature", "0.5", "--no-fail-on-error")
    assert log is not None, said
    assert {sample.id for sample in log.samples if sample.error} == {"toy-e"}, said
    assert "maximum context length" in log.samples[-1].error.message
    malformed = {(f"toy-{name}", number): "malformed" for name in "cd" for number in (0, 1)}
    assert verdicts(log.location.removeprefix("file://")) == malformed
    is_first = False
    inspect(toy, "eval-retry", log.location, "--log-dir", str(tmp_path / "logs"))
    assert len(list((tmp_path / "logs").glob("*.eval"))) == 2
    assert verdicts(str(tmp_path / "logs")) == {**malformed, ("toy-e", 0): "passed", ("toy-e", 1): "passed"}
    (tmp_path / "logs" / "b.eval").write_bytes(Path(log.location.removeprefix("file://")).read_bytes()[:5000])
    with pytest.raises(InputError, match=r"b\.eval: not a log that Inspect can read"):
        verdicts(str(tmp_path / "logs"))
