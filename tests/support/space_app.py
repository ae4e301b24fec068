"""The leaderboard Space as the Hub starts it, in its own folder without access to this checkout; and records for it."""

import contextlib
import hashlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmrbench_data.base.proportions import wilson
from lmrbench_evaluate.hub.record import Entry, Record, Score, Task, TaskResult
from lmrbench_evaluate.hub.space import write_space
from support.hub_server import Hub

ROOT = Path(__file__).resolve().parents[2]
SPACE = ROOT / "cards" / "space"
#: Time for a page to show content; machines are busy.
PATIENCE_S = 240.0
#: Instance → category.
INSTANCES = {"alpha-one": "Data Augmentation", "alpha-two": "Data Augmentation", "beta-one": "Evaluation Metrics"}


def make_entry(
    model: str,
    outcomes: Sequence[str],
    *,
    instances: Mapping[str, str] = INSTANCES,
    setting: str = "standard",
    track: str = "paper",
    cost: float | None = None,
    **more: Any,
) -> Entry:
    """Return a model with one sample of each instance; instances without an outcome are unanswered."""
    level = "reproduced" if track == "paper" else "robust"
    found = dict(zip(instances, [*outcomes, *["missing"] * len(instances)], strict=False))
    failing = {name: f"case_of_{name}, seed 1: got 0.786, expected 0.785" for name in found if found[name] != "robust"}

    def score(names: Sequence[str]) -> Score:
        counts = Counter(found[name] for name in names)
        reached = {"robust": counts["robust"], "reproduced": counts["robust"] + counts["reproduced"]}
        share = cost * len(names) / len(instances) if cost is not None else None
        facts = {"total": len(names), "missing": counts["missing"], "claimed_cost_usd": share}
        return Score(**reached, **facts, interval=wilson(reached[level], len(names)))

    results = {
        name: TaskResult(outcomes={outcome: 1}, failure=failing.get(name, "")) for name, outcome in found.items()
    }
    fields: dict[str, Any] = {
        "model": model,
        "setting": setting,
        "track": track,
        "level": level,
        "samples": 1,
        "fingerprint": hashlib.sha256(f"{model} {outcomes}".encode()).hexdigest(),
        "overall": score(list(instances)),
        "categories": {kind: score([n for n in instances if instances[n] == kind]) for kind in instances.values()},
        "tasks": results,
    }
    return Entry(**{**fields, **more})


def make_record(run_id: str, *entries: Entry, instances: Mapping[str, str] = INSTANCES, **facts: Any) -> Record:
    """Return the record of a verified run."""
    fields: dict[str, Any] = {
        "run_id": run_id,
        "verified_at": "2026-02-01T00:00:00+00:00",
        "verified_by": "ann",
        "submitted_by": "bob",
        "pull_request": 1,
        "submission": "5" * 40,
        "dataset": "embedded",
        "config": "function",
        "dataset_sha256": "d" * 64,
        "benchmark_version": "1.0.0",
        "harness_version": "0.1.0",
        "predictions_sha256": "e" * 64,
        "rows": 3,
        "agreed": 3,
        **{key: [] for key in ("memorised", "differing", "fresh_seeds")},
        "tasks": {
            name: Task(category=kind, paper=f"Paper of {name}", url=f"https://example.org/{name}")
            for name, kind in instances.items()
        },
        "entries": entries,
    }
    return Record(**{**fields, **facts})


def record_files(*records: Record) -> dict[str, bytes]:
    """Return the files of verified runs in a results dataset, as far as a leaderboard reads them."""
    files = {"README.md": b"# Results\n"}
    for record in records:
        files[f"verified/{record.run_id}.json"] = record.model_dump_json().encode()
    return files


@contextlib.contextmanager
def served_space(hub: Hub, results_repo: str, folder: Path, local: Sequence[Record] = ()) -> Iterator[str]:
    """Run the app on the results dataset of a loopback Hub, or on local records, and yield its address."""
    write_space(folder / "space", local)
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
