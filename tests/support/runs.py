"""Handmade run folders, and the command line on them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmrbench_evaluate.predictions.prediction import UNSTATED
from lmrbench_evaluate.verdict.verdict import Status
from support.command_line import Done, in_process

SCOPE = {"a-one": "Alpha", "a-two": "Alpha", "b-one": "Beta"}


def result(instance_id: str, status: str, *, model: str = "m", **changes: Any) -> dict[str, Any]:
    """Return a row of results.jsonl with one case, a core case."""
    case = {"name": "first", "seed": 0, "core": True, "status": status, "detail": f"why {status}\nmore"}
    row = {"instance_id": instance_id, "model_name_or_path": model, "setting": "", "track": UNSTATED, "sample": 0}
    row |= {"prediction_sha256": "x", "status": status, "core_status": status, "detail": "", "cases": [case]}
    return row | changes


def two_levels(instance_id: str, core: str, contract: str, *, track: str = "paper", **changes: Any) -> dict[str, Any]:
    """Return a row of results.jsonl with a contract case followed by a core case."""
    case = {"seed": 0, "detail": "why"}
    cases = [{**case, "name": "odd", "core": False, "status": contract}]
    cases += [{**case, "name": "typical", "core": True, "status": core}]
    status = max(core, contract, key=list(Status).index)
    return result(instance_id, status, core_status=core, track=track, cases=cases, **changes)


def write_run(folder: Path, rows: Sequence[dict[str, Any]], **facts: Any) -> Path:
    """Write a run folder like one of `lmrbench evaluate`."""
    folder.mkdir(parents=True, exist_ok=True)
    every = {
        "run_id": f"{folder.name}-1",
        "dataset": "embedded",
        "config": "function",
        "difficulties": {},
        "dataset_sha256": "0" * 64,
        "benchmark_version": "1.0",
        "harness_version": "0.1",
        "sandbox": "docker",
        "official_sandbox": True,
        "timeout_scale": 1.0,
        "fresh_seed_count": 0,
        "scope": SCOPE,
        "started_at": "2026-01-01T00:00:00+00:00",
        "complete": True,
    }
    (folder / "run.json").write_text(json.dumps({**every, **facts}))
    (folder / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def judgement(instance: str, category: str | None, *, text: str = "So it is.", **changes: Any) -> dict[str, Any]:
    """Return a row of judgements.jsonl; without a category, of a vote that failed."""
    row = {"instance_id": instance, "prediction_sha256": "x", "judge_model": "j", "prompt_version": "1", "vote": 0}
    row |= {"track": UNSTATED, "status": "judged" if category else "judge_error", "category": category, "error": ""}
    row |= {"algorithm": text, "implementation": text, "rationale": [text] * 2}
    return row | {"input_tokens": 1, "output_tokens": 1, "cost_usd": None} | changes


def command(*arguments: str | Path) -> Done:
    return in_process("report", *arguments)
