"""Child processes: bounded frames, the whole group killed, no secret inherited; see also `test_exploit_parser`."""

import os
import signal
import sys
import time

import pytest

from lmrbench_data.base.child import Child, clean_environment
from lmrbench_data.base.errors import InputError
from lmrbench_data.base.limited_calls import Limits, call_limited, call_on_answer
from support.sandboxes import is_running, until


def python(code: str) -> Child:
    return Child([sys.executable, "-I", "-c", code], environment=clean_environment())


def within(seconds: float) -> float:
    return time.monotonic() + seconds


def test_a_frame_is_refused_before_it_is_read() -> None:
    with python("import sys; sys.stdout.buffer.write(b'\\x7f' + bytes(7)); sys.stdout.flush(); input()") as child:
        with pytest.raises(OverflowError):
            child.read_frame(1000, within(30))
        assert child.process.poll() is None
    assert child.process.returncode == -signal.SIGKILL


def test_grandchildren_die_with_the_child() -> None:
    code = "import os, sys, time\nnumber = os.fork()\n"
    code += "if number:\n    out = sys.stdout.buffer; out.write((4).to_bytes(8, 'big') + number.to_bytes(4, 'big'))\n"
    code += "    out.flush()\ntime.sleep(60)"
    with python(code) as child:
        grandchild = int.from_bytes(child.read_frame(4, within(30)) or b"", "big")
        os.kill(grandchild, 0)
    assert until(lambda: not is_running(grandchild), 10)


def test_children_inherit_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    seen = call_limited(clean_environment, "HF_TOKEN", "OPENAI_API_KEY", limits=Limits())
    assert "PATH" in seen
    assert not {"HF_TOKEN", "OPENAI_API_KEY"} & seen.keys()


def test_refusals_and_limits_of_the_input_are_input_errors() -> None:
    with pytest.raises(InputError, match="expands to more than 1 MiB"):
        call_limited(os.path.basename, "x" * 2**21, limits=Limits(reply_bytes=2**20))
    with pytest.raises(RuntimeError, match="TypeError"):
        call_on_answer(os.path.basename, 7)
