"""Outlive a harness that was killed and remove its containers: `python -m lmrbench_data.evaluate.sandbox.reaper RUN_ID`.

The harness holds the other end of stdin. Its end without the word `done` means that the harness is gone. Heavy imports wait
until then: this process sleeps through every ordinary run.
"""

import sys


def main() -> None:
    """Wait for the end of stdin, then clean up if the harness did not say that it had."""
    run_id = sys.argv[1]
    if sys.stdin.buffer.read() == b"done":
        return
    import docker

    from lmrbench_data.evaluate.sandbox.docker import remove_all

    api = docker.APIClient(**docker.utils.kwargs_from_env(), version="auto", timeout=60)
    # Twice: a container whose creation was under way when the harness died shows up a moment later.
    for _ in range(2):
        remove_all(api, run_id)
        import time

        time.sleep(1)


if __name__ == "__main__":
    main()
