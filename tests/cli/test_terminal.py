"""A terminal shows colours, wraps, pages and ends with the result; a pipe, NO_COLOR and CI stay plain."""

import contextlib
import os
import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.near import nearest
from support import warm_cli
from support.command_line import PROGRAM, in_process, in_terminal, plain
from support.runs import two_levels, write_run

ESCAPE = "\x1b"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """One model with three samples of one instance, whose first failed at length."""
    said = "output[0]['a key that is rather long']: got 0.786, expected 0.785 (relative error 1.8e-3, tolerance 1e-4)"
    pairs = [("failed", "failed"), ("passed", "failed"), ("passed", "passed")]
    rows = [two_levels("a-one", *pair, model="org/model-5-mini", sample=n) for n, pair in enumerate(pairs)]
    for row in rows:
        row["prediction_sha256"] = str(row["sample"])
        for case in row["cases"]:
            case["detail"] = said
    return write_run(tmp_path / "run", rows, dataset="gone")  # nothing to build for a difference


@pytest.mark.parametrize("width", [60, 120])
def test_one_answer_is_wrapped_and_coloured_and_knows_its_other_samples(
    width: int, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = in_terminal(width, "show", str(run), "a-one")
    piped = in_process("show", str(run), "a-one").stdout
    assert ESCAPE in shown
    assert ESCAPE not in piped
    assert max(map(len, plain(shown).splitlines())) <= width
    assert "".join(plain(shown).split()) == "".join(piped.split()), "the same text, wrapped or not"
    samples = ["SAMPLES  2 of 3 reproduced", "  robust     2", "  core only  1", "  failed     0 (shown here)"]
    assert "\n".join(samples) in piped
    monkeypatch.setenv("NO_COLOR", "1")
    assert ESCAPE not in in_terminal(width, "show", str(run), "a-one")


@pytest.mark.parametrize("width", [60, 120])
def test_a_report_ends_with_the_scores_and_keeps_its_notes_for_who_asks(width: int, run: Path) -> None:
    lines = plain(in_terminal(width, "report", str(run))).rstrip().splitlines()
    found = re.fullmatch(r"(\d+) notes on how to read these numbers: add --notes", lines[-1])
    assert found
    end = "\n".join(lines[-8:])
    assert "Unit-test accuracy" in end
    assert re.search(r"org/model-5-mini.*66\.7 % \(2/9\)|org/model-5-mini.*22\.2 % \(2/9\)", end, re.DOTALL), end
    told = in_process("report", str(run), "--notes").stdout
    assert told.count("\n- ") == int(found[1])
    assert "add --notes" not in told


def test_a_task_is_rendered_and_paged_only_in_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paged = tmp_path / "paged"
    monkeypatch.setenv("PAGER", f"cat > {paged}")
    monkeypatch.delenv("CI", raising=False)
    raw = in_process("tasks", "show", "dpo-preference-loss").stdout
    assert "## Notation" in raw
    assert not paged.exists()
    assert in_terminal(60, "tasks", "show", "dpo-preference-loss") == ""
    text = plain(paged.read_text())
    assert "## Notation" not in text
    assert "Notation" in text
    assert r"\frac{\pi_r(y \mid" in text.replace("\n", " "), "a formula loses no backslash"
    prose = text[: text.index("REPOSITORY")].splitlines()
    assert max(map(len, prose)) <= 60
    paged.unlink()
    monkeypatch.setenv("CI", "true")
    assert "Notation" in in_terminal(60, "tasks", "show", "dpo-preference-loss")
    assert not paged.exists()


@contextlib.contextmanager
def silent_server() -> Iterator[str]:
    """A server that takes connections and never answers."""
    kept: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    kept.append(server.accept())

        threading.Thread(target=take, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    "command",
    [
        "evaluate gold --dataset org/name@v9.9.9 --sandbox local --out out",
        "evaluate gold --dataset org/name --sandbox local --out out",
        "verify org/results 3",
    ],
)
def test_a_hub_that_never_answers_is_one_line(command: str, tmp_path: Path) -> None:
    """On its own, the client would wait for ever, or try six times."""
    with silent_server() as endpoint:
        variables = {"HF_ENDPOINT": endpoint, "HF_HUB_ETAG_TIMEOUT": "1", "HF_TOKEN": "x", "HF_HOME": str(tmp_path)}
        done = warm_cli.run([*PROGRAM, *command.split()], cwd=tmp_path, env={**os.environ, **variables}, text=True)
    assert done.returncode == 3
    [line] = [line for line in done.stderr.splitlines() if not line.startswith("warning: ")]
    assert line.startswith("error: ")
    assert "the Hub does not answer" in line


def test_time_left_counts_down_between_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    from lmrbench_data.cli import progress

    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])

    class Bars:
        def update(self, *_: Any, **__: Any) -> None: ...

    bar = progress._Bar()
    bar.show(Bars(), None)
    bar.start(4)
    assert bar.left() == ""
    now[0] = 20.0
    bar.step("passed")
    assert bar.left() == "about 60 s left"
    now[0] = 30.0
    assert bar.left() == "about 50 s left"
    for _ in range(3):
        bar.step("passed")
    assert bar.left() == ""


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("gpt5", "openai/gpt-5"), ("OpenAI/GPT-5", "openai/gpt-5"), ("opus", "anthropic/opus-4"), ("zzz", None)],
)
def test_a_name_is_recognised_however_it_is_written(typed: str, meant: str | None) -> None:
    assert nearest(typed, {"openai/gpt-5", "anthropic/opus-4"}) == meant
