"""Outlive a harness that was killed and remove its containers: `python -m lmrbench_data.evaluate.sandbox.reaper RUN_ID`.

The harness holds the other end of stdin. Its end without the word `done` means that the harness is gone. Heavy imports wait
until then: this process sleeps through every ordinary run.
"""

import sys
import time


def main() -> None:
    """Wait for the end of stdin, then clean up if the harness did not say that it had."""
    run_id = sys.argv[1]
    if sys.stdin.buffer.read() == b"done":
        return
    from lmrbench_data.evaluate.sandbox.docker import connect, remove_all

    api = connect()
    # Again after a while: a container whose creation was under way when the harness died shows up late.
    for pause in (0.5, 2):
        remove_all(api, run_id)
        time.sleep(pause)
    remove_all(api, run_id)


if __name__ == "__main__":
    main()
