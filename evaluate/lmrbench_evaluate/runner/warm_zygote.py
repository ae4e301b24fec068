"""Zygotes of a warm container: processes that have loaded what jobs need, and fork them."""

import contextlib
import gc
import importlib
import json
import os
import socket
import sys
from typing import Any, NoReturn

from warm_job import COMPILED, job

#: The answer to each request; `FAILED` if a job did not end by itself.
DONE, FAILED = b"k", b"x"


def serve(control: socket.socket) -> NoReturn:
    """Do what the supervisor asks: load libraries, branch, fork jobs."""
    sys.dont_write_bytecode = True
    null = os.open(os.devnull, os.O_RDWR)
    for number in range(2):
        os.dup2(null, number)
    os.close(null)
    while True:
        line, fds, _, _ = socket.recv_fds(control, 4096, 3)
        if not line:  # the supervisor is gone
            os._exit(0)
        message, answer = json.loads(line), DONE
        if message["kind"] in ("fork", "branch"):
            pid = os.fork()
            if pid == 0:
                control.close()
                if message["kind"] == "branch":
                    control = socket.socket(fileno=fds[0])
                    continue
                try:
                    # Its files and children belong to the uid; the next one, which it keeps for itself, is what
                    # they would need to have to signal it.
                    become(message["uid"], own=message["uid"] + 1)
                    job(*fds)
                finally:
                    os._exit(70)
            if message["kind"] == "fork" and os.waitpid(pid, 0)[1]:
                answer = FAILED
        else:
            with open(fds[0], "rb", closefd=False) as file:
                file.seek(0)
                {"load": load_modules, "compile": compile_sources}[message["kind"]](json.load(file))
            gc.collect()
            gc.freeze()  # collections in jobs would copy memory that they share with this process
        for fd in fds:
            os.close(fd)
        control.sendall(answer)


def load_modules(facts: dict[str, list[Any]]) -> None:
    """Import the libraries of an instance."""
    for name in facts["modules"]:
        # Not a module but a function, say; the job reports real errors.
        with contextlib.suppress(Exception, SystemExit):
            importlib.import_module(name)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
        # The original also notes the seed, with a formatted stack, for devices that no container has.
        torch.manual_seed = torch.random.manual_seed = lambda seed: torch.default_generator.manual_seed(int(seed))  # type: ignore[attr-defined]


def compile_sources(facts: dict[str, list[Any]]) -> None:
    """Compile the sources that the jobs of an instance share."""
    for path, source in facts["sources"]:
        data = source.encode("utf-8")
        with contextlib.suppress(SyntaxError):
            COMPILED[path, data] = compile(data, path, "exec", dont_inherit=True)


def become(uid: int, own: int | None = None) -> None:
    """Give up root, and with it all capabilities, for good; `own` is the real and saved user (default: the same)."""
    own = uid if own is None else own
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(own, uid, own)
