"""Jobs on threads: each result once, none left under way; a ledger that is locked, resumed and never half written."""

import contextlib
import errno
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from lmrbench_data.base.errors import InputError
from lmrbench_data.base.files import write_atomically
from lmrbench_data.base.jobs import GIVE_UP_AFTER, Failures, run_jobs
from lmrbench_data.base.jsonl import Ledger


def test_each_job_has_its_result_and_no_more_than_the_workers_run() -> None:
    lock, running, most = threading.Lock(), 0, 0

    def work(job: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1
        if job == 5:
            raise ValueError(job)
        return job * job

    done = dict(run_jobs(range(12), work, 3, stop=pytest.fail))
    assert sorted(done) == list(range(12))
    assert (done[4].result(), most) == (16, 3)
    with pytest.raises(ValueError, match="5"):
        done[5].result()


def test_whatever_ends_early_leaves_nothing_under_way() -> None:
    called_off, begun, ended = threading.Event(), [], []

    def work(job: int) -> None:
        begun.append(job)
        if job:
            called_off.wait(10)
        ended.append(job)

    with contextlib.closing(run_jobs(range(100), work, 3, stop=called_off.set)) as results:
        next(results)  # and here the caller ends it, as Ctrl-C does
    assert called_off.is_set()
    assert sorted(begun) == sorted(ended)
    assert len(begun) <= 5


def test_no_job_begins_once_none_may_start() -> None:
    done: list[int] = []
    for job, _ in run_jobs(range(100), lambda job: job, 1, stop=pytest.fail, may_start=lambda: len(done) < 4):
        done.append(job)
    assert done == [0, 1, 2, 3]
    failures = Failures()
    outcomes = [True] * (GIVE_UP_AFTER - 1) + [False] + [True] * GIVE_UP_AFTER
    assert [failures.note(failed) for failed in outcomes].index(True) == len(outcomes) - 1


class Numbers(Ledger):
    """A ledger of numbers."""

    KEYS = {"number": int}  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def count(self, row: dict[str, Any]) -> None:
        self.total += row["number"]


def test_a_ledger_resumes_and_drops_a_row_that_was_cut_short(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "new" / "numbers.jsonl"
    with Numbers.open(path) as ledger:
        ledger.write({"number": 1})
        with pytest.raises(InputError, match="another process is writing"), Numbers.open(path):
            pass
    path.write_bytes(path.read_bytes() + b'{"number": 40')
    assert [row["number"] for row in Numbers.read(path)] == [1]
    with Numbers.open(path) as ledger:
        assert "numbers.jsonl: the last row was cut short and is dropped" in caplog.text
        ledger.write({"number": 2})
        assert ledger.total == 3
        ledger.rewrite([{"number": 7}])
        with pytest.raises(AssertionError):
            ledger.write({"number": 8})
    assert path.read_text() == json.dumps({"number": 7}) + "\n"
    path.write_text('{"number": 3}\n{"number": 4}')
    with Numbers.open(path) as ledger:
        ledger.write({"number": 5})
    assert [row["number"] for row in Numbers.read(path)] == [3, 4, 5], "a whole row without a newline is a row"
    path.write_text('{"number": "x"}\n')
    with pytest.raises(InputError, match=r"numbers\.jsonl:1: damaged"), Numbers.open(path):
        pass
    with pytest.raises(InputError, match="cannot be written"), Numbers.open(Path("/dev/null/numbers.jsonl")):
        pass


@pytest.mark.parametrize("row", [{"number": 1, "text": "\x01" * 3 * 2**20}, {"number": "x"}, {}], ids=("long", "x", ""))
def test_a_ledger_writes_no_row_that_it_could_not_read(row: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "numbers.jsonl"
    with Numbers.open(path) as ledger:
        ledger.write({"number": 1})
        for write in (ledger.write, lambda row: ledger.rewrite([row])):
            with pytest.raises(InputError, match=r"is not written.* read again"):
                write(row)
        assert ledger.total == 1
    assert [row["number"] for row in Numbers.read(path)] == [1]


def test_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(InputError, match="the file system cannot lock files"), Numbers.open(tmp_path / "n.jsonl"):
        pass


def test_error_of_a_read_only_file_system_names_the_callers_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There, opening and removing the temporary file fail alike."""

    def refuse(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))

    for name in ("open", "unlink"):
        monkeypatch.setattr(Path, name, refuse)
    with pytest.raises(OSError, match="Read-only") as caught:
        write_atomically(tmp_path / "report.html", "x")
    assert caught.value.filename == str(tmp_path / "report.html")
