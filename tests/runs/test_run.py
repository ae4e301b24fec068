"""Runs through the command line in real containers: resumed after a kill, cleaned up on Ctrl-C, nothing run twice."""

import contextlib
import gzip
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.archive import pack
from lmrbench_data.base.errors import ArgumentError, InputError, LoadError
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.dataset.rows import DatasetRow
from lmrbench_data.loader import File
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.reports.report import make_report
from lmrbench_evaluate.reports.scores import score_runs
from lmrbench_evaluate.runs.evaluation import evaluate
from lmrbench_evaluate.runs.folder import RunFolder, default_run_folder
from lmrbench_evaluate.runs.settings import RunSettings
from lmrbench_evaluate.sandbox.base import Limits, Outcome, Sandbox
from lmrbench_evaluate.sandbox.local import LocalSandbox
from lmrbench_evaluate.verdict.decode import Frame, write_frame
from support import warm_cli
from support.command_line import PROGRAM
from support.sandboxes import until
from support.toy import TOY_ANSWER, containers_of, contents, json_lines, stamped

pytestmark = pytest.mark.docker

SLOW_ANSWER = """import time

def scale(values, factor):
    {wait}
    return [value * factor for value in values]
"""
#: Seconds in which a test can act before the answers of `Bench.write_waiting` return; on a busy machine, most are lost.
HOLD_S = 12


@pytest.fixture(scope="module")
def toy_pair(tmp_path_factory: pytest.TempPathFactory, toy_row: DatasetRow) -> Path:
    """A dataset folder with two instances of different categories."""
    other = stamped(toy_row, instance_id="toy-other", category="Training Objectives & Optimization")
    folder = tmp_path_factory.mktemp("pair") / "lmr-bench"
    write_dataset([toy_row, other], folder, load_benchmark())
    return folder


class Bench:
    """A user's working folder."""

    def __init__(self, folder: Path, dataset: Path) -> None:
        self.folder, self.dataset = folder, dataset
        self.predictions = folder / "predictions.jsonl"
        self.results = folder / "run" / "results.jsonl"

    def write(self, *answers: str, samples: int = 1, mode: str = "w") -> None:
        names = [{"instance_id": "toy-scale", "sample": sample} for sample in range(samples)]
        with self.predictions.open(mode) as file:
            for number, answer in enumerate(answers):
                for row in names:
                    row |= {"model_name_or_path": f"model-{mode}{number}", "function": answer}
                    file.write(json.dumps(row) + "\n")

    def write_waiting(self, count: int, quick: int = 0) -> None:
        """Write answers that return at once and, up to `count`, others that all wait for the same moment."""
        wait = f"while time.time() < {time.time() + HOLD_S}: time.sleep(0.05)"
        slow = [f"{SLOW_ANSWER.format(wait=wait)}# {number}\n" for number in range(quick, count)]
        self.write(*(f"{TOY_ANSWER}# {number}\n" for number in range(quick)), *slow)

    def command(self, *options: str) -> list[str]:
        place = ["--dataset", str(self.dataset), "--out", str(self.folder / "run"), "--sandbox", "docker"]
        return [*PROGRAM, "evaluate", str(self.predictions), *place, *options]

    def report(self) -> list[str]:
        return [*PROGRAM, "report", str(self.folder / "run")]

    def run(self, *options: str) -> subprocess.CompletedProcess[str]:
        return warm_cli.run(self.command(*options))

    def start(self, *options: str, before: Callable[[], object] | None) -> subprocess.Popen[bytes]:
        """Start the command in a session of its own; `before` is called in its process."""
        pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return subprocess.Popen(self.command(*options), start_new_session=True, preexec_fn=before, **pipes)

    def rows(self) -> list[dict[str, Any]]:
        return json_lines(self.results)

    def wait_for_rows(self, count: int) -> bytes:
        """Return the content of results.jsonl once it has `count` rows."""
        assert until(lambda: self.results.exists() and self.results.read_bytes().count(b"\n") >= count), "no results"
        return self.results.read_bytes()


@pytest.fixture
def bench(tmp_path: Path, toy_dataset: Path) -> Bench:
    return Bench(tmp_path, toy_dataset)


