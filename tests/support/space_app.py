"""The leaderboard Space as the Hub starts it: in its own folder, without access to this checkout."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from lmrbench_evaluate.hub.space import write_space
from support.hub_server import Hub

ROOT = Path(__file__).resolve().parents[2]
SPACE = ROOT / "cards" / "space"
#: Time for a page to show content; machines are busy.
PATIENCE_S = 240.0


@contextlib.contextmanager
def served_space(hub: Hub, results_repo: str, folder: Path) -> Iterator[str]:
    """Run the app on the results dataset of a loopback Hub and yield its address."""
    write_space(folder / "space")
    (folder / "space" / "lmrbench_data.py").write_text("raise ImportError('a Space has no such package')\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("HF_", "GRADIO_"))},
        **hub.environment(folder / "cache"),
        "LMRBENCH_RESULTS": results_repo,
        "GRADIO_SERVER_PORT": str(port),
        "HOME": str(folder),
    }
    with (folder / "log").open("w") as log:
        app = subprocess.Popen(
            [sys.executable, "app.py"], cwd=folder / "space", env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        address = f"http://127.0.0.1:{port}"
        for _ in range(int(2 * PATIENCE_S)):
            assert app.poll() is None, (folder / "log").read_text()
            try:
                urllib.request.urlopen(address, timeout=10).close()
                break
            except OSError:
                time.sleep(0.5)
        yield address
        assert app.poll() is None, "the app has died"
        assert "Traceback" not in (folder / "log").read_text(), (folder / "log").read_text()
    finally:
        app.terminate()
        app.wait(30)
