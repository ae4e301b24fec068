"""The command line is cheap to start, reports each mistake in one line with a status, and survives any output."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.paths import cache_folder
from lmrbench_data.dataset.build import write_dataset
from lmrbench_data.loader import CONFIGS
from lmrbench_data.tasks.manifest import load_benchmark
from lmrbench_evaluate.sandbox.base import Sandbox
from support.command_line import PROGRAM, in_process
from support.runs import write_run
from support.sandboxes import until
from support.toy import json_lines, recorded_rows, write_toy_benchmark

HEAVY = ["datasets", "docker", "openai", "torch", "pymupdf", "numpy", "pandas", "pyarrow", "huggingface_hub", "yaml"]
LOCAL = ["--sandbox", "local"]
RUN = ["run", "-m", "m", "--base-url", "http://127.0.0.1:1/v1", "--dataset", "toy", "-i", "toy-scale"]
MINE = [*LOCAL, "--benchmark", "benchmark"]
TOY = ["evaluate", "gold", "--dataset", "toy", *LOCAL]
MASKED = ["evaluate", "masked", *TOY[2:]]


def lmrbench(*arguments: str | bytes, cwd: Path, stdout: Any = subprocess.PIPE, **variables: str) -> Any:
    """Run a command in a process of its own."""
    return subprocess.run(
        [*PROGRAM, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        errors="backslashreplace",
        cwd=cwd,
        env={**os.environ, **variables},
        timeout=120,
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, toy_row: Any, method_row: Any, local_sandbox: Sandbox) -> Path:
    """A folder with a dataset, a finished run, a benchmark, an empty folder and a file."""
    folder = tmp_path_factory.mktemp("place")
    write_dataset([toy_row, method_row], folder / "toy", load_benchmark())
    (folder / "empty").mkdir()
    (folder / "edited").mkdir()
    (folder / "edited" / ".#file").symlink_to("nobody@nowhere.1")
    write_run(folder / "begun", [])
    (folder / "file").write_text("text\n")
    (folder / "methods.jsonl").write_text('{"instance_id": "toy-method", "model_name_or_path": "m", "function": "x"}\n')
    (folder / "theirs.csv").write_text("task,answer\n1,x\n")
    (folder / "name\n\x1b[2Jescapes.txt").write_text("")
    recorded_rows(write_toy_benchmark(folder / "benchmark"), local_sandbox)
    done = in_process(*TOY, "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


# --- start ------------------------------------------------------------------------------------------------------------


def test_help_shows_every_word_of_every_text() -> None:
    """Markup once swallowed words in brackets."""
    from typer.testing import CliRunner

    from lmrbench.cli import app

    seen = 0
    for path, command in all_commands():
        shown = CliRunner().invoke(app, [*path, "--help"], terminal_width=100).stdout
        words = " ".join(shown.split()).replace("- ", "-")  # lines end after hyphens, too
        for text in (command.help, *(getattr(item, "help", None) for item in command.params)):
            assert " ".join((text or "").split()).replace("- ", "-") in words, (path, text)
            seen += bool(text)
        assert not re.search(r"<(str|int|float|dir|Path)\b|list\[| range>", shown), path
    assert seen > 60


@pytest.mark.parametrize(
    "arguments", ["--help", "evaluate --help", "dataset build --help", "images --help", "--version"]
)
def test_help_needs_no_heavy_library(arguments: str) -> None:
    program = (
        "import sys; from lmrbench.cli import main\n"
        f"try:\n    main()\nfinally:\n    print(*sorted(set({HEAVY}) & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program, *arguments.split()], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "\n")
    assert len(done.stdout) > 10


# --- mistakes ---------------------------------------------------------------------------------------------------------

OFFLINE = {"DOCKER_HOST": "tcp://127.0.0.1:1"}
#: arguments, exit status, words on stderr
MISTAKES: list[tuple[Sequence[str], int, str]] = [
    (["nonsense"], 2, "No such command 'nonsense'"),
    (["evaluate"], 2, "Missing argument"),
    (["evaluate", "gold", "masked"], 2, "unexpected extra argument"),
    ([*TOY, "--workers", "0"], 2, "'--workers' / '-w': should be greater than or equal to 1"),
    ([*TOY, "--engine", "mpi"], 2, "'--engine': 'mpi' is not one of 'threads', 'ray'"),
    (["dataset", "build", "--benchmark", "absent"], 2, "does not exist"),
    (["evaluate", "absent.jsonl"], 1, "'absent.jsonl': no such file"),
    (["evaluate", "empty"], 1, "'empty': is a directory"),
    (["evaluate", "x" * 300], 1, r"predictions 'x+ \.\.\.': no such file"),
    (["evaluate", "gold", "--sandbox", "chroot"], 1, "'chroot': expected auto, docker, bwrap, local"),
    (["evaluate", "gold", "--sandbox", "docker"], 3, "no Docker daemon answers"),
    (["evaluate", "gold", "--dataset", "empty", *LOCAL], 1, r"empty: no README\.md"),
    ([*TOY, "--out", "/dev/null/run"], 1, r"/dev/null/run: cannot be written \(Not a directory\)"),
    ([*TOY, "--out", "toy"], 1, "toy: is not a run folder and not empty"),
    ([*TOY, "--out", "edited"], 1, "edited: is not a run folder and not empty"),
    (["evaluate", "name\n\x1b[2Jescapes.txt", "--dataset", "toy", *LOCAL], 1, "no rows; a prediction needs"),
    (["report", "run", "--out", "empty"], 1, "--out: empty: the name must end in"),
    (["tasks", "show", "dpo-preference-los"], 1, r"los \(did you mean 'dpo-preference-loss'\?\)"),
    ([*TOY, "--instance", "toy-scal"], 1, r"--instance: 'toy-scal' is unknown \(did you mean 'toy-scale'\?\)"),
    ([*TOY, "-i", "toy-method"], 1, "--config: toy-method belongs to the configuration method"),
    (["evaluate", "methods.jsonl", *TOY[2:]], 1, "'toy-method', which belongs to the configuration method"),
    (["generate", "prompt", "dpo-method", "--config", "function"], 1, "--config: dpo-method belongs to the config"),
    (["dataset", "check", "90-toy", "--config", "method", *MINE], 1, "--config: 90-toy has no instance of the conf"),
    (
        ["dataset", "check", "dpo-method", "--config", "function", *LOCAL],
        1,
        "--config: dpo-method belongs to the configuration",
    ),
    (["dataset", "check", "--config", "underspecified", *MINE], 1, "no task has an instance of the configuration"),
    (["papers", "add", "toy-method", "file", "--dataset", "toy"], 1, "file: is damaged or not a PDF"),
    (["papers", "add", "toy-scal", "file", "--dataset", "toy"], 1, "'toy-scal' is unknown .did you mean 'toy-scale'"),
    ([*RUN, "--prices", "absent.yaml"], 1, "absent.yaml: missing; write a YAML file that maps each model to"),
    ([*RUN, "--config", "method"], 1, "--config: toy-scale belongs to the configuration function"),
    (["report", "theirs.csv"], 1, "theirs.csv: no run.json: it is a file; expected a folder"),
    (["show", "begun", "a-one"], 1, "'a-one' has no results in this run yet; evaluate again to resume it"),
    (["report", "toy"], 1, r"toy: no run.json; found README.md, .*; expected a folder"),
    (["evaluate", "theirs.csv", "--dataset", "toy", *LOCAL], 1, "theirs.csv: is not JSON; save the rows as JSON lines"),
    (["dataset", "build", "--benchmark", "empty"], 1, "empty/benchmark.yaml: missing"),
    (["dataset", "build", "--benchmark", "benchmark", "--out", "run"], 1, "run: contains other files"),
    (["dataset", "check", "absent", *LOCAL], 1, "unknown task or instance: absent"),
    (["images", "build"], 3, "no Docker daemon answers"),
]


@pytest.mark.parametrize(("arguments", "status", "reason"), MISTAKES, ids=[" ".join(row[0])[:60] for row in MISTAKES])
def test_mistake_is_one_line_and_an_exit_status(arguments: list[str], status: int, reason: str, place: Path) -> None:
    done = in_process(*arguments, cwd=place, **OFFLINE)
    assert done.returncode == status, done.stderr
    assert "Traceback" not in done.stderr
    if status == 2:
        message = " ".join(done.stderr.replace("│", " ").split())
    else:
        lines = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
        [message] = lines
        assert message.startswith("error: ")
        assert message.isprintable()
    assert re.search(reason, message), message
    assert not list((place / "runs").glob("*")), "no folder of predictions without an answer"


#: Commands that would change a finished run or another folder with content, and words on stderr.
DESTRUCTIVE: list[tuple[Sequence[str], str]] = [
    (
        [*MASKED, "--out", "run"],
        r"^error: --out: .* lack: sample 0 of 'gold' \(\w+\) for toy-scale; name another folder, "
        r"or replace the answers of the run \(`--replace`\)",
    ),
    (["evaluate", "methods.jsonl", *TOY[2:], "--out", "run"], "no row can be evaluated"),
    (["merge", "run", "--out", "run"], "is one of the runs to be merged"),
    (["merge", "other", "--out", "run"], "lack: sample 0 of 'gold' .*.--replace"),
    (["generate", *RUN[1:], "--out", "run/predictions.jsonl"], "--out: run: holds the run of an evaluation"),
    (["agent", "run", "--agent", "true", *RUN[1:], "--out", "run"], "--out: run: holds the run of an evaluation"),
    ([*RUN, "--out", "run", *LOCAL], "lack: sample 0 of 'gold' .*--replace"),
    (["agent", "workspace", "toy-scale", "run", "--dataset", "toy"], "run: is not an empty folder"),
    (["agent", "workspace", "toy-scale", "file", "--dataset", "toy"], "file: is not an empty folder"),
    (["report", "run", "--out", "run/run.json"], "--out: run/run.json: exists, and is not a report.*--replace"),
    (["report", "run", "--out", "theirs.csv"], "--out: theirs.csv: exists, and is not a report"),
    (["calibrate", "variants", "-m", "m", "--benchmark", "benchmark", "--out", "run"], "--out: run: holds answers"),
]


@pytest.mark.parametrize(("arguments", "reason"), DESTRUCTIVE, ids=[" ".join(row[0])[:60] for row in DESTRUCTIVE])
def test_no_command_destroys_what_a_folder_holds(arguments: list[str], reason: str, place: Path) -> None:
    if not (place / "other").exists():
        assert in_process(*MASKED, "--out", "other", cwd=place).returncode == 0
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.suffix != ".lock"}
    done = in_process(*arguments, cwd=place, OPENAI_API_KEY="x", **OFFLINE)
    assert done.returncode == 1, done.stderr
    [message] = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    assert re.search(reason, message), message
    after = {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and path.suffix != ".lock"}
    assert after == before


def test_answers_of_a_run_are_replaced_on_purpose(place: Path, tmp_path: Path) -> None:
    assert in_process(*TOY, "--out", tmp_path / "run", cwd=place).returncode == 0
    assert in_process(*MASKED, "--out", tmp_path / "run", "--replace", cwd=place).returncode == 0
    assert [row["model_name_or_path"] for row in json_lines(tmp_path / "run" / "predictions.jsonl")] == ["masked"]


def test_report_replaces_reports_and_on_purpose_any_file(place: Path, tmp_path: Path) -> None:
    for name in ("a.md", "a.json", "a.csv", "a.html"):
        for _ in range(2):
            assert in_process("report", "run", "--out", str(tmp_path / name), cwd=place).returncode == 0
        (tmp_path / name).write_text("notes\n")
        assert in_process("report", "run", "--out", str(tmp_path / name), cwd=place).returncode == 1
        assert (tmp_path / name).read_text() == "notes\n"
        assert in_process("report", "run", "--out", str(tmp_path / name), "--replace", cwd=place).returncode == 0
        assert (tmp_path / name).read_text() != "notes\n"


def test_report_skips_what_is_no_run(place: Path) -> None:
    done = in_process("report", "run", "empty", "file", cwd=place)
    assert done.returncode == 0
    assert done.stderr == "skipped: empty is not a run folder\nskipped: file is not a run folder\n"


@pytest.mark.parametrize("missing", ["signal.__dict__.pop('SIGHUP')", "sys.modules['fcntl'] = None"])
def test_system_that_cannot_evaluate_is_one_line(missing: str) -> None:
    program = f"import signal, sys; {missing}; from lmrbench.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "evaluate", "gold"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1:]) == (
        1,
        ["error: lmrbench_evaluate needs Linux or macOS; on Windows, use WSL 2"],
    )
    assert "Traceback" not in done.stderr


def test_user_without_a_home_names_a_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A container may run as a user without an entry in the system's list."""
    for name in ("HOME", "XDG_CACHE_HOME", "LMRBENCH_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", lambda user: {}[user])
    with pytest.raises(InputError, match="no home folder; set LMRBENCH_CACHE"):
        cache_folder()
    monkeypatch.setenv("LMRBENCH_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path


# --- output -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["report run", "--help"])
def test_closed_pipe_is_not_an_error(command: str, place: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = lmrbench(*command.split(), cwd=place, stdout=writer)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode in ((0, 1) if command == "--help" else (0,))  # help is printed by typer


def test_full_disk_is_reported_in_one_line(place: Path) -> None:
    with open("/dev/full", "w") as full:
        done = lmrbench("report", "run", cwd=place, stdout=full)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([*TOY, "--out"], "/run.json"),
        (["merge", "run", "--out"], "/run.json"),
        (["report", "run", "--figures"], "/scores.svg"),
        (["dataset", "build", "--benchmark", "benchmark", "--out"], ""),
    ],
)
def test_full_disk_names_the_file_and_the_command_can_be_repeated(
    arguments: list[str], named: str, place: Path, tmp_path: Path
) -> None:
    """No file may grow beyond 800 bytes, so a write fails as on a full disk."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (800, resource.RLIM_INFINITY))

    command = [*arguments, str(tmp_path / "new")]
    # Python would keep bytecode that was cut.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [*PROGRAM, *command], cwd=place, capture_output=True, text=True, preexec_fn=limited, env=environment
    )
    assert done.returncode == 3
    [message] = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    assert re.fullmatch(rf"error: {tmp_path}/new{named}: .*File too large", message), message
    assert in_process(*command, cwd=place).returncode == 0


@pytest.mark.parametrize("closing", [">&- 2>&-", "<&-"])
def test_closed_streams_are_not_errors(closing: str, place: Path) -> None:
    line = f'"$@" report run {closing}'
    done = subprocess.run(["sh", "-c", line, "sh", *PROGRAM], cwd=place, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_any_encoding_and_any_file_name_can_be_printed(place: Path) -> None:
    odd = b"run-\xff\xc3\xa9"
    bare = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = lmrbench(*TOY, "--out", odd, cwd=place, PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    done = lmrbench("report", odd, "--out", b"\xfe.md", cwd=place, **bare)
    assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr


@pytest.mark.slow
def test_json_output_is_json_and_nothing_else(place: Path) -> None:
    for command in (
        "report run",
        "tasks list",
        "tasks show dpo-preference-loss",
        "evaluate gold --dataset toy --sandbox local --out json-run",
        "dataset record --benchmark benchmark --sandbox local",
        "dataset build --benchmark benchmark --out built",
    ):
        done = in_process(*command.split(), "--json", cwd=place)
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)


def test_interrupting_a_recording_ends_it_quietly(tmp_path: Path) -> None:
    """Outside `evaluate`, too, Ctrl-C means: stop, clean up, status 130, no traceback."""
    benchmark = write_toy_benchmark(tmp_path / "benchmark")
    cases = benchmark / "90-toy" / "unit_test" / "cases.py"
    cases.write_text(f"open({str(tmp_path / 'started')!r}, 'w')\nimport time\ntime.sleep(60)\n" + cases.read_text())
    command = [*PROGRAM, "dataset", "record", "--benchmark", str(benchmark), *LOCAL]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert until((tmp_path / "started").exists)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in stderr
    assert not (benchmark / "90-toy" / "recorded").exists()


def all_commands() -> Iterator[tuple[tuple[str, ...], Any]]:
    """The path and the command of each group and each command."""
    from typer.main import get_command

    from lmrbench.cli import app

    waiting: list[tuple[tuple[str, ...], Any]] = [((), get_command(app))]
    while waiting:
        path, command = waiting.pop()
        waiting += [((*path, name), inner) for name, inner in getattr(command, "commands", {}).items()]
        yield path, command


def test_short_descriptions_are_whole() -> None:
    """A longer one would be truncated in the list of its group."""
    for path, command in all_commands():
        short = command.get_short_help_str(limit=200)
        assert short.endswith((".", "?")), path
        assert not path or len(short) <= 60, path


def test_commands_of_maintainers_stand_apart_in_the_help() -> None:
    apart = {path for path, command in all_commands() if getattr(command, "rich_help_panel", "") == "Maintain"}
    groups = {("dataset", "push"), ("tasks", "page")}
    assert apart == {("verify",), ("space",), *groups}
    for group, name in groups:
        assert re.search(rf"\nMaintain:\n  {name} ", in_process(group, "--help").stdout)


def test_options_of_a_run_are_grouped_and_name_their_choices() -> None:
    for command in (["run"], ["generate"], ["agent", "run"]):
        text = in_process(*command, "--help").stdout
        panels = dict(re.findall(r"^(\w+):\n(.*?)(?=^\w|\Z)", text, re.MULTILINE | re.DOTALL))
        assert {
            flag: name
            for name, part in panels.items()
            for flag in re.findall("--(?:base-url|samples|track|json)", part)
        } == {"--base-url": "Model", "--samples": "Sampling", "--track": "Prompt", "--json": "Options"}
        assert f"<{'|'.join(CONFIGS)}>" in panels["Sampling"]
    text = in_process("run", "--help").stdout
    assert "--sandbox <auto|docker|bwrap|local|MODULE:NAME>" in text
    assert "--paper <text|pdf-json|none>" in text


def test_commands_that_do_the_same_have_the_same_options() -> None:
    """`run` has those of `generate` and of `evaluate`; an agent has those of `generate` that do not shape a prompt."""
    commands = dict(all_commands())
    run, generate, evaluate, agent = (
        {item.name: (str(item.opts), getattr(item, "help", "")) for item in commands[path].params if item.name != "out"}
        for path in (("run",), ("generate",), ("evaluate",), ("agent", "run"))
    )
    assert generate.items() - {("model", generate["model"])} <= run.items()
    assert evaluate.keys() - run.keys() == {"predictions"}
    same = evaluate.keys() & run.keys() - {"workers"}  # of `run`, these are its requests
    assert {name: evaluate[name] for name in same} == {name: run[name] for name in same}
    own_of_a_prompt = {"setting", "paper", "paper_pages", "max_prompt_tokens", "temperature", "retries"}
    assert generate.keys() - agent.keys() == own_of_a_prompt
    assert {name for name in generate.keys() & agent.keys() if generate[name] != agent[name]} == {
        "timeout_s",
        "workers",
    }


def test_every_command_shows_a_call_that_it_understands() -> None:
    """The line after `Example:` in each help parses: its options exist, its arguments fit."""
    import shlex

    found = [(path, command) for path, command in all_commands() if not hasattr(command, "commands")]
    assert len(found) > 10
    for path, command in found:
        line = re.search(r"^\s*Example: (.*)$", command.help or "", re.MULTILINE)
        assert line, f"{' '.join(path)}: no example"
        words = [word for word in shlex.split(line[1]) if "=" not in word or word.startswith("-")]
        assert tuple(words[1 : 1 + len(path)]) == path
        command.make_context(path[-1], words[1 + len(path) :], resilient_parsing=True)


def test_long_job_without_a_terminal_reports_its_progress(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from lmrbench.cli import output

    def work() -> str:
        with output.progress_bar("evaluating") as progress:
            progress.start(3)
            for label in ("passed", "failed", "passed"):
                progress.step(label)
        return str(capsys.readouterr().err)

    assert work() == "", "a short job says nothing"
    monkeypatch.setattr(output, "LOG_EVERY_S", 0.0)
    assert work().splitlines() == ["evaluating: 1 of 3 (passed 1)", "evaluating: 2 of 3 (passed 1 failed 1)"]


def test_resolving_evaluate_loads_few_modules() -> None:
    program = (
        "import sys, lmrbench as lmr; lmr.evaluate;"
        "print(*(name for name in sys.modules if name.startswith('lmrbench')), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert len(modules) <= 90, f"{len(modules)}: {modules}"
