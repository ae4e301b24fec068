"""Outlive a harness that was killed and remove its containers: `python -m ...sandbox.reaper RUN_ID`.

The harness holds the other end of stdin. Its end without the word `done` means that the harness is gone, or that it
ended while the daemon was away. Heavy imports wait until then: this process sleeps through every ordinary run.
"""

import signal
import sys
import time

#: How long to wait for a daemon that does not answer; its restart brings the containers back.
PATIENCE_S = 3600
_PAUSE_S = 2


def main() -> None:
    """Wait for the end of stdin, then clean up if the harness did not say that it had."""
    # What ends the harness (a batch system, a closed terminal) often ends its whole group politely first.
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.buffer.read() != b"done":
        clean_up(sys.argv[1])


def clean_up(run_id: str) -> None:
    """Remove the containers of a run, as soon as the daemon answers."""
    from lmrbench_data.base.errors import InfraError

    from .docker import remove_all
    from .docker_client import connect

    deadline = time.monotonic() + PATIENCE_S
    # Twice: a container whose creation was under way when the harness died shows up late.
    clean = 0
    while clean < 2 and time.monotonic() < deadline:
        try:
            clean = clean + 1 if remove_all(connect(), run_id) else 0
        except InfraError:
            clean = 0
        time.sleep(_PAUSE_S)


if __name__ == "__main__":
    main()