def run_id_of(process: subprocess.Popen[bytes]) -> str:
    """Return the label of a running harness's containers, an argument of its reaper."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = path.read_bytes().decode(errors="replace").split("\0")
            if "lmrbench_evaluate.sandbox.reaper" in words and words[-2] == str(process.pid):
                return words[-3]
    raise AssertionError("the harness has no reaper")


def test_whatever_ends_a_run_leaves_no_container_and_it_resumes(tmp_path: Path, toy_dataset: Path) -> None:
    """Finished rows stay as they were, and the rest runs once.

    After SIGKILL, an impatient Ctrl-C, and SIGTERM where Ctrl-C is ignored, as in a background job of a script.
    """
    ignore = partial(signal.signal, signal.SIGINT, signal.SIG_IGN)
    ways = [[signal.SIGKILL], [signal.SIGINT] * 3, [signal.SIGTERM]]
    benches = [Bench(tmp_path / str(number), toy_dataset) for number in range(len(ways))]
    for bench, numbers in zip(benches, ways, strict=True):
        bench.folder.mkdir()
        bench.write_waiting(4, quick=1)
        process = bench.start("--workers", "2", before=ignore if signal.SIGTERM in numbers else None)
        bench.wait_for_rows(1)
        run_id = run_id_of(process)
        for pause, number in zip((0.0, 0.05, 0.3), numbers, strict=False):
            time.sleep(pause)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        _, stderr = process.communicate(timeout=60)
        if signal.SIGTERM in numbers:
            assert process.returncode == 130
            assert b"re-run the command to resume" in stderr
            assert b"Traceback" not in stderr
        assert until(lambda run_id=run_id: not containers_of(run_id, stopped=True), 20)  # type: ignore[misc]
    for bench in benches:
        finished = bench.results.read_bytes()
        assert finished.count(b"\n") < 4
        done = bench.run()
        assert done.returncode == 0, done.stderr
        assert bench.results.read_bytes().startswith(finished)
        assert sorted(row["model_name_or_path"] for row in bench.rows()) == [f"model-w{n}" for n in range(4)]
        assert {row["status"] for row in bench.rows()} == {"passed"}
    again = bench.results.read_bytes()
    assert bench.run().returncode == 0
    assert bench.results.read_bytes() == again


def test_bad_row_gives_exit_status_1_and_a_result_cut_short_is_evaluated_again(bench: Bench) -> None:
    bench.write(TOY_ANSWER, "def scale(values, factor):\n    return values\n")
    with bench.predictions.open("a") as file:
        file.write("{\n")
    done = bench.run("--json")
    assert done.returncode == 1
    assert "predictions.jsonl:3: not JSON" in done.stderr
    assert [score["overall"]["robust"]["count"] for score in json.loads(done.stdout)["scores"]] == [1, 0]
    whole = bench.results.read_bytes()
    bench.results.write_bytes(whole[:-20])
    done = bench.run()
    assert "results.jsonl: the last row was cut short and is dropped" in done.stderr
    assert [row["status"] for row in bench.rows()].count("passed") == 1
    assert len(bench.rows()) == 2


def test_equal_answers_run_once(bench: Bench) -> None:
    """Forty samples of one answer are one job, including those added later; the log is written by one run."""
    answer = TOY_ANSWER.replace("    return", "    import os\n    print(os.urandom(8).hex())\n    return")
    bench.write(answer, samples=40)
    assert bench.run("--workers", "4").returncode == 0
    assert len(bench.rows()) == 40
    assert len({row["duration_s"] for row in bench.rows()}) == 1
    [log] = (bench.folder / "run" / "logs").rglob("*.log")
    printed = log.read_text()

    bench.write(answer, samples=10, mode="a")
    assert bench.run().returncode == 0
    assert len(bench.rows()) == 50
    assert len({row["duration_s"] for row in bench.rows()}) == 1
    assert log.read_text() == printed


def test_instances_and_categories_choose_the_scope(bench: Bench, toy_pair: Path) -> None:
    bench.dataset = toy_pair
    bench.write(TOY_ANSWER)
    with bench.predictions.open("a") as file:
        file.write(bench.predictions.read_text().replace("toy-scale", "toy-other"))

    def scope(*options: str) -> tuple[set[str], dict[str, int]]:
        out = bench.folder / "-".join(["run", *options])
        done = bench.run(*options, "--out", str(out), "--json")
        assert done.returncode == 0, done.stderr
        [score] = json.loads(done.stdout)["scores"]
        return set(score["instances"]), score["overall"]["outcomes"]

    assert scope() == ({"toy-scale", "toy-other"}, {"robust": 2})
    assert scope("--instance", "toy-other") == ({"toy-other"}, {"robust": 1})
    assert scope("--category", "Evaluation Metrics") == ({"toy-scale"}, {"robust": 1})
    done = bench.run("--instance", "toy-other", "--category", "Evaluation Metrics")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "none of them is in the chosen categories" in done.stderr
    bench.write(TOY_ANSWER)
    done = bench.run("--instance", "toy-other", "--out", str(bench.folder / "none"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "none for the chosen instances" in done.stderr


def test_other_dataset_or_sandbox_is_refused(bench: Bench, toy_pair: Path) -> None:
    bench.write(TOY_ANSWER)
    assert bench.run().returncode == 0
    before = contents(bench.folder / "run")
    for options, what in {
        ("--dataset", str(toy_pair)): "dataset",
        ("--sandbox", "local"): "sandbox",
        ("--fresh-seeds", "1"): "fresh_seed_count",
        ("--timeout-scale", "3"): "timeout_scale",
    }.items():
        done = bench.run(*options)
        assert done.returncode == 1
        assert f"holds a run with a different {what}" in done.stderr.splitlines()[-1]
    assert contents(bench.folder / "run") == before


def test_slow_answers_pass_with_a_larger_time_limit(bench: Bench) -> None:
    """The limit of the toy task is 20 s of CPU time; waiting alone uses none."""
    burning = "until = time.process_time() + 0.8\n    while time.process_time() < until: pass"
    bench.write(SLOW_ANSWER.format(wait=burning))
    for scale, status in (("0.05", "timeout"), ("2", "passed")):
        bench.results = bench.folder / scale / "results.jsonl"
        assert bench.run("--timeout-scale", scale, "--out", str(bench.folder / scale)).returncode == 0
        assert [row["status"] for row in bench.rows()] == [status]


def test_damaged_folders_are_one_line(bench: Bench) -> None:
    bench.write(TOY_ANSWER)
    assert bench.run().returncode == 0
    facts, rows = bench.folder / "run" / "run.json", bench.results
    whole = {path: path.read_bytes() for path in (facts, rows)}
    scope, difficulties = (
        json.dumps({**json.loads(whole[facts]), name: {"toy-scale": 7}}).encode() for name in ("scope", "difficulties")
    )
    no_model = whole[rows].replace(b'"model_name_or_path"', b'"model"')
    for path, damaged, reason in [
        (facts, b"{}", "damaged (run_id)"),
        (facts, whole[facts][:-30], "damaged"),
        (facts, b"[" * 100_000, "damaged"),
        (facts, b"[]", "damaged"),
        (facts, scope, "damaged (scope)"),
        (facts, difficulties, "damaged (difficulties)"),
        (rows, b"\0\n" + whole[rows], "results.jsonl:1: damaged"),
        (rows, no_model + whole[rows], "results.jsonl:1: damaged"),
        (rows, whole[rows] + b"[]\n" + whole[rows], "results.jsonl:2: damaged"),
    ]:
        path.write_bytes(damaged)
        commands = [bench.report(), *([bench.command()] if damaged in (b"{}", no_model + whole[rows]) else [])]
        for command in commands:
            done = warm_cli.run(command)
            assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
            assert reason in done.stderr
        path.write_bytes(whole[path])
    assert bench.run().returncode == 0


def test_a_full_disk_keeps_what_was_written(bench: Bench) -> None:
    """No file may grow beyond 4,000 bytes, so a write fails as on a full disk: one line, and a later resume."""
    bench.write(*(f"{TOY_ANSWER}# {number}\n" for number in range(8)))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4000, resource.RLIM_INFINITY))

    # Python would keep bytecode that was cut.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(bench.command(), capture_output=True, text=True, preexec_fn=limited, env=environment)
    assert done.returncode == 3, done.stderr
    assert done.stderr.count("\n") == 1
    assert f"{bench.results}: File too large" in done.stderr
    assert bench.results.stat().st_size == 4000
    kept = bench.results.read_bytes().rpartition(b"\n")[0]
    assert bench.run().returncode == 0
    assert bench.results.read_bytes().startswith(kept)
    assert sorted(row["model_name_or_path"] for row in bench.rows()) == sorted(f"model-w{n}" for n in range(8))


def test_no_answer_and_no_row_ends_a_run(tmp_path: Path, toy_row: dict[str, Any]) -> None:
    """A bug of ours, a row that cannot be read and a reference that fails on fresh seeds cost their own verdicts."""
    ran: list[str] = []

    class Fragile(LocalSandbox):
        def run(self, image: str, workspace: bytes, limits: Limits, modules: Sequence[str] = ()) -> Outcome:
            ran.append(image)
            if b"# provokes" in workspace:
                raise ZeroDivisionError("a bug\nof ours")
            return super().run(image, workspace, limits, modules)

    unreadable = "the dataset's row cannot be read: "
    by_seed = "from scale import scale\n\ndef case_random_values(seed):\n    return scale([[1.0], [2.0]][seed], 3.0)\n"
    damages: dict[str, tuple[str, bytes, str]] = {
        "bomb": ("expected", gzip.compress(bytes(2**27), 1), unreadable),  # twice the limit
        "output": ("expected", gzip.compress(write_frame(Frame("empty", 0, "output", b"no JSON"))), unreadable),
        "no-gzip": ("expected", b"not gzip", unreadable),
        "no-cases": ("tests_archive", b"not an archive", unreadable),
        "no-repository": ("repo_archive", b"not an archive", unreadable),
        "seed": (
            "tests_archive",
            pack({"cases.py": File(by_seed.encode())}),
            "seed: the reference does not return from",
        ),
    }
    rows = [{**toy_row, "instance_id": name, column: content} for name, (column, content, _) in damages.items()]
    hostile = TOY_ANSWER.replace("return", "# provokes\n    return")
    # More of each than the number of consecutive engine failures that ends a run.
    answers = [(name, f"{TOY_ANSWER}# {number}\n") for name in damages for number in range(6)]
    answers += [("toy-scale", f"{hostile}# {number}\n") for number in range(6)]
    answers += [("toy-scale", TOY_ANSWER)]
    predictions = [
        {"instance_id": name, "model_name_or_path": "m", "function": answer, "sample": number}
        for number, (name, answer) in enumerate(answers)
    ]
    settings = RunSettings(out=tmp_path / "run", fresh_seeds=1)
    with Fragile() as sandbox:
        summary = evaluate(predictions, settings, [*rows, toy_row], sandbox)
    assert (summary.rows, summary.infra_errors, summary.stopped) == (43, 42, "")
    details = {name: reason for name, (_, _, reason) in damages.items()}
    details["toy-scale"] = "a bug in lmrbench, please report it: ZeroDivisionError: a bug"
    *failed, passed = RunFolder(tmp_path / "run").rows()
    assert (passed["status"], passed["detail"]) == ("passed", "")
    for row in failed:
        assert row["status"] == "infra_error"
        assert row["detail"].startswith(details[row["instance_id"]])
    assert not RunFolder(tmp_path / "run").facts["complete"]
    assert len(ran) == 3 + 13, "the reference of each readable row runs once"


def test_a_row_without_cases_is_refused(tmp_path: Path, toy_row: dict[str, Any], local_sandbox: Sandbox) -> None:
    """The absence of failed cases must not count as a pass."""
    row = {**toy_row, "tests": {**toy_row["tests"], "cases": []}}
    with pytest.raises(ArgumentError, match="'toy-scale' has no test cases"):
        evaluate("gold", RunSettings(out=tmp_path / "run"), [row], local_sandbox)
    assert not (tmp_path / "run").exists()


def test_a_name_of_a_dataset_writes_nothing_outside_the_run(tmp_path: Path, toy_row: dict[str, Any]) -> None:
    """Rows that never went through the loader."""
    run = tmp_path / "a" / "run"
    folder = RunFolder(run)
    for name in ("../../../x", "/tmp/x", "..", "a/b", "A b", "a" * 101, "x\n"):
        row = {**toy_row, "instance_id": name}
        answer = {"instance_id": name, "model_name_or_path": "m", "function": TOY_ANSWER.replace("[", "print(1) or [")}
        with LocalSandbox() as sandbox, pytest.raises(LoadError, match="not a plain name"):
            evaluate([answer], RunSettings(out=run), [row], sandbox)  # type: ignore[list-item]
        assert list(tmp_path.rglob("*")) == []
        assert folder.log_path(name, "../../" * 5).resolve().is_relative_to(run / "logs")
    assert folder.log_path("dpo-preference-loss", "0" * 64) == run / "logs" / "dpo-preference-loss" / f"{'0' * 16}.log"


def test_answers_that_say_nothing_are_malformed_and_the_run_is_complete(
    tmp_path: Path, toy_row: dict[str, Any]
) -> None:
    names = {"instance_id": "toy-scale", "model_name_or_path": "m"}
    answers: list[dict[str, Any]] = [
        {"function": ""},
        {"function": ""},
        {"model_patch": ""},
        {"model_patch": None},
        {},
        {"function": "x", "goal_file": "y"},
        {"goal_file": ["x"]},
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps({**names, "sample": n, **row}) + "\n" for n, row in enumerate(answers)))
    with LocalSandbox() as sandbox:
        for _ in range(2):
            summary = evaluate(str(path), RunSettings(out=tmp_path / "run"), [toy_row], sandbox)
            assert (summary.rows, summary.bad_rows, summary.infra_errors) == (7, [], 0)
            # The run's own copy is a file of predictions like any other, and resumes in the same folder.
            path = Path(shutil.copy(tmp_path / "run" / "predictions.jsonl", tmp_path / "copy.jsonl"))
    assert summary.jobs == 0
    details = {row["sample"]: (row["status"], row["detail"]) for row in RunFolder(tmp_path / "run").rows()}
    assert {status for status, _ in details.values()} == {"malformed"}
    assert [details[n][1] for n in (0, 2, 6)] == [
        "function is empty",
        "the patch is empty",
        "goal_file must be text, not a list",
    ]
    assert RunFolder(tmp_path / "run").facts["complete"]
    [score] = score_runs([tmp_path / "run"])
    assert (score.overall.total, score.overall.robust) == (7, 0)
    assert "function is empty" in make_report([tmp_path / "run"]).to_html()


def test_each_file_of_predictions_has_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("a/preds.jsonl", "b/preds.jsonl", "b/preds.json", "odd name.jsonl")
    for name in names:
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    *folders, odd = [str(default_run_folder(name, "function", (), ())) for name in names]
    assert len(set(folders)) == 3
    assert all(re.fullmatch(r"runs/preds-[0-9a-f]{8}", folder) for folder in folders)
    assert re.fullmatch(r"runs/odd-name-[0-9a-f]{8}", odd)
    assert str(default_run_folder(tmp_path / "a" / "preds.jsonl", "function", (), ())) == folders[0]
    assert default_run_folder("gold", "function", (), ()) == Path("runs/gold")
    assert default_run_folder([{"function": ""}], "function", (), ()).name.startswith("memory-")


def test_a_run_keeps_its_answers(tmp_path: Path, toy_row: dict[str, Any]) -> None:
    """Other predictions change no byte of a finished run; those that keep its answers may add to them."""
    first = {"instance_id": "toy-scale", "model_name_or_path": "m", "function": TOY_ANSWER, "sample": 0}
    second = {**first, "sample": 1, "function": "x"}
    folder, settings = tmp_path / "run", RunSettings(out=tmp_path / "run")
    rows = [toy_row, {**toy_row, "instance_id": "toy-other"}]

    def unreadable() -> Any:
        yield from (first, second)
        raise InputError("the source ends early")

    with LocalSandbox() as sandbox:

        def judge(predictions: Any, **more: Any) -> int:
            chosen = {"instances": ("toy-scale",), **more}
            return evaluate(predictions, settings.model_copy(update=chosen), rows, sandbox).jobs

        assert judge([first, second]) == 2
        finished = contents(folder)
        lack, change = "that these predictions lack: sample", "that these predictions change: sample 1 of 'm'"
        for wrong, message in (
            ([first], f"{lack} 1 of 'm' .unstated. for toy-scale"),
            ([{**first, "model_name_or_path": "n"}], f"{lack} 0 of 'm'"),
            ([first, {**second, "function": "y"}], change),
            ([first, {**second, "setting": "s"}], f"{lack} 1 of 'm'"),
            ([{"instance_id": "toy-scale", "answer": "x"}], "no row can be evaluated"),
            ([{**first, "instance_id": "toy-other"}], "none for the chosen instances|lack: sample 0"),
            ([], "no rows"),
            (unreadable, "ends early"),
            ("gold", f"{lack} 0 of 'm'"),
        ):
            for scope in (("toy-scale",), ()):
                source = wrong() if callable(wrong) else wrong
                with pytest.raises(InputError, match=message):
                    judge(source, instances=scope)
                assert contents(folder) == finished
        (folder / "predictions.jsonl").unlink()
        with pytest.raises(ArgumentError, match=f"{lack} 1 of 'm'"):
            judge([first])
        third = {**first, "sample": 2, "function": TOY_ANSWER + "# third\n"}
        assert judge([third, second, first, {**first, "instance_id": "toy-other"}], instances=()) == 2
        assert [row["sample"] for row in RunFolder(folder).rows()] == [2, 1, 0, 0]
        with pytest.raises(ArgumentError, match="holds a run that also covers toy-other"):
            judge([first], replace=True)
        assert judge([first], instances=(), replace=True) == 0
        assert [score.overall.robust for score in score_runs([folder])] == [1]
        with pytest.raises(InputError, match="no rows"):
            judge([], instances=(), replace=True)
        (folder / "predictions.jsonl").write_text("damaged\n")
        with pytest.raises(InputError, match=r"evaluate again with .replace=True. to fix it"):
            judge([first], instances=())
        assert judge([first], instances=(), replace=True) == 0
        assert len((folder / "results.jsonl").read_text().splitlines()) == 4
