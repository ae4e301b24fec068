"""Remove the containers of a harness that was killed: `python -m ...sandbox.reaper RUN_ID PROCESS`.

The harness, whose process is named for readers of `ps`, holds the other end of stdin. If stdin ends
without the word `done`, the harness was killed, or it ended while the daemon was unavailable. Heavy
imports wait until then: this process sleeps through every ordinary run.
"""

import os
import signal
import sys
import time

#: Time to wait for a daemon that does not answer; after its restart the containers are back.
PATIENCE_S = 3600
_PAUSE_S = 2


def main() -> None:
    """Wait for the end of stdin, then clean up unless the harness has done so."""
    # A batch system or a closing terminal often sends these to all processes before it kills the
    # harness.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    # Not a child of the harness: Ray, for one, kills the children of its workers.
    if os.fork():
        os._exit(0)
    if sys.stdin.buffer.read() != b"done":
        clean_up(sys.argv[1])


def clean_up(run_id: str) -> None:
    """Remove the containers of a run as soon as the daemon answers."""
    from lmrbench_data.base.errors import InfraError

    from .docker_client import connect, remove_all

    deadline = time.monotonic() + PATIENCE_S
    clean_looks = 0
    # Twice: a container that was being created when the harness died appears late.
    while clean_looks < 2 and time.monotonic() < deadline:
        try:
            is_clean = remove_all(connect(), run_id)
        except InfraError:
            is_clean = False
        clean_looks = clean_looks + 1 if is_clean else 0
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    main()
